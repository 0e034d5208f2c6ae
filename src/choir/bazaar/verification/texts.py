"""TextGen: length, shape if asked, and tokens by our own measure. What the text says is nobody's proof.

A token, for the price: up to five Latin letters in a row, up to three digits in a row, or any other letter or sign by
itself. White space costs nothing, and nothing is paid beyond what was ordered.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from choir.bazaar.contracts import TextGenRequest, schemas
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification.model import Delivery, Findings, Order
from choir.foundation.canonical import bytes_hash, parse_json
from choir.foundation.errors import ChoirError

_PIECE_CHARS = 1_000
_TOKEN = re.compile(r"[A-Za-z]{1,5}|[0-9]{1,3}|\S")


def count_tokens(text: str) -> int:
    """How many tokens a text has by our measure."""
    return sum(1 for _ in _TOKEN.finditer("".join(_composed(text))))


def _composed(text: str) -> Iterator[str]:
    """The text in its composed form, piece by piece: endless marks on one letter would take endless to order."""
    start = 0
    while start < len(text):
        end = start + _PIECE_CHARS
        while end < min(len(text), start + 2 * _PIECE_CHARS) and not text[end].isascii():
            end += 1
        yield unicodedata.normalize("NFC", text[start:end])
        start = end


def verify(order: Order, delivery: Delivery, policy: VerificationPolicy, findings: Findings) -> None:
    """All checks of a text."""
    request = order.request
    assert isinstance(request, TextGenRequest)
    large = len(delivery.artifact) > policy.text_bytes_max
    findings.need("size", *(("text.too_large", "The text has more bytes than the limit.") if large else ("", "")))
    try:
        text = delivery.artifact.decode("utf-8")
    except UnicodeDecodeError:
        findings.need("encoding", "text.not_utf8", "The text is not UTF-8.")
        return
    tokens = count_tokens(text)
    short = len(text.strip()) < max(request.min_chars, 1)
    findings.need("shortest", *(("text.too_short", "The text is shorter than ordered.") if short else ("", "")))
    long = tokens > request.max_tokens
    evidence = {"text": bytes_hash(delivery.artifact), "tokens": tokens}
    too_long = ("text.too_long", f"The text has {tokens} tokens; at most {request.max_tokens} were ordered.")
    findings.need("longest", *(too_long if long else ("", "")), evidence=evidence)
    if request.schema is not None:
        findings.need("schema", *_schema_fault(text, request))
    findings.units_milli = tokens


def _schema_fault(text: str, request: TextGenRequest) -> tuple[str, str]:
    assert request.schema is not None
    try:
        value = parse_json(text)
    except ChoirError:
        return "text.not_json", "The text is not JSON."
    fault = schemas.fault(value, request.schema)
    return ("text.schema", f"The JSON does not match the ordered schema: {fault}.") if fault else ("", "")
