"""Bundles that lie: each changes one thing and makes every digest fit, as one who knows the format would."""

import json

from bundle import layout, streams
from schema import canon
from tests.bundle import fakes_bundle as fakes


def manifest(**changes):
    """Change the manifest, and make its own hash fit."""
    return lambda files: fakes.sealed_again(files, **changes)


def bytes_of(path, change):
    """Change a file, and make the manifest fit: only what the file says can be caught."""
    return lambda files: fakes.sealed_again(files | {path: change(files[path])})


def summary(change):
    def apply(data):
        document = json.loads(data)
        change(document["cases"][0])
        return canon.dumps(document)

    return bytes_of(layout.SUMMARY, apply)


def samples(change):
    """Change the lines of the results."""

    def apply(data):
        lines = b"".join(streams.unpack(data)).splitlines(keepends=True)
        change(lines)
        return streams.pack(b"".join(lines))

    return bytes_of(layout.SAMPLES, apply)


def line(number, old, new):
    def change(lines):
        assert old in lines[number]
        lines[number] = lines[number].replace(old, new)

    return samples(change)


def report(old, new):
    def change(data):
        assert old in data
        return data.replace(old, new)

    return bytes_of(layout.REPORT, change)


def image(**changes):
    return bytes_of(layout.IMAGE, lambda data: canon.dumps(json.loads(data) | changes))


def dropped(path):
    return lambda files: fakes.sealed_again({name: data for name, data in files.items() if name != path})


def record(kind, change, number=0):
    """Change one record of a kind in the results, or all of them where `number` is None, and count right."""

    def apply(lines):
        items = [json.loads(text) for text in lines]
        mine = [item for item in items if item["kind"] == kind]
        for item in mine if number is None else [mine[number]]:
            change(item)
        lines[:] = [json.dumps(item, separators=(",", ":")).encode() + b"\n" for item in items]

    return samples(apply)


def process(**changes):
    return record("process", lambda item: item.update(changes))


def without(name):
    return record("process", lambda item: item.pop(name))


def figureless(lines):
    """Take all samples of the first process away, and say so."""
    del lines[1:41]
    number = next(number for number, text in enumerate(lines) if b'"kind":"process"' in text)
    lines[number] = lines[number].replace(b'"samples":40', b'"samples":0')
    lines[-1] = lines[-1].replace(b'"sample":240', b'"sample":200')


def protocol(**changes):
    """Change the protocol in the run and beside it."""

    def apply(files):
        files = record("start", lambda item: item["protocol"].update(changes))(files)
        start = json.loads(next(streams.lines(streams.unpack(files[layout.SAMPLES]))))
        return fakes.sealed_again(files | {layout.PROTOCOL: canon.dumps(start["protocol"])})

    return apply


def of_case(**changes):
    """Change how the protocol describes its first case."""
    cases = [fakes.CASES[0] | changes, fakes.CASES[1]]
    return protocol(cases=cases)


def drifting(lines):
    """Make each sample of the first process slower than the one before; what the process says stays as it was."""
    for number in range(1, 41):
        item = json.loads(lines[number])
        item["seconds"] *= 1 + 0.002 * number
        lines[number] = json.dumps(item, separators=(",", ":")).encode() + b"\n"


def starts(**changes):
    """Change the start of report and results alike."""

    def apply(files):
        lines = files[layout.REPORT].splitlines(keepends=True)
        lines[0] = json.dumps(json.loads(lines[0]) | changes).encode() + b"\n"
        return record("start", lambda item: item.update(changes))(files | {layout.REPORT: b"".join(lines)})

    return apply


def checks(choose):
    """Keep the checks that `choose` gives of all of them, with their findings; count right."""

    def apply(data):
        records = [json.loads(text) for text in data.splitlines()]
        names = choose([item["check"] for item in records if item["kind"] == "facts"])
        kept = [records[0]]
        for name in names:
            kept += [item for item in records if item.get("check") == name]
        return fakes.lines([*kept, fakes.end(kept)])

    return bytes_of(layout.REPORT, apply)


WRONG = {"passed": False, "error": 0.5, "tolerance": 4e-3, "finite": True, "reference": "float64 on the CPU"}
ORDER = fakes.results()[0]["protocol"]["order"]


def without_a_process(lines):
    """Leave out a whole process, and count right."""
    gone = [text for text in lines if b'"process":2' in text and b"copy.fp32" in text and b'"order"' not in text]
    for text in gone:
        lines.remove(text)
    lines[:] = [text for text in lines if not (b'"kind":"process"' in text and b'"copy.fp32.1gib","process":2' in text)]
    end = json.loads(lines[-1])
    end["counts"]["sample"] -= len(gone)
    end["counts"]["process"] -= 1
    lines[-1] = json.dumps(end).encode() + b"\n"


LIES = [
    ("a figure that does not follow", summary(lambda case: case.update(value=case["value"] * 1.01)), layout.SUMMARY),
    ("an interval made narrower", summary(lambda case: case.update(low=case["value"])), layout.SUMMARY),
    ("a peak made smaller", summary(lambda case: case.update(of_peak=0.99)), layout.SUMMARY),
    (
        "the last digit of a figure",
        summary(lambda case: case.update(seconds=case["seconds"] * (1 + 2e-12))),
        layout.SUMMARY,
    ),
    (
        "a case more in the summary",
        bytes_of(layout.SUMMARY, lambda data: data.replace(b"copy.fp32", b"copy.fp64")),
        layout.SUMMARY,
    ),
    ("a summary that is no JSON", bytes_of(layout.SUMMARY, lambda _: b"{"), layout.SUMMARY),
    ("a summary that is null", bytes_of(layout.SUMMARY, lambda _: b"null"), layout.SUMMARY),
    ("a faster sample", line(1, b'"seconds":0.00', b'"seconds":0.000'), layout.SAMPLES),
    ("a sample that is NaN", line(1, b'"at_s":', b'"at_s":NaN,"x":'), layout.SAMPLES),
    ("a sample that is infinite", line(1, b'"at_s":', b'"at_s":1e999,"x":'), layout.SAMPLES),
    ("a huge number", line(1, b'"process":0', b'"process":' + b"9" * 5000), layout.SAMPLES),
    ("a sample left out", samples(lambda lines: lines.pop(2)), layout.SAMPLES),
    ("a sample twice", samples(lambda lines: lines.insert(2, lines[2])), layout.SAMPLES),
    ("results without an end", samples(lambda lines: lines.pop()), layout.SAMPLES),
    ("half a last line", samples(lambda lines: lines.append(b'{"kind":')), layout.SAMPLES),
    ("a record after the end", samples(lambda lines: lines.append(lines[-1])), layout.SAMPLES),
    ("a process left out", samples(without_a_process), layout.SAMPLES),
    ("results of other sources", line(0, b'"cargo_sha256":"', b'"cargo_sha256":"0'), layout.SAMPLES),
    ("half a character", line(1, b"matmul.bf16", b"\\ud800"), layout.SAMPLES),
    ("a number beyond all bounds", line(0, b'"m":8192', b'"m":' + b"9" * 400), layout.SAMPLES),
    (
        "a GPU that was a CPU",
        line(0, b'"backend":"rocm","lock', b'"backend":"cpu","lock'),
        "the results name another backend",
    ),
    ("results of another image", line(0, b"sha256:1", b"sha256:2"), "the results name another image"),
    ("results of another machine", line(0, b'"identity":"b', b'"identity":"a'), "the results are of another machine"),
    ("a report of another image", report(b"sha256:1", b"sha256:2"), "the results name another image"),
    ("a finding that does not follow", report(b'"status":"pass"', b'"status":"warn","reason":"x"'), layout.REPORT),
    (
        "a fact that gives another finding",
        report(b'"driver":"amdgpu 6.12.12","amdgpu', b'"driver":"","amdgpu'),
        layout.REPORT,
    ),
    ("a report of another version", report(b'"document":"report-1"', b'"document":"report-2"'), layout.REPORT),
    ("results in place of a report", report(b'"document":"report-1"', b'"document":"results-1"'), layout.REPORT),
    ("an unknown field", report(b'"kind":"end"', b'"kind":"end","more":1'), layout.REPORT),
    ("a key twice", report(b'"kind":"end"', b'"kind":"end","kind":"end"'), layout.REPORT),
    ("a report nested too deep", report(b'"cards":[]', b'"cards":' + b"[" * 60 + b"]" * 60), layout.REPORT),
    ("a report nested without bounds", report(b'"cards":[]', b'"cards":' + b"[" * 90000 + b"]" * 90000), layout.REPORT),
    ("a report that is no text", bytes_of(layout.REPORT, lambda data: b"\xff" + data), layout.REPORT),
    ("another image in the record", image(image_id="sha256:" + "9" * 64), "image.json: image_id"),
    ("an image of another lock", image(lock_sha256="9" * 64), "image.json: lock_sha256"),
    ("an image of another name", image(name="other"), "image.json: name"),
    ("an image record of another version", image(schema="image-2"), layout.IMAGE),
    ("another manifest digest", image(manifest_digest="sha256:" + "9" * 64), "bundle.json: chain.manifest_digest"),
    (
        "a lock changed by hand",
        bytes_of(layout.LOCK, lambda data: data.replace(b"5.7.1", b"5.7.2")),
        "lock.json: its digest",
    ),
    ("a lock that is not canonical", bytes_of(layout.LOCK, lambda data: data + b"\n"), layout.LOCK),
    ("a lock that is a list", bytes_of(layout.LOCK, lambda _: b"[]"), layout.LOCK),
    ("another protocol", bytes_of(layout.PROTOCOL, lambda data: data.replace(b"custom", b"smoke")), layout.PROTOCOL),
    ("a protocol that is null", bytes_of(layout.PROTOCOL, lambda _: b"null"), layout.PROTOCOL),
    ("a report page of one's own", bytes_of("report.html", lambda data: data.replace(b"666", b"999")), "report.html"),
    ("a card of one's own", bytes_of("card.md", lambda data: data + b"fastest\n"), "card.md"),
    ("a table of one's own", bytes_of("benchmarks/summary.csv", lambda data: data + b"\n"), "benchmarks/summary.csv"),
    ("a view left out", dropped("card.md"), "card.md"),
    ("the image record left out", dropped(layout.IMAGE), "image.json"),
    ("the lock left out", dropped(layout.LOCK), "lock.json"),
    ("the protocol left out", dropped(layout.PROTOCOL), layout.PROTOCOL),
    ("the summary left out", dropped(layout.SUMMARY), layout.SUMMARY),
    ("the report left out", dropped(layout.REPORT), "a container's results without a report"),
    ("the samples left out", dropped(layout.SAMPLES), layout.PROTOCOL),
    ("a stray case file", lambda files: fakes.sealed_again(files | {"case/x.py": b"x"}), "case/"),
    ("a title of one's own", manifest(title="the fastest"), "bundle.json: title"),
    ("a notice taken away", manifest(notice="all is well"), "bundle.json: notice"),
    ("a GPU claimed or denied", manifest(gpu_result=False), "bundle.json: gpu_result"),
    ("another content hash", manifest(content_hash="0" * 64), "bundle.json: content_hash"),
    ("another version of the kit beside our views", manifest(kit_version="99.9.9"), "bundle.json: kit_version"),
    ("a manifest of another version", manifest(schema="bundle-2"), "bundle.json"),
    ("a field more in the manifest", manifest(more=1), "bundle.json"),
    ("a figure of a wrong result", process(check_after=WRONG), layout.SAMPLES),
    (
        "a figure of a result that is not finite",
        process(check_before=WRONG | {"passed": True, "finite": False}),
        layout.SAMPLES,
    ),
    *[
        (f"a figure without its {name}", without(name), layout.SAMPLES)
        for name in ("check_before", "check_after", "stop", "warm_up", "clock", "inner", "device")
    ],
    (
        "a wrong result, said to be throttled",
        process(status="throttled", reason="x", check_after=WRONG),
        layout.SAMPLES,
    ),
    ("a figure without samples", samples(figureless), layout.SAMPLES),
    (
        "work ten times as large",
        of_case(work=fakes.CASES[0]["work"] * 10),
        "benchmarks/protocol.json: matmul.bf16.8192: work",
    ),
    ("another size under the same name", of_case(parameters={"m": 1, "n": 1, "k": 1}), layout.PROTOCOL),
    ("another type under the same name", of_case(dtype="fp64"), layout.PROTOCOL),
    ("a case that the kit does not have", of_case(case="matmul.bf16.9"), layout.PROTOCOL),
    ("an interval of 10 %", protocol(alpha=0.9), "benchmarks/protocol.json: alpha"),
    ("a wider precision", protocol(half_width=0.5), layout.PROTOCOL),
    ("another seed", protocol(seed=3), "benchmarks/protocol.json: order"),
    ("a suite that the kit does not have", protocol(suite="best"), "benchmarks/protocol.json: suite"),
    ("a suite without most of its cases", protocol(suite="publish"), "benchmarks/protocol.json: cases"),
    ("ten processes, of which three ran", protocol(processes=10), "benchmarks/protocol.json: order"),
    ("an order with a pair twice", protocol(order=[*ORDER[:-1], ORDER[0]]), "benchmarks/protocol.json: order"),
    ("an order of one's own", protocol(order=[*ORDER[2:], *ORDER[:2]]), layout.SAMPLES),
    ("a case twice", protocol(cases=[fakes.CASES[0]] * 2), "benchmarks/protocol.json: cases"),
    ("a process beyond the order", process(order=999), layout.SAMPLES),
    ("two processes in one place", record("process", lambda item: item.update(order=0), 1), layout.SAMPLES),
    ("one check alone", checks(lambda names: names[:1]), "bundle.json: notice"),
    ("no check at all", checks(lambda _: []), "bundle.json: notice"),
    ("a check left out", checks(lambda names: names[:-1]), "bundle.json: notice"),
    ("a check twice", checks(lambda names: [*names, names[0]]), layout.REPORT),
    (
        "a figure from a state that was not steady",
        process(warm_up={"seconds": 2.0, "steps": 4, "steady": False}),
        layout.SAMPLES,
    ),
    ("a figure that ran out of time", process(stop={**fakes.results()[42]["stop"], "rule": "time"}), layout.SAMPLES),
    (
        "a precision that does not follow",
        process(stop={**fakes.results()[42]["stop"], "half_width": 1e-4}),
        layout.SAMPLES,
    ),
    (
        "a precision that is not enough",
        process(stop={**fakes.results()[42]["stop"], "half_width": 0.1}),
        layout.SAMPLES,
    ),
    ("a drift kept quiet", samples(drifting), layout.SAMPLES),
    (
        "samples throttled, and no word of it",
        record("sample", lambda item: item.update(tags=["throttled"]), None),
        layout.SAMPLES,
    ),
    ("a CPU's run in both starts", starts(backend="cpu"), "validate/report.jsonl: the backend of"),
    ("a GPU's run timed by the host", process(clock="host"), layout.SAMPLES),
    ("a process on another device", process(device="AMD Instinct MI355X"), layout.SAMPLES),
    *[
        (f"results of another {what}", record("start", change), f"the results name another {said}")
        for what, change, said in (
            ("PyTorch", lambda item: item["torch"].update(version="2.7.0"), "PyTorch"),
            ("Python", lambda item: item.update(python="3.12.0"), "Python"),
            ("driver", lambda item: item["host"].update(driver="amdgpu 6.3.6"), "kernel, processor or driver"),
            ("device", lambda item: item["devices"][0].update(pci="0000:c2:00.0"), "set of devices"),
            ("partition", lambda item: item["devices"][0].update(compute_partition="CPX"), "set of devices"),
            ("number of devices", lambda item: item["devices"].append(item["devices"][0]), "set of devices"),
        )
    ],
]
