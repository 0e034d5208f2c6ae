"""Atoms over HTTP: every kind that can be made, their history, finding and offering them, and what is no atom."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from choir.commons.policy import CommonsPolicy
from choir.foundation.canonical import canonical_hash
from tests.commons.desk import TEXT
from tests.doors.http.commons_table import NO_HASH
from tests.doors.http.market import all_pages
from tests.doors.http.press import WritersDesk, add, new_text, writer
from tests.doors.http.visitors import Browser, Json, done, refused
from tests.operations.nodes import NodeUnderTest

QUOTE = "Wind caused vibration in 45 of the 120 bridges."


@pytest.fixture(scope="module")
def author(served: NodeUnderTest) -> Browser:
    return writer(served, 0)


@pytest.fixture(scope="module")
def desk(author: Browser) -> WritersDesk:
    return WritersDesk(author)


def make(author: Browser, kind: str, **body: Any) -> Json:
    made: Json = done(author.http.post(f"/v1/atoms/{kind}", json=body), 201)
    return made


def pointer(source: str, quote: str = QUOTE) -> str:
    start = TEXT.index(quote)
    return f"{source}@{start}-{start + len(quote)}"


def content_of(author: Browser, atom: str) -> Json:
    found: Json = done(author.http.get(f"/v1/atoms/{atom}"))
    assert canonical_hash(found["content"]) == atom == found["atom"]["hash"]
    return found


def test_every_kind_is_what_its_hash_says_and_signed(author: Browser, desk: WritersDesk) -> None:
    claim = make(author, "claims", text="Wind makes bridges vibrate.", scope="cable bridges")
    binding = make(author, "bindings", claim=claim["hash"], pointer=pointer(desk.source), relation="qualifies")
    missing = make(
        author, "omissions", about=claim["hash"], statement="Rain is left out.", pointers=[pointer(desk.source)]
    )
    spot = make(author, "hypertheses", statement="One survey only.", bound="14 countries", about=claim["hash"])
    guess = make(
        author,
        "conjectures",
        claim=claim["hash"],
        test="a tunnel",
        edge="calm",
        expected_change="it stops",
        scope="steel",
    )
    extract = make(author, "extracts", pointer=pointer(desk.source))
    kinds = {
        "CLAIM": claim, "BINDING": binding, "OMISSION": missing, "HYPERTHESIS": spot, "CONJECTURE": guess,
        "EXTRACT": extract,
    }  # fmt: skip
    for kind, made in kinds.items():
        assert (made["kind"], made["state"], made["flagged"]) == (kind, "UNTRUSTED", False)
        found = content_of(author, made["hash"])
        assert found["content"]["kind"] == kind
        assert found["signatures"]
        assert [(step["before"], step["after"], step["actor"]) for step in found["history"]] == [
            (None, "UNTRUSTED", "maker")
        ]
        assert (found["attestations"], found["unsettled_by"]) == ([], [])
    found = content_of(author, binding["hash"])
    assert {item["hash"] for item in found["rests_on"]} == {claim["hash"], extract["hash"]}
    assert found["content"]["confidence_bps"] == CommonsPolicy().confidence_default_bps
    assert make(author, "claims", text="Wind makes bridges vibrate.", scope="cable bridges") == claim


def test_a_claim_is_one_visible_line(author: Browser) -> None:
    plain = make(author, "claims", text="Bridges sing at night.")
    for text in (
        "  Bridges\nsing \tat  night. ",
        "Bridges\n\n\nsing at\u00a0night.",
        "Bri\u200bdges sing\u202e at\0 night.",
    ):
        assert make(author, "claims", text=text) == plain
    assert content_of(author, plain["hash"])["content"] == {"kind": "CLAIM", "text": "Bridges sing at night."}


def test_offering_opens_an_atom_and_all_that_it_rests_on(served: NodeUnderTest, author: Browser) -> None:
    source = add(author.http, new_text())["hash"]
    claim = make(author, "claims", text=f"Bridges vibrate, says {source}.")["hash"]
    binding = make(author, "bindings", claim=claim, pointer=pointer(source))["hash"]
    stranger = writer(served, 0)
    for name in (claim, binding, source):
        refused(stranger.http.get(f"/v1/atoms/{name}"), 404, "commons.atom_unknown")
    refused(stranger.http.post(f"/v1/atoms/{binding}/offer"), 404, "commons.atom_unknown")
    assert done(author.http.post(f"/v1/atoms/{binding}/offer"))["state"] == "QUARANTINED"
    assert done(author.http.post(f"/v1/atoms/{binding}/offer"))["state"] == "QUARANTINED"  # once is enough
    for name in (claim, binding, source):
        seen = done(stranger.http.get(f"/v1/atoms/{name}"))
        assert [step["after"] for step in seen["history"]] == ["QUARANTINED"]  # who made it in private is not told
        own = done(author.http.get(f"/v1/atoms/{name}"))
        assert [step["after"] for step in own["history"]] == ["UNTRUSTED", "QUARANTINED"]
    assert done(stranger.http.get(f"/v1/sources/{source}"))["state"] == "QUARANTINED"
    carried = done(stranger.http.get(f"/v1/atoms/{claim}"))["carries"]
    assert [item["hash"] for item in carried] == [binding]


def test_what_one_may_not_read_cannot_be_rested_on(served: NodeUnderTest, author: Browser, desk: WritersDesk) -> None:
    stranger = writer(served, 0)
    own = make(stranger, "claims", text="A stranger's own claim.")["hash"]

    def post(kind: str, **body: Any) -> httpx.Response:
        return stranger.http.post(f"/v1/atoms/{kind}", json=body)

    refused(post("extracts", pointer=pointer(desk.source)), 404, "commons.source_unknown")
    refused(post("bindings", claim=own, pointer=pointer(desk.source)), 404, "commons.source_unknown")
    refused(
        post("conjectures", claim=desk.claim, test="a", edge="b", expected_change="c", scope="d"),
        404,
        "commons.atom_unknown",
    )
    refused(post("hypertheses", statement="a", bound="b", about=desk.claim), 404, "commons.atom_unknown")
    refused(post("hypertheses", statement="a", bound="b", about=NO_HASH), 404, "commons.atom_unknown")
    assert done(stranger.http.get("/v1/atoms", params={"kind": "HYPERTHESIS", "state": "UNTRUSTED"}))["items"] == []


def test_an_atom_rests_on_atoms_of_the_right_kind(author: Browser, desk: WritersDesk) -> None:

    def post(kind: str, **body: Any) -> httpx.Response:
        return author.http.post(f"/v1/atoms/{kind}", json=body)

    refused(post("bindings", claim=desk.source, pointer=pointer(desk.source)), 422, "commons.atom_wrong_kind")
    refused(post("bindings", claim=desk.claim, pointer=pointer(desk.claim)), 404, "commons.source_unknown")
    told = post("omissions", about=desk.source, statement="x", pointers=[pointer(desk.source)])
    refused(told, 422, "commons.atom_wrong_kind")


@pytest.mark.parametrize(
    ("written", "status", "code"),
    [
        ("{source}@5-5", 422, "commons.bad_pointer"),
        ("{source}@9-5", 422, "commons.bad_pointer"),
        ("{source}@0-999999999", 422, "commons.span_outside"),
        ("{source}@0-9999999999999999", 422, "commons.bad_pointer"),
        ("{source}@01-9", 422, "commons.bad_pointer"),
        ("{source}@-1-9", 422, "commons.bad_pointer"),
        ("{source}@0-٩", 422, "commons.bad_pointer"),
        ("{source}@0-9 ", 422, "commons.bad_pointer"),
        ("sha256:zz@0-9", 422, "invalid"),
        (f"sha256:{'g' * 64}@0-9", 422, "commons.bad_pointer"),
        (f"{NO_HASH}@0-9", 404, "commons.source_unknown"),
    ],
)
def test_a_pointer_is_read_strictly(author: Browser, desk: WritersDesk, written: str, status: int, code: str) -> None:
    asked = {"pointer": written.format(source=desk.source)}
    refused(author.http.post("/v1/atoms/extracts", json=asked), status, code)


def test_an_extract_is_a_pointer_and_no_copy(author: Browser) -> None:
    long = add(author.http, "word " * 1_000)["hash"]
    answer = author.http.post("/v1/atoms/extracts", json={"pointer": f"{long}@0-2001"})
    refused(answer, 422, "commons.bad_atom")
    make(author, "extracts", pointer=f"{long}@0-2000")


def test_atoms_are_found_by_their_words_and_listed_page_by_page(served: NodeUnderTest) -> None:
    author = writer(served, 0)
    texts = [f"The {word} heron of Uppsala eats fish." for word in ("grey", "white", "blue")]
    made = [make(author, "claims", text=text)["hash"] for text in texts]

    def get(**params: Any) -> Any:
        return done(author.http.get("/v1/atoms/found", params=params))["items"]

    assert {item["hash"] for item in get(q="uppsala heron", kind="CLAIM")} == set(made)
    assert [item["words"] for item in get(q="white heron uppsala")] == [texts[1]]
    assert get(q="uppsala heron", kind="BINDING") == get(q="uppsala heron", state="PROMOTED") == []
    assert len(get(q="uppsala heron", limit="2")) == 2
    for words in ("\0", "\u200b", "!!!", '"', "a" * 2_000):
        get(q=words)
    listed = [item["hash"] for item in all_pages(author.http, "/v1/atoms", 2, kind="CLAIM", state="UNTRUSTED")]
    assert listed == made[::-1]
    stranger = writer(served, 0)
    assert done(stranger.http.get("/v1/atoms/found", params={"q": "uppsala heron"}))["items"] == []
    for params in ({}, {"kind": "POEM"}, {"kind": "CLAIM", "state": "LOST"}, {"kind": "CLAIM", "cursor": "x"}):
        refused(author.http.get("/v1/atoms", params=params), 422, "invalid")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("claims", {"text": ""}),
        ("claims", {"text": "\u200b\u202e"}),
        ("claims", {"text": "x" * 601}),
        ("claims", {"text": "x", "scope": "\0"}),
        ("claims", {"text": 5}),
        ("claims", {"text": "x", "surprise": 1}),
        ("claims", {"text": "\ud800"}),
        ("hypertheses", {"statement": "x" * 4_001, "bound": "y"}),
        ("hypertheses", {"statement": "\0", "bound": "y"}),
        ("hypertheses", {"statement": "x", "bound": "y", "about": "sha256:zz"}),
        ("hypertheses", {"statement": "x", "bound": "y", "about": "z" * 71}),
        ("conjectures", {"claim": NO_HASH, "test": "\u2060", "edge": "b", "expected_change": "c", "scope": "d"}),
        ("bindings", {"claim": NO_HASH, "pointer": f"{NO_HASH}@0-9", "confidence_bps": 0}),
        ("bindings", {"claim": NO_HASH, "pointer": f"{NO_HASH}@0-9", "relation": "adores"}),
        ("omissions", {"about": NO_HASH, "statement": "x", "pointers": []}),
        ("extracts", {}),
    ],
)
def test_what_is_no_atom_is_refused(author: Browser, kind: str, body: Json) -> None:
    sent = json.dumps(body)  # in ASCII: half a character can be written so
    answer = author.http.post(f"/v1/atoms/{kind}", content=sent, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert answer.json()["code"] in ("invalid", "commons.bad_atom")


@pytest.mark.parametrize("name", ["sha256:zz", "x" * 500, "found!", "sha256:" + "F" * 64])
def test_what_is_no_hash_is_not_looked_for(author: Browser, name: str) -> None:
    refused(author.http.get(f"/v1/atoms/{name}"), 422, "invalid")
    refused(author.http.post(f"/v1/atoms/{name}/offer"), 422, "invalid")
    refused(author.http.get(f"/v1/atoms/{NO_HASH}"), 404, "commons.atom_unknown")
