"""Assets and amounts.

Guarantees: inside, an amount is an `int` of its asset's smallest unit and nothing else; decimals
exist only where a person reads or types; no float comes near. Reading is exact: more decimals than
the asset has are refused, not rounded.
"""

from __future__ import annotations

import re
from enum import Enum

from choir.foundation.errors import Invalid

AMOUNT_MAX = 2**63 - 1  # what one leg or one balance can hold

_UNITS = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)
_TYPED = re.compile(r"([0-9]{1,19})(?:\.([0-9]{1,18}))?", re.ASCII)
_TOO_LONG = re.compile(r"[0-9]{20,}(?:\.[0-9]*)?", re.ASCII)
_MORE_THAN_ZERO = "it must be more than zero"


class AmountOutOfRange(Invalid):
    """Zero, negative, or beyond 64 bits."""

    code = "money.out_of_range"
    sentence = "The amount {amount} is out of range: it counts smallest units, from 1 to 9223372036854775807."


class AmountMalformed(Invalid):
    """Text that is not an amount of the asset."""

    code = "money.malformed"
    sentence = "'{text}' is not an amount of {asset}: {why}."


class TypedOutOfRange(AmountOutOfRange):
    """The same, of what a person typed."""

    code = "money.typed_out_of_range"
    sentence = "'{text}' is not an amount of {asset}: {why}."


class UnknownAsset(Invalid):
    """An asset code that does not exist."""

    code = "money.unknown_asset"
    sentence = "There is no asset '{asset}'. The assets are CREDIT, CHIP, USDC, SAT, AID and USD."


class Asset(Enum):
    """The six assets; the value is the number of decimals a person sees."""

    CREDIT = ("CREDIT", 2)
    CHIP = ("CHIP", 6)
    USDC = ("USDC", 6)
    SAT = ("SAT", 3)
    AID = ("AID", 6)
    USD = ("USD", 2)

    @property
    def decimals(self) -> int:
        return self.value[1]

    @classmethod
    def of(cls, code: str) -> Asset:
        """The asset with this code."""
        found = cls.__members__.get(code)
        if found is None:
            raise UnknownAsset(asset=code[:20])
        return found

    def parse(self, text: str) -> int:
        """Units from what a person typed: Asset.SAT.parse("1.5") == 1500."""
        typed = text.strip()
        match = _TYPED.fullmatch(typed)
        if match is None:
            raise AmountMalformed(text=_cut(typed), asset=self.name, why=self._why_malformed(typed))
        whole, fraction = match[1], match[2] or ""
        if len(fraction.rstrip("0")) > self.decimals:
            raise AmountMalformed(text=_cut(typed), asset=self.name, why=f"it has at most {self.decimals} decimals")
        units = int(whole + fraction[: self.decimals].ljust(self.decimals, "0"))
        if not 0 < units <= AMOUNT_MAX:
            why = self._at_most if units else _MORE_THAN_ZERO
            raise TypedOutOfRange(text=_cut(typed), asset=self.name, why=why)
        return units

    def _why_malformed(self, typed: str) -> str:
        """What is wrong with it, for the mistakes that people make."""
        if typed.startswith("-") and _TYPED.fullmatch(typed[1:]):
            return _MORE_THAN_ZERO
        if _TOO_LONG.fullmatch(typed):
            return self._at_most
        return "write digits with at most one point, such as 12.5"

    @property
    def _at_most(self) -> str:
        return f"it can be at most {self.format(AMOUNT_MAX)}"

    def format(self, units: int) -> str:
        """What a person reads: Asset.SAT.format(1500) == "1.500"."""
        sign, digits = ("-", -units) if units < 0 else ("", units)
        whole, fraction = divmod(digits, 10**self.decimals)
        return f"{sign}{whole}.{fraction:0{self.decimals}d}"


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"


def checked_amount(units: int) -> int:
    """A positive amount that fits 64 bits, or a refusal."""
    if isinstance(units, bool) or not isinstance(units, int) or not 0 < units <= AMOUNT_MAX:
        raise AmountOutOfRange(amount=_shown(units))
    return units


def _shown(units: object) -> str:
    """What was given, cut; Python itself refuses to write out absurdly long numbers."""
    try:
        return str(units)[:40]
    except ValueError:
        return "of thousands of digits"


def parse_units(text: str) -> int:
    """Units from the decimal string that stands for them in JSON."""
    if not isinstance(text, str) or _UNITS.fullmatch(text) is None:
        raise AmountOutOfRange(amount=str(text)[:40])
    return checked_amount(int(text))
