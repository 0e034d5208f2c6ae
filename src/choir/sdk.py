"""The Python SDK.

from choir.sdk import Client

with Client() as choir:
    choir.open_account("person:ada/available/CREDIT")
    print(choir.balance("person:ada/available/CREDIT").balance)

`AsyncClient` has the same methods, to be awaited.
"""

from choir.doors.sdk.auth import NostrKey
from choir.doors.sdk.calls import new_key
from choir.doors.sdk.client import AsyncClient, Client, NoNode
from choir.doors.sdk.events import Event
from choir.foundation.errors import ChoirError
from choir.foundation.money import Asset

__all__ = ["Asset", "AsyncClient", "ChoirError", "Client", "Event", "NoNode", "NostrKey", "new_key"]
