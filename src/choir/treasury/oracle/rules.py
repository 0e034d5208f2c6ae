"""Which price counts, and how far the governed one may move. Pure; prices are units of USDC for one CHIP."""

from __future__ import annotations

from collections.abc import Sequence

from choir.foundation.clock import MICROSECONDS
from choir.foundation.money import Asset
from choir.treasury.oracle.model import Price, PriceMovesTooFar, Quote
from choir.treasury.policy import TreasuryPolicy

_BPS = 10_000
_DAY_S = 86_400


def price_of(quotes: Sequence[Quote], last: Quote | None, at_us: int, policy: TreasuryPolicy) -> Price | None:
    """The median of the quotes that are fresh and do not jump; else the last valid price, which is stale then.

    Of an even number it is the lower of the two in the middle: a price too low costs less than one too high.
    """
    fresh = [quote for quote in quotes if at_us - quote.at_us <= policy.price_stale_s * MICROSECONDS]
    believed = sorted(
        (quote for quote in fresh if not _jumps(quote, last, at_us, policy)), key=lambda quote: quote.micro_usdc
    )
    if believed:
        middle = believed[(len(believed) - 1) // 2]
        names = "+".join(sorted(quote.source for quote in believed))
        return Price(middle.micro_usdc, middle.at_us, names, stale=False)
    known = last or max(quotes, key=lambda quote: quote.at_us, default=None)
    return None if known is None else Price(known.micro_usdc, known.at_us, known.source, stale=True)


def _jumps(quote: Quote, last: Quote | None, at_us: int, policy: TreasuryPolicy) -> bool:
    """Whether a quote is too far from the last valid price. One of long ago is no measure: the world moved on."""
    if last is None or at_us - last.at_us > policy.price_window_s * MICROSECONDS:
        return False
    return abs(quote.micro_usdc - last.micro_usdc) * _BPS > last.micro_usdc * policy.price_jump_bps


def check_move(asked: int, within: Sequence[int], policy: TreasuryPolicy) -> None:
    """Raise unless a price is near enough to all that were in force within the window.

    That is the strict reading: measured from the lowest upwards and from the highest downwards, so that no sequence of
    small steps, up and down, gets further.
    """
    low, high = min(within), max(within)
    most = low * (_BPS + policy.price_move_bps) // _BPS
    least = -(-high * (_BPS - policy.price_move_bps) // _BPS)
    if not least <= asked <= most:
        raise PriceMovesTooFar(
            asked=Asset.USDC.format(asked),
            low=Asset.USDC.format(least),
            high=Asset.USDC.format(most),
            percent=f"{policy.price_move_bps / 100:g}",
            days=policy.price_window_s // _DAY_S,
        )
