"""Say which wheels run on a Python and system that is not this one."""

from __future__ import annotations

import re
from dataclasses import dataclass

LEGACY = {17: "manylinux2014_x86_64", 12: "manylinux2010_x86_64", 5: "manylinux1_x86_64"}


@dataclass(frozen=True)
class Target:
    """What wheels are wanted for: CPython `python` (3.13, or 3.13.5) on x86-64 with glibc 2.`glibc`."""

    python: str
    glibc: int

    @property
    def release(self) -> str:
        """Major and minor."""
        return ".".join(self.python.split(".")[:2])

    def platforms(self) -> list[str]:
        """Return the platform tags of wheels that run there, the best first."""
        found = []
        for minor in range(self.glibc, 4, -1):
            found.append(f"manylinux_2_{minor}_x86_64")
            found += [LEGACY[minor]] if minor in LEGACY else []
        return [*found, "linux_x86_64"]

    def fits(self, file: str) -> bool:
        """Say whether a wheel, by its name, runs there. A free-threaded ABI (cp313t) is another Python."""
        pythons, abis, platforms = (part.split(".") for part in file.removesuffix(".whl").split("-")[-3:])
        own = "cp" + self.release.replace(".", "")
        if not {"any", *self.platforms()} & set(platforms):
            return False
        if own in abis or ({"py3", "py" + own[2:], own} & set(pythons) and "none" in abis):
            return True
        oldest = min((int(tag[3:]) for tag in pythons if re.fullmatch(r"cp3\d+", tag)), default=99)
        return "abi3" in abis and oldest <= int(own[3:])

    def markers(self) -> dict[str, str]:
        """Return what pip would ask a Python there."""
        full = self.python if self.python.count(".") > 1 else f"{self.python}.0"
        return {
            "implementation_name": "cpython",
            "implementation_version": full,
            "os_name": "posix",
            "platform_machine": "x86_64",
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Linux",
            "platform_version": "",
            "python_full_version": full,
            "python_version": self.release,
            "sys_platform": "linux",
        }
