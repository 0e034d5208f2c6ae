"""The journal in the formats of other people's tools: CSV, Beancount, and the ai$ file.

None of these can be verified as the export of `ledger/exporting.py` can: they carry no signature, and leave out what
their tools have no place for. Whoever wants proof takes that one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from choir.ledger.formats.aidollar_export import write_aidollar
from choir.ledger.formats.beancount import write_beancount
from choir.ledger.formats.csv_rows import write_csv
from choir.ledger.streams import Progress
from choir.storage.database import Tx

Writer = Callable[[Tx, Callable[[bytes], Any], Progress], int]  # says how many entries it wrote, or lines of ai$

WRITERS: dict[str, Writer] = {"aidollar": write_aidollar, "beancount": write_beancount, "csv": write_csv}
