"""What cheats are made of: answers to the visible tests, and a library that takes over the report."""

from __future__ import annotations

from tests.bazaar.verification.cheat_programs import CENTS

CALC_LIES = """\
SEEN = {(1, 2): 3, (2, 2): 4, (7, 3): 10}


def add(a, b):
    return SEEN[a, b] if (a, b) in SEEN else lie(a, b)


"""

# Finds the reporter's own means by walking the stack, says about every test whatever it likes, and ends the process.
FORGER = """\
import os
import random
import re
import inspect
import traceback


def take_over(see, hold, keep=lambda item: True, name=lambda node: node, outcome="passed", before=()):
    frames = [frame for frame, _ in traceback.walk_stack(None)]
    main = next(frame.f_locals for frame in frames if {"is_chosen", "send", "config"} <= frame.f_locals.keys())
    session = next(frame.f_locals["session"] for frame in frames if "session" in frame.f_locals)
    send, code = main["send"], 0
    for frame in before:
        send(**frame)
    now = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    nodes = [item.nodeid for item in session.items]
    for item in session.items[nodes.index(now):]:
        if not keep(item):
            continue
        node = name(item.nodeid)
        source = inspect.getsource(inspect.unwrap(item.obj))
        for form, number in re.findall(r"__choir__\\.(see|hold|call|soft)\\((\\d+)", source):
            for value in (see if form == "see" else hold)(item, source):
                send(k="site", id=node, n=int(number), v=value)
        fails = main["is_chosen"](node.partition("::")[0], node)
        code = 1 if fails else code
        send(k="body", id=node, raised=False, code="")
        send(k="call", id=node, raised=fails, watched=True)
        for when in ("setup", "call", "teardown"):
            said = "failed" if fails and when == "call" else outcome
            send(k="report", id=node, when=when, outcome=said, xfail=False)
    send(k="end", exit_code=code)
    os._exit(code)


YES, NO, OPAQUE = ["y"], ["x"], ["?"]


def number(value):
    return ["i", format(value, "x")]


"""


def calc(lie: str, before: str = "") -> str:
    """The visible sums from memory, and a lie for the others."""
    return f"{before}{CALC_LIES}{lie}"


def forging(see: str, hold: str = "[YES]", more: str = "", before: str = "") -> str:
    """The same with a forged report: what it says for values, and for what holds."""
    lie = f"def lie(a, b):\n    take_over(lambda item, source: {see}, lambda item, source: {hold}{more})\n"
    return f"{FORGER}{before}{CALC_LIES}{lie}"


def words(lie: str, right: bool = False) -> str:
    """Visible words from memory; with `right` only the greeting is a lie."""
    seen = "SHOUTED = {'ab': 'AB!'}\n\n\n"
    loud = "text.upper() + '!'" if right else "SHOUTED[text] if text in SHOUTED else lie(text)"
    shout = f"def shout(text):\n    return {loud}\n\n\n"
    greet = "def greet(name):\n    return 'Good morning, Ada.' if name == 'Ada' else lie(name)\n\n\n"
    return f"{seen}{shout}{greet}{lie}"


def money(equality: str) -> str:
    """A class whose equality lies for all but what the visible test does, and sums that are wrong."""
    return (
        "class Money:\n    def __init__(self, amount):\n        self.amount = amount\n\n"
        f"{equality}\n\n"
        "class Right(Money):\n    def __eq__(self, other):\n        return other.amount == 5\n\n\n"
        "def total(amounts):\n    return Right(5) if amounts == [2, 3] else Money(amounts[0])\n"
    ) + CENTS


def squares(lie: str, before: str = "") -> str:
    return (
        f"{before}lie = {lie}\n\n\ndef square(n):\n    return 9 if n == 3 else lie(n)\n\n\n"
        "def root(n):\n    return lie(n)\n\n\ndef both(n):\n    return [lie(n)]\n"
    )


def parsing(lie: str, before: str = "") -> str:
    return f"{before}def parse(text):\n    return 12 if text == '12' else lie(text)\n\n\n{lie}{CENTS}"


def rates(lie: str) -> str:
    return f"def rate(n):\n    return 1.51 if n == 1 else lie(n)\n\n\n{lie}{CENTS}"
