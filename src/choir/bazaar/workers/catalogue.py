"""Workers by name, as a provider asks for them.

`builtin` stands for all workers that need no model: run, review, fix, index. A preset's name, the path of a profile
(.toml) or of a Python file gives an agent as a command. `text` writes texts with a model behind any OpenAI-compatible
address.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from choir.bazaar.workers import presets, profile_files
from choir.bazaar.workers.agents import CommandWorker
from choir.bazaar.workers.fix_worker import FixWorker
from choir.bazaar.workers.index_worker import IndexWorker
from choir.bazaar.workers.model import Worker
from choir.bazaar.workers.profiles import BadProfile
from choir.bazaar.workers.review_worker import ReviewWorker
from choir.bazaar.workers.run_worker import RunWorker
from choir.bazaar.workers.shop import Workshop
from choir.bazaar.workers.text_worker import Endpoint, TextWorker
from choir.bazaar.workers.use import UseBook

BUILTIN: dict[str, Callable[[Workshop], Worker]] = {
    "run": RunWorker,
    "review": ReviewWorker,
    "fix": FixWorker,
    "index": IndexWorker,
}
ALL_BUILTIN = "builtin"
TEXT = "text"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model workers use, and where it is."""

    model: str = ""
    api: str = "anthropic"
    endpoint: str = ""  # empty: the API's own address
    key_variable: str = ""  # empty: the usual variable of the API
    folder: Path | None = None  # where an agent is installed, if not below /usr


def workers(
    names: Iterable[str],
    shop: Workshop,
    own: Mapping[str, str],
    choice: ModelChoice | None = None,
    book: UseBook | None = None,
) -> list[Worker]:
    """The workers by these names, in this order: the first that does a job's type gets the job.

    `own` is the provider's environment; a preset's key is taken from the variable of its API, for the proxy alone.
    `book` counts what models are used.
    """
    found: list[Worker] = []
    for name in names:
        found += _named(name, shop, own, choice or ModelChoice(), book or UseBook(None, shop.policy, shop.clock))
    if not found:
        raise BadProfile(why="no worker is named")
    return found


def _named(name: str, shop: Workshop, own: Mapping[str, str], choice: ModelChoice, book: UseBook) -> list[Worker]:
    if name == ALL_BUILTIN:
        return [make(shop) for make in BUILTIN.values()]
    if name in BUILTIN:
        return [BUILTIN[name](shop)]
    if name == TEXT:
        return [TextWorker(shop, text_endpoint(choice, _key(own, choice, "openai")), book)]
    if name in presets.ARGUMENTS:
        key = _key(own, choice, choice.api)
        made = presets.preset(name, key, choice.model, choice.api, endpoint=choice.endpoint, folder=choice.folder)
        return [CommandWorker(shop, made, own, book)]
    if name.endswith(".toml"):
        return [CommandWorker(shop, profile_files.read(Path(name), own), own, book)]
    if name.endswith(".py"):
        return [CommandWorker(shop, presets.script(Path(name)), own, book)]
    known = ", ".join([ALL_BUILTIN, *BUILTIN, TEXT, *sorted(presets.ARGUMENTS)])
    raise BadProfile(why=f"there is no worker '{name[:60]}'; there are {known}, or the path of a .py or .toml file")


def text_endpoint(choice: ModelChoice, key: str) -> Endpoint:
    """Where the text worker finds its model."""
    if not choice.model:
        raise BadProfile(why="the text worker needs the name of a model: --model")
    if not choice.endpoint:
        raise BadProfile(why="the text worker needs an OpenAI-compatible address: --endpoint http://localhost:11434/v1")
    presets.read_endpoint(choice.endpoint)
    return Endpoint(choice.endpoint, choice.model, key)


def _key(own: Mapping[str, str], choice: ModelChoice, api: str) -> str:
    """The key of a model, from the variable that was named, or else from the usual one of its API.

    A key for the usual address is never sent to another one by accident: an endpoint has the key that was named for it.
    """
    if choice.key_variable:
        if not own.get(choice.key_variable):
            raise BadProfile(why=f"the variable {choice.key_variable[:60]}, which holds a key, is not set")
        return own[choice.key_variable]
    if choice.endpoint:
        return ""
    names = presets.APIS[api].key_names if api in presets.APIS else ()
    return next((own[name] for name in names if own.get(name)), "")
