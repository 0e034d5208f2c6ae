"""Who hears of what: events and histories tell each side its own, and no provider about another."""

from __future__ import annotations

from uuid import UUID

import pytest

from choir.bazaar.attempts.model import attempt_id
from choir.bazaar.jobs import store as job_store
from choir.bazaar.jobs.model import FREE, AmbiguousPrefix, JobState, UnknownPrefix, job_id
from choir.foundation.errors import Invalid
from choir.foundation.ids import PREFIX_LETTERS_MIN
from choir.storage.outbox import Event, Position
from tests.bazaar.hall import Hall, verdict


def told(hall: Hall) -> list[Event]:
    with hall.tx() as tx:
        return hall.outbox.read(tx, Position(), 10_000)


def test_no_provider_hears_of_another(hall: Hall) -> None:
    buyer = hall.person(20_000)
    first, second = hall.provider(), hall.provider()
    owners = {provider: hall.stalls[provider].who.source for provider in (first, second)}
    job = hall.order(buyer, race=2)
    attempts = {attempt.provider: attempt for attempt in hall.assign(job)}
    for provider in (first, second):
        hall.hand_in(attempts[provider], str(provider).encode())
    hall.judge(attempts[second], verdict())
    hall.judge(attempts[first], verdict())
    events = [event for event in told(hall) if event.subject == job_id(job.id)]
    assert all(buyer.source in event.audience for event in events)
    assert not any("why" in event.data for event in events)
    for provider, other in ((first, second), (second, first)):
        heard = [event for event in events if owners[provider] in event.audience]
        assert {"bazaar.job.offered", "bazaar.job.handed_in"} < {event.type for event in heard}
        assert {event.data["attempt"] for event in heard} == {attempt_id(attempts[provider].id)}
        assert not any(owners[other] in str(event) for event in heard)
        with hall.tx() as tx:
            seen = hall.access.steps(tx, hall.stalls[provider].who, job.id)
        for word in (owners[other], attempt_id(attempts[other].id), str(other), "why"):
            assert word not in str(seen)
        assert [event.what for event in seen][:2] == ["opened", "offered"]
    with hall.tx() as tx:
        whole = hall.access.steps(tx, buyer, job.id)
    offered = [event for event in whole if event.what == "offered"]
    assert len(offered) == 2
    assert all(event.data["why"] for event in offered)  # the buyer sees why


def test_who_was_at_work_hears_that_it_is_over(hall: Hall) -> None:
    buyer = hall.person(20_000)
    providers = [hall.provider() for _ in range(2)]
    job = hall.order(buyer, race=2)
    hall.assign(job)
    with hall.tx() as tx:
        hall.jobs.cancel(tx, buyer, job.id)
    for provider in providers:
        owner = hall.stalls[provider].who.source
        heard = [event for event in told(hall) if owner in event.audience]
        of_job = {event.type for event in heard if event.subject == job_id(job.id)}
        assert {"bazaar.job.called_off", "bazaar.job.cancelled"} <= of_job
        own = [event for event in heard if event.type.startswith("bazaar.provider.")]
        assert {"bazaar.provider.registered", "bazaar.provider.capabilities"} <= {event.type for event in own}
        assert all(event.audience == (owner,) for event in own)


def test_a_beginning_names_what_its_asker_may_look_at_and_nothing_else(hall: Hall) -> None:
    buyer, other = hall.person(30_000), hall.person(20_000)
    mine, theirs = [job_id(hall.order(buyer).id) for _ in range(2)], job_id(hall.order(other).id)
    shared = mine[0][: 4 + PREFIX_LETTERS_MIN]
    assert all(id_.startswith(shared) for id_ in (*mine, theirs))  # made within the same second
    with hall.tx() as tx:
        assert hall.access.id(tx, buyer, mine[1][:-2]) == mine[1]
        assert hall.access.id(tx, other, shared) == theirs  # unique among what it may look at
        with pytest.raises(AmbiguousPrefix) as several:
            hall.access.id(tx, buyer, shared)
        assert several.value.fields["candidates"] == mine
        assert theirs not in str(several.value)
        with pytest.raises(UnknownPrefix):
            hall.access.id(tx, buyer, theirs[:-2])
        with pytest.raises(UnknownPrefix):
            hall.access.id(tx, buyer, theirs)  # not even by all of it
        for odd in (shared[:-1], "agent_" + shared[4:]):
            with pytest.raises(Invalid):
                hall.access.id(tx, buyer, odd)


def test_a_line_about_an_order_goes_with_its_buyer(hall: Hall) -> None:
    erased, other = hall.person(20_000), hall.person(20_000)
    jobs = [hall.order(erased), hall.order(other)]
    with hall.tx() as tx:
        ids = [job.id for job in jobs]
        assert set(job_store.summaries(tx, ids)) == set(ids)
        hall.forget(tx, erased.source)
        assert set(job_store.summaries(tx, ids)) == {jobs[1].id}


def test_what_an_erased_person_ordered_and_was_working_on(hall: Hall) -> None:
    erased, other = hall.person(20_000), hall.person(20_000)
    first = hall.provider()
    waiting, handed = hall.order(erased), hall.order(erased)
    [attempt] = hall.assign(handed)
    hall.hand_in(attempt)
    theirs = hall.order(other)
    [at_work] = hall.assign(theirs)
    second = hall.provider()
    with hall.tx() as tx:
        hall.forget(tx, erased.source)
        hall.forget(tx, hall.stalls[first].who.source)
        looked = {UUID(row[0]) for row in tx.rows("select key from tasks where name = 'bazaar.look'")}
    assert looked == {waiting.id, handed.id, theirs.id}
    for id_ in looked:
        with hall.tx() as tx:
            hall.jobs.look(tx, id_)
    assert (hall.job(waiting).state, hall.held(waiting)) == (JobState.CANCELLED, 0)
    assert hall.job(theirs).state is JobState.OPEN
    hall.stalls[first].alive = False
    hall.wait(2)
    hall.look()
    assert [again.provider for again in hall.live(theirs)] == [second]
    assert hall.judge(attempt, verdict()).paid == 310_000  # a tenth, as after any cancellation
    assert hall.held(handed) == 0
    assert at_work.provider == first
    hall.check()


def test_jobs_wait_in_line_for_a_slot(hall: Hall) -> None:
    buyer, provider = hall.person(100_000), hall.provider(slots=1)
    jobs = [hall.order(buyer, 5_000) for _ in range(3)]
    [attempt] = hall.assign(jobs[0])
    for job in jobs[1:]:
        hall.wait(0.1)
        assert hall.assign(job) == []
    hall.wait(0.1)
    with hall.tx() as tx:
        assert hall.jobs.waiting_for(tx, [provider], 10) == [jobs[1].id, jobs[2].id]
        assert hall.jobs.to_offer(tx, 10) == []  # by themselves they are not tried again yet
        assert not hall.providers.any_free(tx, [provider])
    hall.hand_in(attempt)
    with hall.tx() as tx:
        hall.attempts.begin_verifying(tx, attempt.id)
        hall.attempts.conclude(tx, attempt.id, verdict(visible=False))
        assert (FREE, provider) in tx.wakeups_due
    with hall.tx() as tx:
        assert hall.providers.any_free(tx, [provider])
        # The one whose try has just failed keeps its pause.
        assert hall.jobs.waiting_for(tx, [provider], 10) == [jobs[1].id, jobs[2].id]
    hall.wait(1)
    with hall.tx() as tx:
        assert hall.jobs.waiting_for(tx, [provider], 10) == [jobs[1].id, jobs[2].id, jobs[0].id]
    # One that was tried in vain goes behind the others, so that it does not stand in their way.
    with hall.tx() as tx:
        hall.providers.drain(tx, hall.stalls[provider].who, True)
        hall.jobs.assign(tx, jobs[1].id)
        assert hall.jobs.waiting_for(tx, [provider], 10) == [jobs[2].id, jobs[0].id, jobs[1].id]
