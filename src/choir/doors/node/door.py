"""The node itself, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    pages=("pages:router",),
    commands=(
        Command("up", "commands.run:register", "Node", "Start a node with everything it needs; Ctrl-C stops it."),
        Command("down", "commands.run:register", "Node", "Stop this home's node and wait until it has ended."),
        Command("status", "commands.run:register", "Node", "Show whether the node is running, and where."),
        Command("doctor", "commands.run:register", "Node", "Check every part of the node and how to fix problems."),
        Command("config", "commands.config:app", "Node", "Show every setting and where it came from."),
        Command("policy", "commands.policy:app", "Node", "Show and explain every price, window, cap and weight."),
        Command(
            "operator",
            "commands.operators:app",
            "Node",
            "Add, list and remove operators, each with a token of their own.",
        ),
        Command("key", "commands.run:register", "Node", "Show or rotate the node's signing key."),
        Command("backup", "commands.run:register", "Node", "Back up the database; the node may be running."),
        Command("restore", "commands.run:register", "Node", "Restore a backup into an empty database."),
        Command(
            "clock",
            "commands.run:register",
            "For developers",
            "Show or move a development node's clock, for testing.",
        ),
    ),
)
