"""Policy: every number has a name, bounds and a sentence; the effective policy has a hash."""

from __future__ import annotations

import pytest

from choir.foundation.canonical import canonical_hash
from choir.foundation.money import Asset
from choir.foundation.policy import (
    PolicyOutOfBounds,
    PolicyValue,
    UnknownPolicy,
    describe,
    effective_hash,
    load,
    tree,
)
from choir.policies import default_policy

DEFAULT_HASH = effective_hash(default_policy())
VALUES = list(describe(default_policy()))


@pytest.mark.parametrize("item", VALUES, ids=lambda item: item.name)
def test_every_value_is_documented_and_within_its_bounds(item: object) -> None:
    assert isinstance(item, PolicyValue)
    assert item.low <= item.default <= item.high
    assert item.value == item.default
    assert item.unit
    assert item.source
    assert item.doc.endswith(".")
    assert item.doc[0].isupper()


@pytest.mark.parametrize("item", VALUES, ids=lambda item: item.name)
def test_every_value_can_be_set_to_its_bounds_and_no_further(item: object) -> None:
    assert isinstance(item, PolicyValue)
    for number in (item.low, item.high):
        changed = load(default_policy(), {item.name: str(number)})
        assert next(one.value for one in describe(changed) if one.name == item.name) == number
        assert (effective_hash(changed) == DEFAULT_HASH) == (number == item.default)
    for number in (item.low - 1, item.high + 1):
        with pytest.raises(PolicyOutOfBounds) as found:
            load(default_policy(), {item.name: str(number)})
        assert item.name in str(found.value)


@pytest.mark.parametrize("text", ["", "many", "1.5", "1e3", "0x10", "True", "9" * 5000, "--1"])
def test_an_override_is_a_whole_number(text: str) -> None:
    with pytest.raises(PolicyOutOfBounds) as found:
        load(default_policy(), {"ledger.batch_entries_max": text})
    assert len(str(found.value)) < 250


@pytest.mark.parametrize(
    "name", ["", "ledger", "ledger.", "ledger.nothing", "batch_entries_max", "ledger.batch_entries_max.x"]
)
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(UnknownPolicy):
        load(default_policy(), {name: "1"})


def test_overrides_change_only_what_they_name() -> None:
    changed = load(default_policy(), {"ledger.batch_entries_max": "7", "node.task_lease_s": "9"})
    different = {one.name for one, other in zip(describe(changed), VALUES, strict=True) if one.value != other.value}
    assert different == {"ledger.batch_entries_max", "node.task_lease_s"}
    assert load(default_policy(), {}) == default_policy()


def test_names_are_unique_and_the_tree_is_what_is_hashed() -> None:
    names = [item.name for item in VALUES]
    assert len(names) == len(set(names))
    policy = tree(default_policy())
    for item in VALUES:
        value: object = policy
        for part in item.name.split("."):
            assert isinstance(value, dict)
            value = value[part]
        assert value == item.value
    assert effective_hash(default_policy()) == canonical_hash(policy)


@pytest.mark.parametrize("item", VALUES, ids=lambda item: item.name)
def test_amounts_are_shown_as_people_write_them_and_all_else_as_it_is(item: PolicyValue) -> None:
    number, unit = item.shown(item.value)
    if item.unit in ("milli-satoshi", "units of CREDIT", "units of CHIP", "units of SAT", "units of USDC"):
        assert Asset.of(unit).format(item.value) == number
    else:
        assert (number, unit) == (str(item.value), item.unit)


def test_the_smallest_budget_reads_as_ten_satoshi() -> None:
    item = next(item for item in VALUES if item.name == "bazaar.budget_msat_min")
    assert item.shown(item.value) == ("10.000", "SAT")
