"""`choir bench`: measure this machine; ratios within one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson

QuickOption = Annotated[bool, typer.Option("--quick", help="A short run.")]
FolderOption = Annotated[
    Path | None, typer.Option("--folder", help="Where to put what is temporary; default: the temp folder.")
]

app = typer.Typer(help="Measure the ledger, the HTTP API and jobs on this machine.", no_args_is_help=True)

_PROMISES = {
    "batch_of_copy": ("batches of 1000, of a bare COPY of the same rows", ">=", 0.5),
    "batch_of_hot_transactions": ("batches with a hot account, of one transaction each", ">=", 25),
    "callers_of_transactions": ("64 callers, of one transaction each", ">=", 4),
    "hot_callers_of_hot_transactions": ("64 callers with a hot account, of one transaction each", ">=", 12),
    "lone_of_insert": ("a single caller's latency, of a bare durable insert's", "<=", 2.5),
    "hot_of_spread": ("a hot account, of spread accounts", ">=", 0.9),
    "refused_of_spread": ("one in ten refused, of none", ">=", 0.8),
    "large_of_small": ("a large ledger, of a small one", ">=", 0.8),
    # The same aims against the strictest peers: rows packed beforehand, one server-side function per transfer.
    "batch_of_packed_copy": ("batches of 1000, of a COPY of rows packed beforehand", ">=", 0.5),
    "batch_of_hot_functions": ("batches with a hot account, of one server-side function each", ">=", 25),
    "callers_of_functions": ("64 callers, of one server-side function each", ">=", 4),
    "hot_callers_of_hot_functions": ("64 callers with a hot account, of one server-side function each", ">=", 12),
}


@app.callback()
def root() -> None:
    """Measure the ledger, the HTTP API and jobs on this machine."""


@app.command("ledger", epilog="Example: choir bench ledger --quick")
def ledger(
    quick: QuickOption = False,
    folder: FolderOption = None,
    as_json: AsJson = False,
) -> None:
    """Measure the ledger against plain PostgreSQL (a few minutes; uses a temporary database)."""
    from choir.benchmarks.ledger import FULL, QUICK, run

    output.want_json(as_json)
    result = run(QUICK if quick else FULL, folder, output.say)
    if as_json:
        output.print_json(result)
        return
    rows = [_row(name, result["ratios"][name]) for name in _PROMISES]
    output.print_table(["ratio", "measured", "promised", ""], rows, right=[1, 2])
    verify = result["verify"]
    output.print_line(
        f"\nVerified {verify['entries']} entries at {verify['per_second']}/s in {verify['peak_mb']} MB."
        f" Batches of 1000: {result['batches_of_1000']['ledger']['per_second']} entries/s."
    )


_HTTP_SHARES = {
    "session_share": "a read by session: the credential's part of the cost",
    "token_share": "a read by token: the credential's part",
    "signed_share": "a read by signed request: the credential's part",
    "delegation_share_of_read": "a read by an agent's token: the delegation's part",
    "delegation_share_of_write": "a transfer by an agent: the delegation's part",
}


@app.command("http", epilog="Example: choir bench http --quick")
def http(
    quick: QuickOption = False,
    folder: FolderOption = None,
    as_json: AsJson = False,
) -> None:
    """Measure the HTTP API against its own empty route (a minute or two; uses a temporary node)."""
    from choir.benchmarks.http import FULL, QUICK, run

    output.want_json(as_json)
    result = run(QUICK if quick else FULL, folder, output.say)
    if as_json:
        output.print_json(result)
        return
    rows = [_http_row(name, found, result["ratios"]) for name, found in result["requests"].items()]
    head = ["request", "per second", "of empty", "p50 ms", "p99 ms", "server us", "database us", "client us"]
    output.print_table(head, rows, right=[1, 2, 3, 4, 5, 6, 7])
    output.print_line("")
    shares = [(told, f"{100 * result['ratios'][name]:.0f} %") for name, told in _HTTP_SHARES.items()]
    output.print_table(["share", "measured"], shares, right=[1])


@app.command("pages", epilog="Example: choir bench pages --quick")
def pages(
    quick: QuickOption = False,
    folder: FolderOption = None,
    as_json: AsJson = False,
) -> None:
    """Measure every web page against the empty route, and a crowd of visitors (a few minutes; temporary node)."""
    from choir.benchmarks.pages import FULL, QUICK, run

    output.want_json(as_json)
    result = run(QUICK if quick else FULL, folder, output.say)
    if as_json:
        output.print_json(result)
        return
    columns = ("per_second", "p50_ms", "p99_ms", "server_us", "times_empty", "bytes", "script_and_style_bytes")
    rows = [(name, *(str(found.get(key, "")) for key in columns)) for name, found in result["pages"].items()]
    head = ["page", "per second", "p50 ms", "p99 ms", "server us", "times empty", "bytes", "script and style"]
    output.print_table(head, rows, right=list(range(1, 8)))
    crowd = result["crowd"]
    output.print_line(
        f"\n{crowd['visitors']} visitors at once: {crowd['served']} requests served (p99 {crowd['p99_ms']} ms),"
        f" {crowd['refused']} refused, {crowd['failed']} failed."
        f" Afterwards p99 was {crowd['afterwards']['p99_ms']} ms."
    )


@app.command("bazaar", epilog="Example: choir bench bazaar --quick")
def bazaar(
    quick: QuickOption = False,
    folder: FolderOption = None,
    as_json: AsJson = False,
) -> None:
    """Measure jobs against bare sandbox runs (some minutes; uses a temporary node and provider)."""
    from choir.doors.bench.bazaar import FULL, QUICK, run

    output.want_json(as_json)
    result = run(QUICK if quick else FULL, folder, output.say)
    if as_json:
        output.print_json(result)
        return
    head = ["open jobs", "jobs/s", "p50 ms", "p99 ms", "bare runs/s", "bare p50 ms", "more ms", "p50 of bare"]
    output.print_table(head, [_bazaar_row(found) for found in result["open_jobs"]], right=list(range(8)))
    free = result["selection"]["all_free"]
    output.print_line(
        f"\nSelection among {result['selection']['providers']} providers:"
        f" p50 {free['p50_ms']} ms, p99 {free['p99_ms']} ms."
    )


@app.command("commons", epilog="Example: choir bench commons --quick")
def commons(
    quick: QuickOption = False,
    folder: FolderOption = None,
    as_json: AsJson = False,
) -> None:
    """Measure ingest, verification and publishing (a minute or two; uses a temporary database)."""
    from choir.benchmarks.commons import FULL, QUICK, run

    output.want_json(as_json)
    result = run(QUICK if quick else FULL, folder, output.say)
    if as_json:
        output.print_json(result)
        return
    rows = [
        (what, name, str(found["per_second"]))
        for what in ("ingest", "verify", "publish")
        for name, found in result[what].items()
    ]
    output.print_table(["", "what", "per second"], rows, right=[2])
    output.print_line("")
    grown = [(f"{item['chars']:,}", str(item["p50_ms"]), str(item["hash_ms"])) for item in result["growth"]]
    output.print_table(["characters of the source", "verification ms", "hashing ms"], grown, right=[0, 1, 2])
    output.print_line("")
    output.print_table(
        ["ratio", "measured"], [(name, str(value)) for name, value in result["ratios"].items()], right=[1]
    )


@app.command("novelty", epilog="Example: choir bench novelty --quick")
def novelty(
    quick: QuickOption = False,
    million: Annotated[bool, typer.Option("--million", help="With a million passages too (20 minutes).")] = False,
    folder: FolderOption = None,
    as_json: AsJson = False,
) -> None:
    """Measure nearest neighbours as the corpus grows, and the novelty of an article (a few minutes)."""
    from choir.benchmarks.discovery import FULL, MILLION, QUICK, run_novelty

    output.want_json(as_json)
    result = run_novelty(MILLION if million else QUICK if quick else FULL, folder, output.say)
    if as_json:
        output.print_json(result)
        return
    rows = [
        (f"{item['passages']:,}", str(item["recall"]), *_times(item["index"]), *_times(item["numpy"]))
        for item in result["neighbours"]
    ]
    head = ["passages", "recall", "p50 ms", "p99 ms", "exact numpy p50 ms", "p99 ms"]
    output.print_table(head, rows, right=list(range(6)))
    articles = [(name, *_times(found)) for name, found in result["articles"].items()]
    output.print_line("")
    output.print_table(["an article of 1500 words", "p50 ms", "p99 ms"], articles, right=[1, 2])


@app.command("search", epilog="Example: choir bench search --quick")
def search(
    quick: QuickOption = False,
    folder: FolderOption = None,
    as_json: AsJson = False,
) -> None:
    """Measure searches among promoted articles (a few minutes; uses a temporary database)."""
    from choir.benchmarks.discovery import FULL, QUICK, run_search

    output.want_json(as_json)
    result = run_search(QUICK if quick else FULL, folder, output.say)
    if as_json:
        output.print_json(result)
        return
    rows = [(name, *_times(result[name])) for name in ("search", "by_words", "by_sense")]
    output.print_table([f"{result['articles']:,} articles", "p50 ms", "p99 ms"], rows, right=[1, 2])


@app.command("index", epilog="Example: choir bench index --quick")
def index(
    quick: QuickOption = False,
    folder: FolderOption = None,
    as_json: AsJson = False,
) -> None:
    """Measure indexing 100 thousand generated lines against parsing them alone (a minute or two)."""
    from choir.benchmarks.indexes import FULL, QUICK, run

    output.want_json(as_json)
    result = run(QUICK if quick else FULL, folder, output.say)
    if as_json:
        output.print_json(result)
        return
    rows = [
        (name, str(seconds), str(result["ratios"].get(f"{name}_of_parsing", 1)))
        for name, seconds in result["seconds"].items()
    ]
    output.print_table([f"{result['lines']:,} lines", "seconds", "of parsing"], rows, right=[1, 2])


def _times(found: dict[str, float]) -> tuple[str, str]:
    return str(found["p50_ms"]), str(found["p99_ms"])


@app.command("verifiers", epilog="Example: choir bench verifiers --pairs tests/commons/verifiers")
def verifiers(
    pairs: Annotated[
        Path | None, typer.Option("--pairs", help="Folder of sets of pairs; default: those of the source tree.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure what the verifiers catch and what they refuse, by kind of change, on pairs of evidence and claim."""
    from choir.benchmarks.verifiers import pairs_folder, run

    output.want_json(as_json)
    result = run(pairs_folder(pairs))
    if as_json:
        output.print_json(result)
        return
    head = ["set", "kind", "pairs", "failed", "undecided", "passed", "aim", ""]
    rows = [
        (row["set"], row["type"], *(str(row[name]) for name in ("pairs", "failed", "undecided", "passed")), row["aim"],
         "" if row["met"] else "missed")
        for row in result["rows"]
    ]  # fmt: skip
    output.print_table(head, rows, right=[2, 3, 4, 5])
    output.print_line(f"\nVerifiers: {result['version']}")


@app.command("verification", epilog="Example: choir bench verification --quick")
def verification(quick: QuickOption = False, folder: FolderOption = None, as_json: AsJson = False) -> None:
    """Measure what verifying a patch costs against its bare tests, and which wrong patches are refused."""
    from choir.benchmarks.verification import FULL, QUICK, run

    output.want_json(as_json)
    result = run(QUICK if quick else FULL, folder, output.say)
    if as_json:
        output.print_json(result)
        return
    cost, wrong = result["cost"], result["wrong_patches"]
    ratios = {"bare": 1.0} | {name: cost["ratios"].get(f"{name}_of_bare", "") for name in ("V2", "V3", "V4")}
    rows = [(name, f"{cost['seconds'][name]:.2f}", str(ratio)) for name, ratio in ratios.items()]
    output.print_table(["level", "seconds", "of bare"], rows, right=[1, 2])
    output.print_line(f"Aim: {cost['aim']}{'' if cost['met'] else ' (missed)'}.\n")
    output.print_line(
        f"Refused: {wrong['wrong_refused']} of {wrong['wrong']} wrong patches,"
        f" {wrong['honest_refused']} of {wrong['honest']} honest ones."
    )
    output.print_line(f"Aim: {wrong['aim']}{'' if wrong['met'] else ' (missed)'}.")


def _bazaar_row(found: dict[str, Any]) -> tuple[str, ...]:
    jobs, bare = found["jobs"], found["bare_runs"]
    numbers = (jobs["per_second"], jobs["p50_ms"], jobs["p99_ms"], bare["per_second"], bare["p50_ms"])
    return str(found["open_jobs"]), *map(str, numbers), str(found["overhead_p50_ms"]), str(found["p50_of_bare"])


def _http_row(name: str, found: dict[str, Any], ratios: dict[str, float]) -> tuple[str, ...]:
    of_empty = ratios.get(f"{name}_of_empty", 1.0)
    numbers = [found[key] for key in ("p50_ms", "p99_ms", "server_us", "database_us", "client_us")]
    return name, str(found["per_second"]), f"{of_empty:.2f}", *map(str, numbers)


def _row(name: str, found: Any) -> tuple[str, str, str, str]:
    told, sign, promise = _PROMISES[name]
    kept = found >= promise if sign == ">=" else found <= promise
    return told, str(found), f"{sign} {promise}", "" if kept else "missed"


_ENVIRONMENT_RATIOS = {
    "warm_run_of_bare": "a run on a warm layer, of the same run bare",
    "cold_setup_of_bare": "a cold set-up, of the same set-up bare",
    "second_job_of_first": "a second job on the same files, of the first",
}


@app.command("environments", epilog="Example: choir bench environments --quick")
def environments(quick: QuickOption = False, folder: FolderOption = None, as_json: AsJson = False) -> None:
    """Measure set-ups and runs on a layer against doing the same bare (a minute; no network)."""
    from choir.benchmarks.environments import run

    output.want_json(as_json)
    result = run(1 if quick else 5, folder, output.say)
    if as_json:
        output.print_json(result)
        return
    rows = [[told, f"{result['ratios'][name]:g}"] for name, told in _ENVIRONMENT_RATIOS.items()]
    output.print_table(["ratio", "measured"], rows, right=[1])
