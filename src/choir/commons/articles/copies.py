"""NO-COPY: runs of words that a text has verbatim from a source.

The text's words become a suffix automaton, once; each source then passes through it word by word, and leaves at every
state how much of it was met. From that follows, for each word of the text, the longest run ending there that the source
has too.

Guarantees: exactly the longest runs are found, none is missed and none is shorter than it could be; time and memory are
linear in the text, time is linear in the source. What counts as the same word: `words.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from choir.commons.articles.words import words_of


@dataclass(frozen=True, slots=True)
class CopiedRun:
    """A run of words that a text and a source share; offsets are characters of each."""

    start: int
    end: int
    source_start: int
    source_end: int
    words: int


def copied_runs(prose: str, source_text: str, words: int = 25) -> list[CopiedRun]:
    """All runs of at least so many words that the source has verbatim and that cannot be made longer."""
    return CopyFinder(prose).runs(source_text, words)


class CopyFinder:
    """A text, ready to be compared with many sources."""

    def __init__(self, prose: str) -> None:
        self._prose = words_of(prose)
        self._next: list[dict[str, int]] = [{}]  # the automaton: from a state by a word
        self._link = [-1]  # the state of its longest suffix that also stands elsewhere
        self._length = [0]  # the longest run that leads to a state
        self._after: list[int] = []  # the state after each word of the text
        last = 0
        for word in self._prose.folded:
            last = self._extend(last, word)
            self._after.append(last)
        self._by_length = sorted(range(len(self._length)), key=self._length.__getitem__)

    def runs(self, source_text: str, words: int) -> list[CopiedRun]:
        """All runs of at least so many words that the source has verbatim and that cannot be made longer."""
        source = words_of(source_text)
        met, where = self._meet(source.folded)
        found: list[CopiedRun] = []
        for last, state in enumerate(self._after):
            run = met[state]
            longer = last + 1 < len(self._after) and met[self._after[last + 1]] == run + 1
            if run >= max(words, 1) and not longer:
                end = where[state]
                prose_start = self._prose.starts[last - run + 1]
                source_start = source.starts[end - run + 1]
                found.append(CopiedRun(prose_start, self._prose.ends[last], source_start, source.ends[end], run))
        return found

    def _extend(self, last: int, word: str) -> int:
        """One more word of the text (Blumer and others, 1985: the smallest automaton of all suffixes)."""
        new = self._state({}, self._length[last] + 1, 0)
        at = last
        while at >= 0 and word not in self._next[at]:
            self._next[at][word] = new
            at = self._link[at]
        if at < 0:
            return new
        met = self._next[at][word]
        if self._length[met] == self._length[at] + 1:
            self._link[new] = met
            return new
        copy = self._state(dict(self._next[met]), self._length[at] + 1, self._link[met])
        while at >= 0 and self._next[at].get(word) == met:
            self._next[at][word] = copy
            at = self._link[at]
        self._link[met] = self._link[new] = copy
        return new

    def _state(self, following: dict[str, int], length: int, link: int) -> int:
        self._next.append(following)
        self._length.append(length)
        self._link.append(link)
        return len(self._next) - 1

    def _meet(self, source: list[str]) -> tuple[list[int], list[int]]:
        """For each state the longest run ending there that the source has, and with which of its words it ends."""
        met = [0] * len(self._next)
        where = [0] * len(self._next)
        state = run = 0
        for at, word in enumerate(source):
            while state and word not in self._next[state]:
                state = self._link[state]
                run = self._length[state]
            state = self._next[state].get(word, 0)
            run = run + 1 if state else 0
            if run > met[state]:
                met[state], where[state] = run, at
        self._pass_on(met, where)
        return met, where

    def _pass_on(self, met: list[int], where: list[int]) -> None:
        """What was met at a state was met at those of its suffixes, in full; a state never met has what they have."""
        for state in reversed(self._by_length[1:]):
            link = self._link[state]
            if met[state] and met[link] < self._length[link]:
                met[link], where[link] = self._length[link], where[state]
        for state in self._by_length[1:]:
            link = self._link[state]
            if not met[state]:
                met[state], where[state] = met[link], where[link]
