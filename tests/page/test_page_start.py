"""The first minute: what this is, questions to begin with, and what each turn does to memory, in both languages."""

import re

import pytest
from page_samples import Site, Visitor, answered, ask
from playwright.sync_api import Browser, expect

LANGUAGES = {
    "it": {
        "locale": "it-IT",
        "sentence": "Una chat che ricorda quello che le dici",
        "follow": "Spiegami meglio il punto 2.",
        "titled": "Spiegami «Ustioni».",
        "say": "Mi chiamo Anna e vivo a Torino.",
        "ask": "Quali sono le cause delle ustioni?",
        "recall": "Dove vivo?",
        "learned": "imparato: Vivi a Torino",
        "topic": "argomento: ",
        "recalled": "ricordato: «Mi chiamo Anna",
        "memory": "Memoria",
    },
    "en": {
        "locale": "en-GB",
        "sentence": "A chat that remembers what you tell it",
        "follow": "Explain point 2 in more detail.",
        "titled": "Explain “Ustioni”.",
        "say": "My name is Anna and I live in Turin.",
        "ask": "What are the causes of earthquakes in Japan?",
        "recall": "Where do I live?",
        "learned": "learned: You live in Turin",
        "topic": "topic: ",
        "recalled": "recalled: “My name is Anna",
        "memory": "Memory",
    },
}


@pytest.fixture(params=["it", "en"])
def words(request: pytest.FixtureRequest) -> dict[str, str]:
    """The words of one language."""
    return LANGUAGES[request.param]


def test_the_start_says_what_this_is(browser: Browser, served: Site, words: dict[str, str]) -> None:
    """One sentence, three questions of each kind, one of a document's title; the message has the focus at once."""
    guest = Visitor(browser, served, f"start-{words['locale']}", locale=words["locale"])
    guest.at.document(guest.user)
    page = guest.open()
    expect(page.get_by_role("heading", name=re.compile(words["sentence"]))).to_be_visible()
    expect(page.locator(".kind")).to_have_count(3)
    expect(page.locator(".kind .example")).to_have_count(9)
    field = page.locator(".composer textarea")
    expect(field).to_be_focused()
    page.get_by_role("button", name=words["titled"], exact=True).click()
    expect(field).to_have_value(words["titled"])
    page.get_by_role("button", name=words["follow"]).click()
    expect(field).to_have_value(words["follow"])
    expect(field).to_be_focused()
    guest.close()


def test_an_empty_memory_offers_nothing_that_it_cannot_answer(browser: Browser, served: Site) -> None:
    """Without a document and a conversation there is nothing to explain and nothing to go on with."""
    guest = Visitor(browser, served, "start-empty", locale="en-GB")
    page = guest.open()
    expect(page.locator(".kind")).to_have_count(2)
    expect(page.locator(".kind .example")).to_have_count(3)
    guest.close()


def test_turns_say_what_they_did_to_memory(browser: Browser, served: Site, words: dict[str, str]) -> None:
    """Chips name what was learned, the topic and what was recalled; each opens its source; the panel has them too."""
    guest = Visitor(browser, served, f"chips-{words['locale']}", locale=words["locale"])
    page = guest.open()
    panel = page.get_by_role("complementary", name=words["memory"])
    expect(panel).to_be_visible()
    for number, question in enumerate((words["say"], words["ask"], words["recall"]), start=1):
        ask(page, question)
        answered(page, number)
        served.memory.settle(30)  # the answerer of these tests does not wait for facts, as the reader does
    turns = page.locator("article.turn")
    expect(turns.nth(0).locator(".changes")).to_contain_text(words["learned"])
    expect(turns.nth(1).locator(".changes")).to_contain_text(words["topic"])
    expect(turns.nth(2).locator(".changes")).to_contain_text(words["recalled"])
    expect(panel.locator(".live > li")).to_have_count(3)
    page.reload()
    answered(page, 3)
    expect(turns.nth(2).locator(".changes")).to_contain_text(words["recalled"])
    turns.nth(0).get_by_role("button", name=words["learned"]).click()
    expect(panel.locator("li.fact:focus")).to_be_visible()
    turns.nth(1).get_by_role("button", name=words["topic"]).click()
    expect(panel.locator("li.topic:focus")).to_be_visible()
    turns.nth(2).get_by_role("button", name=words["recalled"]).click()
    expect(page.locator("article[data-turn='1']")).to_be_focused()
    guest.close()


def test_the_memory_stays_closed_where_it_would_hide_the_chat(browser: Browser, served: Site) -> None:
    """On a narrow screen the panel opens only when it is asked for, and a choice to close it is kept."""
    narrow = Visitor(browser, served, "narrow", viewport={"width": 768, "height": 800})
    page = narrow.open()
    expect(page.locator(".kind").first).to_be_visible()
    expect(page.locator(".inspector")).to_have_count(0)
    narrow.close()
    wide = Visitor(browser, served, "closed")
    page = wide.open()
    page.get_by_role("button", name="Chiudi la memoria").click()
    page.reload()
    expect(page.locator(".kind").first).to_be_visible()
    expect(page.locator(".inspector")).to_have_count(0)
    wide.close()
