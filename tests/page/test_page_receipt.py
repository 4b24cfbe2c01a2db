"""The receipt as a trace: names and words instead of ids, steps with their time, who answered, two turns compared."""

import re

import pytest
from page_samples import Site, Visitor, answered, ask
from playwright.sync_api import Browser, expect

WORDS = {
    "it": ("it-IT", "Memoria", "Contesto", "Ha risposto il lettore integrato", "citato", "punteggio", "Confronta"),
    "en": ("en-GB", "Memory", "Context", "Answered by the built-in reader", "cited", "score", "Compare"),
}

QUESTIONS = ("Quali sono le cause delle ustioni?", "Quali sono i gradi di un'ustione?", "spiegami meglio il punto 2")


@pytest.mark.parametrize("lang", ["it", "en"])
def test_a_receipt_reads_as_a_trace(browser: Browser, served: Site, lang: str) -> None:
    """Passages have their titles and words, cited ones are marked, reasons and scores open, steps have their time."""
    locale, memory, context, reader, cited, score, compare = WORDS[lang]
    visitor = Visitor(browser, served, f"trace-{lang}", locale=locale)
    served.document(visitor.user)
    page = visitor.open()
    questions = (
        "Quali sono le cause delle ustioni?",
        "Quali sono i gradi di un'ustione?",
        "spiegami meglio il punto 2",
    )
    for number, question in enumerate(questions, start=1):
        ask(page, question)
        answered(page, number)
    panel = page.get_by_role("complementary", name=memory)
    panel.get_by_role("tab", name=context).click()
    expect(panel.locator(".steps")).to_contain_text(reader)
    expect(panel.locator(".waterfall > div")).to_have_count(5)
    expect(panel.locator(".waterfall dd").last).to_contain_text(re.compile(r"\d ms"))
    chunks = panel.locator(".sections > li:has(.swatch.chunks)")
    expect(chunks).to_contain_text("Ustioni · ")
    expect(chunks).to_contain_text("Il secondo grado forma vesciche")
    expect(chunks.locator("li.cited").first).to_contain_text(cited)
    expect(panel.locator(".sections")).not_to_contain_text(re.compile(r"doc-[0-9a-f]{6}|[0-9a-f]{8}-[0-9a-f]{4}"))
    detail = chunks.locator("li.cited .reason").first
    expect(detail.locator("span")).to_be_hidden()
    detail.locator("summary").click()
    expect(detail.locator("span")).to_contain_text(re.compile(rf"{score} \d"))
    history = panel.locator(".sections > li:has(.swatch.history)")
    expect(history).to_contain_text("Quali sono le cause delle ustioni?")
    panel.locator(".compare select").select_option("1")
    expect(panel.locator(".compare table")).to_contain_text(re.compile(r"reader"))
    expect(panel.get_by_role("heading", name=re.compile(compare))).to_be_visible()
    expect(panel.locator(".compare .plain").first).to_contain_text("Quali sono")
    served.told.tell("Che cosa dicevamo delle cause delle ustioni?", "Ne parlavamo.")
    page.keyboard.press("Alt+n")
    ask(page, "Che cosa dicevamo delle cause delle ustioni?")
    answered(page, 1)
    recalled = panel.locator(".sections > li:has(.swatch.recalled)")
    recalled.locator("summary").first.click()
    recalled.locator(".reason summary").first.click()
    why = {"it": "le stesse parole: ", "en": "the same words: "}[lang]
    expect(recalled.locator(".reason span").first).to_contain_text(re.compile(rf"{score} [01][.,]\d+.* {why}"))
    page.go_back()
    page.reload()
    answered(page, 3)
    panel.get_by_role("tab", name=context).click()
    expect(panel.locator(".waterfall > div")).to_have_count(5)
    visitor.close()


def test_a_receipt_without_its_sources_is_still_read(visitor: Visitor) -> None:
    """A passage whose document was deleted, and a turn that was stored without a chat, are named in plain words."""
    visitor.at.document(visitor.user)
    page = visitor.open()
    ask(page, "Quali sono le cause delle ustioni?")
    answered(page, 1)
    (held, *_) = visitor.context.request.get(f"{visitor.at.url}documents?user_id={visitor.user}").json()["items"]
    gone = visitor.context.request.delete(f"{visitor.at.url}documents/{held['id']}?user_id={visitor.user}")
    assert gone.ok
    page.reload()
    answered(page, 1)
    panel = page.get_by_role("complementary", name="Memoria")
    panel.get_by_role("tab", name="Contesto").click()
    expect(panel.locator(".sections > li:has(.swatch.chunks)")).to_contain_text("Passo del materiale")
