"""The guide's case is a whole one: it is read from the guide, described, and with torch at hand run."""

import hashlib
import re
from pathlib import Path

import pytest

from benchmarks import cases
from benchmarks.workbench import Workbench
from schema.documents import problems, validator
from schema.errors import KitError

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "own-case.md"


@pytest.fixture
def loaded(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "softmax.py").write_text(code)
    return cases.load_file(tmp_path / "softmax.py", hashlib.sha256(code.encode()).hexdigest())


def test_the_guides_case_is_described_as_the_guide_says(loaded):
    items = cases.describe(loaded)

    assert [item["case"] for item in items] == ["softmax.bf16", "softmax.fp32"]
    assert items[0]["work"] == 2 * 2 * 2048 * 128256
    assert [problems(item, validator("results-1", "#/$defs/case")) for item in items] == [[], []]


@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
def test_the_guides_case_is_right(loaded, dtype):
    torch = pytest.importorskip("torch", reason="torch is not installed on this host")
    bench = Workbench(torch.device("cpu"), 0, None, 1 << 28)
    state = loaded.module.prepare(bench, {"dtype": dtype, "rows": 16, "columns": 1000})

    assert loaded.module.check(state, 0, loaded.module.step(state, 0))["passed"]


def load(tmp_path, text, sha256=None):
    path = tmp_path / "own.py"
    path.write_text(text)
    return cases.load_file(path, sha256 or hashlib.sha256(path.read_bytes()).hexdigest())


def test_a_dataclass_under_postponed_annotations_can_be_imported(tmp_path):
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass A:\n    x: int = 3\n"
    )

    assert load(tmp_path, text).module.A().x == 3


def test_the_file_that_is_run_is_the_one_that_was_hashed(tmp_path):
    with pytest.raises(KitError, match="is not what it was when the run began"):
        load(tmp_path, "x = 1\n", hashlib.sha256(b"x = 2\n").hexdigest())


def test_a_changed_file_of_the_same_length_is_read_anew_and_nothing_is_left_beside_it(tmp_path):
    values = [load(tmp_path, f"x = {value}\n").module.x for value in (1, 2)]

    assert values == [1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["own.py"]


def test_all_that_the_guide_says_of_bench_is_there():
    names = re.findall(r"`bench\.(\w+)", GUIDE.read_text(encoding="utf-8"))

    assert set(names) >= {"sets", "randn", "poisoned", "dtype", "device", "seed", "torch"}
    source = Path(cases.__file__).parents[1].joinpath("workbench.py").read_text(encoding="utf-8")
    assert [name for name in names if f"self.{name} =" not in source and f"def {name}(" not in source] == []
