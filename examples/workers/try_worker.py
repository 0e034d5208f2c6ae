"""Try a worker on a folder of yours, without a node and without money.

Called as: try_worker.py WORKER FOLDER [TEST COMMAND]

WORKER is the path of a Python file or profile, or the name of a built-in worker or preset. A repository is made of
the folder, as a buyer's client would; the worker gets an order for it in the sandbox; what it would hand in is printed,
with its trajectory.
"""

from __future__ import annotations

import sys

from choir.sdk import ChoirError, try_worker


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        trial = try_worker(*sys.argv[1:4])
    except ChoirError as error:
        print(error, error.advice, file=sys.stderr)
        return 1
    if trial.loose:
        print(f"For trying out only: {trial.loose}.", file=sys.stderr)
    print(trial.trajectory)
    print(trial.error or trial.diff)
    return 0 if trial.is_done else 1


if __name__ == "__main__":
    sys.exit(main())
