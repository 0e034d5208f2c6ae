"""`choir send`: to whom, how much, once, and what is said."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.doors.townsfolk import Neighbour, neighbour, public_node
from tests.operations.nodes import NodeUnderTest

Env = dict[str, str]


@pytest.fixture(scope="module")
def town() -> Iterator[NodeUnderTest]:
    with public_node() as node:
        yield node


@pytest.fixture(scope="module")
def ada(town: NodeUnderTest) -> Iterator[Neighbour]:
    with neighbour(town, "ada") as person:
        yield person


@pytest.fixture(scope="module")
def bob(town: NodeUnderTest) -> Iterator[Neighbour]:
    with neighbour(town, "bob") as person:
        yield person


@pytest.fixture
def buys(ada: Neighbour) -> Env:
    return {"CHOIR_TOKEN": ada.token("read", "buy")}


def held(person: Neighbour) -> int:
    found = person.http.get("/balance", params={"account": f"{person.owner}/available/SAT"})
    return int(found.json()["balance"])


def test_it_arrives_and_says_what_is_left(town: NodeUnderTest, ada: Neighbour, bob: Neighbour, buys: Env) -> None:
    before = held(bob)
    sent = town.run("send", "@bob", "12.5", "SAT", "--memo", "thanks", "--yes", env=buys)
    assert sent.code == 0, sent.err
    assert sent.out.startswith(f"Sent 12.500 SAT to @bob. {held(ada) / 1000:.3f} SAT are left.\n  entry  entry_")
    assert held(bob) == before + 12_500
    told = town.run("send", "bob", "1", "--yes", "--json", env=buys).json  # satoshi, if nothing else is said
    assert (told["asset"], told["amount"], told["left"]) == ("SAT", "1000", str(held(ada)))


def test_one_key_moves_it_once(town: NodeUnderTest, bob: Neighbour, buys: Env) -> None:
    before = held(bob)
    order = ("send", "@bob", "2", "SAT", "--yes", "--key", "rent")
    assert town.run(*order, env=buys).code == 0
    again = town.run(*order, env=buys)
    assert again.out.startswith("Sent 2.000 SAT to @bob before with this key; nothing moved now.")
    assert held(bob) == before + 2000
    other = town.run("send", "@bob", "3", "SAT", "--yes", "--key", "rent", env=buys)
    assert (other.code, held(bob)) == (1, before + 2000)


def test_nobody_sends_without_a_yes(town: NodeUnderTest, bob: Neighbour, buys: Env) -> None:
    before = held(bob)
    asked = town.run("send", "@bob", "2", env=buys)
    assert (asked.code, held(bob)) == (1, before)
    assert "Add --yes" in asked.err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("@nobody-here", "1"), 1, "nobody-here"),
        (("@bob", "-1"), 2, ""),
        (("@bob", "0"), 2, "zero"),
        (("@bob", "1.00001"), 2, "decimals"),
        (("@bob", "1", "GOLD"), 2, "GOLD"),
        (("@bob", "1", "CREDIT"), 1, "never moves between people"),
        (("@bob", "99999999"), 1, "were requested"),
        (("@ada", "1"), 1, "it is the sender"),
        (("../me", "1"), 1, "not a valid name"),
        (("agent:none", "1"), 1, "agent"),
    ],
)
def test_what_cannot_be_sent_is_refused_in_words(
    town: NodeUnderTest, ada: Neighbour, bob: Neighbour, buys: Env, words: tuple[str, ...], code: int, told: str
) -> None:
    before = held(ada), held(bob)
    refused = town.run("send", *words, "--yes", env=buys)
    assert refused.code == code, refused.err
    assert told in refused.err
    assert (held(ada), held(bob)) == before


def test_it_takes_the_scope_buy(town: NodeUnderTest, ada: Neighbour, bob: Neighbour) -> None:
    assert bob.owner
    refused = town.run("send", "@bob", "1", "--yes", env={"CHOIR_TOKEN": ada.token("read")})
    assert refused.code == 4
    assert "'buy'" in refused.err
    blind = town.run("send", "@bob", "1", "--yes", "--json", env={"CHOIR_TOKEN": ada.token("buy")})
    assert (blind.code, blind.json["left"]) == (0, None)


def test_an_agent_sends_within_its_cap(town: NodeUnderTest, ada: Neighbour, bob: Neighbour) -> None:
    assert bob.owner
    delegation = ada.delegation(ada.agent(), "read", "buy", caps=[{"asset": "SAT", "period": "day", "cap": "3000"}])
    acts = {"CHOIR_TOKEN": ada.token("read", "buy", delegation=delegation)}
    refused = town.run("send", "@bob", "4", "--yes", env=acts)
    assert refused.code == 1
    assert refused.err
