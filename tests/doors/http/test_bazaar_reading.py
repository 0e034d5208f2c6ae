"""Who reads what of a job: every thing and every reader, in every state that matters.

The table in `choir.bazaar.jobs.access` is walked over HTTP. A letter for each reader: y - 200, n - 403 (known, but not
theirs to read), 0 - 404 (for them there is no such thing, or not yet), x - 401.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import httpx
import pytest

from choir.bazaar.attempts.model import parse_attempt_id
from choir.bazaar.contracts import HiddenCheck, HiddenChecks, PatchGenResult
from tests.doors.http import market
from tests.doors.http.market import Inside, Seller, verdict
from tests.doors.http.test_bazaar_orders import COMMIT, patch_request
from tests.doors.http.visitors import Browser, Json, client, done, fund, origin
from tests.operations.nodes import NodeUnderTest

HIDDEN = HiddenChecks("cd" * 16, (HiddenCheck("true"),))
READERS = ("buyer", "other buyer", "first", "second", "stranger", "operator", "nobody")
THINGS = {
    "job": "/v1/jobs/{job}",
    "steps": "/v1/jobs/{job}/steps",
    "request": "/v1/jobs/{job}/request",
    "repository": "/v1/jobs/{job}/inputs/repository",
    "hidden": "/v1/jobs/{job}/inputs/hidden",
    "bought": "/v1/jobs/{job}/artifact",
    "attempt 1": "/v1/attempts/{first}",
    "artifact 1": "/v1/attempts/{first}/artifact",
    "trajectory 1": "/v1/attempts/{first}/trajectory",
    "result 1": "/v1/attempts/{first}/result",
    "verdict 1": "/v1/attempts/{first}/verdict",
    "receipt 1": "/v1/attempts/{first}/receipt",
    "receipt file 1": "/v1/attempts/{first}/receipt/file",
    "hidden 1": "/v1/attempts/{first}/hidden",
    "artifact 2": "/v1/attempts/{second}/artifact",
    "trajectory 2": "/v1/attempts/{second}/trajectory",
    "result 2": "/v1/attempts/{second}/result",
    "verdict 2": "/v1/attempts/{second}/verdict",
    "hidden 2": "/v1/attempts/{second}/hidden",
}
_FOUND = {200: "y", 404: "0", 401: "x"}
_SHOWN = {200: "y", 403: "n", 404: "0", 401: "x"}

# Two providers race. Columns: buyer, other buyer, first, second, provider of another job, operator, nobody.
AT_WORK = {
    "job": "y0yy0yx",
    "steps": "y0yy0yx",
    "request": "y0yy0nx",
    "repository": "y0yy0nx",
    "hidden": "y0nn0nx",
    "bought": "n0nn0nx",
    "attempt 1": "y0y00yx",
    "artifact 1": "n0000nx",
    "trajectory 1": "n0000nx",
    "result 1": "n0000nx",
    "verdict 1": "00000" + "0x",
    "receipt 1": "00000" + "0x",
    "receipt file 1": "00000" + "0x",
    "hidden 1": "y0n00nx",
    "artifact 2": "n0000nx",
    "trajectory 2": "n0000nx",
    "result 2": "n0000nx",
    "verdict 2": "0000" + "00x",
    "hidden 2": "y00n0nx",
}
# The first has handed in: only it can read what it did.
HANDED_IN = AT_WORK | {"artifact 1": "n0y00nx", "trajectory 1": "n0y00nx", "result 1": "n0y00nx"}
# It failed hidden checks: it may see them now, and nobody gets its work.
FAILED = HANDED_IN | {
    "verdict 1": "y0y00yx",
    "receipt 1": "y0y00yx",
    "receipt file 1": "y0y00yx",
    "hidden 1": "y0y00nx",
}
# The second passed and was paid.
PAID = FAILED | {
    "bought": "y0ny0nx",
    "artifact 2": "y00y0nx",
    "trajectory 2": "y00y0nx",
    "result 2": "y00y0nx",
    "verdict 2": "y00y0yx",
}
# The buyer doubts what it paid for: operators may look at the order, and at that attempt.
DISPUTED = PAID | {
    "request": "y0yy0yx",
    "repository": "y0yy0yx",
    "bought": "y0ny0yx",
    "artifact 2": "y00y0yx",
    "trajectory 2": "y00y0yx",
    "result 2": "y00y0yx",
}


@dataclass
class Race:
    """A job that two providers race for, and everybody who might want to read of it."""

    node: NodeUnderTest
    inside: Inside

    def __post_init__(self) -> None:
        node = self.node
        self.buyer, self.other = market.buyer(node), market.buyer(node)
        self.sellers = [market.seller(node) for _ in range(2)]
        self.stranger = market.seller(node)
        market.order(self.other, self.stranger)
        inputs = {"repository": b"a bundle", "hidden": HIDDEN.to_bytes()}
        request = patch_request(hidden=HIDDEN.commitment)
        self.job = self.inside.order(self.buyer, "patch_gen", request, inputs, *self.sellers)
        by_provider = {attempt["provider"]: attempt["id"] for attempt in self.job["attempts"]}
        self.attempts = [by_provider[seller.id] for seller in self.sellers]

    @cached_property
    def readers(self) -> dict[str, httpx.Client]:
        first, second = (seller.browser.http for seller in self.sellers)
        nobody = client(self.node, Origin=origin(self.node))
        all_ = (self.buyer.http, self.other.http, first, second, self.stranger.browser.http, self.node.http(), nobody)
        return dict(zip(READERS, all_, strict=True))

    def paths(self) -> dict[str, str]:
        names = {"job": self.job["id"], "first": self.attempts[0], "second": self.attempts[1]}
        return {thing: path.format(**names) for thing, path in THINGS.items()}

    def seen(self) -> dict[str, str]:
        """The table as it is."""
        return {
            thing: "".join(_SHOWN[reader.get(path).status_code] for reader in self.readers.values())
            for thing, path in self.paths().items()
        }

    def told_what(self) -> str:
        """Who is told with the job what was ordered."""
        jobs = (reader.get(self.paths()["job"]) for reader in self.readers.values())
        told = [found.json()["summary"] if found.status_code == 200 else None for found in jobs]
        assert set(told) <= {None, "mend it (python3 -m pytest -q)"}, told
        return "".join("y" if one else "-" for one in told)

    def finds(self, id_: str) -> str:
        """Who is shown a whole id for its first letters."""
        asked = f"/v1/ids/{id_[:-8]}"
        return "".join(_FOUND[reader.get(asked).status_code] for reader in self.readers.values())

    def deliver(self, n: int) -> None:
        result = PatchGenResult(COMMIT).to_json()
        self.inside.work(self.sellers[n], self.attempts[n], None, artifact=f"patch {n}".encode(), result=result)

    def judge(self, n: int, *, hidden: bool) -> None:
        id_, attempts = parse_attempt_id(self.attempts[n]), self.inside.node.bazaar.attempts
        self.inside.node.database.run(lambda tx: attempts.begin_verifying(tx, id_))
        self.inside.node.database.run(lambda tx: attempts.conclude(tx, id_, verdict(hidden=hidden)))


@pytest.fixture(scope="module")
def race(served: NodeUnderTest) -> Iterator[Race]:
    with market.inside(served) as inside:
        yield Race(served, inside)


def test_the_whole_table_as_the_job_goes_on(race: Race) -> None:
    assert race.seen() == AT_WORK
    assert race.told_what() == "y-yy---"
    assert race.finds(race.job["id"]) == "y0yy0yx"
    race.deliver(0)
    assert race.seen() == HANDED_IN
    _check_before_a_verdict(race)
    race.judge(0, hidden=False)
    assert race.seen() == FAILED
    assert _hashes(race, "buyer") == _hashes(race, "first") != [None] * 3
    race.deliver(1)
    race.judge(1, hidden=True)
    assert race.seen() == PAID
    assert race.buyer.http.get(race.paths()["bought"]).content == b"patch 1"
    body = {"trigger": "output_irrelevant", "statement": "It mends something else."}
    dispute = done(race.buyer.http.post(f"/v1/jobs/{race.job['id']}/disputes", json=body), 201)
    assert race.seen() == DISPUTED
    assert race.told_what() == "y-yy-y-"
    assert race.finds(dispute["id"]) == "y00y0yx"
    assert race.finds(race.sellers[0].id) == "yyyyyyx"
    race.inside.under_review(dispute["id"], verdict())
    assert race.seen() == DISPUTED
    _check_disputes(race, dispute["id"])
    ruled = {"winner": "provider", "reasoning": "It is what was ordered."}
    done(race.node.http().post(f"/v1/disputes/{dispute['id']}/rulings", json=ruled))
    assert race.seen() == PAID
    _check_what_a_provider_is_told(race)


def _hashes(race: Race, reader: str) -> list[str | None]:
    attempt = done(race.readers[reader].get(f"/v1/attempts/{race.attempts[0]}"))
    return [attempt[name] for name in ("artifact", "result", "trajectory")]


def _check_before_a_verdict(race: Race) -> None:
    """The buyer cannot guess small things from their hash, nor a rival see who was quicker."""
    assert None not in _hashes(race, "first")
    assert _hashes(race, "buyer") == [None] * 3
    for thing in ("job", "steps"):
        assert str(_hashes(race, "first")[0]) not in race.buyer.http.get(race.paths()[thing]).text
    rival = race.readers["second"]
    assert done(rival.get(race.paths()["job"]))["state"] == "assigned"
    assert {step["what"] for step in done(rival.get(race.paths()["steps"]))["items"]} == {"opened", "offered"}


def _check_disputes(race: Race, dispute: str) -> None:
    """Both sides and operators; not who lost the race, nor anybody else."""
    expected = {"buyer": 1, "first": 0, "second": 1, "operator": 1}
    for reader, http in race.readers.items():
        one, all_ = http.get(f"/v1/disputes/{dispute}"), http.get(f"/v1/jobs/{race.job['id']}/disputes")
        if reader in expected:
            assert len(done(all_)["items"]) == expected[reader], reader
            assert one.status_code == (200 if expected[reader] else 404), reader
        else:
            assert one.status_code == all_.status_code == (401 if reader == "nobody" else 404), reader


def _check_what_a_provider_is_told(race: Race) -> None:
    """Its own attempt and steps, and nothing of what is between the buyer and others."""

    def told(reader: str) -> tuple[Json, list[Json]]:
        http = race.readers[reader]
        steps: list[Json] = done(http.get(race.paths()["steps"]))["items"]
        job: Json = done(http.get(race.paths()["job"]))
        return job, steps

    job, steps = told("first")
    assert [attempt["id"] for attempt in job["attempts"]] == [race.attempts[0]]
    assert job["attempts_made"] == 1  # of its own
    hidden = ("held", "price", "winner", "receipt")
    assert {name: job[name] for name in hidden} == dict.fromkeys(hidden)
    assert (job["strategy"], job["criteria"]) == ({}, {})
    assert {step["data"].get("attempt") for step in steps} == {None, race.attempts[0]}
    assert race.attempts[1] not in str((job, steps))

    job, steps = told("second")
    assert (job["winner"], job["held"]) == (race.attempts[1], None)
    assert race.attempts[0] not in str((job, steps))

    whys: dict[str, Callable[[Json], bool]] = {"buyer": bool, "operator": lambda data: "why" not in data}
    for reader, as_told in whys.items():
        job, steps = told(reader)
        offered = [step["data"] for step in steps if step["what"] == "offered"]
        assert len(offered) == len(job["attempts"]) == 2
        assert all(as_told(data) for data in offered)
        assert job["held"] == "0"
    assert all("candidates" in str(step["data"]["why"]) for step in told("buyer")[1] if step["what"] == "offered")
    assert "why" not in str(told("second")[1])


def test_who_ended_without_handing_in_reads_the_order_no_more(race: Race) -> None:
    late: Seller = race.stranger
    buyer: Browser = race.other
    job = market.order(buyer, late, strategy={**late.pinned, "attempts": 1})
    where = f"/v1/jobs/{job['id']}/request"
    assert late.browser.http.get(where).status_code == 200
    done(buyer.http.post(f"/v1/jobs/{job['id']}/cancel"))
    assert late.browser.http.get(where).status_code == 403
    assert late.browser.http.get(f"/v1/jobs/{job['id']}").status_code == 200
    assert buyer.http.get(where).status_code == 200


def test_a_credential_that_may_sell_but_not_read_sees_its_work_and_no_orders(race: Race) -> None:
    both = race.stranger.browser  # sells, and buys from the first
    fund(race.node, both.owner, 10**9)
    sold = market.order(race.other, race.stranger)
    bought = market.order(both, race.sellers[0])
    sells = both.program("sell")
    assert sells.get(f"/v1/jobs/{sold['id']}/request").status_code == 200
    assert sells.get(f"/v1/attempts/{sold['attempts'][0]['id']}").status_code == 200
    assert sells.get(f"/v1/jobs/{bought['id']}").status_code == 404
    assert sells.get("/v1/jobs").status_code == 403
    assert both.program("buy").get(f"/v1/jobs/{bought['id']}").status_code == 403
    assert both.program("read").get(f"/v1/jobs/{bought['id']}").status_code == 200
