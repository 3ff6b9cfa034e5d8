"""Registries for tests: Debian's own, and one that answers as badly as we like; and small images for both."""

import hashlib
import json
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

OCI = "application/vnd.oci.image"
DOCKER = "application/vnd.docker"
MANIFEST, INDEX = f"{OCI}.manifest.v1+json", f"{OCI}.index.v1+json"
AMD64 = {"os": "linux", "architecture": "amd64"}


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def packed(document):
    return json.dumps(document).encode()


class Image:
    """A small image: `blobs` by digest, its `manifest`, perhaps an `index` above it; all as bytes."""

    def __init__(self, layers=(b"a layer", b"another"), *, docker=False, platform=AMD64, change=None, config=None):
        kinds = (
            (f"{DOCKER}.distribution.manifest.v2+json", f"{DOCKER}.container.image.v1+json")
            if docker
            else (MANIFEST, f"{OCI}.config.v1+json")
        )
        layer_kind = f"{DOCKER}.image.rootfs.diff.tar" if docker else f"{OCI}.layer.v1.tar"
        self.config = packed(
            config
            or {**platform, "config": {}, "rootfs": {"type": "layers", "diff_ids": [digest(one) for one in layers]}}
        )
        self.blobs = {digest(data): data for data in (self.config, *layers)}
        self.document = {
            "schemaVersion": 2,
            "mediaType": kinds[0],
            "config": {"mediaType": kinds[1], "digest": digest(self.config), "size": len(self.config)},
            "layers": [{"mediaType": layer_kind, "digest": digest(one), "size": len(one)} for one in layers],
        } | (change or {})
        self.manifest = packed(self.document)
        self.kind = kinds[0]

    def entry(self, **more):
        return {
            "mediaType": self.kind,
            "digest": digest(self.manifest),
            "size": len(self.manifest),
            "platform": AMD64,
        } | more


def index(*entries, kind=INDEX):
    return packed({"schemaVersion": 2, "mediaType": kind, "manifests": list(entries)})


def attestation(image):
    """An entry such as BuildKit adds: no image, for no platform."""
    notes = {"vnd.docker.reference.type": "attestation-manifest", "vnd.docker.reference.digest": digest(image.manifest)}
    other = Image((b"{}",))
    return other, other.entry(platform={"os": "unknown", "architecture": "unknown"}, annotations=notes)


class Fake:
    """A registry of documents: `answers[path]` is (status, headers, body), or a function of the handler.

    A list is given one a request, its last one for ever. `requests` are (method, path, headers) that came.
    """

    def __init__(self):
        self.answers, self.requests = {}, []
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                fake.answer(self)

            def __getattr__(self, name):
                if name.startswith("do_"):
                    return self.do_GET
                raise AttributeError(name)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None
        self.host = f"127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def put(self, image, repository="some/image", tag="1", above=None):
        """Serve an image under a tag, by way of the index `above` it where there is one."""
        top = above or image.manifest
        for data, names in ((image.manifest, [digest(image.manifest)]), (top, [digest(top), tag])):
            kind = json.loads(data)["mediaType"] if b"mediaType" in data[:200] else MANIFEST
            for name in names:
                headers = {"Content-Type": kind, "Docker-Content-Digest": digest(data)}
                self.answers[f"/v2/{repository}/manifests/{name}"] = (200, headers, data)
        for name, data in image.blobs.items():
            self.answers[f"/v2/{repository}/blobs/{name}"] = (200, {}, data)
        self.answers[f"/v2/{repository}/tags/list?n=1000"] = (200, {}, packed({"name": repository, "tags": [tag]}))
        return f"{self.host}/{repository}:{tag}"

    def answer(self, handler):
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        self.requests.append((handler.command, handler.path, dict(handler.headers) | {"body": body}))
        found = self.answers.get(handler.path, (404, {}, packed({"errors": [{"code": "NAME_UNKNOWN"}]})))
        if isinstance(found, list):
            found = found.pop(0) if len(found) > 1 else found[0]
        if callable(found):
            found = found(handler)
        if found:
            send(handler, *found)


def send(handler, status, headers, body):
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(body)


def endless(status, headers):
    """Answer with a page that has no end."""

    def answer(handler):
        handler.send_response(status)
        for name, value in {"Connection": "close", **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        while True:
            handler.wfile.write(bytes(1 << 16))

    return answer


def cut(data, headers=()):
    """Answer with half of what is promised."""

    def answer(handler):
        handler.send_response(200)
        for name, value in {"Content-Length": str(len(data)), **dict(headers)}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data[: len(data) // 2])
        handler.close_connection = True

    return answer


def program(folder):
    """Debian's docker-registry: the installed one, or that of its package, which apt fetches and nothing installs."""
    found = shutil.which("docker-registry")
    if found:
        return Path(found)
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        pytest.skip("no docker-registry on this host, and no apt to fetch one")
    got = subprocess.run(["apt-get", "download", "docker-registry"], cwd=folder, capture_output=True, check=False)
    packages = list(folder.glob("docker-registry_*.deb"))
    if not packages:
        pytest.skip(f"no docker-registry on this host, and apt fetched none: {got.stderr.decode()[-200:]}")
    subprocess.run(["dpkg-deb", "-x", packages[0], folder], check=True)
    return folder / "usr/bin/docker-registry"


class Debian:
    """Debian's docker-registry on a free port of 127.0.0.1, its files in `folder`; with `htpasswd` it wants a login."""

    def __init__(self, binary, folder, *, htpasswd=None):
        folder.mkdir(parents=True, exist_ok=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.host = f"127.0.0.1:{probe.getsockname()[1]}"
        self.folder = folder
        settings = {
            "version": 0.1,
            "log": {"level": "error", "accesslog": {"disabled": True}},
            "storage": {"filesystem": {"rootdirectory": str(folder / "data")}, "delete": {"enabled": True}},
            "http": {"addr": self.host},
        }
        if htpasswd:
            settings["auth"] = {"htpasswd": {"realm": "tests", "path": str(htpasswd)}}
        (folder / "config.yml").write_text(json.dumps(settings))
        self.log = (folder / "log").open("wb")
        self.child = subprocess.Popen(
            [binary, "serve", folder / "config.yml"], stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL
        )
        self._wait()

    def _wait(self):
        for _ in range(200):
            if self._answers():
                return
            time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text()[-2000:])

    def _answers(self):
        try:
            urllib.request.urlopen(f"http://{self.host}/v2/", timeout=1).close()
        except urllib.error.HTTPError as error:  # it wants a login
            return error.code == 401
        except OSError:
            return False
        return True

    def stop(self):
        self.child.terminate()
        self.child.wait(10)
        self.log.close()

    def request(self, method, path, data=None, headers=None):
        """Ask it plainly, past all of our code."""
        asked = urllib.request.Request(f"http://{self.host}{path}", data, headers or {}, method=method)
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return answer.status, dict(answer.headers), answer.read()

    def put(self, image, repository="some/image", tag="1"):
        for name, data in image.blobs.items():
            self.put_blob(data, repository, name)
        self.put_manifest(image.manifest, repository, digest(image.manifest))
        if tag:
            self.put_manifest(image.manifest, repository, tag)
        return f"{self.host}/{repository}:{tag}"

    def put_blob(self, data, repository, name):
        _, headers, _ = self.request("POST", f"/v2/{repository}/blobs/uploads/", b"")
        path = headers["Location"].partition(self.host)[2]
        self.request("PUT", f"{path}&digest={name}", data, {"Content-Type": "application/octet-stream"})

    def put_manifest(self, data, repository, name):
        kind = json.loads(data)["mediaType"]
        self.request("PUT", f"/v2/{repository}/manifests/{name}", data, {"Content-Type": kind})
