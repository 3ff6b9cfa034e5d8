"""The engine door against the real engine: images in and out, and every way of not reaching it."""

import builtins
import io
import json
import os
import sys
import tarfile

import pytest

from images import engine as engines
from images.endpoint import EngineError
from tests.conftest import DOCKERFILE, SMALL, context

pytestmark = pytest.mark.engine
ABSENT = "sha256:" + "0" * 64


def test_the_engine_describes_itself(engine):
    about = engine.about()

    assert about["name"] in {"docker", "podman"}
    assert all(about[key] for key in ("version", "storage", "api", "memory_bytes", "cpus"))


def test_an_absent_image_is_none_and_no_error(engine):
    assert engine.image(ABSENT) is None
    assert engine.image("rocm-repro-kit-test:never") is None


def test_an_image_that_is_required_and_absent_names_the_next_step(engine):
    with pytest.raises(EngineError, match="has no image") as caught:
        engine.require(ABSENT)

    assert caught.value.hint == "./kit build"


def test_a_built_image_is_known_by_the_id_that_the_build_gave(engine, busybox):
    found = engine.image(SMALL)

    assert found["id"] == busybox
    assert found["tags"] in ([SMALL], [f"localhost/{SMALL}"]), "Podman names a registry"
    assert len(found["diff_ids"]) == 1
    assert found["size"] > 500_000


def test_a_build_has_no_network_and_its_log_comes_line_by_line(engine, busybox):
    if engine.about()["name"] == "podman":
        pytest.skip("Podman 4.3 ignores the network mode of a build asked for over its socket")
    log = []
    dockerfile = f"FROM {SMALL}\nRUN ls /sys/class/net && echo part; echo whole\n".encode()
    image = engine.build(context(dockerfile), nocache=True, on_log=log.append)
    engine.remove(image, force=True)

    assert [line for line in log if line in {"lo", "eth0"}] == ["lo"]
    assert {"part", "whole"} <= set(log)
    assert busybox != image


@pytest.mark.usefixtures("busybox")
def test_a_failing_step_is_shown_with_its_log(engine):
    dockerfile = f"FROM {SMALL}\nRUN echo the reason; exit 3\n".encode()
    with pytest.raises(EngineError, match=r"(code: |status )3") as caught:
        engine.build(context(dockerfile))

    assert "the reason" in caught.value.message


def test_a_saved_image_comes_back_under_its_name(engine):
    dockerfile = DOCKERFILE + b"LABEL round=trip\n"
    image = engine.build(context(dockerfile, {"root.tar": empty_tar()}), tag="rocm-repro-kit-test:saved")
    pieces = list(engine.save("rocm-repro-kit-test:saved"))
    removed = [engine.remove("rocm-repro-kit-test:saved", force=True) for _ in range(2)]
    assert engine.image(image) is None

    back = engine.load(iter(pieces), "rocm-repro-kit-test:saved")
    engine.remove("rocm-repro-kit-test:saved", force=True)

    assert back["id"] == image
    assert removed == [True, False]


def test_an_image_is_saved_by_its_id_whoever_has_its_name_by_now(engine):
    name = "rocm-repro-kit-test:taken"
    recipe = b"FROM scratch\nADD root.tar /\nLABEL rocm-repro-kit-test.whose=%s\n"
    ours, theirs = (
        engine.build(context(recipe % whose, {"root.tar": empty_tar()}), tag=name) for whose in (b"us", b"them")
    )
    try:
        saved = io.BytesIO(b"".join(engine.save(ours)))
        with tarfile.open(fileobj=saved) as tar:
            [config] = [
                json.load(tar.extractfile(item["Config"])) for item in json.load(tar.extractfile("manifest.json"))
            ]
    finally:
        engine.remove(name, force=True)
        engine.remove(ours, force=True)

    assert config["config"]["Labels"] == {"rocm-repro-kit-test.whose": "us"}
    assert ours != theirs


def test_nameless_images_go_by_their_label_and_others_stay(engine):
    label = f"rocm-repro-kit-test.prune={os.getpid()}"
    first, second = (
        engine.build(
            context(f"FROM scratch\nLABEL {label}\nENV X={number}\n".encode()), tag="rocm-repro-kit-test:prune"
        )
        for number in (1, 2)
    )
    try:
        engine.prune(label, older_s=3600)
        young = engine.image(first)
        engine.prune(label)
        named = engine.image(second)

        assert young is not None
        assert engine.image(first) is None
        assert named is not None
        engine.prune(label, older_s=-3600)
        assert engine.image(second) is None, "long over, named or not"
    finally:
        engine.remove("rocm-repro-kit-test:prune", force=True)


@pytest.mark.parametrize(("older_s", "left"), [(3600, 1), (0, 0), (-3600, 0)], ids=["young", "of this folder", "old"])
def test_containers_of_killed_builds_go_by_their_label_and_age(engine, busybox, older_s, left):
    key, value = "rocm-repro-kit-test.container", f"{os.getpid()}{older_s}"
    other = engine.api.create_container(busybox, ["true"], labels={key: "other"})["Id"]
    ours = engine.api.create_container(busybox, ["true"], labels={key: value})["Id"]
    try:
        engine.prune(f"{key}={value}", older_s=older_s)

        assert len(engine.api.containers(all=True, filters={"label": f"{key}={value}"})) == left
        assert engine.api.containers(all=True, filters={"label": f"{key}=other"}), "another's stay"
    finally:
        engine.api.remove_container(other, force=True)
        if left:
            engine.api.remove_container(ours, force=True)


def empty_tar():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        entry = tarfile.TarInfo("file")
        tar.addfile(entry, io.BytesIO())
    return buffer.getvalue()


def test_a_broken_archive_is_an_error_though_the_answer_begins_well(engine, tmp_path):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        files = {
            "manifest.json": json.dumps(
                [{"Config": "c.json", "RepoTags": ["rocm-repro-kit-test:bad"], "Layers": ["l.tar"]}]
            ),
            "c.json": json.dumps(
                {"rootfs": {"type": "layers", "diff_ids": [ABSENT]}, "os": "linux", "architecture": "amd64"}
            ),
            "l.tar": "this is no tar",
        }
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    path = tmp_path / "bad.tar"
    path.write_bytes(buffer.getvalue())
    with path.open("rb") as file, pytest.raises(EngineError, match=r"could not load|cannot load"):
        engine.load(file, "rocm-repro-kit-test:bad")


def test_a_tag_is_not_pulled(engine):
    with pytest.raises(EngineError, match="tags move"):
        engine.pull("busybox:latest")


def test_a_digest_that_nobody_serves_is_named(engine):
    reference = f"127.0.0.1:9/nobody@{ABSENT}"
    with pytest.raises(EngineError, match=ABSENT) as caught:
        engine.pull(reference)

    assert "registry" in caught.value.hint


def test_a_missing_sdk_names_the_command_that_brings_it(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "docker":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    for name in [name for name in sys.modules if name.split(".")[0] == "docker"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr(engines.endpoint, "reach", lambda _where: None)
    with pytest.raises(EngineError, match="SDK for Python is not installed") as caught:
        engines.connect({})

    assert "./kit" in caught.value.hint
