"""How two statements are found to be the same. Pure."""

from __future__ import annotations

import re
import unicodedata

from choir.foundation.canonical import bytes_hash

_NOT_WORDS = re.compile(r"[^\w%$€£.,+-]+")


def folded(text: str) -> str:
    """A statement without what does not change what it says: case, blanks, final punctuation, kinds of quotes."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return _NOT_WORDS.sub(" ", plain).strip(" .,!?;:-")


def said_hash(text: str) -> str:
    """A short name for what a statement says; folding may make it any length."""
    return bytes_hash(folded(text).encode())
