"""An embedder behind HTTP: any provider that speaks the OpenAI shape of `/v1/embeddings`, by configuration.

Guarantees: the key is in no error, no log and no `repr`; a provider that is slow, sends too much or sends another shape
than asked for is refused, whole batches at a time; what it sends is turned into whole numbers at once, so that all
arithmetic after it is exact. Whether the provider gives the same vector for the same text tomorrow is its own promise:
its name and version are part of the embedder's name, and on every score.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from choir.commons.passages.embedding import Vector, scaled
from choir.foundation.errors import Unavailable

_FINENESS = 10**9
_DIMS_MAX = 4_000  # what the index of half-precision vectors holds


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """Where the provider is, which model it serves, and what is asked of it at most."""

    url: str  # up to and without `/v1/embeddings`
    model: str
    dims: int
    key: str | None = field(default=None, repr=False)
    timeout_s: float = 30.0
    batch: int = 64
    answer_bytes_max: int = 20_000_000


class RemoteEmbedder:
    """Asks the provider for vectors, a batch at a time."""

    def __init__(self, settings: RemoteSettings) -> None:
        assert 0 < settings.dims <= _DIMS_MAX
        self._settings = settings

    @property
    def name(self) -> str:
        return f"{self._settings.model}/{self._settings.dims}@{httpx.URL(self._settings.url).host}"

    @property
    def dims(self) -> int:
        return self._settings.dims

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each text, in order."""
        size = self._settings.batch
        headers = {"Authorization": f"Bearer {self._settings.key}"} if self._settings.key else {}
        with httpx.Client(timeout=self._settings.timeout_s, headers=headers, follow_redirects=False) as client:
            batches = (texts[at : at + size] for at in range(0, len(texts), size))
            return [vector for batch in batches for vector in self._batch(client, batch)]

    def _batch(self, client: httpx.Client, texts: Sequence[str]) -> list[Vector]:
        body = {"model": self._settings.model, "input": list(texts), "encoding_format": "float"}
        try:
            with client.stream("POST", f"{self._settings.url.rstrip('/')}/v1/embeddings", json=body) as answer:
                if answer.status_code != httpx.codes.OK:
                    raise self._refused(f"it answered with status {answer.status_code}")
                data = b"".join(self._limited(answer.iter_bytes()))
        except httpx.HTTPError as error:
            raise self._refused(type(error).__name__) from None  # its text may hold what was sent
        return self._vectors(data, len(texts))

    def _limited(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        size = 0
        for part in parts:
            size += len(part)
            if size > self._settings.answer_bytes_max:
                raise self._refused("its answer is too large")
            yield part

    def _vectors(self, data: bytes, count: int) -> list[Vector]:
        try:
            rows = json.loads(data)["data"]
            placed = {row["index"]: row["embedding"] for row in rows}
        except (ValueError, TypeError, KeyError, RecursionError):
            raise self._refused("its answer has another shape") from None
        if len(rows) != count or set(placed) != set(range(count)):
            raise self._refused("it did not answer each text once")
        return [self._vector(placed[at]) for at in range(count)]

    def _vector(self, numbers: Any) -> Vector:
        if not isinstance(numbers, list) or len(numbers) != self._settings.dims or not all(map(_is_number, numbers)):
            raise self._refused(f"a vector is not {self._settings.dims} finite numbers")
        largest = max(map(abs, numbers)) or 1
        return scaled([round(number / largest * _FINENESS) for number in numbers])

    def _refused(self, why: str) -> Unavailable:
        return Unavailable(what=f"The embedding provider {httpx.URL(self._settings.url).host}", why=why)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
