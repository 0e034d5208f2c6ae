"""The node's key: from the environment, a command or a private file, and never in an error."""

from __future__ import annotations

import stat
import sys
import threading
import traceback
from pathlib import Path

import pytest

from choir.foundation.clock import SeededEntropy, SystemEntropy
from choir.foundation.errors import ChoirError
from choir.foundation.node_key import NodeKeyMissing, load_node_secret, make_key_file, write_secret_file
from choir.foundation.settings import Settings, load_settings

KEY = "0f" * 32


def settings(home: Path, **flags: str) -> Settings:
    return load_settings(flags, {"CHOIR_HOME": str(home)})


def everything_said(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(getattr(error, "fields", ""))


def test_a_key_file_is_made_once_and_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "node.key"
    assert make_key_file(path, SeededEntropy(1))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    before = path.read_bytes()
    assert not make_key_file(path, SeededEntropy(2))
    assert path.read_bytes() == before
    assert [item.name for item in path.parent.iterdir()] == ["node.key"]
    assert load_node_secret(settings(tmp_path / "new")).secret == bytes.fromhex(before.decode())


def test_two_nodes_that_start_at_once_agree_on_one_key(tmp_path: Path) -> None:
    path = tmp_path / "node.key"
    made: list[bool] = []
    seen: list[bytes] = []

    class Waits:
        """Randomness that comes only when all have seen that there is no key yet."""

        together = threading.Barrier(8)

        def bytes(self, count: int) -> bytes:
            self.together.wait(10)
            return SystemEntropy().bytes(count)

    def work() -> None:
        made.append(make_key_file(path, Waits()))
        seen.append(path.read_bytes())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made.count(True) == 1
    assert len(set(seen)) == 1


def test_a_secret_file_is_private_even_where_another_lay_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(0o644)
    write_secret_file(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_environment_wins_over_the_command_and_that_over_the_file(tmp_path: Path) -> None:
    make_key_file(tmp_path / "node.key", SeededEntropy(1))
    command = f"{sys.executable} -c \"print('1e' * 32)\""
    assert load_node_secret(settings(tmp_path, node_key_command=command)).secret == b"\x1e" * 32
    assert load_node_secret(settings(tmp_path, node_key_command=command, node_key=KEY)).secret == b"\x0f" * 32


def test_a_rotated_key_is_read_anew(tmp_path: Path) -> None:
    found = settings(tmp_path)
    write_secret_file(found.node_key_file, "01" * 32)
    assert load_node_secret(found).secret == b"\x01" * 32
    write_secret_file(found.node_key_file, "02" * 32)
    assert load_node_secret(found).secret == b"\x02" * 32


@pytest.mark.parametrize(
    "command",
    [
        "no-such-program",
        f"{sys.executable} -c \"import sys; print('{KEY}'); sys.exit(3)\"",
        f"{sys.executable} -c \"print('{KEY}'[:-1])\"",
        f"{sys.executable} -c \"print('{KEY}' * 2)\"",
        f"{sys.executable} -c \"import sys; sys.stdout.buffer.write(bytes.fromhex('ff{KEY}'))\"",
        f"{sys.executable} -c pass",
        "unbalanced 'quote",
        "   ",
    ],
    ids=["missing", "exit", "short", "long", "binary", "nothing", "quote", "blank"],
)
def test_a_command_that_gives_no_key_is_told_of_without_what_it_said(tmp_path: Path, command: str) -> None:
    with pytest.raises(ChoirError) as found:
        load_node_secret(settings(tmp_path, node_key_command=command))
    assert KEY[:16] not in str(found.value)
    assert KEY[:16] not in repr(found.value.fields)


@pytest.mark.parametrize(
    "content", [b"", KEY[:-2].encode(), KEY.encode() * 2, bytes.fromhex(KEY) + b"\xff", b"\xff" * 32]
)
def test_a_file_without_a_key_is_told_of_without_its_content(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "node.key").write_bytes(content)
    with pytest.raises(ChoirError) as found:
        load_node_secret(settings(tmp_path))
    said = everything_said(found.value)
    assert KEY[:16] not in said
    assert "\\xff" not in said
    assert "0xff" not in said


def test_a_missing_file_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(NodeKeyMissing, match=r"node\.key"):
        load_node_secret(settings(tmp_path))
    (tmp_path / "node.key").mkdir()
    with pytest.raises(NodeKeyMissing):
        load_node_secret(settings(tmp_path))


def test_a_bad_key_in_the_environment_is_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(ChoirError) as found:
        load_node_secret(settings(tmp_path, node_key=KEY[:-2]))
    assert KEY[:16] not in everything_said(found.value)
