"""A precision that PyTorch does not offer is no fault; a GPU that does not run is one, in whatever words."""

import pytest

from validate.probes.numerics import refuses


@pytest.mark.parametrize(
    ("error", "refused"),
    [
        (RuntimeError("\"slow_conv2d_cpu\" not implemented for 'Half'"), True),
        (NotImplementedError("Could not run 'aten::x'"), True),
        (RuntimeError("BFloat16 is not supported on this platform"), True),
        (RuntimeError("HIP error: no kernel image is available for execution on the device"), False),
        (RuntimeError("CUDA error: no kernel image is available for execution on the device"), False),
        (NotImplementedError("no kernel image is available"), False),
        (RuntimeError("HIP error: operation not supported"), False),
        (RuntimeError("HIP error: invalid device function"), False),
        (RuntimeError("something else"), False),
    ],
    ids=str,
)
def test_a_refusal_is_told_from_a_fault(error, refused):
    assert refuses(error) is refused
