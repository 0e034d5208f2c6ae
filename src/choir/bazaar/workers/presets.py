"""Profiles for well-known agents. Pure: names, a model and a key in, a profile out.

The agents are not part of Choir: install the one you want below /usr (or lend its folder with a mount). Their calls
are written from their documentation and tried with stand-ins of their names; which of them has really been run is said
in the how-to. Sources, looked at in November 2026: code.claude.com/docs (cli-reference, env-vars), mini-swe-agent's
run/mini.py and docs/advanced/global_configuration.md, aider.chat/docs/config/options.html, docs.openhands.dev
(cli/headless) and the README of OpenHands-CLI.

The key of the model's API stays with the proxy: the agent asks for the API as plain http, the proxy adds the key and
goes on by TLS. In place of the key the agent has a word that says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from choir.bazaar.workers.profiles import BadProfile, CommandProfile
from choir.sandbox.egress.model import Credential, EgressRule
from choir.sandbox.model import Mount

PLACEHOLDER_KEY = "kept-by-the-proxy"
SCRIPTS = "/opt/agent"
_METHODS = ("GET", "HEAD", "POST")


@dataclass(frozen=True, slots=True)
class Api:
    """A model's API: where it is, how it wants its key, and how agents are told where to find it."""

    host: str
    header: str
    prefix: str
    key_names: tuple[str, ...]
    base_names: tuple[str, ...]
    base_path: str = ""

    def rules(self, key: str) -> tuple[EgressRule, ...]:
        credential = Credential(self.header, self.prefix + key)
        return (EgressRule(self.host, methods=_METHODS, upstream_tls=True, credential=credential),)

    @property
    def base(self) -> str:
        """Plain http, so that the proxy can add the key."""
        return f"http://{self.host}{self.base_path}"

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


def claude_code(model: str) -> tuple[str, ...]:
    """Its permission questions have nobody to answer them; the sandbox is the fence."""
    words = ("claude", "-p", "{task}", "--output-format", "stream-json", "--verbose")
    return (*words, "--permission-mode", "bypassPermissions", *(("--model", "{model}") if model else ()))


def mini_swe_agent(model: str) -> tuple[str, ...]:
    if not model:
        raise BadProfile(why="mini-swe-agent needs the name of a model")
    return ("mini", "-y", "--exit-immediately", "-m", "{model}", "-t", "{task}", "-o", "/work/traj.json")


def aider(model: str) -> tuple[str, ...]:
    words = ("aider", "--message-file", "{task_file}", "--yes-always", "--no-auto-commits", "--no-pretty")
    return (*words, *(("--model", "{model}") if model else ()))


def openhands(model: str) -> tuple[str, ...]:
    """Its model comes by the environment, which it does not look at unless told to."""
    if not model:
        raise BadProfile(why="openhands needs the name of a model")
    return ("openhands", "--headless", "--json", "--override-with-envs", "-f", "{task_file}")


ARGUMENTS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "claude-code": claude_code,
    "mini-swe-agent": mini_swe_agent,
    "aider": aider,
    "openhands": openhands,
}
_MORE: dict[str, tuple[tuple[str, str], ...]] = {
    "claude-code": (("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")),
    "mini-swe-agent": (
        ("MSWEA_CONFIGURED", "true"),
        ("MSWEA_SILENT_STARTUP", "1"),
        ("MSWEA_COST_TRACKING", "ignore_errors"),  # a model without a known price is no reason to stop
    ),
    "aider": (
        ("AIDER_CHECK_UPDATE", "false"),
        ("AIDER_ANALYTICS", "false"),
        ("AIDER_GITIGNORE", "false"),
        ("AIDER_DETECT_URLS", "false"),  # it would fetch what the task mentions
        ("AIDER_SHOW_MODEL_WARNINGS", "false"),
    ),
    "openhands": (("LLM_MODEL", "{model}"), ("LLM_API_KEY", PLACEHOLDER_KEY)),
}


def preset(
    name: str, key: str = "", model: str = "", api: str = "anthropic", mounts: tuple[Mount, ...] = ()
) -> CommandProfile:
    """The profile of a well-known agent. Without a key it reaches nothing."""
    if name not in ARGUMENTS:
        raise BadProfile(why=f"there is no preset '{name[:40]}'; there are {', '.join(sorted(ARGUMENTS))}")
    if api not in APIS:
        raise BadProfile(why=f"the API '{api[:40]}' is not known; there are {', '.join(sorted(APIS))}")
    found = APIS[api]
    more = _MORE[name] if name != "openhands" else (*_MORE[name], ("LLM_BASE_URL", found.base))
    return CommandProfile(
        name=name,
        argv=ARGUMENTS[name](model),
        environment=(*found.environment(), *more),
        egress=found.rules(key) if key else (),
        mounts=mounts,
        model=model,
    )


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
