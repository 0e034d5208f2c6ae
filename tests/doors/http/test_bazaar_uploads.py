"""Bytes in parts, in and out: every step repeated, cut off, too large, or somebody else's."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from choir.foundation.canonical import bytes_hash
from tests.doors.http import market
from tests.doors.http.market import Inside, order
from tests.doors.http.test_bazaar_orders import patch_request
from tests.doors.http.visitors import Browser, Json, done, event_header, new_nostr_key, origin, refused
from tests.operations.nodes import NodeUnderTest

PART = 4_000_000


@pytest.fixture(scope="module")
def inside(served: NodeUnderTest) -> Iterator[Inside]:
    with market.inside(served) as found:
        yield found


@pytest.fixture(scope="module")
def buyer(served: NodeUnderTest) -> Browser:
    return market.buyer(served)


def begin(http: httpx.Client, data: bytes) -> Json:
    body = {"bytes": len(data), "hash": bytes_hash(data)}
    begun: Json = done(http.post("/v1/uploads", json=body), 201)
    return begun


def put(http: httpx.Client, upload: Json, n: int, data: bytes) -> httpx.Response:
    headers = {"Content-Type": "application/octet-stream"}
    return http.put(f"/v1/uploads/{upload['id']}/parts/{n}", content=data, headers=headers)


def upload(http: httpx.Client, data: bytes) -> Json:
    """All of it."""
    begun = begin(http, data)
    for n in range(begun["parts"]):
        done(put(http, begun, n, data[n * PART : (n + 1) * PART]), 204)
    finished: Json = done(http.post(f"/v1/uploads/{begun['id']}/finish"))
    return finished


def test_a_large_input_comes_in_parts_and_leaves_in_parts(buyer: Browser, inside: Inside) -> None:
    data = bytes(range(251)) * 36_000  # 9 MB that no two pieces of have the same bytes
    http = buyer.http
    begun = begin(http, data)
    assert (begun["parts"], begun["part_bytes"], begun["missing"], begun["done"]) == (3, PART, [0, 1, 2], False)
    assert begin(http, data)["id"] == begun["id"]
    done(put(http, begun, 2, data[2 * PART :]), 204)
    done(put(http, begun, 0, b"\0" * PART), 204)
    done(put(http, begun, 0, data[:PART]), 204)  # again, and right
    assert done(http.get(f"/v1/uploads/{begun['id']}"))["missing"] == [1]
    refused(http.post(f"/v1/uploads/{begun['id']}/finish"), 409, "bazaar.parts_missing")
    done(put(http, begun, 1, data[PART : 2 * PART]), 204)
    with ThreadPoolExecutor(3) as pool:
        finished = list(pool.map(lambda _: done(http.post(f"/v1/uploads/{begun['id']}/finish")), range(3)))
    assert all(item["done"] and item["missing"] == [] for item in finished)
    assert begin(http, data)["done"]
    done(put(http, begun, 1, data[PART : 2 * PART]), 204)  # late, and of no effect
    with inside.node.unit_of_work() as tx:
        assert tx.value("select count(*) from upload_parts p join uploads u on u.id = p.upload where u.hash = %s",
                        bytes_hash(data)) == 0  # fmt: skip

    body = {"type": "patch_gen", "request": patch_request(), "inputs": {"repository": {"hash": bytes_hash(data)}}}
    job = done(http.post("/v1/jobs", json=body), 201)
    parts = [http.get(f"/v1/jobs/{job['id']}/inputs/repository", params={"part": n}) for n in range(4)]
    assert b"".join(part.content for part in parts) == data
    assert [len(part.content) for part in parts] == [PART, PART, len(data) - 2 * PART, 0]
    assert {part.headers["choir-hash"] for part in parts} == {bytes_hash(data)}
    assert {part.headers["choir-size"] for part in parts} == {str(len(data))}
    for bad in ("-1", "x", str(10**30), "1.5"):
        assert http.get(f"/v1/jobs/{job['id']}/inputs/repository", params={"part": bad}).status_code == 422
    assert http.get(f"/v1/jobs/{job['id']}/inputs/repository", params={"part": 10_000_000}).content == b""


def test_a_part_has_exactly_its_size_and_place(buyer: Browser) -> None:
    data = b"a few bytes"
    begun = begin(buyer.http, data)
    for n, sent in ((0, data[:-1]), (0, data + b"x"), (0, b""), (1, data), (10**6, data)):
        refused(put(buyer.http, begun, n, sent), 422, "bazaar.bad_part")
    assert put(buyer.http, begun, -1, data).status_code == 422
    assert put(buyer.http, begun, 10**40, data).status_code == 422
    done(put(buyer.http, begun, 0, data[::-1]), 204)
    refused(buyer.http.post(f"/v1/uploads/{begun['id']}/finish"), 422, "objects.wrong_hash")
    done(put(buyer.http, begun, 0, data), 204)
    assert done(buyer.http.post(f"/v1/uploads/{begun['id']}/finish"))["done"]
    assert upload(buyer.http, b"")["done"]


def test_nobody_else_sees_an_upload_or_names_what_it_became(served: NodeUnderTest, buyer: Browser) -> None:
    data = b"what only its owner may name"
    begun = begin(buyer.http, data)
    other = market.buyer(served)
    for method, path in (("GET", ""), ("POST", "/finish"), ("PUT", "/parts/0")):
        answer = other.http.request(method, f"/v1/uploads/{begun['id']}{path}", content=data)
        refused(answer, 404, "bazaar.upload_unknown")
    done(other.http.delete(f"/v1/uploads/{begun['id']}"), 204)
    assert done(buyer.http.get(f"/v1/uploads/{begun['id']}"))["missing"] == [0]
    upload(buyer.http, data)
    told = []
    for name in (data, b"nobody has put this"):
        body = {"type": "patch_gen", "inputs": {"repository": {"hash": bytes_hash(name)}}, "request": patch_request()}
        told.append(refused(other.http.post("/v1/jobs", json=body), 404, "bazaar.not_uploaded"))
    assert told[0]["detail"].replace(bytes_hash(data), "…") == told[1]["detail"].replace(
        bytes_hash(b"nobody has put this"), "…"
    )
    assert not begin(other.http, data)["done"]


def test_an_artifact_in_escrow_cannot_be_had_by_its_hash(served: NodeUnderTest, buyer: Browser, inside: Inside) -> None:
    seller = market.seller(served)
    job = order(buyer, seller)
    inside.work(seller, job["attempts"][0]["id"], None, artifact=b"a secret until it is paid for")
    name = bytes_hash(b"a secret until it is paid for")  # however the buyer has come to know it
    body = {"type": "patch_gen", "request": patch_request(), "inputs": {"repository": {"hash": name}}}
    refused(buyer.http.post("/v1/jobs", json=body), 404, "bazaar.not_uploaded")
    mine = seller.browser.http.post("/v1/jobs", json=body)  # who has put the bytes may name them
    assert mine.json()["inputs"] == {"repository": name}, mine.text


def test_what_is_given_up_or_too_much_is_not_kept(served: NodeUnderTest) -> None:
    who = Browser(served).sign_up()
    begun = begin(who.http, b"to be given up")
    for _ in range(2):
        done(who.http.delete(f"/v1/uploads/{begun['id']}"), 204)
    refused(put(who.http, begun, 0, b"to be given up"), 404, "bazaar.upload_unknown")
    body = {"bytes": 512_000_001, "hash": bytes_hash(b"")}
    refused(who.http.post("/v1/uploads", json=body), 413, "too_large")
    for wrong in ({"bytes": -1}, {"bytes": 10**30}, {"hash": "md5:00"}, {"hash": "SHA256:" + "0" * 64}):
        assert who.http.post("/v1/uploads", json=body | wrong).status_code == 422
    sizes = [500_000_000] * 4 + [0]
    answers = [
        who.http.post("/v1/uploads", json={"bytes": n, "hash": bytes_hash(bytes([i]))}) for i, n in enumerate(sizes)
    ]
    assert [answer.status_code for answer in answers] == [201] * 5
    more = {"bytes": 1, "hash": bytes_hash(b"more")}
    refused(who.http.post("/v1/uploads", json=more), 409, "bazaar.too_many_uploads")
    done(who.http.delete(f"/v1/uploads/{answers[0].json()['id']}"), 204)
    done(who.http.post("/v1/uploads", json=more), 201)


def test_uploads_whose_time_is_over_are_forgotten(buyer: Browser, inside: Inside) -> None:
    data = b"begun and left"
    begun = begin(buyer.http, data)
    done(put(buyer.http, begun, 0, data), 204)
    with inside.node.unit_of_work() as tx:
        tx.run("insert into uploads select gen_random_uuid(), owner, 'sha256:x', bytes, part_bytes, 1, 2, null"
               " from uploads where hash = %s", bytes_hash(data))  # fmt: skip
        assert inside.node.bazaar.uploads.forget(tx, 100) >= 1
        assert tx.value("select count(*) from uploads where expires_us = 2") == 0
    assert done(buyer.http.get(f"/v1/uploads/{begun['id']}"))["missing"] == []


def test_a_signed_request_covers_the_bytes_of_its_part(served: NodeUnderTest) -> None:
    secret = new_nostr_key()
    owner = Browser(served).sign_up()
    stands = httpx.post(
        f"{served.url}/v1/agents/stand",
        content=b"{}",
        headers={
            "Content-Type": "application/json",
            "Authorization": event_header(secret, "POST", origin(served) + "/v1/agents/stand", b"{}"),
        },
        trust_env=False,
    )
    done(stands)
    data = b"signed bytes"
    begun = begin(owner.http, data)
    url = f"/v1/uploads/{begun['id']}/parts/0"
    for signed_body, status in ((b"other bytes!", 401), (data, 404)):  # 404: the key's agent has no such upload
        header = event_header(secret, "PUT", origin(served) + url, signed_body)
        answer = httpx.put(served.url + url, content=data, headers={"Authorization": header}, trust_env=False)
        assert answer.status_code == status, answer.text


def test_a_provider_hands_in_what_it_uploaded(served: NodeUnderTest, buyer: Browser) -> None:
    seller = market.seller(served)
    job = order(buyer, seller)
    data = b"x" * (PART + 1)
    body = seller.delivery(data)
    where = f"/v1/attempts/{job['attempts'][0]['id']}/hand-in"
    upload(seller.browser.http, data)
    handed = done(seller.browser.http.post(where, json=body | {"artifact": {"hash": bytes_hash(data)}}))
    assert handed["artifact"] == bytes_hash(data)
    assert len(seller.browser.http.get(where.replace("hand-in", "artifact"), params={"part": 1}).content) == 1
    assert done(seller.browser.http.post(where, json=body))["delivered_at"] == handed["delivered_at"]
    too_large = seller.delivery() | {"artifact": {"hash": bytes_hash(b"y" * 16_000_001)}}
    upload(seller.browser.http, b"y" * 16_000_001)
    job = order(buyer, seller)
    refused(
        seller.browser.http.post(f"/v1/attempts/{job['attempts'][0]['id']}/hand-in", json=too_large), 413, "too_large"
    )
