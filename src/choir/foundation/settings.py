"""Settings of this machine: where data is, what to listen on, which database.

Guarantees: a flag wins over the environment, the environment over `choir.toml`, the file over the
default; every value knows where it came from, so `choir config show` can say so; secrets are never
shown; a name that is no setting is noticed wherever it stands. Prices, windows and caps are not here:
they are policy.
"""

from __future__ import annotations

import ipaddress
import os
import pwd
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from choir.foundation.errors import Invalid, Refusal

_ENVIRONMENT_PREFIX = "CHOIR_"
_FILE_NAME = "choir.toml"
PUBLISHED = "checkpoint.note"  # in the home: the last checkpoint that was shown to others
_ORIGIN = re.compile(r"https?://[a-z0-9.\-\[\]:]+", re.ASCII)

_SERVICE_URL = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+(/[A-Za-z0-9._~/\-]*)?", re.ASCII)
EMBEDDING_DIMS = ("256", "384", "768", "1024", "1536")  # those that the database has an index for

_POLICY_PREFIX = "CHOIR_POLICY__"
_TEST_PREFIX = "CHOIR_TEST_"
# What else is called CHOIR_…: a provider's folder, what a server process is told by its parent, what an agent is told
# about its job, and what the example for continuous integration reads.
_NO_SETTINGS = frozenset({
    "CHOIR_PROVIDER_HOME", "CHOIR_WORKER_DATABASE", "CHOIR_JOB", "CHOIR_REPOSITORY", "CHOIR_TASK_FILE",
    "CHOIR_REQUEST_FILE", "CHOIR_DIFF_FILE", "CHOIR_OUTPUT_FILE", "CHOIR_SKILL", "CHOIR_TOOLS",
    "CHOIR_CONTEXT_TOKENS", "CHOIR_NODE_PUBLIC_KEY",
})  # fmt: skip
# Kubernetes tells every container about services, those named choir or choir-… too.
_SERVICE = re.compile(r"CHOIR_(\w+_)?(SERVICE_(HOST|PORT)(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)", re.ASCII)
_SERVICE_PORT = re.compile(r"CHOIR_(\w+_)?PORT", re.ASCII)

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _setting(default: str, doc: str, *, secret: bool = False) -> Any:
    return field(default=default, repr=not secret, metadata={"doc": doc, "secret": secret})


@dataclass(frozen=True, slots=True)
class RawSettings:
    """All settings as text, with their documentation. Names are the same in flags, environment and file."""

    home: str = _setting("", "Folder for all data. Default: ~/.local/share/choir; for root: /var/lib/choir.")
    bind: str = _setting("127.0.0.1:8420", "Address and port to listen on.")
    public_url: str = _setting(
        "", "The public URL for browsers and other nodes. Default: http://localhost with the port of `bind`."
    )
    database_url: str = _setting(
        "", "Your own PostgreSQL, for the application role. Default: the embedded one.", secret=True
    )
    database_owner_url: str = _setting("", "The same database, for the owner role, which runs migrations.", secret=True)
    node: str = _setting("", "The node that the CLI and the SDK use. Default: the address of `bind`.")
    token: str = _setting(
        "", "Credential for the node. Default: the saved login, else the operator's token.", secret=True
    )
    node_key: str = _setting("", "The node's secret key, 64 hex digits.", secret=True)
    node_key_file: str = _setting("", "File with the node's secret key. Default: node.key in the home folder.")
    node_key_command: str = _setting("", "Command that prints the node's secret key, for a vault or KMS.")
    trusted_proxies: str = _setting(
        "", "Trusted proxy networks for X-Forwarded-For and -Proto, such as 127.0.0.1, 10.0.0.0/8."
    )
    cors_origins: str = _setting("", "Origins allowed by CORS, such as https://app.example, or *; never with cookies.")
    processes: str = _setting("1", "Number of server processes.")
    mode: str = _setting("dev", "dev or production; fixed when the database is created.")
    embedding_url: str = _setting(
        "", "An OpenAI-compatible service for embeddings, such as https://host. Default: the local model."
    )
    embedding_model: str = _setting("", "The model that the service is asked for.")
    embedding_dims: str = _setting("", "How many numbers its vectors have: 256, 384, 768, 1024 or 1536.")
    embedding_key: str = _setting("", "Key for the service.", secret=True)
    log_format: str = _setting("auto", "json, text, or auto (text on a terminal).")


class UnknownVariable(Refusal):
    """A name in the environment that looks like a setting and is none; a typo would be without effect."""

    code = "settings.unknown_variable"
    sentence = "{name} in the environment is not a setting{meant}."
    hint = "Correct it or unset it; `choir config show` lists all settings."


@dataclass(frozen=True, slots=True)
class SettingSource:
    """One value and where it came from."""

    name: str
    shown: str  # secrets are masked
    origin: str  # "flag", "environment CHOIR_HOME", "/etc/choir.toml", "default"
    doc: str


@dataclass(frozen=True, slots=True)
class EmbeddingService:
    """Who turns passages into vectors, if not the local model."""

    url: str
    model: str
    dims: int
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """The checked settings that the node is built from."""

    home: Path
    host: str
    port: int
    public_url: str
    database_url: str = field(repr=False)
    database_owner_url: str = field(repr=False)
    node: str
    token: str = field(repr=False)
    node_key: str = field(repr=False)
    node_key_file: Path
    node_key_command: str
    trusted_proxies: tuple[Network, ...]
    cors_origins: tuple[str, ...]
    processes: int
    mode: str
    embedding: EmbeddingService | None  # None: the local model
    log_format: str
    policy_overrides: Mapping[str, str]  # dotted policy names from CHOIR_POLICY__… and [policy]
    sources: tuple[SettingSource, ...]
    unknown: tuple[str, ...]  # names in the environment that look like settings and are none

    def must_know_all(self) -> None:
        """Raise if a name in the environment is no setting; for whoever acts on them and not only asks a node."""
        for name in self.unknown:
            raise UnknownVariable(name=name, meant=meant(name))

    @property
    def own_url(self) -> str:
        """Where a node that is started here answers, whichever node the SDK talks to."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def chose(self, name: str) -> bool:
        """Whether somebody gave this setting a value."""
        return any(item.name == name and item.origin != "default" for item in self.sources)

    @property
    def embedded(self) -> bool:
        """Whether the node brings its own PostgreSQL."""
        return not self.database_url


def load_settings(
    flags: Mapping[str, str | None] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Read the settings of this process."""
    env = os.environ if environment is None else environment
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    home = _home(given, env)
    _must_be_open(home)
    file_values, file_policy, file_path = _read_file(home)
    values: dict[str, str] = {}
    sources: list[SettingSource] = []
    for item in fields(RawSettings):
        value, origin = _pick(item.name, item.default, given, env, file_values, file_path)
        if item.name == "home":
            value = str(home)
        values[item.name] = value
        shown = ("(set)" if value else "(not set)") if item.metadata["secret"] else value
        sources.append(SettingSource(item.name, shown, origin, item.metadata["doc"]))
    overrides = _flatten(file_policy) | _policy_environment(env)
    return _checked(RawSettings(**values), home, overrides, tuple(sources), unknown_variables(env))


def unknown_variables(env: Mapping[str, str]) -> tuple[str, ...]:
    """The names in this environment that look like settings and are none."""
    known = _variables()
    found = (name for name in sorted(env) if name.startswith(_ENVIRONMENT_PREFIX))
    return tuple(name for name in found if name not in known and not _is_of_others(name, env[name]))


def _variables() -> frozenset[str]:
    return frozenset(_ENVIRONMENT_PREFIX + item.name.upper() for item in fields(RawSettings))


def _is_of_others(name: str, value: str) -> bool:
    """Whether somebody else reads this: another part of ours, the policy, our tests, a cluster."""
    if name in _NO_SETTINGS or name.startswith((_POLICY_PREFIX, _TEST_PREFIX)) or _SERVICE.fullmatch(name):
        return True
    return _SERVICE_PORT.fullmatch(name) is not None and "://" in value  # a person would write a number


def meant(name: str) -> str:
    """The setting that it looks like most, as the end of a sentence."""
    import difflib

    close = difflib.get_close_matches(name, _variables(), n=1, cutoff=0.75)
    return f" (did you mean {close[0]}?)" if close else ""


def _home(given: Mapping[str, str], env: Mapping[str, str]) -> Path:
    chosen = given.get("home") or env.get("CHOIR_HOME")
    if chosen:
        return Path(chosen).expanduser().absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/choir")
    data = env.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(data).expanduser() / "choir"


def _must_be_open(home: Path) -> None:
    """A home that is no folder, or another user's, is named as such and not by a file that may not be there."""
    try:
        (home / _FILE_NAME).stat()
    except PermissionError:
        raise Invalid(what="setting 'home'", why=f"you may not read {home}{_owner(home)}") from None
    except NotADirectoryError:
        if home.exists():
            raise Invalid(what="setting 'home'", why=f"{home} is not a folder") from None
    except OSError:
        pass  # it is not there yet


def _owner(home: Path) -> str:
    """Whose it is, as the end of a sentence; nothing where even that is hidden."""
    try:
        uid = home.stat().st_uid
    except OSError:
        return ""
    try:
        return f", which belongs to {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f", which belongs to account {uid}"


def _read_file(home: Path) -> tuple[dict[str, str], dict[str, Any], str]:
    path = home / _FILE_NAME
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}, {}, ""
    except OSError as error:
        raise Invalid(what=str(path), why=(error.strerror or "it cannot be read").lower()) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(what=str(path), why=f"it is not TOML: {error}") from None
    policy = data.pop("policy", {})
    if not isinstance(policy, dict):
        raise Invalid(what=str(path), why="policy must be a table, such as [policy.ledger]")
    known = {item.name for item in fields(RawSettings)} - {"home"}  # the home is where this file is found
    for name in data:
        if name not in known:
            raise Invalid(what=str(path), why=f"'{name}' is not a setting for the file")
    return {name: str(value) for name, value in data.items()}, policy, str(path)


def _pick(
    name: str, default: Any, given: Mapping[str, str], env: Mapping[str, str], file_values: Mapping[str, str], path: str
) -> tuple[str, str]:
    variable = _ENVIRONMENT_PREFIX + name.upper()
    if name in given:
        return given[name], "flag"
    if variable in env:
        return env[variable], f"environment {variable}"
    if name in file_values:
        return file_values[name], path
    return str(default), "default"


def _policy_environment(env: Mapping[str, str]) -> dict[str, str]:
    """CHOIR_POLICY__LEDGER__BATCH_ENTRIES_MAX=5 overrides ledger.batch_entries_max."""
    return {
        name.removeprefix(_POLICY_PREFIX).lower().replace("__", "."): value
        for name, value in env.items()
        if name.startswith(_POLICY_PREFIX)
    }


def _flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = str(value)
    return flat


def _checked(
    raw: RawSettings,
    home: Path,
    overrides: Mapping[str, str],
    sources: tuple[SettingSource, ...],
    unknown: tuple[str, ...],
) -> Settings:
    host, _, port = raw.bind.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise Invalid(what="setting 'bind'", why="write it like 127.0.0.1:8420")
    if not raw.processes.isdecimal() or not 1 <= int(raw.processes) <= 64:
        raise Invalid(what="setting 'processes'", why="it must be a number from 1 to 64")
    if raw.mode not in ("dev", "production"):
        raise Invalid(what="setting 'mode'", why="it must be dev or production")
    if raw.log_format not in ("auto", "json", "text"):
        raise Invalid(what="setting 'log_format'", why="it must be json, text or auto")
    return Settings(
        home=home,
        host=host.strip("[]"),
        port=int(port),
        public_url=(raw.public_url or f"http://localhost:{port}").rstrip("/"),  # by name: passkeys want one
        database_url=raw.database_url,
        database_owner_url=raw.database_owner_url,
        node=(raw.node or f"http://{'localhost' if host in ('0.0.0.0', '[::]') else host}:{port}").rstrip("/"),  # noqa: S104
        token=raw.token,
        node_key=raw.node_key,
        node_key_file=Path(raw.node_key_file).expanduser() if raw.node_key_file else home / "node.key",
        node_key_command=raw.node_key_command,
        trusted_proxies=tuple(_network(text) for text in _parts(raw.trusted_proxies)),
        cors_origins=tuple(_origin(text) for text in _parts(raw.cors_origins)),
        processes=int(raw.processes),
        mode=raw.mode,
        embedding=_embedding(raw),
        log_format=raw.log_format,
        policy_overrides=dict(overrides),
        sources=sources,
        unknown=unknown,
    )


def _embedding(raw: RawSettings) -> EmbeddingService | None:
    if not raw.embedding_url:
        return None
    if not _SERVICE_URL.fullmatch(raw.embedding_url):
        raise Invalid(what="setting 'embedding_url'", why="it must look like https://host")
    if not raw.embedding_model or raw.embedding_dims not in EMBEDDING_DIMS:
        why = f"with a service it needs `embedding_model`, and `embedding_dims` of {', '.join(EMBEDDING_DIMS)}"
        raise Invalid(what="setting 'embedding_url'", why=why)
    url = raw.embedding_url.rstrip("/")
    return EmbeddingService(url, raw.embedding_model, int(raw.embedding_dims), raw.embedding_key)


def _parts(text: str) -> list[str]:
    """A list in a setting: separated by commas or spaces."""
    return text.replace(",", " ").split()


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        raise Invalid(
            what="setting 'trusted_proxies'", why=f"'{text[:60]}' is not an address or network such as 10.0.0.0/8"
        ) from None


def _origin(text: str) -> str:
    if text != "*" and _ORIGIN.fullmatch(text) is None:
        raise Invalid(what="setting 'cors_origins'", why=f"'{text[:60]}' is not an origin such as https://app.example")
    return text
