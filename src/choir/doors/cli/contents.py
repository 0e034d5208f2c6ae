"""The commands of `choir`, by what they are for: where each is found, and what the list of commands says of it.

The sentences stand here once more so that listing them loads no command; a test compares them with each command's own.
"""

from __future__ import annotations

from typing import NamedTuple

_CLI = "choir.doors.cli"


class Item(NamedTuple):
    """A command: its name, `module:attribute` below this folder, and the first sentence of its help."""

    name: str
    place: str
    summary: str


SECTIONS: dict[str, tuple[Item, ...]] = {
    "Work": (
        Item("job", "jobs:app", "Buy work that is verified before it is paid."),
        Item("provider", "provider:app", "Sell work: run a provider, set prices, see earnings."),
    ),
    "Money": (
        Item("account", "account:app", "Show your own accounts and their balances."),
        Item("ledger", "ledger:app", "Read and write the ledger: accounts, entries, holds, proofs."),
        Item(
            "fund",
            "ledger.entries:register_at_the_top",
            "Give an account money out of nothing (development nodes only).",
        ),
        Item(
            "explain",
            "ledger.entries:register_at_the_top",
            "Say in words what an entry did, by which rules, and what proves it.",
        ),
    ),
    "People and agents": (
        Item("login", "login:register", "Log in to a node with your passkey, in the browser."),
        Item("logout", "login:register", "Forget the login for a node, and end its token there."),
        Item("whoami", "login:register", "Say who you are to a node, by which credential and why."),
        Item("agent", "agents:register", "Make, list and retire agents that act for you."),
        Item("delegation", "agents:register", "Say what an agent may do, spend, and until when."),
        Item("token", "agents:register", "Make, list and revoke tokens for programs."),
    ),
    "Node": (
        Item("up", "node:register", "Start a node with everything it needs; Ctrl-C stops it."),
        Item("down", "node:register", "Stop the node of this home and wait until nothing of it runs."),
        Item("status", "node:register", "Say whether the node runs, and where."),
        Item("doctor", "node:register", "Check every part of the node and say how to mend what is wrong."),
        Item("config", "config:app", "Show every setting and where it came from."),
        Item("policy", "policy:app", "Show and explain every price, window, cap and weight."),
        Item("operator", "operators:app", "Add, list and remove operators, each with a token of their own."),
        Item("key", "node:register", "Show or replace the node's signing key."),
        Item("backup", "node:register", "Write a backup of the database; the node may run meanwhile."),
        Item("restore", "node:register", "Restore a backup into an empty database."),
    ),
    "For developers": (
        Item("events", "events:register", "Show events as they happen, until Ctrl-C."),
        Item("sandbox", "sandbox:app", "Run code in a sandbox, and see which tiers work here."),
        Item("clock", "node:register", "Show or move a development node's clock, to see what time brings."),
        Item("bench", "bench:app", "Measure the ledger, the HTTP API and jobs on this machine."),
    ),
    "Help": (
        Item("help", "about:register", "Show the help of a command, as its --help does."),
        Item("version", "about:register", "Show the version."),
    ),
}

PLACES = {item.name: f"{_CLI}.{item.place}" for items in SECTIONS.values() for item in items}
