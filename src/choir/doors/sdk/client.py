"""The clients of a node: one that waits, and one to await."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import httpx

from choir.doors.agents.client import AgentsClient
from choir.doors.articles.client import ArticlesClient
from choir.doors.atoms.client import AtomsClient
from choir.doors.challenges.client import ChallengesClient
from choir.doors.citations.client import CitationsClient
from choir.doors.delegations.client import DelegationsClient
from choir.doors.disputes.client import DisputesClient
from choir.doors.environments.client import EnvironmentsClient
from choir.doors.events.client import EventsClient
from choir.doors.hall.client import HallClient
from choir.doors.indexes.client import IndexesClient
from choir.doors.issuances.client import IssuancesClient
from choir.doors.jobs.client import IdsClient, JobsClient, UploadsClient
from choir.doors.keys.client import KeysClient
from choir.doors.ledger.client import LedgerClient
from choir.doors.liabilities.client import LiabilitiesClient
from choir.doors.logins.client import LoginsClient
from choir.doors.node.client import NodeClient
from choir.doors.novelty.client import NoveltyClient
from choir.doors.operator.client import OperatorClient
from choir.doors.people.client import MeClient, PeopleClient
from choir.doors.providers.client import AttemptsClient, ProvidersClient
from choir.doors.sdk.auth import Bearer, NostrKey
from choir.doors.sdk.calls import R, new_key
from choir.doors.sdk.errors import NoNode
from choir.doors.sdk.target import ChosenCredential, address_of, choose
from choir.doors.sdk.transport import AsyncTransport, Transport
from choir.doors.search.client import SearchClient
from choir.doors.skills.client import SkillsClient
from choir.doors.sources.client import SourcesClient
from choir.doors.takedowns.client import TakedownsClient
from choir.doors.tokens.client import TokensClient
from choir.doors.treasury.client import TreasuryClient
from choir.foundation.policy import Policy
from choir.foundation.settings import load_settings

__all__ = ["AsyncClient", "Client", "NoNode", "new_key"]

_TIMEOUT_S = 60.0
_PATIENCE_S = 15.0


class Rooms(NodeClient[R], LedgerClient[R], EventsClient[R]):
    """All parts of a node: ledger methods on the client itself, the others under an attribute each."""

    def __init__(self, transport: R) -> None:
        super().__init__(transport)
        self.known_policy: Policy | None = None  # of the node, once somebody asked: `policies.policy_of`
        self.issuances: IssuancesClient[R] = IssuancesClient(transport)
        self.liabilities: LiabilitiesClient[R] = LiabilitiesClient(transport)
        self.me: MeClient[R] = MeClient(transport)
        self.people: PeopleClient[R] = PeopleClient(transport)
        self.agents: AgentsClient[R] = AgentsClient(transport)
        self.delegations: DelegationsClient[R] = DelegationsClient(transport)
        self.tokens: TokensClient[R] = TokensClient(transport)
        self.keys: KeysClient[R] = KeysClient(transport)
        self.logins: LoginsClient[R] = LoginsClient(transport)
        self.operator: OperatorClient[R] = OperatorClient(transport)
        self.uploads: UploadsClient[R] = UploadsClient(transport)
        self.hall: HallClient[R] = HallClient(transport)
        self.jobs: JobsClient[R] = JobsClient(transport)
        self.indexes: IndexesClient[R] = IndexesClient(transport)
        self.attempts: AttemptsClient[R] = AttemptsClient(transport)
        self.providers: ProvidersClient[R] = ProvidersClient(transport)
        self.disputes: DisputesClient[R] = DisputesClient(transport)
        self.environments: EnvironmentsClient[R] = EnvironmentsClient(transport)
        self.skills: SkillsClient[R] = SkillsClient(transport)
        self.sources: SourcesClient[R] = SourcesClient(transport)
        self.atoms: AtomsClient[R] = AtomsClient(transport)
        self.articles: ArticlesClient[R] = ArticlesClient(transport)
        self.challenges: ChallengesClient[R] = ChallengesClient(transport)
        self.takedowns: TakedownsClient[R] = TakedownsClient(transport)
        self.novelty: NoveltyClient[R] = NoveltyClient(transport)
        self.citations: CitationsClient[R] = CitationsClient(transport)
        self.search: SearchClient[R] = SearchClient(transport)
        self.treasury: TreasuryClient[R] = TreasuryClient(transport)
        self.ids: IdsClient[R] = IdsClient(transport)

    @property
    def ahead_s(self) -> float:
        """How far the node's clock is ahead of this machine's, by its last answer; below two seconds it counts as 0."""
        return self._transport.ahead_s


class Client(Rooms[Transport]):
    """Everything a node offers, as methods that wait for the answer. Threads may share a client.

    Without an address it is the node of this machine; without a token or `auth`, whoever the settings or a
    saved login say. A request that is safe to repeat is repeated for `patience_s`; for `connect_s` only
    while nothing answers at all.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        auth: NostrKey | None = None,
        timeout_s: float = _TIMEOUT_S,
        patience_s: float = _PATIENCE_S,
        connect_s: float | None = None,
    ) -> None:
        self.url, self.who, chosen = _chosen(url, token, auth)
        connect_s = patience_s if connect_s is None else connect_s
        transport = Transport(self.url, chosen, timeout_s=timeout_s, patience_s=patience_s, connect_s=connect_s)
        super().__init__(transport)

    def __repr__(self) -> str:
        return f"Client({self.url})"

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def twin(self) -> Client:
        """The same client with its own connections."""
        return _twin(self.url, self.who, self._transport.twin())


class AsyncClient(Rooms[AsyncTransport]):
    """The same methods as `Client`, to be awaited; listings and events are for `async for`."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        auth: NostrKey | None = None,
        timeout_s: float = _TIMEOUT_S,
        patience_s: float = _PATIENCE_S,
        connect_s: float | None = None,
    ) -> None:
        self.url, self.who, chosen = _chosen(url, token, auth)
        connect_s = patience_s if connect_s is None else connect_s
        transport = AsyncTransport(self.url, chosen, timeout_s=timeout_s, patience_s=patience_s, connect_s=connect_s)
        super().__init__(transport)

    def __repr__(self) -> str:
        return f"AsyncClient({self.url})"

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    def twin(self) -> Client:
        """A synchronous client for the same node and credential."""
        return _twin(self.url, self.who, self._transport.twin())


def _twin(url: str, who: ChosenCredential, transport: Transport) -> Client:
    made = Client.__new__(Client)
    made.url, made.who = url, who
    Rooms.__init__(made, transport)
    return made


def _chosen(url: str | None, token: str | None, auth: Any) -> tuple[str, ChosenCredential, httpx.Auth | None]:
    """The address, who asks there and why, and how that is shown."""
    settings = load_settings()
    address = address_of(settings, url)
    if auth is not None:
        return address, ChosenCredential("", "given", "a Nostr key was given"), auth
    chosen = choose(settings, address) if token is None else ChosenCredential(token, "given", "a token was given")
    return address, chosen, Bearer(chosen.token) if chosen.token else None
