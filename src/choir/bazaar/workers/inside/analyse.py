"""Runs the analysers on the files of /work/plan.json below /work/repository and prints what they said as one JSON.

Called as: python3 -I -c SOURCE TOOLS. Each analyser is a process of its own with the same isolation, so that no file
of the repository can stand in for one of its modules, and none of the repository's configuration is read. One that
fails is named with its reason; the others go on.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib

CHUNK = 100
TOOL_S_MAX = 60
MARKS = ("<<<<<<< ", "======= ", ">>>>>>> ")


def module(site: str, name: str, *arguments: str) -> list[str]:
    """A command that runs a lent module, away from everything else."""
    start = (
        f"import sys, runpy; sys.path.insert(0, {site!r}); sys.argv[0] = {name!r};"
        f" runpy.run_module({name!r}, run_name='__main__')"
    )
    return [sys.executable, "-I", "-c", start, *arguments]


def run(command: list[str]) -> str:
    done = subprocess.run(
        command, cwd="/work", capture_output=True, timeout=TOOL_S_MAX, check=False, text=True, errors="replace"
    )
    if not done.stdout and done.returncode not in (0, 1, 3):
        raise ValueError(f"code {done.returncode}: {done.stderr.strip()[-200:]}")
    return done.stdout


def ruff(tools: str, paths: list[str], plan: dict[str, object]) -> object:
    words = [
        "check",
        "--isolated",
        "--no-cache",
        "--exit-zero",
        "--output-format",
        "json",
        "--select",
        str(plan["rules"]),
    ]
    return json.loads(run([f"{tools}/bin/ruff", *words, "--", *paths]))


def bandit(tools: str, paths: list[str], plan: dict[str, object]) -> object:  # noqa: ARG001
    return json.loads(run(module(f"{tools}/site", "bandit", "-q", "-f", "json", *paths)))["results"]


def vulture(tools: str, paths: list[str], plan: dict[str, object]) -> object:  # noqa: ARG001
    return run(module(f"{tools}/site", "vulture", "--min-confidence", "80", *paths)).splitlines()


def secrets(tools: str, paths: list[str], plan: dict[str, object]) -> object:  # noqa: ARG001
    found = json.loads(run(module(f"{tools}/site", "detect_secrets", "scan", "--no-verify", *paths)))["results"]
    return [item for items in found.values() for item in items]


def shapes(tools: str, paths: list[str], plan: dict[str, object]) -> object:  # noqa: ARG001
    """Marks of a merge that was not finished, and data files that cannot be read."""
    sys.path.insert(0, f"{tools}/site")
    found = []
    for path in paths:
        with open(f"/work/{path}", "rb") as file:  # noqa: PTH123
            data = file.read()
        lines = data.decode(errors="replace").split("\n")
        marked = [number for number, line in enumerate(lines, 1) if line.startswith(MARKS[::2])]
        found += [{"path": path, "line": number, "why": "a mark of an unfinished merge"} for number in marked[:10]]
        if why := unreadable(path, data):
            found.append({"path": path, "line": why[0], "why": why[1]})
    return found


def unreadable(path: str, data: bytes) -> tuple[int, str] | None:
    import yaml  # type: ignore[import-untyped]

    try:
        if path.endswith(".json"):
            json.loads(data)
        elif path.endswith(".toml"):
            tomllib.loads(data.decode())
        elif path.endswith((".yml", ".yaml")):
            list(yaml.parse(data))
    except json.JSONDecodeError as error:
        return error.lineno, f"this is not valid JSON: {error.msg}"
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        return (mark.line + 1 if mark else 1), f"this is not valid YAML: {error.problem}"
    except (ValueError, yaml.YAMLError) as error:
        words = str(error)
        line = words.partition("line ")[2].partition(",")[0]
        return (int(line) if line.isdigit() else 1), f"this cannot be read: {words[:200]}"
    return None


def main() -> None:
    tools = sys.argv[1]
    with open("/work/plan.json", encoding="utf-8") as file:  # noqa: PTH123
        plan = json.load(file)
    found: dict[str, list[object]] = {}
    failed: dict[str, str] = {}
    for name, tool, kind in (
        ("ruff", ruff, "python"),
        ("bandit", bandit, "python"),
        ("vulture", vulture, "python"),
        ("detect-secrets", secrets, "all"),
        ("shapes", shapes, "all"),
    ):
        found[name] = []
        paths = plan[kind]
        for start in range(0, len(paths), CHUNK):
            try:
                found[name] += tool(tools, paths[start : start + CHUNK], plan)  # type: ignore[arg-type]
            except Exception as error:  # the next chunk may be better
                failed[name] = f"{type(error).__name__}: {error}"[:300]
    json.dump({"found": found, "failed": failed}, sys.stdout)


if __name__ == "__main__":
    main()
