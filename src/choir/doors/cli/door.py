"""The command line's own help, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    commands=(
        Command("help", "about:register", "Help", "Show the help of a command, like --help."),
        Command("version", "about:register", "Help", "Show the version."),
    ),
)
