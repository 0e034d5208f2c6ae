"""How layers are named, what a set-up finds, and what the runs after it find. Pure.

Guarantees: two set-ups have the same name only if everything that they can see is the same: base, command, files, hosts
and the version of this builder. So no buyer can put something else under another's name.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from choir.bazaar.contracts.environments import MACHINE, Environment
from choir.bazaar.contracts.paths import fits_any
from choir.foundation.canonical import canonical_hash
from choir.sandbox.layers.model import ROOM, TREE
from choir.sandbox.model import WORKSPACE
from choir.sandbox.tiers.base import PAYLOAD_PATH

BUILDER = "choir-layer/1"  # goes into every name: raise it when set-ups would leave something else
SETUP_HOME = f"{ROOM}/home"
RUN_HOME = f"{WORKSPACE}/home"
HOME_LINKS_MAX = 100
CACHES = (".cache", ".vite", ".vite-temp")  # of tools of JavaScript, below `caches` in the workspace
VENV = f"{ROOM}/venv"
_TREE = f"{WORKSPACE}/{TREE}"
_AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
_PYTHON_WORDS = re.compile(r"(?<![\w-])(pip3?|python3?|poetry|uv|pdm|hatch|tox|nox|make|sh|bash)(?![\w-])|\./")
_OTHER_WORDS = re.compile(r"(?<![\w-])(npm|yarn|pnpm|npx|go|cargo|bundle|gem)(?![\w-])")

# Names that decide how tests run: a set-up may not add one to the tree. As a patch may not (`verification.decision`).
_DECIDING = frozenset({
    "conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml",
    "noxfile.py", ".coveragerc", "package.json", ".npmrc", ".babelrc", "Makefile", "makefile", "GNUmakefile", "go.mod",
    "go.work", "Cargo.toml", ".cargo",
})  # fmt: skip
_DECIDING_BEGINS = ("jest.config.", "vitest.config.", "vite.config.", "babel.config.", ".mocharc.")
_MODULES = frozenset({
    "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py", "xdist", "sitecustomize",
    "usercustomize",
})  # fmt: skip
_TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "spec"})

# Makes a Python environment where one is likely to be wanted, runs the command, and compiles what was installed in a
# way that has no times in it, so that two builds are the same and a read-only layer is fast. Tools of JavaScript keep
# caches among the modules, which are read-only later: links lead to where they can write.
SCRIPT = """
set -eu
mkdir -p "$HOME" /opt/env/bin
if [ "$2" = yes ] && [ -x /usr/bin/python3 ]; then
  /usr/bin/python3 -I -m venv /opt/env/venv >/dev/null 2>&1 || rm -rf /opt/env/venv
fi
cd /work/tree
sh -c "$1"
for site in /opt/env/venv/lib/python3*/site-packages; do
  [ -d "$site" ] || continue
  find "$site" -name __pycache__ -prune -exec rm -rf {} + || true
  /usr/bin/python3 -I -m compileall -q -q -f -x '/site-packages/(pip|setuptools|pkg_resources|_distutils_hack)/' \
    --invalidation-mode unchecked-hash "$site" || true
done
find /work/tree -maxdepth 4 -name node_modules -prune -type d | while read -r modules; do
  for cache in .cache .vite .vite-temp; do
    [ -e "$modules/$cache" ] || ln -s "/work/caches/$cache" "$modules/$cache"
  done
done
rm -rf "$HOME/.cache" "$HOME/.npm/_cacache" "$HOME/.npm/_logs"
"""


def machine_name(system: Mapping[str, str], architecture: str, python: str) -> str:
    """This machine's tools, in a word: a layer that was made with others is another one."""
    words = (system.get("ID", "linux"), system.get("VERSION_ID", ""), architecture, python)
    return ":".join((MACHINE, *words))


def chosen(environment: Environment, paths: Iterable[str]) -> list[str]:
    """The files of the tree that the set-up sees."""
    everything = sorted(paths)
    if not environment.setup_files:
        return everything
    return [path for path in everything if fits_any(path, environment.setup_files)]


def name(environment: Environment, base: str, files: Mapping[str, str]) -> str:
    """The name of the layer: the hash of all that goes in. `files` are the contents by their hashes."""
    inputs = {
        "builder": BUILDER,
        "base": base,
        "setup": environment.setup,
        "files": dict(files),
        "hosts": list(environment.hosts),
    }
    return str(canonical_hash(inputs))


def wants_python(setup: str) -> bool:
    """Whether a Python environment is made first. Not for a set-up that clearly has to do with others only."""
    return bool(_PYTHON_WORDS.search(setup)) or not _OTHER_WORDS.search(setup)


def setup_variables() -> dict[str, str]:
    """What a set-up finds: everything that stays goes below the room, caches go away with the sandbox."""
    return _places() | {
        "HOME": SETUP_HOME,
        "CI": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PIP_NO_COMPILE": "1",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_NO_INPUT": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_CERT": _AUTHORITIES,
        "UV_CACHE_DIR": "/tmp/uv",  # noqa: S108 - inside the sandbox
        "UV_LINK_MODE": "copy",
        "UV_PYTHON_DOWNLOADS": "never",
        "POETRY_CACHE_DIR": "/tmp/poetry",  # noqa: S108
        "npm_config_cache": "/tmp/npm",  # noqa: S108
        "npm_config_audit": "false",
        "npm_config_fund": "false",
        "npm_config_update_notifier": "false",
        "GOCACHE": "/tmp/go-build",  # noqa: S108
        "SSL_CERT_FILE": _AUTHORITIES,
        "REQUESTS_CA_BUNDLE": _AUTHORITIES,
        "CURL_CA_BUNDLE": _AUTHORITIES,
        "NODE_EXTRA_CA_CERTS": _AUTHORITIES,
        "CARGO_HTTP_CAINFO": _AUTHORITIES,
    }


def run_variables() -> dict[str, str]:
    """What tests and builds find. Nothing here makes an interpreter load something by itself at its start: no
    PYTHONPATH, NODE_OPTIONS or LD_…, so that what a set-up left does not come before the verifier's own programs."""
    return _places() | {
        "HOME": RUN_HOME,
        "PIP_NO_INDEX": "1",
        "UV_OFFLINE": "1",
        "npm_config_offline": "true",
        "npm_config_cache": f"{RUN_HOME}/.npm",
        "npm_config_update_notifier": "false",
        "GOPROXY": "off",
        "CARGO_NET_OFFLINE": "true",
    }


def _places() -> dict[str, str]:
    folders = [f"{VENV}/bin", f"{ROOM}/bin", f"{SETUP_HOME}/.local/bin", f"{ROOM}/cargo/bin", f"{ROOM}/go/bin"]
    return {
        "PATH": ":".join((*folders, f"{_TREE}/node_modules/.bin", PAYLOAD_PATH)),
        "VIRTUAL_ENV": VENV,
        "UV_PROJECT_ENVIRONMENT": VENV,
        "POETRY_VIRTUALENVS_CREATE": "false",
        "NODE_PATH": f"{ROOM}/lib/node_modules",
        "npm_config_prefix": ROOM,
        "GOPATH": f"{ROOM}/go",
        "GOMODCACHE": f"{ROOM}/go/pkg/mod",
        "GOFLAGS": "-mod=mod",
        "CARGO_HOME": f"{ROOM}/cargo",
    }


def is_usual(path: str) -> bool:
    """Whether a set-up may add this to the tree. What decides how the buyer's tests run is the buyer's alone."""
    parts = PurePosixPath(path).parts
    name = parts[-1]
    first = name.split(".")[0]
    importable = parts[:-1] in ((), ("src",), ("lib",))
    if name.lower().endswith((".egg-info", ".dist-info")):  # where plugins of a test runner register themselves
        return False
    if name in _DECIDING or name.startswith(_DECIDING_BEGINS) or name.endswith(".pth") or first in _MODULES:
        return False
    if importable and first in sys.stdlib_module_names:
        return False
    return not _TEST_FOLDERS.intersection(part.lower() for part in parts[:-1])
