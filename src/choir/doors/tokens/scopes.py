"""The scopes that the help of an option lists: those that something on a node asks for."""

from __future__ import annotations

from choir.identity.model import OFFERED_SCOPES

OFFERED = [scope.value for scope in OFFERED_SCOPES]
SCOPES = ", ".join(OFFERED)
