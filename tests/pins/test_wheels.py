import zipfile

import pytest

from pins import wheels
from pins.fetch import fetch
from pins.lock import from_document
from pins.sources import Sources, inputs
from pins.store import Store, file_sha256
from schema.errors import KitError
from tests.pins.fakes_archive import BASE, document

FILE = "kit_probe-1.0-py3-none-any.whl"


def build(folder):
    """A wheel of nothing, as pip accepts it."""
    folder.mkdir()
    with zipfile.ZipFile(folder / FILE, "w") as archive:
        archive.writestr("kit_probe-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: kit-probe\nVersion: 1.0\n")
        archive.writestr("kit_probe-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("kit_probe-1.0.dist-info/RECORD", "")
    return folder / FILE


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
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")


def test_pip_brings_a_wheel_by_hash_from_the_index_it_knows(tmp_path):
    path = build(tmp_path / "index")
    lock, store = lock_of(entry(sha256=file_sha256(path))), Store(tmp_path / "cache")

    fetch(lock, store, progress=False, sources=Sources(tmp_path / "bare"))

    assert store.path(lock.wheels[0]["sha256"]).read_bytes() == path.read_bytes()
    assert not list((store.root / "parts").iterdir())


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


INDEXES = {  # sentence: (index, version, options)
    "the everyday index is pip's own business": ("pypi", "1.0", []),
    "PyTorch's index by ROCm release": (
        "pytorch",
        "2.6.0+rocm6.2.4",
        ["--index-url=https://download.pytorch.org/whl/rocm6.2.4"],
    ),
    "PyTorch's index by CUDA release": (
        "pytorch",
        "2.9.0+cu130",
        ["--index-url=https://download.pytorch.org/whl/cu130"],
    ),
    "PyTorch's index for the CPU": ("pytorch", "2.9.0+cpu", ["--index-url=https://download.pytorch.org/whl/cpu"]),
    "AMD's folder by ROCm release": (
        "amd",
        "2.9.1+rocm7.2.0",
        ["--no-index", "--find-links=https://repo.radeon.com/rocm/manylinux/rocm-rel-7.2.0/"],
    ),
}


@pytest.mark.parametrize(("index", "version", "options"), INDEXES.values(), ids=INDEXES)
def test_one_index_is_asked_and_no_other(index, version, options):
    item = inputs(lock_of(entry(index=index, version=version)))[0]

    assert wheels._index(item) == options


def test_an_index_that_the_version_does_not_tell_is_refused():
    item = inputs(lock_of(entry(index="pytorch")))[0]

    with pytest.raises(KitError, match="does not tell which index"):
        wheels._index(item)


TAGS = {
    "any Python": (FILE, []),
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
