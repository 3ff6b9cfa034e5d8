"""HSA_OVERRIDE_GFX_VERSION: makes the runtime load code for another GPU; the hardware stays what it is. Pure.

Rules: AMD says it is for internal debugging; another family faults; Instinct-class targets (gfx9) never need it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from validate.outcome import fail, warn

if TYPE_CHECKING:
    from schema.records import Outcome

NAME = re.compile(r"^HSA_OVERRIDE_GFX_VERSION(_\d+)?$")
FORM = re.compile(r"^(\d{1,2})\.(\d{1,2})\.(\d{1,2})$")


def judge(name: str, value: str, real: list[str], arch_list: list[str]) -> Outcome:
    """Judge `value` for the targets that the kernel gives (`real`) and those that torch has kernels for."""
    seen, unset = {name: value, "gfx": real}, f"unset {name}"
    form = FORM.match(value.strip())
    if not form:
        code, reason = (
            ("form", f"{name} must be three decimal numbers (gfx90a is 9.0.10)")
            if value.strip()
            else ("empty", f"{name} is set to nothing: older runtimes then see gfx000")
        )
        return fail(f"environment.override_{code}", reason, seen=seen, remedy=unset)
    claimed = f"gfx{int(form[1])}{int(form[2]):x}{int(form[3]):x}"
    for gfx in real:
        code, reason = _fault(gfx, claimed, {str(item).split(":")[0] for item in arch_list})
        if code:
            return fail(f"environment.override_{code}", reason, seen=seen, remedy=unset)
    if real and set(real) == {claimed}:
        return warn("environment.override_needless", f"the GPU is {claimed} already", seen=seen, remedy=unset)
    if not real:
        return warn("environment.override", f"{name} would present any GPU as {claimed}", seen=seen, remedy=unset)
    return warn(
        "environment.override_unsupported",
        f"{', '.join(real)} runs code for {claimed}: results hold for this unsupported configuration only",
        seen=seen,
        remedy=f"use a PyTorch whose targets include {real[0]}, then {unset}",
    )


def _fault(gfx: str, claimed: str, served: set[str]) -> tuple[str, str]:
    """Return why `gfx` must not be presented as `claimed`; empty texts when nothing forbids it."""
    if gfx == claimed:
        return "", ""
    if family(gfx) != family(claimed):
        return "family", f"{claimed} is another family than {gfx}: kernels fault or give wrong results"
    if family(gfx) == "9":
        return "instinct", f"{gfx} is an Instinct-class target, for which an override is never right"
    if gfx in served:
        return "native", f"this PyTorch has kernels for {gfx} itself"
    return "", ""


def family(gfx: str) -> str:
    """Return 9 for gfx90a, 11 for gfx1100: minor and stepping take one digit each."""
    return gfx.removeprefix("gfx")[:-2]
