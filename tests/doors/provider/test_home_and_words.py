"""The provider's folder and keys, the names of types, amounts, and what is told."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import time
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from choir.bazaar.jobs.model import JobType
from choir.bazaar.workers.profiles import BadProfile
from choir.doors.node.commands.run import _greet
from choir.doors.provider.home import ProviderHome, folder_of, read_key
from choir.doors.provider.machine import check_isolation
from choir.doors.provider.model import AlreadyServing, HomeUnusable, IsolationMissing, UnsafeKey, job_type
from choir.doors.provider.process import _shown
from choir.doors.provider.report import Journal, JsonLines, Lines
from choir.doors.providers.commands.own_provider import typed_price
from choir.foundation.clock import format_time
from choir.foundation.errors import ChoirError, Invalid, Unauthenticated
from choir.foundation.settings import load_settings
from choir.sandbox.model import Tier
from choir.sandbox.service import Sandboxes
from choir.sdk import Client
from choir.storage.processes import FolderLock
from tests.doors.servers import problem, script


def test_keys_are_made_once_private_and_apart(tmp_path: Path) -> None:
    home = ProviderHome(tmp_path / "a")
    assert not home.has_agent
    agent, result = home.agent_key(), home.result_key()
    assert agent != result
    assert (home.agent_key(), home.result_key()) == (agent, result)
    for path in (home.agent_key_file, home.result_key_file):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.folder.stat().st_mode) == 0o700


def test_a_key_that_others_could_have_read_or_put_there_is_refused_and_not_quoted(tmp_path: Path) -> None:
    secret = "ab" * 32
    file = tmp_path / "key"
    file.write_text(secret)
    file.chmod(0o644)
    link = tmp_path / "link"
    link.symlink_to(file)
    nothing = tmp_path / "nothing"
    nothing.write_text(secret + secret)
    nothing.chmod(0o600)
    for path, why in ((file, "others can use it"), (link, "symbolic link"), (nothing, "does not hold a key")):
        with pytest.raises(UnsafeKey, match=why) as caught:
            read_key(path)
        assert secret not in str(caught.value)
        assert secret not in str(caught.value.fields)
    with pytest.raises(UnsafeKey, match="no such file"):
        read_key(tmp_path / "missing")
    file.chmod(0o600)
    assert read_key(file).reveal().hex() == secret


def test_one_process_at_a_time_serves_from_a_folder(tmp_path: Path) -> None:
    home = ProviderHome(tmp_path / "a")
    again = ProviderHome(tmp_path / "a").locked()
    with home.locked(), pytest.raises(AlreadyServing, match=str(os.getpid())):
        again.__enter__()
    with ProviderHome(tmp_path / "a").locked():  # and again once it is free
        pass


@pytest.mark.parametrize("known", ["", "agent", "result"])
def test_a_start_that_fails_leaves_nothing_but_what_a_node_may_know(tmp_path: Path, known: str) -> None:
    (tmp_path / "data").mkdir()
    home = ProviderHome(tmp_path / "data" / "providers" / "a")

    def begin() -> None:
        home.result_key()
        (home.folder / "work").mkdir()
        if known:
            {"agent": home.agent_key, "result": home.keep}[known]()
        raise BadProfile(why="there is no such worker")

    with pytest.raises(BadProfile), home.locked():
        begin()
    assert home.result_key_file.exists() is bool(known)
    assert list((tmp_path / "data").iterdir()) == ([tmp_path / "data" / "providers"] if known else [])
    with pytest.raises(BadProfile), ProviderHome(tmp_path / "data").locked():
        raise BadProfile(why="there is no such worker")
    assert (tmp_path / "data").exists()  # it was there before


def test_a_lock_that_was_removed_with_its_folder_is_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    acquire = FolderLock.acquire

    def late(lock: FolderLock) -> bool:
        done = acquire(lock)
        lock.path.unlink()  # by whoever had it a moment ago
        lock.path.touch()
        return done

    monkeypatch.setattr("choir.doors.provider.home.FolderLock.acquire", late)
    with pytest.raises(AlreadyServing), ProviderHome(tmp_path / "a").locked():
        pass


def test_the_folder_is_free_before_it_is_said_that_all_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    said_before: list[str] = []
    end = {"passed": 3, "failed": 1, "given_back": 2, "unjudged": 1, "left": 0}
    loop = cast("Any", SimpleNamespace(summary=lambda: end))
    with _shown(False, lambda: said_before.append(capsys.readouterr().out)) as (tell, show):
        tell("remark", text="It begins.")
        show(loop)
    assert "It begins." in said_before[0]
    assert "Stopped" not in said_before[0]
    told = capsys.readouterr().out
    assert told.endswith("  Stopped. 2 jobs withdrawn. 3 passed, 1 failed, 1 awaiting a verdict\n")


def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o777)
    with pytest.raises(HomeUnusable, match="others can write"):
        ProviderHome(tmp_path / "a").agent_key()


def test_where_the_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHOIR_PROVIDER_HOME", raising=False)
    monkeypatch.setenv("CHOIR_HOME", str(tmp_path))
    assert folder_of(None, None) == tmp_path / "providers" / "provider"
    assert folder_of("Night Shift/../x", None) == tmp_path / "providers" / "night-shift-x"
    monkeypatch.setenv("CHOIR_PROVIDER_HOME", "/from/environment")
    assert folder_of("x", None) == Path("/from/environment")
    assert folder_of("x", "/from/flag") == Path("/from/flag")
    monkeypatch.delenv("CHOIR_PROVIDER_HOME")
    with pytest.raises(Invalid):
        folder_of("../..", None)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("run", "sandbox_run"), ("Sandbox-Run", "sandbox_run"), ("review", "code_review"), ("patch", "patch_gen"),
     ("text_gen", "text_gen")],
)  # fmt: skip
def test_types_have_friendly_names(text: str, kind: str) -> None:
    assert job_type(text) is JobType(kind)
    with pytest.raises(Invalid, match="run, review, patch, index, text"):
        job_type("dance")


def test_prices_are_exact_and_may_be_nothing() -> None:
    assert [typed_price(text) for text in ("0", "0.000", "0.5", "200", "0.001")] == [0, 0, 500, 200_000, 1]
    for bad in ("", ".", "-1", "0.0001", "ten"):
        with pytest.raises(ChoirError):
            typed_price(bad)


def test_what_others_wrote_cannot_steer_a_terminal_and_money_is_shown_whole() -> None:
    plain, machine = io.StringIO(), io.StringIO()
    tell = Journal([Lines(plain), JsonLines(machine)])
    tell("given_back", job="job_1", reason="\x1b[2J\nboo", why="")
    tell("outcome", job="job_1", type="sandbox_run", state="passed", reason="", paid="200500", earned="180450")
    tell("something_new", number=1)
    lines = plain.getvalue().splitlines()
    assert len(lines) == 3
    assert "\x1b" not in plain.getvalue()
    assert lines[1].endswith("job_1 (run) passed, earned 180.450 SAT")
    assert lines[2].endswith("something new number=1")
    assert [json.loads(line)["event"] for line in machine.getvalue().splitlines()] == [
        "given_back",
        "outcome",
        "something_new",
    ]


def test_an_isolation_that_contains_nothing_cannot_be_offered(tmp_path: Path) -> None:
    with Sandboxes(tmp_path / "sandbox") as sandboxes:
        with pytest.raises(IsolationMissing, match="never runs in it") as caught:
            check_isolation(sandboxes, Tier.LOCAL, sandboxes.policy)
        assert "bubblewrap" in caught.value.advice
        check_isolation(sandboxes, Tier.BUBBLEWRAP, sandboxes.policy)


def test_where_bubblewrap_is_missing_it_is_said_what_to_install(tmp_path: Path) -> None:
    with Sandboxes(tmp_path / "sandbox") as sandboxes:
        machine = sandboxes.host.machine
        programs = {name: path for name, path in machine.programs.items() if name != "bwrap"}
        sandboxes.host = replace(sandboxes.host, machine=replace(machine, programs=programs))
        with pytest.raises(IsolationMissing, match="`apt-get install bubblewrap`") as caught:
            check_isolation(sandboxes, Tier.BUBBLEWRAP, sandboxes.policy)
        assert "cgroup" not in caught.value.advice  # rights are not what is missing
        if not any(sandboxes.capabilities(tier).works for tier in (Tier.CONTAINER, Tier.GVISOR)):
            assert "`apt-get install bubblewrap`" in sandboxes.lacking()


def test_whoever_starts_a_node_that_cannot_verify_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for least, told in (("2", False), ("5", True)):
        settings = load_settings({"home": str(tmp_path)}, {"CHOIR_POLICY__SANDBOX__STRANGER_TIER_MIN": least})
        _greet(settings, first=False, as_json=False)
        assert ("accepts no jobs" in capsys.readouterr().err) == told


def test_the_process_loads_no_database() -> None:
    """It is the node's other side; what it needs of the node comes through the SDK."""
    script = (
        "import sys, choir.doors.provider.process, choir.doors.provider.view\n"
        "ledger = ('choir.ledger.service', 'choir.ledger.journal')\n"
        "database = ('psycopg', 'choir.storage.database', 'choir.node', *ledger)\n"
        "bad = [name for name in sys.modules if name.startswith(database)]\n"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(("seconds", "noted"), [(-3_600, True), (90, True), (0, False)])
def test_a_client_notes_how_far_the_nodes_clock_is_ahead(seconds: int, noted: bool) -> None:
    date = f"Date: {formatdate(time.time() + seconds, usegmt=True)}"
    moved = f"Choir-Time: {format_time(int((time.time() + seconds) * 1_000_000))}"  # more is believed of that
    for headers in ([date], [moved], [f"Date: {formatdate(0, usegmt=True)}", moved], [date, "Choir-Time: "]):
        with script(problem(401, "unauthenticated", "{}", *headers)) as server, Client(server.url, "") as client:
            with pytest.raises(Unauthenticated):
                client.me.who()
            assert (abs(client.ahead_s - seconds) < 10) if noted else client.ahead_s == 0


def test_a_folder_without_room_for_its_lock_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("choir.doors.provider.home.FolderLock.acquire", full)
    with pytest.raises(HomeUnusable, match=f"{tmp_path}.*no space left"), ProviderHome(tmp_path / "p").locked():
        pass
