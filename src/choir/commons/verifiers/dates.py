"""Dates: years, months and days in the usual ways of writing, decades, centuries; and whether a claim's are the
extract's.

A claim's date is there if the extract has one that says at least as much: 1796 is in "May 1796", and so are the
1790s and the 18th century. A date that the extract gives to something else fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from choir.commons.verifiers.binding import bound, clusters
from choir.commons.verifiers.lexicon import words_of
from choir.commons.verifiers.model import CheckFinding, Outcome, worst
from choir.commons.verifiers.naming import Span
from choir.commons.verifiers.pair import Pair, finding, listed
from choir.commons.verifiers.structure import Reading
from choir.commons.verifiers.tags import SMALL
from choir.commons.verifiers.text import Kind, Token
from choir.commons.verifiers.words import measures

_MONTHS = {word: number for number, word in enumerate(measures.MONTHS.split(), 1)}
_MONTHS |= {word: number for number, word in enumerate(measures.MONTHS_SHORT.split(), 1)} | {"sept": 9, "may_month": 5}
_DAYS = {word: number for number, word in enumerate(measures.DAYS.split(), 1)}
_ORDINALS = {word: number for number, word in enumerate(measures.ORDINALS.split())}
_TENS = {word: number for number, word in enumerate(measures.TENS.split(), 2)}
_ERA = {"bc": -1, "bce": -1, "ad": 1, "ce": 1}
_BEFORE_YEAR = words_of(
    "in since by until till from during after before between and year early late mid circa around the to of or about"
    " spring summer autumn winter"
)
_RELATIVE = words_of("later earlier ago after before")
_SPANS = words_of("year years decade decades month months day days week weeks century centuries")
_YEARS = (1000, 2100)


@dataclass(frozen=True, slots=True)
class Date:
    """What is said of a time; None: not said."""

    span: Span
    text: str
    year: int | None = None
    month: int | None = None
    day: int | None = None
    decade: int | None = None  # 1450 for the 1450s
    century: int | None = None
    weekday: int | None = None
    unclear: bool = False  # day and month cannot be told apart

    def within(self, other: Date) -> bool:
        """Whether the other date says all that this one says."""
        if self.decade is not None and self.decade not in (other.decade, _decade(other.year)):
            return False
        if self.century is not None and self.century not in (
            other.century,
            _century(other.year),
            _century(other.decade),
        ):
            return False
        mine = (self.year, self.month, self.day, self.weekday)
        theirs = (other.year, other.month, other.day, other.weekday)
        return all(one is None or one == another for one, another in zip(mine, theirs, strict=True))


def _decade(year: int | None) -> int | None:
    return None if year is None else year - year % 10


def _century(year: int | None) -> int | None:
    return None if year is None else year // 100 + 1


def dates(reading: Reading) -> list[Date]:
    """The dates of a text, in order."""
    found: list[Date] = []
    at = 0
    while at < len(reading.tokens):
        date = _date(reading.tokens, at)
        if date is not None:
            found.append(date)
        at = at + 1 if date is None else date.span.end
    return found


def taken(found: Sequence[Date]) -> frozenset[int]:
    """The tokens of dates, which are no numbers."""
    return frozenset(at for date in found for at in range(date.span.start, date.span.end))


def _date(tokens: Sequence[Token], at: int) -> Date | None:
    token = tokens[at]
    if token.kind is Kind.NUMBER:
        if at + 1 < len(tokens) and tokens[at + 1].word in ("th", "st", "nd", "rd"):
            century = _century_at(tokens, at + 1)
            if century is not None:
                return replace(century, span=Span(at, century.span.end), text=token.raw + century.text)
        return (
            _iso(tokens, at)
            or _day_first(tokens, at)
            or _era(tokens, at)
            or _decade_at(tokens, at)
            or _year_at(tokens, at)
        )
    if token.kind is not Kind.WORD:
        return None
    if token.word in _MONTHS and _is_month(tokens, at):
        return _month_first(tokens, at)
    if token.word in _DAYS and token.capital:
        return _made(tokens, at, at + 1, weekday=_DAYS[token.word])
    return _century_at(tokens, at)


def _made(tokens: Sequence[Token], start: int, end: int, **parts: int | bool | None) -> Date:
    text = " ".join(token.raw for token in tokens[start:end])
    return Date(Span(start, end), text, **parts)  # type: ignore[arg-type]


def _number(tokens: Sequence[Token], at: int, low: int, high: int) -> int | None:
    if (
        0 <= at < len(tokens)
        and tokens[at].kind is Kind.NUMBER
        and tokens[at].raw.isdigit()
        and len(tokens[at].raw) < 5
    ):
        value = int(tokens[at].raw)
        return value if low <= value <= high else None
    return None


def _is_month(tokens: Sequence[Token], at: int) -> bool:
    """`may` and `march` are months only with a capital, and at the start of a sentence only before a number."""
    token = tokens[at]
    if not token.capital:
        return False
    return not token.opens or token.word not in ("may", "march", "mar") or _number(tokens, at + 1, 1, 2100) is not None


def _ordinal_end(tokens: Sequence[Token], at: int) -> int:
    return at + 1 if at < len(tokens) and tokens[at].joined and tokens[at].word in ("th", "st", "nd", "rd") else at


def _year_after(tokens: Sequence[Token], at: int) -> tuple[int | None, int]:
    place = at + 1 if at < len(tokens) and tokens[at].word in (",", "of", ".") else at
    year = _number(tokens, place, *_YEARS) if place < len(tokens) and len(tokens[place].raw) == 4 else None
    return (year, place + 1) if year is not None else (None, at)


def _month_first(tokens: Sequence[Token], at: int) -> Date:
    """October 14, 1066; October 1066; October."""
    month = _MONTHS[tokens[at].word]
    place = at + 2 if at + 1 < len(tokens) and tokens[at + 1].raw == "." else at + 1
    day = _number(tokens, place, 1, 31)
    if day is None or len(tokens[place].raw) > 2:
        year, end = _year_after(tokens, at + 1)
        return _made(tokens, at, end, month=month, year=year)
    end = _ordinal_end(tokens, place + 1)
    year, after = _year_after(tokens, end)
    return _made(tokens, at, after if year is not None else end, month=month, day=day, year=year)


def _day_first(tokens: Sequence[Token], at: int) -> Date | None:
    """14 October 1066; the 14th of October."""
    day = _number(tokens, at, 1, 31)
    place = _ordinal_end(tokens, at + 1)
    place += place < len(tokens) and tokens[place].word == "of"
    if day is None or place >= len(tokens) or tokens[place].word not in _MONTHS or not tokens[place].capital:
        return None
    year, end = _year_after(tokens, place + 1)
    return _made(
        tokens, at, end if year is not None else place + 1, day=day, month=_MONTHS[tokens[place].word], year=year
    )


def _iso(tokens: Sequence[Token], at: int) -> Date | None:
    """1066-10-14, 14/10/1066, 14.10.1066."""
    raw = tokens[at].raw
    if raw.count(".") == 2 and all(part.isdigit() and len(part) <= 4 for part in raw.split(".")):
        day, month, year = (int(part) for part in raw.split("."))
        known = day <= 31 and month <= 12 and year >= 1000
        return _made(tokens, at, at + 1, day=day, month=month, year=year) if known else None
    if at + 4 >= len(tokens) or tokens[at + 1].raw not in "-/" or tokens[at + 3].raw != tokens[at + 1].raw:
        return None
    if any(
        token.kind is not Kind.NUMBER or not token.raw.isdigit() or len(token.raw) > 4
        for token in tokens[at : at + 5 : 2]
    ):
        return None
    one, two, three = (int(token.raw) for token in tokens[at : at + 5 : 2])
    if one >= 1000 and two <= 12 and three <= 31:
        return _made(tokens, at, at + 5, year=one, month=two, day=three)
    if three >= 1000 and max(one, two) <= 31:
        day, month = (one, two) if two <= 12 else (two, one)
        return _made(tokens, at, at + 5, year=three, month=month, day=day, unclear=max(one, two) <= 12 and one != two)
    return None


def _era(tokens: Sequence[Token], at: int) -> Date | None:
    value = _number(tokens, at, 1, 9999)
    if value is not None and at + 1 < len(tokens) and tokens[at + 1].word in _ERA and tokens[at + 1].raw.isupper():
        return _made(tokens, at, at + 2, year=value * _ERA[tokens[at + 1].word])
    if value is not None and at and tokens[at - 1].raw == "AD":
        return _made(tokens, at, at + 1, year=value)
    return None


def _decade_at(tokens: Sequence[Token], at: int) -> Date | None:
    raw = tokens[at].raw
    if (
        at + 1 < len(tokens)
        and tokens[at + 1].word == "s"
        and tokens[at + 1].joined
        and raw.isdigit()
        and raw.endswith("0")
    ):
        if len(raw) == 4:
            return _made(tokens, at, at + 2, decade=int(raw))
        if len(raw) == 2:
            return _made(tokens, at, at + 2, decade=1900 + int(raw))
    return None


def _year_at(tokens: Sequence[Token], at: int) -> Date | None:
    """A number of four digits that stands where years stand."""
    value = _number(tokens, at, *_YEARS)
    if value is None or len(tokens[at].raw) != 4:
        return None
    before = tokens[at - 1] if at else None
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    if before is not None and before.kind is Kind.MARK and before.raw in "$€£¥":
        return None
    plural = after is not None and after.kind is Kind.WORD and not after.capital and after.word.endswith("s")
    counts = plural and after is not None and after.word not in SMALL
    if counts or (after is not None and after.word in _NO_YEAR):
        return None
    if before is not None and (before.kind is Kind.NUMBER or before.word in _BOUNDS):
        return None
    likely = (
        before is None
        or before.word in _BEFORE_YEAR
        or before.kind is Kind.MARK
        or before.word in _MONTHS
        or before.owns
    )
    ends = after is None or after.kind is Kind.MARK or after.capital or value > 1500
    return _made(tokens, at, at + 1, year=value) if likely or ends else None


_BOUNDS = words_of(
    f"{measures.NEARLY} {measures.OVER} {measures.UNDER} {measures.AT_LEAST} {measures.AT_MOST} than some"
) - {"under", "beyond"}
_NO_YEAR = words_of(
    "% percent per_cent million billion thousand km m kg g mg mm cm w kw mw hz people men women children"
)


def _century_at(tokens: Sequence[Token], at: int) -> Date | None:
    """The nineteenth century; 19th century is found from its number."""
    word = tokens[at].word
    value = _ORDINALS.get(word)
    end = at + 1
    if value is None and word in _TENS and at + 2 < len(tokens) and tokens[at + 1].raw == "-":
        value, end = 10 * _TENS[word] + _ORDINALS.get(tokens[at + 2].word, 0), at + 3
    if word in ("th", "st", "nd", "rd") and tokens[at].joined and at and tokens[at - 1].raw.isdigit():
        value = int(tokens[at - 1].raw[:4])
    end += end < len(tokens) and tokens[end].raw == "-"
    if value and end < len(tokens) and tokens[end].word in ("century", "centuries"):
        return _made(tokens, at, end + 1, century=value)
    return None


def check(pair: Pair, mine: Sequence[Date], theirs: Sequence[Date]) -> CheckFinding:
    """Whether every date of the claim is in the extract, said of the same thing."""
    if not mine:
        return finding("dates", Outcome.PASS, "The claim has no dates.")
    results = [_one(pair, date, mine, theirs) for date in dict.fromkeys(mine[:200])]
    outcome = worst([result for result, _ in results])
    bad = [words for result, words in results if result is not Outcome.PASS]
    words = " ".join(bad[:4]) if bad else f"The extract has {listed(date.text for date in mine)}."
    return finding(
        "dates", outcome, words, claim=[date.text for date in mine[:20]], extract=[date.text for date in theirs[:20]]
    )


def _one(pair: Pair, date: Date, mine: Sequence[Date], theirs: Sequence[Date]) -> tuple[Outcome, str]:
    same = [other for other in theirs if date.within(other)]
    if not same:
        return _missing(pair, date, theirs)
    if date.unclear or all(other.unclear for other in same):
        return Outcome.UNDECIDED, f"'{date.text}' can be read in two ways."
    near = _together(pair.extract, theirs, same)
    rivals = [
        other.span for other in theirs if not date.within(other) and _comparable(date, other) and other not in near
    ]
    with_it = _together(pair.claim, mine, [date])
    others = [other.span for other in mine if other not in with_it]
    said = bound(pair, date.span, others, [other.span for other in same], rivals)
    if said.outcome is Outcome.PASS:
        return Outcome.PASS, ""
    return said.outcome, f"The extract says {listed(said.words)} of another date than '{date.text}'."


def _together(reading: Reading, all_: Sequence[Date], some: Sequence[Date]) -> list[Date]:
    """These dates and those that stand together with them, as in `from 1993 to 2023`."""
    groups = clusters(reading, [date.span for date in all_])
    chosen = {group for group, date in zip(groups, all_, strict=True) if date in some}
    return [date for group, date in zip(groups, all_, strict=True) if group in chosen]


def _comparable(one: Date, other: Date) -> bool:
    return (one.month is None) == (other.month is None) or (one.year is None) == (other.year is None)


def _missing(pair: Pair, date: Date, theirs: Sequence[Date]) -> tuple[Outcome, str]:
    parts = [part for part in ("year", "month", "day") if getattr(date, part) is not None]
    apart = all(any(getattr(other, part) == getattr(date, part) for other in theirs) for part in parts)
    tokens = pair.extract.tokens
    relative = any(token.word in _RELATIVE and token.at and tokens[token.at - 1].word in _SPANS for token in tokens)
    if (apart and len(parts) > 1) or (relative and theirs and date.year is not None and date.month is None):
        return Outcome.UNDECIDED, f"The extract does not say '{date.text}' in one place."
    if set(date.text.casefold().split()) <= pair.around_words:
        return Outcome.UNDECIDED, f"'{date.text}' stands near the extract, but not in it."
    return Outcome.FAIL, f"The extract does not have the date '{date.text}'."


def links(mine: Sequence[Date], theirs: Sequence[Date]) -> list[tuple[int, int]]:
    """Where the extract has the dates of the claim."""
    few = theirs[:100]
    return [(date.span.start, other.span.start) for date in mine[:100] for other in few if date.within(other)]
