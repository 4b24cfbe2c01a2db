"""Asking which one is meant, in one process and across several."""

import multiprocessing
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from followup_samples import NOON, any_text, talk
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import SettingsError
from ricordo.followups.clarify import (
    ProcessClarifications,
    SharedClarifications,
    answer,
    ask,
    default_directory,
    handle,
)
from ricordo.followups.reference import PATIENCE, ClarificationKey, ClarificationOption, ClarificationStates, Pending
from ricordo.followups.resolve import resolve

KEY = ClarificationKey("shop", "anna", "s-1")
WINES = Pending(
    "Con cosa lo abbino?",
    (
        ClarificationOption("Sangiovese di Romagna", 2),
        ClarificationOption("Lambrusco Grasparossa", 2),
        ClarificationOption("Barbera d'Asti", 2),
    ),
    "it",
    NOON,
)
CAMERAS = Pending(
    "How heavy is it?", (ClarificationOption("Sony A7 IV", 1), ClarificationOption("Canon R6", 1)), "en", NOON
)


@given(any_text, st.timedeltas(timedelta(), timedelta(minutes=10)))
def test_every_message_has_one_outcome(message: str, later: timedelta) -> None:
    """For every message: expired exactly from five minutes on; answered only with options that were offered."""
    outcome = answer(WINES, message, now=NOON + later)
    assert (outcome.kind == "expired") == (later >= PATIENCE)
    assert bool(outcome.chosen) == (outcome.kind == "answered")
    assert set(outcome.chosen) <= set(WINES.options)
    assert (outcome.pending is not None) == (outcome.kind == "unclear")


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=6), st.data())
def test_a_number_always_answers(names: list[str], data: st.DataObject) -> None:
    """Whatever the options are called, their number chooses them."""
    options = tuple(ClarificationOption(name, 1) for name in names)
    place = data.draw(st.integers(min_value=1, max_value=len(names)))
    outcome = answer(Pending("?", options, "en", NOON), str(place), now=NOON)
    assert outcome.chosen == (options[place - 1],)


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("2", ["Lambrusco Grasparossa"]),
        ("il secondo", ["Lambrusco Grasparossa"]),
        ("the second", ["Lambrusco Grasparossa"]),
        ("la prima opzione", ["Sangiovese di Romagna"]),
        ("l'ultimo, grazie", ["Barbera d'Asti"]),
        ("Barbera", ["Barbera d'Asti"]),
        ("il sangiovese per favore", ["Sangiovese di Romagna"]),
        ("lambrusko", ["Lambrusco Grasparossa"]),
        ("i primi due", ["Sangiovese di Romagna", "Lambrusco Grasparossa"]),
        ("tutti e tre", ["Sangiovese di Romagna", "Lambrusco Grasparossa", "Barbera d'Asti"]),
    ],
)
def test_numbers_ordinals_names_and_near_names_answer(message: str, names: list[str]) -> None:
    """The user may answer as people do."""
    assert [option.name for option in answer(WINES, message, now=NOON).chosen] == names


@pytest.mark.parametrize(
    "message", ["Che tempo fa a Roma?", "4", "nessuno", "Quanto costa il Barbera al litro?", "", "ciao"]
)
def test_anything_else_cancels(message: str) -> None:
    """An unrelated message, a place that does not exist, or a refusal cancels the question."""
    assert answer(WINES, message, now=NOON).kind == "cancelled"


def test_an_answer_completes_the_question() -> None:
    """The completed question names what was chosen."""
    assert answer(CAMERAS, "the canon", now=NOON).question == "How heavy is it (Canon R6)?"


def test_a_name_that_two_options_share_is_asked_again() -> None:
    """An answer that fits two options keeps the question open and its five minutes start anew."""
    twins = Pending("Which?", (ClarificationOption("red wine", 1), ClarificationOption("white wine", 1)), "en", NOON)
    outcome = answer(twins, "wine", now=NOON + timedelta(minutes=4))
    assert outcome.kind == "unclear"
    assert outcome.pending is not None
    assert outcome.pending.expires_at == NOON + timedelta(minutes=9)


def test_the_question_is_asked_in_its_language() -> None:
    """Options are joined as a person would."""
    assert WINES.prompt == "Quale: Sangiovese di Romagna, Lambrusco Grasparossa o Barbera d'Asti?"
    assert CAMERAS.prompt == "Which one: Sony A7 IV or Canon R6?"


def test_an_ambiguous_follow_up_becomes_a_question() -> None:
    """The candidates of a resolution are what is asked, with the items in full."""
    resolution = resolve(
        "Quell'esercizio fa male?", talk(("Quali esercizi?", "- Ponte: glutei\n- Plank: addome", ("e",)))
    )
    pending = ask(resolution.question, resolution.candidates, language=resolution.language, now=NOON)
    assert pending.prompt == "Quale: Ponte o Plank?"
    assert [option.text for option in pending.options] == ["Ponte: glutei", "Plank: addome"]


@pytest.fixture(params=["process", "shared"])
def states(request: pytest.FixtureRequest, tmp_path: Path) -> ClarificationStates:
    """Both homes of pending questions."""
    return ProcessClarifications() if request.param == "process" else SharedClarifications(tmp_path / "run")


def test_a_pending_question_is_read_back_whole(states: ClarificationStates) -> None:
    """What was put is what is got, by its key alone."""
    rich = Pending("Perché 😀 «così»?", (ClarificationOption("a", 3, "tutto\nil testo", ("c-1", "c-2")),), "it", NOON)
    states.put(KEY, rich)
    assert states.get(KEY, NOON) == rich
    assert states.get(ClarificationKey("shop", "anna", "s-2"), NOON) is None
    assert states.get(ClarificationKey("shop", "bruno", "s-1"), NOON) is None
    assert states.get(ClarificationKey("school", "anna", "s-1"), NOON) is None


def test_a_handled_question_is_gone(states: ClarificationStates) -> None:
    """Answering, cancelling and expiry all forget; the next message meets no question."""
    for message, later, kind in (("2", 1, "answered"), ("Ciao, che ore sono?", 1, "cancelled"), ("2", 6, "expired")):
        states.put(KEY, WINES)
        outcome = handle(states, KEY, message, now=NOON + timedelta(minutes=later))
        assert outcome is not None
        assert outcome.kind == kind
        assert handle(states, KEY, "2", now=NOON) is None


def test_an_unclear_answer_keeps_the_question(states: ClarificationStates) -> None:
    """After an unclear answer the question is still there, refreshed."""
    states.put(
        KEY, Pending("Which?", (ClarificationOption("red wine", 1), ClarificationOption("white wine", 1)), "en", NOON)
    )
    assert handle(states, KEY, "wine", now=NOON + timedelta(minutes=4)) is not None
    outcome = handle(states, KEY, "red", now=NOON + timedelta(minutes=8))
    assert outcome is not None
    assert [option.name for option in outcome.chosen] == ["red wine"]


def test_what_others_let_expire_is_swept(states: ClarificationStates) -> None:
    """Looking for one session's question removes the expired ones of other sessions."""
    other = ClarificationKey("shop", "bruno", "s-9")
    states.put(other, WINES)
    states.get(KEY, NOON + PATIENCE)
    assert not states.delete(other)


def test_a_pending_question_may_be_pending(states: ClarificationStates) -> None:
    """A session with a question is never told to have none, and no more are known than one process can know."""
    empty = states.may_be_pending("")
    states.put(KEY, WINES)
    assert states.may_be_pending(KEY.session_id)
    assert states.may_be_pending("")
    assert states.may_be_pending("another") == empty == isinstance(states, SharedClarifications)


def test_a_user_is_forgotten_whole(states: ClarificationStates) -> None:
    """Erasing a user removes all of that user's pending questions and nobody else's."""
    mine = [ClarificationKey("shop", "anna", f"s-{n}") for n in range(3)]
    theirs = [ClarificationKey("shop", "bruno", "s-0"), ClarificationKey("school", "anna", "s-0")]
    for key in (*mine, *theirs):
        states.put(key, WINES)
    assert states.forget("shop", "anna") == 3
    assert all(states.get(key, NOON) is None for key in mine)
    assert all(states.get(key, NOON) == WINES for key in theirs)


def test_only_one_of_many_takes_the_answer(states: ClarificationStates) -> None:
    """Of sixteen threads that read the same pending question, exactly one acts on it."""
    states.put(KEY, WINES)
    start = threading.Barrier(16)
    taken: list[object] = []

    def reply() -> None:
        start.wait()
        outcome = handle(states, KEY, "2", now=NOON)
        if outcome is not None:
            taken.append(outcome)

    threads = [threading.Thread(target=reply) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 1


def _ask_elsewhere(directory: Path) -> None:
    SharedClarifications(directory).put(KEY, WINES)


def test_another_process_understands_the_answer(tmp_path: Path) -> None:
    """A question asked by one server process is answered in another."""
    asking = multiprocessing.get_context("spawn").Process(target=_ask_elsewhere, args=(tmp_path / "run",))
    asking.start()
    asking.join()
    assert asking.exitcode == 0
    outcome = handle(SharedClarifications(tmp_path / "run"), KEY, "il terzo", now=NOON)
    assert outcome is not None
    assert [option.name for option in outcome.chosen] == ["Barbera d'Asti"]


def test_the_shared_place_is_private(tmp_path: Path) -> None:
    """Files are readable by their owner alone, and a directory open to others is refused with the remedy."""
    shared = SharedClarifications(tmp_path / "run")
    shared.put(KEY, WINES)
    modes = {path.stat().st_mode & 0o077 for path in (tmp_path / "run").rglob("*")}
    assert modes == {0}
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(SettingsError, match="mode 700"):
        SharedClarifications(tmp_path / "open")


def test_a_damaged_file_is_no_question(tmp_path: Path) -> None:
    """A file that is not ours, or half of one, counts as nothing pending."""
    shared = SharedClarifications(tmp_path / "run")
    shared.put(KEY, WINES)
    for path in (tmp_path / "run").rglob("*.json"):
        path.write_text('{"question": ')
    assert shared.get(KEY, NOON) is None


def test_nothing_of_the_text_is_left_behind(tmp_path: Path) -> None:
    """After the answer no file of the shared place holds a word of the question."""
    shared = SharedClarifications(tmp_path / "run")
    shared.put(KEY, WINES)
    handle(shared, KEY, "2", now=NOON)
    assert [path for path in (tmp_path / "run").rglob("*") if path.is_file()] == []


def test_each_store_has_its_own_default_place() -> None:
    """Two stores on one machine do not share pending questions."""
    assert default_directory("a.db") == default_directory("a.db") != default_directory("b.db")
