"""Articles that are new, cite each other and are found; each has a mark that a search can ask for."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from choir.treasury.accounts import OPERATIONS
from tests.commons.desk import CLAIMS
from tests.doors.http.press import WritersDesk, add, new_text, writer
from tests.doors.http.visitors import Browser, Json, done, fund, key
from tests.operations.nodes import NodeUnderTest, until

USDC = 1_000_000
# Written for these tests; on nothing that the background corpus or another test tells of. The last two are for tests
# of novelty: nobody else publishes them.
PROSE = (
    "When my grandmother kept the lighthouse at Skarv, she wound the clockwork of the lamp every four hours"
    " and wrote down each ship that answered with its horn. Her notebooks fill a drawer in our kitchen. In most"
    " winters there are about ninety horns, fewer after the ferry was moved to the southern pier, and hardly"
    " any in the year the herring stayed away. She noticed that captains who had once run aground near the reef"
    " always answered twice. I counted the double answers last spring: they make up a seventh of all of them,"
    " and they stop in 1961, when the new pilot began to bring everybody in by radio. What the notebooks do not"
    " tell is who those captains were, because she only drew the funnels of their ships, with coloured pencils,"
    " and never once wrote a name beside them.",
    "A baker's starter is kept alive by forgetting it at the right moments. Ours lives in a stone jar behind"
    " the oven and is fed with rye on Sundays only. My sister measures how high it climbs with a strip of tape,"
    " and over two years she saw that it rises faster in the week after thunderstorms, which our flour merchant"
    " explains by damp sacks and she explains by her own good mood. We settled it with a second jar in the"
    " cellar. The cellar jar never cared for the weather, it smelled of pears, and its loaves kept for six days"
    " instead of four. So the storms work through the warmth of the kitchen after all, and we sell the cellar"
    " bread to the hikers, who carry it up to the hut.",
    "Tram drivers in our town tap the bell twice before the bend at the fish market, although no rule asks for"
    " it. The oldest of them told me that a cat used to sleep on the rails there. The cat has been dead for"
    " thirty years; the bell has become a greeting for whoever lives in the house above. I asked at eleven"
    " doors. Four families knew the story of the cat, three thought that it warned cyclists, and one child was"
    " sure that the tram says good morning to her alone. When a new driver left it out for a week, somebody put"
    " a small bell on a string out of the window, and rang back.",
    "Old maps of our valley draw the river on the wrong side of the chapel, and nobody has ever complained. I"
    " walked along it with the schoolteacher, who collects such errors the way others collect stamps. She"
    " believes that the surveyor drank with the miller, whose wheel gains by the mistake. In the parish book we"
    " found something duller and better: a flood in the spring of 1788 moved the water by forty paces, and the"
    " engraver in the city never heard of it. His copper plate was sold twice, to printers who trusted it"
    " because it was handsome. Hikers still end up in the reeds. The teacher now lets each class draw the"
    " valley from memory first, and hang the sheets beside the printed map, where visitors have to guess which"
    " of them is true.",
    "For three summers I taped the frogs of the gravel pit, an hour each night, from a folding chair. They do"
    " not sing together by chance. One low voice near the willow begins, and the others join from the water's"
    " edge towards the road, so that the chorus travels like a wave through a stadium. When lorries pass, the"
    " willow frog waits, but never longer than it takes to count to nine. In the third year the willow was"
    " felled; the nights were silent for a week, and then a voice from the old boat took over. It was slower."
    " The whole pond sang slower with it until September, although the thermometer on my chair showed what it"
    " had shown before.",
)
SAID = "The crew tuned the dampers twice in the summer of 2019."


@dataclass(frozen=True)
class Book:
    """A promoted article, the word that only it has, and what it was written as."""

    id: str
    mark: str
    title: str


def new_mark() -> str:
    return f"zyx{uuid.uuid4().hex[:10]}"


def text_of(source: str, whole: str, title: str, prose: str) -> str:
    """An article with three claims amid prose, that says one sentence which others may cite."""
    sentences = prose.split(". ")
    third = -(-len(sentences) // 3)  # between the claims, so that what cites it copies no long run
    parts = [". ".join(sentences[at : at + third]).rstrip(".") + "." for at in range(0, 3 * third, third)]
    marked = [f"[{claim}]{{#{label}}}." for label, (claim, _) in CLAIMS.items()]
    body = "\n\n".join(f"{part}\n\n{claim}" for part, claim in zip(parts, marked, strict=True))
    lines = []
    for label, (_, quote) in CLAIMS.items():
        start = whole.index(quote)
        lines.append(f"{label} supports {source}@{start}-{start + len(quote)} confidence=0.9")
    return f"# {title}\n\n{body}\n\n{SAID}\n\n```evidence\n" + "\n".join(lines) + "\n```\n"


class ReadingRoom(WritersDesk):
    """Somebody who publishes and cites."""

    def draft_of(self, prose: str, title: str = "On bridges", **more: object) -> str:
        whole = new_text()
        source = str(add(self.http, whole)["hash"])
        return str(self.create(text_of(source, whole, title, prose), **more)["id"])

    def book(self, prose: str = PROSE[0], *, cites: str = "", topics: list[str] | None = None) -> Book:
        """Publish, and wait until it can be found."""
        mark = new_mark()
        title = f"On bridges and {mark}"
        article = self.draft_of(f"{prose} The note calls it {mark}.", title, topics=topics or [])
        if cites:
            self.cite(article, cites)
        self.publish(article)
        self.wait(article, "promoted")
        until(lambda: article in [item["article"] for item in self.find(mark)["results"]])
        return Book(article, mark, title)

    def cite(self, draft: str, article: str, **more: object) -> Json:
        body = {"article": article, "claim": SAID.rstrip("."), "quote": SAID, **more}
        found: Json = done(self.http.post(f"/v1/articles/{draft}/citations", json=body), 201)
        return found

    def find(self, words: str, **params: object) -> Json:
        found: Json = done(self.http.get("/v1/search", params={"q": words, **params}))  # type: ignore[dict-item]
        return found

    def citations(self, article: str) -> list[Json]:
        found: list[Json] = done(self.http.get(f"/v1/articles/{article}/citations"))["items"]
        return found


def reading_room(node: NodeUnderTest, *, spends_usdc: int = 0) -> ReadingRoom:
    """A new person with CHIP; what they spent for good lets their citations pay."""
    person: Browser = writer(node, 2_000)
    if spends_usdc:
        fund(node, person.owner, spends_usdc * USDC, "USDC")
        leg = {"from": f"{person.owner}/available/USDC", "to": OPERATIONS, "amount": str(spends_usdc * USDC)}
        body = {"kind": "payment", "reason": "a test", "legs": [leg]}
        with node.http() as operator:
            done(operator.post("/v1/entries", json=body, headers=key()))
    return ReadingRoom(person)
