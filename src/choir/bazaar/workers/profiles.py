"""How an agent is called: words with placeholders, an environment by allow-list, and whom it may reach.

Placeholders in the words and in values of the environment: {task} (the order as text, cut if it is very long),
{task_file} and {request_file} (the same as Markdown and as JSON), {repository}, {diff_file}, {output_file}, {model},
{job}, {tools} (what the order allows, in the agent's own names), {context_tokens} (the order's limit, or nothing).
Braces that are meant as such are doubled. Words are never given to a shell.

Guarantees: an agent's environment holds what its profile names and nothing else of the provider's; a credential is
used by the proxy on the host's side, and its value is in no word, no variable and no file of the sandbox.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from choir.bazaar.contracts import AgentTool, CodeReviewRequest, PatchGenRequest, Request, TextGenRequest
from choir.bazaar.contracts.skills import MAIN
from choir.bazaar.jobs.model import JobType
from choir.foundation.errors import Invalid
from choir.sandbox.egress.model import EgressRule
from choir.sandbox.model import WORKSPACE, Mount

TASK_FILE = "task.md"
REQUEST_FILE = "request.json"
DIFF_FILE = "change.diff"
OUTPUT_FILE = "output"
SKILL = "/skill"  # where the folder of an order's skill is, if it names one
REPOSITORY = "repository"
TASK_CHARS_MAX = 10_000
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([a-z_]*)\}|[{}]")
_NAMES = frozenset(
    {"task", "task_file", "request_file", "repository", "diff_file", "output_file", "model", "job"}
    | {"tools", "context_tokens"}
)
ALL_TOOLS = tuple(AgentTool)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_OURS = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "LD_PRELOAD")


class BadProfile(Invalid):
    """A profile that cannot work as it is written."""

    code = "worker.bad_profile"
    sentence = "The worker's profile is not valid: {why}."


@dataclass(frozen=True, slots=True)
class CommandProfile:
    """An agent as a command."""

    name: str
    argv: tuple[str, ...]
    types: frozenset[JobType] = frozenset({JobType.PATCH_GEN})
    environment: tuple[tuple[str, str], ...] = ()
    passed: tuple[str, ...] = ()  # names of the provider's own variables that the agent gets, as secrets
    egress: tuple[EgressRule, ...] = ()  # none: no network at all
    mounts: tuple[Mount, ...] = ()  # where the agent's program is, if not below /usr; read-only
    model: str = ""
    with_pytest: bool = True  # lend the test runner that buyers' tests are verified with
    self_check: bool = True  # verify a patch before it is handed in
    reports: str = ""  # how the agent tells what it did: one of `reports.REPORTS`
    tools: tuple[AgentTool, ...] = ALL_TOOLS  # what the agent uses
    # the agent's own names of its tools: with them it can be held to some; without, an order must allow all it uses
    tool_names: tuple[tuple[AgentTool, str], ...] = ()
    context_environment: tuple[tuple[str, str], ...] = ()  # further variables where the order limits the context

    def __post_init__(self) -> None:
        if not self.argv or not self.argv[0]:
            raise BadProfile(why="argv must name a program")
        if not self.types or self.types & {JobType.SANDBOX_RUN, JobType.REPO_INDEX}:
            raise BadProfile(why="an agent does patch, review or text")
        for name in (*dict(self.environment), *dict(self.context_environment), *self.passed):
            if not _VARIABLE.match(name) or name in _OURS:
                raise BadProfile(why=f"'{name[:40]}' cannot be a variable of an agent")
        if any(mount.writable for mount in self.mounts):
            raise BadProfile(why="a mount of an agent must be read-only")
        sample = dict.fromkeys(_NAMES, "")
        for word in (*self.argv, *dict(self.environment).values(), *dict(self.context_environment).values()):
            fill(word, sample)

    def allowed(self, asked: tuple[AgentTool, ...]) -> tuple[AgentTool, ...] | None:
        """The tools that the agent gets if an order asks for these alone; None if it cannot be held to them."""
        if not asked or set(self.tools) <= set(asked):
            return self.tools
        kept = tuple(tool for tool in self.tools if tool in asked)
        return kept if kept and self.tool_names else None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not show up in a trajectory or an artifact."""
        values = [rule.credential.value for rule in self.egress if rule.credential]
        return tuple({word for value in values for word in (value, *value.split()) if len(word) >= 8})


@dataclass(frozen=True, slots=True)
class Call:
    """An agent's command for one order."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


def fill(word: str, values: Mapping[str, str]) -> str:
    """A word with its placeholders replaced. What is put in is not looked at again."""

    def one(found: re.Match[str]) -> str:
        if found[0] in ("{{", "}}"):
            return found[0][0]
        if found[1] is None or found[1] not in values:
            raise BadProfile(why=f"'{found[0][:40]}' is not a placeholder; double the braces to write them literally")
        return values[found[1]]

    return _PLACEHOLDER.sub(one, word)


def call(profile: CommandProfile, job: str, request: Request, own: Mapping[str, str]) -> Call:
    """The command for an order; `own` is the provider's environment, of which only what is named gets through."""
    values = {
        "task": short_task(request),
        "task_file": f"{WORKSPACE}/{TASK_FILE}",
        "request_file": f"{WORKSPACE}/{REQUEST_FILE}",
        "repository": f"{WORKSPACE}/{REPOSITORY}",
        "diff_file": f"{WORKSPACE}/{DIFF_FILE}",
        "output_file": f"{WORKSPACE}/{OUTPUT_FILE}",
        "model": profile.model,
        "job": job,
        "tools": _own_names(profile, request),
        "context_tokens": str(context_tokens(request) or ""),
    }
    environment = {f"CHOIR_{name.upper()}": values[name] for name in sorted(_NAMES - {"task", "model"})}
    environment |= {name: fill(value, values) for name, value in profile.environment}
    if context_tokens(request):
        environment |= {name: fill(value, values) for name, value in profile.context_environment}
    environment |= {name: own[name] for name in profile.passed if name in own}
    return Call(tuple(fill(word, values) for word in profile.argv), environment)


def asked_tools(request: Request) -> tuple[AgentTool, ...]:
    """The tools that an order names; none: all."""
    return request.allowed_tools if isinstance(request, PatchGenRequest) else ()


def context_tokens(request: Request) -> int:
    """How large a context may be by the order; 0: as the worker has it."""
    return request.max_context_tokens if isinstance(request, PatchGenRequest) else 0


def _own_names(profile: CommandProfile, request: Request) -> str:
    names = dict(profile.tool_names)
    allowed = profile.allowed(asked_tools(request)) or ()
    return ",".join(names.get(tool, tool.value) for tool in allowed)


def short_task(request: Request) -> str:
    """The task for a command line, which holds only so much."""
    text = task(request)
    if len(text) <= TASK_CHARS_MAX:
        return text
    return f"{text[:TASK_CHARS_MAX]}\n…\nThis is cut. The whole task is in {WORKSPACE}/{TASK_FILE}: read that first.\n"


def task(request: Request) -> str:
    """The order as an agent reads it."""
    if request.terms.skill:
        how = f"The order names a skill. How to do this well is in {SKILL}, read-only: read {SKILL}/{MAIN} first."
        return f"{_task(request)}\n## Skill\n\n{how}\n"
    return _task(request)


def _task(request: Request) -> str:
    if isinstance(request, PatchGenRequest):
        return _patch_task(request)
    if isinstance(request, CodeReviewRequest):
        return _review_task(request)
    assert isinstance(request, TextGenRequest)
    parts = [f"# Write a text\n\nWrite the text to {WORKSPACE}/{OUTPUT_FILE}, at most {request.max_tokens} tokens."]
    parts += [request.system] * bool(request.system)
    return "\n\n".join([*parts, request.prompt]) + "\n"


def _patch_task(request: PatchGenRequest) -> str:
    where = f"the folder {request.subdir} of " if request.subdir else ""
    rules = [
        f"- Work in {where}the repository in {WORKSPACE}/{REPOSITORY}. Change files there; no commit is needed.",
        f"- You are done when this command passes: `{request.test_command}`",
        *(f"- This must pass too: `{command}`" for command in request.verification_commands),
        *(f"- The buyer knows what this must print: `{check.command}`" for check in request.checks),
        f"- You may change: {', '.join(request.allowed_paths)}",
        f"- You must not change: {', '.join(request.disallowed_paths) or 'nothing else'}",
        "- Existing tests and what configures them decide about your work: leave them as they are.",
    ]
    if request.allowed_tools:
        rules.append(f"- Use these kinds of tools only: {', '.join(request.allowed_tools)}.")
    return f"# {request.title}\n\n{request.body}\n\n## Rules\n\n" + "\n".join(rules) + "\n"


def _review_task(request: CodeReviewRequest) -> str:
    rules = [
        f"- The change is in {WORKSPACE}/{DIFF_FILE}; the repository, if there is one, in {WORKSPACE}/{REPOSITORY}.",
        f"- Look for: {', '.join(item.value for item in request.focus)}. Depth: {request.depth.value}.",
        f"- Write the review as JSON to {WORKSPACE}/{OUTPUT_FILE}, with the fields summary, approval_status (approve,"
        " request_changes, comment), issues (severity, category, file, line_range, description, current,"
        " suggested_fix), suggestions (file, line, current, suggested, rationale), highlights, examined (file,"
        " statement).",
        "- Line numbers are those of the new side of the change, and only lines that it shows can be named.",
    ]
    return f"# Review a change\n\n{request.instructions}\n\n## Rules\n\n" + "\n".join(rules) + "\n"
