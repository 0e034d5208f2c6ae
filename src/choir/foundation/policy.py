"""The policy: every price, window, cap and weight of the system, in records beside the rules that use them.

A feature's `policy.py` declares its records and names them in `SECTIONS`; `choir.policies` puts them together.

Guarantees: each value has a default, a unit, bounds, a source and a sentence that explains it; an override outside its
bounds is refused at start; the effective policy is an object with a hash, and entries and receipts that used it carry
that hash. Durations are seconds, ratios are basis points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

from choir.foundation.canonical import ObjectHash, canonical_hash
from choir.foundation.errors import Invalid, NotFound
from choir.foundation.money import Asset

S = TypeVar("S")

_AMOUNTS = {"milli-satoshi": Asset.SAT, **{f"units of {asset.name}": asset for asset in Asset}}
PAGE_ROWS_MOST = 10_000  # no page of a listing may be made larger by policy


class UnknownPolicy(NotFound):
    """A policy name that does not exist."""

    code = "policy.unknown"
    sentence = "There is no policy value '{name}'."
    hint = "`choir policy show` lists all of them."


class PolicyOutOfBounds(Invalid):
    """An override that its bounds do not allow."""

    code = "policy.out_of_bounds"
    sentence = "Policy {name} cannot be {value}: it must be a whole number of {unit} from {low} to {high}."


@dataclass(frozen=True, slots=True)
class PolicyValue:
    """One value with all that is known about it."""

    name: str  # dotted, such as ledger.batch_entries_max
    value: int
    default: int
    unit: str
    low: int
    high: int
    source: str  # where the default comes from
    doc: str

    def shown(self, number: int) -> tuple[str, str]:
        """A number of this value's unit as people read it, and what of: an amount has its decimals and its asset."""
        asset = _AMOUNTS.get(self.unit)
        return (str(number), self.unit) if asset is None else (asset.format(number), asset.name)


def value(default: int, unit: str, low: int, high: int, source: str, doc: str) -> Any:
    """Declare a policy value as a field of a frozen record."""
    assert low <= default <= high, doc
    return field(default=default, metadata={"unit": unit, "low": low, "high": high, "source": source, "doc": doc})


class Policy:
    """The effective policy: one record for each section, asked for by its type."""

    __slots__ = ("_of", "sections")

    def __init__(self, sections: Mapping[str, Any]) -> None:
        self.sections = dict(sections)
        self._of = {type(record): record for record in self.sections.values()}
        assert len(self._of) == len(self.sections), "two sections of one type"

    def of(self, kind: type[S]) -> S:
        """The section of this type."""
        found: S = self._of[kind]
        return found

    def replaced(self, *records: Any) -> Policy:
        """The same with other records for their sections."""
        own = {type(record): record for record in records}
        return Policy({name: own.get(type(record), record) for name, record in self.sections.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.sections == other.sections

    def __hash__(self) -> int:
        return hash(tuple(self.sections.items()))


def describe(policy: Policy) -> Iterator[PolicyValue]:
    """Every value of the policy, in order."""
    for section, record in policy.sections.items():
        yield from describe_section(section, record)


def describe_section(section: str, record: Any) -> Iterator[PolicyValue]:
    """Every value of one record, in order."""
    for item in fields(record):
        facts: Mapping[str, Any] = item.metadata
        assert isinstance(item.default, int)
        yield PolicyValue(f"{section}.{item.name}", getattr(record, item.name), item.default, **facts)


def load(policy: Policy, overrides: Mapping[str, str]) -> Policy:
    """The policy with overrides applied, each checked against its bounds."""
    known = {item.name: item for item in describe(policy)}
    sections = dict(policy.sections)
    for name, text in overrides.items():
        if name not in known:
            raise UnknownPolicy(name=name)
        section, _, field_name = name.partition(".")
        sections[section] = replace(sections[section], **{field_name: _checked(known[name], text)})
    return Policy(sections)


def tree(policy: Policy) -> dict[str, Any]:
    """The effective policy as nested JSON."""
    return {section: asdict(record) for section, record in policy.sections.items()}


def effective_hash(policy: Policy) -> ObjectHash:
    """The name of the effective policy."""
    return canonical_hash(tree(policy))


def section_hash(record: Any) -> ObjectHash:
    """The name of what one section says."""
    return canonical_hash(asdict(record))


def _checked(item: PolicyValue, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = item.low - 1
    if not item.low <= number <= item.high:
        raise PolicyOutOfBounds(name=item.name, value=text[:40], unit=item.unit, low=item.low, high=item.high)
    return number
