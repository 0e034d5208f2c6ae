"""`choir token`: tokens for programs."""

from __future__ import annotations

from typing import Annotated

import typer

from choir.doors.agents.options import AllOption, DaysOption, ScopeOption, asking, end_of, tell
from choir.doors.cli import output
from choir.doors.cli.output import AsJson, KeyOption, NodeOption
from choir.doors.logins.approval import NoBrowserOption, confirmed

app = typer.Typer(help="Create, list and revoke tokens for programs.", no_args_is_help=True)


# Tokens


@app.command("ls", epilog="Example: choir token ls --all")
def token_ls(every: AllOption = False, node: NodeOption = None, as_json: AsJson = False) -> None:
    """List your tokens and those of your agents; never their secrets."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = [item for item in client.tokens.all() if every or item.revoked_at is None]
    if as_json:
        output.print_json([item.model_dump() for item in found])
        return
    rows = [
        (
            item.id,
            item.name,
            ", ".join(item.scopes),
            item.last_used_at or "never",
            end_of(item),
            item.delegation or "you",
        )
        for item in found
    ]
    output.print_table(["token", "name", "scopes", "last used", "ends", "for"], rows)


@app.command("create", epilog="Example: choir token create robot --delegation delegation_01h… --scope read")
def token_create(
    name: Annotated[str, typer.Argument(help="Name.")],
    scope: ScopeOption,
    delegation: Annotated[
        str | None, typer.Option(help="For the agent of this delegation.", metavar="DELEGATION")
    ] = None,
    days: DaysOption = 30,
    key: KeyOption = None,
    no_browser: NoBrowserOption = False,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Create a token; you confirm it in the browser. It is printed here, only once."""
    from choir.doors.tokens.shapes import NewTokenOut

    output.want_json(as_json)
    made = confirmed(
        node,
        lambda client: client.tokens.create(name, scope, days=days, delegation=delegation, key=key),
        "token",
        {"name": name, "scopes": scope, "delegation": delegation, "days": days},
        lambda done: None if done.token is None else NewTokenOut(token=done.token, secret=done.secret),
        key=key,
        browse=not no_browser,
    )
    if as_json:
        output.print_json(made.model_dump())
        return
    output.say(f"{made.token.id} is valid until {made.token.expires_at}. Keep it safe; it is not shown again:")
    output.print_line(made.secret or "(already created with this key; its secret is no longer available)")


@app.command("revoke", epilog="Example: choir token revoke token_01h…")
def token_revoke(
    token: Annotated[str, typer.Argument(help="Its id, such as token_01h…, not its secret.", metavar="TOKEN")],
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Revoke a token at once."""
    output.want_json(as_json)
    with asking(node, "tokens") as client:
        client.tokens.revoke(token)
    tell(as_json, {"token": token, "revoked": True}, f"{token} is revoked.")
