"""What a case is given: a device, a dtype by name, seeded inputs, and how many input sets defeat the cache."""

from __future__ import annotations

import math
from typing import Any

#: Names of element types in case names and protocols, and torch's.
DTYPES = {
    "fp64": "float64",
    "fp32": "float32",
    "tf32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "int8": "int8",
}
#: Sets beyond this cost more to make than they tell; a set so small is launch-bound anyway.
MAX_SETS = 512


class Unsupported(Exception):  # noqa: N818 - it says what is the case, no fault
    """A case cannot run here, with the reason: an element type, an architecture, a library that is not there."""


class Workbench:
    """Handed to `prepare(bench, params)` of a case.

    `device` is a torch.device, `seed` the seed of this process's inputs, `llc_bytes` the last-level cache to defeat
    (None where unknown), `budget_bytes` the most memory that input sets may take. `tf32` lets float32 products round
    their inputs to it, in this whole process; without it they may not.
    """

    def __init__(self, device: Any, seed: int, llc_bytes: int | None, budget_bytes: int, *, tf32: bool = False) -> None:
        import torch

        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
        self.torch = torch
        self.device = device
        self.seed = seed
        self.llc_bytes = llc_bytes
        self.budget_bytes = budget_bytes
        self.cache: dict[str, Any] = {"mode": "hot", "sets": 1, "llc_bytes": llc_bytes, "set_bytes": 0}
        self.notes: list[str] = []
        self._outputs: list[Any] = []
        self._generator = torch.Generator(device="cpu").manual_seed(seed)
        self._device_generator = torch.Generator(device=device).manual_seed(seed)

    def dtype(self, name: str) -> Any:
        """Return torch's dtype for a name of ours."""
        if name not in DTYPES:
            raise Unsupported(f"no element type {name!r}: use one of {', '.join(sorted(DTYPES))}")
        return getattr(self.torch, DTYPES[name])

    def randn(self, *shape: int, dtype: str) -> Any:
        """Return seeded N(0, 1) values on the device, rounded to `dtype`. Data moves the speed: it is never zeros."""
        kind = self.dtype(dtype)
        # Drawn in float32 wherever the type allows: half-precision generators differ between backends.
        values = self.torch.randn(
            *shape, generator=self._device_generator, device=self.device, dtype=self.torch.float32
        )
        return values.to(kind)

    def poisoned(self, *shape: int, dtype: str) -> Any:
        """Return an output buffer full of NaN: an element that is never written cannot pass."""
        self._outputs.append(self.torch.full(shape, math.nan, device=self.device, dtype=self.dtype(dtype)))
        return self._outputs[-1]

    def poison(self) -> bool:
        """Fill every buffer that came from `poisoned` with NaN again; return whether there is any."""
        for buffer in self._outputs:
            buffer.fill_(math.nan)
        return bool(self._outputs)

    def sets(self, set_bytes: float) -> range:
        """Return the numbers of the input sets to make: as many as keep the last-level cache from holding any.

        ceil(3 x cache / bytes of a set) + 1 sets are used in turn, so that three caches' worth of other data passes
        before a set comes round again. `set_bytes` counts what one step reads and writes. Where memory does not allow
        it, or the cache is unknown, one set is made and the figure is called hot.
        """
        if not 0 < set_bytes < math.inf:
            raise ValueError(f"bench.sets() was given {set_bytes}: give it the bytes of one step, more than 0")
        set_bytes = math.ceil(set_bytes)
        if self.llc_bytes is None:
            self.notes.append("the size of the last-level cache is unknown, so one input set is used again and again")
            count = 1
        else:
            count = math.ceil(3 * self.llc_bytes / set_bytes) + 1
            if count > MAX_SETS or count * set_bytes > self.budget_bytes:
                self.notes.append(
                    f"{count} input sets of {set_bytes} bytes would be needed to defeat a cache of {self.llc_bytes} "
                    f"bytes; at most {MAX_SETS} sets and {self.budget_bytes} bytes are allowed here: one set is used"
                )
                count = 1
        mode = "rotate" if count > 1 else "hot"
        self.cache = {"mode": mode, "sets": count, "llc_bytes": self.llc_bytes, "set_bytes": set_bytes}
        return range(count)
