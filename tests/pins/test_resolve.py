import json
from pathlib import Path

import pytest

from pins import archives, lock, process
from pins.apt import Apt
from pins.resolve import resolve, upstream
from schema.canon import digest
from schema.errors import KitError
from tests.pins.fakes_archive import BASE, host_root

AMD = {
    "pin_version": "1",
    "name": "some-amd",
    "rocm": "7.2.4",
    "channel": "amd",
    "pytorch": "2.10.0",
    "python": "3.12",
    "platform": "linux/amd64",
    "source_date_epoch": 1780012800,
    "base": BASE,
    "gfx": ["gfx90a", "gfx942"],
    "components": {"rocblas": "5.1"},
    "host_requirements": {"driver": "6.4"},
}


def pin(folder, document):
    path = folder / f"{document['name']}.pin.yaml"
    lock.write(document, path)
    return path


def test_an_image_by_digest_resolves_without_network_or_apt(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "run", lambda *_, **__: pytest.fail("a program was run"))

    found = lock.load(resolve(pin(tmp_path, AMD), tmp_path))

    assert found.document == {
        "lock_version": "1",
        "name": "some-amd",
        "rocm": "7.2.4",
        "channel": "amd",
        "pin_sha256": digest(AMD),
        "source_date_epoch": 1780012800,
        "platform": "linux/amd64",
        "base": BASE,
        "python": "3.12",
        "torch": {"version": "2.10.0", "build": "rocm"},
        "gfx": ["gfx90a", "gfx942"],
        "components": {"rocblas": "5.1"},
        "host_requirements": {"driver": "6.4"},
        "environment": {},
        "debs": [],
        "wheels": [],
    }


@pytest.mark.parametrize("place", ["gone", "file", "file/x"])
def test_a_folder_that_is_not_there_is_said_before_anything_is_asked(tmp_path, monkeypatch, place):
    (tmp_path / "file").touch()
    monkeypatch.setattr(process, "run", lambda *_, **__: pytest.fail("a program was run"))

    with pytest.raises(KitError, match="there is no folder") as caught:
        resolve(pin(tmp_path, AMD), tmp_path / place)

    assert caught.value.hint.startswith("mkdir -p ")


def test_a_lock_is_written_the_same_each_time(tmp_path):
    path = resolve(pin(tmp_path, AMD), tmp_path)
    before = path.read_bytes()

    assert resolve(pin(tmp_path, AMD), tmp_path).read_bytes() == before


def test_an_image_that_is_there_already_is_adopted_and_not_resolved(tmp_path):
    with pytest.raises(KitError, match="from an image that existed") as caught:
        resolve(pin(tmp_path, AMD | {"channel": "adopted"}), tmp_path)

    assert caught.value.hint == "./kit lock --from-image IMAGE makes both"
    assert list(tmp_path.glob("*.lock.yaml")) == []


def test_a_pin_under_another_name_is_refused(tmp_path):
    lock.write(AMD, tmp_path / "other.pin.yaml")

    with pytest.raises(KitError, match=r"other\.pin\.yaml calls itself some-amd"):
        resolve(tmp_path / "other.pin.yaml", tmp_path)


VERSIONS = {
    "2.6.0+dfsg-7": "2.6.0",
    "6.1.2+ds-2": "6.1.2",
    "1:17.0.6-22+b2": "17.0.6",
    "5.7.1-6+deb13u1": "5.7.1",
    "3.13.5-1": "3.13.5",
    "6.0+git20231212.4510c28+dfsg-3+b2": "6.0",
    "1:2.2.4+ds-1": "2.2.4",
    "3.152": "3.152",
    "2.41-12+deb13u5": "2.41",
    "1.0~rc1-1": "1.0~rc1",
}


@pytest.mark.parametrize(("debian", "expected"), VERSIONS.items())
def test_the_upstream_part_of_a_version(debian, expected):
    assert upstream(debian) == expected


DEBIAN = {
    "pin_version": "1",
    "name": "tools",
    "rocm": "6.1.2",
    "channel": "debian",
    "pytorch": "2.6",
    "python": "3.13",
    "platform": "linux/amd64",
    "source_date_epoch": 1700000000,
    "suite": "trixie",
    "packages": ["rocminfo"],
    "gfx": [],
}


def test_a_machine_without_a_debian_archive_says_where_to_resolve(tmp_path):
    with pytest.raises(KitError, match="name no Debian archive") as caught:
        resolve(pin(tmp_path, DEBIAN), tmp_path, root=tmp_path / "bare")

    assert "run ./kit lock on Debian" in caught.value.hint


@pytest.mark.parametrize(("field", "asked", "what"), [("pytorch", "2.5", "PyTorch"), ("python", "3.1", "Python")])
def test_a_pin_that_asks_for_what_the_archive_does_not_have_is_refused(tmp_path, monkeypatch, field, asked, what):
    found = {"torch": "2.6.0", "python": "3.13.5"}
    monkeypatch.setattr("pins.resolve._from_debian", lambda *_, **__: ([], found))

    with pytest.raises(KitError, match=rf"asks for {what} {asked}, and the archive has (2\.6\.0|3\.13\.5)"):
        resolve(pin(tmp_path, DEBIAN | {field: asked}), tmp_path)


def test_a_machine_without_debians_keys_is_told_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("pins.apt.KEYRING", str(tmp_path / "gone.gpg"))

    with pytest.raises(KitError, match="Debian's keys are not on this machine") as caught:
        resolve(pin(tmp_path, DEBIAN), tmp_path, root=host_root(tmp_path / "root", "http://a.example/debian"))

    assert caught.value.hint == "apt-get install debian-archive-keyring"


# The real archive ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def debian(tmp_path_factory):
    """apt over this host's Debian archive, its indexes fetched once."""
    try:
        apt = Apt(tmp_path_factory.mktemp("apt"), "trixie", archives.find())
        apt.update()
    except KitError as error:
        pytest.skip(f"the host's Debian archive cannot be asked: {error.message}")
    return apt


def test_an_archive_signed_with_keys_we_do_not_have_is_refused(debian, tmp_path, monkeypatch):
    monkeypatch.setattr("pins.apt.KEYRING", other_key(tmp_path))
    (tmp_path / "apt").mkdir()

    with pytest.raises(KitError, match=r"cannot be had: .*(NO_PUBKEY|not signed)") as caught:
        Apt(tmp_path / "apt", "trixie", {name: [uri] for name, uri in debian.uris.items()}).update()

    assert "debian-archive-keyring" in caught.value.hint


def other_key(folder):
    """A keyring that has nobody's key."""
    (folder / "empty.gpg").write_bytes(b"")
    return str(folder / "empty.gpg")


def test_apt_solves_into_an_empty_system(debian):
    found = {package.name: package for package in debian.solve(["?essential", "hello"])}

    assert {"base-files", "dpkg", "libc6", "tar", "perl-base", "hello"} <= set(found)
    assert "apt" not in found
    assert found["hello"].path.startswith("pool/main/h/hello/hello_")
    assert len(found["hello"].sha256) == 64
    assert sorted(found) == list(found)


def test_a_version_with_an_epoch_is_read_whole(debian):
    found = {package.name: package for package in debian.solve(["bsdutils"])}

    assert found["bsdutils"].version.startswith("1:2.")
    assert "%" not in found["bsdutils"].path + found["bsdutils"].version


def test_a_package_that_does_not_exist_is_named(debian):
    with pytest.raises(KitError, match="Unable to locate package no-such-package"):
        debian.solve(["no-such-package"])


def test_the_time_of_the_archive_is_that_of_its_signed_index(debian):
    assert all(len(time) == 16 and time.endswith("Z") for time in debian.snapshots().values())
    assert archives.DEBIAN in debian.snapshots()


@pytest.mark.usefixtures("debian")
def test_a_pin_resolves_to_a_lock_that_loads_twice_the_same(tmp_path):
    document = DEBIAN | {"packages": ["rocminfo", "python3-torch"]}

    path = resolve(pin(tmp_path, document), tmp_path)
    before = path.read_bytes()
    found = lock.load(path)

    assert found.document["torch"] == {"version": "2.6.0", "build": "cpu"}
    assert found.document["components"]["rocminfo"] == "6.1.2"
    assert found.document["python"].startswith("3.13.")
    assert {"dpkg", "tar", "base-files"} <= {entry["name"] for entry in found.debs if entry["bootstrap"]}
    assert resolve(path.with_name("tools.pin.yaml"), tmp_path).read_bytes() == before
    assert not leaks(path)


def test_an_index_that_is_not_signed_is_refused(tmp_path, archive):
    archive.files["dists/trixie/InRelease"] = b"Origin: Debian\nLabel: Debian\nSuite: trixie\n"
    archive.files["dists/trixie-updates/InRelease"] = b"Origin: Debian\nLabel: Debian\nSuite: trixie-updates\n"
    apt = apt_for(tmp_path, archive)

    with pytest.raises(KitError, match="the signed indexes of Debian trixie cannot be had"):
        apt.update()


def test_an_archive_that_lacks_the_suite_is_refused_with_apts_words(tmp_path, archive):
    with pytest.raises(KitError, match=r"cannot be had: .*(404|does not have a Release file)") as caught:
        apt_for(tmp_path, archive).update()

    assert "network" in caught.value.hint


def apt_for(folder, archive):
    try:
        process.run(["apt-get", "--version"], timeout_s=60)
    except KitError as error:
        pytest.skip(error.message)
    (folder / "apt").mkdir()
    return Apt(folder / "apt", "trixie", archives.find(host_root(folder / "root", archive.url)))


# The locks that are committed -----------------------------------------------------------------------------------------

NAMES = sorted(path.name for path in lock.PINS.glob("*.lock.yaml"))
BOOTSTRAP = {
    "base-files",
    "base-passwd",
    "bash",
    "coreutils",
    "dash",
    "debconf",
    "dpkg",
    "gzip",
    "libc6",
    "mawk",
    "perl-base",
}
WANTED = {"amd-smi", "hipcc", "python3-torch", "python3-torchvision", "python3-venv", "rocm-smi", "rocminfo"}


def leaks(path):
    """Words of a file that would tie it to one machine or one host."""
    text = path.read_text(encoding="utf-8")
    return [word for word in ("://", "deb.", "localhost", str(Path.home()) + "/", "/tmp/", "file:/") if word in text]


@pytest.mark.parametrize("name", NAMES)
def test_a_committed_lock_loads_and_names_no_host(name):
    found = lock.load(lock.PINS / name)

    assert found.name == name.removesuffix(".lock.yaml")
    assert leaks(lock.PINS / name) == []
    assert json.loads(json.dumps(found.document)) == found.document


@pytest.mark.parametrize("name", NAMES)
def test_a_committed_lock_is_written_as_we_write_locks(name, tmp_path):
    text = (lock.PINS / name).read_text(encoding="utf-8")

    lock.write(lock.load(lock.PINS / name).document, tmp_path / name)
    assert text.partition("\n")[2] == (tmp_path / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("amd-")])
def test_an_image_that_was_never_pulled_is_not_called_verified(name, tmp_path):
    base = lock.load(lock.PINS / name).base

    assert base["status"] == ("corroborated" if len(base["sources"]) > 1 else "recorded")
    assert base["digest_kind"] == "unknown"
    pin_name = name.replace(".lock.", ".pin.")
    assert resolve(lock.PINS / pin_name, tmp_path).read_bytes() == (lock.PINS / name).read_bytes()


def test_the_debian_lock_is_complete():
    found = lock.load(lock.PINS / "debian13-hip5.7-torch2.6cpu.lock.yaml")
    names = [entry["name"] for entry in found.debs]

    assert all(entry["sha256"] for entry in found.debs)
    assert {entry["name"] for entry in found.debs if entry["bootstrap"]} >= BOOTSTRAP
    assert set(names) >= WANTED
    assert names == sorted(names)
    assert found.document["components"]["hip"] == "5.7.31921"
    assert (found.gfx, found.torch_build) == ((), "cpu")


def test_the_locks_that_the_product_promises_are_there():
    found = {(item.channel, ".".join(item.rocm.split(".")[:2])) for item in lock.load_all()}

    assert {("debian", "5.7"), ("amd", "5.7"), ("amd", "6.4"), ("amd", "7.2")} <= found
