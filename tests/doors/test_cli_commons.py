"""The commons on the command line: documents, claims, articles and challenges, for people and for programs.

One node with a clock that the tests move. This machine's own agent writes; a person with a token challenges.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from choir.ledger.notes import VerifierKey
from tests.commons.desk import CLAIMS, TEXT, markdown
from tests.commons.sources.making import of_lines
from tests.doors.townsfolk import neighbour, public_node
from tests.operations.nodes import Done, NodeUnderTest, free_port, until

DAY_S = 86_400
QUOTE = CLAIMS["c1"][1]
CHIP = 1_000_000
NO_HASH = f"sha256:{'0' * 64}"
NO_ARTICLE = "article_" + "0" * 26


@pytest.fixture(scope="module")
def press() -> Iterator[NodeUnderTest]:
    with public_node(CHOIR_POLICY__COMMONS__LOOK_EVERY_S="1", CHOIR_POLICY__NOVELTY__SCORE_MIN="0") as node:
        yield node


@pytest.fixture(scope="module")
def rival(press: NodeUnderTest) -> dict[str, str]:
    """Somebody else with CHIP, whose token outlives all that is waited for here."""
    with neighbour(press, "rival") as person, press.client() as operator:
        operator.fund(f"{person.owner}/available/CHIP", 2_000 * CHIP)
        scopes = ("read", "research", "publish", "challenge")
        return {"CHOIR_TOKEN": person.token(*scopes, days=360), "owner": person.owner}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("press")


@pytest.fixture(scope="module")
def source(press: NodeUnderTest, folder: Path) -> str:
    (folder / "survey.txt").write_text(TEXT)
    return str(read(press, "source", "add", str(folder / "survey.txt"), "--title", "A survey")["hash"])


@pytest.fixture(scope="module")
def promoted(press: NodeUnderTest, folder: Path, source: str) -> str:
    """An article of this machine's agent that is citable."""
    file = folder / "bridges.md"
    file.write_text(markdown(source, title="Bridges and wind"))
    found = read(press, "publish", str(file), "--yes")
    pass_days(press, 2)
    wait(press, found["article"], "promoted")
    assert "\n    stake     goes back at " in say(press, "article", "show", found["article"])
    return str(found["article"])


def read(node: NodeUnderTest, *command: str, env: dict[str, str] | None = None) -> Any:
    done = node.run(*command, "--json", env=token(env))
    assert done.code == 0, done.err
    return done.json


def say(node: NodeUnderTest, *command: str, env: dict[str, str] | None = None, stdin: bytes | None = None) -> str:
    done = node.run(*command, env=token(env), stdin=stdin)
    assert done.code == 0, done.err
    return done.out


def no(node: NodeUnderTest, code: int, *command: str, env: dict[str, str] | None = None) -> Done:
    """Refused with this exit code, in words and as JSON, and without a word on standard output."""
    plain, shown = node.run(*command, env=token(env)), node.run(*command, "--json", env=token(env))
    assert (plain.code, shown.code) == (code, code), (plain, shown)
    assert (plain.out, shown.out) == ("", "")
    assert "Traceback" not in plain.err
    assert set(json.loads(shown.err)) == {"error"}
    return plain


def token(env: dict[str, str] | None) -> dict[str, str]:
    return {} if env is None else {"CHOIR_TOKEN": env["CHOIR_TOKEN"]}


def pass_days(node: NodeUnderTest, days: int) -> None:
    assert node.run("clock", "--advance", str(days * DAY_S), "--yes").code == 0


def wait(node: NodeUnderTest, article: str, state: str) -> Any:
    until(lambda: read(node, "article", "show", article)["state"] == state)
    return read(node, "article", "show", article)["published"][0]


# Sources


def test_a_document_from_a_file_to_a_pointer(press: NodeUnderTest, source: str, folder: Path) -> None:
    told = press.run("source", "add", str(folder / "survey.txt"), "--title", "A survey")
    assert told.out.startswith(f"{source}\n  title     A survey\n  state     ")
    assert f"choir source find 'words' --in {source}" in told.err
    assert say(press, "source", "show", source) == told.out
    assert read(press, "source", "show", source)["chars"] == len(TEXT)
    assert say(press, "source", "text", source) == TEXT + "\n"
    start = TEXT.index(QUOTE)
    part = ("source", "text", source, "--start", str(start), "--end", str(start + len(QUOTE)))
    assert say(press, *part) == QUOTE + "\n"
    assert read(press, *part) == {"source": source, "start": start, "end": start + len(QUOTE), "text": QUOTE}
    [span] = read(press, "source", "find", QUOTE, "--in", source)
    assert span["pointer"] == f"{source}@{start}-{start + len(QUOTE)}"
    assert say(press, "source", "find", QUOTE, "--in", source) == f"{span['pointer']}\n  A survey: {QUOTE}\n"
    nothing = press.run("source", "find", "zebras", "--in", source)
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "Nothing found. Try fewer words.\n")
    assert source in say(press, "source", "ls", "--mine")
    assert source in {item["hash"] for item in read(press, "source", "ls")}


def test_documents_of_every_kind_also_from_standard_input(press: NodeUnderTest, folder: Path) -> None:
    (folder / "winds.pdf").write_bytes(of_lines([b"Wind blows.", QUOTE.encode()]))
    (folder / "winds.html").write_text(f"<title>Winds</title><p>{QUOTE}</p>")
    (folder / "winds.md").write_text(f"# Winds\n\n{QUOTE}\n")
    for name, kind in (("pdf", "application/pdf"), ("html", "text/html"), ("md", "text/markdown")):
        found = read(press, "source", "add", str(folder / f"winds.{name}"))
        assert (found["media_type"], found["origin"]) == (kind, "file")
        file = folder / f"again.{name}"
        assert str(file) in say(press, "source", "document", found["hash"], "-o", str(file))
        assert file.read_bytes() == (folder / f"winds.{name}").read_bytes()
        assert f"{file} already exists" in no(press, 1, "source", "document", found["hash"], "-o", str(file)).err
        assert read(press, "source", "document", found["hash"], "-o", str(file), "--force")["bytes"] > 0
    sent = press.run("source", "add", "-", "--title", "Sent", stdin=b"What was sent.")
    assert (sent.code, "\n  title     Sent\n" in sent.out) == (0, True)


def test_a_document_that_cannot_be_added(press: NodeUnderTest, folder: Path) -> None:
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n")
    assert "it is an image" in no(press, 1, "source", "add", str(folder / "picture.png")).err
    assert "nowhere.txt" in no(press, 1, "source", "add", str(folder / "nowhere.txt")).err
    no(press, 1, "source", "add", str(folder))
    fetched = no(press, 1, "source", "add", "https://example.org/report.pdf")
    assert fetched.err.startswith("choir: This node does not fetch URLs.\nDownload the document")
    with (folder / "huge.txt").open("wb") as file:
        file.truncate(20_000_001)
    assert "too large" in no(press, 1, "source", "add", str(folder / "huge.txt")).err
    no(press, 1, "source", "show", NO_HASH)
    no(press, 1, "source", "show", "sha256:zz")
    no(press, 1, "source", "text", NO_HASH)
    no(press, 1, "source", "find", "x", "--in", "sha256:zz")


# Claims and atoms


def test_claims_are_made_bound_found_and_shown(press: NodeUnderTest, source: str) -> None:
    claim = read(press, "claim", "add", "Herons hum in Uppsala.", "--scope", "Sweden")
    assert (
        say(press, "claim", "add", "Herons hum in Uppsala.", "--scope", "Sweden")
        == f"{claim['hash']}  CLAIM  UNTRUSTED\n"
    )
    pointer = read(press, "source", "find", QUOTE, "--in", source)[0]["pointer"]
    binding = read(press, "claim", "bind", claim["hash"], pointer, "--relation", "qualifies", "--confidence", "0.5")
    assert (
        read(press, "atom", "binding", claim["hash"], pointer, "--relation", "qualifies", "--confidence", "0.5")
        == binding
    )
    shown = say(press, "claim", "show", claim["hash"])
    assert shown.startswith(f"{claim['hash']}  CLAIM  UNTRUSTED\n")
    assert "  scope          Sweden\n" in shown
    assert "UNTRUSTED, make by the maker: made\n" in shown
    assert read(press, "atom", "show", binding["hash"])["content"]["confidence_bps"] == 5_000
    assert [item["hash"] for item in read(press, "claim", "find", "uppsala herons")] == [claim["hash"]]
    assert claim["hash"] in say(press, "claim", "ls", "--state", "untrusted")
    assert binding["hash"] in say(press, "atom", "ls", "--kind", "binding")
    assert say(press, "atom", "find", "uppsala", "--kind", "CLAIM").startswith("atom ")
    assert press.run("claim", "find", "nothing-like-this").err == "None found.\n"
    assert say(press, "atom", "offer", claim["hash"]) == f"{claim['hash']}  CLAIM  QUARANTINED\n"


def test_atoms_of_the_other_kinds(press: NodeUnderTest, source: str) -> None:
    claim = read(press, "claim", "add", "Dampers help.")["hash"]
    pointer = f"{source}@4-30"  # of which no article here makes an extract
    made = [
        ("EXTRACT", ("extract", pointer)),
        ("OMISSION", ("omission", claim, "Rain is left out.", pointer, f"{source}@0-20")),
        ("HYPERTHESIS", ("hyperthesis", "One survey only.", "--bound", "14 countries", "--about", claim)),
        ("CONJECTURE", ("conjecture", claim, "--test", "a", "--edge", "b", "--change", "c", "--scope", "d")),
    ]
    for kind, words in made:
        found = read(press, "atom", *words)
        assert (found["kind"], found["state"]) == (kind, "UNTRUSTED")
        assert say(press, "atom", "show", found["hash"]).startswith(f"{found['hash']}  {kind}  ")


def test_atoms_that_cannot_be_made(press: NodeUnderTest, rival: dict[str, str], source: str) -> None:
    claim = read(press, "claim", "add", "A claim of this machine.")["hash"]
    assert "--relation adores" in no(press, 2, "claim", "bind", claim, f"{source}@0-9", "--relation", "adores").err
    assert "--kind poem" in no(press, 2, "atom", "ls", "--kind", "poem").err
    assert "--state lost" in no(press, 2, "claim", "ls", "--state", "lost").err
    no(press, 2, "claim", "bind", claim, f"{source}@0-9", "--confidence", "2")
    no(press, 1, "claim", "bind", claim, "sha256:zz@0-9")
    assert "`choir source find` prints it" in no(press, 1, "atom", "extract", f"{source}@9-5").err
    no(press, 1, "atom", "extract", f"{source}@0-{'9' * 20}")
    no(press, 1, "atom", "extract", f"{source}@0-99999")
    no(press, 1, "claim", "show", claim, env=rival)
    no(press, 1, "atom", "offer", claim, env=rival)
    no(press, 1, "claim", "add", "\u200b")


# Articles


def test_an_article_from_its_first_draft_to_a_quote(press: NodeUnderTest, source: str, folder: Path) -> None:
    file = folder / "first.md"
    file.write_text("# A first try\n\nNothing is claimed here.")
    told = press.run("article", "new", str(file), "--topic", "engineering")
    article = told.out.split()[0]
    assert told.out.startswith(f"{article}  draft\n  title     A first try\n  topics    engineering\n")
    assert told.err == f"See what publishing would take: choir publish {article} --quote\n"
    poor = press.run("publish", article, "--quote")
    assert (poor.code, f"{article}: would NOT pass its review\n" in poor.out) == (1, True)
    assert "  problem   3 verified bindings are needed" in poor.out
    file.write_text(markdown(source))
    assert read(press, "article", "save", article, str(file), "--base", "1")["draft"] == 2
    assert (
        "Compare them"
        in no(press, 1, "article", "save", article, str(folder / "survey.txt"), "--title", "x", "--base", "1").err
    )
    drafts = say(press, "article", "drafts", article)
    assert [line.split()[0] for line in drafts.splitlines()] == ["draft", "d2", "d1"]
    assert say(press, "article", "draft", article, "1") == "# A first try\n\nNothing is claimed here.\n"
    assert read(press, "article", "draft", article, "2")["title"] == "Why bridges hum"
    assert say(press, "article", "draft", article, "d1") == say(press, "article", "draft", article, "1")
    assert "'x1' is not a draft; write 2 or d2" in no(press, 2, "article", "draft", article, "x1").err
    assert "write d2 for draft 2, or v1" in no(press, 2, "article", "diff", article, "1", "d2").err
    assert "-Nothing is claimed here." in say(press, "article", "diff", article, "d1", "d2")
    assert press.run("article", "diff", article, "d2", "d2").err == "No difference.\n"
    good = say(press, "publish", article, "--quote")
    assert f"{article}: would pass its review\n  cost      90.000000 CHIP stake, 10.000000 CHIP fee\n" in good
    assert "  evidence  3 verified bindings of 3 needed for" in good
    assert "  c1        L2  supports sha256:" in good
    assert read(press, "publish", article, "--quote")["would_pass"] is True
    assert read(press, "article", "show", article)["published"] == []
    assert article in say(press, "article", "ls")


def test_nothing_is_staked_without_a_word(press: NodeUnderTest, source: str, folder: Path) -> None:
    (folder / "asked.md").write_text(markdown(source, title="Was it asked?"))
    article = read(press, "article", "new", str(folder / "asked.md"))["id"]
    unasked = press.run("publish", article)
    assert unasked.code == 1
    assert "It takes a stake of 90.000000 CHIP (90.000000 own), which comes back" in unasked.err
    assert read(press, "article", "show", article)["state"] == "draft"
    (folder / "weak.md").write_text("# Weak\n\nNothing is claimed here.")
    weak = press.run("publish", str(folder / "weak.md"), "--yes")
    assert weak.code == 1
    assert "would not pass its review, so nothing was staked" in weak.err
    shown = press.run("publish", str(folder / "weak.md"), "--yes", "--json")
    assert (shown.code, shown.out) == (1, "")
    error = json.loads(shown.err)["error"]
    assert error["code"] == "cli.would_not_pass"
    assert "choir article save article_" in error["hint"]


def test_publishing_a_file_again_is_the_same_article(press: NodeUnderTest, promoted: str, folder: Path) -> None:
    busy = press.run("publish", str(folder / "bridges.md"), "--quote", "--json")
    assert busy.code == 0
    listed = read(press, "article", "ls", "--all")
    assert [item["id"] for item in listed if item["title"] == "Bridges and wind"] == [promoted]
    assert promoted in say(press, "article", "ls", "--all")


def test_what_is_promoted_can_be_read_asserted_and_explained(
    press: NodeUnderTest, rival: dict[str, str], promoted: str, folder: Path
) -> None:
    shown = say(press, "article", "show", promoted, env=rival)
    assert shown.startswith(f"{promoted}  promoted\n  title     Bridges and wind\n")
    assert "  version 1  promoted, risk 0." in shown
    assert say(press, "article", "read", promoted, env=rival).startswith("# Bridges and wind\n")
    assert "<h1" in say(press, "article", "read", promoted, "--html")
    assert read(press, "article", "read", promoted, "--version", "1")["version"] == 1
    no(press, 1, "article", "read", promoted, "--version", "2")
    standing = press.run("assert", promoted)
    assert standing.code == 0
    assert f"stands       We read that {CLAIMS['c1'][0]}." in standing.out
    assert "stand on promoted evidence." in standing.err
    text = folder / "mine.txt"
    text.write_text(f"{CLAIMS['c2'][0]}. The moon is made of cheese. [Cheese is old]{{#c1}}.")
    marks = [line.split()[0] for line in say(press, "assert", str(text), env=rival).splitlines() if line[0] != " "]
    assert marks == ["stands", "-", "UNSUPPORTED"]
    assert read(press, "assert", str(text))["stands"] == 1
    assert "is promoted" in say(press, "--operator", "explain", promoted)


def test_others_may_read_but_not_write(
    press: NodeUnderTest, rival: dict[str, str], promoted: str, folder: Path
) -> None:
    draft = read(press, "article", "new", str(folder / "bridges.md"), "--title", "Private")["id"]
    for act in ("show", "drafts", "read", "revisions"):
        no(press, 1, "article", act, draft, env=rival)
    told = no(press, 4, "article", "drafts", promoted, env=rival)
    assert f"choir article revise {promoted} FILE" in told.err
    no(press, 4, "article", "retract", promoted, "--reason", "mine", env=rival)
    no(press, 4, "publish", promoted, "--yes", env=rival)
    with neighbour(press, "reader") as reader:
        env = {"CHOIR_TOKEN": reader.token("read", days=360)}
    assert promoted in say(press, "article", "ls", "--all", env=env)
    asked: list[tuple[tuple[str, ...], str]] = [
        (("article", "new", str(folder / "bridges.md")), "research"),
        (("source", "add", str(folder / "survey.txt")), "research"),
        (("claim", "add", "x"), "research"),
        (("article", "boost", promoted, "--yes"), "publish"),
        (("challenge", "open", NO_HASH, "--ground", "number", "--statement", "x", "--yes"), "challenge"),
    ]
    for words, scope in asked:
        told = no(press, 4, *words, env=env)
        assert told.err.startswith(f"choir: Your credential may not {scope}.\nLog in again: choir login --scope read")
    assert "you are the node's operator" in no(press, 4, "--operator", "claim", "add", "x").err


def test_a_folder_is_imported_once(press: NodeUnderTest, folder: Path) -> None:
    notes = folder / "notes"
    (notes / "more").mkdir(parents=True)
    (notes / "a.md").write_text("# Note A\n\nText.")
    (notes / "more" / "b.md").write_text("Without a heading.")
    assert sorted(read(press, "article", "import", str(notes), "--topic", "notes")["articles"]) == ["a.md", "more/b.md"]
    (notes / "bad.md").write_text("# Bad\n\n[x]{#a} [y]{#a}")
    again = press.run("article", "import", str(notes), "--topic", "notes", "--json")
    assert (again.code, again.json["failed"].keys()) == (1, {"bad.md"})
    told = press.run("article", "import", str(notes), "--topic", "notes")
    assert told.code == 1
    assert sorted(line.split()[1] for line in told.out.splitlines()) == ["a.md", "more/b.md"]
    assert "bad.md: The article cannot be read: the label a is there twice (line 3)." in told.err
    assert {line.split()[0] for line in told.out.splitlines()} == set(again.json["articles"].values())
    (notes / "bad.md").unlink()
    (notes / "a.md").write_text("---\ntitle: Note A\nlayout: post\n---\n\n# Note A\n\nAnother text.")
    changed = press.run("article", "import", str(notes), "--topic", "notes")
    assert {line.split()[0] for line in changed.out.splitlines()} == set(again.json["articles"].values())
    assert "a.md: ignored 'layout' of its front matter; only title and topics are read." in changed.err
    drafts = {path: read(press, "article", "show", id_)["draft"] for path, id_ in again.json["articles"].items()}
    assert drafts == {"a.md": 2, "more/b.md": 1}
    no(press, 1, "article", "import", str(folder / "nowhere"))
    no(press, 1, "article", "import", str(notes / "a.md"))


# Offline


def test_an_exported_article_is_verified_without_a_node(press: NodeUnderTest, promoted: str, folder: Path) -> None:
    file = folder / "bridges.zip"
    told = press.run("article", "export", promoted, "-o", str(file))
    assert (told.code, f"{file}: " in told.out) == (0, True)
    assert f"choir article verify {file}" in told.err
    no(press, 1, "article", "export", promoted, "-o", str(file))
    assert read(press, "article", "export", promoted, "-o", str(file), "--force")["bytes"] == file.stat().st_size
    nobody = {"CHOIR_NODE": f"http://127.0.0.1:{free_port()}", "CHOIR_HOME": str(folder / "no-home")}
    good = press.run("article", "verify", str(file), env=nobody)
    assert good.code == 0, good.err
    assert good.out.startswith(f"Bridges and wind ({promoted}, version 1, promoted says its node)\n  ok    manifest ")
    key = read(press, "key", "show")[-1]["key"]
    report = press.run("article", "verify", str(file), "--node-key", key, "--json", env=nobody).json
    assert (report["passed"], {item["passed"] for item in report["checks"]}) == (True, {True})
    assert [item["level"] for item in report["bindings"]] == ["L2"] * 3
    other = str(VerifierKey("choir/another", b"\x01" * 32))
    different = press.run("article", "verify", str(file), "--node-key", other, env=nobody)
    assert (different.code, "FAIL  manifest" in different.out) == (5, True)
    assert "name+0a1b2c3d" in no(press, 2, "article", "verify", str(file), "--node-key", "zz").err


def test_a_changed_bundle_is_a_difference(press: NodeUnderTest, promoted: str, folder: Path) -> None:
    file, changed = folder / "whole.zip", folder / "changed.zip"
    assert press.run("article", "export", promoted, "-o", str(file)).code == 0
    with zipfile.ZipFile(file) as whole:
        members = {name: whole.read(name) for name in whole.namelist()}
    text = next(name for name in members if b"45 of the 120" in members[name] and name.startswith("objects/"))

    def packed(**changes: bytes) -> None:
        with zipfile.ZipFile(changed, "w") as out:
            for name, data in (members | changes).items():
                out.writestr(name, data)

    packed(**{text: members[text].replace(b"45 of the 120", b"54 of the 120")})
    told = no(press, 5, "article", "verify", str(changed))
    assert "does not hash to its name" in told.err
    manifest = json.loads(members["manifest.json"])
    changes: list[dict[str, Any]] = [{"state": "retracted"}, {"version": "x"}, {"key": "zz"}, {"signatures": []}]
    for change in changes:
        packed(**{"manifest.json": json.dumps(manifest | change, separators=(",", ":"), sort_keys=True).encode()})
        done = press.run("article", "verify", str(changed))
        assert (done.code, "FAIL  manifest" in done.out) == (5, True), done
        shown = press.run("article", "verify", str(changed), "--json")
        assert (shown.code, shown.json["passed"]) == (5, False)
    changed.write_bytes(file.read_bytes()[:-50])
    no(press, 5, "article", "verify", str(changed))
    changed.write_bytes(b"no zip")
    no(press, 5, "article", "verify", str(changed))
    assert "nowhere.zip" in no(press, 1, "article", "verify", str(folder / "nowhere.zip")).err


# Revisions and boosts


def test_a_revision_is_proposed_seen_and_voted_on(
    press: NodeUnderTest, rival: dict[str, str], promoted: str, folder: Path
) -> None:
    (folder / "better.md").write_text("# Bridges and wind\n\nA better text.")
    revise = ("article", "revise", promoted, str(folder / "better.md"))
    opened = read(press, *revise, "--summary", "shorter", "--key", "r1", env=rival)
    assert read(press, *revise, "--summary", "shorter", "--key", "r1", env=rival) == opened
    no(press, 1, *revise, "--summary", "another", "--key", "r1", env=rival)
    no(press, 2, *revise)
    no(press, 4, *revise, "--summary", "my own")
    listed = say(press, "article", "revisions", promoted)
    assert (opened["id"] in listed, "shorter" in listed) == (True, True)
    shown = say(press, "article", "revision", opened["id"])
    assert shown.startswith(f"{opened['id']}  open\n  article   {promoted}, from draft 1\n")
    assert shown.endswith("A better text.\n")
    no(press, 2, "article", "vote", opened["id"])
    no(press, 2, "article", "vote", opened["id"], "--accept", "--refuse")
    no(press, 4, "article", "vote", opened["id"], "--accept", env=rival)
    voted = say(press, "article", "vote", opened["id"], "--refuse")
    assert voted.startswith(f"{opened['id']}  refused\n")
    assert ": refuses\n" in voted
    no(press, 1, "article", "vote", opened["id"], "--accept")
    assert read(press, "article", "revisions", promoted)[0]["state"] == "refused"


def test_a_boost_costs_what_it_says(press: NodeUnderTest, rival: dict[str, str], promoted: str) -> None:
    unasked = press.run("article", "boost", promoted, env=token(rival))
    assert (unasked.code, "25.000000 CHIP, which do not come back" in unasked.err) == (1, True)
    told = say(press, "article", "boost", promoted, "--yes", "--key", "b1", env=rival)
    assert told.startswith(f"{promoted} is boosted until ")
    assert read(press, "article", "boost", promoted, "--yes", "--key", "b1", env=rival)["amount"] == str(25 * CHIP)
    assert "  boosted   until " in say(press, "article", "show", promoted)


# Challenges, and the end of a stake


def test_a_challenge_that_the_verifiers_reject(press: NodeUnderTest, rival: dict[str, str], promoted: str) -> None:
    synthesis = read(press, "article", "show", promoted)["published"][0]["synthesis"]
    binding = next(
        item["hash"] for item in read(press, "atom", "show", synthesis)["rests_on"] if item["kind"] == "BINDING"
    )
    ask = ("challenge", "open", binding, "--ground", "number", "--statement", "It says 54.")
    assert "You lose half of it if you are wrong" in press.run(*ask, env=token(rival)).err
    assert "--ground rain" in no(press, 2, "challenge", "open", binding, "--ground", "rain", "--statement", "x").err
    no(press, 4, *ask, "--yes")  # authors cannot
    opened = read(press, *ask, "--yes", "--key", "c1", env=rival)
    until(lambda: read(press, "challenge", "show", opened["id"])["state"] == "lost")
    shown = say(press, "challenge", "show", opened["id"])
    assert shown.startswith(f"{opened['id']}  lost\n  article   {promoted}\n  atom      {binding} (BINDING)\n")
    assert "  L2        numbers: pass; " in shown
    assert "  outcome   lost: The referee looked again.\n" in shown
    assert read(press, *ask, "--yes", "--key", "c1", env=rival)["id"] == opened["id"]
    no(press, 1, *ask, "--yes", "--key", "c2", env=rival)
    assert [item["id"] for item in read(press, "challenge", "ls", "--mine", env=rival)] == [opened["id"]]
    assert opened["id"] in say(press, "challenge", "ls", "--article", promoted)
    assert press.run("challenge", "ls", "--to-rule").err == "None.\n"
    no(press, 1, "challenge", "show", "challenge_" + "0" * 26)
    assert "is lost" in say(press, "--operator", "explain", opened["id"])


def test_a_challenge_that_an_operator_upholds(
    press: NodeUnderTest, rival: dict[str, str], source: str, folder: Path
) -> None:
    (folder / "doubtful.md").write_text(markdown(source, title="Doubtful"))
    version = read(press, "publish", str(folder / "doubtful.md"), "--yes")
    assert version["state"] == "in_window"
    ask = (
        "challenge",
        "open",
        version["synthesis"],
        "--ground",
        "misleading",
        "--statement",
        "It leaves out calm days.",
    )
    opened = read(press, *ask, "--evidence", f"{source}@0-20", "--yes", env=rival)
    until(lambda: read(press, "challenge", "show", opened["id"])["state"] == "under_review")
    pass_days(press, 2)  # the window stands still as long as it is open
    rule = ("challenge", "rule", opened["id"], "--reason", "It does.")
    no(press, 2, "--operator", *rule)
    no(press, 4, *rule, "--uphold", env=rival)
    assert read(press, "article", "show", version["article"])["state"] == "in_window"
    assert opened["id"] in say(press, "--operator", "challenge", "ls", "--to-rule")
    ruled = say(press, "--operator", *rule, "--uphold")
    assert ruled.startswith(f"{opened['id']}  won\n")
    assert "  ruling    upheld: It does.\n" in ruled
    no(press, 1, "--operator", *rule, "--reject")
    assert read(press, "article", "show", version["article"])["state"] == "demoted"
    assert read(press, "atom", "show", version["synthesis"])["atom"]["state"] == "QUARANTINED"


def test_a_stake_goes_back_when_its_time_has_come(press: NodeUnderTest, rival: dict[str, str], folder: Path) -> None:
    (folder / "own.txt").write_text(TEXT)
    own = read(press, "source", "add", str(folder / "own.txt"), env=rival)["hash"]
    (folder / "own.md").write_text(markdown(own, title="My own"))
    article = read(press, "article", "new", str(folder / "own.md"), env=rival)["id"]
    published = say(press, "publish", article, "--yes", env=rival)
    assert "  version 1  in_window, risk 0." in published
    before = chip(press, rival)
    pass_days(press, 2)
    assert wait(press, article, "promoted")["stake_due_at"]
    assert chip(press, rival) == before
    pass_days(press, 31)
    until(lambda: read(press, "article", "show", article)["published"][0]["stake_due_at"] is None)
    assert chip(press, rival) > before
    assert say(press, "article", "retract", article, "--reason", "a mistake", env=rival).startswith(
        "  version 1  retracted"
    )
    no(press, 1, "article", "retract", article, "--reason", "again", env=rival)


def chip(node: NodeUnderTest, who: dict[str, str]) -> int:
    with node.client() as operator:
        return int(operator.balance(f"{who['owner']}/available/CHIP").balance)


# Without a node, and wrong usage


@pytest.mark.parametrize(
    "words",
    [
        ("source", "ls"),
        ("source", "add", "/etc/hostname"),
        ("claim", "add", "x"),
        ("atom", "ls", "--kind", "CLAIM"),
        ("article", "ls"),
        ("article", "new", "/etc/hostname"),
        ("publish", NO_ARTICLE, "--quote"),
        ("assert", NO_ARTICLE),
        ("challenge", "ls"),
        ("challenge", "rule", "challenge_x", "--uphold", "--reason", "x"),
    ],
    ids=" ".join,
)
def test_without_a_node(press: NodeUnderTest, words: tuple[str, ...], tmp_path: Path) -> None:
    nobody = {"CHOIR_NODE": f"http://127.0.0.1:{free_port()}", "CHOIR_HOME": str(tmp_path / "none")}
    done = press.run(*words, env=nobody)
    assert (done.code, done.out) == (3, ""), done
    assert "choir up" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("source",),
        ("source", "add"),
        ("source", "text", NO_HASH, "--start", "-1"),
        ("source", "find"),
        ("source", "document", NO_HASH),
        ("claim", "bind", NO_HASH),
        ("atom", "ls"),
        ("atom", "hyperthesis", "x"),
        ("article", "draft", NO_ARTICLE, "0"),
        ("article", "retract", NO_ARTICLE),
        ("article", "export", NO_ARTICLE),
        ("publish",),
        ("publish", NO_ARTICLE, "--draft", "0"),
        ("challenge", "open", NO_HASH),
        ("challenge", "rule", "challenge_x", "--reason", "x"),
    ],
    ids=" ".join,
)
def test_wrong_usage(press: NodeUnderTest, words: tuple[str, ...]) -> None:
    done = press.run(*words)
    assert done.code == 2, done
    assert "Traceback" not in done.err


def test_a_quote_counts_in_words_and_advises_on_what_is_undecided(
    press: NodeUnderTest, source: str, folder: Path
) -> None:
    start = TEXT.index(QUOTE)
    lines = [f"{label} supports {source}@{start}-{start + len(QUOTE)}" for label in ("a", "b")]
    body = "[Wind caused vibration in 45 of the 120 bridges]{#a}. [Gales made nearly four in ten spans shake]{#b}."
    (folder / "vague.md").write_text(f"# Vague\n\n{body}\n\n```evidence\n" + "\n".join(lines) + "\n```\n")
    article = read(press, "article", "new", str(folder / "vague.md"))["id"]
    told = press.run("publish", article, "--quote").out
    assert "  evidence  1 verified binding of 3 needed for" in told
    assert "and there is 1" in told
    assert told.count("  advice    undecided: ") == 1
