"""PyTorch's family: of one build, for the same GPUs, each member in order."""

import json
import subprocess
import sys

import pytest

from tests.validate.fakes_node import LOCK, TORCH_CPU, TORCH_ROCM, by_code, family, instinct, laptop, statuses
from validate import context
from validate.checks import torch_family
from validate.machine import Ran
from validate.probes import family as probe

CUDA = {"version": "2.9.1", "build": "cuda"}
CPU_LOCK = {**LOCK, "torch": {"version": "2.6.0", "build": "cpu"}}


def facts(built=TORCH_ROCM, *, runtime="container", imports=None, shared=None, triton=(), **items):
    found = family(**items) | {"triton_backends": list(triton), "shared": shared or {}}
    return {"backend": "rocm", "runtime": runtime, "torch": built, "imports": imports or {}, **found}


@pytest.mark.parametrize(
    ("found", "lock", "expected"),
    [
        (facts(), LOCK, {"torch_family.one_build": "pass"}),
        (facts(torchvision=("0.21.0", ["torch==2.6.0"])), LOCK, {"torch_family.one_build": "pass"}),
        (facts(CUDA, torch="2.9.1"), LOCK, {"torch_family.foreign": "fail"}),
        (facts(nvidia_cublas_cu12="12.8.4.1"), LOCK, {"torch_family.foreign": "fail"}),
        (facts(torchaudio="2.6.0+cu124"), LOCK, {"torch_family.foreign": "fail"}),
        (facts(torchvision="0.21.0+cpu"), LOCK, {"torch_family.foreign": "fail"}),
        (facts(vllm="0.22.1"), LOCK, {"torch_family.foreign": "fail"}),
        (facts(vllm="0.9.2.dev364+gb432b7a28.rocm641"), LOCK, {"torch_family.one_build": "pass"}),
        (facts(nvidia_ml_py="12.0"), LOCK, {"torch_family.bindings": "warn"}),
        (facts(pynvml="11.5.0"), LOCK, {"torch_family.bindings": "warn"}),
        (facts(nvidia_cublas_cu12="12.8.4.1"), None, {"torch_family.foreign": "fail"}),
        (facts(nvidia_cublas_cu12="12.8.4.1"), CPU_LOCK, {"torch_family.one_build": "pass"}),
        (facts(CUDA, torch="2.9.1+cu128", nvidia_nccl_cu12="2.27.3"), None, {"torch_family.one_build": "pass"}),
        (facts(TORCH_CPU, torch="2.6.0+cpu"), None, {"torch_family.one_build": "pass"}),
        (facts(torchvision=("0.24.1", ["torch==2.9.1"])), LOCK, {"torch_family.requirement": "fail"}),
        (facts(torchvision=("0.24.1", ["torch (==2.9.1)"])), LOCK, {"torch_family.requirement": "fail"}),
        (
            facts(torchvision=("0.21", ["torch==2.6.0+git1"]), torch="2.6.0+git2"),
            LOCK,
            {"torch_family.requirement": "warn"},
        ),
        (facts(torchvision=("0.21", ["torch==2.6.*"])), LOCK, {"torch_family.one_build": "pass"}),
        (facts(torchvision=("0.21", ["torch==2.*"])), LOCK, {"torch_family.one_build": "pass"}),
        (facts(torchvision=("0.21", ['torch==1.0; extra == "old"'])), LOCK, {"torch_family.one_build": "pass"}),
        (facts(torchvision=("0.21", ["torch>=9"])), LOCK, {"torch_family.one_build": "pass"}),
        (facts(torchvision=("0.21", ["triton==9"])), LOCK, {"torch_family.one_build": "pass"}),
        (
            facts(torchvision=("0.21", ['torch==2.9.1; platform_system == "Linux"'])),
            LOCK,
            {"torch_family.requirement": "fail"},
        ),
        (facts(imports={"torchvision": "RuntimeError: nms"}), LOCK, {"torch_family.import": "fail"}),
        (facts(imports={"torchvision": None}), LOCK, {"torch_family.one_build": "pass"}),
        (facts(shared={"triton/x.py": ["a", "triton"]}), LOCK, {"torch_family.shared": "fail"}),
        (facts(triton=["nvidia"]), LOCK, {"torch_family.triton": "fail"}),
        (facts(triton=["amd", "nvidia"]), LOCK, {"torch_family.one_build": "pass"}),
        (facts(CUDA, triton=["nvidia"]), None, {"torch_family.one_build": "pass"}),
        ({**facts(), "distributions": []}, LOCK, {"torch_family.unlisted": "skip"}),
    ],
    ids=[
        "torch alone",
        "torchvision for this torch",
        "torch for CUDA",
        "NVIDIA's libraries",
        "torchaudio for CUDA",
        "torchvision for the CPU",
        "vllm of no known build",
        "vllm for ROCm",
        "bindings alone",
        "bindings by their other name",
        "NVIDIA's libraries without a lock",
        "a CPU lock does not mind",
        "CUDA without a lock",
        "CPU without a lock",
        "torchvision for another torch",
        "in older metadata",
        "another build of one version",
        "any patch release",
        "any minor release",
        "an extra",
        "a range",
        "of what is not installed",
        "on Linux",
        "torchvision does not import",
        "torchvision imports",
        "one file, two owners",
        "triton without AMD",
        "triton for both",
        "triton for NVIDIA on NVIDIA",
        "no metadata",
    ],
)
def test_the_family_is_judged(found, lock, expected):
    assert statuses(torch_family.judge(found, lock)) == expected


def test_what_is_foreign_is_named_with_who_requires_it():
    found = facts(CUDA, torch=("2.9.1", ["nvidia-cublas-cu12==12.8.4.1"]), nvidia_cublas_cu12="12.8.4.1")

    outcome = by_code(torch_family.judge(found, LOCK))["torch_family.foreign"]

    assert outcome.seen["nvidia-cublas-cu12"] == {"version": "12.8.4.1", "required_by": ["torch"]}
    assert "torch 2.9.1, nvidia-cublas-cu12 12.8.4.1" in outcome.reason


@pytest.mark.parametrize(
    ("runtime", "says"), [("host", "pip uninstall torchvision torch "), ("container", "in the image's recipe")]
)
def test_the_remedy_is_for_where_it_runs(runtime, says):
    found = facts(runtime=runtime, torchvision=("0.24.1", ["torch==2.9.1"]))

    assert says in torch_family.judge(found, LOCK)[0].remedy


def test_a_member_is_imported_only_where_it_is_installed_under_whatever_name():
    machine = instinct(probes={"family": json.dumps(family("2.6.0", pytorch_triton_rocm="3.2.0"))})
    machine.runs["python3 -c import triton"] = Ran(
        ("python3",), 1, "", "Traceback ...\nImportError: no /home/bob/x.so\n"
    )

    assert torch_family.gather(machine, LOCK)["imports"] == {"triton": "ImportError: no ~/x.so"}


def test_an_import_that_crashes_is_said_as_that():
    machine = instinct(probes={"family": json.dumps(family("2.6.0", torchvision="0.21"))})
    machine.runs["python3 -c import torchvision"] = Ran(("python3",), -11, "", "whatever it said\n")

    assert torch_family.gather(machine, LOCK)["imports"] == {"torchvision": "python3 was killed by SIGSEGV"}


def test_without_torch_nothing_that_needs_it_is_imported():
    none = {"torch": {"version": None, "build": None, "error": "ImportError"}, "available": False, "devices": []}
    machine = laptop(probes={"devices": json.dumps(none), "family": json.dumps(family("2.6.0", torchvision="0.21"))})

    assert torch_family.gather(machine, None)["imports"] == {}


def installed(folder, name, version, *, requires=(), files=()):
    """Leave a distribution as pip does."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {text}" for text in requires)]
    (info / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", *lines, ""]), encoding="utf-8")
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in [*files, f"{info.name}/METADATA"]), encoding="utf-8")


def test_the_probe_reads_what_pip_left(tmp_path):
    triton = ["triton/__init__.py", "triton/backends/amd/compiler.py", "triton/__pycache__/x.pyc"]
    installed(tmp_path, "torch", "2.9.1", requires=["filelock", "nvidia_cublas.cu12==1; platform_system == 'Linux'"])
    installed(tmp_path, "triton", "3.5.1", files=triton)
    installed(tmp_path, "pytorch-triton-rocm", "3.5.1", files=triton[:1])
    installed(tmp_path, "Nvidia_Cublas.cu12", "1")
    installed(tmp_path, "numpy", "2", files=["triton/__init__.py"])

    done = subprocess.run(
        [sys.executable, "-S", "-m", "validate.probes.family", "30"],
        env={"PYTHONPATH": f"{context.ROOT}:{tmp_path}"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(done.stdout) == {
        "distributions": [
            {"name": "nvidia-cublas-cu12", "version": "1", "requires": []},
            {"name": "pytorch-triton-rocm", "version": "3.5.1", "requires": []},
            {
                "name": "torch",
                "version": "2.9.1",
                "requires": ["nvidia_cublas.cu12==1; platform_system == 'Linux'"],
            },
            {"name": "triton", "version": "3.5.1", "requires": []},
        ],
        "shared": {"triton/__init__.py": ["pytorch-triton-rocm", "triton"]},
        "triton_backends": ["amd"],
    }


def test_of_two_copies_the_first_on_the_path_counts(tmp_path, monkeypatch):
    for folder, version in (("first", "2.9.1"), ("second", "2.6.0")):
        installed(tmp_path / folder, "torch", version)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "first"), str(tmp_path / "second")])

    assert [item["version"] for item in probe.learn()["distributions"]] == ["2.9.1"]
