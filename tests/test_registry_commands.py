"""The commands that speak with registries, as a person runs them: what they print, and their exit codes."""

import json

import pytest

from tests.pins.fakes_registry import Image, digest
from tests.world import CONTENTS, World, told


@pytest.fixture
def world(archive, tmp_path):
    return World(tmp_path, archive)


@pytest.fixture
def archive():
    from tests.pins.fakes_archive import Archive

    with Archive() as started:
        yield started


def test_a_mirror_in_a_registry_is_filled_and_fetched_from_when_all_else_is_cut_off(world, debian):
    address = f"oci://{debian.host}/kit/mirror"

    done = world.kit(f"mirror {address} --lock {{}}/small.lock.yaml")
    told(done, 0, "3 files, 301.0 kB, 301.0 kB of them copied")
    assert done.stdout == address + "\n"

    world.archive.files.clear()
    elsewhere = {"KIT_CACHE": str(world.folder / "elsewhere")}
    got = world.kit("fetch --lock {}/small.lock.yaml --json", KIT_SOURCE=address, **elsewhere)
    told(got, 0)
    assert json.loads(got.stdout)["downloaded_bytes"] == sum(map(len, CONTENTS.values()))


def test_lock_check_says_what_has_become_of_a_lock(world, debian):
    old, new = Image(), Image((b"new",))
    debian.put(old, tag="rocm7")
    base = {
        "repo": f"{debian.host}/some/image", "tag": "rocm7", "digest": digest(old.manifest), "digest_kind": "manifest",
        "status": "recorded", "sources": ["a test"], "recorded": "2026-12-01",
    }  # fmt: skip
    world.change_lock(channel="amd", base=base)
    check = "lock --check --lock {}/small.lock.yaml"
    well = world.kit(check)
    told(well, 0, "pass  base.tag")

    debian.put(new, tag="rocm7")
    moved = world.kit(check)
    told(moved, 0, f"warn  base.tag{' ' * 21}the tag rocm7 has moved on to {digest(new.manifest)}")
    assert "pass  base.digest" in moved.stdout

    debian.request("DELETE", f"/v2/some/image/manifests/{digest(old.manifest)}")
    gone = world.kit(f"{check} --json")
    told(gone, 1)
    answer = json.loads(gone.stdout)
    assert (answer["lock"], len(answer["lock_sha256"])) == ("kit-test-small", 64)
    assert {finding["code"]: finding["status"] for finding in answer["findings"]} == {
        "inputs.deb": "pass",
        "base.digest": "fail",
        "base.tag": "warn",
        "lock.newest": "pass",
    }


REFUSED = {  # what is asked: words
    "a lock to check and none to make": ("lock --lock {}/small.lock.yaml", "go with --check"),
    "a mirror at a tag": ("mirror oci://localhost:5000/x:1 --lock {}/small.lock.yaml", "is not the address of a repo"),
    "a source at a tag": ("fetch --lock {}/small.lock.yaml", "is not the address of a repository"),
}


@pytest.mark.parametrize(("command", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_with_one_remedy(world, command, words):
    source = {"KIT_SOURCE": "oci://localhost:5000/x:1"} if command.startswith("fetch") else {}

    told(world.kit(command, **source), 2, words)


@pytest.mark.engine
@pytest.mark.usefixtures("engine")
def test_an_image_that_was_not_built_is_not_pushed(world):
    told(world.kit("push localhost:1/x --lock {}/small.lock.yaml"), 2, "there is no image of kit-test-small to push")
