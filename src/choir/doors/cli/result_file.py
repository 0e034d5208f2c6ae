"""Writing a result that is too large to hold, whole or not at all.

Guarantees: under its name the file is there only when it is complete and on the disk; what somebody else put there
meanwhile is left alone unless they said `--force`; no link is followed. Who is killed leaves a file called
`.choir-…` beside it, and nothing under the name.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from choir.doors.cli.output import FileExists

_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


@contextmanager
def whole_file(file: Path, *, force: bool) -> Iterator[BinaryIO]:
    """A stream that becomes the file when the block ends, and leaves no trace when it raises."""
    made = file.with_name(f".choir-{secrets.token_hex(8)}")
    try:
        with made.open("xb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        if force:
            made.replace(file)
        else:
            _put(made, file)
    finally:
        made.unlink(missing_ok=True)


def _put(made: Path, file: Path) -> None:
    """Give the file its name, unless something has it by now: a new link is refused then, a renaming is not."""
    try:
        file.hardlink_to(made)
    except FileExistsError:
        raise FileExists(file=str(file)) from None
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        if file.exists() or file.is_symlink():  # a file system without links leaves a moment between this and that
            raise FileExists(file=str(file)) from None
        made.replace(file)
