"""Who gets what of novelty, citations and search: the rows of their routes, with the columns of the table beside it."""

from __future__ import annotations

from tests.doors.http.commons_table import NOTHING, PUBLIC, draft, published
from tests.doors.http.table import Row, always

_NO_ARTICLE = "article_" + "0" * 26
_NO_CITATION = "citation_" + "0" * 26
_CITE = {"article": _NO_ARTICLE, "claim": "Tables have rows", "quote": "rows"}

ROWS = [
    Row(
        "POST",
        "/v1/articles/{article}/novelty",
        (401, 404, 200, 403, 200, 403),
        path=draft("/novelty"),
        body=always({}),
    ),
    Row("GET", "/v1/articles/{article}/novelty", PUBLIC, path=published("/novelty")),
    Row(
        "POST",
        "/v1/articles/{article}/citations",
        (401, 404, 404, 403, 404, 403),
        path=draft("/citations"),
        body=always(_CITE),
    ),
    Row("GET", "/v1/articles/{article}/citations", PUBLIC, path=published("/citations")),
    Row("GET", "/v1/citations/{citation}", NOTHING, path=always(f"/v1/citations/{_NO_CITATION}")),
    Row("GET", "/v1/earnings", (401, 200, 403, 200, 200, 403)),
    Row("GET", "/v1/earnings/grants", (401, 200, 403, 200, 200, 403)),
    Row("GET", "/v1/search", PUBLIC, params={"q": "bridges"}),
    Row("GET", "/v1/feed", PUBLIC),
]
