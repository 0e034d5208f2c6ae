"""Layers, as a program asks for them."""

from __future__ import annotations

from choir.doors.environments.shapes import LayerOut, LayerPage
from choir.doors.sdk.calls import Call, R, Room, call, path


class EnvironmentsClient(Room[R]):
    """For operators: what set-ups left on a node."""

    @call
    def all(self) -> Call[LayerPage]:
        """All layers, the one that was used last first."""
        return Call("GET", "/v1/environments", LayerPage)

    @call
    def get(self, layer: str) -> Call[LayerOut]:
        """One layer by its hash, or by the beginning of it."""
        return Call("GET", path("/v1/environments/{layer}", layer=layer), LayerOut)

    @call
    def remove(self, layer: str) -> Call[None]:
        """Remove a layer that no job uses now."""
        return Call("DELETE", path("/v1/environments/{layer}", layer=layer), type(None))
