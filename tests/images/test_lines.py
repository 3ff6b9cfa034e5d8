"""Apptainer's line: what goes in, what never does, and what is refused. That it runs, a test with Apptainer says."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from images.device import Device
from images.lines import apptainer_line
from schema.errors import KitError

SIF, CARGO = Path("/a b/x.sif"), Path("/a b/cargo.tar")


def words(backend="cpu", argv=("python3", "-m", "validate"), sif=SIF, **asked):
    line = apptainer_line(backend, sif, argv, Device(**asked), cargo=CARGO, records="report.jsonl")
    return shlex.split(line.replace("\\\n", ""))


@pytest.mark.parametrize(
    ("backend", "binds"),
    [("rocm", ["--bind=/dev/kfd", "--bind=/dev/dri"]), ("cuda", ["--nv"]), ("cpu", [])],
)
def test_a_run_is_contained_off_the_network_and_gets_its_devices_alone(backend, binds):
    found = words(backend)

    assert found[:2] == ["apptainer", "exec"]
    assert {"--containall", "--no-home", "--net", "--network=none"} <= set(found)
    assert [word for word in found if word.startswith(("--bind", "--nv"))] == binds
    assert "--rocm" not in found, "it would put the host's ROCm in place of the image's"
    assert not [word for word in found if word.startswith("--env=HOME=")], "which Apptainer refuses"
    assert found[-4:] == ["<", str(CARGO), ">", "report.jsonl"]


@pytest.mark.parametrize(
    ("backend", "asked", "expected"),
    [
        ("rocm", "0,2", ["--env=ROCR_VISIBLE_DEVICES=0,2"]),
        ("cuda", "1", ["--env=CUDA_VISIBLE_DEVICES=1", "--env=CUDA_DEVICE_ORDER=PCI_BUS_ID"]),
        ("rocm", "all", []),
    ],
)
def test_single_gpus_are_named_to_the_runtime_since_all_nodes_are_bound(backend, asked, expected):
    assert [word for word in words(backend, gpus=asked) if "DEVICE" in word] == expected


@pytest.mark.parametrize(
    ("backend", "asked", "says"),
    [
        ("rocm", {"gpus": "0000:c1:00.0"}, "GPUs go by number"),
        ("rocm", {"gpus": "amd.com/gpu=0"}, "GPUs go by number"),
        ("cpu", {"gpus": "0"}, "GPUs go by number"),
        ("rocm", {"memory": "64g"}, "--memory is for engines"),
        ("rocm", {"shm": "8g"}, "--shm is for engines"),
        ("rocm", {"user": "1000"}, "--user is for engines"),
    ],
    ids=str,
)
def test_what_apptainer_cannot_give_is_refused(backend, asked, says):
    with pytest.raises(KitError, match=says) as caught:
        words(backend, **asked)

    assert caught.value.hint


def test_the_line_really_runs(busybox_file, tmp_path):
    """In a folder as image, which Apptainer takes like a `.sif`."""
    from images import cargo

    if not shutil.which("apptainer"):
        pytest.skip("no Apptainer on this host (Debian has it in sid alone)")
    for name in ("bin", "etc", "dev", "proc", "sys", "tmp", "root"):
        (tmp_path / "image" / name).mkdir(parents=True)
    shutil.copy(busybox_file, tmp_path / "image/bin/busybox")
    for name in ("sh", "tar", "cat", "ls"):
        (tmp_path / "image/bin" / name).symlink_to("busybox")
    (tmp_path / "cargo.tar").write_bytes(cargo.archive({"deep/file.txt": b"from the cargo\n"}))
    script = "cat deep/file.txt; echo $PYTHONPATH; cat /proc/net/dev"
    line = apptainer_line(
        "cpu", tmp_path / "image", ["sh", "-c", script], Device(), cargo=tmp_path / "cargo.tar", records="report.jsonl"
    )
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.jsonl").read_text().splitlines()[:2] == ["from the cargo", "/kit"]
    assert "eth0" not in (tmp_path / "report.jsonl").read_text()
