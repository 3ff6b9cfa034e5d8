"""Draw the figures: a dot with its interval for each case, on one scale a unit. SVG made here, see decision 3.

Coordinates across are per cent of the width and texts have the page's size, so the same picture serves a phone, a desk
and paper. On a scale from zero a good interval is thinner than its dot; `precision` therefore draws all cases once more
around their own figure, with the process medians that the interval stands on.
"""

from __future__ import annotations

import math
from typing import Any

from bundle import story
from bundle.format import number, plain, scale, useful
from bundle.markup import Html, tag

AXIS = 30
#: Pixels: a row, from its top to its line of text, and what a second line of text adds where a phone is too narrow.
ROW, TEXT, SECOND = 52, 18, 17
#: Characters of name and value that fit beside each other on a phone.
NARROW = 44
#: Per cent of the width that stay free at both ends, so that no dot is cut.
EDGE = 2.0
#: An interval on logarithms has visibly unequal sides from this relative half-width on: then both ends are written.
LOPSIDED = 0.05
#: Per cent to either side that the picture of precision shows at most.
LARGEST = 10.0


def charts(cases: list[dict[str, Any]]) -> Html:
    """Return one figure a unit, with a caption; cases without a figure are left to the table."""
    units: dict[str, list[dict[str, Any]]] = {}
    for case in cases:
        if case["value"] is not None:
            units.setdefault(case["unit"], []).append(case)
    return Html("".join(_figure(unit, found, index) for index, (unit, found) in enumerate(units.items())))


def _figure(unit: str, cases: list[dict[str, Any]], index: int) -> Html:
    better = "lower is better" if cases[0]["direction"] == "lower" else "higher is better"
    axis = Axis([*_values(cases)], unit, typical=max(case["value"] for case in cases))
    caption = f"{_NAMES.get(unit, unit)}, {axis.unit}, {better}{axis.remark}"
    rows = Rows([(_name(case), short(case, axis)) for case in cases])
    parts = _grid(axis, rows.height)
    for place, case in enumerate(cases):
        parts += [*rows.texts(place), _row(case, axis, rows.line(place))]
    described = "; ".join(f"{plain(case['case'])}: {story.figure(case)}" for case in cases)
    return _drawn(f"chart-{index}", caption, described, parts, rows.height)


class Rows:
    """Where the rows of one picture lie, and their texts: name on the left, value on the right or below."""

    def __init__(self, texts: list[tuple[str, str]]) -> None:
        self.labels = [(name if len(name) <= 34 else f"{name[:33]}…", value) for name, value in texts]
        self.second = SECOND if any(len(name) + len(value) > NARROW for name, value in self.labels) else 0
        self.step = ROW + self.second
        self.height = len(texts) * self.step

    def line(self, place: int) -> int:
        """Return how far down the line of a row is drawn."""
        return place * self.step + 2 * TEXT + self.second

    def texts(self, place: int) -> list[Html]:
        """Return name and value of a row."""
        name, value = self.labels[place]
        top = place * self.step + TEXT
        return [
            tag("text", name, x=0, y=top, class_="name"),
            tag("text", value, x="100%", y=top + self.second, text_anchor="end", class_="value"),
        ]


def _drawn(name: str, caption: str, described: str, parts: list[Html], height: int) -> Html:
    """Return one picture that also says in words what it shows."""
    svg = tag(
        "svg",
        tag("title", caption, id=f"{name}-title"),
        tag("desc", described, id=f"{name}-desc"),
        *parts,
        width="100%",
        height=height + AXIS,
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
    )
    return tag("figure", tag("figcaption", caption), svg)


_NAMES = {
    "FLOP/s": "Arithmetic",
    "B/s": "Memory traffic",
    "items/s": "Throughput",
    "tokens/s": "Throughput",
    "s": "Time a step",
}


def ends(case: dict[str, Any]) -> list[float]:
    """Return both ends of a case's interval; nothing where there is none, or none that says something."""
    return [case["low"], case["high"]] if useful(case["low"], case["high"]) else []


def _values(cases: list[dict[str, Any]]) -> list[float]:
    return [
        value
        for case in cases
        for value in (case["value"], *ends(case), case["peak"])
        if value is not None and math.isfinite(value) and value > 0
    ]


class Axis:
    """A scale from zero; logarithmic, and said so, where the smallest would vanish beside the largest."""

    def __init__(self, values: list[float], unit: str, typical: float) -> None:
        self.high = max(values, default=1.0)
        low = min(values, default=1.0)
        self.logarithmic = self.high / low > 60
        self.factor, self.unit = scale(typical, unit)
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
        anchor = "start" if index == 0 else "end" if index == len(axis.ticks) - 1 else "middle"
        parts += _tick(axis.place(tick), "0" if tick == 0 else f"{tick / axis.factor:,.6g}", anchor, height)
    return parts


def _tick(place: float, text: str, anchor: str, height: int) -> list[Html]:
    across = _percent(place)
    return [
        tag("line", x1=across, x2=across, y1=0, y2=height, class_="grid"),
        tag("text", text, x=across, y=height + 18, text_anchor=anchor, class_="tick"),
    ]


def _row(case: dict[str, Any], axis: Axis, middle: int) -> Html:
    place = {key: axis.place(case[key]) for key in ("value", "peak") if case[key] is not None}
    drawn = [_percent(axis.place(end)) for end in ends(case)]
    parts = [
        tag("line", x1=_percent(EDGE), x2=_percent(100 - EDGE), y1=middle, y2=middle, class_="track"),
    ]
    if "peak" in place:
        across = _percent(place["peak"])
        parts.append(tag("line", x1=across, x2=across, y1=middle - 8, y2=middle + 8, class_="peak"))
    if drawn:
        parts.append(tag("line", x1=drawn[0], x2=drawn[1], y1=middle, y2=middle, class_="interval"))
    css = "dot" if case["status"] == "ok" and drawn else "dot flagged"
    parts.append(tag("circle", cx=_percent(place["value"]), cy=middle, r=5, class_=css))
    return tag("g", *parts)


def _name(case: dict[str, Any]) -> str:
    """Return the name of a case; in front, where no cut takes it, that it is the user's own."""
    return f"own: {plain(case['case'])}" if case["own"] else plain(case["case"])


def short(case: dict[str, Any], axis: Axis) -> str:
    """Return the value with half of its interval, in the axis's unit where that suits all: `687.3 ± 3.2 TFLOP/s`."""
    factor, unit = scale(case["value"], case["unit"]) if axis.logarithmic else (axis.factor, axis.unit)
    if not ends(case):
        return f"{number(case['value'] / factor)} {unit} (no useful interval)"
    value, low, high = (case[key] / factor for key in ("value", "low", "high"))
    half = (high - low) / 2
    if half > LOPSIDED * value:
        return f"{number(value, half)} ({number(low, half)} to {number(high, half)}) {unit}"
    return f"{number(value, half)} ± {number(half, half)} {unit}"


def precision(cases: list[dict[str, Any]]) -> Html:
    """Return one figure with every interval in per cent around its case's own headline; empty without intervals."""
    shown = [case for case in cases if case["value"] and ends(case)]
    if not shown:
        return Html("")
    offsets = {case["case"]: [100 * (value / case["value"] - 1) for value in _processes(case)] for case in shown}
    sides = {case["case"]: [100 * (end / case["value"] - 1) for end in ends(case)] for case in shown}
    widest = max(abs(value) for found in (*offsets.values(), *sides.values()) for value in found)
    # an interval that tells nothing must not hide the others: it leaves the picture, its ends stand in words
    reach = min(widest, LARGEST) or 1.0
    step = 10 ** math.floor(math.log10(reach))
    reach = step * math.ceil(reach / step - 1e-9)
    rows = Rows([(_name(case), _sides(sides[case["case"]])) for case in shown])
    parts = []
    for place, tick in enumerate((-reach, -reach / 2, 0.0, reach / 2, reach)):
        text = f"{tick:+.6g} %" if tick else "0"
        parts += _tick(_around(tick, reach), text, ("start", "middle", "middle", "middle", "end")[place], rows.height)
    for place, case in enumerate(shown):
        name = case["case"]
        parts += [*rows.texts(place), _spread(sides[name], offsets[name], reach, rows.line(place))]
    caption = "How sure: each interval, and the medians of the processes it stands on, around the case's figure"
    described = "; ".join(f"{name}: {text}" for name, text in rows.labels)
    return _drawn("chart-precision", caption, described, parts, rows.height)


def _spread(sides: list[float], offsets: list[float], reach: float, middle: int) -> Html:
    first, last = (_percent(_around(end, reach)) for end in sides)
    return tag(
        "g",
        tag("line", x1=_percent(EDGE), x2=_percent(100 - EDGE), y1=middle, y2=middle, class_="track"),
        tag("line", x1=first, x2=last, y1=middle, y2=middle, class_="interval"),
        *(tag("circle", cx=_percent(_around(value, reach)), cy=middle, r=3, class_="process") for value in offsets),
    )


def _sides(sides: list[float]) -> str:
    """Return both sides of an interval in per cent: `-0.21 % to +0.22 %`."""
    return " to ".join(f"{'-' if end < 0 else '+'}{number(abs(end), abs(end))} %" for end in sides)


def _around(offset: float, reach: float) -> float:
    return EDGE + (100 - 2 * EDGE) * (min(max(offset / reach, -1.0), 1.0) + 1) / 2


def _processes(case: dict[str, Any]) -> list[float]:
    """Return the process medians in the unit of the headline."""
    if case["unit"] == "s":
        return list(case["process_medians_s"])
    # value = work / seconds, so the work of a step is known without the protocol
    work = case["value"] * case["seconds"] if case["seconds"] else 0.0
    return [work / median for median in case["process_medians_s"] if work and median > 0]


def _percent(place: float) -> str:
    return f"{place:.3f}%"
