"""Figures, documents, settings, narrow screens, the keyboard, the door: the page beyond the conversation."""

import re
from pathlib import Path

import pytest
from page_samples import HOLD, Visitor, answered, answers, ask, site
from playwright.sync_api import Browser, expect

from ricordo.records.service import ApiKey
from ricordo.records.turns import Owner
from ricordo.server.credentials import generate_key


def test_figures_are_plotted_and_told(visitor: Visitor) -> None:
    """Sessions, turns, tokens, condensations, storage and times are shown; every plot says its sum and has a table."""
    page = visitor.open()
    ask(page, "Quante domande oggi?")
    answered(page, 1)
    page.get_by_role("link", name="Andamento").click()
    expect(page.get_by_role("heading", name="Andamento")).to_be_visible()
    for name in ("Turni al giorno", "Conversazioni al giorno", "Token al giorno", "Condensazioni al giorno"):
        expect(page.get_by_role("img", name=re.compile(f"{name}: "))).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Spazio su disco"))).to_be_visible()
    expect(page.locator(".numbers").last).to_contain_text(re.compile(r"Contesto, metà sotto\s*[\d,.]+ ms"))
    assert page.locator("rect.column").count() >= 2
    page.get_by_text("Come tabella").first.click()
    expect(page.get_by_role("table").first.get_by_role("row")).to_have_count(31)


def test_documents_are_dropped_in_read_and_removed(visitor: Visitor) -> None:
    """A dropped file becomes a document that answers cite; it can be read and removed."""
    page = visitor.open("#/documents")
    expect(page.locator("main")).to_contain_text("Ancora nessun documento.")
    page.evaluate(
        """() => {
            const files = new DataTransfer();
            files.items.add(new File(["# Marte\\n\\nMarte ha due lune: Fobos e Deimos."], "Marte.md"));
            for (const type of ["dragenter", "drop"])
                window.dispatchEvent(new DragEvent(type, { dataTransfer: files, bubbles: true, cancelable: true }));
        }"""
    )
    card = page.locator("li.document", has_text="Marte.md")
    expect(card).to_contain_text("1 brano")
    page.get_by_role("button", name="Marte.md", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("Fobos e Deimos")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Nuova conversazione").click()
    ask(page, "Quante lune ha Marte?")
    expect(answers(page)).to_contain_text("Fobos")
    page.get_by_role("link", name="Documenti").click()
    page.get_by_role("button", name="Elimina «Marte.md»").click()
    page.get_by_role("dialog").get_by_role("button", name="Elimina").click()
    expect(card).to_have_count(0)
    assert not visitor.at.service.store.documents.page(Owner("default", visitor.user), limit=10)


def test_a_file_that_holds_no_text_is_explained(visitor: Visitor, tmp_path: Path) -> None:
    """A refused document says why and can be dismissed."""
    file = tmp_path / "empty.txt"
    file.write_text(" ")
    page = visitor.open("#/documents")
    page.locator("main input[type=file]").set_input_files(file)
    expect(page.locator(".card .trouble")).not_to_be_empty()
    page.get_by_role("button", name="Chiudi").click()
    expect(page.locator(".card")).to_have_count(0)


def test_language_and_theme_are_remembered(visitor: Visitor) -> None:
    """What was chosen holds after a reload and in other tabs; the system decides until then."""
    page = visitor.open()
    other = visitor.open()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(251, 250, 247)"
    page.get_by_role("button", name="Impostazioni").click()
    page.get_by_text("English").click()
    page.get_by_text("Dark").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="A chat that remembers")).to_be_visible()
    expect(other.get_by_role("heading", name="A chat that remembers")).to_be_visible()
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    expect(page.get_by_role("button", name="New conversation")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 27)"


@pytest.mark.parametrize("width", [320, 768, 1280, 1920])
def test_every_width_shows_everything(visitor: Visitor, width: int) -> None:
    """From a phone to a wide screen nothing sticks out, and sidebar, memory and field are within reach."""
    table = "| a | b | c |\n|---|---|---|\n| " + "lungo " * 30 + "| 2 | 3 |\n\n`" + "x" * 300 + "`"
    session_id = visitor.at.session(
        visitor.user, f"w{width}-{visitor.user}", [("Tabella?", table)], title="Larga " * 20
    )
    page = visitor.open(f"#/c/{session_id}")
    page.set_viewport_size({"width": width, "height": 700})
    answered(page, 1)

    def fits() -> bool:
        return bool(page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"))

    assert fits()
    field = page.get_by_role("textbox", name="Scrivi un messaggio")
    expect(field).to_be_in_viewport()
    if width < 800:
        page.get_by_role("button", name="Apri la barra laterale").click()
    expect(page.get_by_role("button", name="Nuova conversazione")).to_be_in_viewport()
    if width < 800:
        page.get_by_role("button", name="Chiudi la barra laterale").click()
        expect(page.get_by_role("button", name="Nuova conversazione")).to_be_hidden()
    if width < 1200:  # where there is room for both it is open already
        page.get_by_role("button", name="Memoria", exact=True).click()
    expect(page.get_by_role("complementary", name="Memoria")).to_be_in_viewport()
    assert fits()
    page.get_by_role("button", name="Chiudi la memoria").click()
    for place in ("#/documents", "#/figures"):
        page.goto(visitor.at.url + place)
        expect(page.locator("main h1")).to_be_visible()
        assert fits()


def test_the_keyboard_is_enough(visitor: Visitor) -> None:
    """Asking, opening the memory, moving through its parts, acting on a conversation and closing need no mouse."""
    visitor.at.told.tell("Tastiera", "Funziona.")
    page = visitor.open()
    page.keyboard.press("/")
    page.keyboard.type("Tastiera")
    page.keyboard.press("Enter")
    answered(page, 1)
    page.keyboard.press("Alt+m")
    expect(page.get_by_role("complementary", name="Memoria")).to_be_hidden()
    page.keyboard.press("Alt+m")
    page.get_by_role("tab", name="Contesto").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Argomenti")).to_be_focused()
    page.keyboard.press("End")
    expect(page.get_by_role("tab", name="Tutela")).to_have_attribute("aria-selected", "true")
    page.get_by_role("link", name="Tastiera").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Rinomina")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("button", name="Etichette")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Etichette")).to_be_hidden()
    page.keyboard.press("Alt+n")
    expect(page.get_by_role("textbox", name="Scrivi un messaggio")).to_be_focused()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Memoria", exact=True).focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Scorciatoie")).to_be_visible()


def test_a_screen_reader_hears_what_happens(visitor: Visitor) -> None:
    """The conversation is a feed of numbered turns; a live region tells answers by paragraphs, and their end."""
    visitor.at.told.tell("Mi senti?", "Ti **sento**", " bene.\n\nUn altro", HOLD, " capoverso.")
    page = visitor.open()
    ask(page, "Mi senti?")
    heard = page.get_by_role("log").locator("p")
    expect(heard).to_have_text(["Sta rispondendo", "Ti sento bene."])
    visitor.at.told.let_go("Mi senti?")
    expect(heard).to_have_text(["Sta rispondendo", "Ti sento bene.", "Un altro capoverso.", re.compile("completa")])
    expect(page.get_by_role("feed", name="Conversazione").get_by_role("article", name="Turno 1")).to_be_visible()


def test_a_server_with_a_door_asks_for_the_key(browser: Browser) -> None:
    """Without a valid key there is only the door; with one the page opens, and the key stays in its tab."""
    with site(auth=True) as guarded:
        key_id, key, digest = generate_key()
        now = guarded.memory.clock.now()
        guarded.service.store.keys.put(
            ApiKey(key_id, "default", "dora", "test", digest, now, scopes=("chat", "read", "write"))
        )
        visitor = Visitor(browser, guarded, "")
        page = visitor.open()
        field = page.get_by_label("Chiave API o token")
        field.fill("not-a-key")
        page.get_by_role("button", name="Entra").click()
        expect(page.get_by_role("alert")).to_contain_text("non è valida")
        field.fill(key)
        page.get_by_role("button", name="Entra").click()
        ask(page, "Sono dentro?")
        answered(page, 1)
        page.reload()
        answered(page, 1)
        assert key not in page.evaluate("JSON.stringify(localStorage)")
        expect(visitor.open().get_by_role("heading", name="Serve una chiave")).to_be_visible()
        visitor.close()
