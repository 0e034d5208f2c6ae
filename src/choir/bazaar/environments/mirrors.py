"""What the operator says about the network of set-ups: `mirrors.toml` in the home folder.

An order names hosts; that list is what a set-up may reach. The operator may narrow it (`only`), and may say where a
host is really to be found: another host, an address that is not public, variables that point a tool there, a header
that the proxy adds and the set-up never sees. The file stays on the machine; nothing of it is in an order or a layer's
name.

    only = ["pypi.org", "files.pythonhosted.org"]

    [[mirror]]
    instead_of = ["pypi.org", "files.pythonhosted.org"]
    hosts = ["pypi.internal"]
    private = true
    environment = { PIP_INDEX_URL = "https://pypi.internal/simple" }
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from choir.bazaar.environments.model import HostNotOffered
from choir.foundation.errors import Invalid
from choir.sandbox.egress.model import Credential, Egress, EgressRule
from choir.sandbox.egress.rules import fits

FILE = "mirrors.toml"
_NAMES = {"instead_of", "hosts", "private", "environment", "credential"}
_TLS_PORT, _PLAIN_PORT = 443, 80


class BadMirrors(Invalid):
    """The operator's file cannot be used."""

    code = "environments.bad_mirrors"
    sentence = "{path} is not valid: {why}."


@dataclass(frozen=True, slots=True)
class Mirror:
    """Where some hosts are really found."""

    instead_of: tuple[str, ...]
    hosts: tuple[str, ...]
    private: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    credential: Credential | None = None


@dataclass(frozen=True, slots=True)
class Mirrors:
    """All that the operator says."""

    mirrors: tuple[Mirror, ...] = ()
    only: tuple[str, ...] | None = None  # None: whatever an order names

    def way_out(self, hosts: tuple[str, ...], total_bytes_max: int, requests_max: int) -> Egress | None:
        """What a set-up that names these hosts may reach; nothing if it names none."""
        if not hosts:
            return None
        for host in hosts:
            if self.only is not None and host not in self.only and not any(fits(item, host) for item in self.only):
                raise HostNotOffered(host=host)
        found = [rule for mirror in self._used(hosts) for rule in _rules(mirror)]
        known = {rule.host for rule in found}
        found += [EgressRule(host, (_TLS_PORT,), tunnel=True) for host in hosts if host not in known]
        return Egress(tuple(found), requests_max=requests_max, total_bytes_max=total_bytes_max)

    def variables(self, hosts: tuple[str, ...]) -> dict[str, str]:
        """What points tools at the mirrors."""
        return {name: value for mirror in self._used(hosts) for name, value in mirror.environment.items()}

    def _used(self, hosts: tuple[str, ...]) -> list[Mirror]:
        return [mirror for mirror in self.mirrors if set(mirror.instead_of) & set(hosts)]


def _rules(mirror: Mirror) -> list[EgressRule]:
    if mirror.credential is None:
        return [EgressRule(host, (_TLS_PORT,), tunnel=True, private=mirror.private) for host in mirror.hosts]
    # The proxy can add a header only where it can look inside: asked for as http://, fetched as https://.
    return [
        EgressRule(host, (_PLAIN_PORT,), upstream_tls=True, private=mirror.private, credential=mirror.credential)
        for host in mirror.hosts
    ]


def read_mirrors(path: Path) -> Mirrors:
    """The operator's file; without one, orders reach what they name."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Mirrors()
    except (OSError, ValueError) as error:
        raise BadMirrors(path=str(path), why=str(error)[:200].rstrip(".")) from None
    if unknown := set(told) - {"only", "mirror"}:
        raise BadMirrors(path=str(path), why=f"there is no setting '{min(unknown)[:40]}'")
    only = _texts(path, told["only"], "only") if "only" in told else None
    entries = told.get("mirror", [])
    if not isinstance(entries, list):
        raise BadMirrors(path=str(path), why="write each mirror below [[mirror]]")
    return Mirrors(tuple(_mirror(path, item) for item in entries), only)


def _mirror(path: Path, item: dict[str, Any]) -> Mirror:
    if unknown := set(item) - _NAMES:
        raise BadMirrors(path=str(path), why=f"a mirror has no setting '{min(unknown)[:40]}'")
    instead_of = _texts(path, item.get("instead_of"), "instead_of")
    variables = item.get("environment", {})
    if not isinstance(variables, dict) or not all(isinstance(value, str) for value in variables.values()):
        raise BadMirrors(path=str(path), why="environment must be a table of texts")
    header, _, value = str(item.get("credential", "")).partition(":")
    credential = Credential(header.strip(), value.strip()) if value else None
    hosts = _texts(path, item.get("hosts", list(instead_of)), "hosts")
    return Mirror(instead_of, hosts, item.get("private") is True, variables, credential)


def _texts(path: Path, value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadMirrors(path=str(path), why=f"{name} must be a list of host names")
    return tuple(value)
