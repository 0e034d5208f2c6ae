"""A step for CI: what was ordered, as annotations of lines, a comment by file, and outputs for later steps.

    python3 report.py --review review.json --patch fix.diff --comment comment.md

Annotations are printed as GitHub's workflow commands. The comment is Markdown in a file; the step summary and the
outputs (`patch`, `review`, `comment`, `findings`) go into the files that GITHUB_STEP_SUMMARY and GITHUB_OUTPUT name.

A review is a stranger's text. So it cannot start a workflow command, mention people, or bring markup of its own, and
the values of secret variables (with TOKEN, SECRET, PASSWORD or KEY in their names) are taken out of all that is
written. Nothing but Python's own library is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "notice", "info": "notice"}
SECRET_WORDS = ("TOKEN", "SECRET", "PASSWORD", "KEY")
ANNOTATIONS_MAX = 50  # GitHub shows no more than that of one step
TEXT_MAX = 4_000
PATCH_LINES_MAX = 400


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Show a review and a patch.")
    parser.add_argument("--review", type=Path, help="the review, as JSON; may be missing")
    parser.add_argument("--patch", type=Path, help="the patch; may be missing")
    parser.add_argument("--comment", default="comment.md", type=Path, help="where the comment is written")
    return parser.parse_args()


def without_secrets(text: str) -> str:
    names = [name for name in os.environ if any(word in name.upper() for word in SECRET_WORDS)]
    for value in sorted({os.environ[name] for name in names}, key=len, reverse=True):
        if len(value) >= 8:
            text = text.replace(value, "***")
    return text


def data(text: str) -> str:
    """A message of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def value(text: str) -> str:
    """A property of one."""
    return data(text).replace(":", "%3A").replace(",", "%2C")


def prose(text: str) -> str:
    """A stranger's words in Markdown: no markup, no mentions, no links."""
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("@", "&#64;"), ("#", "&#35;")):
        text = text.replace(sign, entity)
    return "".join(f"\\{letter}" if letter in "\\`*_[]()!|~$" else letter for letter in text)


def fenced(text: str, kind: str) -> str:
    """Code in a fence that it cannot end."""
    fence = "`" * 3
    while fence in text:
        fence += "`"
    return f"{fence}{kind}\n{text.rstrip()}\n{fence}\n"


def findings(review: dict[str, Any]) -> list[dict[str, Any]]:
    found = [item for item in review.get("issues", []) if isinstance(item, dict)]
    order = [*LEVELS, None]
    return sorted(found, key=lambda item: order.index(item["severity"] if item.get("severity") in LEVELS else None))


def annotation(item: dict[str, Any]) -> str:
    first, last = (int(line) for line in item["line_range"])
    level = LEVELS.get(str(item.get("severity")), "warning")
    title = f"Choir: {item.get('severity')} ({item.get('category')})"
    place = f"file={value(str(item['file']))},line={first},endLine={last},title={value(title)}"
    return f"::{level} {place}::{data(str(item.get('description'))[:TEXT_MAX])}"


def comment(review: dict[str, Any], patch: str) -> str:
    """By file, the worst first."""
    parts = ["## Choir\n"]
    if patch:
        lines = patch.splitlines()
        shown = "\n".join(lines[:PATCH_LINES_MAX])
        more = f"\n{len(lines) - PATCH_LINES_MAX} more lines are in the file.\n" if len(lines) > PATCH_LINES_MAX else ""
        intro = "A patch that makes the tests pass, verified. Look at it before you merge it."
        parts.append(f"{intro}\n\n{fenced(shown, 'diff')}{more}")
    if review:
        parts.append(f"**Review**: {prose(str(review.get('summary', ''))[:TEXT_MAX])}\n")
        by_file: dict[str, list[dict[str, Any]]] = {}
        for item in findings(review):
            by_file.setdefault(str(item.get("file")), []).append(item)
        for file, items in by_file.items():
            parts.append(f"### {prose(file)}\n")
            for item in items:
                first, last = item["line_range"]
                lines = f"line {first}" if first == last else f"lines {first} to {last}"
                said = prose(str(item.get("description"))[:TEXT_MAX])
                parts.append(f"- **{prose(str(item.get('severity')))}**, {lines}: {said}")
                if item.get("suggested_fix"):
                    parts.append(f"\n{fenced(str(item['suggested_fix'])[:TEXT_MAX], '')}")
        if not by_file:
            parts.append("No findings.")
    if not patch and not review:
        parts.append("Nothing was needed.")
    return without_secrets("\n".join(parts) + "\n")


def append(variable: str, text: str) -> None:
    """Into one of GitHub's files, if there is one."""
    if os.environ.get(variable):
        with Path(os.environ[variable]).open("a", encoding="utf-8") as file:
            file.write(text)


def main() -> int:
    options = asked()
    review: dict[str, Any] = {}
    if options.review is not None and options.review.is_file():
        review = json.loads(options.review.read_text(encoding="utf-8"))
    patch = ""
    if options.patch is not None and options.patch.is_file():
        patch = options.patch.read_text(encoding="utf-8", errors="replace")
    for item in findings(review)[:ANNOTATIONS_MAX]:
        print(without_secrets(annotation(item)))
    text = comment(review, patch)
    options.comment.write_text(text, encoding="utf-8")
    append("GITHUB_STEP_SUMMARY", text)
    outputs = {
        "patch": options.patch if patch else "",
        "review": options.review if review else "",
        "comment": options.comment,
        "findings": len(findings(review)),
    }
    append("GITHUB_OUTPUT", "".join(f"{name}={value}\n" for name, value in outputs.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
