"""Talking: answers stream in as Markdown, cite, understand, ask back, stop, start again and survive a reload."""

import re

import pytest
from page_samples import HOLD, Visitor, answered, answers, ask
from playwright.sync_api import expect

from ricordo.stores.memory import MemoryStore
from talks import TALKS, through_python


def test_an_answer_streams_in_as_markdown(visitor: Visitor) -> None:
    """What is said so far is shown while the rest is on its way, with its Markdown already drawn."""
    visitor.at.told.tell("Elenca", "Ecco **due** punti:\n\n1. uno\n", HOLD, "2. due\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    page = visitor.open()
    ask(page, "Elenca")
    expect(answers(page).locator("strong")).to_have_text("due")
    expect(answers(page).locator(".markdown li")).to_have_count(1)
    expect(page.get_by_role("button", name="Ferma")).to_be_visible()
    visitor.at.told.let_go("Elenca")
    expect(answers(page).locator(".markdown li")).to_have_count(2)
    expect(answers(page).get_by_role("cell")).to_have_text(["1", "2"])
    expect(page.get_by_role("button", name="Invia")).to_be_visible()


def test_a_citation_opens_its_passage(visitor: Visitor) -> None:
    """A number in the text opens the passage that it stands for, in its place in the document."""
    visitor.at.document(visitor.user)
    page = visitor.open()
    ask(page, "Quali sono le cause delle ustioni?")
    answered(page, 1)
    expect(answers(page)).not_to_contain_text("[doc-")
    page.locator("li", has_text="liquidi bollenti").get_by_role("button", name=re.compile("Fonte")).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", name=re.compile("Fonte .*: Ustioni"))).to_be_visible()
    expect(dialog.locator(".cited")).to_contain_text("i liquidi bollenti")
    expect(dialog.locator(".around")).to_contain_text("primo grado")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_follow_up_shows_what_it_was_understood_as(visitor: Visitor) -> None:
    """The point that is meant is named, leads to its turn, and the whole question is shown."""
    visitor.at.told.tell("Che cosa sai delle ustioni?", "1. Gradi: sono tre\n2. Cause: fuoco e liquidi\n3. Cure: acqua")
    page = visitor.open()
    ask(page, "Che cosa sai delle ustioni?")
    answered(page, 1)
    ask(page, "spiegami meglio il punto 2")
    answered(page, 2)
    understood = page.locator(".understood")
    expect(understood).to_contain_text("Inteso come")
    expect(understood.get_by_role("button", name=re.compile("punto 2: Cause"))).to_be_visible()
    expect(understood.locator("q")).to_contain_text("Cause")


def test_a_wrong_understanding_is_corrected_with_one_click(visitor: Visitor) -> None:
    """'Literally' asks the question again as it stands; 'correct' asks it as the person means it."""
    visitor.at.told.tell("Che cosa sai delle ustioni?", "1. Gradi: sono tre\n2. Cause: fuoco e liquidi\n3. Cure: acqua")
    page = visitor.open()
    ask(page, "Che cosa sai delle ustioni?")
    answered(page, 1)
    ask(page, "spiegami meglio il punto 2")
    answered(page, 2)
    page.get_by_role("button", name="Alla lettera").click()
    answered(page, 3)
    expect(page.locator("article").last.locator(".understood")).to_have_count(0)
    page.get_by_role("button", name="Correggi").click()
    page.get_by_role("textbox", name="Che cosa intendevi").fill("spiegami le cure con acqua")
    page.get_by_role("button", name="Chiedi così").click()
    answered(page, 4)
    expect(page.locator("article").last.locator(".understood q")).to_have_text("spiegami le cure con acqua")


def test_a_clarification_is_answered_by_a_button(visitor: Visitor) -> None:
    """Where two things may be meant, each is a button, and pressing one answers the question."""
    lists = "Cause:\n\n1. fuoco\n2. acqua bollente\n\nCure:\n\n1. acqua fredda\n2. garza pulita"
    visitor.at.told.tell("Cause e cure delle ustioni?", lists)
    page = visitor.open()
    ask(page, "Cause e cure delle ustioni?")
    answered(page, 1)
    ask(page, "spiegami il secondo")
    answered(page, 2)
    options = page.get_by_role("group", name="Scegli che cosa intendi").get_by_role("button")
    expect(options).to_have_count(2)
    chosen = options.last.inner_text()
    options.last.click()
    answered(page, 3)
    expect(page.locator(".bubble").last).to_have_text(chosen)
    expect(page.locator("article").last.locator(".options")).to_have_count(0)
    expect(options.last).to_be_disabled()


def test_stopping_keeps_what_was_said(visitor: Visitor) -> None:
    """A stopped answer ends where it is, says so, and is there after a reload."""
    visitor.at.told.tell("Racconta", "C'era una volta", HOLD, " un re.")
    page = visitor.open()
    ask(page, "Racconta")
    expect(answers(page)).to_contain_text("C'era una volta")
    page.get_by_role("button", name="Ferma").click()
    expect(answers(page)).to_contain_text("Fermata qui")
    page.reload()
    expect(answers(page)).to_contain_text("C'era una volta")
    expect(answers(page)).to_contain_text("Fermata qui")
    expect(answers(page)).not_to_contain_text("un re")


def test_asking_again_makes_a_new_version(visitor: Visitor) -> None:
    """Asking again and editing make new turns, shown as versions of one answer, also after a reload."""
    visitor.at.told.tell("Dimmi un numero", "Sette.")
    visitor.at.told.tell("Dimmi un altro numero", "Nove.")
    page = visitor.open()
    ask(page, "Dimmi un numero")
    answered(page, 1)
    page.get_by_role("button", name="Chiedi di nuovo", exact=True).click()
    versions = page.get_by_role("group", name="Versioni della risposta")
    expect(versions).to_have_text("2/2")
    expect(page.locator(".bubble")).to_have_text(["Dimmi un numero"])
    page.get_by_role("button", name="Modifica e chiedi di nuovo").click()
    ask(page, "Dimmi un altro numero")
    expect(versions).to_have_text("3/3")
    expect(answers(page)).to_contain_text("Nove.")
    page.reload()
    expect(versions).to_have_text("3/3")
    expect(page.locator(".bubble")).to_have_text(["Dimmi un altro numero"])
    page.get_by_role("button", name="Versione precedente").click()
    expect(versions).to_have_text("2/3")
    expect(answers(page)).to_contain_text("Sette.")
    (session,) = visitor.at.memory.sessions(user_id=visitor.user)
    page.goto(f"{visitor.at.url}#/c/{session.id}/1")
    expect(versions).to_have_text("1/3")
    assert session.turn_count == 3


def test_a_question_is_edited_and_asked_again(visitor: Visitor) -> None:
    """An edited question comes back to the field, and its new words are asked; Escape leaves it be."""
    visitor.at.told.tell("Quanti gradi?", "Tre.")
    visitor.at.told.tell("Quanti gradi hanno le ustioni?", "Ancora tre.")
    page = visitor.open()
    ask(page, "Quanti gradi?")
    answered(page, 1)
    page.get_by_role("button", name="Modifica e chiedi di nuovo").click()
    field = page.get_by_role("textbox", name="Scrivi un messaggio")
    expect(field).to_be_focused()
    expect(field).to_have_value("Quanti gradi?")
    page.keyboard.press("Escape")
    expect(field).to_have_value("")
    page.keyboard.press("ArrowUp")
    expect(field).to_have_value("Quanti gradi?")
    ask(page, "Quanti gradi hanno le ustioni?")
    expect(page.locator(".bubble")).to_have_text(["Quanti gradi hanno le ustioni?"])
    expect(answers(page).last).to_contain_text("Ancora tre.")


def test_a_reload_in_the_middle_takes_up_the_stream(visitor: Visitor) -> None:
    """What was said before a reload is there after it, and the rest goes on to arrive; nothing is asked twice."""
    visitor.at.told.tell("Spiega piano", "Prima parte.", HOLD, " Seconda parte.")
    page = visitor.open()
    ask(page, "Spiega piano")
    expect(answers(page)).to_contain_text("Prima parte.")
    page.reload()
    expect(answers(page)).to_contain_text("Prima parte.")
    expect(page.get_by_role("button", name="Ferma")).to_be_visible()
    visitor.at.told.let_go("Spiega piano")
    expect(answers(page)).to_contain_text("Prima parte. Seconda parte.")
    answered(page, 1)
    page.reload()
    answered(page, 1)
    expect(answers(page)).to_contain_text("Prima parte. Seconda parte.")


def test_a_cry_for_help_shows_whom_to_call(visitor: Visitor) -> None:
    """The notice stands out, with numbers that a phone dials; it is still a notice after a reload."""
    page = visitor.open()
    ask(page, "voglio morire")
    crisis = page.get_by_role("alert").filter(has_text="Non sei solo")
    expect(crisis).to_be_visible()
    expect(crisis.get_by_role("link", name=re.compile("19696"))).to_have_attribute("href", "tel:19696")
    answered(page, 1)
    page.reload()
    again = page.locator(".crisis").get_by_role("link", name=re.compile("19696"))
    expect(again).to_have_attribute("href", "tel:19696")


def test_what_others_wrote_is_text_and_nothing_else(visitor: Visitor) -> None:
    """Scripts, handlers, frames, styles and addresses that run code stay inert in questions, answers and titles."""
    evil = (
        '<script>window.hurt=1</script><img src=x onerror="window.hurt=1"><iframe src="javascript:parent.hurt=1">'
        "</iframe>\n\n[click](javascript:window.hurt=1) ![x](https://example.org/x.png) <style>*{display:none}</style>"
        "\n\n| <svg onload=window.hurt=1> | b |\n|---|---|\n| <b onmouseover=window.hurt=1>x</b> | 2 |\n\n&lt;b&gt;"
    )
    evil_id = visitor.at.session(visitor.user, f"evil-{visitor.user}", [(evil, evil)], title=evil[:200])
    page = visitor.open(f"#/c/{evil_id}")
    expect(answers(page)).to_contain_text("<script>window.hurt=1</script>")
    expect(page.locator(".bubble")).to_contain_text("<script>")
    for link in page.locator(".markdown a").all():
        assert re.match("https?:|mailto:", link.get_attribute("href") or "")
    assert page.locator("#page").locator("script, iframe, style, img, [onerror], [onload], [onmouseover]").count() == 0
    page.get_by_role("searchbox").fill("script")
    expect(page.locator(".hits li").first).to_be_visible()
    assert page.evaluate("window.hurt") is None


def test_two_tabs_show_the_same(visitor: Visitor) -> None:
    """A second tab sees the new conversation, follows the answer as it comes, and answers in its turn."""
    visitor.at.told.tell("Da una scheda", "Comincia", HOLD, " e finisce.")
    visitor.at.told.tell("Dall'altra scheda", "Ricevuto.")
    one, other = visitor.open(), visitor.open()
    ask(one, "Da una scheda")
    expect(answers(one)).to_contain_text("Comincia")
    other.get_by_role("link", name="Da una scheda").click()
    expect(answers(other)).to_contain_text("Comincia")
    visitor.at.told.let_go("Da una scheda")
    expect(answers(other)).to_contain_text("Comincia e finisce.")
    answered(other, 1)
    ask(other, "Dall'altra scheda")
    expect(answers(one).last).to_contain_text("Ricevuto.")
    expect(one.locator(".bubble")).to_have_text(["Da una scheda", "Dall'altra scheda"])


def test_the_memory_of_a_turn_is_one_click_away(visitor: Visitor) -> None:
    """The mark below an answer opens what was sent for that very turn."""
    page = visitor.open(f"#/c/{visitor.at.session(visitor.user, f'three-{visitor.user}', [])}")
    page.goto(visitor.at.url + "#/")
    for count, question in enumerate(("Prima domanda", "Seconda domanda"), start=1):
        visitor.at.told.tell(question, "Va bene.")
        ask(page, question)
        answered(page, count)
    page.get_by_role("button", name="Che cosa è stato mandato · Turno 1").click()
    memory = page.get_by_role("complementary", name="Memoria")
    expect(memory).to_contain_text("Turno 1")
    expect(memory).to_contain_text("Prima domanda")


def test_a_chat_about_one_document_names_it(visitor: Visitor) -> None:
    """A chat that is begun from a document is a session that is limited to it, and says so."""
    visitor.at.document(visitor.user)
    page = visitor.open("#/documents")
    page.get_by_role("button", name="Nuova chat solo su «Ustioni»").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("solo 1 documento")
    ask(page, "Quali sono le cause delle ustioni?")
    answered(page, 1)
    (session,) = visitor.at.memory.sessions(user_id=visitor.user)
    assert len(session.document_ids) == 1


@pytest.mark.parametrize("language", ["it", "en"])
def test_the_page_shows_the_answers_of_every_other_face(visitor: Visitor, language: str) -> None:
    """What Python answers without a model stands on the page, word for word but for marks that become buttons."""
    talk = TALKS[language]
    expected = through_python(talk, MemoryStore(), visitor.at.memory.settings)
    page = visitor.open()
    for number, words in enumerate(talk, start=1):
        ask(page, words)
        answered(page, number)
        visitor.at.memory.settle(20)
    shown = [answers(page).nth(place).locator(".markdown").inner_text() for place in range(len(talk))]
    assert [_plain(each) for each in shown] == [_plain(each) for each in expected]


def _plain(text: str) -> str:
    """The words of an answer, without Markdown and line breaks."""
    return " ".join(re.sub(r"[*_`>]|^\s*[-•]\s", "", text, flags=re.MULTILINE).split())
