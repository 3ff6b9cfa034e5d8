"""Children: what they print is theirs, what they learnt is ours, and a hang leaves its stacks."""

import sys

import pytest

from tests.validate.fakes_node import laptop
from validate import probes
from validate.machine import Machine, Ran

CHILD = "import sys; sys.argv = ['probe', '{limit}']; from validate.probes import answer\n{body}"


def child(body, limit=60):
    return Machine().run(
        [sys.executable, "-c", CHILD.format(limit=limit, body=body)], 30, env={"PYTHONPATH": str(probes.ROOT)}
    )


def test_noise_on_stdout_does_not_reach_the_answer():
    ran = child("def learn():\n print('a library says hello')\n return {'x': 1}\nanswer(learn)")

    assert ran.stdout == '{"x":1}\n'
    assert "a library says hello" in ran.stderr


def test_a_hang_leaves_the_stacks_of_all_threads():
    ran = child("import time\ndef stuck():\n time.sleep(60)\nanswer(stuck)", limit=3)

    assert not ran.ok
    assert not ran.timed_out
    assert "in stuck" in ran.stderr


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ('noise\n{"x": 1}\n', {"x": 1}),
        ("[1]", {"error": "probe devices: it printed no answer", "stderr": ""}),
        ("", {"error": "probe devices: it printed no answer", "stderr": ""}),
        (
            Ran(("python3",), -11, "", "Fatal"),
            {"error": "probe devices: python3 was killed by SIGSEGV", "stderr": "Fatal"},
        ),
    ],
    ids=["an answer", "no object", "nothing", "a crash"],
)
def test_an_answer_or_the_reason_why_there_is_none(answer, found):
    assert probes.ask(laptop(probes={"devices": answer}), "devices", 60) == found


def test_the_child_finds_the_kit_wherever_it_is_started(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert "NVML" in str(probes.ask(Machine(), "nvidia", 30)) or "driver" in probes.ask(Machine(), "nvidia", 30)
