"""Read what hipcc's `--genco` writes: a clang offload bundle of AMD GPU code objects, or one alone.

Layout of the bundle: clang's documentation of the offload bundler (magic, count, then offset, size, triple each).
Flags of the code objects: LLVM's AMDGPU user guide (EF_AMDGPU_MACH, low byte of e_flags; EM_AMDGPU is 224).
"""

from __future__ import annotations

import struct
from typing import Any

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED = b"CCOB"
EM_AMDGPU = 224
MAX_ENTRIES = 64
MACH = {
    0x2C: "gfx900", 0x2F: "gfx906", 0x30: "gfx908", 0x3F: "gfx90a", 0x4C: "gfx942", 0x4F: "gfx950",
    0x33: "gfx1010", 0x36: "gfx1030", 0x37: "gfx1031", 0x38: "gfx1032", 0x41: "gfx1100", 0x46: "gfx1101",
    0x47: "gfx1102", 0x44: "gfx1103", 0x43: "gfx1150", 0x4A: "gfx1151", 0x48: "gfx1200", 0x4E: "gfx1201",
}  # fmt: skip


def parse(content: bytes, kernel: str) -> dict[str, Any]:
    """Return `form` and `objects` (target as named, target in the ELF header, bytes, whether `kernel` is inside)."""
    if content.startswith(COMPRESSED):
        return {"form": "compressed", "objects": []}
    if content.startswith(b"\x7fELF"):
        return {"form": "elf", "objects": [_object("", content, kernel)]}
    if not content.startswith(MAGIC):
        return {"form": "unknown", "objects": []}
    try:
        entries = _entries(content)
    except (struct.error, ValueError):
        return {"form": "broken bundle", "objects": []}
    objects = [_object(triple, part, kernel) for triple, part in entries if not triple.startswith("host")]
    return {"form": "bundle", "objects": objects}


def _entries(content: bytes) -> list[tuple[str, bytes]]:
    position = len(MAGIC)
    (count,) = struct.unpack_from("<Q", content, position)
    if count > MAX_ENTRIES:
        raise ValueError(count)
    position += 8
    found = []
    for _ in range(count):
        offset, size, length = struct.unpack_from("<QQQ", content, position)
        position += 24
        triple = content[position : position + length].decode("ascii", "replace")
        position += length
        if offset + size > len(content):
            raise ValueError(offset)
        found.append((triple, content[offset : offset + size]))
    return found


def _object(triple: str, part: bytes, kernel: str) -> dict[str, Any]:
    is_elf = part.startswith(b"\x7fELF") and len(part) >= 64
    machine = struct.unpack_from("<H", part, 18)[0] if is_elf else None
    flags = struct.unpack_from("<I", part, 48)[0] if machine == EM_AMDGPU else None
    return {
        "named": triple.rsplit("-", 1)[-1].split(":", maxsplit=1)[0],  # hipv4-amdgcn-amd-amdhsa--gfx90a
        "built_for": None if flags is None else MACH.get(flags & 0xFF, f"machine 0x{flags & 0xFF:02x}"),
        "bytes": len(part),
        "has_kernel": kernel.encode() in part,
    }
