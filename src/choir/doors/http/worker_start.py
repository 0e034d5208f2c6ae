"""How a server process starts: `python -m choir.doors.http.worker_start FD`.

What is imported stays until the end. So it is not searched for garbage while it is being imported, which would take a
sixth of the start, nor ever again.
"""

from __future__ import annotations

import gc


def main() -> None:
    gc.disable()
    from choir.doors.http import worker

    gc.freeze()
    gc.enable()
    worker.main()


if __name__ == "__main__":
    main()
