"""Honest articles: prose that people wrote, from documentation packages of Debian. Downloaded, cached, never committed.

Each page's paragraphs become articles of 400 to 900 words. Pages are parted into a fitted and a tested half by a hash
of their names, so no page is in both.
"""

from __future__ import annotations

import fcntl
import hashlib
import html
import os
import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from choir.commons.articles.words import count_words

PACKAGES = {
    "anarchism": "15.3-3",
    "apache2-doc": "2.4.71-1~deb12u1",
    "git-doc": "1:2.39.5-0+deb12u3",
    "postgresql-doc-15": "15.20-0+deb12u1",
    "python-django-doc": "3:3.2.25-0+deb12u7",
    "python-sklearn-doc": "1.2.1+dfsg-1",
    "python3.11-doc": "3.11.2-6+deb12u9",
    "rust-doc": "1.63.0+dfsg1-2",
    "sqlite3-doc": "3.40.1-2+deb12u2",
}
_PAGES = {
    "anarchism": r"/html/sec\w+\.html$",
    "apache2-doc": r"/manual/en/(?!mod/).*\.html$",
    "git-doc": r"\.html$",
    "postgresql-doc-15": r"\.html$",
    "python-django-doc": r"/html/(topics|howto|intro|misc|faq|internals)/.*\.html$",
    "python-sklearn-doc": r"/html/modules/\w+\.html$",
    "python3.11-doc": r"/html/(howto|faq|tutorial|reference)/\w+\.html$",
    "rust-doc": r"/html/book/[\w-]+\.html$",
    "sqlite3-doc": r"\.html$",
}
WORDS_MIN, WORDS_MAX = 400, 900
_PAGE_ARTICLES_MAX = 3
_CACHE = Path(os.environ.get("CHOIR_TEST_CACHE") or Path.home() / ".cache" / "choir-tests") / "novelty"
_DROPPED = re.compile(r"<(script|style|pre|nav|table|svg|code class=\"programlisting\")\b.*?</\1>", re.DOTALL)
_PARAGRAPH = re.compile(r"<p\b[^>]*>(.*?)</p>", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")


@dataclass(frozen=True, slots=True)
class Honest:
    """An article with the package and page that it comes from."""

    package: str
    page: str
    text: str
    fitted: bool


def articles(per_package: int, *, fitted: bool) -> list[Honest]:
    """At most so many articles of each package, of one half, in an order that mixes packages."""
    found = [one for package in sorted(PACKAGES) for one in _chosen(package, per_package, fitted)]
    random.Random(7).shuffle(found)
    return found


def _chosen(package: str, most: int, fitted: bool) -> list[Honest]:
    mine = [one for one in _articles(package) if one.fitted == fitted]
    random.Random(package).shuffle(mine)
    return mine[:most]


def _articles(package: str) -> Iterator[Honest]:
    pages = re.compile(_PAGES[package])
    seen: set[str] = set()
    for file in sorted(_unpacked(package).rglob("*.html")):
        if not file.is_file() or not pages.search(file.as_posix()):
            continue
        page = file.name
        half = hashlib.sha256(f"{package}/{page}".encode()).digest()[0] % 2 == 0
        for text in list(_cut(_paragraphs(file.read_text(errors="replace"), seen)))[:_PAGE_ARTICLES_MAX]:
            yield Honest(package, page, text, half)


def _paragraphs(source: str, seen: set[str]) -> list[str]:
    """Paragraphs of prose that no page before had: what every page repeats is no article."""
    kept = []
    for match in _PARAGRAPH.finditer(_DROPPED.sub(" ", source)):
        text = " ".join(html.unescape(_TAG.sub("", match[1])).split())
        if count_words(text) >= 15 and text not in seen:
            seen.add(text)
            kept.append(text)
    return kept


def _cut(paragraphs: list[str]) -> Iterator[str]:
    row: list[str] = []
    count = 0
    for paragraph in paragraphs:
        row.append(paragraph)
        count += count_words(paragraph)
        if count >= (WORDS_MIN + WORDS_MAX) // 2:
            if count <= WORDS_MAX:
                yield "\n\n".join(row)
            row, count = [], 0
    if WORDS_MIN <= count <= WORDS_MAX:
        yield "\n\n".join(row)


def _unpacked(package: str) -> Path:
    """Where a package's files are; downloaded as the version named above, or the distribution's present one."""
    folder, archives = _CACHE / "x" / package, _CACHE / "debs"
    for made in (folder.parent, archives):
        made.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several workers of one run ask at once
        if not folder.exists():
            _download(package, archives, folder)
    return folder


def _download(package: str, archives: Path, folder: Path) -> None:
    wanted = f"{package}={PACKAGES[package]}"
    if subprocess.run(["apt-get", "download", "-qq", wanted], cwd=archives, check=False).returncode:
        subprocess.run(["apt-get", "download", "-qq", package], cwd=archives, check=True)
    archive = max(archives.glob(f"{package}_*.deb"))
    part = folder.with_suffix(".part")
    subprocess.run(["dpkg-deb", "-x", str(archive), str(part)], check=True)
    part.rename(folder)
