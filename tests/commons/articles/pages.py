"""What the tests of articles share: pointers, verifications, and Markdown made at random out of awkward pieces."""

from __future__ import annotations

from hypothesis import strategies as st

from choir.commons.policy import CommonsPolicy
from choir.commons.sources.model import Pointer, parse_pointer
from choir.commons.verifiers.model import CheckFinding, Level, Outcome, Verification

POLICY = CommonsPolicy()
SOURCE = "sha256:" + "4b" * 32


def pointer(start: int = 120, end: int = 188) -> Pointer:
    return parse_pointer(f"{SOURCE}@{start}-{end}")


def verification(*outcomes: Outcome) -> Verification:
    """What each level came to, from L0 on."""
    levels = zip(Level, outcomes, strict=False)
    return Verification("1", tuple(CheckFinding(level, "check", outcome, f"said {level}") for level, outcome in levels))


_PIECES = [
    *"[](){}!#*_`<>|\\~&;:-+=.\"'\n\t ",
    "\n\n",
    "```\n",
    "```evidence\n",
    "```hyperthesis\n",
    "---\n",
    "> ",
    "- ",
    "1. ",
    "    ",
    "| a | b |\n|---|---|\n",
    "{#c1}",
    "]{#c2}",
    "[claim]{#c3}",
    "[claim *two*]{#c4}",
    f"{{{{extract {SOURCE}@1-9}}}}",
    "{{extract ",
    f"c3 supports {SOURCE}@1-9 confidence=0.5\n",
    "bound: here\n",
    "title: x\n",
    "topics: a, b\n",
    "[a]: http://b\n",
    "<http://c>",
    "](http://d)",
    "![",
    "&#8203;",
    "\u200b",
    "\u202e",
    "\u0301",
    "\u3000",
    "\u2028",
    "\r\n",
    "\x00",
    "\ud800",
    "word",
    "Ж",
    "語",
]
awkward = st.lists(st.sampled_from(_PIECES) | st.text(max_size=3), max_size=40).map("".join)
