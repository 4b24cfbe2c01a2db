"""What each preset promises, through the façade: how much it holds, what it recalls, whom it speaks of."""

from datetime import timedelta
from typing import Any

import pytest

import ricordo
from ricordo.presets import settings_from
from ricordo.recall.embedders.light import LightEmbedder
from ricordo.safety.screen import default_rules
from ricordo.testing import FakeClock, MemoryStore

LONG = " ".join(f"La tappa {place} dista {place * 13} chilometri." for place in range(12))


def memory(clock: FakeClock | None = None, **chosen: Any) -> ricordo.Memory:
    """A memory with these settings, a clock that stands still and an embedder that needs no weights."""
    settings = settings_from(chosen, {})
    return ricordo.Memory(MemoryStore(), settings, clock=clock or FakeClock(), embedder=LightEmbedder())


def history_items(context: ricordo.Context) -> list[str]:
    """The turns that the messages of a context hold."""
    return [item.id for item in context.receipt.kept if item.section == "history"]


def test_chat24h_holds_its_twenty_turns() -> None:
    """Twenty long turns stand in the window, in the messages and in the prompt, beside the material of the question."""
    session = memory(preset="chat24h").session(user_id="anna")
    for number in range(25):
        session.add_turn(f"Domanda {number}: " + "parole " * 300, "Risposta: " + "parole " * 700)
    assert [turn.turn_number for turn in session.window().turns] == list(range(6, 26))
    context = session.context("E poi?", chunks=["materiale " * 400] * 8)
    assert len(history_items(context)) == 20
    assert sum(item.in_prompt for item in context.receipt.items if item.section == "history") == 20
    assert sum(item.kept for item in context.receipt.items if item.section == "chunks") == 6


def test_chat24h_holds_its_most_turns_too() -> None:
    """The largest number of turns that it allows fits as well."""
    session = memory(preset="chat24h", max_turns=50).session(user_id="anna")
    for number in range(50):
        session.add_turn(f"Domanda {number}: " + "parole " * 300, "Risposta: " + "parole " * 700)
    assert len(history_items(session.context("E poi?"))) == 50


def test_an_assistant_keeps_the_turns_that_fit_after_condensing() -> None:
    """A summary takes no turn out of the window: the recent turns that fit stay beside it."""
    kept = memory(preset="assistant", max_tokens=1_500, model_limit=4_000)
    session = kept.session(user_id="anna")
    for number in range(30):
        session.add_turn(f"Domanda {number} sul viaggio?", f"Risposta {number}: " + LONG)
    before = history_items(session.context("E poi?"))
    assert session.condense() is not None
    context = session.context("E poi?")
    assert history_items(context) == before
    assert len(before) > 5
    assert context.receipt.sections["summary"] > 0


def test_an_assistant_recalls_what_was_condensed() -> None:
    """A detail of a turn that no longer fits comes back when it is asked for."""
    session = memory(preset="assistant", max_tokens=600, model_limit=2_000).session(user_id="anna")
    session.add_turn("Il codice del cancello è 7391, ricordalo.", "Va bene, il codice del cancello è 7391.")
    for number in range(30):
        session.add_turn(f"Domanda {number} sul viaggio in treno?", f"Risposta {number}: " + "orari e binari " * 20)
    assert session.condense() is not None
    context = session.context("Qual è il codice del cancello?")
    assert any(item.section == "recalled" and item.kept for item in context.receipt.items)
    assert "7391" in str(context.messages[-1]["content"])


def test_recall_takes_what_fits_its_share() -> None:
    """Not a fixed number of hits: a larger budget keeps more of what was found, and all of it in order."""
    kept = memory(organise="off", remember_person="off")
    past = kept.session("past", user_id="anna")
    for number in range(24):
        past.add_turn(f"Nota {number}: le rose del giardino vanno potate.", f"Segnata la nota {number} sulle rose.")
        past.add_turn(f"Spesa {number}: compra pane, latte e uova.", f"Segnata la spesa {number} per domani.")
    assert kept.settle(20)
    session = kept.session(user_id="anna")
    question = "Quando vanno potate le rose del giardino?"
    numbers = []
    for limit in (300, 600, 1_200, 4_096):
        items = [item for item in session.context(question, budget=limit).receipt.items if item.section == "recalled"]
        numbers.append(sum(item.kept for item in items))
    assert numbers == sorted(numbers)
    assert numbers[-1] > 10 > numbers[0]
    few = memory(organise="off", recall_messages=2, remember_person="off")
    few.session("past", user_id="anna").add_turn("Le rose del giardino vanno potate.", "A marzo.")
    few.session("past", user_id="anna").add_turn("Le rose vanno potate in giardino.", "A marzo.")
    found = few.session(user_id="anna").context(question).receipt.items
    assert sum(item.section == "recalled" for item in found) == 2


@pytest.mark.parametrize("code", ["it", "en"])
def test_maestro_puts_the_rules_of_its_role_first(code: str) -> None:
    """Its safety rules are in the language of the locale and open every prompt; rules of one's own replace them."""
    kept = memory(preset="maestro", locale=code)
    rules = default_rules(code)
    assert kept.settings.safety_rules == rules
    context = kept.session(user_id="anna").context("Ciao?", system="Sei un maestro.")
    assert str(context.messages[0]["content"]).startswith(rules)
    assert context.prompt.startswith(rules)
    assert kept.enhance_prompt("Sei un maestro.", user_id="anna").startswith(rules)
    assert memory(preset="maestro", safety_rules="Sii gentile.").settings.safety_rules == "Sii gentile."
    assert memory(preset="maestro", safety_rules="").settings.safety_rules == ""


def test_the_last_meeting_tells_the_last_session_only() -> None:
    """The block shows the last session under its day; the profile still merges the last three."""
    clock = FakeClock()
    kept = memory(clock, preset="maestro")
    for subject in ("le frazioni e i denominatori", "la fotosintesi delle piante"):
        session = kept.session(user_id="anna")
        session.add_turn(f"Oggi studiamo {subject}.", f"Bene, parliamo di {subject}.")
        session.end()
        clock.advance(timedelta(days=1))
    profile = kept.profile("anna")
    assert "frazioni" in profile.recent_summary
    assert "fotosintesi" in profile.last_summary
    assert "frazioni" not in profile.last_summary
    prompt = kept.enhance_prompt("Sei un maestro.", user_id="anna")
    meeting = prompt.partition("### Ultimo Incontro (ieri)\n")[2].partition("###")[0]
    assert "fotosintesi" in meeting
    assert "frazioni" not in meeting


def test_key_facts_tell_how_a_pupil_learns_before_what_a_pupil_likes() -> None:
    """Learning style, difficulties and goals come before tastes, however recent and often said the tastes are."""
    kept = memory(preset="maestro", profile_facts=3)
    session = kept.session(user_id="anna")
    session.add_turn("Imparo meglio con gli schemi.", "Va bene.")
    session.add_turn("Ho difficoltà con le frazioni.", "Ci lavoriamo.")
    session.add_turn("Voglio prendere otto in matematica.", "Ottimo obiettivo.")
    for food in ("la pizza", "il gelato", "il calcio"):
        session.add_turn(f"Mi piace {food}.", "Buono a sapersi.")
    session.end()
    facts = " ".join(kept.profile("anna").key_facts).lower()
    assert all(word in facts for word in ("schemi", "frazioni", "otto"))
    assert not any(word in facts for word in ("pizza", "gelato", "calcio"))


def test_a_wish_for_examples_is_a_way_of_learning() -> None:
    """Whoever prefers examples tells how to teach; that comes before other preferences."""
    kept = memory(preset="maestro", profile_facts=1)
    session = kept.session(user_id="anna")
    session.add_turn("Preferisco gli esempi visivi.", "Va bene.")
    session.add_turn("Preferisco il mare alla montagna.", "Va bene.")
    session.end()
    assert ["esempi" in fact for fact in kept.profile("anna").key_facts] == [True]
