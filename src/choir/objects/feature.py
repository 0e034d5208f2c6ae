"""The object store, as a part of a node."""

from __future__ import annotations

from choir.feature import BackgroundWork, Base, Feature, RepeatingTask, Stopping
from choir.objects.policy import ObjectsPolicy
from choir.objects.service import Objects
from choir.storage.tasks import Task


def _work(base: Base, _: Stopping) -> BackgroundWork:
    objects = base.of(Objects)

    def collect(_: Task) -> None:
        """Remove objects that nothing points to, in bounded transactions."""
        more = True
        while more:
            with base.unit_of_work() as tx:
                more = objects.collect(tx, base.clock.now_us()).more

    return BackgroundWork(
        every=(RepeatingTask("objects.collect", base.policy.of(ObjectsPolicy).collect_every_s, slow=collect),)
    )


FEATURE = Feature(
    name="objects",
    needs=("storage",),
    build=lambda base: (Objects(base.clock, base.policy.of(ObjectsPolicy)),),
    work=_work,
)
