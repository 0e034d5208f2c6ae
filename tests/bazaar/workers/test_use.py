"""What models are used is counted at the proxy, kept over restarts, and limited per day and job."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from choir.bazaar.contracts import PatchGenResult, TokenUsage
from choir.bazaar.policy import WorkersPolicy
from choir.bazaar.workers.agents import CommandWorker
from choir.bazaar.workers.shop import Workshop
from choir.bazaar.workers.use import FILE, JobMeter, Spent, UnreadableUse, UseBook
from choir.foundation.clock import MICROSECONDS, Clock
from choir.sandbox.egress.model import Credential, EgressRule
from tests.bazaar.verification.scene import Repository
from tests.bazaar.workers.scene import done_by, patch_order, shell
from tests.model_server import CACHED_TOKENS, INPUT_TOKENS, MODEL_KEY, OUTPUT_TOKENS, Turn, playing

DAY_US = 86_400 * MICROSECONDS
EACH = INPUT_TOKENS + CACHED_TOKENS + OUTPUT_TOKENS


class SetClock(Clock):
    def __init__(self, now_us: int) -> None:
        self.us = now_us

    def now_us(self) -> int:
        return self.us


def passed(meter: JobMeter, *pieces: bytes, sent: int = 10_000, received: int = 10_000) -> None:
    tap = meter.tap()
    for piece in pieces:
        tap.take(piece)
    tap.close(sent, received)


def test_the_day_outlives_a_restart_and_ends_by_the_clock(tmp_path: Path) -> None:
    clock = SetClock(1_700_000_000 * MICROSECONDS)
    policy = WorkersPolicy(model_tokens_day_max=1_000, model_tokens_job_max=600, model_price_in=3_000)
    book = UseBook(tmp_path, policy, clock)
    book.count("job_a", TokenUsage(500, 99))
    assert book.refusal("job_a") == ""
    book.count("job_a", TokenUsage(0, 1))
    assert book.refusal("job_a") == "the provider's limit of model tokens per job is reached (600 of 600)"
    assert book.refusal("job_b") == book.refusal() == ""
    again = UseBook(tmp_path, policy, clock)
    assert again.today() == Spent(600, 1_500)
    again.count("job_b", TokenUsage(400))
    assert "tokens per day is reached (1000 of 1000)" in again.refusal()
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    clock.us += DAY_US
    assert UseBook(tmp_path, policy, clock).refusal() == ""
    assert UseBook(tmp_path, policy, clock).of_job("job_a").tokens == 600
    clock.us -= 5 * DAY_US  # a clock that goes back begins no new day
    later = UseBook(tmp_path, policy, clock)
    assert "tokens per day is reached" in later.refusal()


def test_money_is_limited_too(tmp_path: Path) -> None:
    policy = WorkersPolicy(model_price_in=3_000, model_price_out=15_000, model_cost_job_max=100, model_cost_day_max=150)
    book = UseBook(tmp_path, policy)
    book.count("job_a", TokenUsage(20, 2, 1, 1))  # 66 + 30 micro-dollars
    assert book.of_job("job_a").cost == 96
    assert book.refusal("job_a") == ""
    book.count("job_a", TokenUsage(1, 1))
    assert "cost per job" in book.refusal("job_a")
    book.count("job_b", TokenUsage(12))
    assert "cost per day" in book.refusal("job_b")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"day": "x"}', '{"day": "x", "tokens": 1, "cost": 0, "jobs": {"a": 1}}']
)
def test_a_book_that_cannot_be_read_is_no_empty_book(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(UnreadableUse):
        UseBook(tmp_path, WorkersPolicy())


def test_numbers_are_found_in_both_protocols_whole_and_cut_anywhere() -> None:
    openai = json.dumps({"usage": {"prompt_tokens": 50, "completion_tokens": 7, "x": {"cached_tokens": 20}}}).encode()
    start, end = b'data: {"usage":{"input_tokens":9,"output_tokens":1}}\n', b'data: {"usage":{"output_tokens":44}}\n'
    for text, usage in ((openai, TokenUsage(30, 7, 20)), (start + end, TokenUsage(9, 44))):
        for at in range(len(text)):
            meter = UseBook(None, WorkersPolicy()).meter("job_a")
            passed(meter, text[:at], text[at:])
            assert meter.usage == usage, at


def test_nobody_uses_up_a_day_with_words() -> None:
    meter = UseBook(None, WorkersPolicy()).meter("job_a")
    passed(meter, b'{"input": {"output_tokens": 999999999999}, "usage": {"input_tokens": 5}} ', sent=80, received=120)
    assert meter.usage == TokenUsage(5, 120)
    meter = UseBook(None, WorkersPolicy()).meter("job_a")
    passed(meter, rb'{"text": "\"output_tokens\": 77777 ", "usage": {"output_tokens": 3}}')
    assert meter.usage == TokenUsage(0, 3)
    silent = UseBook(None, WorkersPolicy()).meter("job_a")
    passed(silent, b"hello", sent=400, received=80)
    assert silent.usage == TokenUsage(100, 20)


def asking(times: int, port: int) -> str:
    """An agent that asks the model so often, each time with a kilobyte."""
    fill = "$(printf 'a%.0s' $(seq 900))"
    body = f"""'{{{{"text": "'"{fill}"'"}}}}'"""
    ask = f"curl -s -o /dev/null -w '%{{{{http_code}}}}\\n' -d {body} http://localhost:{port}/v1/chat/completions"
    return "sed -i 's/a - b/a + b/' calc.py; " + "; ".join([ask] * times)


@pytest.mark.parametrize(
    ("limits", "context", "why"),
    [
        ({"model_tokens_job_max": EACH + 1}, 0, "tokens per job"),
        ({}, INPUT_TOKENS, "the order allows a context"),
    ],
)
def test_the_proxy_keeps_the_limits_of_provider_and_order(
    shop: Workshop, repository: Repository, tmp_path: Path, limits: dict[str, int], context: int, why: str
) -> None:
    book = UseBook(tmp_path, WorkersPolicy(**limits))
    with playing(lambda _: Turn("hello"), refusals=0) as server:
        key = Credential("Authorization", f"Bearer {MODEL_KEY}")
        rule = EgressRule("localhost", ports=(server.port,), methods=("POST",), private=True, credential=key)
        profile = shell(asking(4, server.port), egress=(rule,))
        order = patch_order(repository, max_context_tokens=context)
        outcome = done_by(CommandWorker(shop, profile, book=book), order)
        answered = len(server.asked)
    assert outcome.error is None
    assert outcome.trajectory.count(b"\na: 200 ts=") == answered == (1 if context else 2)
    assert outcome.trajectory.count(b"\na: 403 ts=") == 4 - answered
    assert book.of_job(order.job).tokens == answered * EACH
    assert isinstance(outcome.result, PatchGenResult)
    assert outcome.result.usage == TokenUsage(
        answered * INPUT_TOKENS, answered * OUTPUT_TOKENS, answered * CACHED_TOKENS
    )
    assert f"tokens_in={answered * (EACH - OUTPUT_TOKENS)} ".encode() in outcome.trajectory
    assert why in (book.meter(order.job).refusal() or "the order allows a context")
