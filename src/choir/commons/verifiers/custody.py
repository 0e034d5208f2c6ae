"""L0 and L1: the source is the very bytes that its record names, and the extract is a span of its text. Pure.

Guarantee: these two need no words and no judgement; they pass or fail, and say what differs.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from choir.commons.verifiers.model import CheckFinding, Level, Outcome
from choir.foundation.canonical import ObjectHash, bytes_hash


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a source's record says of it."""

    bytes_hash: ObjectHash
    text_hash: ObjectHash
    chars: int


def snapshot(recorded: Recorded, data: bytes, text: str) -> CheckFinding:
    """L0: whether these are the bytes and the text that were recorded."""
    wrong = []
    if bytes_hash(data) != recorded.bytes_hash:
        wrong.append("its bytes have another hash than was recorded")
    if text_hash(text) != recorded.text_hash:
        wrong.append("the text that is read from them has another hash than was recorded")
    if len(text) != recorded.chars:
        wrong.append(f"its text has {len(text)} characters, and {recorded.chars} were recorded")
    if "\r" in text or not unicodedata.is_normalized("NFC", text):
        wrong.append("its text is not in the normal form that offsets count in")
    if wrong:
        return CheckFinding(
            Level.L0, "snapshot", Outcome.FAIL, f"The source is not what was recorded: {'; '.join(wrong)}."
        )
    return CheckFinding(Level.L0, "snapshot", Outcome.PASS, "The source's bytes and text are those that were recorded.")


def span(text: str, start: int, end: int, recorded: ObjectHash) -> CheckFinding:
    """L1: whether the extract is inside of the source's text and says what was recorded."""
    data = {"start": start, "end": end, "chars": len(text)}
    if not 0 <= start < end <= len(text):
        words = f"The span {start}-{end} is outside of the source, which has {len(text)} characters."
        return CheckFinding(Level.L1, "span", Outcome.FAIL, words, data)
    if text_hash(text[start:end]) != recorded:
        words = f"The characters {start}-{end} of the source are not the extract that was recorded."
        return CheckFinding(Level.L1, "span", Outcome.FAIL, words, data)
    words = f"The extract is, character for character, the span {start}-{end} of the source."
    return CheckFinding(Level.L1, "span", Outcome.PASS, words, data)


def text_hash(text: str) -> ObjectHash:
    """The hash of a text's UTF-8 bytes. Half a character is kept as it is, so that it never hashes like a whole."""
    return bytes_hash(text.encode("utf-8", "surrogatepass"))
