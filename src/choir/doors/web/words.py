"""What things are called on the pages, for people who do not know our names for them."""

from __future__ import annotations

from choir.foundation.money import Asset
from choir.identity.delegations.model import Period
from choir.identity.model import Scope

SCOPES: dict[Scope, str] = {
    Scope.READ: "See balances, statements and your private data",
    Scope.RESEARCH: "Add documents and write drafts",
    Scope.PUBLISH: "Publish, revise and boost articles",
    Scope.CITE: "Cite what others published",
    Scope.ATTEST: "Attest to claims",
    Scope.PROMOTE: "Promote articles",
    Scope.CHALLENGE: "Challenge what is published",
    Scope.BUY: "Buy and pay",
    Scope.SELL: "Offer and sell work",
    Scope.WITHDRAW: "Withdraw money from the node",
}

PERIODS: dict[Period, str] = {
    Period.DAY: "per day",
    Period.WEEK: "per week",
    Period.MONTH: "per month",
    Period.TOTAL: "in total",
}

ASSETS: dict[Asset, str] = {
    Asset.CREDIT: "Pays for computation and scrutiny; never moves between people",
    Asset.CHIP: "Ownership of the commons; stakes and fees of articles and challenges",
    Asset.USDC: "Income, in US dollars",
    Asset.SAT: "Pays for work, in satoshi",
    Asset.AID: "Earned by agents for their work",
    Asset.USD: "US dollars",
}

PLAYED: dict[Asset, str] = {  # what is money elsewhere, on a development node
    Asset.USDC: "Income, in US dollars (play money)",
    Asset.SAT: "Pays for work, in satoshi (play money)",
    Asset.USD: "Play money in US dollars",
}

ROLES: dict[str, str] = {
    "available": "Available",
    "available.starter": "Starter, for stakes only",
    "claim": "Owed to you until your account is unfrozen",
    "escrow": "Held for an order",
}

ACTS: dict[str, str] = {
    "agent.created": "An agent was created",
    "agent.renamed": "An agent was renamed",
    "agent.retired": "An agent was retired",
    "agent.stood_up": "A self-keyed agent was created",
    "delegation.granted": "A delegation was granted",
    "delegation.narrowed": "A delegation was narrowed",
    "delegation.revoked": "A delegation was revoked",
    "key.added": "An account key was added",
    "key.retired": "An account key was retired",
    "login.approved": "A login was approved",
    "login.denied": "A login was denied",
    "passkey.added": "A passkey was added",
    "passkey.counter_behind": "A passkey was refused: it may have been copied",
    "passkey.removed": "A passkey was removed",
    "passkey.renamed": "A passkey was renamed",
    "person.erased": "The account was erased",
    "person.signed_up": "You signed up",
    "recovery.code_used": "A recovery code was used",
    "recovery.codes_made": "Recovery codes were created",
    "session.all_ended": "Other sessions were ended",
    "session.confirmed": "A passkey was confirmed",
    "session.ended": "Logged out",
    "session.started": "Logged in",
    "token.made": "A token was created",
    "token.revoked": "A token was revoked",
    "vouch.given": "You vouched for a person",
    "vouch.revoked": "You withdrew a vouch",
}


KINDS: dict[str, str] = {  # what entries do
    "bazaar.debt": "Pay less a debt",
    "bazaar.refund": "Refund after a dispute",
    "claim.return": "Return of what was due while an account was frozen",
    "commons.bonus": "Bonus for an author",
    "commons.bounty": "Bounty for a challenge",
    "commons.consume": "Fee for reading or boosting",
    "commons.fee": "Review fee of an article",
    "fund": "Play money",
    "genesis": "The treasury's first CHIP",
    "gift": "Gift for a new person",
    "hold.capture": "Payment out of a hold",
    "hold.expire": "Hold that ended",
    "hold.place": "Hold placed",
    "hold.release": "Hold released",
    "issue": "Issuance by operators",
    "transfer": "Transfer",
    "treasury.fund": "Funds for the citation pool",
    "treasury.payment": "Payment to the treasury",
    "vesting.claw_back": "Grant taken back",
    "vesting.grant": "Grant that vests",
    "vesting.release": "Grant vested",
}

_PLACES: dict[str, str] = {  # which of an owner's accounts
    "available.starter": "starter",
    "external": "outside",
    "fees": "fees",
    "pool.citation": "citation pool",
    "pool.verifier": "verifier fund",
}


def kind(name: str) -> str:
    """What an entry does; one that is newer than this list shows its name."""
    return KINDS.get(name, name)


def place(role: str) -> str:
    """Which of an owner's accounts, in a word or two."""
    return _PLACES.get(role, role.replace(".", ", ").replace("_", " "))


def act(name: str) -> str:
    """An act in plain words; one that is newer than this list shows its name."""
    return ACTS.get(name, name.replace(".", ": ").replace("_", " "))


def role(name: str) -> str:
    """What an account's role means to its owner."""
    return ROLES.get(name, name.replace(".", ", ").replace("_", " ").capitalize())
