"""A repository by its address, fetched without trusting who answers there.

Guarantees: git runs in a sandbox that reaches one host and port through the proxy, with none of the user's
configuration, credentials, keys or helpers; private and loopback addresses are refused unless policy says otherwise,
also after a redirect, because the proxy decides by the address that it connects to; bytes, time and disk are bounded.
What comes out is plain files of one commit, or of two, and which commits they are. Submodules are left out and named;
LFS pointers stay pointers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from choir.foundation.errors import Invalid
from choir.sandbox.egress.model import Egress, EgressRule
from choir.sandbox.model import InFile, Limits, Result, Spec, Tier, Trust, said
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.repositories import NotARepository, Runs, check_plain, environment

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+@-]{0,199}\Z")
_URL = re.compile(
    r"(https|http|git)://([A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)(?::(\d{1,5}))?"
    r"(/[A-Za-z0-9._~%+@=,:/-]{1,800})\Z"
)
_PORTS = {"https": 443, "http": 80, "git": 9418}
_METHODS = ("GET", "HEAD", "POST")
_SAID_LETTERS = 200
_SUBMODULES_SHOWN = 50
_ASKED = "no valid proxy credential"  # how every talk with a proxy begins

_FETCH = """
set -eu
url=$1 depth=$2 head=$3 base=$4
git init -q --bare clean
get() {
    git -C clean fetch -q --no-tags --no-recurse-submodules --no-write-fetch-head --depth "$depth" -- "$url" "+$1:$2"
}
named() {
    case $1 in
        HEAD | refs/*) get "$1" "$2" ;;
        *) get "refs/heads/$1" "$2" 2>first || get "refs/tags/$1" "$2" || { cat first >&2; exit 1; } ;;
    esac
}
one() {
    if expr "$1" : '[0-9a-f]\\{40\\}$' >/dev/null || expr "$1" : '[0-9a-f]\\{64\\}$' >/dev/null
    then get "$1" "$2"
    else named "$1" "$2"
    fi
}
one "$head" refs/choir/head
git -C clean rev-parse --verify 'refs/choir/head^{commit}'
mkdir tree
git -C clean --work-tree="$PWD/tree" checkout -q --detach -f 'refs/choir/head^{commit}'
if [ "$depth" -gt 1 ]
then
    if [ -n "$base" ]
    then one "$base" refs/choir/base
    else git -C clean update-ref refs/choir/base 'refs/choir/head^{commit}^1'
    fi
    git -C clean rev-parse --verify 'refs/choir/base^{commit}'
    mkdir base
    git -C clean --work-tree="$PWD/base" checkout -q --detach -f 'refs/choir/base^{commit}'
fi
git -C clean ls-tree -r -z 'refs/choir/head^{commit}' | tr '\\n\\0' ' \\n' |
    sed -n 's/^160000 commit [0-9a-f]*\\t/submodule /p' | head -n 50
"""

# git:// knows no proxy, but a command that connects for it: this one asks the proxy for a tunnel.
_TUNNEL = r"""#!/usr/bin/python3 -I
import base64, os, socket, sys, threading, urllib.parse
way = urllib.parse.urlsplit(os.environ["http_proxy"])
sock = socket.create_connection((way.hostname, way.port))
known = base64.b64encode(urllib.parse.unquote(f"{way.username}:{way.password}").encode()).decode()
to = f"{sys.argv[1]}:{sys.argv[2]}"
sock.sendall(f"CONNECT {to} HTTP/1.1\r\nHost: {to}\r\nProxy-Authorization: Basic {known}\r\n\r\n".encode())
head = b""
while not head.endswith(b"\r\n\r\n"):
    byte = sock.recv(1)
    if not byte:
        break
    head += byte
if b" 200 " not in head.split(b"\r\n")[0] + b" ":
    sys.exit("the proxy refused: " + head.split(b"\r\n")[0].decode(errors="replace"))
def up():
    while data := os.read(0, 65536):
        sock.sendall(data)
    sock.shutdown(socket.SHUT_WR)
threading.Thread(target=up, daemon=True).start()
while data := sock.recv(65536):
    while data:
        data = data[os.write(1, data):]
"""


class BadAddress(Invalid):
    """An address that no repository is fetched from."""

    code = "sandbox.bad_address"
    sentence = "The repository's address is not valid: {why}."
    hint = "Write it like https://host/path, without a name or a password in it."


@dataclass(frozen=True, slots=True)
class Fetched:
    """Plain files of a commit, and of the one that it is compared with."""

    url: str
    commit: str
    tree: Path
    base_commit: str = ""
    base: Path | None = None
    submodules: tuple[str, ...] = ()  # left out
    refused: tuple[str, ...] = ()  # entries that were left out, and why


def fetch(
    runs: Runs, url: str, folder: Path, ref: str, policy: SandboxPolicy, *, compared_with: str | None = None
) -> Fetched:
    """Fetch one commit into `folder`/tree; with `compared_with` ("": its first parent) another into `folder`/base."""
    rule = _rule(url, policy)
    for name in (ref, compared_with or ref):
        if not _REF.match(name) or ".." in name or "@{" in name:
            raise Invalid(what=f"ref '{name[:60]}'", why="it must be a full commit id, or a branch or tag by its name")
    two = compared_with is not None
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("tree", "base")[: 1 + two]:
        (folder / name).mkdir()
    spec = Spec(
        argv=("sh", "-c", _FETCH, "sh", url, "2" if two else "1", ref, compared_with or ""),
        environment=_environment(),
        limits=Limits(
            wall_s=min(policy.repository_s_max, policy.wall_s_max),
            cpu_s=min(policy.repository_s_max, policy.cpu_s_max),
            memory_bytes=policy.memory_bytes_max,
            disk_bytes=min(policy.disk_bytes_max, 4 * policy.fetch_bytes_max),
        ),
        tier_min=Tier.BUBBLEWRAP,
        trust=Trust.STRANGER,
        files=(InFile("tunnel", _TUNNEL.encode(), executable=True),),
        egress=Egress((rule,), response_bytes_max=policy.fetch_bytes_max),
        collect=("tree", "base") if two else ("tree",),
        collect_into=folder,
    )
    result = runs.run(spec)
    commits, submodules = _told(result, 1 + two)
    if _COMMIT.match(ref) and commits[0] != ref:
        raise NotARepository(why=f"it answered with the commit {commits[0]} instead.")
    for name in ("tree", "base")[: 1 + two]:
        check_plain(folder / name, policy)
    _check_complete(result)
    return Fetched(
        url=url,
        commit=commits[0],
        tree=folder / "tree",
        base_commit=commits[1] if two else "",
        base=folder / "base" if two else None,
        submodules=submodules,
        refused=result.files_refused,
    )


def _environment() -> dict[str, str]:
    found = environment("https:http:git")
    more = {"core.gitProxy": "/work/tunnel", "http.followRedirects": "initial", "http.cookieFile": ""}
    count = int(found["GIT_CONFIG_COUNT"])
    for place, (name, value) in enumerate(more.items(), count):
        found |= {f"GIT_CONFIG_KEY_{place}": name, f"GIT_CONFIG_VALUE_{place}": value}
    return found | {"GIT_CONFIG_COUNT": str(count + len(more))}


def _rule(url: str, policy: SandboxPolicy) -> EgressRule:
    found = _URL.match(url)
    if not found:
        raise BadAddress(why="it must begin with https://, http:// or git:// and name a host and a path")
    scheme, host, port = found[1], found[2].lower(), int(found[3] or _PORTS[found[1]])
    if not 0 < port < 65536:
        raise BadAddress(why="the port is not a port")
    return EgressRule(
        host,
        (port,),
        methods=_METHODS,
        tunnel=scheme != "http",
        plain_tunnel=scheme == "git",
        private=bool(policy.fetch_private),
    )


def _told(result: Result, commits: int) -> tuple[list[str], tuple[str, ...]]:
    """The commits that git named, and the submodules."""
    lines = result.stdout.decode(errors="replace").split("\n")
    found = [line for line in lines[:commits] if _COMMIT.match(line)]
    if not result.ok or len(found) != commits:
        raise NotARepository(why=_why(result))
    modules = [line.removeprefix("submodule ") for line in lines[commits:] if line.startswith("submodule ")]
    return found, tuple(modules[:_SUBMODULES_SHOWN])


def _why(result: Result) -> str:
    """What kept it from being fetched: the proxy knows best, git second."""
    kept = [item.why for item in result.requests if item.outcome in ("refused", "cut")]
    kept = [why for why in kept if why and why != _ASKED]
    if kept:
        return f"{kept[-1].rstrip('.')}."
    lines = [line for line in result.stderr.strip().split(b"\n") if line.strip()]
    last = said(lines[-1], _SAID_LETTERS) if lines else ""
    return last or f"git was stopped ({result.ended}, code {result.exit_code})."


def _check_complete(result: Result) -> None:
    """A tree that is cut off is not the commit's."""
    if any(item.startswith(("'tree':", "'base':")) for item in result.files_refused):
        raise NotARepository(why="it has more files or bytes than the sandbox takes out.")
