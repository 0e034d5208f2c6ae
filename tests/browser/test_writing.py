"""The writer's desk in a browser: add a source, write, bind by selecting, check, publish; and every wrong turn."""

from __future__ import annotations

import re

from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import NewDesk
from tests.browser.desk import Desk
from tests.browser.test_looks import faults
from tests.commons.desk import CLAIMS, TEXT
from tests.doors.http.reading_room import PROSE

# Beyond UTF-16's first plane, and marks that no letter takes in: a browser counts them otherwise than the node.
STRANGE = "\N{BRIDGE AT NIGHT}\N{BRIDGE AT NIGHT} A n\N{COMBINING DIAERESIS}ote \N{MATHEMATICAL BOLD CAPITAL A}.\n\n"


def article_text(number: int = 0, title: str = "What the survey says") -> str:
    """Prose with three sentences that the survey says, not marked yet."""
    sentences = PROSE[number].split(". ")
    third = -(-len(sentences) // 3)
    parts = [". ".join(sentences[at : at + third]).rstrip(".") + "." for at in range(0, 3 * third, third)]
    body = "\n\n".join(f"{part}\n\n{said}." for part, (said, _) in zip(parts, CLAIMS.values(), strict=True))
    return f"# \N{BRIDGE AT NIGHT} {title}\n\n{body}\n"


def hears(desk: Desk, text: str) -> None:
    """What the page before had to say; the editor has other places that speak."""
    expect(desk.page.locator("#said")).to_contain_text(text)


def add_source(desk: Desk, text: str, then: str = "/desk/new") -> str:
    """Upload a file; gives its hash, with the editor open."""
    desk.open(f"/desk/sources?then={then}")
    file: FilePayload = {"name": "survey.txt", "mimeType": "text/plain", "buffer": text.encode()}
    desk.page.get_by_label("File", exact=True).set_input_files(file)
    desk.press("Add file")
    expect(desk.page).to_have_url(re.compile(re.escape(then) + r"\?source=sha256:"))
    hears(desk, "is added")
    expect(desk.page.get_by_label("Text of the source")).to_have_value(text)
    return desk.page.url.partition("source=")[2]


def select(page: Page, area: str, words: str) -> None:
    """Select words in one of the two texts, as dragging the mouse over them does."""
    page.evaluate(
        """([id, words]) => {
          const area = document.getElementById(id);
          const at = area.value.indexOf(words);
          if (at < 0) throw new Error(`not there: ${words}`);
          area.focus();
          area.setSelectionRange(at, at + words.length);
          area.dispatchEvent(new Event("select"));
        }""",
        [area, words],
    )


def text_of(desk: Desk) -> str:
    return desk.page.get_by_label("Text (Markdown)").input_value()


def write_bound(desk: Desk, source: str, number: int = 0) -> str:
    """Write an article in the open editor and bind its claims; gives its id."""
    desk.fill("Text (Markdown)", article_text(number))
    for said, quote in CLAIMS.values():
        select(desk.page, "text", said)
        select(desk.page, "source-text", quote)
        desk.button("Bind").click()
        expect(desk.page.locator("#bound")).to_contain_text("Bound:")
    desk.press("Save draft")
    expect(desk.page).to_have_url(re.compile(r"/desk/article_\w+"))
    hears(desk, "The draft is saved.")
    return desk.page.url.rpartition("/")[2].partition("?")[0]


def test_from_a_document_to_a_published_article(ada: Desk) -> None:
    ada.sign_up()
    ada.open("/desk")
    expect(ada.section("Articles")).to_contain_text("You have no articles yet.")
    whole = STRANGE + TEXT
    source = add_source(ada, whole)
    article = write_bound(ada, source)

    written = text_of(ada)
    for label, (said, quote) in CLAIMS.items():
        start = whole.index(quote)
        assert f"[{said}]{{#{label}}}." in written
        assert f"\n{label} supports {source}@{start}-{start + len(quote)} confidence=0.8\n" in written
    assert written.count("```evidence") == 1

    ada.press("Save and preview")
    preview = ada.page.get_by_role("region", name="Preview")
    expect(preview).to_be_focused()
    expect(preview.locator(".claim[data-level=L2]")).to_have_count(3)
    expect(preview).to_contain_text("Wind caused vibration in 45 of the 120 bridges.")
    expect(ada.page.locator("#state")).to_have_text("Draft 1 is saved.")  # nothing changed, so nothing was saved

    ada.press("Check and publish")
    ada.is_at(f"/desk/{article}/check")
    expect(ada.page.get_by_role("region", name="Review", exact=True)).to_contain_text(
        "The review would pass this draft."
    )
    expect(ada.section("Novelty")).to_contain_text("of 100")
    expect(ada.section("Novelty")).to_contain_text("Nearest passages")
    expect(ada.section("Publish")).to_contain_text("Everybody can read these sources from then on")
    expect(ada.section("Publish")).to_contain_text("50 CHIP of it are added by the treasury")
    assert [fault for end in ("", "/drafts", "/check") for fault in faults(ada, f"/desk/{article}{end}")] == []
    ada.page.set_viewport_size({"width": 1280, "height": 800})
    ada.press("Publish for 50 CHIP")
    expect(ada.page.get_by_role("dialog")).to_contain_text("10 CHIP are the fee")
    ada.agrees("Publish")
    ada.is_at(f"/articles/{article}")

    ada.open("/desk")
    row = ada.row("Articles", "What the survey says")
    expect(row).to_contain_text("Challenge window")
    expect(row).to_contain_text("0 articles cited it; you earned $0.00")
    expect(ada.section("Stakes")).to_contain_text("90 CHIP for")
    expect(ada.section("Stakes")).to_contain_text("50 CHIP of it from the treasury")
    ada.open(f"/desk/{article}/check")
    expect(ada.section("Publish")).to_contain_text("The next one can be published when that is over.")
    too_little_chip(ada, source)
    retract(ada, article)


def too_little_chip(desk: Desk, source: str) -> None:
    """The first article has what a newcomer begins with; a second one costs more than is left."""
    desk.open(f"/desk/new?source={source}")
    expect(desk.page.get_by_label("Text of the source")).not_to_have_value("")
    write_bound(desk, source, 1)
    desk.press("Check and publish")
    expect(desk.section("Publish")).to_contain_text("You have too little CHIP.")
    assert desk.page.get_by_role("button", name="Publish").count() == 0


def retract(desk: Desk, article: str) -> None:
    desk.open(f"/desk/{article}")
    desk.page.get_by_text("Retract this version").click()
    desk.fill("Reason", "a source was withdrawn")
    desk.press("Retract")
    desk.agrees("Retract")
    hears(desk, "The version is retracted.")
    desk.open("/desk")
    expect(desk.row("Articles", "What the survey says").filter(has_text="Retracted")).to_have_count(1)


def test_a_claim_that_the_source_does_not_say_is_told_before_anything_is_staked(ada: Desk) -> None:
    ada.sign_up()
    add_source(ada, TEXT)
    said = "Wind caused vibration in 90 of the 120 bridges"
    ada.fill("Text (Markdown)", f"# Numbers\n\n{said}.\n")
    select(ada.page, "text", said)
    ada.page.get_by_label("Find in the source").fill("Wind caused vibration")
    ada.press("Find")
    ada.page.locator("#found").get_by_role("button").first.click()
    expect(ada.page.locator("#selected")).to_contain_text("Wind caused vibration in 45 of the 120 bridges.")
    ada.fill("Confidence", "1.5")
    ada.button("Bind").click()
    ada.reads("above 0 and at most 1")
    ada.fill("Confidence", "0.95")
    ada.button("Bind").click()
    expect(ada.page.locator("#bound")).to_contain_text("Bound: c1 supports")
    assert "confidence=0.95" in text_of(ada)
    ada.button("Bind").click()  # a second time, for the claim that is there now
    expect(ada.page.locator("#bind").get_by_role("alert")).to_contain_text("Select the words of the article")
    ada.page.get_by_label("Claim", exact=True).select_option("c1")
    ada.button("Bind").click()
    expect(ada.page.locator("#bind").get_by_role("alert")).to_contain_text("has this evidence already")
    ada.press("Check and publish")
    review = ada.page.get_by_role("region", name="Review", exact=True)
    expect(review).to_contain_text("The review would refuse this draft.")
    expect(review).to_contain_text("c1: L2 numbers")
    expect(ada.section("Preview").locator(".claim[data-level=failed]")).to_have_count(1)
    expect(ada.section("Publish")).to_contain_text("It can be published when the review would pass it.")
    assert ada.page.get_by_role("button", name="Publish").count() == 0


def test_two_windows_lose_nothing(ada: Desk) -> None:
    ada.sign_up()
    ada.open("/desk/new")
    ada.fill("Text (Markdown)", "# Windows\n\nThe first words.\n")
    ada.press("Save draft")
    hears(ada, "The draft is saved.")
    other = ada.context.new_page()
    other.goto(ada.page.url)
    other.get_by_label("Text (Markdown)").fill("# Windows\n\nWords of the other window.\n")
    other.get_by_role("button", name="Save draft").click()
    expect(other.locator("#state")).to_have_text("Draft 2 is saved.")
    ada.fill("Text (Markdown)", "# Windows\n\nWords of this window.\n")
    expect(ada.page.locator("#state")).to_have_text("Not saved yet.")
    ada.page.keyboard.press("Control+s")
    ada.reads("You began with draft 1; the newest is draft 2.")
    assert "this window" in text_of(ada)
    ada.press("Save mine as the newest")
    expect(ada.page.locator("#state")).to_have_text("Draft 3 is saved.")
    expect(ada.page.locator("#conflict")).to_be_hidden()
    ada.page.get_by_role("link", name="Drafts").click()
    changes = ada.section("What changed")
    expect(changes).to_contain_text("-Words of the other window.")
    expect(changes).to_contain_text("+Words of this window.")
    ada.page.get_by_role("link", name="Open draft 2").click()
    expect(ada.page.get_by_text("This is draft 2. Saving makes it the newest draft")).to_be_visible()
    ada.press("Save draft")
    expect(ada.page.locator("#state")).to_have_text("Draft 4 is saved.")


def test_a_session_that_ended_keeps_what_was_typed(ada: Desk) -> None:
    ada.sign_up()
    ada.open("/desk/new")
    ada.fill("Text (Markdown)", "# Kept\n\nWords.\n")
    ada.press("Save draft")
    hears(ada, "The draft is saved.")
    cookies = ada.context.cookies()
    ada.context.clear_cookies()
    ada.fill("Text (Markdown)", "# Kept\n\nMore words.\n")
    ada.press("Save draft")
    ada.reads("Your session has ended. Log in in another window, then try again here.")
    assert "More words." in text_of(ada)
    ada.context.add_cookies(cookies)  # type: ignore[arg-type] # logged in again, in another window
    ada.press("Save draft")
    expect(ada.page.locator("#state")).to_have_text("Draft 2 is saved.")


def test_what_cannot_be_read_is_told_where_it_stands(ada: Desk) -> None:
    ada.sign_up()
    ada.open("/desk/new")
    ada.fill("Text (Markdown)", "# Wrong\n\nWords.\n\n```evidence\nc1 supports nothing\n```\n")
    ada.press("Save draft")
    ada.reads("(line 6)")
    expect(ada.page.get_by_label("Text (Markdown)")).to_be_focused()
    line = ada.page.evaluate(
        "() => { const t = document.activeElement; return t.value.slice(t.selectionStart, t.selectionEnd); }"
    )
    assert line == "c1 supports nothing"
    ada.open("/desk/sources")  # it asks first, since the text is not saved
    file: FilePayload = {"name": "empty.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7 is not enough"}
    ada.page.get_by_label("File", exact=True).set_input_files(file)
    ada.press("Add file")
    ada.reads("cannot be read")
    ada.page.get_by_role("region", name="Paste text").get_by_label("Title").fill("A note")
    ada.page.get_by_role("region", name="Paste text").get_by_label("Text").fill("It is raining.")
    ada.press("Add text")
    expect(ada.page).to_have_url(re.compile("/sources/sha256:"))
    ada.open("/desk/sources")
    expect(ada.row("Your sources", "A note")).to_contain_text("Text, 14 bytes")


def test_offsets_are_code_points(ada: Desk) -> None:
    ada.open("/")
    found = ada.page.evaluate(
        """async ([text]) => {
          const base = document.querySelector("script[type=module]").src.replace(/[^/]+$/, "");
          const { span, unitsOf, points, evidenceEdit, freeLabel } = await import(base + "evidence.js");
          const at = text.indexOf("ote");
          return [
            span(text, 100, at, at + 3), span(text, 0, 1, 3), span(text, 0, 4, 5), unitsOf(text, 2), points(text),
            evidenceEdit("a\\n\\n~~~evidence\\nx\\n~~~\\nb", "y"), freeLabel("[a [b](c)]{#c1} [d]{#c3}"),
          ];
        }""",
        [STRANGE],
    )
    start = STRANGE.index("ote")
    bridge = "\N{BRIDGE AT NIGHT}"
    assert found == [
        {"start": 100 + start, "end": 103 + start, "words": "ote"},
        {"start": 0, "end": 2, "words": 2 * bridge},  # half a character is all of it
        None,
        4,
        len(STRANGE),
        {"start": 17, "end": 17, "words": "y\n"},
        "c2",
    ]


def test_the_editor_by_keyboard_on_a_small_screen(new_desk: NewDesk) -> None:
    desk = new_desk(viewport={"width": 320, "height": 700})
    desk.plug()
    desk.sign_up()
    add_source(desk, STRANGE + TEXT)
    text, source = desk.page.get_by_label("Text (Markdown)"), desk.page.get_by_label("Text of the source")
    text.focus()
    desk.page.keyboard.press("Control+a")
    desk.page.keyboard.type("# Bridges\n\nA note")
    for _ in "A note":
        desk.page.keyboard.press("Shift+ArrowLeft")
    source.focus()
    desk.page.keyboard.press("Control+Home")
    for _ in range(2):
        desk.page.keyboard.press("Shift+ArrowRight")
    expect(desk.page.locator("#selected")).to_contain_text("2 characters are selected")
    desk.page.keyboard.type("x")  # it can be read and selected, not changed
    expect(source).to_have_value(STRANGE + TEXT)
    desk.page.get_by_label("Confidence").focus()
    desk.page.keyboard.press("Enter")
    expect(desk.page.locator("#bound")).to_contain_text("Bound: c1 supports")
    assert re.search(r"\[A note\]\{#c1\}\n\n```evidence\nc1 supports sha256:\w+@0-2 confidence=0.8\n```", text_of(desk))
    text.focus()
    desk.page.keyboard.press("Control+z")  # binding can be undone
    assert "{#c1}" not in text_of(desk) or "evidence" not in text_of(desk)


def test_without_scripts_a_draft_can_be_read(ada: Desk, new_desk: NewDesk) -> None:
    ada.sign_up()
    ada.open("/desk/new")
    ada.fill("Text (Markdown)", "# Readable\n\nThese words.\n")
    ada.press("Save and preview")
    hears(ada, "The draft is saved.")
    expect(ada.page.get_by_role("region", name="Preview")).to_contain_text("These words.")
    plain = new_desk(java_script_enabled=False, storage_state=ada.context.storage_state())
    for path in ("/desk", "/desk/sources", ada.page.url.removeprefix(ada.address).partition("#")[0]):
        plain.open(path)
        expect(plain.page.get_by_text("Scripts do not run in this browser.")).to_be_visible()
        assert plain.page.get_by_role("main").get_by_role("button").count() == 0
    expect(plain.page.get_by_label("Text (Markdown)")).to_have_value("# Readable\n\nThese words.\n")
    expect(plain.page.get_by_text("Choosing evidence and saving need a script.")).to_be_visible()
