"""Becoming a provider at a node, or coming back as the one that one was.

Guarantees: what is the same is not sent again; the result key of this folder is the registered one afterwards, unless
another machine is at work with its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from choir.bazaar.providers.model import UnknownProvider
from choir.bazaar.providers.rules import key_proof_digest
from choir.bazaar.trajectories.reader import provider_of
from choir.doors.provider.home import DEFAULT_NAME
from choir.doors.provider.machine import Machine
from choir.doors.provider.model import ServedElsewhere, ServeOptions
from choir.doors.providers.shapes import ProviderOut
from choir.doors.sdk.client import Client
from choir.identity.keys.secret_values import SecretKey

_UNKNOWN_REGION = "unknown"


@dataclass(frozen=True, slots=True)
class Proof:
    """A result key and its signature over who uses it."""

    public: str
    signature: str


def proof_of(key: SecretKey, owner: str) -> Proof:
    import coincurve

    public = provider_of(key)
    signature = coincurve.PrivateKey(key.reveal()).sign_schnorr(key_proof_digest(owner, public))
    return Proof(public.hex(), signature.hex())


def known(client: Client) -> ProviderOut | None:
    """One's own provider, if there is one."""
    try:
        return client.providers.me()
    except UnknownProvider:
        return None


def enrol(client: Client, owner: str, key: SecretKey, wanted: ServeOptions, machine: Machine) -> ProviderOut:
    """Be registered with these claims, this key, these types and this capacity, and take work."""
    found = known(client)
    proof = proof_of(key, owner)
    claims = _claims(found, wanted, machine)
    if found is None or found.retired_at is not None:
        found = client.providers.register(
            **claims, capacity=wanted.capacity, result_key=proof.public, proof=proof.signature
        )
    elif found.result_key != proof.public:
        if found.online:
            raise ServedElsewhere(provider=found.id)
        found = client.providers.change_key(proof.public, proof.signature)
    if found.claimed is None or found.claimed.model_dump() != claims:
        found = client.providers.claim(**claims)
    sold = tuple(sorted(offer.type for offer in found.offers if offer.offered))
    if sold != machine.types or found.capacity != wanted.capacity:
        found = client.providers.declare(machine.types, wanted.capacity)
    return client.providers.drain(False) if found.draining else found


def _claims(found: ProviderOut | None, wanted: ServeOptions, machine: Machine) -> dict[str, str]:
    """What is claimed: as asked, else as it was."""
    before = found.claimed if found is not None else None
    return {
        "name": wanted.name or (before.name if before else DEFAULT_NAME),
        "region": wanted.region or (before.region if before else _UNKNOWN_REGION),
        "model": machine.model,
        "isolation": wanted.isolation.label,
    }
