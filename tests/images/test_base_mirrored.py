"""A base is pulled from the registry that KIT_SOURCE names, and from its own where that one does not have it."""

import pytest

from images import base
from images.endpoint import EngineError
from pins.progress import Progress
from pins.store import Store
from tests.fakes import FakeEngine
from tests.images.test_build import BASE_IMAGE, DIGEST, on_base, remote

OWN, MIRROR = f"rocm/pytorch@{DIGEST}", f"localhost:5000/kit/mirror@{DIGEST}"


class Puller(FakeEngine):
    """An engine that can pull `there`, and remembers for what it was asked."""

    def __init__(self, *there):
        super().__init__()
        self.there, self.pulled = there, []

    def pull(self, reference, *, on_progress=None):
        del on_progress
        self.pulled.append(reference)
        if reference not in self.there:
            raise EngineError(f"cannot pull {reference}", "reach it", status=404)
        self.images[reference] = BASE_IMAGE
        return self.require(reference)


@pytest.fixture(autouse=True)
def mirrored(monkeypatch, registries):
    registries.images[OWN] = remote()
    monkeypatch.setenv("KIT_SOURCE", "oci://localhost:5000/kit/mirror")


def found(engine, tmp_path, said=None):
    say = Progress("build", shown=False)
    say.note = (said if said is not None else []).append
    return base.found(on_base(), engine, Store(tmp_path / "cache"), say, tmp_path, alone=True)


def test_the_mirror_is_asked_first_and_the_record_names_the_base_itself(tmp_path):
    engine = Puller(MIRROR, OWN)

    there = found(engine, tmp_path)

    assert (engine.pulled, there.image) == ([MIRROR], MIRROR)
    assert (there.record["reference"], there.record["config_digest"]) == (OWN, BASE_IMAGE["id"])
    assert found(engine, tmp_path).image == MIRROR
    assert engine.pulled == [MIRROR], "it is there now"


def test_what_the_mirror_lacks_is_pulled_from_its_own_registry_and_this_is_said(tmp_path):
    engine, said = Puller(OWN), []

    assert found(engine, tmp_path, said).image == OWN
    assert engine.pulled == [MIRROR, OWN]
    assert f"not from there: cannot pull {MIRROR}" in said


def test_without_a_registry_in_kit_source_nothing_else_is_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("KIT_SOURCE", str(tmp_path))
    engine = Puller(OWN)

    assert found(engine, tmp_path).image == OWN
    assert engine.pulled == [OWN]


def test_a_base_that_nobody_has_is_said(tmp_path):
    with pytest.raises(EngineError, match=f"cannot pull {OWN}"):
        found(Puller(), tmp_path)
