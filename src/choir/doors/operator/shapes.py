"""Shapes of operators' browser sessions."""

from __future__ import annotations

from pydantic import Field

from choir.doors.people.shapes import AT
from choir.doors.shapes import Wire, example

_CODE = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"


class OperatorCodeOut(
    Wire, json_schema_extra=example(url=f"http://localhost:8420/operator/enter#{_CODE}", expires_at=AT)
):
    """Where an operator enters, once."""

    url: str = Field(repr=False, description="With the one-time code in its fragment, which no server is ever sent.")
    expires_at: str


class OperatorCodeIn(Wire, json_schema_extra=example(code=_CODE)):
    code: str = Field(repr=False, max_length=100, description="From the fragment of the URL.")


class OperatorSessionOut(Wire, json_schema_extra=example(operator="operator:grace", expires_at=AT)):
    """A session that was started; the browser keeps it as a cookie."""

    operator: str
    expires_at: str
