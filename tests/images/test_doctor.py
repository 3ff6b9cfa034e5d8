"""What doctor says of each kind of host, and which advice it never gives."""

import errno
import json
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from images import doctor, hostgpu, room
from images.endpoint import EngineError
from images.sockets import start
from pins.host import Host
from schema.errors import KitError
from tests.fakes import FakeEngine

#: Advice that travels between forums and does harm, or does nothing.
NEVER = (
    "nogroup",
    "--privileged",
    "HSA_OVERRIDE_GFX_VERSION",
    "chmod",
    "777",
    "seccomp=unconfined",
    "einstall ROCm",
    "nstall rocm",
    "usermod -aG root",
)
FULL_MAP = "         0          0 4294967295\n"


@dataclass(frozen=True)
class Lock:
    name: str = "debian13-hip5.7-torch2.6cpu"
    torch_build: str = "cpu"
    base: dict | None = None
    debs: tuple = ({"size": 10**6},)
    wheels: tuple = ({"size": None},)


@dataclass(frozen=True)
class Choice:
    lock: Lock = Lock()
    reason: str = "no AMD GPU here"


def tree(root, **there):
    """Write a host: files by path, `pci` as {address: (vendor, class)}, `nodes` as paths (plain files here)."""
    files = {"proc/self/uid_map": FULL_MAP, "proc/sys/kernel/osrelease": "6.12.0-amd64", "etc/group": "root:x:0:\n"}
    files |= {"proc/meminfo": "MemTotal: 32000000 kB\nMemAvailable: 30000000 kB\n", "etc/os-release": "ID=debian\n"}
    for address, (vendor, kind) in there.pop("pci", {}).items():
        files |= {f"sys/bus/pci/devices/{address}/vendor": vendor, f"sys/bus/pci/devices/{address}/class": kind}
    for path in there.pop("nodes", ()):
        files[path.lstrip("/")] = ""
    files |= there.pop("files", {})
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    assert not there
    return root


AMD = {"0000:c1:00.0": ("0x1002\n", "0x120000\n")}
NVIDIA = {"0000:41:00.0": ("0x10de\n", "0x030200\n")}
NIC = {"0000:02:00.0": ("0x10de\n", "0x020000\n")}
KERNEL = {"sys/module/amdgpu/version": "6.12.12\n", "sys/class/kfd/kfd/dev": "236:0\n"}
NODES = ("/dev/kfd", "/dev/dri/renderD128")


def judged(root, about=None, environ=None, opened=lambda _path: 0, node=None):
    """Return the GPU findings, with a given answer of opening nodes; no engine unless `about` says so."""
    facts = hostgpu.gather(root, opened)
    for found in facts["nodes"]:  # only root could make files of another group
        found.update(node or {"gid": 992, "group": "render", "member": False})
    json.dumps(facts)  # facts are plain data
    return hostgpu.judge(facts, about or {}, environ or {})


def only(findings, status):
    found = [item for item in findings if item["status"] == status]
    assert len(found) == 1, findings
    return found[0]


def text_of(findings):
    return json.dumps(findings)


def test_driver_not_loaded_is_the_kernel_s_matter(tmp_path):
    found = only(judged(tree(tmp_path, pci=AMD)), "fail")

    assert found["code"] == "gpu.amd_driver"
    assert "sudo modprobe amdgpu" in found["remedy"]
    assert "--device" not in found["remedy"]


def test_driver_without_kfd_is_told_from_no_driver(tmp_path):
    root = tree(tmp_path, pci=AMD, nodes=["/dev/dri/renderD128"], files={"sys/module/amdgpu/version": "6.12.12\n"})
    found = only(judged(root), "fail")

    assert found["code"] == "gpu.amd_kfd"
    assert "CONFIG_HSA_AMD" in found["remedy"]
    assert "--device" not in found["remedy"]


@pytest.mark.parametrize(
    ("files", "remedy"),
    [({".dockerenv": ""}, "--device=/dev/kfd"), ({}, "udevadm trigger")],
    ids=["in a container: the flag is missing", "on the host: udev has not made it"],
)
def test_a_missing_node_that_the_kernel_offers_depends_on_where_we_are(files, remedy, tmp_path):
    root = tree(tmp_path, pci=AMD, nodes=["/dev/dri/renderD128"], files=KERNEL | files)
    found = only(judged(root), "fail")

    assert found["code"] == "gpu.amd_nodes"
    assert remedy in found["remedy"]


def test_a_healthy_amd_host_passes_and_shows_its_driver(tmp_path):
    findings = judged(tree(tmp_path, pci=AMD, nodes=NODES, files=KERNEL))

    assert {item["status"] for item in findings} == {"pass"}
    assert findings[0]["seen"] == "amdgpu 6.12.12"


def test_an_in_tree_driver_without_a_version_is_no_fault(tmp_path):
    files = {"sys/module/amdgpu/srcversion": "", "sys/class/kfd/kfd/dev": ""}
    findings = judged(tree(tmp_path, pci=AMD, nodes=NODES, files=files))

    assert findings[0]["seen"] == "amdgpu in-tree, kernel 6.12.0-amd64"
    assert findings[0]["status"] == "pass"


ROOTFUL = {"name": "docker"}
ROOTLESS_DOCKER = {"name": "docker", "rootless": True, "oci_runtime": "runc"}
PODMAN_RUNC = {"name": "podman", "rootless": True, "oci_runtime": "runc"}


@pytest.mark.parametrize(
    ("error", "about", "environ", "expected"),
    [
        pytest.param(
            errno.EACCES, ROOTFUL, {}, ("pass", None), id="a rootful engine opens it: our groups do not matter"
        ),
        pytest.param(errno.EACCES, {}, {}, ("warn", "usermod -aG render"), id="no engine: join the node's own group"),
        pytest.param(errno.EACCES, ROOTLESS_DOCKER, {}, ("fail", "setfacl"), id="rootless Docker: groups cannot help"),
        pytest.param(errno.EACCES, PODMAN_RUNC, {}, ("fail", "crun"), id="rootless Podman: crun keeps groups"),
        pytest.param(errno.EPERM, {}, {"SLURM_JOB_ID": "4211"}, ("fail", "--gres"), id="Slurm hides it"),
        pytest.param(errno.EPERM, {}, {}, ("fail", "cgroup"), id="a device cgroup"),
        pytest.param(errno.EINVAL, ROOTFUL, {}, ("fail", "dmesg"), id="the driver refuses: EINVAL"),
        pytest.param(errno.ENOMEM, ROOTFUL, {}, ("fail", "dmesg"), id="the driver refuses: ENOMEM"),
        pytest.param(errno.ENODEV, ROOTFUL, {}, ("fail", "dmesg"), id="the driver is unbound"),
    ],
)
def test_a_node_that_does_not_open_is_judged_by_its_errno(error, about, environ, expected, tmp_path):
    status, remedy = expected
    root = tree(tmp_path, pci=AMD, nodes=NODES, files=KERNEL)
    findings = judged(root, about, environ, lambda _path: error)
    first = next(item for item in findings if item["code"] == "gpu.amd_access")

    assert first["status"] == status
    assert first["seen"]["open"] == errno.errorcode[error]
    assert (remedy or "") in (first["remedy"] or "")
    assert first["reason"]
    if error != errno.EACCES:
        assert "usermod" not in first["remedy"]


@pytest.mark.parametrize(
    "node",
    [{"gid": 992, "group": None}, {"gid": 0, "group": "root"}, {"gid": 65534, "group": "nogroup"}],
    ids=["without a name", "root", "nogroup"],
)
def test_a_group_that_nobody_should_join_is_not_joined(node, tmp_path):
    root = tree(tmp_path, pci=AMD, nodes=NODES, files=KERNEL)
    findings = judged(root, opened=lambda _path: errno.EACCES, node=node)

    assert "usermod" not in text_of(findings)
    assert "setfacl" in text_of(findings)


def test_an_unmapped_group_in_a_user_namespace_is_not_joined(tmp_path):
    files = KERNEL | {"proc/self/uid_map": "0 1000 1\n1 100000 65536\n"}
    root = tree(tmp_path, pci=AMD, nodes=NODES, files=files)
    findings = judged(root, opened=lambda _path: errno.EACCES, node={"gid": 65534, "group": "nogroup"})

    assert "user namespace" in text_of(findings)
    assert "keep-groups" in text_of(findings)
    assert "usermod" not in text_of(findings)


def test_groups_of_nodes_are_read_by_number_and_named_by_this_host(tmp_path):
    gid = tmp_path.stat().st_gid
    root = tree(tmp_path, nodes=NODES, files={"etc/group": f"other:x:1{gid}:\nmine:x:{gid}:a,b\n"})
    found = hostgpu.gather(root)["nodes"]

    assert [(node["path"], node["gid"], node["group"], node["errno"]) for node in found] == [
        (path, gid, "mine", 0) for path in NODES
    ]


def test_wsl_is_not_told_that_kfd_is_missing(tmp_path):
    files = {"proc/sys/kernel/osrelease": "5.15.167.4-microsoft-standard-WSL2", "usr/lib/wsl/lib/libdxcore.so": ""}
    found = only(judged(tree(tmp_path, nodes=["/dev/dxg"], files=files)), "warn")

    assert found["code"] == "gpu.wsl"
    assert "HSA_ENABLE_DXG_DETECTION" in found["remedy"]
    assert "librocdxg" in found["remedy"]
    assert "modprobe" not in text_of(found)


@pytest.mark.parametrize(
    ("files", "about", "status", "remedy"),
    [
        pytest.param({}, {}, "warn", "driver", id="no driver"),
        pytest.param(
            {"proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.1.2  x\n"},
            {},
            "warn",
            "nvidia-container-toolkit",
            id="no container toolkit",
        ),
        pytest.param(
            {"proc/driver/nvidia/version": "NVRM version: 570.1.2\n"},
            {"runtimes": ["nvidia", "runc"]},
            "pass",
            None,
            id="toolkit as a runtime",
        ),
        pytest.param(
            {"proc/driver/nvidia/version": "NVRM version: 570.1.2\n", "etc/cdi/nvidia.yaml": ""},
            {},
            "pass",
            None,
            id="toolkit through CDI",
        ),
    ],
)
def test_an_nvidia_host_is_judged_by_nvidia_s_means(files, about, status, remedy, tmp_path):
    found = only(judged(tree(tmp_path, pci=NVIDIA, files=files), about), status)

    assert found["code"] == "gpu.nvidia"
    assert (remedy or "") in (found["remedy"] or "")
    assert "kfd" not in text_of(found)
    if files:
        assert "570.1.2" in found["seen"]


@pytest.mark.parametrize("pci", [{}, NIC], ids=["nothing", "a network card of a GPU maker"])
def test_a_machine_without_a_gpu_is_well_and_told_what_it_means(pci, tmp_path):
    found = only(judged(tree(tmp_path, pci=pci)), "skip")

    assert "not a GPU result" in found["reason"]


@pytest.mark.parametrize("where", ["remote", "desktop"])
def test_devices_of_an_engine_elsewhere_are_not_judged_by_this_host_s(where, tmp_path):
    root = tree(tmp_path, pci=AMD)  # this host's driver is not loaded, which means nothing there
    found = only(judged(root, {where: True}), "skip")

    assert "cannot be judged from here" in found["reason"]


def test_a_job_s_other_gpus_are_no_fault_of_its_own(tmp_path):
    root = tree(tmp_path, pci=AMD, nodes=(*NODES, "/dev/dri/renderD129"), files=KERNEL)
    findings = judged(root, opened=lambda path: errno.EPERM if path.name == "renderD129" else 0)

    assert [item["status"] for item in findings] == ["pass", "pass", "pass", "skip"]
    assert "leaves it to others" in findings[-1]["reason"]


def test_rootless_podman_without_crun_is_told_of_its_user_namespace_and_joins_nothing(tmp_path):
    """OB-02 of the public reports: /dev/kfd is nobody's, and a root user is told to join nogroup."""
    files = KERNEL | {"proc/self/uid_map": "0 1000 1\n1 100000 65536\n"}
    root = tree(tmp_path, pci=AMD, nodes=NODES, files=files)
    findings = judged(root, PODMAN_RUNC, opened=lambda _path: errno.EACCES, node={"gid": 65534, "group": "nogroup"})
    found = next(item for item in findings if item["code"] == "gpu.amd_access")

    assert found["status"] == "fail"
    assert "user namespace" in found["reason"]
    assert "crun" in found["remedy"]
    assert "keep-groups" in found["remedy"]
    assert not [word for word in (*NEVER, "usermod") if word in text_of(findings)]


@pytest.mark.parametrize("variable", ["APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"])
def test_nodes_that_apptainer_was_not_given_are_bound_and_never_by_rocm(variable, tmp_path):
    """OB-06 of the public reports: a contained /dev, or the host's ROCm in place of the image's."""
    root = tree(tmp_path, pci=AMD, files=KERNEL)
    found = only(judged(root, environ={variable: "/scratch/p1/rocm.sif"}), "fail")

    assert found["code"] == "gpu.amd_nodes"
    assert "--bind=/dev/kfd --bind=/dev/dri" in found["remedy"]
    assert "--rocm" not in text_of(found)


@pytest.mark.parametrize(
    ("environ", "status", "reason"),
    [
        ({}, "pass", None),
        ({"HIP_VISIBLE_DEVICES": "1"}, "pass", "HIP_VISIBLE_DEVICES=1: a run gets 1: address unknown (renderD129)"),
        ({"HIP_VISIBLE_DEVICES": "2"}, "fail", "no GPU '2'"),
        ({"ROCR_VISIBLE_DEVICES": ""}, "fail", "hides every GPU"),
    ],
    ids=str,
)
def test_gpus_are_shown_by_number_and_what_the_caller_s_variables_leave(environ, status, reason, tmp_path):
    root = tree(tmp_path, pci=AMD, nodes=(*NODES, "/dev/dri/renderD129"), files=KERNEL)
    found = next(item for item in everything(root, FakeEngine(), environ=environ) if item["code"] == "gpu.numbers")

    assert found["seen"] == ["0: address unknown (renderD128)", "1: address unknown (renderD129)"]
    assert found["status"] == status
    assert (reason or "") in (found["reason"] or "")
    assert (found["remedy"] is None) == (status == "pass")


@pytest.mark.parametrize("kind", ["remote", "desktop"])
def test_gpus_here_have_no_number_for_an_engine_elsewhere(kind, tmp_path):
    root = tree(tmp_path, pci=AMD, nodes=NODES, files=KERNEL)

    assert "gpu.numbers" not in {item["code"] for item in everything(root, FakeEngine(about={kind: True}))}


@pytest.mark.parametrize("systemd", [True, False])
def test_podman_s_service_is_started_as_podman_is(systemd, tmp_path):
    silent = EngineError("nothing listens on /x: the engine is not running", start("podman"), code="silent")
    root = tree(tmp_path, files={"run/systemd/system/x": ""} if systemd else {})
    found = everything(root, silent)[0]

    assert "podman system service" in found["remedy"]
    assert "docker" not in found["remedy"]


def everything(root, engine, choice=None, environ=None):
    return doctor.look(engine, choice or Choice(), root=root, outputs=root, cache=root, environ=environ or {})


def test_a_whole_look_takes_well_under_two_seconds_and_every_fault_has_one_remedy(tmp_path):
    began = time.monotonic()
    findings = everything(tree(tmp_path, pci=AMD | NVIDIA), FakeEngine(about={"remote": False}))
    seconds = time.monotonic() - began

    assert seconds < 1
    assert {
        "gpu.amd_driver",
        "gpu.nvidia",
        "disk.engine",
        "disk.cache",
        "disk.outputs",
        "host.memory",
        "host.cpus",
        "host.python",
        "lock.choice",
        "engine.reachable",
    } == {item["code"] for item in findings}
    for item in findings:
        assert set(item) == {"code", "status", "seen", "reason", "remedy"}
        if item["status"] in {"warn", "fail"}:
            assert item["reason"], item
            assert item["remedy"], item


@pytest.mark.parametrize(
    ("system", "command"),
    [
        ("ID=debian\n", "apt-get install -y docker.io"),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', "apt-get install -y docker.io"),
        ("ID=fedora\n", "dnf install -y moby-engine"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "dnf install -y podman"),
        ('ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', "zypper install -y docker"),
        ("ID=sles\n", "zypper install -y docker"),
        ("ID=arch\n", "pacman -S docker"),
        ("ID=plan9\n", "the general hint"),
        ("", "the general hint"),
    ],
)
def test_an_absent_engine_is_installed_by_this_distribution_s_own_command(system, command, tmp_path):
    root = tree(tmp_path, files={"etc/os-release": system})
    absent = EngineError("no container engine: /x does not exist", "the general hint", code="absent")
    found = next(item for item in everything(root, absent) if item["code"] == "engine.reachable")

    assert found["status"] == "fail"
    assert command in found["remedy"]


@pytest.mark.parametrize(
    ("files", "command"),
    [({"run/systemd/system/x": ""}, "systemctl start docker"), ({}, "sudo dockerd")],
    ids=["systemd", "no systemd"],
)
def test_an_engine_that_does_not_run_is_started_the_way_this_host_starts_things(files, command, tmp_path):
    silent = EngineError("nothing listens on /x: the engine is not running", "hint", code="silent")
    found = next(item for item in everything(tree(tmp_path, files=files), silent) if item["code"] == "engine.reachable")

    assert command in found["remedy"]


def test_a_denied_engine_keeps_the_door_s_own_remedy(tmp_path):
    denied = EngineError("this user may not use the socket", 'sudo usermod -aG docker "$USER"', code="denied")
    found = everything(tree(tmp_path), denied)[0]

    assert found["remedy"] == 'sudo usermod -aG docker "$USER"'


@pytest.mark.parametrize("words", ["/x does not exist", "nothing listens on /x: the engine is not running"])
def test_an_engine_that_a_setting_means_is_neither_installed_nor_started(words, tmp_path):
    chosen = EngineError(words, "`unset DOCKER_HOST`: an engine listens on /y", code="chosen")
    root = tree(tmp_path, files={"etc/os-release": "ID=debian\n", "run/systemd/system/x": ""})

    assert everything(root, chosen)[0]["remedy"] == "`unset DOCKER_HOST`: an engine listens on /y"


@pytest.mark.parametrize("kind", ["remote", "desktop", "rootless", "userns_remap"])
def test_what_changes_the_meaning_of_a_run_is_named(kind, tmp_path):
    codes = [item["code"] for item in everything(tree(tmp_path), FakeEngine(about={kind: True}))]

    assert f"engine.{kind}" in codes
    assert ("disk.engine" in codes) == (kind not in {"remote", "desktop"})


def test_little_memory_and_disk_are_warned_of(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "free_bytes", lambda _path: 10**5)
    root = tree(tmp_path, files={"proc/meminfo": "MemTotal: 2000000 kB\nMemAvailable: 1000000 kB\n"})
    found = {item["code"]: item for item in everything(root, FakeEngine())}

    assert {found[code]["status"] for code in ("disk.engine", "disk.cache", "disk.outputs", "host.memory")} == {"warn"}
    remedies = [found[f"disk.{place}"]["remedy"] for place in ("engine", "cache", "outputs")]
    for remedy, words in zip(remedies, ("docker system df", "KIT_CACHE", "KIT_OUT"), strict=True):
        assert words in remedy
    assert "prune" not in text_of([*found.values()]), "it removes what others still need"


def test_the_room_that_is_asked_for_is_a_build_s(tmp_path, monkeypatch):
    lock = Lock(debs=({"size": 10**9},))
    monkeypatch.setattr(room, "disk_of", lambda path: path)  # each place has a disk of its own
    needs = room.needs(lock)
    for place in needs:
        for free, status in ((needs[place], "pass"), (needs[place] - 1, "warn")):
            monkeypatch.setattr(room, "free_bytes", lambda _path, free=free: free)
            found = {
                item["code"]: item
                for item in doctor.look(
                    FakeEngine(), Choice(lock), root=tree(tmp_path), outputs=tmp_path / "out", cache=tmp_path / "cache"
                )
            }
            assert found[f"disk.{place}"]["status"] == status
            if status == "warn":
                assert found[f"disk.{place}"]["reason"].endswith("GB, 1 B more than is free")


def test_without_a_lock_nothing_is_claimed_about_room(tmp_path):
    found = everything(tree(tmp_path), FakeEngine(), KitError("no lock", "--lock NAME"))

    assert {item["status"] for item in found if item["code"].startswith("disk.")} == {"skip"}


def test_the_cache_is_the_store_s(tmp_path, monkeypatch):
    monkeypatch.setenv("KIT_CACHE", str(tmp_path / "elsewhere"))
    found = doctor.look(FakeEngine(), Choice(), root=tree(tmp_path), outputs=tmp_path / "out" / "not yet")

    seen = {item["code"]: item["seen"] for item in found}
    assert seen["disk.cache"].endswith(f"free for {tmp_path / 'elsewhere'}")
    assert seen["disk.outputs"].endswith("out/not yet")


@pytest.mark.parametrize("where", ["/proc/x", "/sys/x", __file__, f"{__file__}/x"])
def test_a_folder_that_cannot_be_written_is_told_from_a_full_one(where, tmp_path):
    found = doctor.look(FakeEngine(), Choice(), root=tree(tmp_path), outputs=Path(where), cache=Path(where))

    for place in ("cache", "outputs"):
        [item] = [item for item in found if item["code"] == f"disk.{place}"]
        assert (item["status"], item["seen"], item["reason"]) == ("fail", where, "it cannot be written")


@pytest.mark.parametrize(
    ("engine", "status"),
    [(FakeEngine(), "pass"), (EngineError("none", "install one", code="absent"), None)],
    ids=["all is well", "something has to be mended first"],
)
def test_the_last_word_is_what_to_run_next_unless_there_is_something_to_mend(engine, status, tmp_path):
    found = {item["code"]: item for item in everything(tree(tmp_path), engine)}

    assert found.get("next", {}).get("status") == status
    if status:
        assert list(found)[-1] == "next"
        assert found["next"]["seen"].startswith("./kit reproduce")


def test_a_folder_that_is_closed_to_us_ends_no_look(closed):
    found = doctor.look(
        FakeEngine(about={"data_root": str(closed / "docker")}), Choice(), root=closed, cache=closed / "c"
    )

    assert "disk.engine" in {item["code"] for item in found}


@pytest.mark.parametrize(
    ("error", "mode", "status"),
    [
        (0, "0660", "fail"),
        (errno.EACCES, "0660", "fail"),
        (0, "0666", "pass"),
        (errno.EPERM, "0660", "fail"),
    ],
)
def test_with_mapped_users_only_a_node_that_is_open_to_all_opens_inside(error, mode, status, tmp_path):
    root = tree(tmp_path, pci=AMD, nodes=NODES, files=KERNEL)
    findings = judged(
        root, {"name": "docker", "userns_remap": True}, {}, lambda _path: error, {"mode": mode, "gid": 992}
    )
    found = [item for item in findings if item["code"] == "gpu.amd_access"]

    assert {item["status"] for item in found} == {status}
    if status == "fail":
        assert ("userns-remap" in found[0]["reason"]) == (error != errno.EPERM)


def test_a_published_base_needs_more_room_than_packages(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "free_bytes", lambda _path: 20 * 10**9)
    seen = []
    for base in (None, {"repo": "rocm/pytorch", "digest_kind": "unknown"}):
        findings = everything(tree(tmp_path), FakeEngine(), Choice(Lock(base=base)))
        seen.append(next(item["status"] for item in findings if item["code"] == "disk.engine"))

    assert seen == ["pass", "warn"]


def test_no_lock_for_this_machine_is_a_fault_with_the_command_that_works(tmp_path):
    refused = KitError("no amd lock of ROCm 5.7 serves gfx942", "use --rocm 6.4")
    found = everything(tree(tmp_path), FakeEngine(), refused)[-1]

    assert (found["code"], found["status"], found["remedy"]) == ("lock.choice", "fail", "use --rocm 6.4")


def test_an_old_python_is_a_fault(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor.sys, "version_info", (3, 9, 2))
    found = next(item for item in everything(tree(tmp_path), FakeEngine()) if item["code"] == "host.python")

    assert (found["seen"], found["status"]) == ("3.9.2", "fail")


HOSTS = {
    "no driver": {"pci": AMD},
    "no kfd": {"pci": AMD, "files": {"sys/module/amdgpu/version": ""}},
    "no node": {"pci": AMD, "files": KERNEL},
    "no node inside": {"pci": AMD, "files": KERNEL | {".dockerenv": ""}},
    "nodes": {"pci": AMD, "nodes": NODES, "files": KERNEL},
    "unmapped": {"pci": AMD, "nodes": NODES, "files": KERNEL | {"proc/self/uid_map": "0 1000 1"}},
    "nvidia": {"pci": NVIDIA, "files": {"proc/driver/nvidia/version": "570.1"}},
    "wsl": {"nodes": ["/dev/dxg"]},
    "none": {},
}
ENGINES = {
    "rootful": FakeEngine(),
    "rootless": FakeEngine(about=ROOTLESS_DOCKER),
    "podman": FakeEngine(about=PODMAN_RUNC),
    "remote": FakeEngine(about={"remote": True}),
    "absent": EngineError("none", "hint", code="absent"),
}


@pytest.mark.parametrize("error", [0, errno.EACCES, errno.EPERM, errno.EINVAL])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("host", HOSTS)
def test_wrong_advice_is_given_nowhere(host, engine, error, tmp_path, monkeypatch):
    monkeypatch.setattr(hostgpu.gather, "__defaults__", (lambda _path: error,))
    findings = everything(tree(tmp_path, **HOSTS[host]), ENGINES[engine])
    advice = text_of([item["remedy"] for item in findings])

    assert not [word for word in NEVER if word in advice]


@pytest.mark.parametrize(
    ("host", "build", "backend"),
    [
        (Host(has_kfd=True, gfx=("gfx90a",), nvidia=False), "rocm", "rocm"),
        (Host(has_kfd=False, gfx=(), nvidia=False), "rocm", "cpu"),
        (Host(has_kfd=True, gfx=("gfx90a",), nvidia=True), "cuda", "cuda"),
        (Host(has_kfd=True, gfx=("gfx90a",), nvidia=False), "cuda", "cpu"),
        (Host(has_kfd=True, gfx=("gfx90a",), nvidia=True), "cpu", "cpu"),
    ],
)
def test_the_backend_is_what_host_and_lock_have_in_common(host, build, backend):
    lock = Lock(torch_build=build)
    chosen, reason = doctor.explain_backend(host, lock)

    assert doctor.choose_backend(host, lock) == chosen == backend
    assert ("not a GPU result" in reason) == (backend == "cpu")


ROCM_LOCK = {
    "rocm": "6.4.1",
    "python": "3.12",
    "torch": {"version": "2.6.0", "build": "rocm"},
    "wheels": [],
}


@dataclass(frozen=True)
class RocmLock(Lock):
    name: str = "amd-rocm6.4.1-torch2.6"
    torch_build: str = "rocm"
    gfx: tuple = ("gfx942", "gfx1100")
    document: dict = field(default_factory=lambda: dict(ROCM_LOCK))


UBUNTU = {"etc/os-release": 'ID=ubuntu\nVERSION_ID="24.04"\n'}
MODULE = {"sys/module/amdgpu/version": "6.12.12\n"}
KFD = "sys/class/kfd/kfd/topology/nodes/1/properties"
SUPPORTED = {  # sentence: (files of the host, what the lock has otherwise, status, verdict, reason, remedy)
    "AMD lists all of it": (
        UBUNTU | MODULE | {KFD: "gfx_target_version 90402\n"},
        {},
        "pass",
        "amd_supported",
        "AMD lists it",
        None,
    ),
    "a host that tells nothing": ({"etc/os-release": ""}, {}, "pass", "amd_supported", "AMD lists it", None),
    "PyTorch publishes wheels": (
        UBUNTU,
        {"torch": {"version": "2.8.0", "build": "rocm"}},
        "pass",
        "upstream_wheel",
        "PyTorch",
        None,
    ),
    "a system that AMD does not list": ({}, {}, "skip", "unverified", "os debian 13: ", None),
    "a driver that AMD does not list": (
        UBUNTU | {"sys/module/amdgpu/version": "6.19.14\n"},
        {},
        "skip",
        "unverified",
        "driver 6.19.14: .*31.40",
        None,
    ),
    "a GPU for which this ROCm is too old": (
        UBUNTU | {KFD: "gfx_target_version 90500\n"},
        {},
        "warn",
        "refused",
        "gfx gfx950: ",
        "./kit pins --gfx gfx950 names the releases that have it",
    ),
    "a second GPU that is not served": (
        UBUNTU | {KFD: "gfx_target_version 90500\n", KFD.replace("/1/", "/2/"): "gfx_target_version 110000\n"},
        {},
        "pass",
        "amd_supported",
        "AMD lists it",
        None,
    ),
}


@pytest.mark.parametrize(("files", "more", "status", "verdict", "reason", "remedy"), SUPPORTED.values(), ids=SUPPORTED)
def test_who_vouches_for_the_lock_on_this_host(tmp_path, files, more, status, verdict, reason, remedy):
    files = {"etc/os-release": 'ID=debian\nVERSION_ID="13"\n'} | files
    choice = Choice(RocmLock(document=ROCM_LOCK | more))

    found = doctor.look(FakeEngine(), choice, root=tree(tmp_path, files=files))

    support = next(item for item in found if item["code"] == "lock.support")
    assert (support["status"], support["seen"], support["remedy"]) == (status, verdict, remedy)
    assert re.search(reason, support["reason"])


def test_nobody_is_asked_to_vouch_for_a_cpu(tmp_path):
    found = doctor.look(FakeEngine(), Choice(), root=tree(tmp_path))

    assert "lock.support" not in {item["code"] for item in found}
