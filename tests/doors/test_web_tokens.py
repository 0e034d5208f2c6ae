"""The design tokens keep the accessibility rules of docs/design/web.md, in light and in dark."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from choir.doors.web.assets import assets

CSS = files("choir.doors.web").joinpath("static")
TOKENS = CSS.joinpath("tokens.css").read_text(encoding="utf-8")
SHEET = "".join(CSS.joinpath(f"{name}.css").read_text(encoding="utf-8") for name in ("frame", "page", "forms", "parts"))
COLOURS = {
    name: {"light": light, "dark": dark}
    for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", TOKENS)
}
TEXT, PART = 4.5, 3.0  # WCAG 2.2, 1.4.3 for text and 1.4.11 for what must be seen to operate

GROUNDS = ("paper", "sheet", "sunk")
PAIRS = [
    *((ink, ground, TEXT) for ink in ("ink", "ink-soft", "verdigris", "verdigris-deep") for ground in GROUNDS),
    *((ink, ground, TEXT) for ink in ("vermilion", "ochre") for ground in ("paper", "sheet")),
    *(("ink", wash, TEXT) for wash in ("verdigris-wash", "vermilion-wash", "ochre-wash")),
    ("verdigris", "verdigris-wash", TEXT),
    ("vermilion", "vermilion-wash", TEXT),
    ("ochre", "ochre-wash", TEXT),
    *(("on-verdigris", ground, TEXT) for ground in ("verdigris", "verdigris-deep")),
    *(("on-vermilion", ground, TEXT) for ground in ("vermilion", "vermilion-deep")),
    *((part, ground, PART) for part in ("edge", "lapis", "verdigris", "vermilion") for ground in ("paper", "sheet")),
    ("verdigris", "sunk", PART),
    ("ochre", "sunk", PART),
]


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2.2 defines it."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_computed_as_the_standard_says() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("above", "below", "least"), PAIRS, ids=str)
def test_pairs_can_be_read(above: str, below: str, least: float, scheme: str) -> None:
    assert contrast(COLOURS[above][scheme], COLOURS[below][scheme]) >= least


def test_every_colour_is_in_a_pair_or_only_divides() -> None:
    checked = {name for above, below, _ in PAIRS for name in (above, below)}
    assert set(COLOURS) - checked == {"line"}


def test_colours_stand_in_the_tokens_only() -> None:
    """The one exception is the veil behind a dialog, which is the same in light and dark."""
    assert re.findall(r"#[0-9a-f]{3,8}\b|rgb\(|hsl\(", SHEET) == ["rgb("]


def test_every_token_that_is_used_exists() -> None:
    known = set(re.findall(r"--([\w-]+):", TOKENS))
    assert set(re.findall(r"var\(--([\w-]+)\)", SHEET)) <= known


def test_nothing_is_fetched_from_elsewhere() -> None:
    for name, item in assets().items():
        text = item.body.decode().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|//[a-z]+\.[a-z]+/|@import|url\(", text), name
