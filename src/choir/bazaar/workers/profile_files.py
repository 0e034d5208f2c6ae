"""A profile as a TOML file, for agents that have no preset.

    name = "mine"
    argv = ["my-agent", "--task", "{task_file}", "--model", "{model}"]
    types = ["patch"]                    # the default
    model = "some-model"
    pass = ["MY_LICENCE"]                # variables of the provider that the agent gets
    with_pytest = true
    self_check = true
    tools = ["read", "edit", "shell"]    # what the agent uses; an order that allows less is given back
    reports = ""                         # how it tells what it did: as claude-code, mini-swe-agent or aider do

    [environment]
    MY_AGENT_URL = "http://models.example.org/v1"

    [[hosts]]
    host = "models.example.org"
    methods = ["POST"]
    tls = true                           # asked for as http, fetched as https by the proxy
    credential = { header = "Authorization", prefix = "Bearer ", variable = "MY_KEY" }

    [[mounts]]
    source = "/home/me/agent"            # read-only; a path that is not absolute begins where the profile lies
    target = "/opt/agent"

Guarantees: a field that is not known is refused; a key is never in the file, only the name of the variable it is in.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from choir.bazaar.contracts.base import Record, Records, Rule, Text, Texts, Wrong, Yes, field_names, items
from choir.bazaar.contracts.terms import ALLOWED_TOOLS, AgentTool
from choir.bazaar.jobs.model import JobType
from choir.bazaar.workers.profiles import ALL_TOOLS, BadProfile, CommandProfile
from choir.bazaar.workers.reports import REPORTS
from choir.foundation.errors import Invalid
from choir.sandbox.egress.model import Credential, EgressRule
from choir.sandbox.model import Mount

if TYPE_CHECKING:
    from pydantic import ValidationInfo

_FILE_BYTES_MAX = 100_000
_ITEMS_MAX = 200
_CHARS_MAX = 10_000


class Environment(Rule):
    """Variables by name."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> tuple[tuple[str, str], ...]:  # noqa: ARG002
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            raise Wrong("it must be a table of texts")
        return tuple(value.items())


class Ports(Rule):
    """Ports of a host."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> tuple[int, ...]:  # noqa: ARG002
        ports = items(value, 20)
        if not all(isinstance(port, int) and 0 < port < 65_536 for port in ports):
            raise Wrong("they must be numbers from 1 to 65535")
        return tuple(ports)


class Source(Rule):
    """Where a mount comes from, on this machine; the context is the folder that the profile lies in, if it does."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> Path:
        path = Path(Text(4_000, 1).read(value, info)).expanduser()
        path = path if info.context is None else info.context / path
        if not path.is_absolute():
            raise Wrong("it must be an absolute path")
        return path


@dataclass(frozen=True, slots=True)
class CredentialTable(Record):
    """A key that the proxy adds, by the name of the variable it is in."""

    header: Annotated[str, Text(100, 1)]
    variable: Annotated[str, Text(200, 1)]
    prefix: Annotated[str, Text(100)] = ""

    def credential(self, own: Mapping[str, str]) -> Credential:
        if not own.get(self.variable):
            raise BadProfile(why=f"the variable {self.variable}, which holds a key, is not set")
        return Credential(self.header, self.prefix + own[self.variable])


@dataclass(frozen=True, slots=True)
class HostTable(Record):
    """A host that the agent may reach."""

    host: Annotated[str, Text(253, 1)]
    ports: Annotated[tuple[int, ...], Ports()] = (80, 443)
    methods: Annotated[tuple[str, ...], Texts(20, 20)] = ("GET", "HEAD")
    paths: Annotated[tuple[str, ...], Texts(_ITEMS_MAX, 1_000)] = ("/",)
    tunnel: Annotated[bool, Yes()] = False
    private: Annotated[bool, Yes()] = False
    tls: Annotated[bool, Yes()] = False
    credential: CredentialTable | None = None

    def rule(self, own: Mapping[str, str]) -> EgressRule:
        return EgressRule(
            host=self.host,
            ports=self.ports,
            methods=self.methods,
            paths=self.paths,
            tunnel=self.tunnel,
            private=self.private,
            upstream_tls=self.tls,
            credential=None if self.credential is None else self.credential.credential(own),
        )


@dataclass(frozen=True, slots=True)
class MountTable(Record):
    """A folder that the agent sees."""

    source: Annotated[Path, Source()]
    target: Annotated[str, Text(4_000, 1)]


@dataclass(frozen=True, slots=True)
class ProfileFile(Record):
    """The file as it is written."""

    name: Annotated[str, Text(100, 1)]
    argv: Annotated[tuple[str, ...], Texts(_ITEMS_MAX, _CHARS_MAX)]
    types: Annotated[tuple[str, ...], Texts(len(JobType), 40)] = (JobType.PATCH_GEN.value,)
    environment: Annotated[tuple[tuple[str, str], ...], Environment()] = ()
    passed: Annotated[tuple[str, ...], Texts(_ITEMS_MAX, 200), Field(alias="pass")] = ()  # a word that Python keeps
    hosts: Annotated[tuple[HostTable, ...], Records(_ITEMS_MAX)] = ()
    mounts: Annotated[tuple[MountTable, ...], Records(_ITEMS_MAX)] = ()
    model: Annotated[str, Text(200)] = ""
    with_pytest: Annotated[bool, Yes()] = True
    self_check: Annotated[bool, Yes()] = True
    tools: Annotated[tuple[AgentTool, ...], ALLOWED_TOOLS] = ()
    reports: Annotated[str, Text(40)] = ""

    @classmethod
    def names(cls) -> frozenset[str]:
        return field_names(cls) - {"passed"} | {"pass"}

    def profile(self, own: Mapping[str, str]) -> CommandProfile:
        if self.reports not in REPORTS:
            raise BadProfile(why=f"reports must be one of {', '.join(sorted(filter(None, REPORTS)))}, or nothing")
        return CommandProfile(
            name=self.name,
            argv=self.argv,
            types=frozenset(_type(item) for item in self.types),
            environment=self.environment,
            passed=self.passed,
            egress=tuple(host.rule(own) for host in self.hosts),
            mounts=tuple(Mount(mount.source, mount.target) for mount in self.mounts),
            model=self.model,
            with_pytest=self.with_pytest,
            self_check=self.self_check,
            tools=self.tools or ALL_TOOLS,
            reports=self.reports,
        )


def read(path: Path, own: Mapping[str, str]) -> CommandProfile:
    """The profile in a file; `own` is the provider's environment, which holds the keys."""
    try:
        with path.open("rb") as file:
            text = file.read(_FILE_BYTES_MAX).decode()
        return parse(text, own, path.absolute().parent)
    except OSError as error:
        raise BadProfile(why=f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadProfile(why=f"{path} is not UTF-8 text") from None


def parse(text: str, own: Mapping[str, str], folder: Path | None = None) -> CommandProfile:
    """The profile in a text; in a folder, mounts may be named from there."""
    try:
        return ProfileFile.read(tomllib.loads(text), folder).profile(own)
    except tomllib.TOMLDecodeError as error:
        raise BadProfile(why=f"it is not TOML: {error}") from None
    except BadProfile:
        raise
    except Invalid as error:
        raise BadProfile(why=str(error).rstrip(".")) from None


def _type(text: str) -> JobType:
    found = JobType.named(text)
    if found is None:
        known = ", ".join(kind.word for kind in JobType)
        raise BadProfile(why=f"'{text[:40]}' in types is unknown; there are {known}")
    return found
