"""What has become of a lock: cases OB-14 and OB-15 of the public reports, and their neighbours."""

import pytest

from pins import drift, reach, registry, registry_client
from pins.lock import from_document
from pins.sources import Sources
from pins.store import Store
from schema.errors import KitError
from schema.records import exit_code
from tests.pins.fakes_archive import BASE, deb, document, host_root, lock_of
from tests.pins.fakes_registry import Debian, Image, attestation, digest, index
from tests.pins.test_sources import WHEEL

CONTENTS = {"aa": b"a" * 3000, "bb": b"b"}


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    monkeypatch.setattr(registry_client, "BACK_OFF_S", 0.001)
    monkeypatch.setattr(reach, "BACK_OFF_S", 0.001)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))


def check(lock, sources, *, locks=(), store=None):
    found = drift.check(lock, locks, store or Store(), sources=sources, progress=False)
    return {finding["code"]: finding for finding in found}


def statuses(found):
    return {code: finding["status"] for code, finding in found.items()}


@pytest.fixture
def sources(archive, tmp_path):
    return Sources(host_root(tmp_path / "root", archive.url))


# OB-15: files


def test_what_is_all_there_passes_and_nothing_is_downloaded(archive, sources):
    lock = archive.add(lock_of(CONTENTS), CONTENTS)

    assert statuses(check(lock, sources)) == {"inputs.deb": "pass", "lock.newest": "pass"}
    assert {wanted for _, wanted in archive.requests} == {"bytes=2999-", None}, "a byte of each"
    assert not Store().has(lock.debs[0]["sha256"])


AFTER = {  # what befell a file: (what the archive has now, its fault, status, words)
    "it is gone": (None, [], "fail", "HTTP 404"),
    "it is shorter": (b"a" * 10, [], "fail", "is not 3000 bytes long"),
    "it is longer": (b"a" * 4000, [], "fail", "is 4000 bytes long, not 3000"),
    "it is not for us": (b"a" * 3000, [403, "always"], "fail", "HTTP 403"),
    "the archive is in trouble": (b"a" * 3000, [500, "always"], "error", "HTTP 500"),
    "the archive was in trouble": (b"a" * 3000, [500, 503], "pass", ""),
    "the archive knows no ranges": (b"a" * 3000, ["no range", "always"], "pass", ""),
}


@pytest.mark.parametrize(("content", "faults", "status", "words"), AFTER.values(), ids=AFTER)
def test_what_befell_a_file_is_told_by_name(archive, sources, content, faults, status, words):
    lock = archive.add(lock_of(CONTENTS), CONTENTS)
    path = lock.debs[0]["path"]
    archive.files |= {path: content}
    archive.faults[path] = faults
    if content is None:
        del archive.files[path]

    found = check(lock, sources)["inputs.deb"]

    assert found["status"] == status
    assert words in (found["reason"] or "")
    assert ("aa_1.0-1_all.deb" in (found["reason"] or "")) == (status != "pass")
    assert "bb_1.0-1_all.deb" not in (found["reason"] or "")
    assert exit_code([status]) == (0 if status == "pass" else 1)


def test_each_missing_file_is_listed_and_none_is_put_in_its_place(archive, sources):
    lock = lock_of(CONTENTS)
    archive.files["pool/main/a/aa/aa_1.0-2_all.deb"] = CONTENTS["aa"]

    found = check(lock, sources)["inputs.deb"]

    assert found["seen"] == "gone: 2"
    assert all(f"{name}_1.0-1_all.deb" in found["reason"] for name in CONTENTS)
    assert "aa_1.0-2" not in str(found)
    assert "./kit lock --pin small" in found["remedy"]


def test_what_is_gone_and_still_in_the_store_is_to_be_kept(sources):
    store = Store()
    for data in CONTENTS.values():
        sha256 = digest(data).removeprefix("sha256:")
        store.part(sha256).write_bytes(data)
        store.keep(sha256)

    assert "./kit mirror DIR --lock small" in check(lock_of(CONTENTS), sources, store=store)["inputs.deb"]["remedy"]


def test_a_second_source_that_has_it_is_enough(archive, tmp_path, monkeypatch):
    lock = archive.add(lock_of(CONTENTS), CONTENTS)
    (tmp_path / "old").mkdir()
    monkeypatch.setenv("KIT_SOURCE", str(tmp_path / "old"))

    assert check(lock, Sources(host_root(tmp_path / "root", archive.url)))["inputs.deb"]["status"] == "pass"


def test_a_source_that_does_not_answer_leaves_it_open_and_is_not_asked_for_every_file(tmp_path):
    lock = lock_of({f"package{number}": bytes(number) for number in range(1, 40)})

    found = check(lock, Sources(host_root(tmp_path / "root", "http://127.0.0.1:1/debian")))["inputs.deb"]

    assert (found["status"], found["seen"]) == ("error", "unknown: 39")
    assert "and 31 more" in found["reason"]


def test_a_folder_is_read_and_a_file_with_other_bytes_is_changed(tmp_path, monkeypatch):
    lock = lock_of(CONTENTS)
    for entry in lock.debs:
        path = tmp_path / "mirror" / entry["path"]
        path.parent.mkdir(parents=True)
        path.write_bytes(bytes(entry["size"]))
    monkeypatch.setenv("KIT_SOURCE", str(tmp_path / "mirror"))

    assert check(lock, Sources(tmp_path / "bare"))["inputs.deb"]["seen"] == "changed: 2"


def test_a_mirror_in_a_registry_is_asked_by_digest(debian, tmp_path, monkeypatch):
    lock = lock_of(CONTENTS)
    debian.put_blob(CONTENTS["aa"], "kit/mirror", digest(CONTENTS["aa"]))
    monkeypatch.setenv("KIT_SOURCE", f"oci://{debian.host}/kit/mirror")

    found = check(lock, Sources(tmp_path / "bare"))["inputs.deb"]

    assert found["seen"] == "there: 1, gone: 1"
    assert "bb_1.0-1_all.deb (KIT_SOURCE: does not have it)" in found["reason"]


PAGES = {  # what PyTorch's index lists: (its page, status, words)
    "the wheel with its sha256": (f"{WHEEL['file']}#sha256={WHEEL['sha256']}", "pass", ""),
    "the wheel without a sha256": (WHEEL["file"], "pass", ""),
    "another sha256": (f"{WHEEL['file']}#sha256={'3' * 64}", "fail", "tells another sha256"),
    "another wheel": (WHEEL["file"].replace("2.6.0", "2.6.1"), "fail", "does not list it"),
}


@pytest.mark.parametrize(("link", "status", "words"), PAGES.values(), ids=PAGES)
def test_wheels_are_looked_up_in_the_index_that_the_lock_names(archive, tmp_path, monkeypatch, link, status, words):
    archive.files["torch/"] = f'<a href="{link.replace("+", "%2B")}">it</a>'.encode()
    monkeypatch.setattr(reach.wheels, "page", lambda entry: f"{archive.url}{entry['name']}/")
    lock = from_document(document([deb("aa", b"x")], wheels=[WHEEL]))

    found = check(lock, Sources(tmp_path / "bare"))["inputs.wheel"]

    assert found["status"] == status
    assert words in (found["reason"] or "")


def test_wheels_that_pip_alone_finds_are_skipped_and_this_is_said(tmp_path):
    lock = from_document(document([deb("aa", b"x")], wheels=[WHEEL | {"index": "pypi"}]))

    found = check(lock, Sources(tmp_path / "bare"))["inputs.wheel"]

    assert (found["status"], found["seen"]) == ("skip", "unasked: 1")


def test_a_lock_with_an_unknown_hash_is_refused(tmp_path):
    lock = from_document(document([deb("aa", b"x", sha256=None)]))

    with pytest.raises(KitError, match="has no sha256 for aa"):
        check(lock, Sources(tmp_path / "bare"))


# OB-14: the base


def on(base, **more):
    return lock_of({}, channel="amd", base=base, **more)


def entry(name, tag, found, **more):
    return BASE | {"repo": name, "tag": tag, "digest": digest(found)} | more


def test_a_tag_that_moved_is_a_warning_and_the_digest_holds(debian, tmp_path):
    old, new = Image(), Image((b"new",))
    debian.put(old, tag="rocm7")
    base = entry(f"{debian.host}/some/image", "rocm7", old.manifest)
    assert statuses(check(on(base), Sources(tmp_path))) == {
        "base.digest": "pass",
        "base.tag": "pass",
        "lock.newest": "pass",
    }

    debian.put(new, tag="rocm7")

    found = check(on(base), Sources(tmp_path))
    assert (found["base.digest"]["status"], found["base.tag"]["status"]) == ("pass", "warn")
    assert f"has moved on to {digest(new.manifest)}; builds go on" in found["base.tag"]["reason"]
    assert exit_code([*statuses(found).values()]) == 0


@pytest.mark.parametrize("recorded", ["index", "manifest"])
def test_a_tag_that_leads_to_the_digest_by_way_of_an_index_has_not_moved(debian, tmp_path, recorded):
    image = Image()
    proof, proof_entry = attestation(image)
    above = index(proof_entry, image.entry())
    for one in (image, proof):
        debian.put(one, tag="")
    debian.put_manifest(above, "some/image", "rocm7")
    base = entry(f"{debian.host}/some/image", "rocm7", above if recorded == "index" else image.manifest)

    assert statuses(check(on(base), Sources(tmp_path)))["base.tag"] == "pass"


def test_a_digest_that_is_gone_fails_says_where_a_copy_could_be_and_never_takes_the_tag(debian, tmp_path):
    old, new = Image(), Image((b"new",))
    debian.put(old, tag="rocm7")
    debian.put(new, tag="rocm7")
    debian.request("DELETE", f"/v2/some/image/manifests/{digest(old.manifest)}")

    found = check(on(entry(f"{debian.host}/some/image", "rocm7", old.manifest)), Sources(tmp_path))

    assert found["base.digest"]["status"] == "fail"
    assert f"has no manifest {digest(old.manifest)}" in found["base.digest"]["reason"]
    assert "oci://HOST/REPOSITORY" in found["base.digest"]["remedy"]
    assert "docker save" in found["base.digest"]["remedy"]
    assert digest(new.manifest) not in str(found["base.digest"]), "the tag is no copy"
    assert exit_code([*statuses(found).values()]) == 1


@pytest.mark.parametrize("remembered", [False, True], ids=["never seen", "in the store"])
def test_an_index_whose_manifest_is_gone_cannot_be_pulled(debian, tmp_path, remembered):
    image = Image()
    above = index(image.entry())
    debian.put(image, tag="")
    debian.put_manifest(above, "some/image", "rocm7")
    base = on(entry(f"{debian.host}/some/image", "rocm7", above))
    if remembered:
        registry.image(f"{debian.host}/some/image@{digest(above)}", store=Store())
    assert statuses(check(base, Sources(tmp_path)))["base.digest"] == "pass"

    debian.request("DELETE", f"/v2/some/image/manifests/{digest(image.manifest)}")

    found = check(base, Sources(tmp_path))["base.digest"]
    assert found["status"] == "fail"
    assert digest(image.manifest) in found["reason"]


def test_a_digest_that_is_gone_and_mirrored_is_a_warning(debian, registry_program, tmp_path, monkeypatch):
    old = Image()
    other = Debian(registry_program, tmp_path / "other")
    other.put(old, "kit/mirror", tag="")
    monkeypatch.setenv("KIT_SOURCE", f"oci://{other.host}/kit/mirror")
    try:
        found = check(on(entry(f"{debian.host}/some/image", "rocm7", old.manifest)), Sources(tmp_path))
    finally:
        other.stop()

    assert found["base.digest"]["status"] == "warn"
    assert "the registry of KIT_SOURCE has it" in found["base.digest"]["reason"]


def test_a_tag_that_is_gone_is_a_warning(debian, tmp_path):
    image = Image()
    debian.put(image, tag="other")

    found = check(on(entry(f"{debian.host}/some/image", "rocm7", image.manifest)), Sources(tmp_path))

    assert (found["base.digest"]["status"], found["base.tag"]["status"]) == ("pass", "warn")
    assert "has no tag rocm7; the digest is what counts" in found["base.tag"]["reason"]


def test_a_registry_that_is_down_is_an_error_and_not_a_digest_that_is_gone(tmp_path):
    found = check(on(entry("127.0.0.1:1/some/image", "rocm7", b"x")), Sources(tmp_path))

    assert (found["base.digest"]["status"], found["base.tag"]["status"]) == ("error", "error")
    assert "cannot be reached" in found["base.digest"]["reason"]


def test_a_digest_that_the_store_remembers_is_asked_for_all_the_same(debian, tmp_path):
    from pins import registry

    old = Image()
    base = entry(f"{debian.host}/some/image", "rocm7", old.manifest)
    debian.put(old, tag="rocm7")
    registry.image(f"{debian.host}/some/image@{digest(old.manifest)}")
    debian.request("DELETE", f"/v2/some/image/manifests/{digest(old.manifest)}")

    assert check(on(base), Sources(tmp_path))["base.digest"]["status"] == "fail"


def test_an_image_of_an_engine_is_not_asked_of_any_registry(tmp_path):
    lock = lock_of({}, channel="adopted", base=entry("some/image", "", b"x", digest_kind="config"))

    assert statuses(check(lock, Sources(tmp_path))) == {
        "base.digest": "skip",
        "base.tag": "skip",
        "lock.newest": "pass",
    }


@pytest.mark.parametrize(
    "base", [{"digest": "sha256:zz"}, {"digest": None}, {"digest": "latest"}], ids=["a short one", "none", "a tag"]
)
def test_a_base_without_a_digest_is_no_lock(base):
    with pytest.raises(KitError, match="does not follow schema lock-1"):
        on(entry("rocm/pytorch", "rocm7", b"x") | base)


# Age


def lock(rocm="7.2.1", channel="debian", torch="2.6.0", name="one"):
    return lock_of(CONTENTS, rocm=rocm, channel=channel, torch={"version": torch, "build": "cpu"}, name=name)


OTHERS = {  # another lock: the status of ours
    "a newer patch release": (lock("7.2.10", name="two"), "warn"),
    "a newer PyTorch": (lock(torch="2.10.0", name="two"), "warn"),
    "an older one": (lock("7.2.0", name="two"), "pass"),
    "another line of ROCm": (lock("7.14.0", name="two"), "pass"),
    "another channel": (lock("7.2.10", channel="wheel", name="two"), "pass"),
    "the same": (lock(), "pass"),
    "alike but for its name": (lock(name="two"), "pass"),
}


@pytest.mark.parametrize(("other", "status"), OTHERS.values(), ids=OTHERS)
def test_a_lock_is_superseded_by_a_newer_one_of_its_channel_and_line(other, status):
    found = drift.judge_age(lock(), [lock(), other])

    assert found["status"] == status
    if status == "warn":
        assert f"superseded by two: ROCm {other.rocm}" in found["reason"]
