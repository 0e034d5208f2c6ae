"""Writes the table of attacks in docs/security/sandbox.md from its evidence.

python tools/generate_sandbox_table.py           render the committed evidence
python tools/generate_sandbox_table.py --record  run every attack on this machine first
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "security" / "sandbox.md"
EVIDENCE = ROOT / "docs" / "security" / "sandbox-attacks.json"


def generate(*, again: bool = False) -> None:
    """Render the page; with `again`, record the evidence anew."""
    sys.path.insert(0, str(ROOT))
    from tests.sandbox.attacks.table import put_in, record, render

    if again:
        evidence = record(lambda line: print(line, file=sys.stderr))
        EVIDENCE.write_text(json.dumps(evidence, indent=1) + "\n")
    PAGE.write_text(put_in(PAGE.read_text(), render(json.loads(EVIDENCE.read_text()))))


if __name__ == "__main__":
    generate(again="--record" in sys.argv[1:])
