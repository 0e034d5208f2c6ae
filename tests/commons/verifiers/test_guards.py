"""The guards behind the checks of the wording: what belongs to something else never passes, and what a check is known
to misread is not refused."""

from __future__ import annotations

import pytest

from choir.commons.articles.model import Relation
from choir.commons.policy import VerifiersPolicy
from choir.commons.verifiers import association
from choir.commons.verifiers.model import CheckFinding, Level, Outcome
from choir.commons.verifiers.referee import verify_binding
from choir.commons.verifiers.reserve import with_reserve
from choir.commons.verifiers.stretches import Side

PASS, FAIL, UNDECIDED = Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED


def l2(claim: str, extract: str) -> Outcome:
    return verify_binding(claim, extract, "", Relation.SUPPORTS).at(Level.L2)


def guard(check: str, claim: str, extract: str) -> Outcome:
    found = {item.check: item.outcome for item in association.checks(claim, extract, VerifiersPolicy())}
    assert tuple(found) == association.CHECKS
    return found[check]


@pytest.mark.parametrize(
    ("claim", "extract"),
    [
        ("The median wage for women was 755 euros", "The median wage was 640 euros for women and 755 euros for men."),
        ("The samples were cast in Aachen", "The samples were cast in Sheffield and tested in Aachen."),
        ("Astrum sold its stake to Helvor", "Helvor sold its stake to Astrum."),
        ("Apprentices receive 780 euros a week", "Apprentices receive 780 euros a month."),
        ("Serotype 19F caused 34 cases", "Serotype 19A caused 34 cases."),
        ("Cards can be used on the ferries", "Cards are accepted on trams, but they cannot be used on the ferries."),
        (
            "The board's survey found that riders feel safe",
            "A survey by Movus found that riders feel safe. The board declined.",
        ),
        ("The dampers cut noise by 16 percent", "The dampers cut noise by 61 percent."),
        ("The dampers did not cut noise", "The dampers cut noise."),
        ("The magazine printed the author's name", "The author licensed the image to the magazine."),
    ],
)
def test_what_is_not_said_never_passes(claim: str, extract: str) -> None:
    assert l2(claim, extract) is not PASS


@pytest.mark.parametrize(
    ("claim", "extract"),
    [
        ("In 2019 the dampers reduced vibration by 60 percent", "The dampers reduced vibration by 60 percent in 2019."),
        ("Wind caused vibration in 45 of the 120 bridges", "Wind caused vibration in 45 of the 120 bridges."),
        ("The committee did not close any bridge", "The committee did not close any bridge in that year."),
    ],
)
def test_what_is_said_passes(claim: str, extract: str) -> None:
    assert l2(claim, extract) is PASS


@pytest.mark.parametrize(
    ("claim", "extract", "expected"),
    [
        ("Women got 755 euros.", "Women got 640 euros and men got 755 euros.", UNDECIDED),
        ("Women got 640 euros.", "Women got 640 euros and men got 755 euros.", PASS),
        ("From 1856 to 1863 peas were crossed.", "Peas were crossed between 1856 and 1863.", PASS),
        ("The wall has 38 percent iron.", "The wall is 2 metres thick; there is 38 percent iron in it.", PASS),
        ("The wall has 38 cracks.", "The wall has 2 doors; there are 38 cracks in the roof.", UNDECIDED),
        ("The bridge fell on 7 May in a wind of 40 mph.", "The bridge fell on 7 May, in a wind of 40 mph.", PASS),
    ],
)
def test_values_keep_their_company(claim: str, extract: str, expected: Outcome) -> None:
    assert guard("association", claim, extract) is expected


@pytest.mark.parametrize(
    ("claim", "extract", "expected"),
    [
        ("The dam's gates leaked.", "The dam was old. The gates leaked.", UNDECIDED),
        ("The dam's gates leaked.", "The dam was old. Its gates leaked.", PASS),
        ("The dam leaked when the gates opened.", "The dam was old. When the gates opened, it leaked.", PASS),
        ("Two gates of the dam were old and leaked.", "Two gates of the dam were old. They leaked.", PASS),
        ("The dam leaked once.", "The dam leaked. It rained at once.", PASS),
    ],
)
def test_sentences_are_joined_by_what_refers_back(claim: str, extract: str, expected: Outcome) -> None:
    assert guard("sentences", claim, extract) is expected


@pytest.mark.parametrize(
    ("claim", "extract", "expected"),
    [
        ("Yesterday Astrum beat Helvor.", "Yesterday Helvor beat Astrum.", UNDECIDED),
        ("In Bath and in May old Herschel saw it.", "Old Herschel saw it in May in Bath.", PASS),
        ("Yesterday Helvor was beaten by Astrum.", "Yesterday Astrum beat Helvor.", PASS),
    ],
)
def test_names_keep_their_order(claim: str, extract: str, expected: Outcome) -> None:
    assert guard("order", claim, extract) is expected


@pytest.mark.parametrize(
    ("claim", "extract", "expected"),
    [
        ("Cards are valid on ferries.", "Cards are valid on trams but not on ferries.", UNDECIDED),
        ("Cards are valid on trams.", "Cards are valid on trams but not on ferries.", PASS),
        ("Bees cluster in winter.", "Bees do not sleep, they cluster in winter.", PASS),
        ("The ferries take cards.", "Trams take cards but the ferries do not.", UNDECIDED),
    ],
)
def test_what_is_denied_is_not_affirmed(claim: str, extract: str, expected: Outcome) -> None:
    assert guard("denials", claim, extract) is expected


@pytest.mark.parametrize(
    ("check", "claim", "extract", "expected"),
    [
        ("rates", "He ran 5 km a week.", "He ran 5 km a month.", FAIL),
        ("rates", "He ran 5 km a week.", "He ran 5 km every week.", PASS),
        ("codes", "Type 19F was seen.", "Type 19A was seen.", FAIL),
        ("codes", "Type 19F was seen.", "The type was seen.", UNDECIDED),
        ("new words", "The physician cured the patient.", "The doctor healed the sufferer.", UNDECIDED),
        (
            "new words",
            "The full recovery surprised the doctor.",
            "Doctors were surprised that he fully recovered.",
            PASS,
        ),
    ],
)
def test_rates_codes_and_new_words(check: str, claim: str, extract: str, expected: Outcome) -> None:
    assert guard(check, claim, extract) is expected


def reserved(check: str, claim: str, extract: str) -> Outcome:
    found = with_reserve(claim, extract, [CheckFinding(Level.L2, check, FAIL, "It differs.")], VerifiersPolicy())
    return found[0].outcome


@pytest.mark.parametrize(
    ("check", "claim", "extract", "expected"),
    [
        ("numbers", "It took more than four hours.", "It took 4 hours and 12 minutes.", UNDECIDED),
        ("numbers", "It took four hours over the sea.", "It took 5 hours over the sea.", FAIL),
        ("numbers", "It hit three in ten dogs.", "It hit 30 percent of dogs.", UNDECIDED),
        ("negation", "The ships sailed without those.", "The ships sailed except for those.", UNDECIDED),
        ("negation", "The ships did not sail.", "The ships sailed.", FAIL),
        ("dates", "The physician bought it in 1650.", "A banker sold the violin in 1648.", UNDECIDED),
    ],
)
def test_a_check_that_is_known_to_err_does_not_refuse(check: str, claim: str, extract: str, expected: Outcome) -> None:
    assert reserved(check, claim, extract) is expected


def test_texts_are_cut_where_another_thing_begins() -> None:
    found = Side("Women got 640 euros and men 755 euros in 2019. Ada Lovelace and Charles Babbage wrote.").stretches
    assert [(each.sentence, sorted(each.values)) for each in found] == [
        (0, ["640"]),
        (0, ["2019", "755"]),
        (1, ["Babbage", "Charles", "Lovelace"]),
    ]


def test_no_stretch_is_longer_than_a_long_sentence() -> None:
    assert max(len(each.words) for each in Side(" ".join(f"w{'x' * n}" for n in range(400))).stretches) <= 80
