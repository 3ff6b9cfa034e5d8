"""A web server with files and faults, locks over its files, and hosts whose apt names it."""

import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pins.lock import from_document

SNAPSHOT = "20261128T140931Z"


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def deb(name, content, **more):
    return {
        "name": name,
        "version": "1.0-1",
        "architecture": "all",
        "sha256": sha256(content),
        "size": len(content),
        "archive": "debian",
        "path": f"pool/main/{name[0]}/{name}/{name}_1.0-1_all.deb",
        "snapshot": SNAPSHOT,
        "bootstrap": False,
    } | more


def document(debs=(), **more):
    return {
        "lock_version": "1",
        "name": "small",
        "rocm": "5.7.1",
        "channel": "debian",
        "pin_sha256": "0" * 64,
        "source_date_epoch": 1700000000,
        "platform": "linux/amd64",
        "base": None,
        "python": "3.13.5",
        "torch": {"version": "2.6.0", "build": "cpu"},
        "gfx": [],
        "components": {},
        "host_requirements": {},
        "environment": {},
        "debs": list(debs),
        "wheels": [],
    } | more


PIN = {
    "pin_version": "1",
    "name": "small",
    "rocm": "5.7.1",
    "channel": "debian",
    "pytorch": "2.6",
    "python": "3.13",
    "platform": "linux/amd64",
    "source_date_epoch": 1700000000,
    "suite": "trixie",
    "packages": ["python3-torch"],
    "gfx": [],
}
BASE = {
    "repo": "rocm/pytorch",
    "tag": "some",
    "digest": "sha256:" + "1" * 64,
    "digest_kind": "unknown",
    "status": "recorded",
    "sources": ["a public document"],
    "recorded": "2026-11-30",
}


def lock_of(contents, **more):
    """A lock over `contents`, package name to bytes."""
    return from_document(document([deb(name, content) for name, content in sorted(contents.items())], **more))


def host_root(folder, *uris):
    """A root folder whose apt sources name `uris`."""
    (folder / "etc/apt").mkdir(parents=True)
    (folder / "etc/apt/sources.list").write_text("".join(f"deb {uri} trixie main\n" for uri in uris))
    return folder


class Archive:
    """Serve `files` (path to bytes) under /debian/. `faults[path]` is a list of answers to give first, one a request.

    An answer is an HTTP status, or one of: "cut" (half the promised bytes), "cut short" (half, promised as all),
    "wrong" (other bytes of the same length), "long" (more bytes, none promised), "slow" (a second of silence),
    "other range" (a range that was not asked for), "no range" (the whole, whatever was asked), a URL (a redirect).
    Or a tuple of status, headers, and how the page that comes with it ends: "whole", "cut", "hang" (until the client
    has gone), "endless". The last answer stays when it is followed by "always".
    """

    def __init__(self):
        self.files, self.faults, self.requests, self.connections = {}, {}, [], 0
        self.logins, self.proxy_logins = [], []
        archive = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                archive.connections += 1
                super().setup()

            def log_message(self, *_):
                pass

            def do_GET(self):
                archive.answer(self)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # a client that hangs up early is part of the game
        self.url = f"http://127.0.0.1:{self.server.server_port}/debian/"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def add(self, lock, contents):
        """Serve the debs of a lock made by `lock_of(contents)`."""
        for entry in lock.debs:
            self.files[entry["path"]] = contents[entry["name"]]
        return lock

    def answer(self, handler):
        path = handler.path.partition("/debian/")[2]
        wanted = handler.headers.get("Range")
        self.requests.append((path, wanted))
        if "Authorization" in handler.headers:
            self.logins.append(handler.headers["Authorization"])
        if "Proxy-Authorization" in handler.headers:
            self.proxy_logins.append(handler.headers["Proxy-Authorization"])
        faults = self.faults.get(path, [])
        fault = (faults[0] if faults[1:] == ["always"] else faults.pop(0)) if faults else 200
        if fault == 200 and path not in self.files:
            fault = 404
        if isinstance(fault, tuple):
            self._send_page(handler, *fault)
            return
        if isinstance(fault, int) and fault != 200:
            handler.send_response(fault)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        if "://" in str(fault):
            handler.send_response(302)
            handler.send_header("Location", fault)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        self._send(handler, self.files[path], wanted, fault)

    @staticmethod
    def _send_page(handler, status, headers, end):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        if end != "endless":
            handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(bytes(1000 if end == "whole" else 500))
        while end == "endless":
            handler.wfile.write(bytes(1 << 16))
        if end == "hang":
            handler.connection.settimeout(5)
            handler.rfile.read(1)
        handler.close_connection = end != "whole"

    @staticmethod
    def _send(handler, content, wanted, fault):
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and fault != "no range" else 0
        if start >= len(content) > 0:
            handler.send_response(416)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        body = bytes(len(content) - start) if fault == "wrong" else content[start:]
        if fault == "cut short":
            body = body[: len(body) // 2]
        if fault == "slow":
            time.sleep(1)
        handler.send_response(206 if start else 200)
        if start:
            first = start - 1 if fault == "other range" else start
            handler.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        if fault == "long":
            handler.send_header("Connection", "close")
            body += b"and more"
        else:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[: len(body) // 2] if fault == "cut" else body)
        if fault in {"cut", "long"}:
            handler.close_connection = True
