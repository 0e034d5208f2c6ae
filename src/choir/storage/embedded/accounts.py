"""Which account PostgreSQL runs as.

Guarantees: an ordinary user's server runs as that user. Root's server never runs as root: it runs as
the owner of the data folder, or, for a new folder, as a number that no account on this machine has,
so that no other service shares it. No user is created. The folder's owner is the only memory of the
choice.
"""

from __future__ import annotations

import grp
import hashlib
import os
import pwd
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from choir.storage.embedded.errors import CannotDropRoot

# Ranges that systemd's "Users, Groups, UIDs and GIDs" leaves unused; the small one is for containers
# which map only the first 65536 numbers.
_UNUSED_RANGES = (range(1_900_000_000, 2_000_000_000), range(60_578, 61_184))


@dataclass(frozen=True, slots=True)
class Account:
    """The numbers PostgreSQL runs under."""

    uid: int
    gid: int
    switch: bool  # we are root and must become this account
    first_uid: int  # initdb alone looks its user up by name, so it runs as one that has a name

    def spawn_arguments(self, *, first: bool = False) -> dict[str, Any]:
        """What `subprocess` needs to start a program as this account."""
        if not self.switch:
            return {}
        return {"user": self.first_uid if first else self.uid, "group": self.gid, "extra_groups": []}


def account_for(data: Path) -> Account:
    """The account for a data folder that exists or will be made."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), switch=False, first_uid=os.geteuid())
    try:
        owner = data.stat()
    except FileNotFoundError:
        owner = None
    if owner is not None and owner.st_uid != 0:
        return Account(owner.st_uid, owner.st_gid or owner.st_uid, switch=True, first_uid=owner.st_uid)
    number = _unused_number(data)
    return Account(number, number, switch=True, first_uid=_named_uid())


def _unused_number(data: Path) -> int:
    mapped = [block for block in _mapped("uid_map") if block.stop > 1]
    mapped_groups = _mapped("gid_map")
    seed = int.from_bytes(hashlib.sha256(os.fsencode(data.resolve())).digest()[:8])
    for wanted in (*_UNUSED_RANGES, *(range(max(block.start, 1), block.stop) for block in mapped)):
        for attempt in range(1000):
            number = wanted[(seed + attempt) % len(wanted)]
            usable = _inside(number, mapped) and _inside(number, mapped_groups)
            if usable and not _has_name(number):
                return number
    raise CannotDropRoot(why="this container maps no account but root")


def _named_uid() -> int:
    """An account with a name: `nobody`, else any but root.

    It owns the new folder only while initdb runs. Other processes of that account do not reach it:
    our group is needed to pass the folder above, and to look into initdb through /proc.
    """
    mapped = _mapped("uid_map")
    entries = sorted(pwd.getpwall(), key=lambda entry: entry.pw_name != "nobody")
    for entry in entries:
        if entry.pw_uid != 0 and _inside(entry.pw_uid, mapped):
            return entry.pw_uid
    raise CannotDropRoot(why="/etc/passwd names no account besides root, and initdb asks for one")


def _mapped(name: str) -> list[range]:
    """The numbers this user namespace knows; chown and setuid refuse all others."""
    blocks = []
    for line in Path("/proc/self", name).read_text().splitlines():
        inside, _, count = (int(part) for part in line.split())
        blocks.append(range(inside, min(inside + count, 2**32 - 1)))
    return blocks


def _inside(number: int, blocks: list[range]) -> bool:
    return any(number in block for block in blocks)


def _has_name(number: int) -> bool:
    for lookup in (pwd.getpwuid, grp.getgrgid):
        try:
            lookup(number)
        except KeyError:
            continue
        return True
    return False
