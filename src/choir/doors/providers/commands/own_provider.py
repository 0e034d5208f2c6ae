"""What the commands about one's own provider share: who is meant, and asking the node as that one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import groups, output
from choir.doors.cli.output import AsJson, NodeOption
from choir.foundation.money import Asset

if TYPE_CHECKING:
    from choir.doors.provider.home import ProviderHome
    from choir.doors.sdk.client import Client

NameOption = Annotated[
    str | None, typer.Option("--name", help="The provider's name; also names its folder.", metavar="NAME")
]
FolderOption = Annotated[
    str | None,
    typer.Option(
        "--provider-home",
        help="The provider's folder (CHOIR_PROVIDER_HOME); default: providers/NAME in CHOIR_HOME.",
        metavar="FOLDER",
    ),
]
KeyFileOption = Annotated[
    Path | None, typer.Option("--key", help="Sell as the agent with the key in this file.", metavar="FILE")
]
PublicUrlOption = Annotated[
    str | None,
    typer.Option("--public-url", help="The node's own public URL, if it differs.", metavar="URL"),
]


def home_of(name: str | None, folder: str | None) -> ProviderHome:
    from choir.doors.provider.home import ProviderHome, folder_of

    return ProviderHome(folder_of(name, folder))


@dataclass(frozen=True, slots=True)
class ProviderCall:
    """Whose provider is meant, at which node, and how the answer is wanted."""

    node: str | None
    name: str | None
    folder: str | None
    key_file: Path | None
    public_url: str | None
    as_json: bool

    @contextmanager
    def client(self) -> Iterator[Client]:
        """A client that asks as the provider's owner."""
        from choir.bazaar.providers.model import UnknownProvider
        from choir.doors.provider import seller
        from choir.doors.provider.model import NotServedYet

        home = home_of(self.name, self.folder)
        with output.waiting("Asking the node"):
            found = seller.find(home, self.node, self.key_file, self.public_url, make=False)
            if found is None:
                raise NotServedYet(url=output.address_of(self.node), home=home.folder)
            with found.client() as client:
                try:
                    yield client
                except UnknownProvider:
                    raise NotServedYet(url=found.url, home=home.folder) from None


def read(
    name: NameOption = None,
    key: KeyFileOption = None,
    provider_home: FolderOption = None,
    public_url: PublicUrlOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> ProviderCall:
    """The options of every command about one's own provider."""
    output.want_json(as_json)
    return ProviderCall(node, name, provider_home, key, public_url, as_json)


own_provider = groups.shared(read, "asking")


def sat(msat: int | str) -> str:
    """An amount as people read it, without its unit."""
    return Asset.SAT.format(int(msat))


def typed_price(text: str) -> int:
    """A price as people type it, in SAT; unlike other amounts it may be nothing."""
    return 0 if text.strip().strip("0") in ("", ".") and text.strip() not in ("", ".") else Asset.SAT.parse(text)


def percent(bps: int | None) -> str:
    return "no record yet" if bps is None else f"{bps / 100:.2f} %"
