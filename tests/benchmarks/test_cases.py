"""Every case follows the case protocol; with torch at hand, small ones are right and cannot pass when wrong."""

import math
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import cases
from benchmarks.correctness import rows_to_check
from benchmarks.workbench import MAX_SETS, Workbench
from schema.documents import problems, validator
from schema.errors import KitError

DESCRIBED = {item["case"]: item for case in cases.built_in() for item in cases.describe(case)}
SMALL = [name for name in cases.SUITES["smoke"]["cpu"] if not name.startswith(("resnet50", "copy"))]


def test_every_file_is_listed():
    files = {path.stem for path in Path(cases.__file__).parent.glob("*.py")} - {"__init__"}

    assert {case.name for case in cases.built_in()} == files


@pytest.mark.parametrize("name", DESCRIBED)
def test_every_variant_follows_the_schema(name):
    assert problems(DESCRIBED[name], validator("results-1", "#/$defs/case")) == []


@pytest.mark.parametrize("suite", cases.SUITES)
def test_suites_name_cases_that_exist_once_each(suite):
    for names in cases.SUITES[suite].values():
        assert len(set(names)) == len(names)
        assert set(names) <= set(DESCRIBED)


def test_every_variant_is_in_some_suite():
    used = {name for sizes in cases.SUITES.values() for names in sizes.values() for name in names}

    assert set(DESCRIBED) == used


@pytest.mark.parametrize(
    ("name", "flop", "moved"),
    [
        ("matmul.bf16.8192", 2 * 8192**3, 3 * 2 * 8192**2),
        ("copy.fp32.1gib", None, 2 << 30),
        ("groupnorm.bf16.unet", None, 2 * 2 * 16 * 320 * 128 * 128),
        ("decode.bf16.4096", 4 * 16 * 32 * 4096 * 128, 2 * 16 * 32 * 128 * (2 + 2 * 4096)),
        ("attention.bf16.4096", 4 * 4 * 32 * 128 * 4096 * 4097 / 2, 2 * 4 * 32 * 128 * 4 * 4096),
    ],
)
def test_work_is_counted_by_hand(name, flop, moved):
    assert (DESCRIBED[name]["flop"], DESCRIBED[name]["bytes"]) == (flop, moved)


def module(**changes):
    good = {
        "GROUP": "custom",
        "UNIT": "B/s",
        "VARIANTS": {"a": {}},
        "work": lambda _: {"bytes": 8},
        "prepare": None,
        "step": None,
        "check": None,
        "__doc__": "Title: what for?\n\nMore.",
    }
    return SimpleNamespace(**{name: value for name, value in {**good, **changes}.items() if value is not ...})


def test_the_first_line_of_a_case_is_its_title():
    assert cases.describe(cases.Loaded("own", module()))[0]["title"] == "Title"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step": ...}, "the case own has no step"),
        ({"UNIT": "bananas"}, "the case own has UNIT 'bananas'"),
        ({"VARIANTS": {"Ä": {}}}, "'own.Ä' is no name of a case"),
        ({"work": lambda _: {"flop": 1}}, "own.a: work() does not count 'bytes', of which B/s is made"),
    ],
)
def test_a_case_that_lacks_something_is_refused_by_name(changes, message):
    with pytest.raises(KitError) as caught:
        cases.describe(cases.Loaded("own", module(**changes)))

    assert caught.value.message == message


def test_one_row_of_each_block_is_checked():
    rows = rows_to_check(1000, 64, seed=1)

    assert [row // 64 for row in rows] == list(range(16))
    assert rows == rows_to_check(1000, 64, seed=1) != rows_to_check(1000, 64, seed=2)
    assert rows_to_check(1, 64, seed=0) == [0]


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed on this host; the images' own runs these cases")


def bench(torch, llc=None, budget=1 << 28):
    return Workbench(torch.device("cpu"), 0, llc, budget)


@pytest.mark.parametrize(
    ("llc", "budget", "mode", "sets"),
    [
        (1000, 1 << 20, "rotate", 31),  # ceil(3 x 1000 / 100) + 1
        (1000, 3000, "hot", 1),
        (100 * MAX_SETS, 1 << 30, "hot", 1),
        (None, 1 << 20, "hot", 1),
    ],
    ids=["enough", "no memory for them", "too many", "cache unknown"],
)
def test_as_many_sets_as_defeat_the_cache(torch, llc, budget, mode, sets):
    found = bench(torch, llc, budget)

    assert len(found.sets(100)) == sets
    assert found.cache == {"mode": mode, "sets": sets, "llc_bytes": llc, "set_bytes": 100}
    assert bool(found.notes) == (mode == "hot")


def prepared(torch, name):
    file, _, label = name.partition(".")
    case = next(loaded.module for loaded in cases.built_in() if loaded.name == file)
    state = case.prepare(bench(torch), case.VARIANTS[label])
    return case, state


@pytest.mark.parametrize("name", SMALL)
def test_small_cases_are_right(torch, name):
    case, state = prepared(torch, name)

    found = case.check(state, 0, case.step(state, 0))

    assert found["passed"], found
    assert found["error"] <= found["tolerance"] / 2


def spoil(output, how):
    output = output.clone()
    if how == "nan":
        output.view(-1)[:] = math.nan
    elif how == "zeros":
        output.zero_()
    elif how == "off by 5 %":
        output *= 1.05
    elif how == "another shape":
        output = output[..., :-1]
    return output


@pytest.mark.parametrize("how", ["nan", "zeros", "off by 5 %", "another shape"])
@pytest.mark.parametrize("name", SMALL)
def test_a_spoilt_output_never_passes(torch, name, how):
    case, state = prepared(torch, name)

    assert not case.check(state, 0, spoil(case.step(state, 0), how))["passed"]


def test_an_output_that_was_never_written_has_nan(torch):
    case, state = prepared(torch, "matmul.fp32.256")
    _, _, out = state["sets"][0]

    found = case.check(state, 0, out)

    assert (found["passed"], found["finite"]) == (False, False)


def test_a_copy_must_be_exact(torch):
    copy = next(loaded.module for loaded in cases.built_in() if loaded.name == "copy")
    state = copy.prepare(bench(torch), {"dtype": "fp32", "elements": 1000})
    output = copy.step(state, 0)

    right = copy.check(state, 0, output)
    output[999] += 1e-6
    wrong = copy.check(state, 0, output)

    assert (right["passed"], right["error"], wrong["passed"]) == (True, 0.0, False)
