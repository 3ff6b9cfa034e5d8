"""Which parser reads which tool."""

from __future__ import annotations

from typing import Callable

from validate.parsers import (
    amd_smi,
    bandwidth,
    collect_env,
    dmesg,
    drm,
    enumerator,
    hipconfig,
    kfd,
    lsmod,
    miopen,
    nvidia_smi,
    rccl,
    rocm_smi,
    rocminfo,
    rocprof,
    rocprof_compute,
)  # fmt: skip
from validate.parsers.reading import Reading

Parser = Callable[[str], Reading]

#: By the tool's name, and by the names that it had before.
PARSERS: dict[str, Parser] = {
    "amd-smi": amd_smi.read,
    "collect_env": collect_env.read,
    "dmesg": dmesg.read,
    "hipbusbandwidth": bandwidth.read,
    "hipconfig": hipconfig.read,
    "lsmod": lsmod.read,
    "miopen": miopen.read,
    "nvidia-smi": nvidia_smi.read,
    "omniperf": rocprof_compute.read,
    "rccl": rccl.read,
    "rccl-tests": rccl.read,
    "rocm-bandwidth-test": bandwidth.read,
    "rocm-smi": rocm_smi.read,
    "rocm_agent_enumerator": enumerator.read,
    "rocminfo": rocminfo.read,
    "rocminfo-failures": rocminfo.read,
    "rocprof": rocprof.read,
    "rocprof-compute": rocprof_compute.read,
    "rocprofv3": rocprof.read,
    "sysfs-drm": drm.read,
    "sysfs-kfd": kfd.read,
    "transferbench": bandwidth.read,
}
