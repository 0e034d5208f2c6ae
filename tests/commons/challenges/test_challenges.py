"""Challenges: who may, who decides, who pays, and what falls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from choir.commons.atoms import store
from choir.commons.atoms.model import Kind, State
from choir.commons.challenges.model import (
    BadGround,
    ChallengeOver,
    ChallengeState,
    Ground,
    GroundTaken,
    NotChallengeable,
    OwnArticle,
    RulersOnly,
)
from choir.commons.people import AuthorNeeded
from choir.commons.policy import CommonsPolicy
from choir.commons.publication.model import ChallengeOpen, PublicationState
from choir.commons.stakes.model import HoldOfStake, TooLittleChip
from choir.foundation.errors import NotFound
from choir.identity.clusters.service import Reason
from choir.identity.model import NamedOperatorNeeded
from choir.ledger import queries
from choir.storage.database import Database
from tests.commons.desk import CHIP, CLAIMS, DAY_S, FILLER, OPERATOR, Desk, chip, markdown

GENESIS = 5_000_000 * CHIP


def test_a_challenge_that_people_uphold_retracts_and_shares_out_the_stake(desk: Desk) -> None:
    ada, bob = desk.person(chip=100), desk.person(chip=90)
    publication = desk.promoted(ada)
    source = desk.source(bob, "Wind caused no vibration at all in any of the bridges of another survey.", "Other")
    pointer = f"{source.hash}@0-60"
    challenge = desk.challenge(bob, desk.bindings(publication)[0].hash, Ground.CONTRADICTED, (pointer,))
    assert desk.own(bob) == 0
    challenge = desk.judge(challenge)
    assert challenge.state is ChallengeState.UNDER_REVIEW
    decided = desk.rule(challenge, upheld=True)
    assert decided.state is ChallengeState.WON
    assert desk.own(bob) == chip(90 + 45)
    assert desk.treasury() == (GENESIS + chip(18), chip(18), chip(10 + 9))
    assert desk.held() == 0
    fallen = desk.publication(publication.id)
    assert fallen.state is PublicationState.RETRACTED
    assert desk.bindings(publication)[0].state is State.RETRACTED
    assert desk.synthesis(publication).state is State.RETRACTED
    assert desk.bindings(publication)[1].state is State.PROMOTED
    desk.later(60 * DAY_S)
    assert desk.own(ada) == 0


def test_a_challenge_that_is_rejected_costs_half(desk: Desk) -> None:
    ada, bob = desk.person(chip=100), desk.person(chip=100)
    publication = desk.published(ada)
    challenge = desk.judge(desk.challenge(bob, desk.synthesis(publication).hash, Ground.MISLEADING))
    decided = desk.rule(challenge, upheld=False)
    assert decided.state is ChallengeState.LOST
    assert desk.own(bob) == chip(10 + 45)
    assert desk.own(ada) == chip(36)
    assert desk.treasury() == (GENESIS, 0, chip(10 + 9))
    desk.later(8 * DAY_S)
    assert desk.publication(publication.id).state is PublicationState.PROMOTED


def test_the_verifiers_reject_what_they_find_right(desk: Desk) -> None:
    ada, bob = desk.person(chip=100), desk.person(chip=100)
    publication = desk.published(ada)
    for ground in (Ground.NUMBER, Ground.SPAN, Ground.HASH):
        bob = desk.person(chip=100)
        decided = desk.judge(desk.challenge(bob, desk.bindings(publication)[0].hash, ground))
        assert decided.state is ChallengeState.LOST, ground
        assert decided.finding is not None


def test_a_copied_run_is_found_by_the_referee_and_demotes(desk: Desk) -> None:
    """The copied source is one that the article does not cite: only the challenger points to it."""
    ada, bob = desk.person(chip=100), desk.person(chip=190)
    run = " ".join(f"plain{n} words" for n in range(14))
    copied = desk.source(bob, f"It was said that {run}.", "The original")
    desk.write(lambda tx: desk.commons.atoms.offer(tx, bob, copied.hash))
    desk.clock.advance(1)
    source = desk.source(ada)
    publication = desk.review(desk.submit(ada, desk.draft(ada, markdown(source.hash, more=run.capitalize() + "."))))
    challenge = desk.challenge(bob, desk.synthesis(publication).hash, Ground.COPIED, (f"{copied.hash}@0-20",))
    decided = desk.judge(challenge)
    assert decided.state is ChallengeState.WON
    assert desk.publication(publication.id).state is PublicationState.DEMOTED
    states = desk.bundle(publication)
    assert states[Kind.SYNTHESIS] == {State.QUARANTINED.value}
    assert states[Kind.BINDING] == {State.QUARANTINED.value}


def test_an_articles_own_text_is_no_original(desk: Desk) -> None:
    """Neither the text that the node made of it, nor a copy that was uploaded afterwards, decides by itself."""
    ada, eve = desk.person(chip=100), desk.person(chip=200)
    publication = desk.promoted(ada)
    name = desk.synthesis(publication).hash
    with desk.tx() as tx:
        [own_text] = [atom for atom in store.carries(tx, publication.synthesis, 10) if atom.kind is Kind.SOURCE]
        text = desk.commons.sources.text(tx, eve, own_text.hash)
    uploaded = desk.source(eve, text, "My own old essay")
    for pointer in (f"{own_text.hash}@0-30", f"{uploaded.hash}@0-30"):
        challenge = desk.judge(desk.challenge(eve, name, Ground.COPIED, (pointer,)))
        assert challenge.state is ChallengeState.UNDER_REVIEW
    assert desk.publication(publication.id).state is PublicationState.PROMOTED
    with desk.tx() as tx:  # who is challenged may read what with
        assert desk.commons.sources.get(tx, ada, uploaded.hash).state == State.QUARANTINED


def test_a_stranger_with_the_same_text_has_no_say_over_an_article(desk: Desk) -> None:
    ada, eve = desk.person(chip=100), desk.person(chip=300)
    publication = desk.promoted(ada)
    with desk.tx() as tx:
        text = desk.commons.reading.content(tx, eve, publication.article, None)[1].text
    copy = desk.review(desk.submit(eve, desk.draft(eve, text)))
    assert desk.synthesis(copy).hash != desk.synthesis(publication).hash
    desk.write(lambda tx: desk.commons.publications.retract(tx, eve, copy.article, "mine"))
    assert desk.synthesis(publication).state is State.PROMOTED
    assert desk.publication(publication.id).state is PublicationState.PROMOTED
    assert all(item.state is State.PROMOTED for item in desk.bindings(publication))


def test_what_an_article_promoted_can_be_challenged_after_it_was_retracted(desk: Desk) -> None:
    """Retracting takes no stake out of reach before its time: the bindings stay, and somebody answers for them."""
    ada, eve = desk.person(chip=100), desk.person(chip=100)
    publication = desk.promoted(ada)
    desk.write(lambda tx: desk.commons.publications.retract(tx, ada, publication.article, "done"))
    assert desk.held() == chip(90)
    binding = desk.bindings(publication)[0]
    assert binding.state is State.PROMOTED
    desk.rule(desk.judge(desk.challenge(eve, binding.hash, Ground.OTHER)), upheld=True)
    assert desk.bindings(publication)[0].state is State.QUARANTINED
    assert desk.own(eve) == chip(100 + 45)
    assert desk.held() == 0


def test_all_who_put_the_same_at_stake_answer_for_it(desk: Desk) -> None:
    """A newcomer's article with the same evidence is no shield: what is really at stake is slashed too."""
    shield, ada, eve = desk.person(starter=50), desk.person(chip=100), desk.person(chip=90)
    source = desk.source(shield)
    desk.write(lambda tx: desk.commons.atoms.offer(tx, shield, source.hash))
    first = desk.review(desk.submit(shield, desk.draft(shield, markdown(source.hash))))
    second = desk.review(desk.submit(ada, desk.draft(ada, markdown(source.hash, title="The real one"))))
    desk.later(8 * DAY_S)
    challenge = desk.judge(desk.challenge(eve, desk.bindings(second)[0].hash, Ground.OTHER))
    desk.rule(challenge, upheld=True)
    assert {desk.publication(item.id).state for item in (first, second)} == {PublicationState.DEMOTED}
    assert desk.own(eve) == chip(90 + 45)
    assert desk.held() == 0


def test_an_article_that_rests_on_what_fell_can_be_challenged_for_it(desk: Desk) -> None:
    ada, bob, eve = desk.person(chip=100), desk.person(chip=100), desk.person(chip=200)
    source = desk.source(ada)
    first = desk.review(desk.submit(ada, desk.draft(ada, markdown(source.hash))))
    desk.later(8 * DAY_S)
    later = desk.review(desk.submit(bob, desk.draft(bob, markdown(source.hash, title="Rests on what is promoted"))))
    desk.later(8 * DAY_S)
    desk.rule(desk.judge(desk.challenge(eve, desk.bindings(first)[0].hash, Ground.OTHER)), upheld=True)
    assert desk.publication(later.id).state is PublicationState.PROMOTED
    for root in (desk.bindings(first)[0], desk.synthesis(first)):
        desk.flag(root)
    desk.later(31 * DAY_S)
    assert desk.publication(later.id).stake_due_us is not None  # flagged: its stake stays
    won = desk.judge(desk.challenge(eve, desk.synthesis(later).hash, Ground.FALLEN))
    assert won.state is ChallengeState.WON
    assert desk.publication(later.id).state is PublicationState.DEMOTED
    assert desk.held() == 0


def test_nothing_is_promoted_nor_given_back_while_a_challenge_is_open(desk: Desk) -> None:
    ada, bob = desk.person(chip=100), desk.person(chip=100)
    publication = desk.published(ada)
    challenge = desk.judge(desk.challenge(bob, desk.synthesis(publication).hash, Ground.OTHER))
    desk.later(30 * DAY_S)
    assert desk.publication(publication.id).state is PublicationState.IN_WINDOW
    with pytest.raises(ChallengeOpen):
        desk.write(lambda tx: desk.commons.publications.retract(tx, ada, publication.article, "flight"))
    desk.rule(challenge, upheld=False)
    desk.tend()
    assert desk.publication(publication.id).state is PublicationState.PROMOTED


def test_slashed_starter_and_co_staked_chip_goes_to_the_treasury_and_earns_a_bounty(desk: Desk) -> None:
    ada, bob = desk.person(starter=50), desk.person(chip=90)
    publication = desk.promoted(ada)
    challenge = desk.judge(desk.challenge(bob, desk.synthesis(publication).hash, Ground.OTHER))
    desk.rule(challenge, upheld=True)
    assert desk.own(bob) == chip(90)
    assert desk.treasury() == (GENESIS + chip(40), 0, chip(10))
    assert desk.balance(f"{bob.source}/available/CREDIT") == 2_000
    assert desk.starter(ada) == 0


def test_a_challenger_of_the_same_cluster_gets_no_share(desk: Desk) -> None:
    ada, bob = desk.person(chip=100), desk.person(chip=90)
    publication = desk.promoted(ada)
    with desk.tx() as tx:
        desk.node.clusters.join(tx, ada.source, bob.source, Reason.PAYOUT, "one account")
    challenge = desk.judge(desk.challenge(bob, desk.synthesis(publication).hash, Ground.OTHER))
    desk.rule(challenge, upheld=True)
    assert desk.own(bob) == chip(90)
    assert desk.treasury() == (GENESIS + chip(18), chip(18 + 45), chip(10 + 9))


def test_one_challenge_at_a_time_on_a_ground_and_none_again_after_a_loss(desk: Desk) -> None:
    ada, bob, eve = desk.person(chip=100), desk.person(chip=200), desk.person(chip=100)
    publication = desk.published(ada)
    name = desk.synthesis(publication).hash
    first = desk.judge(desk.challenge(bob, name, Ground.OTHER))
    with pytest.raises(GroundTaken):
        desk.challenge(eve, name, Ground.OTHER)
    assert desk.own(eve) == chip(100)
    desk.rule(first, upheld=False)
    with pytest.raises(GroundTaken):
        desk.challenge(eve, name, Ground.OTHER)
    assert desk.challenge(eve, name, Ground.MISLEADING).state is ChallengeState.OPEN


def test_nobody_can_use_up_a_ground_for_others(desk: Desk) -> None:
    """Whoever loses a challenge on purpose keeps nobody else with other evidence from being heard."""
    ada, friend, eve = desk.person(chip=100), desk.person(chip=100), desk.person(chip=100)
    publication = desk.published(ada)
    name = desk.bindings(publication)[0].hash
    weak = desk.source(friend, "Somebody said something about bridges once upon a time.", "Weak")
    strong = desk.source(eve, "The survey was withdrawn because its figures were made up.", "Strong")
    squat = desk.judge(desk.challenge(friend, name, Ground.CONTRADICTED, (f"{weak.hash}@0-20",)))
    desk.rule(squat, upheld=False)
    heard = desk.judge(desk.challenge(eve, name, Ground.CONTRADICTED, (f"{strong.hash}@0-40",)))
    assert desk.rule(heard, upheld=True).state is ChallengeState.WON


def test_other_open_challenges_are_void_when_one_wins(desk: Desk) -> None:
    ada, bob, eve = desk.person(chip=100), desk.person(chip=90), desk.person(chip=90)
    publication = desk.published(ada)
    name = desk.synthesis(publication).hash
    first, second = desk.challenge(bob, name, Ground.OTHER), desk.challenge(eve, name, Ground.MISLEADING)
    desk.rule(desk.judge(first), upheld=True)
    with desk.tx() as tx:
        assert desk.commons.challenges.get(tx, second.id).state is ChallengeState.VOID
    assert desk.own(eve) == chip(90)
    assert desk.judge(second).state is ChallengeState.VOID


def test_what_cannot_be_challenged(desk: Desk) -> None:
    ada, bob, poor = desk.person(chip=100), desk.person(chip=100), desk.person()
    publication = desk.published(ada)
    binding, synthesis = desk.bindings(publication)[0].hash, desk.synthesis(publication).hash
    with pytest.raises(OwnArticle):
        desk.challenge(ada, binding, Ground.NUMBER)
    with pytest.raises(BadGround):
        desk.challenge(bob, synthesis, Ground.NUMBER)
    with pytest.raises(BadGround):
        desk.challenge(bob, binding, Ground.CONTRADICTED)
    with pytest.raises(TooLittleChip):
        desk.challenge(poor, binding, Ground.NUMBER)
    private = desk.source(ada, "A private note that nobody else may read.", "Private")
    with pytest.raises(NotFound):
        desk.challenge(bob, private.hash, Ground.HASH)
    with pytest.raises(NotChallengeable):
        desk.challenge(ada, private.hash, Ground.HASH)
    assert desk.own(bob) == chip(100)


def test_only_operators_rule_and_only_once(desk: Desk) -> None:
    ada, bob = desk.person(chip=100), desk.person(chip=100)
    publication = desk.published(ada)
    challenge = desk.challenge(bob, desk.synthesis(publication).hash, Ground.OTHER)
    challenges = desk.commons.challenges
    with pytest.raises(RulersOnly):
        desk.write(lambda tx: challenges.rule(tx, ada, challenge.id, upheld=False, reasoning="mine"))
    with pytest.raises(ChallengeOver):  # the referee has not looked yet
        desk.rule(challenge, upheld=True)
    challenge = desk.judge(challenge)
    desk.rule(challenge, upheld=True)
    with pytest.raises(ChallengeOver):
        desk.rule(challenge, upheld=True)


def test_a_stake_cannot_be_taken_out_by_its_hold(desk: Desk) -> None:
    ada = desk.person(chip=100)
    publication = desk.published(ada)
    with desk.tx() as tx:
        hold = tx.value("select hold from stake_parts where stake = %s", publication.stake)
        with pytest.raises(HoldOfStake):
            desk.node.guard_hold(tx, hold)
    desk.write(lambda tx: desk.commons.publications.retract(tx, ada, publication.article, "done"))
    with desk.tx() as tx:
        desk.node.guard_hold(tx, hold)
        assert queries.hold(tx, hold).closed


def test_retraction_flags_everything_that_rests_on_it(desk: Desk) -> None:
    ada, bob, cleo = desk.person(chip=200), desk.person(chip=200), desk.person(chip=100)
    first = desk.promoted(ada)
    with desk.tx() as tx:
        rows = tx.rows(
            "select atom from atom_edges e join atoms a on a.id = e.atom where e.rests_on = %s", first.synthesis
        )
        own_text = store.by_id(tx, rows[0][0])
        text = desk.commons.sources.text(tx, bob, own_text.hash)
    lines, body = [], []
    for label, (claim, _) in CLAIMS.items():
        start = text.index(claim)
        body.append(f"Somebody wrote: [{claim}]{{#{label}}}.")
        lines.append(f"{label} supports {own_text.hash}@{start}-{start + len(claim)}")
    article = desk.draft(
        bob,
        f"# Cites it\n\n{FILLER.replace('remark', 'note').replace('number', 'of the number')}\n\n"
        + "\n\n".join(body)
        + "\n\n```evidence\n"
        + "\n".join(lines)
        + "\n```\n",
    )
    second = desk.review(desk.submit(bob, article))
    assert second.state is PublicationState.IN_WINDOW, second
    desk.later(8 * DAY_S)
    challenge = desk.judge(desk.challenge(cleo, desk.synthesis(first).hash, Ground.OTHER))
    desk.rule(challenge, upheld=True)
    assert not desk.synthesis(second).flagged
    with desk.tx() as tx:
        for root in tx.rows("select distinct root from atom_flags"):
            desk.flag(store.by_id(tx, root[0]))
    assert desk.synthesis(second).flagged
    assert desk.synthesis(second).state is State.PROMOTED
    assert desk.publication(second.id).state is PublicationState.PROMOTED


def test_operators_have_neither_stake_nor_name(desk: Desk) -> None:
    ada = desk.person(chip=100)
    publication = desk.published(ada)
    with pytest.raises(AuthorNeeded):
        desk.challenge(OPERATOR, desk.synthesis(publication).hash, Ground.OTHER)


def test_where_two_must_agree_operators_are_told_apart_by_name(database: Database, tmp_path: Path) -> None:
    desk = Desk(database, tmp_path, commons=replace(CommonsPolicy(), rulings_development=2))
    ada, eve = desk.person(chip=100), desk.person(chip=90)
    binding = desk.bindings(desk.published(ada))[0]
    challenge = desk.judge(desk.challenge(eve, binding.hash, Ground.OTHER))
    with pytest.raises(NamedOperatorNeeded):  # who has the token of the home may have one with a name too
        desk.rule(challenge, upheld=True)
    for _ in range(2):
        assert desk.rule(challenge, upheld=True, by="operator:ada").state is ChallengeState.UNDER_REVIEW
    assert desk.rule(challenge, upheld=True, by="operator:bob").state is ChallengeState.WON
    desk.close()
