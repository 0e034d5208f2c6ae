"""Readers in processes of their own: they answer in time, hold to their limits, and leave nothing behind."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from choir.commons.policy import SourcesPolicy
from choir.commons.sources.documents import read_document
from choir.commons.sources.model import (
    DocumentTooLarge,
    MediaType,
    ReadersBusy,
    ReadersStopped,
    ReadingTooLong,
    ReadText,
    UnreadableDocument,
)
from choir.commons.sources.reader import DocumentReader
from tests.commons.sources.making import of_lines

LIMITS = SourcesPolicy()
PAPER = of_lines([b"Hello", b"World"])
PAGE = b"<title>T</title><p>Hello"
ENDLESS = b"<b>" * 500_000 + b"</i>" * 500_000  # libxml2 looks through all open elements for each


@pytest.fixture
def reader() -> Iterator[DocumentReader]:
    made = DocumentReader(LIMITS)
    yield made
    made.close()


def children(pid: int) -> list[int]:
    return [
        int(each) for task in Path(f"/proc/{pid}/task").iterdir() for each in (task / "children").read_text().split()
    ]


def nurseries() -> list[int]:
    return [pid for pid in children(os.getpid()) if b"reading_process" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def in_background(work: Callable[[], ReadText]) -> Future[ReadText]:
    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(work)
    finally:
        pool.shutdown(wait=False)


def first_of(look: Callable[[], list[int]]) -> int:
    """A process that will be there; the test ends by its own limit if it never is."""
    pause = threading.Event()
    while not (found := look()):
        pause.wait(0.01)
    return found[0]


def running_reader() -> int:
    return first_of(lambda: children(first_of(nurseries)))


# --- what it gives ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PAPER, MediaType.PDF),
        (PAGE, MediaType.HTML),
        (b"# x\r\n", MediaType.MARKDOWN),
        ("Zwölf\n".encode() * 200_000, MediaType.TEXT),
        (b"<p>word</p>" * 100_000, MediaType.HTML),
    ],
)
def test_a_text_is_the_same_in_a_process_of_its_own(reader: DocumentReader, data: bytes, media_type: MediaType) -> None:
    assert reader.read(data, media_type) == read_document(data, media_type, LIMITS)


def test_refusals_come_back_as_they_were_made(reader: DocumentReader) -> None:
    with pytest.raises(UnreadableDocument, match="no text in it") as refusal:
        reader.read(b"<p hidden>x", MediaType.HTML)
    assert refusal.value.fields == {"why": "there is no text in it; scanned pages need a text layer first"}
    with pytest.raises(DocumentTooLarge, match="5000000 characters"):
        reader.read(b"<p>" + b"word " * 2_000_000, MediaType.HTML)
    with pytest.raises(DocumentTooLarge, match="20000001 bytes"):
        reader.read(b" " * 20_000_001, MediaType.TEXT)


def test_many_threads_read_at_once(reader: DocumentReader) -> None:
    pages = [b"<p>%d" % number for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda page: reader.read(page, MediaType.HTML).text, pages))
    assert found == [str(number) for number in range(40)]


# --- limits -------------------------------------------------------------------------------------------


@pytest.fixture
def narrow() -> Iterator[DocumentReader]:
    made = DocumentReader(SourcesPolicy(read_s_max=1, read_bytes_max=150_000_000, readers_max=1))
    yield made
    made.close()


def test_endless_work_is_ended(narrow: DocumentReader) -> None:
    with pytest.raises(ReadingTooLong, match="1 seconds"):
        narrow.read(ENDLESS, MediaType.HTML)
    assert narrow.read(PAGE, MediaType.HTML).text == "Hello"


def test_memory_is_bounded() -> None:
    attributes = b"<p " + b" ".join(b"a%d=1" % number for number in range(1_500_000)) + b">x</p>"
    policy = SourcesPolicy(read_s_max=60, read_bytes_max=150_000_000, readers_max=1)
    with closing(DocumentReader(policy)) as reader, pytest.raises(ReadingTooLong, match="150 MB of memory"):
        reader.read(attributes, MediaType.HTML)


def test_who_waits_too_long_for_a_reader_is_told(narrow: DocumentReader) -> None:
    together = threading.Barrier(6)

    def read() -> ReadText:
        together.wait()
        return narrow.read(ENDLESS, MediaType.HTML)

    ends = {type(each.exception()) for each in [in_background(read) for _ in range(6)]}
    assert ReadersBusy in ends
    assert ends <= {ReadersBusy, ReadingTooLong}


def test_a_reader_has_limits_and_no_environment() -> None:
    reader = DocumentReader(SourcesPolicy(read_s_max=600))
    waiting = in_background(lambda: reader.read(ENDLESS, MediaType.HTML))
    pid = running_reader()
    try:
        assert Path(f"/proc/{pid}/environ").read_bytes() == b""
        assert Path(f"/proc/{first_of(nurseries)}/environ").read_bytes() == b""
        first_of(lambda: [pid] if resource.prlimit(pid, resource.RLIMIT_FSIZE)[0] == 0 else [])
        assert resource.prlimit(pid, resource.RLIMIT_AS) == (600_000_000, 600_000_000)
        assert resource.prlimit(pid, resource.RLIMIT_CPU) == (601, 601)
        assert resource.prlimit(pid, resource.RLIMIT_CORE) == (0, 0)
        assert {link.name for link in Path(f"/proc/{pid}/fd").iterdir()} <= {"1", "2", "3", "4"}
    finally:
        reader.close()
    assert isinstance(waiting.exception(), ReadersStopped)


# --- breakdowns ---------------------------------------------------------------------------------------


def test_a_reader_that_dies_refuses_its_document_alone() -> None:
    reader = DocumentReader(SourcesPolicy(read_s_max=600))
    try:
        waiting = in_background(lambda: reader.read(ENDLESS, MediaType.HTML))
        os.kill(running_reader(), signal.SIGSEGV)
        assert isinstance(waiting.exception(), UnreadableDocument)
        assert reader.read(PAGE, MediaType.HTML).text == "Hello"
    finally:
        reader.close()


def test_the_process_that_readers_are_forked_from_may_be_killed(reader: DocumentReader) -> None:
    for _ in range(3):
        assert reader.read(PAGE, MediaType.HTML).text == "Hello"
        os.kill(first_of(nurseries), signal.SIGKILL)
    assert reader.read(PAGE, MediaType.HTML).text == "Hello"
    assert len(nurseries()) == 1


def test_a_reader_outlives_the_process_that_it_was_forked_from(reader: DocumentReader) -> None:
    big = b"<p>word</p>" * 300_000
    waiting = in_background(lambda: reader.read(big, MediaType.HTML))
    running_reader()
    os.kill(first_of(nurseries), signal.SIGKILL)
    assert len(waiting.result().text) == 300_000 * 6 - 2


def test_nothing_stays_behind(reader: DocumentReader) -> None:
    reader.read(PAGE, MediaType.HTML)
    before = descriptors()
    for _ in range(20):
        reader.read(PAGE, MediaType.HTML)
        with pytest.raises(UnreadableDocument):
            reader.read(b"%PDF-1.7", MediaType.PDF)
    assert descriptors() == before
    nursery = first_of(nurseries)
    first_of(lambda: [1] if not children(nursery) else [])
    reader.close()
    assert nurseries() == []
    with pytest.raises(ReadersStopped):
        reader.read(PAGE, MediaType.HTML)


def test_closing_ends_who_reads_and_can_be_done_twice() -> None:
    before = descriptors()
    reader = DocumentReader(SourcesPolicy(read_s_max=600))
    reader.close()
    reader.close()
    assert descriptors() == before


def test_when_the_server_is_killed_its_readers_end_too() -> None:
    program = (
        "from choir.commons.policy import SourcesPolicy\n"
        "from choir.commons.sources.reader import DocumentReader\n"
        "from choir.commons.sources.model import MediaType\n"
        "reader = DocumentReader(SourcesPolicy())\n"
        "reader.read(b'<p>x', MediaType.HTML)\n"
        "print('ready', flush=True)\n"
        "input()\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        nursery = os.pidfd_open(first_of(lambda: children(server.pid)))
        server.kill()
    select.select([nursery], [], [])  # until it has ended
    os.close(nursery)
