import io
import tarfile
import zipfile

import pytest

from pins import process, wheels
from pins.fetch import fetch
from pins.lock import from_document
from pins.sources import Input, Sources, inputs
from pins.store import Store, file_sha256
from schema.errors import KitError
from tests.pins.fakes_archive import BASE, document

FILE = "kit_probe-1.0-py3-none-any.whl"


def build(folder, file=FILE, requires=""):
    """A wheel of nothing, as pip accepts it."""
    folder.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: kit-probe\nVersion: 1.0\n{requires}"
    with zipfile.ZipFile(folder / file, "w") as archive:
        archive.writestr("kit_probe-1.0.dist-info/METADATA", metadata)
        archive.writestr("kit_probe-1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\nTag: {file[14:-4]}\n")
        archive.writestr("kit_probe-1.0.dist-info/RECORD", "")
    return folder / file


def entry(**more):
    return {
        "name": "kit-probe",
        "version": "1.0",
        "file": FILE,
        "index": "pypi",
        "sha256": "3" * 64,
        "size": None,
    } | more


def lock_of(wheel):
    return from_document(document(channel="wheel", base=BASE, wheels=[wheel]))


@pytest.fixture(autouse=True)
def local_index(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))


def test_pip_brings_a_wheel_by_hash_from_the_index_it_knows(tmp_path):
    path = build(tmp_path / "index")
    lock, store = lock_of(entry(sha256=file_sha256(path))), Store(tmp_path / "cache")

    fetch(lock, store, progress=False, sources=Sources(tmp_path / "bare"))

    assert store.path(lock.wheels[0]["sha256"]).read_bytes() == path.read_bytes()
    assert not list((store.root / "parts").iterdir())


FOR_OTHERS = {  # sentence: (file, what it requires of a Python)
    "a Python newer than this one": (FILE, "Requires-Python: >=3.99\n"),
    "a Python newer than the oldest of its name": (
        "kit_probe-1.0-py3-none-linux_x86_64.whl",
        "Requires-Python: >=3.8\n",
    ),
    "the stable ABI": ("kit_probe-1.0-cp38-abi3-manylinux2014_x86_64.whl", "Requires-Python: >=3.9\n"),
    "Python 2 too": ("kit_probe-1.0-py2.py3-none-any.whl", "Requires-Python: >=3.7\n"),
    "another CPython": ("kit_probe-1.0-cp399-cp399-linux_x86_64.whl", "Requires-Python: >=3.99\n"),
}


@pytest.mark.parametrize(("file", "requires"), FOR_OTHERS.values(), ids=FOR_OTHERS)
def test_a_wheel_is_fetched_whatever_python_it_is_for(tmp_path, file, requires):
    path = build(tmp_path / "index", file, requires)
    lock, store = lock_of(entry(file=file, sha256=file_sha256(path))), Store(tmp_path / "cache")

    fetch(lock, store, progress=False, sources=Sources(tmp_path / "bare"))

    assert store.has(lock.wheels[0]["sha256"])


def test_a_wheel_with_another_hash_is_refused_by_name(tmp_path):
    build(tmp_path / "index")

    with pytest.raises(KitError, match=rf"{FILE} \(no source is known for it; pip: ERROR: THESE PACKAGES DO NOT MATCH"):
        fetch(lock_of(entry()), Store(tmp_path / "cache"), progress=False, sources=Sources(tmp_path / "bare"))


def test_a_version_that_is_not_there_is_refused_by_name(tmp_path):
    build(tmp_path / "index")

    with pytest.raises(KitError, match=r"kit_probe-2\.0.*pip: ERROR: Could not find a version"):
        fetch(
            lock_of(entry(version="2.0", file="kit_probe-2.0-py3-none-any.whl")),
            Store(tmp_path / "cache"),
            progress=False,
            sources=Sources(tmp_path / "bare"),
        )


NO_VERSIONS = {  # what a lock may not call a version, since pip would read more than one in it
    "a line of options": "1.0\n--no-binary=:all:",
    "a line break at its end": "1.0\n",
    "a carriage return": "1.0\r--pre",
    "an option": "--pre",
    "an option after a blank": "1.0 --pre",
    "a tab": "1.0\t--pre",
    "an environment marker": "1.0; python_version > '3'",
    "an address": "1.0 @ https://a.example/x.tar.gz",
    "an address without blanks": "@https://a.example/x.tar.gz",
    "a second condition": "1.0,>=0",
    "a comment": "1.0#x",
    "a continued line": "1.0\\",
    "a variable": "${HOME}",
    "any version": "*",
    "digits of another script": "\u0661.0",
    "nothing": "",
}


@pytest.mark.parametrize("version", NO_VERSIONS.values(), ids=NO_VERSIONS)
def test_what_pip_could_read_as_more_than_a_version_is_refused(tmp_path, monkeypatch, version):
    monkeypatch.setattr(process, "run", lambda *_, **__: pytest.fail("pip was asked"))
    with pytest.raises(KitError, match=r"wheels\[0\]\.version: .* does not match"):
        lock_of(entry(version=version))

    with pytest.raises(KitError, match="is not a name and a version"):
        wheels.download(Input("wheel", "3" * 64, None, f"wheels/{FILE}", entry(version=version)), Store(tmp_path))


def source_package(folder, marker):
    """A source package whose setup.py leaves a mark when it runs."""
    folder.mkdir()
    script = (
        f"open({str(marker)!r}, 'w').close()\nimport setuptools\nsetuptools.setup(name='kit-probe', version='1.0')\n"
    )
    with tarfile.open(folder / "kit_probe-1.0.tar.gz", "w:gz") as archive:
        for name, text in {
            "setup.py": script,
            "PKG-INFO": "Metadata-Version: 2.1\nName: kit-probe\nVersion: 1.0\n",
        }.items():
            member = tarfile.TarInfo(f"kit_probe-1.0/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return folder / "kit_probe-1.0.tar.gz"


def test_no_source_package_is_built_whatever_the_machine_is_set_to(tmp_path, monkeypatch):
    path = source_package(tmp_path / "index", tmp_path / "mark")
    (tmp_path / "pip.conf").write_text("[global]\nno-binary = :all:\n[download]\nno-binary = :all:\n")
    (tmp_path / "more.txt").write_text(f"{path}\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_NO_BINARY", ":all:")
    monkeypatch.setenv("PIP_REQUIREMENT", str(tmp_path / "more.txt"))

    with pytest.raises(KitError, match="no source has 1 of the files"):
        fetch(
            lock_of(entry(sha256=file_sha256(path))),
            Store(tmp_path / "cache"),
            progress=False,
            sources=Sources(tmp_path / "bare"),
        )

    assert not (tmp_path / "mark").exists()


def test_of_pips_own_variables_only_those_of_indexes_and_of_the_way_to_them_are_passed_on(monkeypatch):
    kept = {"PIP_INDEX_URL": "a", "PIP_EXTRA_INDEX_URL": "b", "PIP_CERT": "c", "PIP_CLIENT_CERT": "d", "PIP_PROXY": "e"}
    for name, value in (kept | {"PIP_REQUIREMENT": "x", "PIP_NO_BINARY": "y", "PIP_INDEX_URL_": "z"}).items():
        monkeypatch.setenv(name, value)

    found = {name: value for name, value in wheels._environment().items() if name.startswith("PIP_")}

    assert {name: value for name, value in found.items() if name not in {"PIP_NO_INDEX", "PIP_FIND_LINKS"}} == kept


def test_the_index_may_stand_in_a_configuration_file(tmp_path, monkeypatch):
    path = build(tmp_path / "index")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    (tmp_path / "pip.conf").write_text(f"[global]\nfind-links = {tmp_path / 'index'}\n")
    lock, store = lock_of(entry(sha256=file_sha256(path))), Store(tmp_path / "cache")

    fetch(lock, store, progress=False, sources=Sources(tmp_path / "bare"))

    assert store.has(lock.wheels[0]["sha256"])


def test_a_file_called_pip_in_the_current_folder_is_not_run(tmp_path, monkeypatch):
    path = build(tmp_path / "index")
    (tmp_path / "pip.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)

    fetch(
        lock_of(entry(sha256=file_sha256(path))),
        Store(tmp_path / "cache"),
        progress=False,
        sources=Sources(tmp_path / "bare"),
    )

    assert not (tmp_path / "mark").exists()


INDEXES = {  # sentence: (index, version, options)
    "the everyday index is pip's own business": ("pypi", "1.0", []),
    "PyTorch's index by ROCm release": (
        "pytorch",
        "2.6.0+rocm6.2.4",
        ["--isolated", "--index-url=https://download.pytorch.org/whl/rocm6.2.4"],
    ),
    "PyTorch's index by CUDA release": (
        "pytorch",
        "2.9.0+cu130",
        ["--isolated", "--index-url=https://download.pytorch.org/whl/cu130"],
    ),
    "PyTorch's index for the CPU": (
        "pytorch",
        "2.9.0+cpu",
        ["--isolated", "--index-url=https://download.pytorch.org/whl/cpu"],
    ),
    "PyTorch's index of all builds, for what has no label": (
        "pytorch",
        "3.7.1",
        ["--isolated", "--index-url=https://download.pytorch.org/whl"],
    ),
    "AMD's folder by ROCm release": (
        "amd",
        "2.9.1+rocm7.2.0",
        ["--isolated", "--no-index", "--find-links=https://repo.radeon.com/rocm/manylinux/rocm-rel-7.2.0/"],
    ),
}


@pytest.mark.parametrize(("index", "version", "options"), INDEXES.values(), ids=INDEXES)
def test_one_index_is_asked_and_no_other(index, version, options):
    item = inputs(lock_of(entry(index=index, version=version)))[0]

    assert wheels._index(item) == options


def test_a_folder_that_the_version_does_not_tell_is_refused():
    item = inputs(lock_of(entry(index="amd")))[0]

    with pytest.raises(KitError, match="does not tell which index"):
        wheels._index(item)


TAGS = {
    "any Python": (FILE, []),
    "Python 2 and 3": ("shellingham-1.5.4-py2.py3-none-any.whl", []),
    "Python 2 and 3, with a program": (
        "ninja-1.11-py2.py3-none-manylinux2014_x86_64.whl",
        ["--python-version=3.0", "--abi=none", "--platform=manylinux2014_x86_64"],
    ),
    "two CPythons": (
        "a-1.0-cp39.cp310-abi3-linux_x86_64.whl",
        ["--python-version=3.10", "--abi=abi3", "--implementation=cp", "--platform=linux_x86_64"],
    ),
    "another CPython on Linux": (
        "torch-2.6.0-cp39-cp39-manylinux_2_28_x86_64.whl",
        ["--python-version=3.9", "--abi=cp39", "--implementation=cp", "--platform=manylinux_2_28_x86_64"],
    ),
    "two digits and several platforms": (
        "numpy-2.2.0-cp313-cp313-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        [
            "--python-version=3.13",
            "--abi=cp313",
            "--implementation=cp",
            "--platform=manylinux_2_17_x86_64",
            "--platform=manylinux2014_x86_64",
        ],
    ),
}


@pytest.mark.parametrize(("file", "options"), TAGS.values(), ids=TAGS)
def test_a_wheel_for_another_python_is_asked_by_its_own_tags(file, options):
    assert wheels._tags(file) == options
