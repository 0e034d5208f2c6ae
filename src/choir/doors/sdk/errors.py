"""What can go wrong between a client and a node."""

from __future__ import annotations

from choir.foundation.errors import ChoirError, Unavailable


class NoNode(Unavailable):
    """Nothing answers at the node's address."""

    code = "sdk.no_node"
    sentence = "No node answers at {url}."
    hint = "Start it with `choir up`, or set its address with --node or CHOIR_NODE."


class NodeError(ChoirError):
    """An answer that this version does not know."""

    code = "sdk.node_error"
    sentence = "{detail}"
