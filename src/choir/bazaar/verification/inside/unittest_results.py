"""Runs unittest as its command line does, and reports each test as the pytest plugin does."""

from __future__ import annotations

import inspect
import os
import sys
import unittest
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass
class Tools:
    """What reporting takes."""

    send: Any
    digest: Any
    is_chosen: Any
    observer: Any
    make_body: Any
    below: Any


def tests_of(suite: Any) -> Iterator[Any]:
    """Every test of a suite, in order."""
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from tests_of(item)
        else:
            yield item


def source_of(name: str, below: Any) -> str:
    """The file of a module that could not be loaded, by its name and the path."""
    module = name.rsplit("_FailedTest.", 1)[-1].replace(".", "/")
    places = [f"{folder}/{module}.py" for folder in sys.path]
    return str(next((below(place) for place in places if os.access(place, os.R_OK)), f"{module}.py"))


def run(arguments: list[str], tools: Tools) -> int:
    """As `python3 -m unittest` with these arguments; its exit code."""

    def method_of(test: Any) -> Any:
        return getattr(test, getattr(test, "_testMethodName", ""), None)

    def file_of(test: Any) -> str:
        try:
            return str(tools.below(inspect.getfile(type(test))))
        except (TypeError, OSError):
            return ""

    def node_of(test: Any) -> str:
        return f"{file_of(test)}::{type(test).__qualname__}::{getattr(test, '_testMethodName', test.id())}"

    class Result(unittest.TextTestResult):
        def startTest(self, test: Any) -> None:
            super().startTest(test)
            node, original = node_of(test), method_of(test)
            tools.observer.node = node
            watched = original is not None
            self.failed, self.skips, self.watched = False, False, watched
            if watched:
                chosen = tools.is_chosen(file_of(test), node)
                body = tools.make_body(original, node, tools.send, tools.digest(original), chosen)
                setattr(test, test._testMethodName, body)

        def stopTest(self, test: Any) -> None:
            node = node_of(test)
            tools.send(k="call", id=node, raised=self.failed, watched=self.watched and not self.skips)
            outcome = "failed" if self.failed else "skipped" if self.skips else "passed"
            for when in ("setup", "call", "teardown"):
                tools.send(k="report", id=node, when=when, outcome=outcome, xfail=False)
            super().stopTest(test)

        def addError(self, test: Any, err: Any) -> None:
            self.failed = True
            super().addError(test, err)

        def addFailure(self, test: Any, err: Any) -> None:
            self.failed = True
            super().addFailure(test, err)

        def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
            self.failed = self.failed or err is not None
            super().addSubTest(test, subtest, err)

        def addSkip(self, test: Any, reason: str) -> None:
            self.skips = True
            super().addSkip(test, reason)

        def addExpectedFailure(self, test: Any, err: Any) -> None:
            self.skips = True
            super().addExpectedFailure(test, err)

        def addUnexpectedSuccess(self, test: Any) -> None:
            self.failed = True
            super().addUnexpectedSuccess(test)

    class Runner(unittest.TextTestRunner):
        def run(self, test: Any) -> Any:
            found = list(tests_of(test))
            good = [item for item in found if not type(item).__name__.startswith("_Failed")]
            for item in found:
                if item not in good:
                    tools.send(k="not_collected", id=source_of(item.id(), tools.below), outcome="failed")
            folders = sorted({tools.below(item) for item in sys.path if item} - {""})
            tools.send(k="facts", root="", path=folders, plugins=[])
            items = [[node_of(item), True, file_of(item), tools.digest(method_of(item))] for item in good]
            tools.send(k="collected", items=items)
            return super().run(test)

    runner: Any = Runner(resultclass=Result)  # type: ignore[arg-type]
    program = unittest.main(module=None, argv=["python3 -m unittest", *arguments], testRunner=runner, exit=False)
    return 0 if program.result.wasSuccessful() else 1
