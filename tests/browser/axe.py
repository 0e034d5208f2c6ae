"""What axe-core finds on a page, as far as it is serious."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

_RUN = """async () => {
  const found = await axe.run({ resultTypes: ["violations"] });
  return found.violations.filter((item) => ["serious", "critical"].includes(item.impact))
    .map((item) => `${item.id}: ${item.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(" | ")}`);
}"""


@cache
def script() -> str:
    return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def serious(page: Any) -> list[str]:
    """The serious findings on the page that is open; the script is run by the browser's own driver, past all rules."""
    page.evaluate(script())
    found: list[str] = page.evaluate(_RUN)
    return found
