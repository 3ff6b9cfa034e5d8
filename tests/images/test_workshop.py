"""A container in which something is made is held in its bounds, whatever its image does."""

import io
import os
import tempfile
import time

import pytest

from images import output, workshop
from images.adding import CAPABILITIES
from images.endpoint import EngineError
from images.workshop import Bounds, work
from tests.images.fakes_archives import Item, tar

pytestmark = pytest.mark.engine

MIB = 1 << 20
LABEL = "rocm-repro-kit.test-workshop"
BITS = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6, "SETUID": 7,
        "SYS_CHROOT": 18, "MKNOD": 27, "SETFCAP": 31}  # fmt: skip


@pytest.fixture
def made(engine, busybox):
    """Run a script; return what it said, and how large its answer is."""

    def run(script, *, deadline_s=60.0, answer_bytes=MIB, capabilities=()):
        said = []
        bounds = Bounds(deadline_s, answer_bytes, "make room", capabilities)
        argv, inputs = ["sh", "-ec", f"mkdir -p out; {script}"], io.BytesIO(tar([Item("kit-w/in", b"x")]))
        with tempfile.TemporaryFile() as answer:
            try:
                work(
                    engine, busybox, argv, inputs, answer,
                    bounds=bounds, folder="/kit-w", label=LABEL, on_log=said.append,
                )  # fmt: skip
            finally:
                size = os.fstat(answer.fileno()).st_size
                assert size <= answer_bytes
                assert engine.api.containers(all=True, filters={"label": LABEL}) == []
        return said, size

    return run


def test_an_answer_within_its_bound_is_taken_and_one_beyond_it_is_not(made):
    assert MIB // 2 < made("truncate -s 512K out/x")[1] <= MIB

    for script in ("truncate -s 3G out/sparse", "for i in $(seq 3000); do : > out/$i; done"):
        with pytest.raises(EngineError, match=r"what the image gives back is larger than 1\.0 MB") as caught:
            made(script)
        assert caught.value.hint == "make room"


@pytest.mark.parametrize(
    "script",
    ["sleep 600", "trap '' TERM ABRT; while :; do sleep 1; done", "while :; do echo y >&2; sleep 0.1; done"],
    ids=["silent", "one that ends for no signal", "never still"],
)
def test_what_does_not_end_is_ended(made, script):
    began = time.monotonic()
    with pytest.raises(EngineError, match="did not end within 1 s") as caught:
        made(script, deadline_s=1.0)

    assert time.monotonic() - began < 20
    assert len(caught.value.message) < 1000


def test_one_that_closes_its_streams_and_goes_on_is_ended(made, monkeypatch):
    monkeypatch.setattr(workshop, "WAIT_S", 1)
    with pytest.raises(EngineError, match=r"did not end within|learn how sh ended"):
        made("exec >&- 2>&-; sleep 600", deadline_s=5.0)


def test_a_line_without_end_is_an_error(made, monkeypatch):
    monkeypatch.setattr(output, "MAX_LINE_BYTES", MIB)
    with pytest.raises(EngineError, match="a line of output is longer"):
        made("tr '\\0' x < /dev/zero")


def test_of_a_long_line_as_much_is_handed_on_as_people_read(made):
    said, _ = made("head -c 1000000 /dev/zero | tr '\\0' x; echo; echo last")

    assert [len(line) for line in said] == [workshop.MAX_SAID, 4]


def test_what_failed_is_told_with_the_last_that_was_said_by_both_streams(made):
    with pytest.raises(EngineError, match="exit code 3; the last that was said:") as caught:
        made("for i in $(seq 30); do echo $i; done; sleep 1; echo the reason >&2; exit 3")

    assert caught.value.message.splitlines()[1:] == [*(str(number) for number in range(17, 31)), "the reason"]


@pytest.mark.parametrize("given", [(), CAPABILITIES], ids=["to look", "to add"])
def test_it_may_what_it_is_for_and_nothing_more(engine, made, given):
    script = "cat /proc/self/status; ulimit -Hc; cd /sys/fs/cgroup; cat memory.max memory/memory.limit_in_bytes"
    script += " 2>/dev/null; cat pids.max pids/pids.max 2>/dev/null; ls /sys/class/net; true"
    said, _ = made(f"set +e; {script}", capabilities=given)

    facts = {key: value.strip() for key, _, value in (line.partition(":") for line in said)}
    about, wanted = engine.about(), sum(1 << BITS[name] for name in given)
    assert {int(facts[name], 16) for name in ("CapPrm", "CapEff", "CapBnd")} == {wanted}
    assert (facts["NoNewPrivs"], facts["Seccomp"]) == ("1", "2")
    core, memory, processes, network = said[-4:]
    assert (core, network) == ("0", "lo")
    assert int(memory) < about["memory_bytes"]
    assert int(processes) >= 4096
