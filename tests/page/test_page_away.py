"""The database or the server goes away and comes back; the page says so, and nothing is lost."""

from pathlib import Path

from page_samples import HOLD, Switched, Visitor, answered, answers, ask, site
from playwright.sync_api import Browser, expect

from ricordo.stores.memory import MemoryStore
from ricordo.stores.spool import SpooledStore, SpoolTimeouts

# The first stream breaks off in the middle, as it does when a proxy loses patience.
CUT = """
    const fetched = window.fetch;
    window.fetch = async (...asked) => {
        const response = await fetched(...asked);
        if (window.wasCut !== undefined || !String(asked[0]).startsWith("/chat")) return response;
        window.wasCut = false;
        const reader = response.body.getReader();
        const body = new ReadableStream({
            async start(controller) {
                for (let pieces = 0; pieces < 4; pieces += 1) controller.enqueue((await reader.read()).value);
                await reader.cancel();
                window.wasCut = true;
                controller.error(new TypeError("network error"));
            },
        });
        return new Response(body, response);
    };
"""
QUICK = SpoolTimeouts(probe_interval=0.02, first_pause=0.02, longest_pause=0.1, open_after=2.0)


def test_the_chat_goes_on_while_the_database_is_away(browser: Browser, tmp_path: Path) -> None:
    """A banner tells of the outage, the chat still answers, and when the database is back all of it is there."""
    database = Switched(MemoryStore())
    store = SpooledStore(lambda: database, tmp_path, scratch=MemoryStore(), timeouts=QUICK)
    with site(store) as running:
        for question in ("Prima", "Durante", "Dopo"):
            running.told.tell(question, f"Risposta: {question}.")
        visitor = Visitor(browser, running, "outage")
        page = visitor.open()
        ask(page, "Prima")
        answered(page, 1)
        database.up = False
        ask(page, "Durante")
        answered(page, 2)
        expect(answers(page).last).to_contain_text("Risposta: Durante.")
        expect(page.locator(".banner")).to_contain_text("Il database non risponde")
        database.up = True
        expect(page.locator(".banner")).to_have_count(0)
        expect(page.locator(".notice")).to_contain_text("Tutto è di nuovo al suo posto")
        ask(page, "Dopo")
        answered(page, 3)
        page.reload()
        expect(page.locator(".bubble")).to_have_text(["Prima", "Durante", "Dopo"])
        visitor.close()


def test_a_server_that_is_away_is_waited_for(visitor: Visitor) -> None:
    """A question that did not reach the server waits on the page, is sent by itself once the server is back, and is
    asked once; a search meanwhile says that it could not search, and is done later."""
    visitor.at.session(visitor.user, f"old-{visitor.user}", [("Dove vive il panda?", "In Cina.")], title="Animali")
    visitor.at.told.tell("Ci sei?", "Ci sono.")
    page = visitor.open()
    expect(page.locator("li.session")).to_have_count(1)
    visitor.context.set_offline(True)
    ask(page, "Ci sei?")
    expect(page.locator(".banner")).to_contain_text("Il server non risponde")
    expect(page.locator(".bubble")).to_have_text("Ci sei?")
    expect(page.locator(".pending")).to_contain_text("verrà inviata da sola")
    page.get_by_role("searchbox").fill("panda")
    expect(page.locator(".search").get_by_role("alert")).to_contain_text("La ricerca non è riuscita")
    expect(page.locator(".search")).not_to_contain_text("Nessun")
    visitor.context.set_offline(False)
    expect(page.locator(".banner")).to_have_count(0)
    expect(page.locator(".hits li").first).to_be_visible()
    answered(page, 1)
    expect(page.locator(".pending")).to_have_count(0)
    expect(answers(page)).to_contain_text("Ci sono.")
    page.reload()
    expect(page.locator(".bubble")).to_have_text("Ci sei?")


def test_a_question_that_waits_can_be_taken_back(visitor: Visitor) -> None:
    """Stop takes a waiting question back: it is not sent later, and can be sent by hand."""
    visitor.at.told.tell("Per dopo", "Eccomi.")
    page = visitor.open()
    expect(page.locator("nav")).to_contain_text("Ancora nessuna conversazione.")
    visitor.context.set_offline(True)
    ask(page, "Per dopo")
    page.locator(".pending").get_by_role("button", name="Annulla").click()
    expect(page.locator(".failure")).to_contain_text("non è stata inviata")
    visitor.context.set_offline(False)
    expect(page.locator(".banner")).to_have_count(0)
    expect(page.locator(".failure")).to_be_visible()
    page.get_by_role("button", name="Riprova").click()
    expect(answers(page)).to_contain_text("Eccomi.")


def test_a_lost_connection_takes_up_the_stream(visitor: Visitor) -> None:
    """A stream that breaks off is followed again from where it was, without a word twice or missing."""
    visitor.at.told.tell("Detta", "uno ", "due ", HOLD, "tre ", "quattro")
    visitor.context.add_init_script(CUT)
    page = visitor.open()
    ask(page, "Detta")
    while not page.evaluate("window.wasCut"):
        page.wait_for_timeout(20)
    visitor.at.told.let_go("Detta")
    answered(page, 1)
    expect(answers(page).locator(".markdown")).to_have_text("uno due tre quattro")
