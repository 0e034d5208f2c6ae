"""`choir sandbox`: run something contained, see what this machine can contain, measure and clean up.

None of these needs a running node. Exit codes: 0 done, 1 refused or failed check, 2 usage. `run` without
--json passes the payload's own exit code through (137 after it was stopped by a limit), as a shell would; with
--json it is 0 whenever something ran, and the payload's code is in the JSON. Without --json the payload's output is
printed while it comes; with it, at the end.
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
from typing import Annotated, Any

import typer

from choir.doors.cli import output
from choir.doors.cli.live_output import LiveOutput, plain
from choir.doors.cli.output import AsJson, HomeOption
from choir.foundation.errors import ChoirError, Invalid, Unavailable
from choir.foundation.policy import Policy, SandboxPolicy, load
from choir.foundation.settings import load_settings
from choir.sandbox.egress.model import Egress, EgressRule
from choir.sandbox.model import Capabilities, Ended, InFile, Limits, Mount, Result, Spec, Tier, Trust
from choir.sandbox.rules import stranger_refusal
from choir.sandbox.service import Sandboxes

app = typer.Typer(help="Run code contained, and see what this machine can contain.", no_args_is_help=True)

_SIZE = re.compile(r"(\d+)(?:\.(\d+))?\s*([kKmMgG]?)(i?)[bB]?\Z")
_CORES_MAX = 1_000
_NOT_FOUND, _NOT_RUN = 127, 126  # what shells and their like answer with
_NOBODY_READS = 141  # 128 + SIGPIPE, as everywhere in this command line


@app.command(epilog="Example: choir sandbox doctor")
def doctor(as_json: AsJson = False, home: HomeOption = None) -> None:
    """Say which tiers work here, found out by running something in each, and why the others do not."""
    with _service(home, as_json) as sandboxes:
        found = sandboxes.doctor()
        policy = sandboxes.policy
    if as_json:
        output.print_json([_capabilities(item, policy) for item in found])
    else:
        for item in found:
            _print_capabilities(item, policy)
    if not any(item.works for item in found if item.tier is not Tier.LOCAL):
        raise typer.Exit(1)


@app.command(
    context_settings={"allow_interspersed_args": False},
    epilog="Example: choir sandbox run --memory 512M --file script.py -- python3 script.py",
)
def run(
    command: Annotated[list[str], typer.Argument(help="The program and its arguments, after --.", metavar="COMMAND")],
    tier: Annotated[
        str | None, typer.Option(help="Exactly this tier; local runs only if named.", metavar="TIER")
    ] = None,
    tier_min: Annotated[
        str, typer.Option("--min-tier", help="This tier or a stronger one.", metavar="TIER")
    ] = "bubblewrap",
    trust: Annotated[
        str | None,
        typer.Option(help="Whose code it is: stranger (default) or own (default with --tier local).", metavar="WHOSE"),
    ] = None,
    file: Annotated[
        list[str] | None, typer.Option(help="Put this file into the workspace.", metavar="PATH[:NAME]")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Copy this folder's contents into the workspace.", metavar="FOLDER")
    ] = None,
    collect: Annotated[
        list[str] | None, typer.Option(help="Bring this file or folder back; needs --out.", metavar="PATH")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to put what is brought back.", metavar="FOLDER")] = None,
    mount: Annotated[
        list[str] | None, typer.Option(help="Show a path of this machine inside.", metavar="SOURCE:TARGET[:rw]")
    ] = None,
    env: Annotated[list[str] | None, typer.Option(help="Set a variable inside.", metavar="NAME=VALUE")] = None,
    allow: Annotated[
        list[str] | None, typer.Option(help="Let it reach this host, through the proxy.", metavar="HOST[:PORT]")
    ] = None,
    memory: Annotated[str | None, typer.Option(help="Memory of all processes, such as 512M.", metavar="SIZE")] = None,
    disk: Annotated[str | None, typer.Option(help="Size of the workspace, such as 100M.", metavar="SIZE")] = None,
    output_: Annotated[
        str | None, typer.Option("--output", help="How much output is kept, such as 1M.", metavar="SIZE")
    ] = None,
    processes: Annotated[int | None, typer.Option(help="Processes and threads at once.", metavar="COUNT")] = None,
    cpu: Annotated[int | None, typer.Option(help="CPU time of all processes.", metavar="SECONDS")] = None,
    cores: Annotated[float | None, typer.Option(help="Cores at any moment, such as 0.5.", metavar="CORES")] = None,
    wall: Annotated[float | None, typer.Option(help="Time until it is stopped.", metavar="SECONDS")] = None,
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Hand in standard input, which is read to its end first.")
    ] = False,
    as_json: AsJson = False,
    home: HomeOption = None,
) -> None:
    """Run a program in a sandbox; its output comes live and its exit code becomes ours (--json: all at the end)."""
    with _service(home, as_json) as sandboxes:
        asked = Tier.parse(tier) if tier else None
        spec = Spec(
            argv=tuple(command),
            stdin=_input(sandboxes.policy.stdin_bytes_max) if stdin else b"",
            environment=dict(_pair(item, "=", "--env") for item in env or []),
            tier=asked,
            tier_min=min(asked, Tier.BUBBLEWRAP) if asked else Tier.parse(tier_min),
            trust=_trust(trust, asked),
            limits=Limits(
                memory_bytes=_size(memory, "--memory"),
                processes=processes,
                cpu_s=cpu,
                cores_milli=_thousandths(cores),
                disk_bytes=_size(disk, "--disk"),
                wall_s=wall,
                output_bytes=_size(output_, "--output"),
            ),
            files=tuple(_file(item) for item in file or []),
            folder=folder,
            collect=tuple(collect or ()),
            collect_into=_made(out) if collect else None,
            mounts=tuple(_mount(item) for item in mount or []),
            egress=Egress(tuple(_rule(item) for item in allow)) if allow else None,
        )
        result, nobody_reads = (sandboxes.run(spec), False) if as_json else _run_live(sandboxes, spec)
    if as_json:
        output.print_json(_result(result))
        return
    for remark in _remarks(result, unread_input=not stdin and _has_input(), nobody_reads=nobody_reads):
        output.say(f"choir: {plain(remark)}")
    raise typer.Exit(_NOBODY_READS if nobody_reads else result.exit_code)


@app.command(epilog="Example: choir sandbox bench --runs 200")
def bench(
    runs: Annotated[int, typer.Option(min=1, max=10_000, help="How often each is started.", metavar="COUNT")] = 100,
    as_json: AsJson = False,
    home: HomeOption = None,
) -> None:
    """Measure how long `true` takes in each tier, against fork and exec and against bare bubblewrap."""
    from choir.sandbox.bench import measure

    with _service(home, as_json) as sandboxes:
        found = measure(sandboxes, runs)
    if as_json:
        output.print_json(found)
        return
    for item in found["starts"]:
        output.print_line(
            f"{item['name']:<16} p50 {item['p50_ms']:>8.2f} ms   p99 {item['p99_ms']:>8.2f} ms   ({item['runs']} runs)"
        )
    output.print_line(f"bubblewrap against bare bubblewrap: {found['ratio_to_bare_bubblewrap']}")
    for item in found["throughput"]:
        output.print_line(f"{item['at_once']} at once: {item['per_s']} runs per second")


@app.command("ls", epilog="Example: choir sandbox ls")
def ls(as_json: AsJson = False, home: HomeOption = None) -> None:
    """List the runs of this home that are going on, or were left behind by a killed node."""
    with _service(home, as_json, clean=False) as sandboxes:
        found = sandboxes.ls()
    if as_json:
        output.print_json([{"run": item.run, "alive": item.alive, **item.facts} for item in found])
        return
    if not found:
        output.print_line("No runs.")
    for item in found:
        state = "running" if item.alive else "left behind"
        facts = f"{item.facts.get('tier', '')}  {item.facts.get('program', '')}"
        output.print_line(f"{item.run}  {state:<11}  {plain(facts)}")


@app.command(epilog="Example: choir sandbox clean")
def clean(as_json: AsJson = False, home: HomeOption = None) -> None:
    """Remove what killed nodes left behind: processes, groups and folders; live runs are not touched."""
    with _service(home, as_json) as sandboxes:
        removed, kept = sandboxes.cleaned.runs, sandboxes.cleaned.kept
    if as_json:
        output.print_json({"removed": list(removed), "kept": list(kept)})
    else:
        output.print_line(f"Removed what {len(removed)} runs had left behind.")
        for why in kept:
            output.print_line(f"Kept {why}.")
    if kept:
        raise typer.Exit(1)


# --- in and out -------------------------------------------------------------------------------------


@contextmanager
def _service(home: str | None, as_json: bool, *, clean: bool = True) -> Iterator[Sandboxes]:
    with _reported(as_json):
        settings = load_settings({"home": home})
        policy = load(Policy(), settings.policy_overrides)
        with Sandboxes(settings.home / "sandbox", policy.sandbox, clean_first=clean) as sandboxes:
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


def _capabilities(item: Capabilities, policy: SandboxPolicy) -> dict[str, Any]:
    refusal = stranger_refusal(item, policy) if item.works else item.why
    return {
        "tier": item.tier.label,
        "works": item.works,
        "for_strangers": not refusal and item.works,
        "why_not_for_strangers": refusal,
        "engine": item.engine,
        "why": item.why,
        "applied": dict(item.applied),
        "missing": list(item.missing),
        "notes": list(item.notes),
    }


def _print_capabilities(item: Capabilities, policy: SandboxPolicy) -> None:
    refusal = stranger_refusal(item, policy) if item.works else ""
    state = "does not work" if not item.works else "works, for your own code only" if refusal else "works"
    output.print_line(f"{item.tier.label:<11} {state}{f' ({item.engine})' if item.engine else ''}")
    if refusal:
        named = " --tier local" if item.tier is Tier.LOCAL else " --trust own"
        output.print_line(f"            {refusal} Your own runs with{named}.")
    if item.why:
        output.print_line(f"            {item.why}")
    if item.works:
        for limit, how in item.applied.items():
            output.print_line(f"            {limit:<10} {how}")
        if item.missing:
            output.print_line(f"            not limited: {', '.join(item.missing)}")


def _result(result: Result) -> dict[str, Any]:
    return result.summary() | {
        "stdout": result.stdout.decode(errors="replace"),
        "stderr": result.stderr.decode(errors="replace"),
    }


def _run_live(sandboxes: Sandboxes, spec: Spec) -> tuple[Result, bool]:
    """Run and print at the same time; the second answer is whether nobody reads any more."""
    live = LiveOutput(sys.stdout, sys.stderr)
    try:
        result = sandboxes.run(spec, live.take, live.failed)
    finally:
        live.close()
    if live.error is not None and not isinstance(live.error, BrokenPipeError):
        raise Unavailable(what="The output", why=live.error.strerror or str(live.error))
    return result, live.error is not None


def _remarks(result: Result, *, unread_input: bool = False, nobody_reads: bool = False) -> Iterator[str]:
    """What a reader would otherwise wonder about, and what to do about it."""
    if nobody_reads:
        return
    if stopped := _stopped(result):
        yield f"stopped after {result.usage.wall_s:.1f} s: {stopped}"
    if result.out_of_memory:
        yield f"a process was killed: the memory limit of {result.limits.memory_bytes} bytes was reached (--memory)"
    elif result.ended is Ended.EXITED and result.exit_code in (_NOT_FOUND, _NOT_RUN):
        yield _not_started(result)
    if result.ended is not Ended.OUTPUT and (result.stdout_truncated or result.stderr_truncated):
        yield f"the output was cut after {result.limits.output_bytes} bytes (--output)"
    if unread_input:
        yield "standard input was not handed in; add --stdin to do so"
    yield from (f"not brought back: {why}" for why in result.files_refused)


def _stopped(result: Result) -> str:
    limits = result.limits
    return {
        Ended.EXITED: "",
        Ended.CANCELLED: "it was cancelled",
        Ended.TIMEOUT: f"the time limit of {limits.wall_s:g} seconds was reached (--wall)",
        Ended.CPU: f"the limit of {limits.cpu_s} seconds of CPU time was reached (--cpu)",
        Ended.OUTPUT: f"it wrote more than {limits.flood_bytes} bytes; {limits.output_bytes} are kept (--output)",
    }[result.ended]


def _not_started(result: Result) -> str:
    seen = "the system's programs and what --file, --folder and --mount bring"
    if result.exit_code == _NOT_FOUND:
        return f"exit code 127 means that a program was not found; inside there are {seen}"
    return "exit code 126 means that a program was found but could not be run; it may lack the permission"


def _input(most: int) -> bytes:
    """Standard input, up to one byte too many, which is then refused."""
    if sys.stdin.isatty():
        output.say("choir: reading standard input to its end (Ctrl-D), then the program is started")
    return sys.stdin.buffer.read(most + 1)


def _has_input() -> bool:
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


def _size(text: str | None, what: str) -> int | None:
    """512M, 1.5G, 100KiB: powers of 1000, or of 1024 with an i."""
    if text is None:
        return None
    found = _SIZE.match(text)
    if not found:
        raise Invalid(what=f"{what} {text[:40]}", why="write it like 512M or 1.5G")
    power = " kmg".index(found[3].lower() or " ")
    return int(float(f"{found[1]}.{found[2] or 0}") * (1024 if found[4] else 1000) ** power)


def _pair(text: str, separator: str, what: str) -> tuple[str, str]:
    left, found, right = text.partition(separator)
    if not found or not left:
        raise Invalid(what=f"{what} {text[:60]}", why=f"it needs a {separator}")
    return left, right


def _trust(text: str | None, tier: Tier | None) -> Trust:
    if text is None:
        return Trust.OWN if tier is Tier.LOCAL else Trust.STRANGER
    if text not in list(Trust):
        raise Invalid(what=f"--trust {text[:40]}", why="it must be own or stranger")
    return Trust(text)


def _thousandths(cores: float | None) -> int | None:
    if cores is None:
        return None
    if not 0 < cores <= _CORES_MAX:
        raise Invalid(what=f"--cores {cores}", why="write it like 0.5 or 2")
    return max(1, round(cores * 1000))


def _file(text: str) -> InFile:
    path, _, name = text.partition(":")
    source = Path(path)
    if not source.is_file():
        raise Invalid(what=f"--file {path}", why="there is no such file")
    executable = bool(source.stat().st_mode & 0o100)
    return InFile(name or source.name, source=source.resolve(), executable=executable)


def _mount(text: str) -> Mount:
    source, target = _pair(text, ":", "--mount")
    target, _, mode = target.partition(":")
    if mode not in ("", "ro", "rw"):
        raise Invalid(what=f"--mount {text[:60]}", why="the mode is ro or rw")
    return Mount(Path(source).absolute(), target, mode == "rw")


def _rule(text: str) -> EgressRule:
    host, _, port = text.rpartition(":") if text.rpartition(":")[2].isdecimal() else (text, "", "")
    ports = (int(port),) if port else (80, 443)
    return EgressRule(host, ports, methods=("GET", "HEAD", "POST"), tunnel=True)


def _made(folder: Path | None) -> Path:
    if folder is None:
        raise Invalid(what="--collect", why="it needs --out, the folder to put things into")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    app(prog_name="choir sandbox")
