import pytest

from pins import sources
from pins.lock import from_document
from pins.sources import Place, Sources, inputs
from schema.errors import KitError
from tests.pins.fakes_archive import SNAPSHOT, deb, document, host_root, lock_of

WHEEL = {
    "name": "torch",
    "version": "2.6.0+rocm6.4",
    "file": "torch-2.6.0+rocm6.4-cp313-cp313-manylinux_2_28_x86_64.whl",
    "index": "pytorch",
    "sha256": "2" * 64,
    "size": None,
}


def first(lock):
    return inputs(lock)[0]


def test_inputs_are_all_files_of_a_lock_with_the_paths_of_a_mirror():
    lock = from_document(document([deb("aa", b"x")], wheels=[WHEEL]))

    assert [(item.kind, item.path, item.name, item.size) for item in inputs(lock)] == [
        ("deb", "pool/main/a/aa/aa_1.0-1_all.deb", "aa_1.0-1_all.deb", 1),
        ("wheel", f"wheels/{WHEEL['file']}", WHEEL["file"], None),
    ]


def test_an_unknown_hash_is_refused_by_name():
    lock = from_document(document([deb("aa", b"x", sha256=None)]))

    with pytest.raises(KitError, match=r"small has no sha256 for aa_1\.0-1_all\.deb"):
        inputs(lock)


def test_sources_are_asked_in_order(tmp_path, monkeypatch):
    monkeypatch.setenv("KIT_SOURCE", "https://mirror.example/kit/")
    monkeypatch.setenv("KIT_SNAPSHOT", "https://snap.example/archive")
    root = host_root(tmp_path, "http://a.example/debian", "http://b.example/debian")
    item = first(lock_of({"aa": b"x"}))

    assert [place.address for place in Sources(root).places(item)] == [
        f"https://mirror.example/kit/{item.path}",
        f"http://a.example/debian/{item.path}",
        f"http://b.example/debian/{item.path}",
        f"https://snap.example/archive/debian/{SNAPSHOT}/{item.path}",
        f"https://snap.example/archive/debian/20261129T140931Z/{item.path}",
    ]


def test_a_security_package_is_asked_of_the_security_archive_alone(tmp_path):
    root = host_root(tmp_path, "http://a.example/debian", "http://a.example/debian-security")
    item = first(from_document(document([deb("aa", b"x", archive="debian-security")])))

    assert [place.source for place in Sources(root).places(item)] == ["http://a.example/debian-security/"]


def test_the_snapshot_service_is_a_setting_with_a_default(monkeypatch, tmp_path):
    monkeypatch.delenv("KIT_SNAPSHOT")

    assert Sources(tmp_path).snapshot == sources.SNAPSHOT


def test_odd_characters_of_a_path_are_escaped_and_plus_is_not(tmp_path):
    path = "pool/main/a/aa/aa_1.0~b+c-1_all.deb"
    item = first(from_document(document([deb("aa", b"x", path=path)])))
    root = host_root(tmp_path, "http://a.example/debian")

    assert Sources(root).places(item)[0].address == f"http://a.example/debian/{path}"


def test_a_folder_and_a_local_archive_are_paths(tmp_path, monkeypatch):
    monkeypatch.setenv("KIT_SOURCE", str(tmp_path))
    item = first(lock_of({"aa": b"x"}))

    assert Sources(host_root(tmp_path / "root", "file:///srv/debian")).places(item) == [
        Place("KIT_SOURCE", f"{tmp_path}/{item.path}"),
        Place("file:///srv/debian/", f"/srv/debian/{item.path}"),
    ]


def test_a_wheel_is_asked_of_the_mirror_alone_before_pip(tmp_path, monkeypatch):
    item = inputs(from_document(document([deb("aa", b"x")], wheels=[WHEEL])))[1]
    root = host_root(tmp_path / "root", "http://a.example/debian")
    assert Sources(root).places(item) == []

    monkeypatch.setenv("KIT_SOURCE", "http://mirror.example")
    address = "http://mirror.example/wheels/torch-2.6.0+rocm6.4-cp313-cp313-manylinux_2_28_x86_64.whl"
    assert [place.address for place in Sources(root).places(item)] == [address]


def test_a_registry_has_files_by_their_digest(tmp_path, monkeypatch):
    monkeypatch.setenv("KIT_SOURCE", "oci://localhost:5000/mirror")
    lock = from_document(document([deb("aa", b"x")], wheels=[WHEEL]))

    assert [Sources(tmp_path).places(item) for item in inputs(lock)] == [
        [Place("KIT_SOURCE", f"oci://localhost:5000/mirror@sha256:{item.sha256}")] for item in inputs(lock)
    ]


def test_a_day_that_never_was_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("KIT_SNAPSHOT", "https://snap.example/archive")
    item = first(from_document(document([deb("aa", b"x", snapshot="20260231T000000Z")])))

    with pytest.raises(KitError, match="a snapshot of 20260231T000000Z, which never was"):
        Sources(tmp_path).places(item)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param("oci://registry.example/x:1", "is not the address of a repository", id="a tag"),
        pytest.param("oci://", "names no repository", id="no registry"),
        pytest.param("/no/such/folder", "neither a folder nor a web address", id="a missing folder"),
        pytest.param("ftp://x", "neither a folder nor a web address", id="another protocol"),
    ],
)
def test_a_source_that_cannot_be_used_is_refused_at_once(tmp_path, monkeypatch, given, words):
    monkeypatch.setenv("KIT_SOURCE", given)

    with pytest.raises(KitError, match=words):
        Sources(tmp_path)
