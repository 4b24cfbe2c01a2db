"""Small things that people notice: focus, drafts, titles, Markdown, menus, phones."""

import re
from pathlib import Path

from page_samples import Visitor, answered, answers, ask, site
from playwright.sync_api import Browser, Page, expect

from ricordo.testing.fakes import ScriptedLLM

WRITTEN = """### Da fare

- [x] leggere
- [ ] provare

# Poi

| Voce | Prezzo | Nota |
|:-----|-------:|:----:|
| Internazionalizzazione straordinariamente lunga | 1.200,00 | approfondimento particolareggiato |

```python
def media(valori):
    return sum(valori)
```

Vale $a^2 + b^2 = c^2$, e costa da $5 a $10.

$$\\frac{1}{2}$$

The rest of this is `code` in English.
"""

SHIFTS = """
    window.shifts = [];
    const told = (node) => (node?.outerHTML ?? node?.parentNode?.outerHTML ?? "").slice(0, 200);
    new PerformanceObserver((list) => {
        for (const { value, sources } of list.getEntries())
            window.shifts.push([value, ...sources.map(({ node }) => told(node))]);
    }).observe({ type: "layout-shift", buffered: true });
"""


def act(page: Page, title: str, action: str) -> None:
    """Choose an action from a conversation's menu."""
    row = page.locator("li.session", has_text=title)
    row.hover()
    row.get_by_role("button", name=re.compile("Azioni per|Actions for")).click()
    page.locator(".menu:popover-open").get_by_role("button", name=action, exact=True).click()


def size_of(page: Page, selector: str) -> float:
    """The size of the letters of an element, in pixels."""
    return float(page.locator(selector).first.evaluate("node => parseFloat(getComputedStyle(node).fontSize)"))


def test_markdown_is_drawn_as_it_is_meant(visitor: Visitor) -> None:
    """Task lists once, tables aligned and unbroken, legible code with its language and colours, real headings without a
    gap, formulas drawn and prices left alone, text in its direction and language."""
    session_id = visitor.at.session(visitor.user, f"md-{visitor.user}", [("Come si fa la media?", WRITTEN)])
    page = visitor.open(f"#/c/{session_id}")
    answer = answers(page)
    expect(answer.locator("math")).to_have_count(2)
    assert answer.inner_text().count("☑") == 1
    assert answer.inner_text().count("☐") == 1
    expect(answer).to_contain_text("costa da $5 a $10.")
    assert [each.evaluate("node => node.localName") for each in answer.locator(".heading").all()] == ["h3", "h3"]
    cells = answer.get_by_role("cell")
    assert [each.evaluate("node => getComputedStyle(node).textAlign") for each in cells.all()] == [
        "left",
        "right",
        "center",
    ]
    page.set_viewport_size({"width": 320, "height": 640})
    words = "node => Math.max(...[...node.querySelectorAll('td')].map(cell => cell.clientWidth))"
    assert answer.locator("table").evaluate(words) > 150  # as wide as the longest word
    assert size_of(page, "pre code") >= 13
    assert size_of(page, "p code") >= 13
    code = answer.locator("figure.code")
    expect(code.locator("figcaption")).to_contain_text("python")
    expect(code.locator(".hl-keyword").first).to_have_text("def")
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    code.get_by_role("button", name="Copia il codice").click()
    expect(page.locator(".notice")).to_contain_text("Copiato")
    assert page.evaluate("navigator.clipboard.readText()") == "def media(valori):\n    return sum(valori)"
    expect(page.locator(".bubble")).to_have_attribute("dir", "auto")
    expect(page.locator(".bubble")).to_have_attribute("lang", "it")
    expect(answer.locator(".markdown")).to_have_attribute("dir", "auto")


def test_a_line_stays_a_line(visitor: Visitor) -> None:
    """Quotes of memory stand one below the other, as they were written."""
    quotes = "La cosa più vicina è questa:\nHai detto (oggi): «uno»\nHai detto (ieri): «due»"
    session_id = visitor.at.session(visitor.user, f"lines-{visitor.user}", [("Chi?", quotes)])
    page = visitor.open(f"#/c/{session_id}")
    assert answers(page).locator("p").inner_text().splitlines() == quotes.splitlines()


def test_a_phone_shows_what_was_tapped(browser: Browser, visitor: Visitor) -> None:
    """On a narrow screen the sidebar goes once a conversation is tapped, with the focus; a menu is as wide as its
    words."""
    visitor.at.session(visitor.user, f"tap-{visitor.user}", [("a", "b")], title="Da toccare")
    page = visitor.open()
    page.set_viewport_size({"width": 390, "height": 800})
    page.get_by_role("button", name="Apri la barra laterale").click()
    row = page.locator("li.session", has_text="Da toccare")
    row.get_by_role("button", name="Azioni per").click()
    box = page.locator(".menu:popover-open").bounding_box()
    assert box is not None
    assert box["width"] < 340
    page.keyboard.press("Escape")
    row.get_by_role("link").click()
    answered(page, 1)
    expect(page.get_by_role("button", name="Nuova conversazione")).to_be_hidden()
    assert page.evaluate("document.getElementById('main').contains(document.activeElement)")
    page.set_viewport_size({"width": 1280, "height": 800})
    row.hover()
    row.get_by_role("button", name="Azioni per").click()
    box = page.locator(".menu:popover-open").bounding_box()
    assert box is not None
    assert box["width"] < 400


def test_each_conversation_has_its_own_draft(visitor: Visitor) -> None:
    """What is being written stays with its conversation, survives a reload, and comes back after an edited question."""
    for name in ("uno", "due"):
        visitor.at.session(visitor.user, f"{name}-{visitor.user}", [(f"Domanda {name}", "b")], title=f"Sessione {name}")
    visitor.at.told.tell("Domanda uno, meglio", "Ecco.")
    page = visitor.open(f"#/c/uno-{visitor.user}")
    answered(page, 1)
    field = page.get_by_role("textbox", name="Scrivi un messaggio")
    field.fill("bozza di uno")
    page.get_by_role("link", name="Sessione due").click()
    expect(field).to_have_value("")
    field.fill("bozza di due")
    page.get_by_role("link", name="Sessione uno").click()
    expect(field).to_have_value("bozza di uno")
    page.reload()
    expect(field).to_have_value("bozza di uno")
    edit = page.get_by_role("button", name="Modifica e chiedi di nuovo")
    edit.click()
    expect(field).to_have_value("Domanda uno")
    page.keyboard.press("Escape")
    expect(field).to_have_value("bozza di uno")
    edit.click()
    ask(page, "Domanda uno, meglio")
    expect(answers(page).last).to_contain_text("Ecco.")
    expect(field).to_have_value("bozza di uno")
    page.get_by_role("link", name="Sessione due").click()
    expect(field).to_have_value("bozza di due")


def test_old_conversations_keep_their_title(visitor: Visitor) -> None:
    """One beyond the first page is named when it is opened, and one without a title by its first question."""
    for number in range(52):
        turns = [("a", "b")] if number < 51 else [("E **poi**?", "b")]
        title = f"Numero {number}" if number < 51 else ""
        visitor.at.session(visitor.user, f"{number}-{visitor.user}", turns, title=title, days_ago=number + 1)
    page = visitor.open(f"#/c/50-{visitor.user}")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Numero 50")
    page.get_by_role("button", name="Mostra altre").click()
    page.get_by_role("link", name="E poi?", exact=True).click()
    expect(heading).to_have_text("E poi?")


def test_the_focus_is_never_lost(visitor: Visitor) -> None:
    """After a rename it is on the row, after a deletion on the row beside it, after "undo" on the one that came back,
    and with the last one gone on "new conversation"."""
    for name in ("uno", "due"):
        visitor.at.session(visitor.user, f"{name}-{visitor.user}", [("a", "b")], title=f"Riga {name}")
    page = visitor.open()
    act(page, "Riga due", "Rinomina")
    page.get_by_role("textbox", name="Nuovo titolo").fill("Riga tre")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Riga tre")).to_be_focused()
    act(page, "Riga tre", "Etichette")
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Riga tre")).to_be_focused()
    act(page, "Riga tre", "Elimina")
    expect(page.get_by_role("link", name="Riga uno")).to_be_focused()
    page.get_by_role("button", name="Annulla").click()
    expect(page.get_by_role("link", name="Riga tre")).to_be_focused()
    act(page, "Riga tre", "Archivia")
    expect(page.get_by_role("link", name="Riga uno")).to_be_focused()
    act(page, "Riga uno", "Elimina")
    expect(page.get_by_role("button", name="Nuova conversazione")).to_be_focused()


def test_a_source_shows_the_cited_sentence(visitor: Visitor) -> None:
    """The list under an answer marks the sentence that was cited, lights up what cites it, and its dialog opens at the
    cited passage, however long the one before it is."""
    long = "Marte è un pianeta roccioso con una superficie rossa e polverosa. " * 40
    lunes = "Il pianeta è piccolo. Marte ha due lune: Fobos e Deimos."
    visitor.at.document(visitor.user, "Marte", f"# Marte\n\n{long}\n\n## Lune\n\n{lunes}\n")
    page = visitor.open()
    ask(page, "Quali lune ha Marte?")
    answered(page, 1)
    page.locator(".sources summary").click()
    source = page.locator(".sources li", has_text="Fobos")
    expect(source.locator("mark").last).to_have_text("Marte ha due lune: Fobos e Deimos.")
    expect(page.locator(".sources")).not_to_contain_text("##")
    source.hover()
    lit = "[...CSS.highlights.get('cited') ?? []].map(String).join(' ')"
    assert "Fobos" in page.evaluate(lit)
    page.mouse.move(0, 0)
    assert page.evaluate(lit) == ""
    source.get_by_role("button").click()
    expect(page.locator("dialog .cited")).to_be_in_viewport()
    expect(page.locator("dialog .cited")).to_contain_text("Fobos")


def test_a_model_is_chosen(browser: Browser) -> None:
    """Where the server has several models the field offers them; the choice answers, is named, and is remembered."""
    with site() as running:
        running.service.models = (ScriptedLLM("Piccolo.", name="small"), ScriptedLLM("Grande.", name="large"))
        running.told.tell("Chi risponde adesso?", "Il primo.")
        visitor = Visitor(browser, running, "models")
        page = visitor.open()
        chosen = page.get_by_role("combobox", name="Modello")
        expect(chosen).to_have_value("small")
        ask(page, "Chi risponde adesso?")
        expect(answers(page)).to_contain_text("Il primo.")
        chosen.select_option("large")
        page.reload()
        expect(chosen).to_have_value("large")
        ask(page, "E chi risponde ora?")
        expect(answers(page).last).to_contain_text("Grande.")
        expect(answers(page).last.locator("time")).to_contain_text("large")
        visitor.close()


def test_thumbs_are_kept(browser: Browser, visitor: Visitor) -> None:
    """A thumb is pressed once, stays pressed after a reload, and can be turned."""
    visitor.at.session(visitor.user, f"th-{visitor.user}", [("Come si coltivano le carote?", "In terra sciolta.")])
    page = visitor.open(f"#/c/th-{visitor.user}")
    up, down = page.get_by_role("button", name="Utile", exact=True), page.get_by_role("button", name="Poco utile")
    up.click()
    expect(up).to_have_attribute("aria-pressed", "true")
    page.wait_for_load_state("networkidle")
    page.reload()
    expect(up).to_have_attribute("aria-pressed", "true")
    down.click()
    expect(up).to_have_attribute("aria-pressed", "false")
    expect(down).to_have_attribute("aria-pressed", "true")


def test_conversations_are_pinned_and_chosen_together(browser: Browser, visitor: Visitor) -> None:
    """A pinned one stands first however old it is; several are archived or deleted at once, and "undo" brings all
    back."""
    for number in range(3):
        title = f"Chat {number}"
        visitor.at.session(visitor.user, f"{number}-{visitor.user}", [("a", "b")], title=title, days_ago=40 * number)
    page = visitor.open()
    act(page, "Chat 2", "Fissa in cima")
    expect(page.locator("nav h2").first).to_have_text("In alto")
    page.reload()
    expect(page.locator("nav ul").first.get_by_role("link")).to_have_text(["Chat 2"])
    act(page, "Chat 0", "Scegline più di una")
    page.get_by_role("checkbox", name="Chat 1").check()
    expect(page.locator(".chosen")).to_contain_text("2 scelte")
    page.locator(".chosen").get_by_role("button", name="Elimina").click()
    expect(page.locator("li.session")).to_have_count(1)
    page.get_by_role("button", name="Annulla").click()
    expect(page.locator("li.session")).to_have_count(3)
    act(page, "Chat 0", "Scegline più di una")
    page.locator(".chosen").get_by_role("button", name="Archivia").click()
    expect(page.locator("li.session")).to_have_count(2)


def test_a_conversation_is_shared_as_a_file(browser: Browser, visitor: Visitor, tmp_path: Path) -> None:
    """One HTML file holds the whole conversation as it is drawn, and neither scripts nor anything from elsewhere."""
    evil = "Ciao <script>window.hurt=1</script> **forte** [x](javascript:alert(1))"
    visitor.at.session(
        visitor.user, f"sh-{visitor.user}", [("Come si fa?", WRITTEN), ("E poi?", evil)], title="Di tutti"
    )
    page = visitor.open()
    with page.expect_download() as got:
        act(page, "Di tutti", "Condividi come file da leggere")
    assert got.value.suggested_filename == "Di tutti.html"
    file = tmp_path / "shared.html"
    got.value.save_as(file)
    text = file.read_text()
    assert not re.search(
        r"<(script|img|link|iframe|button)|javascript:|https?://(?!www\.w3\.org)", text.replace("&lt;", "")
    )
    page.goto(file.as_uri())
    expect(page.get_by_role("heading", level=1)).to_have_text("Di tutti")
    expect(page.locator("article")).to_have_count(2)
    expect(page.locator("td").first).to_contain_text("Internazionalizzazione")
    expect(page.locator("article").last.locator("strong")).to_have_text("forte")
    assert page.evaluate("window.hurt") is None


def test_nothing_jumps_when_the_page_opens_and_answers(visitor: Visitor) -> None:
    """From the first view to the first whole answer no part of the page shifts another."""
    visitor.context.add_init_script(SHIFTS)
    visitor.at.told.tell("Racconta", "Uno.\n\n", "- due\n", "- tre\n\n", "| a | b |\n|---|---|\n| 1 | 2 |")
    page = visitor.open()
    expect(page.locator("nav")).to_contain_text("Ancora nessuna conversazione.")
    ask(page, "Racconta")
    answered(page, 1)
    expect(page.locator("li.session")).to_have_count(1)
    page.wait_for_timeout(300)
    assert page.evaluate("window.shifts") == []
