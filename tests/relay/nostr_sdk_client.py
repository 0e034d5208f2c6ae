"""A client on nostr-sdk, run by an interpreter that has it: publishes, asks, follows."""
# mypy: ignore-errors
# ruff: noqa: T201

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from datetime import timedelta

from nostr_sdk import (
    ClientBuilder,
    EventBuilder,
    Filter,
    Keys,
    Kind,
    RelayUrl,
    ReqTarget,
    Tag,
    uniffi_set_event_loop,
)

WAIT = timedelta(seconds=30)


async def connected(url: RelayUrl):
    client = ClientBuilder().build()
    await client.add_relay(url)
    await client.connect(and_wait=WAIT)
    return client


async def main() -> None:
    uniffi_set_event_loop(asyncio.get_running_loop())
    url, keys, topic = RelayUrl.parse(os.environ["RELAY"]), Keys.generate(), secrets.token_hex(8)
    writer, reader = await connected(url), await connected(url)

    def made(kind: int, content: str):
        return EventBuilder(Kind(kind), content).tags([Tag.parse(["t", topic])]).finalize(keys)

    first = made(5932, 'Grüße, "Welt"\n')
    sent = await writer.send_event(first)
    assert len(sent.success) == 1, sent.failed
    print("published")
    wanted = ReqTarget.auto([Filter().hashtag(topic)])
    found = await reader.fetch_events(wanted, timeout=WAIT)
    assert [event.id().to_hex() for event in found] == [first.id().to_hex()]
    print("found")
    news = reader.notifications()
    await reader.subscribe(ReqTarget.auto([Filter().hashtag(topic)]))
    second = made(7000, "processing")
    await writer.send_event(second)
    async with asyncio.timeout(30):
        while True:
            told = await news.next()
            if told.is_new_event() and told.event.id().to_hex() == second.id().to_hex():
                break
    print("live")
    sys.stdout.flush()
    os._exit(0)  # its threads would be waited for


asyncio.run(main())
