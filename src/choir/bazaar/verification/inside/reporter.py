"""Runs pytest or unittest in the tested process and reports each step over a pipe, sealed in a chain.

It shares its process with the tested code, so nothing it says is proof by itself. It makes lying laborious: what it
needs is taken before the tested code is loaded; the body of each test is watched from inside its own function; each
frame is sealed with the one before it. In a control run the rewritten assertions report to its observer, and some
tests, chosen by a salted hash, are made to fail after their body.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

TOOLS = "/opt/choir"
SITE = f"{TOOLS}/site"
TREE = "/work/tree"


def make_sender(fd: int, key: bytes) -> Any:
    """A function that seals and writes one frame. All it uses is bound now."""
    import hashlib
    import hmac

    write, dumps, new, digest = os.write, json.dumps, hmac.new, hashlib.sha256
    state = {"last": b""}

    def send(**frame: Any) -> None:
        text = dumps(frame).encode()
        state["last"] = new(key, state["last"] + text, digest).hexdigest().encode()
        line = state["last"] + b" " + text + b"\n"
        while line:
            line = line[write(fd, line) :]

    return send


def make_body(original: Any, node: str, send: Any, code: str, fails: bool) -> Any:
    """The test function with an eye inside: says that it ran, and fails in a control run if it was chosen."""
    import functools
    import inspect

    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def waiting(*args: Any, **kwargs: Any) -> Any:
            raised = True
            try:
                found = await original(*args, **kwargs)
                raised = False
            finally:
                send(k="body", id=node, raised=raised, code=code)
            if fails:
                raise AssertionError("control")
            return found

        return waiting

    @functools.wraps(original)
    def body(*args: Any, **kwargs: Any) -> Any:
        raised = True
        try:
            found = original(*args, **kwargs)
            raised = False
        finally:
            send(k="body", id=node, raised=raised, code=code)
        if fails:
            raise AssertionError("control")
        return found

    return body


def below(path: Any) -> str:
    """A path as it stands in the tree."""
    text = os.path.realpath(str(path))
    return text[len(TREE) + 1 :] if text.startswith(TREE + "/") else ""


def make_choice(salt: bytes, fail: set[str]) -> Any:
    """Whether a test was chosen to fail, by its file and name."""
    import hashlib

    digest = hashlib.sha256

    def is_chosen(file: str, node: str) -> bool:
        name = f"{file}::{node.partition('::')[2].partition('[')[0]}"
        return digest(salt + name.encode(errors="surrogateescape")).hexdigest() in fail

    return is_chosen


def make_plugin(pytest: Any, send: Any, digest: Any, is_chosen: Any, observer: Any) -> Any:
    """The hooks."""
    import inspect
    import unittest

    def describe(item: Any) -> list[Any]:
        is_function = isinstance(item, pytest.Function)
        return [item.nodeid, is_function, below(item.path), digest(item.obj) if is_function else ""]

    class Recorder:
        def pytest_collectreport(self, report: Any) -> None:
            if report.outcome != "passed":
                send(k="not_collected", id=report.nodeid, outcome=report.outcome)

        def pytest_collection_finish(self, session: Any) -> None:
            plugins = [getattr(item, "__file__", None) for item in session.config.pluginmanager.get_plugins()]
            send(
                k="facts",
                root=below(session.config.rootpath),
                path=sorted({below(item) for item in sys.path if item.startswith(TREE)}),
                plugins=sorted({below(item) for item in plugins if item} - {""}),
            )
            send(k="collected", items=[describe(item) for item in session.items])

        @pytest.hookimpl(wrapper=True, tryfirst=True)  # type: ignore[untyped-decorator]
        def pytest_runtest_call(self, item: Any) -> Any:
            waits = inspect.iscoroutinefunction(getattr(item, "obj", None))
            in_case = waits and isinstance(getattr(item, "instance", None), unittest.TestCase)
            watched = isinstance(item, pytest.Function) and (in_case or not waits)
            original = item.obj if watched else None
            observer.node = item.nodeid
            if watched:
                node = item.nodeid
                item.obj = make_body(original, node, send, digest(original), is_chosen(below(item.path), node))
            if in_case:  # there the method is looked up by its name
                setattr(item.instance, item.obj.__name__, item.obj)
            raised = True
            try:
                found = yield
                raised = False
                return found
            finally:
                if watched:
                    item.obj = original
                send(k="call", id=item.nodeid, raised=raised, watched=watched)

        def pytest_runtest_logreport(self, report: Any) -> None:
            xfail = hasattr(report, "wasxfail")
            send(k="report", id=report.nodeid, when=report.when, outcome=report.outcome, xfail=xfail)

    return Recorder()


def run_pytest(config: Any, send: Any, is_chosen: Any) -> int:
    import builtins

    import pytest
    from digests import digest_of  # type: ignore[import-not-found]
    from observer import Observer  # type: ignore[import-not-found]

    observer = builtins.__choir__ = Observer(send, (pytest.skip.Exception, pytest.xfail.Exception))  # type: ignore[attr-defined]
    prepare(config)
    sys.argv = ["pytest", *config["arguments"]]
    plugin = make_plugin(pytest, send, digest_of, is_chosen, observer)
    return int(pytest.main([*config["arguments"], "-p", "no:cacheprovider"], plugins=[plugin]))


def run_unittest(config: Any, send: Any, is_chosen: Any) -> int:
    import builtins
    import unittest

    import unittest_results  # type: ignore[import-not-found]
    from digests import digest_of
    from observer import Observer

    observer = builtins.__choir__ = Observer(send, (unittest.SkipTest,))  # type: ignore[attr-defined]
    prepare(config)
    sys.argv = ["python3 -m unittest", *config["arguments"]]
    tools = unittest_results.Tools(send, digest_of, is_chosen, observer, make_body, below)
    return int(unittest_results.run(config["arguments"], tools))


def prepare(config: Any) -> None:
    """The path and the environment as the buyer's command has them. Python would look there at its start."""
    from late import paths_of  # type: ignore[import-not-found]

    del sys.path[:2]
    first = [config["cwd"]] if config["as_module"] else []
    sys.path[:] = [*first, *config["path"], *sys.path, *paths_of(config["late"], TREE), SITE]
    os.environ.update(config["environment"])


def main() -> int:
    config = json.loads(sys.stdin.buffer.read())
    sys.stdin.close()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = os.fdopen(0, "r", closefd=False)
    send = make_sender(int(sys.argv[1]), bytes.fromhex(config.pop("key")))
    sys.path[:1] = [SITE, TOOLS]  # in the place of this program's own folder
    is_chosen = make_choice(bytes.fromhex(config["salt"]), set(config["fail"]))
    run = run_pytest if config["runner"] == "pytest" else run_unittest
    code = run(config, send, is_chosen)
    send(k="end", exit_code=code)
    return code


if __name__ == "__main__":
    sys.exit(main())
