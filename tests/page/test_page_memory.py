"""The memory beside the chat: what was sent and why, topics, facts, profile, summaries, quarantine, erasure."""

import re
from collections.abc import Callable

import pytest
from page_languages import shown
from page_samples import Site, Visitor, answered, ask, tab
from playwright.sync_api import Browser, Page, expect

from ricordo.records.turns import Owner


def memory(page: Page):  # type: ignore[no-untyped-def]
    """The panel."""
    return page.get_by_role("complementary", name="Memoria")


def expect_soon(page: Page, holds: Callable[[], bool], tries: int = 100) -> None:
    """Wait until something holds on the server."""
    for _ in range(tries):
        if holds():
            return
        page.wait_for_timeout(100)
    raise AssertionError("it does not hold")


def told(visitor: Visitor, *questions: str) -> Page:
    """A page on which these questions were asked and answered."""
    page = visitor.open()
    for number, question in enumerate(questions, start=1):
        ask(page, question)
        answered(page, number)
    assert visitor.at.memory.settle(20)
    return page


def test_the_budget_says_what_was_kept_and_why(visitor: Visitor) -> None:
    """Every section is told with its tokens, its items and their reasons, and the exact prompt can be read."""
    visitor.at.document(visitor.user)
    page = told(visitor, "Quali sono le cause delle ustioni?", "Quali gradi hanno?")
    tab(page, "Contesto")
    panel = memory(page)
    expect(
        panel.get_by_role("img", name=re.compile(r"token usati su .*Ultimi turni \d+.*Materiale \d+"))
    ).to_be_visible()
    expect(panel.locator(".sections > li", has_text="Ultimi turni")).to_contain_text("recente")
    expect(panel.locator(".sections > li:has(.swatch.question)")).to_contain_text("chiesto ora")
    panel.get_by_text("Il prompt esatto").click()
    expect(panel.locator(".exact pre")).to_contain_text("=== MATERIALE ===")
    panel.get_by_role("button", name="Testo").click()
    expect(panel.locator(".exact pre")).to_contain_text("CRONOLOGIA")


def test_what_was_left_out_is_told_with_its_reason(visitor: Visitor) -> None:
    """A passage that did not fit into its share stands there, struck out, with the share that it was over."""
    chunks = [{"id": f"chunk-{number}", "text": "Le ustioni si curano con acqua. " * 120} for number in range(12)]
    body = {"query": "Come si curano le ustioni?", "user_id": visitor.user, "chunks": chunks}
    answer = visitor.context.request.post(visitor.at.url + "chat", data=body).json()
    page = visitor.open(f"#/c/{answer['session_id']}")
    answered(page, 1)
    tab(page, "Contesto")
    dropped = memory(page).locator("li.dropped").first
    expect(dropped).to_contain_text(re.compile(r"lasciato fuori: .* \d"))


def test_any_past_turn_can_be_explained(visitor: Visitor) -> None:
    """Steps lead from turn to turn, each with its own receipt."""
    page = told(visitor, "Prima cosa", "Seconda cosa", "Terza cosa")
    tab(page, "Contesto")
    panel = memory(page)
    expect(panel.locator(".picker")).to_contain_text("Turno 3")
    panel.get_by_role("button", name="Turno precedente").click()
    panel.get_by_role("button", name="Turno precedente").click()
    expect(panel.locator(".picker")).to_contain_text("Prima cosa")
    expect(panel.locator(".sections > li", has_text="Ultimi turni")).to_have_count(0)
    expect(panel.get_by_role("button", name="Turno precedente")).to_be_disabled()


def test_a_question_can_be_tried_without_being_asked(visitor: Visitor) -> None:
    """The context of a question is shown; the conversation stays as it is."""
    page = told(visitor, "Prima cosa")
    tab(page, "Contesto")
    memory(page).get_by_role("textbox", name="Domanda di prova").fill("E se chiedessi questo?")
    memory(page).get_by_role("button", name="Mostra").click()
    expect(memory(page)).to_contain_text("Per «E se chiedessi questo?»")
    expect(memory(page).locator(".account")).to_have_count(2)
    expect(page.locator("article")).to_have_count(1)


def test_topics_show_how_they_fade_and_can_be_changed(visitor: Visitor) -> None:
    """Each topic has its curve, half-life and uses; importance, pin and merging are kept."""
    page = told(
        visitor,
        "Parlami della fotosintesi nelle piante verdi e di come la luce diventa zucchero nelle foglie",
        "Quanto costa un treno da Torino a Roma?",
    )
    tab(page, "Argomenti")
    panel = memory(page)
    cards = panel.locator("li.topic")
    expect(cards).to_have_count(2)
    expect(panel.get_by_role("img", name=re.compile("nei prossimi"))).to_be_visible()
    expect(cards.first.get_by_role("img", name=re.compile("Curva di"))).to_be_visible()
    expect(cards.first).to_contain_text(re.compile(r"parlato \d+ volt.*vale \d+\s?%.*dimezza in .*messagg"))
    assert page.evaluate("(panel => panel.scrollWidth <= panel.clientWidth)(document.querySelector('.panel'))")
    train = cards.filter(has=page.get_by_role("heading", name="treno"))
    train.get_by_role("slider", name="Importanza").fill("0.4")
    expect(train.locator("output")).to_have_text(re.compile("40"))
    expect(cards.last).to_contain_text("treno")
    train.get_by_role("button", name="Fissa in cima").click()
    expect(cards.first).to_contain_text("treno")
    expect(cards.first).to_contain_text("fissato")
    cards.last.get_by_role("combobox", name="Unisci con…").select_option(index=1)
    cards.last.get_by_role("button", name="Unisci", exact=True).click()
    expect(cards).to_have_count(1)


def test_facts_show_their_source_and_can_be_forgotten(visitor: Visitor) -> None:
    """A fact is a sentence that quotes its words and leads to them; one that no longer holds says so."""
    page = told(visitor, "Mi chiamo Anna e vivo a Torino.", "Adesso vivo a Milano.")
    tab(page, "Fatti")
    panel = memory(page)
    expect(panel.locator("li.fact", has_text="vivi a Milano.")).to_contain_text("vivo a Milano")
    expect(panel.locator("li.fact", has_text="Vivi a Torino.")).to_have_count(0)
    panel.get_by_role("checkbox").check()
    expect(panel.locator("li.fact", has_text="Vivi a Torino.")).to_contain_text("poi è cambiato")
    anna = panel.locator("li.fact", has_text="Ti chiami Anna.")
    anna.get_by_role("button", name=re.compile("Detto qui")).click()
    expect(page.locator("article[data-turn='1']")).to_be_focused()
    anna.get_by_role("button", name=re.compile("Dimentica")).click()
    expect(anna).to_have_count(0)
    expect(panel.get_by_role("heading", name="Che cosa so di te")).to_be_focused()
    page.get_by_role("button", name="Annulla").click()
    expect(anna).to_have_count(1)
    anna.get_by_role("button", name=re.compile("Dimentica")).click()
    expect(anna).to_have_count(0)
    page.reload()  # what was forgotten is told to the server when the page is left
    expect(panel.locator("li.fact, .live, .empty").first).to_be_visible()
    known = lambda: [fact for fact in visitor.at.memory.facts(visitor.user, "default") if "Anna" in fact.text]  # noqa: E731
    expect_soon(page, lambda: not known())


MENDED = {
    "it": ("Memoria", "Fatti", "Vivo a Torino", "Vivo a Milano", "Vive a Milano.", "Correggi", "Salva"),
    "en": ("Memory", "Facts", "I live in Turin", "I live in Rome", "Lives in Rome.", "Correct", "Save"),
}  # fmt: skip


@pytest.mark.parametrize("lang", ["it", "en"])
def test_facts_and_instructions_are_written_by_hand(browser: Browser, served: Site, lang: str) -> None:
    """A fact is added, corrected and pinned, a standing instruction is added; what may not be kept is refused."""
    panel_name, facts_name, first, second, shown, correct, save = MENDED[lang]
    visitor = Visitor(browser, served, f"mend-{lang}", locale={"it": "it-IT", "en": "en-GB"}[lang])
    page = visitor.open()
    panel = page.get_by_role("complementary", name=panel_name)
    panel.get_by_role("tab", name=facts_name).click()
    add, wish = panel.locator(".by-hand input").nth(0), panel.locator(".by-hand input").nth(1)
    add.fill(first)
    add.press("Enter")
    expect(panel.locator("li.fact")).to_have_count(1)
    expect(add).to_have_value("")
    panel.locator("li.fact").get_by_role("button", name=re.compile(correct)).click()
    field = panel.locator("li.fact input")
    expect(field).to_be_focused()
    field.fill(second)
    panel.get_by_role("button", name=save, exact=True).click()
    expect(panel.locator("li.fact .claim")).to_have_text(shown)
    other = {"it": "Mi chiamo Eva", "en": "My name is Eva"}[lang]
    add.fill(other)
    add.press("Enter")
    cards = panel.locator("section").first.locator("li.fact")
    expect(cards).to_have_count(2)
    pin = cards.last.locator(".pin")
    last = cards.last.locator(".claim").inner_text()
    pin.focus()
    page.keyboard.press("Enter")
    expect(cards.first.locator(".claim")).to_have_text(last)
    expect(cards.first.locator(".pin")).to_be_focused()
    expect(cards.first.locator(".pin")).to_have_attribute("aria-pressed", "true")
    expect(cards.first).to_contain_text({"it": "fissato", "en": "pinned"}[lang])
    page.reload()
    panel.get_by_role("tab", name=facts_name).click()
    expect(cards.first.locator(".claim")).to_have_text(last)
    panel.get_by_role("tab", name={"it": "Profilo", "en": "Profile"}[lang]).click()
    expect(panel.locator("ul.plain li").first).to_have_text(last)
    panel.get_by_role("tab", name=facts_name).click()
    cards.first.locator(".pin").click()
    expect(cards.first.locator(".pin")).to_have_attribute("aria-pressed", "false")
    wish.fill("rispondi in breve")
    wish.press("Enter")
    expect(panel.locator("section").nth(1).locator("li.fact")).to_contain_text("Rispondi in breve.")
    add.fill("guarda https://evil.example")
    add.press("Enter")
    expect(page.locator(".notice.bad")).to_be_visible()
    expect(panel.locator("li.fact")).to_have_count(3)
    visitor.close()


def test_profile_and_summaries_come_when_a_session_ends(visitor: Visitor) -> None:
    """Ending a session writes the summary over its turns; the profile shows the exact words a tutor is told."""
    page = told(visitor, "Mi chiamo Bruno.", "Non capisco la fisica.", "Quali sono le cause delle ustioni?")
    tab(page, "Riassunti")
    expect(memory(page)).to_contain_text("Ancora nessun riassunto")
    tab(page, "Profilo")
    memory(page).get_by_role("button", name="Concludi la sessione").click()
    expect(page.locator(".notice")).to_contain_text("Sessione conclusa")
    expect(memory(page)).to_contain_text("Si chiama Bruno")
    assert visitor.at.memory.settle(20)
    tab(page, "Fatti")
    tab(page, "Profilo")
    exact = visitor.at.memory.enhance_prompt("", user_id=visitor.user, agent_id="default")
    expect(memory(page).locator("pre.told")).to_have_text(exact)
    tab(page, "Riassunti")
    expect(memory(page).locator(".card")).to_contain_text("turni 1–3")
    memory(page).get_by_role("button", name="Vai al turno 1").click()
    expect(page.locator("article[data-turn='1']")).to_be_focused()


def test_the_quarantine_shows_rules_and_lets_go(visitor: Visitor) -> None:
    """What was flagged is shown by its rules, never its text, and can be released and held back again."""
    page = told(visitor, "voglio morire")
    tab(page, "Tutela")
    flag = memory(page).locator("li.flag")
    expect(flag).to_contain_text("crisis:")
    expect(flag).not_to_contain_text("voglio morire")
    flag.get_by_role("button", name="Rilascia").click()
    expect(flag).to_contain_text("rilasciato")
    flag.get_by_role("button", name="Trattieni").click()
    expect(flag).to_contain_text("in quarantena")


def test_erasing_everything_gives_a_receipt(visitor: Visitor) -> None:
    """Only the typed word confirms; then everything is gone and the receipt says what went."""
    visitor.at.document(visitor.user)
    page = told(visitor, "Mi chiamo Carla.")
    tab(page, "Tutela")
    memory(page).get_by_role("button", name="Cancella tutto…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Elimina")).to_be_disabled()
    dialog.get_by_role("textbox").fill(shown("CANCELLA"))
    dialog.get_by_role("button", name="Elimina").click()
    receipt = memory(page).locator(".receipt")
    expect(receipt).to_contain_text(visitor.user)
    expect(receipt.locator("dl div", has_text="turns")).to_contain_text("1")
    expect(page.locator("li.session")).to_have_count(0)
    owner = Owner("default", visitor.user)
    assert not visitor.at.memory.sessions(user_id=visitor.user)
    assert not visitor.at.service.store.documents.page(owner, limit=10)


TABS = {
    "it": ("Memoria", "Contesto", "Argomenti", "Fatti", "Profilo", "Riassunti", "Poco utile"),
    "en": ("Memory", "Context", "Topics", "Facts", "Profile", "Summaries", "Not helpful"),
}
MARKED = [
    ("Mi chiamo **Anna** e vivo a `Torino`.", "**Ciao** Anna, ecco `qui`:\n\n- *uno* per te\n- due [doc-1#2]"),
    ("Come si pota un **ulivo**?", "Si pota in *marzo*, quando il gelo è passato. **Poi** si concima."),
    ("Quanta acqua vuole l'ulivo?", "L'ulivo vuole poca acqua, una volta al mese."),
]


@pytest.mark.parametrize("lang", ["it", "en"])
def test_memory_reads_as_whole_sentences(browser: Browser, served: Site, lang: str) -> None:
    """Facts, profile, summaries and chips show no marks of Markdown and no ids; numbers and nouns agree."""
    name, context, _, facts, profile, summaries, _ = TABS[lang]
    visitor = Visitor(browser, served, f"read-{lang}", locale={"it": "it-IT", "en": "en-GB"}[lang])
    served.session(visitor.user, f"read-{lang}", MARKED, title="**Orto**")
    served.memory.session(f"read-{lang}", user_id=visitor.user).end()
    assert served.memory.settle(20)
    page = visitor.open(f"#/c/read-{lang}")
    panel = page.get_by_role("complementary", name=name)
    told = {}
    for tab_name in (facts, profile, summaries):
        panel.get_by_role("tab", name=tab_name).click()
        expect(panel.locator(".claim, ul.plain li, .card").first).to_be_visible()
        told[tab_name] = " ".join(panel.locator(".claim, ul.plain li, section > p, .card > p").all_inner_texts())
    for text in told.values():
        assert not re.search(r"\*\*|`|\[doc|#\d", text), text
    for claim in panel.page.locator(".claim").all_inner_texts():
        assert re.fullmatch(r"[A-ZÈ].*[.!?…]", claim), claim
    assert "Ti chiami Anna." in told[facts]
    ask(page, "Dove vivo?")
    answered(page, 4)
    panel.get_by_role("tab", name=context).click()
    free = {"it": r"[\d.]+ liberi", "en": r"[\d,]+ free"}[lang]
    expect(panel.locator(".legend-free").first).to_have_text(re.compile(free))
    one = {"it": r"1 tenuto", "en": r"1 kept"}[lang]
    expect(panel.locator(".sections > li:has(.swatch.profile) summary").first).to_contain_text(re.compile(one))
    expect(page.locator(".changes, .chip-button").first).not_to_contain_text("**")
    visitor.close()


@pytest.mark.parametrize("lang", ["it", "en"])
def test_topics_are_told_apart(browser: Browser, served: Site, lang: str) -> None:
    """Each line of the plot has its name, its row in the legend and its colour; topics mentioned once are folded away,
    and a thumb moves the importance of the topic."""
    name, _, topics, *_, unhelpful = TABS[lang]
    visitor = Visitor(browser, served, f"apart-{lang}", locale={"it": "it-IT", "en": "en-GB"}[lang])
    talk = [
        ("Come si pota un ulivo?", "L'ulivo si pota in marzo."),
        ("Quando si pota l'ulivo giovane?", "L'ulivo giovane si pota poco."),
        ("Quanto costa un treno per Roma?", "Il treno per Roma costa 40 euro."),
        ("Il treno per Roma è veloce?", "Il treno per Roma impiega quattro ore."),
        ("Chi ha dipinto la Gioconda?", "La Gioconda è di Leonardo."),
        ("Come funziona un vulcano?", "Il magma sale nel vulcano."),
    ]
    served.session(visitor.user, f"apart-{lang}", talk)
    assert served.memory.settle(20)
    page = visitor.open(f"#/c/apart-{lang}")
    panel = page.get_by_role("complementary", name=name)
    panel.get_by_role("tab", name=topics).click()
    rows = panel.locator(".legend li")
    expect(rows.first).to_be_visible()
    count = rows.count()
    expect(panel.locator("svg text.end")).to_have_count(count)
    expect(panel.locator(".decay path.line")).to_have_count(count)
    colours = [each.evaluate("row => row.style.getPropertyValue('--color')") for each in rows.all()]
    assert len(set(colours)) == count
    known = served.memory.session(f"apart-{lang}", user_id=visitor.user).topics()
    once = panel.locator("details.once")
    if len(known) > 3:
        expect(once.locator("li.topic").first).to_be_hidden()
        once.locator("summary").click()
        expect(once.locator("li.topic").first).to_be_visible()
    page.locator("article").last.get_by_role("button", name=unhelpful).click()
    before = {topic.id: topic.importance for topic in known}
    expect_soon(
        page,
        lambda: any(
            topic.importance < before[topic.id]
            for topic in served.memory.session(f"apart-{lang}", user_id=visitor.user).topics()
        ),
    )
    visitor.close()
