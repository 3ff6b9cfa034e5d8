"""What the Docker configuration says about a registry: auths, credsStore and credHelpers, as the Docker SDK reads them.

The one door to `docker.auth`, which is lazy: it costs 0.4 s, and a registry that asks for no login never needs it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

from schema.errors import KitError


@dataclass(frozen=True)
class Login:
    """A user and a password, or a token that stands for both (`docker login` to some registries leaves that)."""

    user: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)


def find(registry: str) -> Login | None:
    """Return the login that this user has for a registry, or None; KitError when it is there and cannot be had."""
    from docker import auth
    from docker.errors import DockerException

    try:
        with warnings.catch_warnings():  # of a helper that is not there, which its error says, too
            warnings.simplefilter("ignore")
            found = auth.resolve_authconfig(auth.load_config(), registry) or {}
        words = {str(key).lower(): value for key, value in found.items() if isinstance(value, str)}
    except (DockerException, OSError, ValueError, TypeError, AttributeError, LookupError) as error:
        raise KitError(
            f"the Docker configuration has a login for {registry} that cannot be used: {str(error)[:200]}",
            f"docker login {registry}",
        ) from error
    login = Login(words.get("username", ""), words.get("password", ""), words.get("identitytoken", ""))
    return login if login != Login() else None
