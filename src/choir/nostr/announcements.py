"""What providers announce (NIP-89, kind 31990): types of jobs, prices, capacity, and what they say of themselves.

Guarantees: every field is read back as it was written, and what is not known is kept. Tier, success rate and number of
jobs are claims: nothing here believes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from choir.nostr.events import KIND_MAX, Draft, NostrEvent, Tags, compact
from choir.nostr.tagged import BadJobEvent, rate_text, read_rate, read_sats, sats_text, whole

ANNOUNCEMENT_KIND = 31990
_TEXTS = ("name", "description", "website")
_CURRENCY = "sats"


@dataclass(frozen=True, slots=True)
class PriceLine:
    """A line of a price book."""

    job: str  # such as PatchGen
    msat: int
    unit: str  # base, per_file, per_1k_tokens, per_cpu_second, flat, max

    def tag(self) -> tuple[str, ...]:
        return ("price", self.job, sats_text(self.msat), _CURRENCY, self.unit)


@dataclass(frozen=True, slots=True)
class Announcement:
    """A provider, as it shows itself."""

    identifier: str  # the d tag: one announcement for each
    kinds: tuple[int, ...] = ()
    capabilities: tuple[str, ...] = ()
    prices: tuple[PriceLine, ...] = ()
    name: str = ""
    description: str = ""
    website: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)  # what else the content says
    capacity: int | None = None
    isolation: str = ""
    models: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    schedule: str = ""
    claimed_tier: int | None = None
    claimed_success_bps: int | None = None
    claimed_jobs: int | None = None
    expires_at: int | None = None
    others: Tags = ()

    def draft(self) -> Draft:
        texts = {name: getattr(self, name) for name in _TEXTS if getattr(self, name)}
        tags: list[tuple[str, ...]] = [("d", self.identifier), *(("k", str(kind)) for kind in self.kinds)]
        tags += [("capability", name) for name in self.capabilities]
        tags += [line.tag() for line in self.prices]
        tags += [("model", name) for name in self.models] + [("region", name) for name in self.regions]
        single = {
            "capacity": self.capacity,
            "isolation": self.isolation or None,
            "schedule": self.schedule or None,
            "tier": self.claimed_tier,
            "success_rate": None if self.claimed_success_bps is None else rate_text(self.claimed_success_bps),
            "jobs_completed": self.claimed_jobs,
            "expiration": self.expires_at,
        }
        tags += [(name, str(value)) for name, value in single.items() if value is not None]
        return Draft(ANNOUNCEMENT_KIND, compact({**self.more, **texts}), (*tags, *self.others))


_SINGLE = ("d", "capacity", "isolation", "schedule", "tier", "success_rate", "jobs_completed", "expiration")


def read_announcement(event: NostrEvent | Draft) -> Announcement:
    """An announcement from an event whose id and signature were checked."""
    if event.kind != ANNOUNCEMENT_KIND:
        raise BadJobEvent(what="kind", why=f"an announcement has the kind {ANNOUNCEMENT_KIND}")
    single: dict[str, str] = {}
    many: dict[str, list[str]] = {"k": [], "capability": [], "model": [], "region": []}
    prices: list[PriceLine] = []
    others: list[tuple[str, ...]] = []
    for tag in event.tags:
        if len(tag) == 2 and tag[0] in _SINGLE:
            if tag[0] in single:
                raise BadJobEvent(what=tag[0], why="it is there twice")
            single[tag[0]] = tag[1]
        elif len(tag) == 2 and tag[0] in many:
            many[tag[0]].append(tag[1])
        elif len(tag) == 5 and tag[0] == "price" and tag[3] == _CURRENCY:
            prices.append(PriceLine(tag[1], read_sats(tag[2], "price"), tag[4]))
        else:
            others.append(tag)
    texts, more = _content(event.content)

    def number(name: str) -> int | None:
        return whole(single[name], name) if name in single else None

    return Announcement(
        identifier=single.get("d", ""),
        kinds=tuple(whole(text, "k", 0, KIND_MAX) for text in many["k"]),
        capabilities=tuple(many["capability"]),
        prices=tuple(prices),
        **texts,
        more=more,
        capacity=number("capacity"),
        isolation=single.get("isolation", ""),
        models=tuple(many["model"]),
        regions=tuple(many["region"]),
        schedule=single.get("schedule", ""),
        claimed_tier=number("tier"),
        claimed_success_bps=read_rate(single["success_rate"], "success_rate") if "success_rate" in single else None,
        claimed_jobs=number("jobs_completed"),
        expires_at=number("expiration"),
        others=tuple(others),
    )


def _content(text: str) -> tuple[dict[str, str], dict[str, Any]]:
    """What it says of itself: the texts that we know, and the rest. Nothing at all is fine (NIP-89)."""
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        raise BadJobEvent(what="content", why="it is not JSON") from None
    if not isinstance(value, dict):
        raise BadJobEvent(what="content", why="it must be an object")
    texts = {name: value[name] for name in _TEXTS if isinstance(value.get(name), str) and value[name]}
    return texts, {name: item for name, item in value.items() if name not in texts}
