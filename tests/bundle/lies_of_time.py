"""Lies about times, speeds, checks and versions: each changes one kind of thing and makes every digest fit."""

import json

from benchmarks import statistics
from bundle import layout, streams
from tests.bundle import fakes_bundle as fakes
from tests.bundle.lies import of_case, process, record, samples

HIDDEN = {"exposed_samples": 0, "timing": "events on the stream, launches queued behind a delay kernel"}
OPEN = {"timing": "events on the stream, queue kept full"}


def of_samples(change, number=None):
    """Change one sample, or all of them."""
    return record("sample", change, number)


def times(factor, *fields):
    """Multiply a field of each sample."""
    return of_samples(lambda item: item.update({field: item[field] * factor for field in fields}))


def together(*lies):
    """Tell several lies that fit each other."""

    def apply(files):
        for lie in lies:
            files = lie(files)
        return files

    return apply


def processes(change):
    return record("process", change, None)


def scaled(field, factor):
    """Multiply a field of every process."""
    return processes(lambda item: item.update({field: round(item[field] * factor)}))


def part(field, **changes):
    """Change a part of the first process."""
    return record("process", lambda item: item[field].update(changes))


def all_parts(field, **changes):
    return processes(lambda item: item[field].update(changes))


def first_process(change):
    """Change the samples of the first process."""

    def apply(lines):
        items = [json.loads(text) for text in lines]
        mine = [item for item in items if item["kind"] == "sample"][:40]
        change(mine)
        lines[:] = [json.dumps(item, separators=(",", ":")).encode() + b"\n" for item in items]

    return samples(apply)


def thinned(count):
    """Leave out all but the last samples of each process, as one who makes the rest fit."""

    def apply(lines):
        items, taken = [json.loads(text) for text in lines], {}
        for item in items:
            if item["kind"] == "sample":
                taken.setdefault((item["case"], item["process"]), []).append(item)
        kept = {id(item) for mine in taken.values() for item in mine[-count:]}
        items = [item for item in items if item["kind"] != "sample" or id(item) in kept]
        for key, mine in taken.items():
            for index, item in enumerate(mine[-count:]):
                item["index"] = index
            stop = next(it["stop"] for it in items if it["kind"] == "process" and (it["case"], it["process"]) == key)
            width = statistics.median_half_width([item["seconds"] for item in mine[-count:]])
            stop.update(samples=count, half_width=width.relative, autocorrelation=width.autocorrelation)
        items[-1] = fakes.end(items[:-1])
        lines[:] = [json.dumps(item, separators=(",", ":")).encode() + b"\n" for item in items]

    return samples(apply)


def backwards(mine):
    mine[5]["at_s"], mine[6]["at_s"] = mine[6]["at_s"], mine[5]["at_s"]


def early(mine):
    for item in mine:
        item["at_s"] -= 1.0


def late(mine):
    for item in mine:
        item["at_s"] += 1000.0


def crowded(mine):
    """All samples as they are, in a tenth of the time that they took."""
    last = mine[-1]["at_s"]
    for item in mine:
        item["at_s"] = last - (last - item["at_s"]) / 10


def in_report(change):
    """Change the records of the report, by which nothing is counted."""

    def apply(files):
        records = [json.loads(text) for text in files[layout.REPORT].splitlines()]
        change(records)
        return fakes.sealed_again(files | {layout.REPORT: fakes.lines(records)})

    return apply


def in_starts(change):
    """Change report and results alike, as one who knows that they are compared."""
    return together(in_report(lambda records: change(records[0])), record("start", change))


def of_devices(**changes):
    return in_starts(lambda start: start["devices"][0].update(changes))


def facts(check, change):
    return in_report(
        lambda records: change(
            next(item["facts"] for item in records if item["kind"] == "facts" and item["check"] == check)
        )
    )


def dates(path, **changes):
    def apply(files):
        raw = b"".join(streams.unpack(files[path])) if path == layout.SAMPLES else files[path]
        records = [json.loads(text) for text in raw.splitlines()]
        for item in records:
            item.update({key: value for key, value in changes.items() if key in item})
        data = fakes.lines(records)
        return fakes.sealed_again(files | {path: streams.pack(data) if path == layout.SAMPLES else data})

    return apply


def check(**changes):
    """Change what the check after the timing of the first process said."""
    return part("check_after", **changes)


S, R = layout.SAMPLES, layout.REPORT
#: Name, lie, what is said of it.
LIES = [
    # A check that passed
    ("an error above its tolerance", check(error=0.5), f"{S}: check_after of"),
    ("an error just above its tolerance", check(error=4.0000001e-3), f"{S}: check_after of"),
    ("no error, and passed", check(error=None), f"{S}: check_after of"),
    ("an error below zero", check(error=-1.0), f"{S}: check_after of"),
    ("a tolerance below zero", check(tolerance=-1.0, error=-2.0), f"{S}: check_after of"),
    ("an error that is NaN", samples(lambda lines: _replace(lines, b'"error":0.0012', b'"error":NaN')), S),
    ("an error that is infinite", samples(lambda lines: _replace(lines, b'"error":0.0012', b'"error":1e999')), S),
    ("a wrong result with a status of its own", check(passed=False), S),
    (
        "an error before the timing",
        part("check_before", error=1.0),
        f"{S}: check_before of",
    ),
    # Samples against their times
    ("all samples a thousandth", times(1e-3, "seconds"), f"{S}: the inner steps of a sample"),
    ("all samples a tenth", times(0.1, "seconds"), f"{S}: the inner steps of a sample"),
    ("all samples a thousand times", times(1e3, "seconds"), f"{S}: the inner steps of its samples"),
    ("all samples a tenth longer", times(1.1, "seconds"), f"{S}: the inner steps of its samples"),
    (
        "samples a thousandth, steps a thousand times",
        together(times(1e-3, "seconds"), scaled("inner", 1e3)),
        f"{S}: the steps of the warm-up",
    ),
    (
        "samples a thousandth, steps a thousand times, the warm-up's least",
        together(
            times(1e-3, "seconds"),
            scaled("inner", 1e3),
            processes(lambda item: item["warm_up"].update(steps=item["inner"])),
        ),
        f"{S}: the speed of the warm-up",
    ),
    ("a step that takes no time", of_samples(lambda item: item.update(seconds=1e-300)), f"{S}: the seconds of sample"),
    ("a step that never ends", of_samples(lambda item: item.update(seconds=1e300)), f"{S}: the seconds of sample"),
    ("one sample longer than the run", of_samples(lambda item: item.update(seconds=1.0), 0), f"{S}: the inner steps"),
    ("more work than there is", of_case(work=1.7e308), f"{layout.PROTOCOL}: matmul.bf16.8192: work"),
    ("inner a hundred times", scaled("inner", 100), f"{S}: the inner steps of its samples"),
    ("inner one", processes(lambda item: item.update(inner=1)), f"{S}: the inner steps of a sample"),
    ("no time at all", of_samples(lambda item: item.update(at_s=0)), f"{S}: the time of sample 1"),
    ("a time twice", first_process(lambda mine: mine[3].update(at_s=mine[2]["at_s"])), f"{S}: the time of sample 3"),
    ("a time that goes back", first_process(backwards), f"{S}: the time of sample 6"),
    ("times before the run", of_samples(lambda item: item.update(at_s=item["at_s"] - 1000)), f"{S}: the beginning of"),
    ("samples crowded together", first_process(crowded), f"{S}: the inner steps of its samples"),
    # Delays, behind which little of the time is a sample's
    ("a delay beside a queue kept full", process(facts=HIDDEN | OPEN), f"{S}: the timing of matmul"),
    ("a delay of a model", together(of_case(group="models"), process(facts=HIDDEN)), f"{S}: the timing of matmul"),
    (
        "a delay of a model, in words alone",
        together(of_case(group="models"), process(facts={"timing": HIDDEN["timing"]})),
        f"{S}: the timing of matmul",
    ),
    (
        "a model's samples a tenth, behind a delay",
        together(of_case(group="models"), process(facts={"exposed_samples": 0}), times(0.1, "seconds")),
        f"{S}: the inner steps of a sample",
    ),
    (
        "a kernel's samples a thirtieth, behind a delay",
        together(processes(lambda item: item.update(facts=HIDDEN)), times(1 / 30, "seconds")),
        f"{S}: the inner steps of a sample of matmul",
    ),
    (
        "a kernel's samples a thirtieth, behind a delay that is too short for it",
        together(processes(lambda item: item.update(facts=HIDDEN | {"host_step_s": 1e-5})), times(1 / 30, "seconds")),
        f"{S}: the inner steps of a sample of matmul",
    ),
    # Processes against each other, and the run
    ("a process before it can have begun", first_process(early), f"{S}: the beginning of"),
    ("a process in the next one's time", first_process(late), f"{S}: the beginning of"),
    ("a setup longer than there was time", processes(lambda item: item.update(setup_s=99.0)), f"{S}: the beginning"),
    (
        "times beyond the end of the run",
        times(1e6, "at_s"),
        f"{S}: the last time",
    ),
    ("sensors read before the run", record("telemetry", lambda item: item.update(at_s=-1.0)), f"{S}: a sensor"),
    ("sensors read in the past", record("telemetry", lambda item: item.update(at_s=1.0), 3), f"{S}: a sensor"),
    # What a process says of itself
    ("a sampling shorter than the protocol's", all_parts("stop", seconds=1.0), f"{S}: the sampling stopped by"),
    ("a sampling longer than it was", part("stop", seconds=9.0), f"{S}: the beginning of"),
    ("a sampling without end", part("stop", seconds=1e300), f"{S}: the beginning of"),
    ("facts of another time", process(facts={"sampling_s": [0.0, 1.0]}), f"{S}: the time of the sampling"),
    ("facts of a time that is none", process(facts={"sampling_s": "long"}), f"{S}: the time of the sampling"),
    ("a warm-up shorter than the protocol's", part("warm_up", seconds=0.1), f"{S}: the seconds of the warm-up"),
    ("a warm-up of no step", part("warm_up", steps=0), f"{S}: the steps of the warm-up"),
    ("a warm-up at another speed", part("warm_up", steps=10**9), f"{S}: the speed of the warm-up"),
    # Dates
    *[
        (f"{path.rpartition('/')[2]}: {key} {value}", dates(path, **{key: value}), f"{path}: {key}")
        for path in (R, S)
        for key in ("started_at", "finished_at")
        for value in ("2026-13-45T00:00:00Z", "2026-02-29T12:00:00Z", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z",
                      "2026-11-30T24:61:00Z", "0000-00-00T00:00:00Z")
    ],
    ("results finished before they began", dates(S, finished_at="2026-11-30T11:59:59Z"), f"{S}: finished_at"),
    ("a report finished before it began", dates(R, finished_at="2026-11-29T12:00:00Z"), f"{R}: finished_at"),
    (
        "checks longer than the validation",
        in_report(lambda records: [item.update(seconds=1e4) for item in records if item["kind"] == "facts"]),
        f"{R}: seconds of all checks",
    ),
    # What ran, against what the checks saw
    *[
        (f"torch.{key} of one's own in both starts", in_starts(_torch), f"{R}: start: torch.{key}")
        for key, _torch in (
            ("version", lambda start: start["torch"].update(version="2.6.0+rocm9")),
            ("hip", lambda start: start["torch"].update(hip="7.2.0")),
            ("rocm", lambda start: start["torch"].update(rocm="7.2.0")),
            ("cuda", lambda start: start["torch"].update(cuda="13.0")),
            ("git", lambda start: start["torch"].pop("git")),
            ("arch_list", lambda start: start["torch"].update(arch_list=["gfx950"])),
        )
    ],
    (
        "a driver of one's own in both starts",
        in_starts(lambda start: start["host"].update(driver="amdgpu 6.16.13")),
        f"{R}: start: host.driver",
    ),
    ("a device's driver of its own", of_devices(driver="6.16.13"), f"{R}: start: the driver of"),
    ("a kernel of one's own", in_starts(lambda start: start["host"].update(kernel="6.99")), f"{R}: start: host.kernel"),
    ("a Python of one's own", in_starts(lambda start: start.update(python="3.14.0")), f"{R}: start: python"),
    ("a target of one's own", of_devices(gfx="gfx950"), f"{R}: start: devices"),
    ("a device more", in_starts(lambda start: start["devices"].append(start["devices"][0])), f"{R}: start: devices"),
    ("a device elsewhere", of_devices(pci="0000:01:00.0"), f"{R}: start: devices"),
    (
        "facts of a version that no start says",
        facts("torch_build", lambda found: found["torch"].update(version="2.6.0")),
        f"{R}: start: torch.version",
    ),
    (
        "a version that one of the sources refutes",
        facts("versions", lambda found: found["sources"].update(torch=[["torch.__version__", "2.6.1"]])),
        f"{R}: start: torch.version",
    ),
    (
        "results on a larger device than the report",
        record("start", lambda item: item["devices"][0].update(compute_units=999)),
        "the results name another set of devices",
    ),
]  # fmt: skip

#: What only the sources that ran can tell.
LIES_OF_THIS_K = [
    ("a tolerance of one's own", check(tolerance=0.011), f"{S}: the tolerance in check_after of matmul.bf16.8192"),
    ("a tolerance that allows all", check(tolerance=1e300, error=1.0), f"{S}: the tolerance in check_after of"),
    ("a tolerance before the timing", part("check_before", tolerance=1.0), f"{S}: the tolerance in check_before of"),
    ("a precision of few samples", thinned(29), f"{S}: the end of sampling of matmul"),
    ("a count that was not reached", all_parts("stop", rule="count"), f"{S}: the end of sampling of matmul"),
    *[
        (f"input sets: {words}", processes(lambda item, change=change: item["cache"].update(change)), f"{S}: {what} of")
        for words, change, what in (
            ("more than defeat the cache", {"sets": 5}, "the input sets"),
            ("fewer than defeat the cache", {"sets": 2}, "the input sets"),
            ("of other bytes than a step's", {"set_bytes": 1 << 20}, "the input sets"),
            ("hot, of no byte", {"mode": "hot", "sets": 1, "set_bytes": 0}, "the input sets"),
            ("against another cache", {"llc_bytes": 1 << 20}, "the last-level cache"),
            ("against an unknown cache", {"llc_bytes": None}, "the last-level cache"),
        )
    ],
    ("input sets: none told", processes(lambda item: item.pop("cache")), f"{S}: the input sets of"),
    ("a cache that the device reports otherwise", of_devices(l2_bytes=1 << 40), f"{S}: the last-level cache of"),
    (
        "a tolerance where every bit must be right",
        record("process", lambda item: item["check_after"].update(tolerance=1e-9), 1),
        f"{S}: the tolerance in check_after of copy",
    ),
]


def _replace(lines, old, new):
    number = next(number for number, text in enumerate(lines) if old in text)
    lines[number] = lines[number].replace(old, new)
