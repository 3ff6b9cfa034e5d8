"""What is written into a registry is there, whole, once, and whatever happened on the way."""

import json

import pytest

from pins import registry_client, registry_upload
from pins.references import parse
from pins.registry import image
from pins.registry_client import Client
from pins.registry_documents import Descriptor
from pins.registry_upload import Repository, of_bytes
from schema.errors import KitError
from tests.pins.fakes_registry import MANIFEST, Image, digest, packed, send

DATA = bytes(range(256)) * 200


def blob(data):
    return Descriptor("application/octet-stream", digest(data), len(data))


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    monkeypatch.setattr(registry_client, "BACK_OFF_S", 0.001)
    monkeypatch.setattr(registry_upload, "PART_BYTES", 10_000)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))


def repository(host, name="ours/image"):
    return Repository(parse(f"{host}/{name}"))


@pytest.mark.parametrize("size", [0, 1, 9_999, 10_000, 10_001, 20_000, len(DATA)])
def test_a_blob_of_any_size_arrives_whole(debian, size):
    data = DATA[:size]
    told = []
    with Repository(parse(f"{debian.host}/ours/image"), advance=told.append) as there:
        assert there.put(blob(data), of_bytes(data)) == "sent"
        assert there.size(digest(data)) == size
        assert b"".join(there.client.blob("ours/image", digest(data))) == data
        assert there.sent_bytes == sum(told) == size


def test_what_is_there_is_not_sent_and_what_lies_beside_is_mounted(debian):
    ours, theirs = repository(debian.host), repository(debian.host, "their/base")
    theirs.put(blob(DATA), of_bytes(DATA))
    nothing = of_bytes(b"")

    assert ours.put(blob(DATA), nothing, mount="their/base") == "mounted"
    assert ours.put(blob(DATA), nothing, mount="their/base") == "there"
    assert ours.sent_bytes == 0
    assert ours.size(digest(DATA)) == len(DATA)


def test_what_cannot_be_mounted_is_sent(debian):
    assert repository(debian.host).put(blob(DATA), of_bytes(DATA), mount="their/base") == "sent"


def test_a_blob_is_copied_from_one_registry_to_another(debian):
    source, target = Client(debian.host), repository(debian.host)
    debian.put_blob(DATA, "their/base", digest(DATA))

    assert target.put(blob(DATA), lambda start: source.blob("their/base", digest(DATA), start)) == "sent"
    assert b"".join(source.blob("ours/image", digest(DATA), 1000)) == DATA[1000:]


def test_a_manifest_that_was_written_is_an_image_and_is_read_back(debian):
    new = Image()
    with repository(debian.host) as there:
        for data in new.blobs.values():
            there.put(blob(data), of_bytes(data))
        there.put_manifest(new.manifest, new.kind, "1")
        there.read_back(new.manifest, new.kind, "1", [blob(data) for data in new.blobs.values()])

    assert image(f"{debian.host}/ours/image:1").manifest.digest == digest(new.manifest)


def test_reading_back_finds_a_missing_blob_and_another_manifest(debian):
    new, other = Image(), Image((b"other",))
    debian.put(new, "ours/image")
    there = repository(debian.host)
    there.read_back(new.manifest, new.kind, "1", [])
    with pytest.raises(KitError, match="has nothing under sha256"):
        there.read_back(new.manifest, new.kind, "1", [blob(b"absent")])
    debian.put(other, "ours/image")
    with pytest.raises(KitError, match="image 1 is not the manifest that was written"):
        there.read_back(new.manifest, new.kind, "1", [])


def test_bytes_that_are_not_what_their_digest_says_are_refused_by_the_registry(debian):
    wrong = Descriptor("x", digest(b"b"), 1)
    with pytest.raises(KitError, match=r"what was sent as sha256:.* is something else"):
        repository(debian.host).put(wrong, of_bytes(b"a"))
    assert repository(debian.host).size(digest(b"b")) is None


@pytest.mark.parametrize(("data", "words"), [(b"aaa", "is longer than 2"), (b"a", "ended after 1 of 2")])
def test_bytes_of_another_length_are_refused(debian, data, words):
    with pytest.raises(KitError, match=words):
        repository(debian.host).put(Descriptor("x", digest(b"ab"), 2), of_bytes(data))


def test_what_a_source_breaks_off_is_gone_on_with(debian):
    asked = []

    def source(start):
        asked.append(start)
        yield DATA[start : start + 15_000]
        if len(asked) == 1:
            raise registry_upload.RegistryError("cut off", "again")
        yield DATA[start + 15_000 :]

    there = repository(debian.host)
    assert there.put(blob(DATA), source) == "sent"
    assert b"".join(there.client.blob("ours/image", digest(DATA))) == DATA
    assert asked == [0, 10_000], "what had arrived was not sent again"


class Lossy:
    """A registry for one blob that loses things: `faults` are given one a part."""

    def __init__(self, fake, faults):
        self.had, self.faults, self.whole = b"", list(faults), None
        base = "/v2/ours/image/blobs"
        fake.answers[f"{base}/{digest(DATA)}"] = self.head
        fake.answers[f"{base}/uploads/"] = self.begin
        fake.answers["/there?state=1"] = self.part
        fake.answers[f"/there?state=1&digest={digest(DATA).replace(':', '%3A')}"] = self.finish
        self.fake = fake

    def head(self, handler):
        found = self.whole or b""
        handler.send_response(200 if self.whole else 404)
        handler.send_header("Content-Length", str(len(found)))
        handler.end_headers()

    def begin(self, _handler):
        self.had = b""
        return 202, {"Location": "/there?state=1"}, b""

    def part(self, handler):
        if handler.command == "GET":
            return 204, {"Location": "/there?state=1", "Range": f"0-{max(len(self.had) - 1, 0)}"}, b""
        fault = self.faults.pop(0) if self.faults else ""
        body = self.fake.requests[-1][2]["body"]
        assert handler.headers["Content-Range"] == f"{len(self.had)}-{len(self.had) + len(body) - 1}"
        if fault != "lost before":
            self.had += body
        if fault:
            if fault == "cut":
                handler.close_connection = True
                return None
            return 502, {}, b""
        return 202, {"Location": "/there?state=1"}, b""

    def finish(self, _handler):
        self.whole = self.had
        return (201, {}, b"") if digest(self.had) == digest(DATA) else (400, {}, b"")


@pytest.mark.parametrize(
    "faults",
    [["lost before"], ["lost after"], ["cut"], ["", "lost after", "", "lost before"], ["lost before"] * 3],
    ids=["before it arrived", "after it arrived", "with the connection", "now and then", "three times"],
)
def test_a_part_whose_answer_is_lost_is_neither_missing_nor_sent_twice(fake, faults):
    lossy = Lossy(fake, faults)

    assert repository(fake.host).put(blob(DATA), of_bytes(DATA)) == "sent"
    assert lossy.whole == DATA


def test_a_registry_that_loses_every_part_is_given_up(fake):
    Lossy(fake, ["lost before"] * 99)

    with pytest.raises(KitError, match="HTTP 502") as caught:
        repository(fake.host).put(blob(DATA), of_bytes(DATA))
    assert caught.value.hint


def test_a_registry_that_one_may_only_read_is_said(fake):
    fake.answers[f"/v2/ours/image/blobs/{digest(DATA)}"] = (404, {}, b"")
    fake.answers["/v2/ours/image/blobs/uploads/"] = (403, {}, packed({"errors": [{"code": "DENIED"}]}))

    with pytest.raises(KitError, match=r"HTTP 403 .DENIED") as caught:
        repository(fake.host).put(blob(DATA), of_bytes(DATA))
    assert f"docker login {fake.host}" in caught.value.hint


def test_a_registry_that_calls_a_manifest_otherwise_is_said(fake):
    fake.answers["/v2/ours/image/manifests/1"] = (201, {"Docker-Content-Digest": digest(b"x")}, b"")

    with pytest.raises(KitError, match=r"the registry calls sha256:.* what is sha256:"):
        repository(fake.host).put_manifest(b"{}", MANIFEST, "1")


def test_another_token_is_had_where_writing_needs_one(fake):
    """Reading is for everybody; the first thing that is written is answered with another scope."""

    def uploads(handler):
        if handler.headers.get("Authorization") == "Bearer writer":
            return 202, {"Location": "/there"}, b""
        challenge = f'Bearer realm="http://{fake.host}/token",service="s",scope="repository:ours/image:pull,push"'
        return 401, {"WWW-Authenticate": challenge}, b""

    fake.answers[f"/v2/ours/image/blobs/{digest(b'')}"] = (404, {}, b"")
    fake.answers["/v2/ours/image/blobs/uploads/"] = uploads
    path = "/token?service=s&scope=repository%3Aours%2Fimage%3Apull%2Cpush"
    fake.answers[path] = (200, {}, json.dumps({"access_token": "writer"}).encode())
    fake.answers[f"/there?digest={digest(b'').replace(':', '%3A')}"] = lambda handler: send(handler, 201, {}, b"")

    assert repository(fake.host).put(blob(b""), of_bytes(b"")) == "sent"
