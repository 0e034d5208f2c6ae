"""Layers over HTTP, for operators: a layer tells what a buyer's repository needs, which is nobody else's business."""

from __future__ import annotations

from choir.bazaar.environments.layers import find, shelf_at
from choir.bazaar.policy import EnvironmentsPolicy
from choir.doors.environments.shapes import LayerOut, LayerPage
from choir.doors.http.access import AccessRoute, NodeDep, OperatorDep
from choir.doors.http.openapi import problems
from choir.doors.http.rooms import RoomRouter

router = RoomRouter(prefix="/environments", tags=["environments"], route_class=AccessRoute)


@router.get("")
def list_environments(_: OperatorDep, node: NodeDep) -> LayerPage:
    """List the layers that this node keeps, the one that was used last first."""
    found = shelf_at(node.settings.home).all()
    most = node.policy.of(EnvironmentsPolicy).layers_bytes_max
    return LayerPage(items=[LayerOut.of(item) for item in found], bytes=sum(i.bytes for i in found), bytes_max=most)


@router.get("/{layer}", responses=problems(404))
def get_environment(layer: str, _: OperatorDep, node: NodeDep) -> LayerOut:
    """Get one layer by its hash, or by the beginning of it."""
    return LayerOut.of(find(shelf_at(node.settings.home), layer))


@router.delete("/{layer}", status_code=204, responses=problems(404, 409))
def remove_environment(layer: str, _: OperatorDep, node: NodeDep) -> None:
    """Remove a layer that no job uses now. The next job that needs it sets it up again."""
    shelf = shelf_at(node.settings.home)
    shelf.remove(find(shelf, layer).name)
