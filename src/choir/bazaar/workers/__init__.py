"""Workers: what a provider's machine does with a job. No database and no HTTP.

    with Workshop(PooledRunner(pool), folder, policy.workers, policy.verification, policy.sandbox) as shop:
        fulfils = Fulfilling(key, clock, policy.workers)  # the provider's key signs what comes out
        with WorkerPool(workers(["builtin"], shop, os.environ), fulfils, policy.workers) as pool:
            outcome = pool.submit(order).result()  # Fulfilled: artifact, result, trajectory, signatures

Built in, without a model: run, review, fix. Anything else is an agent as a command.
"""

from __future__ import annotations

from choir.bazaar.workers.agents import CommandWorker
from choir.bazaar.workers.catalogue import workers
from choir.bazaar.workers.fulfilling import Fulfilled, Fulfilling, fulfil
from choir.bazaar.workers.model import BrokeDown, NoPlace, NotDone, Produced, Stuck, Worker, WorkOrder
from choir.bazaar.workers.pool import PooledRunner, PoolHealth, WorkerHealth, WorkerPool
from choir.bazaar.workers.presets import preset, script
from choir.bazaar.workers.profiles import CommandProfile
from choir.bazaar.workers.shop import Workshop

__all__ = [
    "BrokeDown",
    "CommandProfile",
    "CommandWorker",
    "Fulfilled",
    "Fulfilling",
    "NoPlace",
    "NotDone",
    "PoolHealth",
    "PooledRunner",
    "Produced",
    "Stuck",
    "WorkOrder",
    "Worker",
    "WorkerHealth",
    "WorkerPool",
    "Workshop",
    "fulfil",
    "preset",
    "script",
    "workers",
]
