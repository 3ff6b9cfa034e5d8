"""One command in one container, on the real engine: what comes out, how it ends, and that nothing stays behind."""

import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from images import cargo, containers, running
from images import engine as engines
from images.access import access
from images.containers import DeadlineError, OutOfMemoryError
from images.devices import Devices
from images.endpoint import EngineError

pytestmark = pytest.mark.engine
ROOT = Path(__file__).parents[2]


@pytest.fixture
def least(engine):
    """The access of a CPU run."""
    return access("cpu", engine.about())


@pytest.fixture
def small(engine, busybox):
    return engine, busybox


@pytest.fixture(autouse=True)
def nothing_stays(engine, busybox):
    """Count containers and volumes before and after each test: whatever happened in it, none may be left.

    Others may use the same engine: containers of other images, and volumes that some container uses, are theirs.
    """

    def things():
        volumes = {volume["Name"] for volume in engine.api.volumes(filters={"dangling": True})["Volumes"] or []}
        ours = {"label": [containers.LABEL], "ancestor": [busybox]}
        return {item["Id"] for item in engine.api.containers(all=True, filters=ours)} | volumes

    before = things()
    yield
    assert things() <= before


class Ran:
    """Run a shell script and keep what came."""

    def __init__(self, engine, image, least, script, *, data=b"", deadline_s=60):
        self.lines, self.errors = [], []
        argv = ["sh", "-c", script] if isinstance(script, str) else script
        run = engine.run
        self.code = run(
            image, data, argv, least, deadline_s=deadline_s, on_line=self.lines.append, on_stderr=self.errors.append
        )


def test_lines_noise_and_exit_code_come_out_apart(engine, busybox, least):
    script = "printf '{\"a\"'; echo noise >&2; sleep 0.1; echo ':1}'; printf 'two\\nlines\\n'; printf cut; exit 7"
    ran = Ran(engine, busybox, least, script)

    assert (ran.lines, ran.errors, ran.code) == ([b'{"a":1}', b"two", b"lines"], ["noise"], 7)


def test_a_hundred_thousand_lines_arrive_whole_and_in_order(engine, busybox, least):
    ran = Ran(engine, busybox, least, "seq 1 100000; seq 1 1000 >&2")

    assert ran.lines == [str(number).encode() for number in range(1, 100001)]
    assert ran.errors == [str(number) for number in range(1, 1001)]


def test_the_cargo_lies_in_kit_and_any_user_can_read_it(engine, busybox, least):
    data = cargo.archive({"deep/er/file.txt": b"hello\n", "top": b""})
    ran = Ran(engine, busybox, least, "pwd; cat deep/er/file.txt; touch /kit/x || echo sealed", data=data)
    sealed = (
        [] if engine.about()["name"] == "podman" else [b"sealed"]
    )  # Podman gives the volume to the container's user

    assert ran.lines == [b"/kit", b"hello", *sealed]


def test_the_image_s_own_entrypoint_does_not_speak(engine, busybox, least):
    assert Ran(engine, busybox, least, ["echo", "ours"]).lines == [b"ours"]


def test_what_a_compiler_writes_can_be_run(engine, busybox, least):
    script = "for d in /tmp /cache; do cp /bin/busybox $d/ls && $d/ls /kit; done"
    ran = Ran(engine, busybox, least, script, data=cargo.archive({"seen": b""}))

    assert (ran.lines, ran.code) == ([b"seen", b"seen"], 0)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make device nodes")
def test_a_device_opens_through_its_numeric_group_and_not_without(engine, busybox, least, tmp_path):
    node = tmp_path / "kfd"
    os.mknod(node, 0o020660, os.makedev(1, 3))
    node.chmod(0o660)
    os.chown(node, 0, 992)
    script = "stat -c '%g %a' /dev/kfd; (: <> /dev/kfd) 2>/dev/null && echo opens || echo denied; ls /dev | grep kfd"
    seen = []
    for groups in ((), ("992",)):
        allowed = replace(least, devices=Devices(((str(node), "/dev/kfd"),), groups))
        seen.append(Ran(engine, busybox, allowed, script).lines)

    assert seen == [[b"992 660", b"denied", b"kfd"], [b"992 660", b"opens", b"kfd"]]


def test_a_run_past_its_deadline_is_killed(engine, busybox, least):
    began = time.monotonic()
    with pytest.raises(DeadlineError, match=r"deadline of 0\.5 s") as caught:
        Ran(engine, busybox, least, "trap 'exit 1' ABRT; while :; do sleep 0.1; done", deadline_s=0.5)

    assert caught.value.code == "deadline"
    assert time.monotonic() - began < 3


def test_a_run_that_ignores_the_first_signal_is_killed_all_the_same(engine, busybox, least):
    with pytest.raises(DeadlineError):
        Ran(engine, busybox, least, ["sleep", "60"], deadline_s=0.2)


def test_running_out_of_memory_is_told_from_other_ends(engine, busybox, least):
    little = replace(least, memory_bytes=32 << 20)
    script = "exec dd if=/dev/zero of=/dev/null bs=200M count=1"
    with pytest.raises(OutOfMemoryError, match="memory") as caught:
        Ran(engine, busybox, little, script)

    assert caught.value.code == "memory"


def test_a_process_killed_by_something_else_is_just_its_exit_code(engine, busybox, least):
    if engine.about()["name"] == "podman":
        pytest.skip("Podman does not say what killed a container")
    assert Ran(engine, busybox, least, "sh -c 'kill -9 $$'; exit $?").code == 137


@pytest.mark.parametrize(
    ("change", "argv", "expected"),
    [
        pytest.param({}, ["nope"], ("cannot run this command", "not the lock's"), id="missing command"),
        pytest.param({}, ["/bin"], ("cannot run this command", "not the lock's"), id="a folder for a command"),
        pytest.param(
            {"devices": Devices((("/dev/never", "/dev/kfd"),))},
            ["true"],
            ("no device /dev/never", "./kit doctor"),
            id="missing device",
        ),
        pytest.param(
            {"devices": Devices(groups=("render",))}, ["true"], ("no group render", "stat -c %g"), id="group by name"
        ),
        pytest.param(
            {"devices": Devices(requests=({"Driver": "", "Count": -1, "Capabilities": [["gpu"]]},))},
            ["true"],
            ("cannot hand out NVIDIA GPUs", "nvidia-ctk"),
            id="no NVIDIA toolkit",
        ),
    ],
)
def test_what_does_not_start_says_why_with_one_remedy(change, argv, expected, small, least):
    if "requests" in str(change) and "Capabilities" in str(change) and small[0].about()["name"] == "podman":
        pytest.skip("Podman ignores a request for NVIDIA GPUs; the check inside finds none")
    with pytest.raises(EngineError) as caught:
        Ran(*small, replace(least, **change), argv)

    assert expected[0] in caught.value.message
    assert expected[1] in caught.value.hint
    assert caught.value.code == "start"
    assert not [word for word in ("--privileged", "chmod", "nogroup") if word in str(caught.value)]


def test_an_absent_image_is_not_pulled(engine, least):
    with pytest.raises(EngineError, match=r"has no image .*rocm-repro-kit-test:never"):
        Ran(engine, "rocm-repro-kit-test:never", least, "true")


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError], ids=["Ctrl-C", "a refused line"])
def test_what_happens_while_reading_removes_the_container(error, engine, busybox, least):
    def refuse(_line):
        raise error

    with pytest.raises(error):
        engine.run(busybox, b"", ["sh", "-c", "echo x; sleep 60"], least, deadline_s=60, on_line=refuse)


PROGRAM = """
import signal, sys
from images import access, engine
for number in (signal.SIGTERM, signal.SIGHUP):  # as ./kit does
    signal.signal(number, lambda number, _frame: sys.exit(128 + number))
found = engine.connect()
found.run(sys.argv[1], b"x" and __import__("images.cargo").cargo.archive({"a": b""}), ["sh", "-c", "echo up; sleep 60"],
          access.access("cpu", found.about()), deadline_s=60, on_line=lambda line: print(line.decode(), flush=True))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_a_killed_kit_leaves_nothing_or_the_next_run_sweeps_it(number, engine, busybox):
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, busybox], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as kit:
        assert kit.stdout.readline() == b"up\n"
        kit.send_signal(number)
        kit.communicate(timeout=180)  # stopping a container takes its time on a busy engine
    left = len(owned_by(engine, kit.pid))
    containers.sweep(engine)

    assert left == (1 if number == signal.SIGKILL else 0)
    assert owned_by(engine, kit.pid) == []


def owned_by(engine, pid):
    """Return the containers of one process: others on this engine may be somebody's runs."""
    place = containers._owner().rpartition(" ")[0]
    return engine.api.containers(all=True, filters={"label": [f"{containers.LABEL}={place} {pid}"]})


def test_a_sweep_leaves_the_runs_of_living_kits_alone(engine, busybox, least):
    seen = []
    engine.run(
        busybox, b"", ["echo", "x"], least, deadline_s=60, on_line=lambda _line: seen.append(containers.sweep(engine))
    )

    assert seen == [0]


def test_a_container_that_somebody_kills_has_the_exit_code_of_the_signal(engine, busybox, least):
    code = engine.run(
        busybox, b"", ["sh", "-c", "echo up; sleep 60"], least, deadline_s=60, on_line=lambda _line: kill(engine)
    )

    assert running.ended(code) == (
        "ended with exit code 137 (SIGKILL: somebody killed it, or the kernel for want of memory)"
    )


def kill(engine, **more):
    [ours] = owned_by(engine, os.getpid())
    if more:
        engine.api.remove_container(ours["Id"], **more)
    else:
        engine.api.kill(ours["Id"])


def test_a_container_that_somebody_removes_is_missed_and_its_volume_goes_too(engine, busybox, least):
    argv, said = ["sh", "-c", "echo up; sleep 60"], []

    def remove(_line):
        kill(engine, force=True)  # as `docker rm -f` does: the volume stays

    try:
        said.append(engine.run(busybox, cargo.archive({"a": b""}), argv, least, deadline_s=60, on_line=remove))
    except EngineError as error:
        said.append((error.code, "somebody removed the container in which sh -c" in error.message, bool(error.hint)))

    assert said in ([137], [("removed", True, True)]), "whether its end or its removal is seen first"


class Proxy:
    """A socket between us and the engine that can be cut."""

    def __init__(self, path, target):
        self.target, self.open = target, []
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(path)
        self.server.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                near, _ = self.server.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self.target)
            self.open += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self.copy, args=(one, other), daemon=True).start()

    @staticmethod
    def copy(one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def cut(self):
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        for end in self.open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the SDK drops sockets that fail
def test_an_engine_that_dies_in_the_middle_is_an_error_and_not_a_hang(engine, busybox, least, tmp_path):
    proxy = Proxy(str(tmp_path / "proxy.sock"), engine.about()["address"].removeprefix("unix://"))
    through = engines.connect({"DOCKER_HOST": f"unix://{tmp_path}/proxy.sock"})
    with pytest.raises(EngineError) as caught:
        through.run(
            busybox,
            b"",
            ["sh", "-c", "echo x; sleep 20"],
            least,
            deadline_s=60,
            on_line=lambda _line: proxy.cut(),
        )
    code = caught.value.code
    through.close()
    del caught  # its traceback holds the dropped sockets
    gc.collect()
    left = owned_by(engine, os.getpid())
    for item in left:  # the engine was gone, so its container could not be removed; this process still lives
        engine.api.remove_container(item["Id"], v=True, force=True)

    assert code == "silent"
    assert len(left) == 1
