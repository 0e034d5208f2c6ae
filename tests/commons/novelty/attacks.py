"""Ways to earn novelty without any: each attack with the texts that it submits, and what those are measured as.

Before each attack the library holds the background, four original articles by four authors, and nothing else.
Variants of the originals were written by hand (`texts/`); what a machine can make is made here, by seed.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from choir.commons.articles.words import count_words
from choir.commons.novelty.measure import Measured
from tests.commons.novelty.library import Library

TOPICS = ("clocks", "trees", "week")
APART = ("ferry",)  # not looked at when anything was fitted
ALL = (*TOPICS, *APART)
_TEXTS = Path(__file__).with_name("texts")


def written(topic: str, variant: str) -> str:
    return (_TEXTS / topic / f"{variant}.txt").read_text()


def library() -> Library:
    shelf = Library()
    for topic in ALL:
        shelf.add(written(topic, "original"), TITLES[topic], f"author of {topic}")
    return shelf


TITLES = {
    "clocks": "A price for time",
    "ferry": "A fare is a wall",
    "trees": "Fewer trees, better placed",
    "week": "Four days in Halmstrup",
}


@dataclass(frozen=True, slots=True)
class Attack:
    """What is submitted, one after another, by whom; `{n}` in the owner is the submission's number."""

    name: str
    texts: Sequence[str]
    owner: str = "attacker"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attack or an honest article brought."""

    name: str
    measures: Sequence[Measured]
    words: int

    @property
    def reward(self) -> int:
        return sum(one.reward for one in self.measures)

    @property
    def per_thousand(self) -> int:
        """Units of CHIP for each thousand submitted words."""
        return self.reward * 1_000 // max(1, self.words)


def run(attack: Attack) -> Outcome:
    shelf = library()
    measures = []
    for n, text in enumerate(attack.texts):
        owner = attack.owner.format(n=n)
        measures.append(shelf.measure(text, owner))
        shelf.add(text, f"{attack.name} {n}", owner)
    return Outcome(attack.name, measures, sum(map(count_words, attack.texts)))


def attacks() -> list[Attack]:
    """Every attack, some for each topic."""
    return [*_by_hand(), *_copies(), *_noise(), *_again()]


def honest() -> list[Outcome]:
    """New work: the originals before anything like them was there."""
    found = []
    for topic in ALL:
        text = written(topic, "original")
        found.append(Outcome(f"new article: {topic}", [Library().measure(text)], count_words(text)))
    return found


def related() -> list[Outcome]:
    """New work on a subject that was written about: the opposite conclusion, and other content."""
    shelf = library()
    found = []
    for variant in ("opposite", "fresh"):
        for topic in ALL:
            text = written(topic, variant)
            name = "opposite conclusion" if variant == "opposite" else "new content on an old subject"
            found.append(Outcome(f"{name}: {topic}", [shelf.measure(text)], count_words(text)))
    return found


def _by_hand() -> list[Attack]:
    return [
        Attack(f"{variant}: {topic}", [written(topic, variant)])
        for variant in ("paraphrase", "retranslation", "condensation")
        for topic in ALL
    ]


def _copies() -> list[Attack]:
    return [
        *(Attack(f"near-copy: {topic}", [near_copy(written(topic, "original"))]) for topic in ALL),
        Attack("capitals and odd letters: trees", [written("trees", "original").upper().replace("E", "Е")]),
        Attack("splice of two articles", [splice(written("clocks", "original"), written("week", "original"))]),
        Attack("splice of two paraphrases", [splice(written("clocks", "paraphrase"), written("trees", "paraphrase"))]),
        *(Attack(f"copy padded with filler: {topic}", [padded(written(topic, "paraphrase"))]) for topic in ALL),
        Attack("new article padded with filler", [padded(written("trees", "fresh"))]),
        Attack("sentences of the originals, mixed", [mixed([written(one, "original") for one in ALL])]),
    ]


def _noise() -> list[Attack]:
    new = [written(topic, variant) for topic in TOPICS for variant in ("fresh", "opposite")]
    known = [written(topic, "original") for topic in ALL]
    return [
        Attack("filler alone", [filler(1_000)]),
        Attack("random words", [random_words(1_000)]),
        Attack("words of a new article, shuffled", [shuffled(new[0])]),
        Attack("keyword list", [keywords(1_000)]),
        Attack("Markov text of known articles, one word back", [markov(known, 1, 1_000)]),
        Attack("Markov text of known articles, two words back", [markov(known, 2, 1_000)]),
        Attack("Markov text of unknown articles, one word back", [markov(new, 1, 1_000)]),
        Attack("Markov text of unknown articles, two words back", [markov(new, 2, 1_000)]),
        Attack("one sentence repeated", [" ".join([new[1].split(". ")[0] + "."] * 40)]),
    ]


def _again() -> list[Attack]:
    text = written("week", "fresh")
    return [
        Attack("own article again", [written("trees", "original")], "author of trees"),
        Attack("own article paraphrased", [written("week", "paraphrase")], "author of week"),
        Attack("one text by ten accounts", [text] * 10, "account {n}"),
    ]


def pieces() -> tuple[Outcome, Outcome]:
    """A paper submitted whole, and the same cut into fifteen pieces."""
    paper = written("trees", "fresh") + "\n\n" + written("trees", "opposite") + "\n\n" + written("clocks", "fresh")
    words = paper.split()
    size = -(-len(words) // 15)
    parts = [" ".join(words[at : at + size]) for at in range(0, len(words), size)]
    return run(Attack("a paper whole", [paper])), run(Attack("a paper in fifteen pieces", parts))


def near_copy(text: str) -> str:
    """Paragraphs in another order, and every fifteenth word left out."""
    paragraphs = text.strip().split("\n\n")
    words = " ".join(paragraphs[1:] + paragraphs[:1]).split()
    return " ".join(word for at, word in enumerate(words) if at % 15)


def splice(one: str, other: str) -> str:
    pairs = zip(one.strip().split("\n\n"), other.strip().split("\n\n"), strict=False)
    return "\n\n".join(part for pair in pairs for part in pair)


def mixed(texts: Sequence[str]) -> str:
    sentences = [one for text in texts for one in re.split(r"(?<=[.!?])\s+", text)]
    random.Random(3).shuffle(sentences)
    return " ".join(sentences)


def padded(text: str) -> str:
    return text + "\n\n" + filler(count_words(text))


def filler(words: int) -> str:
    """Sentences that fit any subject."""
    draw = random.Random(11)
    said: list[str] = []
    while sum(map(count_words, said)) < words:
        said.append(re.sub(r"<(\w+)>", lambda match: draw.choice(_PARTS[match[1]]), draw.choice(_FORMS)))
    return " ".join(said)


_FORMS = (
    "There are <many> <points> that <people> should consider when it comes to <thing>.",
    "It is clear that <thing> offers <many> <gains> for <people>, and it will continue to do so.",
    "<people> often ask themselves how <thing> can be improved, and the answer is not always obvious.",
    "Of course <thing> also has its <limits>, but with the right attitude these can be overcome.",
    "By looking at <thing> more closely, <people> can gain <many> valuable insights.",
    "In the end it is up to <people> to decide how to make the best use of <thing>.",
    "Over time, <thing> has become increasingly significant, and <people> are beginning to notice.",
    "This shows once more how useful <thing> can be for <people> in <many> situations.",
    "While some may disagree, most would say that <thing> brings <gains> as well as <limits>.",
    "Whatever one may think of it, <thing> is here to stay, and <people> will have to adapt.",
)
_PARTS = {
    "many": ("many", "several", "quite a few", "countless", "all sorts of"),
    "points": ("points", "questions", "sides", "things", "elements"),
    "people": ("people", "those involved", "all of us", "readers", "everyone", "experts"),
    "thing": ("this approach", "the matter at hand", "such a development", "this area", "the whole question"),
    "gains": ("benefits", "advantages", "chances", "improvements"),
    "limits": ("limits", "drawbacks", "difficulties", "problems"),
}


def _vocabulary() -> list[str]:
    texts = [written(topic, variant) for topic in TOPICS for variant in ("fresh", "opposite", "original")]
    return sorted({word.strip(".,;:?!()").lower() for text in texts for word in text.split()} - {""})


def random_words(count: int) -> str:
    draw, vocabulary = random.Random(1), _vocabulary()
    sentences = [" ".join(draw.choice(vocabulary) for _ in range(draw.randint(8, 22))) for _ in range(count // 15)]
    return " ".join(one.capitalize() + "." for one in sentences)


def keywords(count: int) -> str:
    draw, vocabulary = random.Random(2), [word for word in _vocabulary() if len(word) > 4]
    return ", ".join(draw.choice(vocabulary) for _ in range(count))


def shuffled(text: str) -> str:
    words = text.split()
    random.Random(4).shuffle(words)
    return " ".join(words)


def markov(texts: Sequence[str], order: int, count: int, seed: int = 1) -> str:
    draw = random.Random(order * 1_000 + seed)
    follows: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for text in texts:
        words = text.split()
        for at in range(len(words) - order):
            follows[tuple(words[at : at + order])].append(words[at + order])
    out = list(draw.choice(sorted(follows)))
    while len(out) < count:
        found = follows.get(tuple(out[-order:]))
        out += [draw.choice(found)] if found else draw.choice(sorted(follows))
    return " ".join(out)


def render() -> str:
    """The page that shows every attack."""
    new, old, (whole, cut) = honest(), related(), pieces()
    rows = [*(run(one) for one in attacks()), cut]
    return "\n".join([_HEAD, *_table([*new, *old, whole]), "", "## Attacks", "", *_table(rows), ""])


_HEAD = """# Novelty: attacks and what they earn

<!-- Written by tools/generate_novelty_table.py. Do not edit: change the code and run it again. -->

Each text is measured against the background corpus and four original articles; `tests/commons/novelty` holds the
texts, and `make test` runs this table. CHIP is for each thousand submitted words, before the limit of two rewarded
articles per person and month. An attack of several submissions shows its best score.

## Honest work
"""


def _table(outcomes: Sequence[Outcome]) -> list[str]:
    rows = ["| submitted | score | by distance | by words | CHIP per 1000 words | reason |", "|---" * 6 + "|"]
    for one in outcomes:
        best = max(one.measures, key=lambda measured: measured.score)
        chip = f"{one.per_thousand / 1_000_000:.1f}"
        scores = f"{best.score} | {best.score_first} | {best.score_second}"
        rows.append(f"| {one.name} | {scores} | {chip} | {' '.join(best.reasons)} |")
    return rows
