import json
import random

import pytest

from bundle import seal
from bundle.kept import holds, kept
from tests.bundle import fakes_bundle as fakes

EXPECTED = {
    "image_id": fakes.IMAGE["image_id"],
    "lock_sha256": fakes.L,
    "cargo_sha256": fakes.identity.cargo(),
    "backend": "rocm",
    "host": {"kernel": "6.12.0"},
}
ABOUT = {"image": fakes.IMAGE, "lock": fakes.LOCK, "expected": EXPECTED}


@pytest.fixture
def records(tmp_path):
    """Both runs, as they lie in an output folder."""
    for name, run in (("report.jsonl", fakes.report(numerics=None)), ("results.jsonl", fakes.results())):
        (tmp_path / name).write_bytes(fakes.lines(run))
    return tmp_path / "report.jsonl", tmp_path / "results.jsonl"


def changed(path, change):
    """Write the records again after `change` had them."""
    items = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    change(items)
    path.write_bytes(fakes.lines(items))


def test_whole_records_of_the_same_things_are_kept(records):
    report, results = records

    assert [item["kind"] for item in kept(report, **ABOUT)][:2] == ["start", "facts"]
    assert kept(report, results, suite="custom", **ABOUT)[0]["document"] == "results-1"


def test_there_is_nothing_to_keep_and_nothing_to_say_where_there_is_no_record(tmp_path):
    said = []

    assert kept(tmp_path / "absent.jsonl", tell=said.append, **ABOUT) is None
    assert said == []


def test_a_run_of_other_gpus_is_made_again(records):
    said, address = [], fakes.GPU["pci"]

    assert kept(*records, suite="custom", gpus=[address], **ABOUT)
    for others in (["0000:ff:00.0"], [address, "0000:ff:00.0"]):
        assert kept(*records, suite="custom", gpus=others, tell=said.append, **ABOUT) is None
    assert said == ["it was of other GPUs"] * 2


@pytest.mark.parametrize(
    ("expected", "suite", "words"),
    [
        pytest.param({"image_id": "sha256:9"}, "custom", "another image_id", id="another image"),
        pytest.param({"lock_sha256": "9"}, "custom", "another lock_sha256", id="another lock"),
        pytest.param({"cargo_sha256": "9"}, "custom", "another cargo_sha256", id="other sources of the kit"),
        pytest.param({"backend": "cpu"}, "custom", "another backend", id="another backend"),
        pytest.param({"host": {"kernel": "6.2"}}, "custom", "another host", id="another kernel"),
        pytest.param({}, "quick", "of the suite custom", id="another suite"),
    ],
)
def test_a_run_is_made_again_when_it_is_not_of_what_is_here(records, expected, suite, words):
    said = []

    assert (
        kept(*records, **(ABOUT | {"expected": EXPECTED | expected}), suite=suite, tell=said.append),
        words in said[0],
    ) == (None, True), said


def change_finding(items):
    next(item for item in items if item["kind"] == "finding")["status"] = "fail"


def forget(key):
    """Return a change that takes `key` out of the first record that has it."""

    def change(items):
        del next(item for item in items if key in item)[key]

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param(0, change_finding, id="a finding failed"),
        pytest.param(0, forget("facts"), id="facts are gone"),
        pytest.param(0, forget("host"), id="the host is gone"),
        pytest.param(0, lambda items: items.pop(), id="cut off"),
        pytest.param(0, lambda items: items.clear(), id="empty"),
        pytest.param(1, forget("protocol"), id="the protocol is gone"),
        pytest.param(1, lambda items: items[0]["protocol"].pop("cases"), id="the cases are gone"),
        pytest.param(1, lambda items: items[0].update(protocol=[]), id="a protocol of another shape"),
        pytest.param(1, lambda items: items[0].update(host=7), id="a host of another shape"),
        pytest.param(1, forget("seconds"), id="a sample without its seconds"),
        pytest.param(1, lambda items: items[1].update(seconds="1"), id="seconds as text"),
        pytest.param(1, lambda items: items[1].update(seconds=1.0), id="another sample"),
        pytest.param(1, lambda items: items[-2].update(status=["ok"]), id="a status of another shape"),
        pytest.param(1, lambda items: items[-2].update(status="killed"), id="a case was killed"),
        pytest.param(1, lambda items: items[0].update(torch={"version": "9"}), id="another torch than the report's"),
    ],
)
def test_a_damaged_record_is_made_again_and_it_is_said_why(records, name, change):
    changed(records[name], change)
    said = []

    assert kept(*records[: name + 1], suite="custom" if name else "", tell=said.append, **ABOUT) is None
    assert len(said) == 1


def test_a_record_with_any_byte_changed_is_kept_only_if_it_still_holds(records):
    report, results = records
    chance = random.Random(7)
    for path, paths in ((report, (report,)), (results, records)):
        whole = path.read_bytes()
        for _ in range(60):
            place = chance.randrange(len(whole))
            path.write_bytes(whole[:place] + bytes([chance.randrange(256)]) + whole[place + 1 :])
            found = kept(*paths, suite="custom" if path is results else "", **ABOUT)
            if found is not None:  # then it can be sealed, which says that it verifies
                out = report.parent / "out"
                seal.seal(report, results, image=fakes.IMAGE, lock=fakes.LOCK, out=out, names={})
        path.write_bytes(whole)


def test_a_bundle_holds_the_records_that_it_was_sealed_from_and_no_others(tmp_path, records):
    report, results = records
    out = tmp_path / "out"
    seal.seal(report, results, image=fakes.IMAGE, lock=fakes.LOCK, out=out, names={})

    assert holds(out / "bundle", report, results, image=fakes.IMAGE | {"built_at": "today, after it had been removed"})
    for key in ("lock_sha256", "image_id", "manifest_digest", "diff_ids"):
        assert not holds(out / "bundle", report, results, image=fakes.IMAGE | {key: "another"}), key
    assert not holds(out / "bundle", report, report, image=fakes.IMAGE)
    results.unlink()
    assert not holds(out / "bundle", report, results, image=fakes.IMAGE)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: path.unlink(), id="gone"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:-1]), id="cut off"),
        pytest.param(lambda path: path.write_bytes(b"x" + path.read_bytes()[1:]), id="another byte"),
        pytest.param(lambda path: (path.unlink(), path.mkdir()), id="a folder"),
    ],
)
def test_a_bundle_without_its_very_archive_is_sealed_again(tmp_path, records, damage):
    out = tmp_path / "out"
    done = seal.seal(*records, image=fakes.IMAGE, lock=fakes.LOCK, out=out, names={})

    damage(out / "bundle.tar")

    assert done["tar"] == str(out / "bundle.tar")
    assert not holds(out / "bundle", *records, image=fakes.IMAGE)
