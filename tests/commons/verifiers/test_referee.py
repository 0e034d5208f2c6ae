"""Bindings as a whole: levels, relations, context, languages, odd characters, and the version of it all."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

import choir.commons.verifiers
from choir.commons.articles.model import Relation
from choir.commons.policy import VerifiersPolicy
from choir.commons.verifiers.custody import span, text_hash
from choir.commons.verifiers.judge import Judgement
from choir.commons.verifiers.model import Level, Outcome
from choir.commons.verifiers.referee import CHECKS, RULES, VERSION, verify_binding, version_of
from tests.commons.verifiers.asking import findings

EXTRACT = "The treaty was signed in 1648 and ended the war."
CLAIM = "The war ended with the treaty signed in 1648."

RULES_HASH = "da704c421552d2cd"


class Yes:
    """A judge that finds that everything follows."""

    name, version = "yes", "1"

    def judge(self, claim: str, extract: str) -> Judgement:
        return Judgement(Outcome.PASS, "It follows.")


def test_every_check_says_something() -> None:
    found = verify_binding(CLAIM, EXTRACT, EXTRACT, Relation.SUPPORTS)
    assert [item.check for item in found.findings] == [*CHECKS, "judge"]
    assert all(item.words.endswith((".", "?")) for item in found.findings)
    assert found.at(Level.L2) is Outcome.PASS
    assert found.at(Level.L3) is Outcome.NOT_JUDGED


def test_levels_are_reached_one_after_the_other() -> None:
    text = f"Long ago. {EXTRACT}"
    custody = [span(text, 10, len(text), text_hash(EXTRACT))]
    found = verify_binding(CLAIM, EXTRACT, text, Relation.SUPPORTS, custody=custody, judge=Yes())
    assert [found.at(level) for level in Level] == [Outcome.NOT_JUDGED, Outcome.PASS, Outcome.PASS, Outcome.PASS]
    assert found.verified is None  # nobody has looked at the source


def test_the_worst_check_counts() -> None:
    found = verify_binding("The treaty was signed in 1650.", EXTRACT, "", Relation.SUPPORTS)
    assert found.at(Level.L2) is Outcome.FAIL
    assert found.failed


@pytest.mark.parametrize("relation", [Relation.CONTRADICTS, Relation.QUALIFIES])
@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (CLAIM, Outcome.FAIL),  # it says the same
        ("The treaty did not end the war.", Outcome.UNDECIDED),
        ("The moon landing was filmed in colour.", Outcome.FAIL),  # it speaks of something else
    ],
)
def test_other_relations_never_pass_by_words_alone(relation: Relation, claim: str, expected: Outcome) -> None:
    assert verify_binding(claim, EXTRACT, "", relation).at(Level.L2) is expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("It rained. ", " Then peace came.", Outcome.PASS),
        ("It is not true that ", "", Outcome.UNDECIDED),
        ("Some historians doubt that ", ".", Outcome.UNDECIDED),
        ("", ", as was wrongly claimed later.", Outcome.UNDECIDED),
        ("He was not there. ", " Nobody came.", Outcome.PASS),
    ],
)
def test_a_quote_cut_out_of_a_denial_is_noticed(before: str, after: str, expected: Outcome) -> None:
    quote = "the treaty was signed in 1648"
    assert findings(quote, quote, before + quote + after)["context"].outcome is expected


@pytest.mark.parametrize(
    ("claim", "extract"),
    [
        ("Der Vertrag wurde im Jahr 1648 unterzeichnet.", "Der Vertrag wurde nicht im Jahr 1648 unterzeichnet."),
        ("Le traité fut signé par la France en 1648.", "Le traité fut signé en 1648 par la Suède et la France."),
        ("Договор был подписан в 1648 году.", "Договор не был подписан в 1648 году."),
        ("条約は1648年に調印された。", "条約は1648年に調印されなかった。"),
        (CLAIM, "Der Vertrag von 1648 beendete den Krieg und wurde nicht gebrochen."),
    ],
)
def test_other_languages_are_undecided(claim: str, extract: str) -> None:
    assert verify_binding(claim, extract, "", Relation.SUPPORTS).at(Level.L2) is Outcome.UNDECIDED


def test_a_copy_passes_in_any_language() -> None:
    text = "Der Vertrag wurde im Jahr 1648 unterzeichnet."
    assert verify_binding(text, text, "", Relation.SUPPORTS).at(Level.L2) is Outcome.PASS


@pytest.mark.parametrize("claim", [CLAIM.replace("a", "а", 1), CLAIM.replace("war", "w\u200bar"), CLAIM + "\u202e"])
def test_characters_that_are_not_what_they_look_like_never_pass(claim: str) -> None:
    assert verify_binding(claim, EXTRACT, "", Relation.SUPPORTS).at(Level.L2) is not Outcome.PASS


def test_digits_of_other_scripts_are_digits() -> None:
    claim = CLAIM.replace("1648", "١٦٤٨")
    assert verify_binding(claim, EXTRACT, "", Relation.SUPPORTS).at(Level.L2) is Outcome.PASS


LONG = 40_000


@pytest.mark.parametrize(
    "piece",
    [
        "not ",
        "7",
        "7 ",
        "A",
        "A ",
        "Ab ",
        ",",
        "1, ",
        "(",
        "'",
        "a-",
        "is a ",
        "more than ",
        "no dogs ",
        "1-",
        ".",
        "\n",
        "5 % ",
        "'s ",
        "\u202e",
        "０",
        "и ",
        "found 1 x, ",
    ],
)
def test_long_and_hostile_texts_are_read(piece: str) -> None:
    """Nothing is timed here, but a quadratic check would not come back."""
    text = piece * (LONG // len(piece))
    found = verify_binding(text, text + " end", text, Relation.SUPPORTS)
    assert [item.check for item in found.findings] == [*CHECKS, "judge"]


def test_a_text_that_is_too_long_is_undecided_before_any_check_looks() -> None:
    extract = f"{EXTRACT} " * 20
    policy = VerifiersPolicy(words_max=100)
    found = verify_binding("The treaty was signed in 1650.", extract, "", Relation.SUPPORTS, policy=policy)
    compared = [item for item in found.findings if item.check in CHECKS[2:]]
    assert {(item.outcome, item.words) for item in compared} == {
        (Outcome.UNDECIDED, "The text is too long to be compared.")
    }


@pytest.mark.parametrize(
    "piece", ["not ", "7 ", "Ab ", "1, ", "is a ", "more than ", "no dogs ", "he said that ", "which was "]
)
def test_texts_of_the_longest_kind_that_is_compared(piece: str) -> None:
    text = piece * 800
    assert verify_binding(text, text + " end", text, Relation.SUPPORTS).findings


def test_the_version_is_of_rules_tables_and_thresholds() -> None:
    assert version_of(VerifiersPolicy()) == VERSION
    assert version_of(replace(VerifiersPolicy(), coverage_pass_bps=9_999)) != VERSION
    assert VERSION.startswith(f"{RULES}.")


def test_a_verification_carries_the_version_of_its_policy() -> None:
    policy = replace(VerifiersPolicy(), rounding_bps=1)
    assert verify_binding(CLAIM, EXTRACT, "", Relation.SUPPORTS, policy=policy).version == version_of(policy)


def test_changed_rules_are_counted() -> None:
    """If this fails, a rule has changed: count RULES up in referee.py, and write the new hash here."""
    folder = Path(choir.commons.verifiers.__file__).parent
    files = [file for file in sorted(folder.glob("*.py")) if file.name not in ("report.py", "judge.py")]
    trees = [ast.dump(_without_words(ast.parse(file.read_text("utf-8")))) for file in files]
    assert hashlib.sha256("\n".join(trees).encode()).hexdigest()[:16] == RULES_HASH


def _without_words(tree: ast.Module) -> ast.Module:
    """The code without its docstrings: explaining a rule does not change it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return tree
