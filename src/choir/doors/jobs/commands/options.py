"""What every order can be given besides what it is about: money, time, and who shall do it.

`order` gives a command all of these options. Guarantees: all of them are read, and what cannot be meant is refused,
before anything is sent or spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from choir.doors.cli import groups, output
from choir.doors.cli.output import AsJson, ForceOption, KeyOption, NodeOption
from choir.foundation.errors import Invalid
from choir.foundation.money import Asset

BudgetOption = Annotated[
    str | None,
    typer.Option("--budget", help="Maximum price; default: from the node's price table.", metavar="SAT"),
]
TimeLimitOption = Annotated[
    int | None, typer.Option("--time-limit", help="Seconds per attempt; default: from the node's policy.", min=1)
]
TimeoutOption = Annotated[
    float | None, typer.Option("--timeout", help="Seconds to wait for the result; default: until the job closes.")
]
StrategyOption = Annotated[
    str | None,
    typer.Option(
        "--strategy", help="Provider selection: sequential_retry (default) or first_available.", metavar="STRATEGY"
    ),
]
RaceOption = Annotated[
    int | None, typer.Option("--race", help="Run this many attempts at once; the first that passes is paid.")
]
PinOption = Annotated[str | None, typer.Option("--pin", help="Only this provider.", metavar="PROVIDER")]
PreferOption = Annotated[
    list[str] | None,
    typer.Option("--prefer", help="This provider first, then others; may be repeated.", metavar="PROVIDER"),
]
MinSuccessOption = Annotated[
    float | None,
    typer.Option("--min-success", help="Minimum success rate of providers, in percent.", min=0, max=100),
]
RegionOption = Annotated[
    list[str] | None, typer.Option("--region", help="Only providers in this region; may be repeated.", metavar="REGION")
]
IsolationOption = Annotated[
    str | None,
    typer.Option("--isolation", help="Minimum claimed isolation: bubblewrap, container or gvisor.", metavar="TIER"),
]
WeightsOption = Annotated[
    str | None,
    typer.Option(
        "--weights",
        help="Your own weights in provider selection: price, reputation, capacity, isolation, geography.",
        metavar="NAME=N,…",
    ),
]
SkillOption = Annotated[
    str | None,
    typer.Option("--skill", help="A skill for the worker; see `choir skill ls`.", metavar="NAME[@VERSION]"),
]
SecondReviewOption = Annotated[
    str | None,
    typer.Option(
        "--second-review",
        help="An independent second reviewer, paid extra: best_effort or required.",
        metavar="HOW",
    ),
]
NoWaitOption = Annotated[bool, typer.Option("--no-wait", help="Order, print the job's id, and do not wait.")]
PublicOption = Annotated[
    bool, typer.Option("--public", help="Let everybody read the order and what comes of it; see `choir job unshare`.")
]
OutOption = Annotated[Path | None, typer.Option("--out", help="Write the artifact to this file.", metavar="FILE")]

STRATEGIES = ("sequential_retry", "first_available")


@dataclass(frozen=True, slots=True)
class OrderOptions:
    """How an order is to be made and followed."""

    node: str | None
    budget: int | None
    time_limit_s: int | None
    strategy: dict[str, Any]
    criteria: dict[str, Any]
    key: str | None
    public: bool
    out: Path | None
    force: bool
    wait: bool
    timeout_s: float | None
    as_json: bool
    skill: str | None = None

    def terms(self, budget: int) -> dict[str, Any]:
        """What any request of the SDK is given besides what it is about."""
        return {
            "budget": budget,
            "time_limit_s": self.time_limit_s,
            "strategy": self.strategy,
            "criteria": self.criteria,
            "key": self.key,
            "public": self.public,
            **({} if self.skill is None else {"skill": self.skill}),
        }


def read(
    budget: BudgetOption = None,
    time_limit: TimeLimitOption = None,
    strategy: StrategyOption = None,
    race: RaceOption = None,
    pin: PinOption = None,
    prefer: PreferOption = None,
    min_success: MinSuccessOption = None,
    region: RegionOption = None,
    isolation: IsolationOption = None,
    weights: WeightsOption = None,
    skill: SkillOption = None,
    key: KeyOption = None,
    public: PublicOption = False,
    no_wait: NoWaitOption = False,
    timeout: TimeoutOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> OrderOptions:
    """The options as they were typed, read."""
    output.want_json(as_json)
    with output.reading_options():
        found = OrderOptions(
            node=node,
            budget=budget_of(budget),
            time_limit_s=time_limit,
            strategy=strategy_of(strategy, race, pin, prefer),
            criteria=criteria_of(min_success, region, isolation, weights),
            skill=skill,
            key=key,
            public=public,
            out=out,
            force=force,
            wait=not no_wait,
            timeout_s=timeout,
            as_json=as_json,
        )
    if out is not None:
        output.may_write(out, force=force)
    return found


order = groups.shared(read, "wanted")


def budget_of(text: str | None) -> int | None:
    return None if text is None else Asset.SAT.parse(text)


def strategy_of(named: str | None, race: int | None, pin: str | None, prefer: list[str] | None) -> dict[str, Any]:
    """A strategy as the node reads it. At most one can be asked for."""
    asked = [
        name for name, given in (("--strategy", named), ("--race", race), ("--pin", pin), ("--prefer", prefer)) if given
    ]
    if len(asked) > 1:
        raise Invalid(what=" and ".join(asked), why="give only one of them")
    if race is not None:
        return {"kind": "race", "count": race}
    if pin is not None:
        return {"kind": "pinned", "provider": pin}
    if prefer:
        return {"kind": "preferred_then_pool", "preferred": prefer}
    if named is not None and named not in STRATEGIES:
        raise Invalid(
            what=f"The strategy '{named[:40]}'", why=f"there are {', '.join(STRATEGIES)}, --race, --pin, --prefer"
        )
    return {} if named is None else {"kind": named}


def criteria_of(
    min_success: float | None, region: list[str] | None, isolation: str | None, weights: str | None = None
) -> dict[str, Any]:
    """Criteria as the node reads them."""
    found: dict[str, Any] = {}
    if min_success is not None:
        found["min_success_bps"] = round(min_success * 100)
    if region:
        found["regions"] = region
    if isolation is not None:
        found["min_isolation"] = isolation
    if weights is not None:
        found["weights"] = weights_of(weights)
    return found


def weights_of(text: str) -> dict[str, int]:
    """Weights as people type them: price=60,reputation=40. The node brings them to 100 % together."""
    found: dict[str, int] = {}
    for item in text.split(","):
        name, _, number = (part.strip() for part in item.partition("="))
        if not number.isascii() or not number.isdigit() or name in found:
            raise Invalid(what=f"--weights {text[:60]}", why="write it like price=60,reputation=40")
        found[name] = int(number)
    return found
