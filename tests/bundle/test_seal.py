"""What is sealed, what is refused, and that nothing half-written is ever found."""

import errno
import hashlib
import json
import os
import shutil
import tarfile

import pytest

from bundle import archive, layout, redaction, seal, streams
from bundle.verify import verify
from schema import canon
from schema.errors import KitError
from tests.bundle import fakes_bundle as fakes


def records(tmp_path, *, report=None, results=None):
    """Write the streams to seal, as a run leaves them."""
    (tmp_path / "report.jsonl").write_bytes(fakes.lines(report or fakes.report()))
    (tmp_path / "results.jsonl").write_bytes(fakes.lines(results or fakes.results()))
    return tmp_path / "report.jsonl", tmp_path / "results.jsonl"


def sealed(tmp_path, paths=None, **options):
    about = {"image": fakes.IMAGE, "lock": fakes.LOCK, "out": tmp_path / "out", "names": {}} | options
    return seal.seal(*(paths or records(tmp_path)), **about)


def test_folder_and_archive_hold_the_same_files_and_both_verify(tmp_path):
    done = sealed(tmp_path)

    with tarfile.open(done["tar"]) as tar:
        packed = {member.name: tar.extractfile(member).read() for member in tar}
    folder = tmp_path / "out/bundle"
    assert packed == {f"bundle/{p.relative_to(folder)}": p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert verify(done["path"])["bundle_hash"] == verify(done["tar"])["bundle_hash"] == done["bundle_hash"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["bundle", "bundle.tar"]


def test_a_bundle_holds_every_file_of_the_design(tmp_path):
    sealed(tmp_path)

    folder = tmp_path / "out/bundle"
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) == [
        "VERIFY.md",
        "benchmarks/protocol.json",
        "benchmarks/samples.jsonl.gz",
        "benchmarks/summary.csv",
        "benchmarks/summary.json",
        "bundle.json",
        "card.md",
        "hardware.json",
        "image.json",
        "lock.json",
        "packages/dpkg.txt",
        "packages/pip.txt",
        "report.html",
        "report.md",
        "validate/junit.xml",
        "validate/report.jsonl",
    ]


def test_evidence_is_sealed_as_it_was_recorded(tmp_path):
    report, results = records(tmp_path)
    sealed(tmp_path, (report, results))

    folder = tmp_path / "out/bundle"
    assert (folder / layout.REPORT).read_bytes() == report.read_bytes()
    assert b"".join(streams.unpack((folder / layout.SAMPLES).read_bytes())) == results.read_bytes()
    assert (folder / layout.LOCK).read_bytes() == canon.dumps(fakes.LOCK)


def test_sealing_again_gives_the_same_content_and_at_the_same_time_the_same_bytes(tmp_path):
    one = sealed(tmp_path, created_at=fakes.WHEN)
    data = (tmp_path / "out/bundle.tar").read_bytes()
    later = sealed(tmp_path, created_at="2027-01-01T00:00:00Z")
    again = sealed(tmp_path, created_at=fakes.WHEN)

    assert (tmp_path / "out/bundle.tar").read_bytes() == data
    assert one == again
    assert one["content_hash"] == later["content_hash"]
    assert one["bundle_hash"] != later["bundle_hash"]


def test_content_does_not_hang_on_time_host_or_place(tmp_path):
    moved = {"report": fakes.report(), "results": fakes.results()}
    for name, found in moved.items():
        text = json.dumps(found)
        for old, new in (
            ("2026-11-30T12", "2026-08-01T00"),
            ('"3.13.5"', '"3.12.1"'),
            ("6.12.0", "6.1.0"),
            (fakes.GPU["pci"], "0000:01:00.0"),
        ):
            assert old in text
            text = text.replace(old, new)
        moved[name] = json.loads(text)

    earlier = sealed(tmp_path, records(tmp_path, **moved), image=fakes.IMAGE | {"built_at": "2026-07-31T00:00:00Z"})
    assert sealed(tmp_path)["content_hash"] == earlier["content_hash"]


def without(tmp_path, which):
    report, results = records(tmp_path)
    return (None, results) if which == "report" else (report, None)


def start_of(records_, **changes):
    records_[0] = records_[0] | changes
    return records_


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(
            {"results": start_of(fakes.results(), image_id="sha256:" + "9" * 64)}, "another image", id="image"
        ),
        pytest.param({"results": start_of(fakes.results(), lock_sha256="9" * 64)}, "another lock", id="lock"),
        pytest.param({"results": start_of(fakes.results(), cargo_sha256="9" * 64)}, "another sources", id="sources"),
        pytest.param({"results": start_of(fakes.results(), backend="cpu")}, "another backend", id="backend"),
        pytest.param({"results": fakes.results(host=True)}, "another", id="runtime"),
        pytest.param({"results": fakes.results()[:-1]}, "no `end`", id="results cut off"),
        pytest.param({"report": fakes.report()[:-1]}, "no `end`", id="report cut off"),
        pytest.param({"results": fakes.report()}, "does not belong|begins a report", id="a report as results"),
    ],
)
def test_what_does_not_belong_together_is_refused_and_nothing_is_written(tmp_path, change, words):
    with pytest.raises(KitError, match=words) as refused:
        sealed(tmp_path, records(tmp_path, **change))

    assert "None" not in refused.value.message
    assert ("another" in words) is (refused.value.hint == seal.OTHER_RUN)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param({"image": None}, "image.json", id="no image record"),
        pytest.param(
            {"image": fakes.IMAGE | {"image_id": "sha256:" + "9" * 64}}, "image_id", id="another image record"
        ),
        pytest.param({"image": fakes.IMAGE | {"lock_sha256": "9" * 64}}, "lock_sha256", id="an image of another lock"),
        pytest.param({"lock": None}, "lock.json", id="no lock"),
        pytest.param({"lock": fakes.LOCK | {"rocm": "6.4"}}, "digest", id="another lock"),
        pytest.param({"lock": {"name": "x"}}, "lock-1", id="a lock that is none"),
    ],
)
def test_image_and_lock_must_be_those_of_the_run(tmp_path, options, words):
    with pytest.raises(KitError, match=words):
        sealed(tmp_path, **options)


def test_results_alone_are_sealed_from_a_host_and_refused_from_a_container(tmp_path):
    host = records(tmp_path, results=fakes.results(host=True))[1]
    assert verify(sealed(tmp_path, (None, host), image=None, lock=None)["path"])["verdict"] == "CONFIRMED"

    with pytest.raises(KitError, match="without a report"):
        sealed(tmp_path, without(tmp_path, "report"))


def test_a_host_run_of_report_and_results_must_be_of_one_machine(tmp_path):
    other = fakes.results(host=True)
    other[0]["host"] = other[0]["host"] | {"identity": "c" * 64}
    options = {"image": None, "lock": None}
    good = records(tmp_path, report=fakes.report(host=True), results=fakes.results(host=True))
    sealed(tmp_path, good, **options)

    with pytest.raises(KitError, match="another machine"):
        sealed(tmp_path, records(tmp_path, report=fakes.report(host=True), results=other), **options)


def test_there_must_be_something_to_seal(tmp_path):
    with pytest.raises(KitError, match="nothing to seal"):
        sealed(tmp_path, (None, None))


def test_a_missing_file_is_a_message_not_a_traceback(tmp_path):
    with pytest.raises(KitError, match="cannot read"):
        sealed(tmp_path, (tmp_path / "absent.jsonl", None))


def own_case(tmp_path, *, measured=True, data=fakes.CASE_FILE):
    """Write a user's case file and the records of a run, of that case or not."""
    (tmp_path / "my case.py").write_bytes(data)
    digest = hashlib.sha256(fakes.CASE_FILE).hexdigest() if measured else ""
    return records(tmp_path, results=fakes.results(case_sha256=digest)), tmp_path / "my case.py"


def test_a_users_case_file_is_sealed_when_it_is_the_one_that_ran(tmp_path):
    paths, case = own_case(tmp_path)

    sealed(tmp_path, paths, case=case)

    assert (tmp_path / "out/bundle/case/my_case.py").read_bytes() == fakes.CASE_FILE


@pytest.mark.parametrize(
    ("made", "given", "words", "hint"),
    [
        pytest.param({}, False, "the results are of your own case, and its file is not given",
                     "./kit bundle --case FILE", id="not given"),
        pytest.param({"data": b"1"}, True, "my_case.py is not the file that was measured",
                     "./kit bundle --case FILE, as it was when it ran", id="another file"),
        pytest.param({"measured": False}, True, "nothing here was measured with a case of your own",
                     "seal it without --case", id="none was measured"),
    ],
)  # fmt: skip
def test_a_case_file_that_does_not_fit_the_results_is_refused_with_the_next_step(tmp_path, made, given, words, hint):
    paths, case = own_case(tmp_path, **made)

    with pytest.raises(KitError) as refused:
        sealed(tmp_path, paths, case=case if given else None)

    assert (refused.value.message, refused.value.hint) == (words, hint)


def test_a_case_file_with_a_validation_alone_is_refused_too(tmp_path):
    with pytest.raises(KitError, match="nothing here was measured"):
        sealed(tmp_path, without(tmp_path, "results"), case=own_case(tmp_path)[1])


@pytest.mark.parametrize(
    ("which", "summary"),
    [
        (None, "suite custom: 2 of 2 cases measured · 240 samples; validation: {}"),
        ("results", "without benchmarks; validation: {}"),
        ("report", "suite custom: 2 of 2 cases measured · 240 samples; without validation"),
    ],
)
def test_sealing_tells_in_a_line_what_was_sealed(tmp_path, which, summary):
    host = {"image": None, "lock": None} if which == "report" else {}
    paths = list(records(tmp_path, results=fakes.results(host=bool(host))))
    if which:
        paths[which == "results"] = None

    done = sealed(tmp_path, paths, **host)

    found = [item["status"] for item in fakes.report() if item["kind"] == "finding"]
    counts = [f"{found.count(status)} {status}" for status in ("pass", "skip", "warn", "error", "fail")]
    told = " · ".join(one for one in counts if not one.startswith("0 "))
    assert done["title"].startswith("AMD Instinct MI300X · PyTorch")
    assert done["summary"] == summary.format(told)


def test_what_a_bundle_holds_is_sealed_again_to_the_same_bytes(tmp_path):
    first = sealed(tmp_path, created_at=fakes.WHEN)
    held = tmp_path / "out/bundle"

    again = sealed(
        tmp_path, (held / layout.REPORT, held / layout.SAMPLES), created_at=fakes.WHEN, out=tmp_path / "again"
    )

    assert (tmp_path / "again/bundle.tar").read_bytes() == (tmp_path / "out/bundle.tar").read_bytes()
    assert again["bundle_hash"] == first["bundle_hash"]


def test_a_cpu_bundle_says_first_that_it_is_not_a_gpu_result(tmp_path):
    sealed(tmp_path, records(tmp_path, report=fakes.report(gpu=False), results=fakes.results(gpu=False)))

    folder = tmp_path / "out/bundle"
    manifest = json.loads((folder / "bundle.json").read_bytes())
    assert manifest["gpu_result"] is False
    assert manifest["notice"].startswith("not a GPU result")
    for name in ("report.md", "card.md"):
        assert (folder / name).read_text(encoding="utf-8").startswith("**not a GPU result**")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.index("not a GPU result") < page.index("<h1>")


# Atomic ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", range(1, 40))
def test_a_death_at_any_step_leaves_a_whole_bundle_and_the_next_call_succeeds(tmp_path, monkeypatch, step):
    """Every call to the system that changes something is a place to die at; the bundle there is the old or the new."""
    old = sealed(tmp_path, created_at=fakes.WHEN)
    calls = iter(range(1, 1000))

    class Died(BaseException):
        pass

    def dying(real):
        def call(*args, **kwargs):
            if next(calls) == step:
                raise Died
            return real(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", dying(os.fsync))
        patch.setattr("pathlib.Path.rename", dying(seal_path().rename))
        patch.setattr("pathlib.Path.replace", dying(seal_path().replace))
        try:
            sealed(tmp_path, created_at="2027-01-01T00:00:00Z")
        except Died:
            folder = tmp_path / "out/bundle"
            seen = verify(folder if folder.exists() else tmp_path / "out/.bundle.old")
            assert seen["verdict"] == "CONFIRMED"
        else:
            assert step > 20
    again = sealed(tmp_path, created_at=fakes.WHEN)

    assert again == old
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["bundle", "bundle.tar"]


def seal_path():
    from pathlib import Path

    return Path


def mine(path):
    """Put something of the user's at a path, and the folders that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine", encoding="utf-8")


def beside(name, data=b"damaged"):
    """Return what puts a file of the user's beside one that a bundle has, too."""

    def put(out):
        mine(out / name / "precious.txt")
        for path in (layout.MANIFEST, layout.REPORT):
            mine(out / name / path)
            (out / name / path).write_bytes(data)

    return put


def sealed_before(change):
    """Return what changes a place in which a bundle was sealed before."""

    def put(out):
        sealed(out.parent)
        change(out)

    return put


def a_tar(out, *, empty_folder=False):
    with tarfile.open(out / "bundle.tar", "w") as tar:
        info = tarfile.TarInfo("bundle/" if empty_folder else "bundle/report.md")
        info.type, info.uname = (tarfile.DIRTYPE if empty_folder else tarfile.REGTYPE), "somebody"
        tar.addfile(info)


IN_THE_WAY = [
    ("a file", "bundle", lambda out: mine(out / "bundle")),
    ("a link to nowhere", "bundle", lambda out: (out / "bundle").symlink_to("elsewhere")),
    ("a link to a folder", "bundle", lambda out: (out / "bundle").symlink_to(".")),
    ("somebody's folder", "bundle/thesis.txt", lambda out: mine(out / "bundle/thesis.txt")),
    ("a manifest of another tool", "bundle/precious.txt", beside("bundle", b'{"js":1}')),
    ("beside a damaged bundle", "bundle/precious.txt", beside("bundle")),
    ("an empty folder of theirs", "bundle/photos", lambda out: (out / "bundle/photos").mkdir(parents=True)),
    ("a report alone with others", "bundle/data.bin", lambda out: [mine(out / "bundle" / name)
                                                                   for name in ("data.bin", layout.REPORT)]),
    ("notes in a sealed bundle", "bundle/notes.md", sealed_before(lambda out: mine(out / "bundle/notes.md"))),
    ("notes deep in it", "bundle/validate/notes.md", sealed_before(lambda out: mine(out / "bundle/validate/notes.md"))),
    ("a case without a manifest", "bundle/case/mine.py", lambda out: mine(out / "bundle/case/mine.py")),
    ("a link for one of its files", "bundle/card.md", sealed_before(
        lambda out: ((out / "bundle/card.md").unlink(), (out / "bundle/card.md").symlink_to("report.md")))),
    ("a fifo for one of its files", "bundle/card.md", lambda out: ((out / "bundle").mkdir(),
                                                                   os.mkfifo(out / "bundle/card.md"))),
    *[(f"a folder called {name}", f"{name}/precious", lambda out, name=name: mine(out / name / "precious"))
      for name in (".bundle.old", ".bundle.new")],
    *[(f"{what} called {name}", name, lambda out, name=name, make=make: make(out / name))
      for name in ("bundle.tar", ".bundle.tar.part")
      for what, make in (
          ("a file", mine),
          ("a folder", lambda path: mine(path / "x")),
          ("a link", lambda path: (mine(path.with_name("real.tar")), path.symlink_to("real.tar"))),
          ("a fifo", os.mkfifo),
      )],
    ("another tar", "bundle.tar", a_tar),
    ("a tar of a folder", "bundle.tar", lambda out: a_tar(out, empty_folder=True)),
]  # fmt: skip


def everything(folder):
    """Return all below a folder: the bytes of each file, where each link goes, what else there is."""
    return {
        str(path): (path.is_symlink() and str(path.readlink())) or (path.read_bytes() if path.is_file() else "")
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize(("named", "put"), [pytest.param(*rest, id=what) for what, *rest in IN_THE_WAY])
def test_what_the_kit_did_not_write_is_never_replaced_and_is_named(tmp_path, named, put):
    (tmp_path / "out").mkdir()
    put(tmp_path / "out")
    before = everything(tmp_path / "out")

    with pytest.raises(KitError, match="move it away") as refused:
        sealed(tmp_path)

    assert str(tmp_path / "out" / named) in refused.value.message
    assert everything(tmp_path / "out") == before


def test_the_report_that_is_sealed_is_not_lost_where_it_lies_in_a_bundles_place(tmp_path):
    report, results = records(tmp_path)
    inside = tmp_path / "out/bundle" / layout.REPORT
    mine(inside.with_name("data.bin"))
    inside.write_bytes(report.read_bytes())

    with pytest.raises(KitError, match=r"data\.bin is not of a bundle"):
        sealed(tmp_path, (inside, results))

    assert inside.read_bytes() == report.read_bytes()


def test_what_an_interrupted_seal_left_is_ours_an_own_case_too(tmp_path):
    paths, case = own_case(tmp_path)
    sealed(tmp_path, paths, case=case)
    out = tmp_path / "out"
    shutil.copytree(out / "bundle", out / ".bundle.new")
    (out / ".bundle.new/card.md").unlink()
    (out / "bundle").rename(out / ".bundle.old")
    (out / ".bundle.tar.part").write_bytes((out / "bundle.tar").read_bytes()[:700])

    sealed(tmp_path, paths, case=case)

    assert sorted(path.name for path in out.iterdir()) == ["bundle", "bundle.tar"]
    assert verify(out / "bundle")["verdict"] == "CONFIRMED"


def test_every_file_of_a_bundle_has_a_name_that_the_layout_knows():
    for options in ({}, {"host": True}, {"gpu": False}):
        assert set(fakes.bundle(**options)) <= layout.NAMES


@pytest.mark.parametrize("which", ["report", "results", "case"])
@pytest.mark.parametrize("made", ["a fifo", "a device without end", "a folder", "nothing", "too large"])
def test_what_is_sealed_must_be_a_regular_file_of_some_size(tmp_path, monkeypatch, which, made):
    paths, case = own_case(tmp_path)
    odd = tmp_path / "odd"
    if made == "a fifo":
        os.mkfifo(odd)
    elif made == "a device without end":
        odd.symlink_to("/dev/zero")
    elif made == "a folder":
        odd.mkdir()
    elif made == "too large":
        odd.write_bytes(b"x" * 1001)
        monkeypatch.setattr(layout, "MAX_TOTAL_BYTES", 1000)
    given = {"report": paths[0], "results": paths[1], "case": case, which: odd}

    with pytest.raises(KitError, match=r"odd|larger than 1000") as refused:
        sealed(tmp_path, (given["report"], given["results"]), case=given["case"])

    assert refused.value.hint


@pytest.mark.parametrize("kept_name", ["validate/report.jsonl", "bundle.json", None])
def test_a_damaged_bundle_or_an_empty_folder_is_replaced(tmp_path, kept_name):
    (tmp_path / "out/bundle/validate").mkdir(parents=True)
    if kept_name:
        (tmp_path / "out/bundle" / kept_name).write_bytes(b"damaged")
    else:
        (tmp_path / "out/bundle/validate").rmdir()

    assert verify(sealed(tmp_path)["path"])["verdict"] == "CONFIRMED"


@pytest.mark.parametrize("name", ["report.jsonl", "results.jsonl"])
def test_damaged_records_are_named_as_the_user_named_them(tmp_path, name):
    paths = records(tmp_path)
    (tmp_path / name).write_bytes(b"{}\n")

    with pytest.raises(KitError, match="line 1") as refused:
        sealed(tmp_path, paths)

    assert str(tmp_path / name) in refused.value.message
    assert "samples.jsonl.gz" not in refused.value.message


@pytest.mark.parametrize("which", ["image", "lock"])
@pytest.mark.parametrize("value", ["\ud800", 2**53, float("nan")], ids=["half a character", "a whole number", "none"])
def test_a_document_that_canonical_json_cannot_hold_is_named(tmp_path, which, value):
    document = {"image": fakes.IMAGE, "lock": fakes.LOCK}[which] | {"name": value}

    with pytest.raises(KitError, match=rf"^{which}\.json: this cannot be written as canonical JSON") as refused:
        sealed(tmp_path, **{which: document})

    assert refused.value.hint


def test_a_full_disk_leaves_no_part_of_an_archive(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(archive, "write", full)
    with pytest.raises(KitError, match="No space left"):
        sealed(tmp_path)

    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_a_message(tmp_path):
    (tmp_path / "out").write_text("a file in the way")

    with pytest.raises(KitError, match="cannot write"):
        sealed(tmp_path)


# Redaction ------------------------------------------------------------------------------------------------------------

NAMES = {b"alice": "this user's name", b"gpubox7": "this machine's name", b"S3R1AL99": "a serial number"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("run by alice", "this user's name", id="user"),
        pytest.param("on GPUBOX7.example", "this machine's name", id="host, in capitals"),
        pytest.param("serial s3r1al99", "serial number", id="serial"),
        pytest.param("eth0 02:fc:00:00:00:01 up", "network card", id="hardware address"),
        pytest.param("GPU-0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f", "identity of a GPU", id="NVIDIA GPU"),
        pytest.param("GPU-0123456789abcdef", "identity of a GPU", id="AMD GPU"),
        pytest.param("File /home/bob/kit/x.py", "home folder", id="home"),
        pytest.param("File /Users/bob/kit/x.py", "home folder", id="home on a Mac"),
    ],
)
def test_what_names_a_machine_or_a_person_is_refused_with_its_place(tmp_path, text, words):
    report = fakes.report()
    report[1]["facts"]["text"] = text

    with pytest.raises(KitError, match=rf"report.jsonl, line 2, holds .*{words}"):
        sealed(tmp_path, records(tmp_path, report=report), names=NAMES)


@pytest.mark.parametrize(
    "text",
    ["malice and alicen", "0000:c1:00.0", "/home/user/kit", "GPU-... ids", "sha256:0a:1b", "gfx942:sramecc+:xnack-"],
)
def test_what_only_looks_like_it_is_kept(tmp_path, text):
    report = fakes.report()
    report[1]["facts"]["cards"] = [text]

    sealed(tmp_path, records(tmp_path, report=report), names=NAMES)


def test_a_machine_called_like_a_package_can_still_seal(tmp_path):
    sealed(tmp_path, names={b"python3": "this machine's name"})


def test_no_name_of_this_machine_stands_in_a_sealed_bundle(tmp_path):
    done = sealed(tmp_path, names=None)

    for name in redaction.names():
        assert not any(name in path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()), done


def test_names_are_looked_up_where_a_machine_keeps_them(tmp_path, monkeypatch):
    for path, text in {
        "etc/hostname": "gpubox7.example.org\n",
        "etc/machine-id": "3d1219c7c4c5404aaa1f6d2a48adfda4\n",
        "sys/class/dmi/id/product_serial": "S3R1AL99\n",
        "sys/class/dmi/id/board_serial": "0000000000\n",
        "sys/class/net/eth0/address": "02:fc:00:00:00:01\n",
        "sys/class/net/lo/address": "00:00:00:00:00:00\n",
        "sys/class/drm/card1/device/unique_id": "a1b2c3d4e5f60718\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.setenv("HOME", "/srv/people/alice")
    monkeypatch.setenv("USER", "root")
    monkeypatch.delenv("LOGNAME", raising=False)

    assert set(redaction.names(tmp_path)) == {
        b"gpubox7.example.org",
        b"gpubox7",
        b"alice",
        b"/srv/people/alice",
        b"3d1219c7c4c5404aaa1f6d2a48adfda4",
        b"S3R1AL99",
        b"02:fc:00:00:00:01",
        b"a1b2c3d4e5f60718",
    }
