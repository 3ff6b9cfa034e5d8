"""The guide's case is a whole one: it is read from the guide, described, and with torch at hand run."""

import re
from pathlib import Path

import pytest

from benchmarks import cases
from benchmarks.workbench import Workbench
from schema.documents import problems, validator

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "own-case.md"


@pytest.fixture
def loaded(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "softmax.py").write_text(code)
    return cases.load_file(tmp_path / "softmax.py", "0" * 64)


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


def test_all_that_the_guide_says_of_bench_is_there():
    names = re.findall(r"`bench\.(\w+)", GUIDE.read_text(encoding="utf-8"))

    assert set(names) >= {"sets", "randn", "poisoned", "dtype", "device", "seed", "torch"}
    source = Path(cases.__file__).parents[1].joinpath("workbench.py").read_text(encoding="utf-8")
    assert [name for name in names if f"self.{name} =" not in source and f"def {name}(" not in source] == []
