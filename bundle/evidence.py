"""What was observed, parsed and held against its schemas: the one thing that views and judgements are made from."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bundle import layout, streams
from schema import canon, documents
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Records that are kept as objects; samples are kept as numbers.
MAX_OBJECTS = 500_000


@dataclass(frozen=True)
class Report:
    """One validation."""

    start: dict[str, Any]
    facts: list[dict[str, Any]]
    findings: list[dict[str, Any]]
    end: dict[str, Any]


@dataclass(frozen=True)
class Results:
    """One benchmark run. By case and process: seconds a step as taken, their times, how many are tagged throttled."""

    start: dict[str, Any]
    processes: list[dict[str, Any]]
    samples: dict[tuple[str, int], array[float]]
    times: dict[tuple[str, int], array[float]]
    throttled: dict[tuple[str, int], int]
    telemetry: list[dict[str, Any]]
    end: dict[str, Any]

    @property
    def protocol(self) -> dict[str, Any]:
        """What was fixed before the run."""
        protocol: dict[str, Any] = self.start["protocol"]
        return protocol


@dataclass(frozen=True)
class Evidence:
    """All that was observed; None for what there is not."""

    lock: dict[str, Any] | None
    image: dict[str, Any] | None
    report: Report | None
    results: Results | None
    cases: dict[str, bytes] = field(default_factory=dict)

    @property
    def start(self) -> dict[str, Any]:
        """The start record that says what was measured: of the results where there are any."""
        stream = self.results or self.report
        if stream is None:
            raise KitError("a bundle needs a report or results")
        return stream.start

    @property
    def gpu(self) -> bool:
        """Whether a GPU did the work."""
        return bool(self.start["backend"] != "cpu")


def report(data: bytes) -> Report:
    """Return the report in these JSON Lines; KitError when they are not one."""
    found = _collect(streams.records(streams.lines(iter([data])), "report-1"), {})
    return Report(found["start"][0], found["facts"], found["finding"], found["end"][0])


def results(pieces: Iterator[bytes]) -> Results:
    """Return the results in these JSON Lines, given piece by piece; KitError when they are not one."""
    taken: dict[tuple[bytes, int], Series] = {}
    found = _collect(streams.records(streams.lines(pieces), "results-1"), taken)
    if "protocol" not in found["start"][0]:
        raise KitError("the results do not say which protocol they follow")
    series = {(case.decode(), process): one for (case, process), one in taken.items()}
    return Results(
        found["start"][0],
        found["process"],
        {key: one.seconds for key, one in series.items()},
        {key: one.times for key, one in series.items()},
        {key: one.throttled for key, one in series.items()},
        found["telemetry"],
        found["end"][0],
    )


@dataclass
class Series:
    """The samples of one process, while they come."""

    seconds: array[float] = field(default_factory=lambda: array("d"))
    times: array[float] = field(default_factory=lambda: array("d"))
    throttled: int = 0


def _collect(source: Iterator[Any], taken: dict[tuple[bytes, int], Series]) -> dict[str, list[dict[str, Any]]]:
    """Sort the records by kind; samples go into `taken`."""
    found: dict[str, list[dict[str, Any]]] = {
        kind: [] for kind in ("start", "facts", "finding", "process", "telemetry", "end")
    }
    objects, ended = 0, set[tuple[bytes, int]]()
    for item in source:
        if isinstance(item, tuple):
            case, process, index, seconds, at_s, throttled = item
            if (case, process) in ended:
                raise KitError(f"a sample of {case.decode()}, process {process}, stands after the record of its end")
            series = taken.get((case, process))
            if series is None:
                series = taken[case, process] = Series()
            if index != len(series.seconds):
                raise KitError(f"sample {index} of {case.decode()}, process {process}, is not the next one")
            series.seconds.append(seconds)
            series.times.append(at_s)
            series.throttled += throttled
            continue
        objects += 1
        if objects > MAX_OBJECTS:
            raise KitError(f"there are more than {MAX_OBJECTS} records beside the samples")
        if item["kind"] == "process":
            ended.add((item["case"].encode(), int(item["process"])))
        found[item["kind"]].append(item)
    return found


def parse(path: str, data: bytes) -> Any:
    """Return the parsed evidence file that is called `path` in a bundle; KitError, naming it, when it is damaged."""
    try:
        if path == layout.REPORT:
            return report(data)
        if path == layout.SAMPLES:
            return results(streams.unpack(data))
        if path in SCHEMAS:
            return _document(data, SCHEMAS[path])
    except KitError as error:
        raise KitError(f"{path}: {error.message}", error.hint) from error
    return data


#: The schema of each evidence file that is one canonical JSON document.
SCHEMAS = {layout.LOCK: "lock-1", layout.IMAGE: "image-1", layout.PROTOCOL: ""}


def _document(data: bytes, schema: str) -> Any:
    if len(data) > layout.MAX_JSON_BYTES:
        raise KitError(f"larger than {layout.MAX_JSON_BYTES} bytes")
    document = documents.parse_json(data, "the file")
    if schema:
        documents.check(document, schema)
    if not isinstance(document, dict):
        raise KitError("the file is not a JSON object")
    if canon.dumps(document) != data:
        raise KitError("the file is not in canonical form (RFC 8785)")
    return document


def attempt(what: str, call: Callable[[], Any]) -> Any:
    """Return what `call` returns; any exception of its becomes a KitError.

    Judges and statistics meet a stranger's facts here, of any shape: what they trip over is a refusal, no traceback.
    """
    try:
        return call()
    except KitError:
        raise
    except Exception as error:
        raise KitError(f"{what} failed: {type(error).__name__}: {str(error)[:160]}") from error
