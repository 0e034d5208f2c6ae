"""The embedder that a node has by itself: a table with a row for each token, added up by how rare the tokens are.

The table comes with the package `wordllama` (its code is not used). Frequent tokens say little of what a text speaks
of, so they count less; and what all texts have in common is taken away (after Arora, Liang and Ma, "A simple but
tough-to-beat baseline for sentence embeddings", 2017). `static_weights.txt` holds both, fitted by
`tools/fit_novelty.py`.

Guarantees: after the table is read, all arithmetic is of whole numbers, so every machine gets the same vectors bit for
bit; case, punctuation, accents, invisible characters and look-alike letters change nothing (see `words_of`). What is
heavy is loaded at the first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.metadata import PackagePath, files, version
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from choir.commons.articles.words import words_of
from choir.commons.passages.embedding import Vector, scaled
from choir.foundation.errors import Broken

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

_PACKAGE = "wordllama"
_VERSION = "0.4.0.post1"
_TABLE = "weights/l2_supercat_256.safetensors"
_TABLE_HASH = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
_TOKENS = "tokenizers/l2_supercat_tokenizer_config.json"
_TOKENS_HASH = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
_WEIGHTS = Path(__file__).with_name("static_weights.txt")
_ROWS, DIMS = 32_000, 256
FINENESS = 4_096  # the table's halves are exact at this fineness or rounded once, by IEEE's rule
WEIGHT_MOST = 16  # of a token that is rare


@dataclass(frozen=True)
class _Loaded:
    """What is kept in memory: rows of whole numbers with their weights multiplied in, weights, and the tokenizer."""

    rows: NDArray[np.int32]
    weights: NDArray[np.int64]
    common: NDArray[np.int64]  # what all texts share, for each unit of weight
    tokenizer: Tokenizer


class StaticEmbedder:
    """Local, exact, about a thousand passages a second."""

    name = f"wordllama-l2-supercat-256/{_VERSION}+choir.1"
    dims = DIMS

    def __init__(self) -> None:
        self._lock = Lock()

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each text, in order."""
        with self._lock:
            loaded = self._loaded
        return [_embed(loaded, text) for text in texts]

    @cached_property
    def _loaded(self) -> _Loaded:
        import numpy as np

        weights, common = read_weights(_WEIGHTS.read_text())
        weighing = np.array(weights, np.int64)
        rows = (table().astype(np.int32) * weighing[:, None].astype(np.int32)).astype(np.int32)
        return _Loaded(rows, weighing, np.array(common, np.int64), tokenizer())


def _embed(loaded: _Loaded, text: str) -> Vector:
    import numpy as np

    ids = token_ids(loaded.tokenizer, text)
    if not ids:
        return scaled([0] * DIMS)
    total = int(loaded.weights[ids].sum())
    added = loaded.rows[ids].sum(axis=0, dtype=np.int64) - total * loaded.common
    return scaled(added.tolist())


def token_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    """The tokens of a text's folded words."""
    return tokenizer.encode(" ".join(words_of(text).folded), add_special_tokens=False).ids


def table() -> NDArray[np.int32]:
    """The rows as whole numbers."""
    import numpy as np
    from safetensors.numpy import load

    (rows,) = load(_read(_TABLE, _TABLE_HASH)).values()
    assert rows.shape == (_ROWS, DIMS)
    # A half times a power of two is exact in single precision; `rint` rounds by a rule that all machines share.
    whole: NDArray[np.int32] = np.rint(rows.astype(np.float32) * np.float32(FINENESS)).astype(np.int32)
    return whole


def tokenizer() -> Tokenizer:
    """What cuts words into the table's tokens."""
    from tokenizers import Tokenizer

    found = Tokenizer.from_str(_read(_TOKENS, _TOKENS_HASH).decode())
    found.no_padding()
    found.no_truncation()
    return found


def read_weights(text: str) -> tuple[list[int], list[int]]:
    """The weight of each token, and what all texts share. Lines: `common` and its numbers; a weight and its tokens."""
    weights = [WEIGHT_MOST] * _ROWS
    common: list[int] = []
    for line in text.splitlines():
        head, _, rest = line.partition(" ")
        if head == "common":
            common = [int(number) for number in rest.split()]
        elif head.isdigit():
            for token in rest.split():
                weights[int(token)] = int(head)
    assert len(common) == DIMS
    return weights, common


def _read(path: str, hash_: str) -> bytes:
    """A file of the package, which must be the one that the committed numbers were fitted on."""
    if version(_PACKAGE) != _VERSION:
        raise Broken(what=_PACKAGE, why=f"it is {version(_PACKAGE)} where {_VERSION} is needed")
    places: list[PackagePath] = [file for file in files(_PACKAGE) or [] if str(file) == f"{_PACKAGE}/{path}"]
    if not places:
        raise Broken(what=_PACKAGE, why=f"{path} is missing")
    data = Path(str(places[0].locate())).read_bytes()
    if sha256(data).hexdigest() != hash_:
        raise Broken(what=_PACKAGE, why=f"{path} was changed")
    return data
