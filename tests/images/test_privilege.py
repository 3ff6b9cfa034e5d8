"""What a container may, exactly, as it reads it itself: each thing more is found, whatever it is."""

import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from images import cargo
from images.access import Access, access
from images.devices import Devices

pytestmark = pytest.mark.engine

CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
NAMESPACES = ("uts", "ipc", "pid", "net", "mnt")
HOST = {"UTSMode": "host", "IpcMode": "host", "PidMode": "host", "NetworkMode": "host"}
FLAGS = ("ro", "rw", "nosuid", "nodev", "noexec")
KERNEL = frozenset({"proc", "tmpfs", "devpts", "sysfs", "mqueue", "cgroup", "cgroup2"})
#: What an engine covers or makes read-only in /proc and /sys: the first wherever there is one, the others by kernel.
CLOSED = frozenset({"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/sys/firmware"})
COVERED = re.compile(
    r"/proc/(acpi|asound|interrupts|kcore|keys|latency_stats|sched_debug|scsi|sysrq-trigger|timer_list|timer_stats)|"
    r"/sys/devices/(virtual/powercap|system/cpu/cpu\d+/thermal_throttle)"
)
DEVICES = "full mqueue null ptmx pts random shm tty urandom zero"  # beside links to /proc
SCRIPT = """
cat /proc/self/status; echo; cat /proc/self/mounts; echo
for name in uts ipc pid net mnt; do readlink /proc/self/ns/$name; done; echo
ls /sys/class/net; echo
for path in /dev/*; do case $(readlink $path) in /proc/*) ;; *) echo $path;; esac; done; echo
ulimit -Hc; cd /sys/fs/cgroup; cat memory.max memory/memory.limit_in_bytes 2>/dev/null
cat pids.max pids/pids.max 2>/dev/null; echo
cat devices/devices.list 2>/dev/null
"""


@dataclass(frozen=True)
class Wider(Access):
    """An access with more than is needed."""

    more: dict = field(default_factory=dict)

    @property
    def host_config(self):
        return super().host_config | self.more


def wider(given, **more):
    return Wider(**vars(given), more=more)


@pytest.fixture
def least(engine):
    about = engine.about()
    if about["name"] == "podman" or about["rootless"] or about["userns_remap"]:
        pytest.skip("another engine has other mounts and users: test_podman and test_access say which")
    return access("cpu", about)


@pytest.fixture(scope="module")
def hosts(engine, busybox):
    """The name spaces of the engine's host; of mounts, ours."""
    found = dict(zip(NAMESPACES, read(engine, busybox, wider(access("cpu", engine.about()), **HOST))[2], strict=True))
    return found | {"mnt": str(Path("/proc/self/ns/mnt").readlink())}


def read(engine, image, given):
    """Return the parts of what `SCRIPT` prints, as lists of lines."""
    lines = []
    data = cargo.archive({"here": b""})
    code = engine.run(image, data, ["sh", "-c", SCRIPT], given, deadline_s=60, on_line=lines.append)
    parts = [[]]
    for line in lines:
        parts[-1].append(line.decode()) if line else parts.append([])
    assert (code, len(parts)) in {(0, 7), (1, 7)}, "the last file is there with the first version of cgroups alone"
    return parts


def seen(engine, image, given, hosts):
    """Return all that a container tells of its privileges."""
    status, mounts, spaces, interfaces, devices, limits, rules = read(engine, image, given)
    facts = {key: value.split() for key, _, value in (line.partition(":") for line in status)}
    rows = {row[1]: row[2:4] for row in map(str.split, mounts)}
    closed = {point for point in rows if point.startswith(("/proc/", "/sys/"))}
    return {
        "capabilities": {name: int(facts[name][0], 16) for name in CAPABILITIES},
        "no new privileges": facts["NoNewPrivs"],
        "seccomp": facts["Seccomp"],
        "user": (set(facts["Uid"]), set(facts["Gid"])),
        "groups": set(facts["Groups"]),
        "mounts": {point: mount(*rows[point]) for point in rows.keys() - closed} | opened(rows, closed),
        "left open": CLOSED - closed,
        "the host's name spaces": {name for name, one in zip(NAMESPACES, spaces, strict=True) if one == hosts[name]},
        "interfaces": interfaces,
        "devices": {path.removeprefix("/dev/") for path in devices},
        "limits": limits,
        "rules for devices": {rule for rule in rules if not re.fullmatch(r"[bc] \*:\* m|c (1|5|10|136):\S+ rwm", rule)},
    }


def mount(kind, options):
    """Return what matters of a mount; a disk is what its engine has."""
    words = [word for word in options.split(",") if word in FLAGS or word.startswith("size=")]
    return " ".join([kind if kind in KERNEL else "disk", *words])


def opened(rows, closed):
    """Return the mounts in /proc and /sys that close nothing there."""
    return {
        point: mount(*rows[point])
        for point in closed
        if not (
            COVERED.fullmatch(point)
            or (point in CLOSED and rows[point][1].startswith("ro"))
            or (rows[point][0] in {"cgroup", "cgroup2"} and rows[point][1].startswith("ro"))
            or (point == "/sys/fs/cgroup" and rows[point][0] == "tmpfs")  # of the first version: folders for the others
        )
    }


def expected(given):
    """Return what a container with this access may tell."""
    private = f"tmpfs rw nosuid nodev size={given.memory_bytes // 4 >> 10}k"
    shared = f"tmpfs rw nosuid nodev noexec size={given.shared_bytes >> 10}k"
    return {
        "capabilities": dict.fromkeys(CAPABILITIES, 0),
        "no new privileges": ["1"],
        "seccomp": ["2"],
        "user": ({"65532"}, {"65532"}),
        "groups": {"65532", *given.devices.groups},
        "mounts": {
            "/": "disk ro",
            "/proc": "proc rw nosuid nodev noexec",
            "/sys": "sysfs ro nosuid nodev noexec",
            "/dev": "tmpfs rw nosuid size=65536k",
            "/dev/pts": "devpts rw nosuid noexec",
            "/dev/mqueue": "mqueue rw nosuid nodev noexec",
            "/dev/shm": shared,
            "/tmp": private,
            "/cache": private,
            "/kit": "disk rw",
            **dict.fromkeys(("/etc/hostname", "/etc/hosts", "/etc/resolv.conf"), "disk ro"),
        },
        "left open": set(),
        "the host's name spaces": set(),
        "interfaces": ["lo"],
        "devices": {*DEVICES.split(), *(inside.removeprefix("/dev/") for _, inside in given.devices.nodes)},
        "limits": ["0", str(given.memory_bytes), str(given.processes)],
        "rules for devices": set(),
    }


def test_a_run_on_the_cpu_has_this_and_nothing_more(engine, busybox, least, hosts):
    assert seen(engine, busybox, least, hosts) == expected(least)


@pytest.fixture
def device(tmp_path):
    """A device that does no harm, as only the members of a group may open one."""
    if os.getuid():
        pytest.skip("only root can make device nodes")
    node = tmp_path / "kfd"
    os.mknod(node, 0o020660, os.makedev(1, 3))
    node.chmod(0o660)
    os.chown(node, 0, 992)
    return str(node)


def test_a_run_with_a_device_has_that_and_its_group_and_nothing_more(engine, busybox, least, hosts, device):
    given = replace(least, devices=Devices(((device, "/dev/kfd"),), ("992",)))

    assert seen(engine, busybox, given, hosts) == expected(given)


def added(engine, image, least, hosts, more):
    """Return by name what a container with more than is needed has of that."""
    found, wanted = seen(engine, image, wider(least, **more), hosts), expected(least)
    return {name for name in wanted if found[name] != wanted[name]}


NO_NEW = "no-new-privileges"
ADDITIONS = {  # what is added to the engine's words: what is found
    "a folder of the host": ({"Binds": ["/usr/share:/host:ro"]}, {"mounts"}),
    "a file of the host": ({"Binds": ["/etc/passwd:/etc/passwd:ro"]}, {"mounts"}),
    "the host's processes as files": ({"Binds": ["/proc:/sys/kernel/debug:ro"]}, {"mounts"}),
    "a folder in memory": ({"Mounts": [{"Type": "tmpfs", "Target": "/more"}]}, {"mounts"}),
    "a root to be written": ({"ReadonlyRootfs": False}, {"mounts"}),
    "more shared memory": ({"ShmSize": 1 << 20}, {"mounts"}),
    "paths of /proc laid open": ({"MaskedPaths": [], "ReadonlyPaths": []}, {"left open"}),
    "the group of root": ({"GroupAdd": ["0"]}, {"groups"}),
    "a group by number": ({"GroupAdd": ["44"]}, {"groups"}),
    "a capability": ({"CapAdd": ["CHOWN"]}, {"capabilities"}),
    "the engine's capabilities": ({"CapDrop": []}, {"capabilities"}),
    "new privileges": ({"SecurityOpt": []}, {"no new privileges"}),
    "every system call": ({"SecurityOpt": [NO_NEW, "seccomp=unconfined"]}, {"seccomp"}),
    "the host's name": ({"UTSMode": "host"}, {"the host's name spaces"}),
    "the host's shared memory": ({"IpcMode": "host"}, {"the host's name spaces", "mounts"}),
    "the host's processes": ({"PidMode": "host"}, {"the host's name spaces"}),
    "the host's network": ({"NetworkMode": "host"}, {"the host's name spaces", "interfaces"}),
    "a device": (
        {"Devices": [{"PathOnHost": "/dev/null", "PathInContainer": "/dev/more", "CgroupPermissions": "rwm"}]},
        {"devices"},
    ),
    "any memory": ({"Memory": 0, "MemorySwap": 0}, {"limits"}),
    "any number of processes": ({"PidsLimit": 0}, {"limits"}),
    "core files": ({"Ulimits": []}, {"limits"}),
    "a rule for devices": ({"DeviceCgroupRules": ["c 195:* rwm"]}, {"rules for devices"}),
    "everything": (
        {"Privileged": True, "SecurityOpt": []},
        {"capabilities", "no new privileges", "seccomp", "mounts", "left open", "devices", "rules for devices"},
    ),
}


@pytest.mark.parametrize(("more", "found"), ADDITIONS.values(), ids=ADDITIONS)
def test_whatever_is_added_is_found(engine, busybox, least, hosts, more, found):
    if "DeviceCgroupRules" in more and not Path("/sys/fs/cgroup/devices").exists():
        pytest.skip("with the second version of cgroups nobody inside can read the rules for devices")
    assert added(engine, busybox, least, hosts, more) == found


MARK = "rocm-repro-kit-was-here"
#: What a hostile program tries, each a line of what it could do: a file, a device and a mount at every mount, to open
#: whatever of the kernel can be written (nothing is written there), a network, a clock, name spaces of its own.
HOSTILE = f"""
for place in / $(cut -d' ' -f2 /proc/self/mounts) /etc /bin /root /usr; do
  test -d $place && (echo x > $place/{MARK}) 2>/dev/null && echo wrote $place
  mknod $place/{MARK}.c c 1 1 2>/dev/null && echo device in $place
  mount -t tmpfs {MARK} $place 2>/dev/null && echo mounted on $place
  umount $place 2>/dev/null && echo uncovered $place
done
find /proc -maxdepth 1 -type f > /tmp/files
find /proc/sys /proc/bus /proc/irq /proc/fs /sys -type f >> /tmp/files 2>/dev/null
while read file; do {{ true >> $file; }} 2>/dev/null && echo opened $file; done < /tmp/files
for what in -m -u -i -n -p -U; do unshare $what true 2>/dev/null && echo unshared $what; done
chroot /tmp /bin/true 2>/dev/null && echo chroot
hostname {MARK} 2>/dev/null && echo hostname
ip link add {MARK} type dummy 2>/dev/null && echo network
date -s "$(date +'%Y-%m-%d %H:%M:%S')" 2>&1 | grep -q "can't set date" || echo clock
grep -c ^/proc/sys/ /tmp/files
"""
PLACES = ("/", "/bin", "/dev", "/dev/shm", "/etc", "/root", "/sys/fs/cgroup", "/tmp", "/usr", "/usr/bin")


def tried(engine, image, given):
    """Return what a hostile program could do."""
    lines = []
    data = cargo.archive({"here": b""})
    engine.run(image, data, ["sh", "-c", HOSTILE], given, deadline_s=120, on_line=lines.append)
    *did, files = [line.decode() for line in lines]
    assert int(files) > 100, "it has looked at what the kernel has to be written"
    return set(did)


def traces():
    """Return what a program in a container could have changed here."""
    marks = [str(path) for place in PLACES for path in Path(place).glob(f"{MARK}*")]
    links = {path.name for path in Path("/sys/class/net").iterdir()} & {MARK}
    return marks, links, os.uname().nodename, MARK in Path("/proc/self/mounts").read_text(encoding="utf-8")


@pytest.mark.parametrize(("user", "more"), [("65532:65532", ()), ("0:0", ("/dev", "/kit"))], ids=["nobody", "root"])
def test_a_hostile_image_leaves_the_host_as_it_was(engine, busybox, least, user, more):
    name = os.uname().nodename
    did = tried(engine, busybox, replace(least, devices=Devices(user=user)))

    own = {f"wrote {place}" for place in ("/tmp", "/cache", "/dev/shm", *more)}  # gone with the container
    assert did - {"wrote /sys/fs/cgroup"} == own, "the first version of cgroups has a folder of the container's there"
    assert traces() == ([], set(), name, False)


def test_a_hostile_image_that_is_given_more_is_seen_to_do_more(engine, busybox, least):
    given = wider(replace(least, devices=Devices(user="0:0")), ReadonlyRootfs=False, ReadonlyPaths=[])
    did = tried(engine, busybox, given)

    assert {"wrote /", "opened /proc/sys/kernel/panic"} <= did
