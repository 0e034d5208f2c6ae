"""What can be published as a skill: pure."""

from __future__ import annotations

import hashlib
import re

from choir.bazaar.policy import BazaarPolicy, MarketPolicy
from choir.bazaar.skills.model import BadSkill, NewSkill

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z", re.ASCII)
_VERSION = re.compile(r"[0-9A-Za-z]+([.+-][0-9A-Za-z]+)*\Z", re.ASCII)


def check(new: NewSkill, policy: MarketPolicy, bazaar: BazaarPolicy) -> int:
    """Raise unless it can be published; the share that its creator gets."""
    _check_word("name", new.name, _NAME, "lower-case letters, digits and single hyphens", policy)
    _check_word("version", new.version, _VERSION, "letters and digits with . + or - between them", policy)
    most = policy.skill_description_chars_max
    if not 1 <= len(new.description) <= most or not new.description.isprintable():
        raise BadSkill(what="description", why=f"it must have 1 to {most} printable characters in one line")
    if len(new.folder.files) > policy.skill_files_max:
        raise BadSkill(what="folder", why=f"it has more than {policy.skill_files_max} files")
    if not 0 < new.folder.size <= policy.skill_bytes_max:
        raise BadSkill(what="folder", why=f"its files must have 1 to {policy.skill_bytes_max} bytes together")
    asked = bazaar.skill_bps if new.share_bps is None else new.share_bps
    if not 0 <= asked <= bazaar.skill_bps:
        raise BadSkill(what="share", why=f"it must be from 0 to {bazaar.skill_bps / 100:g} %")
    return asked


def _check_word(what: str, text: str, shape: re.Pattern[str], words: str, policy: MarketPolicy) -> None:
    if len(text) > policy.skill_name_chars_max or shape.match(text) is None:
        raise BadSkill(what=what, why=f"it must be at most {policy.skill_name_chars_max} characters: {words}")


def name_digest(name: str) -> bytes:
    """What keeps a name its creator's."""
    return hashlib.sha256(b"choir-skill-name-v1" + name.encode()).digest()
