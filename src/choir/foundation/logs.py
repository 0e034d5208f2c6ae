"""Structured logs: one JSON object a line for machines, one plain line for people.

Guarantees: only the fields that the code names are logged, never a request's headers or body; a
traceback is part of its record, so a line is always a whole record.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any, TextIO

from choir.foundation.clock import format_time

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """For collectors."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": format_time(int(record.created * 1_000_000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extra(record),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class PlainLines(logging.Formatter):
    """For a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        at = format_time(int(record.created * 1_000_000))[11:23]
        fields = "".join(f" {name}={value}" for name, value in _extra(record).items())
        line = f"{at} {record.levelname.lower():7} {record.getMessage()}{fields}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


def set_up_logs(style: str, *, level: int = logging.INFO, stream: TextIO | None = None, requests: bool = True) -> None:
    """Send all logs to one stream in one style; with a line for each request where that is wanted."""
    target = stream or sys.stderr
    as_text = style == "text" or (style == "auto" and target.isatty())
    handler = logging.StreamHandler(target)
    handler.setFormatter(PlainLines() if as_text else JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in ("uvicorn", "uvicorn.error", "psycopg.pool", "httpx", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
    if as_text or not requests:
        logging.getLogger("choir.access").setLevel(logging.WARNING)  # a person wants to see what matters


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in record.__dict__.items() if name not in _STANDARD}
