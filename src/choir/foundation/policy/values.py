"""How a policy value is declared, overridden, checked, shown and hashed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeVar

from choir.foundation.canonical import ObjectHash, canonical_hash
from choir.foundation.errors import Invalid, NotFound
from choir.foundation.money import Asset

P = TypeVar("P")

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


def describe(policy: object, prefix: str = "") -> Iterator[PolicyValue]:
    """Every value of the policy, in order."""
    for item in fields(policy):  # type: ignore[arg-type]
        current = getattr(policy, item.name)
        name = prefix + item.name
        if is_dataclass(current):
            yield from describe(current, f"{name}.")
        else:
            facts: Mapping[str, Any] = item.metadata
            default = item.default
            assert isinstance(default, int)
            yield PolicyValue(
                name, current, default, facts["unit"], facts["low"], facts["high"], facts["source"], facts["doc"]
            )


def load(policy: P, overrides: Mapping[str, str]) -> P:
    """The policy with overrides applied, each checked against its bounds."""
    known = {item.name: item for item in describe(policy)}
    for name, text in overrides.items():
        if name not in known:
            raise UnknownPolicy(name=name)
        policy = _with(policy, name.split("."), _checked(known[name], text))
    return policy


def tree(policy: object) -> dict[str, Any]:
    """The effective policy as nested JSON."""
    return {
        item.name: tree(current) if is_dataclass(current) else current
        for item in fields(policy)  # type: ignore[arg-type]
        for current in [getattr(policy, item.name)]
    }


def effective_hash(policy: object) -> ObjectHash:
    """The name of the effective policy."""
    return canonical_hash(tree(policy))


def _checked(item: PolicyValue, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = item.low - 1
    if not item.low <= number <= item.high:
        raise PolicyOutOfBounds(name=item.name, value=text[:40], unit=item.unit, low=item.low, high=item.high)
    return number


def _with(policy: P, path: list[str], number: int) -> P:
    head, *rest = path
    inner: Any = _with(getattr(policy, head), rest, number) if rest else number
    return replace(policy, **{head: inner})  # type: ignore[type-var]
