"""The records that our code constructs: the lines of a report and of results.

Frozen values in base units (seconds, bytes, watts, hertz). Nothing derived is stored: medians and intervals are
computed on reading. `tests/schema/test_drift.py` holds these classes equal to the JSON Schemas.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any


class FindingStatus(str, Enum):
    """What a check concluded. A failing check is data, not an exception."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    ERROR = "error"


class SampleStatus(str, Enum):
    """How a measured process ended. Everything but `ok` carries a reason."""

    OK = "ok"
    THROTTLED = "throttled"
    DRIFT = "drift"
    NOT_STEADY = "not_steady"
    NOT_CONVERGED = "not_converged"
    INVALID = "invalid"
    OUT_OF_MEMORY = "out_of_memory"
    UNSUPPORTED = "unsupported"
    TIMEOUT = "timeout"
    KILLED = "killed"
    FAILED = "failed"
    SKIP = "skip"


#: Figures of these statuses may be shown, with the status beside them; the others have no figure.
MEASURED = (
    SampleStatus.OK,
    SampleStatus.THROTTLED,
    SampleStatus.DRIFT,
    SampleStatus.NOT_STEADY,
    SampleStatus.NOT_CONVERGED,
)


_FAILED = frozenset({"fail", "error", "invalid", "out_of_memory", "timeout", "killed", "failed"})
_NOT_APPLICABLE = frozenset({"skip", "unsupported"})


def exit_code(statuses: list[str]) -> int:
    """Return the exit code that findings or processes of these statuses deserve.

    0 all well, warnings included; 1 something failed; 2 nothing applied: nothing but skips is not a pass.
    """
    if _FAILED & set(statuses):
        return 1
    return 0 if set(statuses) - _NOT_APPLICABLE else 2


def unknown(reason: str) -> dict[str, str]:
    """Say that a value is not known, and why. Never a zero, never "N/A"."""
    return {"unknown": reason}


@dataclass(frozen=True)
class Outcome:
    """What `judge` returns: one judged statement.

    `code` is stable, `check.what` (e.g. `devices.permission`), and part of the contract with scripts.
    `seen` and `expected` are short texts or plain JSON values; all but `pass` carry a `reason`, and where something can
    be done one `remedy`: the exact command or value.
    """

    code: str
    status: FindingStatus
    seen: Any = None
    expected: Any = None
    reason: str | None = None
    remedy: str | None = None


@dataclass(frozen=True)
class Start:
    """Open a stream: what ran, where, on what. `document` is `report-1` or `results-1`."""

    document: str
    started_at: str
    runtime: str
    backend: str
    lock_sha256: str | None
    cargo_sha256: str
    image_id: str | None
    python: str
    torch: dict[str, Any]
    devices: list[dict[str, Any]]
    host: dict[str, Any]
    environment: dict[str, str]
    protocol: dict[str, Any] | None = None


@dataclass(frozen=True)
class Facts:
    """What one check observed, before any opinion."""

    check: str
    question: str
    seconds: float
    facts: dict[str, Any]


@dataclass(frozen=True)
class Finding:
    """One judged statement of a report."""

    check: str
    code: str
    status: str
    seen: Any = None
    expected: Any = None
    reason: str | None = None
    remedy: str | None = None


@dataclass(frozen=True)
class Sample:
    """One raw measurement: `seconds` for one step of `case`, averaged over the process's `inner` back-to-back steps.

    `at_s` is CLOCK_MONOTONIC relative to the stream's start.
    """

    case: str
    process: int
    index: int
    seconds: float
    at_s: float
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Process:
    """One case in one fresh process: how it went. Follows its samples."""

    case: str
    process: int
    order: int
    status: str
    reason: str | None = None
    device: str | None = None
    setup_s: float | None = None
    first_call_s: float | None = None
    inner: int | None = None
    clock: str | None = None
    cache: dict[str, Any] | None = None
    warm_up: dict[str, Any] | None = None
    stop: dict[str, Any] | None = None
    check_before: dict[str, Any] | None = None
    check_after: dict[str, Any] | None = None
    facts: dict[str, Any] | None = None


@dataclass(frozen=True)
class Telemetry:
    """One reading of a device's sensors. What cannot be read is absent; why stands in the process's `facts`."""

    process: int
    at_s: float
    device: str
    power_w: float | None = None
    clock_hz: float | None = None
    temperature_c: float | None = None
    memory_used_bytes: int | None = None
    throttle: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class End:
    """Close a stream. A stream without it was cut off, whatever the exit code."""

    finished_at: str
    counts: dict[str, int]


#: The `kind` that each record carries as its first key.
KINDS: dict[str, Any] = {
    "start": Start,
    "facts": Facts,
    "finding": Finding,
    "sample": Sample,
    "process": Process,
    "telemetry": Telemetry,
    "end": End,
}
KIND_OF = {cls: kind for kind, cls in KINDS.items()}


def to_dict(record: Any) -> dict[str, Any]:
    """Return the JSON object of a record: `kind` first, fields that say nothing (None, an empty list) left out.

    A field without a default is always there, even when None: it was asked for, and the answer is "none".
    """
    out: dict[str, Any] = {"kind": KIND_OF[type(record)]}
    for item in fields(record):
        value = getattr(record, item.name)
        has_default = item.default is None or item.default_factory is list
        if has_default and (value is None or value == []):
            continue
        out[item.name] = value
    return out
