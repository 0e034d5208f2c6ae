"""The treasury, as a program asks for it."""

from __future__ import annotations

from choir.doors.ledger.shapes import PostedOut
from choir.doors.sdk.calls import Call, R, Room, call, key_or_new, pages, path
from choir.doors.treasury.shapes import (
    GovernedPriceOut,
    GovernedPricePage,
    PoolFundOut,
    PoolOut,
    PriceOut,
    RateOut,
    RatePage,
)


class TreasuryClient(Room[R]):
    """The citation rate, the price of CHIP and the citation pool. Amounts are units of USDC."""

    @call
    def rate(self, month: str | None = None) -> Call[RateOut]:
        """Get the citation rate of a month, such as "2026-11", or of this month."""
        return Call("GET", "/v1/treasury/rate", RateOut, params={"month": month})

    @pages
    def rates(self, *, limit: int = 100) -> Call[RatePage]:
        """Iterate over the rates of all months, newest first."""
        return Call("GET", "/v1/treasury/rates", RatePage, params={"limit": limit})

    @call
    def price(self) -> Call[PriceOut]:
        """Get the price of one CHIP."""
        return Call("GET", "/v1/treasury/price", PriceOut)

    @pages
    def prices(self, *, limit: int = 100) -> Call[GovernedPricePage]:
        """Iterate over governed prices, set and proposed, newest first."""
        return Call("GET", "/v1/treasury/prices", GovernedPricePage, params={"limit": limit})

    @call
    def set_price(self, price: int, *, reason: str, key: str | None = None) -> Call[GovernedPriceOut]:
        """For operators: set the governed price, or propose it on a production node."""
        body = {"price": str(price), "reason": reason}
        return Call("POST", "/v1/treasury/prices", GovernedPriceOut, body, key=key_or_new(key))

    @call
    def approve_price(self, price: str) -> Call[GovernedPriceOut]:
        """For operators: approve a price that another proposed."""
        return Call("POST", path("/v1/treasury/prices/{id}/approve", id=price), GovernedPriceOut, again=True)

    @call
    def pool(self) -> Call[PoolOut]:
        """Get the citation pool."""
        return Call("GET", "/v1/treasury/pool", PoolOut)

    @call
    def fund(self, amount: int, *, reason: str, key: str | None = None) -> Call[PoolFundOut]:
        """For operators: fund the citation pool, or propose it on a production node."""
        body = {"amount": str(amount), "reason": reason}
        return Call("POST", "/v1/treasury/funds", PoolFundOut, body, key=key_or_new(key))

    @call
    def pay(self, amount: int, *, key: str | None = None) -> Call[PostedOut]:
        """Pay the treasury for good, in units of USDC; it raises your allowance of the month."""
        return Call("POST", "/v1/treasury/payments", PostedOut, {"amount": str(amount)}, key=key_or_new(key))
