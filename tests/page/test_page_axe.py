"""No view has a fault that axe finds, light or dark, in Italian or in English."""

import re
from collections.abc import Callable

import pytest
from page_languages import EVERYTHING
from page_samples import HERE, Site, Visitor, answered, ask
from playwright.sync_api import Browser, Page, expect
from test_page_details import WRITTEN

from ricordo.errors import LLMError

AXE = (HERE / "axe.min.js").read_text()
TABS = 7


def faults(page: Page) -> list[str]:
    """What axe has to say."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [f"{each['id']}: {node['html'][:160]}" for each in found["violations"] for node in each["nodes"]]


@pytest.mark.parametrize("lang", ["it", "en"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_view_is_accessible(browser: Browser, served: Site, theme: str, lang: str) -> None:
    """Chat, memory with all its parts, documents, figures, search, menus and dialogs have no violation."""
    user = f"axe-{theme}-{lang}"
    served.document(user)
    locale = "it-IT" if lang == "it" else "en-GB"
    visitor = Visitor(browser, served, user, locale=locale, color_scheme=theme)
    page = visitor.open()
    expect(page.locator("html")).to_have_attribute("lang", lang)
    seen: dict[str, list[str]] = {}

    # The long form looks at every view on a phone, too; the short one in one language and theme.
    narrow = EVERYTHING or (theme, lang) == ("light", "it")

    def look(name: str, reach: Callable[[], object] = lambda: None) -> None:
        reach()
        seen[name] = faults(page)
        if narrow:
            page.set_viewport_size({"width": 360, "height": 720})
            seen[name] += faults(page)
            page.set_viewport_size({"width": 1280, "height": 800})

    look("empty", lambda: page.locator(".empty h2").wait_for())
    for number, question in enumerate(
        ("Mi chiamo Eva.", "Quali sono le cause delle ustioni?", "spiegami meglio il punto 2", "voglio morire"), start=1
    ):
        ask(page, question)
        answered(page, number)
    look("chat")
    page.locator(".understood").get_by_role("button").last.click()
    look("correcting", lambda: page.locator(".correct").wait_for())
    assert served.memory.settle(20)
    for number in range(TABS):
        page.get_by_role("tab").nth(number).click()
        page.wait_for_load_state("networkidle")
        look(f"memory {number}")
    page.get_by_role("tab").nth(1).click()
    look("prompt", lambda: page.locator(".exact summary").click())
    page.locator(".compare select").select_option("1")
    look("compare", lambda: page.locator(".compare table").wait_for())
    page.locator("header.top .tool:not(.wide)").last.click()
    page.locator(".find input").fill("ustioni")
    page.locator(".find input").press("Enter")
    look("find", lambda: page.locator(".find li").first.wait_for())
    page.locator(".find input").press("Escape")
    look("passage", lambda: page.locator(".citation").first.click())
    page.keyboard.press("Escape")
    look("menu", lambda: page.locator("li.session .tool").first.click())
    page.keyboard.press("Escape")
    page.get_by_role("searchbox").fill("ustioni")
    look("search", lambda: page.locator(".hits li").first.wait_for())
    page.get_by_role("searchbox").press("Escape")
    page.locator("nav footer button").last.click()
    look("settings", lambda: page.locator("dialog").wait_for())
    look("shortcuts", lambda: page.locator("dialog .link").first.click())
    page.keyboard.press("Escape")
    page.locator("nav footer button").nth(-2).click()
    look("import", lambda: page.locator("dialog").wait_for())
    page.keyboard.press("Escape")
    page.goto(served.url + "#/documents")
    look("documents", lambda: page.locator("li.document").wait_for())
    page.goto(served.url + "#/timeline")
    look("timeline", lambda: page.locator(".timeline li").first.wait_for())
    page.goto(served.url + "#/figures")
    look("figures", lambda: page.locator(".plot").first.wait_for())
    page.goto(served.url + "#/c/nobody-knows")
    look("gone", lambda: page.locator(".empty h2").wait_for())
    assert {name: found for name, found in seen.items() if found} == {}
    assert len(seen) == 23
    visitor.close()


def test_the_door_is_accessible(browser: Browser) -> None:
    """The view that asks for a key has no violation either, and stands in the middle on every width."""
    from page_samples import site

    with site(auth=True) as guarded:
        visitor = Visitor(browser, guarded, "")
        page = visitor.open()
        page.get_by_role("heading", name=re.compile("chiave")).wait_for()
        assert faults(page) == []
        for width in (320, 1280):
            page.set_viewport_size({"width": width, "height": 700})
            box = page.locator(".login form").bounding_box()
            assert box is not None
            assert abs(box["x"] - (width - box["x"] - box["width"])) <= 1
        visitor.close()


@pytest.mark.parametrize(("theme", "lang"), [("light", "it"), ("dark", "en")])
def test_what_a_conversation_can_show_is_accessible(browser: Browser, served: Site, theme: str, lang: str) -> None:
    """A failure, code, formulas, tables, tasks, versions, sources, refused files, several chosen conversations and a
    phone have no violation."""
    user = f"axe-talk-{theme}"
    served.document(user)
    served.session(user, f"talk-{theme}", [("Come si fa?", WRITTEN)], title="Scritta")
    served.told.tell("Si rompe?", "Comincio a dire", LLMError("x", cause="cut"))
    locale = "it-IT" if lang == "it" else "en-GB"
    visitor = Visitor(browser, served, user, locale=locale, color_scheme=theme)
    page = visitor.open(f"#/c/talk-{theme}")
    expect(page.locator("math")).to_have_count(2)
    expect(page.locator(".hl-keyword").first).to_be_visible()
    ask(page, "Quali sono le cause delle ustioni?")
    page.locator(".sources summary").click()
    page.locator(".sources mark").first.wait_for()
    seen = {"sources": faults(page)}
    page.locator("article").last.get_by_role("button", name=re.compile("Chiedi di nuovo|Ask again")).first.click()
    page.locator(".versions").wait_for()
    ask(page, "Si rompe?")
    page.locator(".failure").wait_for()
    page.locator(".composer input[type=file]").set_input_files(
        [
            {"name": "no.exe", "mimeType": "text/plain", "buffer": b"x"},
            {"name": "a.md", "mimeType": "", "buffer": b"# A"},
        ]
    )
    expect(page.locator(".attached li")).to_have_count(2)
    seen["talk"] = faults(page)
    page.set_viewport_size({"width": 360, "height": 720})
    seen["phone"] = faults(page)
    page.locator(".top .narrow-only").click()
    page.locator("li.session .tool").first.click()
    page.locator(".menu:popover-open button").nth(3).click()
    page.locator(".chosen").wait_for()
    seen["chosen"] = faults(page)
    assert {name: found for name, found in seen.items() if found} == {}
    visitor.close()
