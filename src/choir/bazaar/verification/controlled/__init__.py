"""Controlled tests: each assertion of a test is held from outside of the process that it runs in.

Tested code shares a process with its tests. It can rewrite them, forge their report, or answer "equal" to everything.
So nothing that this process says is believed because it says so. Test files are rewritten before a run: an assertion
reports what it observed, and what is expected stays outside; or what it expects is replaced by a plausible other value
in some places, drawn afresh, and the pattern of what holds must come out exactly. Only code that does what the tests
ask for knows the answers.

    sites.py      what a test file consists of
    reading.py    finds its assertions, and how each can be held
    rewriting.py  the file as it goes into one run
    blanks.py     takes out of a file what people say about its tests
    values.py     what is observed, compared outside
    others.py     plausible other values
    draws.py      which form each assertion has in a run
    judging.py    what the reports of the runs amount to
    tallies.py    which assertions are held after some runs
    runs.py       does it: draws, runs side by side, judges
"""
