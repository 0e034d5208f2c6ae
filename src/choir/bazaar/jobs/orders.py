"""From what a buyer sends to an order: request, inputs, strategy and criteria, each read strictly.

Guarantees: what is stored of an order is its canonical form, so the same order is the same whoever wrote it down;
an order has exactly the inputs that its type needs; hidden checks are there exactly when the request commits to
them, and are those it commits to. No money is held for what this node could not verify.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from choir.bazaar.contracts import (
    CodeReviewRequest,
    HiddenChecks,
    PatchGenRequest,
    RepoIndexRequest,
    Request,
    read_request,
)
from choir.bazaar.jobs import store
from choir.bazaar.jobs.model import DIFF, HIDDEN, PREVIOUS, REPOSITORY, Job, JobType
from choir.bazaar.jobs.service import Jobs, Order, buyer_of
from choir.bazaar.policy import BazaarPolicy, VerificationPolicy
from choir.bazaar.providers import fallback, selection_rules
from choir.bazaar.providers.market import Market
from choir.bazaar.seconds.model import REVIEWED
from choir.bazaar.settlement import extras
from choir.bazaar.skills.model import SKILL
from choir.bazaar.skills.service import Skills
from choir.bazaar.uploads import blobs
from choir.bazaar.uploads.blobs import SentBlob
from choir.bazaar.verification import levels
from choir.foundation.canonical import ObjectHash, canonical_bytes, parse_json
from choir.foundation.errors import Invalid, Refusal, TooLarge
from choir.foundation.policy import Policy
from choir.identity.model import Principal
from choir.objects.service import Objects
from choir.storage.database import Tx

ARCHIVE = "archive"  # what a repository may be made of
_HIDDEN_BYTES_MAX = 2_000_000  # what `HiddenChecks` reads
_NEEDED = {
    JobType.PATCH_GEN: frozenset({REPOSITORY}),
    JobType.CODE_REVIEW: frozenset({DIFF}),
    JobType.SANDBOX_RUN: frozenset[str](),
    JobType.TEXT_GEN: frozenset[str](),
    JobType.REPO_INDEX: frozenset({REPOSITORY}),
}
# A repository beside a diff is for whoever reviews it; verification does not need it.
_ALLOWED = _NEEDED | {
    JobType.PATCH_GEN: frozenset({REPOSITORY, HIDDEN}),
    JobType.CODE_REVIEW: frozenset({DIFF, REPOSITORY}),
}


class BadInputs(Invalid):
    code = "bazaar.bad_inputs"
    sentence = "The order lacks required inputs: {why}."


class NotBought(Refusal):
    """Only an index that was verified here saves work: another could hold anything, and its provider would pay."""

    code = "bazaar.index_not_bought"
    sentence = "You have not bought the index {hash} from this node, so it cannot be built upon."
    hint = "Name the artifact of an index job of yours that was paid, or omit the previous index."


class CannotVerify(Refusal):
    """Every type of work is verified with the node's sandbox, and there is none."""

    code = "bazaar.no_sandbox"
    sentence = "This node cannot verify work now, so it accepts no orders; nothing is held. {why}"
    hint = "Its operator can fix that (run `choir doctor` there); then retry the same order."


@dataclass(frozen=True, slots=True)
class ParsedOrder:
    """An order that was read and found to be whole; its bytes are not stored yet."""

    type: JobType
    request: Request
    inputs: Mapping[str, SentBlob]
    strategy: dict[str, Any]
    criteria: dict[str, Any]
    verifier_problem: str = ""  # why this node could not verify it


class OrderIntake:
    """Reads orders and opens them."""

    def __init__(self, jobs: Jobs, market: Market, skills: Skills, objects: Objects, policy: Policy) -> None:
        self._jobs = jobs
        self._skills = skills
        self._market = market
        self._objects = objects
        self._policy = policy
        self._verifier_problem: Callable[[], str] = lambda: ""

    def watch(self, verifier_problem: Callable[[], str]) -> None:
        """Take new orders only while nothing ails what verifies them. Whoever verifies in this process says so."""
        self._verifier_problem = verifier_problem

    def read(
        self,
        type_: JobType,
        request: Mapping[str, Any],
        inputs: Mapping[str, SentBlob],
        strategy: dict[str, Any],
        criteria: dict[str, Any],
    ) -> ParsedOrder:
        """An order from untrusted parts; touches no database."""
        found = read_request(type_, self._plain(request), self._policy.of(VerificationPolicy))
        _check_inputs(type_, found, inputs)
        _check_second_review(type_, found, strategy)
        if found.terms.skill and type_ is JobType.SANDBOX_RUN:
            raise BadInputs(why="a run is a command as it is, and takes no skill")
        budget = found.terms.max_cost_msat
        chosen = fallback.strategy_json(self._market.strategy(strategy)) if strategy else {}
        wanted = selection_rules.criteria_json(selection_rules.criteria_from(type_, budget, criteria))
        return ParsedOrder(type_, found, dict(inputs), chosen, wanted, self._verifier_problem())

    def open(self, tx: Tx, who: Principal, asked: ParsedOrder) -> tuple[Job, bool]:
        """Keep the order's bytes and open the job; says whether it is a new one."""
        terms = asked.request.terms
        buyer = buyer_of(who)
        known = self._jobs.is_known(tx, who, terms.idempotency_key)
        if asked.verifier_problem and not known:
            raise CannotVerify(why=asked.verifier_problem)
        skill = self._skills.for_order(tx, terms.skill, known=known) if terms.skill else None
        given_along = {} if skill is None else {SKILL: skill.folder}
        blobs.keep(tx, self._objects, asked.inputs.values(), buyer, [buyer, who.source], self._limits())
        self._check_hidden(tx, asked)
        order = Order(
            type=asked.type,
            request=asked.request.to_json(),
            budget=terms.max_cost_msat,
            time_limit_s=terms.time_limit_s,
            inputs={name: given.name for name, given in asked.inputs.items()}
            | given_along
            | self._previous(tx, buyer, asked),
            hidden=_commitment(asked.request),
            strategy=asked.strategy,
            criteria=asked.criteria,
            skill=None if skill is None else skill.id,
            second_review=terms.second_review,
            extras=extras.price(asked.request, self._policy.of(BazaarPolicy)),
        )
        return self._jobs.open_or_find(tx, who, order, terms.idempotency_key)

    @staticmethod
    def _previous(tx: Tx, buyer: str, asked: ParsedOrder) -> dict[str, ObjectHash]:
        """The index to build upon, which the node has already: it was delivered to this buyer, and passed."""
        name = asked.request.previous if isinstance(asked.request, RepoIndexRequest) else None
        if name is None:
            return {}
        if not store.has_bought(tx, buyer, JobType.REPO_INDEX, name):
            raise NotBought(hash=name)
        return {PREVIOUS: name}

    def sent_bytes(self, tx: Tx, who: Principal, given: SentBlob) -> bytes:
        """What came along, or was uploaded by whoever asks; within the limit of what is sent with an order."""
        most = self._policy.of(BazaarPolicy).inputs_bytes_max
        if given.data is not None:
            if len(given.data) > most:
                raise TooLarge(what=f"The {given.what}", size=len(given.data), limit=most)
            return given.data
        blobs.keep(tx, self._objects, [given], buyer_of(who), [buyer_of(who), who.source], {given.what: most})
        return self._objects.get(tx, given.name)

    def keep_repository(self, tx: Tx, who: Principal, bundle: bytes) -> ObjectHash:
        """Keep a bundle for an order that names it."""
        sent = SentBlob(REPOSITORY, data=bundle)
        buyer = buyer_of(who)
        blobs.keep(tx, self._objects, [sent], buyer, [buyer], self._limits())
        return sent.name

    def _plain(self, request: Mapping[str, Any]) -> Any:
        """The same JSON without what JSON does not have, within the size limit."""
        data = canonical_bytes(dict(request))
        limit = self._policy.of(VerificationPolicy).request_bytes_max
        if len(data) > limit:
            raise TooLarge(what="The request", size=len(data), limit=limit)
        return parse_json(data)

    def _check_hidden(self, tx: Tx, asked: ParsedOrder) -> None:
        given = asked.inputs.get(HIDDEN)
        if given is None:
            return
        data = given.data if given.data is not None else self._objects.get(tx, given.name)
        checks = HiddenChecks.from_bytes(data, self._policy.of(VerificationPolicy))
        if checks.commitment != _commitment(asked.request):
            raise BadInputs(why="the hidden checks do not match the commitment in the request")
        request = asked.request
        if isinstance(request, PatchGenRequest) and levels.best_level(request, checks) < request.level:
            raise BadInputs(why=levels.LACKING[request.level])

    def _limits(self) -> dict[str, int]:
        most = self._policy.of(BazaarPolicy).inputs_bytes_max
        diff = min(most, self._policy.of(VerificationPolicy).review_diff_bytes_max)
        return {REPOSITORY: most, DIFF: diff, HIDDEN: min(most, _HIDDEN_BYTES_MAX)}


def _check_inputs(type_: JobType, request: Request, inputs: Mapping[str, SentBlob]) -> None:
    lacking, extra = _NEEDED[type_] - set(inputs), set(inputs) - _ALLOWED[type_]
    if lacking:
        raise BadInputs(why=f"'{min(lacking)}' is missing")
    if extra:
        raise BadInputs(why=f"a {type_.value} takes no '{min(extra)}'")
    if isinstance(request, CodeReviewRequest) and inputs[DIFF].name != request.diff:
        raise BadInputs(why="the diff does not match the hash in the request")
    if (_commitment(request) is None) != (HIDDEN not in inputs):
        raise BadInputs(why="hidden checks need both an input and a commitment in the request")


def _check_second_review(type_: JobType, request: Request, strategy: Mapping[str, Any]) -> None:
    if not request.terms.second_review:
        return
    if type_ not in REVIEWED:
        raise BadInputs(why=f"a {type_.value} has no second review, only a patch or a review")
    if strategy.get("kind") == "race":
        raise BadInputs(why="a race has no second review: its first result is paid at once")


def _commitment(request: Request) -> Any:
    return request.hidden if isinstance(request, PatchGenRequest) else None
