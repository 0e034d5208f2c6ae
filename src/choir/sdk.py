"""The Python SDK.

from choir.sdk import Client

with Client() as choir:
    choir.open_account("person:ada/available/CREDIT")
    print(choir.balance("person:ada/available/CREDIT").balance)
"""

from choir.doors.sdk.client import Client, NoNode
from choir.foundation.errors import ChoirError
from choir.foundation.money import Asset

__all__ = ["Asset", "ChoirError", "Client", "NoNode"]
