"""The embedded server and its surroundings: closed homes, accounts, sockets, bad folders, bad disks."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import psycopg
import pytest

from choir.storage.embedded import accounts, binaries, previous, sockets
from choir.storage.embedded.errors import (
    CannotDropRoot,
    FolderUnusable,
    NotADataFolder,
    ProgramsUnreachable,
    StartFailed,
    WrongVersion,
)
from choir.storage.postgres import EmbeddedPostgres, Server, borrowed_server, running_server
from tests.storage.servers import leftovers, ordinary_uid, remove_home, root_only, run_script, script

pytestmark = pytest.mark.deep


def throw_away(home: Path) -> AbstractContextManager[Server]:
    return borrowed_server(home, durable=False)


def uid_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/status").read_text().partition("Uid:")[2].split()[0])


def modes(path: Path) -> list[tuple[str, int, int]]:
    return [(str(place), place.stat().st_mode, place.stat().st_uid) for place in (path, *path.parents)]


@pytest.fixture
def closed_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The wheel as it is when the checkout is below a closed home such as /root."""
    closed = tmp_path / "closed"
    (closed / "site-packages").mkdir(parents=True)
    copy = binaries._copied(binaries.installed_programs(), closed / "site-packages")
    closed.chmod(0o700)
    monkeypatch.setattr(binaries, "installed_programs", lambda: copy)
    yield closed
    shutil.rmtree(closed)


# Root.


@root_only
def test_root_runs_it_under_an_account_of_its_own(home: Path) -> None:
    before = modes(home.parent)
    with throw_away(home) as server:
        uid = uid_of(server.pid)
        assert uid not in {0, *(entry.pw_uid for entry in pwd.getpwall())}
        assert (home / "postgres/data").stat().st_uid == uid
        assert {path.stat().st_uid for path in (home / "postgres/data").rglob("*")} == {uid}
        groups = Path(f"/proc/{server.pid}/status").read_text().partition("Groups:")[2].splitlines()[0]
        assert groups.strip() == ""
    with throw_away(home) as server:
        assert uid_of(server.pid) == uid
    assert modes(home.parent) == before
    assert home.stat().st_mode & 0o777 == 0o700


@root_only
def test_programs_and_home_both_below_a_closed_folder(home: Path, closed_programs: Path) -> None:
    before = modes(closed_programs) + modes(home.parent)
    with throw_away(home) as server:
        program = Path(f"/proc/{server.pid}/exe").readlink()
        assert program.is_relative_to(binaries.COPY_PLACES[0])
        assert stat.S_IMODE(program.stat().st_mode) == 0o755
        assert program.stat().st_uid == 0
        with psycopg.connect(server.dsn("choir_owner")) as owner:
            owner.execute("SELECT '[1,2]'::vector <-> '[3,4]'::vector")  # loads a library of the copy
            owner.execute("SELECT now() AT TIME ZONE 'Europe/Zurich'")  # reads a file of the copy
    assert leftovers(home) == []
    assert modes(closed_programs) + modes(home.parent) == before


@root_only
def test_the_copy_goes_to_the_next_place_that_works(
    home: Path, closed_programs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    taken = Path("/var/tmp", f"{previous.Places.of(home).token}-programs")  # by someone else: not ours to use
    taken.mkdir()
    os.chown(taken, ordinary_uid(), ordinary_uid())
    places = (Path("/nowhere"), Path("/proc"), closed_programs, Path("/var/tmp"), Path("/tmp"))
    monkeypatch.setattr(binaries, "COPY_PLACES", places)
    with throw_away(home) as server:
        program = Path(f"/proc/{server.pid}/exe").readlink()
        assert program.is_relative_to(Path("/tmp"))
    assert list(taken.iterdir()) == []
    taken.rmdir()
    monkeypatch.setattr(binaries, "COPY_PLACES", places[:3])
    with pytest.raises(ProgramsUnreachable) as error:
        EmbeddedPostgres(home).start()
    assert "ordinary user" in error.value.advice


@root_only
def test_a_killed_nodes_copy_is_removed_by_the_next(home: Path, closed_programs: Path) -> None:
    token = previous.Places.of(home).token
    leftover = binaries.COPY_PLACES[0] / f"{token}-programs"
    (leftover / "half").mkdir(parents=True)
    with throw_away(home):
        assert not (leftover / "half").exists()
    assert not leftover.exists()


@root_only
def test_programs_are_copied_into_an_open_home(closed_programs: Path) -> None:
    place = Path(tempfile.mkdtemp(prefix="choir-test-", dir="/tmp"))
    place.chmod(0o755)
    with throw_away(place) as server:
        assert Path(f"/proc/{server.pid}/exe").readlink().is_relative_to(place / "postgres/programs")
    assert not (place / "postgres/programs").exists()
    remove_home(place)


@root_only
def test_root_takes_a_users_folder_as_that_user(user_home: Path) -> None:
    run_script("with borrowed_server(home, durable=False): pass", user_home, ordinary_uid())
    with throw_away(user_home) as server:
        assert uid_of(server.pid) == ordinary_uid()
    run_script(
        "with borrowed_server(home, durable=False): pass", user_home, ordinary_uid()
    )  # root left nothing they cannot open


@root_only
def test_a_copy_put_back_by_root_is_adopted(home: Path) -> None:
    with throw_away(home):
        pass
    for path in (home / "postgres").rglob("*"):
        os.chown(path, 0, 0)
    os.chown(home / "postgres", 0, 0)
    (home / "postgres").chmod(0o700)
    (home / "postgres/data").chmod(0o755)
    with throw_away(home) as server:
        assert uid_of(server.pid) != 0


@root_only
def test_numbers_are_taken_from_what_the_container_maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def map_only(*blocks: range) -> None:
        monkeypatch.setattr(accounts, "_mapped", lambda _: list(blocks))

    assert accounts.account_for(tmp_path / "data").uid in range(1_900_000_000, 2_000_000_000)
    map_only(range(65536))
    assert accounts.account_for(tmp_path / "data").uid in range(60_578, 61_184)
    map_only(range(1), range(5000, 5010))
    with pytest.raises(CannotDropRoot):  # nobody has no name among these
        accounts.account_for(tmp_path / "data")
    map_only(range(1))
    with pytest.raises(CannotDropRoot, match="no account but root"):
        accounts.account_for(tmp_path / "data")


@root_only
def test_nobodys_other_processes_cannot_reach_a_database_in_the_making(home: Path) -> None:
    """initdb alone runs as an account with a name; our group keeps its namesakes out."""
    code = """
import threading
seen = []
outsider = subprocess.Popen(["sleep", "30"], user=65534, group=65534, extra_groups=[])
def watch():
    fresh = home / "postgres/data.new"
    while not (fresh / "PG_VERSION").exists(): time.sleep(0.001)
    def is_ours(p):
        try: return p.name.isdigit() and (p / "comm").read_text() == "initdb\\n" and os.path.samefile(p / "cwd", fresh)
        except OSError: return False  # it has just ended
    initdb = []
    while not initdb and fresh.exists(): initdb = [p for p in Path("/proc").iterdir() if is_ours(p)]
    for path in (fresh, *(p / "cwd" for p in initdb)):
        done = subprocess.run(["ls", str(path) + "/"], user=65534, group=65534, extra_groups=[], capture_output=True)
        seen.append(done.returncode)
thread = threading.Thread(target=watch); thread.start()
with borrowed_server(home, durable=False): thread.join()
outsider.kill()
tell(len(seen) >= 2 and all(seen))
"""
    home.parent.chmod(0o711)  # so that only our own folders stand in the way
    home.mkdir()
    home.chmod(0o711)
    assert run_script(code, home) == "True"


# Accounts without root.


@root_only
def test_a_users_start_on_a_foreign_folder_is_refused(home: Path, user_home: Path) -> None:
    code = "try: EmbeddedPostgres(home).start()\nexcept ChoirError as error: tell(error.code)"
    assert run_script(code, home, ordinary_uid()) == "storage.no_access"
    with throw_away(user_home / "roots"):
        pass
    assert run_script(code, user_home / "roots", ordinary_uid()) == "storage.no_access"
    find = "try: running_server(home)\nexcept ChoirError as error: tell(error.code)"
    assert run_script(find, user_home / "roots", ordinary_uid()) == "storage.no_access"


@root_only
def test_a_number_without_a_name_is_told_what_to_do(user_home: Path) -> None:
    os.chown(user_home, 54321, 54321)
    code = "try: EmbeddedPostgres(home).start()\nexcept ChoirError as error: tell(error.code, error.advice)"
    told = run_script(code, user_home, 54321)
    assert told.startswith("storage.nameless_account Add a line for it to /etc/passwd")


# Sockets.


def deep(place: Path) -> Path:
    return place / ("long-" * 20) / ("name-" * 20)


def test_a_long_home_gets_a_short_socket(home: Path) -> None:
    with throw_away(deep(home)) as server:
        assert len(str(server.socket_dir)) < 60
        found = server.socket_dir.lstat()
        assert stat.S_IMODE(found.st_mode) == 0o700
        assert found.st_uid == (home / deep(home) / "postgres/data").stat().st_uid
        assert running_server(deep(home)) == server
    assert leftovers(deep(home)) == []


def test_an_ordinary_users_long_home(user_home: Path) -> None:
    code = """
with borrowed_server(home, durable=False) as server:
    assert server.socket_dir.parent == Path("/tmp"), server.socket_dir
    assert server.socket_dir.stat().st_uid == os.geteuid()
"""
    run_script(code, deep(user_home), ordinary_uid())
    assert leftovers(deep(user_home)) == []


def test_a_home_with_odd_characters(home: Path) -> None:
    odd = home / 'it\'s, a "home" $HOME `x` ü'
    with throw_away(odd) as server:
        assert "," not in str(server.socket_dir)
        assert running_server(odd) == server


@root_only
@pytest.mark.parametrize("trap", ["folder", "link", "file", "open"])
def test_what_another_user_prepared_is_not_used(user_home: Path, trap: str) -> None:
    """In a sticky /tmp anyone can take a name that can be foreseen."""
    long_home = deep(user_home)
    prepared = Path("/tmp", previous.Places.of(long_home).token)
    attacker = 54321
    elsewhere = user_home / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    os.chown(elsewhere, ordinary_uid(), ordinary_uid())
    if trap == "link":
        prepared.symlink_to(elsewhere)
    elif trap == "file":
        prepared.touch()
    else:
        prepared.mkdir(mode=0o777 if trap == "open" else 0o700)
    os.chown(prepared, attacker, attacker, follow_symlinks=False)
    try:
        code = f"""
with borrowed_server(home, durable=False) as server:
    assert server.socket_dir != Path({str(prepared)!r}), "it was used"
    assert server.socket_dir.parent == Path("/tmp")
"""
        run_script(code, long_home, ordinary_uid())
        assert list(elsewhere.iterdir()) == []
        assert prepared.lstat().st_uid == attacker
    finally:
        prepared.rmdir() if prepared.is_dir() and not prepared.is_symlink() else prepared.unlink()


def test_only_kept_names_count_as_short_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sockets._keeps_names(Path("/tmp"))
    open_place = tmp_path / "open"
    open_place.mkdir()
    open_place.chmod(0o777)
    assert not sockets._keeps_names(open_place)


# Bad folders.


def made(home: Path) -> Path:
    server_of = EmbeddedPostgres(home, durable=False)
    server_of.start()
    server_of.stop()
    return home / "postgres/data"


def test_a_folder_of_another_version_is_not_touched(home: Path) -> None:
    data = made(home)
    (data / "PG_VERSION").write_text("16\n")
    with pytest.raises(WrongVersion) as error:
        EmbeddedPostgres(home).start()
    assert "PostgreSQL 16" in str(error.value)
    assert "choir restore" in error.value.advice
    (data / "PG_VERSION").write_text("18\n")
    with throw_away(home):
        pass


@pytest.mark.parametrize("damage", ["foreign", "no control", "no number", "file"])
def test_a_folder_that_is_no_database_is_refused(home: Path, damage: str) -> None:
    if damage == "no control":
        (made(home) / "global/pg_control").unlink()
    elif damage == "file":
        (home / "postgres").mkdir(parents=True)
        (home / "postgres/data").write_text("x")
    else:
        (home / "postgres/data").mkdir(parents=True)
        (home / "postgres/data/thesis.txt").write_text("x")
        if damage == "no number":
            (home / "postgres/data/PG_VERSION").write_text("what?")
    before = sorted((home / "postgres/data").rglob("*"))
    with pytest.raises(NotADataFolder):
        EmbeddedPostgres(home).start()
    assert sorted((home / "postgres/data").rglob("*")) == before


def test_a_damaged_database_quotes_the_server(home: Path) -> None:
    control = made(home) / "global/pg_control"
    control.write_bytes(b"\0" * control.stat().st_size)
    with pytest.raises(StartFailed) as error:
        EmbeddedPostgres(home).start()
    assert "FATAL" in str(error.value)
    assert "postgres.log" in error.value.advice
    assert leftovers(home) == []


def test_an_empty_folder_is_filled(home: Path) -> None:
    (home / "postgres/data").mkdir(parents=True)
    with throw_away(home):
        pass


def test_data_on_another_disk_by_a_link(home: Path, place: Path) -> None:
    data = made(home)
    with tempfile.TemporaryDirectory(prefix="choir-test-", dir=place) as folder:
        elsewhere = Path(folder, "elsewhere")
        data.rename(elsewhere)  # not copied: it keeps its owner
        data.symlink_to(elsewhere)
        with throw_away(home) as server:
            psycopg.connect(server.dsn("choir_app")).close()
        assert leftovers(home) == []


def test_a_home_that_is_a_file_is_refused(home: Path) -> None:
    home.write_text("x")
    with pytest.raises(FolderUnusable):
        EmbeddedPostgres(home).start()
    home.unlink()


# Bad disks: a small file system of its own, in a mount namespace that ends with the script.

_DISK = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def mount(flags, options):
    result = libc.mount(b"choir-test", str(home).encode(), b"tmpfs", flags, options)
    assert result == 0, os.strerror(ctypes.get_errno())
def attempt():
    server_of = EmbeddedPostgres(home)
    try: server_of.start(); return "started"
    except ChoirError as error: return f"{error.code}: {error} {error.advice}"
    finally: server_of.stop()
home.mkdir()
"""


def run_on_disk(code: str, home: Path) -> list[str]:
    command = ["unshare", "--mount", "--propagation", "private", *script(_DISK + code, home)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if "Operation not permitted" in done.stderr:
        pytest.skip("mounting is not allowed here")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip().splitlines()


@root_only
def test_a_full_disk_is_named(home: Path) -> None:
    code = """
mount(0, b"size=60m")
tell(attempt())
mount(32, b"size=200m")  # MS_REMOUNT
tell(attempt())
filler = home / "filler"
with filler.open("wb", buffering=0) as file:
    try:
        while True: file.write(bytes(4096))
    except OSError: pass
tell(attempt())
filler.unlink()
tell(attempt())
"""
    new, room, full, freed = run_on_disk(code, home)
    assert new.startswith("storage.folder_full: ")
    assert "a new database needs 128 MB" in new
    assert "Free some space" in new
    assert (room, freed) == ("started", "started")
    assert full.startswith("storage.folder_full: ")


@root_only
def test_a_read_only_disk_is_named(home: Path) -> None:
    code = """
mount(0, b"size=200m")
tell(attempt())
mount(32 | 1, b"")  # MS_REMOUNT, MS_RDONLY
tell(attempt())
"""
    good, read_only = run_on_disk(code, home)
    assert good == "started"
    assert read_only.startswith("storage.read_only: The file system with ")


@root_only
def test_a_place_that_runs_no_programs_is_passed_over(home: Path) -> None:
    code = """
import tempfile
noexec = Path(tempfile.mkdtemp(prefix="choir-test-", dir="/tmp")); noexec.chmod(0o755)
closed = home / "closed"; closed.mkdir(mode=0o700)
copy = binaries._copied(binaries.installed_programs(), closed)
closed.chmod(0o700)
binaries.installed_programs = lambda: copy
binaries.COPY_PLACES = (noexec, Path("/var/tmp"))
assert libc.mount(b"choir-test", str(noexec).encode(), b"tmpfs", 8, b"mode=755") == 0, os.strerror(ctypes.get_errno())
with borrowed_server(home, durable=False) as server:
    tell(Path(f"/proc/{server.pid}/exe").readlink().parts[:3])
tell(list(noexec.iterdir()))
libc.umount2(str(noexec).encode(), 2); noexec.rmdir()
"""
    assert run_on_disk(code, home) == ["('/', 'var', 'tmp')", "[]"]
