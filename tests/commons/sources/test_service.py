"""Sources on a node: added once, private until they are published, found by quote and by words."""

from __future__ import annotations

import pytest

from choir.commons.atoms.model import Kind, State
from choir.commons.sources.model import SpanOutside, UnknownSource, parse_pointer
from choir.foundation.canonical import ObjectHash, bytes_hash
from choir.foundation.errors import NotFound
from tests.commons.desk import TEXT, Desk


def test_the_same_document_is_one_source(desk: Desk) -> None:
    ada, bob = desk.person(), desk.person()
    first, again = desk.source(ada), desk.source(ada)
    assert first == again
    desk.clock.advance(1)
    assert desk.source(bob).hash != first.hash
    assert desk.source(ada, title="Another title").hash != first.hash
    assert first.bytes == bytes_hash(TEXT.encode())


def test_a_source_is_private_until_it_is_offered(desk: Desk) -> None:
    ada, bob = desk.person(), desk.person()
    source = desk.source(ada)
    with desk.tx() as tx:
        with pytest.raises(NotFound):
            desk.commons.sources.get(tx, bob, source.hash)
        assert desk.commons.sources.page(tx, bob, own=False, before=None, limit=10) == []
        assert desk.commons.sources.find(tx, bob, "dampers", None, 10) == []
        assert [item.hash for item in desk.commons.sources.page(tx, ada, own=True, before=None, limit=10)] == [
            source.hash
        ]
    desk.write(lambda tx: desk.commons.atoms.offer(tx, ada, source.hash))
    with desk.tx() as tx:
        assert desk.commons.sources.get(tx, bob, source.hash).state == State.QUARANTINED
        assert desk.commons.sources.text(tx, bob, source.hash) == TEXT
        assert [item.hash for item in desk.commons.sources.page(tx, bob, own=False, before=None, limit=10)] == [
            source.hash
        ]
        assert desk.commons.sources.page(tx, bob, own=True, before=None, limit=10) == []


def test_found_spans_are_what_they_say(desk: Desk) -> None:
    ada = desk.person()
    source = desk.source(ada)
    with desk.tx() as tx:
        for words, within in (
            ("reduced vibration by 60 percent", source.hash),
            ("REDUCED   vibration\nby 60 percent", source.hash),
            ("committee closing", None),
            ("inspected twice", source.hash),
        ):
            [found, *_] = desk.commons.sources.find(tx, ada, words, within, 5)
            assert desk.commons.sources.span(tx, ada, found.pointer) == found.text
        assert found.text == "Every bridge was inspected twice a year."
        assert desk.commons.sources.find(tx, ada, "zeppelin", source.hash, 5) == []


def test_pointers_outside_are_refused(desk: Desk) -> None:
    ada = desk.person()
    source = desk.source(ada)
    with desk.tx() as tx:
        with pytest.raises(SpanOutside):
            desk.commons.sources.span(tx, ada, parse_pointer(f"{source.hash}@0-{source.chars + 1}"))
        with pytest.raises(UnknownSource):
            desk.commons.sources.span(tx, ada, parse_pointer(f"sha256:{'0' * 64}@0-5"))
        assert desk.commons.sources.span(tx, ada, parse_pointer(f"{source.hash}@0-{source.chars}")) == TEXT


def test_offsets_count_characters_not_bytes(desk: Desk) -> None:
    ada = desk.person()
    text = "Über 40 Brücken schwingen 🎻 im Wind. Nobody measured the others."
    source = desk.source(ada, text)
    start = text.index("Nobody")
    with desk.tx() as tx:
        assert (
            desk.commons.sources.span(tx, ada, parse_pointer(f"{source.hash}@{start}-{source.chars}")) == text[start:]
        )


def test_who_is_erased_takes_what_nobody_else_saw(desk: Desk) -> None:
    ada, bob = desk.person(chip=150), desk.person()
    private = desk.source(ada, "Only mine, and nobody shall find this walrus.", "Mine")
    publication = desk.promoted(ada)
    desk.write(lambda tx: desk.commons.forget(tx, ada.source))
    with desk.tx() as tx:
        with pytest.raises(NotFound):
            desk.commons.sources.get(tx, ada, private.hash)
        assert tx.value("select count(*) from source_passages where text like '%walrus%'") == 0
        assert tx.value("select count(*) from article_drafts") == 0
        assert tx.value("select count(*) from atom_makers where owner = %s", ada.source) == 0
        assert desk.commons.reading.rendered(tx, bob, publication.article, None).title == "Why bridges hum"
    assert desk.bundle(publication)[Kind.SYNTHESIS] == {State.PROMOTED.value}
    desk.later(40 * 86_400)
    assert desk.held() == 0


def test_a_part_of_a_sentence_is_found_after_its_sentence(desk: Desk) -> None:
    ada = desk.person()
    source = desk.source(ada)
    whole = "The dampers reduced vibration by 60 percent in 2019."
    with desk.tx() as tx:

        def found(words: str, within: ObjectHash | None = source.hash) -> list[str]:
            return [item.text for item in desk.commons.sources.find(tx, ada, words, within, 5)]

        assert found("vibration by 60 percent") == [whole, "vibration by 60 percent"]
        assert found("vibration by 60 percent", None) == [whole, "vibration by 60 percent"]
        assert found(whole) == [whole]
        over_two = "at night. The dampers"
        assert found(over_two) == [f"Dr. Osei measured the cables at night. {whole}", over_two]
        assert len(desk.commons.sources.find(tx, ada, "vibration by 60 percent", source.hash, 1)) == 1


def test_a_text_without_a_title_is_called_by_its_first_line(desk: Desk) -> None:
    ada = desk.person()
    assert desk.source(ada, "# On bridges\n\nThey hum.", title="").title == "On bridges"
    long = desk.source(ada, "Wind and bridges " * 30, title="").title
    assert long.startswith("Wind and bridges Wind")
    assert long.endswith("…")
    assert len(long) <= 81
