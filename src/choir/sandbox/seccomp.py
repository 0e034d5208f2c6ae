"""The system call filter, assembled as classic BPF (seccomp(2), linux/filter.h).

Guarantees: a payload meets no mounts, namespaces, keyrings, tracing, BPF, io_uring, kernel modules or
clocks; it opens only UNIX, INET and INET6 sockets (no network namespace isolates AF_VSOCK); it cannot
push input into a terminal; it cannot watch files that the host uses, nor take the asynchronous contexts that all of
the machine shares; a call newer than our table does not exist. A foreign architecture is killed.

A refused call answers EPERM, so that programs say what went wrong; clone3, watches, contexts and everything unknown
answer ENOSYS, so that programs and the C library fall back to what the filter can look into.
"""

from __future__ import annotations

import errno
import platform
import struct
from functools import cache

from choir.foundation.errors import Unavailable
from choir.sandbox.seccomp_table import ABSENT, DENIED, EXAMINED, LASTING, NEWEST, UNCOUNTED

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column of the table, AUDIT_ARCH_…

_LOAD, _JUMP_EQ, _JUMP_GT, _JUMP_GE, _JUMP_SET, _RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCH, _ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data; both architectures are little-endian

_X32_BIT = 0x40000000
_CLONE_NAMESPACES = 0x7E020000  # every CLONE_NEW…
_SOCKETS_ALLOWED = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6
TERMINAL_PUSHES = (0x5412, 0x541C, 0x5423)  # TIOCSTI, TIOCLINUX, TIOCSETD
_PERSONALITIES_ALLOWED = (0, 0xFFFFFFFF)  # the plain one, and asking which it is


class NoFilter(Unavailable):
    """There is no table of system calls for this machine's architecture."""

    code = "sandbox.no_filter"
    sentence = "There is no system call filter for the architecture {machine}."


@cache
def assemble(machine: str | None = None, *, memory_is_counted: bool = True, own_ipc: bool = True) -> bytes:
    """The filter for an architecture, ready for `bwrap --seccomp` or prctl(2)."""
    machine = machine or platform.machine()
    if machine not in _ARCHITECTURES:
        raise NoFilter(machine=machine)
    column, audit = _ARCHITECTURES[machine]
    calls = {name: numbers[column] for name, numbers in EXAMINED.items()}
    refused = DENIED | ({} if memory_is_counted else UNCOUNTED) | ({} if own_ipc else LASTING)
    program = _gate(audit)
    for numbers in refused.values():
        if numbers[column] >= 0:
            program += [_jump(_JUMP_EQ, numbers[column], 0, 1), _answer(errno.EPERM)]
    for numbers in (*ABSENT.values(), EXAMINED["clone3"]):
        if numbers[column] >= 0:
            program += [_jump(_JUMP_EQ, numbers[column], 0, 1), _answer(errno.ENOSYS)]
    program += _argument_has(calls["clone"], 0, _CLONE_NAMESPACES)
    program += _argument_is_one_of(calls["ioctl"], 1, TERMINAL_PUSHES, errno.EPERM)
    program += _argument_is_none_of(calls["socket"], 0, _SOCKETS_ALLOWED, errno.EAFNOSUPPORT)
    program += _argument_is_none_of(calls["socketpair"], 0, _SOCKETS_ALLOWED, errno.EAFNOSUPPORT)
    program += _argument_is_none_of(calls["personality"], 0, _PERSONALITIES_ALLOWED, errno.EPERM)
    program.append(_instruction(_RETURN, 0, 0, _ALLOW))
    return b"".join(program)


def _gate(audit: int) -> list[bytes]:
    return [
        _instruction(_LOAD, 0, 0, _ARCH),
        _jump(_JUMP_EQ, audit, 1, 0),
        _instruction(_RETURN, 0, 0, _KILL),
        _instruction(_LOAD, 0, 0, _NUMBER),
        _jump(_JUMP_GE, _X32_BIT, 0, 1),
        _answer(errno.ENOSYS),
        _jump(_JUMP_GT, NEWEST, 0, 1),
        _answer(errno.ENOSYS),
    ]


def _argument_has(number: int, index: int, bits: int) -> list[bytes]:
    return _for_call(number, index, [_jump(_JUMP_SET, bits, 0, 1), _answer(errno.EPERM)])


def _argument_is_one_of(number: int, index: int, values: tuple[int, ...], error: int) -> list[bytes]:
    checks: list[bytes] = []
    for value in values:
        checks += [_jump(_JUMP_EQ, value, 0, 1), _answer(error)]
    return _for_call(number, index, checks)


def _argument_is_none_of(number: int, index: int, values: tuple[int, ...], error: int) -> list[bytes]:
    checks = [_jump(_JUMP_EQ, value, len(values) - place, 0) for place, value in enumerate(values)]
    return _for_call(number, index, [*checks, _answer(error)])


def _for_call(number: int, index: int, checks: list[bytes]) -> list[bytes]:
    """Run the checks on the low half of an argument, for one call only; falling through goes on."""
    body = [_instruction(_LOAD, 0, 0, _ARGUMENT + 8 * index), *checks]
    reload = _instruction(_LOAD, 0, 0, _NUMBER)
    return [_jump(_JUMP_EQ, number, 0, len(body)), *body, reload]


def _jump(code: int, value: int, when_true: int, when_false: int) -> bytes:
    return _instruction(code, when_true, when_false, value)


def _answer(error: int) -> bytes:
    return _instruction(_RETURN, 0, 0, _ERRNO | error)


def _instruction(code: int, when_true: int, when_false: int, value: int) -> bytes:
    return struct.pack("<HBBI", code, when_true, when_false, value)
