"""Real packages whose source distributions carry tests: fetched once into a cache, never committed.

Each has a small fault put in by hand, which its own tests notice. The buyer's tree has the fault, the delivery is the
package as it was published.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from choir.bazaar.contracts import PatchGenRequest, Terms
from choir.bazaar.jobs.model import Strength
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification.controlled.judging import TestName, test_of
from choir.bazaar.verification.controlled.runs import Tests, calibrate, control
from choir.bazaar.verification.reports import Outcome
from choir.bazaar.verification.service import Verifier
from choir.bazaar.verification.trees import lay_out
from choir.sandbox.service import Sandboxes

CACHE = Path(os.environ.get("CHOIR_TEST_CACHE", Path.home() / ".cache" / "choir-tests")) / "sdists"
POLICY = VerificationPolicy(test_wall_s=300)
RUNS = 5


class Offline(Exception):
    """A package is not in the cache and cannot be fetched."""


@dataclass(frozen=True)
class Package:
    """A published package, and a fault."""

    name: str
    version: str
    command: str
    file: str
    right: str
    wrong: str

    def fetch(self) -> Path:
        """The source distribution."""
        found = sorted(CACHE.glob(f"{self.name.replace('-', '?')}-{self.version}.tar.gz"))
        if not found:
            CACHE.mkdir(parents=True, exist_ok=True)
            words = ["download", "-q", "--no-binary", ":all:", "--no-deps", "-d", str(CACHE)]
            try:
                subprocess.run(
                    [sys.executable, "-m", "pip", *words, f"{self.name}=={self.version}"],
                    check=True, capture_output=True, timeout=180,
                )  # fmt: skip
            except (subprocess.SubprocessError, OSError) as error:
                raise Offline(f"{self.name} {self.version} cannot be fetched") from error
            found = sorted(CACHE.glob(f"{self.name.replace('-', '?')}-{self.version}.tar.gz"))
        return found[0]

    def unpack(self, folder: Path) -> tuple[Path, Path]:
        """The tree with the fault, and as it was published."""
        with tarfile.open(self.fetch()) as archive:
            archive.extractall(folder, filter="data")
        (published,) = (path for path in folder.iterdir() if path.is_dir())
        right = lay_out(published, folder / "right" / "tree")
        faulty = lay_out(published, folder / "faulty" / "tree")
        text = (faulty / self.file).read_text(encoding="utf-8")
        assert text.count(self.right) >= 1, "there is nothing to put the fault in"
        (faulty / self.file).unlink()
        (faulty / self.file).write_text(text.replace(self.right, self.wrong, 1), encoding="utf-8")
        return faulty, right


PACKAGES = [
    Package(
        "inflection", "0.5.1", "python3 -m pytest -q test_inflection.py", "inflection/__init__.py",
        "return word.replace('_', '-')", "return word.replace('_', '+')",
    ),
    Package(
        "parse", "1.20.2", "python3 -m pytest -q tests", "parse.py",
        "return sign * int(string, base)", "return int(string, base) + 1",
    ),
    Package(
        "toolz", "1.0.0", "python3 -m pytest -q toolz/tests", "toolz/itertoolz.py",
        "return itertools.islice(seq, n)", "return itertools.islice(seq, n + 1)",
    ),
    Package(
        "xmltodict", "0.14.2", "python3 -m pytest -q tests", "xmltodict.py",
        "attr_prefix='@',\n                 cdata_key='#text',\n                 force_cdata",
        "attr_prefix='%',\n                 cdata_key='#text',\n                 force_cdata",
    ),
    Package(
        "semver", "3.0.4", "PYTHONPATH=src python3 -m pytest -q -o addopts= tests", "src/semver/version.py",
        "return cls(self._major, self._minor, self._patch + 1)", "return cls(self._major, self._minor, self._patch)",
    ),
    Package(
        "wcwidth", "0.2.13", "python3 -m pytest -q -o addopts= tests", "wcwidth/wcwidth.py",
        "width += wcw", "width += 1",
    ),
    Package(
        "text-unidecode", "1.3", "PYTHONPATH=src python3 -m pytest -q test_unidecode.py",
        "src/text_unidecode/__init__.py", 'return "".join(chars)', 'return " ".join(chars)',
    ),
]  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """How a package's tests are held, and whether the right code passed."""

    package: str
    faults: tuple[tuple[str, str], ...]  # of each run
    noticed: bool  # whether its tests fail with the fault
    functions: Counter[Strength]
    ids: Counter[Strength]

    def row(self) -> str:
        cells = [self.package, f"{sum(not fault[0] for fault in self.faults)} of {len(self.faults)}"]
        for counts in (self.functions, self.ids):
            whole = sum(counts.values())
            cells += [str(whole), *(f"{100 * counts[kind] // max(whole, 1)} %" for kind in Strength)]
        return " | ".join(cells)


HEAD = " | ".join(["package", "passed", *(f"{of} {x}" for of in ("functions", "ids") for x in ("", *Strength))])


def measure(package: Package, verifier: Verifier, folder: Path, runs: int = RUNS) -> Measured:
    """Control runs over the published package, calibrated on the faulty one."""
    faulty, right = package.unpack(folder)
    request = PatchGenRequest("Measure", "", "0" * 40, package.command, Terms(0, 60, "measure"))
    bench = verifier._bench(_never, request, None)
    before = bench.run(faulty, package.command)
    after = bench.run(right, package.command)
    assert after.is_whole, f"{package.name}: its tests do not run here ({after.stopped or after.exit_code})"
    files = sorted({file for _, file in after.collected.values() if file})
    tests = Tests.of(bench, package.command, "", right, files, after)
    known = calibrate(bench, faulty, tests, before)
    found = [control(bench, right, tests, known) for _ in range(runs)]
    strengths = next((item.strengths for item in found if not item.fault[0]), {})
    names: list[TestName] = [test_of(node, after.collected[node][1]) for node in after.with_outcome(Outcome.PASSED)]
    return Measured(
        package.name,
        tuple(item.fault for item in found),
        bool(before.with_outcome(Outcome.FAILED)) or not before.is_whole,
        Counter(strengths.values()),
        Counter(strengths[name] for name in names if name in strengths),
    )


def _never() -> bool:
    return False


@contextmanager
def bench_verifier(sandboxes: Sandboxes) -> Iterator[Verifier]:
    with Verifier(sandboxes, POLICY) as verifier:
        yield verifier
