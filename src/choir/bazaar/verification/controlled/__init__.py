"""Controlled tests: each assertion of a test is held from outside of the process that it runs in.

Tested code shares a process with its tests. It can rewrite them, forge their report, or answer "equal" to everything.
So nothing that this process says is believed because it says so. Test files are rewritten before a run: an assertion
reports what it observed, and what is expected stays outside; or what it expects is replaced by a plausible other value
in some places, drawn afresh, and the pattern of what holds must come out exactly. Only code that does what the tests
ask for knows the answers.

    sites.py      what a test file consists of
    reading.py    finds its assertions, and how each can be held
    blanks.py     takes comments and docstrings out, which may name what is expected
    rewriting.py  the file as it goes into one run
    values.py     what is observed, compared outside
    others.py     plausible other values
    draws.py      which form each assertion has in a run
    judging.py    what the report of one run amounts to
    tallies.py    which assertions are held after some runs
    javascript.py the same for JavaScript, whose files are read in a sandbox
    runs.py       does it: draws, runs, judges
"""
