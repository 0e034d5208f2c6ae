"""Profiles for well-known agents. Pure but for a look at where the agent is installed.

The agents are not part of Choir: install the one you want below /usr, or name its folder (a venv made with
/usr/bin/python3, or an npm prefix), which is then lent to the sandbox. Claude Code, mini-swe-agent and aider are run
for real by the tests, in the sandbox, against a model's server that plays a script; OpenHands is written from its
documentation (docs.openhands.dev, cli/headless) and tried with a stand-in.

The key of the model's API stays with the proxy: the agent asks for the API as plain http, the proxy adds the key and
goes on by TLS. In place of the key the agent has a word that says so.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from choir.bazaar.contracts import AgentTool
from choir.bazaar.workers.profiles import ALL_TOOLS, BadProfile, CommandProfile
from choir.bazaar.workers.reports import REPORTS
from choir.sandbox.egress.model import Credential, EgressRule
from choir.sandbox.model import WORKSPACE, Mount

PLACEHOLDER_KEY = "kept-by-the-proxy"
SCRIPTS = "/opt/agent"
_METHODS = ("GET", "HEAD", "POST")
_IDLE_S = 600  # a model that thinks before it answers is silent for minutes; agents wait as long by themselves


@dataclass(frozen=True, slots=True)
class Api:
    """A model's API: where it is, how it wants its key, and how agents are told where to find it."""

    host: str
    header: str
    prefix: str
    key_names: tuple[str, ...]
    base_names: tuple[str, ...]
    base_path: str = ""
    port: int | None = None
    tls: bool = True
    own: bool = False  # the provider's own: it may be on this machine or its network

    def at(self, endpoint: str) -> Api:
        """The same protocol at another address."""
        where = read_endpoint(endpoint)
        host, path = where.hostname or "", where.path.rstrip("/")
        return replace(self, host=host, base_path=path, port=where.port, tls=where.scheme == "https", own=True)

    def rules(self, key: str) -> tuple[EgressRule, ...]:
        credential = Credential(self.header, self.prefix + key) if key else None
        rule = EgressRule(self.host, methods=_METHODS, upstream_tls=self.tls, credential=credential, idle_s=_IDLE_S)
        if self.own:
            rule = replace(rule, private=True, paths=(f"{self.base_path}/",))
        return (rule if self.port is None else replace(rule, ports=(self.port,)),)

    @property
    def base(self) -> str:
        """Plain http, so that the proxy can add the key."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}{'' if self.port is None else f':{self.port}'}{self.base_path}"

    def environment(self) -> tuple[tuple[str, str], ...]:
        keys = [(name, PLACEHOLDER_KEY) for name in self.key_names]
        return (*keys, *((name, self.base) for name in self.base_names))


APIS = {
    "anthropic": Api(
        "api.anthropic.com", "x-api-key", "", ("ANTHROPIC_API_KEY",), ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE")
    ),
    "openai": Api(
        "api.openai.com", "Authorization", "Bearer ", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL", "OPENAI_API_BASE"), "/v1"
    ),
}


def read_endpoint(endpoint: str) -> SplitResult:
    """Where a model's API is, as its provider names it."""
    where = None
    with suppress(ValueError):
        where = urlsplit(endpoint)
        plain = where.scheme in ("http", "https") and bool(where.hostname) and not where.query and not where.fragment
        if not plain or where.username is not None or where.password is not None or where.port == 0:
            where = None
    if where is None:
        raise BadProfile(why="an endpoint is written like https://host:port/v1, without name, password and query")
    return where


def claude_code(model: str) -> tuple[str, ...]:
    """Its tools are listed, nobody is asked, and nothing that lies in the buyer's repository configures it."""
    words = ("claude", "-p", "{task}", "--output-format", "stream-json", "--verbose")
    closed = ("--safe-mode", "--setting-sources", "user", "--strict-mcp-config", "--no-session-persistence")
    tools = ("--permission-mode", "dontAsk", "--tools", "{tools}", "--allowedTools", "{tools}")
    return (*words, *closed, *tools, *(("--model", "{model}") if model else ()))


def mini_swe_agent(model: str) -> tuple[str, ...]:
    if not model:
        raise BadProfile(why="mini-swe-agent needs the name of a model")
    return ("mini", "-y", "--exit-immediately", "-m", "{model}", "-t", "{task}", "-o", f"{WORKSPACE}/traj.json")


def aider(model: str) -> tuple[str, ...]:
    words = ("aider", "--message-file", "{task_file}", "--yes-always", "--no-auto-commits", "--no-pretty")
    quiet = ("--no-suggest-shell-commands", "--no-show-release-notes", "--disable-playwright")
    return (*words, *quiet, *(("--model", "{model}") if model else ()))


def openhands(model: str) -> tuple[str, ...]:
    """Its model comes by the environment, which it does not look at unless told to."""
    if not model:
        raise BadProfile(why="openhands needs the name of a model")
    return ("openhands", "--headless", "--json", "--override-with-envs", "-f", "{task_file}")


@dataclass(frozen=True, slots=True)
class Agent:
    """What is to be known of a well-known agent."""

    argv: Callable[[str], tuple[str, ...]]
    environment: tuple[tuple[str, str], ...]
    tools: tuple[AgentTool, ...] = ALL_TOOLS
    tool_names: tuple[tuple[AgentTool, str], ...] = ()
    context: tuple[tuple[str, str], ...] = ()
    routed: bool = False  # its models are named `api/model`, by litellm's way


_LITELLM = (("LITELLM_LOCAL_MODEL_COST_MAP", "True"),)  # it would fetch prices when it starts, and wait for them
AGENTS = {
    "claude-code": Agent(
        claude_code,
        (("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")),
        tool_names=(
            (AgentTool.READ, "Read,Glob,Grep"),
            (AgentTool.EDIT, "Edit,Write"),
            (AgentTool.SHELL, "Bash"),
        ),
        context=(("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "{context_tokens}"),),
    ),
    "mini-swe-agent": Agent(
        mini_swe_agent,
        (
            *_LITELLM,
            ("MSWEA_CONFIGURED", "true"),
            ("MSWEA_SILENT_STARTUP", "1"),
            ("MSWEA_COST_TRACKING", "ignore_errors"),  # a model without a known price is no reason to stop
        ),
        tools=(AgentTool.SHELL,),
        routed=True,
    ),
    "aider": Agent(
        aider,
        (
            *_LITELLM,
            ("AIDER_CHECK_UPDATE", "false"),
            ("AIDER_ANALYTICS", "false"),
            ("AIDER_GITIGNORE", "false"),
            ("AIDER_DETECT_URLS", "false"),  # it would fetch what the task mentions
            ("AIDER_SHOW_MODEL_WARNINGS", "false"),
        ),
        tools=(AgentTool.READ, AgentTool.EDIT),
        context=(("AIDER_MAX_CHAT_HISTORY_TOKENS", "{context_tokens}"),),
        routed=True,
    ),
    "openhands": Agent(openhands, (("LLM_MODEL", "{model}"), ("LLM_API_KEY", PLACEHOLDER_KEY))),
}
ARGUMENTS: dict[str, Callable[[str], tuple[str, ...]]] = {name: agent.argv for name, agent in AGENTS.items()}


def preset(
    name: str,
    key: str = "",
    model: str = "",
    api: str = "anthropic",
    mounts: tuple[Mount, ...] = (),
    *,
    endpoint: str = "",
    folder: Path | None = None,
) -> CommandProfile:
    """The profile of a well-known agent. Without a key or an endpoint of the provider's own it reaches nothing."""
    if name not in AGENTS:
        raise BadProfile(why=f"there is no preset '{name[:40]}'; there are {', '.join(sorted(AGENTS))}")
    if api not in APIS:
        raise BadProfile(why=f"the API '{api[:40]}' is not known; there are {', '.join(sorted(APIS))}")
    agent = AGENTS[name]
    found = APIS[api].at(endpoint) if endpoint else APIS[api]
    more = agent.environment if name != "openhands" else (*agent.environment, ("LLM_BASE_URL", found.base))
    argv = agent.argv(model)
    if agent.routed and "/" not in model:
        argv = tuple(f"{api}/{word}" if word == "{model}" else word for word in argv)
    if folder is not None:
        argv, mounts = (*installed(argv[0], folder), *argv[1:]), (*mounts, Mount(folder.absolute(), SCRIPTS))
    return CommandProfile(
        name=name,
        argv=argv,
        environment=(*found.environment(), *more),
        egress=found.rules(key) if key or endpoint else (),
        mounts=mounts,
        model=model,
        reports=name if name in REPORTS else "",
        tools=agent.tools,
        tool_names=agent.tool_names,
        context_environment=agent.context,
    )


def installed(program: str, folder: Path) -> tuple[str, ...]:
    """How a program is called that lies in a venv or an npm prefix, which is lent as `SCRIPTS`."""
    if not folder.is_dir():
        raise BadProfile(why=f"there is no folder {folder}")
    if (folder / "bin" / program).is_file() and (folder / "pyvenv.cfg").is_file():
        python = (folder / "bin" / "python3").resolve()
        if not python.is_relative_to("/usr"):
            raise BadProfile(why=f"the venv {folder} stands on {python}, which no sandbox sees; use /usr/bin/python3")
        return (f"{SCRIPTS}/bin/python3", f"{SCRIPTS}/bin/{program}")  # its first line names the folder it was made in
    for place in (f"bin/{program}", f"node_modules/.bin/{program}"):
        if (folder / place).exists():
            return (f"{SCRIPTS}/{place}",)
    raise BadProfile(why=f"the program {program} is not in {folder}; name a venv or an npm prefix that has it")


def script(path: Path) -> CommandProfile:
    """A worker of your own: a Python file that is called with the request's file and the repository's folder."""
    if not path.is_file():
        raise BadProfile(why=f"there is no file {path}")
    target = f"{SCRIPTS}/{path.name}"
    return CommandProfile(
        name=path.stem,
        argv=("/usr/bin/python3", target, "{request_file}", "{repository}"),
        mounts=(Mount(path.resolve(), target),),
    )
