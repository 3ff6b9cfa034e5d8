"""Adopt an image that the kit did not make, and look into any: the commands, on the real engine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bundle.seal import seal
from pins import lock as locks
from schema import documents
from tests import foreign
from tests.world import told

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parent.parent
NAME = "kit-test-foreign"
TORCH, BARE, OTHER = f"{NAME}:rocm9.9_torch2.6", f"{NAME}:bare", f"{NAME}:other"
HARM = 'ENTRYPOINT ["/bin/sh", "-c", "echo harm; exit 66"]'
NASTY = "a\\x1b]0;title\\x07\\x1b[2Jb\u202e"
LABEL = 'LABEL org.opencontainers.image.base.name="somebody/system:latest"'


@pytest.fixture(scope="module")
def images(engine, tmp_path_factory):
    """Images by name: a bare system, the same with a torch, and that with one thing more."""
    packed = foreign.system(tmp_path_factory.mktemp("foreign"))
    made = {BARE: foreign.imported(engine, packed, BARE)}
    packed.unlink()
    more = ["ENV HSA_OVERRIDE_GFX_VERSION=10.3.0", LABEL, HARM]
    made[TORCH] = foreign.added(engine, BARE, TORCH, foreign.torch(), *more)
    made[OTHER] = foreign.added(engine, TORCH, OTHER, foreign.distribution("nvidia-cublas-cu12", "12.8"))
    yield made
    for name in (OTHER, TORCH, BARE):
        engine.remove(name, force=True)


class Kit:
    def __init__(self, folder):
        self.folder, self.out = folder, folder / "out"

    def __call__(self, *argv, **environ):
        return subprocess.run(
            [sys.executable, "-X", "utf8", ROOT / "tasks.py", *map(str, argv)],
            capture_output=True,
            text=True,
            env=os.environ | {"KIT_OUT": str(self.out)} | environ,
            cwd=self.folder,
            check=False,
        )

    def adopted(self, reference):
        """Adopt an image; return its lock, and what was said."""
        done = self("lock", "--from-image", reference, "--out", self.folder)
        assert done.returncode == 0, done.stderr
        return locks.load(done.stdout.strip()), done.stderr


@pytest.fixture
def kit(tmp_path):
    return Kit(tmp_path)


def codes(findings, *statuses):
    return {item["code"] for item in findings if item["status"] in statuses}


def test_an_image_of_somebodys_is_locked_validated_sealed_and_verified(kit, images, engine):
    lock, said = kit.adopted(TORCH)
    base = lock.base

    assert (lock.channel, base["digest"], base["digest_kind"], base["status"]) == (
        "adopted",
        images[TORCH],
        "config",
        "recorded",
    )
    assert (lock.document["torch"], lock.rocm, lock.debs) == ({"version": "2.6.0+cpu", "build": "cpu"}, "none", [])
    assert lock.document["inventory"]["wheel"] == {"torch": "2.6.0+cpu"}
    assert {"dash", "python3"} <= lock.document["inventory"]["deb"].keys()
    assert "environment.override" in said
    assert "harm" not in said

    done = kit("validate", "--lock", lock.path, "--json")
    report = json.loads(done.stdout)
    image = documents.read_json(kit.out / lock.name / "image.json")

    assert done.returncode == 1, "what stands in for torch computes nothing"
    assert {"inventory.deb", "inventory.wheel", "torch_build.version", "versions.python"} <= codes(
        report["findings"], "pass"
    )
    assert image["image_id"] == image["engine_id"] == images[TORCH], "a lock that adds nothing builds nothing"
    assert image["diff_ids"] == engine.require(TORCH)["diff_ids"]

    sealed = seal(
        kit.out / lock.name / "report.jsonl", None, image=image, lock=lock.document, out=kit.folder / "sealed"
    )
    verified = kit("verify", sealed["path"])
    assert (verified.returncode, verified.stdout.splitlines()[-1]) == (0, "CONFIRMED at L0"), verified.stdout


def test_an_adopted_image_has_no_package_more_or_less(kit, images):
    lock, _ = kit.adopted(TORCH)

    done = kit("inspect", OTHER, "--lock", lock.path, "--json")
    answer = json.loads(done.stdout)

    assert done.returncode == 1
    assert codes(answer["findings"], "fail") == {"inventory.wheel"}
    (finding,) = (item for item in answer["findings"] if item["code"] == "inventory.wheel")
    assert finding["reason"] == "1 not in the lock: nvidia-cublas-cu12"
    assert answer["image"]["id"] == images[OTHER]


def test_what_the_engine_and_the_image_tell_is_shown(kit, images):
    done = kit("inspect", TORCH)

    assert done.returncode == 0, done.stdout
    shown = done.stdout
    for words in (
        images[TORCH],
        "torch     2.6.0+cpu, built for cpu",
        "packages  ",
        " ENV HSA_OVERRIDE_GFX_VERSION=10.3.0",
        "warn  environment.override",
        "warn  image.base_tag               it was made from somebody/system:latest, a tag that always moves",
    ):
        assert words in shown
    assert "harm" not in done.stderr


@pytest.mark.parametrize("flags", [[], ["--json"]], ids=["text", "json"])
def test_nothing_that_an_image_says_is_obeyed_by_a_terminal(kit, images, engine, flags):  # noqa: ARG001 -- BARE is there
    name = f"{NAME}:nasty"
    text = NASTY.encode().decode("unicode_escape")
    label = json.dumps({"a": text})[1:-1].replace('": "', '"="')
    foreign.added(engine, BARE, name, {}, f"LABEL {label}", f"ENV HSA_X={json.dumps(text)}", f"RUN : '{text}' || true")
    try:
        done = kit("inspect", name, *flags)
    finally:
        engine.remove(name, force=True)

    assert "nasty" in done.stdout
    assert [char for char in done.stdout + done.stderr if char in "\x1b\x07\u202e"] == []


def test_without_torch_an_image_is_looked_at_and_not_adopted(kit, images):  # noqa: ARG001 -- BARE is there
    looked, refused = kit("inspect", BARE, "--json"), kit("lock", "--from-image", BARE, "--out", kit.folder)

    assert (looked.returncode, codes(json.loads(looked.stdout)["findings"], "fail")) == (1, {"torch_build.import"})
    told(refused, 2, "has no PyTorch that can be imported")
    assert list(kit.folder.glob("*.yaml")) == []


def test_without_python_an_image_is_looked_at_from_outside(kit, busybox):
    looked, refused = kit("inspect", busybox, "--json"), kit("lock", "--from-image", busybox, "--out", kit.folder)

    answer = json.loads(looked.stdout)
    assert (looked.returncode, codes(answer["findings"], "fail"), answer["python"]) == (1, {"image.inside"}, None)
    assert answer["image"]["layers"]
    told(refused, 2, "no python3 that starts")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("#!/bin/sh\nyes", "not strict JSON"),
        ("#!/bin/sh\ncat /dev/zero", "longer than"),
        ("#!/bin/sh\nexit 3", "exit code 3"),
        ("no program at all", "exec format error"),
    ],
    ids=["a flood", "a line without end", "nothing", "no program"],
)
def test_a_python_that_is_none_ends_in_one_message(kit, engine, busybox, script, says):
    name = f"{NAME}:odd"
    foreign.added(engine, busybox, name, {"bin/python3": script})
    try:
        told(kit("lock", "--from-image", name, "--out", kit.folder), 2, says)
    finally:
        engine.remove(name, force=True)


def test_an_image_for_another_machine_is_not_started(kit, engine):
    name = f"{NAME}:arm"
    foreign.loaded(engine, name, "arm64")
    try:
        looked, refused = kit("inspect", name, "--json"), kit("lock", "--from-image", name, "--out", kit.folder)
    finally:
        engine.remove(name, force=True)

    assert (looked.returncode, codes(json.loads(looked.stdout)["findings"], "fail")) == (1, {"image.platform"})
    told(refused, 2, "is for linux/arm64")


def test_an_image_that_nobody_has_is_named(kit, engine):  # noqa: ARG001 -- without an engine that is what is said
    told(kit("inspect", "127.0.0.1:1/moon:1"), 2, "127.0.0.1:1/moon:1")
    told(kit("lock", "--from-image", "127.0.0.1:1/moon:1", "--out", kit.folder), 2, "127.0.0.1:1")
    told(kit("lock", "--from-image", "Moon:", "--out", kit.folder), 2, "Moon")
    told(kit("lock", "--from-image", TORCH, "--out", kit.folder / "nowhere"), 2, "no folder")


def test_a_registrys_image_is_resolved_pulled_by_digest_and_known_by_it(kit, images, engine, debian):  # noqa: ARG001 -- TORCH is there
    name, (repository, tag) = f"{debian.host}/some/image:1", (f"{debian.host}/some/image", "1")
    engine.api.tag(TORCH, repository, tag)
    pushed = list(engine.slow.push(repository, tag=tag, stream=True, decode=True))
    digest = next(row["aux"]["Digest"] for row in pushed if "aux" in row)
    engine.remove(name)
    engine.remove(f"{repository}@{digest}")
    by_digest = f"{repository}@{digest}"
    try:
        lock, said = kit.adopted(name)
        assert f"{name} is {digest} (manifest)" in said
        assert lock.base | {"recorded": ""} == {
            "repo": repository,
            "tag": "1",
            "digest": digest,
            "digest_kind": "manifest",
            "status": "verified",
            "sources": ["its registry, from which it was pulled by this digest"],
            "recorded": "",
        }
        built = kit("build", "--lock", lock.path, "--json")
        assert built.returncode == 0, built.stderr
        assert json.loads(built.stdout)["manifest_digest"] == digest

        again, said = kit.adopted(by_digest)
        assert (again.base["digest"], again.base["status"]) == (digest, "recorded"), "found in the engine, not pulled"
        assert again.document["inventory"] == lock.document["inventory"]
    finally:
        engine.remove(by_digest, force=False)
