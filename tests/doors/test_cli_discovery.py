"""Novelty, citations, earnings and search on the command line, for people and for programs.

One node with a clock that the tests move and the numbers of a real one: what is not new is refused here. This machine's
own agent writes; a person with a token cites it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from choir.treasury.accounts import OPERATIONS
from tests.commons.desk import TEXT
from tests.doors.http.reading_room import PROSE, SAID, text_of
from tests.doors.townsfolk import neighbour, public_node
from tests.operations.nodes import Done, NodeUnderTest, until

DAY_S = 86_400
CHIP = USDC = 1_000_000
NO_ARTICLE = "article_" + "0" * 26
NO_CITATION = "citation_" + "0" * 26
_numbers = itertools.count()


@pytest.fixture(scope="module")
def press() -> Iterator[NodeUnderTest]:
    quick = {"CHOIR_POLICY__COMMONS__LOOK_EVERY_S": "1", "CHOIR_POLICY__TREASURY__LOOK_EVERY_S": "1"}
    with public_node(**quick) as node:
        begin_a_month(node)  # what was spent counts in its month, and the tests take three weeks of it
        assert node.run("--operator", "treasury", "fund", "100", "--reason", "a test").code == 0
        yield node


@pytest.fixture(scope="module")
def rival(press: NodeUnderTest) -> dict[str, str]:
    """Somebody else, who spent $100 for good, so that their citations pay."""
    with neighbour(press, "rival") as person, press.client() as operator:
        operator.fund(f"{person.owner}/available/CHIP", 2_000 * CHIP)
        operator.fund(f"{person.owner}/available/USDC", 100 * USDC)
        operator.transfer(f"{person.owner}/available/USDC", OPERATIONS, 100 * USDC, reason="a test")
        return {"CHOIR_TOKEN": person.token("read", "research", "publish", days=360)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("press")


def draft(node: NodeUnderTest, folder: Path, prose: str, title: str, env: dict[str, str] | None = None) -> str:
    """A new article of its own document."""
    n = next(_numbers)
    whole = f"{TEXT}\n\nThis is copy number {n} of the survey."
    survey, file = folder / f"survey{n}.txt", folder / f"article{n}.md"
    survey.write_text(whole)
    source = read(node, "source", "add", str(survey), "--title", "A survey", env=env)["hash"]
    file.write_text(text_of(source, whole, title, prose))
    return str(read(node, "article", "new", str(file), "--topic", "tides", env=env)["id"])


@pytest.fixture(scope="module")
def promoted(press: NodeUnderTest, folder: Path) -> str:
    """An article of this machine's agent that is citable and found."""
    article = draft(press, folder, PROSE[0], "The horns of Skarv")
    return publish(press, article)


@pytest.fixture(scope="module")
def citing(press: NodeUnderTest, rival: dict[str, str], folder: Path, promoted: str) -> str:
    """The rival's article, which cites it."""
    article = draft(press, folder, PROSE[1], "The jar in the cellar", rival)
    read(press, "cite", "add", promoted, "--in", article, "--claim", SAID.rstrip("."), "--quote", SAID, env=rival)
    publish(press, article, rival)
    until(lambda: read(press, "cite", "ls", promoted))
    return article


def publish(node: NodeUnderTest, article: str, env: dict[str, str] | None = None) -> str:
    read(node, "publish", article, "--yes", env=env)
    assert node.run("clock", "--advance", str(4 * DAY_S), "--yes").code == 0
    until(lambda: article in [item["article"] for item in read(node, "search", "bridges", env=env)["results"]])
    return article


def begin_a_month(node: NodeUnderTest) -> None:
    """Move the clock to the first day of the next month."""
    now = datetime.now(UTC)
    first = (now.replace(day=1) + timedelta(days=32)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    assert node.run("clock", "--advance", str(int((first - now).total_seconds()) + 1), "--yes").code == 0


def read(node: NodeUnderTest, *command: str, env: dict[str, str] | None = None) -> Any:
    done = node.run(*command, "--json", env=env)
    assert done.code == 0, done.err
    return done.json


def say(node: NodeUnderTest, *command: str, env: dict[str, str] | None = None) -> str:
    done = node.run(*command, env=env)
    assert done.code == 0, done.err
    return done.out


def no(node: NodeUnderTest, code: int, *command: str, env: dict[str, str] | None = None) -> Done:
    """Refused with this exit code, in words and as JSON, and without a word on standard output."""
    plain, shown = node.run(*command, env=env), node.run(*command, "--json", env=env)
    assert (plain.code, shown.code) == (code, code), (plain, shown)
    assert (plain.out, shown.out) == ("", "")
    assert "Traceback" not in plain.err
    assert set(json.loads(shown.err)) == {"error"}
    return plain


# Novelty


def test_a_draft_is_measured_before_anything_is_staked(press: NodeUnderTest, folder: Path, promoted: str) -> None:
    article = draft(press, folder, PROSE[2], "The bell at the bend")
    found = read(press, "novelty", "quote", article)
    assert found["score"] > 0
    told = say(press, "novelty", "quote", article, "--draft", "1")
    assert told.startswith(f"Novelty {found['score']} of 100\n  {found['reasons'][0]}\n")
    assert f"  second measure {found['second_score']}, {found['words']} words, " in told
    assert "\nNearest\n  0." in told
    assert "CHIP when promoted; it vests from then on.\n" in told
    quoted = say(press, "publish", article, "--quote")
    assert f"  novelty   {found['score']} of 100; " in quoted
    assert f"            {found['reasons'][0]}\n" in quoted
    assert f"  nearest   {found['nearest'][0]['distance_ppm'] / 1_000_000:.3f}  " in quoted
    assert read(press, "publish", article, "--quote")["novelty"] == found


def test_what_is_not_new_is_not_published(
    press: NodeUnderTest, rival: dict[str, str], folder: Path, promoted: str
) -> None:
    copy = draft(press, folder, PROSE[0], "The horns of Skarv, again", rival)
    measured = press.run("novelty", "quote", copy, env=rival)
    told = measured.out
    assert (measured.code, told.startswith("Novelty 0 of 100\n")) == (1, True)
    assert f"  article  The horns of Skarv  {promoted}\n" in told
    assert told.endswith("It cannot be published: too little of it is new, or can be told to be.\n")
    asked = press.run("publish", copy, "--quote", env=rival)
    assert (asked.code, "would NOT pass its review" in asked.out, "  problem   " in asked.out) == (1, True, True)
    assert press.run("publish", copy, "--yes", env=rival).code == 1
    assert read(press, "article", "show", copy, env=rival)["state"] == "draft"


def test_the_score_of_a_version_is_there_for_everybody(
    press: NodeUnderTest, rival: dict[str, str], promoted: str
) -> None:
    until(lambda: read(press, "novelty", "show", promoted)["granted"] is not None)
    told = say(press, "novelty", "show", promoted, "--version", "1", env=rival)
    found = read(press, "novelty", "show", promoted, env=rival)
    assert told.startswith(f"Version 1, submission {found['position']}.\nNovelty {found['score']} of 100\n")
    assert f"({found['why']}; counts for {found['month']}).\n" in told


def test_what_cannot_be_measured(press: NodeUnderTest, rival: dict[str, str], folder: Path, promoted: str) -> None:
    private = draft(press, folder, PROSE[2], "Private")
    no(press, 1, "novelty", "quote", private, env=rival)
    no(press, 1, "novelty", "show", private, env=rival)
    no(press, 1, "novelty", "show", private)
    no(press, 4, "novelty", "quote", promoted, env=rival)
    no(press, 1, "novelty", "quote", private, "--draft", "9")
    no(press, 2, "novelty", "quote", private, "--draft", "0")
    no(press, 1, "novelty", "show", promoted, "--version", "9")
    no(press, 1, "novelty", "quote", NO_ARTICLE)
    no(press, 1, "novelty", "quote", "article_x")
    no(press, 2, "novelty", "quote")


# Citations


def test_a_citation_is_added_listed_and_shown(
    press: NodeUnderTest, rival: dict[str, str], folder: Path, promoted: str, citing: str
) -> None:
    [found] = read(press, "cite", "ls", promoted, env=rival)
    assert (found["citing"], found["cited"], found["state"]) == (citing, promoted, "paid")
    listed = say(press, "cite", "ls", promoted)
    assert [word in listed for word in (found["id"], "100 %", "paid")] == [True, True, True]
    assert read(press, "cite", "show", found["id"]) == found
    told = say(press, "cite", "show", found["id"])
    assert told.startswith(f"{found['id']}  paid\n  citing        {citing}\n  cited         {promoted}\n")
    assert "  independence  100 %\n" in told
    assert press.run("cite", "ls", citing).err == "No promoted article cites it yet.\n"
    mine = draft(press, folder, PROSE[2], "Mine", rival)
    added = press.run("cite", "add", promoted, "--in", mine, "--claim", "They tuned them", "--quote", SAID, env=rival)
    assert added.out.startswith(f"Draft 2 of {mine} has the claim c4.\n  c4 supports sha256:")
    assert added.err.endswith(f"See what publishing it takes: choir publish {mine} --quote\n")


def test_what_cannot_be_cited(press: NodeUnderTest, rival: dict[str, str], folder: Path, promoted: str) -> None:
    mine = draft(press, folder, PROSE[2], "Mine", rival)
    words = ("--claim", "They tuned them", "--quote", SAID)
    assert "does not say these words" in no(
        press, 1, "cite", "add", promoted, "--in", mine, "--claim", "x", "--quote", "Never said.", env=rival
    ).err  # fmt: skip
    assert "cannot cite itself" in no(press, 1, "cite", "add", mine, "--in", mine, *words, env=rival).err
    no(press, 1, "cite", "add", promoted, "--in", mine, *words)  # somebody else's draft
    no(press, 4, "cite", "add", promoted, "--in", promoted, *words, env=rival)
    no(press, 1, "cite", "add", NO_ARTICLE, "--in", mine, *words, env=rival)
    no(press, 2, "cite", "add", promoted, "--in", mine, *words, "--relation", "adores", env=rival)
    no(press, 2, "cite", "add", promoted, "--in", mine, env=rival)
    no(press, 1, "cite", "show", NO_CITATION)
    no(press, 1, "cite", "show", promoted)
    no(press, 1, "cite", "ls", mine)
    no(press, 2, "cite", "ls", promoted, "--limit", "0")


def test_earnings(press: NodeUnderTest, rival: dict[str, str], promoted: str, citing: str) -> None:
    [mine] = [item for item in read(press, "earnings")["items"] if item["article"] == promoted]
    assert mine["line"].startswith("You wrote 'The horns of Skarv'; 1 article cited it; you earned $")
    told = say(press, "earnings")
    grants = read(press, "earnings", "--statement")
    assert {item["kind"] for item in grants} >= {"citation"}
    assert "citation" in say(press, "earnings", "--statement")
    assert mine["line"] in told.splitlines()
    assert [line.split()[0] for line in told.splitlines()[-3:]] == ["Citations", "Novelty", "Allowance"]
    used = read(press, "earnings", env=rival)["allowance"]
    assert (used["spent"], int(used["used"]) > 0) == (str(100 * USDC), True)
    assert press.run("clock", "--advance", str(31 * DAY_S), "--yes").code == 0
    until(lambda: read(press, "earnings")["citation"]["vested"] == mine["citation_amount"])
    with neighbour(press, "newcomer") as person:
        env = {"CHOIR_TOKEN": person.token("read", days=360)}
    nothing = press.run("earnings", env=env)
    assert nothing.err == "You have published nothing yet. Begin with: choir article new FILE\n"
    assert "Allowance  $0.000000 of $0.000000 triggered by your citations in " in nothing.out


# Search


def test_search_and_why(press: NodeUnderTest, promoted: str) -> None:
    plain = press.run("search", "horns", "of", "Skarv")
    assert plain.out.startswith(f" 1. The horns of Skarv\n    {promoted}  ")
    assert plain.err == "Add --why to see why each stands where it stands.\n"
    told = say(press, "search", "horns of Skarv", "--why", "--limit", "1")
    assert "  relevance: 1st by words" in told
    assert "  in all, of 10000\n" in told
    assert "recency" not in told
    assert "recency: promoted" in say(press, "search", "horns", "--why", "--new")
    found = read(press, "search", "horns", "--topic", "tides", "--any-age")
    assert (found["results"][0]["article"], found["recency"]) == (promoted, False)
    nothing = press.run("search", "horns", "--topic", "it's")
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err.startswith("Nothing was found among promoted articles.")


def test_queries_that_are_none(press: NodeUnderTest) -> None:
    no(press, 2, "search")
    no(press, 1, "search", " ")
    no(press, 1, "search", "x" * 501)
    no(press, 2, "search", "x", "--limit", "0")
    no(press, 2, "search", "x", "--limit", "501")
    no(press, 1, "search", "x", "--topic", "t" * 101)
    assert press.run("search", "--", "-x & | ! ' \" ( :*").code == 0


def test_the_feed(press: NodeUnderTest, promoted: str, citing: str) -> None:
    told = say(press, "feed", "--topic", "tides")
    assert told.startswith("New\n  20")
    assert f"  {promoted}  The horns of Skarv\n" in told
    assert f"  {promoted}  The horns of Skarv  1 independent citation\n" in told.partition("Much cited\n")[2]
    assert [item["article"] for item in read(press, "feed")["cited"]] == [promoted]
    assert say(press, "feed", "--topic", 'a"b') == "New\n  none yet\nMuch cited\n  none yet\n"
