"""Profiles and presets as pure functions: words, variables, hosts; a key is in none of the first two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from choir.bazaar.contracts import PatchGenRequest
from choir.bazaar.jobs.model import JobType
from choir.bazaar.workers import presets, profiles
from choir.bazaar.workers.agents import CommandWorker
from choir.bazaar.workers.catalogue import workers
from choir.bazaar.workers.presets import preset, script
from choir.bazaar.workers.profile_files import parse
from choir.bazaar.workers.profiles import BadProfile, CommandProfile, call, fill
from choir.bazaar.workers.shop import Workshop
from choir.sandbox.model import Mount
from tests.bazaar.verification.scene import TERMS

REQUEST = PatchGenRequest("Fix {model} $(rm) it", "-n `body`", "ab" * 20, "python3 -m pytest -q", TERMS)
KEY = "sk-secret-0123456789"


def test_the_calls_of_the_presets() -> None:
    words = {name: call(preset(name, KEY, "m-1"), "job_x", REQUEST, {}).argv for name in presets.ARGUMENTS}
    task = profiles.task(REQUEST)
    assert words["claude-code"][:5] == ("claude", "-p", task, "--output-format", "stream-json")
    assert words["claude-code"][-2:] == ("--model", "m-1")
    assert words["mini-swe-agent"] == (
        *("mini", "-y", "--exit-immediately", "-m", "anthropic/m-1", "-t", task, "-o", "/work/traj.json"),
    )
    assert words["aider"] == (
        *("aider", "--message-file", "/work/task.md", "--yes-always", "--no-auto-commits", "--no-pretty"),
        *("--no-suggest-shell-commands", "--no-show-release-notes", "--disable-playwright"),
        *("--model", "anthropic/m-1"),
    )
    tools = "Read,Glob,Grep,Edit,Write,Bash"
    assert words["claude-code"][-8:-2] == ("--permission-mode", "dontAsk", "--tools", tools, "--allowedTools", tools)
    assert "bypassPermissions" not in words["claude-code"]
    assert words["openhands"] == ("openhands", "--headless", "--json", "--override-with-envs", "-f", "/work/task.md")
    told = call(preset("openhands", KEY, "m-1", "openai"), "job_x", REQUEST, {}).environment
    assert (told["LLM_MODEL"], told["LLM_BASE_URL"]) == ("m-1", "http://api.openai.com/v1")
    assert "--model" not in call(preset("aider"), "job_x", REQUEST, {}).argv


@pytest.mark.parametrize("name", presets.ARGUMENTS)
@pytest.mark.parametrize("api", presets.APIS)
def test_the_key_is_with_the_proxy_alone(name: str, api: str) -> None:
    profile = preset(name, KEY, "m-1", api)
    made = call(profile, "job_x", REQUEST, {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY, "HOME": "/root"})
    assert KEY not in " ".join([*made.argv, *made.environment.values()])
    assert KEY not in repr(profile)
    assert KEY in profile.secrets
    assert "HOME" not in made.environment
    (rule,) = profile.egress
    assert rule.credential is not None
    assert rule.credential.value.endswith(KEY)
    assert rule.upstream_tls
    assert not rule.tunnel
    assert any(value.startswith(f"http://{rule.host}") for value in made.environment.values())
    assert preset(name, "", "m-1", api).egress == ()


def test_placeholders() -> None:
    assert fill("--x={model}", {"model": "{job}"}) == "--x={job}"  # what is put in is not looked at again
    assert fill("{{model}}", {"model": "m"}) == "{model}"
    for bad in ("{modell}", "{", "}", "{}", "{model!r}", "{model.x}", "{0}"):
        with pytest.raises(BadProfile):
            fill(bad, {"model": "m"})


BAD: dict[str, dict[str, Any]] = {
    "no program": {"argv": ()},
    "an empty program": {"argv": ("",)},
    "an unknown placeholder": {"argv": ("x", "{home}")},
    "one in a variable": {"environment": (("A", "{home}"),)},
    "a variable with an odd name": {"environment": (("A=B", "c"),)},
    "the proxy's variable": {"environment": (("HTTPS_PROXY", "http://elsewhere"),)},
    "a loader's variable": {"passed": ("LD_PRELOAD",)},
    "no type": {"types": frozenset()},
    "a type for the sandbox itself": {"types": frozenset({JobType.SANDBOX_RUN})},
    "a writable mount": {"mounts": (Mount(Path("/opt"), "/opt/x", writable=True),)},
}


@pytest.mark.parametrize("name", BAD)
def test_profiles_that_cannot_be_meant(name: str) -> None:
    facts: dict[str, Any] = {"name": "x", "argv": ("x",), **BAD[name]}
    with pytest.raises(BadProfile):
        CommandProfile(**facts)


def test_only_named_variables_are_passed() -> None:
    profile = CommandProfile("x", ("x",), environment=(("WHERE", "{repository}"),), passed=("TOKEN", "ABSENT"))
    made = call(profile, "job_x", REQUEST, {"TOKEN": "t", "OTHER": "o"})
    assert made.environment["TOKEN"] == "t"
    assert made.environment["WHERE"] == "/work/repository"
    assert made.environment["CHOIR_REQUEST_FILE"] == "/work/request.json"
    assert not {"OTHER", "ABSENT"} & made.environment.keys()


def test_a_long_task_is_cut_and_points_to_its_file() -> None:
    long = PatchGenRequest("Title", "word " * 9_000, "ab" * 20, "python3 -m pytest -q", TERMS)
    text = profiles.short_task(long)
    assert len(text) < 11_000
    assert text.startswith("# Title")
    assert "/work/task.md" in text
    assert "- You are done when this command passes: `python3 -m pytest -q`" in profiles.task(long)


def test_workers_by_name(shop: Workshop, tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("print(1)\n")
    found = workers(["run", "builtin", "aider", str(mine)], shop, {"ANTHROPIC_API_KEY": KEY})
    assert [worker.name for worker in found] == ["run", "run", "review", "fix", "index", "aider", "mine"]
    aider = found[5]
    assert isinstance(aider, CommandWorker)
    assert aider.profile.secrets == (KEY,)
    assert "aider" in aider.problem()  # it is not installed here
    assert found[6].problem() == ""
    mine.unlink()
    assert "is not there" in found[6].problem()
    for bad in ([], ["text"], [str(mine)], ["mini-swe-agent"], ["openhands"]):
        with pytest.raises(BadProfile):
            workers(bad, shop, {})
    lacking = CommandProfile("x", ("sh",), passed=("NOT_SET_ANYWHERE",))
    assert CommandWorker(shop, lacking, {}).problem() == "the variable NOT_SET_ANYWHERE is not set"
    with pytest.raises(BadProfile):
        preset("aider", api="elsewhere")
    with pytest.raises(BadProfile):
        script(tmp_path / "absent.py")


def _page_profile() -> str:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "sell-work-with-your-own-agent.md"
    return page.read_text().split("```toml\n")[1].split("```")[0]


def test_the_profile_of_the_how_to_page() -> None:
    profile = parse(_page_profile(), {"MY_KEY": KEY})
    assert profile.argv == ("my-agent", "--task", "{task_file}", "--model", "{model}")
    (rule,) = profile.egress
    assert rule.credential is not None
    assert (rule.host, rule.methods, rule.upstream_tls) == ("models.example.org", ("POST",), True)
    assert rule.credential.value == f"Bearer {KEY}"
    assert KEY in profile.secrets
    assert profile.mounts == (Mount(Path("/home/me/agent"), "/opt/agent"),)
    assert profile.types == {JobType.PATCH_GEN}
    both = parse('name = "x"\nargv = ["x"]\ntypes = ["review", "text_gen"]\n', {})
    assert both.types == {JobType.CODE_REVIEW, JobType.TEXT_GEN}
    with pytest.raises(BadProfile, match="'dance' in types is unknown; there are patch, review, run, text"):
        parse('name = "x"\nargv = ["x"]\ntypes = ["dance"]\n', {})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not toml",
        'name = "x"',
        'name = "x"\nargv = []',
        'name = "x"\nargv = ["x"]\nsurprise = 1',
        'name = "x"\nargv = ["x"]\ntypes = ["everything"]',
        'name = "x"\nargv = ["{home}"]',
        'name = "x"\nargv = "x y"',
        'name = "x"\nargv = ["x"]\n[environment]\nA = 1',
        'name = "x"\nargv = ["x"]\n[[hosts]]\nhost = "h"\nports = [0]',
        'name = "x"\nargv = ["x"]\n[[hosts]]\nhost = "h"\nport = 80',
        'name = "x"\nargv = ["x"]\n[[hosts]]\nhost = "h"\ncredential = { header = "k", variable = "ABSENT" }',
        'name = "x"\nargv = ["x"]\n[[hosts]]\nhost = "h"\ncredential = { header = "k", value = "sk" }',
        'name = "x"\nargv = ["x"]\n[[mounts]]\nsource = "here"\ntarget = "/x"',
    ],
)
def test_profile_files_that_cannot_be_meant(text: str) -> None:
    with pytest.raises(BadProfile):
        parse(text, {})


def test_profile_files_are_found_by_name(shop: Workshop, tmp_path: Path) -> None:
    place = tmp_path / "mine.toml"
    place.write_text('name = "mine"\nargv = ["sh", "-c", "true"]\npass = ["LICENCE"]\n')
    (found,) = workers([str(place)], shop, {"LICENCE": "l-123456789"})
    assert (found.name, found.problem()) == ("mine", "")
    for data in (None, b"\xff\xfe"):
        bad = tmp_path / "bad.toml"
        if data is not None:
            bad.write_bytes(data)
        with pytest.raises(BadProfile):
            workers([str(bad)], shop, {})
