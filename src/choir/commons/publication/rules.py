"""The risk of an article, its window, and what it must have to be promoted. Pure.

Risk is computed with decimals and rounded down to basis points, so every machine finds the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from decimal import ROUND_FLOOR, Decimal, localcontext

from choir.commons.articles.copies import CopiedRun
from choir.commons.articles.model import ParsedArticle
from choir.commons.policy import CommonsPolicy
from choir.commons.publication.model import CheckedBinding, Problem, Risk, RiskTier
from choir.commons.verifiers.model import Level, Outcome
from choir.foundation.words import count

SENSITIVE = frozenset({"health", "finance", "law", "security", "elections"})
_BPS = Decimal(10_000)
_DIGITS = re.compile(r"\d")
_CAUSAL = re.compile(
    r"\b(?:caus(?:e|es|ed|ing)|lead(?:s|ing)? to|led to|prevent(?:s|ed|ing)?|cure[sd]?|curing|increase[sd]?|increasing|"
    r"reduce[sd]?|reducing|result(?:s|ed|ing)? in|trigger(?:s|ed|ing)?|induce[sd]?|inducing|produce[sd]?|"
    r"due to|because of|contribut(?:e|es|ed|ing) to)\b",
    re.IGNORECASE,
)
_SHOWN_RUN_CHARS = 80


def risk_of(
    claims: int,
    words: int,
    topics: Collection[str],
    novelty: int | None,
    survival_bps: int | None,
    policy: CommonsPolicy,
) -> Risk:
    """By the formula of the policy; an author without a record counts as a newcomer."""
    with localcontext() as context:
        context.prec = 30
        per_hundred = Decimal(claims) * 100 / max(1, words)
        shares = {
            "claims": min(Decimal(1), per_hundred / policy.risk_claims_full),
            "topic": Decimal(1) if is_sensitive(topics) else Decimal(policy.risk_topic_plain) / _BPS,
            "novelty": Decimal(policy.risk_novelty_unknown if novelty is None else novelty) / 100,
            "record": 1 - Decimal(policy.risk_newcomer_survival if survival_bps is None else survival_bps) / _BPS,
        }
        weights = {
            "claims": policy.risk_claims_weight,
            "topic": policy.risk_topic_weight,
            "novelty": policy.risk_novelty_weight,
            "record": policy.risk_record_weight,
        }
        exact = {name: share * weights[name] for name, share in shares.items()}
        total = int(sum(exact.values(), Decimal(0)).to_integral_value(ROUND_FLOOR))
        parts = {name: int(value.to_integral_value(ROUND_FLOOR)) for name, value in exact.items()}
    return Risk(total, _tier(total, policy), parts)


def _tier(total_bps: int, policy: CommonsPolicy) -> RiskTier:
    if total_bps < policy.risk_medium_from:
        return RiskTier.LOW
    return RiskTier.MEDIUM if total_bps < policy.risk_high_from else RiskTier.HIGH


def window_s(tier: RiskTier, policy: CommonsPolicy) -> int:
    return {
        RiskTier.LOW: policy.window_low_s,
        RiskTier.MEDIUM: policy.window_medium_s,
        RiskTier.HIGH: policy.window_high_s,
    }[tier]


def is_sensitive(topics: Collection[str]) -> bool:
    return not SENSITIVE.isdisjoint(topics)


def survival_bps(standing: int, lost: int) -> int | None:
    """How much of what an author had promoted still stands; None: nothing was decided yet."""
    return None if standing + lost == 0 else standing * 10_000 // (standing + lost)


def high_impact(article: ParsedArticle, tier: RiskTier) -> tuple[str, ...]:
    """The labels of claims that need a disclosed hyperthesis."""
    if tier is RiskTier.HIGH:
        return tuple(claim.label for claim in article.claims)
    if not is_sensitive(article.topics):
        return ()
    return tuple(claim.label for claim in article.claims if _DIGITS.search(claim.text) or _CAUSAL.search(claim.text))


def bindings_needed(words: int, policy: CommonsPolicy) -> int:
    """Evidence density: so many verified bindings at least."""
    return max(policy.bindings_min, -(-words // policy.words_per_binding))


def counts(binding: CheckedBinding) -> bool:
    """Whether a binding counts for the evidence density."""
    return binding.level in (Level.L2, Level.L3)


def problems_of(
    article: ParsedArticle, bindings: Sequence[CheckedBinding], tier: RiskTier, policy: CommonsPolicy
) -> list[Problem]:
    """Why the review would refuse: bindings that fail, too little evidence, an undisclosed blind spot."""
    found = [problem for binding in bindings for problem in _of_binding(binding)]
    verified, needed = sum(map(counts, bindings)), bindings_needed(article.words, policy)
    if verified < needed:
        wanted = f"{count(needed, 'verified binding is', 'verified bindings are')} needed"
        words = f"{wanted} for {count(article.words, 'word')}, and there {'is' if verified == 1 else 'are'} {verified}"
        found.append(Problem("density", words, data={"needed": needed, "verified": verified}))
    labels = high_impact(article, tier)
    if labels and not article.disclosures:
        why = "its risk is high" if tier is RiskTier.HIGH else "the topic is sensitive and they have numbers or causes"
        words = (
            f"claims of high impact ({', '.join(labels[:5])}: {why}) need a disclosed hyperthesis: add a block"
            " ```hyperthesis"
            + ("; or write more words for each claim, which lowers the risk" if tier is RiskTier.HIGH else "")
        )
        found.append(Problem("hyperthesis", words, data={"claims": list(labels)}))
    return found


def _of_binding(binding: CheckedBinding) -> list[Problem]:
    found = binding.verification
    failed = [item for item in found.findings if item.outcome is Outcome.FAIL]
    if not failed and binding.level is None:
        failed = [item for item in found.findings if item.outcome is not Outcome.PASS][:1]
    return [
        Problem("binding", f"{item.level} {item.check}: {item.words}", binding.label, {"pointer": binding.pointer})
        for item in failed
    ]


def copied_problem(source: str, title: str, prose: str, run: CopiedRun) -> Problem:
    shown = prose[run.start : run.end].replace("\n", " ")[:_SHOWN_RUN_CHARS]
    words = f"{run.words} words in a row are those of '{title}': '{shown}…'; quote them with {{{{extract …}}}}"
    return Problem("copied", words, data={"source": source, "words": run.words, "start": run.source_start})


def outside_problem(pointer: str, chars: int) -> Problem:
    return Problem(
        "span", f"{pointer} is outside of its source, which has {chars} characters", data={"pointer": pointer}
    )
