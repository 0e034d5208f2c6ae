"""The story itself, act by act."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from choir.doors.demo import books, knowledge, work
from choir.doors.demo.stage import Stage
from choir.foundation.policy import load
from choir.policies import default_policy
from choir.sandbox.readiness import sandbox_missing


def play(stage: Stage, cleanup: ExitStack) -> dict[str, Any]:
    """All acts, or those that are left; a provider works on until `cleanup`. Says what came of it."""
    why = sandbox_missing(stage.settings, load(default_policy(), stage.settings.policy_overrides))
    if stage.record.outcome is not None:
        if not why:
            cleanup.enter_context(work.providers(stage, again=True))
        return stage.record.outcome
    act, sellers = stage.bill.act, None if why else cleanup.enter_context(work.providers(stage))
    with act("An article on sources is published, and challenged"):
        knowledge.write_first(stage)
        knowledge.challenge_first(stage)
    if sellers is None:
        stage.bill.say(f"No work is played, because this machine cannot verify any. {why}")
    else:
        with act("Work is ordered, done, verified and paid; a dishonest delivery is refused"):
            sellers.ready()
            work.buy(stage)
            sellers.send_the_dishonest_home()
    with act("Another article cites the first, and pays it"):
        knowledge.cite_and_pay(stage)
        knowledge.let_it_vest(stage)
    with act("The books are verified"):
        found = {"ledger": books.verify(stage), "proof": books.prove_citation(stage), "totals": books.totals(stage)}
    stage.record.finish({**found, "worked": not why})
    return {**found, "worked": not why}
