"""One hierarchy for everything that can be said no to.

Guarantees: every error has a stable dotted code for machines, a sentence for people that says
what happened, an optional hint that says what to do, and fields with the values that mattered.
The class says the category; each door maps categories to its own language (an HTTP status, an
exit code) in one place. Fields must never hold a secret.
"""

from __future__ import annotations

from typing import Any, ClassVar

_by_code: dict[str, type[ChoirError]] = {}


class ChoirError(Exception):
    """Base of all expected errors. Subclasses set `code`, `sentence` and maybe `hint`."""

    code: ClassVar[str] = "error"
    sentence: ClassVar[str] = "Something went wrong."
    hint: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "code" in cls.__dict__:
            known = _by_code.setdefault(cls.code, cls)
            names = [f"{each.__module__}.{each.__qualname__}" for each in (known, cls)]
            if names[0] != names[1]:
                raise TypeError(f"error code {cls.code!r} is used by {names[0]} and {names[1]}")

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        super().__init__(self.sentence.format(**fields))

    @property
    def advice(self) -> str:
        """What the reader can do about it; empty where there is nothing to add."""
        return self.hint.format(**self.fields)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.fields)


def _rebuild(cls: type[ChoirError], fields: dict[str, Any]) -> ChoirError:
    return cls(**fields)


class Refusal(ChoirError):
    """A well-formed request that the rules do not allow now. Nothing was changed."""

    code = "refused"
    sentence = "The request was refused."


class Invalid(Refusal):
    """A request that can never be accepted as it is written."""

    code = "invalid"
    sentence = "{what} is not valid: {why}."


class TooLarge(Refusal):
    """A request beyond a size limit."""

    code = "too_large"
    sentence = "{what} is too large: {size} is above the limit of {limit}."


class NotFound(Refusal):
    """The thing asked for does not exist, or not for this caller."""

    code = "not_found"
    sentence = "There is no {what} {id}."


class Gone(NotFound):
    """It was there, and was removed."""

    code = "gone"
    sentence = "{what} was removed."


class Unauthenticated(Refusal):
    """No credential, or one that is not valid."""

    code = "unauthenticated"
    sentence = "This needs a valid credential."
    hint = (
        "Log in with `choir login`, or set CHOIR_TOKEN; on the node's machine the operator token is used automatically."
    )


class NotAllowed(Refusal):
    """A valid credential that does not reach this far."""

    code = "not_allowed"
    sentence = "This is not allowed: {why}."


class Unavailable(ChoirError):
    """A part of the system cannot answer now; the same request may succeed later."""

    code = "unavailable"
    sentence = "{what} is not available: {why}."


class Broken(ChoirError):
    """A check found that stored data is not what it should be."""

    code = "broken"
    sentence = "{what} does not verify: {why}."


def error_class(code: str) -> type[ChoirError] | None:
    """The class behind a code, so that a client can raise what the server refused with."""
    return _by_code.get(code)


def known_codes() -> dict[str, type[ChoirError]]:
    """All codes, for the reference page and for tests."""
    return dict(sorted(_by_code.items()))
