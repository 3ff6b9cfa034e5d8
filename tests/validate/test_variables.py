import pytest

from validate import variables


def test_names_written_together_are_known_apart():
    assert variables.expand("A_{X,Y}") == ["A_X", "A_Y"]
    assert variables.expand("A / B") == ["A", "B"]
    assert {"MIOPEN_DEBUG_CONV_FFT", "NCCL_SHM_DISABLE", "OMP_NUM_THREADS"} <= set(variables.known())


def test_a_real_name_with_a_wrong_meaning_is_not_called_unreal():
    assert "HSA_ENABLE_INTERRUPT" not in variables.not_real()
    assert "HIP_API_DB" in variables.not_real()


def test_unknown_values_may_be_secrets_and_are_not_told():
    assert variables.record({"GPU_API_TOKEN": "hunter2"}) == {"GPU_API_TOKEN": variables.NOT_TOLD}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("/home/bob/x:/home/bobby/y", "~/x:~/y"),
        ("/root/.cache", "~/.cache"),
        ("/data/bob/cache", "/data/user/cache"),
        ("/data/bobsled", "/data/bobsled"),
        ("/Users/eve/x", "~/x"),
        ("/opt/rocm", "/opt/rocm"),
    ],
)
def test_nobody_is_named(value, told):
    assert variables.redact(value, ["/home/bob", "bob", "bob"]) == told


def test_what_the_kit_sets_in_a_container_names_nobody_and_is_kept():
    assert variables.redact("/cache/miopen:/kit/x", ["/cache", "kit", "kit"]) == "/cache/miopen:/kit/x"


def test_one_card_keeps_one_hash_and_its_id_is_not_told():
    assert "0123456789abcdef" not in variables.redact("GPU-0123456789abcdef,1", [""])
    assert variables.redact("GPU-0123456789ABCDEF", [""]) == variables.redact("GPU-0123456789abcdef", [""])
