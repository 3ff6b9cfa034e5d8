"""Visibility variables: which GPUs they let through, and what is wrong with them. Pure.

ROCR_VISIBLE_DEVICES filters the kernel's list, inside the runtime. HIP_VISIBLE_DEVICES indexes into what is left; where
it is not set CUDA_VISIBLE_DEVICES does, else GPU_DEVICE_ORDINAL. Each list is cut at its first item that names nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from validate.outcome import fail, warn

if TYPE_CHECKING:
    from schema.records import Outcome

RUNTIME = ("ROCR_VISIBLE_DEVICES",)
ABOVE = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
NAMES = (*RUNTIME, *ABOVE)
READ = {"rocm": NAMES, "cuda": ("CUDA_VISIBLE_DEVICES",)}
#: NVIDIA's runtime numbers the fastest card first, the kernel by address: an index there names a card, but not which.
ORDERED = {"rocm": True}
INDEX = re.compile(r"^\d{1,9}$")
ID = re.compile(r"^(GPU-[0-9a-fA-F-]{1,40}|MIG-\S{1,60})$")


def in_force(given: dict[str, Any], backend: str) -> dict[str, str]:
    """Return the variables that this backend reads, in the order in which they filter."""
    return {name: given[name] for name in READ[backend] if isinstance(given.get(name), str)}


def hides_all(value: str) -> bool:
    """Tell whether a list is empty, or says so."""
    return value.strip() in {"", "-1"}


def apply(filters: dict[str, str], kernel: list[dict[str, Any]], backend: str) -> list[dict[str, Any] | None]:
    """Return the devices that come through; None for one that is named by an id, which nobody resolves here."""
    left: list[dict[str, Any] | None] = list(kernel)
    for name in _chain(filters):
        left = _through(left, filters[name])
    return left if ORDERED.get(backend) or not filters else [None] * len(left)


def judge(filters: dict[str, str], kernel: list[dict[str, Any]]) -> list[Outcome]:
    """Judge each list against what reaches it, and that only one is set."""
    found: list[Outcome] = []
    left: list[dict[str, Any] | None] = list(kernel)
    for name in _chain(filters):
        found += _judge_one(name, filters[name], len(left))
        left = _through(left, filters[name])
    if len(filters) > 1:
        found.append(
            warn(
                "device_counts.mask_both",
                f"{' and '.join(filters)} are set together: the second one counts what the first one left",
                seen=filters,
                remedy=f"unset {' '.join(list(filters)[1:])}   # and name all GPUs to use in {next(iter(filters))}",
            )
        )
    return found


def _chain(filters: dict[str, str]) -> list[str]:
    """Return the variables that act one after the other: of those above the runtime only the first does."""
    above = [name for name in ABOVE if name in filters]
    return [name for name in RUNTIME if name in filters] + above[:1]


def _items(value: str) -> list[str]:
    return [item.strip() for item in value.split(",")]


def _through(devices: list[dict[str, Any] | None], value: str) -> list[dict[str, Any] | None]:
    kept: list[dict[str, Any] | None] = []
    for item in [] if hides_all(value) else _items(value):
        if ID.match(item):
            kept.append(None)
        elif INDEX.match(item) and int(item) < len(devices):
            kept.append(devices[int(item)])
        else:
            break
    return kept


def _judge_one(name: str, value: str, present: int) -> list[Outcome]:
    """Judge one list: empty and -1 hide all GPUs; an index beyond the last cuts the list there."""
    if hides_all(value):
        return [
            fail("device_counts.mask_hides", f"{name}={value!r} hides every GPU", seen=value, remedy=f"unset {name}")
        ]
    items = _items(value)
    beyond = [item for item in items if INDEX.match(item) and int(item) >= present]
    if beyond:
        reason = f"{name} names GPU {beyond[0]}, but {present} reach it (0 to {present - 1}): the list is cut there"
        return [
            fail("device_counts.mask_range", reason, seen=value, remedy=f"unset {name}, or name GPUs below {present}")
        ]
    odd = [item for item in items if not INDEX.match(item) and not ID.match(item)]
    if odd:
        reason = f"{name} has {odd[0]!r}, which is neither an index nor a GPU-... id: the list is cut there"
        return [fail("device_counts.mask_form", reason, seen=value, remedy=f"unset {name}, or list indices: 0,1")]
    twice = sorted({item for item in items if items.count(item) > 1})
    if twice:
        reason = f"{name} names {twice[0]} twice, which runtimes read in different ways"
        return [fail("device_counts.mask_form", reason, seen=value, remedy=f"unset {name}, or name each GPU once")]
    return []
