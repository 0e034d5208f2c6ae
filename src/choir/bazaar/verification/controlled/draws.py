"""Which form each assertion has in a run: drawn by the verifier, unknown to the tested process.

Sites that can report what they observed do, unless they are known to be opaque. The others are drawn: as they are, or
with another expected value. Two draws belong together: what is neutral in one is changed in the other, so every site is
seen in both, while no run holds both forms of one.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from choir.bazaar.verification.controlled.others import Chance, another, other_of
from choir.bazaar.verification.controlled.rewriting import Forms
from choir.bazaar.verification.controlled.sites import Change, Form, Site, Span, Suite
from choir.bazaar.verification.controlled.values import Opaque

_UNRELATED = "unrelated\t"  # written otherwise than it is, so that a test which reads its own source does not find it


@dataclass(frozen=True, slots=True)
class Known:
    """What was found out about the sites of a file by running them where the answers are known."""

    opaque: frozenset[int] = frozenset()  # what they observe cannot be told outside
    weak: frozenset[int] = frozenset()  # no change of what they expect makes a difference
    broken: frozenset[int] = frozenset()  # they do not work when rewritten, and stay as they are
    elusive: frozenset[int] = frozenset()  # required by the look of it, but not always reached
    dull: frozenset[int] = frozenset()  # one change made no difference; the next time everything is changed


@dataclass(frozen=True, slots=True)
class Draw:
    """One file in one run."""

    suite: Suite
    forms: Forms
    changed: frozenset[int] = frozenset()  # sites that must not hold
    neutral: frozenset[int] = frozenset()  # sites that can be changed and were not


@dataclass(slots=True)
class _Making:
    forms: dict[int, Form] = field(default_factory=dict)
    values: dict[Span, Any] = field(default_factory=dict)
    columns: dict[tuple[int, int], tuple[Any, ...]] = field(default_factory=dict)
    changed: set[int] = field(default_factory=set)
    neutral: set[int] = field(default_factory=set)

    def drawn(self, suite: Suite) -> Draw:
        """Tables of tests that are left as they are stay too: the names of their rows may matter there."""
        at_work = {suite.sites[number].test for number in self.forms}
        silent = {site.test for site in suite.sites} - at_work
        kept = frozenset(table.number for table in suite.tables if table.test in silent)
        forms = Forms(self.forms, self.values, self.columns, kept)
        return Draw(suite, forms, frozenset(self.changed), frozenset(self.neutral))


def draw_pair(suite: Suite, known: Known, chance: random.Random, turn: int = 0) -> tuple[Draw, Draw]:
    """Two runs that belong together."""
    blind = [site for site in suite.sites if is_blind(site, known) and not suite.is_left(site)]
    columns = {site.changes[0].column.key for site in blind if site.changes[0].column is not None}
    first = {site.number for site in blind if chance.random() < 1 / 2}
    for key in columns:  # sites that share a column have one mode
        sharing = {site.number for site in blind if site.changes[0].column and site.changes[0].column.key == key}
        first = first | sharing if min(sharing) in first else first - sharing
    if blind and len(first) in (0, len(blind)):  # at least one of each, where there are two
        mixed = chance.choice(blind)
        if mixed.changes[0].column is None:
            first ^= {mixed.number}
    every = {site.number for site in blind}
    mix = Chance(chance, suite.pool, turn)
    return draw(suite, known, first, mix), draw(suite, known, every - first, mix)


def draw(suite: Suite, known: Known, changed: Iterable[int], chance: Chance) -> Draw:
    """One run in which these sites expect something else."""
    made, wanted = _Making(), set(changed)
    for site in suite.sites:
        if site.number in known.broken or suite.is_left(site):
            continue
        if is_seen(site, known):
            made.forms[site.number] = Form.SEE
            continue
        made.forms[site.number] = site.held
        if is_blind(site, known):
            chosen = _chosen(site, known, chance) if site.number in wanted else ()
            _draw_blind(site, chosen, made, chance, dull=site.number in known.dull)
    return made.drawn(suite)


def is_blind(site: Site, known: Known) -> bool:
    """Whether a site is held by changing what it expects."""
    return bool(site.changes) and not is_seen(site, known) and site.number not in known.weak | known.broken


def is_seen(site: Site, known: Known) -> bool:
    """Whether a site reports what it observes. Where that shows nothing, to change what it expects shows more."""
    if site.observation is None or site.number in known.opaque:
        return False
    return site.observation.counts or not site.changes or site.number in known.weak


def _chosen(site: Site, known: Known, chance: Chance) -> Sequence[Change]:
    """What is changed of what a site expects: one literal, or all where one made no difference."""
    return site.changes if site.number in known.dull else (chance.random.choice(site.changes),)


def _draw_blind(site: Site, chosen: Iterable[Change], made: _Making, chance: Chance, *, dull: bool) -> None:
    others: dict[Span, Any] = {}
    if dull and not any(change.is_contained for change in site.changes):
        chance = Chance(chance.random, chance.pool, chance.turn, everywhere=True)
    for change in chosen:
        with suppress(Opaque):
            others[change.span] = other_of(change, chance)
    column = site.changes[0].column
    if column is not None:
        made.columns.setdefault(column.key, next(iter(others.values()), column.values))
    else:
        for item in site.changes:  # all are written again, so that which was changed does not show
            made.values[item.span] = others.get(item.span, item.value)
    (made.changed if others else made.neutral).add(site.number)


def unrelated(site: Site) -> Mapping[Span, Any]:
    """What nothing honest is equal to, in the place of what a site expects; it looks alike where it can."""
    return {change.span: _unrelated(change) for change in site.changes[:1]}


def _unrelated(change: Change) -> Any:
    if change.is_error:
        return "BufferError"
    if change.is_contained or not change.is_certain:
        return _UNRELATED
    try:
        return another(change.value, Chance(random.Random(0), far=True))  # noqa: S311 - far is far
    except Opaque:
        return _UNRELATED
