"""What coroutines that post can rely on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from choir.foundation.errors import Refusal
from choir.ledger.journal.submitter import AsyncSubmitter
from choir.ledger.model import Posted
from tests.ledger.books import ALICE, BOB, ISSUANCE, Books, moved


@pytest.fixture
def posting(books: Books) -> Iterator[AsyncSubmitter]:
    submitter = AsyncSubmitter(books.ledger.appender, books.submitter)
    yield submitter
    submitter.close()


def test_every_caller_gets_its_own_answer(books: Books, posting: AsyncSubmitter) -> None:
    books.fund(ALICE, 100)

    async def one(number: int) -> Posted | Refusal:
        try:
            amount = 1 if number % 4 else 10_000
            return (await posting.submit(moved(f"k{number}", ALICE, BOB, amount)))[0]
        except Refusal as refusal:
            return refusal

    async def all_of_them() -> list[Posted | Refusal]:
        return list(await asyncio.gather(*[one(number) for number in range(80)]))

    answers = asyncio.run(all_of_them())
    assert [isinstance(answer, Posted) for answer in answers] == [bool(number % 4) for number in range(80)]
    assert books.balance(BOB) == 60
    with books.tx() as tx:
        keys = [row[0] for row in tx.rows("select key from entries where source = 'test' order by seq")]
    assert [key for key in keys if key.startswith("k")] == [f"k{number}" for number in range(80) if number % 4]
    assert books.verify().good


def test_the_same_request_twice_at_once_has_one_effect(books: Books, posting: AsyncSubmitter) -> None:
    async def twice() -> list[list[Posted]]:
        request = moved("same", ISSUANCE, BOB, 5)
        return list(await asyncio.gather(posting.submit(request), posting.submit(request)))

    first, second = asyncio.run(twice())
    assert first[0].id == second[0].id
    assert sorted([first[0].again, second[0].again]) == [False, True]
    assert books.balance(BOB) == 5


def test_a_caller_that_gives_up_leaves_the_others_alone(books: Books, posting: AsyncSubmitter) -> None:
    async def some_give_up() -> list[Posted]:
        tasks = [asyncio.create_task(posting.submit(moved(f"k{number}", ISSUANCE, BOB, 1))) for number in range(20)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        return [answer[0] for answer in answers if isinstance(answer, list)]

    assert len(asyncio.run(some_give_up())) == 10
    again = [books.submitter.submit(moved(f"k{number}", ISSUANCE, BOB, 1))[0] for number in range(20)]
    assert len({posted.id for posted in again}) == 20
    assert books.balance(BOB) == 20
    assert books.verify().good


def test_who_gives_up_before_a_round_begins_is_not_kept(books: Books, posting: AsyncSubmitter) -> None:
    """A database that does not answer would let the line grow with those who are gone."""

    async def all_give_up() -> int:
        with books.tx() as tx:
            books.ledger.lock(tx)
            tasks = [asyncio.create_task(posting.submit(moved("first", ISSUANCE, BOB, 1)))]
            while not posting._busy or posting._queue:  # until a round waits for the lock
                await asyncio.sleep(0.01)
            tasks += [asyncio.create_task(posting.submit(moved(f"k{n}", ISSUANCE, BOB, 1))) for n in range(20)]
            while len(posting._queue) < 20:
                await asyncio.sleep(0.01)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            left = len(posting._queue)
        await posting.submit(moved("next", ISSUANCE, BOB, 1))
        return left

    assert asyncio.run(all_give_up()) == 0
    assert books.balance(BOB) == 2
