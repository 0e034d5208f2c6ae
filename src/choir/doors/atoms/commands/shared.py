"""What `choir claim` and `choir atom` share: options, and how atoms are made, listed and shown."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from choir.doors.articles.author import as_author
from choir.doors.cli import output
from choir.foundation.errors import Invalid

if TYPE_CHECKING:
    from choir.doors.atoms.shapes import AtomDetail, AtomOut, KindText, StateText
    from choir.doors.sdk.client import Client

AtomArgument = Annotated[str, typer.Argument(help="The atom's hash, such as sha256:9f86….", metavar="ATOM")]
ClaimArgument = Annotated[str, typer.Argument(help="The claim's hash, such as sha256:9f86….", metavar="CLAIM")]
PointerArgument = Annotated[str, typer.Argument(help="Such as sha256:9f86…@120-188.", metavar="POINTER")]
StateOption = Annotated[
    str | None,
    typer.Option("--state", help="UNTRUSTED, QUARANTINED, PROMOTION-PENDING, PROMOTED or RETRACTED.", metavar="STATE"),
]
KindOption = Annotated[str, typer.Option("--kind", help="Such as BINDING or OMISSION.", metavar="KIND")]
LimitOption = Annotated[int, typer.Option("--limit", help="Maximum number of atoms.", min=1)]
RelationOption = Annotated[str, typer.Option("--relation", help="supports, contradicts or qualifies.", metavar="WORD")]
ConfidenceOption = Annotated[
    float | None,
    typer.Option("--confidence", help="From 0.0001 to 1; default: the node's, as in an article.", min=0.0001, max=1.0),
]
ROWS = 20


def bind(claim: str, pointer: str, relation: str, confidence: float | None, node: str | None, as_json: bool) -> None:
    from choir.commons.articles.model import Relation

    output.want_json(as_json)
    with output.reading_options():
        if relation not in list(Relation):
            raise Invalid(what=f"--relation {relation[:40]}", why=f"there are {', '.join(Relation)}")
    bps = None if confidence is None else round(confidence * 10_000)
    make(
        node,
        as_json,
        lambda client: client.atoms.binding(claim, pointer, relation=relation, confidence_bps=bps),
    )


def make(node: str | None, as_json: bool, make: Callable[[Client], AtomOut]) -> None:
    output.want_json(as_json)
    with as_author(node) as author:
        found = make(author.client)
    if as_json:
        output.print_json(found.model_dump(mode="json"))
    else:
        output.print_line(f"{found.hash}  {found.kind}  {found.state}")


def list_(node: str | None, as_json: bool, kind: str, state: str | None, limit: int) -> None:
    output.want_json(as_json)
    known_kind, known_state = _words(kind, state)
    assert known_kind is not None
    with as_author(node) as author:
        found = author.client.atoms.all(known_kind, state=known_state, limit=min(limit, 100))
        _print(list(itertools.islice(found, limit)), as_json=as_json)


def find(node: str | None, as_json: bool, words: str, kind: str | None, state: str | None, limit: int) -> None:
    output.want_json(as_json)
    known_kind, known_state = _words(kind, state)
    with as_author(node) as author:
        found = author.client.atoms.find(words, kind=known_kind, state=known_state, limit=min(limit, 500))
        _print(found.items, as_json=as_json)


def _words(kind: str | None, state: str | None) -> tuple[KindText | None, StateText | None]:
    from choir.doors.atoms import shapes

    with output.reading_options():
        for option, given, known in (("--kind", kind, shapes.KindText), ("--state", state, shapes.StateText)):
            if given is not None and given.upper() not in get_args(known):
                raise Invalid(what=f"{option} {given[:40]}", why=f"there are {', '.join(get_args(known))}")
    upper = [None if item is None else item.upper() for item in (kind, state)]
    return cast("Any", upper[0]), cast("Any", upper[1])


def _print(found: list[AtomOut], *, as_json: bool) -> None:
    if as_json:
        output.print_json([item.model_dump(mode="json") for item in found])
    elif not found:
        output.say("None found.")
    else:
        rows = [
            (item.hash, item.kind, item.state + (" (flagged)" if item.flagged else ""), item.words) for item in found
        ]
        output.print_table(("atom", "kind", "state", "words"), rows, whole=(0,))


def show_detail(atom: str, node: str | None, as_json: bool) -> None:
    output.want_json(as_json)
    with as_author(node) as author:
        found = author.client.atoms.get(atom)
    if as_json:
        output.print_json(found.model_dump(mode="json"))
    else:
        _print_detail(found)


def _print_detail(found: AtomDetail) -> None:
    atom = found.atom
    output.print_line(f"{atom.hash}  {atom.kind}  {atom.state}")
    for name, value in found.content.items():
        if name not in ("kind", "text") or atom.kind == "CLAIM":
            output.print_line(f"  {name:<14} {value}")
    for signature in found.signatures:
        output.print_line(f"  signed by      {signature.scheme} {signature.public}")
    for item in found.attestations:
        output.print_line(
            f"  attested       {item.type} {item.result} {item.level or ''} by {item.attester}, {item.at}"
        )
    for below in found.rests_on:
        output.print_line(f"  rests on       {below.hash} {below.kind} {below.state}")
    for above in found.carries:
        output.print_line(f"  carries        {above.hash} {above.kind} {above.state}")
    for root in found.unsettled_by:
        output.print_line(f"  revalidate     rests on {root.hash}, which is {root.state}")
    for step in found.history:
        output.print_line(f"  {step.at}  {step.after}, {step.act} by the {step.actor}: {step.reason}")
