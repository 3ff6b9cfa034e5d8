"""`conformance`: a line a file, whatever the files are, and exit codes that a script can go by."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from commands.conformance import conformance, described
from schema.errors import KitError
from tests.validate.parsers import samples
from validate.parsers import catalogue

ROOT = Path(__file__).parent.parent
CAPTURES = os.environ.get("KIT_CAPTURES", "")


def captures(folder, files, extra=()):
    """Write a folder of captures: name, tool and content each."""
    rows = ["file\ttool\tnotes"]
    for name, tool, content in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        rows.append(f'{name}\t{tool}\t"a ""note"""')
    (folder / "INDEX.tsv").write_text("\n".join([*rows, *extra]) + "\n", encoding="utf-8")
    return folder


def run(folder, capsys):
    code = conformance(folder)
    *lines, last = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return code, lines, last["summary"]


def test_each_file_has_a_line_and_the_last_sums_up(tmp_path, capsys):
    files = [("smi/a.json", "rocm-smi", samples.ROCM_SMI_OLD), ("info/b.txt", "rocminfo", samples.ROCMINFO)]

    code, lines, summary = run(captures(tmp_path, files), capsys)

    assert code == 0
    assert lines[0] == {
        "file": "smi/a.json", "parser": "rocm-smi", "understood": True, "form": "json", "devices": 2,
        "pci": ["0000:31:00.0", "0000:32:00.0"], "memory_bytes": [68702699520.0], "power_w": [89.0],
        "power_cap_w": [560.0], "temperature_c": [41.0], "versions": {"driver": "5.18.13"}, "links": 1, "processes": 1,
        "facts": {"system": 1}, "warnings": [],
    }  # fmt: skip
    assert (lines[1]["gfx"], lines[1]["devices"]) == (["gfx942"], 1)
    assert summary == {
        "files": 2, "understood": 2, "not_understood": [], "with_warnings": 0,
        "by_parser": {"rocm-smi": 1, "rocminfo": 1}, "with_devices": 2, "devices": 3,
        "not_told": {"gfx": 1, "pci": 0, "memory_bytes": 0, "power_w": 1},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "tool", "content", "error"),
    [
        ("a", "rocm-smi", "nothing of the kind", None),
        ("a", "rocminfo", "", None),
        ("a", "of-tomorrow", "x", "there is no parser of of-tomorrow"),
    ],
    ids=["another text", "an empty file", "a tool without a parser"],
)
def test_a_file_that_is_not_understood_is_named_and_the_code_is_1(tmp_path, capsys, name, tool, content, error):
    files = [(name, tool, content), ("good", "rocminfo", samples.ROCMINFO)]

    code, lines, summary = run(captures(tmp_path, files), capsys)

    assert (code, summary["not_understood"], summary["understood"]) == (1, [name], 1)
    assert str(lines[0].get("error")).startswith(str(error))


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ("gone\trocminfo\t", "cannot be read: No such file or directory"),
        ("../outside\trocminfo\t", "the file lies outside the folder"),
        ("/etc/hostname\trocminfo\t", "the file lies outside the folder"),
        ("folder\trocminfo\t", "cannot be read: Is a directory"),
        ("\trocminfo\t", "cannot be read: Is a directory"),
        ("short", "there is no parser of "),
    ],
    ids=["gone", "above", "elsewhere", "a folder", "without a name", "a short row"],
)
def test_a_file_that_cannot_be_read_is_told_and_the_others_are_read(tmp_path, capsys, row, error):
    (tmp_path / "folder").mkdir()
    folder = captures(tmp_path, [("good", "rocminfo", samples.ROCMINFO)], [row])

    code, lines, _ = run(folder, capsys)

    assert (code, lines[0]["understood"]) == (1, True)
    assert lines[1]["error"].startswith(error)


def test_bytes_that_are_no_text_are_read(tmp_path, capsys):
    folder = captures(tmp_path, [("a", "rocminfo", b"\xff\xfe\0\x1b[31m" + samples.ROCMINFO.encode() + b"\xc3")])

    code, lines, _ = run(folder, capsys)

    assert (code, lines[0]["gfx"]) == (0, ["gfx942"])


def test_a_link_out_of_the_folder_is_not_followed(tmp_path, capsys):
    folder = captures(tmp_path / "captures", [("good", "rocminfo", samples.ROCMINFO)], ["link\trocminfo\t"])
    (tmp_path / "secret").write_text(samples.ROCMINFO, encoding="utf-8")
    (folder / "link").symlink_to(tmp_path / "secret")

    assert run(folder, capsys)[1][1]["error"] == "the file lies outside the folder"


def test_a_parser_that_fails_is_told_as_a_fault_of_ours(tmp_path, monkeypatch):
    def broken(text):
        raise RuntimeError(text)

    monkeypatch.setitem(catalogue.PARSERS, "rocminfo", broken)
    folder = captures(tmp_path, [("a", "rocminfo", "x")])

    assert described(folder, {"file": "a", "tool": "rocminfo"}) == {
        "file": "a", "parser": "rocminfo", "understood": False,
        "error": "the parser failed, which is a fault of the kit: RuntimeError('x')",
    }  # fmt: skip


@pytest.mark.parametrize(
    "index", [None, "", "file\ttool\n", "name\ttool\na\trocminfo\n", "file\ttool\n" + "x" * 200_000 + "\ty\n"],
    ids=["no index", "empty", "no row", "other columns", "a huge cell"],
)  # fmt: skip
def test_without_an_index_there_is_one_message(tmp_path, index):
    if index is not None:
        (tmp_path / "INDEX.tsv").write_text(index, encoding="utf-8")

    with pytest.raises(KitError, match=r"INDEX\.tsv"):
        conformance(tmp_path)


def test_the_command_ends_in_2_without_a_folder_and_prints_documents_with_one(tmp_path):
    folder = captures(tmp_path, [("a", "hipconfig", samples.HIPCONFIG_6)])
    command = [sys.executable, ROOT / "tasks.py", "conformance"]

    gone = subprocess.run([*command, "/nowhere"], capture_output=True, text=True, check=False)
    done = subprocess.run([*command, folder], capture_output=True, text=True, check=False)

    assert (gone.returncode, gone.stdout) == (2, "")
    assert gone.stderr.startswith("error: there is no folder /nowhere")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2)


@pytest.mark.skipif(not CAPTURES, reason="KIT_CAPTURES names no folder of captured outputs")
def test_every_capture_is_understood(capsys):
    code, _, summary = run(Path(CAPTURES), capsys)

    assert (code, summary["not_understood"]) == (0, [])
