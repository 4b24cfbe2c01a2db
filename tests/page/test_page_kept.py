"""What is kept and what is not: a temporary chat, the timeline with its filters, search inside a conversation."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from page_samples import Site, Visitor, answered, ask
from playwright.sync_api import Browser, expect

LOCALES = {"it": "it-IT", "en": "en-GB"}


@pytest.mark.parametrize("lang", ["it", "en"])
def test_a_temporary_chat_keeps_nothing(browser: Browser, served: Site, lang: str) -> None:
    """It answers and understands follow-ups; no conversation appears, nothing is learned, and leaving ends it."""
    visitor = Visitor(browser, served, f"temporary-{lang}", locale=LOCALES[lang])
    served.document(visitor.user)
    page = visitor.open()
    page.get_by_role("checkbox", name={"it": "Conversazione temporanea", "en": "Temporary conversation"}[lang]).check()
    expect(page.locator(".temporary-note")).to_be_visible()
    questions = ("Mi chiamo Zenobia.", "Quali sono i gradi di un'ustione?", "spiegami meglio il punto 2")
    for number, question in enumerate(questions, start=1):
        ask(page, question)
        answered(page, number)
    expect(page.locator(".understood").last).to_contain_text("Il primo grado")
    expect(page.locator("header.top h1")).to_contain_text({"it": "non resta nulla", "en": "nothing is kept"}[lang])
    expect(page.locator("li.session")).to_have_count(0)
    assert not visitor.at.memory.sessions(user_id=visitor.user)
    assert not visitor.at.memory.facts(visitor.user, superseded=True)
    page.keyboard.press("Alt+n")
    expect(page.locator(".start")).to_be_visible()
    expect(page.locator("article.turn")).to_have_count(0)
    ask(page, "Mi chiamo Anna.")
    answered(page, 1)
    expect(page.locator("li.session")).to_have_count(1)
    visitor.close()


@pytest.mark.parametrize("lang", ["it", "en"])
def test_the_timeline_is_filtered(browser: Browser, served: Site, lang: str) -> None:
    """Talks with their topics and summaries, and facts, stand under their days; kind, tag, project and day choose."""
    visitor = Visitor(browser, served, f"timeline-{lang}", locale=LOCALES[lang])
    user = visitor.user
    served.session(user, f"old-{lang}", [("Vivo a Torino.", "Bene.")], title="Vecchia", days_ago=3)
    served.session(user, f"new-{lang}", [("Che ore sono?", "Le tre.")], title="Nuova")
    served.memory.session(f"old-{lang}", user_id=user).update(tags=["casa"], project="tesi")
    planted = [
        ("Come si pota un ulivo?", "Si pota in marzo, quando il gelo è passato."),
        ("Quanta acqua vuole?", "Poca."),
    ]
    served.session(user, f"olive-{lang}", planted, title="Orto")
    served.memory.session(f"olive-{lang}", user_id=user).end()
    assert served.memory.settle(20)
    page = visitor.open("#/timeline")
    entries = page.locator(".timeline li")
    expect(entries.filter(has_text="Vecchia")).to_have_count(1)
    expect(page.locator(".timeline section")).to_have_count(2)
    kind, tag, project = (page.locator(".filters select").nth(number) for number in range(3))
    kind.select_option("fact")
    expect(entries).to_have_count(1)
    expect(entries).to_contain_text("Vivi a Torino.")
    kind.select_option("summary")
    expect(entries).to_have_count(1)
    expect(entries).to_contain_text("gelo")
    kind.select_option("topic")
    expect(entries.filter(has_text="ulivo")).to_have_count(1)
    kind.select_option("talk")
    tag.select_option("casa")
    expect(entries).to_have_count(1)
    tag.select_option("")
    project.select_option("tesi")
    expect(entries).to_have_count(1)
    project.select_option("")
    kind.select_option("")
    day = (datetime.now(UTC) - timedelta(days=3, minutes=1)).strftime("%Y-%m-%d")
    page.locator(".filters input[type=date]").fill(day)
    expect(page.locator(".timeline section")).to_have_count(1)
    entries.filter(has_text="Vecchia").get_by_role("button").click()
    answered(page, 1)
    expect(page.locator(".bubble")).to_have_text("Vivo a Torino.")
    visitor.close()


@pytest.mark.parametrize("lang", ["it", "en"])
def test_a_conversation_is_searched_by_itself(browser: Browser, served: Site, lang: str) -> None:
    """Hits are of this conversation alone, in order, and lead to their turn; nothing found is said."""
    visitor = Visitor(browser, served, f"find-{lang}", locale=LOCALES[lang])
    turns = [(f"Domanda {number}", "Il gatto dorme." if number % 5 == 0 else "Piove.") for number in range(1, 11)]
    served.session(visitor.user, f"find-{lang}", turns)
    served.session(visitor.user, f"else-{lang}", [("Altro gatto", "Un gatto nero.")])
    page = visitor.open(f"#/c/find-{lang}")
    answered(page, 10)
    name = {"it": "Cerca in questa conversazione", "en": "Search in this conversation"}[lang]
    page.get_by_role("button", name=name).click()
    field = page.locator(".find input")
    expect(field).to_be_focused()
    field.fill("gatto")
    field.press("Enter")
    hits = page.locator(".find li")
    expect(hits.first).to_contain_text(re.compile("(Turno|Turn) 5"))
    expect(page.locator(".find")).not_to_contain_text("nero")
    hits.first.get_by_role("button").click()
    expect(page.locator("article[data-turn='5']")).to_be_focused()
    field.press("Escape")
    expect(page.locator(".find")).to_have_count(0)
    expect(page.get_by_role("button", name=name)).to_be_focused()
    visitor.close()
