"""The filter, run by a small interpreter of classic BPF: for both architectures, on any machine."""

from __future__ import annotations

import errno
import struct

import pytest

from choir.sandbox.seccomp import NoFilter, assemble
from choir.sandbox.seccomp_table import ABSENT, DENIED, EXAMINED, LASTING, NEWEST, UNCOUNTED

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
COLUMN = {"x86_64": 0, "aarch64": 1}
ALLOW, KILL = "allow", "kill"
MACHINES = list(AUDIT)


def decide(program: bytes, number: int, *arguments: int, audit: int) -> int | str:
    """What the kernel would do with a call: an error number, or allow, or kill."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, audit, 0, *(value & (2**64 - 1) for value in padded))
    code = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    at = accumulator = 0
    while True:
        operation, when_true, when_false, value = map(int, code[at])
        at += 1
        if operation == 0x20:
            accumulator = struct.unpack_from("<I", data, value)[0]
        elif operation == 0x06:
            known: dict[int, int | str] = {0x7FFF0000: ALLOW, 0x80000000: KILL}
            return known.get(value, value & 0xFFFF)
        else:
            tests = {0x15: accumulator == value, 0x25: accumulator > value, 0x35: accumulator >= value}
            tests[0x45] = bool(accumulator & value)
            at += when_true if tests[operation] else when_false


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_refused_and_what_is_not(machine: str) -> None:
    program, audit, column = assemble(machine), AUDIT[machine], COLUMN[machine]
    for name, numbers in DENIED.items():
        if numbers[column] >= 0:
            assert decide(program, numbers[column], audit=audit) == errno.EPERM, name
    for name, numbers in ABSENT.items():
        if numbers[column] >= 0:
            assert decide(program, numbers[column], audit=audit) == errno.ENOSYS, name
    for name, numbers in UNCOUNTED.items():
        assert decide(program, numbers[column], audit=audit) == ALLOW, name
        assert decide(assemble(machine, memory_is_counted=False), numbers[column], audit=audit) == errno.EPERM
    for name, numbers in LASTING.items():
        assert decide(program, numbers[column], audit=audit) == ALLOW, name
        assert decide(assemble(machine, own_ipc=False), numbers[column], audit=audit) == errno.EPERM
    refused = {numbers[column] for numbers in (DENIED | ABSENT | EXAMINED).values()}
    ordinary = [number for number in range(NEWEST + 1) if number not in refused]
    assert all(decide(program, number, 1, 2, 3, audit=audit) == ALLOW for number in ordinary)


@pytest.mark.parametrize("machine", MACHINES)
def test_arguments_are_looked_at(machine: str) -> None:
    program, audit = assemble(machine), AUDIT[machine]
    number = {name: numbers[COLUMN[machine]] for name, numbers in EXAMINED.items()}

    def call(name: str, *arguments: int) -> int | str:
        return decide(program, number[name], *arguments, audit=audit)

    assert call("clone", 0x01200011) == ALLOW  # an ordinary fork
    assert call("clone", 0x3D0F00) == ALLOW  # an ordinary thread
    for flag in (0x20000, *(1 << place for place in range(25, 31))):
        assert call("clone", 0x11 | flag) == errno.EPERM
    assert call("clone3") == errno.ENOSYS
    assert [call("socket", family) for family in (1, 2, 10)] == [ALLOW] * 3
    assert {call("socket", family) for family in (0, 3, 16, 17, 38, 40, 2**32 + 40)} == {errno.EAFNOSUPPORT}
    assert call("ioctl", 0, 0x5401) == ALLOW
    assert {call("ioctl", 0, request) for request in (0x5412, 0x541C, 0x1_0000_5412)} == {errno.EPERM}
    assert call("personality", 0xFFFFFFFF) == ALLOW
    assert call("personality", 0x0040000) == errno.EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_other_entries_are_closed(machine: str) -> None:
    program = assemble(machine)
    assert decide(program, 39, audit=0x40000003) == KILL  # i386
    assert decide(program, 0x40000000 | 39, audit=AUDIT[machine]) == errno.ENOSYS  # x32
    assert decide(program, NEWEST + 1, audit=AUDIT[machine]) == errno.ENOSYS
    assert decide(program, 2**32 - 1, audit=AUDIT[machine]) == errno.ENOSYS


def test_an_unknown_architecture_has_no_filter_rather_than_a_wrong_one() -> None:
    with pytest.raises(NoFilter):
        assemble("riscv64")
