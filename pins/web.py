"""Ask web servers for files, keeping connections open, through the proxy and with the certificates of the host."""

from __future__ import annotations

import base64
import http.client
import re
import ssl
import threading
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from pins.references import LOOPBACK

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

MAX_REDIRECTS = 5
MAX_RETRY_AFTER_S = 30.0
MAX_PAGE_BYTES = 1 << 16  # of the page that comes with a redirect
LENGTH = re.compile(r"[0-9]{1,15}")  # of a file, in a header; Python makes no number of thousands of digits
HEADERS = {"User-Agent": "rocm-repro-kit", "Accept-Encoding": "identity"}


class RefusedError(Exception):
    """The server does not have the file, and asking again will not help."""


class LaterError(Exception):
    """The server may have it later. `unreachable`: it did not answer at all. `after_s`: when it asks to be asked."""

    def __init__(self, message: str, *, unreachable: bool = False, after_s: float = 0) -> None:
        super().__init__(message)
        self.unreachable, self.after_s = unreachable, after_s


class RangeError(LaterError):
    """The server cannot go on from there: ask for the whole file."""


@dataclass(frozen=True)
class Answer:
    """The body of one answer. It begins at byte `start` of a file of `size` bytes (None: the server did not say)."""

    response: HTTPResponse
    start: int
    size: int | None


class Client:
    """One per fetch. Threads share it; each has connections of its own."""

    def __init__(self, timeout_s: float = 30) -> None:
        self.timeout_s = timeout_s
        self.proxies = urllib.request.getproxies()
        self.local = threading.local()
        self.opened: list[HTTPConnection] = []
        self.tls = ssl.create_default_context()  # SSL_CERT_FILE and SSL_CERT_DIR are respected

    def get(self, url: str, start: int = 0) -> Answer:
        """Ask for `url` from byte `start` on. Raises RefusedError, LaterError, RangeError.

        Read the body to its end, or call `forget`: only then can the connection be used again.
        """
        try:
            for _ in range(MAX_REDIRECTS):
                response = self._ask(urlsplit(url), start)
                if response.status not in {301, 302, 303, 307, 308}:
                    return _judge(response, start)
                url = self._target(url, response)
        except (OSError, http.client.HTTPException) as error:
            words = "no answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
            raise LaterError(words, unreachable=True) from error
        except ValueError as error:  # from an address, here, of the proxy or of a redirect; the same the next time
            raise RefusedError(f"an address cannot be read: {error}") from error
        raise RefusedError(f"more than {MAX_REDIRECTS} redirects")

    def page(self, url: str, most: int) -> bytes:
        """Return all of a page, of fewer than `most` bytes. What `get` raises; LaterError where it is cut off."""
        response = self.get(url).response
        try:
            data = response.read(most)
        except (OSError, http.client.HTTPException) as error:
            raise LaterError("the page is cut off") from error
        if response.length or len(data) >= most:
            raise LaterError("the page is cut off, or too long")
        return data

    def forget(self) -> None:
        """Close this thread's connections: an answer was left unread."""
        for connection in self._connections().values():
            connection.close()
        self._connections().clear()

    def close(self) -> None:
        """Close the connections of all threads; none may be asking any more."""
        for connection in self.opened:
            connection.close()

    def _ask(self, url: SplitResult, start: int) -> HTTPResponse:
        headers = HEADERS | _login(url, "Authorization")
        if start:
            headers["Range"] = f"bytes={start}-"
        key = (url.scheme, url.netloc)
        fresh = key not in self._connections()
        try:
            connection, target, more = self._connection(url)
            connection.request("GET", target, headers=headers | more)
            return connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self.forget()
            if fresh or isinstance(error, TimeoutError):
                raise
            return self._ask(url, start)  # the server had closed an idle connection

    def _target(self, url: str, response: HTTPResponse) -> str:
        """Return where a redirect leads. Its page is read in one go, or given up together with the connection."""
        target = urljoin(url, response.headers.get("Location", ""))
        if urlsplit(target).scheme not in {"https", urlsplit(url).scheme}:
            raise RefusedError(f"redirected to {without_login(target)[:200]}")
        size = response.length
        if size is None or len(response.read1(MAX_PAGE_BYTES)) < size:
            self.forget()
        else:
            response.close()
        return target

    def _connections(self) -> dict[tuple[str, str], HTTPConnection]:
        if not hasattr(self.local, "connections"):
            self.local.connections = {}
        found: dict[tuple[str, str], HTTPConnection] = self.local.connections
        return found

    def _connection(self, url: SplitResult) -> tuple[HTTPConnection, str, dict[str, str]]:
        """Return a connection for `url`, what to ask it for, and headers that its proxy needs."""
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        proxy = None
        here = LOOPBACK.fullmatch(url.netloc.rpartition("@")[2])  # this machine, for which no proxy is asked
        if not here and not urllib.request.proxy_bypass(url.hostname or ""):
            text = self.proxies.get(url.scheme)
            proxy = urlsplit(text if "//" in text else f"//{text}") if text else None
        login = _login(proxy, "Proxy-Authorization")
        target = f"http://{url.netloc.rpartition('@')[2]}{path}" if proxy and url.scheme == "http" else path
        held = self._connections().get((url.scheme, url.netloc))
        if held is None:
            server = proxy or url
            default = 3128 if proxy else None
            if url.scheme == "https":
                held = http.client.HTTPSConnection(
                    server.hostname or "", server.port or default, timeout=self.timeout_s, context=self.tls
                )
                if proxy:
                    held.set_tunnel(url.hostname or "", url.port or 443, headers=login)
            else:
                held = http.client.HTTPConnection(server.hostname or "", server.port or default, timeout=self.timeout_s)
            self._connections()[url.scheme, url.netloc] = held
            self.opened.append(held)
        return held, target, login if proxy and url.scheme == "http" else {}


def without_login(address: str) -> str:
    """Return an address fit to be shown: no user name, no password."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "an address that cannot be read"
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if parts.username else address


def _login(url: SplitResult | None, header: str) -> dict[str, str]:
    if not url or not url.username:
        return {}
    pair = f"{unquote(url.username)}:{unquote(url.password or '')}"
    return {header: "Basic " + base64.b64encode(pair.encode()).decode()}


def _judge(response: HTTPResponse, start: int) -> Answer:
    status = response.status
    if status == 200:  # a server without ranges begins at the beginning
        return Answer(response, 0, response.length)
    if status == 206:
        span, _, total = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
        if span.startswith(f"{start}-"):
            return Answer(response, start, int(total) if LENGTH.fullmatch(total) else None)
    words = f"HTTP {status} {response.reason}"[:100]
    if status in {206, 416}:
        raise RangeError(f"{words}, but not what was asked for")
    if status in {408, 425, 429} or status >= 500:
        after = response.headers.get("Retry-After", "")
        raise LaterError(words, after_s=min(float(after), MAX_RETRY_AFTER_S) if after.isdecimal() else 0)
    raise RefusedError(words)
