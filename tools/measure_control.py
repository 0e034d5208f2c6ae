"""Prints how the tests of real packages are held from outside: the share of functions and ids by strength.

python tools/measure_control.py [PACKAGE …] [--runs N]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """A row for each package."""
    sys.path.insert(0, str(ROOT))
    from tests.bazaar.verification.real_suites import HEAD, PACKAGES, Offline, bench_verifier, measure
    from tests.sandbox.conftest import started

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", help="some of them; all without")
    parser.add_argument("--runs", type=int, default=1, help="control runs of each")
    words = parser.parse_args()
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder, started(Path(folder) / "sandboxes") as sandboxes:
        for package in PACKAGES:
            if words.packages and package.name not in words.packages:
                continue
            place = Path(folder) / package.name
            place.mkdir()
            try:
                with bench_verifier(sandboxes) as verifier:
                    found = measure(package, verifier, place, words.runs)
            except Offline as why:
                print(f"{package.name} | skipped: {why}")
                continue
            print(found.row(), *(fault for fault in found.faults if fault[0]), flush=True)


if __name__ == "__main__":
    main()
