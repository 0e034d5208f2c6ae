"""Skills: what can be published, whose name it is, who reads it, and what an order's worker gets."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from choir.bazaar.contracts import BadField, SkillFile, SkillFolder, Terms, TextGenRequest, read_request
from choir.bazaar.jobs.model import JobType
from choir.bazaar.jobs.orders import BadInputs
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.skills.model import (
    SKILL,
    BadSkill,
    NewSkill,
    SkillClosed,
    SkillNameTaken,
    SkillVersionTaken,
    SkillWithdrawn,
    UnknownSkill,
    skill_id,
)
from choir.bazaar.skills.service import Skills
from choir.doors.skills import folders
from choir.foundation.errors import Invalid
from choir.identity.model import Principal
from tests.bazaar.hall import Hall, verdict

POLICY = VerificationPolicy()


def folder(*files: tuple[str, bytes]) -> SkillFolder:
    return SkillFolder(tuple(SkillFile(path, data) for path, data in sorted(files)))


PLAIN = folder(("SKILL.md", b"# Mend"))


def read(*files: tuple[str, str] | tuple[str, str, bool]) -> SkillFolder:
    items = [
        {"path": file[0], "content": base64.b64encode(file[1].encode()).decode(), "executable": len(file) == 3}
        for file in files
    ]
    return SkillFolder.from_json({"files": items}, POLICY)


def publish(hall: Hall, who: Principal, **changed: Any) -> Any:
    asked = {
        "name": "mend",
        "version": "1.0",
        "description": "Mends.",
        "share_bps": None,
        "folder": folder(("SKILL.md", b"#")),
    }
    with hall.tx() as tx:
        return hall.bazaar.skills.publish(tx, who, NewSkill(**(asked | changed)))[0]


# The folder


@pytest.mark.parametrize(
    "files",
    [
        [("README.md", "x")],
        [("SKILL.md", "x"), ("../out", "x")],
        [("/etc/passwd", "x"), ("SKILL.md", "x")],
        [("./SKILL.md", "x")],
        [("SKILL.md", "x"), ("a//b", "x")],
        [("SKILL.md", "x"), (".git/hooks/run", "x")],
        [("SKILL.md", "x"), ("SKILL.md", "y")],
        [("a", "x"), ("SKILL.md", "x")],
        [("SKILL.md", "x"), ("a", "x"), ("a/b", "x")],
        [("SKILL.md", "x"), ("a", "x"), ("A", "x")],
        [("SKILL.md", "x"), ("with\nline", "x")],
        [],
    ],
)
def test_folders_that_could_do_harm_are_refused(files: list[tuple[str, str]]) -> None:
    with pytest.raises(BadField):
        read(*files)


def test_a_folder_has_one_hash_and_survives_the_way() -> None:
    made = folder(("SKILL.md", b"# How"), ("tools/run.sh", b"#!/bin/sh\n"))
    again = SkillFolder.from_bytes(made.to_bytes(), POLICY)
    assert again == made
    assert again.hash == made.hash
    assert folder(("SKILL.md", b"# how")).hash != folder(("SKILL.md", b"# How")).hash


def test_a_folder_is_written_for_everybody_to_read(tmp_path: Path) -> None:
    made = SkillFolder((SkillFile("SKILL.md", b"x"), SkillFile("a/b/run", b"y", executable=True)))
    made.write(tmp_path / "skill")
    assert (tmp_path / "skill" / "a" / "b" / "run").read_bytes() == b"y"
    assert (tmp_path / "skill" / "a" / "b" / "run").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "skill" / "SKILL.md").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "skill" / "a").stat().st_mode & 0o777 == 0o755


def test_a_local_folder_is_read_without_following_links(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text("---\nname: mend\ndescription: How to mend.\n---\n# Mend\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "run").write_text("x")
    (tmp_path / "sub" / "run").chmod(0o755)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("secret")
    found = folders.files_of(tmp_path, 10, 1_000)
    assert [(item["path"], item["executable"]) for item in found] == [("SKILL.md", False), ("sub/run", True)]
    assert folders.description_of(tmp_path) == "How to mend."
    with pytest.raises(Invalid):
        folders.files_of(tmp_path, 1, 1_000)
    with pytest.raises(Invalid):
        folders.files_of(tmp_path, 10, 10)
    (tmp_path / "sub" / "link").symlink_to("/etc/hostname")
    with pytest.raises(Invalid):
        folders.files_of(tmp_path, 10, 1_000)
    (tmp_path / "sub" / "link").unlink()
    (tmp_path / "away").symlink_to("/etc")
    with pytest.raises(Invalid):
        folders.files_of(tmp_path, 10, 1_000)


# Publishing


def test_a_version_is_one_folder_and_a_name_one_creators(hall: Hall) -> None:
    creator, other = hall.person(), hall.person()
    first = publish(hall, creator)
    assert publish(hall, creator) == first
    with pytest.raises(SkillVersionTaken):
        publish(hall, creator, folder=folder(("SKILL.md", b"another")))
    with pytest.raises(SkillVersionTaken):
        publish(hall, creator, share_bps=10)
    with pytest.raises(SkillNameTaken):
        publish(hall, other, version="2.0")
    hall.clock.advance(1)
    second = publish(hall, creator, version="2.0")
    with hall.tx() as tx:
        skills: Skills = hall.bazaar.skills
        assert skills.find(tx, "mend").id == second.id
        assert skills.find(tx, "mend@1.0").id == first.id
        assert skills.find(tx, skill_id(first.id)).id == first.id
        for text in ("mend@3", "other", "skill_nonsense", ""):
            with pytest.raises(UnknownSkill):
                skills.find(tx, text)


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "Mend"}, {"name": ""}, {"name": "a b"}, {"name": "a--b"}, {"name": "x" * 61}, {"version": ""},
        {"version": "1..0"}, {"version": "one two"}, {"description": ""}, {"description": "two\nlines"},
        {"share_bps": 1_501}, {"share_bps": -1}, {"folder": folder(("SKILL.md", b"x" * 2_000_001))},
        {"folder": folder(("SKILL.md", b""))},
        {"folder": folder(("SKILL.md", b"x"), *((f"f{n:03}", b"x") for n in range(200)))},
    ],
)  # fmt: skip
def test_skills_that_cannot_be_are_refused(hall: Hall, changed: dict[str, Any]) -> None:
    with pytest.raises(BadSkill):
        publish(hall, hall.person(), **changed)


def test_a_skill_that_is_withdrawn_is_kept_for_the_orders_that_name_it(hall: Hall) -> None:
    creator, buyer, provider = hall.person(), hall.person(20_000), hall.provider()
    skill = publish(hall, creator)
    job = hall.order(buyer, skill=skill.id, inputs={SKILL: skill.folder}, attempts=1)
    with hall.tx() as tx:
        with pytest.raises(UnknownSkill):
            hall.bazaar.skills.withdraw(tx, buyer, "mend")
        hall.bazaar.skills.withdraw(tx, creator, "mend@1.0")
        with pytest.raises(SkillWithdrawn):
            hall.bazaar.skills.for_order(tx, skill_id(skill.id), known=False)
        hall.bazaar.skills.for_order(tx, skill_id(skill.id), known=True)
        assert hall.bazaar.skills.page(tx, before=None, limit=10) == []
    [attempt] = hall.assign(job)
    who = hall.stalls[provider].who
    with hall.tx() as tx:
        assert hall.access.input(tx, who, job.id, SKILL) == skill.folder
        with pytest.raises(SkillClosed):  # who pays for its use is not given it
            hall.access.input(tx, buyer, job.id, SKILL)
    hall.hand_in(attempt)
    hall.judge(attempt, verdict())
    with hall.tx() as tx:
        with pytest.raises(SkillClosed):  # the work is done
            hall.access.input(tx, who, job.id, SKILL)
        record = hall.bazaar.skills.record(tx, skill)
    assert (record.orders, record.paid, record.earned) == (1, 1, 465_000)
    hall.check()


def test_the_skills_of_who_is_erased_lose_what_they_wrote_and_keep_their_name(hall: Hall) -> None:
    creator = hall.person()
    skill = publish(hall, creator)
    with hall.tx() as tx:
        hall.forget(tx, creator.source)
        row = tx.row("select name, version, description, withdrawn_us from skills where id = %s", skill.id)
        with pytest.raises(UnknownSkill):
            hall.bazaar.skills.find(tx, skill_id(skill.id))
    assert row is not None
    assert row[:3] == (None, None, None)
    assert row[3] is not None
    with pytest.raises(SkillNameTaken):
        publish(hall, hall.person())


# Orders


def terms(**changed: Any) -> Terms:
    return Terms(1_000_000, 60, "key", **changed)


def test_orders_without_a_skill_keep_their_hash_and_with_one_have_another() -> None:
    plain = TextGenRequest(prompt="Say hello.", max_tokens=100, terms=terms())
    assert set(plain.to_json()) & {"skill", "second_review"} == set()
    named = TextGenRequest(prompt="Say hello.", max_tokens=100, terms=terms(skill=skill_id(UUID(int=5))))
    assert named.to_json()["skill"].startswith("skill_")
    assert read_request(JobType.TEXT_GEN, named.to_json(), POLICY) == named
    with pytest.raises(BadField):
        read_request(JobType.TEXT_GEN, plain.to_json() | {"skill": "job_01j9zr1v7cf0m1n2p3q4r5s6t7"}, POLICY)


def test_an_order_names_a_skill_that_is_there_and_its_worker_gets_it(hall: Hall) -> None:
    creator, buyer = hall.person(), hall.person(20_000)
    skill = publish(hall, creator)
    named = TextGenRequest(prompt="Say hello.", max_tokens=100, terms=terms(skill=skill_id(skill.id)))
    asked = hall.bazaar.orders.read(JobType.TEXT_GEN, named.to_json(), {}, {}, {})
    with hall.tx() as tx:
        job, new = hall.bazaar.orders.open(tx, buyer, asked)
    assert new
    assert job.inputs == {SKILL: skill.folder}
    with hall.tx() as tx:
        hall.bazaar.skills.withdraw(tx, creator, "mend")
    with hall.tx() as tx:  # sent again, it is the same order
        assert hall.bazaar.orders.open(tx, buyer, asked) == (job, False)


def test_a_run_takes_no_skill_and_a_text_no_second_review(hall: Hall) -> None:
    skill = publish(hall, hall.person())
    run = {"argv": ["true"], "max_cost_msat": "1000000", "time_limit_s": 60, "idempotency_key": "k"}
    with pytest.raises(BadInputs):
        hall.bazaar.orders.read(JobType.SANDBOX_RUN, run | {"skill": skill_id(skill.id)}, {}, {}, {})
    text = TextGenRequest(prompt="Say hello.", max_tokens=100, terms=terms()).to_json() | {"second_review": "required"}
    with pytest.raises(BadInputs):
        hall.bazaar.orders.read(JobType.TEXT_GEN, text, {}, {}, {})
