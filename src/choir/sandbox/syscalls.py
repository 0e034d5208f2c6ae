"""The few system calls that Python has no name for, by number.

Guarantees: `open_beneath` never leaves the folder it starts from and never passes through a link,
whatever another process does to the tree meanwhile: the kernel checks each step (openat2(2)).
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long

_OPENAT2 = 437  # the same on every architecture since Linux 5.6
_RESOLVE_NO_XDEV = 0x01
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_RESOLVE = _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_XDEV
_GET_CHILD_SUBREAPER = 37
_RETRIES = 16  # EAGAIN: the tree was renamed under the walk; a hostile tree may do that for ever


def open_beneath(folder: int, path: str, flags: int, mode: int = 0) -> int:
    """Open `path` below the folder descriptor without links, mounts or `..` leading out."""
    how = struct.pack("QQQ", flags | os.O_CLOEXEC | os.O_NOFOLLOW, mode, _RESOLVE)
    for _ in range(_RETRIES):
        fd = _syscall(_OPENAT2, ctypes.c_int(folder), os.fsencode(path), how, ctypes.c_size_t(len(how)))
        if fd >= 0:
            return int(fd)
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code), path)


def adopts_orphans() -> bool:
    """Whether processes whose parent died become children of this one (prctl(2))."""
    answer = ctypes.c_int(0)
    _libc.prctl(_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0)
    return os.getpid() == 1 or bool(answer.value)


def last_error() -> int:
    """The error number of the last call made through this module."""
    return ctypes.get_errno()
