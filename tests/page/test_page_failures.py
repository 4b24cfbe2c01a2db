"""What goes wrong is said where it happened, in the language of the person, and can be tried again."""

import re
from pathlib import Path

import pytest
from page_samples import SILENT, Site, Visitor, answers, ask
from playwright.sync_api import Browser, expect

from ricordo.errors import LLMError

CAUSES = {
    "it": [
        ("rate_limited", "Quando ho l'esame?", "troppe richieste"),
        ("cut", "Racconta una storia?", "interrotto a metà"),
        ("empty", "Che cosa ne dici?", "non ha detto nulla"),
    ],
    "en": [
        ("rate_limited", "When is the exam?", "too many requests"),
        ("cut", "Tell me a story?", "broke off in the middle"),
        ("empty", "Che cosa ne dici?", "said nothing"),  # told in the language of the page
    ],
}
LOOK = {"it": "it-IT", "en": "en-GB"}
RETRY = re.compile("Riprova|Try again")


@pytest.mark.parametrize("lang", ["it", "en"])
def test_a_failed_answer_says_why_also_after_a_reload(browser: Browser, served: Site, lang: str) -> None:
    """A failed, cut or empty answer is shown with its cause and what had come, stays so after a reload, is never taken
    for an answer, and "try again" asks for the same turn."""
    visitor = Visitor(browser, served, f"failures-{lang}", locale=LOOK[lang])
    page = visitor.open()
    failures = page.locator(".failure")
    for number, (cause, question, _) in enumerate(CAUSES[lang], start=1):
        pieces = ("C'era una volta",) if cause == "cut" else ()
        served.told.tell(question, *pieces, LLMError("x", cause=cause))  # type: ignore[arg-type]
        ask(page, question)
        expect(failures).to_have_count(number)
    expect(answers(page).nth(1).locator(".markdown")).to_have_text("C'era una volta")
    for reloaded in (False, True):
        if reloaded:
            page.reload()
        for at, (_, _, said) in enumerate(CAUSES[lang]):
            expect(failures.nth(at)).to_contain_text(said)
            expect(failures.nth(at).get_by_role("button", name=RETRY)).to_be_enabled()
    expect(answers(page).locator(".markdown")).to_have_count(0)
    for _, question, _ in CAUSES[lang]:
        served.told.tell(question, "Ecco.")
    for left in (2, 1, 0):
        failures.first.get_by_role("button", name=RETRY).click()
        expect(failures).to_have_count(left)
    page.reload()
    expect(answers(page).locator(".markdown")).to_have_text(["Ecco.", "Ecco.", "Ecco."])
    visitor.close()


def test_an_answer_is_stopped_before_its_first_word(browser: Browser, served: Site) -> None:
    """Stop does not wait for a silent model; the turn says that it was stopped, also after a reload, and is asked
    again."""
    served.told.tell("Are you thinking about the answer?", SILENT, "Too late.")
    visitor = Visitor(browser, served, "stops", locale="en-GB")
    page = visitor.open()
    ask(page, "Are you thinking about the answer?")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".failure")).to_contain_text("You stopped the answer before its first word")
    page.reload()
    expect(page.locator(".failure")).to_contain_text("before its first word")
    served.told.let_go("Are you thinking about the answer?")
    served.told.tell("Are you thinking about the answer?", "Yes.")
    page.get_by_role("button", name="Try again").click()
    expect(answers(page)).to_contain_text("Yes.")
    expect(answers(page)).not_to_contain_text("Too late")
    visitor.close()


@pytest.mark.parametrize("lang", ["it", "en"])
def test_a_refused_file_says_why_in_the_chat(browser: Browser, served: Site, tmp_path: Path, lang: str) -> None:
    """A file that was dropped on the chat and refused says why there, in the page's language; one that was taken can be
    made the only one to answer from."""
    files = {
        "empty.txt": b" ",
        "tool.exe": b"MZ",
        "latin.txt": "perché".encode("latin-1"),
        "broken.pdf": b"%PDF-nonsense",
    }
    why = {
        "it": ["non c'è testo", "di questo tipo", "UTF-8", "danneggiato"],
        "en": ["no text in this file", "Files of this kind", "UTF-8", "damaged"],
    }[lang]
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "Marte.md").write_text("# Marte\n\nMarte ha due lune: Fobos e Deimos.")
    (tmp_path / "Venere.md").write_text("# Venere\n\nVenere non ha lune.")
    visitor = Visitor(browser, served, f"files-{lang}", locale=LOOK[lang])
    page = visitor.open()
    chosen = page.locator(".composer input[type=file]")
    chosen.set_input_files([tmp_path / name for name in files])
    refused = page.locator(".attached li.refused")
    expect(refused).to_have_text([re.compile(each) for each in why])
    for _ in files:
        refused.first.get_by_role("button").click()
    expect(page.locator(".attached")).to_have_count(0)
    chosen.set_input_files(tmp_path / "Marte.md")
    page.locator(".attached").get_by_role("checkbox").check()
    ask(page, "Quante lune ha Marte?")
    expect(answers(page)).to_contain_text("Fobos")
    expect(page.locator(".attached")).to_contain_text("Marte.md")
    (session,) = served.memory.sessions(user_id=visitor.user)
    assert len(session.document_ids) == 1
    chosen.set_input_files(tmp_path / "Venere.md")  # joins those that the conversation is limited to
    boxes = page.locator(".attached").get_by_role("checkbox")
    expect(boxes).to_have_count(2)
    expect(boxes.first).to_be_checked()
    expect(boxes.last).to_be_checked()
    visitor.close()


def test_what_the_server_refuses_is_told_in_italian(visitor: Visitor) -> None:
    """A conversation that another device deleted cannot be renamed, and the page says so in its own language."""
    visitor.at.session(visitor.user, f"gone-{visitor.user}", [("a", "b")], title="Sparita")
    page = visitor.open()
    row = page.locator("li.session", has_text="Sparita")
    row.hover()
    row.get_by_role("button", name="Azioni per").click()
    visitor.at.memory.delete_session(f"gone-{visitor.user}", user_id=visitor.user)
    page.get_by_role("button", name="Rinomina").click()
    page.get_by_role("textbox", name="Nuovo titolo").fill("Altro")
    page.keyboard.press("Enter")
    expect(page.locator(".notice.bad")).to_have_text("Non c'è più.")
