"""Who gets what in the commons: the rows of its routes, with the same columns as in the table beside it.

Here the agent of the third column is the one that may write: it has the scope research, and neither reads nor
publishes. The fourth reads and writes nothing. What is asked about is the owner's: a document, a claim and a draft that
nobody else has seen, and an article that is published.
"""

from __future__ import annotations

from tests.commons.desk import TEXT
from tests.doors.http.table import Make, Row, Scene, always, operator

NO_HASH = f"sha256:{'0' * 64}"
_NO_REVISION = "revision_" + "0" * 26
_NO_CHALLENGE = "challenge_" + "0" * 26
WRITERS = (401, 201, 201, 403, 201, 403)
OWN_WRITERS = (401, 404, 201, 403, 201, 403)
LISTED = (401, 200, 403, 200, 200, 200)
AUTHORS = (401, 404, 403, 200, 200, 403)  # drafts are their authors' alone
UNKNOWN = (401, 404, 403, 404, 404, 404)
# What was published is for anyone, whatever the credential; what was not is as if it were not there.
PUBLIC = (200,) * 6
UNPUBLISHED = (404, 404, 404, 200, 200, 200)
NOTHING = (404,) * 6


def _source(path: str) -> Make:
    return lambda scene: f"/v1/sources/{scene.desk.source}{path}"


def draft(path: str) -> Make:
    return lambda scene: f"/v1/articles/{scene.desk.draft}{path}"


def published(path: str) -> Make:
    return lambda scene: f"/v1/articles/{scene.desk.published}{path}"


def _pointer(scene: Scene) -> str:
    return f"{scene.desk.source}@0-{TEXT.index('.') + 1}"


_NO_TAKEDOWN = "takedown_" + "0" * 26

TAKEDOWNS = [
    Row(
        "POST",
        "/v1/takedowns",
        operator(404),
        body=always({"subject": NO_HASH, "category": "legal", "reason": "an order"}),
    ),
    Row("GET", "/v1/takedowns", operator(200)),
    Row(
        "POST",
        "/v1/takedowns/{takedown}/restore",
        operator(404),
        path=always(f"/v1/takedowns/{_NO_TAKEDOWN}/restore"),
        body=always({"reason": "lifted"}),
    ),
]

SOURCES = [
    Row("POST", "/v1/sources", (401, 422, 422, 403, 422, 403)),  # no bytes are no document
    Row("POST", "/v1/sources/fetched", (401, 409, 409, 403, 409, 403), body=always({"url": "https://example.org/"})),
    Row("GET", "/v1/sources", LISTED),
    Row("GET", "/v1/sources/{source}", UNPUBLISHED, path=_source("")),
    Row("GET", "/v1/sources/{source}/text", UNPUBLISHED, path=_source("/text")),
    Row("GET", "/v1/sources/{source}/document", UNPUBLISHED, path=_source("/document")),
    Row("GET", "/v1/spans", LISTED, params={"q": "bridges"}),
]

ATOMS = [
    Row("POST", "/v1/atoms/claims", WRITERS, body=always({"text": "Tables have rows."})),
    Row("POST", "/v1/atoms/extracts", OWN_WRITERS, body=lambda s: {"pointer": _pointer(s)}),
    Row("POST", "/v1/atoms/bindings", OWN_WRITERS, body=lambda s: {"claim": s.desk.claim, "pointer": _pointer(s)}),
    Row(
        "POST",
        "/v1/atoms/omissions",
        OWN_WRITERS,
        body=lambda s: {"about": s.desk.claim, "statement": "rain", "pointers": [_pointer(s)]},
    ),
    Row("POST", "/v1/atoms/hypertheses", WRITERS, body=always({"statement": "one country", "bound": "Europe"})),
    Row(
        "POST",
        "/v1/atoms/conjectures",
        OWN_WRITERS,
        body=lambda s: {"claim": s.desk.claim, "test": "a", "edge": "b", "expected_change": "c", "scope": "d"},
    ),
    Row("GET", "/v1/atoms", LISTED, params={"kind": "CLAIM"}),
    Row("GET", "/v1/atoms/found", LISTED, params={"q": "rows"}),
    Row("GET", "/v1/atoms/{atom}", UNPUBLISHED, path=lambda s: f"/v1/atoms/{s.desk.claim}"),
    Row(
        "POST",
        "/v1/atoms/{atom}/offer",
        (401, 404, 200, 403, 200, 403),
        path=lambda s: f"/v1/atoms/{s.desk.new_claim()}/offer",
    ),
]

_TEXT = {"text": "# A draft\n\nNothing is claimed here."}
ARTICLES = [
    Row("POST", "/v1/articles", WRITERS, body=always(_TEXT)),
    Row("GET", "/v1/articles", PUBLIC),
    Row("GET", "/v1/articles/{article}", UNPUBLISHED, path=draft("")),
    Row(
        "PUT", "/v1/articles/{article}/draft", (401, 404, 200, 403, 200, 403), path=draft("/draft"), body=always(_TEXT)
    ),
    Row("GET", "/v1/articles/{article}/drafts", AUTHORS, path=draft("/drafts")),
    Row("GET", "/v1/articles/{article}/drafts/{n}", AUTHORS, path=draft("/drafts/1")),
    Row(
        "GET",
        "/v1/articles/{article}/diff",
        (404, 404, 404, 200, 200, 403),
        path=draft("/diff"),
        params={"a": "d1", "b": "d1"},
    ),
    Row("POST", "/v1/articles/{article}/quote", (401, 404, 200, 403, 200, 403), path=draft("/quote"), body=always({})),
    Row(
        "POST",
        "/v1/articles/{article}/publications",
        (401, 404, 403, 403, 409, 403),
        path=draft("/publications"),
        body=always({}),
    ),
    Row("GET", "/v1/articles/{article}/versions", PUBLIC, path=published("/versions")),
    Row("GET", "/v1/articles/{article}/rendered", PUBLIC, path=published("/rendered")),
    Row("GET", "/v1/articles/{article}/bundle", PUBLIC, path=published("/bundle")),
    Row(
        "POST",
        "/v1/articles/{article}/retraction",
        (401, 404, 403, 403, 409, 403),
        path=draft("/retraction"),
        body=always({"reason": "it is not there"}),
    ),
    Row(
        "POST",
        "/v1/articles/{article}/revisions",
        (401, 201, 403, 403, 403, 403),  # for everybody but its authors, who save drafts
        path=published("/revisions"),
        body=always(_TEXT | {"summary": "shorter"}),
    ),
    Row("GET", "/v1/articles/{article}/revisions", LISTED, path=published("/revisions")),
    Row("GET", "/v1/revisions/{revision}", UNKNOWN, path=always(f"/v1/revisions/{_NO_REVISION}")),
    Row(
        "POST",
        "/v1/revisions/{revision}/votes",
        (401, 404, 403, 403, 404, 403),
        path=always(f"/v1/revisions/{_NO_REVISION}/votes"),
        body=always({"accepts": True}),
    ),
    Row("POST", "/v1/articles/{article}/boosts", (401, 404, 403, 403, 409, 403), path=draft("/boosts")),
    Row("POST", "/v1/assertions", (401, 200, 403, 200, 200, 200), body=always({"text": "Tables have rows."})),
]

CHALLENGES = [
    Row(
        "POST",
        "/v1/challenges",
        (401, 404, 403, 403, 404, 403),
        body=always({"atom": NO_HASH, "ground": "other", "statement": "it is not there"}),
    ),
    Row("GET", "/v1/challenges", PUBLIC),
    Row("GET", "/v1/challenges/{challenge}", NOTHING, path=always(f"/v1/challenges/{_NO_CHALLENGE}")),
    Row(
        "POST",
        "/v1/challenges/{challenge}/rulings",
        operator(404),
        path=always(f"/v1/challenges/{_NO_CHALLENGE}/rulings"),
        body=always({"upheld": True, "reasoning": "it is so"}),
    ),
]

ROWS = [*SOURCES, *ATOMS, *ARTICLES, *CHALLENGES, *TAKEDOWNS]
