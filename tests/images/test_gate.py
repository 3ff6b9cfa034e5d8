"""What is in an image is held against its lock: bases that are something else, families that are of several builds."""

import pytest

from images import gate
from pins.lock import from_document
from schema.errors import KitError
from tests.images.test_build import document
from validate.checks import torch_family


def lock(build="rocm", *wheels, torch="2.9.1", rocm="7.2", python="3.11", debs=None):
    wheel = {"file": "x-1-py3-none-any.whl", "index": "pypi", "sha256": "0" * 64, "size": 1}
    named = [wheel | {"name": name, "version": version} for name, version in wheels]
    more = {} if debs is None else {"debs": debs}
    return from_document(
        document(wheels=named, torch={"version": torch, "build": build}, rocm=rocm, python=python, **more)
    )


def seen(*distributions, hip="7.2.53211", cuda=None, torch="2.9.1+rocm7.2.1", python="3.11.4", **more):
    found = [
        {"name": one[0], "version": one[1], "requires": list(one[2:])}
        for one in (line if isinstance(line, tuple) else tuple(line.split("==")) for line in distributions)
    ]
    about = torch and {"version": torch, "hip": hip, "cuda": cuda}
    return gate.seen({"python": python, "torch": about, "rocm": [], "distributions": found} | more)


def test_a_family_replaced_by_a_build_for_cuda_is_refused_and_named():
    """OB-12 of the public reports."""
    after = seen(
        "torch==2.9.1", "vllm==0.22.1", "nvidia-cublas-cu12==12.8.4.1", "nvidia-nccl-cu12==2.27.3", "triton==3.5.1",
        hip=None, torch="2.9.1",
    )  # fmt: skip

    with pytest.raises(KitError) as caught:
        gate.refuse_result(after, lock("rocm", ("torch", "2.9.1+rocm7.2.1"), ("vllm", "0.22.1")))

    for words in (
        "torch 2.9.1 has no +rocm",
        "vllm 0.22.1 has no +rocm",
        "nvidia-cublas-cu12, nvidia-nccl-cu12",
        "built for cpu",
    ):
        assert words in caught.value.message


def test_a_family_of_two_builds_is_refused_and_named():
    """OB-13 of the public reports."""
    after = seen(
        ("torch", "2.9.1+rocm7.2.1.lw.gitabc1234", "triton==3.5.1; platform_system == 'Linux'"),
        "torchvision==0.24.1", "pytorch-triton-rocm==3.5.1", "triton==3.5.1",
        imports={"torch": "", "torchvision": "RuntimeError: operator torchvision::nms does not exist"},
        shared={"/opt/venv/triton/__init__.py": ["pytorch-triton-rocm", "triton"]}, triton_amd=True,
    )  # fmt: skip

    found = list(gate.faults(after, lock("rocm", ("torch", "2.9.1"), ("torchvision", "0.24.1"))))

    assert found == [
        "torchvision 0.24.1 has no +rocm in its version: a build for something else",
        "import torchvision: RuntimeError: operator torchvision::nms does not exist",
        "/opt/venv/triton/__init__.py belongs to pytorch-triton-rocm and triton: the last one installed wins",
    ]


GOOD = [
    pytest.param(seen("torch==2.9.1+rocm7.2.1", "nvidia-ml-py==12"), lock(), id="bindings alone do no harm"),
    pytest.param(seen("torch==2.9.1+cpu", hip=None, torch="2.9.1+cpu"), lock("cpu"), id="a build for the CPU"),
    pytest.param(
        seen("torch==2.9.1+cu128", "nvidia-cublas-cu12==12", hip=None, cuda="12.8", torch="2.9.1+cu128"),
        lock("cuda"),
        id="NVIDIA's packages where they belong",
    ),
    pytest.param(seen(torch=None), lock(), id="an image without torch: validate says so"),
    pytest.param(
        seen(("torchvision", "0.24.1+rocm7.2", "torch (==2.9.1)"), "torch==2.9.1+rocm7.2.1"),
        lock(),
        id="any build of it",
    ),
    pytest.param(seen("torch==2.9.1+git1234"), lock(), id="built from source, as AMD's images are"),
    pytest.param(
        seen(
            ("torch", "2.9.1+rocm7", "triton==3.5"), "triton==3.5.0", ("torch", "2.8.0+cu128", "triton==1"), "triton==1"
        ),
        lock(),
        id="of two copies the first on the path counts",
    ),
    *(
        pytest.param(seen(("torch", "2.9.1+rocm7", f"triton==1; {marker}"), "triton==3"), lock(), id=marker)
        for marker in (
            'extra == "opt"',
            'platform_system == "Linux" and extra == "x"',
            'sys_platform == "win32"',
            'python_version < "3.9"',
            "python_version>='3.12'",
            'python_full_version != "3.11.4"',
            'os_name < "x"',
            'platform_machine == "aarch64" and python_version > "3"',
            'sys_platform == "linux" or extra == "x"',
            "(sys_platform == 'linux')",
            "nonsense",
            'python_version < "3.x"',
        )
    ),
]


@pytest.mark.parametrize(("found", "named"), GOOD)
def test_what_is_as_the_lock_says_is_let_through(found, named):
    assert list(gate.faults(found, named)) == []


@pytest.mark.parametrize(
    ("found", "named", "says"),
    [
        (seen(torch="2.8.0+rocm7.2"), lock(), r"torch is 2\.8\.0\+rocm7\.2, not 2\.9\.1"),
        (seen("torch==2.9.1+rocm7", hip=None, cuda="12.8"), lock(), "built for cuda, not rocm"),
        (seen("torchaudio==2.9.1+cpu"), lock(), r"torchaudio 2\.9\.1\+cpu is built for something else than rocm"),
        (seen("xformers==0.0.1+cu128"), lock(), r"xformers 0\.0\.1\+cu128 is built for something else"),
        (seen("x==1+rocm7", hip=None, torch="2.9.1"), lock("cpu"), r"x 1\+rocm7 is built for something else than cpu"),
        (seen(triton_amd=False), lock(), "triton has no back end for AMD"),
        (
            seen(("torchvision", "0.24.1+rocm7", "torch==2.9.0"), "torch==2.9.1+rocm7"),
            lock(),
            r"torchvision 0\.24\.1\+rocm7 needs torch 2\.9\.0, and 2\.9\.1\+rocm7 is there",
        ),
        *(
            (seen(("torch", "2.9.1+rocm7", f"triton==1;{marker}"), "triton==3"), lock(), "needs triton 1, and 3 is")
            for marker in (
                "", 'platform_system == "Linux"', "sys_platform=='linux' and platform_machine == 'x86_64'",
                'python_version >= "3.9"', 'python_version == "3.11"', 'python_full_version < "3.11.5"',
                'python_version != "3.2"', 'python_version <= "3.11"', 'sys_platform != "darwin"',
            )
        ),
        (
            seen("torch==2.8.0+cu128", "torch==2.9.1+rocm7"),
            lock(),
            r"torch 2\.8\.0\+cu128 is built for something else",
        ),
        (
            seen(("torchaudio", "2.9.1+rocm7", "torch==2.9.1+rocm6.4"), "torch==2.9.1+rocm7"),
            lock(),
            r"needs torch 2\.9\.1\+rocm6\.4, and 2\.9\.1\+rocm7 is there",
        ),
    ],
)  # fmt: skip
def test_what_is_not_is_named(found, named, says):
    with pytest.raises(KitError, match=says):
        gate.refuse_result(found, named)


def test_the_bindings_that_do_no_harm_are_those_of_the_check():
    assert gate.HARMLESS == torch_family.BINDINGS
    assert list(gate.faults(seen("nvidia-ml-py3==7"), lock())), "a name that the check does not let through"


@pytest.mark.parametrize("name", sorted(gate.HARMLESS))
@pytest.mark.parametrize(("build", "count"), [("rocm", 1), ("cuda", 0)])
def test_nvidias_bindings_in_an_image_for_rocm_are_worth_a_word(name, build, count):
    assert [name in words for words in gate.warnings(seen((name, "1")), lock(build))] == [True] * count


BASES = [
    ({"python": "3.10.12"}, {}, "Python 3.10.12, and the lock says 3.11"),
    ({"python": "3.1.1"}, {}, "Python 3.1.1, and the lock says 3.11"),
    ({"torch": "2.8.0+x"}, {}, r"PyTorch 2.8.0\+x, and the lock says 2.9.1"),
    ({"hip": None}, {}, "PyTorch built for cpu, and the lock says rocm"),
    (
        {"rocm": [["/opt/rocm/.info/version", "6.4.1-83"]]},
        {},
        r"ROCm 6.4.1-83 \(/opt/rocm/.info/version\), and the lock says 7.2",
    ),
    ({"rocm": [["/opt/rocm/.info/version", "7.20.0"]]}, {}, "ROCm 7.20.0"),
    ({"torch": None}, {}, "no PyTorch in it, and the lock brings none"),
    ({"torch": None}, {"build": "cpu"}, "no PyTorch in it, and the lock brings none"),
]


@pytest.mark.parametrize(("found", "named", "says"), BASES)
def test_a_base_that_is_something_else_is_refused_naming_both(found, named, says):
    with pytest.raises(KitError, match=says) as caught:
        gate.refuse_base(seen(**found), lock(**named), "rocm/pytorch@sha256:1")
    assert caught.value.message.startswith("rocm/pytorch@sha256:1 has ")


@pytest.mark.parametrize(
    ("found", "named"),
    [
        ({"rocm": [["a", "7.2.4-81"], ["b", "6.0"]]}, {}),
        ({"rocm": []}, {}),
        ({"torch": "1.0", "hip": None}, {"build": "cpu", "rocm": "none", "torch": "1.0"}),
        ({"rocm": [["a", "5.0"]], "hip": None}, {"build": "cpu"}),
    ],
    ids=["one source agrees", "nothing is told", "no ROCm in the lock", "a ROCm beside a torch for the CPU"],
)
def test_a_base_that_does_not_contradict_its_lock_is_built_on(found, named):
    gate.refuse_base(seen(**found), lock(**named), "b")


def test_a_torch_that_the_lock_brings_is_not_asked_of_the_base():
    gate.refuse_base(seen(torch=None), lock("rocm", ("torch", "2.9.1+rocm7.2")), "b")
    gate.refuse_base(seen(torch=None), lock("rocm", debs=[document()["debs"][0] | {"name": "python3-torch-rocm"}]), "b")


@pytest.mark.parametrize("name", sorted(gate.KEPT))
def test_a_wheel_before_what_the_image_has_is_refused(name):
    with pytest.raises(KitError, match=f"would stand before what b has: {name} 1\n"):
        gate.refuse_base(seen((name, "1")), lock("rocm", (name, "2"), ("other", "1")), "b")


@pytest.mark.parametrize(
    "answer",
    [{}, {"python": "3"}, {"python": "3", "torch": 7, "rocm": [], "distributions": []},
     {"python": "3", "torch": None, "rocm": [7], "distributions": []},
     {"python": "3", "torch": None, "rocm": [], "distributions": [{}]},
     {"python": "3", "torch": None, "rocm": [], "distributions": [], "imports": []}],
)  # fmt: skip
def test_an_answer_in_another_form_is_refused(answer):
    with pytest.raises(KitError, match="answers otherwise"):
        gate.seen(answer)
