"""What the command line's framework does not do by itself: commands that are loaded when they are used, whole sentences
in listings, plain words, negative amounts.

A group that names its parts loads the module of the command that is typed and no other. A list of commands shows the
first sentence of each, wrapped and never cut. What an option takes is a plain word such as TEXT, not a type of
Python's. An amount such as -5 reaches the command, which can say what is wrong with it, instead of being taken for an
unknown option.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, ClassVar, get_type_hints

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command_name, get_group

_NEGATIVE = re.compile(r"-[0-9.]")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_LIST_OF = re.compile(r"list\[(.+)\]")
_TYPED: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())
_PLAIN = {"str": "TEXT", "int": "NUMBER", "float": "NUMBER", "Path": "PATH"}


class Group(TyperGroup):
    """Lists its commands with their first sentence, however long.

    `default` is run where none of them is named; `other_names` are understood too, and not listed. `parts` says where
    each command is found, as `module:attribute`: an application, or a function that registers it.
    """

    default = ""
    other_names: ClassVar[Mapping[str, str]] = {}
    parts: ClassVar[Mapping[str, str]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.parts:
            self.commands = _Parts(self.parts)  # type: ignore[assignment]  # nobody adds to it

    def get_params(self, ctx: Any) -> list[Any]:
        return [_plainly_read(parameter) for parameter in super().get_params(ctx)]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in self.other_names:
            args = [self.other_names[args[0]], *args[1:]]
        if self.default and args and args[0] not in self.commands:
            args = [self.default, *args]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, summary(command)) for name, command in found if command is not None and not command.hidden]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


class _Parts(Mapping[str, Any]):
    """Commands by name, each made when it is first asked for."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _made(name, self._places[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def parts_of(package: str, names_by_place: Mapping[str, str]) -> dict[str, str]:
    """The parts of a group: `module:attribute` below a package, or of another door, and the names found there."""

    def whole(place: str) -> str:
        return place if place.startswith("choir.") else f"{package}.{place}"

    return {name: whole(place) for place, listed in names_by_place.items() for name in listed.split()}


def registered(place: str, name: str) -> typer.Typer:
    """An application with what is found at `module:attribute`; an application there is called `name`."""
    module, _, attribute = place.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    holder = typer.Typer(rich_markup_mode=None, add_completion=False)
    holder.callback()(_nothing)  # with it even one command is a group's
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=name)
    else:
        found(holder)
    return holder


def names_in(app: typer.Typer) -> list[str]:
    """What the commands and groups right below an application are called."""
    commands = [
        item.name or get_command_name(getattr(item.callback, "__name__", "")) for item in app.registered_commands
    ]
    return commands + [str(item.name) for item in app.registered_groups]


def _made(name: str, place: str) -> Any:
    """One command; its neighbours, which the same function registers, cost time and are left out."""
    holder = registered(place, name)
    found = [*holder.registered_commands, *holder.registered_groups][names_in(holder).index(name)]
    holder.registered_commands = [item for item in holder.registered_commands if item is found]
    holder.registered_groups = [item for item in holder.registered_groups if item is found]
    improve(holder)
    return get_group(holder).commands[name]


def _nothing() -> None:
    """An application without options of its own."""


class Command(TyperCommand):
    """Says in plain words what its parameters take, where they do not say so themselves."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for parameter in self.params:
            if isinstance(parameter, TyperArgument):
                parameter.display_type_rich = _untold  # type: ignore[method-assign]  # its name says enough
            elif isinstance(parameter, TyperOption) and parameter.metavar is None:
                kind = parameter.bare_type()
                of = _LIST_OF.fullmatch(kind)
                parameter.metavar = _PLAIN.get(of[1] if of else kind)

    def get_params(self, ctx: Any) -> list[Any]:
        return [_plainly_read(parameter) for parameter in super().get_params(ctx)]

    def make_parser(self, ctx: Any) -> Any:
        parser = super().make_parser(ctx)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            found = parse(args=args)
            _TYPED.set(tuple(str(parameter.name) for parameter in found[2]))
            return found

        parser.parse_args = parse_args  # type: ignore[method-assign]  # remembers what the framework forgets
        return parser


def typed_order() -> tuple[str, ...]:
    """The names of the parameters of the command that runs, in the order in which they were typed, each as often."""
    return _TYPED.get()


class _Plain:
    """Reads a parameter without the framework's converter, which loads pydantic, where there is nothing to convert."""

    def __init__(self, parameter: Any) -> None:
        self._converter = parameter.get_runtime_param
        self._kind = parameter.type_descriptor.annotation

    def itself(self) -> _Plain:
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if isinstance(self._kind, type) and isinstance(value, self._kind):  # text as it was typed, or our own default
            return value
        if self._kind == list[str] and isinstance(value, list | tuple):
            return list(value)
        return self._converter().coerce(value, param=param, ctx=ctx)


def _plainly_read(parameter: Any) -> Any:
    if not isinstance(getattr(parameter.get_runtime_param, "__self__", None), _Plain):
        parameter.get_runtime_param = _Plain(parameter).itself
    return parameter


def _untold(ctx: Any) -> None:
    """No type of Python's."""


class AmountCommand(Command):
    """A command that takes an amount as an argument."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" not in args:  # a space in front says that it is no option; amounts are read without it
            args = [f" {word}" if _NEGATIVE.match(word) else word for word in args]
        return super().parse_args(ctx, args)


def summary(command: Any) -> str:
    """The first sentence of a command's help."""
    paragraph = " ".join((command.help or "").strip().split("\n\n")[0].split())
    return _SENTENCE_END.split(paragraph)[0]


def shared(read: Callable[..., Any], name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """For commands with parameters in common: each has those of `read` too, and gets what it made of them as `name`."""
    common = _parameters(read)

    def give(command: Callable[..., None]) -> Callable[..., None]:
        own = _parameters(command)
        del own[name]

        @functools.wraps(command)
        def with_all(**given: Any) -> None:
            found = read(**{each: given.pop(each) for each in common})
            command(**given, **{name: found})

        every = own | common
        with_all.__signature__ = inspect.Signature(list(every.values()))  # type: ignore[attr-defined]
        with_all.__annotations__ = {each: item.annotation for each, item in every.items()}
        return with_all

    return give


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """By name; their order does not say which must be given."""
    hints = get_type_hints(function, include_extras=True)
    return {
        name: item.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
        for name, item in inspect.signature(function).parameters.items()
    }


def improve(app: typer.Typer) -> None:
    """Make all of an application, and of those below it, behave like this."""
    app.info.cls = _group(app.info.cls)
    for command in app.registered_commands:
        takes_amount = "amount" in getattr(command.callback, "__annotations__", {})
        command.cls = AmountCommand if takes_amount else Command
    for below in app.registered_groups:
        below.cls = _group(below.cls, below.typer_instance)
        if below.typer_instance is not None:
            improve(below.typer_instance)


def _group(chosen: Any, app: typer.Typer | None = None) -> type[TyperGroup]:
    """A group that was made for one's own needs stays; it must be one of ours."""
    for found in (chosen, app.info.cls if app is not None else None):
        if isinstance(found, type) and issubclass(found, Group):
            return found
    return Group
