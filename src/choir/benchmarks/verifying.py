"""Verify a database and say how fast and in how much memory: run by `choir bench ledger`."""

from __future__ import annotations

import json
import resource
import sys
import time

from choir.foundation.clock import SystemClock, SystemEntropy
from choir.foundation.signing import NodeSecret
from choir.ledger.keys import NodeKeys
from choir.ledger.verification import verify_database
from choir.storage.database import Tx, connect


def main() -> None:
    dsn = sys.argv[1]
    secret = NodeSecret(SystemEntropy().bytes(32))
    keys = NodeKeys("choir/benchmark", secret.signer, SystemClock())
    with connect(dsn) as db:
        keys.record_first(Tx(db))
        db.commit()
        began = time.perf_counter()
        report = verify_database(Tx(db), keys)
        elapsed = time.perf_counter() - began
    told = {
        "good": report.good,
        "entries": report.entries,
        "per_second": round(report.entries / elapsed),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000),
        "differences": [item._asdict() for item in report.differences[:5]],
    }
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
