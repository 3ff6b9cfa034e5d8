"""Answer a registry's 401: with a token from the server that it names, or with user and password themselves."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from pins import credentials
from pins.references import LOOPBACK
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pins.credentials import Login

    #: Sends (method, URL, headers, form) and returns the JSON object in the answer.
    Ask = Callable[[str, str, dict[str, str], dict[str, str] | None], Any]

CLIENT = "rocm-repro-kit"
PARAMETER = re.compile(r'([A-Za-z_]+)\s*=\s*(?:"([^"]*)"|([^\s",]+))')


def authorization(registry: str, challenge: str, ask: Ask, *, secure: bool) -> str:
    """Return the value of an Authorization header that answers `challenge`, a WWW-Authenticate header.

    A token is asked for without a login where there is none: that is how public images are pulled. `secure` says
    whether the registry itself is asked over https: a login goes to no server that is asked less safely.
    KitError when the challenge cannot be answered.
    """
    scheme, _, rest = challenge.strip().partition(" ")
    given = {name.lower(): quoted or bare for name, quoted, bare in PARAMETER.findall(rest)}
    login = credentials.find(registry)
    if scheme.lower() == "basic":
        if login is None or not login.user:
            raise KitError(f"{registry} wants a login, and there is none", f"docker login {registry}")
        return _basic(login)
    if scheme.lower() != "bearer" or not given.get("realm"):
        raise KitError(
            f"{registry} wants a login in a way that is not known here: {challenge[:100] or 'it does not say which'}",
            "check that this is the address of a registry",
        )
    return "Bearer " + _token(registry, given, login, ask, secure=secure)


def _basic(login: Login) -> str:
    return "Basic " + base64.b64encode(f"{login.user}:{login.password}".encode()).decode()


def _is_safe(realm: str, *, secure: bool) -> bool:
    """Say whether a login may go there: encrypted, or from a registry of this machine to this machine."""
    try:
        where = urlsplit(realm)
    except ValueError:
        return False
    here = not secure and LOOPBACK.fullmatch(where.netloc) is not None
    return where.scheme == "https" or (where.scheme == "http" and here)


def _token(registry: str, given: dict[str, str], login: Login | None, ask: Ask, *, secure: bool) -> str:
    """Return a token for what the challenge names, as Docker's token protocol says, OAuth2 for identity tokens."""
    realm = given["realm"]
    if not _is_safe(realm, secure=secure):
        raise KitError(
            f"{registry} sends us for a token to {realm[:200]}, which is not https",
            "ask whoever runs the registry to mend its realm",
        )
    scopes = given.get("scope", "").split()
    asked = [(name, given[name]) for name in ("service",) if given.get(name)]
    if login and login.identity_token:
        form = dict(asked) | {"grant_type": "refresh_token", "refresh_token": login.identity_token}
        form |= {"client_id": CLIENT, "scope": " ".join(scopes)}
        found = ask("POST", realm, {}, form)
    else:
        query = urlencode([*asked, *(("scope", scope) for scope in scopes)])
        headers = {"Authorization": _basic(login)} if login else {}
        found = ask("GET", f"{realm}{'&' if '?' in realm else '?'}{query}", headers, None)
    token = (found.get("token") or found.get("access_token")) if isinstance(found, dict) else None
    if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]+", token):
        raise KitError(f"{urlsplit(realm).netloc} gave no token for {registry}", f"docker login {registry}")
    return token
