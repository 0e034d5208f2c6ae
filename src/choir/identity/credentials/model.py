"""Credentials: challenges and logins under way, ids of tokens and logins, and what can be wrong with one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from choir.foundation.errors import NotAllowed, NotFound, Refusal, Unauthenticated
from choir.foundation.ids import parse_id, show_id


class Purpose(StrEnum):
    """What a ceremony is for; an answer to one is worth nothing for another."""

    SIGN_UP = "sign_up"
    SIGN_IN = "sign_in"
    CONFIRM = "confirm"
    ADD_PASSKEY = "add_passkey"
    RECOVER = "recover"


@dataclass(frozen=True, slots=True)
class Challenge:
    """A challenge that was given out, or taken."""

    id: UUID
    person: UUID | None
    challenge: bytes
    data: dict[str, Any]
    expires_us: int


@dataclass(frozen=True, slots=True)
class Login:
    """A login under way."""

    id: UUID
    challenge: bytes
    code: str
    name: str
    scopes: list[str]
    days: int
    created_us: int
    expires_us: int
    person: UUID | None
    state: str  # waiting, approved, denied; of an act also done
    act: str = "login"  # or what one act is asked for: agent, delegation, token
    terms: dict[str, Any] | None = None  # of the act: an `AskedAct`
    asked_by: UUID | None = None  # the person whose credential asks for an act; nobody else can confirm it
    made: UUID | None = None  # what the act made


class ActKind(StrEnum):
    """What a terminal may ask a person to confirm."""

    AGENT = "agent"
    DELEGATION = "delegation"
    TOKEN = "token"  # noqa: S105 - a kind


@dataclass(frozen=True, slots=True)
class AskedAct:
    """One act as its own route would take it."""

    kind: ActKind
    body: dict[str, Any]  # the request's content; its form was checked by the door
    ends_us: int = 0  # when what it makes ends; 0 where it has no end
    key: str | None = None  # of several with one key, one makes something


def token_id(value: UUID) -> str:
    return show_id("token", value)


def parse_token_id(text: str) -> UUID:
    return parse_id("token", text)


def login_id(value: UUID) -> str:
    return show_id("login", value)


def parse_login_id(text: str) -> UUID:
    return parse_id("login", text)


class CrossSite(NotAllowed):
    code = "identity.cross_site"
    sentence = "This request came from another site's page, so the browser session is ignored."
    hint = "Use the node's own pages, at its public URL; programs use a token."


class UnknownToken(NotFound):
    code = "identity.token_unknown"
    sentence = "There is no token {token}."


class UnknownLogin(NotFound):
    code = "identity.login_unknown"
    sentence = "There is no pending login {login}; it was used or has expired."
    hint = "Start again, for example with `choir login`."


class LoginDenied(NotAllowed):
    code = "identity.login_denied"
    sentence = "The login was denied in the browser."


class LoginDecided(Refusal):
    code = "identity.login_decided"
    sentence = "The login {login} was already {state}."


class BadCredential(Unauthenticated):
    code = "identity.bad_credential"
    sentence = "The credential is not valid: {why}."
    hint = "Log in again, or create a new token."


class TooManyPasskeys(Refusal):
    code = "identity.too_many_passkeys"
    sentence = "A person has at most {limit} passkeys."
    hint = "Remove one that you no longer use."


class UnknownPasskey(NotFound):
    code = "identity.passkey_unknown"
    sentence = "You have no such passkey."


class UnknownSession(NotFound):
    code = "identity.session_unknown"
    sentence = "You have no such session."


class LastPasskey(Refusal):
    code = "identity.last_passkey"
    sentence = "This is the last passkey; add another one before you remove it."


def ceremony_id(id_: UUID) -> str:
    return show_id("ceremony", id_)


def parse_ceremony_id(text: str) -> UUID:
    return parse_id("ceremony", text)
