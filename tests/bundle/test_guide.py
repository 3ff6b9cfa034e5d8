"""What VERIFY.md tells people to run does what it says, as it stands there."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.bundle import fakes_bundle as fakes


@pytest.fixture
def folder(tmp_path):
    return fakes.write(fakes.bundle(), tmp_path / "bundle")


def run(folder):
    """Run the first block of the guide in the bundle, with Python optimising: nothing may rest on `assert`."""
    block = (
        (folder / "VERIFY.md").read_text(encoding="utf-8").split("\n\n    python3 - <<'EOF'\n")[1].split("    EOF\n")[0]
    )
    return subprocess.run(
        [sys.executable, "-O", "-"],
        input=textwrap.dedent(block),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_bundle_as_sealed_is_said_to_be_so(folder):
    ran = run(folder)

    seal = json.loads((folder / "bundle.json").read_bytes())
    assert ran.stdout == f"every file is as it was sealed, bundle_hash {seal['bundle_hash']}\n"
    assert (ran.returncode, ran.stderr) == (0, "")


def one_byte(folder):
    (folder / "card.md").write_bytes(b"fastest")


def a_file_more(folder):
    (folder / ".hidden").touch()


def a_file_less(folder):
    (folder / "card.md").unlink()


def a_link(folder):
    content = (folder / "card.md").read_bytes()
    (folder.parent / "card.md").write_bytes(content)
    one = folder / "card.md"
    one.unlink()
    one.symlink_to(folder.parent / "card.md")


def another_title(folder):
    path = folder / "bundle.json"
    path.write_bytes(path.read_bytes().replace(b"MI300X", b"MI355X"))


def another_form(folder):
    path = folder / "bundle.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()), indent=1))


@pytest.mark.parametrize(
    ("harm", "name"),
    [
        (one_byte, "card.md"),
        (a_file_more, ".hidden"),
        (a_file_less, "card.md"),
        (a_link, "card.md"),
        (another_title, "bundle.json"),
        (another_form, "bundle.json"),
    ],
)
def test_each_harm_is_named_and_the_exit_is_not_zero(folder, harm, name):
    harm(folder)

    ran = run(folder)

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == f"NOT as it was sealed: {name}\n"


def test_the_guide_names_no_folder_of_this_machine(folder):
    assert str(Path.home()) not in (folder / "VERIFY.md").read_text(encoding="utf-8")
