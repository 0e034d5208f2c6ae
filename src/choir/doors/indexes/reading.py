"""The index that a job was paid for, read once for many questions.

Guarantees: who may not read the artifact gets nothing from here; only so many are kept, by their hash, so that a
question does not read millions of bytes each time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from choir.bazaar.contracts import RepoIndex
from choir.bazaar.jobs.model import JobType, NotThereYet, job_id, parse_job_id
from choir.bazaar.policy import VerificationPolicy
from choir.foundation.canonical import ObjectHash
from choir.identity.model import Principal
from choir.node import Node

_KEPT_MAX = 4
_kept: OrderedDict[ObjectHash, RepoIndex] = OrderedDict()
_lock = threading.Lock()


def index_of(node: Node, who: Principal, job: str) -> RepoIndex:
    """The index that was bought with a job, for whoever may read it."""
    id_ = parse_job_id(job)
    with node.read() as tx:
        if node.bazaar.access.job(tx, who, id_).job.type is not JobType.REPO_INDEX:
            raise NotThereYet(what="index", of=job_id(id_))
        name = node.bazaar.access.bought(tx, who, id_)
        with _lock:
            if name in _kept:
                _kept.move_to_end(name)
                return _kept[name]
        policy = node.policy.of(VerificationPolicy)
        data = node.objects.part(tx, name, 0, policy.index_bytes_max)[1]
    found = RepoIndex.from_bytes(data, policy)
    with _lock:
        _kept[name] = found
        while len(_kept) > _KEPT_MAX:
            _kept.popitem(last=False)
    return found
