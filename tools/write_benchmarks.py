"""`make bench`: runs the benchmarks and writes the last part of docs/benchmarks.md, with a plot for each.

Each benchmark is run in its short form and compared with its own peer in the same run; the plots show those ratios or
times. Published figures of other systems stand beside ours: they were measured by others, on other machines.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
PAGE, IMAGES = ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "images"
_BEGIN, _END = "<!-- written by make bench -->", "<!-- end -->"
_ROW, _LEFT, _WIDTH = 26, 250, 720
_BENCH_S_MAX = 1_800

Bars = Mapping[str, float]

PUBLISHED = (
    ("TigerBeetle", "250 000 to 370 000 transfers per second in batches of 8189", "its benchmark, on two cores, by us"),
    ("TigerBeetle", "48 000 to 54 000 transfers per second in batches", "its Python client, on two cores, by us"),
    ("pgledger", "10 600 transfers per second", "its author, on a fast laptop"),
    ("pgvector", "recall 1.000 in 0.8 to 2 ms among 100 000 vectors of 384 numbers", "on two cores, by us"),
)


def ledger(told: Any) -> Bars:
    return {name: float(value) for name, value in told["ratios"].items() if isinstance(value, int | float)}


def http(told: Any) -> Bars:
    return {name: float(found["server_us"]) for name, found in told["requests"].items()}


def pages(told: Any) -> Bars:
    return {name: float(found["server_us"]) for name, found in told["pages"].items()}


def novelty(told: Any) -> Bars:
    found = {}
    for item in told["neighbours"]:
        for way in ("index", "numpy"):
            found[f"{way}, {item['passages']:,} passages"] = float(item[way]["p50_ms"])
    return found


def search(told: Any) -> Bars:
    return {name.replace("_", " "): float(told[name]["p50_ms"]) for name in ("search", "by_words", "by_sense")}


BENCHES: dict[str, tuple[str, Callable[[Any], Bars]]] = {
    "ledger": ("ratios to plain PostgreSQL in the same run", ledger),
    "http": ("server time for one request, in microseconds", http),
    "pages": ("server time for one page, in microseconds", pages),
    "novelty": ("time to find the nearest passage (p50), in milliseconds", novelty),
    "search": ("time of a search and of its two statements (p50), in milliseconds", search),
}


def measure(name: str) -> Any:
    """What a benchmark prints as JSON."""
    command = [sys.executable, "-m", "choir.doors.cli.main", "bench", name, "--quick", "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=_BENCH_S_MAX)
    return json.loads(done.stdout)


def plot(title: str, bars: Bars) -> str:
    """A picture with one bar for each number."""
    most, height = max(bars.values(), default=1) or 1, _ROW * len(bars) + 40
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"'
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="22" font-weight="bold" fill="#13201b">{escape(title)}</text>',
    ]
    for n, (name, value) in enumerate(bars.items()):
        y, width = 34 + _ROW * n, round((_WIDTH - _LEFT - 90) * value / most, 1)
        lines += [
            f'<text x="{_LEFT - 8}" y="{y + 14}" text-anchor="end" fill="#13201b">{escape(name)}</text>',
            f'<rect x="{_LEFT}" y="{y}" width="{width}" height="18" fill="#0b5f51"/>',
            f'<text x="{_LEFT + width + 6}" y="{y + 14}" fill="#13201b">{value:g}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def written(names: list[str]) -> str:
    """The part of the page, after these pictures were written; those of other benchmarks stay as they are."""
    parts = ["Short runs (`--quick`), each against its own peer in the same run.\n"]
    for name, (what, read) in BENCHES.items():
        title, picture = f"choir bench {name}: {what}", IMAGES / f"bench-{name}.svg"
        if name in names:
            print(f"choir bench {name} --quick", file=sys.stderr)
            picture.write_text(plot(title, read(measure(name))), encoding="utf-8")
        if picture.exists():
            parts.append(f"![{title}](images/{picture.name})\n")
    rows = [("system", "figure", "by whom"), ("---",) * 3, *PUBLISHED]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([*parts, "Beside it, what other systems reach:\n", table, ""])


def asked(arguments: list[str]) -> list[str]:
    """The benchmarks to run, checked before the first begins."""
    parser = argparse.ArgumentParser(prog="make bench", description="Measure, and write plots into docs/benchmarks.md.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)}; without one, all of them")
    parser.add_argument("--quick", action="store_true", help="short runs, which these always are")
    names: list[str] = parser.parse_args(arguments).names
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)} here; there are {', '.join(BENCHES)}")
    return names or list(BENCHES)


def main() -> None:
    names = asked(sys.argv[1:])
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    made = written(names)
    PAGE.write_text(f"{before}{_BEGIN}\n\n{made}\n{_END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
