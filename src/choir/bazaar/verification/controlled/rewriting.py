"""A test file as it goes into one run: every site in the form that was drawn for it.

Pure. Pieces of the text are replaced in place, so that lines keep their numbers. What stays outside (expected values of
observed sites) is not in it. Forms that tell nothing apart look alike: a literal that was changed and one that was only
written again are written by the same hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from choir.bazaar.verification.controlled.sites import Change, Form, Site, Span, Suite, Table

HELPER = "__choir__"  # the name that the reporter gives to whom sites report


@dataclass(frozen=True, slots=True)
class Forms:
    """What was drawn for one file and one run."""

    forms: Mapping[int, Form]  # site -> form; a site that is not here stays as it is
    values: Mapping[Span, Any] = field(default_factory=dict)  # a literal's place -> what is written there
    columns: Mapping[tuple[int, int], tuple[Any, ...]] = field(default_factory=dict)  # table, place -> what rows say
    kept_tables: frozenset[int] = frozenset()  # stay as they are


def row_name(table: int, row: int) -> str:
    """The part of a test's id that names a row; ids made from values would tell what is expected."""
    return f"t{table}r{row}"


def rewrite(suite: Suite, forms: Forms, first: int = 0) -> bytes:
    """The file for one run; its sites are numbered from `first` on."""
    edits = [*_sites(suite, forms, first), *_tables(suite, forms), *_emptied(suite, forms)]
    found, at = bytearray(), 0
    for span, text in sorted(edits, key=lambda edit: edit[0].start):
        assert span.start >= at, "edits do not overlap"
        found += suite.source[at : span.start] + text
        at = span.end
    return bytes(found + suite.source[at:])


def _sites(suite: Suite, forms: Forms, first: int) -> Iterator[tuple[Span, bytes]]:
    for site in suite.sites:
        form = forms.forms.get(site.number)
        if form is not None:
            yield site.whole, _padded(_site(suite, site, form, forms, first), suite.source, site.whole)


def _site(suite: Suite, site: Site, form: Form, forms: Forms, first: int) -> bytes:
    head = f"{HELPER}.{form.value}({first + site.number}, ".encode()
    if form is Form.SEE:
        assert site.observation is not None
        seen = site.observation.span
        return head + b"(" + _down_to(suite, site, seen) + _piece(suite, seen, (), forms) + b"))"
    if form is Form.CALL:
        assert site.rest is not None
        function = _piece(suite, site.condition, (), forms)
        lines = b"\n" * suite.source.count(b"\n", site.condition.end, site.rest.start)
        return head + function + b", " + lines + _piece(suite, site.rest, site.changes, forms)
    what = site.condition
    return head + b"(" + _down_to(suite, site, what) + _piece(suite, what, site.changes, forms) + b"))"


def _down_to(suite: Suite, site: Site, span: Span) -> bytes:
    """As many lines as there are before it: code may ask in which line it is."""
    return b"\n" * suite.source.count(b"\n", site.whole.start, span.start)


def _piece(suite: Suite, span: Span, changes: Iterable[Change], forms: Forms) -> bytes:
    """A piece of the file with its literals as they were drawn."""
    found, at = bytearray(), span.start
    for change in sorted(changes, key=lambda item: item.span.start):
        if change.span in forms.values and change.column is None:
            said = forms.values[change.span]
            text = said if change.is_error else written(said)
            found += suite.source[at : change.span.start] + _padded(text.encode(), suite.source, change.span)
            at = change.span.end
    return bytes(found + suite.source[at : span.end])


def written(value: Any) -> str:
    """A literal, in the one way in which it is written here."""
    if isinstance(value, frozenset):
        return f"frozenset({set(value)!r})" if value else "frozenset()"
    return repr(value) if not isinstance(value, set) or value else "set()"


def _tables(suite: Suite, forms: Forms) -> Iterator[tuple[Span, bytes]]:
    """Every table has its rows' names pinned; a column that stays outside is empty."""
    shown = {site.observation.column.key for site in suite.sites if _shows_column(site, forms)}  # type: ignore[union-attr]
    for table in suite.tables:
        if table.number in forms.kept_tables:
            continue
        outside = {place for number, place in suite.hidden_columns - shown if number == table.number}
        yield table.whole, _padded(_table(table, outside, forms).encode(), suite.source, table.whole)


def _shows_column(site: Site, forms: Forms) -> bool:
    seen = site.observation
    return seen is not None and seen.column is not None and forms.forms.get(site.number) is not Form.SEE


def _table(table: Table, outside: set[int], forms: Forms) -> str:
    rows = []
    for number, (row, marks) in enumerate(zip(table.rows, table.marks, strict=True)):
        items = [_item(table.number, place, number, text, outside, forms) for place, text in enumerate(row)]
        rows.append(f"__import__('pytest').param({', '.join(items)}{marks}, id='{row_name(table.number, number)}')")
    return f"{table.start}[{', '.join(rows)}]{table.end})"


def _item(table: int, place: int, row: int, text: str, outside: set[int], forms: Forms) -> str:
    if place in outside:
        return "None"
    drawn = forms.columns.get((table, place))
    return f"({text})" if drawn is None else written(drawn[row])


def _emptied(suite: Suite, forms: Forms) -> Iterator[tuple[Span, bytes]]:
    """Constants that no site of this run reads."""
    read = {site.constant for site in suite.sites if site.constant is not None and _reads(site, forms)}
    kept = (table for table in suite.tables if table.number in forms.kept_tables)
    read |= {table.constant for table in kept if table.constant is not None}
    for span in suite.emptied:
        if span not in read:
            yield span, _padded(b"(None)", suite.source, span)


def _reads(site: Site, forms: Forms) -> bool:
    """Whether a site in its form reads the name that it expects, instead of having the value written in."""
    form = forms.forms.get(site.number)
    if form is Form.SEE:
        return False
    return form is None or not any(change.span in forms.values for change in site.changes)


def _padded(text: bytes, source: bytes, span: Span) -> bytes:
    """The text with as many lines as what it replaces, so that those behind it keep their numbers."""
    missing = source.count(b"\n", span.start, span.end) - text.count(b"\n")
    if missing <= 0:
        return text
    if text.endswith(b")"):
        return text[:-1] + b"\n" * missing + b")"
    return b"(" + text + b"\n" * missing + b")"
