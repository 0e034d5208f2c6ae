"""What a node is at: operators see everybody's jobs by state and the providers that are there; nobody else does."""

from __future__ import annotations

from tests.doors.http import market
from tests.doors.http.market import order, run_request
from tests.doors.http.test_operator_sessions import office
from tests.doors.http.visitors import Browser, client, done, refused
from tests.operations.nodes import NodeUnderTest

HTML = {"Accept": "text/html"}


def test_jobs_and_providers_are_listed_for_operators_alone(served: NodeUnderTest) -> None:
    who, stall = market.buyer(served), market.seller(served)
    job = order(who, stall, request=run_request(argv=["echo", "a private matter"]))
    browser = office(served)
    told = done(served.http().get("/v1/operator/work", params={"limit": 100}))
    assert told["job_counts"][job["state"]] >= 1
    (seen,) = [one for one in told["jobs"] if one["id"] == job["id"]]
    assert (seen["state"], seen["buyer"], seen["type"]) == (job["state"], who.owner, "sandbox_run")
    (online,) = [one for one in told["providers"] if one["id"] == stall.id]
    assert (online["name"], online["in_use"], online["healthy"]) == ("a stall", 1, True)
    assert any(line["name"] == "outbox.forget" and line["repeats"] for line in told["tasks"])
    assert all(line["behind"] <= 1000 for line in told["subscribers"])

    page = browser.get("/operator/work", headers=HTML)
    assert page.status_code == 200
    listed = browser.get("/operator/jobs", params={"state": job["state"]}, headers=HTML)
    assert f"/operator/jobs/{job['id']}" in listed.text
    shown = browser.get(f"/operator/jobs/{job['id']}", headers=HTML)
    assert shown.status_code == 200
    assert stall.id in shown.text
    assert "a private matter" not in shown.text

    refused(who.http.get("/v1/operator/work"), 403, "identity.operator_needed")
    for visitor in (client(served), who.http, Browser(served).sign_up().http):
        for path in ("/operator/work", f"/operator/jobs?state={job['state']}", f"/operator/jobs/{job['id']}"):
            answer = visitor.get(path, headers=HTML)
            assert answer.status_code == 401, path
            assert job["id"] not in answer.text.replace(path, "")


def test_listings_are_paged_without_a_gap(served: NodeUnderTest) -> None:
    browser = office(served)
    who, stall = market.buyer(served), market.seller(served)
    jobs = [order(who, stall)["id"] for _ in range(3)]
    found: list[str] = []
    path = "/operator/jobs?state=assigned"
    for _ in range(100):
        text = browser.get(path, headers=HTML).text
        found += [part.partition('"')[0] for part in text.split('href="/operator/jobs/')[1:]]
        more = text.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
        if 'rel="next"' not in text:
            break
        path = f"/operator/jobs{more}"
    assert len(set(found)) == len(found)
    assert set(jobs) <= set(found)
    seen: set[str] = set()
    path = "/operator/work"
    for _ in range(200):
        text = browser.get(path, headers=HTML).text
        names = text.partition('id="tasks"')[2]
        seen |= {name for name in ("outbox.forget", "ledger.checkpoint") if name in names}
        if 'rel="next"' not in names:
            break
        path = "/operator/work" + names.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
    assert seen == {"outbox.forget", "ledger.checkpoint"}


def test_nonsense_for_a_place_in_a_listing_breaks_nothing(served: NodeUnderTest) -> None:
    browser = office(served)
    for query in ("tasks=%00%20%00", "tasks=nothing", "tasks=" + "z" * 700, "providers=job_x", "providers=%27"):
        assert browser.get(f"/operator/work?{query}", headers=HTML).status_code in (200, 404), query
    assert browser.get("/operator/jobs?state=nonsense", headers=HTML).status_code == 404
    assert browser.get("/operator/jobs/job_nonsense", headers=HTML).status_code == 404
