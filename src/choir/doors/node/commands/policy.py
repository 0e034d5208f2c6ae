"""`choir policy`: every number of the system and where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, HomeOption
from choir.policies import default_policy

if TYPE_CHECKING:
    from choir.foundation.policy import Policy, PolicyValue

app = typer.Typer(help="Show and explain every price, window, cap and weight.", no_args_is_help=True)


@app.command("show", epilog="Example: choir policy show issuing")
def show(
    part: Annotated[str, typer.Argument(help="Name prefix, such as ledger.", metavar="[PART]")] = "",
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """List the policy values in force, all or of one section."""
    from choir.foundation.policy import UnknownPolicy, describe, effective_hash

    output.want_json(as_json)
    policy = _policy(home)
    values = [item for item in describe(policy) if item.name.startswith(part)]
    if not values:
        raise UnknownPolicy(name=part)
    if as_json:
        output.print_json({"hash": effective_hash(policy), "values": [_as_json(item) for item in values]})
        return
    rows = [(item.name, *item.shown(item.value), "" if item.value == item.default else "changed") for item in values]
    output.print_table(["name", "value", "unit", ""], rows, right=[1])
    output.print_line(f"\nhash {effective_hash(policy)}")


@app.command("explain", epilog="Example: choir policy explain ledger.checkpoint_s")
def explain(
    name: Annotated[str, typer.Argument(help="A dotted name, such as ledger.checkpoint_s.")],
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Explain a value: meaning, bounds, source and how to change it. A section is listed."""
    from choir.foundation.policy import UnknownPolicy, describe

    output.want_json(as_json)
    values = list(describe(_policy(home)))
    found = next((item for item in values if item.name == name), None)
    part = name.rstrip(".") + "."
    if found is None and any(item.name.startswith(part) for item in values):
        show(part, home, as_json)
        if not as_json:
            output.say(f"`choir policy explain {part}NAME` explains one of them.")
        return
    if found is None:
        raise UnknownPolicy(name=name)
    if as_json:
        output.print_json(_as_json(found))
        return
    variable = "CHOIR_POLICY__" + name.upper().replace(".", "__")
    value, unit = found.shown(found.value)
    default, low, high = (found.shown(number)[0] for number in (found.default, found.low, found.high))
    output.print_line(f"{found.name} = {value} {unit}")
    output.print_line(found.doc)
    output.print_line(f"Default {default}, from {low} to {high}. Source: {found.source}.")
    output.print_line(f"Change it with {variable}, or in choir.toml under [policy.{name.rpartition('.')[0]}].")
    if unit != found.unit:  # an amount is set in whole smallest units, which is not how it is shown
        output.print_line(f"It is set in {found.unit}: {found.value} is {value} {unit}.")


def _policy(home: str | None) -> Policy:
    from choir.foundation.policy import load

    return load(default_policy(), output.settings_of(home).policy_overrides)


def _as_json(item: PolicyValue) -> dict[str, str | int]:
    return {
        "name": item.name,
        "value": item.value,
        "default": item.default,
        "unit": item.unit,
        "min": item.low,
        "max": item.high,
        "source": item.source,
        "doc": item.doc,
    }
