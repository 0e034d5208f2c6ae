"""A skill that an order names: its worker finds it, can read and run it, and cannot change it."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from choir.bazaar.contracts import SkillFile, SkillFolder
from choir.bazaar.skills.model import skill_id
from choir.bazaar.workers.agents import CommandWorker
from choir.bazaar.workers.model import WorkOrder
from choir.bazaar.workers.profiles import task
from choir.bazaar.workers.shop import Workshop
from tests.bazaar.verification.scene import Repository
from tests.bazaar.workers.scene import done_by, patch_order, shell

FOLDER = SkillFolder(
    (
        SkillFile("SKILL.md", b"Run tools/mend."),
        SkillFile("tools/mend", b"#!/bin/sh\nsed -i 's/a - b/a + b/' calc.py\n", executable=True),
    )
)


def named(repository: Repository, skill: SkillFolder | None) -> WorkOrder:
    plain = patch_order(repository)
    terms = replace(plain.request.terms, skill=skill_id(UUID(int=7)))
    return replace(plain, request=replace(plain.request, terms=terms), skill=skill)


def test_a_worker_reads_and_runs_the_skill_and_cannot_change_it(shop: Workshop, repository: Repository) -> None:
    hostile = """
    test "$CHOIR_SKILL" = /skill && grep -q 'Run tools' /skill/SKILL.md && /skill/tools/mend
    echo no > /skill/SKILL.md && touch changed.txt
    rm -f /skill/tools/mend && touch changed.txt
    touch /skill/new && touch changed.txt
    chmod 777 /skill/SKILL.md && touch changed.txt
    true
    """
    outcome = done_by(CommandWorker(shop, shell(hostile, self_check=True, with_pytest=True)), named(repository, FOLDER))
    assert outcome.error is None
    assert b"+    return a + b\n" in outcome.artifact
    assert b"changed.txt" not in outcome.artifact
    assert b"SKILL.md" not in outcome.artifact  # it is no part of the work
    assert FOLDER.hash.encode() in outcome.trajectory


def test_the_task_says_where_the_skill_is(repository: Repository) -> None:
    assert "/skill/SKILL.md" in task(named(repository, FOLDER).request)
    assert "/skill" not in task(patch_order(repository).request)


def test_without_one_there_is_no_such_folder(shop: Workshop, repository: Repository) -> None:
    script = "test ! -e /skill && test -z \"$CHOIR_SKILL\" && sed -i 's/a - b/a + b/' calc.py"
    outcome = done_by(CommandWorker(shop, shell(script)), patch_order(repository))
    assert outcome.error is None
