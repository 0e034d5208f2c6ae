"""The second metric: what a passage's words say about it, whatever its vector says. Pure.

It knows four ways of not being new:
- a paraphrase: a work before it has its rare words, names and numbers, as they are or as words of the same meaning;
- a patchwork: runs of three words come from the passages nearby, whatever their order;
- noise: words in an order that no sentence has, lists of keywords, repetition, filler of stock phrases;
- a text without a thread: its sentences speak of different things (the distance between halves of its passages), or
  are chains of words that a machine drew one after another.

Each gives a distance of the same scale as the first metric's, 1 where it finds nothing. Word order, rarity and
meanings are known for English; a text in another language is judged by what does not need them, and said to be unread.
`tools/fit_novelty.py` fits the tables of rarity and order.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import isqrt
from pathlib import Path

from choir.commons.articles.words import words_of
from choir.commons.novelty.calibration import Knots, interpolated
from choir.commons.novelty.rules import PPM
from choir.commons.verifiers import lexicon

RARITY_MOST = 8
_NEARBY = 3  # passages of one work that a passage is compared with: a long work has all words somewhere
_RARITY = Path(__file__).with_name("rarity.txt")
_STOCK = Path(__file__).with_name("stock.txt")

# Shares in millionths, and the distance that they allow: chosen so that attacks are met and few honest articles are;
# tests/commons/novelty counts both.
PARAPHRASE: Knots = ((0, PPM), (640_000, 550_000), (720_000, 250_000), (780_000, 150_000), (850_000, 50_000), (PPM, 0))
PATCHWORK: Knots = ((0, PPM), (200_000, 550_000), (300_000, 250_000), (400_000, 50_000), (PPM, 0))
REPETITION: Knots = ((0, PPM), (80_000, 550_000), (120_000, 150_000), (160_000, 0), (PPM, 0))
BREVITY: Knots = ((0, 0), (390, 550_000), (391, PPM))  # by words
LOOSE: Knots = ((370, PPM), (371, 550_000), (430, 190_000), (500, 0))  # thousandths
ORDER_LEAST = 100  # thousandths of a bit that the order of words is likelier than chance, on average
FUNCTION_LEAST = 180_000  # share of words that only bind others together
REPEATED_MOST = 420_000  # share of runs of three words that were there before, within a passage
PACKED_LEAST = 300_000  # what compression leaves of a passage
SENTENCE_MOST = 90  # words of a sentence, on average
STOCK_MOST = 400_000  # share of sentences that have a stock phrase
_LONG_RUN = 5  # words in a row that prose seldom has twice
_THREAD_WORDS_LEAST = 300
_WORDS_LEAST = 40  # shorter passages are not judged by their statistics

_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d[\d.,]*|[.!?;:,()]")
_STOPS = frozenset(".!?")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”)]*\s+(?![a-z])|\n\n")
FUNCTION = lexicon.words_of(
    """
    the a an of in on at to for from by with as is are was were be been being it its this that these those their his
    her our your my they he she we you i them him us me not no or and but if then than so because while when where which
    who whom what how there here had has have having did do does will would can could may might must should shall each
    every all any some such same other another more most less only also very one two into onto over under between
    through during before after about against within without up down out off again once both few many much own too just
    nor yet still even until since although though whether either neither per
    """
)
_ENDINGS = ("ing", "ed", "ly", "tion", "s", "er", "al", "ive", "ous", "ment", "ity", "able")
_OTHERS = {  # words that bind, of languages that are not read
    "German": "der die das und ist nicht ein eine zu den von mit sich auf für dem im des auch es als wird sind",
    "French": "le la les de des et est un une du que qui dans pour pas sur au par avec ce il elle sont ne se",
    "Spanish": "el la los las de y que en un una es por con para no se del al lo como más su son pero",
    "Italian": "il la le di e che in un una è per con non si del della al lo come più sono ma anche gli i",
    "Portuguese": "o a os as de e que em um uma é por com para não se do da no na como mais são mas ao",
    "Dutch": "de het een en van is niet te dat op in met voor zijn aan er die ook als maar bij wordt om",
    "Swedish": "och att det som en är på av för med den till inte ett har de om var från men kan vid så",
    "Danish": "og at det som en er på af for med den til ikke et har de om var fra men kan ved så der",
    "Polish": "i w na z do nie się że jest to o jak po co ale od za przez dla tego są oraz być przy",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """How far a passage may be from earlier work by its words, and the reason if that is less than 1."""

    d: int
    why: str = ""
    noise: bool = False


FREE = Finding(PPM)


def paraphrase(text: str, name: str, near: Sequence[str]) -> Finding:
    """Whether a work has the passage's rare words, names and numbers, or words that mean the same.

    `near`: the work's passages, the nearest first.
    """
    known = frozenset[tuple[str, int]]().union(*(_meanings_of(one) for one in near[:_NEARBY]))
    total = shared = 0
    for word in {_root(word): word for word in words_of(text).folded}.values():
        weight = rarity(word)
        total += weight
        if not known.isdisjoint(_meanings(word)):
            shared += weight
    share = shared * PPM // total if total else 0
    why = f"{share * 100 // PPM} % of its particular words and meanings are those of {name}"
    return Finding(interpolated(share, PARAPHRASE), why)


def patchwork(text: str, near: Iterable[str]) -> Finding:
    """Whether the passage's runs of three words stand in the passages nearby."""
    runs = set(_runs(words_of(text).folded))
    if not runs:
        return FREE
    known = frozenset[tuple[str, ...]]().union(*(_runs_of(one) for one in near))
    share = len(runs & known) * PPM // len(runs)
    return Finding(
        interpolated(share, PATCHWORK), f"{share * 100 // PPM} % of its runs of three words stand in works near to it"
    )


def noise(text: str, unread: str | None) -> Finding:
    """Whether the passage is no prose at all."""
    tokens = tokens_of(text)
    words = [token for token in tokens if token[0].isalnum()]
    if len(words) < _WORDS_LEAST:
        return FREE
    runs = Counter(_runs(words))
    if sum(runs.values()) - len(runs) > REPEATED_MOST * sum(runs.values()) // PPM or _packed(text) < PACKED_LEAST:
        return Finding(0, "it repeats itself", noise=True)
    if len(words) > SENTENCE_MOST * max(1, sum(token in _STOPS for token in tokens)) and unread is None:
        return Finding(0, "it has no sentences", noise=True)
    if unread is not None:
        return FREE
    if stock(text) > STOCK_MOST:
        return Finding(0, "it is filler: stock phrases that would fit any subject", noise=True)
    return _noise_in_english(tokens, words)


def repetition(text: str) -> Finding:
    """Whether a whole article says the same again and again, a few words changed, or was drawn from a small store."""
    words = words_of(text).folded
    runs = list(zip(*(words[at:] for at in range(_LONG_RUN)), strict=False))
    if len(runs) < _WORDS_LEAST:
        return FREE
    share = (len(runs) - len(set(runs))) * PPM // len(runs)
    d = interpolated(share, REPETITION)
    return Finding(d, f"{share * 100 // PPM} % of its runs of {_LONG_RUN} words were there before in it", noise=d == 0)


def brevity(words: int) -> Finding:
    """A few words are far from everything by their mere number: what a short text allows grows with its length."""
    return Finding(interpolated(words, BREVITY), f"it has {words} words, too few to tell how new it is")


def tokens_of(text: str) -> list[str]:
    """Words, numbers and signs of punctuation."""
    return [token.lower() for token in _TOKEN.findall(text)]


def stock(text: str) -> int:
    """The share of sentences, in millionths, that have a phrase which fits any subject."""
    sentences = [" ".join(words_of(one).folded) for one in re.split(r"(?<=[.!?])\s+", text)]
    return sum(_stock().search(one) is not None for one in sentences) * PPM // len(sentences)


@cache
def _stock() -> re.Pattern[str]:
    phrases = [" ".join(words_of(line).folded) for line in _STOCK.read_text().splitlines() if not line.startswith("#")]
    return re.compile(r"\b(?:" + "|".join(map(re.escape, phrases)) + r")\b")


def _noise_in_english(tokens: Sequence[str], words: Sequence[str]) -> Finding:
    if sum(word in FUNCTION for word in words) * PPM < FUNCTION_LEAST * len(words):
        return Finding(0, "it is a list of words", noise=True)
    if order(tokens) < ORDER_LEAST:
        return Finding(0, "its words stand in an order that no sentence has", noise=True)
    return FREE


def order(tokens: Sequence[str], gap: int = 1) -> int:
    """How much likelier than by chance the kinds of words so far apart are: thousandths of a bit, on average."""
    table = _order(gap)
    kinds = [kind_of(token) for token in tokens]
    values = [table.get(pair, 0) for pair in zip(kinds, kinds[gap:], strict=False)]
    return sum(values) // max(1, len(values))


def looseness(text: str, lengths: Sequence[int]) -> int:
    """How unequal sentences are, less how well words two and three places apart agree; in thousandths."""
    total = sum(lengths)
    spread = isqrt(sum((length * len(lengths) - total) ** 2 for length in lengths) * PPM // len(lengths)) // total
    tokens = tokens_of(text)
    return spread - order(tokens, 2) - order(tokens, 3)


def sentence_lengths(text: str) -> list[int]:
    """Words of each sentence: what ends with a stop before no small letter (as "e.g. this" does), or its paragraph.

    One or two words are no sentence but an abbreviation, as in "p. 12" and "Op. Cit.": they belong to what follows.
    """
    lengths = [0]
    for part in _SENTENCE_END.split(text):
        if lengths[-1] > 2:
            lengths.append(0)
        lengths[-1] += len(part.split())
    return [length for length in lengths if length]


def thread(text: str, distances: Sequence[int], words: Sequence[int], knots: Knots, unread: str | None) -> Finding:
    """Whether an article keeps to a thread: what is drawn word by word changes its subject, and ends anywhere.

    `distances`: of the halves of each passage; `knots`: of their mean in thousandths, plus the looseness of sentences.
    An embedder that nobody fitted has no knots, and only its sentences are looked at.
    """
    total = sum(words)
    if unread is not None or total < _THREAD_WORDS_LEAST:
        return FREE
    loose = looseness(text, sentence_lengths(text))
    apart = sum(distance * count for distance, count in zip(distances, words, strict=True)) // total // 1_000
    d = interpolated(apart + loose, knots) if knots else interpolated(loose, LOOSE)
    return Finding(d, "its sentences have no thread: they change their subject and end anywhere", noise=d == 0)


def halves(text: str) -> tuple[str, str]:
    """Every other sentence, and the rest; of a text with few sentences its first and second half."""
    sentences = re.split(r"(?<=[.!?])\s+", text)
    if len(sentences) < 4:
        words = text.split()
        return " ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])
    return " ".join(sentences[::2]), " ".join(sentences[1::2])


def unread_language(text: str) -> str | None:
    """The language that a text is in, as far as it is seen, if it is not English."""
    words = words_of(text).folded
    if not words:
        return None
    if sum(word.isascii() for word in words) * 2 < len(words):
        return "another script"
    english = sum(word in FUNCTION for word in words)
    counts = {name: sum(word in its for word in words) for name, its in _others().items()}
    name = max(counts, key=lambda one: counts[one])
    return name if counts[name] * 5 >= len(words) and counts[name] > english else None


@cache
def _others() -> dict[str, frozenset[str]]:
    return {name: frozenset(words_of(words).folded) for name, words in _OTHERS.items()}


def kind_of(token: str) -> str:
    """What the order of words is told by: words that bind stand for themselves, others for their ending."""
    if token in FUNCTION or not token[0].isalnum():
        return "." if token in _STOPS else token
    if token[0].isdigit():
        return "0"
    return next((f"-{ending}" for ending in _ENDINGS if token.endswith(ending)), "*")


def rarity(word: str) -> int:
    """From 0 for words that stand everywhere to 8 for rare ones; numbers of two digits and more are rare."""
    if word.isdigit():
        return RARITY_MOST if len(word) > 1 else 3
    return _rarities().get(_root(word), RARITY_MOST)


@cache
def _rarities() -> dict[str, int]:
    lines = (line.split() for line in _RARITY.read_text().splitlines() if not line.startswith("#"))
    return {word: int(row[0]) for row in lines for word in row[1:]}


@cache
def _order(gap: int) -> dict[tuple[str, str], int]:
    """Lines: a kind, then for each kind that may follow a letter; `k` is chance, a letter is half a bit."""
    file = Path(__file__).with_name(f"order{gap}.txt")
    head, *lines = [line.split(" ") for line in file.read_text().splitlines() if not line.startswith("# ")]
    found = {}
    for kind, letters in lines:
        for after, letter in zip(head, letters, strict=True):
            found[kind, after] = (ord(letter) - ord("k")) * 500
    return found


def _packed(text: str) -> int:
    data = " ".join(text.split()).encode()
    return len(zlib.compress(data, 9)) * PPM // max(1, len(data))


def _runs(words: Sequence[str]) -> Iterable[tuple[str, ...]]:
    return zip(words, words[1:], words[2:], strict=False)


@lru_cache(maxsize=20_000)
def _runs_of(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(_runs(words_of(text).folded))


@lru_cache(maxsize=20_000)
def _meanings_of(text: str) -> frozenset[tuple[str, int]]:
    return frozenset(meaning for word in set(words_of(text).folded) for meaning in _meanings(word))


@lru_cache(maxsize=50_000)
def _meanings(word: str) -> frozenset[tuple[str, int]]:
    return frozenset(lexicon.keys(word).items())


@lru_cache(maxsize=50_000)
def _root(word: str) -> str:
    return lexicon.root(word)
