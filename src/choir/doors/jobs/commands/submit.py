"""`choir job submit run|review|patch|index|text`: order, wait, and get what was bought."""

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
from choir.doors.environments import options as env
from choir.doors.jobs.commands import checks, inputs, no_provider, options, presentation
from choir.doors.jobs.commands.buyer import as_buyer, sat
from choir.doors.jobs.commands.checks import CheckOption, ExpectHashOption, ExpectOption, HiddenCheckOption
from choir.doors.jobs.commands.options import OrderOptions
from choir.doors.jobs.commands.watch import ending_early, telling
from choir.foundation.errors import Invalid, Unavailable

if TYPE_CHECKING:
    from choir.bazaar.contracts import HiddenCheck
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


RepoUrlOption = Annotated[
    str | None,
    typer.Option("--repo-url", help="Fetch this repository instead (https://…), in a sandbox.", metavar="URL"),
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
    repo_url: RepoUrlOption = None,
    ref: RefOption = None,
    second_review: options.SecondReviewOption = None,
    *,
    wanted: OrderOptions,
) -> None:
    """Get a code review of a change. Uncommitted changes are not included."""
    from choir.bazaar.verification.diffs import read_diff

    with output.reading_options():
        inputs.check_words(focus or [], depth)
    limits = output.policy_at(wanted.node).of(VerificationPolicy)
    if repo_url is not None:
        _review_fetched(wanted, repo_url, ref, diff, include or [], focus or ["all"], depth, instructions, limits)
        return
    if ref is not None:
        raise Invalid(what="--ref", why="it goes with --repo-url; name local commits with --diff FROM..TO")
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
            depth=depth, instructions=instructions, second_review=second_review or "", **wanted.terms(most),
        ),
        second_review=bool(second_review),
    )  # fmt: skip


@app.command(epilog="Example: choir job submit patch --repo . --test 'python3 -m pytest -q' --out fix.diff")
@options.order
def patch(
    test: Annotated[
        str,
        typer.Option("--test", help="A pytest or unittest command that fails now and must pass.", metavar="COMMAND"),
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
    check: CheckOption = None,
    hidden_check: HiddenCheckOption = None,
    expect: ExpectOption = None,
    expect_hash: ExpectHashOption = None,
    verify: Annotated[
        list[str] | None,
        typer.Option("--verify", help="A command that must exit with code 0; may be repeated.", metavar="COMMAND"),
    ] = None,
    level: Annotated[
        str | None,
        typer.Option(
            "--level",
            help="Minimum level of the verdict: V1, V2, V3 (hidden tests) or V4 (outside checks). V3 and V4 cost more.",
            metavar="LEVEL",
        ),
    ] = None,
    full_suite: Annotated[
        bool, typer.Option("--full-suite", help="Tests that pass now must still pass; costs extra.")
    ] = False,
    mutation: Annotated[
        bool,
        typer.Option("--mutation", help="Count how many changes to the patched lines the tests notice; costs extra."),
    ] = False,
    mutation_floor: Annotated[
        str | None,
        typer.Option("--mutation-floor", help="The least share that they must notice, such as 60%.", metavar="SHARE"),
    ] = None,
    writable: Annotated[
        list[str] | None,
        typer.Option(
            "--writable",
            help="A folder that tests may write to; all else is read-only. May be repeated.",
            metavar="FOLDER",
        ),
    ] = None,
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
    setup: env.SetupOption = None,
    setup_file: env.SetupFileOption = None,
    host: env.HostOption = None,
    build: env.BuildOption = None,
    base: env.BaseOption = None,
    no_setup: env.NoSetupOption = False,
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
    repo_url: RepoUrlOption = None,
    second_review: options.SecondReviewOption = None,
    *,
    wanted: OrderOptions,
) -> None:
    """Get a patch that makes a test pass. The diff applies with `git apply` at the repository root."""
    from choir.bazaar.contracts.paths import DISALLOWED, EVERYTHING
    from choir.bazaar.settlement import extras
    from choir.doors.mesh.orders import level_of

    with output.reading_options():
        typed = {"check": check, "hidden_check": hidden_check, "expect": expect, "expect_hash": expect_hash}
        seen, unseen = checks.checks_of(groups.typed_order(), typed)
        least, floor = level_of(level or "V1"), checks.share_bps(mutation_floor)
        mutation = mutation or floor > 0
    text = issue.read_text(encoding="utf-8") if issue is not None else body
    policy = output.policy_at(wanted.node)
    files = files or policy.of(VerificationPolicy).units_files
    most = policy.of(BazaarPolicy).inputs_bytes_max
    more = extras.named(least, policy.of(BazaarPolicy), whole_suite=full_suite, mutation=mutation)
    with ExitStack() as stack:
        sent = stack.enter_context(
            inputs.bundled(repo, repo_url, ref, dirty=dirty, include=include or [], bytes_max=most)
        )
        if not wanted.as_json:
            inputs.tell_bundle(sent)
        with output.reading_options():
            inputs.check_tools(tool or [])
            commands, hidden_files = inputs.hidden_of(hidden or [], sent.subdir, test)
            hidden_checks: list[str | HiddenCheck] = [*commands, *unseen]
            asked = env.Asked(setup, setup_file, host, base, build, no_setup)
            environment, found = env.environment_for(asked, sent)
        if environment is not None and found and not wanted.as_json:
            output.say(f"{found} --no-setup orders without it, --setup with another.")
        if exit_code and not wanted.as_json:
            inputs.tell_exit_code(test, hidden=bool(hidden_checks))
        if not wanted.as_json:
            inputs.tell_extras(more)
        _buy(
            wanted,
            JobType.PATCH_GEN,
            files * _MILLI,
            lambda mesh, most: mesh.request_patch(
                sent, title, text, test, allowed_paths=allow or EVERYTHING,
                disallowed_paths=(*DISALLOWED, *(disallow or ())), hidden_checks=hidden_checks,
                hidden_files=hidden_files, checks=seen, verification_commands=verify or (), level=least,
                writable_paths=writable or (), mutation=mutation, mutation_floor_bps=floor, whole_suite=full_suite,
                fail_before=not no_fail_before, exit_code_is_proof=exit_code, files_max=files, environment=environment,
                second_review=second_review or "", allowed_tools=tool or (), max_context_tokens=context_tokens,
                **wanted.terms(most),
            ),
            sum(amount for _, amount in more),
            second_review=bool(second_review),
        )  # fmt: skip


@app.command(epilog="Example: choir job submit index --repo . --languages python --out choir.index")
@options.order
def index(
    repo: RepoOption = Path(),
    languages: Annotated[
        list[str] | None,
        typer.Option(
            "--languages", help="python, javascript, typescript, go or rust; may be repeated.", metavar="NAME"
        ),
    ] = None,
    embeddings: Annotated[bool, typer.Option("--embeddings", help="With a vector for each symbol.")] = False,
    previous: Annotated[
        str | None,
        typer.Option("--previous", help="An index job of yours to build upon, or its artifact's hash.", metavar="JOB"),
    ] = None,
    ref: RefOption = None,
    dirty: Annotated[bool, typer.Option("--dirty", help="Include uncommitted changes.")] = False,
    include: IncludeOption = None,
    repo_url: RepoUrlOption = None,
    *,
    wanted: OrderOptions,
) -> None:
    """Get an index of what a repository defines and where it is used. Search it with `choir index search`."""
    from choir.doors.indexes.commands import check_languages
    from choir.doors.mesh.orders import index_units_milli

    with output.reading_options():
        check_languages(languages or [])
    most = output.policy_at(wanted.node).of(BazaarPolicy).inputs_bytes_max
    with inputs.bundled(repo, repo_url, ref, dirty=dirty, include=include or [], bytes_max=most) as sent:
        if not wanted.as_json:
            inputs.tell_bundle(sent)
        _buy(
            wanted,
            JobType.REPO_INDEX,
            index_units_milli(sent, languages or inputs.all_languages()),
            lambda mesh, most: mesh.request_index(
                sent, languages=languages or (), embeddings=embeddings,
                previous=inputs.bought_index(mesh, previous), **wanted.terms(most),
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


def _review_fetched(
    wanted: OrderOptions, url: str, ref: str | None, diff: str, include: list[str], focus: list[str], depth: str,
    instructions: str, limits: VerificationPolicy,
) -> None:  # fmt: skip
    """A review of what changed between two commits of a repository elsewhere."""
    from choir.bazaar.verification.diffs import read_diff
    from choir.doors.mesh import fetched

    base, _, head = diff.partition("..")
    head = head.lstrip(".") or ref or "HEAD"
    most = limits.review_diff_bytes_max
    with fetched.changes(url, "" if diff == "HEAD~1" else base, head, include=include, bytes_max=most) as (made, sent):
        number = len([item for item in read_diff(made.data).files if item.path])
        if not wanted.as_json:
            output.say(f"Fetched {url}: {made.base[:12]} to {made.head[:12]}.")
            inputs.tell_diff(number, len(made.data), whole=sent is not None)
        _buy(
            wanted,
            JobType.CODE_REVIEW,
            max(1, number) * _MILLI,
            lambda mesh, most: mesh.request_review(
                sent, diff=made.data, focus=focus, depth=depth, instructions=instructions, **wanted.terms(most),
            ),
        )  # fmt: skip


# The same for all


def _buy(
    wanted: OrderOptions,
    type_: JobType,
    units_milli: int,
    order: Callable[[MeshClient, int], Handle],
    extras: int = 0,
    *,
    second_review: bool = False,
) -> None:
    """Order, and wait for it with a live view unless that is not wanted."""
    from choir.doors.mesh.client import MeshClient
    from choir.doors.sdk import homes

    with as_buyer(wanted.node, quiet=wanted.as_json) as buyer:
        buyer.client.known_policy = output.policy_at(wanted.node)
        homes.declare(buyer.client)
        mesh = MeshClient(buyer.client)
        ids.name_providers(buyer.client, wanted.strategy)
        budget = wanted.budget or mesh.default_budget(type_, units_milli, wanted.strategy, extras)
        further = mesh.second_reviews_held(type_, units_milli, budget, wanted.strategy) if second_review else 0
        buyer.cover(budget + further)
        if further and not wanted.as_json:
            output.say(f"At most {sat(further)} SAT more are held for second reviews.")
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
