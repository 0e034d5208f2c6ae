"""Jobs and providers as events: every field is read back as it was written, openly and privately."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.nostr import nip44
from choir.nostr.announcements import Announcement, PriceLine, read_announcement
from choir.nostr.events import Draft
from choir.nostr.jobs import (
    JOB_NAMES,
    REQUEST_FIELDS,
    RESULT_FIELDS,
    CommandClaim,
    Feedback,
    FeedbackStatus,
    Input,
    JobRequest,
    JobResult,
    Price,
    ResultStatus,
    is_private,
    opened,
    privately,
    read_feedback,
    read_request,
    read_result,
)
from choir.nostr.tagged import EXIT_CODE, NUMBER, TEXTS, YES, BadJobEvent, Form

text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
hexes = st.binary(min_size=32, max_size=32).map(bytes.hex)
msat = st.integers(0, 10**12)
others = st.lists(st.tuples(st.sampled_from(["x", "alt", "client"]), text), max_size=2).map(tuple)
exits = st.integers(-(2**31), 2**31 - 1)
prices = st.none() | st.builds(Price, msat, st.just("") | text.filter(lambda found: found != "bolt11"))


def values(form: Form) -> st.SearchStrategy[Any]:
    if form is NUMBER:
        return st.integers(0, 2**53 - 1)
    if form is EXIT_CODE:
        return exits
    if form is YES:
        return st.booleans()
    return st.lists(text, min_size=1, max_size=3).map(tuple) if form is TEXTS else text


def fields(table: Any, kind: int) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={name: values(form) for name, form in table[kind].items()})


@st.composite
def requests(draw: st.DrawFn) -> JobRequest:
    kind = draw(st.sampled_from(sorted(JOB_NAMES)))
    return JobRequest(
        kind=kind,
        fields=draw(fields(REQUEST_FIELDS, kind)),
        content=draw(st.just("") | text),
        inputs=tuple(draw(st.lists(st.builds(Input, text, st.sampled_from(["event", "job"]), text, text), max_size=2))),
        output=draw(st.just("") | text),
        bid_msat=draw(st.none() | msat),
        relays=tuple(draw(st.lists(text, max_size=2))),
        providers=tuple(draw(st.lists(hexes, max_size=2))),
        topics=tuple(draw(st.lists(text, max_size=2))),
        expires_at=draw(st.none() | st.integers(0, 2**40)),
        others=draw(others),
    )


@st.composite
def results(draw: st.DrawFn) -> JobResult:
    kind = draw(st.sampled_from(sorted(JOB_NAMES)))
    status = draw(st.none() | st.sampled_from(ResultStatus))
    return JobResult(
        request_kind=kind,
        request_id=draw(hexes),
        customer=draw(hexes),
        content=draw(st.just("") | text),
        status=status,
        error=draw(st.just("") | text) if status else "",
        fields=draw(fields(RESULT_FIELDS, kind)),
        commands=tuple(draw(st.lists(st.builds(CommandClaim, text, exits, hexes, hexes), max_size=2))),
        price=draw(prices),
        request=draw(st.just("") | text),
        inputs=tuple(draw(st.lists(st.builds(Input, text, text), max_size=2))),
        others=draw(others),
    )


CONVERSATION = nip44.conversation_key(
    b"\x01" * 32, bytes.fromhex("c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5")
)


def travelled(draft: Draft) -> Draft:
    """What a reader gets of it."""
    return Draft(draft.kind, draft.content, tuple(tuple(tag) for tag in json.loads(json.dumps(draft.tags))))


@given(requests())
def test_a_request_is_read_back(request: JobRequest) -> None:
    draft = request.draft()
    assert read_request(travelled(draft)) == request
    sealed = privately(draft, CONVERSATION, b"\x09" * 32)
    assert is_private(sealed)
    assert not is_private(draft)
    assert read_request(opened(travelled(sealed), CONVERSATION)) == request
    assert {tag[0] for tag in sealed.tags} <= {"p", "bid", "relays", "expiration", "t", "encrypted"}


@given(results())
def test_a_result_is_read_back(result: JobResult) -> None:
    draft = result.draft()
    assert draft.kind == result.request_kind + 1000
    assert read_result(travelled(draft)) == result
    sealed = privately(draft, CONVERSATION, b"\x09" * 32)
    assert read_result(opened(travelled(sealed), CONVERSATION)) == result
    assert {tag[0] for tag in sealed.tags} <= {"e", "p", "status", "amount", "encrypted"}
    assert all(len(tag) == 2 for tag in sealed.tags if tag[0] == "status")


@given(st.builds(Feedback, hexes, hexes, st.sampled_from(FeedbackStatus), st.just("") | text, text, prices, others))
def test_feedback_is_read_back(feedback: Feedback) -> None:
    assert read_feedback(travelled(feedback.draft())) == feedback
    sealed = privately(feedback.draft(), CONVERSATION, b"\x09" * 32)
    assert read_feedback(opened(travelled(sealed), CONVERSATION)) == feedback


@given(
    st.builds(
        Announcement,
        identifier=text,
        kinds=st.lists(st.integers(0, 65535), max_size=3).map(tuple),
        capabilities=st.lists(text, max_size=2).map(tuple),
        prices=st.lists(st.builds(PriceLine, text, msat, text), max_size=3).map(tuple),
        name=st.just("") | text,
        description=st.just("") | text,
        website=st.just("") | text,
        more=st.dictionaries(st.sampled_from(["picture", "nip90Params"]), text | st.integers(0, 9) | st.none()),
        capacity=st.none() | st.integers(0, 1000),
        isolation=st.just("") | text,
        models=st.lists(text, max_size=2).map(tuple),
        regions=st.lists(text, max_size=2).map(tuple),
        schedule=st.just("") | text,
        claimed_tier=st.none() | st.integers(0, 3),
        claimed_success_bps=st.none() | st.integers(0, 10_000),
        claimed_jobs=st.none() | st.integers(0, 10**9),
        expires_at=st.none() | st.integers(0, 2**40),
        others=others,
    )
)
def test_an_announcement_is_read_back(announcement: Announcement) -> None:
    assert read_announcement(travelled(announcement.draft())) == announcement


def test_a_plain_request_of_a_foreign_client() -> None:
    """As the published example has it: a title and a body in one text, lists with commas."""
    tags = (
        ("i", "Login fails: the button does nothing", "text"),
        ("i", "https://example.org/user/repo", "url"),
        ("param", "repo_ref", "abc123"),
        ("param", "allowed_paths", "src/**,tests/**"),
        ("param", "test_command", "cargo test"),
        ("param", "time_limit_secs", "900"),
        ("param", "max_cost_sats", "10000"),
        ("param", "colour", "blue"),
        ("output", "patch"),
        ("bid", "5000"),
    )
    found = read_request(Draft(5932, "Generate a patch", tags))
    assert found.fields == {
        "title": "Login fails",
        "body": "the button does nothing",
        "repo_url": "https://example.org/user/repo",
        "repo_ref": "abc123",
        "allowed_paths": ("src/**", "tests/**"),
        "test_command": "cargo test",
        "time_limit_secs": 900,
        "max_cost_sats": 10000,
    }
    assert (found.output, found.bid_msat, found.others) == ("patch", 5000, (("param", "colour", "blue"),))


def test_the_published_result_and_announcement() -> None:
    e, p = "ab" * 32, "cd" * 32
    tags: tuple[tuple[str, ...], ...] = (
        ("e", e),
        ("p", p),
        ("status", "success"),
        ("result", "test_exit_code", "0"),
        ("result", "additions", "47"),
        ("result", "deletions", "12"),
        ("amount", "5000", "bolt11", "lnbc50u1p"),
    )
    found = read_result(Draft(6932, "diff", tags))
    assert found.fields == {"test_exit_code": 0, "additions": 47, "deletions": 12}
    assert found.price == Price(5_000_000, "lnbc50u1p")
    shown = read_announcement(
        Draft(
            31990,
            '{"name":"Alice","description":"Fast","website":"https://a"}',
            (
                ("d", "one"),
                ("k", "5932"),
                ("price", "PatchGen", "3000", "sats", "base"),
                ("price", "SandboxRun", "0.5", "sats", "per_cpu_second"),
                ("schedule", "always"),
                ("success_rate", "0.97"),
            ),
        )
    )
    assert [line.msat for line in shown.prices] == [3_000_000, 500]
    assert (shown.schedule, shown.claimed_success_bps, shown.website) == ("always", 9700, "https://a")


@pytest.mark.parametrize(
    ("kind", "tags"),
    [
        (5999, ()),
        (5932, (("bid", "-1"),)),
        (5932, (("bid", "1e9"),)),
        (5932, (("bid", "1"), ("bid", "2"))),
        (5932, (("param", "time_limit_secs", "9" * 30),)),
        (5932, (("param", "repo_ref", "a"), ("param", "repo_ref", "b"))),
        (5932, (("p", "npub"),)),
    ],
)
def test_requests_that_are_refused(kind: int, tags: tuple[tuple[str, ...], ...]) -> None:
    with pytest.raises(BadJobEvent):
        read_request(Draft(kind, "", tags))


@pytest.mark.parametrize(
    "tags",
    [
        (),
        (("e", "ab" * 32),),
        (("e", "ab" * 32), ("e", "cd" * 32), ("p", "ab" * 32)),
        (("e", "ab" * 32), ("p", "ab" * 32), ("status", "great")),
        (("e", "ab" * 32), ("p", "ab" * 32), ("amount", "0.5")),
        (("e", "ab" * 32), ("p", "ab" * 32), ("result", "command", "x")),
    ],
)
def test_results_that_are_refused(tags: tuple[tuple[str, ...], ...]) -> None:
    with pytest.raises(BadJobEvent):
        read_result(Draft(6932, "", tags))


def test_what_was_sealed_cannot_name_another_party() -> None:
    sealed = nip44.encrypt(CONVERSATION, '[["p","ab"]]', b"\x01" * 32)
    with pytest.raises(BadJobEvent, match="public"):
        opened(Draft(5932, sealed, (("encrypted",),)), CONVERSATION)
