"""Any agent as a command: the diff is ours, whatever the agent does; nothing of it stays; no secret gets through."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

import pytest

from choir.bazaar.contracts import CodeReviewRequest, StructuredReview, TextGenRequest
from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import WorkersPolicy
from choir.bazaar.verification.trees import apply, check_out
from choir.bazaar.workers.agents import CommandWorker
from choir.bazaar.workers.model import SecretInside, Stopped, TimeUp
from choir.bazaar.workers.presets import script
from choir.bazaar.workers.shop import Workshop
from choir.foundation.canonical import bytes_hash
from choir.sandbox.egress.model import Credential, EgressRule
from choir.sandbox.service import Sandboxes
from tests.bazaar.verification.scene import FIXED, TERMS, Repository, git
from tests.bazaar.workers.scene import JOB, done_by, never, order_of, patch_order, shell
from tests.sandbox.test_egress import serve

EXAMPLES = Path(__file__).parents[3] / "examples"
FIX = "sed -i 's/a - b/a + b/' calc.py"


def changed(diff: bytes) -> list[str]:
    return [line[6:].decode() for line in diff.splitlines() if line.startswith((b"+++ b/", b"--- a/"))]


def applied(repository: Repository, diff: bytes, tmp_path: Path) -> Path:
    """A fresh clone of the buyer's repository with the diff applied."""
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repository.bundle), str(clone))
    git(clone, "apply", "-", given=diff)
    return clone


def test_an_agent_changes_files_and_the_diff_is_ours(shop: Workshop, repository: Repository, tmp_path: Path) -> None:
    outcome = done_by(
        CommandWorker(shop, shell(f"echo working; {FIX}", self_check=True, with_pytest=True)), patch_order(repository)
    )
    assert outcome.error is None
    assert (applied(repository, outcome.artifact, tmp_path) / "calc.py").read_text() == FIXED
    assert outcome.claimed == bytes_hash(outcome.artifact)
    assert b"\na: working ts=" in outcome.trajectory
    assert b"[passed] sha256=" in outcome.trajectory  # by the verifier itself
    assert outcome.result is not None
    assert outcome.result.trajectory_id == outcome.signed.hash


def test_the_example_worker_knows_no_answer_by_heart(shop: Workshop, repository: Repository) -> None:
    worker = CommandWorker(shop, script(EXAMPLES / "workers" / "simple_fixer.py"))
    outcome = done_by(worker, patch_order(repository))
    assert outcome.error is None
    assert b"+    return a + b\n" in outcome.artifact


def test_hooks_configuration_and_commits_of_an_agent_count_for_nothing(
    shop: Workshop, repository: Repository, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    hostile = f"""
    {FIX}
    for hook in pre-commit post-checkout fsmonitor-watchman post-index-change; do
      printf '#!/bin/sh\\ntouch {mark}\\n' > .git-hook && chmod +x .git-hook
      cp .git-hook /work/repository.git/hooks/$hook
    done
    rm .git-hook
    git config core.fsmonitor 'touch {mark}'; git config diff.external 'touch {mark}'
    git config filter.evil.clean 'touch {mark}'; git config core.hooksPath /work/repository.git/hooks
    printf '* filter=evil diff=evil\\n' > .gitattributes
    git add -A && git commit -q -m 'all done' && git checkout -q -b other
    mkdir -p nested/.git/hooks && printf '[core]\\nfsmonitor = touch {mark}\\n' > nested/.git/config
    echo 'ref: refs/heads/x' > nested/.git/HEAD; mkdir nested/.git/objects nested/.git/refs; echo x > nested/file
    rm -f .git && mkdir .git && printf '[core]\\nfsmonitor = touch {mark}\\n' > .git/config
    """
    outcome = done_by(CommandWorker(shop, shell(hostile)), patch_order(repository))
    assert outcome.error is None
    assert not mark.exists()
    assert set(changed(outcome.artifact)) == {"calc.py", "nested/file", ".gitattributes"}
    assert b".git/config" not in outcome.artifact
    assert b"+    return a + b" in outcome.artifact


def test_an_agent_that_only_commits_and_resets_is_seen_by_its_files(shop: Workshop, repository: Repository) -> None:
    hostile = f"{FIX}; git commit -qam fix; echo 'more = 1' >> calc.py"
    outcome = done_by(CommandWorker(shop, shell(hostile)), patch_order(repository))
    assert b"+    return a + b" in outcome.artifact
    assert b"+more = 1" in outcome.artifact


def test_litter_and_ignored_files_are_left_out(shop: Workshop, tmp_path: Path) -> None:
    files = {
        "calc.py": "x = 1\n",
        ".gitignore": "dist/\n*.log\n",
        "kept.log": "tracked\n",
        ".coverage": "tracked too\n",
    }
    buyer = Repository.make(tmp_path, files)
    agent = """
    mkdir -p __pycache__ .pytest_cache dist deep/node_modules/x .venv/bin
    touch __pycache__/calc.cpython-311.pyc .pytest_cache/x dist/out debug.log
    touch deep/node_modules/x/i.js .aider.chat.history.md
    ln -s /usr/bin/python3 .venv/bin/python
    echo changed > kept.log; echo changed > .coverage; mkdir -p .github; echo on > .github/ci.yml; echo y > deep/new.py
    """
    outcome = done_by(CommandWorker(shop, shell(agent)), patch_order(buyer))
    assert outcome.error is None
    assert set(changed(outcome.artifact)) == {"kept.log", ".coverage", ".github/ci.yml", "deep/new.py"}


def test_odd_files_come_through_exactly(shop: Workshop, tmp_path: Path) -> None:
    """Attributes of the tree would change line ends on their way into a diff; they have no say."""
    files: dict[str, str | bytes] = {
        "crlf.md": b"one\r\ntwo\r\n",
        "lf.txt": b"one\ntwo\n",
        "bytes.bin": bytes(range(256)),
        "no-end.txt": "no newline",
        ".gitattributes": "*.txt text eol=lf\n*.bin -diff\n",
    }
    buyer = Repository.make(tmp_path, files)
    agent = (
        "printf 'three\\r\\n' >> crlf.md; printf 'three\\r\\n' >> lf.txt; printf '\\377' >> bytes.bin;"
        " printf ' yet' >> no-end.txt; chmod +x no-end.txt"
    )
    outcome = done_by(CommandWorker(shop, shell(agent)), patch_order(buyer))
    assert outcome.error is None
    expected = {
        "crlf.md": b"one\r\ntwo\r\nthree\r\n",
        "lf.txt": b"one\ntwo\nthree\r\n",
        "bytes.bin": bytes(range(256)) + b"\xff",
        "no-end.txt": b"no newline yet",
    }
    base = check_out(shop.runner, buyer.bundle, buyer.commit, tmp_path / "base", never)
    plain, _ = apply(shop.runner, base, outcome.artifact, tmp_path / "after", shop.verification, never)
    assert {name: (plain / name).read_bytes() for name in expected} == expected
    assert (plain / "no-end.txt").stat().st_mode & 0o100


@pytest.mark.parametrize(
    "agent",
    [
        "rm calc.py && ln -s /etc/passwd calc.py",
        "rm calc.py && mkfifo calc.py",
        "rm -rf tests && ln -s / tests && rm words.py && ln -s ../../etc/shadow words.py",
    ],
)
def test_a_file_that_becomes_a_way_out_is_no_deletion(shop: Workshop, repository: Repository, agent: str) -> None:
    outcome = done_by(CommandWorker(shop, shell(agent)), patch_order(repository))
    assert outcome.error is not None
    assert outcome.error.code == "worker.not_done"
    assert "no longer a regular file" in str(outcome.error)
    assert outcome.artifact == b""


@pytest.mark.parametrize(
    "agent",
    ["cd /; rm -rf /work/repository", "seq 12000 | xargs touch", "truncate -s 400M big", "mkdir -p $(seq -s/ 99)"],
)
def test_a_tree_that_cannot_be_brought_out_is_no_patch(shop: Workshop, repository: Repository, agent: str) -> None:
    outcome = done_by(CommandWorker(shop, shell(f"{FIX}; {agent}")), patch_order(repository))
    assert outcome.error is not None
    assert outcome.artifact == b""


def test_a_link_out_brings_nothing_of_the_host(shop: Workshop, repository: Repository) -> None:
    agent = f"{FIX}; ln -s /etc/passwd stolen; ln -s / root; mkdir in && ln -s ../../.. in/up"
    outcome = done_by(CommandWorker(shop, shell(agent)), patch_order(repository))
    assert outcome.error is None
    assert set(changed(outcome.artifact)) == {"calc.py"}


def test_only_named_variables_reach_the_agent_and_secrets_are_withheld(
    shop: Workshop, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHOIR_NODE_KEY", "top-secret-node-key")
    monkeypatch.setenv("AGENT_KEY", "sk-agent-1234567890")
    profile = shell(
        f"env; cat /proc/1/environ | tr '\\0' '\\n'; {FIX}", passed=("AGENT_KEY",), environment=(("COLOUR", "no"),)
    )
    outcome = done_by(CommandWorker(shop, profile), patch_order(repository))
    assert outcome.error is None
    assert b"top-secret-node-key" not in outcome.trajectory
    assert b"CHOIR_NODE_KEY" not in outcome.trajectory
    assert b"sk-agent-1234567890" not in outcome.trajectory
    assert b"AGENT_KEY=[withheld]" in outcome.trajectory
    assert b"COLOUR=no" in outcome.trajectory
    assert f"CHOIR_JOB={JOB}".encode() in outcome.trajectory


def test_a_secret_in_the_patch_is_not_handed_in(shop: Workshop, repository: Repository) -> None:
    worker = CommandWorker(
        shop,
        shell("echo \"key = '$AGENT_KEY'\" >> calc.py", passed=("AGENT_KEY",)),
        {"AGENT_KEY": "sk-agent-1234567890"},
    )
    outcome = done_by(worker, patch_order(repository))
    assert isinstance(outcome.error, SecretInside)
    assert b"sk-agent" not in outcome.trajectory


def test_the_proxy_adds_the_key_and_refuses_other_hosts(shop: Workshop, repository: Repository) -> None:
    server = serve()
    port = server.server_port
    key = Credential("X-Api-Key", "sk-host-side-key")
    other = "curl -s -o /dev/null -w 'other %{{http_code}}\\n' http://example.com/"
    profile = shell(
        f"{FIX}; curl -s http://localhost:{port}/model; echo; " + other,
        egress=(EgressRule("localhost", ports=(port,), private=True, credential=key),),
    )
    outcome = done_by(CommandWorker(shop, profile), patch_order(repository))
    server.shutdown()
    server.server_close()
    assert outcome.error is None
    assert b'"path": "/model"' in outcome.trajectory
    assert b"other 403" in outcome.trajectory
    assert b"GET example.com refused" in outcome.trajectory
    assert b"sk-host-side-key" not in outcome.trajectory


def test_without_hosts_there_is_no_network(shop: Workshop, repository: Repository) -> None:
    agent = f"{FIX}; python3 -c \"import socket; socket.create_connection(('1.1.1.1', 53), 2)\" || echo offline"
    outcome = done_by(CommandWorker(shop, shell(agent)), patch_order(repository))
    assert b"a: offline" in outcome.trajectory


def test_a_flood_of_output_ends_the_agent(sandboxes: Sandboxes, repository: Repository, tmp_path: Path) -> None:
    policy = WorkersPolicy(hand_in_s=0, command_output_bytes=10_000, command_memory_bytes=200_000_000)
    with Workshop(sandboxes, tmp_path, policy, sandbox=sandboxes.policy) as shop:
        outcome = done_by(CommandWorker(shop, shell("yes $(printf 'x%.0s' $(seq 500))")), patch_order(repository))
    assert outcome.error is not None
    assert "exceeded the output limit" in str(outcome.error)
    assert len(outcome.trajectory) < 20_000


def test_an_agent_that_forks_and_holds_is_gone_with_its_job(
    shop: Workshop, sandboxes: Sandboxes, repository: Repository
) -> None:
    """Sessions of their own, closed pipes, ignored signals: none of it outlives the job."""
    word = "choir-held-31415"
    holder = f"import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)  # {word}"
    agent = f'for i in 1 2 3; do setsid python3 -c "{holder}" </dev/null >/dev/null 2>&1 & done; {FIX}; exit 0'
    outcome = done_by(CommandWorker(shop, shell(agent)), patch_order(repository))
    assert outcome.error is None
    assert word not in subprocess.run(["ps", "ax", "-o", "args"], capture_output=True, text=True, check=True).stdout
    assert sandboxes.ls() == []


def test_time_is_up(shop: Workshop, sandboxes: Sandboxes, repository: Repository) -> None:
    began = time.monotonic()
    outcome = done_by(CommandWorker(shop, shell("sleep 600 & sleep 600")), patch_order(repository, seconds=4))
    assert isinstance(outcome.error, TimeUp)
    assert time.monotonic() - began < 30
    assert sandboxes.ls() == []


def test_cancelling_stops_the_agent(shop: Workshop, sandboxes: Sandboxes, repository: Repository) -> None:
    stop = threading.Event()
    threading.Timer(2, stop.set).start()
    outcome = done_by(CommandWorker(shop, shell("sleep 600 & sleep 600")), patch_order(repository), stop.is_set)
    assert isinstance(outcome.error, Stopped)
    assert sandboxes.ls() == []


def test_what_would_be_refused_is_not_handed_in(shop: Workshop, repository: Repository) -> None:
    outcome = done_by(CommandWorker(shop, shell("echo 'y = 1' >> calc.py", self_check=True)), patch_order(repository))
    assert outcome.error is not None
    assert "would be refused" in str(outcome.error)
    outcome = done_by(CommandWorker(shop, shell("exit 3")), patch_order(repository))
    assert str(outcome.error) == "The work was not done: the agent ended with code 3 and changed nothing."


def test_an_agent_writes_a_text_or_a_review(shop: Workshop) -> None:
    text = TextGenRequest("Say hello.", TERMS, max_tokens=50)
    both = frozenset({JobType.TEXT_GEN, JobType.CODE_REVIEW})
    outcome = done_by(
        CommandWorker(shop, shell("cat {task_file}; echo Hello. > {output_file}", types=both)),
        order_of(JobType.TEXT_GEN, text),
    )
    assert outcome.artifact == b"Hello.\n"
    diff = b"--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    review = CodeReviewRequest(bytes_hash(diff), TERMS)
    said = '{{"summary":"It sets x to another number.","approval_status":"approve"}}'
    worker = CommandWorker(shop, shell(f"grep -c '^+x' {{diff_file}}; echo '{said}' > $CHOIR_OUTPUT_FILE", types=both))
    outcome = done_by(worker, order_of(JobType.CODE_REVIEW, review, diff=diff))
    assert outcome.error is None
    assert StructuredReview.from_bytes(outcome.artifact, shop.verification).summary == "It sets x to another number."
    worker = CommandWorker(shop, shell("echo nonsense > {output_file}", types=both))
    assert "cannot be read" in str(done_by(worker, order_of(JobType.CODE_REVIEW, review, diff=diff)).error)
    worker = CommandWorker(shop, shell("true", types=both))
    assert "wrote no output" in str(done_by(worker, order_of(JobType.TEXT_GEN, text)).error)
    assert "does not name" in str(done_by(CommandWorker(shop, shell("true")), order_of(JobType.TEXT_GEN, text)).error)
