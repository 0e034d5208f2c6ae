"""No attack earns a tenth of what honest new work earns per word; honest work on an old subject is seen as new."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from statistics import mean

import pytest

from tests.commons.novelty import attacks
from tests.commons.novelty.attacks import ALL, Attack, Outcome
from tests.commons.novelty.library import Library, embed

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "novelty-attacks.md"
ATTACKS = {one.name: one for one in attacks.attacks()}
NAMED = ("paraphrase", "retranslation", "condensation", "near-copy", "own", "splice")


@cache
def honest_per_thousand() -> float:
    """What new articles earn for a thousand words."""
    return mean(one.per_thousand for one in attacks.honest())


@cache
def new_work() -> dict[str, Outcome]:
    return {one.name: one for one in (*attacks.honest(), *attacks.related())}


@cache
def outcome(name: str) -> Outcome:
    return attacks.run(ATTACKS[name])


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_earns_next_to_nothing(name: str) -> None:
    found = outcome(name)
    assert found.per_thousand * 10 <= honest_per_thousand()
    last = found.measures[-1]
    assert last.score < 20
    assert last.reasons


@pytest.mark.parametrize("name", [name for name in ATTACKS if name.startswith(NAMED)])
def test_the_reason_names_what_was_copied(name: str) -> None:
    said = " ".join(outcome(name).measures[-1].reasons)
    assert any(title in said for title in attacks.TITLES.values())


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("random words", "list of words"),
        ("words of a new article, shuffled", "order that no sentence has"),
        ("keyword list", "no sentences"),
        ("one sentence repeated", "repeats itself"),
        ("filler alone", "runs of 5 words"),
        ("new article padded with filler", "filler"),
        ("Markov text of unknown articles, one word back", "no thread"),
    ],
)
def test_noise_is_called_what_it_is(name: str, why: str) -> None:
    assert why in " ".join(outcome(name).measures[-1].reasons)


@pytest.mark.parametrize("topic", ALL)
def test_a_near_copy_is_attributed_to_its_origin(topic: str) -> None:
    (measured,) = outcome(f"near-copy: {topic}").measures
    assert [one.work.title for one in measured.copies] == [attacks.TITLES[topic]]
    assert measured.words == 0


def test_the_first_of_ten_accounts_is_paid_and_no_other() -> None:
    first, *others = outcome("one text by ten accounts").measures
    assert first.reward
    assert [one.reward for one in others] == [0] * 9
    assert [len(one.copies) for one in others] == [1, 1, *[0] * 7]  # from three authors on the text is common


def test_a_paper_in_pieces_earns_no_more_than_whole() -> None:
    whole, cut = attacks.pieces()
    assert len(cut.measures) == 15
    assert cut.reward <= whole.reward


@pytest.mark.parametrize("kind", ["new article", "opposite conclusion", "new content on an old subject"])
@pytest.mark.parametrize("topic", ALL)
def test_new_work_is_seen_as_new(kind: str, topic: str) -> None:
    one = new_work()[f"{kind}: {topic}"]
    (measured,) = one.measures
    assert measured.score >= 30
    assert measured.words == one.words
    assert measured.copies == ()


def test_a_revision_earns_on_its_difference() -> None:
    old, added = attacks.written("week", "original"), attacks.written("ferry", "opposite")
    shelf = Library()
    text = f"{old}\n\n{added}"
    same = shelf.unchanged(text, old)
    revised = shelf.measure(text, "author of week", same)
    assert 0 < len(same) < len(embed(text))
    assert revised.words < sum(one.passage.words for one in embed(text))
    assert revised.score >= 30
    unchanged = shelf.measure(old, "author of week", shelf.unchanged(old, old))
    assert (unchanged.score, unchanged.words, unchanged.reward) == (0, 0, 0)
    assert unchanged.reasons == ("Nothing in it differs from earlier versions.",)


def test_the_page_is_what_the_attacks_give() -> None:
    """If this fails: run `python tools/generate_novelty_table.py` and look at what changed."""
    assert PAGE.read_text() == attacks.render()


def test_measures_do_not_depend_on_what_was_measured_before() -> None:
    one = ATTACKS["paraphrase: ferry"]
    assert attacks.run(one) == attacks.run(Attack(one.name, one.texts))
