"""`choir bench verification`: what verifying a patch costs, and which wrong patches it refuses.

Costs: one repository of several small programs, one honest delivery that mends them all, verified at the levels V2, V3
and V4, in turns with running the same tests bare: pytest in the same kind of sandbox, each test once. Refusals: patches
that pass the visible tests and are wrong (`wrong_patches`), and honest ones, each verified with hidden tests and a
mutation floor. `docs/benchmarks.md` says what the aims are.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from choir.bazaar.contracts import HiddenCheck, HiddenChecks, HiddenFile, PatchGenRequest, PatchGenResult, Terms
from choir.bazaar.jobs.model import JobType, Level, Verdict, Visibility
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification import toolchain
from choir.bazaar.verification.model import Delivery, Order
from choir.bazaar.verification.service import Verifier
from choir.benchmarks.measurement import Work, interleaved
from choir.benchmarks.wrong_patches import Mutant, Program, programs, wrong_but_passing
from choir.foundation.canonical import bytes_hash
from choir.foundation.errors import Broken
from choir.sandbox.model import Mount, Spec
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.rules import for_play
from choir.sandbox.service import Sandboxes

Progress = Callable[[str], None]

V3_OF_BARE_MAX = 3.0  # the aims
REFUSED_BPS_MIN = 9_000
HONEST_REFUSED_BPS_MAX = 500
FLOOR_BPS = 6_000  # the mutation floor that is ordered
_SALT = "ab" * 32
_VISIBLE, _HIDDEN = "tests", "hidden_tests"
_TERMS = Terms(10_000_000, 900, "benchmark")
_GIT = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
_GIT |= {f"GIT_{who}_{what}": "x@y.z" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
_GIT |= {f"GIT_{who}_DATE": "2026-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")}


@dataclass(frozen=True, slots=True)
class Size:
    """How much to measure."""

    rounds: int
    mutants_each: int  # of a program at most, evenly chosen
    programs: int | None = None  # None: all


FULL = Size(rounds=5, mutants_each=6)
QUICK = Size(rounds=1, mutants_each=1, programs=4)


def run(size: Size, folder: Path | None = None, say: Progress = lambda _: None) -> dict[str, Any]:
    """Both parts as one JSON value."""
    with tempfile.TemporaryDirectory(prefix="choir-bench-", dir=folder) as name, ExitStack() as stack:
        home = Path(name)
        sandboxes = stack.enter_context(Sandboxes(home / "sandbox", for_play(SandboxPolicy())))
        verifier = stack.enter_context(Verifier(sandboxes, VerificationPolicy(), home))
        chosen = programs()[: size.programs]
        say(f"Verifying one delivery of {len(chosen)} files, {size.rounds} rounds")
        cost = measure_cost(Shop(home / "cost", chosen), sandboxes, verifier, size.rounds)
        say("Looking for wrong patches that pass the visible tests")
        wrong = [one for each in chosen for one in _some(wrong_but_passing(each, sandboxes), size.mutants_each)]
        say(f"Verifying {len(wrong)} wrong and {2 * len(chosen)} honest patches")
        return {"cost": cost, "wrong_patches": measure_refusals(home / "refusals", chosen, wrong, verifier)}


def _some(found: list[Mutant], most: int) -> list[Mutant]:
    """So many of them at most, evenly spread over the places that were changed."""
    if len(found) <= most:
        return found
    return [found[place * len(found) // most] for place in range(most)]


# What is ordered and delivered


class Shop:
    """A repository of programs with faults, as a bundle; orders and deliveries for it."""

    def __init__(self, home: Path, chosen: Sequence[Program]) -> None:
        self.programs = tuple(chosen)
        self.tree = home / "repository"
        files = {program.module: program.broken for program in chosen}
        files |= {f"{_VISIBLE}/test_{program.name}.py": program.visible for program in chosen}
        _write(self.tree, files)
        _git(self.tree, "init", "-q", "-b", "main")
        _git(self.tree, "add", "-A")
        _git(self.tree, "commit", "-q", "-m", "base")
        self.bundle = home / "bundle"
        _git(self.tree, "bundle", "create", "-q", str(self.bundle), "HEAD")
        self.commit = _git(self.tree, "rev-parse", "HEAD").decode().strip()

    def hidden(self, *, outside: bool = False) -> HiddenChecks:
        """The hidden tests; with `outside` also a command for each program, whose output the verifier compares."""
        files = [HiddenFile(f"{_HIDDEN}/test_{each.name}_more.py", each.hidden.encode()) for each in self.programs]
        checks = [HiddenCheck(f"python3 -m pytest -q {_HIDDEN}")]
        if outside:
            checks += [
                HiddenCheck(f"python3 -c {shlex.quote(_printing(each))}", _printed(each)) for each in self.programs
            ]
        return HiddenChecks(_SALT, tuple(checks), tuple(files))

    def order(self, level: Level, hidden: HiddenChecks | None = None, **more: Any) -> Order:
        request = PatchGenRequest(
            title="Mend it",
            body="",
            base_commit=self.commit,
            test_command=f"python3 -m pytest -q {_VISIBLE}",
            terms=_TERMS,
            files_max=len(self.programs),
            hidden=None if hidden is None else hidden.commitment,
            level=level,
        )
        return Order(JobType.PATCH_GEN, replace(request, **more), self.bundle, hidden=hidden)

    def delivery(self, sources: Mapping[str, str]) -> Delivery:
        """A patch that makes these modules of the faulty ones."""
        diff = "".join(each.diff(sources[each.name]) for each in self.programs).encode()
        return Delivery(diff, bytes_hash(diff), PatchGenResult(self.commit))

    def fixes(self) -> dict[str, str]:
        return {each.name: each.fixed for each in self.programs}


def _printing(program: Program) -> str:
    """A program that prints the answers to a few probes; the same in the verifier's sandbox and here."""
    lines = [
        "import hashlib, importlib",
        "def seen(call, *args):",
        "    try: return repr(call(*args))",
        "    except Exception as error: return type(error).__name__",
        program.probes.rstrip(),
        f"told = repr(probe(importlib.import_module({program.name!r})))",
        "print(hashlib.sha256(told.encode()).hexdigest())",
    ]
    return "\n".join(lines)


def _printed(program: Program) -> str:
    """The hash of what the fix prints. The programs are our own, so this one may run here."""
    with tempfile.TemporaryDirectory(prefix="choir-bench-") as name:
        _write(Path(name), {program.module: program.fixed})
        argv = ["/usr/bin/python3", "-c", _printing(program)]
        done = subprocess.run(argv, cwd=name, env={"PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, check=True)
    return hashlib.sha256(done.stdout).hexdigest()


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _git(folder: Path, *words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=folder, env=_GIT, capture_output=True, check=True).stdout


# What it costs


@dataclass
class _Verification:
    """One verification that passes."""

    verifier: Verifier
    order: Order
    delivery: Delivery
    last: Verdict | None = None

    def prepare(self) -> None:
        """Nothing: the base tree was made by the first round, as a node makes it when it examines an order."""

    def run(self) -> int:
        self.last = self.verifier.verify(self.order, self.delivery)
        if not self.last.passed:
            raise Broken(what="An honest delivery", why=f"it was refused: {self.last.reason}")
        return 1


@dataclass
class _Bare:
    """The same tests, each once, without a verifier."""

    sandboxes: Sandboxes
    tools: Mount
    tree: Path
    folders: tuple[str, ...]

    def prepare(self) -> None:
        """Nothing."""

    def run(self) -> int:
        for folder in self.folders:
            spec = Spec(
                argv=("/bin/sh", "-c", f"cd /work/tree && exec /usr/bin/python3 -m pytest -q {folder}"),
                environment={"PYTHONPATH": f"{toolchain.TARGET}/site", "PYTHONDONTWRITEBYTECODE": "1"},
                folder=self.tree,
                folder_at="tree",
                mounts=(self.tools,),
            )
            result = self.sandboxes.run(spec)
            if not result.ok:
                raise Broken(what="A bare run", why=f"it failed: {result.stdout[-300:]!r} {result.stderr[-300:]!r}")
        return 1


def measure_cost(shop: Shop, sandboxes: Sandboxes, verifier: Verifier, rounds: int) -> dict[str, Any]:
    """Seconds of each level and of the bare tests, in turns, and their ratios."""
    fixed = shop.tree.parent / "fixed"
    shutil.copytree(shop.tree, fixed, ignore=shutil.ignore_patterns(".git"))
    _write(fixed, {f"{each.name}.py": each.fixed for each in shop.programs})
    _write(fixed, {f"{_HIDDEN}/test_{each.name}_more.py": each.hidden for each in shop.programs})
    tools = toolchain.build(shop.tree.parent / "tools")
    delivery = shop.delivery(shop.fixes())
    more = {"V3": shop.hidden(), "V4": shop.hidden(outside=True)}
    checked = {name: _Verification(verifier, shop.order(Level(name), more.get(name)), delivery) for name in _LEVELS}
    works: dict[str, Work] = {
        "bare_visible": _Bare(sandboxes, tools, fixed, (_VISIBLE,)),
        "bare": _Bare(sandboxes, tools, fixed, (_VISIBLE, _HIDDEN)),
        **checked,
    }
    began = time.perf_counter()
    checked["V3"].run()  # with nothing of the base known yet
    cold_s = time.perf_counter() - began
    seconds = {name: 1 / rate.median for name, rate in interleaved(works, rounds).items()}
    ratios = {f"{name}_of_bare": round(seconds[name] / seconds["bare"], 2) for name in _LEVELS}
    ratios["V2_of_bare_visible"] = round(seconds["V2"] / seconds["bare_visible"], 2)
    return {
        "files": len(shop.programs),
        "rounds": rounds,
        "cores": os.cpu_count(),
        "seconds": {name: round(found, 3) for name, found in seconds.items()},
        "V3_cold_seconds": round(cold_s, 3),
        "ratios": ratios,
        "verdicts": {name: work.last.sureness() for name, work in checked.items() if work.last is not None},
        "aim": f"V3 at most {V3_OF_BARE_MAX:g} times a bare run",
        "met": ratios["V3_of_bare"] <= V3_OF_BARE_MAX,
    }


_LEVELS = ("V2", "V3", "V4")


# What is refused


@dataclass(frozen=True, slots=True)
class _Case:
    """A patch, and whether it is wrong."""

    program: str
    what: str
    wrong: bool
    order: Order
    delivery: Delivery


def measure_refusals(
    home: Path, chosen: Sequence[Program], wrong: Sequence[Mutant], verifier: Verifier
) -> dict[str, Any]:
    """How many wrong patches and how many honest ones are refused, and by what."""
    cases: list[_Case] = []
    for program in chosen:
        shop = Shop(home / program.name, [program])
        order = shop.order(Level.V3, shop.hidden(), mutation=True, mutation_floor_bps=FLOOR_BPS)
        tried = [("the fix", program.fixed, False), ("another fix", program.honest, False)]
        tried += [(one.what, one.source, True) for one in wrong if one.program.name == program.name]
        cases += [
            _Case(program.name, what, bad, order, shop.delivery({program.name: source})) for what, source, bad in tried
        ]
    with ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
        verdicts = list(pool.map(lambda case: verifier.verify(case.order, case.delivery), cases))
    return _told(cases, verdicts)


def _told(cases: Sequence[_Case], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    pairs = list(zip(cases, verdicts, strict=True))
    bad = [(case, verdict) for case, verdict in pairs if case.wrong]
    good = [(case, verdict) for case, verdict in pairs if not case.wrong]
    refused, kept = [one for one in bad if not one[1].passed], [one for one in bad if one[1].passed]
    blamed = [one for one in good if not one[1].passed]
    refused_bps = 10_000 * len(refused) // len(bad) if bad else 0
    honest_bps = 10_000 * len(blamed) // len(good) if good else 0
    return {
        "wrong": len(bad),
        "wrong_refused": len(refused),
        "wrong_refused_bps": refused_bps,
        "honest": len(good),
        "honest_refused": len(blamed),
        "honest_refused_bps": honest_bps,
        "by_reason": dict(sorted(Counter(_why(verdict) for _, verdict in refused).items())),
        "passed_though_wrong": [f"{case.program} {case.what}" for case, _ in kept],
        "refused_though_honest": [f"{case.program} {case.what}: {_why(verdict)}" for case, verdict in blamed],
        "aim": f"{REFUSED_BPS_MIN / 100:g} % of the wrong and at most {HONEST_REFUSED_BPS_MAX / 100:g} % of the honest",
        "met": refused_bps >= REFUSED_BPS_MIN and honest_bps <= HONEST_REFUSED_BPS_MAX,
    }


def _why(verdict: Verdict) -> str:
    failed = next(check for check in verdict.checks if not check.passed)
    return f"{failed.reason}{' (hidden)' if failed.visibility is Visibility.HIDDEN else ''}"
