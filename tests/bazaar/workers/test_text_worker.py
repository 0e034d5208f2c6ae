"""The text worker against a model that plays a script: asked again, counted, limited, and silent about keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from choir.bazaar.contracts import TextGenRequest, TextGenResult, TokenUsage
from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import WorkersPolicy
from choir.bazaar.workers.catalogue import ModelChoice, workers
from choir.bazaar.workers.model import NotDone, SecretInside, Stopped
from choir.bazaar.workers.profiles import BadProfile
from choir.bazaar.workers.shop import Workshop
from choir.bazaar.workers.text_worker import Endpoint, TextWorker
from choir.bazaar.workers.use import UseBook
from choir.sandbox.service import Sandboxes
from tests.bazaar.verification.scene import TERMS
from tests.bazaar.workers.scene import done_by, order_of
from tests.model_server import CACHED_TOKENS, INPUT_TOKENS, MODEL_KEY, OUTPUT_TOKENS, Script, Turn, playing

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
QUICK = {"hand_in_s": 0, "model_pause_s_max": 1}


@pytest.fixture
def small(sandboxes: Sandboxes, tmp_path: Path) -> Iterator[Workshop]:
    with Workshop(sandboxes, tmp_path / "shop", WorkersPolicy(**QUICK), sandbox=sandboxes.policy) as found:
        yield found


def request(**changes: object) -> TextGenRequest:
    return TextGenRequest(**{"prompt": "Say a number.", "terms": TERMS, "max_tokens": 50} | changes)  # type: ignore[arg-type]


def test_a_text_of_a_shape_is_asked_for_until_it_has_it(small: Workshop) -> None:
    texts = ["seven", '{"n": "seven"}', '```json\n{"n": 7}\n```']
    with playing(
        lambda asked: Turn(texts[asked.turns + (1 if "not match" in asked.text else 0)], thought="hm")
    ) as server:
        worker = TextWorker(small, Endpoint(f"{server.url}/v1", "m-1", MODEL_KEY))
        outcome = done_by(worker, order_of(JobType.TEXT_GEN, request(schema=SCHEMA, system="Be short.")))
        asked = server.asked
    assert outcome.error is None
    assert json.loads(outcome.artifact) == {"n": 7}
    assert isinstance(outcome.result, TextGenResult)
    assert outcome.result.model == "m-1"
    assert outcome.result.usage == TokenUsage(3 * INPUT_TOKENS, 3 * OUTPUT_TOKENS, 3 * CACHED_TOKENS)
    assert len(asked) == 4  # one was refused for now
    assert asked[-1].body["messages"][0] == {"role": "system", "content": "Be short."}
    assert "not JSON" in asked[2].text
    assert asked[0].body["max_tokens"] == 50
    assert b"\nth: hm sig=- " in outcome.trajectory
    assert MODEL_KEY.encode() not in outcome.trajectory


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (lambda _: Turn("never JSON"), "asked 3 times, and The text is not JSON"),
        (lambda _: Turn(""), "answered without a text"),
    ],
)
def test_what_the_node_would_refuse_is_not_handed_in(small: Workshop, script: Script, why: str) -> None:
    with playing(script, refusals=0) as server:
        worker = TextWorker(small, Endpoint(f"{server.url}/v1", "m-1", MODEL_KEY))
        outcome = done_by(worker, order_of(JobType.TEXT_GEN, request(schema=SCHEMA)))
        assert len(server.asked) <= 3
    assert isinstance(outcome.error, NotDone)
    assert why in str(outcome.error)
    assert outcome.artifact == b""


def test_errors_say_no_more_than_a_status(small: Workshop) -> None:
    with playing(lambda _: Turn("x"), refusals=0, key="another") as server:
        worker = TextWorker(small, Endpoint(f"{server.url}/v1", "m-1", MODEL_KEY))
        outcome = done_by(worker, order_of(JobType.TEXT_GEN, request()))
        assert str(outcome.error) == "The work was not done: the model's server answered 401."
        busy = TextWorker(small, Endpoint(f"{server.url}/v2", "m-1", MODEL_KEY))
        assert "answered 404" in str(done_by(busy, order_of(JobType.TEXT_GEN, request())).error)
    gone = TextWorker(small, Endpoint(server.url, "m-1", MODEL_KEY))
    assert "no model's server answered" in str(done_by(gone, order_of(JobType.TEXT_GEN, request())).error)
    assert MODEL_KEY not in repr(gone.endpoint)


def test_a_text_with_the_key_in_it_is_not_handed_in(small: Workshop) -> None:
    with playing(lambda _: Turn(f"My key is {MODEL_KEY}"), refusals=0) as server:
        worker = TextWorker(small, Endpoint(f"{server.url}/v1", "m-1", MODEL_KEY))
        outcome = done_by(worker, order_of(JobType.TEXT_GEN, request()))
    assert isinstance(outcome.error, SecretInside)
    assert MODEL_KEY.encode() not in outcome.trajectory


def test_the_providers_limits_are_kept(small: Workshop, tmp_path: Path) -> None:
    book = UseBook(tmp_path, WorkersPolicy(model_tokens_day_max=200))
    with playing(lambda _: Turn("Seven."), refusals=0) as server:
        worker = TextWorker(small, Endpoint(f"{server.url}/v1", "m-1", MODEL_KEY), book)
        assert done_by(worker, order_of(JobType.TEXT_GEN, request(max_tokens=999))).error is None
        assert server.asked[0].body["max_tokens"] < 200  # not more than is left of the day
        again = done_by(worker, order_of(JobType.TEXT_GEN, request(prompt="x" * 900)))
        assert "leaves no room" in str(again.error)
        assert worker.problem() == ""
        assert done_by(worker, order_of(JobType.TEXT_GEN, request())).error is None
        assert "tokens per day is reached" in worker.problem()
        assert "tokens per day is reached" in str(done_by(worker, order_of(JobType.TEXT_GEN, request())).error)
        assert len(server.asked) == 2


def test_a_job_that_is_called_off_does_not_wait_for_a_model(small: Workshop) -> None:
    with playing(lambda _: Turn("x"), refusals=100) as server:
        worker = TextWorker(small, Endpoint(f"{server.url}/v1", "m-1", MODEL_KEY))
        outcome = done_by(worker, order_of(JobType.TEXT_GEN, request()), lambda: bool(server.asked))
    assert isinstance(outcome.error, Stopped)


def test_what_the_worker_needs_is_said(small: Workshop) -> None:
    for choice in (
        ModelChoice(),
        ModelChoice("m"),
        ModelChoice("m", endpoint="ftp://x"),
        ModelChoice("m", endpoint="http://me:secret@x/v1"),
        ModelChoice("m", endpoint="http://x/v1", key_variable="NOT_SET"),
    ):
        with pytest.raises(BadProfile) as refused:
            workers(["text"], small, {}, choice)
        assert "secret" not in str(refused.value)
    (made,) = workers(["text"], small, {"OPENAI_API_KEY": "sk-usual-key"}, ModelChoice("m", endpoint="http://x/v1"))
    assert isinstance(made, TextWorker)
    assert made.endpoint.key == ""  # the usual key is for the usual address
