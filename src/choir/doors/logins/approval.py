"""What only a person can allow, asked for from a terminal: in the browser, with a passkey.

The terminal keeps a random verifier and sends its hash (RFC 7636), shows where to decide and a code to compare, and
waits. Guarantees: whatever was made reaches only this process; a terminal that ends meanwhile leaves nothing behind but
a request that runs out; what the node says is printed without what could steer a terminal.
"""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
import socket
import sys
import time
import webbrowser
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from choir.doors.cli import output
from choir.foundation.errors import Invalid, NotAllowed, NotFound, Refusal, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from choir.doors.logins.confirmation_shapes import ConfirmedOut
    from choir.doors.logins.shapes import LoginStartedOut
    from choir.doors.sdk.client import Client

T = TypeVar("T")
_AWAY_S_MAX = 30.0  # how long a node may be away while it is asked what became of it

NoBrowserOption = Annotated[bool, typer.Option("--no-browser", help="Print the URL to open; do not open a browser.")]


class LoginOver(Refusal):
    """The time to approve is over, or the token was lost on its way."""

    code = "cli.login_over"
    sentence = "The login failed: {why}."
    hint = "Start again with `choir login`."


class ConfirmationOver(Refusal):
    """Nobody confirmed in time."""

    code = "cli.confirmation_over"
    sentence = "It was not confirmed in the browser in time. Nothing was done."
    hint = "Repeat the command."


class ConfirmationDenied(NotAllowed):
    """The person said no."""

    code = "cli.confirmation_denied"
    sentence = "It was denied in the browser. Nothing was done."


def new_verifier() -> tuple[str, str]:
    """What this process keeps, and the hash that it sends."""
    verifier = secrets.token_urlsafe(32)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    return verifier, challenge


def show(started: LoginStartedOut, verb: str, *, browse: bool) -> str:
    """Say where to decide, and open it if a window can be opened; gives the address."""
    url = checked_url(started.url)
    output.say(f"Open this URL, and {verb} if the page shows the same code:")
    output.say(f"  URL      {url}")
    output.say(f"  code     {printable(started.code)}")
    if browse and _has_browser():
        webbrowser.open(url)
    return url


def wait(started: LoginStartedOut, ask: Callable[[], T | None], text: str) -> T:
    """Ask now and then until there is an answer; a node that is away for a moment is asked again."""
    heard_at = time.monotonic()
    with output.waiting(text):
        while True:
            time.sleep(max(started.interval_s, 1))
            try:
                answer = ask()
            except Unavailable:
                if time.monotonic() > heard_at + _AWAY_S_MAX:
                    raise
                continue
            if answer is not None:
                return answer
            heard_at = time.monotonic()


# Acts


def confirmed(
    node: str | None,
    direct: Callable[[Client], T],
    act: str,
    content: dict[str, Any],
    pick: Callable[[ConfirmedOut], T | None],
    *,
    key: str | None,
    browse: bool,
) -> T:
    """Do an act directly where the credential reaches so far (an agent's own key may), else as its person confirms."""
    from choir.identity.model import FreshAssertionNeeded, PersonNeeded

    with output.client_of(node, quiet=True) as client:
        try:
            return direct(client)
        except (PersonNeeded, FreshAssertionNeeded):
            if client.who.source == "operator":
                raise
        made = pick(_confirm(client, act, content, key, browse=browse))
    assert made is not None
    return made


def _confirm(client: Client, act: str, content: dict[str, Any], key: str | None, *, browse: bool) -> ConfirmedOut:
    verifier, challenge = new_verifier()
    started = client.logins.ask(challenge, name=program(), act=act, content=content, key=key)

    def result() -> ConfirmedOut | None:
        answer = client.logins.result(started.login, verifier)
        return answer if answer.state == "done" else None

    with _in_words():
        if key is not None and (known := result()) is not None:
            return known  # this key's act was confirmed before
        show(started, "confirm", browse=browse)
        return wait(started, result, "Waiting for you to confirm in the browser")


@contextmanager
def _in_words() -> Iterator[None]:
    """The refusals of a login, as those of an act."""
    from choir.identity.credentials.model import LoginDenied, UnknownLogin

    try:
        yield
    except NotFound as error:
        if error.code == UnknownLogin.code:
            raise ConfirmationOver from None
        raise
    except NotAllowed as error:
        if error.code == LoginDenied.code:
            raise ConfirmationDenied from None
        raise


# Words


def program() -> str:
    """What this terminal calls itself."""
    return f"choir on {printable(socket.gethostname())[:40] or 'a machine'}"


def printable(text: str) -> str:
    """What a stranger wrote, without what could steer the terminal."""
    return "".join(letter for letter in text if letter.isascii() and letter.isprintable())


def checked_url(url: str) -> str:
    """An address that is safe to print and to hand to a browser."""
    if not url.startswith(("http://", "https://")) or printable(url) != url or " " in url:
        raise Invalid(what="The URL from the node", why="it is not an http(s) URL")
    return url


def _has_browser() -> bool:
    """Whether a window can open; a browser inside the terminal would be in the way."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in names)
