"""What a buyer relies on: a set-up runs once, and what it wrote is there for every later run, without network."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from choir.bazaar.contracts import Environment
from choir.bazaar.environments.model import Layer, NoImage, NoSuchFile, SetupFailed
from choir.bazaar.environments.service import Environments
from choir.sandbox.model import Result, Spec, Tier
from choir.sandbox.service import Sandboxes
from tests.bazaar.environments.conftest import NPM, PYPI, need
from tests.bazaar.verification.scene import write

OTHER = "true go; "  # a set-up without Python, so that none is prepared


def run(sandboxes: Sandboxes, layer: Layer, tree: Path, command: str) -> Result:
    return sandboxes.run(
        layer.over(Spec(argv=("sh", "-c", f"cd tree && {command}"), folder=tree, folder_at="tree"), tree)
    )


def made(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    write(folder, {name.replace("__", "/"): text for name, text in files.items()} or {"readme": "x\n"})
    return folder


def test_what_a_set_up_writes_inside_and_outside_of_the_tree_is_there_later_and_read_only(
    sandboxes: Sandboxes, environments: Environments, tmp_path: Path
) -> None:
    tree = made(tmp_path / "tree", lock="1\n", src__a="a\n")
    setup = OTHER + (
        "echo tool > /opt/env/bin/tool; chmod +x /opt/env/bin/tool; echo rc > ~/.rc;"
        " mkdir -p deps/inner src; echo d > deps/inner/file; echo new > src/new; ln -s deps/inner/file link"
    )
    with environments.use(Environment(setup, ("lock",)), tree) as layer:
        seen = run(sandboxes, layer, tree, "cat deps/inner/file src/new src/a link ~/.rc; command -v tool; cat lock")
        assert seen.stdout.decode().split() == ["d", "new", "a", "d", "rc", "/opt/env/bin/tool", "1"]
        for place in ("/opt/env/x", "/opt/env/bin/tool", "deps/x", "deps/inner/file"):
            assert b"Read-only" in run(sandboxes, layer, tree, f"echo x > {place}").stderr
        assert run(sandboxes, layer, tree, "echo x > ~/y && echo x > src/y && echo x > src/new").ok
        assert run(sandboxes, layer, tree, "cat src/new").stdout == b"new\n"


def test_where_both_have_a_path_the_tree_wins(sandboxes: Sandboxes, environments: Environments, tmp_path: Path) -> None:
    base = made(tmp_path / "tree", lock="2\n")
    setup = OTHER + "mkdir -p a/b both; echo layer > a/b/c; echo layer > both/x; echo layer > both/y; echo layer > f"
    with environments.use(Environment(setup, ("lock",)), base) as layer:
        patched = made(tmp_path / "patched", lock="2\n", both__x="tree\n", f__inner="tree\n")
        (patched / "a").symlink_to("both")
        seen = run(sandboxes, layer, patched, "cat both/x both/y f/inner; readlink a; ls a")
        assert seen.stdout.decode().split() == ["tree", "layer", "tree", "both", "x", "y"]


def test_a_set_up_runs_once_for_the_same_files_and_again_for_others(environments: Environments, tmp_path: Path) -> None:
    wanted = Environment(OTHER + "date +%N > /opt/env/when", ("lock",))
    first = made(tmp_path / "one", lock="same\n", other="a\n")
    with environments.use(wanted, first) as layer:
        name, content = layer.name, layer.content
    with environments.use(wanted, made(tmp_path / "two", lock="same\n", other="b\n")) as again:
        assert (again.name, again.content) == (name, content)
    with environments.use(wanted, made(tmp_path / "three", lock="changed\n")) as changed:
        assert changed.name != name


def test_a_set_up_sees_only_the_files_that_its_name_is_made_of(environments: Environments, tmp_path: Path) -> None:
    """Otherwise a buyer could put something else under the name of another's layer."""
    tree = made(tmp_path / "tree", lock="seen\n", Makefile="deps:\n\ttouch evil\n")
    listing = Environment(OTHER + "ls -A > /opt/env/seen", ("lock",))
    with environments.use(listing, tree) as layer:
        assert layer.kept is not None
        assert (layer.kept.room / "seen").read_text() == "lock\n"
    whole = Environment(OTHER + "ls -A > /opt/env/seen")
    with environments.use(whole, tree) as layer:
        assert layer.kept is not None
        assert (layer.kept.room / "seen").read_text().split() == ["Makefile", "lock"]
        before = layer.name
    (tree / "Makefile").write_text("deps:\n\ttouch other\n")
    assert environments.name_of(whole, tree)[0] != before


def test_every_input_is_in_the_name(environments: Environments, tmp_path: Path) -> None:
    tree = made(tmp_path / "tree", a="1\n", b="2\n")
    wanted = [
        Environment("x", ("a",)),
        Environment("y", ("a",)),
        Environment("x", ("b",)),
        Environment("x", ("a",), ("pypi.org",)),
        Environment("x"),
    ]
    names = [environments.name_of(item, tree)[0] for item in wanted]
    (tree / "a").chmod(0o755)
    names.append(environments.name_of(wanted[0], tree)[0])
    assert len(set(names)) == len(names)


def test_two_builds_of_the_same_have_the_same_contents(environments: Environments, tmp_path: Path) -> None:
    tree = made(tmp_path / "tree", lock="3\n")
    site = "$VIRTUAL_ENV/lib/python3*/site-packages"
    wanted = Environment(f"for s in {site}; do echo 'x = 1' > $s/dep.py; done; python -c 'import dep'", ("lock",))
    found = set()
    for _ in range(2):
        with environments.use(wanted, tree) as layer:
            found.add((layer.name, layer.content))
            assert layer.python_path
        assert environments.shelf.remove(layer.name)
    assert len(found) == 1


def test_compiled_files_beside_the_tree_are_left_out(environments: Environments, tmp_path: Path) -> None:
    """A stale one would run instead of the source that a delivery brings."""
    tree = made(tmp_path / "tree", pkg__mod="x\n")
    setup = OTHER + "mkdir -p pkg/__pycache__ new/__pycache__; touch pkg/__pycache__/m.pyc new/__pycache__/n.pyc new/f"
    with environments.use(Environment(setup), tree) as layer:
        assert layer.kept is not None
        assert sorted(path.name for path in layer.kept.tree.rglob("*")) == ["f", "new"]


def test_a_set_up_that_fails_is_told_with_what_it_said_last(environments: Environments, tmp_path: Path) -> None:
    tree = made(tmp_path / "tree", lock="4\n")
    failing = Environment(OTHER + "echo no compiler here >&2; exit 3", ("lock",))
    with pytest.raises(SetupFailed, match=r"code 3: no compiler here") as error, environments.use(failing, tree):
        pass
    assert error.value.code == "order.setup_failed"
    with pytest.raises(NoSuchFile, match="absent"), environments.use(Environment("true", ("absent",)), tree):
        pass
    with pytest.raises(NoImage), environments.use(Environment("true", base=f"sha256:{'0' * 64}"), tree):
        pass


def test_python_packages_of_the_registry_are_there_without_network(
    sandboxes: Sandboxes, environments: Environments, tmp_path: Path
) -> None:
    need(*PYPI)
    tree = made(tmp_path / "tree", requirements__txt="")
    (tree / "requirements.txt").write_text("attrs==23.2.0\n")
    wanted = Environment("pip install -r requirements.txt", ("requirements.txt",), PYPI)
    with environments.use(wanted, tree) as layer:
        seen = run(sandboxes, layer, tree, "python -c 'import attr; print(attr.__version__)'")
        assert seen.stdout == b"23.2.0\n", seen.stderr
        lost = run(sandboxes, layer, tree, "PIP_NO_INDEX= pip install --retries 0 --timeout 2 iniconfig")
        assert not lost.ok
        assert layer.kept is not None
        assert layer.kept.facts["downloaded_bytes"] > 10_000


def test_node_packages_of_the_registry_are_found_beside_the_tree(
    sandboxes: Sandboxes, environments: Environments, tmp_path: Path
) -> None:
    need(*NPM)
    tree = made(tmp_path / "tree", index="x")
    manifest = {"name": "x", "version": "1.0.0", "dependencies": {"is-odd": "3.0.1"}}
    (tree / "package.json").write_text(json.dumps(manifest))
    wanted = Environment("npm install --no-package-lock", ("package.json",), NPM)
    with environments.use(wanted, tree) as layer:
        seen = run(sandboxes, layer, tree, "node -p 'require(\"is-odd\")(3)'")
        assert seen.stdout == b"true\n", seen.stderr
        assert layer.added(tree) == ["node_modules"]
        caches = "mkdir -p node_modules/.vite/vitest && echo x > node_modules/.vite/vitest/results.json"
        assert run(sandboxes, layer, tree, caches).ok


class Pinned:
    """Everything in one tier."""

    def __init__(self, sandboxes: Sandboxes, tier: Tier) -> None:
        self.sandboxes, self.tier = sandboxes, tier

    def run(self, spec: Spec, on_output: None = None, cancelled: Callable[[], bool] = lambda: False) -> Result:
        return self.sandboxes.run(replace(spec, tier=self.tier), on_output, cancelled)


@pytest.mark.parametrize("tier", [Tier.BUBBLEWRAP, Tier.CONTAINER, Tier.GVISOR], ids=lambda tier: tier.label)
def test_a_layer_is_the_same_in_every_tier(sandboxes: Sandboxes, tmp_path: Path, tier: Tier) -> None:
    known = sandboxes.capabilities(tier)
    if not known.works:
        pytest.skip(f"{tier.label} does not work here: {known.why}")
    pinned = Pinned(sandboxes, tier)
    tree = made(tmp_path / "tree", packages__a__x="x\n")
    setup = OTHER + "mkdir -p packages/a/node_modules/d top; echo d > packages/a/node_modules/d/f"
    setup += "; echo t > top/f; echo e > /opt/env/e"
    with Environments(pinned, tmp_path).use(Environment(setup), tree) as layer:
        command = "cd tree && cat packages/a/node_modules/d/f packages/a/x top/f /opt/env/e && touch packages/a/y ~/z"
        seen = pinned.run(layer.over(Spec(("sh", "-c", command), folder=tree, folder_at="tree"), tree))
        assert (seen.exit_code, seen.stdout) == (0, b"d\nx\nt\ne\n"), seen.stderr
        assert seen.tier is tier
        assert not pinned.run(layer.over(Spec(("sh", "-c", "echo x > /opt/env/e")), tree)).ok
        assert layer.content == "sha256:817885d853529eddb6bf5531f6560b9f9129ddd5caea99c2dc08cbe1f1d90c16"


def test_an_unpacked_image_can_be_the_base(sandboxes: Sandboxes, environments: Environments, tmp_path: Path) -> None:
    """The operator unpacks it below the home folder, by its digest; here one made of the machine's own programs."""
    tree = made(tmp_path / "tree", lock="5\n")
    digest = "ab" * 32
    root = environments.home / "images" / f"sha256-{digest}"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "image").write_text("image\n")
    (root / "usr").mkdir()
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    import shutil

    for source in ("/usr/bin/sh", "/usr/bin/cat", "/usr/bin/mkdir", "/usr/bin/rm", "/usr/bin/find"):
        target = root / source.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(source).resolve(), target)
    for library in _libraries("/usr/bin/sh", "/usr/bin/mkdir", "/usr/bin/find"):
        target = root / "usr" / library.relative_to("/usr" if library.is_relative_to("/usr") else "/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library.resolve(), target)
    wanted = Environment(OTHER + "cat /etc/image > /opt/env/seen", ("lock",), base=f"test@sha256:{digest}")
    with environments.use(wanted, tree) as layer:
        assert run(sandboxes, layer, tree, "cat /opt/env/seen /etc/image").stdout == b"image\nimage\n"


def _libraries(*programs: str) -> set[Path]:
    import re
    import subprocess

    found = set()
    for program in programs:
        told = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        found |= {Path(path) for path in re.findall(r"(/\S+)", told)}
    return found
