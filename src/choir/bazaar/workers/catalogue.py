"""Workers by name, as a provider asks for them.

`builtin` stands for all workers that need no model: run, review, fix, index. A preset's name, the path of a profile
(.toml) or of a Python file gives an agent as a command. TextGen has no built-in worker: a text needs a model, and none
is part of Choir.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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

BUILTIN: dict[str, Callable[[Workshop], Worker]] = {
    "run": RunWorker,
    "review": ReviewWorker,
    "fix": FixWorker,
    "index": IndexWorker,
}
ALL_BUILTIN = "builtin"


def workers(
    names: Iterable[str], shop: Workshop, own: Mapping[str, str], model: str = "", api: str = "anthropic"
) -> list[Worker]:
    """The workers by these names, in this order: the first that does a job's type gets the job.

    `own` is the provider's environment; a preset's key is taken from the variable of its API, for the proxy alone.
    """
    found: list[Worker] = []
    for name in names:
        found += _named(name, shop, own, model, api)
    if not found:
        raise BadProfile(why="no worker is named")
    return found


def _named(name: str, shop: Workshop, own: Mapping[str, str], model: str, api: str) -> list[Worker]:
    if name == ALL_BUILTIN:
        return [make(shop) for make in BUILTIN.values()]
    if name in BUILTIN:
        return [BUILTIN[name](shop)]
    if name in presets.ARGUMENTS:
        return [CommandWorker(shop, presets.preset(name, _key(own, api), model, api), own)]
    if name.endswith(".toml"):
        return [CommandWorker(shop, profile_files.read(Path(name), own), own)]
    if name.endswith(".py"):
        return [CommandWorker(shop, presets.script(Path(name)), own)]
    known = ", ".join([ALL_BUILTIN, *BUILTIN, *sorted(presets.ARGUMENTS)])
    raise BadProfile(why=f"there is no worker '{name[:60]}'; there are {known}, or the path of a .py or .toml file")


def _key(own: Mapping[str, str], api: str) -> str:
    names = presets.APIS[api].key_names if api in presets.APIS else ()
    return next((own[name] for name in names if own.get(name)), "")
