"""Layers: what a set-up wrote, kept read-only and put below the trees of later runs.

`capture` takes it out of a sandbox, `shelf` keeps it on disk for all processes of a node, `view` puts a tree over it.
A layer is data from strangers: it is mounted into sandboxes, and never executed or parsed by the node.
"""
