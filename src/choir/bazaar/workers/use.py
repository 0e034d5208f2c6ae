"""What models are used for jobs, counted, within the provider's own limits per day and job.

The proxy counts for agents, by what the model's server says in its answers; where it says nothing, by the bytes that
passed. The text worker counts its own requests. Limits are policy: `workers.model_tokens_day_max` and its neighbours.

Guarantees: what was counted is in the provider's folder before the next request is allowed, so that a restart begins
no new day; a book that cannot be read is an error and not an empty one; what an answer says about its use never counts
for more tokens than the bytes that were sent and received, so that nobody can use up a provider's day with words. One
request may overrun a limit by its own size, as nobody knows that before.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from choir.bazaar.contracts import TokenUsage
from choir.bazaar.policy import WorkersPolicy
from choir.foundation.clock import Clock, SystemClock, format_time
from choir.foundation.errors import Unavailable

FILE = "model-use.json"
_JOBS_KEPT = 1_000
_BYTES_PER_TOKEN = 4  # of English and of code, where the server does not say
_TAIL_BYTES = 200  # of a piece, so that a number which two pieces share is found
_COUNT = re.compile(rb'(?<!\\)"(prompt_tokens|input_tokens|completion_tokens|output_tokens|cached_tokens'
                    rb'|cache_read_input_tokens|cache_creation_input_tokens)"\s*:\s*(\d{1,15})(?=\D)')  # fmt: skip


class UnreadableUse(Unavailable):
    code = "worker.use_unreadable"
    sentence = "The record of model use {file} cannot be read: {why}."
    hint = "Without it today's limits cannot be kept. Restore it, or remove it to begin at zero."


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and what they cost."""

    tokens: int = 0
    cost: int = 0  # micro-dollars

    def plus(self, other: Spent) -> Spent:
        return Spent(self.tokens + other.tokens, self.cost + other.cost)


def total(usage: TokenUsage) -> TokenUsage:
    """Read tokens in one number, cached ones among them."""
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return TokenUsage(read, usage.output_tokens)


def add(one: TokenUsage, other: TokenUsage) -> TokenUsage:
    return TokenUsage(
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.cache_read_tokens + other.cache_read_tokens,
        one.cache_write_tokens + other.cache_write_tokens,
    )


class UseBook:
    """One provider's book. Safe to call from many threads."""

    def __init__(self, folder: Path | None, policy: WorkersPolicy, clock: Clock | None = None) -> None:
        self._file = None if folder is None else folder / FILE
        self._policy = policy
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._day = ""
        self._today = Spent()
        self._jobs: dict[str, Spent] = {}
        self._read()

    def today(self) -> Spent:
        with self._lock:
            self._turn()
            return self._today

    def of_job(self, job: str) -> Spent:
        with self._lock:
            return self._jobs.get(job, Spent())

    def refusal(self, job: str = "") -> str:
        """Why no model may be used now (for this job), or nothing."""
        policy = self._policy
        today, mine = self.today(), self.of_job(job) if job else Spent()
        for what, used, most in (
            ("tokens per day", today.tokens, policy.model_tokens_day_max),
            ("cost per day", today.cost, policy.model_cost_day_max),
            ("tokens per job", mine.tokens, policy.model_tokens_job_max),
            ("cost per job", mine.cost, policy.model_cost_job_max),
        ):
            if most and used >= most:
                return f"the provider's limit of model {what} is reached ({used} of {most})"
        return ""

    def tokens_left(self, job: str) -> int | None:
        """Tokens that may still be used for a job now; None: no limit."""
        policy = self._policy
        today, mine = self.today(), self.of_job(job)
        left = [
            most - used
            for used, most in ((today.tokens, policy.model_tokens_day_max), (mine.tokens, policy.model_tokens_job_max))
            if most
        ]
        return max(0, min(left)) if left else None

    def count(self, job: str, usage: TokenUsage) -> None:
        """Write down what a request used."""
        whole = total(usage)
        milli = whole.input_tokens * self._policy.model_price_in + whole.output_tokens * self._policy.model_price_out
        spent = Spent(whole.input_tokens + whole.output_tokens, -(-milli // 1_000))
        with self._lock:
            self._turn()
            self._today = self._today.plus(spent)
            self._jobs[job] = self._jobs.pop(job, Spent()).plus(spent)  # the last used stand last
            while len(self._jobs) > _JOBS_KEPT:
                del self._jobs[next(iter(self._jobs))]
            self._write()

    def meter(self, job: str, context_tokens_max: int = 0) -> JobMeter:
        """What the proxy counts one job with."""
        return JobMeter(self, job, context_tokens_max)

    def _turn(self) -> None:
        """A new day begins at zero; a clock that goes back does not."""
        day = format_time(self._clock.now_us())[:10]
        if day > self._day:
            self._day, self._today = day, Spent()

    def _read(self) -> None:
        if self._file is None or not self._file.exists():
            return
        try:
            kept: dict[str, Any] = json.loads(self._file.read_text())
            self._day = str(kept["day"])
            self._today = Spent(int(kept["tokens"]), int(kept["cost"]))
            self._jobs = {str(job): Spent(int(one[0]), int(one[1])) for job, one in kept["jobs"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise UnreadableUse(file=self._file, why=type(error).__name__) from None

    def _write(self) -> None:
        if self._file is None:
            return
        jobs = {job: [one.tokens, one.cost] for job, one in self._jobs.items()}
        value = {"day": self._day, "tokens": self._today.tokens, "cost": self._today.cost, "jobs": jobs}
        new = self._file.with_suffix(".new")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as file:
            json.dump(value, file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._file)


class JobMeter:
    """Counts for one job, at the proxy."""

    def __init__(self, book: UseBook, job: str, context_tokens_max: int) -> None:
        self._book = book
        self._job = job
        self._context_max = context_tokens_max
        self._largest = 0
        self._lock = threading.Lock()
        self.usage = TokenUsage()

    def refusal(self) -> str:
        if self._context_max and self._largest > self._context_max:
            return f"the order allows a context of {self._context_max} tokens, and the agent used {self._largest}"
        return self._book.refusal(self._job)

    def tap(self) -> UsageTap:
        return UsageTap(self._counted)

    def _counted(self, usage: TokenUsage) -> None:
        with self._lock:
            self._largest = max(self._largest, total(usage).input_tokens)
            self.usage = add(self.usage, usage)
        self._book.count(self._job, usage)


class UsageTap:
    """Finds the usage numbers in one answer, whole or streamed: of each kind the largest that it states."""

    def __init__(self, tell: Callable[[TokenUsage], None]) -> None:
        self._tell = tell
        self._tail = b""
        self._found: dict[bytes, int] = {}

    def take(self, piece: bytes) -> None:
        seen = self._tail + piece
        for name, number in _COUNT.findall(seen):
            self._found[name] = max(self._found.get(name, 0), int(number))
        self._tail = seen[-_TAIL_BYTES:]

    def close(self, sent_bytes: int, received_bytes: int) -> None:
        if received_bytes:
            self._tell(usage_of(self._found, sent_bytes, received_bytes))


def usage_of(found: dict[bytes, int], sent_bytes: int, received_bytes: int) -> TokenUsage:
    """Numbers of either protocol as one record; what is not stated is estimated, what is too much to be true is cut."""
    get = found.get
    if not found:
        return TokenUsage(sent_bytes // _BYTES_PER_TOKEN, received_bytes // _BYTES_PER_TOKEN)
    if b"prompt_tokens" in found:  # OpenAI's, where cached ones are among them
        cached = min(get(b"cached_tokens", 0), found[b"prompt_tokens"])
        usage = TokenUsage(found[b"prompt_tokens"] - cached, get(b"completion_tokens", 0), cached)
    else:
        read, written = get(b"cache_read_input_tokens", 0), get(b"cache_creation_input_tokens", 0)
        usage = TokenUsage(get(b"input_tokens", 0), get(b"output_tokens", 0), read, written)
    return replace(
        usage,
        input_tokens=min(usage.input_tokens, sent_bytes),
        output_tokens=min(usage.output_tokens, received_bytes),
        cache_read_tokens=min(usage.cache_read_tokens, sent_bytes),
        cache_write_tokens=min(usage.cache_write_tokens, sent_bytes),
    )
