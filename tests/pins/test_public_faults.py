"""Faults that people reported in public, as far as pins and locks meet them (OB: the number of the report)."""

import pytest

from pins import lock
from pins.fetch import fetch
from pins.sources import Sources
from pins.store import Store
from schema.errors import KitError
from tests.pins.fakes_archive import PIN, deb, document, host_root

LOCKS = [found for found in lock.load_all() if found.debs]


@pytest.mark.parametrize("package", ["rocblas=5.7.0", "rocblas=3.1.0.50700-63~22.04", "rocblas/trixie", "rocblas*"])
def test_ob15_a_pin_names_packages_and_no_versions_of_them(tmp_path, package):
    lock.write(PIN | {"packages": [package]}, tmp_path / "small.pin.yaml")

    with pytest.raises(KitError, match=r"packages\[0\]: .* does not match") as caught:
        lock.load_pin(tmp_path / "small.pin.yaml")

    assert caught.value.hint.startswith("correct it")


@pytest.mark.parametrize("found", LOCKS, ids=lambda found: found.name)
def test_ob15_a_lock_has_the_whole_version_of_each_package_as_its_file_has_it(found):
    for entry in found.debs:
        version = entry["version"].partition(":")[2] or entry["version"]
        assert entry["path"].endswith(f"/{entry['name']}_{version}_{entry['architecture']}.deb")


def test_ob15_versions_that_are_gone_are_all_named_and_none_is_taken_instead(tmp_path, archive):
    """The archive moved on: a newer version lies where the lock's was."""
    gone = [deb("miopen", b"old"), deb("rocblas", b"older")]
    for entry in gone:
        archive.files[entry["path"].replace("1.0-1", "1.0-2")] = b"new"
    store = Store(tmp_path / "cache")

    with pytest.raises(KitError, match="no source has 2 of the files of small") as caught:
        fetch(
            lock.from_document(document(gone)),
            store,
            progress=False,
            sources=Sources(host_root(tmp_path / "root", archive.url)),
        )

    assert all(entry["path"].rpartition("/")[2] in caught.value.message for entry in gone)
    assert "./kit lock --pin small" in caught.value.hint
    assert not any("1.0-2" in path for path, _ in archive.requests)
    assert not list(store.root.glob("sha256/*/*"))
