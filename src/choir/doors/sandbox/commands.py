"""`choir sandbox`: run something contained, see what this machine can contain, measure and clean up.

None of these needs a running node. Exit codes: 0 done, 1 refused or failed check, 2 usage. `run` without
--json passes the payload's own exit code through (137 after it was stopped by a limit), as a shell would; with
--json it is 0 whenever something ran, and the payload's code is in the JSON. Without --json the payload's output is
printed while it comes; with it, at the end.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.live_output import plain
from choir.doors.cli.output import AsJson, HomeOption

app = typer.Typer(help="Run code in a sandbox, and see which tiers work here.", no_args_is_help=True)

_NOBODY_READS = 141  # 128 + SIGPIPE, as everywhere in this command line


@app.command(epilog="Example: choir sandbox doctor")
def doctor(as_json: AsJson = False, home: HomeOption = None) -> None:
    """Check which tiers work here, by running something in each, and why the others do not."""
    from choir.doors.sandbox import runner
    from choir.sandbox.model import Tier
    from choir.sandbox.rules import default_tier

    with runner.service(home, as_json) as sandboxes:
        found = sandboxes.doctor()
        policy = sandboxes.policy
    default = default_tier({item.tier: item for item in found}, policy)
    if as_json:
        output.print_json([runner.capabilities(item, policy, default) for item in found])
    else:
        for item in found:
            runner.print_capabilities(item, policy, default)
    if not any(item.works for item in found if item.tier is not Tier.LOCAL):
        raise typer.Exit(1)


@app.command(
    context_settings={"allow_interspersed_args": False},
    epilog="Example: choir sandbox run --memory 512M --file script.py -- python3 script.py",
)
def run(
    command: Annotated[list[str], typer.Argument(help="The program and its arguments, after --.", metavar="COMMAND")],
    tier: Annotated[str | None, typer.Option(help="Exactly this tier; local must be named.", metavar="TIER")] = None,
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
        list[str] | None, typer.Option(help="Copy this file or folder out; needs --out.", metavar="PATH")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Destination folder for --collect.", metavar="FOLDER")] = None,
    mount: Annotated[
        list[str] | None, typer.Option(help="Mount a path of this machine.", metavar="SOURCE:TARGET[:rw]")
    ] = None,
    env: Annotated[list[str] | None, typer.Option(help="Set an environment variable.", metavar="NAME=VALUE")] = None,
    allow: Annotated[
        list[str] | None, typer.Option(help="Allow this host, through the proxy.", metavar="HOST[:PORT]")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="Memory limit for all processes, such as 512M.", metavar="SIZE")
    ] = None,
    disk: Annotated[str | None, typer.Option(help="Size of the workspace, such as 100M.", metavar="SIZE")] = None,
    output_: Annotated[str | None, typer.Option("--output", help="Output limit, such as 1M.", metavar="SIZE")] = None,
    processes: Annotated[int | None, typer.Option(help="Maximum processes and threads.", metavar="COUNT")] = None,
    cpu: Annotated[int | None, typer.Option(help="CPU seconds for all processes.", metavar="SECONDS")] = None,
    cores: Annotated[float | None, typer.Option(help="CPU cores, such as 0.5.", metavar="CORES")] = None,
    wall: Annotated[float | None, typer.Option(help="Wall time limit in seconds.", metavar="SECONDS")] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Pass standard input; it is read to its end first.")] = False,
    as_json: AsJson = False,
    home: HomeOption = None,
) -> None:
    """Run a program in a sandbox; streams its output and returns its exit code (--json: all at the end)."""
    from choir.doors.sandbox import runner
    from choir.sandbox.egress.model import Egress
    from choir.sandbox.model import Limits, Spec, Tier

    with runner.service(home, as_json) as sandboxes:
        asked = Tier.parse(tier) if tier else None
        spec = Spec(
            argv=tuple(command),
            stdin=runner.standard_input(sandboxes.policy.stdin_bytes_max) if stdin else b"",
            environment=dict(runner.pair(item, "=", "--env") for item in env or []),
            tier=asked,
            tier_min=min(asked, Tier.BUBBLEWRAP) if asked else Tier.parse(tier_min),
            trust=runner.trust(trust, asked),
            limits=Limits(
                memory_bytes=runner.size(memory, "--memory"),
                processes=processes,
                cpu_s=cpu,
                cores_milli=runner.thousandths(cores),
                disk_bytes=runner.size(disk, "--disk"),
                wall_s=wall,
                output_bytes=runner.size(output_, "--output"),
            ),
            files=tuple(runner.in_file(item) for item in file or []),
            folder=folder,
            collect=tuple(collect or ()),
            collect_into=runner.made(out) if collect else None,
            mounts=tuple(runner.mount(item) for item in mount or []),
            egress=Egress(tuple(runner.rule(item) for item in allow)) if allow else None,
        )
        result, nobody_reads = (sandboxes.run(spec), False) if as_json else runner.run_live(sandboxes, spec)
    if as_json:
        output.print_json(runner.result_of(result))
        return
    for remark in runner.remarks(result, unread_input=not stdin and runner.has_input(), nobody_reads=nobody_reads):
        output.say(f"choir: {plain(remark)}")
    raise typer.Exit(_NOBODY_READS if nobody_reads else result.exit_code)


@app.command(epilog="Example: choir sandbox bench --runs 200")
def bench(
    runs: Annotated[int, typer.Option(min=1, max=10_000, help="Runs per tier.", metavar="COUNT")] = 100,
    as_json: AsJson = False,
    home: HomeOption = None,
) -> None:
    """Measure how long `true` takes in each tier, compared with fork and exec and with bare bubblewrap."""
    from choir.doors.sandbox import runner
    from choir.sandbox.bench import measure

    with runner.service(home, as_json) as sandboxes:
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
    """List this home's runs, including those left behind by a killed node."""
    from choir.doors.sandbox import runner

    with runner.service(home, as_json, clean=False) as sandboxes:
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
    """Remove what killed nodes left behind: processes, cgroups and folders. Live runs are not touched."""
    from choir.doors.sandbox import runner

    with runner.service(home, as_json) as sandboxes:
        removed, kept = sandboxes.cleaned.runs, sandboxes.cleaned.kept
    if as_json:
        output.print_json({"removed": list(removed), "kept": list(kept)})
    else:
        output.print_line(f"Removed what {len(removed)} runs had left behind.")
        for why in kept:
            output.print_line(f"Kept {why}.")
    if kept:
        raise typer.Exit(1)


if __name__ == "__main__":
    app(prog_name="choir sandbox")
