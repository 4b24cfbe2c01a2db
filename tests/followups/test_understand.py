"""Follow-ups through the whole memory: the use cases they were made for, and asking which one is meant."""

import multiprocessing
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo.followups.clarify import clarifications_of
from ricordo.followups.reference import LONGEST_FOLLOW_UP, ClarificationKey
from ricordo.followups.understand import LOOKBACK
from ricordo.records.turns import Owner, Turn
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing import FakeClock, MemoryStore
from ricordo.testing.fakes import StoreProxy
from talks import ThemedEmbedder, fill, memory, on_file

KEY = ClarificationKey("default", "anna", "s")

# The three use cases, in both languages

GRADES = {
    "it": (
        "Cos'è la spondilolistesi?",
        "Lo scivolamento di una vertebra sull'altra.",
        "Quali sono i gradi?",
        "spondilolistesi",
    ),
    "en": (
        "What is spondylolisthesis?",
        "The slipping of one vertebra on another.",
        "What are the grades?",
        "spondylolisthesis",
    ),
}

POINT_TWO = {
    "it": (
        "Parliamo di lombalgia meccanica",
        "1) Definizione: dolore al movimento [d-1] 2) Cause: postura e sforzo [d-2] 3) Diagnosi: esame [d-3]",
        "Approfondisci il punto 2",
        "Cause: postura e sforzo [d-2]",
        ("Cause", "lombalgia meccanica"),
    ),
    "en": (
        "Let's talk about mechanical back pain",
        "1) Definition: pain in moving [d-1] 2) Causes: posture and strain [d-2] 3) Diagnosis: exam [d-3]",
        "Tell me more about point 2",
        "Causes: posture and strain [d-2]",
        ("Causes", "mechanical back pain"),
    ),
}

STENOSIS = {
    "it": (
        "La stenosi spinale dà sintomi?",
        "La stenosi spinale lombare è sempre sintomatica.",
        "stenosi spinale esame",
        "Hai detto che la stenosi è sempre sintomatica?",
        "cucina forno ricetta pane",
    ),
    "en": (
        "Does spinal stenosis cause symptoms?",
        "Lumbar spinal stenosis is always symptomatic.",
        "spinal stenosis cause symptoms",
        "You said that stenosis is always symptomatic?",
        "kitchen oven recipe bread",
    ),
}

LANGUAGES = pytest.mark.parametrize("language", ["it", "en"])


@LANGUAGES
@pytest.mark.parametrize("preset", ["balanced", "tutor"])
def test_a_question_that_leaves_its_topic_out(language: str, preset: str) -> None:
    """The topic of the talk completes the question, for retrieval and in the prompt."""
    first, answer, question, topic = GRADES[language]
    session = memory(preset=preset, locale=language).session(user_id="anna")
    session.add_turn(first, answer)
    context = session.context(question)
    assert topic in context.question
    assert context.receipt.standalone == context.question
    assert context.question in context.prompt
    assert question in context.prompt
    assert context.references[0].turn_number == 1


@LANGUAGES
def test_a_point_of_the_last_answer(language: str) -> None:
    """The point that is meant is there in full, with the chunks it cites, and names itself in the question."""
    first, answer, question, point, words = POINT_TWO[language]
    session = memory(locale=language).session(user_id="anna")
    session.add_turn(first, answer, chunk_ids=["d-1", "d-2", "d-3"])
    fill(session, 2, "saluti")
    context = session.context(question)
    (reference,) = context.references
    assert (reference.text, reference.chunk_ids) == (point, ("d-2",))
    assert all(word in context.question for word in words)
    assert point in context.prompt


@LANGUAGES
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_something_said_long_ago_and_archived(language: str, kind: str, tmp_path: Path) -> None:
    """The answer that said it is found beyond the window and the last turns, though only the archive has it."""
    first, answer, more, question, elsewhere = STENOSIS[language]
    store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "r.db")
    with memory(store, locale=language, embedder=ThemedEmbedder()) as kept:
        session = kept.session("s", user_id="anna")
        session.add_turn(first, answer, chunk_ids=["st-1"])
        fill(session, 9, more)
        fill(session, 16, elsewhere)
        session.topics()
        assert session.history()[0].archived
        context = session.context(question)
        (reference,) = context.references
        assert (reference.text, reference.turn_number, reference.chunk_ids) == (answer, 1, ("st-1",))
        assert answer in context.prompt
        assert answer in context.messages[-1]["content"]
        turn = session.add_turn(question, "Mi correggo.")
        assert session.rebuild(turn.turn_number).prompt == context.prompt


@LANGUAGES
def test_a_question_that_says_it_all_is_left_alone(language: str) -> None:
    """A complete question has no reference and no other words, whatever was said before."""
    first, answer, *_ = GRADES[language]
    session = memory(locale=language, recall_messages=0).session(user_id="anna")
    session.add_turn(first, answer)
    question = {"it": "Qual è la capitale della Francia?", "en": "What is the capital of France?"}[language]
    context = session.context(question)
    assert (context.question, context.references, context.clarification) == (question, (), None)
    assert context.receipt.standalone == ""


class ReadStore(StoreProxy):
    """A store that tells how many turns were asked of it at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int | None] = []

    def turns_page(self, owner: Owner, session_id: str, *, last: int | None = None, **bounds: Any) -> Sequence[Turn]:
        self.asked.append(last)
        return self.inner.turns.page(owner, session_id, last=last, **bounds)


@LANGUAGES
@pytest.mark.parametrize("longer", [False, True])
def test_a_long_text_is_no_follow_up(language: str, longer: bool) -> None:
    """A text too long to be a follow-up is taken as it stands, and only the window's turns are read for it."""
    first, answer, question, *_ = POINT_TWO[language]
    store = ReadStore()
    session = memory(store, locale=language, recall_messages=0).session(user_id="anna")
    session.add_turn(first, answer)
    store.asked.clear()
    text = question.ljust(LONGEST_FOLLOW_UP + longer, ".")
    context = session.context(text)
    assert (context.question == text, context.references == ()) == (longer, longer)
    assert (LOOKBACK + 1 in store.asked) is not longer


# Asking which one

TALK = {
    "it": (
        "Che esercizi mi consigli?",
        "1) Plank: addominali 2) Ponte: glutei 3) Gatto: schiena",
        "Come si fa quell'esercizio?",
    ),
    "en": (
        "Which exercises do you suggest?",
        "1) Plank: abs 2) Bridge: glutes 3) Cat: back",
        "How do I do that exercise?",
    ),
}


def asked(language: str = "it", **settings: Any) -> tuple[ricordo.Memory, ricordo.Session, FakeClock]:
    """A session in which it was asked which one is meant."""
    clock = FakeClock()
    kept = memory(clock=clock, locale=language, **settings)
    session = kept.session("s", user_id="anna")
    query, response, question = TALK[language]
    session.add_turn(query, response)
    pending = session.context(question).clarification
    assert pending is not None
    session.add_turn(question, pending.prompt)
    return kept, session, clock


@LANGUAGES
def test_an_ambiguous_question_is_asked_back(language: str) -> None:
    """The context carries a question to ask, in the language of the talk, that names what may be meant."""
    clock = FakeClock()
    session = memory(clock=clock, locale=language).session("s", user_id="anna")
    query, response, question = TALK[language]
    session.add_turn(query, response)
    context = session.context(question)
    assert context.clarification is not None
    names = ["Plank", "Ponte" if language == "it" else "Bridge", "Gatto" if language == "it" else "Cat"]
    assert [option.name for option in context.clarification.options] == names
    assert all(name in context.clarification.prompt for name in names)
    assert (context.question, context.references) == (question, ())
    assert context.clarification.expires_at == clock.now() + timedelta(minutes=5)


@pytest.mark.parametrize(
    ("language", "said", "meant"),
    [
        ("it", "2", "Ponte: glutei"),
        ("it", "il secondo", "Ponte: glutei"),
        ("it", "l'ultimo", "Gatto: schiena"),
        ("it", "Ponte", "Ponte: glutei"),
        ("it", "il ponte, grazie", "Ponte: glutei"),
        ("it", "Plankk", "Plank: addominali"),
        ("en", "2", "Bridge: glutes"),
        ("en", "the second one", "Bridge: glutes"),
        ("en", "the last", "Cat: back"),
        ("en", "bridge", "Bridge: glutes"),
        ("en", "brigde", "Bridge: glutes"),
    ],
)
def test_what_answers_it(language: str, said: str, meant: str) -> None:
    """A number, an ordinal, a name or nearly a name completes the question that was asked, and then it is settled."""
    kept, session, clock = asked(language)
    clock.advance(minutes=4, seconds=59)
    context = session.context(said)
    assert context.clarification is None
    assert [reference.text for reference in context.references] == [meant]
    assert context.question.startswith(TALK[language][2].rstrip("?"))
    assert meant.partition(":")[0] in context.question
    assert meant in context.prompt
    assert session.context(said) == context
    turn = session.add_turn(said, "Così.")
    assert session.rebuild(turn.turn_number).prompt == context.prompt
    assert clarifications_of(kept._engine).get(KEY, clock.now()) is None


@pytest.mark.parametrize("way", ["add_turn", "ask", "add_message"])
def test_it_is_answered_whichever_way_turns_are_kept(way: str) -> None:
    """A program that keeps the question before it builds the context is understood all the same."""
    kept, session, clock = asked()
    if way == "ask":
        turn = session.ask("2")
    elif way == "add_message":
        session.add_message("user", "2")
    context = session.context("2")
    assert [reference.text for reference in context.references] == ["Ponte: glutei"]
    if way == "ask":
        turn.answer("Così.")
    elif way == "add_message":
        session.add_message("assistant", "Così.")
    else:
        session.add_turn("2", "Così.")
    assert clarifications_of(kept._engine).get(KEY, clock.now()) is None
    assert session.context("2").clarification is None


def test_an_unrelated_message_cancels_it() -> None:
    """Another question is answered as the question it is; afterwards a bare number means nothing any more."""
    kept, session, clock = asked()
    context = session.context("Qual è la capitale della Francia?")
    assert (context.question, context.clarification) == ("Qual è la capitale della Francia?", None)
    session.add_turn("Qual è la capitale della Francia?", "Parigi.")
    assert clarifications_of(kept._engine).get(KEY, clock.now()) is None
    assert "quell'esercizio" not in session.context("2").question


def test_five_minutes_of_silence_forget_it() -> None:
    """After the patience of the settings the answer comes too late."""
    for settings, wait in (({}, timedelta(minutes=5)), ({"clarification_timeout": "90s"}, timedelta(seconds=90))):
        _, session, clock = asked(**settings)
        clock.advance(wait)
        assert "quell'esercizio" not in session.context("Ponte").question
        _, session, clock = asked(**settings)
        clock.advance(wait - timedelta(microseconds=1))
        assert "quell'esercizio" in session.context("Ponte").question


def test_an_unclear_answer_is_asked_again_and_the_time_starts_anew() -> None:
    """A name that two options share keeps the question pending, also after the turn that asked again."""
    clock = FakeClock()
    kept = memory(clock=clock, locale="it")
    session = kept.session("s", user_id="anna")
    session.add_turn("Che esercizi mi consigli?", "1) Panca piana 2) Panca inclinata 3) Squat")
    first = session.context("Come si fa quell'esercizio?").clarification
    assert first is not None
    session.add_turn("Come si fa quell'esercizio?", first.prompt)
    clock.advance(minutes=4)
    again = session.context("panca").clarification
    assert again is not None
    assert again.prompt == first.prompt
    assert again.expires_at == clock.now() + timedelta(minutes=5)
    session.add_turn("panca", again.prompt)
    clock.advance(minutes=4)
    context = session.context("la seconda")
    assert "Panca inclinata" in context.question
    session.add_turn("la seconda", "Così.")
    assert clarifications_of(kept._engine).get(KEY, clock.now()) is None


def test_clarifications_are_of_one_session_of_one_user() -> None:
    """What is pending in one session answers nothing in another, nor for another user or tenant."""
    store = MemoryStore()
    kept, session, _ = asked()
    for other in (
        kept.session("t", user_id="anna"),
        kept.session("s", user_id="bruno"),
        memory(store, tenant_id="other").session("s", user_id="anna"),
    ):
        other.add_turn("Ciao", "Ciao a te")
        assert "quell'esercizio" not in other.context("2").question
    assert "quell'esercizio" in session.context("2").question


def test_erasing_a_user_forgets_what_was_pending() -> None:
    """Nothing of an erased user answers a later message."""
    kept, session, _ = asked()
    kept.erase("anna")
    session.add_turn("Ciao", "Ciao")
    assert session.context("2").references == ()


def test_nothing_pending_is_ever_written_to_the_store(tmp_path: Path) -> None:
    """A question that was asked back and never kept as a turn leaves no byte in any file of the store."""
    path = tmp_path / "store" / "r.db"
    path.parent.mkdir()
    for way in ("process", "shared"):
        with on_file(path, locale="it", clarifications=way) as kept:
            session = kept.session(way, user_id="anna")
            session.add_turn("Meglio la Sony o la Canon?", "Dipende.")
            assert session.context("Dove la compro, xilofono?").clarification is not None
            kept.settle(30)
            kept.backup(tmp_path / "store" / f"backup-{way}.db")
            assert _nowhere("xilofono", path.parent)
            kept.erase("anna")
    assert _nowhere("xilofono", path.parent)
    assert not _nowhere("SQLite", path.parent)


def _nowhere(word: str, folder: Path) -> bool:
    return not any(word.encode() in file.read_bytes() for file in folder.iterdir())


# Short- and long-term memory do not affect each other

DEEDS = st.lists(
    st.sampled_from(["search", "topics", "settle", "cleanup", "update", "other turn", "other clear", "verify", "end"]),
    max_size=8,
)


@given(DEEDS, st.integers(0, 299))
def test_long_term_memory_leaves_what_is_pending_alone(deeds: list[str], seconds: int) -> None:
    """Whatever is searched, organised, cleaned up, changed or said elsewhere, the pending question stays as it was."""
    kept, session, clock = asked()
    before = clarifications_of(kept._engine).get(KEY, clock.now())
    clock.advance(seconds=seconds)
    for deed in deeds:
        _do(deed, kept, session)
        assert clarifications_of(kept._engine).get(KEY, clock.now()) == before
    assert [reference.text for reference in session.context("il secondo").references] == ["Ponte: glutei"]
    kept.close()


def _do(deed: str, kept: ricordo.Memory, session: ricordo.Session) -> None:
    other = kept.session("other", user_id="anna")
    match deed:
        case "search":
            kept.search("esercizio", user_id="anna")
        case "topics":
            session.topics()
        case "settle":
            kept.settle(30)
        case "cleanup":
            kept.cleanup(retention=ricordo.Retention(turn_ttl=timedelta(days=1)))
        case "update":
            session.update(title="Esercizi")
        case "other turn":
            other.add_turn("2", "due")
        case "other clear" if other.history():
            other.clear()
        case "verify":
            assert kept.verify().ok
        case "end":
            session.end()


SAID = st.lists(
    st.sampled_from(
        [
            "Che esercizi mi consigli?",
            "Come si fa quell'esercizio?",
            "2",
            "Ponte",
            "il secondo",
            "Ciao a tutti",
            "panca",
        ]
    ),
    min_size=1,
    max_size=8,
)


@given(SAID, st.lists(st.integers(0, 400), min_size=8, max_size=8))
def test_what_is_pending_leaves_long_term_memory_alone(said: list[str], waits: list[int]) -> None:
    """The same turns are kept and found whether follow-ups and clarifications are at work between them or not."""
    kept = []
    for follow_ups in ("on", "off"):
        clock = FakeClock()
        one = memory(clock=clock, follow_ups=follow_ups, locale="it")
        session = one.session("s", user_id="anna")
        for number, (query, wait) in enumerate(zip(said, waits, strict=False)):
            clock.advance(seconds=wait)
            if follow_ups == "on":
                session.context(query)
            answer = TALK["it"][1] if query.startswith("Che") else f"Risposta {number}."
            session.add_turn(query, answer, turn_id=f"t{number}", created_at=clock.now())
        titles = [topic.title for topic in session.topics()]
        found = {hit.message_id for hit in one.search("esercizio ponte", user_id="anna", limit=100)}
        history = [(turn.turn_number, turn.query, turn.response, turn.checksum) for turn in session.history()]
        kept.append((history, titles, found, one.verify().ok))
        one.close()
    assert kept[0] == kept[1]


# Several processes


def _other_process(path: str, results: Any) -> None:
    with on_file(Path(path), locale="it", clarifications="shared") as kept:
        context = kept.session("s", user_id="anna").context("il secondo")
        results.put([reference.text for reference in context.references])


def test_another_process_understands_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With shared clarifications one process asks, another understands, a third one settles it for all."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    path = tmp_path / "r.db"
    with (
        on_file(path, locale="it", clarifications="shared") as asking,
        on_file(tmp_path / "." / "r.db", locale="it", clarifications="shared") as writing,
    ):
        session = asking.session("s", user_id="anna")
        session.add_turn(*TALK["it"][:2])
        assert session.context(TALK["it"][2]).clarification is not None
        session.add_turn(TALK["it"][2], "Quale?")
        spawn = multiprocessing.get_context("spawn")
        results = spawn.Queue()
        process = spawn.Process(target=_other_process, args=(str(path), results))
        process.start()
        assert results.get(timeout=60) == ["Ponte: glutei"]
        process.join(30)
        writing.session("s", user_id="anna").add_turn("il secondo", "Così.")
        assert "quell'esercizio" not in session.context("Gatto").question
        session.context(TALK["it"][2])
        assert writing.erase("anna").removed["turns"] == 3
        assert not list(tmp_path.glob("ricordo/*/*/*/*.json"))


def test_what_lies_in_memory_is_shared_with_nobody() -> None:
    """Two memories of their own never meet in shared clarifications, though both stores have the same name."""
    _, session, _ = asked(clarifications="shared")
    other = memory(locale="it", clarifications="shared").session("s", user_id="anna")
    other.add_turn("Ciao", "Ciao")
    assert other.context("2").references == ()
    assert session.context("2").references != ()


@pytest.mark.parametrize("way", ["process", "shared"])
@pytest.mark.parametrize("removal", ["clear", "delete", "elsewhere", "expiry"])
def test_removed_words_do_not_come_back_through_a_clarification(way: str, removal: str, tmp_path: Path) -> None:
    """Once a session's words are removed, by whomever, the answer to what was asked about them means nothing."""
    clock = FakeClock()
    query, response, question = TALK["it"]
    path = tmp_path / "r.db"
    with on_file(path, clock=clock, locale="it", clarifications=way, turn_ttl="1m") as kept:
        session = kept.session("s", user_id="anna")
        session.add_turn(query, response)
        assert session.context(question).clarification is not None
        if removal == "clear":
            session.clear()
        elif removal == "delete":
            kept.delete_session("s", user_id="anna")
        elif removal == "expiry":
            clock.advance(minutes=2)
            kept.cleanup()
        else:
            with on_file(path, clock=clock) as other:
                other.session("s", user_id="anna").clear()
        context = session.context("2")
        assert (context.references, context.question, context.clarification) == ((), "2", None)
        assert "Ponte" not in context.prompt
        key = ClarificationKey("default", "anna", "s")
        assert clarifications_of(kept._engine).get(key, clock.now()) is None
