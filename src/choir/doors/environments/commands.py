"""`choir env`: set up what a repository's tests need on this machine, and see what is kept of it.

None of these needs a running node: they work on a home folder, the node's own by default, or a provider's with --home.
What is built on a node's machine is there when the first order asks for the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, HomeOption
from choir.doors.environments import options

app = typer.Typer(help="Set up what a repository's tests need, and see what is kept of it.", no_args_is_help=True)

LayerArgument = Annotated[
    str, typer.Argument(help="The layer's hash, or at least 4 hex digits of its beginning.", metavar="LAYER")
]


@app.command(epilog="Example: choir env build --repo .")
def build(
    repo: Annotated[Path, typer.Option("--repo", help="A git checkout, a folder inside one, or any folder.")] = Path(),
    ref: Annotated[
        str | None, typer.Option("--ref", help="This commit instead of the checked-out one.", metavar="COMMIT")
    ] = None,
    dirty: Annotated[bool, typer.Option("--dirty", help="Include uncommitted changes.")] = False,
    setup: options.SetupOption = None,
    setup_file: options.SetupFileOption = None,
    host: options.HostOption = None,
    base: options.BaseOption = None,
    as_json: AsJson = False,
    home: HomeOption = None,
) -> None:
    """Run a repository's set-up as an order would, and keep what it wrote. Without --setup the usual ones are found."""
    from choir.doors.environments import local
    from choir.doors.environments.shapes import LayerOut

    with local.reported(as_json):
        found = local.build(home, repo, ref, options.Asked(setup, setup_file, host, base), dirty=dirty, quiet=as_json)
    if as_json:
        output.print_json({"environment": found.environment.to_json(), "new": found.new, "said": found.sentence}
                          | {"layer": LayerOut.of(found.layer).model_dump(mode="json")})  # fmt: skip
        return
    layer = LayerOut.of(found.layer)
    output.print_line(layer.name)
    took = f"set up in {layer.wall_ms / 1000:.1f} s" if found.new else "it was there already"
    output.say(f"{layer.files} files, {layer.bytes} bytes, {took}; content {layer.content}")


@app.command("ls", epilog="Example: choir env ls")
def ls(as_json: AsJson = False, home: HomeOption = None) -> None:
    """List the layers that are kept here, the one that was used last first."""
    from choir.doors.environments import local
    from choir.doors.environments.shapes import LayerOut

    with local.reported(as_json):
        found = [LayerOut.of(item) for item in local.shelf(home).all()]
    if as_json:
        output.print_json([item.model_dump(mode="json") for item in found])
        return
    if not found:
        output.print_line("No layers.")
        return
    rows = [[item.name[7:23], f"{item.bytes / 1_000_000:.1f} MB", item.used_at[:16], item.setup[:60]] for item in found]
    output.print_table(["Layer", "Size", "Used", "Set-up"], rows)


@app.command(epilog="Example: choir env show 3f2a9c41")
def show(layer: LayerArgument, as_json: AsJson = False, home: HomeOption = None) -> None:
    """Show what a layer was made from, and what came of it."""
    from choir.bazaar.environments.layers import find
    from choir.doors.environments import local
    from choir.doors.environments.shapes import LayerOut

    with local.reported(as_json):
        found = LayerOut.of(find(local.shelf(home), layer))
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    for name, value in found.model_dump(mode="json").items():
        told = ", ".join(value) if isinstance(value, list) else value
        output.print_line(f"{name.replace('_', ' '):<17} {told}")


@app.command("rm", epilog="Example: choir env rm 3f2a9c41")
def rm(
    layer: Annotated[list[str] | None, typer.Argument(help="Hashes, or their beginnings.", metavar="LAYER")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every layer that nobody uses.")] = False,
    as_json: AsJson = False,
    home: HomeOption = None,
) -> None:
    """Remove layers that nobody uses now. The next job that needs one sets it up again."""
    from choir.doors.environments import local

    with output.reading_options():
        options.check_some(layer or [], everything=all_)
    with local.reported(as_json):
        removed, kept = local.remove(home, layer or [], everything=all_)
    if as_json:
        output.print_json({"removed": removed, "in_use": kept})
    else:
        output.print_line(f"Removed {len(removed)} of {len(removed) + len(kept)} layers.")
        for name in kept:
            output.print_line(f"In use: {name}")
    if kept:
        raise typer.Exit(1)
