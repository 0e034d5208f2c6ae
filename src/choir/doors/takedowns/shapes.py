"""Shapes of takedowns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from choir.commons.takedowns.model import takedown_id
from choir.doors.people.shapes import AT
from choir.doors.shapes import Wire, example, maybe_time
from choir.foundation.clock import format_time
from choir.foundation.ids import show_id

if TYPE_CHECKING:
    from choir.commons.takedowns.model import Takedown

CategoryText = Literal["legal", "copyright", "privacy", "abuse", "malware"]
_ARTICLE = "article_01j9zqa4n8ve5trx0k2m3b4c5d"


class TakedownIn(Wire, json_schema_extra=example(subject=_ARTICLE, category="legal", reason="court order 12 C 34/26")):
    """An article or a source to take out of public view."""

    subject: str = Field(max_length=100, description="An article's id, or a source's hash.")
    category: CategoryText = Field(description="Shown to everybody.")
    reason: str = Field(min_length=1, max_length=10_000, description="For the record; shown to operators only.")


class RestoreIn(Wire, json_schema_extra=example(reason="the order was lifted")):
    reason: str = Field(min_length=1, max_length=10_000, description="For the record; shown to operators only.")


_TAKEDOWN: dict[str, Any] = {
    "id": "takedown_01j9zqb1wf6vsy1m3n4c5d6e7f", "subject": _ARTICLE, "category": "legal",
    "reason": "court order 12 C 34/26", "operator": "operator", "at": AT, "restored_at": None, "restored_by": None,
    "restored_reason": None,
}  # fmt: skip


class TakedownOut(Wire, json_schema_extra=example(**_TAKEDOWN)):
    """A takedown, for operators."""

    id: str
    subject: str
    category: CategoryText
    reason: str
    operator: str
    at: str
    restored_at: str | None
    restored_by: str | None
    restored_reason: str | None

    @classmethod
    def of(cls, item: Takedown) -> TakedownOut:
        subject = str(item.source) if item.article is None else show_id("article", item.article)
        return cls.model_validate(
            {
                "id": takedown_id(item.id),
                "subject": subject,
                "category": item.category.value,
                "reason": item.note,
                "operator": item.operator,
                "at": format_time(item.at_us),
                "restored_at": maybe_time(item.restored_us),
                "restored_by": item.restored_by,
                "restored_reason": item.restored_note,
            }
        )


class TakedownPage(Wire, json_schema_extra=example(items=[_TAKEDOWN], next=None)):
    items: list[TakedownOut]
    next: str | None = None
