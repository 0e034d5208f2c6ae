"""NO-COPY: verbatim runs of a source are found whatever is done to hide them, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choir.commons.articles.copies import CopyFinder, copied_runs
from choir.commons.articles.words import count_words, has_lookalikes, words_of

SOURCE = (
    "It was found in a large survey of older readers that the habit of reading aloud to others, once common in most"
    " homes, has not been lost but has moved to cars, trains and kitchens."
)


def naive(prose: str, source: str, words: int) -> list[tuple[int, int, int]]:
    """The same by trying everything: start, end and words of each run that is part of no longer one."""
    mine, theirs = words_of(prose), words_of(source)
    best: list[tuple[int, int]] = []
    for start in range(len(mine.folded)):
        length = 0
        for other in range(len(theirs.folded)):
            run = 0
            while mine.folded[start + run : start + run + 1] == theirs.folded[other + run : other + run + 1] != []:
                run += 1
            length = max(length, run)
        best.append((start, start + length))
    kept = [one for one in best if not any(o != one and o[0] <= one[0] and one[1] <= o[1] for o in best)]
    return [(mine.starts[a], mine.ends[b - 1], b - a) for a, b in kept if b - a >= words]


small = st.lists(st.sampled_from(["a", "b", "A,", "c", "–", "a-b"]), max_size=14).map(" ".join)


@given(small, small, st.integers(1, 4))
@settings(deadline=None, max_examples=500)
def test_runs_are_those_of_trying_everything(prose: str, source: str, words: int) -> None:
    found = copied_runs(prose, source, words)
    assert [(run.start, run.end, run.words) for run in found] == naive(prose, source, words)
    for run in found:
        copied, original = prose[run.start : run.end], source[run.source_start : run.source_end]
        assert words_of(copied).folded == words_of(original).folded
        assert len(words_of(copied).folded) == run.words


def test_a_run_is_whole_and_in_place() -> None:
    prose = f"Before that. {SOURCE} And after it."
    [run] = copied_runs(prose, f"Title\n\n{SOURCE}\nMore of it.")
    assert prose[run.start : run.end] == SOURCE[:-1]
    assert run.words == 35


def test_the_limit_is_exact() -> None:
    words = SOURCE.split()
    assert copied_runs(" ".join(words[:24]), SOURCE, 25) == []
    assert [run.words for run in copied_runs(" ".join(words[:25]), SOURCE, 25)] == [25]


HIDDEN = [
    SOURCE.upper(),
    SOURCE.replace(" ", "\n"),
    SOURCE.replace(" ", " \u00a0\t "),
    SOURCE.replace(",", " —").replace(".", "!"),
    SOURCE.replace("e", "e\u200b"),
    SOURCE.replace("o", "\u2060o\ufeff"),
    SOURCE.replace("n", "n\u00ad"),
    SOURCE.replace("r", "\u202er\u202c"),
    SOURCE.replace("fi", "ﬁ").replace("fo", "ｆｏ"),
    "".join(chr(0x1D41A + ord(sign) - ord("a")) if "a" <= sign <= "z" else sign for sign in SOURCE),
    SOURCE.replace("a", "а").replace("o", "ο").replace("e", "е"),
    SOURCE.replace("a", "á").replace("o", "o\u0308"),
    SOURCE.replace("habit", "“habit”").replace("lost", "*lost*"),
    SOURCE.replace("common", "com\x00mon").replace("survey", "sur\ufe0fvey"),
]


@pytest.mark.parametrize("hidden", HIDDEN)
def test_nothing_that_is_read_the_same_hides_a_copy(hidden: str) -> None:
    assert [run.words for run in copied_runs(f"So: {hidden}", SOURCE)] == [35]
    assert [run.words for run in copied_runs(f"So: {SOURCE}", hidden)] == [35]


def test_a_copy_of_a_hyphenated_source_is_found() -> None:
    source = SOURCE.replace("common", "com-\n  mon").replace("trains", "tra-\nins")
    assert [run.words for run in copied_runs(SOURCE, source)] == [35]


def test_a_word_is_joined_once() -> None:
    assert words_of("one-\ntwo-\nthree").folded == ["onetwo", "three"]
    assert len(words_of("a-\n" * 100_000).folded) == 50_000


def test_a_changed_word_ends_a_run() -> None:
    changed = SOURCE.replace("aloud", "silently")
    assert copied_runs(changed, SOURCE) == []
    assert [run.words for run in copied_runs(changed, SOURCE, 10)] == [15, 19]


def test_each_copy_of_the_same_run_is_found() -> None:
    assert [run.words for run in copied_runs(f"{SOURCE} Yes. {SOURCE}", SOURCE)] == [35, 35]


def test_signs_of_scripts_without_blanks_are_words() -> None:
    text = "東京は日本の首都であり世界で最も人口の多い都市の一つである"
    [run] = copied_runs(f"彼は{text}と言った", f"記事：{text}。")
    assert run.words == len(text)


def test_one_text_is_compared_with_many_sources() -> None:
    finder = CopyFinder(SOURCE)
    assert finder.runs("nothing of it", 25) == []
    assert [run.words for run in finder.runs(SOURCE, 25)] == [35]
    assert finder.runs("", 25) == CopyFinder("").runs(SOURCE, 25) == []


def test_endless_repetition_is_one_run() -> None:
    [run] = copied_runs("a " * 30_000, "a " * 40_000)
    assert run.words == 30_000
    assert len(copied_runs("a " * 3_000, "a " * 2_000)) == 1_001


# Words


@given(st.text())
def test_words_are_where_they_say(text: str) -> None:
    found = words_of(text)
    assert found.starts == sorted(found.starts)
    for word, start, end in zip(found.folded, found.starts, found.ends, strict=True):
        assert 0 <= start < end <= len(text)
        assert "".join(words_of(text[start:end]).folded) == word


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("a b", 2), ("don't", 1), ("- — …", 0), ("東京 x", 3), ("한국어 문장", 2)]
)
def test_words_are_counted(text: str, count: int) -> None:
    assert count_words(text) == count


@pytest.mark.parametrize("text", ["kΩ", "µg", "ΔE", "TNFα", "NFκB", "νe", "СССР", "Ελλάδα", "x²", "Ⅷ", "ﬁn", "Ａ"])
def test_words_of_science_and_of_one_script_pass(text: str) -> None:
    assert has_lookalikes(text) is None
