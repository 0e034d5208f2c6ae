"""Environments: what real repositories need before their tests can run.

`detection` finds the usual set-ups in a tree, `service` builds them and keeps what they left as layers, `rules` names
layers and says what a set-up and the runs after it find. A layer is data from strangers: it is mounted into sandboxes
and never executed or parsed by the node.
"""
