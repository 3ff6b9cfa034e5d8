import struct

import pytest

from tests.validate.fakes_node import by_code, instinct, laptop, statuses
from validate.checks import hip_compile
from validate.machine import Ran
from validate.parsers import code_object

FLAGS = {"gfx90a": 0x33F, "gfx942": 0x54C, "gfx1100": 0x41}


def elf(gfx, *, kernel=True):
    head = bytearray(64)
    head[:4] = b"\x7fELF"
    struct.pack_into("<H", head, 18, 224)
    struct.pack_into("<I", head, 48, FLAGS[gfx])
    return bytes(head) + (hip_compile.KERNEL.encode() if kernel else b"")


def bundle(*entries):
    """A bundle as clang writes it; entries are (target, content)."""
    named = [
        ("host-x86_64-unknown-linux-gnu-", b""),
        *((f"hipv4-amdgcn-amd-amdhsa--{gfx}", body) for gfx, body in entries),
    ]
    head = 24 + 8 + sum(24 + len(name) for name, _ in named)
    table, body = b"", b""
    for name, content in named:
        table += struct.pack("<QQQ", head + len(body), len(content), len(name)) + name.encode()
        body += content
    return code_object.MAGIC + struct.pack("<Q", len(named)) + table + body


ALL = bundle(*((gfx, elf(gfx)) for gfx in FLAGS))


def machine_with(output, *, base=laptop, ran="", **more):
    machine = base(**more)
    machine.runs["hipcc"] = ran
    machine.files["/scratch/add.co"] = output
    return machine


def judged(machine):
    return hip_compile.judge(hip_compile.gather(machine, None), None)


@pytest.mark.parametrize(
    ("output", "status"),
    [
        (ALL, "pass"),
        (bundle(("gfx90a", elf("gfx90a")), ("gfx942", elf("gfx942"))), "fail"),
        (bundle(("gfx90a", elf("gfx90a")), ("gfx942", elf("gfx90a")), ("gfx1100", elf("gfx1100"))), "fail"),
        (
            bundle(("gfx90a", elf("gfx90a", kernel=False)), ("gfx942", elf("gfx942")), ("gfx1100", elf("gfx1100"))),
            "fail",
        ),
        (b"CCOB....", "warn"),
        (b"", "fail"),
        (ALL[:100], "fail"),
    ],
    ids=[
        "all targets",
        "one dropped",
        "one built for another",
        "one without the kernel",
        "compressed",
        "empty",
        "cut off",
    ],
)
def test_the_code_objects_are_looked_into(output, status):
    assert statuses(judged(machine_with(output)))["hip_compile.objects"] == status


def test_an_absent_compiler_is_no_failure():
    assert statuses(judged(laptop())) == {"hip_compile.no_compiler": "skip"}


@pytest.mark.parametrize(
    ("ran", "says"),
    [
        (
            Ran(("hipcc",), 1, "", "warning: x\nclang: error: cannot find ROCm device library"),
            "cannot find ROCm device library",
        ),
        (Ran(("hipcc",), None, "", "", timed_out=True), "hipcc ran out of time"),
        (Ran(("hipcc",), -11, "", ""), "hipcc was killed by SIGSEGV"),
    ],
    ids=["error", "hang", "crash"],
)
def test_a_failing_compiler_is_quoted(ran, says):
    outcome = by_code(judged(machine_with(b"", ran=ran)))["hip_compile.compiles"]

    assert outcome.status.value == "fail"
    assert says in outcome.reason


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("checked 1000003 wrong 0\n", "pass"),
        (Ran(("add",), 4, "checked 1000003 wrong 17\n", ""), "fail"),
        (Ran(("add",), 3, "error hipMalloc: invalid device function\n", ""), "fail"),
        (Ran(("add",), -6, "", "Memory access fault by GPU node-2"), "fail"),
        ("", "fail"),
    ],
    ids=["right", "wrong sums", "HIP error", "abort", "silence"],
)
def test_on_an_amd_gpu_the_sum_is_checked(program, status):
    machine = machine_with(ALL, base=instinct)
    machine.runs["/scratch/add"] = program

    assert statuses(judged(machine))["hip_compile.runs"] == status


def test_without_an_amd_gpu_it_is_compiled_and_said_not_to_have_run():
    assert statuses(judged(machine_with(ALL)))["hip_compile.runs"] == "skip"


def test_the_targets_of_the_gpus_here_are_built_too():
    machine = machine_with(ALL, base=instinct)
    hip_compile.gather(machine, None)

    compiled = next(argv for argv in machine.asked if argv[0] == "hipcc")
    assert [flag for flag in compiled if flag.startswith("--offload-arch=")] == [
        "--offload-arch=gfx1100", "--offload-arch=gfx90a", "--offload-arch=gfx942",
    ]  # fmt: skip


@pytest.mark.parametrize("content", [b"\x7fELF", code_object.MAGIC, code_object.MAGIC + b"\xff" * 60, b"\0" * 10])
def test_odd_bytes_never_raise(content):
    code_object.parse(content, "k")
