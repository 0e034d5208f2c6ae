"""Opening, answering and resolving disputes.

Guarantees: a dispute exists exactly when its deposit is held; it is resolved once, also where a side's account can
neither pay nor receive; what its resolution moves is one set of entries in the same transaction, and what could not be
taken from the loser is recorded as owed, and taken from what they are paid later, or when they are unfrozen (`debts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from choir.bazaar.attempts.model import Attempt, AttemptState
from choir.bazaar.bonds.model import bond_account
from choir.bazaar.disputes import rules, store
from choir.bazaar.disputes.model import (
    Dispute,
    DisputeOver,
    DisputeState,
    NotDisputable,
    OperatorsOnly,
    Ruling,
    Side,
    Trigger,
    UnknownDispute,
    Winner,
    dispute_id,
)
from choir.bazaar.jobs import store as job_store
from choir.bazaar.jobs.lifecycle import JobLifecycle
from choir.bazaar.jobs.model import SOURCE, Job, UnknownJob, Verdict, job_id
from choir.bazaar.jobs.service import owners_of
from choir.bazaar.seconds.model import BLOCKING
from choir.bazaar.settlement import pricing
from choir.bazaar.settlement import service as settlement
from choir.bazaar.settlement import store as settlement_store
from choir.bazaar.settlement.pricing import NOBODY, Terms
from choir.foundation.clock import MICROSECONDS
from choir.identity.model import Principal, Role, Scope
from choir.ledger import holds, queries
from choir.ledger.model import Draft, Leg, hold_account
from choir.ledger.service import Ledger
from choir.objects.service import Objects
from choir.storage.database import Tx
from choir.storage.tasks import schedule

if TYPE_CHECKING:  # it looks at disputes itself
    from choir.bazaar.jobs.access import JobAccess

REVERIFY = "bazaar.reverify"

_DEBT = "bazaar.debt"
_REFUND = "bazaar.refund"


@dataclass(frozen=True, slots=True)
class Move:
    """What a dispute moves from one account to another, and which part of a price it is."""

    role: str
    payer: str
    payee: str
    amount: int
    sign: int = 1  # for the one whose part it is: below zero where it is given back


class Disputes:
    """Use cases of disputes; all inside the caller's transaction."""

    def __init__(
        self, lifecycle: JobLifecycle, access: JobAccess, ledger: Ledger, objects: Objects, *, rulings_needed: int
    ) -> None:
        self._lifecycle = lifecycle
        self._access = access
        self._ledger = ledger
        self._objects = objects
        self._rulings_needed = rulings_needed

    def open(self, tx: Tx, who: Principal, job: UUID, attempt: UUID, trigger: Trigger, statement: str) -> Dispute:
        """Doubt what was decided on an attempt; opening it again gives the same dispute."""
        return self.open_or_find(tx, who, job, attempt, trigger, statement)[0]

    def open_or_find(
        self, tx: Tx, who: Principal, job: UUID, attempt: UUID | None, trigger: Trigger, statement: str
    ) -> tuple[Dispute, bool]:
        """The same, and whether it is new; without an attempt it is about the one that was judged last."""
        found, tried, side = self._about(tx, who, job, attempt)
        who.must(Scope.BUY if side is Side.BUYER else Scope.SELL)
        known = store.of_attempt(tx, tried.id, side)
        if known is not None:
            return known, False
        lifecycle = self._lifecycle
        now_us = lifecycle.clock.now_us()
        rules.check_statement(statement, lifecycle.policy)
        away_us = 0 if tried.ended_us is None else job_store.away_since(tx, tried.ended_us)
        rules.check_open(found, tried, side, trigger, now_us - away_us, lifecycle.policy)
        opener = found.buyer if side is Side.BUYER else tried.owner
        dispute = Dispute(
            id=lifecycle.new_id(),
            job=found.id,
            attempt=tried.id,
            side=side,
            opener=opener,
            trigger=trigger,
            statement=statement,
            state=DisputeState.OPEN,
            deposit=pricing.deposit(self._price(tx, tried), lifecycle.policy),
            hold=holds.placed_id(who.source, _deposit_key(tried, side)),
            opened_us=now_us,
            respond_by_us=now_us + lifecycle.policy.response_s * MICROSECONDS,
        )
        store.insert(tx, dispute)
        self._lifecycle.set_disputed(tx, found)
        lifecycle.note(
            tx, found, "disputed", who.source, attempt=tried, dispute=dispute_id(dispute.id), trigger=trigger.value
        )
        schedule(tx, REVERIFY, str(dispute.id), now_us)
        self._hold_deposit(tx, who, dispute, tried)
        return dispute, True

    def respond(self, tx: Tx, who: Principal, id_: UUID, response: str) -> Dispute:
        """The other side's answer; the first one stands."""
        dispute, job, attempt = self._locked(tx, id_)
        answering = attempt.owner if dispute.side is Side.BUYER else job.buyer
        if answering not in owners_of(who):
            raise UnknownDispute(dispute=dispute_id(id_))
        who.must(Scope.SELL if dispute.side is Side.BUYER else Scope.BUY)
        rules.check_statement(response, self._lifecycle.policy)
        self._must_be_undecided(dispute)
        if dispute.response is not None:
            return dispute
        state = DisputeState.RESPONDED if dispute.state is DisputeState.OPEN else dispute.state
        dispute = replace(dispute, response=response, state=state)
        store.save(tx, dispute)
        self._lifecycle.note(tx, job, "dispute_answered", who.source, attempt=attempt, dispute=dispute_id(id_))
        return dispute

    def reverified(self, tx: Tx, id_: UUID, again: Verdict) -> Dispute:
        """What the checks said when they were run again in a neutral sandbox."""
        dispute, job, attempt = self._locked(tx, id_)
        if dispute.state not in (DisputeState.OPEN, DisputeState.RESPONDED):
            return dispute
        winner = rules.by_machine(dispute, self._passed(tx, attempt), again, planted=job.is_own)
        if attempt.reason == BLOCKING and again.passed:  # a machine does not know what the second reviewer saw
            winner = None
        if winner is not None:
            return self._resolve(tx, dispute, job, attempt, winner, "The checks were run again.", SOURCE)
        return self._review(tx, dispute, job, attempt)

    def not_reverified(self, tx: Tx, id_: UUID, reason: str) -> Dispute:
        """The checks could not be run again, by the order itself or by this node: people look at it."""
        dispute, job, attempt = self._locked(tx, id_)
        if dispute.state not in (DisputeState.OPEN, DisputeState.RESPONDED):
            return dispute
        return self._review(tx, dispute, job, attempt, reason=reason)

    def _review(self, tx: Tx, dispute: Dispute, job: Job, attempt: Attempt, **data: Any) -> Dispute:
        dispute = replace(dispute, state=DisputeState.UNDER_REVIEW)
        store.save(tx, dispute)
        id_ = dispute_id(dispute.id)
        self._lifecycle.note(tx, job, "under_review", SOURCE, attempt=attempt, dispute=id_, **data)
        return dispute

    def case(self, tx: Tx, id_: UUID) -> tuple[Job, Attempt]:
        """What a dispute is about."""
        _, job, attempt = self._locked(tx, id_)
        return job, attempt

    def unanswered(self, tx: Tx, limit: int) -> list[UUID]:
        """Disputes whose other side has let its time pass."""
        return store.unanswered(tx, self._lifecycle.clock.now_us(), limit)

    def put_off(self, tx: Tx, since_us: int, by_us: int) -> int:
        """Whoever still had to answer then has so much longer."""
        return store.put_off(tx, since_us, by_us)

    def default(self, tx: Tx, id_: UUID) -> Dispute:
        """Nobody answered in time: the opener is right."""
        dispute, job, attempt = self._locked(tx, id_)
        late = self._lifecycle.clock.now_us() >= dispute.respond_by_us
        if dispute.state is not DisputeState.UNDER_REVIEW or dispute.response is not None or not late:
            return dispute
        why = "The other side did not answer in time."
        return self._resolve(tx, dispute, job, attempt, rules.by_silence(dispute), why, SOURCE)

    def rule(self, tx: Tx, who: Principal, id_: UUID, winner: Winner, reasoning: str) -> Dispute:
        """An operator's ruling; it decides once as many agree as the node needs."""
        if who.role is not Role.OPERATOR:
            raise OperatorsOnly
        who.must_be_told_apart(self._rulings_needed)
        rules.check_statement(reasoning, self._lifecycle.policy)
        dispute, job, attempt = self._locked(tx, id_)
        self._must_be_undecided(dispute)
        if dispute.state is not DisputeState.UNDER_REVIEW:
            raise NotDisputable(why="the checks are still being re-run")
        if not store.add_ruling(tx, id_, Ruling(who.source, winner, reasoning), self._lifecycle.clock.now_us()):
            return dispute  # an operator's first ruling stands
        rulings = store.rulings(tx, id_)
        self._lifecycle.note(
            tx, job, "ruled", who.source, attempt=attempt, dispute=dispute_id(id_), winner=winner.value
        )
        decided = rules.by_rulings(rulings, self._rulings_needed)
        if decided is None:
            return dispute
        return self._resolve(tx, dispute, job, attempt, decided, reasoning, who.source)

    def get(self, tx: Tx, who: Principal, id_: UUID) -> Dispute:
        """A dispute, for its two sides and for operators."""
        found = store.get(tx, id_)
        try:
            for one in () if found is None else self.of_job(tx, who, found.job):
                if one.id == id_:  # it may have gone on since it was looked up
                    return one
        except UnknownJob:
            pass
        raise UnknownDispute(dispute=dispute_id(id_))

    def of_job(self, tx: Tx, who: Principal, job: UUID) -> list[Dispute]:
        """All disputes about the attempts at a job that the reader may see."""
        seen = {attempt.id for attempt in self._access.job(tx, who, job).attempts}
        return [dispute for dispute in store.of_job(tx, job) if dispute.attempt in seen]

    def under_review(self, tx: Tx, who: Principal, *, after: UUID, limit: int) -> list[Dispute]:
        """What waits for an operator's ruling, oldest first."""
        if who.role is not Role.OPERATOR:
            raise OperatorsOnly
        return store.under_review(tx, after, min(limit, self._lifecycle.policy.page_rows_max))

    def rulings(self, tx: Tx, dispute: Dispute) -> list[Ruling]:
        return store.rulings(tx, dispute.id)

    # How it ends

    def _resolve(
        self, tx: Tx, dispute: Dispute, job: Job, attempt: Attempt, winner: Winner, reasoning: str, actor: str
    ) -> Dispute:
        now_us = self._lifecycle.clock.now_us()
        due = rules.worth(
            dispute,
            winner,
            attempt.paid,
            self._price(tx, attempt),
            failed=attempt.state is AttemptState.FAILED,
            returned=store.returned(tx, attempt.id),
        )
        resolved = replace(
            dispute, state=DisputeState.RESOLVED, winner=winner, reasoning=reasoning, refund=due, resolved_us=now_us
        )
        self._lifecycle.set_resolved(tx, job)
        # What counts in the provider's record from now on; a doubt that was wrong changes nothing about it.
        if winner is not Winner.SPLIT and not rules.opener_lost(dispute, winner):
            self._lifecycle.market.record(tx, job, attempt, passed=winner is Winner.PROVIDER, at_us=now_us)
        self._lifecycle.note(
            tx,
            job,
            "resolved",
            actor,
            attempt=attempt,
            dispute=dispute_id(dispute.id),
            winner=winner.value,
            refund=str(due),
        )
        moves = self._moves(tx, resolved, job, attempt, due)
        self._note_earnings(tx, job, attempt, moves)
        bonded = self._use_bond(tx, resolved, attempt, moves)
        places = self._lifecycle.settlement.parties(tx, dispute.hold, {move.payee for move in moves})
        self._end_deposit(tx, dispute, job, places[settlement.PLATFORM], lost=rules.opener_lost(dispute, winner))
        owed = self._move(tx, resolved, job, moves, places, bonded)
        resolved = replace(resolved, owed=owed)
        store.save(tx, resolved)
        return resolved

    def _moves(self, tx: Tx, dispute: Dispute, job: Job, attempt: Attempt, due: int) -> list[Move]:
        """Who gives what to whom: who got a part of a payment gives that part back, and who lacks one gets it."""
        assert dispute.winner is not None
        money, policy = self._lifecycle.settlement, self._lifecycle.policy
        buyer = settlement.available(job.buyer)
        got = settlement_store.shares_of(tx, attempt.id)
        if rules.goes_to_buyer(dispute, dispute.winner):
            if not got:  # it was paid before that was noted
                got = settlement.share_accounts(attempt.owner, pricing.shares(attempt.paid, policy), NOBODY)
            back = pricing.returned({role: amount for role, (_, amount) in got.items()}, due)
            return [Move(role, got[role][0], buyer, amount, sign=-1) for role, amount in sorted(back.items())]
        sharers = money.sharers(tx, job)
        parts = settlement.share_accounts(attempt.owner, pricing.shared(due, sharers, policy), sharers)
        moves = [Move(role, buyer, to, amount) for role, (to, amount) in sorted(parts.items())]
        if dispute.winner is Winner.PROVIDER and "fund" in got and due:  # what it would have had at once
            moves.append(Move("provider", got["fund"][0], settlement.available(attempt.owner), got["fund"][1]))
        return moves

    def _note_earnings(self, tx: Tx, job: Job, attempt: Attempt, moves: Sequence[Move]) -> None:
        """What is decided counts whole from now on: what cannot be taken yet is owed. Before the ledger's head."""
        summed = {"provider": 0, "platform": 0}
        for move in moves:
            if move.role in summed:
                summed[move.role] += move.sign * move.amount
        amounts = {"earned": summed["provider"], "fees": summed["platform"]}
        settlement_store.note_earnings(tx, attempt.provider, job.type, self._lifecycle.clock.now_us(), **amounts)

    def _use_bond(self, tx: Tx, dispute: Dispute, attempt: Attempt, moves: Sequence[Move]) -> int:
        """For a security issue: how much of what the provider owes comes from its bond. Before the ledger's head."""
        wanted = sum(move.amount for move in moves if move.sign < 0 and move.role == "provider")
        if dispute.trigger is not Trigger.SECURITY or not wanted:
            return 0
        return self._lifecycle.market.use_bond(tx, attempt.provider, wanted)

    def _move(
        self, tx: Tx, dispute: Dispute, job: Job, moves: Sequence[Move], places: Mapping[str, str], bonded: int
    ) -> int:
        """Take from the loser what is there; says how much was not, and is owed from now on.

        `places` says where each of them is paid; the ledger's head is locked, so what is read here can be taken.
        """
        there = {move.payer: self._takeable(tx, move.payer) for move in moves}
        legs: list[Leg] = []
        missing: list[tuple[str, str, int]] = []
        for move in moves:
            if move.payer == move.payee:  # the platform's own order: its share stays where it is
                continue
            from_bond = bonded if move.role == "provider" and move.sign < 0 else 0
            if from_bond:
                legs.append(Leg(bond_account(move.payer), places[move.payee], from_bond))
            taken = rules.take(there[move.payer], move.amount - from_bond)
            left = there[move.payer]
            there[move.payer] = {place: has - taken.get(place, 0) for place, has in left.items()}
            legs += [Leg(from_, places[move.payee], amount) for from_, amount in taken.items()]
            missing.append((move.payer, move.payee, move.amount - from_bond - sum(taken.values())))
        if legs:
            id_ = dispute_id(dispute.id)
            reason = f"a dispute was decided for the {dispute.winner}"
            self._ledger.post(
                tx, Draft(_REFUND, reason, SOURCE, f"refund:{id_}", tuple(legs), refs=(id_, job_id(job.id)))
            )
        return self._lifecycle.settlement.note_debts(tx, dispute.id, missing)

    def _takeable(self, tx: Tx, payer: str) -> dict[str, int]:
        if payer == settlement.VERIFIER_FUND:
            return {payer: queries.balance(tx, payer).balance}
        return self._lifecycle.settlement.claims.takeable(tx, payer)

    @contextmanager
    def collecting(self, tx: Tx, account: str) -> Iterator[None]:
        """Around the unfreezing of an account: what it owes is paid before anybody can spend from it."""
        self._lifecycle.settlement.lock_debts(tx, account)  # before the ledger's head, which the unfreezing takes
        yield
        taken = self._lifecycle.settlement.take_debts(tx, account, queries.balance(tx, account).balance)
        if not taken:
            return
        claims = self._lifecycle.settlement.claims
        places = claims.payable(tx, {one.debt.creditor for one in taken}, reason="a debt was paid", source=SOURCE)
        legs = tuple(Leg(account, places[one.debt.creditor], one.amount) for one in taken)
        refs = tuple(sorted({dispute_id(one.debt.dispute) for one in taken}))
        key = f"collect:{queries.head(tx).seq}:{account}"  # the head is locked, so there is no second at this place
        self._ledger.post(tx, Draft(_DEBT, "what was owed after a dispute", SOURCE, key, legs, refs=refs))
        self._lifecycle.tell_debts(tx, taken)

    def _hold_deposit(self, tx: Tx, who: Principal, dispute: Dispute, attempt: Attempt) -> None:
        lasts_us = dispute.respond_by_us - dispute.opened_us + self._lifecycle.policy.ruling_s * MICROSECONDS
        expires_us = queries.time_us(tx, dispute.opened_us) + lasts_us
        draft = holds.place(
            settlement.available(dispute.opener),
            dispute.deposit,
            expires_us=expires_us,
            reason="the deposit of a dispute",
            source=who.source,
            key=_deposit_key(attempt, dispute.side),
            refs=(dispute_id(dispute.id),),
        )
        self._lifecycle.settlement.spend(tx, who, draft)

    def _end_deposit(self, tx: Tx, dispute: Dispute, job: Job, platform: str, *, lost: bool) -> None:
        id_ = dispute_id(dispute.id)
        key, refs = f"deposit:{id_}", (id_, job_id(job.id))
        if lost:
            leg = Leg(hold_account(dispute.hold, settlement.SAT), platform, dispute.deposit)
            why = "a dispute was lost"
            draft = holds.capture(dispute.hold, (leg,), reason=why, source=SOURCE, key=key, refs=refs)
        else:
            why = "a dispute was not lost"
            draft = holds.release(dispute.hold, reason=why, source=SOURCE, key=key, refs=refs)
        self._lifecycle.settlement.settle_or_lapse(tx, draft)

    # Looking things up

    def _about(self, tx: Tx, who: Principal, job: UUID, attempt: UUID | None) -> tuple[Job, Attempt, Side]:
        found = self._lifecycle.lock(tx, self._access.job(tx, who, job).job.id)
        mine = owners_of(who)
        tries = [item for item in job_store.attempts(tx, job) if mine & {found.buyer, item.owner}]
        if attempt is None:
            judged = [item for item in tries if item.verdict is not None]
            if not judged:
                raise NotDisputable(why="there is no verdict yet")
            tried: Attempt | None = max(judged, key=lambda item: (item.ended_us or 0, item.n))
        else:
            tried = next((item for item in tries if item.id == attempt), None)
        if tried is None:
            raise UnknownJob(job=job_id(job))
        return found, tried, Side.BUYER if found.buyer in mine else Side.PROVIDER

    def _locked(self, tx: Tx, id_: UUID) -> tuple[Dispute, Job, Attempt]:
        found = store.get(tx, id_)
        if found is None:
            raise UnknownDispute(dispute=dispute_id(id_))
        job = self._lifecycle.lock(tx, found.job)
        dispute, attempt = store.get(tx, id_, lock=True), job_store.attempt(tx, found.attempt)
        assert dispute is not None
        assert attempt is not None
        return dispute, job, attempt

    @staticmethod
    def _must_be_undecided(dispute: Dispute) -> None:
        if dispute.state is DisputeState.RESOLVED:
            raise DisputeOver(dispute=dispute_id(dispute.id), state=dispute.state.value)

    def _passed(self, tx: Tx, attempt: Attempt) -> bool:
        assert attempt.verdict is not None
        return bool(self._objects.get_atom(tx, attempt.verdict)["passed"])

    def _price(self, tx: Tx, attempt: Attempt) -> int:
        """What the attempt would have cost, by the units that were measured."""
        assert attempt.verdict is not None
        units = int(self._objects.get_atom(tx, attempt.verdict)["units_milli"])
        return pricing.price(Terms(attempt.base, attempt.per_unit, attempt.cap), units, attempt.ceiling)


def _deposit_key(attempt: Attempt, side: Side) -> str:
    return f"dispute:{attempt.id}:{side}"
