"""Settings: flag over environment over file over default; each knows its origin; secrets stay hidden."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from choir.foundation.errors import Invalid
from choir.foundation.settings import load_settings
from tests.operations.nodes import NodeUnderTest
from tests.storage.servers import ordinary_uid, root_only


def shown(node: NodeUnderTest, *flags: str, **env: str) -> dict[str, dict[str, Any]]:
    done = node.run("config", "show", "--json", *flags, env=env)
    assert done.code == 0, done.err
    return {item["name"]: item for item in done.json}


def write_file(node: NodeUnderTest, text: str) -> str:
    node.home.mkdir(exist_ok=True)
    path = node.home / "choir.toml"
    path.write_text(text)
    return str(path)


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(node: NodeUnderTest) -> None:
    path = write_file(node, 'processes = 3\nmode = "production"\npublic_url = "https://choir.example"\n')
    found = shown(node, CHOIR_PROCESSES="5")
    assert (found["processes"]["value"], found["processes"]["origin"]) == ("5", "environment CHOIR_PROCESSES")
    assert (found["mode"]["value"], found["mode"]["origin"]) == ("production", path)
    assert found["public_url"]["value"] == "https://choir.example"
    assert (found["node_key_file"]["value"], found["node_key_file"]["origin"]) == ("", "default")
    assert found["home"]["value"] == str(node.home)


def test_a_flag_wins_over_everything(node: NodeUnderTest) -> None:
    found = shown(node, "--home", str(node.temporary / "elsewhere"))
    assert found["home"]["value"] == str(node.temporary / "elsewhere")
    assert found["home"]["origin"] == "flag"


def test_keys_follow_the_home_folder_and_it_is_said_where_they_are(node: NodeUnderTest) -> None:
    found = shown(node, XDG_CONFIG_HOME="/config")
    assert (found["provider_home"]["value"], found["provider_home"]["origin"]) == (f"{node.home}/providers", "home")
    assert found["buyers"]["value"] == str(node.home / "buyers")
    assert (found["logins"]["value"], found["logins"]["origin"]) == (
        "/config/choir/logins",
        "environment XDG_CONFIG_HOME",
    )
    moved = shown(node, CHOIR_PROVIDER_HOME="/stall")["provider_home"]
    assert (moved["value"], moved["origin"]) == ("/stall", "environment CHOIR_PROVIDER_HOME")


def test_what_nodes_were_seen_with_is_named_too(node: NodeUnderTest) -> None:
    found = shown(node, XDG_CONFIG_HOME="/config", CHOIR_MDOE="production")  # looked up where something is mistyped
    assert (found["nodes"]["value"], found["nodes"]["origin"]) == (
        "/config/choir/nodes",
        "environment XDG_CONFIG_HOME",
    )


def test_commands_that_only_ask_a_node_speak_of_a_mistyped_setting(node: NodeUnderTest) -> None:
    asked = node.run("whoami", env={"CHOIR_NDOE": "http://127.0.0.1:9"})
    assert asked.code == 3
    assert asked.err.startswith("Warning: CHOIR_NDOE in the environment is not a setting (did you mean CHOIR_NODE?).\n")


@root_only
def test_another_users_home_is_named_as_such(node: NodeUnderTest) -> None:
    node.home.mkdir(mode=0o700)
    node.home.parent.chmod(0o755)
    uid = ordinary_uid()
    with pytest.raises(Invalid, match=f"you may not read {node.home}, which belongs to root"), as_account(uid):
        load_settings({"home": str(node.home)}, {})


@contextmanager
def as_account(uid: int) -> Iterator[None]:
    """For as long as it takes to look."""
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


def test_secrets_are_never_shown(node: NodeUnderTest) -> None:
    secrets = {
        "CHOIR_TOKEN": "op_hidden",
        "CHOIR_NODE_KEY": "ab" * 32,
        "CHOIR_DATABASE_URL": "postgresql://app:hidden@db/choir",
        "CHOIR_DATABASE_OWNER_URL": "postgresql://owner:hidden@db/choir",
    }
    for done in (node.run("config", "show", env=secrets), node.run("config", "show", "--json", env=secrets)):
        assert done.code == 0
        assert "hidden" not in done.out + done.err
        assert "ab" * 32 not in done.out
        assert "(set)" in done.out


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("CHOIR_BIND", "8420", "write it like 127.0.0.1:8420"),
        ("CHOIR_BIND", "127.0.0.1:99999", "write it like 127.0.0.1:8420"),
        ("CHOIR_PROCESSES", "0", "a number from 1 to 64"),
        ("CHOIR_PROCESSES", "many", "a number from 1 to 64"),
        ("CHOIR_MODE", "test", "dev or production"),
        ("CHOIR_MDOE", "production", "not a setting (did you mean CHOIR_MODE?)"),
        ("CHOIR_HOME", "/etc/passwd", "/etc/passwd is not a folder"),
        ("CHOIR_LOG_FORMAT", "xml", "json, text or auto"),
        ("CHOIR_POLICY__NODE__NO_SUCH_THING", "1", "no_such_thing"),
        ("CHOIR_POLICY__NODE__REQUEST_S_MAX", "100000", "node.request_s_max"),
        ("CHOIR_POLICY__NODE__REQUEST_S_MAX", "soon", "node.request_s_max"),
        ("CHOIR_DATABASE_URL", "nonsense-with-hush", "postgresql://"),
        ("CHOIR_DATABASE_URL", "postgresql://app:hush@127.0.0.1:9/choir", "The database is not available"),
        ("CHOIR_NODE_KEY", "hush", "key"),
        ("CHOIR_NODE_KEY_FILE", "/dev/null/x", "The node's key could not be created at /dev/null/x"),
        ("CHOIR_NODE_KEY_COMMAND", "false", "with code 1"),
        ("CHOIR_NODE_KEY_COMMAND", "/nowhere/at-all", "the key command"),
        ("CHOIR_BIND", "256.1.1.1:8420", "256.1.1.1:8420 cannot be used"),
        ("CHOIR_HOME", "/proc/nowhere", "/proc/nowhere cannot be used"),
        ("CHOIR_HOME", "/dev/null/x", "/dev/null/x cannot be used"),
    ],
)
def test_a_bad_setting_is_named_in_a_sentence(node: NodeUnderTest, variable: str, value: str, told: str) -> None:
    done = node.run("up", env={variable: value})
    assert done.code in (1, 2), done.err
    assert told in done.err
    assert "hush" not in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("bind = ", "it is not TOML"),
        ("colour = 'red'", "'colour' is not a setting"),
        ("policy = 3", "policy must be a table"),
        ("[policy.node]\nrequest_s_max = 0", "node.request_s_max"),
        ("processes = true", "a number from 1 to 64"),
    ],
)
def test_a_bad_file_is_named_in_a_sentence(node: NodeUnderTest, text: str, told: str) -> None:
    write_file(node, text)
    done = node.run("up")
    assert done.code == 1
    assert told in done.err
    assert "Traceback" not in done.err


def test_a_file_that_is_no_text_or_no_file_is_named(node: NodeUnderTest) -> None:
    path = write_file(node, "")
    (node.home / "choir.toml").write_bytes(b"\xff\xfe")
    assert path in node.run("status").err
    (node.home / "choir.toml").unlink()
    (node.home / "choir.toml").mkdir()
    done = node.run("status")
    assert done.code == 1
    assert f"{path} is not valid: is a directory." in done.err


def test_the_file_can_hold_everything_that_a_node_needs(node: NodeUnderTest) -> None:
    write_file(node, f'bind = "127.0.0.1:{node.port}"\nprocesses = 2\n[policy.ledger]\nbatch_entries_max = 5\n')
    node.up()
    assert len(node.workers()) == 2
    with node.client() as client:
        values = {item.name: item.value for item in client.policy().values}
    assert values["ledger.batch_entries_max"] == 5
    assert "batch_entries_max = 5" in node.run("policy", "explain", "ledger.batch_entries_max").out
