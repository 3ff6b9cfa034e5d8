"""One good bundle; each broken one differs in one thing, and is caught by name."""

import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from bundle import archive, console, image, layout, seal, streams, verify, views
from bundle.ledger import Ledger
from schema import canon, documents
from schema.errors import KitError
from tests.bundle import fakes_bundle as fakes
from tests.bundle.lies import LIES, samples, summary


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


@pytest.mark.parametrize(("made", "documents_"), [({}, "1 document,"), ({"host": False}, "3 documents,")])
def test_one_of_a_thing_is_not_said_to_be_many(made, documents_):
    verdict = verify.judge(fakes.bundle(**{"host": True, "with_results": False} | made))

    said = " ".join(verdict["claimed"] + verdict["confirmed"])
    assert f"the evidence follows its schemas: {documents_}" in said
    assert not re.search(r"\b1 \w+s\b", said)


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


@pytest.mark.parametrize(("lie", "what"), [pytest.param(lie, what, id=name) for name, lie, what in LIES])
def test_a_lie_whose_digests_fit_is_still_caught(good, lie, what):
    files = lie(good)
    assert files != good

    verdict = verify.judge(files)

    assert verdict["verdict"] == "CONTRADICTED"
    assert any(said.startswith(what) for said in contradictions(verdict)), contradictions(verdict)
    assert not re.search(r"\bNone\b", console.verdict_lines(verdict))


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
    from bundle import identity

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
    assert any("report.html" in item["what"] for item in verdict["not_checked"])


def test_by_newer_rules_figures_must_follow_from_the_samples_all_the_same(good):
    lying = summary(lambda case: case.update(value=case["value"] * 1.01))(good)

    verdict = verify.judge(other_sources(lying))

    assert contradictions(verdict) == ["benchmarks/summary.json: matmul.bf16.8192: value"]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        pytest.param(lambda it: it["cases"][0].update(status="throttled"), "matmul.bf16.8192: status", id="status"),
        pytest.param(lambda it: it["cases"][0].update(of_peak=0.99), "matmul.bf16.8192: of_peak", id="share of peak"),
        pytest.param(lambda it: it["cases"][0].update(dtype="fp8"), "matmul.bf16.8192: dtype", id="type"),
        pytest.param(lambda it: it.update(device="AMD Instinct MI355X"), "device", id="device"),
        pytest.param(lambda it: it.update(gpu_result=False), "gpu_result", id="GPU"),
        pytest.param(lambda it: it.update(confidence=0.5), "confidence", id="confidence"),
    ],
)
def test_by_whatever_rules_a_summary_says_what_the_run_says(good, change, what):
    document = json.loads(good[layout.SUMMARY])
    change(document)

    verdict = verify.judge(other_sources(good | {layout.SUMMARY: canon.dumps(document)}))

    assert contradictions(verdict) == [f"{layout.SUMMARY}: {what}"]


def test_another_peak_is_a_note_and_its_share_must_be_of_it(good):
    document = json.loads(good[layout.SUMMARY])
    document["cases"][0] |= {"peak": 1e15, "of_peak": document["cases"][0]["value"] / 1e15}

    verdict = verify.judge(other_sources(good | {layout.SUMMARY: canon.dumps(document)}))

    assert contradictions(verdict) == []
    assert any("another peak of matmul.bf16.8192" in note for note in verdict["notes"])


def test_what_other_sources_wrote_or_judged_is_said_last_and_plainly(good):
    verdict = verify.judge(other_sources(good | {"card.md": b"fastest"}))

    said = {item["what"]: item["reason"] for item in verdict["not_checked"]}
    views_ = [what for what in said if "card.md" in what]
    word = next(item["reason"] for item in verdict["not_checked"] if item["what"] == layout.AT_ITS_WORD)
    assert "measured by sources that this checkout does not have" in word
    assert "K 0000" in word
    assert "would be judged otherwise by this kit" in said["findings as they were judged"]
    assert len(views_) == 1
    assert "do not open or trust it" in said[views_[0]]


def test_a_verdict_says_no_sentence_twice(good):
    said = console.verdict_lines(verify.judge(other_sources(good | {"card.md": b"fastest"}))).splitlines()
    reasons = [line.rpartition(": ")[2] for line in said if line.startswith(("not checked", "note"))]
    long = [reason for reason in reasons if len(reason) > 40]

    assert len(long) == len(set(long))
    assert all(line.count("taken at their word") <= 1 for line in said)
    assert sum("taken at their word" in line for line in said) == 1


def test_a_figure_above_the_datasheets_peak_is_said_aloud_whoever_measured_it(good, monkeypatch):
    monkeypatch.setattr("benchmarks.hardware.peak", lambda *_: (1e12, "a slow datasheet"))

    notice = json.loads(fakes.bundle()["bundle.json"])["notice"]
    verdict = verify.judge(other_sources(good))

    assert "above the datasheet's peak, so doubtful: matmul.bf16.8192, copy.fp32.1gib" in notice
    assert any("above the datasheet's peak" in note for note in verdict["notes"])


@pytest.mark.parametrize(
    "name",
    [
        "ten processes, of which three ran",
        "an order with a pair twice",
        "a process beyond the order",
        "a check twice",
        "a figure from a state that was not steady",
        "a precision that is not enough",
        "a drift kept quiet",
        "samples throttled, and no word of it",
        "a CPU's run in both starts",
        "a GPU's run timed by the host",
        "a process on another device",
        "results of another PyTorch",
    ],
)
def test_a_false_k_hides_no_contradiction_of_the_evidence_with_itself(good, name):
    lie, what = next((lie, what) for known, lie, what in LIES if known == name)

    found = contradictions(verify.judge(other_sources(lie(good))))

    assert any(said.startswith(what) for said in found), found


def test_a_validation_of_some_checks_says_which_are_missing_and_is_not_confirmed():
    files = fakes.evidence()
    kept = [item for item in fakes.report() if item.get("check", "driver") == "driver"][:-1]
    files[layout.REPORT] = fakes.lines([*kept, fakes.end(kept)])

    sealed = fakes.seal.assemble(files, created_at=fakes.WHEN, names={})[1]
    verdict = verify.judge(sealed)

    assert "validation incomplete: without device_nodes, groups" in json.loads(sealed["bundle.json"])["notice"]
    assert "validation" in [item["what"] for item in verdict["not_checked"]]
    assert not any("follow from the recorded facts" in item for item in verdict["confirmed"])


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


def named_as_the_kits(lines):
    lines[:] = [line.replace(fakes.OWN.encode(), b"copy.fp32.1gib") for line in lines]


@pytest.mark.parametrize("foreign", [False, True], ids=["by the sources here", "by others"])
def test_a_users_own_case_may_not_bear_the_name_of_a_case_of_the_kit(foreign):
    files = fakes.bundle(case_file=fakes.CASE_FILE)
    files = samples(named_as_the_kits)(files)

    verdict = verify.judge(other_sources(files) if foreign else files)

    assert ("benchmarks/protocol.json: the user's own case", "copy.fp32.1gib") in [
        (item["what"], item["seen"]) for item in verdict["contradicted"]
    ]


def test_facts_that_break_a_judge_end_in_a_verdict_not_a_traceback(good, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("facts of a stranger")

    monkeypatch.setattr("bundle.judging.judge_again", broken)

    verdict = verify.judge(good)

    assert contradictions(verdict) == [layout.REPORT]
    assert "ZeroDivisionError" in verdict["contradicted"][0]["seen"]


@pytest.mark.parametrize(
    ("digest", "notes"), [(None, 0), (fakes.L, 0), ("e" * 64, 1)], ids=["not one of ours", "ours", "another"]
)
def test_a_lock_that_bears_the_name_of_one_of_ours_and_is_another_is_noted(good, digest, notes):
    asked = []

    def shipped(name):
        asked.append(name)
        return digest

    verdict = verify.judge(good, shipped=shipped)

    found = [note for note in verdict["notes"] if "a lock of this name ships with the kit, and this is another" in note]
    assert asked == [fakes.LOCK["name"]]
    assert len(found) == notes
    assert all(fakes.L in note and "e" * 64 in note for note in found)
    assert verdict["verdict"] == "CONFIRMED"


@pytest.mark.parametrize("call", ["verify.verify({place!r})", "seal.assemble({{}}, created_at='')"])
def test_without_docstrings_nothing_is_judged_and_the_reason_is_said(good, tmp_path, call):
    place = str(fakes.write(good, tmp_path / "bundle"))
    code = f"""
from bundle import seal, verify
from schema.errors import KitError
try:
    {call.format(place=place)}
except KitError as error:
    print(error.message, "|", error.hint)
"""

    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True)

    assert "docstrings" in done.stdout
    assert done.stdout.strip().endswith("| unset PYTHONOPTIMIZE")


def test_a_figure_beyond_all_numbers_is_refused_with_a_name_and_a_remedy():
    files = fakes.evidence(host=True, with_report=False)
    lines = [json.loads(line) for line in files[layout.SAMPLES].splitlines()]
    lines[0]["protocol"]["cases"][0]["work"] = 1.7e308
    sealed = seal.understood({layout.SAMPLES: streams.pack(fakes.lines(lines))})

    with pytest.raises(KitError, match=r"the summary of the samples has a figure beyond all numbers: .*inf") as refused:
        views.summary(sealed)

    assert refused.value.hint == views.AGAIN


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


ALONE = fakes.LOCK | {"debs": [], "wheels": [], "environment": {}}


@pytest.mark.parametrize(
    ("lock", "said"),
    [
        pytest.param(fakes.LOCK | {"base": None}, "the image was built again", id="of packages alone"),
        pytest.param(
            ALONE | {"base": {"digest_kind": "index"}}, "is a published one, had again by its digest", id="a base"
        ),
        pytest.param(
            ALONE | {"base": {"digest_kind": "index"}, "environment": {"A": "1"}},
            "was built again",
            id="variables on a base",
        ),
        pytest.param(ALONE | {"base": {"digest_kind": "config"}}, "", id="an image known by its id"),
    ],
)
def test_what_was_built_is_not_said_of_what_was_found(lock, said):
    ledger = Ledger()
    evidence = SimpleNamespace(lock=lock, image=fakes.IMAGE)

    level = image.built_again(evidence, lambda _: fakes.IMAGE, ledger)

    assert level == ("CONFIRMED" if said else "NOT_CHECKED")
    assert [said in line for line in ledger.confirmed] == [True] * bool(said)
    assert bool(ledger.not_checked) == (not said)


def no_engine(_):
    raise KitError("no engine answers", "./kit --setup doctor")


def test_an_image_that_could_not_be_built_again_leaves_the_verdict_of_l0_and_says_why(good):
    verdict = verify.judge(good, rebuild=no_engine)

    reason = "it could not be built again: no engine answers; ./kit --setup doctor"
    assert verdict["verdict"] == "CONFIRMED"
    assert [level["verdict"] for level in verdict["levels"]][:2] == ["CONFIRMED", "NOT_CHECKED"]
    assert {"what": "L1: the image", "reason": reason} in verdict["not_checked"]


@pytest.mark.parametrize(
    ("change", "rebuild", "code"),
    [
        pytest.param({}, None, 0, id="confirmed"),
        pytest.param({}, lambda _: fakes.IMAGE, 0, id="confirmed, image and all"),
        pytest.param({}, no_engine, 2, id="what was asked for could not be done"),
        pytest.param({}, lambda _: fakes.IMAGE | {"image_id": "sha256:" + "9" * 64}, 1, id="another image"),
        pytest.param({"x": b""}, None, 1, id="contradicted"),
        pytest.param({"x": b""}, no_engine, 1, id="contradicted, so nothing is built"),
    ],
)
def test_the_exit_code_says_which_of_the_three_it_was(good, change, rebuild, code):
    verdict = verify.judge(good | change, rebuild=rebuild)

    assert verify.exit_code(verdict, rebuild=rebuild is not None) == code


def test_an_image_that_is_not_the_one_that_ships_with_the_kit_is_contradicted(good):
    asked = []

    def unexpected(image):
        asked.append(image)
        return [{"path": "x.image.json", "field": "image_id", "committed": "sha256:9", "built": image["image_id"]}]

    verdict = verify.judge(good, unexpected=unexpected)

    assert asked == [fakes.IMAGE]
    assert verdict["contradicted"] == [
        {
            "what": "image.json: image_id",
            "seen": fakes.IMAGE["image_id"],
            "expected": "sha256:9, as x.image.json says",
        }
    ]
    assert contradictions(verify.judge(good, unexpected=lambda _: [])) == []


@pytest.mark.parametrize("when", ["2026-13-45T00:00:00Z", "0001-01-01T00:00:00Z", "2026-11-01T00:00:00Z"])
def test_a_bundle_is_sealed_on_a_day_that_there_was_after_what_it_holds(good, when):
    found = contradictions(verify.judge(fakes.sealed_again(good, created_at=when)))

    assert found == ["bundle.json: created_at"]


# What is claimed, and by whom -----------------------------------------------------------------------------------------


def test_a_verdict_says_first_what_the_bundle_claims(good):
    claimed = verify.judge(good)["claimed"]

    assert claimed[0] == "on AMD Instinct MI300X (rocm), amdgpu 6.12.12"
    assert claimed[1].startswith(
        "with PyTorch 2.6.0+rocm5.7.1, ROCm 5.7.1, HIP 5.7.31921, Python 3.13.5; the image sha256:"
    )
    assert claimed[2].startswith(f"at {fakes.WHEN}; validation: ")
    assert claimed[3] == "suite custom, 3 processes a case: 2 of 2 cases measured · 240 samples"
    assert [line.partition(":")[0] for line in claimed[4:]] == [item["case"] for item in fakes.CASES]


def test_what_an_unknown_k_leaves_unchecked_is_said_in_the_answer_and_on_the_card(good):
    files = other_sources(good)
    last = console.verdict_lines(verify.judge(files)).splitlines()[-1]
    evidence = fakes.seal.understood(files)
    card = views.views(evidence, views.summary(evidence))["card.md"].decode()

    assert last == "CONFIRMED at L0, but for what only its own sources can tell"
    assert "measured by sources that this checkout does not have" in card.splitlines()[0]
    assert console.verdict_lines(verify.judge(good)).splitlines()[-1] == "CONFIRMED at L0"


# A case that forks ----------------------------------------------------------------------------------------------------


def doubled(lines):
    """Write each sample and record of the first process a second time, as its copy does; count right."""
    end = json.loads(lines.pop())
    mine = [line for line in lines if b'"matmul.bf16.8192","process":0' in line]
    place = lines.index(mine[-1]) + 1
    lines[place:place] = mine
    end["counts"]["sample"] += len(mine) - 1
    end["counts"]["process"] += 1
    lines.append(json.dumps(end).encode() + b"\n")


def process_twice(lines):
    end = json.loads(lines.pop())
    lines.insert(43, lines[42])
    end["counts"]["process"] += 1
    lines.append(json.dumps(end).encode() + b"\n")


def sample_after_its_end(lines):
    lines[40], lines[42] = lines[42], lines[40]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(doubled, "stands after the record of its end", id="all of a process twice"),
        pytest.param(process_twice, "a process stands twice", id="its record twice"),
        pytest.param(sample_after_its_end, "stands after the record of its end", id="a sample after its end"),
    ],
)
def test_each_process_has_its_samples_once_before_its_one_record(good, change, words):
    found = verify.judge(samples(change)(good))["contradicted"]

    assert any(words in f"{item['what']} {item['seen']}" for item in found), found


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

    with pytest.raises(KitError) as refused:
        verify.verify(folder)

    assert refused.value.hint


def test_a_file_with_an_odd_name_is_only_a_file_too_many(good, tmp_path):
    folder = fakes.write(good, tmp_path / "bundle")
    (folder / b"\xff\n\x1b[31m".decode("utf-8", "surrogateescape")).touch()

    verdict = verify.verify(folder)

    assert verdict["verdict"] == "CONTRADICTED"
    assert json.dumps(verdict).isascii()
    documents.check(verdict, "verdict-1")


@pytest.mark.parametrize("place", ["x", "case/x", "benchmarks/a/b"])
def test_an_empty_folder_is_a_thing_too_many(good, tmp_path, place):
    folder = fakes.write(good, tmp_path / "bundle")
    (folder / place).mkdir(parents=True)

    found = verify.verify(folder)["contradicted"]

    assert [(item["what"], item["seen"]) for item in found] == [(f"{place}/", "an empty folder")]


@pytest.mark.parametrize("harm", [link_out, fifo, too_deep, too_many])
def test_a_folder_without_a_manifest_is_no_bundle_whatever_else_it_holds(tmp_path, harm):
    harm(tmp_path)

    with pytest.raises(KitError, match=r"not a bundle: it has no bundle\.json"):
        verify.verify(tmp_path)


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero", "/nonexistent", "/dev", "/proc", "/sys", "/", "x\0y", ""])
def test_what_is_no_bundle_is_refused_with_a_remedy(path):
    with pytest.raises(KitError) as refused:
        verify.verify(path)

    assert refused.value.hint


def test_the_digest_of_every_file_stands_in_the_manifest(good):
    listed = {item["path"]: item["sha256"] for item in json.loads(good["bundle.json"])["files"]}

    assert listed == {p: hashlib.sha256(d).hexdigest() for p, d in good.items() if p != "bundle.json"}
