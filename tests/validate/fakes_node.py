"""Machines made of recorded answers: an Instinct node, an NVIDIA host, a laptop. Nothing here was measured."""

import json

from validate.context import ROOT
from validate.probes.numerics import DTYPES, PLAN
from validate.replay import Replay

NODES = "/sys/class/kfd/kfd/topology/nodes"
TORCH_ROCM = {
    "version": "2.6.0+rocm6.4.1",
    "build": "rocm",
    "hip": "6.4.43483-a187df25c",
    "rocm": None,
    "cuda": None,
    "git": "1eba9b3aa3c43f86f4a2c807ac8e12c4a7767340",
    "arch_list": ["gfx90a", "gfx942", "gfx1100"],
}
TORCH_CPU = {"version": "2.6.0+cpu", "build": "cpu", "hip": None, "rocm": None, "cuda": None, "arch_list": []}
SWITCHES = {"cudnn_enabled": True, "cudnn_allow_tf32": True, "matmul_allow_tf32": False}
LOCK = {
    "lock_version": "1",
    "name": "amd-rocm6.4.1-torch2.6",
    "rocm": "6.4.1",
    "channel": "amd",
    "base": {"repo": "rocm/pytorch", "digest": "sha256:" + "a" * 64},
    "python": "3",
    "torch": {"version": "2.6.0", "build": "rocm"},
    "gfx": ["gfx90a", "gfx942"],
    "components": {},
    "environment": {},
    "debs": [],
    "wheels": [],
}


def bus(index):
    return 0x0C + 0x11 * index


def address(index):
    return f"0000:{bus(index):02x}:00.0"


def kfd_properties(index, *, target=90402):
    return (
        f"cpu_cores_count 0\nsimd_count 1216\ngfx_target_version {target}\nlocation_id {bus(index) << 8}\n"
        f"domain 0\ndrm_render_minor {128 + index}\nunique_id 123456789012345678\n"
    )


def node_files(gpus=2, *, target=90402):
    """What sysfs shows of `gpus` MI300X."""
    files = {
        f"{NODES}/0/properties": "cpu_cores_count 96\nsimd_count 0\ngfx_target_version 0\nlocation_id 0\n",
        "/sys/module/amdgpu/version": "6.12.12\n",
        "/proc/cpuinfo": "model name\t: AMD EPYC 9474F 48-Core Processor\n",
        "/proc/meminfo": "MemTotal:       1056310272 kB\n",
        "/proc/self/uid_map": "         0          0 4294967295\n",
        "/proc/sys/kernel/numa_balancing": "0\n",
    }
    for index in range(gpus):
        files[f"{NODES}/{index + 1}/properties"] = kfd_properties(index, target=target)
        files[f"{NODES}/{index + 1}/gpu_id"] = f"{51000 + index}\n"
        folder = f"/sys/bus/pci/devices/{address(index)}"
        files |= {
            f"{folder}/class": "0x120000\n",
            f"{folder}/vendor": "0x1002\n",
            f"{folder}/numa_node": f"{index % 2}\n",
            f"{folder}/vbios_version": "113-M3000100-102\n",
            f"{folder}/mem_info_vram_total": "206141652992\n",
            f"{folder}/mem_info_vram_used": "302727168\n",
            f"{folder}/power_dpm_force_performance_level": "auto\n",
            f"{folder}/current_compute_partition": "SPX\n",
            f"{folder}/current_memory_partition": "NPS1\n",
            f"{folder}/pp_dpm_sclk": "0: 132Mhz *\n1: 2100Mhz\n",
            f"{folder}/pp_dpm_mclk": "0: 900Mhz *\n1: 1300Mhz\n",
            f"{folder}/hwmon/hwmon{index}/power1_cap": "750000000\n",
            f"{folder}/hwmon/hwmon{index}/power1_cap_default": "750000000\n",
            f"{folder}/hwmon/hwmon{index}/power1_input": "139000000\n",
            f"{folder}/hwmon/hwmon{index}/temp2_input": "39000\n",
        }
    return files


def torch_answer(*, torch=TORCH_ROCM, order=(0, 1), gfx="gfx942:sramecc+:xnack-", **more):
    """What the `devices` probe prints; `order` is torch's order of the cards."""
    devices = [
        {
            "index": place,
            "name": "AMD Instinct MI300X",
            "pci": address(card),
            "gfx": gfx,
            "compute_capability": None,
            "compute_units": 304,
            "memory_bytes": 205822885888,
            "wavefront": 64,
            "l2_bytes": 4194304,
        }
        for place, card in enumerate(order)
    ]
    names = ["cpu", *(f"cuda:{place}" for place in range(len(order)))]
    proof = [{"device": name, "total": 262144.0, "expected": 262144.0} for name in names]
    found = {"torch": torch, "available": bool(order), "devices": devices, "switches": SWITCHES, "proof": proof}
    return {**found, "libraries": {"libamdhip64": ["/opt/rocm/lib/libamdhip64.so.6"]}, **more}


def family(torch="2.6.0", **more):
    """What the `family` probe finds beside a torch: by name the version, or that and the requirements."""
    rows = {"torch": torch, **more}
    pairs = [(name.replace("_", "-"), row if isinstance(row, tuple) else (row, [])) for name, row in rows.items()]
    items = [{"name": name, "version": version, "requires": requires} for name, (version, requires) in sorted(pairs)]
    return {"distributions": items, "shared": {}, "triton_backends": []}


def rocminfo(cards=(0, 1)):
    agents = ["*******\nAgent 1\n*******\n  Name:                    AMD EPYC 9474F\n  Device Type:             CPU\n"]
    agents += [
        f"*******\nAgent {place + 2}\n*******\n  Name:                    gfx942\n"
        f"  Marketing Name:          AMD Instinct MI300X\n  Device Type:             GPU\n"
        f"  BDFID:                   {bus(card) << 8}\n  Compute Unit:            304\n  ISA Info:\n    ISA 1\n"
        f"      Name:                    amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-\n"
        for place, card in enumerate(cards)
    ]
    return "\x1b[37mROCk module is loaded\x1b[0m\nRuntime Version:         1.14\n" + "".join(agents)


def instinct(gpus=2, *, context=True, opens=None, stats=None, probes=None, files=None, **more):
    """A container on a node with MI300X, everything in order unless told otherwise."""
    paths = ["/dev/kfd", *(f"/dev/dri/renderD{128 + index}" for index in range(gpus))]
    node = {"mode": "0660", "uid": 0, "gid": 992, "kind": "device"}
    given = {
        "files": {
            **node_files(gpus),
            **(
                {str(ROOT / "context.json"): json.dumps({"runtime": "container", "backend": "rocm"})} if context else {}
            ),
            **(files or {}),
        },
        "opens": {**dict.fromkeys(paths, 0), **(opens or {})},
        "stats": {**dict.fromkeys(paths, node), **(stats or {})},
        "probes": {
            "devices": json.dumps(torch_answer(order=tuple(range(gpus)))),
            "family": json.dumps(family("2.6.0+rocm6.4.1")),
            "numerics": json.dumps({"rows": numerics_rows(*(f"cuda:{i}" for i in range(gpus))), "repeats": 3}),
            **(probes or {}),
        },
        "runs": {"rocminfo": rocminfo(range(gpus)), "hipconfig --version": "6.4.43483-a187df25c"},
        "identity": {"uid": 0, "groups": [0, 992]},
    }
    return Replay(**{**given, **more})


def numerics_rows(*devices, **more):
    """What the `numerics` probe finds when all is right: every case on each device."""
    row = {
        "status": "ran",
        "elements": 16637,
        "identical": True,
        "nonfinite": 0,
        "shape_ok": True,
        "relative": 1e-8,
        "worst": 2e-8,
    }
    return [
        {"op": op, "shape": shape, "distribution": distribution, "dtype": dtype, "device": device, **row, **more}
        for op, shape, distribution in PLAN
        for dtype in DTYPES
        for device in devices
    ]


def laptop(**more):
    """A host without any GPU, and torch for the CPU."""
    given = {
        "files": {"/proc/cpuinfo": "model name\t: Some Processor\n", "/proc/meminfo": "MemTotal: 16384 kB\n"},
        "probes": {
            "devices": json.dumps(
                torch_answer(torch=TORCH_CPU, order=(), libraries={"libtorch_cpu": ["/x/libtorch_cpu.so"]})
            ),
            "family": json.dumps(family("2.6.0+cpu")),
            "numerics": json.dumps({"rows": numerics_rows("cpu"), "repeats": 3}),
        },
    }
    return Replay(**{**given, **more})


def nvidia(**more):
    """A host with one NVIDIA card, seen through NVML."""
    device = {"index": 0, "name": "NVIDIA H200", "pci": "0000:00:06.0", "gfx": None, "compute_capability": "9.0"}
    torch = {**TORCH_CPU, "version": "2.11.0+cu130", "build": "cuda", "cuda": "13.0", "arch_list": ["sm_90"]}
    card = {
        "card": {"name": "NVIDIA H200", "power_cap_w": 700.0, "power_cap_default_w": 700.0, "persistence": 1},
        "sensors": {"power_w": 120.0, "clock_hz": 1.98e9, "temperature_c": 38.0, "memory_used_bytes": 0},
        "processes": [],
    }
    answer = torch_answer(torch=torch, order=(), available=True, devices=[{**device, "memory_bytes": 150_000_000_000}])
    given = {
        "probes": {
            "devices": json.dumps(answer),
            "family": json.dumps(family("2.11.0+cu130")),
            "nvidia": json.dumps({"driver": "580.159.04", "cards": {"0000:00:06.0": card}}),
            "numerics": json.dumps({"rows": numerics_rows("cuda:0"), "repeats": 3}),
        },
        "files": {"/proc/cpuinfo": "model name\t: Some Processor\n", "/proc/meminfo": "MemTotal: 16384 kB\n"},
    }
    return Replay(**{**given, **more})


def by_code(outcomes):
    return {outcome.code: outcome for outcome in outcomes}


def statuses(outcomes):
    return {outcome.code: outcome.status.value for outcome in outcomes}
