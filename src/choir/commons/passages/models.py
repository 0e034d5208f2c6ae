"""The embedder of a node: the local model, unless its settings name a service."""

from __future__ import annotations

from choir.commons.passages.embedding import Embedder
from choir.commons.passages.remote import RemoteEmbedder, RemoteSettings
from choir.commons.passages.static import StaticEmbedder
from choir.foundation.settings import Settings


def embedder_of(settings: Settings) -> Embedder:
    """Which model this node embeds with; nothing is loaded before it is first used."""
    service = settings.embedding
    if service is None:
        return StaticEmbedder()
    return RemoteEmbedder(RemoteSettings(service.url, service.model, service.dims, service.key))
