"""The hall: what everybody sees of jobs, what parties make public, and that nothing else is ever shown."""

from __future__ import annotations

import base64
import io
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from choir.bazaar.contracts import HiddenCheck, HiddenChecks, PatchGenResult, RunOutput
from choir.bazaar.hall.model import Totals
from choir.bazaar.jobs.model import JobType
from choir.bazaar.providers.model import parse_provider_id
from choir.bazaar.settlement import store as settlement_store
from choir.bazaar.settlement.earnings import DAY_US
from choir.foundation.canonical import bytes_hash
from choir.storage.database import Tx
from tests.doors.http import market
from tests.doors.http.market import Inside, Seller, order, run_request, verdict
from tests.doors.http.test_bazaar_orders import COMMIT, patch_request
from tests.doors.http.visitors import Browser, Json, client, done, refused
from tests.operations.nodes import NodeUnderTest

_HOSTILE = "echo '<script>alert(1)</script>' \u202e\u200b\x07"
_SECRET = "correct horse battery staple"


@pytest.fixture
def hands(served: NodeUnderTest) -> Iterator[Inside]:
    with market.inside(served) as found:
        yield found


@pytest.fixture
def nobody(served: NodeUnderTest) -> httpx.Client:
    return client(served, Accept="text/html")


def _paid(
    served: NodeUnderTest, hands: Inside, request: Json | None = None, **more: object
) -> tuple[Browser, Seller, Json]:
    """A run that was ordered, done, judged and paid."""
    who, stall = market.buyer(served), market.seller(served)
    job = order(who, stall, request=request or run_request(), **more)
    hands.work(stall, job["attempts"][0]["id"], verdict())
    return who, stall, done(who.http.get(f"/v1/jobs/{job['id']}"))


def _seen(nobody: httpx.Client, path: str) -> int:
    return nobody.get(path).status_code


def test_a_job_is_public_by_its_buyer_alone_and_can_be_taken_back(
    served: NodeUnderTest, hands: Inside, nobody: httpx.Client
) -> None:
    who, stall, job = _paid(served, hands)
    id_, attempt = job["id"], job["winner"]
    paths = [
        f"/v1/hall/jobs/{id_}",
        f"/v1/hall/jobs/{id_}/artifact",
        f"/v1/hall/attempts/{attempt}/receipt/file",
        f"/jobs/{id_}",
    ]
    stranger = Browser(served).sign_up()
    assert [_seen(nobody, path) for path in paths] == [404] * 4
    assert done(stall.browser.http.put(f"/v1/jobs/{id_}/sharing"))["sides"] == {"provider": True}
    assert [_seen(nobody, path) for path in paths] == [404] * 4, "a provider alone makes nothing public"
    refused(stranger.http.put(f"/v1/jobs/{id_}/sharing"), 404, "bazaar.job_unknown")
    for _ in range(2):
        assert done(who.http.put(f"/v1/jobs/{id_}/sharing"))["sides"] == {"buyer": True}
    assert [_seen(nobody, path) for path in paths] == [200] * 4
    assert _seen(nobody, f"/v1/hall/attempts/{attempt}/trajectory") == 200
    assert stranger.http.get(f"/jobs/{id_}", headers={"Accept": "text/html"}).status_code == 200
    refused(stranger.http.get(f"/v1/jobs/{id_}"), 404, "bazaar.job_unknown")
    assert done(stall.browser.http.delete(f"/v1/jobs/{id_}/sharing"))["sides"] == {"provider": False}
    assert _seen(nobody, f"/v1/hall/attempts/{attempt}/trajectory") == 404
    for _ in range(2):
        assert done(who.http.delete(f"/v1/jobs/{id_}/sharing"))["sides"] == {"buyer": False}
    assert [_seen(nobody, path) for path in paths] == [404] * 4


def test_ordered_in_public_it_is_public_at_once_and_hashes_as_any_other(
    served: NodeUnderTest, nobody: httpx.Client
) -> None:
    who, stall = market.buyer(served), market.seller(served)
    request = run_request()
    job = order(who, stall, request=request, public=True)
    again = {"type": "sandbox_run", "request": request, "strategy": stall.pinned, "public": True}
    assert done(who.http.post("/v1/jobs", json=again), 200)["id"] == job["id"]
    shown = done(nobody.get(f"/v1/hall/jobs/{job['id']}"))
    assert shown["request_hash"] == job["request"]
    assert shown["attempts"] == [], "nobody is told who works on it"
    again["public"] = False
    assert done(who.http.post("/v1/jobs", json=again), 200)["id"] == job["id"]
    assert _seen(nobody, f"/v1/hall/jobs/{job['id']}") == 200, "a repeat takes nothing back"


def test_what_may_hold_secrets_is_never_public(served: NodeUnderTest, hands: Inside, nobody: httpx.Client) -> None:
    request = run_request(environment={"TOKEN": _SECRET}, stdin=_SECRET)
    who, _, job = _paid(served, hands, request, public=True)
    id_ = job["id"]
    shown = done(nobody.get(f"/v1/hall/jobs/{id_}"))
    assert shown["request"]["argv"] == ["echo", "hello"]
    assert not {"environment", "stdin", "idempotency_key"} & set(shown["request"])
    everything = [
        f"/v1/hall/jobs/{id_}",
        f"/jobs/{id_}",
        "/hall",
        "/v1/hall/jobs",
        f"/v1/hall/attempts/{job['winner']}/receipt/file",
    ]
    assert all(_SECRET not in nobody.get(path).text for path in everything)
    own = who.http.get(f"/jobs/{id_}", headers={"Accept": "text/html"}).text
    assert _SECRET in own, "the buyer's own page has all of the order"


def test_inputs_hidden_checks_and_unpaid_work_are_never_public(
    served: NodeUnderTest, hands: Inside, nobody: httpx.Client
) -> None:
    who, first, second = market.buyer(served), market.seller(served), market.seller(served)
    hidden = HiddenChecks("cd" * 16, (HiddenCheck(f"test {_SECRET}"),))
    inputs = {"repository": b"a bundle", "hidden": hidden.to_bytes()}
    job = hands.order(who, "patch_gen", patch_request(hidden=hidden.commitment), inputs, first, second)
    id_ = job["id"]
    done(who.http.put(f"/v1/jobs/{id_}/sharing"))
    by_owner = {item["owner"]: item["id"] for item in job["attempts"]}
    loser, winner = by_owner[first.browser.owner], by_owner[second.browser.owner]
    result = PatchGenResult(base_commit=COMMIT).to_json()
    hands.work(first, loser, verdict(hidden=False), artifact=b"--- what failed\n", result=result)
    hands.work(second, winner, verdict(), artifact=b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", result=result)
    for stall in (first, second):
        done(stall.browser.http.put(f"/v1/jobs/{id_}/sharing"))
    shown = done(nobody.get(f"/v1/hall/jobs/{id_}"))
    artifacts = {item["id"]: item["artifact"] for item in shown["attempts"]}
    assert artifacts[loser] is None
    assert artifacts[winner] is not None
    assert "inputs" not in shown
    assert nobody.get(f"/v1/hall/jobs/{id_}/artifact").content.startswith(b"--- a/x")
    page = nobody.get(f"/jobs/{id_}").text
    assert '<span class="plus">+b</span>' in page
    assert "what failed" not in page
    assert _SECRET not in page + nobody.get(f"/v1/hall/jobs/{id_}").text
    for path in (f"/v1/jobs/{id_}/inputs/hidden", f"/v1/jobs/{id_}/inputs/repository", f"/v1/attempts/{winner}/hidden"):
        assert nobody.get(path).status_code == 401


def test_erasing_a_person_makes_private_what_was_theirs(
    served: NodeUnderTest, hands: Inside, nobody: httpx.Client
) -> None:
    who, stall, job = _paid(served, hands, public=True)
    id_, attempt = job["id"], job["winner"]
    done(stall.browser.http.put(f"/v1/jobs/{id_}/sharing"))
    assert _seen(nobody, f"/v1/hall/attempts/{attempt}/trajectory") == 200
    done(stall.browser.http.delete("/v1/me"))
    assert _seen(nobody, f"/v1/hall/attempts/{attempt}/trajectory") == 404
    assert _seen(nobody, f"/v1/hall/jobs/{id_}") == 200
    done(who.http.delete("/v1/me"))
    assert _seen(nobody, f"/v1/hall/jobs/{id_}") == 404
    assert _seen(nobody, f"/jobs/{id_}") == 404


def test_sharing_and_taking_back_at_the_same_time_ends_as_one_of_both(
    served: NodeUnderTest, nobody: httpx.Client
) -> None:
    who, stall = market.buyer(served), market.seller(served)
    id_ = order(who, stall)["id"]
    path = f"/v1/jobs/{id_}/sharing"
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: (who.http.put if n % 2 else who.http.delete)(path).status_code, range(24)))
    assert set(answers) == {200}
    done(who.http.put(path))
    assert _seen(nobody, f"/v1/hall/jobs/{id_}") == 200
    done(who.http.delete(path))
    assert _seen(nobody, f"/v1/hall/jobs/{id_}") == 404


def test_a_credential_shares_only_the_side_that_it_has_the_scope_for(served: NodeUnderTest) -> None:
    who, stall = market.buyer(served), market.seller(served)
    id_ = order(who, stall)["id"]
    selling, reading = who.program("sell"), who.program("read")
    assert selling.put(f"/v1/jobs/{id_}/sharing").status_code == 404
    assert reading.put(f"/v1/jobs/{id_}/sharing").status_code == 403
    assert done(reading.get(f"/v1/jobs/{id_}/sharing"))["sides"] == {"buyer": False}
    assert done(who.program("buy").put(f"/v1/jobs/{id_}/sharing"))["sides"] == {"buyer": True}


def test_figures_name_neither_parties_nor_jobs(served: NodeUnderTest, hands: Inside, nobody: httpx.Client) -> None:
    before = done(nobody.get("/v1/hall"))
    who, stall, job = _paid(served, hands, run_request(argv=["echo", "a rare word"]))
    after = done(nobody.get("/v1/hall"))
    for part in ("today", "in_all"):
        assert after[part]["paid"] >= before[part]["paid"] + 1
        assert int(after[part]["earned"]) >= int(before[part]["earned"]) + market.PRICE - market.FEE
    newest = nobody.get("/v1/hall/figures").text + nobody.get("/hall").text + nobody.get("/hall/figures").text
    for private in (job["id"], job["winner"], who.owner, who.handle, stall.browser.owner, "a rare word"):
        assert private not in newest
    mine = [item for item in done(nobody.get("/v1/hall/figures"))["items"] if item["ordered_at"] == job["created_at"]]
    assert [(item["type"], item["state"], item["price"], item["job"]) for item in mine] == [
        ("sandbox_run", "paid", job["price"], None)
    ]


def test_figures_and_public_jobs_are_paged_without_a_gap(served: NodeUnderTest, nobody: httpx.Client) -> None:
    who, stall = market.buyer(served), market.seller(served)
    made = [order(who, stall, public=True)["id"] for _ in range(5)]
    listed = [item["job"] for item in market.all_pages(nobody, "/v1/hall/jobs", 2)]
    assert [id_ for id_ in listed if id_ in made] == made[::-1]
    assert len(listed) == len(set(listed))
    shown = [item["job"] for item in market.all_pages(nobody, "/v1/hall/figures", 3)]
    assert [id_ for id_ in shown if id_ in made] == made[::-1]
    for wrong in ("x", "1", "1.x", "-1.0", "9" * 30 + ".0"):
        assert nobody.get("/v1/hall/figures", params={"cursor": wrong}).status_code == 422
        assert nobody.get("/hall/figures", params={"before": wrong}).status_code == 404


class _Undo(Exception):
    """Ends a unit of work without an effect."""


def test_totals_are_the_same_before_and_after_days_are_summed(served: NodeUnderTest, hands: Inside) -> None:
    stall, hall = market.seller(served), hands.node.bazaar.hall
    provider = parse_provider_id(stall.id)

    def sum_up(tx: Tx) -> None:
        today, first = hall.totals(tx)
        for day, earned in ((10, 700), (11, -200), (12, 50)):
            counts = {"jobs": 2, "passed": 1, "earned": earned, "fees": 1}
            settlement_store.note_earnings(tx, provider, JobType.SANDBOX_RUN, day * DAY_US, **counts)
        before = hall.totals(tx)
        assert before == (today, Totals(first.judged + 6, first.passed + 3, first.earned + 550))
        assert hall.close_days(tx) >= 3
        assert hall.totals(tx) == before
        assert hall.close_days(tx) == 0
        assert hall.totals(tx) == before
        raise _Undo

    with pytest.raises(_Undo):
        hands.node.database.run(sum_up)


def test_own_jobs_are_listed_for_their_parties_alone(served: NodeUnderTest, hands: Inside) -> None:
    who, stall, job = _paid(served, hands, run_request(argv=["echo", "only for us"]))
    stranger = Browser(served).sign_up()
    html = {"Accept": "text/html"}
    for party in (who, stall.browser):
        page = party.http.get("/hall", headers=html).text
        assert "only for us" in page
        assert f"/jobs/{job['id']}" in page
    assert "only for us" not in stranger.http.get("/hall", headers=html).text
    assert "only for us" in who.http.get("/hall/bought", headers=html).text
    assert "only for us" in stall.browser.http.get("/hall/sold", headers=html).text


def test_pages_show_a_party_what_it_may_see_and_no_more(served: NodeUnderTest, hands: Inside) -> None:
    who, stall = market.buyer(served), market.seller(served)
    job = order(who, stall)
    html, path = {"Accept": "text/html"}, f"/jobs/{job['id']}"
    buyers, providers = who.http.get(path, headers=html).text, stall.browser.http.get(path, headers=html).text
    assert "Cancel this job" in buyers
    assert "Cancel this job" not in providers
    assert f"@{who.handle}" in buyers
    assert f"@{who.handle}" not in providers, "a provider learns who the buyer is with the verdict"
    hands.work(stall, job["attempts"][0]["id"], verdict(visible=False), artifact=RunOutput(0, b"a bad one").to_bytes())
    buyers, providers = who.http.get(path, headers=html).text, stall.browser.http.get(path, headers=html).text
    assert "a bad one" not in buyers, "what was not paid for stays with its provider"
    assert "a bad one" in providers
    assert "the artifact does not match its claimed hash" in buyers
    assert "Dispute this attempt" in providers
    assert "Dispute this attempt" not in buyers


def test_hostile_orders_and_outputs_are_harmless(served: NodeUnderTest, hands: Inside, nobody: httpx.Client) -> None:
    who, stall = market.buyer(served), market.seller(served)
    job = order(who, stall, request=run_request(argv=["sh", "-c", _HOSTILE]), public=True)
    output = b"<b>bold</b>\x1b[31m\xe2\x80\xae evil \xff\n" + b"x" * 1_000_000 + b"\n" + b"line\n" * 10_000
    hands.work(stall, job["attempts"][0]["id"], verdict(), artifact=RunOutput(0, output).to_bytes())
    for path in (f"/jobs/{job['id']}", f"/jobs/{job['id']}?more=1", "/hall", "/hall/public"):
        shown = nobody.get(path).text
        main = shown.partition("<main")[2]
        assert "<script>alert" not in main
        assert "<b>bold" not in main
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\x00-\x08\x0b-\x1f]", main)
        assert len(shown) < 1_000_000
    assert "&lt;b&gt;bold" in nobody.get(f"/jobs/{job['id']}").text
    assert "⟨U+202E⟩" in nobody.get(f"/jobs/{job['id']}").text


@pytest.mark.parametrize(
    "path", ["/jobs/x", "/jobs/job_" + "0" * 26, "/jobs/%00", "/hall/bought?before=x", "/hall/nothing"]
)
def test_wrong_addresses_are_told_as_such(path: str, served: NodeUnderTest, nobody: httpx.Client) -> None:
    who = Browser(served).sign_up()
    assert who.http.get(path, headers={"Accept": "text/html"}).status_code == 404
    assert nobody.get(path, follow_redirects=False).status_code in (303, 404)


# Repositories from what a browser can send


def _zip(**files: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def _tar(members: dict[str, bytes], links: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o755 if name.endswith(".sh") else 0o644
            archive.addfile(info, io.BytesIO(content))
        for name, target in links.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
    return made.getvalue()


def _made(who: Browser, data: bytes) -> httpx.Response:
    return who.http.post("/v1/repositories", json={"data": base64.b64encode(data).decode()})


def test_an_archive_becomes_a_repository_that_git_reads(served: NodeUnderTest, hands: Inside, tmp_path: Path) -> None:
    who = market.buyer(served)
    files = {
        "repo-main/a.txt": b"a\n", "repo-main/src/b.py": b"b = 1\n", "repo-main/src.txt": b"sorted\n",
        "repo-main/run.sh": b"true\n", "repo-main/.env": b"TOKEN=1\n", "repo-main/.git/config": b"[core]\n",
    }  # fmt: skip
    sent = _tar(files, {"repo-main/link": "a.txt", "repo-main/up": "../repo-main/a.txt"})
    made = done(_made(who, sent))
    assert made["files"] == 5
    assert {item["path"] for item in made["left_out"]} == {".env", ".git/config", "up"}
    assert done(_made(who, sent)) == made, "the same files are the same bundle"
    with hands.node.unit_of_work() as tx:
        bundle = hands.node.objects.get(tx, made["hash"])
    (tmp_path / "sent.bundle").write_bytes(bundle)
    clone = ["git", "clone", "-q", "-b", "choir", str(tmp_path / "sent.bundle"), str(tmp_path / "out")]
    subprocess.run(clone, check=True)
    git = ["git", "-C", str(tmp_path / "out")]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    assert head.stdout.strip() == made["commit"]
    subprocess.run([*git, "fsck", "--strict"], check=True)
    assert (tmp_path / "out/src/b.py").read_bytes() == b"b = 1\n"
    assert (tmp_path / "out/run.sh").stat().st_mode & 0o100
    assert (tmp_path / "out/link").is_symlink()


def test_a_bundle_is_kept_as_it_is(served: NodeUnderTest, hands: Inside) -> None:
    who = market.buyer(served)
    made = done(_made(who, _zip(**{"a.txt": b"a"})))
    with hands.node.unit_of_work() as tx:
        bundle = hands.node.objects.get(tx, made["hash"])
    again = done(_made(who, bundle))
    assert (again["hash"], again["commit"], again["files"]) == (made["hash"], made["commit"], None)
    assert done(who.http.post("/v1/repositories", json={"hash": bytes_hash(bundle)}))["commit"] == made["commit"]
    stranger = market.buyer(served)
    refused(stranger.http.post("/v1/repositories", json={"hash": bytes_hash(bundle)}), 404, "bazaar.not_uploaded")


def test_names_of_files_may_be_in_any_encoding(served: NodeUnderTest) -> None:
    who = market.buyer(served)
    made = done(_made(who, _tar({"a.txt": b"a", "\udcff.txt": b"b", "\udcff.pem": b"c"}, {})))
    assert (made["files"], [item["path"] for item in made["left_out"]]) == (2, ["\ufffd.pem"])
    refused(_made(who, _tar({"../\udcff": b"a"}, {})), 422, "sandbox.unsafe_entry")


def _late(data: bytes) -> bytes:
    """A zip file that says that its directory begins later than it does, so that its files would begin before it."""
    at = data.rindex(b"PK\5\6") + 16
    return data[:at] + (10_000).to_bytes(4, "little") + data[at + 4 :]


@pytest.mark.parametrize(
    "data",
    [
        _late(_zip(name=b"x")), _zip(name=b"x").replace(b"name", bytes(4)),
        b"", b"hello", b"PK\3\4", b"\x1f\x8bnothing", b"# v2 git bundle\n",
        b"# v2 git bundle\n-" + b"0" * 40 + b" x\n\n",
        _zip(**{"../out": b"x"}), _zip(**{"a\\b": b"x"}), _zip(**{".git/config": b"x"}), _zip(bomb=b"\0" * 30_000_000),
        _tar({}, {"out": "/etc/passwd"}), _tar({"../../out": b"x"}, {}),
    ],
    ids=[
        "begins too early", "no name",
        "empty", "text", "cut zip", "cut gzip", "no commit", "needs others", "zip leads out", "backslash", "only git",
        "bomb", "link leads out", "tar leads out",
    ],
)  # fmt: skip
def test_what_is_no_repository_is_refused(data: bytes, ada: Browser) -> None:
    assert _made(ada, data).status_code in (413, 422)
