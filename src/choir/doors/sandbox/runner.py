"""What `choir sandbox` does below its options: the service, what a reader is told, and what an option means.

Apart from the commands, so that a command line that runs nothing contained need not bring the sandbox along.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import stat
import struct
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from choir.doors.cli import output
from choir.doors.cli.live_output import LiveOutput, plain
from choir.foundation.errors import ChoirError, Invalid, Unavailable
from choir.foundation.policy import load
from choir.foundation.settings import load_settings
from choir.policies import default_policy
from choir.sandbox.egress.model import EgressRule
from choir.sandbox.model import Capabilities, EndReason, InFile, Mount, Result, Spec, Tier, Trust
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.rules import stranger_refusal, why_not_default
from choir.sandbox.service import Sandboxes

_SIZE = re.compile(r"(\d+)(?:\.(\d+))?\s*([kKmMgG]?)(i?)[bB]?\Z")
_CORES_MAX = 1_000
_NOT_FOUND, _NOT_RUN = 127, 126  # what shells and their like answer with


@contextmanager
def service(home: str | None, as_json: bool, *, clean: bool = True) -> Iterator[Sandboxes]:
    with _reported(as_json):
        settings = load_settings({"home": home})
        policy = load(default_policy(), settings.policy_overrides)
        with Sandboxes(settings.home / "sandbox", policy.of(SandboxPolicy), clean_first=clean) as sandboxes:
            yield sandboxes


@contextmanager
def _reported(as_json: bool) -> Iterator[None]:
    """Errors in the reader's language: a sentence, or JSON, on standard error as everywhere."""
    output.want_json(as_json)
    try:
        yield
    except ChoirError as error:
        output.show_error(error)
        raise typer.Exit(2 if type(error) is Invalid else 1) from None
    except OSError as error:
        output.show_error(Unavailable(what=plain(str(error.filename or "The sandbox")), why=plain(str(error))))
        raise typer.Exit(1) from None


def capabilities(item: Capabilities, policy: SandboxPolicy, default: Tier | None) -> dict[str, Any]:
    refusal = stranger_refusal(item, policy) if item.works else item.why
    return {
        "tier": item.tier.label,
        "works": item.works,
        "for_strangers": not refusal and item.works,
        "why_not_for_strangers": refusal,
        "default_for_strangers": item.tier is default,
        "why_not_default": why_not_default(item, default, policy),
        "native": item.works and item.native,
        "engine": item.engine,
        "why": item.why,
        "applied": dict(item.applied),
        "missing": list(item.missing),
        "notes": list(item.notes),
    }


def print_capabilities(item: Capabilities, policy: SandboxPolicy, default: Tier | None) -> None:
    refusal = stranger_refusal(item, policy) if item.works else ""
    state = "does not work" if not item.works else "works, for your own code only" if refusal else "works"
    output.print_line(f"{item.tier.label:<11} {state}{f' ({item.engine})' if item.engine else ''}")
    if refusal:
        named = " --tier local" if item.tier is Tier.LOCAL else " --trust own"
        output.print_line(f"            {refusal} Your own code runs with{named}.")
    if item.why:
        output.print_line(f"            {item.why}")
    if item.tier is default:
        output.print_line("            Default for untrusted code: the strongest tier that this machine runs natively.")
    elif why := why_not_default(item, default, policy):
        output.print_line(f"            {why}")
    if item.works:
        for limit, how in item.applied.items():
            output.print_line(f"            {limit:<10} {how}")
        if item.missing:
            output.print_line(f"            not limited: {', '.join(item.missing)}")


def result_of(result: Result) -> dict[str, Any]:
    return result.summary() | {
        "stdout": result.stdout.decode(errors="replace"),
        "stderr": result.stderr.decode(errors="replace"),
    }


def run_live(sandboxes: Sandboxes, spec: Spec) -> tuple[Result, bool]:
    """Run and print at the same time; the second answer is whether nobody reads any more."""
    live = LiveOutput(sys.stdout, sys.stderr)
    try:
        result = sandboxes.run(spec, live.take, live.failed)
    finally:
        live.close()
    if live.error is not None and not isinstance(live.error, BrokenPipeError):
        raise Unavailable(what="The output", why=live.error.strerror or str(live.error))
    return result, live.error is not None


def remarks(result: Result, *, unread_input: bool = False, nobody_reads: bool = False) -> Iterator[str]:
    """What a reader would otherwise wonder about, and what to do about it."""
    if nobody_reads:
        return
    if stopped := _stopped(result):
        yield f"stopped after {result.usage.wall_s:.1f} s: {stopped}"
    if result.out_of_memory:
        yield f"a process was killed: the memory limit of {result.limits.memory_bytes} bytes was reached (--memory)"
    elif result.ended is EndReason.EXITED and result.exit_code in (_NOT_FOUND, _NOT_RUN):
        yield _not_started(result)
    if result.ended is not EndReason.OUTPUT and (result.stdout_truncated or result.stderr_truncated):
        yield f"the output was cut after {result.limits.output_bytes} bytes (--output)"
    if unread_input:
        yield "standard input was not passed; add --stdin to pass it"
    yield from (f"not copied out: {why}" for why in result.files_refused)


def _stopped(result: Result) -> str:
    limits = result.limits
    return {
        EndReason.EXITED: "",
        EndReason.CANCELLED: "it was cancelled",
        EndReason.TIMEOUT: f"the time limit of {limits.wall_s:g} seconds was reached (--wall)",
        EndReason.CPU: f"the limit of {limits.cpu_s} seconds of CPU time was reached (--cpu)",
        EndReason.OUTPUT: f"it wrote more than {limits.flood_bytes} bytes; {limits.output_bytes} are kept (--output)",
    }[result.ended]


def _not_started(result: Result) -> str:
    seen = "the system's programs and what --file, --folder and --mount bring"
    if result.exit_code == _NOT_FOUND:
        return f"exit code 127 means that a program was not found; available are {seen}"
    return "exit code 126 means that a program was found but could not be run; it may lack the permission"


def standard_input(most: int) -> bytes:
    """Standard input, up to one byte too many, which is then refused."""
    if sys.stdin.isatty():
        output.say("choir: reading standard input to its end (Ctrl-D), then the program is started")
    return sys.stdin.buffer.read(most + 1)


def has_input() -> bool:
    """Whether something waits in a pipe or file on standard input."""
    try:
        fd = sys.stdin.fileno()
        facts = os.fstat(fd)
        if stat.S_ISREG(facts.st_mode):
            return facts.st_size > os.lseek(fd, 0, os.SEEK_CUR)
        if not stat.S_ISFIFO(facts.st_mode) or not select.select([fd], [], [], 0)[0]:
            return False
        waiting = struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))
    except (OSError, ValueError, AttributeError):  # there is none
        return False
    return bool(waiting[0])


# --- reading the options ----------------------------------------------------------------------------


def size(text: str | None, what: str) -> int | None:
    """512M, 1.5G, 100KiB: powers of 1000, or of 1024 with an i."""
    if text is None:
        return None
    found = _SIZE.match(text)
    if not found:
        raise Invalid(what=f"{what} {text[:40]}", why="write it like 512M or 1.5G")
    power = " kmg".index(found[3].lower() or " ")
    return int(float(f"{found[1]}.{found[2] or 0}") * (1024 if found[4] else 1000) ** power)


def pair(text: str, separator: str, what: str) -> tuple[str, str]:
    left, found, right = text.partition(separator)
    if not found or not left:
        raise Invalid(what=f"{what} {text[:60]}", why=f"it needs a {separator}")
    return left, right


def trust(text: str | None, tier: Tier | None) -> Trust:
    if text is None:
        return Trust.OWN if tier is Tier.LOCAL else Trust.STRANGER
    if text not in list(Trust):
        raise Invalid(what=f"--trust {text[:40]}", why="it must be own or stranger")
    return Trust(text)


def thousandths(cores: float | None) -> int | None:
    if cores is None:
        return None
    if not 0 < cores <= _CORES_MAX:
        raise Invalid(what=f"--cores {cores}", why="write it like 0.5 or 2")
    return max(1, round(cores * 1000))


def in_file(text: str) -> InFile:
    path, _, name = text.partition(":")
    source = Path(path)
    if not source.is_file():
        raise Invalid(what=f"--file {path}", why="there is no such file")
    executable = bool(source.stat().st_mode & 0o100)
    return InFile(name or source.name, source=source.resolve(), executable=executable)


def mount(text: str) -> Mount:
    source, target = pair(text, ":", "--mount")
    target, _, mode = target.partition(":")
    if mode not in ("", "ro", "rw"):
        raise Invalid(what=f"--mount {text[:60]}", why="the mode is ro or rw")
    return Mount(Path(source).absolute(), target, mode == "rw")


def rule(text: str) -> EgressRule:
    host, _, port = text.rpartition(":") if text.rpartition(":")[2].isdecimal() else (text, "", "")
    ports = (int(port),) if port else (80, 443)
    return EgressRule(host, ports, methods=("GET", "HEAD", "POST"), tunnel=True)


def made(folder: Path | None) -> Path:
    if folder is None:
        raise Invalid(what="--collect", why="it needs --out, the folder to put things into")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
