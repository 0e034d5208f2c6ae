"""Attacks on the host's own hands: archives and repositories that a stranger sends.

Each proves itself on a tool that trusts its input, then fails on ours.
"""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from choir.foundation.errors import ChoirError
from choir.sandbox import repositories
from choir.sandbox.archives import unpack
from choir.sandbox.model import Spec, Tier, Trust
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.service import Sandboxes

POLICY = SandboxPolicy()
GIT_ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
GIT_ENVIRONMENT |= {f"GIT_{who}_{what}": "x@y.z" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@dataclass(frozen=True)
class HostAttack:
    """An attack by what is handed over, not by what is run."""

    name: str
    title: str
    proof_text: str
    proof: Callable[[Path], bool]  # whether a trusting tool falls for it
    contained: Callable[[Path, Sandboxes], bool]


# --- archives ---------------------------------------------------------------------------------------


def _member(name: str, **facts: object) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    for key, value in facts.items():
        setattr(member, key, value)
    return member


def _tar(path: Path, members: list[tuple[tarfile.TarInfo, bytes]], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for member, content in members:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def _refuses(make: Callable[[Path], Path]) -> Callable[[Path, Sandboxes], bool]:
    def check(folder: Path, _: Sandboxes) -> bool:
        target = folder / "in" / "target"
        target.mkdir(parents=True)
        archive = make(folder)
        try:
            unpack(archive, target, POLICY)
        except ChoirError:
            return not (folder / "pwned").exists() and not (folder / "in" / "pwned").exists()
        return False

    return check


def _trusting_tar(make: Callable[[Path], Path], sign: str) -> Callable[[Path], bool]:
    def check(folder: Path) -> bool:
        target = folder / "in" / "target"
        target.mkdir(parents=True)
        with tarfile.open(make(folder)) as archive:
            archive.extractall(target, filter="fully_trusted")  # noqa: S202
        return os.path.lexists(folder / "in" / "target" / sign)

    return check


def _traversal(folder: Path) -> Path:
    return _tar(folder / "a.tar", [(_member("../pwned"), b"x")])


def _through_link(folder: Path) -> Path:
    link = _member("out", type=tarfile.SYMTYPE, linkname="..")
    return _tar(folder / "a.tar", [(link, b""), (_member("out/pwned"), b"x")])


def _links_together(folder: Path) -> Path:
    """Each stays inside, read alone; the second goes through the first."""
    first = _member("a/b/c/up", type=tarfile.SYMTYPE, linkname="../../..")
    second = _member("out", type=tarfile.SYMTYPE, linkname="a/b/c/up/../secret")
    return _tar(folder / "a.tar", [(first, b""), (second, b"")])


def _leads_out(folder: Path) -> bool:
    target = folder / "in" / "target"
    target.mkdir(parents=True)
    (folder / "in" / "secret").write_text("secret")
    with tarfile.open(_links_together(folder)) as archive:
        archive.extractall(target, filter="fully_trusted")  # noqa: S202
    return (target / "out").read_text() == "secret"


def _headers_for_all(folder: Path) -> Path:
    with tarfile.open(folder / "a.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for number in range(60):
            archive.fileobj.write(_for_all(number))
            archive.fileobj.write(tarfile.TarInfo(f"f{number}").tobuf())
    return folder / "a.tar.gz"


def _for_all(number: int) -> bytes:
    return tarfile.TarInfo.create_pax_global_header({f"k{number}": "x" * 1_000_000})


def _holds_all_headers(folder: Path) -> bool:
    with tarfile.open(_headers_for_all(folder)) as archive:
        archive.getmembers()
        return sum(map(len, archive.pax_headers.values())) > 30_000_000


def _hard_link(folder: Path) -> Path:
    (folder / "in" / "secret").write_text("secret")
    return _tar(folder / "a.tar", [(_member("pwned", type=tarfile.LNKTYPE, linkname="../secret"), b"")])


def _device(folder: Path) -> Path:
    return _tar(folder / "a.tar", [(_member("pwned", type=tarfile.FIFOTYPE), b"")])


def _twice(folder: Path) -> Path:
    return _tar(folder / "a.tar", [(_member("pwned"), b"seen by the check"), (_member("pwned"), b"seen by the user")])


def _tar_bomb(folder: Path) -> Path:
    return _tar(folder / "a.tar.gz", [(_member("pwned"), bytes(60_000_000))], "w:gz")


def _long_header(folder: Path) -> Path:
    member = _member("pwned", pax_headers={"comment": "x" * 30_000_000})
    with tarfile.open(folder / "a.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(member)
    return folder / "a.tar.gz"


def _zip_bomb(folder: Path) -> Path:
    """One piece of data, listed by a thousand overlapping entries."""
    with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(60):
            archive.writestr(f"pwned{number or ''}", bytes(1_000_000))
    return folder / "a.zip"


def _zip_link(folder: Path) -> Path:
    info = zipfile.ZipInfo("pwned")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    return folder / "a.zip"


def _trusting_unzip(make: Callable[[Path], Path]) -> Callable[[Path], bool]:
    def check(folder: Path) -> bool:
        target = folder / "in" / "target"
        target.mkdir(parents=True)
        with zipfile.ZipFile(make(folder)) as archive:
            archive.extractall(target)  # noqa: S202
            links = [info for info in archive.infolist() if info.external_attr >> 28 == 0xA]
        return bool(links) or sum(path.stat().st_size for path in target.iterdir()) == 60_000_000

    return check


# --- repositories -----------------------------------------------------------------------------------


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, env=GIT_ENVIRONMENT, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


def make_repository(folder: Path) -> Path:
    """An ordinary small repository."""
    repository = folder / "repository"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    (repository / "hello.txt").write_text("hello\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "first")
    return repository


def _with_hook(folder: Path) -> Path:
    repository = make_repository(folder)
    for name in ("post-checkout", "post-merge", "pre-commit", "reference-transaction", "post-index-change"):
        hook = repository / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {folder}/pwned\n")
        hook.chmod(0o755)
    return repository


def _with_filter(folder: Path) -> Path:
    repository = make_repository(folder)
    (repository / ".gitattributes").write_text("*.txt filter=evil diff=evil\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "attributes")
    command = f"sh -c 'touch {folder}/pwned; cat'"
    for name in ("filter.evil.smudge", "filter.evil.clean", "diff.evil.textconv"):
        git(repository, "config", name, command)
    return repository


def _with_config(folder: Path) -> Path:
    repository = make_repository(folder)
    command = f"touch {folder}/pwned"
    for name in ("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "alias.status"):
        git(repository, "config", name, command)
    git(repository, "config", "uploadpack.packObjectsHook", command)
    return repository


def _with_link(folder: Path) -> Path:
    repository = make_repository(folder)
    (folder / "secret").write_text("secret")
    (repository / "out").symlink_to(folder / "secret")
    (repository / "up").symlink_to("../../secret")
    (repository / "inner").symlink_to("hello.txt")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "links")
    return repository


def _with_submodule(folder: Path) -> Path:
    repository = make_repository(folder)
    other = folder / "other"
    other.mkdir()
    git(other, "init", "-q")
    (other / "payload").write_text("x")
    git(other, "add", "-A")
    git(other, "commit", "-q", "-m", "x")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
    git(repository, "commit", "-q", "-m", "submodule")
    return repository


def _fires(make: Callable[[Path], Path], *words: str) -> Callable[[Path], bool]:
    """Git, run trustingly inside the stranger's repository."""

    def check(folder: Path) -> bool:
        repository = make(folder)
        (repository / "hello.txt").unlink()
        subprocess.run(["git", *words], cwd=repository, env=GIT_ENVIRONMENT, capture_output=True, check=False)
        return (folder / "pwned").exists()

    return check


def _harmless(make: Callable[[Path], Path], expect: Callable[[repositories.PreparedRepository], bool] = lambda _: True):  # type: ignore[no-untyped-def]
    def check(folder: Path, sandboxes: Sandboxes) -> bool:
        repository = make(folder)
        (folder / "pwned").unlink(missing_ok=True)  # setting the trap may have sprung it
        prepared = repositories.prepare(sandboxes, repository, folder / "prepared", "HEAD", POLICY)
        names = {path.name for path in prepared.folder.rglob("*")}
        fine = not (folder / "pwned").exists() and ".git" not in names
        return fine and (prepared.folder / "hello.txt").read_text() == "hello\n" and expect(prepared)

    return check


def _with_links_together(folder: Path) -> Path:
    repository = make_repository(folder)
    (folder / "secret").write_text("secret")
    (repository / "a" / "b").mkdir(parents=True)
    (repository / "a" / "b" / "up").symlink_to("../..")
    (repository / "out").symlink_to("a/b/up/../secret")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "links")
    return repository


def _leads_nowhere(prepared: repositories.PreparedRepository) -> bool:
    links = [path for path in prepared.folder.rglob("*") if path.is_symlink()]
    return len(links) == 1 and all(path.resolve().is_relative_to(prepared.folder.resolve()) for path in links)


def _changed(tree: Path) -> bytes:
    """A change that only git's conversion of `ident` hides."""
    (tree / ".gitattributes").write_text("* ident\n")
    (tree / "code").write_text("x = 1  # $Id$\n")
    return b"x = 1  # $Id: something else $\n"


def _hides(folder: Path) -> bool:
    repository = make_repository(folder)
    after = _changed(repository)
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "base")
    (repository / "code").write_bytes(after)
    git(repository, "add", "-A")
    done = subprocess.run(
        ["git", "diff", "--cached"], cwd=repository, env=GIT_ENVIRONMENT, capture_output=True, check=True
    )
    return done.stdout == b""


def _is_seen(folder: Path, _: Sandboxes) -> bool:
    (folder / "tree").mkdir()
    after = _changed(folder / "tree")
    tree = repositories.WorkTree(folder / "tree", folder / "git")
    base = tree.begin()
    (folder / "tree" / "code").write_bytes(after)
    return b"something else" in tree.changes(base)


_LINK_DIFF = b"""diff --git a/out b/out
new file mode 120000
--- /dev/null
+++ b/out
@@ -0,0 +1 @@
+../secret
\\ No newline at end of file
"""


def _makes_link(folder: Path) -> bool:
    repository = make_repository(folder)
    subprocess.run(["git", "apply", "-"], cwd=repository, env=GIT_ENVIRONMENT, input=_LINK_DIFF, check=True)
    return (repository / "out").is_symlink()


def _makes_no_link(folder: Path, _: Sandboxes) -> bool:
    (folder / "tree").mkdir()
    tree = repositories.WorkTree(folder / "tree", folder / "git")
    tree.begin()
    try:
        tree.apply(_LINK_DIFF)
    except ChoirError:
        return not os.path.lexists(folder / "tree" / "out")
    return False


# --- images -----------------------------------------------------------------------------------------


def _image(folder: Path) -> Path:
    """Its one link has a target that ln(1) reads as: by force, into this folder."""
    (folder / "victim").mkdir()
    (folder / "victim" / "passwd").write_text("precious")
    (folder / "image").mkdir()
    (folder / "image" / "passwd").symlink_to(f"-ft{folder}/victim")
    return folder / "image" / "passwd"


def _overwrites(folder: Path) -> bool:
    link = _image(folder)
    subprocess.run(["sh", "-c", 'ln -s "$1" "$2"', "sh", str(link.readlink()), str(folder / "passwd")], check=False)
    return (folder / "victim" / "passwd").is_symlink()


def _leaves_the_host_alone(folder: Path, sandboxes: Sandboxes) -> bool:
    image = _image(folder).parent
    for tier in (Tier.BUBBLEWRAP, Tier.CONTAINER, Tier.GVISOR):
        if sandboxes.capabilities(tier).works:
            with suppress(ChoirError):  # there is no program in the image
                sandboxes.run(Spec(argv=("true",), root=image, tier=tier, trust=Trust.OWN))
    return (folder / "victim" / "passwd").read_text() == "precious"


def _no_link_out(prepared: repositories.PreparedRepository) -> bool:
    links = {path.name for path in prepared.folder.rglob("*") if path.is_symlink()}
    return links == {"inner"} and len(prepared.refused) == 2


def _follows(folder: Path) -> bool:
    return (_with_link(folder) / "out").read_text() == "secret"


def _fetches_submodule(folder: Path) -> bool:
    repository = _with_submodule(folder)
    git(folder, "-c", "protocol.file.allow=always", "clone", "-q", "--recurse-submodules", str(repository), "clone")
    return (folder / "clone" / "sub" / "payload").exists()


HOST_ATTACKS = (
    HostAttack("tar-traversal", "a member called ../pwned", "a trusting tar writes outside",
               _trusting_tar(_traversal, "../pwned"), _refuses(_traversal)),
    HostAttack("tar-through-link", "a link, then a member behind it", "a trusting tar writes outside",
               _trusting_tar(_through_link, "../pwned"), _refuses(_through_link)),
    HostAttack("tar-links-together", "two links that stay inside alone and lead out together",
               "a trusting host reads its own file", _leads_out, _refuses(_links_together)),
    HostAttack("tar-headers-for-all", "60 MB of headers that hold for all members",
               "a trusting tar holds them in memory", _holds_all_headers,
               _refuses(_headers_for_all)),
    HostAttack("tar-hard-link", "a hard link to a file outside", "a trusting tar links it",
               _trusting_tar(_hard_link, "pwned"), _refuses(_hard_link)),
    HostAttack("tar-device", "a pipe or device as member", "a trusting tar makes it",
               _trusting_tar(_device, "pwned"), _refuses(_device)),
    HostAttack("tar-duplicate", "the same name twice, with other content", "a trusting tar keeps the second",
               _trusting_tar(_twice, "pwned"), _refuses(_twice)),
    HostAttack("tar-bomb", "60 MB out of 60 KB", "a trusting tar writes 60 MB",
               _trusting_tar(_tar_bomb, "pwned"), _refuses(_tar_bomb)),
    HostAttack("tar-long-header", "a header of 30 MB", "a trusting tar holds it in memory",
               _trusting_tar(_long_header, "pwned"), _refuses(_long_header)),
    HostAttack("zip-bomb", "60 MB out of 60 KB", "a trusting unzip writes 60 MB",
               _trusting_unzip(_zip_bomb), _refuses(_zip_bomb)),
    HostAttack("zip-link", "a link as member", "the archive holds a link",
               _trusting_unzip(_zip_link), _refuses(_zip_link)),
    HostAttack("git-hooks", "hooks in the repository", "git runs them",
               _fires(_with_hook, "checkout", "-f", "main"), _harmless(_with_hook)),
    HostAttack("git-filters", "filters and text converters in the repository", "git runs them",
               _fires(_with_filter, "checkout", "-f", "main"), _harmless(_with_filter)),
    HostAttack("git-config", "fsmonitor and other programs in the repository's configuration", "git runs them",
               _fires(_with_config, "status"), _harmless(_with_config)),
    HostAttack("git-links", "links in the tree that lead out", "a trusting host reads its own file",
               _follows, _harmless(_with_link, _no_link_out)),
    HostAttack("git-links-together", "two links that stay inside alone and lead out together",
               "a trusting host reads its own file",
               lambda folder: (_with_links_together(folder) / "out").read_text() == "secret",
               _harmless(_with_links_together, _leads_nowhere)),
    HostAttack("git-attributes", "attributes that make git convert a change away", "git's diff does not show it",
               _hides, _is_seen),
    HostAttack("git-diff-link", "a diff that makes a link which leads out", "git makes it",
               _makes_link, _makes_no_link),
    HostAttack("image-option", "an image whose link's target is an option of ln", "a trusting script replaces a file",
               _overwrites, _leaves_the_host_alone),
    HostAttack("git-submodules", "a submodule that fetches from elsewhere", "git fetches it",
               _fetches_submodule, _harmless(_with_submodule, lambda p: not (p.folder / "sub" / "payload").exists())),
)  # fmt: skip
