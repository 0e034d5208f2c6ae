"""What each word does in its sentence, decided word by word from tables and from its neighbours.

A word that may be a noun or a verb is read by what stands before and after it. That is often right and sometimes
wrong; the checks that rest on it say `undecided` where it would matter.

Guarantee: pure, and linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from choir.commons.verifiers.lexicon import QUANTIFIERS, VERBS, light, stems_of, words_of
from choir.commons.verifiers.text import Kind, Token
from choir.commons.verifiers.words import grammar, measures


class Tag(Enum):
    """What a token does in its sentence."""

    DET = 1
    PRON = 2
    PREP = 3
    CONJ = 4
    SUB = 5
    REL = 6
    BE = 7
    HAVE = 8
    DO = 9
    MODAL = 10
    NEG = 11
    TO = 12
    ADV = 13
    NUM = 14
    VERB = 15
    WORD = 16
    MARK = 17


_DET, _PRON = words_of(grammar.DETERMINERS), words_of(grammar.PRONOUNS)
_PREP, _CONJ = words_of(grammar.PREPOSITIONS), words_of(grammar.CONJUNCTIONS)
_SUB, _REL = words_of(grammar.SUBORDINATORS), words_of(grammar.RELATIVES)
_BE, _HAVE, _DO, _MODAL = (words_of(text) for text in (grammar.BE, grammar.HAVE, grammar.DO, grammar.MODALS))
NEGATORS = words_of(grammar.NEGATORS)
NEGATIVE_VERBS = stems_of(grammar.NEGATIVE_VERBS)
TRAPS = words_of(grammar.NEGATION_TRAPS)
NEGATIVE_PHRASES = tuple(word for word in grammar.NEGATIVE_VERBS.split() if word.endswith("_to"))
SMALL = frozenset().union(_DET, _PRON, _PREP, _CONJ, _SUB, _REL, _BE, _HAVE, _DO, _MODAL, NEGATORS, TRAPS)
SMALL |= words_of(grammar.OTHER_SMALL) | words_of(grammar.ONLY) | words_of(measures.ABOUT + " " + measures.NEARLY)
SMALL |= frozenset(word for word in NEGATIVE_PHRASES)
SMALL |= words_of(f"{measures.OVER} {measures.UNDER} {measures.AT_LEAST} {measures.AT_MOST}") | frozenset(QUANTIFIERS)
SMALL -= words_of("alone whole entire completely totally entirely partly partially unanimous unanimously")
NUMBER_WORDS = words_of(measures.SMALL_NUMBERS + " " + measures.TENS) | frozenset(measures.SCALES) - {"k", "m", "b"}
CALENDAR = words_of(f"{measures.MONTHS} {measures.DAYS} {measures.MONTHS_SHORT} may_month sept")
MAYBE_PREP = words_of("as since until till after before despite so")
_ALSO_NOUNS = stems_of(grammar.ALSO_VERBS)
_NOT_VERBS = stems_of(grammar.NOT_VERBS) - stems_of(grammar.ALSO_VERBS)
SAME_PARTICIPLE = words_of(grammar.SAME_PARTICIPLE)
_PAST = frozenset(form for group in grammar.IRREGULAR.split(";") for form in group.split()[1:] if light(form) in VERBS)
PARTICIPLES = frozenset(group.split()[-1] for group in grammar.IRREGULAR.split(";") if len(group.split()) > 1)
_THAT_NOUNS, _WITH_OF = stems_of(grammar.THAT_NOUNS), stems_of(grammar.WITH_OF)
CHAIN = frozenset((Tag.VERB, Tag.BE, Tag.HAVE, Tag.DO, Tag.MODAL, Tag.NEG, Tag.ADV, Tag.TO))
FINITE = frozenset((Tag.VERB, Tag.BE, Tag.HAVE, Tag.DO, Tag.MODAL))
_NO_ADVERBS = (VERBS - stems_of("slowly quickly rapidly swiftly successfully")) | stems_of(
    "family assembly italy july ally belly"
)
_ADVERBS = words_of(
    "also still just already even again once twice soon often always sometimes only then now later earlier eventually"
    " recently first finally previously afterwards thereafter instead meanwhile together ago"
)
_CLOSED = (
    (Tag.BE, _BE),
    (Tag.HAVE, _HAVE),
    (Tag.DO, _DO),
    (Tag.MODAL, _MODAL),
    (Tag.DET, words_of("no")),
    (Tag.PRON, words_of("none nobody nothing neither no_one")),
    (Tag.NEG, words_of("not never hardly scarcely barely no_longer") | frozenset(NEGATIVE_PHRASES)),
    (Tag.CONJ, _CONJ),
    (Tag.SUB, _SUB - MAYBE_PREP - {"once"}),
    (Tag.PREP, _PREP | MAYBE_PREP),
    (Tag.DET, _DET),
    (Tag.PRON, _PRON),
)


def tag_tokens(tokens: Sequence[Token]) -> list[Tag]:
    tags = [_closed_tag(token) for token in tokens]
    for at in range(len(tokens)):
        if tags[at] is Tag.WORD and _is_verb(tokens, tags, at):
            tags[at] = Tag.VERB
    for at, token in enumerate(tokens):
        if token.word == "to" and at + 1 < len(tokens) and tags[at + 1] is Tag.VERB:
            tags[at] = Tag.TO
        if token.word == "that":
            tags[at] = _tag_of_that(tokens, tags, at)
        if (
            token.word in ("those", "these")
            and at + 1 < len(tokens)
            and tokens[at + 1].word in ("of", "who", "in", "on")
        ):
            tags[at] = Tag.PRON
    return tags


def _closed_tag(token: Token) -> Tag:
    word = token.word
    if token.kind is Kind.MARK:
        return Tag.MARK
    if token.kind is Kind.NUMBER or word in NUMBER_WORDS:
        return Tag.NUM
    if word in _REL and word != "that":
        return Tag.REL
    if word in ("what", "how", "why"):
        return Tag.SUB
    for tag, words in _CLOSED:
        if word in words:
            return tag
    if word.endswith("n't"):
        return Tag.DO
    if (word.endswith("ly") and len(word) > 4 and light(word) not in _NO_ADVERBS) or word in _ADVERBS:
        return Tag.ADV
    return Tag.WORD


def _is_verb(tokens: Sequence[Token], tags: list[Tag], at: int) -> bool:
    """Whether a word that may be one is a verb here; what stands before was decided already."""
    token = tokens[at]
    if token.capital and not token.opens:
        return False
    form = token.parts[0].casefold() if token.parts else token.word
    stem = light(token.word)
    capable = stem in VERBS and stem not in _NOT_VERBS
    past = form in _PAST or (form.endswith("ed") and len(form) > 4 and light(form) != form)
    ing = form.endswith("ing") and len(form) > 5 and light(form) != form
    before = tag_before(tags, at)
    after = tags[at + 1] if at + 1 < len(tags) else Tag.MARK
    if before in (Tag.MODAL, Tag.DO):
        return after is not Tag.BE
    if before in (Tag.BE, Tag.HAVE):
        return past or (ing and before is Tag.BE) or form in SAME_PARTICIPLE
    if past:
        attribute = before in (Tag.NUM, Tag.VERB) and after is Tag.WORD and form.endswith("ed")
        return before not in (Tag.DET, Tag.PREP) and not attribute
    if form in SAME_PARTICIPLE and before in (Tag.WORD, Tag.NUM) and after in (Tag.DET, Tag.WORD, Tag.NUM, Tag.PRON):
        return True
    if ing:
        return capable and before is not Tag.DET and not (before in (Tag.WORD, Tag.NUM) and after is Tag.WORD)
    if at > 0 and (tokens[at - 1].word == "to" or tokens[at - 1].word.endswith("_to")):
        return stem in VERBS and not form.endswith("s")
    return capable and _is_present(tokens, tags, at, before, after, form)


def tag_before(tags: Sequence[Tag], at: int) -> Tag:
    """The tag before a token, adverbs and negators left aside."""
    here = at - 1
    while here >= 0 and at - here < 4 and tags[here] in (Tag.ADV, Tag.NEG):
        here -= 1
    return tags[here] if here >= 0 else Tag.MARK


def _is_present(tokens: Sequence[Token], tags: list[Tag], at: int, before: Tag, after: Tag, form: str) -> bool:
    if before is Tag.MARK and at > 1 and tokens[at - 1].word == ",":
        listed = light(tokens[at].word) not in _ALSO_NOUNS and after in (Tag.DET, Tag.NUM, Tag.PRON)
        return listed and any(tag in FINITE for tag in tags[max(0, at - 12) : at])
    if before not in (Tag.WORD, Tag.PRON, Tag.REL, Tag.CONJ, Tag.NUM) or (before is Tag.NUM and form.endswith("s")):
        return False
    following = tokens[at + 1].word if at + 1 < len(tokens) else "."
    if after in FINITE or (following == "of" and light(tokens[at].word) not in _WITH_OF):
        return False
    if after is Tag.WORD and light(following) in VERBS and (following in _PAST or following.endswith("ed")):
        return False
    stem = light(tokens[at].word)
    previous = tokens[at - 2 if tags[at - 1] in (Tag.ADV, Tag.NEG) and at > 1 else at - 1]
    plural = previous.word.endswith("s") and not previous.owns
    if form.endswith("s") and not form.endswith("ss"):
        ends = after is Tag.MARK and Tag.SUB not in tags[max(0, at - 5) : at]
        return before in (Tag.PRON, Tag.REL) or (not plural and not previous.owns and not ends)
    if before is Tag.CONJ:
        return Tag.VERB in tags[max(0, at - 12) : at]
    held = any(tag in FINITE for tag in tags[max(0, at - 8) : at])
    free = not held and stem not in _ALSO_NOUNS and after in (Tag.PREP, Tag.MARK, Tag.DET, Tag.ADV, Tag.PRON)
    return (plural and before is Tag.WORD) or before in (Tag.PRON, Tag.REL) or free


def _tag_of_that(tokens: Sequence[Token], tags: list[Tag], at: int) -> Tag:
    before = tags[at - 1] if at else Tag.MARK
    after = tags[at + 1] if at + 1 < len(tags) else Tag.MARK
    if after is Tag.PREP and tokens[at + 1].word == "of":
        return Tag.PRON
    if before is Tag.VERB or (at and light(tokens[at - 1].word) in _THAT_NOUNS):
        return Tag.SUB
    reported = Tag.VERB in tags[max(0, at - 6) : at] and before is not Tag.WORD
    if reported and after not in FINITE:
        return Tag.SUB
    if before in (Tag.WORD, Tag.NUM) and (after in FINITE or after in (Tag.DET, Tag.PRON)):
        return Tag.REL
    return Tag.DET
