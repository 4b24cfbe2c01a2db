"""A conversation of two thousand turns scrolls as smoothly as a short one."""

import json

from page_samples import Visitor, site
from playwright.sync_api import Browser, Page, expect

TURNS = 2_000
LONGEST_FRAME_MS = 100.0
_ANSWER = """Ecco la risposta numero {0}:

1. **primo** punto
2. secondo punto con `codice`

> citazione

| a | b |
|---|---|
| {0} | 2 |
"""


def test_two_thousand_turns_scroll_smoothly(browser: Browser) -> None:
    """From the end to the beginning and to any turn: few turns in the page, and no piece of work above 100 ms."""
    with site() as running:
        _scrolls(browser, Visitor(browser, running, "long"))


def _scrolls(browser: Browser, visitor: Visitor) -> None:
    turns = [(f"Domanda numero {number}", _ANSWER.format(number)) for number in range(1, TURNS + 1)]
    session_id = visitor.at.session(visitor.user, f"long-{visitor.user}", turns, title="Lunghissima")
    assert visitor.at.memory.settle(120)
    page = visitor.open(f"#/c/{session_id}")
    last = page.locator(f"article[data-turn='{TURNS}']")
    expect(last).to_be_in_viewport()
    page.mouse.move(700, 400)
    browser.start_tracing(page=page, categories=["devtools.timeline", "toplevel", "blink.user_timing"])
    for _ in range(80):
        page.mouse.wheel(0, -1200)
        page.wait_for_timeout(16)
    for _ in range(600):
        if first_turn(page) < TURNS - 150:
            break
        page.wait_for_timeout(50)  # on a busy machine the page is behind the wheel
    trace = json.loads(browser.stop_tracing())
    assert page.locator("article").count() < 40
    assert first_turn(page) < TURNS - 150
    assert longest_task(trace) <= LONGEST_FRAME_MS
    page.goto(visitor.at.url + f"#/c/{session_id}/7")
    expect(page.locator("article[data-turn='7']")).to_be_in_viewport()
    expect(page.locator("article[data-turn='7']")).to_contain_text("Domanda numero 7")
    page.get_by_role("button", name="Vai all'ultimo messaggio").click()
    expect(last).to_be_in_viewport()
    expect(last).to_contain_text(f"Domanda numero {TURNS}")
    visitor.close()


def first_turn(page: Page) -> int:
    """The number of the first turn that is in the page."""
    return int(page.locator("article").first.get_attribute("data-turn") or 0)


def longest_task(trace: dict) -> float:  # type: ignore[type-arg]
    """The longest work of the page's main thread, in milliseconds of its own time: other programs do not count."""
    events = trace["traceEvents"]
    main = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"].get("name") == "CrRendererMain"
    }
    tasks = [
        event.get("tdur", event["dur"]) / 1_000
        for event in events
        if event.get("ph") == "X" and event["name"].endswith("RunTask") and (event["pid"], event["tid"]) in main
    ]
    assert len(tasks) > 100, "the trace holds no work of the page"
    return float(max(tasks))
