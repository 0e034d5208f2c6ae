"""Every page, light and dark, wide and narrow: readable by all, operable by keyboard, and true to its rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import NewDesk
from tests.browser.desk import Desk, desk, new_handle
from tests.operations.nodes import NodeUnderTest

PUBLIC = ["/", "/sign-up", "/sign-in", "/recover", "/nowhere"]
PUBLIC += ["/hall", "/hall/figures", "/hall/public", "/providers"]
PUBLIC += ["/articles", "/search", "/search?q=nothing"]
PUBLIC += ["/ledger", "/ledger/entries/1", "/ledger/entries?q=nothing", "/treasury"]
PUBLIC += ["/docs", "/docs/tutorials/buyer", "/docs/reference/settings", "/docs/search?q=hold"]
PUBLIC += ["/operator", "/operator/enter"]
PRIVATE = ["/", "/account", "/agents", "/tokens", "/recover", "/nowhere"]
PRIVATE += ["/hall", "/hall/order", "/hall/order?type=review", "/hall/order?type=run", "/hall/bought", "/hall/sold"]
PRIVATE += ["/providers", "/selling", "/articles", "/search", "/desk", "/desk/sources", "/desk/new"]
PRIVATE += ["/account/statement", "/account/holds", "/account/spending", "/account/send", "/ledger/entries/1"]

# What can be checked without judgement, of WCAG 2.2 A and AA.
_FAULTS = """() => {
  const faults = [];
  const seen = (el) => el.checkVisibility({ visibilityProperty: true });
  const say = (el, what) => faults.push(`${what}: ${el.outerHTML.slice(0, 120)}`);
  const name = (el) => (el.getAttribute("aria-label") || [...(el.labels ?? [])].map((l) => l.textContent).join(" ")
    || el.getAttribute("title") || el.textContent || "").trim();
  if (!document.documentElement.lang) faults.push("no language");
  if (document.title.trim().length < 5) faults.push("no title");
  const h1 = [...document.querySelectorAll("h1")].filter(seen);
  if (h1.length !== 1) faults.push(`${h1.length} h1`);
  for (const part of ["header", "nav[aria-label]", "main", "footer"]) {
    if (document.querySelectorAll(part).length !== 1) faults.push(`not one ${part}`);
  }
  let level = 0;
  for (const heading of [...document.querySelectorAll("h1, h2, h3, h4")].filter(seen)) {
    const now = Number(heading.tagName[1]);
    if (now > level + 1) say(heading, "a level is left out");
    level = now;
  }
  const ids = [...document.querySelectorAll("[id]")].map((el) => el.id);
  for (const id of ids.filter((id, at) => ids.indexOf(id) !== at)) faults.push(`twice: ${id}`);
  for (const attribute of ["aria-labelledby", "aria-describedby", "aria-controls", "for"]) {
    for (const el of document.querySelectorAll(`[${attribute}]`)) {
      for (const id of el.getAttribute(attribute).split(" ")) {
        if (!document.getElementById(id)) say(el, `${attribute} leads nowhere`);
      }
    }
  }
  for (const el of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if ((el.labels ?? []).length === 0 && !el.getAttribute("aria-label")) say(el, "no label");
  }
  for (const el of [...document.querySelectorAll("a, button, summary, meter")].filter(seen)) {
    if (name(el) === "") say(el, "no name");
  }
  for (const el of document.querySelectorAll("svg, img")) {
    if (!el.closest("[aria-hidden=true]") && !el.getAttribute("alt")) say(el, "no text instead");
  }
  const small = (el) => { const box = el.getBoundingClientRect(); return box.height < 44 || box.width < 44; };
  const pressed = "button, .button, select, summary, .nav a, .brand, .foot a, .choice,"
    + "input:not([type=checkbox], [type=hidden])";
  for (const el of [...document.querySelectorAll(pressed)].filter(seen)) if (small(el)) say(el, "too small");
  for (const el of [...document.querySelectorAll("[tabindex]")]) if (el.tabIndex > 0) say(el, "order by number");
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 0) faults.push(`${wide} px too wide`);
  return faults;
}"""

_FOCUS = """() => {
  const el = document.activeElement;
  const style = getComputedStyle(el);
  const name = (el.getAttribute("aria-label") || el.labels?.[0]?.textContent || el.textContent).trim();
  return [name, style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2];
}"""


@pytest.fixture(scope="module")
def owner(chromium: Browser, town: NodeUnderTest) -> Iterator[Desk]:
    """Somebody with an agent, a delegation and a token, so that the pages have something to show."""
    with desk(chromium, town) as made:
        made.plug()
        made.sign_up()
        made.open("/tokens")
        made.fill("Name", "laptop")
        made.page.get_by_role("main").get_by_role("button", name="Create token").click()
        made.keeps_secret()
        expect(made.row("Your tokens", "laptop")).to_have_count(1)
        made.open("/agents")
        made.fill("Name", "A scout with quite a long name that has to go somewhere")
        made.press("Create agent")
        made.page.get_by_label("Amount").fill("5")
        made.press("Grant delegation")
        made.hears("The delegation is granted.")
        yield made


def faults(desk: Desk, path: str) -> list[str]:
    """What is wrong with a page, wide and at 320 pixels, in light and dark."""
    found: list[str] = []
    for width, scheme in ((1280, "light"), (320, "dark")):
        desk.page.set_viewport_size({"width": width, "height": 800})
        desk.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        desk.open(path)
        expect(desk.page.get_by_role("group", name="Colours")).to_be_visible()
        found += [f"{path} at {width}: {fault}" for fault in desk.page.evaluate(_FAULTS)]
    return found


def test_pages_for_everybody_are_sound(new_desk: NewDesk) -> None:
    made = new_desk()
    assert [fault for path in PUBLIC for fault in faults(made, path)] == []


def test_pages_for_people_are_sound(owner: Desk) -> None:
    agent = owner.page.url.removeprefix(owner.address)
    assert agent.startswith("/agents/")
    assert [fault for path in [*PRIVATE, agent] for fault in faults(owner, path)] == []


def test_colours_follow_the_system_until_somebody_chooses(new_desk: NewDesk) -> None:
    made = new_desk(color_scheme="dark")
    made.open("/")
    ground = "() => getComputedStyle(document.documentElement).backgroundColor"
    dark = made.page.evaluate(ground)
    made.press("Light")
    light = made.page.evaluate(ground)
    assert light != dark
    expect(made.button("Light")).to_have_attribute("aria-pressed", "true")
    # The choice stands before the first style sheet is even asked for: nothing flashes.
    made.page.add_init_script(
        "new PerformanceObserver(() => { window.atFirstPaint ??= document.documentElement.dataset.theme; })"
        ".observe({ type: 'paint', buffered: true })"
    )
    made.open("/sign-in")
    assert made.page.evaluate(ground) == light
    assert made.page.evaluate("() => document.documentElement.dataset.theme") == "light"
    assert made.page.evaluate("() => window.atFirstPaint ?? 'light'") == "light"
    made.press("Auto")
    assert made.page.evaluate(ground) == dark
    made.page.emulate_media(color_scheme="light")
    assert made.page.evaluate(ground) == light


def test_sign_up_by_keyboard_alone(new_desk: NewDesk) -> None:
    made = new_desk()
    made.plug()
    made.open("/sign-up")
    expect(made.button("Create a passkey and sign up")).to_be_visible()
    order = []
    for _ in range(12):
        made.page.keyboard.press("Tab")
        name, wake = made.page.evaluate(_FOCUS)
        assert wake, f"no ring around {name}"
        order.append(name)
    assert order == [
        "Skip to the content", "Choir", "Hall", "Articles", "Treasury", "Ledger", "Docs", "Sign up", "Log in", "Handle",
        "Create a passkey and sign up", "I already have one: log in",
    ]  # fmt: skip
    for _ in range(2):
        made.page.keyboard.press("Shift+Tab")
    made.page.keyboard.type(new_handle())
    made.page.keyboard.press("Enter")
    expect(made.page.locator("#reveal-title")).to_be_focused()
    made.page.keyboard.press("Escape")  # what is shown once does not go away by accident
    expect(made.page.get_by_role("dialog")).to_be_visible()
    for _ in range(3):
        made.page.keyboard.press("Tab")
    assert made.page.evaluate(_FOCUS)[0] == "I have saved this"
    made.page.keyboard.press("Enter")
    made.is_at("/account")


def test_without_scripts_the_pages_say_so_and_send_nothing(new_desk: NewDesk) -> None:
    made = new_desk(java_script_enabled=False)
    for path in ("/sign-up", "/sign-in", "/recover"):
        made.open(path)
        expect(made.page.get_by_text("Scripts do not run in this browser.")).to_be_visible()
        assert made.page.get_by_role("button").count() == 0


def test_without_passkeys_the_page_says_so(new_desk: NewDesk) -> None:
    made = new_desk()
    made.page.add_init_script("delete window.PublicKeyCredential")
    made.open("/sign-up")
    expect(made.page.get_by_text("Use a current version of Chrome, Edge, Firefox or Safari.")).to_be_visible()
    made.fill("Handle", new_handle())
    made.press("Create a passkey and sign up")
    made.reads("Passkeys do not work here.")


def test_a_node_that_does_not_answer_is_told_in_plain_words(new_desk: NewDesk) -> None:
    made = new_desk()
    made.plug()
    made.open("/sign-in")
    made.page.route("**/v1/**", lambda route: route.abort())
    made.press("Log in with a passkey")
    made.reads("The node does not answer.")
    made.errors.clear()  # the browser notes the aborted request


def test_the_rules_for_pages_hold(new_desk: NewDesk) -> None:
    """An inline script, markup from a string, and a script from elsewhere do not run."""
    made = new_desk()
    made.open("/")
    ran = made.page.evaluate("""() => {
      const script = document.createElement("script");
      try { script.textContent = "window.ran = 1"; } catch { return "refused"; }
      document.body.append(script);
      return window.ran ?? "refused";
    }""")
    assert ran == "refused"
    markup = made.page.evaluate("""() => {
      try { document.body.innerHTML = "<b>x</b>"; } catch { return "refused"; }
      return "done";
    }""")
    assert markup == "refused"
    assert made.errors  # both were noticed
    made.errors.clear()
