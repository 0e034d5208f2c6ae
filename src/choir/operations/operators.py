"""Further operators, with names of their own: `operators.json` in the node's home, which holds hashes of tokens only.

Guarantees: the file is 0600 and written whole; a token is shown once, when it is made; who was added or removed is
so for every server process at its next request, without a restart. A file that cannot be read gives nobody access.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from choir.foundation.clock import Clock, Entropy, format_time, parse_time
from choir.foundation.errors import Broken, Invalid, NotFound, Refusal
from choir.foundation.node_key import write_secret_file
from choir.operations.home import HomeUnusable
from choir.storage.processes import FolderLock

log = logging.getLogger(__name__)

_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}", re.ASCII)
_LOCK_S = 5.0
Signature = tuple[int, int, int]


class BadOperatorName(Invalid):
    code = "node.bad_operator_name"
    sentence = "The operator name '{name}' is not valid."
    hint = "Use lower-case letters, digits and hyphens, starting with a letter, at most 32."


class OperatorExists(Refusal):
    code = "node.operator_exists"
    sentence = "There is already an operator {name}."
    hint = "Remove them first to issue another token."


class UnknownOperator(NotFound):
    code = "node.operator_unknown"
    sentence = "There is no operator {name}."
    hint = "`choir operator ls` lists them."


class OperatorsUnreadable(Broken):
    code = "node.operators_unreadable"
    sentence = "The file {path} cannot be read: {why}."
    hint = "Until that is fixed, only the token in operator.token works."


@dataclass(frozen=True, slots=True)
class Operator:
    """Somebody who may do what the operator may, and is told apart from others who may."""

    name: str
    sha256: str  # of the token
    added_at: str


class KnownOperator(NamedTuple):
    """How somebody is recognised, and since when."""

    digest: bytes  # of the token
    added_us: int


class OperatorList:
    """The further operators of one home. Safe to use from many threads."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / "operators.json"
        self._mutex = threading.Lock()
        self._seen: Signature | None = None
        self._known: dict[str, KnownOperator] = {}

    def all(self) -> list[Operator]:
        """Everybody, by name."""
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            return sorted((Operator(**item) for item in found["operators"]), key=lambda item: item.name)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise OperatorsUnreadable(path=self._path, why=(error.strerror or str(error)).lower()) from None
        except (ValueError, TypeError, KeyError):
            raise OperatorsUnreadable(path=self._path, why="its content was changed") from None

    def add(self, name: str, entropy: Entropy, clock: Clock) -> str:
        """Somebody new; their token, which is kept nowhere."""
        if _NAME.fullmatch(name) is None:
            raise BadOperatorName(name=name[:60])
        token = "op_" + base64.urlsafe_b64encode(entropy.bytes(32)).decode().rstrip("=")
        with self._locked():
            known = self.all()
            if any(item.name == name for item in known):
                raise OperatorExists(name=name)
            digest = hashlib.sha256(token.encode()).hexdigest()
            self._write([*known, Operator(name, digest, format_time(clock.now_us()))])
        return token

    def remove(self, name: str) -> None:
        """Their token is refused from now on. What they did stays under their name."""
        with self._locked():
            known = self.all()
            if all(item.name != name for item in known):
                raise UnknownOperator(name=name[:60])
            self._write([item for item in known if item.name != name])

    def known(self) -> dict[str, KnownOperator]:
        """Everybody by name, as the file is now."""
        signature = self._signature()
        with self._mutex:
            if signature != self._seen:
                self._known = self._read_known()
                self._seen = signature
            return self._known

    def _read_known(self) -> dict[str, KnownOperator]:
        try:
            return {
                item.name: KnownOperator(bytes.fromhex(item.sha256), parse_time(item.added_at)) for item in self.all()
            }
        except (OperatorsUnreadable, Invalid, ValueError, TypeError, AttributeError) as error:
            log.error("further operators cannot be read", extra={"why": str(error)})  # noqa: TRY400
            return {}

    def _signature(self) -> Signature | None:
        """What changes whenever the file is replaced."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _write(self, operators: list[Operator]) -> None:
        text = json.dumps({"operators": [asdict(item) for item in operators]}, indent=2) + "\n"
        write_secret_file(self._path, text)
        owner = self._home.stat()
        if os.geteuid() == 0 and owner.st_uid != 0:  # the node that reads it may run as somebody else
            os.chown(self._path, owner.st_uid, owner.st_gid)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Two who change it at once come one after the other."""
        if not self._home.is_dir():
            raise HomeUnusable(home=self._home, why="there is no such folder; `choir up` creates it")
        lock = FolderLock(self._home / "operators.lock")
        deadline = time.monotonic() + _LOCK_S
        while not lock.acquire():
            if time.monotonic() > deadline:
                raise HomeUnusable(home=self._home, why="another process is changing its operators")
            time.sleep(0.02)
        try:
            yield
        finally:
            lock.release()
