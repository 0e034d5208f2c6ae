"""`choir article new|save|ls|show|drafts|draft|diff|import`."""

from __future__ import annotations

import errno
import itertools
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.articles.author import as_author
from choir.doors.cli import output
from choir.doors.cli.output import AsJson, KeyOption, NodeOption
from choir.foundation.errors import ChoirError, Invalid, TooLarge
from choir.foundation.words import count

if TYPE_CHECKING:
    from choir.doors.articles.shapes import ArticleOut, PublicationOut
    from choir.doors.sdk.client import Client

_NUMBER_MAX = 10**9


def draft_number(text: str) -> int:
    """A draft's number as it is typed: 2, or d2 as the list of drafts shows it."""
    return _number(text, "d", "draft")


def version_number(text: str) -> int:
    """The number of a published version: 1, or v1."""
    return _number(text, "v", "version")


def _number(text: str, letter: str, what: str) -> int:
    digits = str(text).removeprefix(letter)
    if not digits.isdecimal() or not 0 < int(digits[:12]) <= _NUMBER_MAX:
        raise typer.BadParameter(f"'{text[:40]}' is not a {what}; write 2 or {letter}2")
    return int(digits)


ArticleArgument = Annotated[str, typer.Argument(help="Such as article_01h….", metavar="ARTICLE")]
FileArgument = Annotated[str, typer.Argument(help="A Markdown file, or - for standard input.", metavar="FILE")]
TitleOption = Annotated[str | None, typer.Option("--title", help="Default: the text's own title.", metavar="TEXT")]
TopicOption = Annotated[
    list[str] | None, typer.Option("--topic", help="May be repeated; default: the text's own.", metavar="TOPIC")
]
_ROWS = 20


def register(app: typer.Typer) -> None:
    app.command("new", epilog="Example: choir article new bridges.md --topic engineering")(new)
    app.command("save", epilog="Example: choir article save article_01h… bridges.md")(save)
    app.command("ls", epilog="Example: choir article ls --all")(ls)
    app.command("show", epilog="Example: choir article show article_01h…")(show)
    app.command("drafts", epilog="Example: choir article drafts article_01h…")(drafts)
    app.command("draft", epilog="Example: choir article draft article_01h… 2")(draft)
    app.command("diff", epilog="Example: choir article diff article_01h… d1 d2")(diff)
    app.command("import", epilog="Example: choir article import notes/")(import_)


def new(
    file: FileArgument,
    title: TitleOption = None,
    topic: TopicOption = None,
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Create an article from a Markdown file. It is private until you publish it."""
    output.want_json(as_json)
    text = text_of(file, node)
    with as_author(node) as author:
        found = author.client.articles.create(text, title=title, topics=topic, key=key)
    _show(found, as_json=as_json)
    if not as_json:
        output.say(f"See what publishing would take: choir publish {found.id} --quote")


def save(
    article: ArticleArgument,
    file: FileArgument,
    title: TitleOption = None,
    topic: TopicOption = None,
    base: Annotated[
        int | None,
        typer.Option(
            "--base", help="Refuse if this is not the newest draft any more.", parser=draft_number, metavar="DRAFT"
        ),
    ] = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Save the next draft of your article."""
    output.want_json(as_json)
    text = text_of(file, node)
    with as_author(node) as author:
        found = author.client.articles.save(article, text, title=title, topics=topic, base=base)
    _show(found, as_json=as_json)


def ls(
    everybody: Annotated[
        bool, typer.Option("--all", help="Everybody's promoted articles instead of your own.")
    ] = False,
    limit: Annotated[int, typer.Option(help="Maximum number of articles, newest first.", min=1)] = _ROWS,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """List your articles, drafts included, or everybody's promoted ones."""
    output.want_json(as_json)
    with as_author(node) as author:
        pages = author.client.articles.all(mine=not everybody, limit=min(limit, 100))
        found = list(itertools.islice(pages, limit))
    if as_json:
        output.print_json([item.model_dump(mode="json") for item in found])
    elif not found:
        output.say("None yet. Try: choir article new FILE")
    else:
        rows = [(item.id, item.state, str(item.versions), item.title) for item in found]
        output.print_table(("article", "state", "versions", "title"), rows, right=(2,), whole=(0,))


def show(article: ArticleArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show an article: its authors, drafts and published versions."""
    output.want_json(as_json)
    with as_author(node) as author:
        found = author.client.articles.get(article)
        versions = author.client.articles.versions(article).items
    if as_json:
        value = found.model_dump(mode="json") | {"published": [item.model_dump(mode="json") for item in versions]}
        output.print_json(value)
        return
    _show(found, as_json=False)
    for item in versions:
        print_version(item)


def drafts(article: ArticleArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """List the saved drafts of your article, newest first."""
    output.want_json(as_json)
    with as_author(node) as author:
        found = author.client.articles.drafts(article).items
    if as_json:
        output.print_json([item.model_dump(mode="json", exclude={"text"}) for item in found])
    else:
        rows = [(f"d{item.n}", item.saved_at, item.saved_by, item.title) for item in found]
        output.print_table(("draft", "saved", "by", "title"), rows)


def draft(
    article: ArticleArgument,
    n: Annotated[int, typer.Argument(help="Such as 2 or d2.", parser=draft_number, metavar="DRAFT")],
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Print a saved draft of your article."""
    output.want_json(as_json)
    with as_author(node) as author:
        found = author.client.articles.draft(article, n)
    if as_json:
        output.print_json(found.model_dump(mode="json"))
    else:
        output.print_line(found.text or "")


def diff(
    article: ArticleArgument,
    a: Annotated[str, typer.Argument(help="Such as d1 for draft 1 or v1 for version 1.", metavar="A")],
    b: Annotated[str, typer.Argument(help="The same.", metavar="B")],
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Compare two drafts or published versions."""
    output.want_json(as_json)
    with output.reading_options():
        for side in (a, b):
            if not re.fullmatch(r"[dv][1-9][0-9]{0,8}", side, re.ASCII):
                raise Invalid(what=f"'{side[:40]}'", why="write d2 for draft 2, or v1 for published version 1")
    with as_author(node) as author:
        found = author.client.articles.diff(article, a, b)
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    for line in found.lines:
        output.print_line(line)
    if not found.lines:
        output.say("No difference.")


def import_(
    folder: Annotated[Path, typer.Argument(help="A folder of Markdown files.", metavar="FOLDER")],
    topic: TopicOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Import a folder of Markdown files as drafts. A file with the title of one of your articles is its next draft."""
    from choir.commons.articles.imports import read_folder
    from choir.commons.policy import CommonsPolicy

    output.want_json(as_json)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    policy = output.policy_at(node).of(CommonsPolicy)
    made, failed, ignored = [], [], []
    with as_author(node) as author:
        known = _by_title(author.client)
        for item in read_folder(folder, policy):
            try:
                if item.article is None:
                    raise item.error or Invalid(what=item.path, why="it cannot be read")
                title = item.article.title or Path(item.path).stem
                mine = known.get(title)
                found = _imported(author.client, item.path, item.article.markdown, title, topic, mine)
                made.append((item.path, found.id))
                ignored += [(item.path, name) for name in item.ignored]
            except ChoirError as error:
                failed.append((item.path, str(error)))
    if as_json:
        output.print_json({"articles": dict(made), "failed": dict(failed)})
    else:
        for path, id_ in made:
            output.print_line(f"{id_}  {path}")
        for path, name in ignored:
            output.say(f"{path}: ignored '{name[:40]}' of its front matter; only title and topics are read.")
        for path, why in failed:
            output.say(f"{path}: {why}")
        output.say(f"{count(len(made), 'draft')}, {len(failed)} failed.")
    if failed:
        raise typer.Exit(output.EXIT_REFUSED)


def _by_title(client: Client) -> dict[str, list[str]]:
    """Articles of one's own by their titles, oldest first."""
    found: dict[str, list[str]] = {}
    for item in client.articles.all(mine=True):
        found.setdefault(item.title, []).insert(0, item.id)
    return found


def _imported(
    client: Client, path: str, text: str, title: str, topics: list[str] | None, mine: list[str] | None
) -> ArticleOut:
    """The next draft of the article with this title; files that share a title take one article each."""
    if mine:
        return client.articles.save(mine.pop(0), text, title=title, topics=topics)
    return client.articles.create(text, title=title, topics=topics, key=_import_key(path, text))


def _import_key(path: str, text: str) -> str:
    """The same file is the same draft, however often it is imported."""
    import hashlib

    content = f"{path}\0{text}".encode()
    return f"import:{hashlib.sha256(content).hexdigest()}"


def text_of(file: str, node: str | None) -> str:
    """An article's Markdown; a file that the node would refuse is not read."""
    from choir.commons.policy import CommonsPolicy

    most = output.policy_at(node).of(CommonsPolicy).article_chars_max * 4  # bytes of a character in UTF-8
    with sys.stdin.buffer if file == "-" else Path(file).open("rb") as given:
        data = given.read(most + 1)
    if len(data) > most:
        raise TooLarge(what=f"The file {file}", size=len(data), limit=most)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid(what=f"The file {file}", why="it is not UTF-8 text") from None


def _show(found: ArticleOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    output.print_line(f"{found.id}  {found.state}")
    output.print_line(f"  title     {found.title}")
    if found.topics:
        output.print_line(f"  topics    {', '.join(found.topics)}")
    output.print_line(f"  authors   {', '.join(found.authors)}")
    output.print_line(f"  drafts    {found.draft}, last changed {found.changed_at}")
    if found.boosted_until:
        output.print_line(f"  boosted   until {found.boosted_until}")


def print_version(item: PublicationOut) -> None:
    output.print_line(f"  version {item.version}  {item.state}, risk {item.risk_bps / 10_000:.2f} ({item.tier})")
    output.print_line(f"    atom      {item.synthesis}")
    if item.state == "in_window":
        output.print_line(f"    window    until {item.window_until}")
    if item.promoted_at:
        output.print_line(f"    promoted  {item.promoted_at}")
    if item.stake_due_at:
        output.print_line(f"    stake     goes back at {item.stake_due_at}")
