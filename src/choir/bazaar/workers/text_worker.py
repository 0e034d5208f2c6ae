"""The text worker: TextGen by a model behind any OpenAI-compatible address (Ollama, vLLM, llama.cpp, a gateway).

The order is a text and no code, so that no sandbox is needed; the request is made by this process. A text that is too
long, too short or not of the ordered shape is asked for again, with the reason, a few times (`workers.text_asks_max`).

Guarantees: the key is sent to the endpoint and shown nowhere; no redirect is followed; an answer is read up to a limit
and believed in nothing; nothing is handed in that the node would refuse; what is used is counted before the next
request, within the provider's own limits.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from choir.bazaar.contracts import TextGenRequest, TextGenResult, TokenUsage
from choir.bazaar.jobs.model import JobType
from choir.bazaar.trajectories.writer import TrajectoryWriter
from choir.bazaar.verification.model import Delivery, Order
from choir.bazaar.workers.model import IsCancelled, NotDone, NotMine, SecretInside, Stopped, WorkOrder, WorkProduct
from choir.bazaar.workers.reports import as_dict, blocks, flat, openai_usage, read_json
from choir.bazaar.workers.shop import Workshop
from choir.bazaar.workers.use import UseBook, add, total
from choir.foundation.canonical import bytes_hash
from choir.foundation.words import count

if TYPE_CHECKING:
    import httpx

_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504, 529})  # refused for now
_TICK_S = 0.1
_BYTES_PER_TOKEN = 4
_FENCE = "```"
Messages = list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is; `url` ends before `/chat/completions`."""

    url: str
    model: str
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    thought: str
    usage: TokenUsage


class TextWorker:
    """TextGen."""

    name = "text"
    types = frozenset({JobType.TEXT_GEN})

    def __init__(self, shop: Workshop, endpoint: Endpoint, book: UseBook | None = None) -> None:
        self._shop = shop
        self._policy = shop.policy
        self.endpoint = endpoint
        self._book = book or UseBook(None, shop.policy, shop.clock)

    def problem(self) -> str:
        return self._book.refusal()

    def work(self, order: WorkOrder, trajectory: TrajectoryWriter, cancelled: IsCancelled) -> WorkProduct:
        request = order.request
        if not isinstance(request, TextGenRequest):
            raise NotMine(worker=self.name, why="it only writes texts")
        trajectory.withhold((self.endpoint.key,))
        asked = messages_of(request)
        for message in asked:
            trajectory.user(message["content"])
        used, why = TokenUsage(), ""
        said = asked
        for _ in range(self._policy.text_asks_max):
            answer = self._ask(order, said, cancelled)
            used = add(used, answer.usage)
            if answer.thought:
                trajectory.thought(answer.thought)
            trajectory.answer(answer.text)
            made = _product(bare(answer.text, request), self.endpoint.model, used)
            why = self._fault(order, made, cancelled)
            if not why:
                return self._kept(made)
            again = f"That was not what was ordered: {why} Give the whole text again, and nothing else."
            trajectory.user(again)
            said = [*asked, {"role": "assistant", "content": answer.text}, {"role": "user", "content": again}]
        raise NotDone(why=f"the model was asked {count(self._policy.text_asks_max, 'time')}, and {why}".rstrip("."))

    def _kept(self, made: WorkProduct) -> WorkProduct:
        if self.endpoint.key and self.endpoint.key.encode() in made.artifact:
            raise SecretInside
        return made

    def _fault(self, order: WorkOrder, made: WorkProduct, cancelled: IsCancelled) -> str:
        """What the node would refuse it for, or nothing."""
        delivery = Delivery(made.artifact, bytes_hash(made.artifact), made.result)
        verdict = self._shop.verifier.verify(Order(order.type, order.request), delivery, cancelled)
        if verdict.passed:
            return ""
        failed = next(check for check in verdict.checks if not check.passed)
        return failed.details or failed.reason

    # --- asking ---

    def _ask(self, order: WorkOrder, said: Messages, cancelled: IsCancelled) -> Answer:
        """One answer; a model that is busy is asked again after a while."""
        body = {"model": self.endpoint.model, "messages": said, "max_tokens": self._room(order, said)}
        data = json.dumps(body).encode()
        for left in range(self._policy.model_tries_max, 0, -1):
            status, pause_s, answer = self._once(order, data, cancelled)
            if status == 200:
                found = read_answer(answer, len(data))
                self._book.count(order.job, found.usage)
                return found
            if status not in _AGAIN or left == 1:
                raise NotDone(why=f"the model's server answered {status}" if status else "no model's server answered")
            _sleep(min(pause_s, self._policy.model_pause_s_max), cancelled)
        raise AssertionError

    def _room(self, order: WorkOrder, said: Messages) -> int:
        """How many tokens may be written: as ordered, within the provider's limits."""
        request = order.request
        assert isinstance(request, TextGenRequest)
        if spent := self._book.refusal(order.job):
            raise NotDone(why=spent)
        left = self._book.tokens_left(order.job)
        if left is None:
            return request.max_tokens
        left -= sum(len(message["content"].encode()) for message in said) // _BYTES_PER_TOKEN
        if left <= 0:
            raise NotDone(why="the provider's limit of model tokens leaves no room for this text")
        return min(request.max_tokens, left)

    def _once(self, order: WorkOrder, data: bytes, cancelled: IsCancelled) -> tuple[int, float, bytes]:
        """A request in a thread of its own, so that a job which is called off does not wait for a model."""
        import httpx

        wait_s = self._shop.wall_s(order, self._policy.model_wait_s_max, "the model")
        found: list[tuple[int, float, bytes]] = []
        client = httpx.Client(timeout=wait_s, follow_redirects=False, trust_env=False)
        thread = threading.Thread(
            target=lambda: found.append(self._post(client, data, time.monotonic() + wait_s)), daemon=True
        )
        thread.start()
        until = time.monotonic() + wait_s
        try:
            while thread.is_alive() and time.monotonic() < until:
                if cancelled():
                    raise Stopped
                thread.join(_TICK_S)
        finally:
            client.close()
        return found[0] if found else (0, 0.0, b"")

    def _post(self, client: httpx.Client, data: bytes, until: float) -> tuple[int, float, bytes]:
        """Status, how long to wait, and the body; status 0 for whatever is no answer."""
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self.endpoint.key:
            headers["Authorization"] = f"Bearer {self.endpoint.key}"
        url = f"{self.endpoint.url.rstrip('/')}/chat/completions"
        body = b""
        try:
            with client.stream("POST", url, content=data, headers=headers) as answer:
                pause_s = _seconds(answer.headers.get("retry-after", ""))
                for piece in answer.iter_bytes():
                    body += piece
                    if len(body) > self._policy.model_answer_bytes_max or time.monotonic() > until:
                        return 0, 0.0, b""
                return answer.status_code, pause_s, body
        except Exception:  # whatever it says may hold the address or more; nobody is told
            return 0, 0.0, b""


def messages_of(request: TextGenRequest) -> Messages:
    """The order as a conversation."""
    asked = [request.prompt]
    if request.schema is not None:
        shape = json.dumps(dict(request.schema), ensure_ascii=False)
        asked.append(f"Answer with JSON alone, without any other text, of this JSON schema:\n{shape}")
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, {"role": "user", "content": "\n\n".join(asked)}]


def bare(text: str, request: TextGenRequest) -> str:
    """A text without the fence that models put around JSON."""
    plain = text.strip()
    if request.schema is None or not plain.startswith(_FENCE) or not plain.endswith(_FENCE):
        return text
    return plain.partition("\n")[2].removesuffix(_FENCE).strip()


def read_answer(data: bytes, sent_bytes: int) -> Answer:
    """An answer of a stranger's server."""
    value = as_dict(read_json(data))
    choice = next(blocks(value.get("choices")), {})
    message = as_dict(choice.get("message"))
    stated = openai_usage(as_dict(value.get("usage")))
    text = flat(message.get("content"))
    if not text.strip():
        raise NotDone(why="the model's server answered without a text")
    guessed = TokenUsage(sent_bytes // _BYTES_PER_TOKEN, len(text.encode()) // _BYTES_PER_TOKEN)
    thought = flat(message.get("reasoning_content") or message.get("reasoning"))
    return Answer(text, thought, guessed if stated == TokenUsage() else stated)


def _product(text: str, model: str, used: TokenUsage) -> WorkProduct:
    data = text.encode("utf-8", "replace")
    whole = total(used)
    result = TextGenResult(model=model, usage=used)
    return WorkProduct(data, result, f"{len(data)} bytes of text", whole.input_tokens, whole.output_tokens)


def _seconds(text: str) -> float:
    return float(text) if text.isascii() and text.isdigit() and len(text) < 6 else 1.0


def _sleep(seconds: float, cancelled: Callable[[], Any]) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if cancelled():
            raise Stopped
        time.sleep(_TICK_S)
