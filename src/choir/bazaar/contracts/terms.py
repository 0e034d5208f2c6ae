"""What every request has: a ceiling for its cost, a time limit, a key that makes it count once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from choir.bazaar.contracts.fields import Reader
from choir.bazaar.policy import VerificationPolicy

_AMOUNT_DIGITS_MAX = 18
_KEY_CHARS_MAX = 200


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms that do not depend on the kind of work."""

    max_cost_msat: int  # in JSON a decimal string, as all amounts
    time_limit_s: int
    idempotency_key: str

    @classmethod
    def read(cls, reader: Reader, policy: VerificationPolicy) -> Terms:
        amount = reader.text("max_cost_msat", _AMOUNT_DIGITS_MAX, 1)
        if not (amount.isascii() and amount.isdigit()) or (amount != "0" and amount[0] == "0"):
            raise reader.bad("max_cost_msat", "it must be a whole number of milli-satoshi as a decimal string")
        seconds = reader.whole("time_limit_s", 1, policy.time_limit_s_max, policy.time_limit_s)
        return cls(int(amount), seconds, reader.text("idempotency_key", _KEY_CHARS_MAX, 1))

    def to_json(self) -> dict[str, Any]:
        return {
            "max_cost_msat": str(self.max_cost_msat),
            "time_limit_s": self.time_limit_s,
            "idempotency_key": self.idempotency_key,
        }
