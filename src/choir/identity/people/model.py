"""People, and what can be wrong with a handle, a vouch or who is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from choir.foundation.errors import Invalid, NotFound, Refusal
from choir.identity.model import person_owner


@dataclass(frozen=True, slots=True)
class Person:
    """A person; the handle is empty once they were erased."""

    id: UUID
    handle: str | None
    user_handle: bytes
    created_us: int
    erased_us: int | None
    sybil_signs: int  # others who had come from the same place when they signed up
    sybil_score: int

    @property
    def owner(self) -> str:
        return person_owner(self.id)


class UnknownPerson(NotFound):
    code = "identity.person_unknown"
    sentence = "There is no person {person}."


class HandleTaken(Refusal):
    code = "identity.handle_taken"
    sentence = "The handle '{handle}' is taken."


class HandleAlike(Refusal):
    code = "identity.handle_alike"
    sentence = "The handle '{handle}' looks like one that is taken."
    hint = "Choose one that cannot be confused: 0 and o, 1 and l, rn and m, vv and w, - and _ look alike."


class BadHandle(Invalid):
    code = "identity.bad_handle"
    sentence = "The handle '{handle}' is not valid: {why}."


class NotInGoodStanding(Refusal):
    code = "identity.not_in_good_standing"
    sentence = "This account cannot vouch for others yet: {why}."


class SameIdentity(Refusal):
    code = "identity.same_identity"
    sentence = "You cannot vouch for yourself, nor for an account that is treated as yours."
