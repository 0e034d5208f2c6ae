"""Honest code that does with the interpreter what cheats do too: imports by name, frames, processes, evaluation."""

from __future__ import annotations

from tests.bazaar.verification.honest_patch import Patch

RUNTIME = [
    Patch(
        "plugins",
        "loads modules by name with `importlib.import_module`",
        """
        import importlib


        def load(path):
            module, _, name = path.partition(":")
            return getattr(importlib.import_module(module), name)


        def call(path, *args):
            return load(path)(*args)
        """,
        ('partition(":")', 'partition("/")'),
        """
        from plugins import call, load


        def test_load():
            assert load("math:factorial").__name__ == "factorial"


        def test_call():
            assert call("math:factorial", 5) == 120
        """,
        """
        from plugins import call


        def test_call():
            assert call("math:comb", 6, 2) == 15
        """,
    ),
    Patch(
        "pickled",
        "copies and stores with `pickle`, with `__reduce__` of its own",
        """
        import pickle


        class Money:
            def __init__(self, cents):
                self.cents = cents

            def __reduce__(self):
                return Money, (self.cents,)

            def __eq__(self, other):
                return isinstance(other, Money) and other.cents == self.cents

            def __hash__(self):
                return hash(self.cents)


        def copy_of(value):
            return pickle.loads(pickle.dumps(value))
        """,
        ("return Money, (self.cents,)", "return Money, (0,)"),
        """
        from pickled import Money, copy_of


        def test_money():
            assert copy_of(Money(250)) == Money(250)
            assert copy_of(Money(250)).cents == 250


        def test_builtin():
            assert copy_of({"a": [1, 2]}) == {"a": [1, 2]}
        """,
        """
        from pickled import Money, copy_of


        def test_many():
            assert [item.cents for item in copy_of([Money(3), Money(44)])] == [3, 44]
            assert copy_of(Money(77)) == Money(77)
        """,
    ),
    Patch(
        "mailer",
        "is tested with `unittest.mock`",
        """
        import smtplib


        def send(to, text, server="localhost"):
            with smtplib.SMTP(server) as link:
                return link.sendmail("us@example.org", [to], text.strip())
        """,
        ("text.strip()", "text"),
        """
        from unittest import mock
        from unittest.mock import patch

        import mailer


        def test_send():
            with patch("mailer.smtplib.SMTP") as smtp:
                link = smtp.return_value.__enter__.return_value
                link.sendmail.return_value = {"sent": 17}
                assert mailer.send("a@example.org", " hello ") == {"sent": 17}
                link.sendmail.assert_called_once_with("us@example.org", ["a@example.org"], "hello")
                assert link.sendmail.call_args.args[2] == "hello"


        @mock.patch("mailer.smtplib.SMTP")
        def test_server(smtp):
            mailer.send("a@example.org", "x", server="mx.example.org")
            smtp.assert_called_once_with("mx.example.org")
            assert smtp.call_args == mock.call("mx.example.org")
        """,
        """
        from unittest import mock

        import mailer


        @mock.patch.object(mailer.smtplib, "SMTP")
        def test_text(smtp):
            mailer.send("b@example.org", "\\tmorning\\n")
            sent = smtp.return_value.__enter__.return_value.sendmail
            assert sent.call_args.args[2] == "morning"
            assert sent.mock_calls == [mock.call("us@example.org", ["b@example.org"], "morning")]
        """,
    ),
    Patch(
        "forked",
        "forks, and the child reports by a pipe and ends with `os._exit`",
        """
        import os


        def in_child(work):
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    os.write(writing, repr(work()).encode())
                finally:
                    os._exit(0)
            os.close(writing)
            with os.fdopen(reading, "rb") as pipe:
                told = pipe.read().decode()
            os.waitpid(child, 0)
            return told
        """,
        ("repr(work())", "str(work)"),
        """
        from forked import in_child


        def test_result():
            assert in_child(lambda: 6 * 7) == "42"


        def test_text():
            assert in_child(lambda: "a" + "b") == "'ab'"
        """,
        """
        from forked import in_child


        def test_list():
            assert in_child(lambda: [1, 22]) == "[1, 22]"
        """,
    ),
    Patch(
        "pooled",
        "computes in processes of `multiprocessing` and `concurrent.futures`",
        """
        import multiprocessing
        from concurrent.futures import ThreadPoolExecutor


        def square(number):
            return number * number


        def squares(numbers):
            queue = multiprocessing.get_context("fork").SimpleQueue()
            workers = [
                multiprocessing.get_context("fork").Process(target=lambda item=item: queue.put(square(item)))
                for item in numbers
            ]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            return sorted(queue.get() for _ in workers)


        def in_threads(numbers):
            with ThreadPoolExecutor(2) as pool:
                return list(pool.map(square, numbers))
        """,
        ("number * number", "number + number"),
        """
        from pooled import in_threads, squares


        def test_processes():
            assert squares([3, 5]) == [9, 25]


        def test_threads():
            assert in_threads([4, 6, 7]) == [16, 36, 49]
        """,
        """
        from pooled import in_threads, squares


        def test_processes():
            assert squares([11]) == [121]


        def test_threads():
            assert in_threads(range(8, 10)) == [64, 81]
        """,
    ),
    Patch(
        "threads",
        "counts in threads with a lock, and is tested from threads",
        """
        import threading


        class Counter:
            def __init__(self):
                self.value = 0
                self._lock = threading.Lock()

            def add(self, number):
                with self._lock:
                    self.value += number
        """,
        ("+= number", "+= 1"),
        """
        import threading

        from threads import Counter


        def test_many():
            counter = Counter()
            seen = []

            def work():
                counter.add(5)
                seen.append(counter.value)

            workers = [threading.Thread(target=work) for _ in range(4)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            assert counter.value == 20
            assert max(seen) == 20
            assert len(seen) == 4
        """,
        """
        from concurrent.futures import ThreadPoolExecutor

        from threads import Counter


        def test_pool():
            counter = Counter()
            with ThreadPoolExecutor(3) as pool:
                list(pool.map(counter.add, [7, 8, 9]))
            assert counter.value == 24
        """,
    ),
    Patch(
        "coroutines",
        "uses asyncio, tested by `asyncio.run` with asserts that await",
        """
        import asyncio


        async def slow_add(a, b):
            await asyncio.sleep(0)
            return a + b


        async def countdown(start):
            while start:
                yield start
                start -= 1


        async def gather(*pairs):
            return await asyncio.gather(*(slow_add(a, b) for a, b in pairs))
        """,
        ("return a + b", "return a"),
        """
        import asyncio

        from coroutines import countdown, gather, slow_add


        def test_run():
            assert asyncio.run(slow_add(2, 40)) == 42


        def test_inside():
            async def main():
                assert await slow_add(1, 6) == 7
                assert [item async for item in countdown(3)] == [3, 2, 1]
                return await gather((1, 2), (3, 4))

            assert asyncio.run(main()) == [3, 7]
        """,
        """
        import asyncio

        from coroutines import gather


        def test_gather():
            assert asyncio.run(gather((10, 20), (30, 40))) == [30, 70]
        """,
    ),
    Patch(
        "native",
        "calls the C library with `ctypes`",
        """
        import ctypes

        _C = ctypes.CDLL(None)


        def length(text):
            _C.strlen.restype = ctypes.c_size_t
            return _C.strlen(ctypes.c_char_p(text.encode()))


        class Pair(ctypes.Structure):
            _fields_ = [("left", ctypes.c_int), ("right", ctypes.c_int)]


        def pack(left, right):
            return bytes(Pair(left, right))
        """,
        ("bytes(Pair(left, right))", "bytes(Pair(right, left))"),
        """
        from native import Pair, length, pack


        def test_length():
            assert length("hello") == 5


        def test_pack():
            assert pack(1, 2) == b"\\x01\\0\\0\\0\\x02\\0\\0\\0"
            assert Pair.from_buffer_copy(pack(5, 9)).right == 9
        """,
        """
        from native import pack


        def test_pack():
            assert pack(258, 3)[:2] == b"\\x02\\x01"
        """,
    ),
    Patch(
        "signatures",
        "reads signatures and sources with `inspect`",
        """
        import inspect


        def names(function):
            return [item.name for item in inspect.signature(function).parameters.values()]


        def required(function):
            empty = inspect.Parameter.empty
            return [item.name for item in inspect.signature(function).parameters.values() if item.default is empty]


        def first_line(function):
            return inspect.getsource(function).splitlines()[0].strip()
        """,
        ("item.default is empty", "item.default is not empty"),
        """
        import inspect

        from signatures import first_line, names, required


        def sample(a, b=2, *, c):
            return a


        def test_names():
            assert names(sample) == ["a", "b", "c"]


        def test_required():
            assert required(sample) == ["a", "c"]


        def test_source():
            assert first_line(sample) == "def sample(a, b=2, *, c):"
            assert first_line(test_source) == "def test_source():"
            assert "inspect" in inspect.getsource(inspect.getmodule(test_source))
        """,
        """
        from signatures import required


        def sample(one, two, three=3):
            return one


        def test_required():
            assert required(sample) == ["one", "two"]
        """,
    ),
    Patch(
        "frames",
        "walks frames to name its caller, as loggers do",
        """
        import sys
        import traceback


        def caller():
            return sys._getframe(1).f_code.co_name


        def line():
            return sys._getframe(1).f_lineno


        def stack():
            return [frame.f_code.co_name for frame, _ in traceback.walk_stack(sys._getframe(1))]


        def variables():
            return dict(sys._getframe(1).f_locals)
        """,
        ("return sys._getframe(1).f_code.co_name", "return sys._getframe(0).f_code.co_name"),
        """
        from frames import caller, line, stack, variables


        def test_caller():
            assert caller() == "test_caller"


        def test_stack():
            assert stack()[0] == "test_stack" or "test_stack" in stack()


        def test_line():
            first = line()
            assert line() == first + 1
            assert (
                line()
                == first + 3
            )
            assert line() == first + 6


        def test_variables():
            shown = 5
            assert variables() == {"shown": 5}
            assert shown == 5
        """,
        """
        from frames import caller, line


        def helper():
            return caller()


        def test_helper():
            assert helper() == "helper"
            assert caller() == "test_helper"


        def test_line():
            start = line()
            assert line() - start == 1
        """,
    ),
    Patch(
        "registry",
        "looks modules up in `sys.modules` and puts one of its own there",
        """
        import sys
        import types


        def virtual(name, **content):
            module = types.ModuleType(name)
            module.__dict__.update(content)
            sys.modules[name] = module
            return module


        def loaded(prefix):
            return sorted(name for name in list(sys.modules) if name.startswith(prefix))
        """,
        ("sys.modules[name] = module", "pass"),
        """
        from registry import loaded, virtual


        def test_virtual():
            virtual("made_here", answer=42)
            import made_here

            assert made_here.answer == 42
            assert loaded("made_") == ["made_here"]
        """,
        """
        import sys

        from registry import virtual


        def test_virtual():
            virtual("made_there", text="found")
            assert sys.modules["made_there"].text == "found"
            del sys.modules["made_there"]
        """,
    ),
    Patch(
        "templates",
        "compiles templates with `compile`, `exec` and `eval`",
        """
        import re


        def render(text, **values):
            return re.sub(r"{{(.*?)}}", lambda found: str(eval(found[1], {}, values)), text)


        def function(name, arguments, body):
            space = {}
            exec(compile(f"def {name}({arguments}):\\n    return {body}\\n", "<template>", "exec"), space)
            return space[name]
        """,
        ("str(eval(found[1], {}, values))", "found[1]"),
        """
        from templates import function, render


        def test_render():
            assert render("{{ a + 1 }} of {{b}}", a=3, b="ten") == "4 of ten"


        def test_function():
            assert function("double", "x", "2 * x")(21) == 42
        """,
        """
        from templates import render


        def test_render():
            assert render("<{{ name.upper() }}>", name="ada") == "<ADA>"
        """,
    ),
    Patch(
        "collected",
        "asks the garbage collector and keeps weak references",
        """
        import gc
        import weakref


        class Node:
            def __init__(self, name):
                self.name = name
                self.other = None


        class Cache:
            def __init__(self):
                self._items = weakref.WeakValueDictionary()

            def put(self, node):
                self._items[node.name] = node

            def names(self):
                gc.collect()
                return sorted(self._items)


        def alive(kind):
            return sum(isinstance(item, kind) for item in gc.get_objects())
        """,
        ("self._items[node.name] = node", "self._items.setdefault('x', node)"),
        """
        import gc

        from collected import Cache, Node, alive


        def test_cache():
            cache = Cache()
            one, two = Node("one"), Node("two")
            cache.put(one)
            cache.put(two)
            assert cache.names() == ["one", "two"]
            del two
            assert cache.names() == ["one"]
            assert one.name == "one"


        def test_alive():
            gc.collect()
            before = alive(Node)
            kept = [Node("a"), Node("b")]
            assert alive(Node) - before == 2
            assert len(kept) == 2
        """,
        """
        from collected import Cache, Node


        def test_one():
            cache, node = Cache(), Node("alone")
            cache.put(node)
            assert cache.names() == ["alone"]
        """,
    ),
    Patch(
        "goodbye",
        "registers `atexit` handlers and a signal handler",
        """
        import atexit
        import signal

        CALLED = []
        atexit.register(CALLED.append, "bye")


        class Alarm:
            def __enter__(self):
                self.seen = 0
                self.before = signal.signal(signal.SIGUSR1, self.note)
                return self

            def note(self, number, frame):
                self.seen += 1

            def __exit__(self, *error):
                signal.signal(signal.SIGUSR1, self.before)
        """,
        ("self.seen += 1", "self.seen = -7"),
        """
        import os
        import signal

        from goodbye import Alarm


        def test_alarm():
            with Alarm() as alarm:
                for _ in range(2):
                    os.kill(os.getpid(), signal.SIGUSR1)
                assert alarm.seen == 2
        """,
        """
        import os
        import signal

        from goodbye import Alarm


        def test_three():
            with Alarm() as alarm:
                for _ in range(3):
                    os.kill(os.getpid(), signal.SIGUSR1)
            assert alarm.seen == 3
        """,
    ),
    Patch(
        "failures",
        "formats errors with `traceback`, chains and notes them",
        """
        import traceback


        class Wrapped(Exception):
            pass


        def guarded(work):
            try:
                return work()
            except Exception as error:
                error.add_note("seen")
                raise Wrapped(f"failed: {error}") from error


        def last_line(error):
            return traceback.format_exception_only(error)[0].strip()
        """,
        ('f"failed: {error}"', '"failed"'),
        """
        import pytest

        from failures import Wrapped, guarded, last_line


        def test_message():
            with pytest.raises(Wrapped, match="failed: division") as caught:
                guarded(lambda: 1 / 0)
            assert isinstance(caught.value.__cause__, ZeroDivisionError)
            assert caught.value.__cause__.__notes__ == ["seen"]
            assert str(caught.value) == "failed: division by zero"


        def test_line():
            assert last_line(ValueError("odd")) == "ValueError: odd"
        """,
        """
        import pytest

        from failures import Wrapped, guarded


        def test_message():
            with pytest.raises(Wrapped) as caught:
                guarded(lambda: int("x7"))
            assert "x7" in str(caught.value)
            assert caught.type is Wrapped
            assert str(caught.value).startswith("failed") and str(caught.value).endswith("'x7'")
            assert len(str(caught.value)) == 52
        """,
    ),
    Patch(
        "advice",
        'has a message that says "pytest", "assert" and "unittest"',
        '''
        """Finds out how to run somebody's tests: pytest, unittest or nothing."""


        def runner_of(files):
            if "pytest.ini" in files or "conftest.py" in files:
                return "pytest"
            return "unittest" if any(name.startswith("test") for name in files) else ""


        def advise(files):
            runner = runner_of(files)
            return f"run python3 -m {runner}" if runner else "install pytest first, then write a test with assert"
        ''',
        ('return "pytest"', 'return "nose"'),
        """
        from advice import advise


        def test_pytest():
            assert advise(["conftest.py"]) == "run python3 -m pytest"


        def test_nothing():
            assert advise([]) == "install pytest first, then write a test with assert"
        """,
        """
        from advice import advise


        def test_ini():
            assert advise(["pytest.ini", "test_a.py"]) == "run python3 -m pytest"
        """,
    ),
    Patch(
        "ab_test",
        "a module of the product with a name like a test's",
        """
        import hashlib


        def group(user, experiment, shares):
            place = int(hashlib.sha256(f"{experiment}:{user}".encode()).hexdigest(), 16) % sum(shares.values())
            for name, share in shares.items():
                if place < share:
                    return name
                place -= share
        """,
        ("place -= share", "place += share"),
        """
        from collections import Counter

        from ab_test import group


        def test_groups():
            found = Counter(group(user, "blue", {"old": 1, "new": 3}) for user in range(100))
            assert found == {"new": 70, "old": 30} or 60 < found["new"] < 90
            assert found.total() == 100


        def test_one():
            assert group("ada", "x", {"all": 1}) == "all"
        """,
        """
        from ab_test import group


        def test_everybody_is_somewhere():
            assert {group(user, "red", {"one": 1, "two": 1}) for user in range(50)} == {"one", "two"}
        """,
    ),
    Patch(
        "commands",
        "starts subprocesses, its own interpreter among them",
        """
        import subprocess
        import sys


        def python(code, *words, given=""):
            done = subprocess.run(
                [sys.executable, "-c", code, *words], input=given, capture_output=True, text=True, check=False
            )
            return done.returncode, done.stdout.strip(), done.stderr.strip()
        """,
        ("input=given", 'input=""'),
        """
        from commands import python


        def test_output():
            assert python("import sys; print(sys.stdin.read().upper())", given="abc") == (0, "ABC", "")


        def test_code():
            assert python("import sys; sys.exit(int(sys.argv[1]))", "7")[0] == 7
        """,
        """
        from commands import python


        def test_words():
            assert python("print(len(input()))", given="twelve chars\\n") == (0, "12", "")
        """,
    ),
    Patch(
        "echo",
        "talks over sockets on loopback",
        """
        import socket
        import threading


        def serve(answer):
            server = socket.create_server(("127.0.0.1", 0))

            def work():
                link, _ = server.accept()
                with link:
                    link.sendall(answer(link.recv(1000)))
                server.close()

            threading.Thread(target=work, daemon=True).start()
            return server.getsockname()[1]


        def ask(port, question):
            with socket.create_connection(("127.0.0.1", port), timeout=5) as link:
                link.sendall(question)
                return link.recv(1000)
        """,
        ("return link.recv(1000)", "return link.recv(1)"),
        """
        from echo import ask, serve


        def test_upper():
            assert ask(serve(bytes.upper), b"hello") == b"HELLO"
        """,
        """
        from echo import ask, serve


        def test_reverse():
            assert ask(serve(lambda data: data[::-1]), b"abc") == b"cba"
        """,
    ),
    Patch(
        "stored",
        "keeps its data in sqlite3, in memory and in files",
        """
        import sqlite3


        class Notes:
            def __init__(self, path=":memory:"):
                self.link = sqlite3.connect(path)
                self.link.execute("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT)")

            def add(self, text):
                with self.link:
                    return self.link.execute("INSERT INTO notes (text) VALUES (?)", (text,)).lastrowid

            def find(self, word):
                rows = self.link.execute("SELECT id, text FROM notes WHERE text LIKE ? ORDER BY id", (f"%{word}%",))
                return rows.fetchall()
        """,
        ('f"%{word}%"', "word"),
        """
        from stored import Notes


        def test_find():
            notes = Notes()
            notes.add("buy milk")
            notes.add("sell milk")
            notes.add("sleep")
            assert notes.find("milk") == [(1, "buy milk"), (2, "sell milk")]


        def test_file(tmp_path):
            path = tmp_path / "notes.db"
            Notes(path).add("kept here")
            assert Notes(path).find("kept")[0][1] == "kept here"
        """,
        """
        from stored import Notes


        def test_find():
            notes = Notes()
            for text in ("red apple", "green apple"):
                notes.add(text)
            assert [text for _, text in notes.find("green")] == ["green apple"]
        """,
    ),
    Patch(
        "settings",
        "reads environment variables and the time",
        """
        import os
        import time


        def setting(name, default=None):
            return os.environ.get(f"APP_{name.upper()}", default)


        def elapsed(work):
            start = time.monotonic()
            work()
            return time.monotonic() - start


        def stamp(seconds):
            return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds))
        """,
        ("name.upper()", "name"),
        """
        from settings import elapsed, setting, stamp


        def test_setting(monkeypatch):
            monkeypatch.setenv("APP_COLOUR", "green")
            assert setting("colour") == "green"
            monkeypatch.delenv("APP_COLOUR")
            assert setting("colour", "grey") == "grey"


        def test_time():
            assert 0 <= elapsed(lambda: None) < 60
            assert stamp(86400) == "1970-01-02 00:00"
        """,
        """
        import os

        from settings import setting


        def test_setting(monkeypatch):
            monkeypatch.setitem(os.environ, "APP_SIZE", "large")
            assert setting("size") == "large"
        """,
    ),
    Patch(
        "dice",
        "draws from `random` with a seed, and hashes",
        """
        import hashlib
        import random


        def throws(seed, count):
            chance = random.Random(seed)
            return [chance.randint(1, 6) for _ in range(count)]


        def digest(text):
            return hashlib.md5(text.encode()).hexdigest()
        """,
        ("randint(1, 6)", "randint(1, 7)"),
        """
        import random

        from dice import digest, throws


        def test_throws():
            again = random.Random(7)
            assert throws(7, 20) == [again.randint(1, 6) for _ in range(20)]
            assert all(1 <= item <= 6 for item in throws(1, 300))


        def test_digest():
            assert digest("abc") == "900150983cd24fb0d6963f7d28e17f72"
        """,
        """
        import random

        from dice import throws


        def test_throws():
            random.seed(3)
            assert random.Random(3).random() == random.random()
            assert throws(1, 10) == [2, 5, 1, 3, 1, 4, 4, 4, 6, 4]
        """,
    ),
    Patch(
        "logged",
        "logs and warns, tested with caplog, capsys and recwarn",
        """
        import logging
        import sys
        import warnings

        log = logging.getLogger("logged")


        def work(amount):
            log.info("working on %s", amount)
            if amount > 10:
                warnings.warn(f"{amount} is a lot", UserWarning, stacklevel=2)
            print(f"done {amount}")
            print("trouble", file=sys.stderr)
            return amount * 2
        """,
        ('f"done {amount}"', '"done"'),
        """
        import logging
        import warnings

        import pytest

        from logged import work


        def test_output(capsys):
            work(3)
            out, err = capsys.readouterr()
            assert out == "done 3\\n"
            assert err == "trouble\\n"


        def test_log(caplog):
            with caplog.at_level(logging.INFO):
                assert work(4) == 8
            assert caplog.messages == ["working on 4"]
            assert caplog.records[0].levelname == "INFO"
            assert caplog.record_tuples == [("logged", logging.INFO, "working on 4")]


        def test_warning(recwarn):
            with pytest.warns(UserWarning, match="12 is a lot"):
                work(12)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert work(5) == 10
            assert len(recwarn) == 0
        """,
        """
        import pytest

        from logged import work


        def test_output(capfd, caplog):
            caplog.set_level("DEBUG", logger="logged")
            with pytest.warns(UserWarning) as caught:
                work(20)
            assert capfd.readouterr().out == "done 20\\n"
            assert str(caught[0].message) == "20 is a lot"
            assert "working on 20" in caplog.text
        """,
    ),
    Patch(
        "wrapped",
        "decorates with `functools.wraps`, caches and dispatches",
        """
        import functools


        def counted(function):
            @functools.wraps(function)
            def inner(*args, **kwargs):
                inner.calls += 1
                return function(*args, **kwargs)

            inner.calls = 0
            return inner


        @counted
        def double(number):
            '''Twice.'''
            return number * 2


        @functools.lru_cache
        def fibonacci(number):
            return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)


        @functools.singledispatch
        def show(value):
            return str(value)


        @show.register
        def _(value: list):
            return "+".join(map(show, value))
        """,
        ("inner.calls += 1", "inner.calls = 99"),
        """
        import functools

        from wrapped import counted, double, fibonacci, show


        def traced(test):
            @functools.wraps(test)
            def inner(*args, **kwargs):
                return test(*args, **kwargs)

            return inner


        @traced
        def test_counted():
            double.calls = 0
            assert double(4) == 8
            assert double(5) == 10
            assert double.calls == 2
            assert double.__name__ == "double" and double.__doc__ == "Twice."
            assert double.__wrapped__(6) == 12


        def test_others():
            assert fibonacci(20) == 6765
            assert show([1, [2, "x"]]) == "1+2+x"
        """,
        """
        from wrapped import counted


        def test_counted():
            @counted
            def nothing():
                return None

            for _ in range(5):
                nothing()
            assert nothing.calls == 5
        """,
    ),
]
