"""Numbers of the commons: sources, verifiers, articles, stakes, windows and challenges."""

from __future__ import annotations

from dataclasses import dataclass

from choir.commons.citations.policy import CitationsPolicy
from choir.commons.novelty.policy import NoveltyPolicy
from choir.commons.search.policy import SearchPolicy
from choir.foundation.policy import PAGE_ROWS_MOST, value

_SPEC = "spec: commons"
_ATTESTATION = "spec: attestation"
_DEFAULTS = "spec: policy defaults"
_ENGINEERING = "engineering"
_DAY_S = 86_400
_CHIP = 1_000_000


@dataclass(frozen=True, slots=True)
class SourcesPolicy:
    """How large documents may be, how long reading one may take, and whether URLs are fetched."""

    document_bytes_max: int = value(
        20_000_000, "bytes", 1_000, 1_000_000_000, _ENGINEERING, "Maximum size of a document."
    )
    text_chars_max: int = value(
        5_000_000, "characters", 1_000, 100_000_000, _ENGINEERING, "Maximum length of a document's text."
    )
    read_s_max: int = value(30, "seconds", 1, 600, _ENGINEERING, "Time limit for reading one document.")
    read_bytes_max: int = value(
        600_000_000, "bytes", 100_000_000, 16_000_000_000, _ENGINEERING, "Memory limit for reading one document."
    )
    readers_max: int = value(2, "processes", 1, 64, _ENGINEERING, "Maximum documents read at once by a server process.")
    pdf_pages_max: int = value(2_000, "pages", 1, 100_000, _ENGINEERING, "Maximum pages of a PDF.")
    extract_chars_max: int = value(
        2_000, "characters", 50, 100_000, _ENGINEERING, "Maximum length of one extract: a pointer is no copy."
    )
    fetch_urls: int = value(0, "0 or 1", 0, 1, _ENGINEERING, "Whether this node fetches documents by URL.")
    fetch_s_max: int = value(20, "seconds", 1, 300, _ENGINEERING, "Time limit for fetching one document.")
    fetch_redirects_max: int = value(4, "redirects", 0, 20, _ENGINEERING, "Maximum redirects followed.")
    passage_chars: int = value(
        1_200, "characters", 200, 20_000, _ENGINEERING, "Length of the passages that a source is searched by."
    )
    title_chars_max: int = value(300, "characters", 1, 2_000, _ENGINEERING, "Maximum length of a title.")
    search_matches_max: int = value(
        2_000, "matches", 10, 1_000_000, _ENGINEERING, "Of what a search finds, so many are ranked."
    )
    page_rows_max: int = value(
        500, "rows", 1, PAGE_ROWS_MOST, _ENGINEERING, "Maximum rows in one page of a listing of the commons."
    )


@dataclass(frozen=True, slots=True)
class VerifiersPolicy:
    """Where the lexical checks draw their lines. Changing one changes the verifiers' version."""

    coverage_pass_bps: int = value(
        10_000,
        "basis points",
        0,
        10_000,
        _ENGINEERING,
        "Share of a claim's words that matter, found in the extract, from which it passes.",
    )
    coverage_fail_bps: int = value(
        5_500,
        "basis points",
        0,
        10_000,
        _ENGINEERING,
        "Share of a claim's words found in the extract below which it fails.",
    )
    rounding_bps: int = value(
        1_000,
        "basis points",
        0,
        5_000,
        _ENGINEERING,
        "How far a number that a claim calls approximate may be from the extract's.",
    )
    words_max: int = value(
        5_000,
        "words",
        100,
        1_000_000,
        _ENGINEERING,
        "Maximum length of a text whose wording is compared; more is undecided.",
    )
    close_bps_max: int = value(
        3_000,
        "basis points",
        0,
        10_000,
        _ENGINEERING,
        "Share of a claim's words that the extract does not have, above which no check by words refuses it.",
    )
    new_words_bps_max: int = value(
        4_500,
        "basis points",
        0,
        10_000,
        _ENGINEERING,
        "Share of a claim's words that the extract does not have, above which it is undecided.",
    )
    judge_words_max: int = value(
        500, "characters", 50, 5_000, _ENGINEERING, "Maximum length of the reason that a judge gives."
    )


@dataclass(frozen=True, slots=True)
class CommonsPolicy:
    """What publishing costs, what an article must have, how long windows are, and what challenges move."""

    publish_stake: int = value(90 * _CHIP, "units of CHIP", 0, 10**13, _SPEC, "Stake of an article (90 CHIP).")
    publish_fee: int = value(
        10 * _CHIP, "units of CHIP", 0, 10**13, _SPEC, "Review fee, the same for pass and fail (10 CHIP)."
    )
    co_stake_max: int = value(
        50 * _CHIP,
        "units of CHIP",
        0,
        10**13,
        _DEFAULTS,
        "What the treasury adds to a newcomer's first stake (50 CHIP).",
    )
    co_stake_own_min: int = value(
        50 * _CHIP, "units of CHIP", 0, 10**13, "spec: overview", "What a newcomer must bring for a co-stake (50 CHIP)."
    )
    stake_return_s: int = value(
        30 * _DAY_S, "seconds", 0, 300 * _DAY_S, _SPEC, "Time from promotion to the return of the stake."
    )
    stake_s_max: int = value(
        365 * _DAY_S, "seconds", _DAY_S, 366 * _DAY_S, _ENGINEERING, "A stake that nobody ends goes back after this."
    )
    window_low_s: int = value(_DAY_S, "seconds", 0, 90 * _DAY_S, _ATTESTATION, "Challenge window at low risk.")
    window_medium_s: int = value(
        3 * _DAY_S, "seconds", 0, 90 * _DAY_S, _ATTESTATION, "Challenge window at medium risk."
    )
    window_high_s: int = value(7 * _DAY_S, "seconds", 0, 90 * _DAY_S, _ATTESTATION, "Challenge window at high risk.")

    words_per_binding: int = value(
        150, "words", 1, 100_000, _DEFAULTS, "Evidence density: one verified binding for each so many words."
    )
    bindings_min: int = value(3, "bindings", 1, 1_000, _DEFAULTS, "Evidence density: minimum of verified bindings.")
    copied_words: int = value(
        25, "words", 5, 1_000, _SPEC, "NO-COPY: a verbatim run of so many words of a source is refused."
    )
    article_chars_max: int = value(
        200_000, "characters", 1_000, 900_000, _ENGINEERING, "Maximum length of an article's text."
    )
    article_lines_max: int = value(20_000, "lines", 100, 200_000, _ENGINEERING, "Maximum lines of an article.")
    title_chars_max: int = value(300, "characters", 1, 2_000, _ENGINEERING, "Maximum length of an article's title.")
    quotes_max: int = value(200, "quotes", 1, 10_000, _ENGINEERING, "Maximum quotes rendered in one article.")
    disclosures_max: int = value(20, "disclosures", 1, 1_000, _ENGINEERING, "Maximum blind spots disclosed in one.")
    confidence_default_bps: int = value(
        8_000,
        "basis points",
        1,
        10_000,
        _ENGINEERING,
        "Confidence of a line of evidence, or a binding, that states none.",
    )
    claims_max: int = value(500, "claims", 1, 10_000, _ENGINEERING, "Maximum claims in one article.")
    bindings_max: int = value(1_000, "bindings", 1, 20_000, _ENGINEERING, "Maximum lines of evidence in one article.")
    evidence_chars_max: int = value(
        10_000_000, "characters", 10_000, 10**9, _ENGINEERING, "Maximum length of all sources of one article together."
    )
    sources_max: int = value(200, "sources", 1, 5_000, _ENGINEERING, "Maximum sources that one article points to.")
    sentences_max: int = value(500, "sentences", 10, 100_000, _ENGINEERING, "Maximum sentences looked at by `assert`.")
    claim_chars_max: int = value(600, "characters", 20, 10_000, _ENGINEERING, "Maximum length of a claim.")
    statement_chars_max: int = value(
        4_000, "characters", 20, 100_000, _ENGINEERING, "Maximum length of a free statement."
    )
    topics_max: int = value(8, "topics", 1, 100, _ENGINEERING, "Maximum topics of an article.")
    topic_chars_max: int = value(40, "characters", 1, 200, _ENGINEERING, "Maximum length of a topic's name.")
    import_files_max: int = value(1_000, "files", 1, 100_000, _ENGINEERING, "Maximum files of one imported folder.")
    diff_steps_max: int = value(
        1_000_000, "steps", 1_000, 10**9, _ENGINEERING, "Work spent on comparing two versions; the rest is shown whole."
    )
    pointers_max: int = value(50, "pointers", 1, 1_000, _ENGINEERING, "Maximum pointers in one atom.")
    drafts_kept: int = value(50, "drafts", 1, 10_000, _ENGINEERING, "Saved drafts kept for each article.")
    articles_per_owner_max: int = value(
        10_000, "articles", 1, 10**7, _ENGINEERING, "Maximum articles of one owner, drafts included."
    )

    risk_claims_weight: int = value(
        4_000, "basis points", 0, 10_000, _DEFAULTS, "Risk: weight of claims per 100 words."
    )
    risk_claims_full: int = value(
        5, "claims per 100 words", 1, 100, _DEFAULTS, "Risk: claims per 100 words that count in full."
    )
    risk_topic_weight: int = value(3_000, "basis points", 0, 10_000, _DEFAULTS, "Risk: weight of the topic.")
    risk_topic_plain: int = value(
        2_000, "basis points", 0, 10_000, _DEFAULTS, "Risk: a topic that is not sensitive; a sensitive one is 10000."
    )
    risk_novelty_weight: int = value(2_000, "basis points", 0, 10_000, _DEFAULTS, "Risk: weight of novelty.")
    risk_novelty_unknown: int = value(
        50, "points", 0, 100, _ENGINEERING, "Risk: novelty of an article while nothing scores novelty."
    )
    risk_record_weight: int = value(1_000, "basis points", 0, 10_000, _DEFAULTS, "Risk: weight of the author's record.")
    risk_newcomer_survival: int = value(
        5_000, "basis points", 0, 10_000, _DEFAULTS, "Risk: survival of an author without a record."
    )
    risk_medium_from: int = value(3_500, "basis points", 0, 10_000, _DEFAULTS, "Risk from which it is medium.")
    risk_high_from: int = value(6_000, "basis points", 0, 10_000, _DEFAULTS, "Risk from which it is high.")

    challenger_bps: int = value(
        5_000, "basis points", 0, 10_000, _ATTESTATION, "Of a slashed stake, to the challenger."
    )
    slash_treasury_bps: int = value(2_000, "basis points", 0, 10_000, _ATTESTATION, "Of it, to the treasury.")
    slash_verifier_bps: int = value(
        1_000, "basis points", 0, 10_000, _ATTESTATION, "Of it, to the verifier fund; the rest goes to the insurance."
    )
    lost_challenge_bps: int = value(
        5_000, "basis points", 0, 10_000, _ATTESTATION, "Share of its stake that a lost challenge costs."
    )
    lost_to_challenged_bps: int = value(
        8_000,
        "basis points",
        0,
        10_000,
        _ATTESTATION,
        "Of that, to the challenged; the rest goes to the verifier fund.",
    )
    challenge_bounty: int = value(
        2_000,
        "units of CREDIT",
        0,
        10**9,
        _ENGINEERING,
        "For a proven challenge of a treasury-backed stake (20 CREDIT).",
    )
    challenges_open_max: int = value(
        20, "challenges", 1, 10_000, _ENGINEERING, "Maximum open challenges of one challenger."
    )
    rulings_production: int = value(
        2, "operators", 1, 10, _ENGINEERING, "Operators that decide a challenge in production."
    )
    rulings_development: int = value(1, "operators", 1, 10, _ENGINEERING, "The same on a development node.")

    revision_fee: int = value(50 * _CHIP, "units of CHIP", 0, 10**13, _SPEC, "Fee of a proposed revision (50 CHIP).")
    revision_s: int = value(7 * _DAY_S, "seconds", 60, 90 * _DAY_S, _SPEC, "Time that authors have for a revision.")
    revision_kept_bps: int = value(
        1_000, "basis points", 0, 10_000, _SPEC, "Of the fee of a refused revision, what the treasury keeps."
    )
    authors_max: int = value(20, "authors", 1, 1_000, _ENGINEERING, "Maximum authors of an article.")
    boost_price: int = value(25 * _CHIP, "units of CHIP", 0, 10**13, _SPEC, "Price of a boost (25 CHIP).")
    boost_s: int = value(7 * _DAY_S, "seconds", 60, 90 * _DAY_S, _DEFAULTS, "How long a boost lasts.")

    look_every_s: int = value(5, "seconds", 1, 3_600, _ENGINEERING, "Interval of looks for windows that have ended.")
    takedown_note_chars_max: int = value(
        2_000, "characters", 100, 100_000, _ENGINEERING, "Maximum length of an operator's reason for a takedown."
    )
    page_rows_max: int = value(
        500, "rows", 1, PAGE_ROWS_MOST, _ENGINEERING, "Maximum rows in one page of a listing of articles."
    )
    bundle_bytes_max: int = value(
        200_000_000, "bytes", 1_000_000, 10**10, _ENGINEERING, "Maximum size of an exported article with its evidence."
    )


SECTIONS = {
    "commons": CommonsPolicy,
    "commons_sources": SourcesPolicy,
    "verifiers": VerifiersPolicy,
    "novelty": NoveltyPolicy,
    "citations": CitationsPolicy,
    "search": SearchPolicy,
}
