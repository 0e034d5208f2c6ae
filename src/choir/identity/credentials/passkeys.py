"""Passkeys: WebAuthn level 3, discoverable credentials, user verification always required.

Guarantees: an answer counts only for the challenge, purpose, person, origin and relying party it was made for,
and once; a signature counter that does not grow is refused and written down; every way of failing gives the
same refusal. A person may have several passkeys and always keeps one: recovery codes are no substitute, since
paper gets lost unnoticed. Removing a passkey ends its sessions.

No attestation is asked for, so none is trusted: which make of authenticator somebody uses is not our concern.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

import webauthn
from webauthn.authentication.verify_authentication_response import VerifiedAuthentication
from webauthn.helpers import (
    base64url_to_bytes,
    decode_credential_public_key,
    decoded_public_key_to_cryptography,
    options_to_json_dict,
    parse_attestation_object,
)
from webauthn.helpers.cose import COSEAlgorithmIdentifier
from webauthn.helpers.structs import (
    AttestationConveyancePreference,
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)
from webauthn.registration.verify_registration_response import VerifiedRegistration

from choir.foundation.clock import Clock
from choir.foundation.errors import Invalid, Refusal
from choir.identity import audit
from choir.identity.credentials.challenges import NOT_VERIFIED, Challenges
from choir.identity.credentials.model import (
    BadCredential,
    Challenge,
    LastPasskey,
    Purpose,
    TooManyPasskeys,
    UnknownPasskey,
)
from choir.identity.credentials.rates import Rates
from choir.identity.credentials.tries import attempt
from choir.identity.model import Principal, person_owner
from choir.identity.people import rules, store
from choir.identity.people.model import Person, UnknownPerson
from choir.identity.people.store import PasskeyRow
from choir.identity.policy import PeoplePolicy
from choir.storage.database import Tx

log = logging.getLogger(__name__)
T = TypeVar("T")

_RP_NAME = "Choir"
_ALGORITHMS = [
    COSEAlgorithmIdentifier.ECDSA_SHA_256,
    COSEAlgorithmIdentifier.EDDSA,
    COSEAlgorithmIdentifier.RSASSA_PKCS1_v1_5_SHA_256,
]
# What browsers send when no attestation is asked for; a self-attestation may pass through as "packed".
_FORMATS = frozenset({"none", "packed"})

Answer = Mapping[str, Any]  # what `credential.toJSON()` gives in the browser


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """Whom passkeys are made for."""

    id: str  # a host name
    origin: str  # scheme, host and port, as browsers write them


def relying_party(public_url: str) -> RelyingParty:
    """The relying party of a node that is reached at this address."""
    try:
        url = urlsplit(public_url)
        host, port = url.hostname, url.port
    except ValueError:
        host = None
    if host is None or url.scheme not in ("http", "https"):
        raise Invalid(what=f"public URL '{public_url[:80]}'", why="write it like https://choir.example")
    usual = {"http": 80, "https": 443}[url.scheme]
    shown = f"[{host}]" if ":" in host else host
    return RelyingParty(host, f"{url.scheme}://{shown}" + (f":{port}" if port not in (None, usual) else ""))


@dataclass(frozen=True, slots=True)
class Ceremony:
    """What the browser is asked to do; its answer comes back with the id."""

    id: UUID
    options: dict[str, Any]  # for PublicKeyCredential.parse…OptionsFromJSON


@dataclass(frozen=True, slots=True)
class ShownPasskey:
    """A person showed this passkey just now; from this a session can be started."""

    person: UUID
    passkey: bytes
    at_us: int


class _CounterBehind(BadCredential):
    """Two authenticators with one key, or an old answer; told apart only in the audit."""

    person: UUID
    passkey: bytes


class Passkeys:
    """Making, showing and removing passkeys."""

    def __init__(
        self, party: RelyingParty, challenges: Challenges, rates: Rates, clock: Clock, policy: PeoplePolicy
    ) -> None:
        self.party = party
        self._challenges = challenges
        self._rates = rates
        self._clock = clock
        self._policy = policy

    # Signing in and confirming

    def begin_sign_in(self, tx: Tx, address: str) -> Ceremony:
        """Ask for any passkey of this node; the authenticator knows whose it is."""
        challenge = self._challenges.give_to_stranger(tx, Purpose.SIGN_IN, self._rates.place(tx, address))
        return self._ask(challenge, [])

    def finish_sign_in(self, tx: Tx, ceremony: UUID, answer: Answer) -> ShownPasskey | Refusal:
        """Who showed a passkey. A refusal is returned, so that the challenge is used up: see `attempts`."""
        challenge = self._challenges.take(tx, ceremony, Purpose.SIGN_IN)
        return self._attempt_shown(tx, challenge, answer, None)

    def begin_confirming(self, tx: Tx, person: UUID, passkey: bytes) -> Ceremony:
        """Ask a signed-in person for the passkey of their session once more, before something dangerous."""
        challenge = self._challenges.give_to_person(tx, Purpose.CONFIRM, person)
        return self._ask(challenge, [passkey])

    def finish_confirming(
        self, tx: Tx, person: UUID, passkey: bytes, ceremony: UUID, answer: Answer
    ) -> ShownPasskey | Refusal:
        """The same passkey, shown again. A refusal is returned: see `attempts`."""
        challenge = self._challenges.take(tx, ceremony, Purpose.CONFIRM, person)
        return self._attempt_shown(tx, challenge, answer, passkey)

    def _ask(self, challenge: Challenge, passkeys: list[bytes]) -> Ceremony:
        options = webauthn.generate_authentication_options(
            rp_id=self.party.id,
            challenge=challenge.challenge,
            timeout=self._policy.challenge_s * 1000,
            allow_credentials=[PublicKeyCredentialDescriptor(id=id_) for id_ in passkeys],
            user_verification=UserVerificationRequirement.REQUIRED,
        )
        return Ceremony(challenge.id, options_to_json_dict(options))

    def _attempt_shown(
        self, tx: Tx, challenge: Challenge, answer: Answer, only: bytes | None
    ) -> ShownPasskey | Refusal:
        done = attempt(tx, lambda: self._shown(tx, challenge, answer, only))
        if isinstance(done, _CounterBehind):
            owner = person_owner(done.person)
            subject = audit.fingerprint(done.passkey)
            at_us = self._clock.now_us()
            audit.record(tx, "passkey.counter_behind", at_us=at_us, actor=owner, owner=owner, subject=subject)
        return done

    def _shown(self, tx: Tx, challenge: Challenge, answer: Answer, only: bytes | None) -> ShownPasskey:
        id_ = _checked(lambda: _credential_id(answer, self._policy.response_chars_max))
        if only is not None and id_ != only:
            raise _refused("another passkey of the session")
        passkey = store.lock_passkey(tx, id_)
        if passkey is None:
            raise _refused("unknown passkey")
        person = store.person(tx, passkey.person)
        if person is None or person.erased_us is not None or challenge.person not in (None, person.id):
            raise _refused("passkey of another person")
        _check_user_handle(answer, person, needed=challenge.person is None)
        verified = self._verified_assertion(challenge, answer, passkey)
        at_us = self._clock.now_us()
        store.use_passkey(tx, passkey.id, verified.new_sign_count, backed_up=verified.credential_backed_up, at_us=at_us)
        return ShownPasskey(person.id, passkey.id, at_us)

    def _verified_assertion(self, challenge: Challenge, answer: Answer, passkey: PasskeyRow) -> VerifiedAuthentication:
        verified = _checked(
            lambda: webauthn.verify_authentication_response(
                credential=dict(answer),
                expected_challenge=challenge.challenge,
                expected_rp_id=self.party.id,
                expected_origin=self.party.origin,
                credential_public_key=passkey.public_key,
                credential_current_sign_count=0,  # judged below, only after the signature is known to be good
                require_user_verification=True,
            )
        )
        # Authenticators that do not count always say 0; one that ever counted must go on counting.
        if (verified.new_sign_count or passkey.sign_count) and verified.new_sign_count <= passkey.sign_count:
            behind = _CounterBehind(why=NOT_VERIFIED)
            behind.person, behind.passkey = passkey.person, passkey.id
            raise behind
        return verified

    # Making passkeys: for a new person, for a signed-in one, for one who recovers

    def ask_for_new(self, challenge: Challenge, handle: str, user_handle: bytes, known: list[bytes]) -> Ceremony:
        """Ask for a new passkey under this handle, on an authenticator that has none of the known ones."""
        options = webauthn.generate_registration_options(
            rp_id=self.party.id,
            rp_name=_RP_NAME,
            user_name=handle,
            user_id=user_handle,
            challenge=challenge.challenge,
            timeout=self._policy.challenge_s * 1000,
            attestation=AttestationConveyancePreference.NONE,
            authenticator_selection=AuthenticatorSelectionCriteria(
                resident_key=ResidentKeyRequirement.REQUIRED,
                user_verification=UserVerificationRequirement.REQUIRED,
            ),
            exclude_credentials=[PublicKeyCredentialDescriptor(id=id_) for id_ in known],
            supported_pub_key_algs=_ALGORITHMS,
        )
        return Ceremony(challenge.id, options_to_json_dict(options))

    def ask_person_for_new(self, tx: Tx, challenge: Challenge, person: Person) -> Ceremony:
        """The same for somebody who is known."""
        known = [passkey.id for passkey in store.passkeys(tx, person.id)]
        return self.ask_for_new(challenge, person.handle or "", person.user_handle, known)

    def keep(self, tx: Tx, verified: VerifiedRegistration, person: UUID, name: str) -> PasskeyRow:
        """Keep a verified passkey for the person, whose row must be locked or new."""
        name = rules.checked_name(name, self._policy)
        if len(store.passkeys(tx, person)) >= self._policy.passkeys_max:
            raise TooManyPasskeys(limit=self._policy.passkeys_max)
        made = PasskeyRow(
            id=verified.credential_id,
            person=person,
            name=name,
            public_key=verified.credential_public_key,
            sign_count=verified.sign_count,
            aaguid=UUID(verified.aaguid),
            backed_up=verified.credential_backed_up,
            created_us=self._clock.now_us(),
            last_used_us=None,
        )
        if not store.insert_passkey(tx, made):
            raise _refused("a passkey that somebody has")
        self._record(tx, "passkey.added", person, made.id)
        return made

    def verified_new(self, challenge: Challenge, answer: Answer) -> VerifiedRegistration:
        """A new passkey that was made for this challenge."""
        id_ = _checked(lambda: _credential_id(answer, self._policy.response_chars_max))
        _checked(lambda: _check_format(answer))
        verified = _checked(
            lambda: webauthn.verify_registration_response(
                credential=dict(answer),
                expected_challenge=challenge.challenge,
                expected_rp_id=self.party.id,
                expected_origin=self.party.origin,
                require_user_verification=True,
                supported_pub_key_algs=_ALGORITHMS,
            )
        )
        if verified.credential_id != id_ or not _ID_BYTES_MIN <= len(id_) <= _ID_BYTES_MAX:
            raise _refused("credential id")
        # A key that could never verify anything (a point off the curve) is found out now, not at the first sign-in.
        _checked(
            lambda: decoded_public_key_to_cryptography(decode_credential_public_key(verified.credential_public_key))
        )
        return verified

    def begin_adding(self, tx: Tx, who: Principal) -> Ceremony:
        """Ask a signed-in person, who has just shown a passkey, for another one."""
        person = self._fresh_person(tx, who)
        challenge = self._challenges.give_to_person(tx, Purpose.ADD_PASSKEY, person.id)
        return self.ask_person_for_new(tx, challenge, person)

    def finish_adding(self, tx: Tx, who: Principal, ceremony: UUID, answer: Answer, name: str) -> PasskeyRow | Refusal:
        """Keep the new passkey. A refusal is returned: see `attempts`."""
        person = who.must_be_person()
        challenge = self._challenges.take(tx, ceremony, Purpose.ADD_PASSKEY, person)

        def add() -> PasskeyRow:
            verified = self.verified_new(challenge, answer)
            return self.keep(tx, verified, self._fresh_person(tx, who).id, name)

        return attempt(tx, add)

    # The account page

    @staticmethod
    def of(tx: Tx, person: UUID) -> list[PasskeyRow]:
        """A person's passkeys, oldest first."""
        return store.passkeys(tx, person)

    def rename(self, tx: Tx, who: Principal, passkey: bytes, name: str) -> None:
        person = who.must_be_person()
        if not store.rename_passkey(tx, person, passkey, rules.checked_name(name, self._policy)):
            raise UnknownPasskey
        self._record(tx, "passkey.renamed", person, passkey)

    def remove(self, tx: Tx, who: Principal, passkey: bytes) -> None:
        """Remove a passkey with its sessions; the last one stays, recovery codes or not."""
        person = self._fresh_person(tx, who)
        known = [each.id for each in store.passkeys(tx, person.id)]
        if passkey not in known:
            raise UnknownPasskey
        if len(known) == 1:
            raise LastPasskey
        store.delete_passkey(tx, person.id, passkey)
        self._record(tx, "passkey.removed", person.id, passkey)

    def _fresh_person(self, tx: Tx, who: Principal) -> Person:
        """The person, locked, who showed a passkey just now."""
        id_ = who.must_be_person()
        who.must_be_fresh(self._clock.now_us())
        person = store.lock_person(tx, id_)
        if person is None or person.erased_us is not None:
            raise UnknownPerson(person=person_owner(id_))
        return person

    def _record(self, tx: Tx, act: str, person: UUID, passkey: bytes) -> None:
        owner = person_owner(person)
        subject = audit.fingerprint(passkey)
        audit.record(tx, act, at_us=self._clock.now_us(), actor=owner, owner=owner, subject=subject)


_ID_BYTES_MIN, _ID_BYTES_MAX = 16, 1023  # WebAuthn level 3, section 4: "Credential ID"


def _checked(work: Callable[[], T]) -> T:
    """What the work gives; whatever else happens in it, hostile input is made for it, is one and the same refusal."""
    try:
        return work()
    except Refusal:
        raise
    except Exception as error:
        raise _refused(type(error).__name__) from None


def _refused(reason: str) -> BadCredential:
    """The one refusal. The reason is for the log, and holds nothing that the caller sent."""
    log.info("a passkey was refused", extra={"reason": reason})
    return BadCredential(why=NOT_VERIFIED)


def _credential_id(answer: Answer, chars_max: int) -> bytes:
    """The id an answer speaks of, after a first look at its shape and at what the page around it said."""
    response = answer["response"]
    for field in (answer["id"], answer["rawId"], *response.values()):
        if isinstance(field, str) and len(field) > chars_max:
            raise ValueError("too long")
    client_data = json.loads(base64url_to_bytes(response["clientDataJSON"]))
    # Passkeys are shown on our own pages only, never inside a frame of somebody else's.
    if client_data.get("crossOrigin", False) is not False or client_data.get("topOrigin") is not None:
        raise ValueError("cross-origin")
    return base64url_to_bytes(answer["rawId"])


def _check_format(answer: Answer) -> None:
    """Refuse attestations that were not asked for before any of their certificates is parsed."""
    attestation = parse_attestation_object(base64url_to_bytes(answer["response"]["attestationObject"]))
    if attestation.fmt not in _FORMATS:
        raise ValueError("attestation format")


def _check_user_handle(answer: Answer, person: Person, *, needed: bool) -> None:
    """A discoverable credential says whose it is, and that must be whom we gave it to."""
    given = answer["response"].get("userHandle")
    if given is None and not needed:
        return
    if not isinstance(given, str) or _checked(lambda: base64url_to_bytes(given)) != person.user_handle:
        raise _refused("user handle")
