"""Which files are looked at, and what the command answers."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bundle.folklore import walking
from bundle.folklore.kinds import kind_of
from schema.errors import KitError

ROOT = Path(__file__).parents[3]
WRONG = "export HIP_API_DB=1\n"


def kit(*argv):
    return subprocess.run(
        [sys.executable, ROOT / "tasks.py", "folklore", *map(str, argv)], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Dockerfile", "dockerfile"),
        ("Dockerfile.rocm", "dockerfile"),
        ("rocm.Dockerfile", "dockerfile"),
        ("Containerfile", "dockerfile"),
        ("run.sh", "shell"),
        ("job.sbatch", "shell"),
        ("a.py", "python"),
        ("docker-compose.amd.yml", "yaml"),
        ("README.md", "markdown"),
        ("README", "markdown"),
        ("requirements-rocm.txt", "requirements"),
        (".env", "env"),
        (".env.example", "env"),
        ("notes.txt", None),
        ("a.c", None),
    ],
)
def test_a_kind_is_told_by_the_name(name, kind):
    assert kind_of(name, "") == kind


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("#!/bin/sh\n", "shell"),
        ("#!/usr/bin/env bash\n", "shell"),
        ("#!/usr/bin/env python3\n", "python"),
        ("#!/usr/bin/perl\n", None),
    ],
)
def test_a_kind_is_told_by_the_first_line(line, kind):
    assert kind_of("tool", line) == kind


def test_a_folder_is_walked_past_what_is_not_written_by_people(tmp_path):
    for name in ("a.sh", "b/.github/c.yml", ".git/hooks/d.sh", "node_modules/e.sh", "f.c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("env:\n  HIP_API_DB: 1\n" if name.endswith("yml") else WRONG, encoding="utf-8")
    (tmp_path / "binary.sh").write_bytes(b"\x7fELF\0" + WRONG.encode())
    (tmp_path / "large.sh").write_text(WRONG * 60_000, encoding="utf-8")
    (tmp_path / "tool").write_text("#!/bin/sh\n" + WRONG, encoding="utf-8")
    (tmp_path / "link.sh").symlink_to(tmp_path / "a.sh")
    (tmp_path / "away").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe.sh")

    checked = walking.check([str(tmp_path)])

    assert [Path(finding.path).name for finding in checked.findings] == ["a.sh", "tool", "c.yml"]
    assert (checked.files, checked.unread) == (3, [])
    assert sorted(Path(name).name for name in checked.passed_by) == ["binary.sh", "large.sh"]


def test_a_file_that_is_named_is_read_whatever_its_name(tmp_path):
    (tmp_path / "notes.txt").write_text("Set `HIP_API_DB=1`.", encoding="utf-8")

    assert len(walking.check([str(tmp_path / "notes.txt")]).findings) == 1


@pytest.mark.parametrize("bad", ["binary", "pipe", "nothing"])
def test_what_cannot_be_read_as_text_is_refused(bad, tmp_path):
    (tmp_path / "binary").write_bytes(b"\0")
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(KitError, match=bad):
        walking.check([str(tmp_path / bad)])


def test_odd_bytes_and_a_mark_of_order_are_no_hindrance(tmp_path):
    (tmp_path / "a.sh").write_bytes(b"\xef\xbb\xbfexport HIP_API_DB=1\r\n\xff\xfe\r\n")

    assert [finding.line for finding in walking.check([str(tmp_path / "a.sh")]).findings] == [1]


def test_findings_are_printed_with_place_reason_and_right_form(tmp_path):
    (tmp_path / "a.sh").write_text(WRONG, encoding="utf-8")

    done = kit(tmp_path / "a.sh")

    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == f"{tmp_path}/a.sh:1: variable-unread: nothing reads HIP_API_DB"
    assert re.search(r"^    instead: AMD_LOG_LEVEL.*\n    source: .*\(\d{4}-\d\d-\d\d\)$", done.stdout, re.MULTILINE)
    assert done.stderr == "1 files checked, 1 findings\n"


def test_several_paths_are_taken_and_one_document_is_printed(tmp_path):
    for name in ("a.sh", "b.sh", "c.sh"):
        (tmp_path / name).write_text(WRONG, encoding="utf-8")

    done = kit(*(tmp_path / name for name in ("a.sh", "b.sh")), "--json", tmp_path / "c.sh")

    document = json.loads(done.stdout)
    assert [Path(finding["path"]).name for finding in document["findings"]] == ["a.sh", "b.sh", "c.sh"]
    assert set(document["findings"][0]) == {"path", "line", "code", "what", "why", "instead", "source", "date"}
    assert (done.returncode, document["files"]) == (1, 3)


def test_nothing_found_is_well_and_nothing_there_is_refused(tmp_path):
    (tmp_path / "a.sh").write_text("true\n", encoding="utf-8")

    well, missing = kit(tmp_path), kit(tmp_path / "nothing")

    assert (well.returncode, well.stdout) == (0, "")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr.count("\nhint: ") == 1


def test_a_terminal_is_not_obeyed(tmp_path):
    (tmp_path / "a\x1bc.sh").write_text("export MIOPEN_FIND_MODE='a\x1bc'\n", encoding="utf-8")

    done = kit(tmp_path)

    assert done.returncode == 1
    assert "\x1b" not in done.stdout + done.stderr
