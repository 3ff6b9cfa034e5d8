"""Draw the figures: a dot with its interval for each case, on one scale a unit. SVG made here, see decision 3.

Coordinates across are per cent of the width and texts have the page's size, so the same picture serves a phone, a desk
and paper. Each process median is a faint dot behind the headline: what the interval stands on can be seen.
"""

from __future__ import annotations

import math
from typing import Any

from bundle import story
from bundle.format import number, plain, scale
from bundle.markup import Html, tag

ROW = 52
AXIS = 30
#: Per cent of the width that stay free at both ends, so that no dot is cut.
EDGE = 2.0


def charts(cases: list[dict[str, Any]]) -> Html:
    """Return one figure a unit, with a caption; cases without a figure are left to the table."""
    units: dict[str, list[dict[str, Any]]] = {}
    for case in cases:
        if case["value"] is not None:
            units.setdefault(case["unit"], []).append(case)
    return Html("".join(_figure(unit, found, index) for index, (unit, found) in enumerate(units.items())))


def _figure(unit: str, cases: list[dict[str, Any]], index: int) -> Html:
    better = "lower is better" if cases[0]["direction"] == "lower" else "higher is better"
    axis = Axis([*_values(cases)], unit)
    caption = f"{_NAMES.get(unit, unit)}, {axis.unit}, {better}{axis.remark}"
    rows = [_row(case, axis, number_ * ROW) for number_, case in enumerate(cases)]
    height = len(cases) * ROW
    described = "; ".join(f"{plain(case['case'])}: {story.figure(case)}" for case in cases)
    svg = tag(
        "svg",
        tag("title", caption, id=f"chart-{index}-title"),
        tag("desc", described, id=f"chart-{index}-desc"),
        *_grid(axis, height),
        *rows,
        width="100%",
        height=height + AXIS,
        role="img",
        aria_labelledby=f"chart-{index}-title chart-{index}-desc",
    )
    return tag("figure", tag("figcaption", caption), svg)


_NAMES = {
    "FLOP/s": "Arithmetic",
    "B/s": "Memory traffic",
    "items/s": "Throughput",
    "tokens/s": "Throughput",
    "s": "Time a step",
}


def _values(cases: list[dict[str, Any]]) -> list[float]:
    return [
        value
        for case in cases
        for value in (case["value"], case["low"], case["high"], case["peak"])
        if value is not None and math.isfinite(value) and value > 0
    ]


class Axis:
    """A scale from zero; logarithmic, and said so, where the smallest would vanish beside the largest."""

    def __init__(self, values: list[float], unit: str) -> None:
        self.high = max(values, default=1.0)
        low = min(values, default=1.0)
        self.logarithmic = self.high / low > 60
        self.factor, self.unit = scale(self.high, unit)
        self.low = 10 ** math.floor(math.log10(low)) if self.logarithmic else 0.0
        if self.logarithmic:
            self.high = 10 ** math.ceil(math.log10(self.high))
        self.ticks = self._ticks()
        self.high = max(self.high, self.ticks[-1])
        self.remark = ", logarithmic scale" if self.logarithmic else ""

    def _ticks(self) -> list[float]:
        if self.logarithmic:
            first, last = round(math.log10(self.low)), round(math.log10(self.high))
            step = max(1, math.ceil((last - first) / 6))
            return [10.0**power for power in range(first, last + 1, step)]
        step = 10 ** math.floor(math.log10(self.high))
        step = next(step * part for part in (0.2, 0.5, 1.0, 2.0) if self.high / (step * part) <= 5 or part == 2.0)
        return [index * step for index in range(math.ceil(self.high / step - 1e-9) + 1)]

    def place(self, value: float) -> float:
        """Return where a value lies, in per cent of the width."""
        if self.logarithmic:
            part = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            part = value / self.high
        return EDGE + (100 - 2 * EDGE) * min(max(part, 0.0), 1.0)


def _grid(axis: Axis, height: int) -> list[Html]:
    parts = []
    for index, tick in enumerate(axis.ticks):
        across = _percent(axis.place(tick))
        anchor = "start" if index == 0 else "end" if index == len(axis.ticks) - 1 else "middle"
        text = "0" if tick == 0 else f"{tick / axis.factor:,.6g}"
        parts += [
            tag("line", x1=across, x2=across, y1=0, y2=height, class_="grid"),
            tag("text", text, x=across, y=height + 18, text_anchor=anchor, class_="tick"),
        ]
    return parts


def _row(case: dict[str, Any], axis: Axis, top: int) -> Html:
    middle = top + 36
    name = plain(case["case"])
    place = {key: axis.place(case[key]) for key in ("value", "low", "high", "peak") if case[key] is not None}
    parts = [
        tag("text", name if len(name) <= 34 else f"{name[:33]}…", x=0, y=top + 18, class_="name"),
        tag("text", short(case, axis), x="100%", y=top + 18, text_anchor="end", class_="value"),
        tag("line", x1=_percent(EDGE), x2=_percent(100 - EDGE), y1=middle, y2=middle, class_="track"),
    ]
    if "peak" in place:
        across = _percent(place["peak"])
        parts.append(tag("line", x1=across, x2=across, y1=middle - 8, y2=middle + 8, class_="peak"))
    parts += [
        tag("circle", cx=_percent(axis.place(value)), cy=middle, r=3, class_="process") for value in _processes(case)
    ]
    if "low" in place and "high" in place:
        ends = {"x1": _percent(place["low"]), "x2": _percent(place["high"])}
        parts.append(tag("line", **ends, y1=middle, y2=middle, class_="interval"))
    css = "dot" if case["status"] == "ok" else "dot flagged"
    parts.append(tag("circle", cx=_percent(place["value"]), cy=middle, r=5, class_=css))
    return tag("g", *parts)


def short(case: dict[str, Any], axis: Axis) -> str:
    """Return the value with half of its interval, in the axis's unit where that suits all: `687.3 ± 3.2 TFLOP/s`."""
    factor, unit = scale(case["value"], case["unit"]) if axis.logarithmic else (axis.factor, axis.unit)
    if case["low"] is None or case["high"] is None:
        return f"{number(case['value'] / factor)} {unit}"
    half = (case["high"] - case["low"]) / 2 / factor
    return f"{number(case['value'] / factor, half)} ± {number(half, half)} {unit}"


def _processes(case: dict[str, Any]) -> list[float]:
    """Return the process medians in the unit of the headline."""
    if case["unit"] == "s":
        return list(case["process_medians_s"])
    # value = work / seconds, so the work of a step is known without the protocol
    work = case["value"] * case["seconds"] if case["seconds"] else 0.0
    return [work / median for median in case["process_medians_s"] if work and median > 0]


def _percent(place: float) -> str:
    return f"{place:.3f}%"
