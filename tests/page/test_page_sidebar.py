"""The sidebar: conversations by day, search over everything, and all that can be done to a conversation."""

import json
import re
from pathlib import Path

from page_languages import shown
from page_samples import Visitor, answered, answers, ask
from playwright.sync_api import Page, expect

from ricordo.records.turns import Owner


def act(page: Page, title: str, action: str) -> None:
    """Choose an action from a conversation's menu."""
    row = page.locator("li.session", has_text=title)
    row.hover()
    row.get_by_role("button", name="Azioni per").click()
    page.get_by_role("button", name=action, exact=True).click()


def test_conversations_stand_under_their_day(visitor: Visitor) -> None:
    """Today, yesterday, the last seven and thirty days, and the months before have their headings, in this order."""
    for days, title in ((0, "Di oggi"), (1, "Di ieri"), (4, "Di lunedì"), (20, "Del mese"), (400, "Antica")):
        visitor.at.session(visitor.user, f"{visitor.user}-{days}", [("a", "b")], title=title, days_ago=days)
    page = visitor.open()
    headings = page.locator("nav h2")
    expect(headings).to_have_count(5)
    texts = headings.all_inner_texts()
    assert texts[:4] == [shown(each) for each in ("Oggi", "Ieri", "Ultimi 7 giorni", "Ultimi 30 giorni")]
    assert re.fullmatch(r"[A-Za-z]+ \d{4}", texts[4])
    expect(page.locator("nav ul").nth(1).get_by_role("link")).to_have_text(["Di ieri"])


def test_a_hit_leads_to_its_turn(visitor: Visitor) -> None:
    """Search finds words anywhere, marks them, and a hit opens the conversation at that turn, however old."""
    turns = [(f"Domanda numero {number}", f"Risposta numero {number}") for number in range(1, 121)]
    turns[9] = ("Dove vive l'ornitorinco?", "L'ornitorinco vive in Australia.")
    visitor.at.session(visitor.user, f"long-{visitor.user}", turns, title="Animali")
    page = visitor.open()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("ornitorinco")
    hit = page.locator(".hits li").first
    expect(hit.locator("mark").first).to_have_text(re.compile("ornitorinco", re.IGNORECASE))
    assert page.locator(".hits li").count() < 10  # not whatever was ever said
    hit.get_by_role("button").click()
    turn = page.locator("article[data-turn='10']")
    expect(turn).to_be_in_viewport()
    expect(turn).to_be_focused()
    expect(turn).to_contain_text("Australia")
    page.get_by_role("searchbox").press("Escape")
    expect(page.locator("nav h2").first).to_be_visible()


def test_a_new_conversation_appears_at_once(visitor: Visitor) -> None:
    """The first question puts its conversation into the list before the answer is whole."""
    page = visitor.open()
    expect(page.locator("nav")).to_contain_text("Ancora nessuna conversazione.")
    ask(page, "Buongiorno a tutti")
    expect(page.locator("li.session")).to_have_count(1)
    answered(page, 1)
    page.get_by_role("button", name="Nuova conversazione").click()
    expect(page.locator(".start")).to_be_visible()


def test_a_conversation_is_renamed_and_tagged(visitor: Visitor) -> None:
    """A new title and new tags are kept."""
    visitor.at.session(visitor.user, f"name-{visitor.user}", [("a", "b")], title="Vecchio nome")
    page = visitor.open()
    act(page, "Vecchio nome", "Rinomina")
    page.get_by_role("textbox", name="Nuovo titolo").fill("Nuovo nome")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Nuovo nome")).to_be_visible()
    act(page, "Nuovo nome", "Etichette")
    page.get_by_role("textbox", name="Etichette").fill("storia, esame , storia")
    page.keyboard.press("Enter")
    expect(page.locator("li.session .chip")).to_have_text(["storia", "esame"])
    page.reload()
    expect(page.get_by_role("link", name="Nuovo nome")).to_be_visible()
    expect(page.locator("li.session .chip")).to_have_text(["storia", "esame"])


def test_a_conversation_goes_to_the_archive_and_back(visitor: Visitor) -> None:
    """Archived conversations leave the list and stand in the archive."""
    visitor.at.session(visitor.user, f"box-{visitor.user}", [("a", "b")], title="Da riporre")
    page = visitor.open()
    act(page, "Da riporre", "Archivia")
    expect(page.locator("li.session")).to_have_count(0)
    page.get_by_role("button", name="Archiviate").click()
    act(page, "Da riporre", "Togli dall'archivio")
    expect(page.locator("nav")).to_contain_text("Nulla in archivio.")
    page.get_by_role("button", name="Torna alle conversazioni").click()
    expect(page.get_by_role("link", name="Da riporre")).to_be_visible()


def test_a_deletion_can_be_taken_back(visitor: Visitor) -> None:
    """Undo brings the conversation back as it was; nothing was deleted meanwhile."""
    session_id = visitor.at.session(visitor.user, f"undo-{visitor.user}", [("a", "b")], title="Preziosa")
    page = visitor.open(f"#/c/{session_id}")
    answered(page, 1)
    act(page, "Preziosa", "Elimina")
    expect(page.locator("li.session")).to_have_count(0)
    expect(page.locator(".start")).to_be_visible()
    page.get_by_role("button", name="Annulla").click()
    expect(page.get_by_role("link", name="Preziosa")).to_be_visible()
    answered(page, 1)
    assert visitor.at.service.store.sessions.get(Owner("default", visitor.user), session_id) is not None


def test_a_deletion_is_done_when_the_page_is_left(visitor: Visitor) -> None:
    """A deletion that was not taken back reaches the server even if the page is closed at once."""
    owner = Owner("default", visitor.user)
    session_id = visitor.at.session(visitor.user, f"gone-{visitor.user}", [("a", "b")], title="Da eliminare")
    page = visitor.open()
    act(page, "Da eliminare", "Elimina")
    expect(page.locator("li.session")).to_have_count(0)
    page.goto("about:blank")
    for _ in range(600):
        if visitor.at.service.store.sessions.get(owner, session_id) is None:
            break
        page.wait_for_timeout(50)
    assert visitor.at.service.store.sessions.get(owner, session_id) is None


def test_a_conversation_is_exported(visitor: Visitor, tmp_path: Path) -> None:
    """Markdown to read and JSON to import again are handed over as files named after the conversation."""
    visitor.at.session(visitor.user, f"out-{visitor.user}", [("Chi è Silvia?", "Teresa.")], title="Leopardi: Silvia")
    page = visitor.open()
    with page.expect_download() as markdown:
        act(page, "Leopardi", "Esporta in Markdown")
    assert markdown.value.suggested_filename == "Leopardi Silvia.md"
    markdown.value.save_as(tmp_path / "talk.md")
    assert "Chi è Silvia?" in (tmp_path / "talk.md").read_text()
    with page.expect_download() as plain:
        act(page, "Leopardi", "Esporta in JSON")
    plain.value.save_as(tmp_path / "talk.json")
    assert "Teresa." in json.dumps(json.loads((tmp_path / "talk.json").read_text()), ensure_ascii=False)


def test_conversations_are_imported_once(visitor: Visitor, tmp_path: Path) -> None:
    """A file of conversations becomes the visitor's own, says what came of it, and the second time nothing is new."""
    visitor.at.session(
        "traveller", f"from-{visitor.user}", [("Uno?", "Due."), ("Tre?", "Quattro.")], title="Venuta da lontano"
    )
    documents = [
        each
        for each in visitor.at.memory.export("traveller")
        if f"from-{visitor.user}" in json.dumps(each, default=str)
    ]
    file = tmp_path / "export.jsonl"
    file.write_text("\n".join(json.dumps(each, default=str) for each in documents))
    page = visitor.open()
    page.get_by_role("button", name="Importa").click()
    dialog = page.get_by_role("dialog", name="Importa conversazioni")
    dialog.locator("input[type=file]").set_input_files(file)
    expect(dialog).to_contain_text("Aggiunti: 1 conversazione, 2 turni.")
    dialog.locator("input[type=file]").set_input_files(file)
    expect(dialog).to_contain_text("Aggiunti: 0 conversazioni, 0 turni. Già noti: 2.")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Venuta da lontano").click()
    answered(page, 2)
    expect(answers(page).first).to_contain_text("Due.")


def test_a_file_that_cannot_be_read_is_explained(visitor: Visitor, tmp_path: Path) -> None:
    """A refused import says why, in the dialog."""
    file = tmp_path / "nonsense.json"
    file.write_text("this is no export")
    page = visitor.open()
    page.get_by_role("button", name="Importa").click()
    page.locator("dialog input[type=file]").set_input_files(file)
    expect(page.locator("dialog .trouble")).not_to_be_empty()
