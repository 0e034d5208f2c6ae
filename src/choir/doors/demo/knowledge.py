"""The story's articles: written on sources, published, challenged, promoted, cited and paid for."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from choir.doors.articles.shapes import PublicationOut
from choir.doors.demo import files
from choir.doors.demo.stage import Agent, Stage, shown
from choir.foundation.clock import MICROSECONDS, parse_time
from choir.foundation.money import Asset

if TYPE_CHECKING:
    from choir.doors.citations.shapes import CitationOut

FIRST, SECOND = "coffee-book", "tide-table"
_SOURCES = {
    "hash-chains": "Notes on hash chains",
    "bookkeeping": "Notes on double-entry bookkeeping",
    "tides": "Notes on tides",
}
_POOL_USDC = "100"
_PAID_USDC = "10"  # what the second writer pays the treasury: half of it, and 2, may be triggered by citations
_MARGIN_S = 3_600
_OPEN, _IN_WINDOW, _PROMOTED = "open", "in_window", "promoted"


def write_first(stage: Stage) -> None:
    """An article on two sources is written, measured and published."""
    writer = stage.agent("a writer")
    stage.fund(writer, "200", Asset.CHIP)
    text = files.article(FIRST)
    _create(stage, writer, FIRST, files.bound(text, _pointers(stage, writer, text)))
    _publish(stage, writer, FIRST)


def challenge_first(stage: Stage) -> None:
    """A reader says that a number is wrong. The verifiers look, and it is not: that costs the reader."""
    reader = stage.agent("a reader")
    stage.fund(reader, "200", Asset.CHIP)
    synthesis = _version(stage, FIRST).synthesis
    atom = stage.record.once("challenged binding", lambda: _binding_with(stage, synthesis, "256 bits"))
    statement = "SHA-256 does not make 256 bits."
    key = stage.record.id_of("challenge")
    opened = stage.record.once(
        "challenge", lambda: reader.client.challenges.open(atom, "number", statement, key=key).id
    )
    found = stage.until(
        "the verifiers", lambda: item if (item := reader.client.challenges.get(opened)).state != _OPEN else None
    )
    stage.record.once("challenge state", lambda: found.state)
    stage.tell(f'a reader challenges the claim "SHA-256 makes a number of 256 bits": {found.state}')
    stage.tell("  the verifiers find the same number in the source; the reader loses a part of the stake")


def cite_and_pay(stage: Stage) -> None:
    """The first article is promoted; another writer's article cites it, and that pays the first writer."""
    _promoted(stage, FIRST)
    writer = stage.agent("another writer")
    stage.fund(writer, "200", Asset.CHIP)
    stage.fund(writer, _PAID_USDC, Asset.USDC)
    _draft_second(stage, writer)
    _buy_allowance(stage, writer)
    _publish(stage, writer, SECOND)
    _promoted(stage, SECOND)
    found = stage.until("the citation", lambda: _citation(stage))
    stage.record.once("citation", lambda: found.id)
    stage.record.once("citation amount", lambda: found.amount)
    stage.tell(f"the citation is {found.state}: {shown(found.amount, Asset.USDC)} out of the pool for a writer")


def let_it_vest(stage: Stage) -> None:
    """A month later the payment is the writer's, and the first stake is back."""
    writer = stage.agent("a writer")
    if "vested" not in stage.record.made:
        stage.pass_time(31 * 86_400, "the citation's payment vests over 30 days")
    amount = stage.record.made["citation amount"]
    stage.until("the vesting", lambda: writer.client.citations.earnings().citation.vested == amount)
    stage.record.once("vested", lambda: amount)
    for item in writer.client.citations.earnings().items:
        stage.tell(f"to a writer: {item.line}")


# Articles


def _pointers(stage: Stage, writer: Agent, text: str) -> dict[tuple[str, str], str]:
    """Where the words of an article's evidence stand in its sources, which are added first."""
    found = {}
    for name, words in files.quotes_of(text):
        if name in _SOURCES:
            hash_ = stage.record.once(f"source {name}", partial(_add, stage, writer, name))
            start = writer.client.sources.text(hash_).text.index(words)
            found[name, words] = f"{hash_}@{start}-{start + len(words)}"
    return found


def _add(stage: Stage, writer: Agent, name: str) -> str:
    made = writer.client.sources.add(files.source(name), title=_SOURCES[name], filename=f"{name}.txt")
    stage.tell(f"{writer.role} adds a source: {_SOURCES[name]}, {made.chars} characters")
    return made.hash


def _create(stage: Stage, writer: Agent, name: str, text: str) -> str:
    key = stage.record.id_of(f"article {name}")
    return stage.record.once(f"article {name}", lambda: writer.client.articles.create(text, key=key).id)


def _publish(stage: Stage, writer: Agent, name: str) -> None:
    """Ask what it would take, then publish."""
    article = stage.record.made[f"article {name}"]
    if f"published {name}" not in stage.record.made:
        quote = writer.client.articles.quote(article)
        told = f"{quote.words} words, {quote.verified} claims verified against their sources ({quote.needed} needed)"
        stage.tell(f'{writer.role} offers "{files.title_of(files.article(name))}": {told}')
        cost = f"stake {shown(quote.stake, Asset.CHIP)}, fee {shown(quote.fee, Asset.CHIP)}"
        stage.tell(f"novelty {quote.novelty.score} of 100; {cost}")
        stage.record.once(f"novelty {name}", lambda: quote.novelty.score)
    key = stage.record.id_of(f"publish {name}")
    stage.record.once(f"published {name}", lambda: writer.client.articles.publish(article, key=key).id)
    found = stage.until("the review", lambda: _reviewed(stage, name))
    stage.tell(f"published: {found.state.replace('_', ' ')}, anybody may challenge it until {found.window_until}")


def _version(stage: Stage, name: str) -> PublicationOut:
    return stage.operator.articles.versions(stage.record.made[f"article {name}"]).items[0]


def _reviewed(stage: Stage, name: str) -> PublicationOut | None:
    found = _version(stage, name)
    return found if found.window_until else None


def _promoted(stage: Stage, name: str) -> None:
    """Let its window pass."""
    found = _version(stage, name)
    if found.state != _PROMOTED:
        assert found.window_until is not None
        stage.pass_until(parse_time(found.window_until), "the window for challenges ends")
        stage.until("the promotion", lambda: _version(stage, name).state == _PROMOTED)
    stage.tell(f'"{files.title_of(files.article(name))}" is promoted')


def _binding_with(stage: Stage, synthesis: str, words: str) -> str:
    """The binding of an article's version whose claim has these words."""
    atoms = stage.operator.atoms
    for edge in atoms.get(synthesis).rests_on:
        if edge.kind == "BINDING" and words in atoms.get(atoms.get(edge.hash).content["claim"]).content["text"]:
            return edge.hash
    raise AssertionError("the article has this claim")


# The citation


def _draft_second(stage: Stage, writer: Agent) -> None:
    """A draft on a source of its own, and on words of the first article."""
    text = files.article(SECOND)
    pointers = _pointers(stage, writer, text)
    article = _create(stage, writer, SECOND, files.bound(text, pointers))
    if "cited words" in stage.record.made and f"published {SECOND}" in stage.record.made:
        return
    [words] = [words for name, words in files.quotes_of(text) if name == FIRST]
    stage.record.once("cited words", lambda: _cite(stage, writer, article, files.bound(text, pointers), words))
    pointers[FIRST, words] = stage.record.made["cited words"]
    writer.client.articles.save(article, files.bound(text, pointers))
    stage.tell(f'another writer rests a claim on it: "{words}"')


def _cite(stage: Stage, writer: Agent, article: str, text: str, words: str) -> str:
    """The pointer to words of the first article. What the node adds to the draft is moved to where it belongs."""
    writer.client.articles.save(article, text)
    cited = stage.record.made[f"article {FIRST}"]
    return writer.client.citations.cite_article(article, cited, claim=words.rstrip("."), quote=words).pointer


def _buy_allowance(stage: Stage, writer: Agent) -> None:
    """What a writer's citations may pay out is bounded by what they paid in, in the same month."""
    if "allowance" not in stage.record.made:
        quote = writer.client.articles.quote(stage.record.made[f"article {SECOND}"])
        now = datetime.fromisoformat(stage.operator.node().now)
        first = (now.replace(day=1) + timedelta(days=32)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        if now + timedelta(seconds=quote.window_s + _MARGIN_S) >= first:
            stage.pass_until(int(first.timestamp()) * MICROSECONDS, "a month begins")
    pool, pay = stage.record.id_of("pool"), stage.record.id_of("pay")
    stage.record.once(
        "pool",
        lambda: stage.operator.treasury.fund(Asset.USDC.parse(_POOL_USDC), reason="the demo", key=pool).model_dump(),
    )
    stage.record.once("allowance", lambda: writer.client.treasury.pay(Asset.USDC.parse(_PAID_USDC), key=pay).id)
    allowed = writer.client.citations.earnings().allowance.total
    stage.tell(f"the citation pool is given ${_POOL_USDC}; another writer pays the treasury ${_PAID_USDC}")
    stage.tell(f"  so their citations may pay out {shown(allowed, Asset.USDC)} this month")


def _citation(stage: Stage) -> CitationOut | None:
    cited = stage.record.made[f"article {FIRST}"]
    return next(iter(stage.operator.citations.of_article(cited, limit=1)), None)
