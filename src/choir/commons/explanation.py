"""How an article, a publication, a challenge or a revision came to be as it is, in sentences and facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from choir.commons.articles import store as article_store
from choir.commons.articles.model import UnknownArticle, parse_article_id
from choir.commons.challenges import store as challenge_store
from choir.commons.challenges.model import UnknownChallenge, parse_challenge_id
from choir.commons.composition import Commons
from choir.commons.publication import store as publication_store
from choir.commons.publication.model import Publication
from choir.commons.stakes import store as stake_store
from choir.feature import Base, Explanation
from choir.foundation.clock import format_time
from choir.foundation.money import Asset
from choir.storage.database import Tx


def _article(_: Base, tx: Tx, id_: str) -> Explanation:
    article = article_store.get(tx, parse_article_id(id_))
    if article is None or article.versions == 0:  # a draft is nobody else's business
        raise UnknownArticle(article=id_)
    versions = publication_store.versions(tx, article.id)
    sentences = [f"The article '{article.title}' is {article.state.value}."]
    sentences += [_version(tx, item) for item in versions]
    facts = {
        "state": article.state.value,
        "versions": [
            {"version": item.version, "state": item.state.value, "risk_bps": item.risk_bps, "tier": item.tier.value}
            for item in versions
        ],
    }
    return Explanation(sentences, facts)


def _version(tx: Tx, item: Publication) -> str:
    stake = stake_store.get(tx, item.stake)
    parts = ", ".join(f"{Asset.CHIP.format(part.amount)} {part.origin.value}" for part in stake.parts)
    times = [f"submitted {format_time(item.submitted_us)}"]
    if item.window_until_us is not None:
        times.append(f"window until {format_time(item.window_until_us)}")
    if item.promoted_us is not None:
        times.append(f"promoted {format_time(item.promoted_us)}")
    risk = f"risk {item.risk_bps / 10_000:.2f} ({item.tier.value})"
    return f"Version {item.version} is {item.state.value}: {', '.join(times)}; {risk}; stake ({parts}) {stake.state}."


def _challenge(base: Base, tx: Tx, id_: str) -> Explanation:
    found = challenge_store.get(tx, parse_challenge_id(id_))
    if found is None:
        raise UnknownChallenge(challenge=id_)
    atom, _ = base.of(Commons).challenges.target(tx, found)
    sentences = [f"The challenge of {atom.hash} on the ground '{found.ground.value}' is {found.state.value}."]
    findings = (found.finding or {}).get("findings", [])
    sentences += [f"{item['level']} {item['check']}: {item['outcome']}; {item['words']}" for item in findings]
    if found.reasoning:
        sentences.append(f"It was decided so: {found.reasoning}")
    return Explanation(sentences, {"state": found.state.value, "ground": found.ground.value, "findings": findings})


EXPLAINS: Mapping[str, Callable[[Base, Tx, str], Explanation]] = {"article": _article, "challenge": _challenge}
