"""A lock's inputs, and its base, are had from a registry when nothing else is there."""

import json
import subprocess

import pytest

from pins import download, registry, registry_client
from pins.fetch import fetch
from pins.mirror import Mirrored, mirror
from pins.references import parse
from pins.registry_client import Client
from pins.registry_mirror import tag_of
from pins.registry_places import Origin
from pins.sources import Sources
from pins.store import Store
from schema import canon
from schema.errors import KitError
from tests.pins.fakes_archive import BASE, deb, document, from_document, host_root, lock_of
from tests.pins.fakes_registry import Debian, Image, attestation, cut, digest, index
from tests.pins.test_sources import WHEEL

CONTENTS = {"aa": b"a" * 3000, "bb": b"b"}
A_WHEEL = b"a wheel"
BOTH = pytest.mark.parametrize("above", [False, True], ids=["by its manifest", "by an index with attestations"])


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    monkeypatch.setattr(registry_client, "BACK_OFF_S", 0.001)
    monkeypatch.setattr(download, "BACK_OFF_S", 0.001)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))


def put(store, data):
    sha256 = digest(data).removeprefix("sha256:")
    store.part(sha256).write_bytes(data)
    store.keep(sha256)
    return sha256


def filled(**more):
    """A lock of packages and a wheel, and the store that has them."""
    store = Store()
    for data in (*CONTENTS.values(), A_WHEEL):
        put(store, data)
    wheel = WHEEL | {"sha256": digest(A_WHEEL).removeprefix("sha256:")}
    debs = [deb(name, data) for name, data in CONTENTS.items()]
    return from_document(document(debs, wheels=[wheel], **more)), store


def cut_off(monkeypatch, tmp_path, address):
    """An empty store on a host with no archive, no network for pip and no cache."""
    monkeypatch.setenv("KIT_SOURCE", address)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return Store(tmp_path / "elsewhere"), Sources(tmp_path / "bare")


def test_a_registry_is_a_source_when_every_other_is_cut_off(debian, tmp_path, monkeypatch):
    lock, store = filled()
    address = f"oci://{debian.host}/kit/mirror"

    assert mirror(lock, store, address, progress=False) == Mirrored(3, 3008, 3008)
    assert mirror(lock, store, address, progress=False) == Mirrored(3, 3008, 0)

    other, sources = cut_off(monkeypatch, tmp_path, address)
    assert fetch(lock, other, progress=False, sources=sources).downloaded_bytes == 3008
    assert all(other.has(item["sha256"]) for item in (*lock.debs, *lock.wheels))


def test_the_lock_itself_is_there_and_names_every_file(debian):
    lock, store = filled()
    mirror(lock, store, f"oci://{debian.host}/kit/mirror", progress=False)

    manifest = json.loads(
        debian.request(
            "GET",
            f"/v2/kit/mirror/manifests/{tag_of(lock)}",
            headers={"Accept": "application/vnd.oci.image.manifest.v1+json"},
        )[2]
    )
    assert debian.request("GET", f"/v2/kit/mirror/blobs/sha256:{lock.sha256}")[2] == canon.dumps(lock.document)
    assert manifest["config"]["digest"] == f"sha256:{lock.sha256}"
    assert {
        layer["annotations"]["org.opencontainers.image.title"]: layer["digest"] for layer in manifest["layers"]
    } == {
        **{entry["path"]: f"sha256:{entry['sha256']}" for entry in lock.debs},
        f"wheels/{lock.wheels[0]['file']}": digest(A_WHEEL),
    }


def base_in(host, *, above):
    """Put a base there, and return its image and what a lock says of it."""
    image = Image((b"gzip of a layer", b"gzip of another"))
    other, entry = attestation(image)
    top = index(entry, image.entry()) if above else image.manifest
    for one in (image, other):
        host.put(one, "their/base", tag="")
    host.put_manifest(top, "their/base", "1")
    return image, BASE | {"repo": f"{host.host}/their/base", "digest": digest(top)}


@BOTH
def test_the_base_goes_along_and_is_found_by_the_digest_of_the_lock(
    debian, registry_program, tmp_path, monkeypatch, above
):
    theirs = Debian(registry_program, tmp_path / "theirs")
    image, base = base_in(theirs, above=above)
    lock, store = filled(base=base, channel="amd")
    address = f"oci://{debian.host}/kit/mirror"
    mirror(lock, store, address, progress=False)
    theirs.stop()

    other, _ = cut_off(monkeypatch, tmp_path, address)
    name = parse(base["repo"]).at(base["digest"])
    found = registry.image(name, store=other)

    assert (found.reference, found.manifest.digest, found.config.digest) == (
        name,
        digest(image.manifest),
        digest(image.config),
    )
    assert b"".join(Origin(name).blob(found.layers[0].digest)) == b"gzip of a layer"
    assert Client(debian.host).size("kit/mirror", found.layers[1].digest) == found.layers[1].size
    pulled = debian.request("GET", f"/v2/kit/mirror/manifests/{digest(image.manifest)}", headers={"Accept": image.kind})
    assert pulled[2] == image.manifest, "the very bytes, so that an engine pulls it by digest"


def test_a_base_in_the_same_registry_is_mounted(debian):
    _, base = base_in(debian, above=False)
    lock, store = filled(base=base, channel="amd")

    done = mirror(lock, store, f"oci://{debian.host}/kit/mirror", progress=False)

    assert done.copied_bytes == 3008


@BOTH
def test_nothing_is_thrown_away_by_the_registry(debian, tmp_path, monkeypatch, above):
    _, base = base_in(debian, above=above)
    lock, store = filled(base=base, channel="amd")
    second = lock_of({"cc": b"c"}, name="second")
    put(store, b"c")
    address = f"oci://{debian.host}/kit/mirror"
    mirror(lock, store, address, progress=False)
    mirror(second, store, address, progress=False)
    debian.put_blob(b"nobody's", "kit/mirror", digest(b"nobody's"))

    swept = ["garbage-collect", "--delete-untagged", debian.folder / "config.yml"]
    debian.stop()
    subprocess.run([debian.child.args[0], *swept], check=True, capture_output=True)
    debian.__init__(debian.child.args[0], debian.folder)

    address = f"oci://{debian.host}/kit/mirror"
    assert Client(debian.host).size("kit/mirror", digest(b"nobody's")) is None, "it does throw things away"
    other, sources = cut_off(monkeypatch, tmp_path, address)
    for one in (lock, second):
        fetch(one, other, progress=False, sources=sources)
    name = parse(base["repo"].replace("their/base", "gone/base")).at(base["digest"])
    assert registry.image(name, store=other).layers


def test_what_cannot_be_mirrored_is_said(debian):
    address = f"oci://{debian.host}/kit/mirror"
    with pytest.raises(KitError, match=r"the store has no aa_1\.0-1_all\.deb"):
        mirror(lock_of(CONTENTS), Store(), address, progress=False)
    lock, store = filled(base=BASE | {"digest_kind": "config"}, channel="adopted")
    with pytest.raises(KitError, match="known by its id in an engine"):
        mirror(lock, store, address, progress=False)
    with pytest.raises(KitError, match="is not the address of a repository"):
        mirror(lock, store, f"{address}:tag", progress=False)


# Sources that answer badly


def test_a_file_that_the_registry_does_not_have_is_had_from_the_next_source(fake, archive, tmp_path, monkeypatch):
    lock = archive.add(lock_of(CONTENTS), CONTENTS)
    monkeypatch.setenv("KIT_SOURCE", f"oci://{fake.host}/kit/mirror")

    fetch(lock, Store(), progress=False, sources=Sources(host_root(tmp_path / "root", archive.url)))

    assert {path for _, path, _ in fake.requests} == {
        f"/v2/kit/mirror/blobs/sha256:{entry['sha256']}" for entry in lock.debs
    }


def blob_of(lock):
    return f"/v2/kit/mirror/blobs/sha256:{lock.debs[0]['sha256']}"


BAD = {  # sentence: (answer, words)
    "other bytes": ((200, {}, b"b" * 3000), "its bytes have another sha256"),
    "more bytes": ((200, {}, b"a" * 3001), "is longer than 3000 bytes"),
    "not found": ((404, {}, b""), "HTTP 404"),
    "not allowed": ((403, {}, b""), "HTTP 403"),
    "its own trouble": ((500, {}, b""), "HTTP 500"),
    "cut off, always": (cut(b"a" * 3000), "cut off"),
}


@pytest.mark.parametrize(("answer", "words"), BAD.values(), ids=BAD)
def test_what_a_registry_does_instead_of_giving_a_file_is_said(fake, tmp_path, monkeypatch, answer, words):
    lock = lock_of({"aa": CONTENTS["aa"]})
    other, sources = cut_off(monkeypatch, tmp_path, f"oci://{fake.host}/kit/mirror")
    fake.answers[blob_of(lock)] = answer

    with pytest.raises(KitError, match=words) as caught:
        fetch(lock, other, progress=False, sources=sources)
    assert caught.value.hint
    assert not other.has(lock.debs[0]["sha256"])


def test_a_file_that_was_cut_off_is_gone_on_with(fake, tmp_path, monkeypatch):
    data = CONTENTS["aa"]
    lock = lock_of({"aa": data})
    other, sources = cut_off(monkeypatch, tmp_path, f"oci://{fake.host}/kit/mirror")
    asked = []

    def answer(handler):
        asked.append(handler.headers.get("Range"))
        if len(asked) == 1:
            return cut(data)(handler)
        start = int(handler.headers["Range"].removeprefix("bytes=").rstrip("-"))
        return 206, {}, data[start:]

    fake.answers[blob_of(lock)] = answer
    fetch(lock, other, progress=False, sources=sources)

    assert asked == [None, "bytes=1500-"]


def test_a_file_that_is_always_cut_off_does_not_stop_the_others(fake, tmp_path, monkeypatch):
    lock = lock_of(CONTENTS)
    other, sources = cut_off(monkeypatch, tmp_path, f"oci://{fake.host}/kit/mirror")
    cuts, whole = [cut(b"a" * 2)] * 4, (200, {}, CONTENTS["bb"])
    fake.answers[blob_of(lock)] = cuts
    fake.answers[f"/v2/kit/mirror/blobs/sha256:{lock.debs[1]['sha256']}"] = [(503, {}, b"")] * 3 + [whole]

    with pytest.raises(KitError, match="no source has 1 of the files"):
        fetch(lock, other, progress=False, sources=sources)
    assert other.has(lock.debs[1]["sha256"])


def test_a_registry_that_is_down_is_asked_a_few_times_and_then_left(tmp_path, monkeypatch):
    lock = lock_of(CONTENTS)
    other, sources = cut_off(monkeypatch, tmp_path, "oci://127.0.0.1:1/kit/mirror")

    with pytest.raises(KitError, match="none of them answers") as caught:
        fetch(lock, other, progress=False, sources=sources)
    assert "./kit mirror" in caught.value.hint


def test_a_mirror_without_the_base_leads_to_the_bases_own_registry_and_both_are_named(debian, fake, monkeypatch):
    image, base = base_in(debian, above=False)
    monkeypatch.setenv("KIT_SOURCE", f"oci://{fake.host}/kit/mirror")
    name = parse(base["repo"]).at(base["digest"])

    assert registry.image(name).manifest.digest == digest(image.manifest)
    with pytest.raises(KitError, match=f"has no manifest .*; nor, with KIT_SOURCE: .*{fake.host}"):
        registry.image(name.at(digest(b"gone")))
