"""Read the kernel's log for what AMD's driver said: devices, memory, and faults of a kind that has a name."""

from __future__ import annotations

import re
from typing import Any

from validate.parsers.reading import Reading
from validate.parsers.values import known, lines, pci

STAMP = re.compile(
    r"(?:\w{1,10}\s{0,4}:\w{1,10}\s{0,4}: )?(?:\[\s{0,12}([\d.]{1,20})\]|\d{4}-\d\d-\d\dT\S{1,30}) (.{0,4000})"
)
OURS = re.compile(r"amdgpu|kfd|\[drm\]|AMD-Vi|Hardware Error|iommu", re.IGNORECASE)
AT = re.compile(r"amdgpu ([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")
ADDED = re.compile(r"kfd kfd: (?:amdgpu: )?added device ([0-9a-f]{4}):([0-9a-f]{4})")
CHIP = re.compile(r"initializing kernel modesetting \((.{1,40}?) 0x([0-9A-Fa-f]{4}):0x([0-9A-Fa-f]{4}) ")
VRAM = re.compile(r"VRAM: (\d{1,9})M 0x")
BIOS = re.compile(r"ATOM BIOS: (\S{1,60})")
KERNEL = re.compile(r"Linux version (\S{1,100})")
DRM = re.compile(r"Initialized amdgpu (\d[\d.]{0,30})")
#: What a line tells, by the first that fits; the words are the kernel's own.
FAULTS = (
    ("unsupported", re.compile(r"not supported in kfd|kfd not supported|skipped device .{0,40}kfd")),
    ("ring_timeout", re.compile(r"ring \S{1,40} timeout|Timeout waiting for fence")),
    ("page_fault", re.compile(r"page fault|IO_PAGE_FAULT|VM_L2_PROTECTION_FAULT|memory access fault", re.IGNORECASE)),
    ("poison", re.compile(r"poison is (consumed|created)", re.IGNORECASE)),
    ("reset", re.compile(r"GPU reset|gpu reset|BACO reset|MODE1 reset")),
    ("bad_pages", re.compile(r"bad pages? .{0,60}(threshold|retire)|RAS records:|Saved bad pages")),
    ("hardware_error", re.compile(r"\[Hardware Error\]|uncorrectable hardware error|Machine check")),
    ("firmware", re.compile(r"SMC engine is not correctly up|SMU is not ready|failed to load .{0,40}(ucode|firmware)"
                            r"|PSP load .{0,40}failed|psp firmware loading failed|Direct firmware load .{0,80}failed")),
    ("resume", re.compile(r"resume of IP block .{0,40}failed|device_ip_resume failed")),
    ("probe", re.compile(r"probe of .{0,40} failed|Fatal error during GPU init|amdgpu_device_ip_init failed")),
    ("queue", re.compile(r"HIQ|MES failed|qcm fence wait loop timeout|queue preemption time out|unmap queues")),
    ("out_of_memory", re.compile(r"Out of memory|oom-kill|failed to allocate")),
    ("link_lost", re.compile(r"device lost from bus|PCIe error|AER: ")),
    ("warning", re.compile(r"WARNING: CPU: \d{1,4} PID: .{0,80}amd")),
    ("error", re.compile(r"\*ERROR\*")),
)  # fmt: skip
MOST = 200


def read(text: str) -> Reading:
    """Return the devices that the driver named (memory in bytes) and `facts["faults"]`: kind, address, message.

    KFD names devices by their identifiers alone: they are `devices` only where no line has an address.

    Lines of other drivers are counted and passed over: they may hold anybody's names.
    """
    reading = Reading()
    added: list[str] = []
    last: str | None = None
    cards: dict[str, dict[str, Any]] = {}
    faults: list[dict[str, Any]] = []
    stamped = other = 0
    for line in lines(text):
        match = STAMP.match(line)
        stamped += match is not None
        told = match[2] if match else line
        if not OURS.search(told):
            other += bool(told.strip())
            _kernel(reading, told)
            continue
        at = AT.search(told)
        last = pci(at[1]) if at else last
        _about(reading, cards, last, told)
        added += [match[2] for match in [ADDED.search(told)] if match]
        kind = next((name for name, pattern in FAULTS if pattern.search(told)), None)
        if kind and len(faults) < MOST:
            time = float(match[1]) if match and match[1] and match[1].count(".") == 1 else None
            faults.append(
                known({"kind": kind, "pci": pci(at[1]) if at else None, "time_s": time, "message": told[:300]})
            )
        elif kind:
            reading.warn(f"more than {MOST} faults: the first are kept")
    reading.form = "log" if stamped or cards or faults or added else ""
    reading.devices = [*cards.values()] or [{"device_id": f"0x{number}", "raw": {}} for number in added]
    if added:
        reading.facts["kfd_devices"] = [f"0x{number}" for number in added]
    if reading.form:
        kinds = list(dict.fromkeys(fault["kind"] for fault in faults))
        reading.facts.update({"faults": faults, "kinds": kinds, "other_lines": other})
    return reading


def _kernel(reading: Reading, told: str) -> None:
    found = KERNEL.search(told)
    if found:
        reading.versions.setdefault("kernel", found[1])


def _about(reading: Reading, cards: dict[str, dict[str, Any]], address: str | None, told: str) -> None:
    """Note what a line tells of a device: the one whose address it has, or else of which the lines before were."""
    chip, memory, bios, drm = (pattern.search(told) for pattern in (CHIP, VRAM, BIOS, DRM))
    if drm:
        reading.versions.setdefault("drm", drm[1])
    if address is None:
        return
    card = cards.setdefault(address, {"pci": address, "raw": {}})
    card.update(known({
        "device_id": f"0x{chip[3].lower()}" if chip else None,
        "memory_bytes": float(int(memory[1]) << 20) if memory else None,
        "vbios": bios[1] if bios else None,
    }))  # fmt: skip
