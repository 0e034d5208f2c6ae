"""`choir login|logout|whoami`: who the command line is to a node.

A login is a token that the node gives after its person approved in the browser; it is kept for that node's
address only. The browser and the terminal show the same code, so that nobody approves somebody else's login.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, NodeOption
from choir.doors.logins import approval
from choir.doors.logins.approval import LoginOver, NoBrowserOption
from choir.doors.tokens.scopes import OFFERED, SCOPES
from choir.foundation.clock import SystemClock, format_time
from choir.foundation.errors import Invalid, NotFound, Refusal, Unauthenticated, Unavailable

if TYPE_CHECKING:
    from choir.doors.logins.client import LoginAnswer
    from choir.doors.logins.saved_logins import SavedLogin
    from choir.doors.people.shapes import MeOut

_SCOPES = ("read",)  # what the commands here need; more is asked for with --scope
_DAYS = 30
_MORE = "For more, log in again with --scope for each."
_STANDARD_INPUT = "-"


class NotLoggedIn(Unauthenticated):
    """Nothing says who is asking."""

    code = "cli.not_logged_in"
    sentence = "You are not authenticated at {node}: {why}."
    hint = "Log in with `choir login`, or set CHOIR_TOKEN."


def register(app: typer.Typer) -> None:
    app.command("login", epilog="Example: choir login --node https://choir.example")(login)
    app.command("logout", epilog="Example: choir logout")(logout)
    app.command("whoami", epilog="Example: choir whoami --json")(whoami)


def login(
    token: Annotated[
        str | None, typer.Option(help="Skip the browser: - reads a token from standard input.", metavar="-")
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(help=f"Allowed use: {SCOPES}; may be repeated. Default: read.", metavar="SCOPE"),
    ] = None,
    days: Annotated[int, typer.Option(help="Lifetime in days.", min=1)] = _DAYS,
    no_browser: NoBrowserOption = False,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Log in to a node with your passkey, in the browser. The login is saved."""
    from choir.doors.jobs.commands.buyer import tell_of_the_machine
    from choir.doors.logins import saved_logins

    output.want_json(as_json)
    address = output.address_of(node)
    before = saved_logins.load(address)  # what is unsafe there is told before anything is asked for
    if token is None:
        made, pages = _by_browser(address, scope or list(_SCOPES), days, browse=not no_browser)
        assert made.token is not None
        assert made.secret is not None
        secret, token_id = made.secret, made.token.id
    else:
        secret, token_id, pages = _typed(token), "", ""
    me = _who(address, secret)
    saved_at = format_time(SystemClock().now_us())
    saved = saved_logins.SavedLogin(address, secret, token_id, me.handle or "", pages, saved_at)
    path = saved_logins.save(saved)
    if before is not None and before.token != secret:
        _revoke(address, before)
    if as_json:
        output.print_json({"node": address, "file": str(path), **me.model_dump()})
    else:
        output.print_line(f"Logged in to {address} as {_name(me)}. The login is saved in {path}.")
        if me.role != "operator":
            output.print_line(f"It may be used to: {', '.join(me.scopes) or 'nothing'}. {_MORE}")
        tell_of_the_machine(address)


def _by_browser(address: str, scopes: list[str], days: int, *, browse: bool) -> tuple[LoginAnswer, str]:
    """A token that somebody approved in the browser, and where the node's pages are."""
    verifier, challenge = approval.new_verifier()
    with output.stranger_at(address) as client:
        started = client.logins.begin(challenge, name=approval.program(), scopes=scopes, days=days)
        url = approval.show(started, "approve", browse=browse)

        def token() -> LoginAnswer | None:
            try:
                answer = client.logins.token(started.login, verifier)
            except NotFound:
                raise LoginOver(why="it was not approved in time, or its token was lost in transit") from None
            return None if answer.token is None else answer

        made = approval.wait(started, token, "Waiting for you to approve in the browser")
    return made, url.removesuffix(f"/login/{started.login}")


def _typed(token: str) -> str:
    if token != _STANDARD_INPUT:
        raise Invalid(
            what="--token", why="pass it on standard input with `--token -`; other programs can see arguments"
        )
    if sys.stdin.isatty():
        output.say("Paste the token and press Enter; it is stored only in the saved login.")
    return sys.stdin.readline().strip()


def _who(address: str, token: str) -> MeOut:
    if not token:
        raise Invalid(what="The token", why="standard input was empty")
    with output.stranger_at(address, token) as client:
        return client.me.who()


def logout(node: NodeOption = None, as_json: AsJson = False) -> None:
    """Log out of a node: delete the saved login and revoke its token."""
    from choir.doors.logins import saved_logins

    output.want_json(as_json)
    address = output.address_of(node)
    saved = saved_logins.load(address)
    if saved is None:
        _told(as_json, {"node": address, "was_logged_in": False}, f"You are not logged in to {address}.")
        return
    ended = _revoke(address, saved)
    saved_logins.forget(address)
    rest = "" if ended else " Its token could not be revoked; it is valid until it expires."
    value = {"node": address, "was_logged_in": True, "token_ended": ended}
    _told(as_json, value, f"Logged out of {address}.{rest}")


def _revoke(address: str, saved: SavedLogin) -> bool:
    """End a token that a login made; says whether it is ended. One that was given by hand is not ours to end."""
    if not saved.token_id:
        return False
    try:
        with output.stranger_at(address, saved.token) as client:
            client.tokens.revoke(saved.token_id)
    except Unauthenticated:
        return True  # it had ended before
    except (Unavailable, Refusal):
        return False
    return True


def whoami(node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show who you are at a node, by which credential and why."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        who, url = client.who, client.url
        try:
            me = client.me.who()
        except Unauthenticated:
            if who.source == "none":
                raise NotLoggedIn(node=url, why=who.why) from None
            raise
    buyer, orders_as = _buyer(url, me, who.source)
    if as_json:
        output.print_json({"node": url, "source": who.source, "why": who.why, "buyer": buyer, **me.model_dump()})
        return
    output.print_line(f"You are {_name(me)} at {url}.")
    output.print_line(f"  because     {who.why}")
    output.print_line(f"  credential  {_CREDENTIALS[me.credential]}")
    if me.delegation:
        output.print_line(f"  delegation  {me.delegation}")
    usable = [scope for scope in OFFERED if scope in me.scopes]
    if usable:
        output.print_line(f"  scopes      {', '.join(usable)}")
    output.print_line(f"  orders as   {orders_as}")


def _buyer(url: str, me: MeOut, source: str) -> tuple[str | None, str]:
    """Who pays for what `choir job submit` orders here, and the same in words."""
    from choir.doors.mesh import machine_buyer

    if me.role != "operator":
        return (me.owner, me.owner) if "buy" in me.scopes else (None, "nobody: this credential lacks the scope buy")
    if source != "operator" or output.operator_wanted():
        return None, "nobody: an operator cannot buy"
    with output.stranger_at(url) as client:
        if client.node().mode != "dev":
            return None, "nobody: log in to buy, with `choir login --scope read --scope buy`"
    agent = machine_buyer.known_at(url)
    if agent is None:
        return None, "nobody yet; the first order creates this machine's own buyer, with play money"
    return agent, f"{agent}, this machine's own buyer, with play money"


_CREDENTIALS = {
    "session": "a browser session",
    "token": "an API token",
    "nostr": "a Nostr key",
    "operator": "the operator's token",
}


def _name(me: MeOut) -> str:
    if me.role == "operator":
        return me.owner if me.owner.startswith("operator:") else "the operator"
    if me.role == "agent":
        return f"the agent {me.agent}" + (f" of {me.handle}" if me.handle else "")
    return f"{me.handle} ({me.owner})" if me.handle else me.owner


def _told(as_json: bool, value: object, text: str) -> None:
    if as_json:
        output.print_json(value)
    else:
        output.print_line(text)
