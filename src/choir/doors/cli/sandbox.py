"""`choir sandbox`: run something contained, see what this machine can contain, measure and clean up.

None of these needs a running node. Exit codes: 0 done, 1 refused or failed check, 2 usage. `run` without
--json passes the payload's own exit code through (137 after it was stopped by a limit), as a shell would; with
--json it is 0 whenever something ran, and the payload's code is in the JSON.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from choir.doors.cli import output
from choir.foundation.errors import ChoirError, Invalid, Unavailable
from choir.foundation.policy import Policy, load
from choir.foundation.settings import load_settings
from choir.sandbox.egress.model import Egress, EgressRule
from choir.sandbox.model import Capabilities, InFile, Limits, Mount, Result, Spec, Tier, Trust
from choir.sandbox.service import Sandboxes

app = typer.Typer(help="Run code contained, and see what this machine can contain.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Home = Annotated[str | None, typer.Option("--home", help="Folder for all data. Default: as CHOIR_HOME says.")]

_SIZE = re.compile(r"(\d+)(?:\.(\d+))?\s*([kKmMgG]?)(i?)[bB]?\Z")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@app.command()
def doctor(as_json: AsJson = False, home: Home = None) -> None:
    """Say which tiers work here, by really running something in each, and why the others do not.

    Example: choir sandbox doctor --json
    """
    with _service(home, as_json) as sandboxes:
        found = sandboxes.doctor()
    if as_json:
        _print_json([_capabilities(item) for item in found])
    else:
        for item in found:
            _print_capabilities(item)
    if not any(item.works for item in found if item.tier is not Tier.LOCAL):
        raise typer.Exit(1)


@app.command(context_settings={"allow_interspersed_args": False})
def run(
    command: Annotated[list[str], typer.Argument(help="The program and its arguments, after --.")],
    tier: Annotated[str | None, typer.Option(help="Exactly this tier; local only by name.")] = None,
    tier_min: Annotated[str, typer.Option("--min-tier", help="At least this tier.")] = "bubblewrap",
    trust: Annotated[str | None, typer.Option(help="own or stranger; default stranger, own with --tier local.")] = None,
    file: Annotated[list[str] | None, typer.Option(help="Put a file in: PATH or PATH:NAME-INSIDE.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Copy this folder into the workspace.")] = None,
    collect: Annotated[list[str] | None, typer.Option(help="Bring this file or folder back; with --out.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for what is brought back.")] = None,
    mount: Annotated[list[str] | None, typer.Option(help="SOURCE:TARGET or SOURCE:TARGET:rw.")] = None,
    env: Annotated[list[str] | None, typer.Option(help="NAME=VALUE for the payload.")] = None,
    allow: Annotated[list[str] | None, typer.Option(help="Let it reach HOST or HOST:PORT by the proxy.")] = None,
    memory: Annotated[str | None, typer.Option(help="Memory, such as 512M.")] = None,
    disk: Annotated[str | None, typer.Option(help="Size of the workspace, such as 100M.")] = None,
    output: Annotated[str | None, typer.Option(help="How much output is kept, such as 1M.")] = None,
    processes: Annotated[int | None, typer.Option(help="Most processes and threads.")] = None,
    cpu: Annotated[int | None, typer.Option(help="CPU seconds over all processes.")] = None,
    cores: Annotated[float | None, typer.Option(help="Cores at once, such as 0.5.")] = None,
    wall: Annotated[float | None, typer.Option(help="Seconds until it is stopped.")] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Hand standard input to the payload.")] = False,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Run a program in a sandbox. Its exit code becomes ours, unless --json is given.

    Example: choir sandbox run --memory 512M --file script.py -- python3 script.py
    """
    with _reported(as_json):
        asked = Tier.parse(tier) if tier else None
        default_trust = Trust.OWN if asked is Tier.LOCAL else Trust.STRANGER
        spec = Spec(
            argv=tuple(command),
            stdin=sys.stdin.buffer.read() if stdin else b"",
            environment=dict(_pair(item, "=", "--env") for item in env or []),
            tier=asked,
            tier_min=min(asked, Tier.BUBBLEWRAP) if asked else Tier.parse(tier_min),
            trust=Trust(trust) if trust else default_trust,
            limits=Limits(
                memory_bytes=_size(memory, "--memory"),
                processes=processes,
                cpu_s=cpu,
                cores_milli=round(cores * 1000) if cores else None,
                disk_bytes=_size(disk, "--disk"),
                wall_s=wall,
                output_bytes=_size(output, "--output"),
            ),
            files=tuple(_file(item) for item in file or []),
            folder=folder,
            collect=tuple(collect or ()),
            collect_into=_made(out) if collect else None,
            mounts=tuple(_mount(item) for item in mount or []),
            egress=Egress(tuple(_rule(item) for item in allow)) if allow else None,
        )
    with _service(home, as_json) as sandboxes:
        result = sandboxes.run(spec)
    if as_json:
        _print_json(_result(result))
        return
    _write(sys.stdout, result.stdout)
    _write(sys.stderr, result.stderr)
    _print_remarks(result)
    raise typer.Exit(result.exit_code)


@app.command()
def bench(
    runs: Annotated[int, typer.Option(min=1, max=10_000, help="How often each is started.")] = 100,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Measure start to finish of `true` per tier, against fork and exec and against bare bubblewrap.

    Example: choir sandbox bench --runs 200 --json
    """
    from choir.sandbox.bench import measure

    with _service(home, as_json) as sandboxes:
        found = measure(sandboxes, runs)
    if as_json:
        _print_json(found)
        return
    for item in found["starts"]:
        typer.echo(
            f"{item['name']:<16} p50 {item['p50_ms']:>8.2f} ms   p99 {item['p99_ms']:>8.2f} ms   ({item['runs']} runs)"
        )
    typer.echo(f"bubblewrap against bare bubblewrap: {found['ratio_to_bare_bubblewrap']}")
    for item in found["throughput"]:
        typer.echo(f"{item['at_once']} at once: {item['per_s']} runs per second")


@app.command("ls")
def ls(as_json: AsJson = False, home: Home = None) -> None:
    """List the runs of this home that are going on or were left behind by a killed node.

    Example: choir sandbox ls
    """
    with _service(home, as_json, clean=False) as sandboxes:
        found = sandboxes.ls()
    if as_json:
        _print_json([{"run": item.run, "alive": item.alive, **item.facts} for item in found])
        return
    if not found:
        typer.echo("No runs.")
    for item in found:
        state = "running" if item.alive else "left behind"
        typer.echo(
            f"{item.run}  {state:<11}  {item.facts.get('tier', '')}  {_plain(str(item.facts.get('program', '')))}"
        )


@app.command()
def clean(as_json: AsJson = False, home: Home = None) -> None:
    """Remove what killed nodes left: processes, groups, folders. Live runs are not touched.

    Example: choir sandbox clean
    """
    with _service(home, as_json) as sandboxes:
        removed, kept = sandboxes.cleaned.runs, sandboxes.cleaned.kept
    if as_json:
        _print_json({"removed": list(removed), "kept": list(kept)})
    else:
        typer.echo(f"removed {len(removed)} runs")
        for why in kept:
            typer.echo(f"kept {why}")
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
        output.show_error(Unavailable(what=_plain(str(error.filename or "The sandbox")), why=_plain(str(error))))
        raise typer.Exit(1) from None


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2))


def _capabilities(item: Capabilities) -> dict[str, Any]:
    return {
        "tier": item.tier.label,
        "works": item.works,
        "engine": item.engine,
        "why": item.why,
        "applied": dict(item.applied),
        "missing": list(item.missing),
        "notes": list(item.notes),
    }


def _print_capabilities(item: Capabilities) -> None:
    typer.echo(f"{item.tier.label:<11} {'works' if item.works else 'does not work':<14} {item.engine}")
    if item.why:
        typer.echo(f"            {item.why}")
    if item.works:
        for limit, how in item.applied.items():
            typer.echo(f"            {limit:<10} {how}")
        if item.missing:
            typer.echo(f"            not limited: {', '.join(item.missing)}")


def _result(result: Result) -> dict[str, Any]:
    return result.summary() | {
        "stdout": result.stdout.decode(errors="replace"),
        "stderr": result.stderr.decode(errors="replace"),
    }


def _print_remarks(result: Result) -> None:
    """What a reader would otherwise wonder about."""
    remarks = []
    if result.ended.value != "exited":
        remarks.append(f"stopped: {result.ended.value} limit after {result.usage.wall_s:.1f} s")
    if result.out_of_memory:
        remarks.append(f"a process was killed for memory (limit {result.limits.memory_bytes} bytes)")
    if result.stdout_truncated or result.stderr_truncated:
        remarks.append("the output was cut")
    remarks += [f"not brought back: {why}" for why in result.files_refused]
    for remark in remarks:
        typer.echo(f"choir: {_plain(remark)}", err=True)


def _write(stream: Any, data: bytes) -> None:
    """Bytes as they are into a file or pipe; into a terminal without what could steer it."""
    if stream.isatty():
        stream.write(_plain(data.decode(errors="replace")))
    else:
        stream.buffer.write(data)
    stream.flush()


def _plain(text: str) -> str:
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


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
