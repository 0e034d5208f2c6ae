"""Shapes about atoms."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from choir.commons.atoms.model import Atom, Kind, State, Transition
from choir.doors.shapes import Wire, example
from choir.foundation.clock import format_time
from choir.objects.model import Signature

_HASH = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_AT = "2026-01-02T03:04:05.000000Z"
_ATOM: dict[str, Any] = {
    "hash": _HASH,
    "kind": "CLAIM",
    "state": "UNTRUSTED",
    "made_at": _AT,
    "flagged": False,
    "words": "Bridges hum in the wind.",
}
_Text = Annotated[str, Field(min_length=1, max_length=100_000)]
_Hash = Annotated[str, Field(min_length=71, max_length=71)]
_Pointer = Annotated[str, Field(min_length=75, max_length=100, description="Such as sha256:…@120-188.")]
KindText = Literal["SOURCE", "EXTRACT", "CLAIM", "BINDING", "OMISSION", "HYPERTHESIS", "CONJECTURE", "SYNTHESIS"]
StateText = Literal["UNTRUSTED", "QUARANTINED", "PROMOTION-PENDING", "PROMOTED", "RETRACTED"]


class ClaimIn(Wire, json_schema_extra=example(text="Bridges hum in the wind.", scope="cable-stayed bridges")):
    """One statement."""

    text: _Text
    scope: _Text | None = None


class ExtractIn(Wire, json_schema_extra=example(pointer=f"{_HASH}@120-188")):
    """A span of a source."""

    pointer: _Pointer


class BindingIn(
    Wire, json_schema_extra=example(claim=_HASH, pointer=f"{_HASH}@120-188", relation="supports", confidence_bps=9000)
):
    """What a span does to a claim."""

    claim: _Hash
    pointer: _Pointer
    relation: Literal["supports", "contradicts", "qualifies"] = "supports"
    confidence_bps: int | None = Field(
        default=None, ge=1, le=10_000, description="Default: the policy's commons.confidence_default_bps."
    )


class OmissionIn(Wire, json_schema_extra=example(about=_HASH, statement="…", pointers=[f"{_HASH}@120-188"])):
    """What is missing about something, and where it is said."""

    about: _Hash
    statement: _Text
    pointers: list[_Pointer] = Field(min_length=1, max_length=1_000)


class HyperthesisIn(Wire, json_schema_extra=example(statement="…", bound="…", about=None)):
    """A blind spot, and how far it reaches."""

    statement: _Text
    bound: _Text
    about: _Hash | None = None


class ConjectureIn(Wire, json_schema_extra=example(claim=_HASH, test="…", edge="…", expected_change="…", scope="…")):
    """A claim with its test."""

    claim: _Hash
    test: _Text
    edge: _Text
    expected_change: _Text
    scope: _Text


class AtomOut(Wire, json_schema_extra=example(**_ATOM)):
    """An atom and its state."""

    hash: str
    kind: KindText
    state: StateText
    made_at: str
    flagged: bool = Field(description="Something that it rests on was retracted or demoted.")
    words: str = ""

    @classmethod
    def of(cls, item: Atom, words: str = "") -> AtomOut:
        return cls(
            hash=item.hash,
            kind=item.kind.value,
            state=item.state.value,
            made_at=format_time(item.made_us),
            flagged=item.flagged,
            words=words,
        )


class AtomPage(Wire, json_schema_extra=example(items=[_ATOM], next=None)):
    items: list[AtomOut]
    next: str | None = None


class TransitionOut(
    Wire,
    json_schema_extra=example(
        at=_AT, before=None, after="UNTRUSTED", act="make", actor="maker", by="person:…", reason="made", evidence={}
    ),
):
    """One change of state."""

    at: str
    before: StateText | None = None
    after: StateText
    act: str
    actor: str
    by: str
    reason: str
    evidence: dict[str, Any]

    @classmethod
    def of(cls, item: Transition) -> TransitionOut:
        return cls(
            at=format_time(item.at_us),
            before=None if item.before is None else item.before.value,
            after=item.after.value,
            act=item.act,
            actor=item.actor.value,
            by=item.by,
            reason=item.reason,
            evidence=item.evidence,
        )


class SignatureOut(Wire, json_schema_extra=example(scheme="bip340", public="…", signature="…")):
    """A signature over the atom's hash."""

    scheme: str
    public: str
    signature: str

    @classmethod
    def of(cls, item: Signature) -> SignatureOut:
        return cls(scheme=item.scheme.value, public=item.public.hex(), signature=item.signature.hex())


class AttestationOut(
    Wire,
    json_schema_extra=example(
        type="BINDING_VALIDITY", hash=_HASH, result="pass", level="L2", verifier="…", attester="system:commons", at=_AT
    ),
):
    """What somebody attested about an atom."""

    type: str
    hash: str
    result: str
    level: str | None = None
    verifier: str
    attester: str
    at: str


class AtomDetail(
    Wire,
    json_schema_extra=example(
        atom=_ATOM,
        content={"kind": "CLAIM", "text": "Bridges hum in the wind."},
        signatures=[],
        history=[],
        rests_on=[],
        carries=[],
        unsettled_by=[],
        attestations=[],
    ),
):
    """Everything about an atom."""

    atom: AtomOut
    content: dict[str, Any]
    signatures: list[SignatureOut]
    history: list[TransitionOut]
    rests_on: list[AtomOut]
    carries: list[AtomOut] = Field(description="What rests on it, as far as it is public; at most 200.")
    unsettled_by: list[AtomOut] = Field(description="What was retracted or demoted of all that it rests on.")
    attestations: list[AttestationOut]


def kind_of(text: KindText) -> Kind:
    return Kind(text)


def state_of(text: StateText | None) -> State | None:
    return None if text is None else State(text)
