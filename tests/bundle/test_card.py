"""The section goes between its markers, and no other byte of a stranger's README changes."""

import errno
import hashlib
import os
import re

import pytest

from bundle import archive, card, seal
from bundle.verify import verify
from schema.errors import KitError
from tests.bundle import fakes_bundle as fakes

SECTION = b"**not a GPU result**: here\n\n| a | b |\n| --- | --- |\n"
HASH = "ab12" * 16


def block(newline=b"\n", *, bundle_hash=""):
    mark = f" sha256={bundle_hash}" if bundle_hash else ""
    text = f"<!-- repro-bundle:begin{mark} -->\n{SECTION.decode().rstrip()}\n<!-- repro-bundle:end -->"
    return text.encode().replace(b"\n", newline)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(b"", block() + b"\n", id="an empty card"),
        pytest.param(b"# Model\n", b"# Model\n\n" + block() + b"\n", id="no markers"),
        pytest.param(b"# Model", b"# Model\n\n" + block() + b"\n", id="no newline at the end"),
        pytest.param(b"# M\r\ntext\r\n", b"# M\r\ntext\r\n\r\n" + block(b"\r\n") + b"\r\n", id="CRLF"),
        pytest.param(
            b"\xef\xbb\xbf---\ntags: [x]\n---\n", b"\xef\xbb\xbf---\ntags: [x]\n---\n\n" + block() + b"\n", id="BOM"
        ),
        pytest.param("# Modèle 模型 🚀\n".encode(), "# Modèle 模型 🚀\n\n".encode() + block() + b"\n", id="unicode"),
        pytest.param(b"\xff\xfe not text\n", b"\xff\xfe not text\n\n" + block() + b"\n", id="not UTF-8"),
        pytest.param(
            b"a\n<!-- repro-bundle:begin -->\nold\n<!-- repro-bundle:end -->\nb \n\n",
            b"a\n" + block() + b"\nb \n\n",
            id="markers",
        ),
        pytest.param(
            b"a\n<!-- repro-bundle:begin sha256=00ff -->\nold\n<!-- repro-bundle:end -->b",
            b"a\n" + block() + b"b",
            id="markers of another bundle, no newline after",
        ),
        pytest.param(
            b"a\r\n<!-- repro-bundle:begin -->\r\nold\r\n<!-- repro-bundle:end -->\r\nb",
            b"a\r\n" + block(b"\r\n") + b"\r\nb",
            id="markers, CRLF",
        ),
        pytest.param(
            b"<!-- repro-bundle:begin --><!-- repro-bundle:end -->", block(), id="markers with nothing between"
        ),
    ],
)
def test_the_section_is_inserted_and_every_byte_outside_is_kept(before, after):
    assert card.insert(before, SECTION) == after


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("readme", [b"", b"# M", b"# M\n\ntext\n", b"---\na: b\n---\n\n\n\n"])
def test_a_second_time_changes_nothing(readme, newline):
    readme = readme.replace(b"\n", newline)
    once = card.insert(readme, SECTION, bundle_hash=HASH)

    assert card.insert(once, SECTION, bundle_hash=HASH) == once
    assert once.startswith(readme)
    assert card.insert(once, SECTION + b"more\n", bundle_hash="cd") != once


def test_the_marker_names_the_bundle():
    assert card.insert(b"", SECTION, bundle_hash=HASH) == block(bundle_hash=HASH) + b"\n"


BEGIN, END = b"<!-- repro-bundle:begin -->", b"<!-- repro-bundle:end -->"


@pytest.mark.parametrize(
    "readme",
    [
        pytest.param(BEGIN, id="no end"),
        pytest.param(END, id="no begin"),
        pytest.param(END + BEGIN, id="the wrong order"),
        pytest.param(BEGIN + BEGIN + END, id="two begins"),
        pytest.param(BEGIN + END + END, id="two ends"),
        pytest.param(BEGIN + END + BEGIN + END, id="two pairs"),
        pytest.param(b"<!-- repro-bundle:begin" + END, id="a begin that is not closed"),
        pytest.param(b"<!-- repro-bundle:begin by hand -->" + END, id="a begin changed by hand"),
        pytest.param(b"<!--repro-bundle:begin -->" + END, id="a space lost"),
        pytest.param(BEGIN + b"<!-- repro-bundle -->" + END, id="another marker between"),
    ],
)
def test_damaged_markers_are_refused(readme):
    with pytest.raises(KitError, match="markers are damaged"):
        card.insert(b"a\n" + readme + b"\nb\n", SECTION)


def test_a_section_cannot_bring_markers_of_its_own():
    with pytest.raises(KitError, match="marker"):
        card.insert(b"", b"x " + END)


def folder(tmp_path, **options):
    return fakes.write(fakes.bundle(**options), tmp_path / "bundle")


def test_a_publishable_bundle_is_put_on_a_card_once(tmp_path):
    bundle, readme = folder(tmp_path, processes=10), tmp_path / "README.md"
    readme.write_bytes(b"# Model\r\n")
    readme.chmod(0o600)

    first = card.put(bundle, readme)
    text = readme.read_bytes()
    second = card.put(bundle, readme)

    assert (first["changed"], second["changed"]) == (True, False)
    assert (first["created"], second["created"]) == (False, False)
    assert readme.read_bytes() == text
    assert text.startswith(b"# Model\r\n\r\n<!-- repro-bundle:begin sha256=" + first["bundle_hash"].encode())
    assert b"\n" not in text.replace(b"\r\n", b"")
    assert readme.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "bundle"]


def test_an_archive_serves_as_well_and_a_card_is_made_where_there_is_none(tmp_path):
    with (tmp_path / "bundle.tar").open("wb") as stream:
        archive.write(fakes.bundle(processes=10), stream)

    assert card.put(tmp_path / "bundle.tar", tmp_path / "README.md")["created"]

    assert b"AMD Instinct MI300X" in (tmp_path / "README.md").read_bytes()


@pytest.mark.parametrize(
    ("made", "said", "words"),
    [
        pytest.param({"gpu": False, "processes": 10}, {"allow_cpu": True}, "not a GPU result", id="a CPU's figures"),
        pytest.param({"processes": 3}, {"allow_quick": True}, "3 processes", id="too few processes"),
    ],
)
def test_weak_figures_are_refused_unless_it_is_said(tmp_path, made, said, words):
    bundle, readme = folder(tmp_path, **made), tmp_path / "README.md"
    with pytest.raises(KitError, match=words):
        card.put(bundle, readme)
    assert not readme.exists()

    assert card.put(bundle, readme, **said)["changed"]


def test_all_that_speaks_against_figures_is_said_at_once(tmp_path):
    bundle = folder(tmp_path, gpu=False, processes=3)

    with pytest.raises(KitError, match=r"not a GPU result.*3 processes") as refused:
        card.put(bundle, tmp_path / "README.md")

    assert refused.value.hint.endswith("--allow-cpu --allow-quick")


def test_a_bundle_without_benchmarks_has_nothing_for_a_card(tmp_path):
    with pytest.raises(KitError, match="no benchmarks"):
        card.put(folder(tmp_path, with_results=False), tmp_path / "README.md")


def test_a_bundle_that_does_not_verify_is_refused(tmp_path):
    bundle = folder(tmp_path, processes=10)
    (bundle / "card.md").write_text("fastest")

    with pytest.raises(KitError, match=r"does not verify: card.md"):
        card.put(bundle, tmp_path / "README.md")


def test_the_section_is_written_here_and_a_strangers_is_never_used(tmp_path):
    files = fakes.bundle(processes=10)
    honest, lying = folder(tmp_path, processes=10), tmp_path / "lying"
    fakes.write(fakes.sealed_again(files | {"card.md": b"fastest"}, renderer_sha256="0" * 64), lying)

    card.put(honest, tmp_path / "one.md")
    card.put(lying, tmp_path / "two.md")

    one, two = (re.sub(rb"sha256=\w+", b"", (tmp_path / name).read_bytes()) for name in ("one.md", "two.md"))
    assert one == two
    assert b"fastest" not in two


MARKUP = "x | y `z` <script>alert(1)</script> [a](http://x.example) <!-- repro-bundle:end -->"
HOSTILE = f"{MARKUP} \u202e\x1b[31m"


def test_text_from_a_stranger_stays_text_in_markdown_and_html():
    digest = hashlib.sha256(fakes.CASE_FILE).hexdigest()
    report, results = fakes.report(), fakes.results(case_sha256=digest)
    for records in (report, results):
        records[0]["devices"][0]["l2_bytes"] = 60 << 20
        records[0]["devices"][0]["name"] = MARKUP  # of a device, what cannot be shown is refused
        records[0]["environment"] = {"MIOPEN_FIND_MODE": HOSTILE}
    for item in report:
        if item.get("check") == "environment" and item["kind"] == "facts":
            item["facts"]["variables"] = report[0]["environment"]
    results[0]["protocol"]["cases"][1]["title"] = HOSTILE
    for run in [item for item in results if item["kind"] == "process"]:
        run["device"] = MARKUP
        run["cache"].update(mode="rotate", llc_bytes=60 << 20, sets=2)
    files = {
        "validate/report.jsonl": fakes.lines(fakes.judged_again(report, fakes.LOCK)),
        "benchmarks/samples.jsonl.gz": fakes.lines(results),
        "lock.json": fakes.canon.dumps(fakes.LOCK),
        "image.json": fakes.canon.dumps(fakes.IMAGE),
        "case/mine.py": fakes.CASE_FILE,
    }
    sealed = seal.assemble(files, created_at=fakes.WHEN, names={})[1]

    for name in ("card.md", "report.md", "report.html"):
        text = sealed[name].decode()
        assert "<script>" not in text
        assert "<!-- repro-bundle" not in text
        assert "\u202e" not in text
        assert "\x1b" not in text
    assert not re.search(r"(?<!\\)\]\(", sealed["card.md"].decode())
    assert card.insert(b"", sealed["card.md"]).count(b"repro-bundle:end -->") == 1


def test_what_is_no_regular_file_is_left_as_it_is(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop.md").symlink_to("loop.md")

    for name in ("fifo", "loop.md", "."):
        with pytest.raises(KitError, match="not a regular file"):
            card.put(tmp_path / "no-bundle", tmp_path / name)


def test_a_card_inside_the_bundle_is_refused_before_it_breaks_it(tmp_path):
    made = folder(tmp_path, processes=10)
    (tmp_path / "link").symlink_to(made)

    for path in (made / "README.md", made / "card.md", tmp_path / "link/validate/README.md"):
        with pytest.raises(KitError, match="belongs to the bundle"):
            card.put(made, path)

    assert verify(made)["verdict"] == "CONFIRMED"


def test_a_card_with_another_name_is_refused_for_that_name_would_keep_the_old_text(tmp_path):
    made = folder(tmp_path, processes=10)
    (tmp_path / "README.md").write_text("# Model\n", encoding="utf-8")
    (tmp_path / "other.md").hardlink_to(tmp_path / "README.md")

    with pytest.raises(KitError, match="hard links"):
        card.put(made, tmp_path / "README.md")


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "make room there"),
        (errno.EDQUOT, "make room there"),
        (errno.EROFS, "name a card that you may write"),
        (errno.EACCES, "name a card that you may write"),
    ],
    ids=lambda item: errno.errorcode.get(item, ""),
)
def test_a_card_that_cannot_be_written_stays_as_it_was_with_the_remedy_for_that(tmp_path, monkeypatch, number, hint):
    def refuse(_):
        raise OSError(number, os.strerror(number))

    made, readme = folder(tmp_path, processes=10), tmp_path / "README.md"
    readme.write_bytes(b"# Model\n")
    monkeypatch.setattr(os, "fsync", refuse)

    with pytest.raises(KitError, match=f"cannot write .*README.md: {os.strerror(number)}") as caught:
        card.put(made, readme)

    assert caught.value.hint == hint
    assert readme.read_bytes() == b"# Model\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "bundle"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_root_leaves_a_card_to_its_owner(tmp_path):
    made = folder(tmp_path, processes=10)
    readme = tmp_path / "README.md"
    readme.write_text("# Model\n", encoding="utf-8")
    readme.chmod(0o640)
    os.chown(readme, 1234, 5678)

    card.put(made, readme)

    found = readme.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (1234, 5678, 0o640)
