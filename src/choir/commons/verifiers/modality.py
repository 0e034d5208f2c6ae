"""Whether a claim states flatly what its extract only supposes: may, might, suggests, is expected to, if."""

from __future__ import annotations

from collections.abc import Sequence

from choir.commons.verifiers.alignment import Alignment
from choir.commons.verifiers.lexicon import light, stems_of, words_of
from choir.commons.verifiers.model import CheckFinding, Outcome
from choir.commons.verifiers.pair import Pair, finding, listed
from choir.commons.verifiers.structure import Reading
from choir.commons.verifiers.tags import Tag
from choir.commons.verifiers.text import Kind
from choir.commons.verifiers.words import grammar

_HEDGES = stems_of(grammar.HEDGES)
_CONDITIONS = words_of("if unless provided_that whether")
_MODALS = words_of("can must have_to has_to need cannot should")


def check(pair: Pair, alignment: Alignment) -> CheckFinding:
    """Whether the claim states flatly what the extract only supposes."""
    hedged = _hedges(pair.claim, range(len(pair.claim.tokens)))
    hedged += [token.raw for token in pair.claim.tokens if token.word in _MODALS]
    clauses = {other for clause in range(len(pair.claim.clauses.kinds)) for other in alignment.clauses(clause)}
    wide = clauses | {
        parent
        for clause in clauses
        if (parent := pair.extract.clauses.parents[clause]) is not None and _is_that(pair.extract, clause)
    }
    matched = {match.at for at in pair.claim.content for match in pair.closest(at)}
    there = _hedges(
        pair.extract, [at for clause in sorted(wide) for at in pair.extract.members[clause] if at not in matched]
    )
    there += _conditions(pair.extract, clauses) if not _has_condition(pair.claim) else []
    if not there:
        return finding("modality", Outcome.PASS, "The extract states it without reserve.")
    if hedged:
        return finding("modality", Outcome.PASS, f"Both have a reserve: {listed(hedged)}.")
    return finding(
        "modality",
        Outcome.UNDECIDED,
        f"The extract says it with a reserve ({listed(there)}), the claim without.",
        reserve=there[:10],
    )


def _is_that(reading: Reading, clause: int) -> bool:
    members = reading.members[clause]
    return bool(members) and reading.tokens[members[0]].word == "that"


def _hedges(reading: Reading, places: Sequence[int]) -> list[str]:
    found = []
    for at in places:
        token = reading.tokens[at]
        if (
            token.kind is Kind.WORD
            and light(token.word) in _HEDGES
            and token.word not in ("if", "whether", "may_month")
        ):
            found.append(token.raw)
    return found


def _conditions(reading: Reading, clauses: set[int]) -> list[str]:
    """Conditions that hang on a clause: the one right after it, or right before at the start of a sentence."""
    found = []
    for at, token in enumerate(reading.tokens):
        if token.word in _CONDITIONS and reading.tags[at] is Tag.SUB:
            here = reading.clause_of[at]
            if here not in clauses and (here + 1 in clauses if token.opens else here - 1 in clauses):
                found.append(token.raw)
    return found


def _has_condition(reading: Reading) -> bool:
    return any(
        token.word in _CONDITIONS or token.word in ("when", "where", "after", "with", "in", "for", "except")
        for token in reading.tokens
    )
