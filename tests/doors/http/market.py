"""Buyers and providers at a running node, and a hand inside it that gives verdicts."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

import coincurve
import httpx

from choir.bazaar.attempts.model import parse_attempt_id
from choir.bazaar.attempts.service import SentDelivery
from choir.bazaar.contracts import RunOutput
from choir.bazaar.disputes.model import parse_dispute_id
from choir.bazaar.jobs.lifecycle import VERIFY
from choir.bazaar.jobs.model import Check, JobType, Verdict, Visibility, job_id, parse_job_id
from choir.bazaar.jobs.service import EXAMINE
from choir.bazaar.providers import rules
from choir.bazaar.uploads.blobs import SentBlob, read_blob
from choir.doors.jobs.shapes import HandIn
from choir.foundation.canonical import ObjectHash, bytes_hash, canonical_hash, hash_digest
from choir.foundation.ids import parse_id
from choir.foundation.settings import load_settings
from choir.identity.model import ALL_SCOPES, Principal, Role
from choir.ledger.model import hold_id
from choir.node import Node, build_node
from choir.storage.database import Database, Tx
from tests.doors.http.visitors import Browser, Json, done, fund
from tests.operations.nodes import NodeUnderTest

PRICE = 200_000  # the base price of a run by the default table; its units are not counted in tests
FEE = 20_000
_keys = itertools.count()


def run_request(budget: int = 1_000_000, key: str = "", **more: Any) -> Json:
    """An order for a run."""
    terms = {"max_cost_msat": str(budget), "time_limit_s": 600, "idempotency_key": key or f"order {next(_keys)}"}
    return {"argv": ["echo", "hello"], **terms, **more}


def inline(data: bytes) -> Json:
    return {"data": base64.b64encode(data).decode()}


def key_proof(owner: str, secret: coincurve.PrivateKey) -> Json:
    public = secret.public_key_xonly.format()
    proof = secret.sign_schnorr(rules.key_proof_digest(owner, public))
    return {"result_key": public.hex(), "proof": proof.hex()}


def registration(owner: str, secret: coincurve.PrivateKey | None = None) -> Json:
    claims = {"name": "a stall", "region": "eu-west", "model": "", "isolation": "bubblewrap", "capacity": 5}
    return claims | key_proof(owner, secret or coincurve.PrivateKey())


def verdict(*, visible: bool = True, hidden: bool = True) -> Verdict:
    checks = (
        Check("hash", visible, "" if visible else "artifact.hash_mismatch", evidence=canonical_hash(_EVIDENCE)),
        Check("hidden check 1", hidden, "" if hidden else "hidden.failed", visibility=Visibility.HIDDEN),
    )
    return Verdict(visible and hidden, checks, 0, "bubblewrap", (_EVIDENCE,))


_EVIDENCE = {"check": "hash", "artifact": "a hash"}


@dataclass
class Seller:
    """A person with a provider."""

    browser: Browser
    secret: coincurve.PrivateKey = field(default_factory=coincurve.PrivateKey)
    id: str = ""

    def open_stall(self, *types: str) -> Seller:
        http = self.browser.http
        body = registration(self.browser.owner, self.secret)
        self.id = done(http.post("/v1/providers", json=body), 201)["id"]
        kinds = list(types) or ["sandbox_run", "patch_gen"]
        done(http.put("/v1/providers/me/capabilities", json={"types": kinds, "capacity": 5}))
        self.beat()
        return self

    def beat(self) -> Json:
        beat: Json = done(self.browser.http.post("/v1/providers/me/heartbeat", json={"free_slots": 5}))
        return beat

    @property
    def delivery_bytes(self) -> bytes:
        """What it hands in where nothing else is said."""
        return RunOutput(0, b"hello\n").to_bytes()

    @property
    def pinned(self) -> Json:
        """A strategy by which a job comes here and nowhere else."""
        return {"kind": "pinned", "provider": self.id, "attempts": 3}

    def delivery(self, artifact: bytes = b"", result: Json | None = None, trajectory: bytes = b"what was done") -> Json:
        """What it would hand in, signed."""
        artifact = artifact or self.delivery_bytes
        told = {"status": "success", "exit_code": 0} if result is None else result
        return {
            "artifact": inline(artifact),
            "claimed": bytes_hash(artifact),
            "result": told,
            "trajectory": inline(trajectory),
            "result_signature": self.sign(canonical_hash(told)),
            "trajectory_signature": self.sign(bytes_hash(trajectory)),
        }

    def sign(self, name: ObjectHash) -> str:
        return self.secret.sign_schnorr(hash_digest(name)).hex()


def buyer(node: NodeUnderTest, amount: int = 10**10) -> Browser:
    made = Browser(node).sign_up()
    fund(node, made.owner, amount)
    return made


def seller(node: NodeUnderTest, *types: str) -> Seller:
    made = Browser(node).sign_up()
    fund(node, made.owner, 10**8)  # for deposits
    return Seller(made).open_stall(*types)


def order(who: Browser, *sellers: Seller, **more: Any) -> Json:
    """A job for these sellers, raced by them if they are several."""
    if len(sellers) == 1:
        strategy = sellers[0].pinned
        criteria: Json = {}
    else:
        strategy = {"kind": "race", "count": len(sellers)}
        criteria = {"providers": [each.id for each in sellers]}
    for each in sellers:
        each.beat()
    body = {"type": "sandbox_run", "request": run_request(), "strategy": strategy, "criteria": criteria, **more}
    made: Json = done(who.http.post("/v1/jobs", json=body), 201)
    return made


def all_pages(http: httpx.Client, path: str, limit: int, **params: str) -> list[Json]:
    """Everything that a listing has, and that no page is too long."""
    found: list[Json] = []
    cursor: str | None = ""
    while cursor is not None:
        page = done(http.get(path, params={**params, "limit": limit, "cursor": cursor}))
        assert len(page["items"]) <= limit
        found += page["items"]
        cursor = page["next"]
    return found


class Inside:
    """The node's own services on its database, to do what its verifier does."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def work(self, seller: Seller, attempt: str, found: Verdict | None, **delivery: Any) -> None:
        """Hand in for a seller, and give a verdict at once, so that nobody else verifies it; without one it waits."""
        id_, bazaar = parse_attempt_id(attempt), self.node.bazaar
        who = principal(seller.browser)
        body = HandIn.model_validate(seller.delivery(**delivery))
        sent = SentDelivery(
            artifact=read_blob("artifact", body.artifact.data, body.artifact.hash),
            claimed=ObjectHash(body.claimed),
            result=body.result,
            trajectory=read_blob("trajectory", body.trajectory.data, body.trajectory.hash),
            result_signature=bytes.fromhex(body.result_signature),
            trajectory_signature=bytes.fromhex(body.trajectory_signature),
        )

        def deliver(tx: Tx) -> None:
            bazaar.deliveries.hand_in(tx, who, id_, sent)
            tx.run("delete from tasks where name = %s and key = %s", VERIFY, str(id_))
            if found is not None:
                bazaar.attempts.begin_verifying(tx, id_)
                bazaar.attempts.conclude(tx, id_, found)

        self.node.database.run(deliver)

    def order(self, who: Browser, type_: str, request: Json, inputs: dict[str, bytes], *sellers: Seller) -> Json:
        """An order that these sellers race for, taken for examined, so that its repository need not be one."""
        bazaar = self.node.bazaar
        given = {name: SentBlob(name, data=data) for name, data in inputs.items()}
        race, criteria = {"kind": "race", "count": len(sellers)}, {"providers": [each.id for each in sellers]}
        asked = bazaar.orders.read(JobType(type_), request, given, race, criteria)

        def open_(tx: Tx) -> UUID:
            job, _ = bazaar.orders.open(tx, principal(who), asked)
            tx.run("delete from tasks where name = %s and key = %s", EXAMINE, str(job.id))
            return job.id

        opened = self.node.database.run(open_)
        self.node.database.run(lambda tx: bazaar.jobs.examined(tx, opened))
        found: Json = done(who.http.get(f"/v1/jobs/{job_id(opened)}"))
        return found

    def hold(self, table: Literal["jobs", "disputes"], id_: str) -> str:
        """Where the budget of a job or the deposit of a dispute is set aside."""
        value = parse_job_id(id_) if table == "jobs" else parse_dispute_id(id_)
        with self.node.unit_of_work() as tx:
            return hold_id(tx.value(f"select hold from {table} where id = %s", value))

    def under_review(self, dispute: str, again: Verdict) -> None:
        """The checks were run again."""
        id_ = parse_dispute_id(dispute)
        self.node.database.run(lambda tx: self.node.bazaar.disputes.reverified(tx, id_, again))


def principal(who: Browser) -> Principal:
    """Somebody as their own session has them."""
    person = parse_id("person", who.owner.replace(":", "_"))
    return Principal(Role.PERSON, who.owner, person=person, scopes=ALL_SCOPES, credential="session")


@contextmanager
def inside(node: NodeUnderTest) -> Iterator[Inside]:
    settings = load_settings({}, node.environment)
    database = Database(node.dsn("choir_app")).open()
    built = build_node(settings, database)
    try:
        yield Inside(built)
    finally:
        built.close()
