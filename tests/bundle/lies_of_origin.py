"""Lies about devices, sensors, processes, cases, lock and image: each cannot have been, whoever measured."""

import json

from bundle import layout, streams
from schema import canon
from tests.bundle import fakes_bundle as fakes
from tests.bundle.lies import image, process, protocol, record, samples
from tests.bundle.lies_of_time import (
    dates,
    facts,
    in_starts,
    of_devices,
    part,
    processes,
    together,
)

S, R, P, I, L = layout.SAMPLES, layout.REPORT, layout.PROTOCOL, layout.IMAGE, layout.LOCK  # noqa: E741 - as it is called
NAMED = "AMD Instinct MI355X"


def named(name):
    """Call the device otherwise, wherever it is named."""
    return together(of_devices(name=name), processes(lambda item: item.update(device=name)))


def readings(change):
    return record("telemetry", change, None)


def held_back(*, first_only=False):
    """Let the sensors give a reason every 0.1 s, as they are read; no sample is tagged."""

    def apply(lines):
        items, out = [json.loads(text) for text in lines], []
        for item in items:
            if item["kind"] == "sample" and not (first_only and item["process"]):
                at_s = item["at_s"] - item["seconds"]
                about = {"process": 0, "device": fakes.GPU["pci"], "throttle": ["power cap"]}
                out.append({"kind": "telemetry", **about, "at_s": at_s})
            if item["kind"] != "telemetry":
                out.append(item)
        out[-1] = out[-1] | {"counts": fakes.end(out[:-1])["counts"]}
        lines[:] = [json.dumps(item, separators=(",", ":")).encode() + b"\n" for item in out]

    return samples(apply)


def wrong(status):
    """Say that a process whose result was wrong ended otherwise."""

    def change(item):
        item.update(status=status, reason="x")
        item["check_after"].update(passed=False, error=1.0)

    return record("process", change)


def of_case(number, **changes):
    """Change how the protocol describes one of its cases."""

    def apply(files):
        start = json.loads(next(streams.lines(streams.unpack(files[S]))))
        start["protocol"]["cases"][number].update(changes)
        return protocol(cases=start["protocol"]["cases"])(files)

    return apply


def of_lock(**changes):
    """Change the lock, and let everything name it."""

    def apply(files):
        lock = json.loads(files[L]) | changes
        digest = canon.digest(lock)
        records = [json.loads(text) for text in files[R].splitlines()]
        records[0]["lock_sha256"] = digest
        files = files | {L: canon.dumps(lock), R: fakes.lines(fakes.judged_again(records, lock))}
        files = record("start", lambda start: start.update(lock_sha256=digest))(files)
        return image(lock_sha256=digest)(files)

    return apply


def elsewhere(check, field):
    """Let a check have seen its cards at another address."""

    def change(found):
        if isinstance(found[field], dict):
            found[field]["0000:ff:00.0"] = found[field].pop(fakes.GPU["pci"])
        else:
            found[field][0]["pci"] = "0000:ff:00.0"

    return facts(check, change)


def cache(**changes):
    return processes(lambda item: item["cache"].update(changes))


BASE = {"reference": "x@sha256:" + "5" * 64, "digest": "sha256:" + "5" * 64, "config_digest": "sha256:" + "5" * 64,
        "diff_ids": []}  # fmt: skip
OTHER_FILE = "f" * 64
#: Name, options of the honest bundle, lie, what is said of it.
LIES = [
    # Sensors
    ("throttling erased from the samples", {}, held_back(), f"{S}: samples of matmul.bf16.8192 that are tagged"),
    ("a sensor of another device", {}, readings(lambda it: it.update(device="0000:ff:00.0")), f"{S}: a sensor"),
    ("a sensor read beside no process", {}, readings(lambda it: it.update(process=99)), f"{S}: a sensor"),
    *[
        (f"a sensor that says {key} {value}", {}, readings(lambda it, about=(key, value): it.update([about])),
         f"{S}: a sensor reading's {key}")
        for key, value in (("power_w", -5), ("power_w", 1e9), ("temperature_c", -300), ("temperature_c", 999),
                           ("clock_hz", -1), ("clock_hz", 1e18), ("memory_used_bytes", -1),
                           ("power_w", 3751), ("clock_hz", 8.5e9), ("memory_used_bytes", 230 * 10**9))
    ],
    # Ends of processes
    *[(f"a wrong result called {status}", {}, wrong(status), f"{S}: the status of matmul")
      for status in ("skip", "killed", "timeout", "unsupported", "out_of_memory")],
    *[(f"a right result called {status}", {}, process(status=status, reason="x"), f"{S}: the status of matmul")
      for status in ("skip", "unsupported", "killed", "timeout")],
    ("a reason beside ok", {}, process(reason="everything was terrible"), f"{S}: the reason of"),
    ("an autocorrelation below zero", {}, part("stop", autocorrelation=-1.0), f"{S}: the autocorrelation"),
    ("a rotation of one set", {}, cache(sets=1), f"{S}: the input sets of"),
    ("a hot cache of several sets", {}, cache(mode="hot"), f"{S}: the input sets of"),
    ("a rotation of no bytes", {}, cache(set_bytes=0), f"{S}: the bytes of an input set of"),
    ("sets beyond the device's memory", {}, cache(set_bytes=10**14), f"{S}: the bytes of the input sets of"),
    ("a cache of no byte", {}, cache(llc_bytes=0), f"{S}: the last-level cache of"),
    ("a deadline of ages", {}, protocol(deadline_s=1e308), f"{P}: deadline_s"),
    # Devices
    ("a name of another target", {}, named(NAMED), f"{R}: start: device 0: gfx"),
    *[(f"a name with {words}", {}, named(name), f"{R}: start: device 0: name")
      for words, name in (
          ("a character of no width", "AMD Instinct\u200b MI300X"),
          ("a space that is none", "AMD Instinct\u00a0MI300X"),
          ("a space behind it", "AMD Instinct MI300X "),
          ("a space before it", " AMD Instinct MI300X"),
          ("two spaces", "AMD Instinct  MI300X"),
          ("a tab", "AMD Instinct\tMI300X"),
          ("a soft hyphen", "AMD Instinct MI\u00ad300X"),
          ("a direction", "AMD Instinct MI300X\u202e"),
          ("nothing but a space", " "),
      )],
    *[(f"a processor {words}", {"gpu": False}, named(name), f"{R}: start: device 0: name")
      for words, name in (("without a name", ""), ("with a character of no width", "AMD EPYC\u200b 9654"))],
    ("a maker of another backend", {}, named("NVIDIA H200"), f"{R}: start: device 0: name"),
    ("a GPU's name for a processor", {"gpu": False}, named("AMD Instinct MI300X"), f"{R}: start: device 0: name"),
    ("another processor than the host's", {"gpu": False}, named("AMD EPYC 7742"), f"{R}: start: device 0: name"),
    ("a processor with a target", {"gpu": False}, of_devices(gfx="gfx942"), f"{R}: start: device 0: gfx"),
    ("more units than the product has", {}, of_devices(compute_units=305), f"{R}: start: device 0: compute_units"),
    ("fewer units than the whole has", {}, of_devices(compute_units=303), f"{R}: start: device 0: compute_units"),
    ("units unlike the kernel's", {}, of_devices(compute_units=152, compute_partition="DPX"),
     f"{R}: the compute units of"),
    ("more memory than the product has", {}, of_devices(memory_bytes=1 << 40), f"{R}: start: device 0: memory_bytes"),
    *[(f"a card with {words} that its checks refute", {}, lie, f"{R}: start: {key} of the device at")
      for words, key, lie in (
          ("a power cap", "power_cap_w", of_devices(power_cap_w=350)),
          ("a part", "compute_partition", of_devices(compute_partition="DPX", compute_units=152)),
          ("a part of its memory", "memory_partition", of_devices(memory_partition="NPS4")),
          ("a place", "numa_node", of_devices(numa_node=1)),
          ("a clock", "clock_max_hz", facts("host_state", lambda it: it["gpus"][0].update(clock_max_hz=1e9))),
          ("a cap at its check", "power_cap_w", facts("host_state", lambda it: it["gpus"][0].update(power_cap_w=1.0))),
      )],
    *[(f"another card at the check {check}", {}, elsewhere(check, field), f"{R}: the cards of {check}")
      for check, field in (("device_nodes", "gpus"), ("telemetry", "devices"), ("processes", "cards"),
                           ("host_state", "gpus"))],
    *[(f"a device with {key} {value}", {}, of_devices(**{key: value}), f"{R}: start: device 0: {key}")
      for key, value in (("memory_bytes", 0), ("memory_bytes", -5), ("compute_units", 0), ("wavefront", -64),
                         ("power_cap_w", -1), ("clock_max_hz", 0), ("index", 7), ("compute_capability", "9.0"))],
    *[(f"a host with {key} {value}", {}, in_starts(lambda start, about=(key, value): start["host"].update([about])),
       f"{R}: start: host.{key}")
      for key, value in (("cores", 0), ("cores", -3), ("memory_bytes", 0))],
    # Surroundings
    ("a variable in the results alone", {}, record("start", lambda it: it["environment"].update(HSA_XNACK="1")),
     "the results name another value of HSA_XNACK"),
    ("a variable missing in the results", {}, record("start", lambda it: it.update(environment={})),
     "the results name another value of MIOPEN_FIND_MODE"),
    ("a variable that the check did not see", {},
     in_starts(lambda it: it["environment"].update(HSA_OVERRIDE_GFX_VERSION="11.0.0")), f"{R}: start: environment"),
    ("numerics that no torch computed", {},
     facts("numerics", lambda it: it.update(torch_error="x", rows=[], devices=[])), f"{R}: numerics without torch"),
    ("numerics of another device", {}, facts("numerics", lambda it: it.update(devices=["cuda:5"])),
     f"{R}: the devices of numerics"),
    ("rows of another device", {}, facts("numerics", lambda it: it["rows"][0].update(device="cuda:5")),
     f"{R}: the devices of numerics"),
    ("another PyTorch installed", {}, facts("inventory", lambda it: it["wheels"][0].update(version="1.0")),
     f"{R}: start: torch.version"),
    ("a report of other years", {}, dates(R, started_at="2021-01-01T00:00:00Z", finished_at="2021-01-01T00:01:00Z"),
     f"{S}: started_at"),
    ("results of a year to come", {}, dates(S, finished_at="9999-01-01T00:00:00Z"), f"{S}: finished_at"),
    # A user's own case
    ("an own case in a suite", {"case_file": b"x"}, protocol(suite="quick"), f"{P}: suite"),
    ("two files of own cases", {"case_file": b"x"}, of_case(0, file_sha256=OTHER_FILE, case="mine.2"), f"{P}: files"),
    *[(f"an own case: {words}", {"case_file": b"x"}, of_case(1, **changes), f"{P}: mine.fp32: {what}")
      for words, changes, what in (
          ("bytes a second, the fewer the better", {"direction": "lower"}, "direction"),
          ("seconds, the more the better", {"unit": "s", "work": None}, "direction"),
          ("seconds of some work", {"unit": "s", "direction": "lower"}, "work"),
          ("bytes a second of no bytes", {"bytes": None}, "work"),
          ("bytes a second of no work", {"work": None}, "work"),
          ("bytes a second of other bytes", {"bytes": 1}, "work"),
          ("operations a second of no operation", {"unit": "FLOP/s"}, "work"),
          ("operations below zero", {"flop": -5}, "flop"),
      )],
    # Lock and image
    ("a package twice", {}, of_lock(debs=[fakes.LOCK["debs"][0]] * 2), f"{L}: debs: libc6"),
    ("a package without a digest", {}, of_lock(debs=[fakes.LOCK["debs"][0] | {"sha256": None}]), f"{L}: debs: libc6"),
    ("a CPU's lock for a GPU's run", {}, of_lock(torch={"version": "2.6.0", "build": "cpu"}), f"{L}: torch.build"),
    ("an image of another channel", {}, image(channel="amd"), f"{I}: channel"),
    ("an image on a base that its lock lacks", {}, image(base=BASE), f"{I}: base"),
    ("an image built on no day", {}, image(built_at="1999-13-99T00:00:00Z"), f"{I}: built_at"),
    ("an image built after its run", {}, image(built_at="2027-06-01T00:00:00Z"), f"{I}: built_at"),
    ("an image of no size", {}, image(size_bytes=1), f"{I}: size_bytes"),
    ("a layer twice", {}, image(diff_ids=["sha256:" + "3" * 64] * 2), f"{I}: diff_ids"),
    ("identical, with differences", {},
     image(built_twice={"identical": True, "differences": [{"path": "/x", "kind": "content", "class": "other"}]}),
     f"{I}: built_twice"),
]  # fmt: skip
