"""The scopes that the help of an option lists."""

from __future__ import annotations

from choir.identity.model import OFFERED_SCOPES

SCOPES = ", ".join(OFFERED_SCOPES)
