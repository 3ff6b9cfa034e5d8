"""Ask a registry over its HTTP API: login, redirects, retries, and what goes wrong in one message with one remedy.

The one door to `requests`, which is lazy. Redirects are followed and answers 429 and 5xx retried here and not by
requests and urllib3, which would read the page that comes with them to its end, whatever its length.
"""

from __future__ import annotations

import re
import ssl
import threading
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urljoin, urlsplit

from pins import registry_auth
from pins.references import HUB, LOOPBACK
from pins.registry_errors import HINT_REACH, NO_REGISTRY, RegistryError, explained, refusal
from pins.web import HEADERS, LENGTH, MAX_REDIRECTS, MAX_RETRY_AFTER_S, without_login
from schema import documents
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from requests import Response, Session

HUB_SERVER = "registry-1.docker.io"
CONNECT_S: Final = 10.0
TRIES = 4
BACK_OFF_S = 0.5  # doubled after each try
OK, PARTS = frozenset({200}), frozenset({200, 206})
LATER = frozenset({429, 500, 502, 503, 504})
REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_ERROR_BYTES = 1 << 16
MAX_TOKEN_BYTES = 1 << 20
DOCUMENT_S = 120.0  # for all of a document, however small the pieces are in which it comes
PIECE_BYTES = 1 << 20


class _Question(NamedTuple):
    method: str
    url: str
    what: str
    headers: dict[str, str]
    data: bytes | None


class Client:
    """One registry, asked over https, over http on this machine alone. Threads may share it."""

    def __init__(self, registry: str, *, timeout_s: float = 60) -> None:
        self.registry, self.timeout_s = registry, timeout_s
        self.secure = not LOOPBACK.fullmatch(registry)
        server = HUB_SERVER if registry == HUB else registry
        self.root = f"{'https' if self.secure else 'http'}://{server}/v2/"
        self.session = _session()
        self.authorization = ""

    def close(self) -> None:
        """Close the connections."""
        self.session.close()

    def ask(
        self,
        method: str,
        path: str,
        *,
        what: str,
        headers: Mapping[str, str] | None = None,
        data: bytes | None = None,
        good: frozenset[int] = OK,
        tries: int = TRIES,
    ) -> Response:
        """Return the answer, its body not yet read, when its status is one of `good`; else RegistryError.

        `path` is below /v2/, or an address that the registry gave. `what` completes "cannot ...". Close the answer.
        `tries`: how often, while it answers 429 and 5xx; once for what must not be done twice.
        """
        asked = _Question(method, self.joined(self.root, path, what), what, dict(headers or {}), data)
        response = self._again(asked, tries)
        if response.status_code == 401:
            challenge = response.headers.get("WWW-Authenticate", "")
            response.close()
            # Kept for what comes next: most of it needs the same token, and what needs another is told so by a 401.
            self.authorization = registry_auth.authorization(
                self.registry, challenge, self._ask_for_token, secure=self.secure
            )
            response = self._again(asked, tries)
        if response.status_code in good:
            return response
        with response:
            raise self._refused(response, what)

    def document(self, response: Response, limit: int, what: str) -> bytes:
        """Return the body of an answer and close it; RegistryError when it is cut off, or longer than `limit`."""
        deadline, found = time.monotonic() + DOCUMENT_S, bytearray()
        with response:
            for piece in self.pieces(response, what):
                found += piece
                if len(found) > limit:
                    hint = "check that this is the address of a registry and the name of an image"
                    raise RegistryError(f"cannot {what}: {self.registry} sends more than {limit} bytes", hint)
                if time.monotonic() > deadline:
                    raise RegistryError(f"cannot {what}: {self.registry} is too slow", HINT_REACH)
        return bytes(found)

    def blob(self, repository: str, digest: str, start: int = 0, *, tries: int = TRIES) -> Iterator[bytes]:
        """Yield a blob's bytes from `start` on; they are not verified. RegistryError when it is gone or ends early."""
        what = f"read {digest} of {self.registry}/{repository}"
        headers = {"Range": f"bytes={start}-"} if start else {}
        with self.ask(
            "GET", f"{repository}/blobs/{digest}", what=what, headers=headers, good=PARTS, tries=tries
        ) as response:
            skipped = 0 if response.status_code == 206 else start  # who knows no ranges begins at the beginning
            for piece in self.pieces(response, what):
                yield piece[skipped:]
                skipped = max(0, skipped - len(piece))

    def size(self, repository: str, digest: str) -> int | None:
        """Return the size in bytes of a blob, None when it is not there."""
        what, path = f"look for {digest} in {self.registry}/{repository}", f"{repository}/blobs/{digest}"
        with self.ask("HEAD", path, what=what, good=frozenset({200, 404})) as answer:
            length = answer.headers.get("Content-Length", "")
            return int(length) if answer.status_code == 200 and LENGTH.fullmatch(length) else None

    def pieces(self, response: Response, what: str) -> Iterator[bytes]:
        """Yield the body of an answer as it comes, so that its reader can have enough; RegistryError when it is cut."""
        with explained(self.registry, what):
            while piece := response.raw.read1(PIECE_BYTES, decode_content=True):
                yield piece

    def _again(self, asked: _Question, tries: int) -> Response:
        """Return the answer of the first try that is neither 429 nor 5xx, or the last one."""
        wait_s = BACK_OFF_S
        for _ in range(tries - 1):
            response = self._follow(asked)
            if response.status_code not in LATER:
                return response
            response.close()
            time.sleep(max(wait_s, _retry_after_s(response)))
            wait_s *= 2
        return self._follow(asked)

    def _follow(self, asked: _Question) -> Response:
        """Ask, and follow redirects; the login goes to the registry alone, and nothing goes in clear.

        The first address, too, may be the registry's word: it says where an upload goes on.
        """
        url = asked.url
        for _ in range(MAX_REDIRECTS + 1):
            if self.secure and urlsplit(url).scheme != "https":
                shown = without_login(url)[:200]
                raise RegistryError(f"cannot {asked.what}: {self.registry} sends us on to {shown}", NO_REGISTRY)
            own = urlsplit(url)[:2] == urlsplit(self.root)[:2]
            login = {"Authorization": self.authorization} if own and self.authorization else {}
            response = self._send(asked.what, asked.method, url, login | asked.headers, asked.data)
            if response.status_code not in REDIRECTS or "Location" not in response.headers:
                return response
            response.close()
            url = self.joined(url, response.headers["Location"], asked.what)
        raise RegistryError(
            f"cannot {asked.what}: {self.registry} redirects more than {MAX_REDIRECTS} times, lastly to "
            f"{without_login(url)[:200]}",
            NO_REGISTRY,
        )

    def joined(self, url: str, location: str, what: str) -> str:
        """Return where a registry's address leads, seen from another; RegistryError when it is none."""
        try:
            return urlsplit(urljoin(url, location)).geturl()
        except ValueError as error:
            words = f"cannot {what}: {self.registry} names {location[:200]!r}, which is no address"
            raise RegistryError(words, NO_REGISTRY) from error

    def _send(self, what: str, method: str, url: str, headers: dict[str, str], data: Any) -> Response:
        with explained(self.registry, what):
            # No proxy is asked for this machine, nor told its login.
            here = LOOPBACK.fullmatch(urlsplit(url).netloc) is not None
            proxies: Any = {"http": None, "https": None} if here else {}
            timeout = (CONNECT_S, self.timeout_s)
            return self.session.request(
                method, url, headers=headers, data=data, stream=True, timeout=timeout, proxies=proxies
            )

    def _ask_for_token(self, method: str, url: str, headers: dict[str, str], form: dict[str, str] | None) -> Any:
        what = f"get a token for {self.registry}"
        response = self._send(what, method, url, headers, form)
        if response.status_code != 200:
            with response:
                raise self._refused(response, what)
        try:
            return documents.parse_json(self.document(response, MAX_TOKEN_BYTES, what), "the token")
        except RegistryError:
            raise
        except KitError as error:
            raise RegistryError(f"cannot {what}: {error.message}", f"docker login {self.registry}") from error

    def _refused(self, response: Response, what: str) -> RegistryError:
        """Return the error for an answer that is not what was asked for, with the codes and words that came with it."""
        try:
            found = documents.parse_json(self.document(response, MAX_ERROR_BYTES, "read"), "")
            errors = [(str(error["code"]), str(error.get("message", ""))) for error in found["errors"][:3]]
        except (KitError, TypeError, LookupError, AttributeError):  # the page is none of its own
            errors = []
        words = "; ".join(f"{code}: {message}" if message else code for code, message in errors)
        codes = tuple(code for code, _ in errors)
        return refusal(self.registry, what, response.status_code, codes, words[:300])


class Clients:
    """A client for each registry, made when it is first asked for; threads share them."""

    def __init__(self, timeout_s: float = 60) -> None:
        self.timeout_s, self.lock = timeout_s, threading.Lock()
        self.made: dict[str, Client] = {}

    def of(self, registry: str) -> Client:
        """Return the client of a registry."""
        with self.lock:
            if registry not in self.made:
                self.made[registry] = Client(registry, timeout_s=self.timeout_s)
            return self.made[registry]

    def close(self) -> None:
        """Close all connections."""
        for client in self.made.values():
            client.close()


def _session() -> Session:
    """Return a session with the proxies and certificates of this host, without what it may have in ~/.netrc."""
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    class Plain(requests.Session):
        def get_redirect_target(self, resp: Response) -> None:  # none is followed
            del resp

    session = Plain()
    session.headers.update(HEADERS)
    session.auth = lambda request: request
    paths = ssl.get_default_verify_paths()
    session.verify = paths.cafile or paths.capath or True
    # Connections that fail are tried again, and those that were idle and have been closed; nothing else is.
    retries = Retry(total=2, connect=2, read=1, redirect=0, status=0, backoff_factor=BACK_OFF_S, raise_on_status=False)
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=retries, pool_maxsize=16))
    return session


def _retry_after_s(response: Response) -> float:
    after = response.headers.get("Retry-After", "")
    return min(float(after), MAX_RETRY_AFTER_S) if re.fullmatch(r"[0-9]{1,9}", after) else 0
