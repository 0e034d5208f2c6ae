"""`choir job submit run|review|patch|text`: order, wait, and get what was bought."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import BazaarPolicy, VerificationPolicy
from choir.doors.cli import groups, ids, output
from choir.doors.jobs.commands import inputs, no_provider, options, presentation
from choir.doors.jobs.commands.buyer import as_buyer, sat
from choir.doors.jobs.commands.options import OrderOptions
from choir.doors.jobs.commands.watch import ending_early, telling
from choir.foundation.errors import Unavailable

if TYPE_CHECKING:
    from choir.doors.mesh.client import MeshClient
    from choir.doors.mesh.model import Handle


class Group(groups.Group):
    """Types have one name for people and one for programs; both are understood."""

    other_names: ClassVar = {name: kind.word for kind in JobType for name in (kind.value, kind.value.replace("_", "-"))}


app = typer.Typer(help="Order work and wait for it.", no_args_is_help=True, cls=Group)

_MILLI = 1_000
_CPU_S = 60  # what is paid for if nothing is said, where the node allows so much
_TOKENS = 1_000

RepoOption = Annotated[Path, typer.Option("--repo", help="A git checkout, a folder inside one, or any folder.")]
RefOption = Annotated[
    str | None, typer.Option("--ref", help="This commit instead of the checked-out one.", metavar="COMMIT")
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option("--include", help="Send this file although it looks like a secret; may be repeated.", metavar="PATH"),
]


@app.command(
    context_settings={"allow_interspersed_args": False},
    epilog="Example: choir job submit run -- python3 -c 'print(6*7)'",
)
@options.order
def run(
    command: Annotated[list[str], typer.Argument(help="The program and its arguments, after --.", metavar="COMMAND")],
    stdin: Annotated[bool, typer.Option("--stdin", help="Send standard input, as text.")] = False,
    env: Annotated[list[str] | None, typer.Option(help="Set an environment variable.", metavar="NAME=VALUE")] = None,
    cpu: Annotated[
        int | None, typer.Option("--cpu", help="Maximum CPU seconds to pay for; default: 60.", min=1)
    ] = None,
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="Output is reproducible; verifiers may re-run it.")
    ] = False,
    exit_code: Annotated[
        int | None, typer.Option("--exit-code", help="The exit code that the program must return.")
    ] = None,
    *,
    wanted: OrderOptions,
) -> None:
    """Run a command in a provider's sandbox and get its output."""
    given = sys.stdin.read() if stdin else ""
    with output.reading_options():
        variables = dict(inputs.pair(item) for item in env or [])
    cpu = cpu or min(_CPU_S, output.policy_at(wanted.node).of(VerificationPolicy).run_cpu_s_max)
    _buy(
        wanted,
        JobType.SANDBOX_RUN,
        cpu * _MILLI,
        lambda mesh, most: mesh.run(
            command, stdin=given, environment=variables, cpu_s_max=cpu, deterministic=deterministic,
            exit_code=exit_code, **wanted.terms(most),
        ),
    )  # fmt: skip


@app.command(epilog="Example: choir job submit review --repo . --diff HEAD~1")
@options.order
def review(
    repo: RepoOption = Path(),
    diff: Annotated[
        str, typer.Option("--diff", help="Commit range: FROM (to HEAD), or FROM..TO.", metavar="COMMIT")
    ] = "HEAD~1",
    diff_file: Annotated[
        Path | None,
        typer.Option("--diff-file", help="Read the diff from a file instead; - reads standard input.", metavar="FILE"),
    ] = None,
    focus: Annotated[
        list[str] | None,
        typer.Option(
            help="security, performance, logic, style, testing, documentation or all; may be repeated.", metavar="FIELD"
        ),
    ] = None,
    depth: Annotated[str, typer.Option(help="quick, standard or thorough.", metavar="DEPTH")] = "standard",
    instructions: Annotated[str, typer.Option(help="What to focus on, in your words.")] = "",
    include: IncludeOption = None,
    *,
    wanted: OrderOptions,
) -> None:
    """Get a code review of a change. Uncommitted changes are not included."""
    from choir.bazaar.verification.diffs import read_diff

    with output.reading_options():
        inputs.check_words(focus or [], depth)
    limits = output.policy_at(wanted.node).of(VerificationPolicy)
    base, head, data = inputs.compared(repo, diff, diff_file, include or [], limits.review_diff_bytes_max)
    number = len([item for item in read_diff(data).files if item.path])
    if not wanted.as_json:
        inputs.tell_diff(number, len(data), whole=diff_file is None)
    _buy(
        wanted,
        JobType.CODE_REVIEW,
        max(1, number) * _MILLI,
        lambda mesh, most: mesh.request_review(
            repo, base, head, diff=None if diff_file is None else data, include=include or (), focus=focus or ["all"],
            depth=depth, instructions=instructions, **wanted.terms(most),
        ),
    )  # fmt: skip


@app.command(epilog="Example: choir job submit patch --repo . --test 'python3 -m pytest -q' --out fix.diff")
@options.order
def patch(
    test: Annotated[
        str, typer.Option("--test", help="A pytest command that fails now and must pass.", metavar="COMMAND")
    ],
    repo: RepoOption = Path(),
    title: Annotated[str, typer.Option("--title", help="The task, in one line.")] = "Make the tests pass",
    body: Annotated[str, typer.Option("--body", help="Details of the task.")] = "",
    issue: Annotated[Path | None, typer.Option("--issue", help="Read the details from a file.", metavar="FILE")] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(help="Only these paths may change, such as src/**; may be repeated.", metavar="PATTERN"),
    ] = None,
    disallow: Annotated[
        list[str] | None,
        typer.Option(help="These paths may not change, besides secrets and workflows.", metavar="PATTERN"),
    ] = None,
    hidden: Annotated[
        list[Path] | None,
        typer.Option(help="A test file that only the node sees, run after delivery; may be repeated.", metavar="FILE"),
    ] = None,
    full_suite: Annotated[bool, typer.Option("--full-suite", help="Tests that pass now must still pass.")] = False,
    no_fail_before: Annotated[
        bool, typer.Option("--no-fail-before", help="The tests need not fail without the patch.")
    ] = False,
    exit_code: Annotated[
        bool,
        typer.Option("--exit-code", help="Any command, such as 'npm test': only its exit code is checked (V1, weak)."),
    ] = False,
    files: Annotated[
        int | None,
        typer.Option("--files", help="Maximum changed files to pay for; default: from the node's policy.", min=1),
    ] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option("--tool", help="Only these tools for agents: read, edit, shell; may be repeated.", metavar="TOOL"),
    ] = None,
    context_tokens: Annotated[
        int, typer.Option("--max-context-tokens", help="Maximum context of a model that works on it; 0: any.", min=0)
    ] = 0,
    ref: RefOption = None,
    dirty: Annotated[bool, typer.Option("--dirty", help="Include uncommitted changes.")] = False,
    include: IncludeOption = None,
    *,
    wanted: OrderOptions,
) -> None:
    """Get a patch that makes a test pass. The diff applies with `git apply` at the repository root."""
    from choir.bazaar.contracts.paths import DISALLOWED, EVERYTHING
    from choir.doors.mesh import bundles

    text = issue.read_text(encoding="utf-8") if issue is not None else body
    policy = output.policy_at(wanted.node)
    files = files or policy.of(VerificationPolicy).units_files
    most = policy.of(BazaarPolicy).inputs_bytes_max
    with ExitStack() as stack:
        sent = stack.enter_context(bundles.bundle(repo, ref=ref, dirty=dirty, include=include or [], bytes_max=most))
        if not wanted.as_json:
            inputs.tell_bundle(sent)
        with output.reading_options():
            inputs.check_tools(tool or [])
            checks, hidden_files = inputs.hidden_of(hidden or [], sent.subdir)
        if exit_code and not wanted.as_json:
            inputs.tell_exit_code(test, hidden=bool(checks))
        _buy(
            wanted,
            JobType.PATCH_GEN,
            files * _MILLI,
            lambda mesh, most: mesh.request_patch(
                sent, title, text, test, allowed_paths=allow or EVERYTHING,
                disallowed_paths=(*DISALLOWED, *(disallow or ())), hidden_checks=checks, hidden_files=hidden_files,
                whole_suite=full_suite, fail_before=not no_fail_before, exit_code_is_proof=exit_code, files_max=files,
                allowed_tools=tool or (), max_context_tokens=context_tokens, **wanted.terms(most),
            ),
        )  # fmt: skip


@app.command(epilog="Example: choir job submit text 'Say hello in five languages' --max-tokens 200")
@options.order
def text(
    prompt: Annotated[str, typer.Argument(help="What to write; - reads standard input.", metavar="PROMPT")],
    schema: Annotated[
        Path | None, typer.Option("--schema", help="A JSON schema that the text must match.", metavar="FILE")
    ] = None,
    system: Annotated[str, typer.Option(help="Style of the text.")] = "",
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", help="Maximum tokens to pay for; default: 1000.", min=1)
    ] = None,
    *,
    wanted: OrderOptions,
) -> None:
    """Get a text written. Only its length and shape are verified, not its content."""
    asked = sys.stdin.read() if prompt == "-" else prompt
    with output.reading_options():
        shape = None if schema is None else inputs.json_of(schema)
    max_tokens = max_tokens or min(_TOKENS, output.policy_at(wanted.node).of(VerificationPolicy).text_tokens_max)
    _buy(
        wanted,
        JobType.TEXT_GEN,
        max_tokens,
        lambda mesh, most: mesh.text(
            asked, max_tokens=max_tokens, schema=shape, system=system, **wanted.terms(most),
        ),
    )  # fmt: skip


# The same for all


def _buy(wanted: OrderOptions, type_: JobType, units_milli: int, order: Callable[[MeshClient, int], Handle]) -> None:
    """Order, and wait for it with a live view unless that is not wanted."""
    from choir.doors.mesh.client import MeshClient
    from choir.doors.sdk import homes

    with as_buyer(wanted.node, quiet=wanted.as_json) as buyer:
        buyer.client.known_policy = output.policy_at(wanted.node)
        homes.declare(buyer.client)
        mesh = MeshClient(buyer.client)
        ids.name_providers(buyer.client, wanted.strategy)
        budget = wanted.budget or mesh.default_budget(type_, units_milli, wanted.strategy)
        buyer.cover(budget)
        with _perhaps_ordered():
            handle = order(mesh, budget)
        if not wanted.wait:
            _ordered(mesh, handle, as_json=wanted.as_json)
            return
        if not wanted.as_json:
            output.say(f"{handle.id}: at most {sat(handle.budget)} SAT")
        shown = "" if wanted.as_json else "stderr"
        with ending_early(handle.id), telling(buyer.client, steps_to=shown) as view:
            found = mesh.await_and_verify(handle, wanted.timeout_s, on_change=view.look)
    presentation.show(found, wanted.out, force=wanted.force, as_json=wanted.as_json)


@contextmanager
def _perhaps_ordered() -> Iterator[None]:
    """An order that was cut off may have arrived, and then its budget is held: nobody shall have to guess."""
    try:
        yield
    except (KeyboardInterrupt, Unavailable):
        output.say("The order may have been placed: check with choir job ls; cancel it with choir job cancel.")
        raise


def _ordered(mesh: MeshClient, handle: Handle, *, as_json: bool) -> None:
    job = mesh.client.jobs.get(handle.id)
    if as_json:
        output.print_json(job.model_dump(mode="json"))
        return
    output.print_line(handle.id)
    output.say(f"At most {sat(handle.budget)} SAT are held. Get it with: choir job result {handle.id}")
    if job.state == "open":
        no_provider.tell(mesh.client, job, at_once=True, waiting=False)
