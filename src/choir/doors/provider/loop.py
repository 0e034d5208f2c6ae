"""The loop of a provider: signs of life, news of work, taking it, and coming to an end.

It looks for work with every sign of life, and at once when the node tells of something; what came of work that was
handed in can wait a moment, and is asked for together. The node may be away: what is at work goes on, and it is asked
again, with growing pauses, until it is back or this process is stopped.

Guarantees: an attempt is taken once, and never more of them than there are places; one that the node no longer lists is
stopped; draining takes nothing new, gives back what was not begun, and ends when nothing is at work; whatever way it
ends, each attempt was handed in, given back, or is over, unless the node could not be told, and then that is said.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import islice

from choir.bazaar.attempts.model import AT_WORK, LIVE_ATTEMPT, AttemptState
from choir.bazaar.policy import WorkersPolicy
from choir.bazaar.providers.model import ProviderRetired
from choir.bazaar.workers.pool import WorkerPool
from choir.doors.jobs.shapes import AttemptOut
from choir.doors.provider.carrier import STOPPING, AttemptRun, Carrier, Phase
from choir.doors.provider.clocks import NodeClock
from choir.doors.provider.model import Tell
from choir.doors.provider.retry import PAUSE_S, longer, passes, spread
from choir.doors.providers.shapes import ProviderOut
from choir.doors.sdk.client import Client
from choir.doors.sdk.errors import NodeError
from choir.foundation.errors import ChoirError, Unauthenticated

_TICK_S = 0.1
_DEAF_LOOK_S = 2.0  # between two looks where the node tells no events
_LOOK_S_MIN = 0.02  # between two looks, however much is told
_LOOK_S_MAX = 1.0
_LOOK_TIMES = 4  # a pause is so many times as long as the look before it: a busy node is asked less often
_ASK_S = 0.5  # between two times that we ask for verdicts
_ASK_ONE_BY_ONE = 2  # more of them are looked up on a page
_PAGE = 100
_BEAT_S_MIN = 1.0  # between a beat and the one that a verdict is the reason for
_REFUSED_IN_A_ROW_MAX = 3
_REMEMBERED = 10_000
_AT_WORK = frozenset(state.value for state in AT_WORK)
_LIVE = frozenset(state.value for state in LIVE_ATTEMPT)


@dataclass(slots=True)
class Totals:
    """What came of the work since this process began."""

    passed: int = 0
    failed: int = 0
    earned: int = 0  # by the node's books


class ProviderLoop:
    """Serves one provider. `run` works in one thread; `drain`, `stop_now` and `wake` may be called from any."""

    def __init__(
        self,
        client: Client,
        pool: WorkerPool,
        carrier: Carrier,
        clock: NodeClock,
        policy: WorkersPolicy,
        tell: Tell,
        *,
        version: str = "",
        drain_s: float | None = None,
    ) -> None:
        self._client = client
        self._pool = pool
        self._carrier = carrier
        self._clock = clock
        self._policy = policy
        self._tell = tell
        self._version = version
        self._drain_s = policy.drain_s if drain_s is None else drain_s
        self._lock = threading.Lock()
        self._carried: dict[str, AttemptRun] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()  # taken once, never again
        self._handed: dict[str, AttemptRun] = {}  # waiting for a verdict
        self._changed: set[str | None] = set()  # jobs that something happened to; None: perhaps any
        self._asked_for: set[str] = set()  # attempts that may have a verdict by now
        self._wake = threading.Event()
        self._draining = threading.Event()
        self._stopping = threading.Event()
        self._drain_until = 0.0
        self._next_beat = 0.0
        self._last_beat = 0.0
        self._next_ask = 0.0  # not sooner
        self._crowded = False  # there was more work than places when we looked
        self._next_look = 0.0  # not sooner
        self._look_by = float("inf")  # not later
        self._deaf = False
        self._pause_s = PAUSE_S
        self._refused = 0
        self._earned_before: int | None = None
        self.away_since: float | None = None
        self.provider: ProviderOut | None = None
        self.totals = Totals()

    # --- from outside ---

    def wake(self, job: str | None = None) -> None:
        """Look now: something happened to this job, or to any."""
        with self._lock:
            self._changed.add(job)
        self._wake.set()

    def no_events(self) -> None:
        """The node tells nothing by itself: look often."""
        self._deaf = True
        self._look_by = 0.0
        self._wake.set()

    def drain(self) -> None:
        """Finish what is at work, take nothing new, and then end."""
        if not self._draining.is_set():
            self._drain_until = time.monotonic() + self._drain_s
            self._draining.set()
            self._wake.set()

    def stop_now(self) -> None:
        """Give back what is at work, and end."""
        self.drain()
        self._stopping.set()
        self._wake.set()

    @property
    def draining(self) -> bool:
        return self._draining.is_set()

    def at_work(self) -> list[AttemptRun]:
        with self._lock:
            return list(self._carried.values())

    def waiting_for_verdicts(self) -> int:
        return len(self._handed)

    def summary(self) -> dict[str, int]:
        """What there is to say at the end: what came of the work, and what became of the rest."""
        return {
            "passed": self.totals.passed,
            "failed": self.totals.failed,
            "given_back": self._carrier.given_back_stopping,
            "unjudged": self.waiting_for_verdicts(),
            "left": len(self.at_work()),
        }

    # --- the loop ---

    def run(self) -> None:
        """Serve until drained. Raises what the node refuses this provider for good."""
        said_draining = False
        try:
            while True:
                if self.draining and not said_draining:
                    said_draining = True
                    self._begin_draining()
                if self.draining and self._is_drained():
                    return
                self._turn()
                self._rest()
        finally:
            self._leave()

    def _turn(self) -> None:
        now = time.monotonic()
        woken = (self._wake.is_set() or now >= self._look_by) and now >= self._next_look
        if woken:
            self._wake.clear()
        try:
            if now >= self._next_beat or (woken and self.away_since is not None):
                self._beat()
            elif woken:
                self._look()
            if self._asked_for and now >= self._next_ask:
                self._ask_for_verdicts()
        except ChoirError as error:
            self._failed(error)
        except Exception as error:  # what no node of this version would answer must not end the work that goes on
            self._failed(NodeError(detail=f"The node's response is malformed ({type(error).__name__})."))

    def _rest(self) -> None:
        """Until there is something to do; never so short that much news keeps this machine busy."""
        time.sleep(max(0.0, min(_LOOK_S_MAX, self._next_look - time.monotonic())))
        next_ = min(self._next_beat, self._look_by) - time.monotonic()
        next_ = _TICK_S if self.draining else max(_TICK_S, next_)
        if self._asked_for:
            next_ = min(next_, max(0.0, self._next_ask - time.monotonic()))
        self._wake.wait(next_)

    def _beat(self) -> None:
        carried = len(self.at_work())
        free = 0 if self.draining else max(0, self._pool.capacity - carried - self._pool.health().stuck)
        healthy = bool(self._pool.types()) and free + carried > 0
        asked_us = self._clock.own_us()
        answer = self._client.providers.beat(healthy=healthy, free_slots=free, version=self._version, running=carried)
        if answer.now is not None and self._clock.note(answer.now, asked_us):
            self._tell("skew", ahead_s=round(self._clock.ahead_s, 1))
        self._last_beat = time.monotonic()
        self._next_beat = self._last_beat + max(1, answer.next_s)
        self._is_back()
        self._note(answer.provider)
        if answer.provider.retired_at is not None:
            raise ProviderRetired(provider=answer.provider.id)
        self._consider(answer.attempts)
        with self._lock:
            self._asked_for.update(self._handed)  # whatever was not told is found now

    def _look(self) -> None:
        """See what there is to do, and of what was handed in what may be judged by now."""
        began = time.monotonic()
        self._look_by = began + _DEAF_LOOK_S if self._deaf else float("inf")
        with self._lock:
            changed, self._changed = self._changed, set()
            handed = {item.job: item.attempt for item in self._handed.values()}
            handing_in = {item.job for item in self._carried.values() if item.phase is Phase.HANDING_IN}
            self._changed |= handing_in & changed  # an event may be here before the answer to what it is about
        any_ = self._deaf or None in changed
        self._asked_for.update(attempt for job, attempt in handed.items() if any_ or job in changed)
        if any_ or not changed or changed - handed.keys():
            try:
                self._consider(self._client.attempts.mine(live=True))
            finally:
                took_s = time.monotonic() - began
                self._next_look = time.monotonic() + min(_LOOK_S_MAX, max(_LOOK_S_MIN, _LOOK_TIMES * took_s))

    # --- taking and stopping ---

    def _consider(self, attempts: Iterable[AttemptOut]) -> None:
        """Take what is new, and stop what is listed no more."""
        self._crowded = False
        listed = {item.id: item for item in attempts if item.state in _AT_WORK}
        for carried in self.at_work():
            working = carried.phase in (Phase.FETCHING, Phase.WORKING)  # else it is about to leave the list by itself
            if working and carried.attempt not in listed and not carried.over.is_set():
                self._carrier.stop(carried, over=True)
        for item in listed.values():
            if item.id in self._ended or item.id in self._carried:
                continue
            if self.draining:
                self._remember(item.id)
                self._carrier.refuse(item.id, item.job, STOPPING)
            elif len(self.at_work()) < self._pool.capacity:
                self._take(item)
            else:
                self._crowded = True

    def _take(self, item: AttemptOut) -> None:
        left_s = self._clock.left_s(item.deadline_at)
        if left_s <= self._policy.hand_in_s:
            self._remember(item.id)
            self._carrier.refuse(item.id, item.job, "Too little time is left for it.")
            return
        carried = AttemptRun(item.id, item.job, int(item.ceiling), time.monotonic() + left_s)
        with self._lock:
            self._carried[item.id] = carried
        again = item.state == AttemptState.RUNNING.value  # an earlier process had begun it
        self._tell("taken", job=item.job, attempt=item.id, left_s=round(left_s), again=again, trial=not carried.ceiling)
        threading.Thread(target=self._carry, args=(carried,), name=f"choir-{item.id}", daemon=True).start()

    def _carry(self, carried: AttemptRun) -> None:
        handed_in = False
        try:
            handed_in = self._carrier.carry(carried)
        finally:
            self._remember(carried.attempt)
            with self._lock:
                if handed_in:
                    self._handed[carried.attempt] = carried
                del self._carried[carried.attempt]
                news = carried.job in self._changed
            if news or self._crowded or self.draining:
                self._wake.set()

    def _remember(self, attempt: str) -> None:
        with self._lock:
            self._ended[attempt] = None
            while len(self._ended) > _REMEMBERED:
                self._ended.popitem(last=False)

    # --- what came of it ---

    def _ask_for_verdicts(self) -> None:
        """Of what was handed in and is judged by now: how it ended and what it brought."""
        self._next_ask = time.monotonic() + _ASK_S
        with self._lock:
            asked, self._asked_for = self._asked_for & set(self._handed), set()
        judged = [item for item in self._found(asked) if item.state not in _LIVE]
        earned = self._earned() if any(int(item.paid) for item in judged) else None
        for item in judged:
            with self._lock:
                carried = self._handed.pop(item.id)
            passed = item.state == AttemptState.PASSED.value
            self.totals.passed += passed
            self.totals.failed += not passed
            alone = len(judged) == 1 and earned is not None
            self._tell(
                "outcome", job=item.job, attempt=item.id, type=carried.type, state=item.state, reason=item.reason,
                paid=item.paid, earned=str(earned) if alone else None,
            )  # fmt: skip
            # A verdict changes what the node thinks of us, that of a trial and a failure most.
            pause_s = 0.0 if not (passed and carried.ceiling) else _BEAT_S_MIN
            self._next_beat = min(self._next_beat, self._last_beat + pause_s)

    def _found(self, attempts: Collection[str]) -> list[AttemptOut]:
        """These attempts as they are now; many of them on one page, where they are among the newest."""
        found: dict[str, AttemptOut] = {}
        if len(attempts) > _ASK_ONE_BY_ONE:
            newest = islice(self._client.attempts.mine(live=False, limit=_PAGE), _PAGE)
            found = {item.id: item for item in newest if item.id in attempts}
        return [found[id_] if id_ in found else self._client.attempts.get(id_) for id_ in sorted(attempts)]

    def _earned(self) -> int:
        """What the books say has come in since the last look at them."""
        total = int(self._client.providers.earnings("all").earned)
        before = self._earned_before if self._earned_before is not None else total
        self._earned_before = total
        self.totals.earned += total - before
        return total - before

    def begin_counting(self) -> None:
        """Remember what was earned before this process."""
        self._earned_before = int(self._client.providers.earnings("all").earned)

    def _note(self, provider: ProviderOut) -> None:
        """The provider as the node sees it; what changed is told."""
        before = {} if self.provider is None else {offer.type: offer for offer in self.provider.offers}
        for offer in provider.offers:
            known = before.get(offer.type)
            if offer.offered and (known is None or known.qualification != offer.qualification):
                self._tell("qualification", type=offer.type.value, state=offer.qualification, retry_at=offer.retry_at)
        self.provider = provider

    # --- the node is away, or refuses ---

    def _failed(self, error: ChoirError) -> None:
        """Go on, later; or end, if the node will have nothing of this provider any more."""
        if not passes(error):
            self._refused += 1
            if not isinstance(error, Unauthenticated) or self._refused >= _REFUSED_IN_A_ROW_MAX:
                self._tell("refused", why=str(error))
                self.drain()
                raise error
            self._clock.note_ahead(self._client.ahead_s)  # signed requests are refused when clocks are apart
        if self.away_since is None:
            self.away_since = time.monotonic()
            self._tell("away", why=str(error))
        self._next_beat = time.monotonic() + spread(self._pause_s)
        self._pause_s = longer(self._pause_s)

    def _is_back(self) -> None:
        self._refused = 0
        self._pause_s = PAUSE_S
        if self.away_since is not None:
            self._tell("back", away_s=round(time.monotonic() - self.away_since, 1))
            self.away_since = None

    # --- the end ---

    def _begin_draining(self) -> None:
        self._tell("draining", at_work=len(self.at_work()), drain_s=self._drain_s)
        try:
            self._client.providers.drain(True)
            self.wake()
            self._look()
        except ChoirError as error:
            self._tell("away", why=str(error))

    def _is_drained(self) -> bool:
        at_work = self.at_work()
        if self._stopping.is_set() or time.monotonic() >= self._drain_until:
            for carried in at_work:
                if not carried.unwanted():
                    self._carrier.stop(carried, over=False)
        return not at_work

    def _leave(self) -> None:
        """Nothing is left at work, also if the loop ended by an error."""
        for carried in self.at_work():
            self._carrier.stop(carried, over=False)
        until = time.monotonic() + self._policy.stuck_s + 10
        while self.at_work() and time.monotonic() < until:
            time.sleep(_TICK_S)
