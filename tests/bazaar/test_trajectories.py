"""Trajectories: what is written is read again, and each way of tampering has its own refusal."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import WorkersPolicy
from choir.bazaar.trajectories import reader as trajectories
from choir.bazaar.trajectories.lines import (
    End,
    Said,
    Start,
    Thought,
    ToolUse,
    Voice,
    escape,
    read_line,
    unescape,
    whole,
)
from choir.bazaar.trajectories.reader import ExpectedTrajectory, SignedTrajectory
from choir.bazaar.trajectories.writer import WITHHELD, TrajectoryWriter
from choir.foundation.canonical import bytes_hash
from choir.foundation.clock import ManualClock
from choir.foundation.errors import ChoirError
from choir.identity.keys.nostr_keys import checked_secret, npub
from tests.depth import times as many

POLICY = WorkersPolicy()
KEY = checked_secret(b"\x07" * 32)
OTHER_KEY = checked_secret(b"\x08" * 32)
PUBLIC = trajectories.provider_of(KEY)
JOB = "job_01hf00000000000000000000aa"
BASE = "ab" * 20
AT = 1_800_000_000_000_000

texts = st.text(st.characters()) | st.text('\\n\r\t"→[] =ts sig\x00\x1b\u202e\u2028\ufeff\udc80\udcffé')
times = st.integers(0, 4_000_000_000_000_000)


def written(policy: WorkersPolicy = POLICY, kind: JobType = JobType.PATCH_GEN) -> bytes:
    file = io.BytesIO()
    clock = ManualClock(AT)
    head = trajectories.header(JOB, PUBLIC, kind, BASE, AT)
    writer = TrajectoryWriter(file, head, clock, policy)
    clock.advance(1)
    writer.user('Fix the "login" button')
    clock.advance(1)
    writer.thought("Which handler?")
    clock.advance(1)
    writer.tool("Bash", "grep onClick → src", "3 matches\nin 2 files")
    clock.advance(1)
    writer.tool("Edit", "src/button.py", "patched")
    clock.advance(1)
    writer.answer("Done.")
    name = writer.end('attached the "handler"', 5000, 1200)
    assert name == bytes_hash(file.getvalue())
    return file.getvalue()


DATA = written()
EXPECTED = ExpectedTrajectory(JOB, PUBLIC, JobType.PATCH_GEN, BASE, AT, AT + 10_000_000)


def rewrite(old: str, new: str, count: int = 1) -> Callable[[bytes], bytes]:
    assert old.encode() in DATA
    return lambda data: data.replace(old.encode(), new.encode(), count)


def without(pattern: str) -> Callable[[bytes], bytes]:
    return lambda data: re.sub(pattern.encode(), b"", data, count=1, flags=re.MULTILINE)


def swapped(data: bytes) -> bytes:
    rows = data.split(b"\n")
    rows[-4], rows[-5] = rows[-5], rows[-4]
    return b"\n".join(rows)


def test_what_was_written_is_read_and_checked() -> None:
    found = trajectories.check(DATA, EXPECTED, trajectories.sign(DATA, KEY), POLICY)
    assert found.header.job_type == "PatchGen"
    assert [type(line).__name__ for line in found.lines] == [
        "Start",
        "Said",
        "Thought",
        "ToolUse",
        "ToolUse",
        "Said",
        "End",
    ]
    tool = found.lines[3]
    assert isinstance(tool, ToolUse)
    assert (tool.argument, tool.result) == ("grep onClick → src", "3 matches\nin 2 files")
    assert (found.end.summary, found.end.tokens_in, found.end.lines) == ('attached the "handler"', 5000, 7)


def test_it_looks_as_people_expect() -> None:
    rows = DATA.decode().split("\n")
    assert rows[:3] == ["---", "format: rlog/1", f"id: {JOB}"]
    assert rows[7:10] == ["---", "", f"@start id={JOB} ts=2027-01-15T08:00:00.000000Z"]
    assert rows[10] == 'u: Fix the "login" button ts=2027-01-15T08:00:01.000000Z'
    assert rows[12].startswith("t:Bash id=call_1 grep onClick \\u{2192} src → [3 matches\\nin 2 files] sha256=")


NPUB = npub(PUBLIC)
PLAIN = f"""---
format: rlog/1
id: job_5932_own7
repo_sha: {BASE[:6]}
provider_pubkey: {NPUB}
job_type: PatchGen
started_at: 2027-01-15T08:00:00Z
---

@start id=job_5932_own7 ts=2027-01-15T08:00:00Z
u: Make a patch for this issue: "The total is wrong"
th: Where is the sum made? sig=Qw9z...
t:Read id=call_1 shop/basket.py → [31 lines]
t:Grep id=call_2 pattern="total" → [2 matches]
a: The discount is taken off twice.
t:Edit id=call_3 shop/basket.py → [patched]
t:Bash id=call_4 make check → [exit 0, 7 tests passed]
@end summary="Took it off once" tokens_in=900 tokens_out=80
""".encode()
PLAIN_EXPECTED = ExpectedTrajectory("job_5932_own7", PUBLIC, JobType.PATCH_GEN, BASE, AT, AT + 10_000_000)


def test_what_others_write_without_our_additions_is_read() -> None:
    found = trajectories.check(PLAIN, PLAIN_EXPECTED, trajectories.sign(PLAIN, KEY), POLICY)
    tools = [line for line in found.lines if isinstance(line, ToolUse)]
    assert [(tool.tool, tool.argument, tool.result) for tool in tools][1] == ("Grep", 'pattern="total"', "2 matches")
    assert all(tool.sha256 is None and tool.at_us is None for tool in tools)
    assert found.lines[2] == Thought("Where is the sum made?", None, "Qw9z...")
    assert (found.end.summary, found.end.tokens_in, found.end.lines) == ("Took it off once", 900, None)
    elided = PLAIN.replace(NPUB.encode(), b"npub1...")
    assert trajectories.parse(elided, POLICY).header.provider_pubkey == "npub1..."  # as in a document


@pytest.mark.parametrize(
    ("code", "old", "new"),
    [
        ("trajectory.wrong_base", BASE[:6], "cdcdcd"),
        ("trajectory.wrong_provider", f"{NPUB}\n", "npub1...\n"),
        ("trajectory.bad_header", BASE[:6], BASE[:5]),
        ("trajectory.bad_header", "08:00:00Z\n---", "08:00Z\n---"),
        ("trajectory.no_start", " ts=2027-01-15T08:00:00Z", " ts=2027-01-15T08:00:01Z"),
        ("trajectory.bad_line", "@start id=job_5932_own7 ts=2027-01-15T08:00:00Z", "@start id=job_5932_own7"),
        ("trajectory.bad_line", " tokens_in=900", ""),
        ("trajectory.bad_line", "[31 lines]", "31 lines"),
        ("trajectory.repeated_id", "call_2", "call_1"),
        ("trajectory.wrong_result", "[31 lines]", f"[31 lines] sha256={'0' * 64}"),
        ("trajectory.time_backwards", "[31 lines]", "[31 lines] ts=2027-01-15T07:00:00Z"),
        ("trajectory.outside_time", "[31 lines]", "[31 lines] ts=2027-01-15T19:00:00Z"),
        ("trajectory.wrong_count", "tokens_out=80", "tokens_out=80 lines=8"),
        ("trajectory.bad_line", "tokens_out=80", "tokens_out=80 lines=9"),  # who counts leaves nothing out
    ],
)
def test_what_others_state_must_be_right(code: str, old: str, new: str) -> None:
    data = PLAIN.replace(old.encode(), new.encode(), 1)
    with pytest.raises(ChoirError) as refusal:
        trajectories.check(data, PLAIN_EXPECTED, trajectories.sign(data, KEY), POLICY)
    assert refusal.value.code == code


TAMPERED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "cut in the middle of a line": ("trajectory.truncated", lambda data: data[:-30]),
    "cut after a line": ("trajectory.truncated", lambda data: data[: data.rindex(b"@end")]),
    "cut inside the header": ("trajectory.bad_header", lambda data: data[: data.index(b"job_type")]),
    "nothing": ("trajectory.bad_header", lambda data: b""),
    "end without its line's end": ("trajectory.truncated", lambda data: data[:-1]),
    "two lines swapped": ("trajectory.time_backwards", swapped),
    "time stands still": (
        "trajectory.time_backwards",
        rewrite("ts=2027-01-15T08:00:02.000000Z", "ts=2027-01-15T08:00:01.000000Z"),
    ),
    "a line taken out": ("trajectory.wrong_count", without(r"^th: .*\n")),
    "a line put in": (
        "trajectory.wrong_count",
        lambda data: data.replace(b"@end", b"a: more ts=2027-01-15T08:00:04.500000Z\n@end").replace(
            b"a: Done. ts=2027-01-15T08:00:05", b"a: Done. ts=2027-01-15T08:00:04"
        ),
    ),
    "no start": ("trajectory.no_start", without(r"^@start.*\n")),
    "start of another job": ("trajectory.no_start", rewrite(f"@start id={JOB}", "@start id=job_other")),
    "start at another time": (
        "trajectory.no_start",
        rewrite("started_at: 2027-01-15T08:00:00", "started_at: 2027-01-15T07:59:59"),
    ),
    "two starts": ("trajectory.no_start", lambda data: re.sub(rb"(@start.*)\n", rb"\1\n\1\n", data)),
    "something after the end": (
        "trajectory.after_end",
        lambda data: data + b"a: and so on ts=2027-01-15T08:00:09.000000Z\n",
    ),
    "two ends": ("trajectory.after_end", lambda data: data + data[data.rindex(b"@end") :]),
    "a result changed": ("trajectory.wrong_result", rewrite("[patched]", "[all tests pass]")),
    "a hash changed": ("trajectory.wrong_result", lambda data: re.sub(rb"sha256=\w{4}", b"sha256=0000", data, count=1)),
    "an id used twice": ("trajectory.repeated_id", rewrite("id=call_2", "id=call_1")),
    "another format": ("trajectory.bad_header", rewrite("rlog/1", "rlog/2")),
    "a field more": ("trajectory.bad_header", rewrite("started_at:", "extra: 1\nstarted_at:")),
    "fields in another order": ("trajectory.bad_header", rewrite("format: rlog/1\nid:", "id: rlog/1\nformat:")),
    "a commit that is none": ("trajectory.bad_header", rewrite(BASE, "main")),
    "no empty line": ("trajectory.bad_header", rewrite("---\n\n@start", "---\n@start")),
    "CRLF": ("trajectory.bad_header", lambda data: data.replace(b"\n", b"\r\n")),
    "a line of no kind": ("trajectory.bad_line", rewrite("th: ", "why: ")),
    "no time": ("trajectory.bad_line", rewrite(" ts=2027-01-15T08:00:01.000000Z", "")),
    "a time with a zone": ("trajectory.bad_line", rewrite("08:00:01.000000Z", "08:00:01.00+00:0")),
    "a time that is none": ("trajectory.bad_line", rewrite("2027-01-15T08:00:01.", "2027-13-45T08:00:01.")),
    "a tool without result": ("trajectory.bad_line", rewrite(" → [patched]", "")),
    "a needless escape": ("trajectory.bad_line", rewrite("Which", "\\u{57}hich")),
    "half a character": ("trajectory.bad_line", rewrite("Which", "\\u{d800}")),
    "beyond all characters": ("trajectory.bad_line", rewrite("Which", "\\u{ffffff}")),
    "an escape of no kind": ("trajectory.bad_line", rewrite("Which", "\\x41")),
    "a bare control sign": ("trajectory.bad_line", rewrite("Which", "\x1b[2J")),
    "a sign that turns the writing": ("trajectory.bad_line", rewrite("Which", "\u202e")),
    "a number with a zero before": ("trajectory.bad_line", rewrite("tokens_in=5000", "tokens_in=05000")),
    "a negative number": ("trajectory.bad_line", rewrite("tokens_in=5000", "tokens_in=-1")),
    "no UTF-8": ("trajectory.not_text", lambda data: data.replace(b"Which", b"\xff\xfe")),
    "a byte order mark": ("trajectory.bad_header", lambda data: b"\xef\xbb\xbf" + data),
    "a line that is too long": ("trajectory.too_large", rewrite("Which", "x" * 70_000)),
    "too many lines": ("trajectory.too_large", lambda data: data + b"\n" * 200_000),
    "too many bytes": ("trajectory.too_large", lambda data: data + b"x" * 16_000_001),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_refused_with_its_reason(name: str) -> None:
    """The provider signs what it forged, so the signature does not help."""
    code, change = TAMPERED[name]
    data = change(DATA)
    assert data != DATA
    with pytest.raises(ChoirError) as refusal:
        trajectories.check(data, EXPECTED, trajectories.sign(data, KEY), POLICY)
    assert refusal.value.code == code


WRONG: dict[str, tuple[str, ExpectedTrajectory, SignedTrajectory]] = {
    "another job's": ("trajectory.wrong_job", replace(EXPECTED, job="job_other"), trajectories.sign(DATA, KEY)),
    "another provider's": (
        "trajectory.wrong_provider",
        replace(EXPECTED, provider=trajectories.provider_of(OTHER_KEY)),
        trajectories.sign(DATA, OTHER_KEY),
    ),
    "another type's": (
        "trajectory.wrong_type",
        replace(EXPECTED, type=JobType.CODE_REVIEW),
        trajectories.sign(DATA, KEY),
    ),
    "another commit's": (
        "trajectory.wrong_base",
        replace(EXPECTED, base_commit="cd" * 20),
        trajectories.sign(DATA, KEY),
    ),
    "of no repository": ("trajectory.wrong_base", replace(EXPECTED, base_commit=""), trajectories.sign(DATA, KEY)),
    "of an earlier try": (
        "trajectory.outside_time",
        replace(EXPECTED, assigned_us=AT + 200_000_000, delivered_us=AT + 900_000_000),
        trajectories.sign(DATA, KEY),
    ),
    "of the future": (
        "trajectory.outside_time",
        replace(EXPECTED, delivered_us=AT - 300_000_000),
        trajectories.sign(DATA, KEY),
    ),
    "signed by another": ("trajectory.forged", EXPECTED, trajectories.sign(DATA, OTHER_KEY)),
    "signed as another": (
        "trajectory.forged",
        EXPECTED,
        SignedTrajectory(bytes_hash(DATA), trajectories.sign(b"x", KEY).signature),
    ),
    "not signed": ("trajectory.forged", EXPECTED, SignedTrajectory(bytes_hash(DATA), b"")),
    "claimed as another": ("trajectory.wrong_hash", EXPECTED, trajectories.sign(DATA + b"x", KEY)),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_trajectory_must_be_of_this_job_and_signed(name: str) -> None:
    code, expected, signed = WRONG[name]
    with pytest.raises(ChoirError) as refusal:
        trajectories.check(DATA, expected, signed, POLICY)
    assert refusal.value.code == code


@given(texts)
@example("\\u{2192}")
@example("a\\")
@example("\udcff\udc80")
def test_escaping_comes_back(text: str) -> None:
    assert unescape(escape(text)) == whole(text)
    assert "\n" not in escape(text)


@given(
    st.one_of(
        st.builds(Said, st.sampled_from(Voice), texts, times),
        st.builds(
            Thought, texts, times, st.from_regex(r"[A-Za-z0-9+/=_-]{0,40}", fullmatch=True).filter(lambda s: s != "-")
        ),
        st.builds(
            ToolUse,
            st.from_regex(r"[A-Za-z][A-Za-z0-9_.-]{0,20}", fullmatch=True),
            st.from_regex(r"[A-Za-z0-9_.-]{1,40}", fullmatch=True),
            texts,
            texts,
            times,
        ),
        st.builds(Start, st.just(JOB), times),
        st.builds(End, texts, times, *[st.integers(0, 10**14)] * 4),
    )
)
@settings(max_examples=many(60, 300))
def test_every_line_comes_back(line: Start | Said | Thought | ToolUse | End) -> None:
    row = line.write()
    assert "\n" not in row
    found = read_line(row, 1)
    assert found.write() == row
    assert type(found) is type(line)
    assert found.at_us == line.at_us
    if isinstance(line, ToolUse) and isinstance(found, ToolUse):
        assert (found.tool, found.id) == (line.tool, line.id)
        assert (found.argument, found.result) == (whole(line.argument), whole(line.result))
    if isinstance(line, Said | Thought) and isinstance(found, Said | Thought):
        assert found.text == whole(line.text)
    if isinstance(line, End) and isinstance(found, End):
        assert replace(found, summary="") == replace(line, summary="")
        assert found.summary == whole(line.summary)


@given(st.binary(max_size=400))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    for given_ in (data, DATA[:250] + data, DATA[:-40] + data):
        try:
            trajectories.parse(given_, POLICY)
        except ChoirError as error:
            code = error.code
        else:
            code = "trajectory.good"
        assert code.startswith("trajectory.")


@given(st.lists(st.tuples(st.sampled_from(["user", "answer", "thought", "tool"]), texts | st.binary()), max_size=30))
def test_whatever_is_written_is_valid(steps: list[tuple[str, str | bytes]]) -> None:
    file = io.BytesIO()
    writer = TrajectoryWriter(file, trajectories.header(JOB, PUBLIC, JobType.TEXT_GEN, "", AT), ManualClock(AT), POLICY)
    for name, text in steps:
        if name == "tool":
            writer.tool("Bash", text, text)
        else:
            getattr(writer, name)(text)
    writer.end("")
    found = trajectories.parse(file.getvalue(), POLICY)
    assert len(found.lines) == len(steps) + 2
    assert found.end.omitted == 0


def test_a_flood_is_cut_and_counted() -> None:
    policy = WorkersPolicy(trajectory_lines_max=50, trajectory_text_chars=100)
    file = io.BytesIO()
    writer = TrajectoryWriter(file, trajectories.header(JOB, PUBLIC, JobType.TEXT_GEN, "", AT), ManualClock(AT), policy)
    output = writer.output()
    for _ in range(200):
        output("stdout", b"y" * 1_000 + b"\n")
    output.close()
    writer.end("flooded")
    found = trajectories.parse(file.getvalue(), policy)
    assert len(found.lines) == 50
    assert found.end.omitted == 152  # 200 lines, of which 48 fit


def test_bytes_have_a_limit_and_the_end_always_fits() -> None:
    file = io.BytesIO()
    head = trajectories.header(JOB, PUBLIC, JobType.TEXT_GEN, "", AT)
    writer = TrajectoryWriter(file, head, ManualClock(AT), POLICY, bytes_max=100_000)
    for _ in range(1_000):
        writer.answer("z" * 3_000)
    writer.end("s" * 10_000)
    found = trajectories.parse(file.getvalue(), POLICY, 100_000)
    assert found.end.omitted is not None
    assert found.end.omitted > 900


def test_secrets_are_withheld_also_across_pieces() -> None:
    file = io.BytesIO()
    head = trajectories.header(JOB, PUBLIC, JobType.TEXT_GEN, "", AT)
    writer = TrajectoryWriter(file, head, ManualClock(AT), POLICY, secrets=["sk-very-secret"])
    writer.withhold(["another-secret", "abc"])
    output = writer.output()
    output("stdout", b"key: sk-very-")
    output("stdout", b"secret and another-")
    output("stderr", b"oh")
    output("stdout", b"secret abc\n")
    output("stdout", b"x" * 7_995 + b"sk-very-secret" + b"y" * 9_000)
    output.close()
    writer.tool("Env", "sk-very-secret", "sk-very-secret")
    writer.end("sk-very-secret")
    data = file.getvalue()
    assert b"very-secret" not in data
    assert b"another-secret" not in data
    assert f"key: {WITHHELD} and {WITHHELD} abc".encode() in data
    assert b"[stderr] oh" in data
    trajectories.parse(data, POLICY)
