"""Source distributions from the package registries, kept in a cache that is never committed.

They are fetched as plain files and checked against the hash in the table; nothing of them runs outside of a sandbox.
Where a registry is out of reach and the cache is empty, the test is skipped and says so.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
import urllib.request
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote, urljoin

import pytest

from tests.real_agents import cache

_FILES_BYTES_MAX = 20_000_000
_LINK = re.compile(r'href="([^"#]+)')


@dataclass(frozen=True)
class Archive:
    """One file of a registry, by its name and hash."""

    package: str
    file: str
    sha256: str

    @property
    def host(self) -> str:
        return "registry.npmjs.org" if self.is_npm else "pypi.org"

    @property
    def is_npm(self) -> bool:
        return self.file.endswith(".tgz")

    def files(self) -> dict[str, bytes]:
        """What it holds, below the one folder that every such archive has."""
        found: dict[str, bytes] = {}
        with tarfile.open(fileobj=io.BytesIO(self._bytes), mode="r:gz") as archive:
            for member in archive:
                path = member.name.partition("/")[2]
                if member.isfile() and path and sum(map(len, found.values())) < _FILES_BYTES_MAX:
                    opened = archive.extractfile(member)
                    assert opened is not None
                    found[path] = opened.read()
        return found

    @cached_property
    def _bytes(self) -> bytes:
        place = cache() / "projects" / f"{self.sha256}.tar.gz"
        if not place.exists():
            try:
                data = self._fetch()
            except OSError as problem:
                pytest.skip(f"{self.file} cannot be fetched from {self.host}: {problem}")
            assert hashlib.sha256(data).hexdigest() == self.sha256, f"{self.file} is not what it was"
            place.parent.mkdir(parents=True, exist_ok=True)
            partial = place.with_suffix(f".{os.getpid()}")  # several test processes may fetch it at once
            partial.write_bytes(data)
            partial.rename(place)
        return place.read_bytes()

    def _fetch(self) -> bytes:
        if self.is_npm:
            version = self.file.rpartition("-")[2].removesuffix(".tgz")
            told = json.loads(_get(f"https://{self.host}/{quote(self.package, safe='@')}"))
            return _get(told["versions"][version]["dist"]["tarball"])
        index = f"https://{self.host}/simple/{self.package}/"
        for link in _LINK.findall(_get(index).decode()):
            if link.endswith(f"/{self.file}"):
                return _get(urljoin(index, link))
        raise FileNotFoundError(f"{self.package} has no {self.file}")


def _get(address: str) -> bytes:
    assert address.startswith("https://")
    with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310 - looked at above
        data: bytes = answer.read()
    return data
