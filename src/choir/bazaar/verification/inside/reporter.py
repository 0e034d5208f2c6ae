"""Runs pytest in the tested process and reports each step over a pipe, sealed in a chain.

It shares its process with the tested code, so nothing it says is proof by itself. It makes lying laborious: what it
needs is taken before the tested code is loaded; the body of each test is watched from inside its own function; each
frame is sealed with the one before it. In a control run some tests, chosen by a salted hash, are made to fail after
their body; all tests then run as if the runner were not there.
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


def make_disguise() -> Any:
    """A function that takes the runner's marks out of sight and gives back one that puts them there again."""
    modules, environ, arguments = sys.modules, os.environ, sys.argv
    names = ("pytest", "_pytest")
    variables = ("PYTEST_CURRENT_TEST", "PYTEST_VERSION")

    def hide() -> Any:
        hidden_modules = {name: modules.pop(name) for name in names if name in modules}
        hidden_variables = {name: environ.pop(name) for name in variables if name in environ}
        own = ["app"]
        if sys.argv is arguments:  # a test that has put its own there keeps it
            sys.argv = own

        def show() -> None:
            modules.update(hidden_modules)
            environ.update(hidden_variables)
            if sys.argv is own:
                sys.argv = arguments

        return show

    return hide


def make_body(original: Any, node: str, send: Any, code: str, fails: bool, hide: Any) -> Any:
    """The test function with an eye inside: says that it ran, and fails in a control run if it was chosen."""
    import functools

    @functools.wraps(original)
    def body(*args: Any, **kwargs: Any) -> Any:
        show = hide()
        raised = True
        try:
            found = original(*args, **kwargs)
            raised = False
        finally:
            show()
            send(k="body", id=node, raised=raised, code=code)
        if fails:
            raise AssertionError("control")
        return found

    return body


def make_plugin(pytest: Any, send: Any, digest: Any, salt: bytes, fail: set[str], hide: Any) -> Any:
    """The hooks."""
    import hashlib
    import inspect

    def is_chosen(node: str) -> bool:
        return hashlib.sha256(salt + node.encode()).hexdigest() in fail

    def below(path: Any) -> str:
        text = os.path.realpath(str(path))
        return text[len(TREE) + 1 :] if text.startswith(TREE + "/") else ""

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
            watched = isinstance(item, pytest.Function) and not inspect.iscoroutinefunction(item.obj)
            original = item.obj if watched else None
            if watched:
                node = item.nodeid
                item.obj = make_body(original, node, send, digest(original), is_chosen(node), hide)
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


def main() -> int:
    config = json.loads(sys.stdin.buffer.read())
    sys.stdin.close()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = os.fdopen(0, "r", closefd=False)
    send = make_sender(int(sys.argv[1]), bytes.fromhex(config.pop("key")))
    sys.path[:1] = [SITE, TOOLS]  # in the place of this program's own folder
    import pytest
    from digests import digest_of  # type: ignore[import-not-found]
    from late import paths_of  # type: ignore[import-not-found]

    del sys.path[:2]
    first = [config["cwd"]] if config["as_module"] else []
    sys.path[:] = [*first, *config["path"], *sys.path, *paths_of(config.get("late", []), TREE), SITE]
    os.environ.update(config["environment"])  # not before: Python would look there for what to load at its start
    sys.argv = ["pytest", *config["arguments"]]
    salt, fail = bytes.fromhex(config["salt"]), set(config["fail"])
    hide = make_disguise() if config["disguised"] else lambda: lambda: None
    plugin = make_plugin(pytest, send, digest_of, salt, fail, hide)
    code = int(pytest.main([*config["arguments"], "-p", "no:cacheprovider"], plugins=[plugin]))
    send(k="end", exit_code=code)
    return code


if __name__ == "__main__":
    sys.exit(main())
