"""Base trees and what the buyer's tests do in them, kept for the next delivery of the same job.

Guarantees: what is kept was made from the buyer's bundle alone, before any delivery touched it, and is named by the
bundle's hash and the commit. A tree that is in use is not removed.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from choir.bazaar.environments import builds
from choir.bazaar.environments.model import surroundings
from choir.bazaar.verification import trees
from choir.bazaar.verification.controlled.draws import Known
from choir.bazaar.verification.controlled.runs import Tests, calibrate
from choir.bazaar.verification.decision import Deciders
from choir.bazaar.verification.expectations import ExpectedOutcome, expected_from
from choir.bazaar.verification.model import Runs
from choir.bazaar.verification.reports import Report
from choir.bazaar.verification.test_runs import Bench
from choir.foundation.canonical import bytes_hash, canonical_hash
from choir.foundation.errors import Unavailable

_PIECE = 1 << 20


class NoStatement(Unavailable):
    """The verifier's own program did not come to speak, where no delivery was in sight."""

    code = "bazaar.no_statement"
    sentence = "The tests could not be run on this machine: the sandbox ended without a report."
    hint = "`choir sandbox doctor` shows what works here."


@dataclass(frozen=True, slots=True)
class BaseState:
    """The buyer's tests in the buyer's tree."""

    report: Report
    expected: ExpectedOutcome

    @property
    def deciders(self) -> Deciders:
        report = self.report
        files = {file for _, file in report.collected.values()} | self.expected.files
        return Deciders(frozenset(files - {""}), report.plugins, report.path | {""})


@dataclass(slots=True)
class BaseTree:
    """A buyer's tree."""

    folder: Path
    tree: Path
    users: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    known: dict[tuple[str, str, str], BaseState | Report] = field(default_factory=dict)
    sites: dict[str, tuple[Report, dict[str, Known]]] = field(default_factory=dict)
    built: dict[str, Path] = field(default_factory=dict)  # the tree after an order's build command

    def before(self, bench: Bench, command: str, subdir: str) -> BaseState:
        """A pytest command, run once and remembered."""
        with self.lock:
            key = (command, subdir, surroundings(bench.layer))
            found = self.known.get(key)
            if not isinstance(found, BaseState):
                report = stated(bench.run(self._ready(bench, subdir), command, subdir))
                expected = expected_from(self.tree, command, subdir, report)
                codes = bench.codes(self.tree, sorted(expected.files))
                found = BaseState(report, replace(expected, static_codes=codes))
                self.known[key] = found
            return found

    def known_sites(self, bench: Bench, tests: Tests, plain: Report) -> dict[str, Known]:
        """What is known of the tests' assertions by running them here, without any delivery; found out once."""
        name = _name_of(bench, tests, {path: suite.source for path, suite in tests.suites.items()})
        with self.lock:
            if name not in self.sites:
                tree = self._ready(bench, tests.subdir)
                self.sites[name] = plain, calibrate(bench, tree, tests, plain)
            return self.sites[name][1]

    def known_hidden(self, bench: Bench, tests: Tests, files: Mapping[str, bytes]) -> tuple[Report, dict[str, Known]]:
        """The same for hidden tests, which are put over the buyer's tree for it."""
        name = _name_of(bench, tests, files)
        with self.lock:
            if name not in self.sites:
                self.sites[name] = self._calibrated(bench, tests, files)
            return self.sites[name]

    def hidden_report(self, bench: Bench, command: str, subdir: str, files: Mapping[str, bytes]) -> Report:
        """How hidden tests end in the buyer's own tree; found out once."""
        name = _name_of(bench, Tests(command, subdir, {}), files)
        with self.lock:
            if name not in self.sites:
                with self._with_files(bench, subdir, files) as tree:
                    self.sites[name] = bench.run(tree, command, subdir), {}
            return self.sites[name][0]

    def _calibrated(self, bench: Bench, tests: Tests, files: Mapping[str, bytes]) -> tuple[Report, dict[str, Known]]:
        with self._with_files(bench, tests.subdir, files) as tree:
            report = bench.run(tree, tests.command, tests.subdir)
            return report, calibrate(bench, tree, tests, report)

    @contextmanager
    def _with_files(self, bench: Bench, subdir: str, files: Mapping[str, bytes]) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="hidden-", dir=self.folder) as folder:
            tree = trees.lay_out(self._ready(bench, subdir), Path(folder) / "tree")
            for path, content in files.items():
                trees.put(tree, path, trees.Entry(content))
            yield tree

    def plain(self, bench: Bench, command: str, subdir: str) -> Report:
        """Any other command, run once and remembered."""
        with self.lock:
            key = (command, subdir, surroundings(bench.layer))
            found = self.known.get(key)
            if not isinstance(found, Report):
                found = self.known[key] = stated(bench.run(self._ready(bench, subdir), command, subdir))
            return found

    def _ready(self, bench: Bench, subdir: str) -> Path:
        """The tree after the build command of the order, if it has one. One that fails leaves the tree as it is."""
        layer = bench.layer
        if layer is None or not layer.build:
            return self.tree
        key = f"{surroundings(layer)} {subdir}"
        if key not in self.built:
            tree = trees.lay_out(self.tree, self.folder / f"built-{len(self.built)}" / "tree")
            bench.seen.append(builds.build_on(bench, tree, subdir).result)
            self.built[key] = tree
        return self.built[key]


def _name_of(bench: Bench, tests: Tests, files: Mapping[str, bytes]) -> str:
    content = canonical_hash([[path, bytes_hash(source)] for path, source in sorted(files.items())])
    return f"{tests.command}\0{tests.subdir}\0{content}\0{surroundings(bench.layer)}"


def stated(report: Report) -> Report:
    """A report of a run on the buyer's own tree; without a statement it is this machine that failed."""
    if not report.stated and not report.stopped:
        raise NoStatement
    return report


class Bases:
    """The last few of them."""

    def __init__(self, folder: Path, most: int) -> None:
        self._folder = folder
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, BaseTree] = OrderedDict()
        self._counter = 0

    @contextmanager
    def use(self, runs: Runs, bundle: Path, commit: str, cancelled: Callable[[], bool]) -> Iterator[BaseTree]:
        """The tree of a commit, for as long as it is needed."""
        base = self._take(runs, bundle, commit, cancelled)
        try:
            yield base
        finally:
            with self._lock:
                base.users -= 1

    def _take(self, runs: Runs, bundle: Path, commit: str, cancelled: Callable[[], bool]) -> BaseTree:
        key = f"{_hash_of(bundle)} {commit}"
        with self._lock:
            base = self._kept.get(key)
            if base is not None:
                self._kept.move_to_end(key)
                base.users += 1
                return base
            self._counter += 1
            folder = self._folder / f"base-{self._counter}"
        try:
            base = BaseTree(folder, trees.check_out(runs, bundle, commit, folder, cancelled), users=1)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        with self._lock:
            self._kept[f"{key} {self._counter}" if key in self._kept else key] = base
            self._drop_old()
        return base

    def _drop_old(self) -> None:
        for key in [key for key, base in self._kept.items() if base.users == 0]:
            if len(self._kept) <= self._most:
                return
            shutil.rmtree(self._kept.pop(key).folder, ignore_errors=True)


def _hash_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
