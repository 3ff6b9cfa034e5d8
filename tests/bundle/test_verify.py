"""One good bundle; each broken one differs in one thing, and is caught by name."""

import gzip
import hashlib
import json
import os

import pytest

from bundle import archive, layout, streams, verify
from schema import canon, documents
from schema.errors import KitError
from tests.bundle import fakes_bundle as fakes


@pytest.fixture(scope="module")
def good():
    return fakes.bundle()


@pytest.fixture(scope="module")
def on_host():
    return fakes.bundle(host=True)


def contradictions(verdict):
    return [item["what"] for item in verdict["contradicted"]]


def test_a_good_bundle_is_confirmed_and_every_level_says_where_it_stands(good):
    verdict = verify.judge(good)

    assert verdict["verdict"] == "CONFIRMED"
    assert verdict["contradicted"] == []
    assert [level["verdict"] for level in verdict["levels"]] == ["CONFIRMED", *["NOT_CHECKED"] * 4]
    assert len(verdict["confirmed"]) == 8


def test_folder_and_archive_give_the_same_verdict(good, tmp_path):
    folder = fakes.write(good, tmp_path / "bundle")
    with (tmp_path / "bundle.tar").open("wb") as stream:
        archive.write(good, stream)

    assert verify.verify(folder) == verify.verify(tmp_path / "bundle.tar") == verify.judge(good)


@pytest.mark.parametrize("path", sorted(fakes.bundle()))
def test_one_changed_byte_in_any_file_is_caught_and_the_file_is_named(good, path):
    for place in (0, len(good[path]) // 2, len(good[path]) - 1):
        data = bytearray(good[path])
        data[place] ^= 0x01

        verdict = verify.judge(good | {path: bytes(data)})

        assert verdict["verdict"] == "CONTRADICTED"
        assert any(what.startswith(path) for what in contradictions(verdict))


@pytest.mark.parametrize("path", sorted(set(fakes.bundle()) - {"bundle.json"}))
def test_a_missing_file_is_named(good, path):
    verdict = verify.judge({name: data for name, data in good.items() if name != path})

    assert path in contradictions(verdict)


def test_an_added_file_is_named(good):
    assert contradictions(verify.judge(good | {"notes.txt": b""})) == ["notes.txt"]


def test_a_renamed_file_is_named_twice(good):
    files = dict(good)
    files["report2.md"] = files.pop("report.md")

    assert contradictions(verify.judge(files)) == ["report.md", "report2.md"]


def test_two_swapped_files_are_both_named(good):
    files = good | {"report.md": good["card.md"], "card.md": good["report.md"]}

    assert contradictions(verify.judge(files)) == ["card.md", "report.md"]


def manifest(**changes):
    """Change the manifest, and make its own hash fit."""
    return lambda files: fakes.sealed_again(files, **changes)


def bytes_of(path, change):
    """Change a file, and make the manifest fit: only what the file says can be caught."""
    return lambda files: fakes.sealed_again(files | {path: change(files[path])})


def summary(change):
    def apply(data):
        document = json.loads(data)
        change(document["cases"][0])
        return canon.dumps(document)

    return bytes_of(layout.SUMMARY, apply)


def samples(change):
    """Change the lines of the results."""

    def apply(data):
        lines = b"".join(streams.unpack(data)).splitlines(keepends=True)
        change(lines)
        return streams.pack(b"".join(lines))

    return bytes_of(layout.SAMPLES, apply)


def line(number, old, new):
    def change(lines):
        assert old in lines[number]
        lines[number] = lines[number].replace(old, new)

    return samples(change)


def report(old, new):
    def change(data):
        assert old in data
        return data.replace(old, new)

    return bytes_of(layout.REPORT, change)


def image(**changes):
    return bytes_of(layout.IMAGE, lambda data: canon.dumps(json.loads(data) | changes))


def dropped(path):
    return lambda files: fakes.sealed_again({name: data for name, data in files.items() if name != path})


def without_a_process(lines):
    """Leave out a whole process, and count right."""
    gone = [text for text in lines if b'"process":2' in text and b"copy.fp32" in text and b'"order"' not in text]
    for text in gone:
        lines.remove(text)
    lines[:] = [text for text in lines if not (b'"kind":"process"' in text and b'"copy.fp32","process":2' in text)]
    end = json.loads(lines[-1])
    end["counts"]["sample"] -= len(gone)
    end["counts"]["process"] -= 1
    lines[-1] = json.dumps(end).encode() + b"\n"


LIES = [
    ("a figure that does not follow", summary(lambda case: case.update(value=case["value"] * 1.01)), layout.SUMMARY),
    ("an interval made narrower", summary(lambda case: case.update(low=case["value"])), layout.SUMMARY),
    ("a peak made smaller", summary(lambda case: case.update(of_peak=0.99)), layout.SUMMARY),
    (
        "the last digit of a figure",
        summary(lambda case: case.update(seconds=case["seconds"] * (1 + 2e-12))),
        layout.SUMMARY,
    ),
    (
        "a case more in the summary",
        bytes_of(layout.SUMMARY, lambda data: data.replace(b"copy.fp32", b"copy.fp64")),
        layout.SUMMARY,
    ),
    ("a summary that is no JSON", bytes_of(layout.SUMMARY, lambda _: b"{"), layout.SUMMARY),
    ("a summary that is null", bytes_of(layout.SUMMARY, lambda _: b"null"), layout.SUMMARY),
    ("a faster sample", line(1, b'"seconds":0.00', b'"seconds":0.000'), "bundle.json: content_hash"),
    ("a sample that is NaN", line(1, b'"at_s":', b'"at_s":NaN,"x":'), layout.SAMPLES),
    ("a sample that is infinite", line(1, b'"at_s":', b'"at_s":1e999,"x":'), layout.SAMPLES),
    ("a huge number", line(1, b'"process":0', b'"process":' + b"9" * 5000), layout.SAMPLES),
    ("a sample left out", samples(lambda lines: lines.pop(2)), layout.SAMPLES),
    ("a sample twice", samples(lambda lines: lines.insert(2, lines[2])), layout.SAMPLES),
    ("results without an end", samples(lambda lines: lines.pop()), layout.SAMPLES),
    ("half a last line", samples(lambda lines: lines.append(b'{"kind":')), layout.SAMPLES),
    ("a record after the end", samples(lambda lines: lines.append(lines[-1])), layout.SAMPLES),
    ("a process left out", samples(without_a_process), layout.SAMPLES),
    ("results of other sources", line(0, b'"cargo_sha256":"', b'"cargo_sha256":"0'), layout.SAMPLES),
    ("half a character", line(1, b"matmul.bf16", b"\\ud800"), layout.SAMPLES),
    ("a number beyond all bounds", line(0, b'"m":8192', b'"m":' + b"9" * 400), layout.SAMPLES),
    (
        "a GPU that was a CPU",
        line(0, b'"backend":"rocm","lock', b'"backend":"cpu","lock'),
        "the results name another backend",
    ),
    ("results of another image", line(0, b"sha256:1", b"sha256:2"), "the results name another image"),
    ("results of another machine", line(0, b'"identity":"b', b'"identity":"a'), "the results are of another machine"),
    ("a report of another image", report(b"sha256:1", b"sha256:2"), "the results name another image"),
    ("a finding that does not follow", report(b'"status":"pass"', b'"status":"warn","reason":"x"'), layout.REPORT),
    (
        "a fact that gives another finding",
        report(b'"driver":"amdgpu 6.12.12","amdgpu', b'"driver":"","amdgpu'),
        layout.REPORT,
    ),
    ("a report of another version", report(b'"document":"report-1"', b'"document":"report-2"'), layout.REPORT),
    ("results in place of a report", report(b'"document":"report-1"', b'"document":"results-1"'), layout.REPORT),
    ("an unknown field", report(b'"kind":"end"', b'"kind":"end","more":1'), layout.REPORT),
    ("a key twice", report(b'"kind":"end"', b'"kind":"end","kind":"end"'), layout.REPORT),
    ("a report nested too deep", report(b'"cards":[]', b'"cards":' + b"[" * 60 + b"]" * 60), layout.REPORT),
    ("a report nested without bounds", report(b'"cards":[]', b'"cards":' + b"[" * 90000 + b"]" * 90000), layout.REPORT),
    ("a report that is no text", bytes_of(layout.REPORT, lambda data: b"\xff" + data), layout.REPORT),
    ("another image in the record", image(image_id="sha256:" + "9" * 64), "image.json: image_id"),
    ("an image of another lock", image(lock_sha256="9" * 64), "image.json: lock_sha256"),
    ("an image of another name", image(name="other"), "image.json: name"),
    ("an image record of another version", image(schema="image-2"), layout.IMAGE),
    ("another manifest digest", image(manifest_digest="sha256:" + "9" * 64), "bundle.json: chain.manifest_digest"),
    (
        "a lock changed by hand",
        bytes_of(layout.LOCK, lambda data: data.replace(b"5.7.1", b"5.7.2")),
        "lock.json: its digest",
    ),
    ("a lock that is not canonical", bytes_of(layout.LOCK, lambda data: data + b"\n"), layout.LOCK),
    ("a lock that is a list", bytes_of(layout.LOCK, lambda _: b"[]"), layout.LOCK),
    ("another protocol", bytes_of(layout.PROTOCOL, lambda data: data.replace(b"quick", b"smoke")), layout.PROTOCOL),
    ("a protocol that is null", bytes_of(layout.PROTOCOL, lambda _: b"null"), layout.PROTOCOL),
    ("a report page of one's own", bytes_of("report.html", lambda data: data.replace(b"666", b"999")), "report.html"),
    ("a card of one's own", bytes_of("card.md", lambda data: data + b"fastest\n"), "card.md"),
    ("a table of one's own", bytes_of("benchmarks/summary.csv", lambda data: data + b"\n"), "benchmarks/summary.csv"),
    ("a view left out", dropped("card.md"), "card.md"),
    ("the image record left out", dropped(layout.IMAGE), "image.json"),
    ("the lock left out", dropped(layout.LOCK), "lock.json"),
    ("the protocol left out", dropped(layout.PROTOCOL), layout.PROTOCOL),
    ("the summary left out", dropped(layout.SUMMARY), layout.SUMMARY),
    ("the report left out", dropped(layout.REPORT), "a container's results without a report"),
    ("the samples left out", dropped(layout.SAMPLES), layout.PROTOCOL),
    ("a stray case file", lambda files: fakes.sealed_again(files | {"case/x.py": b"x"}), "case/"),
    ("a title of one's own", manifest(title="the fastest"), "bundle.json: title"),
    ("a notice taken away", manifest(notice="all is well"), "bundle.json: notice"),
    ("a GPU claimed or denied", manifest(gpu_result=False), "bundle.json: gpu_result"),
    ("another content hash", manifest(content_hash="0" * 64), "bundle.json: content_hash"),
    ("a manifest of another version", manifest(schema="bundle-2"), "bundle.json"),
    ("a field more in the manifest", manifest(more=1), "bundle.json"),
]


@pytest.mark.parametrize(("lie", "what"), [pytest.param(lie, what, id=name) for name, lie, what in LIES])
def test_a_lie_whose_digests_fit_is_still_caught(good, lie, what):
    files = lie(good)
    assert files != good

    verdict = verify.judge(files)

    assert verdict["verdict"] == "CONTRADICTED"
    assert any(said.startswith(what) for said in contradictions(verdict)), contradictions(verdict)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda data: b" " + data, id="a space in front"),
        pytest.param(lambda data: data[:-1], id="no newline at the end"),
        pytest.param(lambda data: data + b"\n", id="a newline more"),
        pytest.param(lambda data: json.dumps(json.loads(data), indent=1).encode() + b"\n", id="indented"),
        pytest.param(lambda data: data.replace(b'"files"', b'"files":[],"files"', 1), id="a key twice"),
        pytest.param(
            lambda data: data.replace(b'"size_bytes":', b'"size_bytes":1e999,"x":', 1), id="a number too large"
        ),
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda _: b"[]\n", id="a list"),
        pytest.param(lambda _: b"[" * 100000, id="nested without bounds"),
        pytest.param(lambda _: b"\xff\xfe", id="no text"),
    ],
)
def test_a_manifest_that_is_not_in_its_one_form_is_contradicted_never_a_crash(good, change):
    verdict = verify.judge(good | {"bundle.json": change(good["bundle.json"])})

    assert verdict["verdict"] == "CONTRADICTED"
    assert contradictions(verdict)[0].startswith("bundle.json")


def test_a_bundle_made_of_two_is_caught(good):
    other = fakes.bundle(seed=2)
    for path in ("benchmarks/samples.jsonl.gz", "report.html", "bundle.json"):
        assert verify.judge(good | {path: other[path]})["verdict"] == "CONTRADICTED"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(gzip.compress(bytes(64 << 20)), "no record of samples", id="a bomb"),
        pytest.param(streams.pack(b"x\n") + streams.pack(b"y\n"), "after the end", id="a second member"),
        pytest.param(streams.pack(b"x\n") + b"!", "after the end", id="bytes after the end"),
        pytest.param(streams.pack(b"x\n" * 9999)[:-9], "cut off", id="cut off"),
        pytest.param(b"not gzip at all", "damaged", id="not gzip"),
        pytest.param(b"", "cut off", id="empty"),
    ],
)
def test_compressed_samples_are_unpacked_within_bounds(good, data, words):
    with pytest.raises(KitError, match=words):
        list(streams.unpack(data))

    assert layout.SAMPLES in contradictions(verify.judge(fakes.sealed_again(good | {layout.SAMPLES: data})))


def other_sources(files, old=b'"status":"pass"', new=b'"status":"warn","reason":"newer"'):
    """Return a bundle of a kit whose sources were others, with a finding judged otherwise."""
    files = {path: data.replace(fakes.identity.cargo().encode(), b"0" * 64) for path, data in files.items()}
    unpacked = b"".join(streams.unpack(files[layout.SAMPLES]))
    files[layout.SAMPLES] = streams.pack(unpacked.replace(fakes.identity.cargo().encode(), b"0" * 64))
    files[layout.REPORT] = files[layout.REPORT].replace(old, new)
    evidence = {path: data for path, data in files.items() if layout.role(path) == "evidence"}
    from bundle import identity, seal

    understood = seal.understood(evidence)
    return fakes.sealed_again(
        files,
        renderer_sha256="0" * 64,
        chain=identity.chain(understood),
        content_hash=identity.content_hash(understood),
    )


def test_by_newer_rules_findings_and_views_may_differ_and_it_is_said(good):
    verdict = verify.judge(other_sources(good))

    assert verdict["verdict"] == "CONFIRMED"
    assert any("newer rules judge" in note for note in verdict["notes"])
    assert "report.html" in [item["what"] for item in verdict["not_checked"]]


def test_by_newer_rules_figures_must_follow_from_the_samples_all_the_same(good):
    lying = summary(lambda case: case.update(value=case["value"] * 1.01))(good)

    verdict = verify.judge(other_sources(lying))

    assert contradictions(verdict) == ["benchmarks/summary.json: matmul.bf16.8192: value"]


def test_results_alone_from_a_host_are_confirmed_and_the_validation_is_said_to_be_missing():
    files = fakes.bundle(host=True, with_report=False)

    verdict = verify.judge(files)

    assert verdict["verdict"] == "CONFIRMED"
    assert "validation" in [item["what"] for item in verdict["not_checked"]]
    assert "without validation" in json.loads(files["bundle.json"])["notice"]


def test_a_report_alone_is_confirmed_and_the_benchmarks_are_said_to_be_missing():
    files = fakes.bundle(with_results=False)

    verdict = verify.judge(files)

    assert verdict["verdict"] == "CONFIRMED"
    assert "benchmarks" in [item["what"] for item in verdict["not_checked"]]
    assert "without benchmarks" in json.loads(files["bundle.json"])["notice"]


def test_a_users_case_file_is_part_of_the_evidence():
    files = fakes.bundle(case_file=fakes.CASE_FILE)
    other = fakes.sealed_again(files | {"case/mine.py": b"other"})

    assert verify.judge(files)["verdict"] == "CONFIRMED"
    assert any(what.startswith("case/") for what in contradictions(verify.judge(other)))


def test_facts_that_break_a_judge_end_in_a_verdict_not_a_traceback(good, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("facts of a stranger")

    monkeypatch.setattr("bundle.again.judge_again", broken)

    verdict = verify.judge(good)

    assert contradictions(verdict) == [layout.REPORT]
    assert "ZeroDivisionError" in verdict["contradicted"][0]["seen"]


# L1 -------------------------------------------------------------------------------------------------------------------


def test_an_image_built_again_to_the_same_identities_is_confirmed(good):
    asked = []

    def rebuild(lock):
        asked.append(lock)
        return fakes.IMAGE

    verdict = verify.judge(good, rebuild=rebuild)

    assert asked == [fakes.LOCK]
    assert [level["verdict"] for level in verdict["levels"]][:2] == ["CONFIRMED", "CONFIRMED"]


@pytest.mark.parametrize(
    ("change", "what", "seen"),
    [
        pytest.param({"image_id": "sha256:" + "9" * 64}, "rebuilt image: image_id", "sha256:" + "9" * 64, id="config"),
        pytest.param(
            {"diff_ids": [fakes.IMAGE["diff_ids"][0], "sha256:" + "9" * 64]},
            "rebuilt image: layers",
            "layer 2 of 2: sha256:" + "9" * 64,
            id="our layer",
        ),
        pytest.param(
            {"diff_ids": fakes.IMAGE["diff_ids"][:1]}, "rebuilt image: layers", "1 layers", id="a layer fewer"
        ),
    ],
)
def test_an_image_built_again_to_another_identity_is_contradicted_and_classified(good, change, what, seen):
    verdict = verify.judge(good, rebuild=lambda _: fakes.IMAGE | change)

    assert verdict["contradicted"][0]["what"] == what
    assert verdict["contradicted"][0]["seen"] == seen
    assert [level["verdict"] for level in verdict["levels"]][:2] == ["CONFIRMED", "CONTRADICTED"]


def test_nothing_is_built_from_a_bundle_that_contradicts_itself(good):
    def rebuild(_):
        raise AssertionError("must not be asked")

    assert verify.judge(good | {"x": b""}, rebuild=rebuild)["verdict"] == "CONTRADICTED"


def test_a_host_run_has_no_image_to_build(on_host):
    verdict = verify.judge(on_host, rebuild=lambda _: fakes.IMAGE)

    assert {"what": "L1: the image", "reason": "measured on a host: there is no image"} in verdict["not_checked"]


# Folders from strangers -----------------------------------------------------------------------------------------------


def link_out(folder):
    (folder / "x").symlink_to("/etc/passwd")


def link_to_folder(folder):
    (folder / "x").symlink_to("/etc")


def fifo(folder):
    os.mkfifo(folder / "x")


def replaced_by_link(folder):
    (folder / "card.md").unlink()
    (folder / "card.md").symlink_to("/dev/zero")


def collision(folder):
    (folder / "CARD.md").write_bytes(b"")


def too_deep(folder):
    (folder / "a/b/c/d/e/f/g").mkdir(parents=True)


def too_many(folder):
    for number in range(layout.MAX_FILES):
        (folder / f"f{number}").touch()


def too_large(folder):
    with (folder / "x").open("wb") as stream:
        stream.truncate(layout.MAX_FILE_BYTES + 1)


def too_large_together(folder):
    for number in range(3):
        with (folder / f"x{number}").open("wb") as stream:
            stream.truncate(layout.MAX_FILE_BYTES)


def no_manifest(folder):
    (folder / "bundle.json").unlink()


@pytest.mark.parametrize(
    "harm",
    [link_out, link_to_folder, fifo, replaced_by_link, collision, too_deep, too_many, too_large, too_large_together,
     no_manifest],
)  # fmt: skip
def test_a_hostile_folder_is_refused_before_it_is_read(good, tmp_path, harm, monkeypatch):
    if harm is too_large_together:
        monkeypatch.setattr(layout, "MAX_FILE_BYTES", 1 << 20)
        monkeypatch.setattr(layout, "MAX_TOTAL_BYTES", 2 << 20)
    folder = fakes.write(good, tmp_path / "bundle")
    harm(folder)

    with pytest.raises(KitError):
        verify.verify(folder)


def test_a_file_with_an_odd_name_is_only_a_file_too_many(good, tmp_path):
    folder = fakes.write(good, tmp_path / "bundle")
    (folder / b"\xff\n\x1b[31m".decode("utf-8", "surrogateescape")).touch()

    verdict = verify.verify(folder)

    assert verdict["verdict"] == "CONTRADICTED"
    assert json.dumps(verdict).isascii()
    documents.check(verdict, "verdict-1")


@pytest.mark.parametrize("path", ["/dev/null", "/nonexistent", "/dev"])
def test_what_is_no_bundle_is_refused(path):
    with pytest.raises(KitError):
        verify.verify(path)


def test_the_digest_of_every_file_stands_in_the_manifest(good):
    listed = {item["path"]: item["sha256"] for item in json.loads(good["bundle.json"])["files"]}

    assert listed == {p: hashlib.sha256(d).hexdigest() for p, d in good.items() if p != "bundle.json"}
