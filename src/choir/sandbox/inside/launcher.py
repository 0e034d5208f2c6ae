"""Starts a payload of the local tier: limits, Landlock, seccomp, and no child left behind.

Called as: python3 -c SOURCE DESCRIPTOR program argument… with the facts as JSON in the descriptor, because a command
line can be read by everyone on the machine.
Guarantees: what cannot be applied stops the start; after the payload's end every descendant is killed. As the first
process of a namespace it only has to end, and the kernel kills the rest at once; otherwise it adopts orphans
(PR_SET_CHILD_SUBREAPER) and kills those too. The payload cannot signal it where Landlock has scopes (ABI 6).
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import struct
import sys

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_CHILD_SUBREAPER, PR_SET_SECCOMP = 1, 38, 36, 22
PR_CAPBSET_DROP, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 24, 47, 4
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
READ_AND_RUN = 0b1101  # execute, read file, read folder
RIGHTS_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
FILE_RIGHTS = 0b111 | 1 << 14 | 1 << 15  # execute, write, read, truncate, ioctl: what makes sense for a file

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


status = -1  # where we tell what became of the start and of the payload, which does not have it


def tell(line: str) -> None:
    os.write(status, line.encode() + b"\n")


def must(result: int, what: str) -> int:
    if result < 0:
        tell(f"{what}: {os.strerror(ctypes.get_errno())}")
        os._exit(125)
    return result


def restrict_files(abi: int, writable: list[str], readable: list[str]) -> None:
    """Everything below / is closed but what is listed."""
    rights = RIGHTS_BY_ABI[min(abi, 5)]
    scopes = 0b11 if abi >= 6 else 0  # abstract sockets, signals
    rules = struct.pack("QQQ", rights, 0, scopes)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = must(libc.syscall(LANDLOCK_CREATE, rules, ctypes.c_size_t(size), 0), "landlock")
    for paths, allowed in ((writable, rights), (readable, READ_AND_RUN)):
        for path in paths:
            allow(ruleset, path, allowed & rights)
    must(libc.syscall(LANDLOCK_RESTRICT, ruleset, 0), "landlock restrict")
    os.close(ruleset)


def allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no permission
    if not os.path.isdir(path):  # noqa: PTH112 - this file is kept to what starts fast
        rights &= FILE_RIGHTS
    must(libc.syscall(LANDLOCK_ADD, ruleset, 1, struct.pack("=Qi", rights, fd), 0), f"landlock rule {path}")
    os.close(fd)


def filter_calls(program: bytes) -> None:
    data = ctypes.create_string_buffer(program)
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(data))
    must(libc.prctl(PR_SET_SECCOMP, 2, head, 0, 0), "seccomp")


def give_up_rights(host_name: str) -> None:
    """An ordinary user's namespace came with every right in it: one is used for the name, then all are gone."""
    must(libc.sethostname(host_name.encode(), len(host_name)), "host name")
    number = 0
    while libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    must(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "ambient rights")
    head, none = struct.pack("Ii", 0x20080522, 0), bytes(24)  # _LINUX_CAPABILITY_VERSION_3
    must(libc.capset(head, none), "rights")


def become(facts: dict[str, object], argv: list[str]) -> None:
    """In the child: give everything up, then become the payload."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setsid()
    with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write("1000")  # when memory runs out, the payload goes before the launcher
    for name, number in facts["rlimits"].items():  # type: ignore[attr-defined]
        resource.setrlimit(getattr(resource, f"RLIMIT_{name.upper()}"), (number, number))
    must(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    restrict_files(facts["abi"], facts["writable"], facts["readable"])  # type: ignore[arg-type]
    filter_calls(bytes.fromhex(facts["seccomp"]))  # type: ignore[arg-type]
    os.chdir(facts["folder"])  # type: ignore[arg-type]
    tell("started")
    try:
        os.execvpe(argv[0], argv, facts["environment"])  # type: ignore[arg-type]  # noqa: S606
    except OSError as error:
        sys.stderr.write(f"choir: {argv[0]}: {error.strerror}\n")
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children") as file:  # noqa: PTH123
        return [int(word) for word in file.read().split()]


def kill_rest() -> None:
    """Orphans become our children, so killing children until there are none leaves nobody."""
    if os.getpid() == 1:
        return
    while left := children():
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                continue


def give_up(*_: object) -> None:
    kill_rest()
    os._exit(143)


def main() -> None:
    global status  # noqa: PLW0603 - one program, one channel
    with open(int(sys.argv[1]), "rb") as told:  # noqa: PTH123
        facts, argv = json.loads(told.read()), sys.argv[2:]
    status = facts["status"]
    os.set_inheritable(status, False)
    if facts["host_name"]:
        give_up_rights(facts["host_name"])
    signal.signal(signal.SIGTERM, give_up)  # before there is anyone who could be left behind
    must(libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0), "death signal")
    must(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "subreaper")
    first = os.fork()
    if first == 0:
        become(facts, argv)
    for fd in (0, 1, 2):
        os.close(fd)
    while True:
        pid, ended = os.wait()
        if pid == first:
            break
    kill_rest()
    code = os.waitstatus_to_exitcode(ended)
    code = code if code >= 0 else 128 - code
    tell(f"exit {code}")
    os._exit(code)


if __name__ == "__main__":
    main()
