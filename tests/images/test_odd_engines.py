"""Addresses at which no engine is, and servers that answer as no engine does: one message, one remedy, no fault."""

import io
import json
import socket
import threading
import time

import pytest

from images import engine as engines
from images.access import access
from images.endpoint import EngineError
from images.workshop import Bounds
from schema.errors import KitError
from tests.fakes import ABOUT

VERSION = {"Version": "20.10.24", "ApiVersion": "1.41", "MinAPIVersion": "1.12", "Components": [{"Name": "Engine"}]}
INFO = {"Driver": "overlay2", "MemTotal": 1 << 33, "NCPU": 2, "DockerRootDir": "/"}
HANG, HANG_UP = object(), b""


class Server:
    """Answers on a socket: `answers` gets the path that was asked for and returns the bytes of the whole answer."""

    def __init__(self, path, answers):
        self.path, self.answers, self.over = path, answers, threading.Event()
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(path))
        self.server.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        with connection:
            asked = connection.recv(65536)
            answer = self.answers(asked.split(b" ")[1].decode()) if asked else HANG_UP
            if answer is HANG:
                self.over.wait(30)
            elif answer:
                connection.sendall(answer)

    def close(self):
        self.over.set()
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()


def http(body, status="200 OK", kind="application/json"):
    data = body.encode() if isinstance(body, str) else body
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    return head.encode() + data


def sane_at_first(later):
    """Return what to answer as an engine until one has connected, and `later` to all else."""
    first = {"version": http(json.dumps(VERSION)), "info": http(json.dumps(INFO))}
    return lambda path: first.get(path.rpartition("/")[2], later)


@pytest.fixture
def answering(tmp_path):
    """Start a server; return the environment that means it."""
    started = []

    def start(answers):
        started.append(Server(tmp_path / "engine.sock", answers if callable(answers) else lambda _path: answers))
        return {"DOCKER_HOST": f"unix://{tmp_path}/engine.sock", "HOME": str(tmp_path)}

    yield start
    for server in started:
        server.close()


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A machine on which no engine listens at the usual place."""
    monkeypatch.setattr("images.sockets.DOCKER", tmp_path / "none.sock")
    return tmp_path


ADDRESSES = (
    "tcp://h:99999", "tcp://:x", "tcp://", "tcp://host", "tcp://[::1", "tcp://host:-1", "tcp://:2375", "http://",
    "unix://", "unix:///", "unix:///nonexistent", "/nonexistent", "unix:///dev/null", "unix:///" + "x" * 200,
    "ssh://host", "ssh://user@host:22", "ssh://", "npipe:////./pipe/docker_engine", "fd://", "garbage", "host:2375",
    "://", " ", "\n", "tcp://127.0.0.1:9", "https://127.0.0.1:9", "tcp://127.0.0.1:0", "tcp://nobody.invalid:2375",
)  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_of_no_engine_is_answered_with_the_setting_to_change(address, alone):
    began = time.monotonic()
    with pytest.raises(EngineError) as caught:
        engines.connect({"DOCKER_HOST": address, "HOME": str(alone)}, timeout_s=1)

    assert "DOCKER_HOST" in caught.value.hint
    assert "\n" not in caught.value.hint
    assert caught.value.code == "chosen", "nothing is installed or started in its place"
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("address", ["unix:///nonexistent", "tcp://127.0.0.1:9", "garbage"])
def test_a_setting_that_hides_an_engine_that_listens_is_named(address, answering, tmp_path, monkeypatch):
    answering(http("{}"))
    monkeypatch.setattr("images.sockets.DOCKER", tmp_path / "engine.sock")

    with pytest.raises(EngineError) as caught:
        engines.connect({"DOCKER_HOST": address}, timeout_s=1)

    assert caught.value.hint.startswith("`unset DOCKER_HOST`: an engine listens on ")


ANSWERS = {  # sentence: what comes back, whatever was asked
    "a page": http("<html>hello</html>", kind="text/html"),
    "a list": http("[]"),
    "a list of numbers": http("[1, 2]"),
    "null": http("null"),
    "a number": http("7"),
    "a text": http('""'),
    "an empty document": http("{}"),
    "a document of nulls": http('{"Id": null, "RootFS": null, "Size": null, "ApiVersion": null, "stream": null}'),
    "documents of other types": http('{"Id": 1, "RootFS": 2, "ApiVersion": 3, "error": 4, "errorDetail": 5, "aux": 6}'),
    "nothing at all": http(""),
    "half a document": http('{"Id": "sha2'),
    "bytes": http(bytes(range(256))),
    "a refusal": http('{"message": "the daemon is unwell"}', "500 Internal Server Error"),
    "a page of a refusal": http("<html>" + "no " * 10_000, "503 Service Unavailable", "text/html"),
    "a refusal in bytes": http(b"\xff\xfe\x00", "500 Internal Server Error"),
    "what asks for a login": http("", "401 Unauthorized"),
    "a redirect to nowhere": b"HTTP/1.1 302 Found\r\nLocation: http://[\r\nContent-Length: 0\r\n\r\n",
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n",
    "less than it promised": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
    "broken chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
    "a chunk cut off": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{",
    "half a head": b"HTTP/1.1 200",
    "a hang-up": HANG_UP,
}


@pytest.mark.parametrize("answer", [*ANSWERS.values(), HANG], ids=[*ANSWERS, "silence"])
def test_something_else_behind_the_socket_is_no_engine(answer, answering, alone):
    began = time.monotonic()
    with pytest.raises(EngineError) as caught:
        engines.connect(answering(answer), timeout_s=1)

    assert "DOCKER_HOST" in caught.value.hint
    assert len(str(caught.value)) < 3000
    assert time.monotonic() - began < 5
    assert alone


def test_an_engine_that_refuses_is_quoted(answering):
    with pytest.raises(EngineError, match="the daemon is unwell"):
        engines.connect(answering(ANSWERS["a refusal"]))


SELVES = {  # sentence: what an engine says of itself that no engine says
    "a version of words": {"ApiVersion": "new.est"},
    "memory in words": {"MemTotal": "much"},
    "options that are none": {"SecurityOptions": 3},
    "parts without names": {"Components": [1]},
    "a storage of numbers": {"DriverStatus": 5},
    "devices of texts": {"DiscoveredDevices": ["x"]},
}


@pytest.mark.parametrize("more", SELVES.values(), ids=SELVES)
def test_an_engine_that_says_nonsense_of_itself_is_none(more, answering):
    with pytest.raises(EngineError, match=r"not how a container engine answers|Error while fetching"):
        engines.connect(answering(http(json.dumps(VERSION | INFO | more))))


@pytest.mark.parametrize("api", ["1.10", "1.23", "1.30", "1.39"])
def test_an_engine_that_is_too_old_is_refused(api, answering):
    with pytest.raises(EngineError, match=r"speaks API 1|API versions below") as caught:
        engines.connect(answering(http(json.dumps({"Version": "17.06.0", "ApiVersion": api, "MinAPIVersion": "1.0"}))))

    assert caught.value.code == "old"
    assert "20.10" in caught.value.hint


CALLS = {
    "image": lambda engine: engine.image("x"),
    "require": lambda engine: engine.require("x"),
    "build": lambda engine: engine.build(io.BytesIO(b"tar"), tag="x"),
    "work": lambda engine: engine.work(
        "x",
        ["true"],
        io.BytesIO(b"tar"),
        io.BytesIO(),
        bounds=Bounds(5, 1 << 20, "x"),
        folder="/w",
        label="x",
        on_log=lambda _line: None,
    ),
    "save": lambda engine: b"".join(engine.save("x")),
    "load": lambda engine: engine.load(iter([b"tar"]), "x"),
    "pull": lambda engine: engine.pull("x@sha256:" + "0" * 64, on_progress=lambda *_: None),
    "remove": lambda engine: engine.remove("x"),
    "prune": lambda engine: engine.prune("x"),
    "run": lambda engine: engine.run(
        "x", b"tar", ["true"], access("cpu", ABOUT), deadline_s=5, on_line=lambda _line: None
    ),
}
HARMLESS = {  # what asks for nothing back has no use for what comes
    "remove", "prune", "save",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the SDK drops sockets that fail
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_engine_that_goes_mad_later_is_an_error_with_a_remedy(answer, call, answering):
    engine, caught = engines.connect(answering(sane_at_first(answer))), None
    try:
        CALLS[call](engine)
    except KitError as error:
        caught = error
    engine.close()

    assert caught.hint if caught else call in HARMLESS


PODMAN = {"Components": [{"Name": "Podman Engine"}]}


@pytest.mark.parametrize(
    ("says", "asked", "hint"),
    [
        (PODMAN, "docker", "--runtime podman, or `unset DOCKER_HOST`"),
        ({}, "podman", "--runtime docker, or `unset CONTAINER_HOST`"),
    ],
    ids=["Podman where Docker is asked for", "Docker where Podman is asked for"],
)
def test_another_engine_than_the_one_asked_for_is_refused_by_name(says, asked, hint, answering):
    where = answering(http(json.dumps(VERSION | INFO | says)))
    with pytest.raises(EngineError, match=f"{asked.capitalize()} was asked for") as caught:
        engines.connect(where | {"CONTAINER_HOST": where["DOCKER_HOST"]}, engine=asked)

    assert caught.value.hint == hint


@pytest.mark.parametrize("asked", ["", "podman"])
def test_podman_is_taken_where_it_is_asked_for_or_nothing_is(asked, answering):
    where = answering(http(json.dumps(VERSION | INFO | PODMAN)))
    found = engines.connect(where | {"CONTAINER_HOST": where["DOCKER_HOST"]}, engine=asked)
    found.close()

    assert found.about()["name"] == "podman"


def test_an_engine_that_falls_silent_later_is_an_error(answering):
    engine = engines.connect(answering(sane_at_first(HANG)))
    engine.api.timeout = 0.2
    with pytest.raises(EngineError, match="timed out") as caught:
        engine.image("x")
    engine.close()

    assert caught.value.hint


def test_an_engine_whose_disk_is_full_is_told_from_other_refusals(answering):
    refusal = http('{"message": "write /var/lib/docker/x: no space left on device"}', "500 Internal Server Error")
    engine = engines.connect(answering(sane_at_first(refusal)))
    with pytest.raises(EngineError) as caught:
        engine.load(iter([b"tar"]), "x")
    engine.close()

    assert "make room on the engine's disk" in caught.value.hint
