"""`choir autopilot`.

Exit codes: 0 there is a branch, or the test passes already; 1 nothing passed, or the budget is used up; 2 wrong usage;
3 no node; 4 not allowed; 5 what came does not fit its hashes or signatures; 6 not done in the time to wait. After 6,
Ctrl-C or a kill, the same command goes on.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choir.doors.cli import output
from choir.doors.cli.output import NodeOption
from choir.doors.jobs.commands.buyer import as_buyer
from choir.doors.jobs.commands.options import TimeoutOption
from choir.foundation.errors import Invalid
from choir.foundation.money import Asset

if TYPE_CHECKING:
    from choir.doors.autopilot.flight import Asked
    from choir.doors.autopilot.pilot import Tell
    from choir.doors.mesh.git import Checkout

EXIT_NOT_DONE = 6
_ORDERS = 3
_PATIENCE_S = 900.0
_ISSUE_CHARS_MAX = 50_000
_TITLE_CHARS_MAX = 200
_SUITE = "python3 -m pytest -q"


def register(app: typer.Typer) -> None:
    app.command(
        "autopilot", epilog="Example: choir autopilot --repo . --failing-test 'python3 -m pytest -q' --budget 10000"
    )(autopilot)


def autopilot(
    budget: Annotated[str, typer.Option("--budget", help="Maximum for all orders together.", metavar="SAT")],
    failing_test: Annotated[
        str | None,
        typer.Option("--failing-test", help="A pytest command that fails now and must pass.", metavar="COMMAND"),
    ] = None,
    issue: Annotated[
        Path | None, typer.Option("--issue", help="What is wrong, in a text file.", metavar="FILE")
    ] = None,
    repo: Annotated[Path, typer.Option("--repo", help="A git checkout, or a folder inside one.")] = Path(),
    branch: Annotated[
        str, typer.Option("--branch", help="Name of the branch; default: choir/ and an id.", metavar="NAME")
    ] = "",
    orders: Annotated[int, typer.Option("--orders", help="Maximum patches to order.", min=1, max=100)] = _ORDERS,
    review: Annotated[
        bool | None,
        typer.Option("--review/--no-review", help="Order a review of the patch; default: if there is only an issue."),
    ] = None,
    patience: Annotated[
        float, typer.Option("--patience", help="Seconds without a provider until an order is cancelled.", min=1)
    ] = _PATIENCE_S,
    timeout: TimeoutOption = None,
    node: NodeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per step.")] = False,
) -> None:
    """Get from a failing test or an issue to a branch that fixes it.

    Orders a patch, waits for its verdict, and puts what was verified on a new branch; your files stay as they are.
    Run the same command again after an interruption: it goes on and orders nothing twice.
    """
    from choir.doors.autopilot.flight import flying
    from choir.doors.autopilot.pilot import Autopilot
    from choir.doors.mesh.client import MeshClient
    from choir.doors.sdk import homes

    output.want_json(as_json)
    with output.reading_options():
        if failing_test is None and issue is None:
            raise Invalid(what="--failing-test or --issue", why="give at least one of them")
        most = Asset.SAT.parse(budget)
        if most <= 0:
            raise Invalid(what="--budget", why="it must be more than nothing")
        body = "" if issue is None else _issue_of(issue)
    checkout, base = _checkout(repo)
    with as_buyer(node, quiet=as_json) as buyer:
        buyer.client.known_policy = output.policy_at(node)
        homes.declare(buyer.client)
        asked = _asked(buyer.client.url, repo, base, failing_test, body, most, orders, review)
        with flying(checkout.git / "choir-autopilot", asked) as flight, _ending_early():
            tell, say = _telling(as_json=as_json), None if as_json else output.say
            pilot = Autopilot(MeshClient(buyer.client), flight, checkout, tell, buyer.cover, patience, say)
            done = pilot.fly(branch, timeout)
    summary = {"outcome": done.outcome, "branch": done.branch, "commit": done.commit, "spent": str(done.spent)}
    if as_json:
        output.print_line(json.dumps({"step": "done", **summary}))
    elif done.branch:
        output.print_line(done.branch)


def _asked(
    url: str, repo: Path, base: str, test: str | None, body: str, budget: int, orders: int, review: bool | None
) -> Asked:
    from choir.doors.autopilot.flight import Asked

    first = next((line.strip("# ") for line in body.splitlines() if line.strip("# ")), "")
    return Asked(
        node=url,
        repo=str(repo.resolve()),
        base=base,
        test=test or _SUITE,
        must_fail=test is not None,
        title=first[:_TITLE_CHARS_MAX] or "Make the test pass",
        body=body,
        budget=budget,
        orders_max=orders,
        review=test is None if review is None else review,
    )


def _issue_of(file: Path) -> str:
    text = file.read_text(encoding="utf-8", errors="replace")
    if not text.strip() or len(text) > _ISSUE_CHARS_MAX:
        raise Invalid(what=f"--issue {file}", why=f"it must have text, at most {_ISSUE_CHARS_MAX} characters")
    return text


def _checkout(repo: Path) -> tuple[Checkout, str]:
    """The repository and its commit."""
    from choir.doors.mesh.git import find, must_commit

    found = find(repo)
    if found is None:
        raise Invalid(what=f"--repo {repo}", why="it is not in a git repository, which the branch is made in")
    return found, must_commit(found, "HEAD")


def _telling(*, as_json: bool) -> Tell:
    def tell(step: str, sentence: str, **facts: Any) -> None:
        if as_json:
            output.print_line(json.dumps({"step": step, "sentence": sentence, **facts}))
            sys.stdout.flush()
        else:
            output.say(sentence)

    return tell


@contextmanager
def _ending_early() -> Iterator[None]:
    """Whoever stops waiting does not stop the orders, and is told how to go on."""
    from choir.doors.mesh.model import NotDoneYet

    try:
        yield
    except NotDoneYet as error:
        output.say(f"{error} Run the same command again to go on; cancel with: choir job cancel {error.fields['job']}")
        raise typer.Exit(EXIT_NOT_DONE) from None
    except KeyboardInterrupt:
        output.say("What was ordered continues. Run the same command again to go on.")
        raise
