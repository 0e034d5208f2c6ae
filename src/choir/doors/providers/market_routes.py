"""A provider's bids below its book and its bond, over HTTP."""

from __future__ import annotations

from choir.bazaar.bonds.model import Bond
from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers.model import Offer
from choir.doors.http.access import AccessRoute, KeyDep, NodeDep, ReaderOrSellerDep, SellerDep
from choir.doors.http.openapi import problems
from choir.doors.http.rooms import RoomRouter
from choir.doors.providers.market_shapes import BidIn, BidOut, BondIn, BondOut
from choir.foundation.clock import parse_time
from choir.foundation.money import parse_units
from choir.identity.model import Principal
from choir.node import Node
from choir.storage.database import Tx

router = RoomRouter(prefix="/providers/me", tags=["providers"], route_class=AccessRoute)


@router.put("/bids/{type}", responses=problems(404, 409))
def set_bid(type: JobType, body: BidIn, who: SellerDep, node: NodeDep) -> BidOut:  # noqa: A002 - as in the address
    """Bid below your price book for new jobs of a type, until a time. What is paid is the bid."""
    until_us = parse_time(body.until)

    def bid(tx: Tx) -> Offer:
        return node.bazaar.providers.bid(tx, who, type, body.bid_bps, until_us)

    return BidOut.of(node.write(bid))


@router.delete("/bids/{type}", responses=problems(404, 409))
def end_bid(type: JobType, who: SellerDep, node: NodeDep) -> BidOut:  # noqa: A002 - as in the address
    """Ask your book's prices again. Idempotent."""
    return BidOut.of(node.write(lambda tx: node.bazaar.providers.end_bid(tx, who, type)))


@router.get("/bond", responses=problems(404))
def get_bond(who: ReaderOrSellerDep, node: NodeDep) -> BondOut:
    """Get your provider's bond."""
    with node.read() as tx:
        return _shown(tx, node, who)


@router.post("/bond", responses=problems(404, 409))
def add_bond(body: BondIn, who: SellerDep, key: KeyDep, node: NodeDep) -> BondOut:
    """Put up a bond, or add to it; the same key adds once. Every tier above 0 needs one."""
    amount = parse_units(body.amount)

    def add(tx: Tx) -> Bond:
        return node.bazaar.bonds.add(tx, who, node.bazaar.providers.of(tx, who), amount, key)

    node.write(add)
    with node.read() as tx:
        return _shown(tx, node, who)


@router.post("/bond/release", responses=problems(404, 409))
def release_bond(who: SellerDep, node: NodeDep) -> BondOut:
    """Ask for the bond: it counts for no tier from now on, and goes back when nobody can need it. Idempotent."""

    def ask(tx: Tx) -> Bond:
        return node.bazaar.bonds.ask_back(tx, who, node.bazaar.providers.of(tx, who))

    node.write(ask)
    with node.read() as tx:
        return _shown(tx, node, who)


@router.delete("/bond/release", responses=problems(404))
def keep_bond(who: SellerDep, node: NodeDep) -> BondOut:
    """Take back that the bond was asked for. Idempotent."""

    def keep(tx: Tx) -> Bond:
        return node.bazaar.bonds.keep(tx, who, node.bazaar.providers.of(tx, who))

    node.write(keep)
    with node.read() as tx:
        return _shown(tx, node, who)


def _shown(tx: Tx, node: Node, who: Principal) -> BondOut:
    provider = node.bazaar.providers.of(tx, who)
    bonds = node.bazaar.bonds
    needed = node.policy.of(ProvidersPolicy).bond_msat
    return BondOut.of(provider.id, bonds.get(tx, provider.id), needed, bonds.exposed_until(tx, provider.id))
