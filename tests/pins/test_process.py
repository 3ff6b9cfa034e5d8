import sys

import pytest

from pins import process
from schema.errors import KitError


def test_output_and_code_are_returned_as_they_are():
    done = process.run(
        [sys.executable, "-c", "import sys; print(input()); print('e', file=sys.stderr); sys.exit(3)"],
        timeout_s=30,
        input="typed\n",
    )

    assert done == process.Done(3, "typed\n", "e\n")


def test_bytes_that_are_not_utf8_are_replaced():
    done = process.run([sys.executable, "-c", "import sys; sys.stdout.buffer.write(b'a\\xffb')"], timeout_s=30)

    assert done.stdout == "a\ufffdb"


def test_the_environment_given_is_the_whole_environment():
    done = process.run(["/usr/bin/env"], timeout_s=30, env={"ONLY": "this"})

    assert done.stdout == "ONLY=this\n"


def test_nothing_waits_for_a_person():
    done = process.run([sys.executable, "-c", "import sys; print(repr(sys.stdin.read()))"], timeout_s=30)

    assert done.stdout == "''\n"


def test_a_missing_program_is_named():
    with pytest.raises(KitError, match="no-such-program cannot be run: there is no no-such-program"):
        process.run(["no-such-program"], timeout_s=1)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(KitError, match=r"there is no .*gone"):
        process.run([sys.executable, "-c", ""], timeout_s=30, cwd=tmp_path / "gone")


def test_a_program_that_hangs_is_ended_and_named():
    with pytest.raises(KitError, match=r"did not end within 0\.2 s: .*sleep\(60\)"):
        process.run([sys.executable, "-c", "import time; time.sleep(60)"], timeout_s=0.2)


def test_a_command_line_is_refused():
    with pytest.raises(TypeError, match="list of arguments"):
        process.run("echo a; echo b", timeout_s=1)
