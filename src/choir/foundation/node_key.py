"""Where the node's secret key comes from: the environment, a command, or a file that is made once.

Guarantees: the key is asked for again when it was rotated; a key file is 0600 and written whole; the
key never appears in an error, a log or a process list.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from choir.foundation.clock import Entropy
from choir.foundation.errors import Unavailable
from choir.foundation.settings import Settings

if TYPE_CHECKING:  # signing brings the cryptographic libraries, and most who come here only want a file written
    from choir.foundation.signing import NodeSecret

_COMMAND_S_MAX = 30


class NodeKeyMissing(Unavailable):
    """The key could not be had from where the settings say it is."""

    code = "node_key.missing"
    sentence = "The node's key could not be read from {origin}: {why}."
    hint = "Without it the node cannot sign. Check CHOIR_NODE_KEY, CHOIR_NODE_KEY_FILE or CHOIR_NODE_KEY_COMMAND."


def load_node_secret(settings: Settings) -> NodeSecret:
    """The secret as the settings give it now."""
    from choir.foundation.signing import NodeSecret

    if settings.node_key:
        return NodeSecret.parse(settings.node_key)
    if settings.node_key_command:
        return NodeSecret.parse(_from_command(settings.node_key_command))
    try:
        return NodeSecret.parse(settings.node_key_file.read_text())
    except OSError as error:
        raise NodeKeyMissing(origin=settings.node_key_file, why=error.strerror) from None
    except UnicodeDecodeError:
        raise NodeKeyMissing(origin=settings.node_key_file, why="it is not 64 hex digits") from None


def has_key(settings: Settings) -> bool:
    """Whether the settings lead to a key; whether it can be read is seen when it is loaded."""
    return bool(settings.node_key or settings.node_key_command or settings.node_key_file.exists())


def retired_key_file(path: Path, name: str) -> Path:
    """Where a key is kept that was replaced, while something is still encrypted under it."""
    return path.with_name(f"{path.name}.retired-{name}")


def load_retired_secrets(settings: Settings) -> list[NodeSecret]:
    """The keys that were replaced and are still kept beside the key file."""
    from choir.foundation.signing import NodeSecret

    file = settings.node_key_file
    try:
        return [NodeSecret.parse(kept.read_text()) for kept in sorted(file.parent.glob(f"{file.name}.retired-*"))]
    except OSError as error:
        raise NodeKeyMissing(origin=f"{file}.retired-*", why=error.strerror) from None


def make_key_file(path: Path, entropy: Entropy) -> bool:
    """Write a new key unless there is one; says whether it did."""
    if path.exists():
        return False
    candidate = path.with_name(f".{path.name}.new.{entropy.bytes(8).hex()}")
    write_secret_file(candidate, entropy.bytes(32).hex() + "\n")
    try:
        os.link(candidate, path)  # unlike a rename, this never replaces the key of somebody who was faster
    except FileExistsError:
        return False
    finally:
        candidate.unlink()
    sync_folder(path.parent)
    return True


def write_secret_file(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, text.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(path)
    sync_folder(path.parent)


def write_public_file(path: Path, data: bytes) -> None:
    """Replace a file whole and durably; threads and processes may do so at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), 0o644)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _from_command(command: str) -> str:
    try:
        done = subprocess.run(shlex.split(command), capture_output=True, timeout=_COMMAND_S_MAX, check=True, text=True)
    except subprocess.CalledProcessError as error:
        raise NodeKeyMissing(origin="the key command", why=f"it exited with code {error.returncode}") from None
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
        raise NodeKeyMissing(origin="the key command", why=type(error).__name__) from None
    return done.stdout
