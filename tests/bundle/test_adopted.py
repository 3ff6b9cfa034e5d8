"""An image that existed already: sealed like our own, and what is not known of it said as unknown."""

import dataclasses

import pytest

from bundle import console, rows, views
from bundle.layout import NO_MANIFEST
from bundle.seal import understood
from tests.bundle import fakes_bundle

INVENTORY = {"rpm": {"rocm-core": "6.4.1-83", "glibc": "2.34"}, "wheel": {"torch": "2.6.0"}}


@pytest.fixture(scope="module")
def evidence():
    found = understood(fakes_bundle.evidence(with_results=False))
    return dataclasses.replace(
        found,
        lock=found.lock | {"channel": "adopted", "debs": [], "inventory": INVENTORY},
        image=found.image | {"manifest_digest": None},
    )


def test_a_manifest_that_no_registry_told_is_unknown_and_the_packages_are_counted(evidence):
    told = dict(rows.image(evidence))

    assert told["Manifest"] == NO_MANIFEST
    assert told["Lock"].endswith("an image by digest, with 3 packages when it was adopted")


def test_build_and_reproduce_say_so_too():
    image = {"image_id": "sha256:1", "manifest_digest": None}
    whole = image | {
        "summary": {"gpu_result": True, "cases": [], "device": "x"},
        "findings": [],
        "bundle": "b",
        "verdict": {"verdict": "CONFIRMED"},
    }

    for said in (console.image_lines(image), console.ending(whole)):
        assert f"manifest  {NO_MANIFEST}" in said.splitlines()


def test_rpm_packages_are_listed_like_the_others(evidence):
    facts = {"debs": None, "rpms": {"rocm-core": "6.4.1-83", "glibc": "2.34"}, "wheels": []}
    report = dataclasses.replace(evidence.report, facts=[{"check": "inventory", "facts": facts}])

    assert views.packages(dataclasses.replace(evidence, report=report)) == {"rpm": b"glibc 2.34\nrocm-core 6.4.1-83\n"}
