"""Who gets what in the bazaar: the rows of its routes, with the same columns as in the table beside it."""

from __future__ import annotations

import base64
import secrets

from choir.foundation.canonical import bytes_hash
from choir.foundation.clock import MICROSECONDS, SystemClock, format_time
from tests.doors.http.market import key_proof, registration, run_request
from tests.doors.http.table import Make, Row, Scene, always, operator
from tests.doors.http.visitors import Json

_NO_DISPUTE = "dispute_" + "0" * 26
_NO_UPLOAD = "upload_" + "0" * 26
BUYER_OR_SELLER = (401, 404, 403, 404, 404, 403)
BOTH_SIDES = (401, 404, 403, 200, 200, 200)
NOT_YET = (401, 404, 403, 404, 404, 404)
ESCROW = (401, 404, 403, 403, 403, 403)
NOT_THE_SELLER = (401, 404, 403, 403, 404, 403)
OWN_STALL = (401, 404, 403, 403, 200, 403)
ANYBODY = (200, 200, 200, 200, 200, 200)
NOT_PUBLIC = (404, 404, 404, 404, 404, 404)
_WITHDRAW = (401, 404, 403, 403, 404, 403)


def _job(path: str) -> Make:
    return lambda scene: f"/v1/jobs/{scene.job['id']}{path}"


def _attempt(path: str) -> Make:
    return lambda scene: f"/v1/attempts/{scene.attempt}{path}"


def _me(path: str) -> Make:
    def made(scene: Scene) -> str:
        assert scene.stall
        return f"/v1/providers/me{path}"

    return made


def _provider(path: str) -> Make:
    return lambda scene: f"/v1/providers/{scene.stall.id}{path}"


def _order(_: Scene) -> Json:
    return {"type": "sandbox_run", "request": run_request()}


def _registration(scene: Scene) -> Json:
    assert scene.stall
    return registration(scene.owner.owner)


def _bid(_: Scene) -> Json:
    return {"bid_bps": 100, "until": format_time(SystemClock().now_us() + 3_600 * MICROSECONDS)}


def _skill(_: Scene) -> Json:
    content = base64.b64encode(b"# How").decode()
    files = [{"path": "SKILL.md", "content": content}]
    return {"name": f"a-{secrets.token_hex(8)}", "version": "1", "description": "Mends.", "files": files}


_CLAIMS = {"name": "another name", "region": "eu-west", "isolation": "local"}
_BOOK = {"type": "sandbox_run", "base": "1", "per_unit": "1", "cap": "1"}
_SAID = {"trigger": "output_irrelevant", "statement": "it is about something else"}

_NO_LAYER = "sha256:" + "0" * 64
LAYERS = [
    Row("GET", "/v1/environments", operator(200)),
    Row("GET", "/v1/environments/{layer}", operator(404), path=always(f"/v1/environments/{_NO_LAYER}")),
    Row("DELETE", "/v1/environments/{layer}", operator(404), path=always(f"/v1/environments/{_NO_LAYER}")),
]
JOBS = [
    Row("POST", "/v1/uploads", (401, 201, 403, 201, 201, 403), body=always({"bytes": 3, "hash": bytes_hash(b"abc")})),
    Row("GET", "/v1/uploads/{upload}", (401, 404, 403, 200, 200, 403), path=lambda s: f"/v1/uploads/{s.upload}"),
    Row(
        "PUT",
        "/v1/uploads/{upload}/parts/{n}",
        (401, 404, 403, 422, 422, 403),
        path=lambda s: f"/v1/uploads/{s.upload}/parts/0",
    ),
    Row(
        "POST",
        "/v1/uploads/{upload}/finish",
        (401, 404, 403, 409, 409, 403),
        path=lambda s: f"/v1/uploads/{s.upload}/finish",
    ),
    Row("DELETE", "/v1/uploads/{upload}", (401, 204, 403, 204, 204, 403), path=always(f"/v1/uploads/{_NO_UPLOAD}")),
    Row("POST", "/v1/jobs", (401, 409, 403, 201, 201, 403), body=_order),
    Row("GET", "/v1/jobs", (401, 200, 403, 200, 200, 403)),
    Row("GET", "/v1/jobs/{job}", BOTH_SIDES, path=_job("")),
    Row("GET", "/v1/ids/{prefix}", BOTH_SIDES, path=lambda s: f"/v1/ids/{s.job['id'][:20]}"),
    Row("GET", "/v1/jobs/{job}/steps", BOTH_SIDES, path=_job("/steps")),
    Row("GET", "/v1/jobs/{job}/request", (401, 404, 403, 200, 200, 403), path=_job("/request")),
    Row("GET", "/v1/jobs/{job}/inputs/{name}", (401, 404, 403, 404, 404, 403), path=_job("/inputs/repository")),
    Row("GET", "/v1/jobs/{job}/artifact", ESCROW, path=_job("/artifact")),
    Row("GET", "/v1/jobs/{job}/disputes", BOTH_SIDES, path=_job("/disputes")),
    Row("POST", "/v1/jobs/{job}/disputes", (401, 404, 403, 409, 409, 403), path=_job("/disputes"), body=always(_SAID)),
    Row("GET", "/v1/jobs/{job}/sharing", (401, 404, 403, 200, 200, 404), path=_job("/sharing")),
    Row("PUT", "/v1/jobs/{job}/sharing", (401, 404, 403, 200, 200, 403), path=_job("/sharing")),
    Row("DELETE", "/v1/jobs/{job}/sharing", (401, 404, 403, 200, 200, 403), path=_job("/sharing")),
    Row("GET", "/v1/jobs/{job}/retention", BOTH_SIDES, path=_job("/retention")),
    Row(
        "POST",
        "/v1/jobs/{job}/keep",
        (401, 404, 403, 409, 409, 403),
        path=_job("/keep"),
        body=always({"days": 3}),
    ),
    Row("GET", "/v1/jobs/{job}/second-reviews", BOTH_SIDES, path=_job("/second-reviews")),
    Row("GET", "/v1/jobs/{job}/second-reviews/{n}/review", NOT_YET, path=_job("/second-reviews/1/review")),
    Row("POST", "/v1/repositories", (401, 422, 403, 422, 422, 403), body=always({"data": "UEsDBA=="})),
    Row("GET", "/v1/indexes/{job}", (401, 404, 403, 404, 404, 404), path=lambda s: f"/v1/indexes/{s.job['id']}"),
    Row("GET", "/v1/hall", ANYBODY),
    Row("GET", "/v1/hall/figures", ANYBODY),
    Row("GET", "/v1/hall/jobs", ANYBODY),
    Row("GET", "/v1/hall/jobs/{job}", NOT_PUBLIC, path=lambda s: f"/v1/hall/jobs/{s.job['id']}"),
    Row("GET", "/v1/hall/jobs/{job}/artifact", NOT_PUBLIC, path=lambda s: f"/v1/hall/jobs/{s.job['id']}/artifact"),
    Row(
        "GET",
        "/v1/hall/attempts/{attempt}/trajectory",
        NOT_PUBLIC,
        path=lambda s: f"/v1/hall/attempts/{s.attempt}/trajectory",
    ),
    Row(
        "GET",
        "/v1/hall/attempts/{attempt}/receipt/file",
        NOT_PUBLIC,
        path=lambda s: f"/v1/hall/attempts/{s.attempt}/receipt/file",
    ),
    Row("POST", "/v1/jobs/{job}/cancel", (401, 404, 403, 200, 200, 403), path=_job("/cancel")),
    Row("POST", "/v1/selections", ANYBODY, body=always({"type": "text_gen", "max_price": "1"})),
    Row("GET", "/v1/attempts", (401, 404, 403, 404, 200, 403), path=lambda s: "/v1/attempts" if s.stall else ""),
    Row("GET", "/v1/attempts/{attempt}", BOTH_SIDES, path=_attempt("")),
    Row("POST", "/v1/attempts/{attempt}/start", NOT_THE_SELLER, path=_attempt("/start")),
    Row("POST", "/v1/attempts/{attempt}/give-back", NOT_THE_SELLER, path=_attempt("/give-back"), body=always({})),
    Row(
        "POST",
        "/v1/attempts/{attempt}/hand-in",
        NOT_THE_SELLER,
        path=_attempt("/hand-in"),
        body=lambda s: s.stall.delivery(),
    ),
    Row("GET", "/v1/attempts/{attempt}/verdict", NOT_YET, path=_attempt("/verdict")),
    Row("GET", "/v1/attempts/{attempt}/receipt", NOT_YET, path=_attempt("/receipt")),
    Row("GET", "/v1/attempts/{attempt}/receipt/file", NOT_YET, path=_attempt("/receipt/file")),
    Row("GET", "/v1/attempts/{attempt}/result", ESCROW, path=_attempt("/result")),
    Row("GET", "/v1/attempts/{attempt}/artifact", ESCROW, path=_attempt("/artifact")),
    Row("GET", "/v1/attempts/{attempt}/trajectory", ESCROW, path=_attempt("/trajectory")),
    Row("GET", "/v1/attempts/{attempt}/hidden", (401, 404, 403, 404, 404, 403), path=_attempt("/hidden")),
    Row("GET", "/v1/disputes", operator(200)),
    Row("GET", "/v1/disputes/{dispute}", (401, 404, 403, 404, 404, 404), path=always(f"/v1/disputes/{_NO_DISPUTE}")),
    Row(
        "POST",
        "/v1/disputes/{dispute}/response",
        BUYER_OR_SELLER,
        path=always(f"/v1/disputes/{_NO_DISPUTE}/response"),
        body=always({"response": "it is about the same thing"}),
    ),
    Row(
        "POST",
        "/v1/disputes/{dispute}/rulings",
        operator(404),
        path=always(f"/v1/disputes/{_NO_DISPUTE}/rulings"),
        body=always({"winner": "split", "reasoning": "both are"}),
    ),
]

PROVIDERS = [
    Row("GET", "/v1/providers", ANYBODY),
    Row("POST", "/v1/providers", (401, 422, 403, 403, 409, 403), body=_registration),
    Row("GET", "/v1/providers/me", (401, 404, 403, 404, 200, 403), path=_me("")),
    Row("DELETE", "/v1/providers/me", (401, 404, 403, 403, 204, 403), path=_me(""), alone=True),
    Row("PUT", "/v1/providers/me/claims", OWN_STALL, path=_me("/claims"), body=always(_CLAIMS)),
    Row(
        "PUT",
        "/v1/providers/me/key",
        OWN_STALL,
        path=_me("/key"),
        body=lambda s: key_proof(s.owner.owner, s.stall.secret),
    ),
    Row(
        "PUT",
        "/v1/providers/me/capabilities",
        OWN_STALL,
        path=_me("/capabilities"),
        body=always({"types": ["sandbox_run"], "capacity": 2}),
    ),
    Row("PUT", "/v1/providers/me/draining", OWN_STALL, path=_me("/draining"), body=always({"draining": True})),
    Row("POST", "/v1/providers/me/books", (401, 404, 403, 403, 201, 403), path=_me("/books"), body=always(_BOOK)),
    Row("GET", "/v1/providers/me/quote", (401, 404, 403, 404, 200, 403), path=_me("/quote"), params=_BOOK),
    Row("POST", "/v1/providers/me/heartbeat", OWN_STALL, path=_me("/heartbeat"), body=always({"free_slots": 1})),
    Row("GET", "/v1/providers/me/earnings", (401, 404, 403, 404, 200, 403), path=_me("/earnings")),
    Row(
        "GET",
        "/v1/providers/me/earnings/series",
        (401, 404, 403, 404, 200, 403),
        path=_me("/earnings/series"),
    ),
    Row("PUT", "/v1/providers/me/bids/{type}", OWN_STALL, path=_me("/bids/sandbox_run"), body=_bid),
    Row("DELETE", "/v1/providers/me/bids/{type}", OWN_STALL, path=_me("/bids/sandbox_run")),
    Row("GET", "/v1/providers/me/bond", (401, 404, 403, 404, 200, 403), path=_me("/bond")),
    Row(
        "POST",
        "/v1/providers/me/bond",
        OWN_STALL,
        path=_me("/bond"),
        body=always({"amount": "1000"}),
    ),
    Row("POST", "/v1/providers/me/bond/release", (401, 404, 403, 403, 409, 403), path=_me("/bond/release"), alone=True),
    Row("DELETE", "/v1/providers/me/bond/release", OWN_STALL, path=_me("/bond/release")),
    Row("GET", "/v1/skills", ANYBODY),
    Row("POST", "/v1/skills", (401, 201, 403, 403, 201, 403), body=_skill),
    Row("GET", "/v1/skills/{skill}", NOT_PUBLIC, path=always("/v1/skills/none@1")),
    Row("GET", "/v1/skills/{skill}/files", (401, 404, 403, 404, 404, 403), path=always("/v1/skills/none@1/files")),
    Row(
        "POST", "/v1/skills/{skill}/withdraw", (401, 404, 403, 403, 404, 403), path=always("/v1/skills/none@1/withdraw")
    ),
    Row("GET", "/v1/providers/{provider}", ANYBODY, path=_provider("")),
    Row("GET", "/v1/providers/{provider}/standing", ANYBODY, path=_provider("/standing")),
    Row("GET", "/v1/providers/{provider}/books", ANYBODY, path=_provider("/books"), params={"type": "sandbox_run"}),
    Row("GET", "/v1/providers/{provider}/outcomes", ANYBODY, path=_provider("/outcomes")),
]

ROWS = [*JOBS, *PROVIDERS, *LAYERS]
