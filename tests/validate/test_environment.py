import pytest

from tests.validate.fakes_node import instinct, laptop
from validate.checks import environment

FACTS = {
    "backend": "rocm",
    "runtime": "container",
    "gfx": ["gfx942"],
    "arch_list": ["gfx90a", "gfx942"],
    "variables": {},
}


def judged(given, lock=None, **more):
    outcomes = environment.judge({**FACTS, "variables": given, **more}, lock)
    return [(outcome.code, outcome.status.value) for outcome in outcomes]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ("environment.clean", "pass")),
        ({"AMD_SERIALIZE_KERNEL": "3"}, ("environment.serialise", "fail")),
        ({"AMD_SERIALIZE_KERNEL": "0"}, ("environment.clean", "pass")),
        ({"AMD_LOG_LEVEL": "4"}, ("environment.log", "fail")),
        ({"AMD_LOG_LEVEL": "0"}, ("environment.clean", "pass")),
        ({"HSA_ENABLE_SDMA": "0"}, ("environment.perf", "warn")),
        ({"HSA_ENABLE_SDMA": "1"}, ("environment.clean", "pass")),
        ({"HSA_ENABLE_INTERRUPT": "1"}, ("environment.clean", "pass")),
        ({"HSA_XNACK": "1"}, ("environment.perf", "warn")),
        ({"MIOPEN_FIND_MODE": "3"}, ("environment.cache", "warn")),
        ({"MIOPEN_FIND_ENFORCE": "3"}, ("environment.perf", "warn")),
        ({"MIOPEN_FIND_ENFORCE": "1"}, ("environment.clean", "pass")),
        ({"MIOPEN_LOG_LEVEL": "4"}, ("environment.clean", "pass")),
        ({"MIOPEN_LOG_LEVEL": "6"}, ("environment.log", "warn")),
        ({"PYTORCH_TUNABLEOP_ENABLED": "1", "PYTORCH_TUNABLEOP_TUNING": "1"}, ("environment.numerics", "fail")),
        ({"PYTORCH_TUNABLEOP_ENABLED": "1"}, ("environment.numerics", "fail")),
        ({"PYTORCH_TUNABLEOP_ENABLED": "1", "PYTORCH_TUNABLEOP_TUNING": "0"}, ("environment.numerics", "warn")),
        ({"PYTORCH_TUNABLEOP_TUNING": "1"}, ("environment.clean", "pass")),
        ({"OMP_NUM_THREADS": "8"}, ("environment.clean", "pass")),
        ({"TORCHDYNAMO_DISABLE": "1"}, ("environment.perf", "warn")),
        ({"MIOPEN_DISABLE_CACHE": "0"}, ("environment.clean", "pass")),
        ({"MIOPEN_DISABLE_CACHE": "true"}, ("environment.cache", "fail")),
        ({"HSA_TOOLS_LIB": ""}, ("environment.clean", "pass")),
        ({"HSA_TOOLS_LIB": "/x/tool.so"}, ("environment.log", "fail")),
        ({"AMD_LOG_LEVEL": "0x0"}, ("environment.clean", "pass")),
        ({"AMD_LOG_LEVEL": "0x3"}, ("environment.log", "fail")),
        ({"HSA_ENABLE_PEER_SDMA": "True"}, ("environment.clean", "pass")),
        ({"HSA_ENABLE_PEER_SDMA": "0"}, ("environment.perf", "warn")),
        ({"MIOPEN_FIND_ENFORCE": "NONE"}, ("environment.clean", "pass")),
        ({"MIOPEN_FIND_ENFORCE": "SEARCH"}, ("environment.perf", "warn")),
        ({"HIPBLASLT_TUNING_MODE": "tune"}, ("environment.perf", "fail")),
        ({"HIPBLASLT_TUNING_MODE": "cache"}, ("environment.perf", "warn")),
        ({"NCCL_DEBUG": "info"}, ("environment.log", "warn")),
        ({"NCCL_DEBUG": "WARN"}, ("environment.clean", "pass")),
        ({"PYTORCH_CUDA_ALLOC_CONF": "a:1"}, ("environment.perf", "warn")),
        ({"MIOPEN_DEBUG_CONV_FFT": "0"}, ("environment.numerics", "warn")),
        ({"PYTORCH_NO_HIP_MEMORY_CACHING": "1"}, ("environment.perf", "fail")),
        ({"NCCL_P2P_DISABLE": "1"}, ("environment.comm", "fail")),
        ({"HIP_TRACE_KERNEL": "3"}, ("environment.not_real", "warn")),
        ({"AMDGPU_WAVEFRONT_SIZE": "128"}, ("environment.not_real", "warn")),
        ({"ROCm_VISIBLE_DEVICES": "0"}, ("environment.not_real", "warn")),
        ({"HIP_VISIBLE_DEVICE": "0"}, ("environment.unknown", "warn")),
        ({"HSA_SOMETHING_NEW": "1"}, ("environment.unknown", "warn")),
        ({"ROCM_PATH": "/opt/rocm"}, ("environment.clean", "pass")),
        ({"NCCL_NEWER_THAN_US": "1"}, ("environment.clean", "pass")),
        ({"TRITON_CACHE_DIR": "/cache/triton"}, ("environment.clean", "pass")),
        ({"MIOPEN_CUSTOM_CACHE_DIR": "/tmp/miopen"}, ("environment.clean", "pass")),
        ({"MIOPEN_USER_DB_PATH": "/shared/miopen"}, ("environment.cache", "warn")),
        ({"CUDA_LAUNCH_BLOCKING": "1"}, ("environment.serialise", "warn")),
        ({"PYTORCH_ALLOC_CONF": "a:1", "PYTORCH_HIP_ALLOC_CONF": "a:2"}, ("environment.contradiction", "fail")),
    ],
    ids=lambda value: (
        ",".join(f"{k}={v}" for k, v in value.items()) or "nothing set" if isinstance(value, dict) else ""
    ),
)
def test_a_variable_is_judged_by_its_name_and_value(given, expected):
    assert expected in judged(given)


def test_a_blocking_launch_falsifies_on_cuda():
    assert judged({"CUDA_LAUNCH_BLOCKING": "1"}, backend="cuda") == [("environment.serialise", "fail")]


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("HIP_VISIBLE_DEVICE", "HIP_VISIBLE_DEVICES"),
        ("HSA_OVERRIDE_GFX", "HSA_OVERRIDE_GFX_VERSION"),
        ("MIOPEN_FIND_MOD", "MIOPEN_FIND_MODE"),
    ],
)
def test_a_slip_is_told_the_name_that_it_means(name, right):
    outcome = environment.judge({**FACTS, "variables": {name: "0"}}, None)[0]

    assert right in outcome.remedy


@pytest.mark.parametrize(
    ("value", "real", "archs", "code"),
    [
        ("", ["gfx1201"], [], "environment.override_empty"),
        ("10.3.0", ["gfx90a"], [], "environment.override_family"),
        ("10.3.0", ["gfx942"], [], "environment.override_family"),
        ("9.0.a", ["gfx90c"], [], "environment.override_form"),
        ("9.0.10", ["gfx942"], [], "environment.override_instinct"),
        ("10.3.0", ["gfx1030"], [], "environment.override_needless"),
        ("10.3.0", ["gfx1032"], ["gfx1030"], "environment.override_unsupported"),
        ("11.0.0", ["gfx1151"], ["gfx1100", "gfx1151"], "environment.override_native"),
        ("10.3.0", [], [], "environment.override"),
    ],
    ids=[
        "empty",
        "RDNA2 on MI210",
        "RDNA2 on MI300",
        "hex digits",
        "one Instinct as another",
        "needless",
        "same family",
        "native kernels exist",
        "no GPU",
    ],
)
def test_an_override_is_never_advised(value, real, archs, code):
    facts = {**FACTS, "variables": {"HSA_OVERRIDE_GFX_VERSION": value}, "gfx": real, "arch_list": archs}

    outcome = environment.judge(facts, None)[0]

    assert outcome.code == code
    assert "export HSA_OVERRIDE" not in outcome.remedy
    assert "unset HSA_OVERRIDE_GFX_VERSION" in outcome.remedy


def test_what_the_lock_declares_is_the_images_own_but_serialising_is_never():
    lock = {"environment": {"MIOPEN_FIND_MODE": "3", "AMD_SERIALIZE_KERNEL": "3"}}

    assert judged({"MIOPEN_FIND_MODE": "3", "AMD_SERIALIZE_KERNEL": "3"}, lock) == [("environment.serialise", "fail")]


def test_another_value_than_the_locks_is_told():
    assert ("environment.differs", "warn") in judged(
        {"MIOPEN_FIND_MODE": "2"}, {"environment": {"MIOPEN_FIND_MODE": "1"}}
    )


def test_a_rule_for_one_gpu_is_for_that_gpu_alone():
    given = {"ROCBLAS_INTERNAL_FP16_ALT_IMPL": "1"}

    assert judged(given, gfx=["gfx90a"]) == [("environment.numerics", "warn")]
    assert judged(given) == [("environment.clean", "pass")]


def test_the_environment_of_the_process_is_taken_redacted():
    machine = laptop(env={"HOME": "/home/bob", "USER": "bob", "MIOPEN_USER_DB_PATH": "/home/bob/db", "PATH": "/bin"})

    assert environment.gather(machine, None)["variables"] == {"MIOPEN_USER_DB_PATH": "~/db"}


def test_the_gpus_of_an_override_are_the_kernels():
    assert environment.gather(instinct(), None)["gfx"] == ["gfx942"]


def test_absurdly_many_variables_are_refused_rather_than_judged_for_hours():
    with pytest.raises(ValueError, match="no process of ours"):
        environment.judge({**FACTS, "variables": {f"HSA_X{number}": "" for number in range(1000)}}, None)


def test_what_the_kit_itself_sets_in_a_container_is_clean():
    from images.access import ENVIRONMENT

    machine = instinct(env=ENVIRONMENT)

    assert judged(environment.gather(machine, None)["variables"]) == [("environment.clean", "pass")]
