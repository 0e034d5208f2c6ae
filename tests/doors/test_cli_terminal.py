"""What others wrote cannot steer a terminal, and results land where they should, whole, or not at all."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from choir.doors.cli import output
from choir.doors.jobs.commands.watch import View
from choir.doors.jobs.shapes import JobStepOut
from choir.doors.sdk.errors import NodeError

NASTY = "\x1b[2J\x1b]0;title\x07 :smile: [red]x[/red] [/y] \x9b2J"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(work: Callable[[], object]) -> str:
    """What a terminal gets, which must be harmless and whole."""
    made = Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output.console(), "_file", made)
        patch.setattr("sys.stdout", made)
        patch.setattr("sys.stderr", made)
        for name, value in {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200"}.items():
            patch.setenv(name, value)
        work()
    text = made.getvalue()
    assert not {"\x1b", "\x07", "\x9b"} & set(text)
    assert ":smile:" in text
    assert "[red]x[/red] [/y]" in text
    return text


def test_remarks_and_errors_only_show() -> None:
    shown(lambda: output.say(NASTY))
    shown(lambda: output.show_error(NodeError(detail=NASTY)))


def test_lines_and_tables_only_show() -> None:
    shown(lambda: output.print_line(NASTY))
    shown(lambda: output.print_table(["name"], [[NASTY]]))


def test_steps_of_a_job_only_show() -> None:
    view = View(None, "stdout", None, as_json=False)  # type: ignore[arg-type]
    step = JobStepOut(n=1, at="2026-11-16T05:00:00.000000Z", what=NASTY, actor="x", data={"attempt": "a"})
    shown(lambda: view._tell(step, {"a": NASTY}))
    shown(lambda: view._tell(step.model_copy(update={"what": "started"}), {"a": NASTY}))


def test_json_has_no_control_characters_and_loses_nothing() -> None:
    assert json.loads(shown(lambda: output.print_json({"said": NASTY}))) == {"said": NASTY}


def test_a_file_that_appeared_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    mine, link = tmp_path / "mine", tmp_path / "fix.diff"
    mine.write_text("mine")
    link.symlink_to(mine)
    with pytest.raises(output.FileExists):
        output.write_result(link, b"theirs", force=False)
    assert mine.read_text() == "mine"


def test_force_replaces_a_link_and_not_what_it_leads_to(tmp_path: Path) -> None:
    mine, link = tmp_path / "mine", tmp_path / "fix.diff"
    mine.write_text("mine")
    link.symlink_to(mine)
    output.write_result(link, b"theirs", force=True)
    assert (mine.read_text(), link.read_text(), link.is_symlink()) == ("mine", "theirs", False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fix.diff", "mine"]


def test_a_result_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(28, "No space left on device")

    real = Path.open

    def full(path: Path, mode: str = "r") -> Full:
        real(path, mode).close()
        return Full()

    monkeypatch.setattr(Path, "open", full)
    for force in (False, True):
        with pytest.raises(OSError, match="No space"):
            output.write_result(tmp_path / "fix.diff", b"theirs", force=force)
        assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_noticed_before_anything_is_bought(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        output.may_write(tmp_path / "nowhere" / "fix.diff", force=False)
