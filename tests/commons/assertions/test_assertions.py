"""Which sentences stand on promoted bindings: marked claims, the same words, other words; never what is undecided."""

from __future__ import annotations

from choir.commons.assertions.model import Standing
from choir.commons.challenges.model import Ground
from tests.commons.desk import Desk


def standings(desk: Desk, text: str) -> list[tuple[str, str]]:
    with desk.node.read() as tx:
        return [(item.text, item.standing.value) for item in desk.commons.assertions.of_text(tx, text)]


def test_sentences_of_an_article_stand_once_it_is_promoted(desk: Desk) -> None:
    ada = desk.person(chip=150)
    publication = desk.published(ada)

    def found() -> list[Standing]:
        with desk.node.read() as tx:
            items = desk.commons.assertions.of_article(tx, ada, publication.article, None)
        return [item.standing for item in items][:3]

    assert found() == [Standing.PENDING] * 3
    desk.later(8 * 86_400)
    assert found() == [Standing.STANDS] * 3
    eve = desk.person(chip=100)
    challenge = desk.judge(desk.challenge(eve, desk.bindings(publication)[0].hash, Ground.OTHER))
    desk.rule(challenge, upheld=True)
    assert found() == [Standing.PENDING, Standing.STANDS, Standing.STANDS]


def test_a_plain_text_stands_where_a_promoted_claim_says_the_same(desk: Desk) -> None:
    desk.promoted(desk.person(chip=150))
    text = (
        "Wind caused vibration in 45 of the 120 bridges. The dampers reduced vibration by 60 percent in 2019. "
        "Wind caused vibration in 54 of the 120 bridges. The committee recommended closing every bridge. "
        "The moon is green."
    )
    assert [standing for _, standing in standings(desk, text)] == ["stands", "stands", "plain", "plain", "plain"]


def test_marked_claims_without_evidence_are_unsupported(desk: Desk) -> None:
    assert standings(desk, "Some say [the moon is made of green cheese]{#c1}.")[0][1] == "unsupported"


def test_odd_texts(desk: Desk) -> None:
    assert standings(desk, "# Only a heading") == []
    assert {standing for _, standing in standings(desk, "a & b | c ! ( d ) : * '")} == {"plain"}
    assert [standing for _, standing in standings(desk, "Не по-английски.")] == ["plain"]


def test_a_sentence_that_is_marked_in_part_stands_as_far_as_that(desk: Desk) -> None:
    desk.promoted(desk.person(chip=150))
    claim = "Wind caused vibration in 45 of the 120 bridges"
    for text, partly in ((f"[{claim}]{{#c1}}.", False), (f"[{claim}]{{#c1}} and all of them fell down.", True)):
        with desk.node.read() as tx:
            [found] = desk.commons.assertions.of_text(tx, text)
        assert (found.standing, "as far as it is marked" in found.words) == (Standing.STANDS, partly)
