"""Who gets what of the treasury: the rows of its routes, with the same columns as in the table beside it."""

from __future__ import annotations

from tests.doors.http.table import EVERYBODY, Row, always

_NO_PRICE = "price_" + "0" * 26
READ = (401, 200, 403, 200, 200, 200)
OPERATORS = (401, 403, 403, 403, 403, 201)

ROWS = [
    Row("GET", "/v1/treasury/rate", EVERYBODY),
    Row("GET", "/v1/treasury/rates", EVERYBODY),
    Row("GET", "/v1/treasury/price", EVERYBODY),
    Row("GET", "/v1/treasury/prices", READ),
    Row("GET", "/v1/treasury/pool", EVERYBODY),
    Row("POST", "/v1/treasury/prices", OPERATORS, body=always({"price": "500000", "reason": "as before"})),
    Row("POST", "/v1/treasury/payments", (401, 409, 403, 403, 409, 403), body=always({"amount": "1000000"})),
    Row("POST", "/v1/treasury/funds", OPERATORS, body=always({"amount": "1000000", "reason": "a test"})),
    Row(
        "POST",
        "/v1/treasury/prices/{price}/approve",
        (401, 403, 403, 403, 403, 404),
        path=always(f"/v1/treasury/prices/{_NO_PRICE}/approve"),
    ),
]
