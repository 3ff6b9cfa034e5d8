"""NVIDIA's management library through ctypes: what a card is, and what its sensors say.

Everything is looked up by PCI address. What the library does not answer is absent, never 0.
Function and constant names are those of NVIDIA's public header nvml.h.
"""

from __future__ import annotations

import ctypes
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
SUCCESS = 0
SM, MEMORY = 1, 2  # nvmlClockType_t
GPU_SENSOR = 0  # NVML_TEMPERATURE_GPU
NOT_AVAILABLE = 2**64 - 1  # NVML_VALUE_NOT_AVAILABLE, as an unsigned long long
#: Bits of nvmlDeviceGetCurrentClocksEventReasons that mean slower than asked for.
THROTTLE = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "thermal (software)",
    0x40: "thermal (hardware)",
    0x80: "power brake",
}


class Pci(ctypes.Structure):
    """nvmlPciInfo_t."""

    _fields_ = (
        ("legacy", ctypes.c_char * 16),
        ("domain", ctypes.c_uint),
        ("bus", ctypes.c_uint),
        ("device", ctypes.c_uint),
        ("ids", ctypes.c_uint),
        ("subsystem", ctypes.c_uint),
        ("text", ctypes.c_char * 32),
    )


class Memory(ctypes.Structure):
    """nvmlMemory_t, in bytes."""

    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class Process(ctypes.Structure):
    """nvmlProcessInfo_t."""

    _fields_ = (
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


class Nvml:
    """An open library. `handles` maps PCI addresses (domain:bus:device.0) to devices."""

    def __init__(self) -> None:
        """Load and start the library; OSError when it is absent or will not start."""
        self.library = ctypes.CDLL(LIBRARY)
        code = self.library.nvmlInit_v2()
        if code != SUCCESS:
            raise OSError(f"nvmlInit_v2 returned {code}")
        self.handles: dict[str, ctypes.c_void_p] = {}
        for index in range(self._number("nvmlDeviceGetCount_v2", ctypes.c_uint) or 0):
            handle, address = ctypes.c_void_p(), Pci()
            if self.library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) != SUCCESS:
                continue
            if self.library.nvmlDeviceGetPciInfo_v3(handle, ctypes.byref(address)) == SUCCESS:
                self.handles[f"{address.domain:04x}:{address.bus:02x}:{address.device:02x}.0"] = handle

    def driver(self) -> str | None:
        """Return the kernel driver's version."""
        return self._text("nvmlSystemGetDriverVersion")

    def card(self, pci: str) -> dict[str, Any]:
        """Return what does not change while a program runs, in watts and hertz."""
        handle = self.handles[pci]
        return _known(
            name=self._text("nvmlDeviceGetName", handle),
            vbios=self._text("nvmlDeviceGetVbiosVersion", handle),
            power_cap_w=_times(self._number("nvmlDeviceGetPowerManagementLimit", ctypes.c_uint, handle), 1e-3),
            power_cap_default_w=_times(
                self._number("nvmlDeviceGetPowerManagementDefaultLimit", ctypes.c_uint, handle), 1e-3
            ),
            clock_max_hz=_times(self._number("nvmlDeviceGetMaxClockInfo", ctypes.c_uint, handle, SM), 1e6),
            memory_clock_max_hz=_times(self._number("nvmlDeviceGetMaxClockInfo", ctypes.c_uint, handle, MEMORY), 1e6),
            persistence=self._number("nvmlDeviceGetPersistenceMode", ctypes.c_uint, handle),
        )

    def sensors(self, pci: str) -> dict[str, Any]:
        """Return one reading, in watts, joules, hertz, degrees Celsius and bytes."""
        handle, memory = self.handles[pci], Memory()
        has_memory = self.library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == SUCCESS
        reasons = self._number("nvmlDeviceGetCurrentClocksEventReasons", ctypes.c_ulonglong, handle)
        if reasons is None:  # drivers before 535 have the older name
            reasons = self._number("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong, handle)
        return _known(
            power_w=_times(self._number("nvmlDeviceGetPowerUsage", ctypes.c_uint, handle), 1e-3),
            energy_j=_times(self._number("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong, handle), 1e-3),
            clock_hz=_times(self._number("nvmlDeviceGetClockInfo", ctypes.c_uint, handle, SM), 1e6),
            temperature_c=_times(self._number("nvmlDeviceGetTemperature", ctypes.c_uint, handle, GPU_SENSOR), 1.0),
            memory_used_bytes=memory.used if has_memory else None,
            throttle=None if reasons is None else [text for bit, text in THROTTLE.items() if reasons & bit],
        )

    def processes(self, pci: str) -> list[dict[str, Any]] | None:
        """Return the compute processes on a card: pid, and bytes where told. None when it cannot be known."""
        room = ctypes.c_uint(256)
        found = (Process * room.value)()
        try:
            query = self.library.nvmlDeviceGetComputeRunningProcesses_v3
        except AttributeError:
            return None
        if query(self.handles[pci], ctypes.byref(room), found) != SUCCESS:
            return None
        return [
            {"pid": item.pid, "memory_bytes": None if item.used == NOT_AVAILABLE else item.used}
            for item in found[: room.value]
        ]

    def _number(self, function: str, kind: Any, *arguments: Any) -> int | None:
        """Call a getter whose last argument is where the number goes."""
        value = kind()
        try:
            code = getattr(self.library, function)(*arguments, ctypes.byref(value))
        except AttributeError:
            return None
        return int(value.value) if code == SUCCESS else None

    def _text(self, function: str, *arguments: Any) -> str | None:
        buffer = ctypes.create_string_buffer(96)
        try:
            code = getattr(self.library, function)(*arguments, buffer, len(buffer))
        except AttributeError:
            return None
        return buffer.value.decode("utf-8", "replace") if code == SUCCESS else None


def _times(number: int | None, factor: float) -> float | None:
    return None if number is None else number * factor


def _known(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
