import inspect

from validate.machine import Machine, Ran
from validate.replay import Replay

PUBLIC = [name for name, _ in inspect.getmembers(Machine, inspect.isfunction) if not name.startswith("_")]


def test_the_replay_has_the_interface_of_the_machine():
    for name in PUBLIC:
        assert inspect.signature(getattr(Replay, name)) == inspect.signature(getattr(Machine, name)), name


def test_patterns_match_as_on_the_real_machine(tmp_path):
    for path in ("a/x/class", "a/y/class", "a/y/deep/class", "b"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    replay = Replay(files={str(path): "" for path in tmp_path.rglob("*") if path.is_file()})

    for pattern in ("a/*/class", "a/*", "*", "a/x/class", "a/[xz]/class", "none/*"):
        assert replay.glob(f"{tmp_path}/{pattern}") == Machine().glob(f"{tmp_path}/{pattern}"), pattern


def test_a_longer_command_line_is_answered_by_its_recorded_beginning():
    replay = Replay(runs={"rocm-smi": "short", "rocm-smi --json": Ran(("rocm-smi",), 2, "", "bad")})

    assert replay.run(["rocm-smi", "--showbus"]).stdout == "short"
    assert replay.run(["rocm-smi", "--json", "-P"]).stderr == "bad"
    assert replay.run(["amd-smi"]).missing
