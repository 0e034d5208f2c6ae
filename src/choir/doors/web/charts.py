"""Charts, drawn on the server as SVG that a style sheet colours.

A chart carries its numbers beside the picture, so that nobody needs to see it: templates show them as a table. The
arithmetic is exact until the last step, where a position on the picture is rounded to a tenth of its unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 640, 180
_LEFT, _RIGHT, _TOP, _BOTTOM = 4, 4, 12, 4
_GAP = 0.3  # the share of a place that separates bars
_LABELS_MAX = 6


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a chart, and what people read of it."""

    label: str
    value: int
    shown: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A point in its place: the bar's corner and size, or the dot of a line with no width."""

    point: Point
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Chart:
    """All that the template `parts.chart` draws."""

    title: str
    unit: str  # the heading of the column of values
    marks: tuple[Mark, ...]
    line: str  # the path of a line chart; empty for bars
    area: str
    labels: tuple[Point, ...]  # some of the points, evenly chosen, to be written below

    @property
    def empty(self) -> bool:
        return not any(mark.point.value for mark in self.marks)


def bars(title: str, unit: str, points: Sequence[Point]) -> Chart:
    """One bar for each point, from zero."""
    scale = _scale(points)
    place = (WIDTH - _LEFT - _RIGHT) / max(1, len(points))
    marks = tuple(
        _mark(point, _LEFT + place * (n + _GAP / 2), place * (1 - _GAP), scale) for n, point in enumerate(points)
    )
    return Chart(title, unit, marks, "", "", _some(points))


def line(title: str, unit: str, points: Sequence[Point]) -> Chart:
    """A line through all points, from zero."""
    scale = _scale(points)
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(points) - 1)
    marks = tuple(_mark(point, _LEFT + step * n, 0, scale) for n, point in enumerate(points))
    path = " ".join(f"{'L' if n else 'M'}{mark.x} {mark.y}" for n, mark in enumerate(marks))
    floor = HEIGHT - _BOTTOM
    area = f"{path} L{marks[-1].x} {floor} L{marks[0].x} {floor} Z" if marks else ""
    return Chart(title, unit, marks, path, area, _some(points))


def _scale(points: Sequence[Point]) -> float:
    assert all(point.value >= 0 for point in points), "charts begin at zero"
    return (HEIGHT - _TOP - _BOTTOM) / max(1, max((point.value for point in points), default=1))


def _mark(point: Point, x: float, width: float, scale: float) -> Mark:
    height = round(point.value * scale, 1)
    return Mark(point, round(x, 1), round(HEIGHT - _BOTTOM - height, 1), round(width, 1), height)


def _some(points: Sequence[Point]) -> tuple[Point, ...]:
    """The first, the last and some between, at even distances."""
    last = len(points) - 1
    if last < _LABELS_MAX:
        return tuple(points)
    return tuple(points[round(n * last / (_LABELS_MAX - 1))] for n in range(_LABELS_MAX))
