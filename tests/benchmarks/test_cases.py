"""Every case follows the case protocol; with torch at hand, small ones are right and cannot pass when wrong."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import cases, selftest
from benchmarks.correctness import rows_to_check
from benchmarks.workbench import MAX_SETS, Unsupported, Workbench
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
        "prepare": lambda *_: None,
        "step": lambda *_: None,
        "check": lambda *_: None,
        "__doc__": "Title: what for?\n\nMore.",
    }
    return SimpleNamespace(**{name: value for name, value in {**good, **changes}.items() if value is not ...})


@pytest.mark.parametrize(
    ("said", "title"), [("Title: what for?\n\nMore.", "Title"), (None, "own"), (" \n ", "own"), (3, "3")]
)
def test_the_first_line_of_a_case_is_its_title(said, title):
    assert cases.describe(cases.Loaded("own", module(__doc__=said)))[0]["title"] == title


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step": ...}, "own: it has no step"),
        ({"UNIT": "bananas"}, "own: UNIT is 'bananas'"),
        ({"UNIT": ["s"]}, "own: UNIT is ['s']"),
        ({"GROUP": "kernel"}, "own: GROUP is 'kernel'"),
        ({"GROUP": None}, "own: GROUP is None"),
        ({"VARIANTS": {}}, "own: it has no variants: VARIANTS maps names to parameters"),
        ({"VARIANTS": ["a"]}, "own: it has no variants: VARIANTS maps names to parameters"),
        ({"VARIANTS": {"a": {"dtype": 3}}}, "own: own.a: the dtype 3 is no name"),
        (
            {"VARIANTS": {"a": {"size": math.nan}}},
            "own: own.a: ValueError: Out of range float values are not JSON compliant",
        ),
        ({"VARIANTS": {"a": {"size": {1}}}}, "own: own.a: TypeError: Object of type set is not JSON serializable"),
        ({"VARIANTS": {"a": 3}}, "own: own.a: TypeError: 'int' object is not iterable"),
        ({"VARIANTS": {"a\n": {}}}, "own: 'own.a\\n' is no name of a case"),
        ({"work": lambda p: {"bytes": p["rows"]}}, "own: own.a: KeyError: 'rows'"),
        (
            {"work": lambda _: {"bytes": 0}},
            "own: own.a: work() counts 'bytes' in 0, which is not above 0 and at most 1e+30",
        ),
        ({"work": lambda _: {"bytes": 8, "flop": math.inf}}, "own: own.a: work() counts 'flop' in inf"),
        (
            {"work": lambda _: {"bytes": 8, "flop": 1.7e308}},
            "own: own.a: work() counts 'flop' in 1.7e+308, which is not",
        ),
        ({"VARIANTS": {1: {}, "1": {}}}, "own: 2 of its variants are called own.1"),
        ({"__doc__": "T" * 3_000_000}, "own: its first line is its title, and has 3000000 characters: 100 at most"),
        ({"VARIANTS": {"a": {"text": "T" * 3_000_000}}}, "own: own.a: its parameters have 3000012 characters: 10000"),
        ({"work": lambda _: {"bytes": True}}, "own: own.a: work() counts 'bytes' in True"),
        ({"VARIANTS": {"Ä": {}}}, "own: 'own.Ä' is no name of a case"),
        ({"work": lambda _: {"flop": 1}}, "own: own.a: work() does not count 'bytes', of which B/s is made"),
        ({"work": lambda _: {"bytes": 10**400}}, "own: own.a: work() counts 'bytes' in 1000"),
        ({"work": lambda _: None}, "own: own.a: TypeError: 'NoneType' object is not iterable"),
        ({"step": 3}, "own: step is no function"),
        ({"step": lambda state: state}, "own: step(state, i) cannot be called: too many positional arguments"),
        ({"check": lambda *, output: output}, "own: check(state, i, output) cannot be called: "),
        ({"work": lambda *, p: p}, "own: work(p) cannot be called: too many positional arguments"),
    ],
)
def test_a_case_that_lacks_something_is_refused_by_name(changes, message):
    with pytest.raises(KitError) as caught:
        cases.describe(cases.Loaded("own", module(**changes)))

    assert caught.value.message.startswith(message)


@pytest.mark.parametrize("name", [own.name for own in cases.built_in()])
def test_an_own_file_cannot_be_called_like_a_case_of_the_kit(name):
    with pytest.raises(KitError) as caught:
        cases.describe(cases.Loaded(name, module(), f"/some/where/{name}.py", "0" * 64))

    assert caught.value.message == f"{name}.py: {name} is a case of the kit"
    assert caught.value.hint.startswith("rename the file")


@pytest.mark.parametrize("unit", cases.UNITS)
@pytest.mark.parametrize("group", cases.GROUPS)
def test_what_is_described_can_be_sealed(group, unit):
    work = {"flop": 1, "bytes": 2.5, "items": 3, "tokens": 4}
    own = module(GROUP=group, UNIT=unit, VARIANTS={"a": {"shape": (1, 2)}}, work=lambda _: work)

    (item,) = cases.describe(cases.Loaded("own", own))

    assert problems(item, validator("results-1", "#/$defs/case")) == []
    assert item["parameters"] == {"shape": [1, 2]}


def test_the_groups_are_those_of_the_schema():
    schema = json.loads((Path(cases.__file__).parents[2] / "schema" / "results-1.schema.json").read_text())

    assert list(cases.GROUPS) == schema["$defs"]["case"]["properties"]["group"]["enum"]


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


@pytest.mark.parametrize("size", [0, -5, math.nan, math.inf])
def test_a_set_has_some_bytes(torch, size):
    with pytest.raises(ValueError, match="bytes of one step"):
        bench(torch, 1000).sets(size)


def test_a_part_of_a_byte_counts_as_one(torch):
    found = bench(torch, 1000)

    assert len(found.sets(99.5)) == 31
    assert found.cache["set_bytes"] == 100


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


def test_every_case_and_type_refuses_what_is_spoilt(torch):  # noqa: ARG001 -- needs it
    found = {line["case"]: line for line in selftest.examine()}

    failed = {case: line for case, line in found.items() if line["status"] == "fail"}
    assert failed == {}
    assert {case for case, line in found.items() if line["status"] == "pass"} >= {
        "matmul.fp32",
        "matmul.bf16",
        "copy.fp32",
    }
    assert {case.partition(".")[0] for case in found} == {case.name for case in cases.built_in()}


def test_the_selftest_fails_a_check_that_sees_nothing(torch, monkeypatch, capsys):  # noqa: ARG001 -- needs it
    blind = {"passed": True, "error": 0.0, "tolerance": 0.0, "finite": True, "reference": "nothing"}
    monkeypatch.setattr(cases.copy, "check", lambda *_: blind)
    monkeypatch.setattr(cases, "CASES", (cases.copy,))

    assert selftest.main() == 1
    line = json.loads(capsys.readouterr().out)
    assert line["let_through"] == [*selftest.SPOILS, "another input"]


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("batch", [1, 2])
def test_what_a_model_made_of_another_image_is_refused(torch, dtype, batch):
    pytest.importorskip("torchvision", reason="torchvision is not installed on this host")
    state = cases.resnet50.prepare(bench(torch), {"dtype": dtype, "batch": batch})

    right = cases.resnet50.check(state, 0, cases.resnet50.step(state, 0))
    other = {**state, "images": state["images"].flip((0, 1))}
    wrong = cases.resnet50.check(state, 0, cases.resnet50.step(other, 0))

    assert (right["passed"], wrong["passed"]) == (True, False)
    assert right["error"] < right["tolerance"] / 2 < wrong["error"] / 4


def test_float32_is_not_called_tf32(torch):
    case, state = cases.matmul, cases.matmul.prepare(bench(torch), {"dtype": "tf32", "m": 64, "n": 64, "k": 64})
    output = case.step(state, 0)
    rounded = output * (1 + 5e-4 * torch.randn(output.shape, generator=torch.Generator().manual_seed(0)))

    with pytest.raises(Unsupported, match="computed in float32, not in tf32"):
        case.check(state, 0, output)
    assert case.check(state, 0, rounded)["passed"]
    assert not case.check(state, 0, output * 2)["passed"]


def test_only_the_declared_type_moves_the_switch_of_tf32(torch):
    switches = torch.backends.cuda.matmul, torch.backends.cudnn
    seen = []
    for tf32 in (True, False):
        made = Workbench(torch.device("cpu"), 0, None, 1, tf32=tf32)
        made.dtype("tf32" if not tf32 else "fp32")
        made.randn(2, dtype="tf32" if not tf32 else "fp32")
        seen.append([switch.allow_tf32 for switch in switches])

    assert seen == [[True, True], [False, False]]


def test_poison_fills_every_buffer_again(torch):
    made = bench(torch)
    without = made.poison()
    buffers = [made.poisoned(3, dtype=dtype) for dtype in ("fp32", "bf16")]
    for buffer in buffers:
        buffer.zero_()

    assert (without, made.poison()) == (False, True)
    assert all(bool(buffer.isnan().all()) for buffer in buffers)


def test_a_copy_must_be_exact(torch):
    copy = next(loaded.module for loaded in cases.built_in() if loaded.name == "copy")
    state = copy.prepare(bench(torch), {"dtype": "fp32", "elements": 1000})
    output = copy.step(state, 0)

    right = copy.check(state, 0, output)
    output[999] += 1e-6
    wrong = copy.check(state, 0, output)

    assert (right["passed"], right["error"], wrong["passed"]) == (True, 0.0, False)
