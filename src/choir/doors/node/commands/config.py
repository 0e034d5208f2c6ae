"""`choir config show`: every setting, and where this user's keys are."""

from __future__ import annotations

import os

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, HomeOption
from choir.doors.mesh.machine_buyer import keys_folder
from choir.foundation.settings import Settings, SettingSource, load_settings

app = typer.Typer(help="Show every setting and where it came from.", no_args_is_help=True)


@app.command("show", epilog="Example: choir config show --json")
def show(home: HomeOption = None, as_json: AsJson = False) -> None:
    """Show every setting, its value and where it came from, and where keys are kept. Secrets are not shown."""
    output.want_json(as_json)
    settings = load_settings({"home": home})  # also where one is mistyped: this is where to look it up
    output.tell_unknown_settings()
    found = [*settings.sources, *places(settings)]
    if as_json:
        output.print_json(
            [{"name": item.name, "value": item.shown, "origin": item.origin, "doc": item.doc} for item in found]
        )
        return
    output.print_table(
        ["setting", "value", "from", "description"],
        [(item.name, item.shown or _in_force(settings, item.name), item.origin, item.doc) for item in found],
    )


def places(settings: Settings) -> list[SettingSource]:
    """Where keys and logins of this user are, and what it knows of nodes, which no line of `choir.toml` says."""
    from choir.doors.logins import saved_logins
    from choir.doors.provider.home import HOME_VARIABLE
    from choir.doors.sdk import node_keys

    named = os.environ.get(HOME_VARIABLE, "")
    configured = os.environ.get("XDG_CONFIG_HOME", "").startswith("/")
    return [
        SettingSource(
            "provider_home",
            named or str(settings.home / "providers"),
            f"environment {HOME_VARIABLE}" if named else "home",
            f"Providers' folders with their keys. Set one with {HOME_VARIABLE} or --provider-home.",
        ),
        SettingSource(
            "buyers",
            str(keys_folder(settings)),
            "home",
            "Keys of this machine's own buyer, which pays with play money at development nodes.",
        ),
        SettingSource(
            "logins",
            str(saved_logins.folder()),
            "environment XDG_CONFIG_HOME" if configured else "default",
            "Logins saved by `choir login`. Set with XDG_CONFIG_HOME.",
        ),
        SettingSource(
            "nodes",
            str(node_keys.folder()),
            "environment XDG_CONFIG_HOME" if configured else "default",
            "Pinned node keys, to detect a changed key. Next to the logins.",
        ),
    ]


def _in_force(settings: Settings, name: str) -> str:
    """What an empty value stands for: what follows from other settings, or nothing."""
    follows = {
        "public_url": settings.public_url,
        "node": settings.node,
        "node_key_file": str(settings.node_key_file),
    }
    return follows.get(name, "(not set)")
