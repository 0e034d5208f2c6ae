"""Amounts: exact, positive, bounded; what a person types is read exactly or refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.foundation.money import (
    AMOUNT_MAX,
    AmountMalformed,
    AmountOutOfRange,
    Asset,
    UnknownAsset,
    checked_amount,
    parse_units,
)

assets = st.sampled_from(list(Asset))
amounts = st.integers(1, AMOUNT_MAX)


@given(assets, amounts)
def test_what_is_shown_reads_back(asset: Asset, units: int) -> None:
    assert asset.parse(asset.format(units)) == units
    assert asset.parse(f"  {asset.format(units)}\n") == units
    assert asset.format(-units) == "-" + asset.format(units)


@given(amounts)
def test_units_in_json_read_back(units: int) -> None:
    assert parse_units(str(units)) == units


@pytest.mark.parametrize(
    ("asset", "text", "units"),
    [
        (Asset.SAT, "1.5", 1500),
        (Asset.SAT, "0.001", 1),
        (Asset.CREDIT, "12", 1200),
        (Asset.CREDIT, "007.10", 710),
        (Asset.CREDIT, "1.100000000000000000", 110),
        (Asset.USDC, "0.000001", 1),
        (Asset.USD, "92233720368547758.07", AMOUNT_MAX),
    ],
)
def test_typed_amounts_are_exact(asset: Asset, text: str, units: int) -> None:
    assert asset.parse(text) == units


@pytest.mark.parametrize(
    "text",
    ["", " ", ".", "1.", ".5", "1,5", "1_000", "1e3", "+1", "-1", "0x10", "1.2.3", "1 2", "١٢", "１", "½", "NaN", "inf",
     "1\0", "1.5 SAT", "9" * 20, "1." + "0" * 19, "1" * 10_000, "−1", "1.٥"],
)  # fmt: skip
def test_what_is_not_an_amount_is_refused(text: str) -> None:
    with pytest.raises(AmountMalformed):
        Asset.SAT.parse(text)


@pytest.mark.parametrize("text", ["0.001", "1.999", "0.000000000000000001"])
def test_more_decimals_than_the_asset_has_are_refused_not_rounded(text: str) -> None:
    with pytest.raises(AmountMalformed, match="decimals"):
        Asset.CREDIT.parse(text)


@pytest.mark.parametrize("text", ["0", "0.00", "92233720368547758.08", "9999999999999999999"])
def test_typed_amounts_have_bounds(text: str) -> None:
    with pytest.raises(AmountOutOfRange):
        Asset.USD.parse(text)


@pytest.mark.parametrize(
    "units",
    [0, -1, AMOUNT_MAX + 1, -AMOUNT_MAX, 10**5000, -(10**5000), True, False, 1.0, "1", None],
    ids=[str(n) for n in range(11)],
)
def test_an_amount_is_a_positive_integer_of_64_bits(units: object) -> None:
    with pytest.raises(AmountOutOfRange) as found:
        checked_amount(units)  # type: ignore[arg-type]
    assert len(str(found.value)) < 200


@pytest.mark.parametrize(
    "text", ["", "0", "00", "01", "-1", "+1", " 1", "1 ", "1.0", "1e3", "٣", "9223372036854775808", "9" * 5000, 5, None]
)
def test_units_in_json_have_one_form(text: object) -> None:
    with pytest.raises(AmountOutOfRange):
        parse_units(text)  # type: ignore[arg-type]


def test_assets_are_known_by_their_code() -> None:
    assert Asset.of("SAT") is Asset.SAT
    for wrong in ("sat", "", "EUR", "__class__", "S" * 100):
        with pytest.raises(UnknownAsset):
            Asset.of(wrong)


def test_assets_with_the_same_decimals_are_still_different() -> None:
    assert len(set(Asset)) == 6
    assert {asset.name: asset.decimals for asset in Asset} == {
        "CREDIT": 2, "CHIP": 6, "USDC": 6, "SAT": 3, "AID": 6, "USD": 2,
    }  # fmt: skip
