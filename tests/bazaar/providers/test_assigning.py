"""From wishes to reserved slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from choir.bazaar.providers.assignment import Assignment, Assignments
from choir.bazaar.providers.fallback import (
    Assign,
    GiveUp,
    PinnedProvider,
    PreferredThenPool,
    Race,
    SequentialRetry,
    Strategy,
    Try,
    TryState,
    Wait,
)
from choir.bazaar.providers.selection_rules import Criteria
from tests.bazaar.providers.stalls import Stalls, wants

RETRY = SequentialRetry(3, 0)


def assign(
    stalls: Stalls, strategy: Strategy = RETRY, history: Sequence[Try] = (), criteria: Criteria | None = None
) -> Assignment:
    with stalls.tx() as tx:
        return Assignments(stalls.providers).assign(
            tx, stalls.new_job(), criteria or wants(), strategy, history, stalls.clock.now_us(), b"lot"
        )


def ids(found: Assignment) -> list[UUID]:
    return [one.candidate.provider for one in found.chosen]


def in_use(stalls: Stalls) -> dict[UUID, int]:
    with stalls.tx() as tx:
        return dict(tx.rows("select provider, in_use from provider_market where in_use > 0"))


def test_the_best_gets_the_job_and_the_slot(stalls: Stalls) -> None:
    for n in (1, 2, 3):
        stalls.stall(n)
    found = assign(stalls)
    assert ids(found) == [found.explanation.ranked[0].candidate.provider]
    assert in_use(stalls) == {ids(found)[0]: 1}


def test_a_race_takes_several(stalls: Stalls) -> None:
    made = {stalls.stall(n).id for n in (1, 2, 3)}
    found = assign(stalls, Race(2))
    assert len(set(ids(found))) == 2
    assert in_use(stalls) == dict.fromkeys(ids(found), 1)
    assert set(ids(assign(stalls, Race(5)))) == made


def test_preferred_and_pinned_ones_are_found_however_low_they_score(stalls: Stalls) -> None:
    made = [stalls.stall(n).id for n in range(1, 26)]
    best = [one.candidate.provider for one in stalls.select(wants(), b"lot").ranked]
    last = next(one for one in made if one not in best)  # not among the twenty
    assert ids(assign(stalls, PreferredThenPool((last,), 3))) == [last]
    assert ids(assign(stalls, PinnedProvider(last, 3, 0))) == [last]
    refused = [Try(last, TryState.REFUSED)]
    assert last not in ids(assign(stalls, PreferredThenPool((last,), 3), refused))
    assert isinstance(assign(stalls, PinnedProvider(last, 3, 0), refused).decision, GiveUp)
    elsewhere = wants(providers=tuple(best[:2]))
    assert set(ids(assign(stalls, PreferredThenPool((last,), 3), (), elsewhere))) <= set(best[:2])


def test_nobody_there_is_a_wait_with_a_reason(stalls: Stalls) -> None:
    found = assign(stalls)
    assert (found.chosen, found.decision) == ((), Wait())
    assert found.explanation.as_json()["nobody_because"]["known"] == 0


def test_many_jobs_at_once_fill_every_slot_and_no_more(stalls: Stalls) -> None:
    made = [stalls.stall(n, capacity=2).id for n in range(1, 5)]
    jobs = [stalls.new_job() for _ in range(24)]

    def work(job: UUID) -> list[UUID]:
        return stalls.database.run(
            lambda tx: ids(
                Assignments(stalls.providers).assign(tx, job, wants(), RETRY, (), stalls.clock.now_us(), job.bytes)
            )
        )

    with ThreadPoolExecutor(16) as pool:
        found = Counter(one for chosen in pool.map(work, jobs) for one in chosen)
    assert found == dict.fromkeys(made, 2) == in_use(stalls)
    assert isinstance(assign(stalls).decision, Wait)


def test_a_slot_that_was_taken_meanwhile_goes_to_the_next(stalls: Stalls) -> None:
    """Between looking and reserving the best one becomes full."""
    a, b = stalls.stall(1, capacity=1).id, stalls.stall(2, capacity=1).id
    with stalls.tx() as tx:
        selected = stalls.providers.selection.select(tx, wants(), stalls.clock.now_us(), b"lot")
        first = selected.ranked[0].candidate.provider
        assert stalls.providers.reserve(tx, first, stalls.new_job())
        assignments = Assignments(stalls.providers)
        found = assignments._reserve(tx, stalls.new_job(), RETRY, (), selected, stalls.clock.now_us(), places=1)
    assert found == {a, b} - {first}
    assert isinstance(assign(stalls).decision, Wait)


def test_a_race_that_finds_fewer_says_who_it_got(stalls: Stalls) -> None:
    made = stalls.stall(1).id
    assert assign(stalls, Race(3)).decision == Assign((made,))
