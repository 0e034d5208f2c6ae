"""Ids as people type them: whole, or as much of their beginning as is needed to tell them apart.

Guarantees: a whole id is taken as it is and costs no request; a beginning is looked up once, among what the asker may
look at; one that fits several is refused with their names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from choir.bazaar.jobs.model import AmbiguousPrefix
from choir.foundation.ids import is_whole

if TYPE_CHECKING:
    from choir.doors.jobs.shapes import JobOut
    from choir.doors.sdk.client import Client


def whole(client: Client, kind: str, typed: str) -> str:
    """The whole id of a job, dispute or provider, of which the beginning was typed, with or without its kind."""
    text = (typed if "_" in typed else f"{kind}_{typed}").lower()
    return text if is_whole(text) else client.ids.find(text).id


def attempt_of(job: JobOut, typed: str | None) -> str | None:
    """The whole id of one of a job's attempts; what fits none is left for the node to refuse."""
    if typed is None or is_whole(typed):
        return typed
    text = typed if "_" in typed else f"attempt_{typed}"
    found = [attempt.id for attempt in job.attempts if attempt.id.startswith(text.lower())]
    if len(found) > 1:
        raise AmbiguousPrefix(prefix=typed[:60], candidates=found, named=", ".join(found))
    return found[0] if found else text


def name_providers(client: Client, strategy: dict[str, Any]) -> None:
    """Put the whole ids of providers into a strategy that was typed with their beginnings."""
    if "provider" in strategy:
        strategy["provider"] = whole(client, "provider", strategy["provider"])
    if "preferred" in strategy:
        strategy["preferred"] = _all(client, strategy["preferred"])


def _all(client: Client, typed: Iterable[str]) -> list[str]:
    return [whole(client, "provider", one) for one in typed]
