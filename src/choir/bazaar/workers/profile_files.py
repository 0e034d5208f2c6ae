"""A profile as a TOML file, for agents that have no preset.

    name = "mine"
    argv = ["my-agent", "--task", "{task_file}", "--model", "{model}"]
    types = ["patch"]                    # the default
    model = "some-model"
    pass = ["MY_LICENCE"]                # variables of the provider that the agent gets
    with_pytest = true
    self_check = true

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
from pathlib import Path

from choir.bazaar.contracts.fields import Reader
from choir.bazaar.jobs.model import JobType
from choir.bazaar.workers.profiles import BadProfile, CommandProfile
from choir.foundation.errors import Invalid
from choir.sandbox.egress.model import Credential, EgressRule
from choir.sandbox.model import Mount

_FILE_BYTES_MAX = 100_000
_ITEMS_MAX = 200
_CHARS_MAX = 10_000


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
        return _profile(Reader(tomllib.loads(text)), own, folder)
    except tomllib.TOMLDecodeError as error:
        raise BadProfile(why=f"it is not TOML: {error}") from None
    except BadProfile:
        raise
    except Invalid as error:
        raise BadProfile(why=str(error).rstrip(".")) from None


def _profile(reader: Reader, own: Mapping[str, str], folder: Path | None) -> CommandProfile:
    types = reader.texts("types", len(JobType), 40, (JobType.PATCH_GEN.value,))
    profile = CommandProfile(
        name=reader.text("name", 100, 1),
        argv=reader.texts("argv", _ITEMS_MAX, _CHARS_MAX),
        types=frozenset(_type(item) for item in types),
        environment=_environment(reader),
        passed=reader.texts("pass", _ITEMS_MAX, 200, ()),
        egress=reader.records("hosts", _ITEMS_MAX, lambda item: _host(item, own), ()),
        mounts=reader.records("mounts", _ITEMS_MAX, lambda item: _mount(item, folder), ()),
        model=reader.text("model", 200, 0, ""),
        with_pytest=reader.yes("with_pytest", True),
        self_check=reader.yes("self_check", True),
    )
    reader.end()
    return profile


def _type(text: str) -> JobType:
    found = JobType.named(text)
    if found is None:
        known = ", ".join(kind.word for kind in JobType)
        raise BadProfile(why=f"'{text[:40]}' in types is unknown; there are {known}")
    return found


def _environment(reader: Reader) -> tuple[tuple[str, str], ...]:
    table = reader.take("environment", {})
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise reader.bad("environment", "it must be a table of texts")
    return tuple(table.items())


def _host(reader: Reader, own: Mapping[str, str]) -> EgressRule:
    ports = reader.items("ports", 20, (80, 443))
    if not all(isinstance(port, int) and 0 < port < 65_536 for port in ports):
        raise reader.bad("ports", "they must be numbers from 1 to 65535")
    credential = reader.take("credential", None)
    return EgressRule(
        host=reader.text("host", 253, 1),
        ports=tuple(ports),
        methods=reader.texts("methods", 20, 20, ("GET", "HEAD")),
        paths=reader.texts("paths", _ITEMS_MAX, 1_000, ("/",)),
        tunnel=reader.yes("tunnel", False),
        private=reader.yes("private", False),
        upstream_tls=reader.yes("tls", False),
        credential=None if credential is None else _credential(Reader(credential, reader.name("credential")), own),
    )


def _credential(reader: Reader, own: Mapping[str, str]) -> Credential:
    header, prefix = reader.text("header", 100, 1), reader.text("prefix", 100, 0, "")
    variable = reader.text("variable", 200, 1)
    reader.end()
    if not own.get(variable):
        raise BadProfile(why=f"the variable {variable}, which holds a key, is not set")
    return Credential(header, prefix + own[variable])


def _mount(reader: Reader, folder: Path | None) -> Mount:
    source = Path(reader.text("source", 4_000, 1)).expanduser()
    source = source if folder is None else folder / source
    if not source.is_absolute():
        raise reader.bad("source", "it must be an absolute path")
    return Mount(source, reader.text("target", 4_000, 1))
