"""`choir agent|delegation|token`: who acts for you, and how far."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, KeyOption, NodeOption
from choir.doors.tokens.scopes import SCOPES
from choir.foundation.errors import Invalid, NotAllowed
from choir.foundation.money import Asset

if TYPE_CHECKING:
    from choir.doors.delegations.shapes import CapOut, DelegationOut
    from choir.doors.sdk.client import Client
    from choir.doors.tokens.shapes import TokenOut

agent_app = typer.Typer(help="Make, list and retire agents that act for you.", no_args_is_help=True)
delegation_app = typer.Typer(help="Say what an agent may do, spend, and until when.", no_args_is_help=True)
token_app = typer.Typer(help="Make, list and revoke tokens for programs.", no_args_is_help=True)

AgentArgument = Annotated[str, typer.Argument(help="Such as agent_01h….", metavar="AGENT")]
DelegationArgument = Annotated[str, typer.Argument(help="Such as delegation_01h….", metavar="DELEGATION")]
ScopeOption = Annotated[
    list[str],
    typer.Option("--scope", help=f"What it may be used for: {SCOPES}; may be repeated.", metavar="SCOPE"),
]
CapOption = Annotated[
    list[str] | None,
    typer.Option("--cap", help="At most so much in a day, week, month or in total; may be repeated.",
                 metavar="ASSET/PERIOD=AMOUNT"),
]  # fmt: skip
DaysOption = Annotated[int, typer.Option("--days", help="How many days it lasts.", min=1)]
AllOption = Annotated[bool, typer.Option("--all", help="Also those that have ended.")]
NameOption = Annotated[str | None, typer.Option("--name", help="What you call it.")]


class PasskeyNeeded(NotAllowed):
    """Something that only a person can do, who shows a passkey in the browser."""

    code = "cli.passkey_needed"
    sentence = "This takes your passkey, which only a browser can ask for."
    hint = "Do it at {page}."


def register(app: typer.Typer) -> None:
    app.add_typer(agent_app, name="agent")
    app.add_typer(delegation_app, name="delegation")
    app.add_typer(token_app, name="token")


@contextmanager
def _asking(node: str | None, page: str) -> Iterator[Client]:
    """A client for an act that may take a passkey; then it says where that is done."""
    from choir.doors.logins import saved_logins
    from choir.identity.model import FreshAssertionNeeded, PersonNeeded

    with output.client_of(node) as client:
        try:
            yield client
        except (PersonNeeded, FreshAssertionNeeded) as error:
            if client.who.source == "operator":
                raise
            saved = saved_logins.load(client.url)
            pages = saved.pages if saved is not None and saved.pages else client.url
            raise PasskeyNeeded(page=f"{pages}/{page}") from error


# Agents


@agent_app.command("ls", epilog="Example: choir agent ls")
def agent_ls(every: AllOption = False, node: NodeOption = None, as_json: AsJson = False) -> None:
    """List your agents."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = [item for item in client.agents.all() if every or item.retired_at is None]
    if as_json:
        output.print_json([item.model_dump() for item in found])
        return
    rows = [(item.id, item.name or "", item.created_at, "retired" if item.retired_at else "active") for item in found]
    output.print_table(["agent", "name", "since", "state"], rows)


@agent_app.command("create", epilog="Example: choir agent create 'night librarian'")
def agent_create(
    name: Annotated[str, typer.Argument(help="What you call it.")],
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Make an agent; it can do nothing before it has a delegation."""
    output.want_json(as_json)
    with _asking(node, "agents") as client:
        made = client.agents.create(name, key=key)
    _tell(as_json, made, f"{made.id}  {made.name}")


@agent_app.command("rename", epilog="Example: choir agent rename agent_01h… 'day librarian'")
def agent_rename(
    agent: AgentArgument,
    name: Annotated[str, typer.Argument(help="What you call it from now on.")],
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Call an agent something else."""
    output.want_json(as_json)
    with _asking(node, f"agents/{agent}") as client:
        renamed = client.agents.rename(agent, name)
    _tell(as_json, renamed, f"{renamed.id}  {renamed.name}")


@agent_app.command("retire", epilog="Example: choir agent retire agent_01h…")
def agent_retire(agent: AgentArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """End an agent for good, with its delegations and tokens."""
    output.want_json(as_json)
    with _asking(node, f"agents/{agent}") as client:
        client.agents.retire(agent)
    _tell(as_json, {"agent": agent, "retired": True}, f"{agent} is retired.")


# Delegations


@delegation_app.command("ls", epilog="Example: choir delegation ls --all")
def delegation_ls(every: AllOption = False, node: NodeOption = None, as_json: AsJson = False) -> None:
    """List what you delegated; for an agent, what it was given."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = [item for item in client.delegations.all() if every or item.revoked_at is None]
    if as_json:
        output.print_json([item.model_dump() for item in found])
        return
    rows = [
        (item.id, item.agent, ", ".join(item.scopes), "; ".join(map(_cap, item.caps)), _end(item)) for item in found
    ]
    output.print_table(["delegation", "agent", "scopes", "spent of caps", "ends"], rows)


@delegation_app.command("show", epilog="Example: choir delegation show delegation_01h…")
def delegation_show(delegation: DelegationArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show one delegation and what was spent of its caps."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = client.delegations.get(delegation)
    _show(found, as_json=as_json)


@delegation_app.command(
    "grant", epilog="Example: choir delegation grant agent_01h… --scope read --scope buy --cap SAT/day=100"
)
def delegation_grant(
    agent: AgentArgument,
    scope: ScopeOption,
    cap: CapOption = None,
    days: DaysOption = 30,
    name: NameOption = None,
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Let an agent act for you, as far as you say and no further."""
    output.want_json(as_json)
    caps = [_typed_cap(item) for item in cap or []]
    with _asking(node, f"agents/{agent}") as client:
        made = client.delegations.grant(agent, scope, caps=caps, days=days, name=name, key=key)
    _show(made, as_json=as_json)


@delegation_app.command(
    "narrow", epilog="Example: choir delegation narrow delegation_01h… agent_01h… --scope read --days 1"
)
def delegation_narrow(
    delegation: DelegationArgument,
    agent: AgentArgument,
    scope: ScopeOption,
    cap: CapOption = None,
    days: DaysOption = 1,
    name: NameOption = None,
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Pass a part of a delegation on to another agent, never more than it has."""
    output.want_json(as_json)
    caps = [_typed_cap(item) for item in cap or []]
    with _asking(node, "agents") as client:
        made = client.delegations.narrow(delegation, agent, scope, caps=caps, days=days, name=name, key=key)
    _show(made, as_json=as_json)


@delegation_app.command("revoke", epilog="Example: choir delegation revoke delegation_01h…")
def delegation_revoke(delegation: DelegationArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """End a delegation at once, with all that was narrowed from it."""
    output.want_json(as_json)
    with _asking(node, "agents") as client:
        client.delegations.revoke(delegation)
    _tell(as_json, {"delegation": delegation, "revoked": True}, f"{delegation} is revoked.")


# Tokens


@token_app.command("ls", epilog="Example: choir token ls --all")
def token_ls(every: AllOption = False, node: NodeOption = None, as_json: AsJson = False) -> None:
    """List your tokens and those of your agents; never their secrets."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = [item for item in client.tokens.all() if every or item.revoked_at is None]
    if as_json:
        output.print_json([item.model_dump() for item in found])
        return
    rows = [
        (item.id, item.name, ", ".join(item.scopes), item.last_used_at or "never", _end(item), item.delegation or "you")
        for item in found
    ]
    output.print_table(["token", "name", "scopes", "last used", "ends", "for"], rows)


@token_app.command("create", epilog="Example: choir token create robot --delegation delegation_01h… --scope read")
def token_create(
    name: Annotated[str, typer.Argument(help="What you call it.")],
    scope: ScopeOption,
    delegation: Annotated[
        str | None, typer.Option(help="For the agent of this delegation.", metavar="DELEGATION")
    ] = None,
    days: DaysOption = 30,
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Make a token; it is printed this once."""
    output.want_json(as_json)
    with _asking(node, "tokens") as client:
        made = client.tokens.create(name, scope, days=days, delegation=delegation, key=key)
    if as_json:
        output.print_json(made.model_dump())
        return
    output.say(f"{made.token.id} is good until {made.token.expires_at}. Keep it safe; it is not shown again:")
    output.print_line(made.secret or "(this key had made it before; its secret is gone)")


@token_app.command("revoke", epilog="Example: choir token revoke token_01h…")
def token_revoke(
    token: Annotated[str, typer.Argument(help="Its id, such as token_01h…, not its secret.", metavar="TOKEN")],
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """End a token at once."""
    output.want_json(as_json)
    with _asking(node, "tokens") as client:
        client.tokens.revoke(token)
    _tell(as_json, {"token": token, "revoked": True}, f"{token} is revoked.")


# Words


def _typed_cap(text: str) -> tuple[str, str, int]:
    """A cap as a person types it: SAT/day=100."""
    terms, _, amount = text.partition("=")
    asset, _, period = terms.partition("/")
    if not amount or not period:
        raise Invalid(what=f"The cap '{text[:60]}'", why="write it like SAT/day=100")
    return asset, period, Asset.of(asset).parse(amount)


def _cap(cap: CapOut) -> str:
    asset = Asset.of(cap.asset)
    return f"{asset.format(int(cap.spent))} of {asset.format(int(cap.cap))} {cap.asset} per {cap.period.value}".replace(
        "per total", "in total"
    )


def _end(item: DelegationOut | TokenOut) -> str:
    return f"revoked {item.revoked_at}" if item.revoked_at else item.expires_at


def _show(found: DelegationOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found.model_dump())
        return
    output.print_line(found.id + (f"  {found.name}" if found.name else ""))
    output.print_line(f"  agent   {found.agent}")
    output.print_line(f"  scopes  {', '.join(found.scopes)}")
    for cap in found.caps:
        output.print_line(f"  spent   {_cap(cap)}")
    if found.parent:
        output.print_line(f"  from    {found.parent}")
    output.print_line(f"  ends    {_end(found)}")


def _tell(as_json: bool, value: Any, text: str) -> None:
    if as_json:
        output.print_json(value if isinstance(value, dict) else value.model_dump())
    else:
        output.print_line(text)
