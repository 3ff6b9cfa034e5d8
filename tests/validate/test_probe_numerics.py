"""The probe's own arithmetic, with torch where there is one."""

import pytest

from validate.probes import numerics

torch = pytest.importorskip(
    "torch", reason="torch is not in this Python; the end-to-end test runs the probe in the image"
)


@pytest.fixture
def reference():
    return torch.arange(1, 7, dtype=torch.float64).reshape(2, 3)


def test_what_was_never_written_shows(reference):
    out = reference.clone()
    out[1, 2] = float("nan")

    assert numerics.compare(torch, out, reference)["nonfinite"] == 1


def test_another_shape_is_told(reference):
    assert numerics.compare(torch, reference.T.contiguous(), reference)["shape_ok"] is False


def test_the_error_is_relative_to_the_whole_and_to_the_largest(reference):
    out = reference.clone()
    out[0, 0] += 0.6

    found = numerics.compare(torch, out, reference)

    assert found["worst"] == pytest.approx(0.1)
    assert found["relative"] == pytest.approx(0.6 / 91**0.5)


def test_a_refusal_is_no_failure(reference, monkeypatch):
    def refuse(*_):
        raise RuntimeError("\"slow_conv2d_cpu\" not implemented for 'Half'")

    monkeypatch.setitem(numerics.OPERATORS, "softmax", refuse)

    found = numerics.measure(torch, "softmax", {}, [reference], reference=reference, device="cpu")

    assert found["status"] == "unsupported"


def test_an_unknown_device_is_a_failure(reference):
    found = numerics.measure(torch, "softmax", {}, [reference], reference=reference, device="nowhere")

    assert found["status"] == "failed"


def test_a_wrong_operator_is_caught(reference, monkeypatch):
    monkeypatch.setitem(numerics.OPERATORS, "softmax", lambda _, inputs, *__: inputs[0] * 1.5)

    found = numerics.measure(torch, "softmax", {}, [reference], reference=reference, device="cpu")

    assert found["relative"] == pytest.approx(0.5)
