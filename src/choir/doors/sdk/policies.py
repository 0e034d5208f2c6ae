"""The policy of the node that a client talks to: its limits count for what is sent there, not this machine's defaults.

Guarantees: asked once for each client; a value beyond the bounds that this version knows counts as that bound, so no
node can have a client read without end; what this version does not know is left out, what the node does not tell
is the default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from choir.doors.node.shapes import PolicyOut
from choir.foundation.policy import Policy, describe, load
from choir.policies import default_policy

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client


def policy_of(client: Client) -> Policy:
    """The node's policy, as it was when the client first asked."""
    if client.known_policy is None:
        client.known_policy = read(client.policy())
    return client.known_policy


def read(told: PolicyOut) -> Policy:
    """A policy from what a node tells of its own."""
    known = {item.name: item for item in describe(default_policy())}
    within = {
        item.name: str(min(max(item.value, known[item.name].low), known[item.name].high))
        for item in told.values
        if item.name in known
    }
    return load(default_policy(), within)
