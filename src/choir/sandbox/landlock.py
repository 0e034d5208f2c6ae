"""Landlock (landlock(7)): a process gives up access to files, TCP and signals for itself and its children.

Guarantees: `abi()` says what the running kernel offers, 0 for nothing. The rules themselves are applied in
`local_launcher`, in the child, where they cannot be taken back.
"""

from __future__ import annotations

import ctypes

_CREATE_RULESET = 444  # the same on every architecture since Linux 5.13
_VERSION_ONLY = 1


def abi() -> int:
    """The Landlock version of the running kernel."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    found = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_ONLY))
    return max(int(found), 0)
