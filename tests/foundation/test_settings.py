"""Settings: a flag wins over the environment, that over the file, that over the default."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from choir.bazaar.workers import profiles
from choir.foundation.errors import Invalid
from choir.foundation.settings import RawSettings, Settings, UnknownVariable, load_settings, unknown_variables

SECRET = "postgresql://me:hunter2@host/db"


def load(home: Path, file: str = "", environment: dict[str, str] | None = None, **flags: str | None) -> Settings:
    if file:
        (home / "choir.toml").write_text(file)
    return load_settings(flags, {"CHOIR_HOME": str(home)} | (environment or {}))


def origin(settings: Settings, name: str) -> str:
    return next(source.origin for source in settings.sources if source.name == name)


def test_each_place_wins_over_the_one_below_it(tmp_path: Path) -> None:
    assert (load(tmp_path).port, origin(load(tmp_path), "bind")) == (8420, "default")
    file = 'bind = "127.0.0.1:1"'
    found = load(tmp_path, file)
    assert (found.port, origin(found, "bind")) == (1, str(tmp_path / "choir.toml"))
    found = load(tmp_path, file, {"CHOIR_BIND": "127.0.0.1:2"})
    assert (found.port, origin(found, "bind")) == (2, "environment CHOIR_BIND")
    found = load(tmp_path, file, {"CHOIR_BIND": "127.0.0.1:2"}, bind="127.0.0.1:3")
    assert (found.port, origin(found, "bind")) == (3, "flag")
    assert load(tmp_path, file, bind=None).port == 1, "a flag that was not given is no flag"


def test_every_setting_is_shown_with_its_origin_and_documentation(tmp_path: Path) -> None:
    sources = load(tmp_path).sources
    assert [source.name for source in sources] == [item.name for item in fields(RawSettings)]
    assert all(source.doc and source.origin for source in sources)


def test_secrets_are_never_shown(tmp_path: Path) -> None:
    secrets = {"CHOIR_DATABASE_URL": SECRET, "CHOIR_DATABASE_OWNER_URL": SECRET, "CHOIR_TOKEN": SECRET,
               "CHOIR_NODE_KEY": SECRET}  # fmt: skip
    found = load(tmp_path, environment=secrets)
    assert found.database_url == found.token == found.node_key == SECRET
    shown = {source.name: source.shown for source in found.sources}
    assert shown["database_url"] == shown["token"] == shown["node_key"] == shown["database_owner_url"] == "(set)"
    assert "hunter2" not in repr(found.sources)
    assert "hunter2" not in repr(found)
    assert {source.shown for source in load(tmp_path).sources if source.name == "token"} == {"(not set)"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bind", "8420"), ("bind", ":8420"), ("bind", "host:"), ("bind", "host:http"), ("bind", "host:65536"),
        ("bind", ""), ("processes", "0"), ("processes", "65"), ("processes", "-1"), ("processes", "two"),
        ("processes", ""), ("mode", "prod"), ("mode", ""), ("log_format", "xml"),
    ],
)  # fmt: skip
def test_bad_values_are_refused_by_name(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(Invalid, match=name):
        load(tmp_path, environment={f"CHOIR_{name.upper()}": value})


@pytest.mark.parametrize(
    "text", ["bind = ", "surprise = 1", "[section]\nx = 1", "policy = 5", 'home = "/elsewhere"', "bind = {a = 1}"]
)
def test_a_bad_file_is_refused_with_its_path(tmp_path: Path, text: str) -> None:
    with pytest.raises(Invalid) as found:
        load(tmp_path, text)
    assert "choir.toml" in str(found.value) or "bind" in str(found.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("CHOIR_MDOE", "CHOIR_MODE"), ("CHOIR_DATABSE_URL", "CHOIR_DATABASE_URL"), ("CHOIR_POLICY_LEDGER_X", ""),
     ("CHOIR_PORT", "")],
)  # fmt: skip
def test_a_mistyped_name_in_the_environment_is_refused(tmp_path: Path, name: str, meant: str) -> None:
    found = load(tmp_path, environment={name: "1"})
    assert found.unknown == (name,)
    with pytest.raises(UnknownVariable, match=f"^{name} in the environment is not a setting") as refused:
        found.must_know_all()
    assert (f"did you mean {meant}?" in str(refused.value)) == bool(meant)


def test_names_that_others_read_are_no_mistyped_settings(tmp_path: Path) -> None:
    kubernetes = {
        "CHOIR_SERVICE_HOST": "10.0.0.1", "CHOIR_SERVICE_PORT": "8420", "CHOIR_SERVICE_PORT_HTTP": "8420",
        "CHOIR_PORT": "tcp://10.0.0.1:8420", "CHOIR_PORT_8420_TCP": "tcp://10.0.0.1:8420",
        "CHOIR_PORT_8420_TCP_ADDR": "10.0.0.1", "CHOIR_DB_PORT_5432_TCP_PROTO": "tcp",
    }  # fmt: skip
    ours = {"CHOIR_TEST_SEED": "1", "CHOIR_POLICY__LEDGER__CHECKPOINT_S": "1"}
    found = load(tmp_path, environment=kubernetes | ours | {"CHOIRMASTER": "x"})
    found.must_know_all()


def test_every_name_that_our_programs_read_is_known() -> None:
    """Whatever stands in a program of ours in quotes, as a name in an environment does."""
    root = Path(__file__).parents[2]
    programs = [path for place in ("src", "examples", "auditor", "tools") for path in (root / place).rglob("*.py")]
    quoted = re.compile(r"""["'](CHOIR_[A-Z_]*[A-Z])["']""")
    found = {name for path in programs for name in quoted.findall(path.read_text(encoding="utf-8"))}
    found |= {f"CHOIR_{name.upper()}" for name in profiles._NAMES - {"task", "model"}}
    assert {"CHOIR_HOME", "CHOIR_PROVIDER_HOME", "CHOIR_WORKER_DATABASE", "CHOIR_OUTPUT_FILE"} <= found
    assert unknown_variables(dict.fromkeys(found - {"CHOIR_DATABASE"}, "")) == ()  # that one is a beginning of names


def test_a_home_that_is_no_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="is not a folder"):
        load_settings({}, {"CHOIR_HOME": "/etc/passwd"})
    assert load_settings({}, {"CHOIR_HOME": str(tmp_path / "not" / "yet")}).home == tmp_path / "not" / "yet"


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "choir.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(Invalid):
        load(tmp_path)


def test_a_file_may_hold_numbers_and_policy(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        "processes = 4\n[policy.ledger]\nbatch_entries_max = 7\ntext_chars_max = 50",
        {"CHOIR_POLICY__LEDGER__BATCH_ENTRIES_MAX": "9", "CHOIR_POLICY__NODE__TASK_LEASE_S": "5"},
    )
    assert found.processes == 4
    assert found.policy_overrides == {
        "ledger.batch_entries_max": "9", "ledger.text_chars_max": "50", "node.task_lease_s": "5",
    }  # fmt: skip


def test_the_home_is_where_it_is_said_to_be(tmp_path: Path) -> None:
    assert load(tmp_path).home == tmp_path
    assert load_settings({"home": str(tmp_path / "flag")}, {}).home == tmp_path / "flag"
    assert load_settings({}, {"CHOIR_HOME": "~/somewhere"}).home == Path("~/somewhere").expanduser()
    assert load_settings({}, {"CHOIR_HOME": "relative"}).home.is_absolute()
    assert load(tmp_path).node_key_file == tmp_path / "node.key"
    assert load(tmp_path, node_key_file="~/k").node_key_file == Path("~/k").expanduser()


@pytest.mark.parametrize(
    ("bind", "host", "node"),
    [
        ("127.0.0.1:8420", "127.0.0.1", "http://127.0.0.1:8420"),
        ("0.0.0.0:80", "0.0.0.0", "http://localhost:80"),  # noqa: S104 - only read
        ("[::]:80", "::", "http://localhost:80"),
        ("[::1]:80", "::1", "http://[::1]:80"),
    ],
)
def test_the_address_of_the_node_follows_from_where_it_listens(tmp_path: Path, bind: str, host: str, node: str) -> None:
    found = load(tmp_path, bind=bind)
    assert (found.host, found.node) == (host, node)
    assert load(tmp_path, bind=bind, node="https://far/").node == "https://far"


def test_the_public_address_follows_the_port_by_a_name_that_passkeys_accept(tmp_path: Path) -> None:
    assert load(tmp_path).public_url == "http://localhost:8420"
    assert load(tmp_path, bind="127.0.0.1:9000").public_url == "http://localhost:9000"
    assert load(tmp_path, bind="[::1]:9000", public_url="").public_url == "http://localhost:9000"
    assert load(tmp_path, bind="127.0.0.1:9000", public_url="https://far/").public_url == "https://far"


def test_a_database_of_ones_own_replaces_the_embedded_one(tmp_path: Path) -> None:
    assert load(tmp_path).embedded
    assert not load(tmp_path, database_url=SECRET).embedded
