"""The façade: sessions with ids of their own, that continue, start anew, and never mix."""

from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo.errors import NotFoundError, SettingsError, ValidationError
from ricordo.records.turns import Owner
from ricordo.testing import FakeClock, MemoryStore
from ricordo.testing.strategies import ids, metadata, refused_texts, texts


def memory(store: MemoryStore | None = None, **settings: Any) -> ricordo.Memory:
    """A memory with a clock that stands still."""
    return ricordo.Memory(store or MemoryStore(), ricordo.Settings(**settings), clock=FakeClock())


@given(st.integers(1, 30), ids())
def test_generated_session_ids_are_unique_uuids(count: int, user_id: str) -> None:
    """Every session without an id gets a UUID of its own, and its turns carry it."""
    kept = memory()
    sessions = [kept.session(user_id=user_id) for _ in range(count)]
    assert len({session.id for session in sessions}) == count
    for session in sessions:
        assert str(UUID(session.id)) == session.id
        assert session.add_turn("Domanda?", "Risposta.").session_id == session.id


WHO = st.tuples(st.sampled_from(["acme", "zeta"]), st.sampled_from(["anna", "bruno"]), st.sampled_from(["s1", "s2"]))
DOINGS = st.lists(st.tuples(WHO, st.sampled_from(["turn", "ask", "message", "clear", "delete"]), texts()), max_size=25)


@given(DOINGS)
def test_sessions_users_and_tenants_never_mix(doings: list[tuple[tuple[str, str, str], str, str]]) -> None:
    """Whatever is done to the others, each session holds exactly what was said in it, in order, numbered from 1."""
    store = MemoryStore()
    tenants = {tenant: memory(store, tenant_id=tenant) for tenant in ("acme", "zeta")}
    expected: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for who, doing, text in doings:
        tenant, user_id, session_id = who
        session = tenants[tenant].session(session_id, user_id=user_id)
        if doing in ("clear", "delete"):
            if who in expected:
                if doing == "clear":
                    session.clear()
                    expected[who] = []
                else:
                    tenants[tenant].delete_session(session_id, user_id=user_id)
                    del expected[who]
            continue
        expected[who].append(text)
        if doing == "turn":
            session.add_turn(text, "Risposta.")
        elif doing == "ask":
            session.ask(text)
        else:
            session.add_message("user", text)
    for tenant in tenants:
        for user_id in ("anna", "bruno"):
            listed = {info.id for info in tenants[tenant].sessions(user_id=user_id)}
            assert listed == {who[2] for who in expected if who[:2] == (tenant, user_id)}
            for session_id in ("s1", "s2"):
                history = tenants[tenant].session(session_id, user_id=user_id).history()
                assert [turn.query for turn in history] == expected.get((tenant, user_id, session_id), [])
                assert [turn.turn_number for turn in history] == list(range(1, len(history) + 1))
        assert tenants[tenant].verify().ok


@given(st.lists(texts(), min_size=1, max_size=5), ids())
def test_a_known_session_id_continues_its_history(said: list[str], session_id: str) -> None:
    """Resumed by id, with a new handle each time, a session goes on where it was."""
    kept = memory()
    kept.session(session_id, user_id="anna").add_turn("Inizio", "Sì.")
    for number, text in enumerate(said, start=2):
        session = kept.resume(session_id, user_id="anna")
        assert session.id == session_id
        assert session.add_turn(text, "Risposta.").turn_number == number
    assert [turn.query for turn in kept.session(session_id, user_id="anna").history()] == ["Inizio", *said]


ODD = st.one_of(ids(), refused_texts(), st.text("x", min_size=256, max_size=300), st.none(), st.integers(), st.binary())


@given(ODD)
def test_an_unknown_or_invalid_session_id_starts_anew_without_error(session_id: Any) -> None:
    """On the chat path a new UUID comes back, nothing is written for it, and it is usable at once."""
    kept = memory()
    kept.session("s", user_id="bruno").add_turn("Di Bruno", "Sì.")
    session = kept.resume(session_id, user_id="anna")
    assert session.id != session_id
    assert str(UUID(session.id)) == session.id
    assert kept.sessions(user_id="anna") == []
    assert session.window().turns == ()
    assert session.add_turn("Domanda?", "Risposta.").turn_number == 1


class Named(str, Enum):  # noqa: UP042 - the kind that writes itself as something else
    """Ids as programs keep them: equal to their text, written as something else."""

    ANNA = "anna"
    LESSON = "lesson"
    SCHOOL = "school"


@pytest.mark.parametrize("enum_first", [True, False])
def test_an_id_of_an_enumeration_is_the_id_it_is_equal_to(enum_first: bool) -> None:
    """Tenant, user and session are found by their plain text whoever came first, so also after a restart."""
    store = MemoryStore()
    kinds = [(Named.SCHOOL, Named.ANNA, Named.LESSON), ("school", "anna", "lesson")]
    for tenant_id, user_id, session_id in kinds if enum_first else kinds[::-1]:
        kept = ricordo.Memory(store, ricordo.Settings(tenant_id=tenant_id))
        kept.session(session_id, user_id=user_id).add_turn("q", "r", turn_id=Named.LESSON)
        assert kept.resume(session_id, user_id=user_id).id == "lesson"
        (turn,) = kept.session("lesson", user_id="anna").history()
        assert (f"{turn.id}", [message.id for message in turn.messages]) == (
            "lesson",
            ["lesson:query", "lesson:response"],
        )
    assert Owner(Named.SCHOOL, "bruno").key == Owner("school", "bruno").key


def test_another_users_session_id_starts_anew() -> None:
    """An id that belongs to somebody else is unknown here."""
    kept = memory()
    kept.session("s", user_id="bruno").add_turn("Di Bruno", "Sì.")
    assert kept.resume("s", user_id="anna").id != "s"
    assert kept.session("s", user_id="anna").history() == []


@pytest.mark.parametrize("call", ["info", "end", "clear", "export", "update", "delete"])
def test_management_of_an_unknown_session_is_not_found(call: str) -> None:
    """Reading a window of nothing is fine; managing nothing is an error that names session and user."""
    kept = memory()
    session = kept.session("nowhere", user_id="anna")
    with pytest.raises(NotFoundError, match=r"'nowhere'.*'anna'"):
        kept.delete_session("nowhere", user_id="anna") if call == "delete" else getattr(session, call)()
    assert session.history() == []
    assert session.window().turns == ()


@given(st.lists(st.tuples(texts(), st.integers(-10_000, 10_000)), min_size=1, max_size=8))
def test_history_is_in_order_whatever_the_dates(said: list[tuple[str, int]]) -> None:
    """Turn order is the order of writing; given dates are kept and do not reorder."""
    session = memory().session(user_id="anna")
    start = FakeClock().now()
    for text, hours in said:
        session.add_turn(text, "Risposta.", created_at=start + timedelta(hours=hours))
    history = session.history()
    assert [(turn.query, turn.created_at) for turn in history] == [
        (text, start + timedelta(hours=hours)) for text, hours in said
    ]
    assert [turn.turn_number for turn in history] == list(range(1, len(said) + 1))


@given(st.integers(0, 12), st.integers(0, 14), st.none() | st.integers(0, 14))
def test_history_takes_the_newest_before_a_number(count: int, limit: int, before: int | None) -> None:
    """A limit keeps the newest turns of those below the number, still in order."""
    session = memory().session(user_id="anna")
    for number in range(1, count + 1):
        session.add_turn(f"Domanda {number}", "Risposta.")
    numbers = [n for n in range(1, count + 1) if before is None or n < before]
    assert [turn.turn_number for turn in session.history(limit, before=before)] == numbers[
        max(0, len(numbers) - limit) :
    ]


def test_sessions_are_listed_by_activity_in_pages() -> None:
    """Most recently active first; the last of a page leads to the next; ten at a time unless told otherwise."""
    clock = FakeClock()
    kept = ricordo.Memory(MemoryStore(), clock=clock)
    for number in range(12):
        clock.advance(minutes=1)
        kept.session(f"s{number}", user_id="anna", agent_id=f"a{number % 2}").add_turn("q", "r")
    first = kept.sessions(user_id="anna")
    assert [info.id for info in first] == [f"s{n}" for n in range(11, 1, -1)]
    assert [info.id for info in kept.sessions(user_id="anna", before=first[-1])] == ["s1", "s0"]
    assert [info.id for info in kept.sessions(user_id="anna", limit=2, agent_id="a0")] == ["s10", "s8"]


@given(texts(), st.lists(ids(), max_size=3), metadata())
def test_a_session_takes_title_tags_documents_and_metadata(
    title: str, tags: list[str], given_metadata: dict[str, Any]
) -> None:
    """What is set is set, what is left out stays, and the history is untouched."""
    kept = memory()
    session = kept.session(user_id="anna")
    session.add_turn("q", "r")
    assert kept.settle(20)  # nobody but the test changes anything
    history = session.history()
    session.update(title=title)
    info = session.update(tags=tags, document_ids=tags, metadata=given_metadata)
    assert (info.title, info.tags, info.document_ids, info.metadata) == (
        title,
        tuple(tags),
        tuple(tags),
        given_metadata,
    )
    assert session.info() == info
    assert session.history() == history


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("title", {"title": ""}),
        ("title", {"title": 5}),
        ("tags", {"tags": "abc"}),
        ("tags[0]", {"tags": [""]}),
        ("document_ids", {"document_ids": 5}),
        ("metadata", {"metadata": [1]}),
    ],
)
def test_hostile_session_fields_are_refused_by_name(field: str, values: dict[str, Any]) -> None:
    """An update is refused as a whole and leaves the session as it was."""
    session = memory().session(user_id="anna")
    session.add_turn("q", "r")
    before = session.info()
    with pytest.raises(ValidationError) as caught:
        session.update(**values)
    assert caught.value.field == field
    assert session.info() == before


def test_ending_closes_and_speaking_opens_again() -> None:
    """The end is noted once; saying something afterwards opens the session again."""
    clock = FakeClock()
    session = ricordo.Memory(MemoryStore(), clock=clock).session(user_id="anna")
    session.add_turn("q", "r")
    ended = session.end()
    assert ended.ended_at == clock.now()
    clock.advance(hours=1)
    assert session.end() == ended
    session.add_turn("Ancora", "r")
    assert session.info().ended_at is None


def test_clearing_keeps_the_session_and_starts_the_numbers_again() -> None:
    """The history and its receipts go, the title stays, the next turn is number 1."""
    session = memory().session(user_id="anna")
    session.context("q")
    session.add_turn("q", "r")
    session.update(title="Cuore")
    session.context("in attesa")
    assert session.clear() == 1
    assert (session.history(), session.receipts(), session.info().title) == ([], [], "Cuore")
    assert session.add_turn("in attesa", "r").turn_number == 1
    assert session.receipts() == []


def test_deleting_a_session_removes_it_whole() -> None:
    """The call says how many turns went; afterwards the id is unknown."""
    kept = memory()
    for text in ("uno", "due"):
        kept.session("s", user_id="anna").add_turn(text, "r")
    assert kept.delete_session("s", user_id="anna") == 2
    assert kept.sessions(user_id="anna") == []
    with pytest.raises(NotFoundError):
        kept.delete_session("s", user_id="anna")


def test_stats_say_how_much_is_kept_and_with_which_parts() -> None:
    """Counts are of this tenant alone; store, preset and counter are named."""
    store = MemoryStore()
    kept, other = memory(store, tenant_id="acme"), memory(store, tenant_id="zeta")
    session = kept.session(user_id="anna")
    session.context("q")
    session.add_turn("q", "r")
    session.ask("aperta")
    other.session(user_id="anna").add_turn("q", "r")
    stats = kept.stats()
    assert (stats.store, stats.tenant_id, stats.preset, stats.counter, stats.counter_exact) == (
        "memory:", "acme", "balanced", "o200k", True,
    )  # fmt: skip
    holds = stats.holds
    assert (holds.users, holds.sessions, holds.turns, holds.open_turns, holds.receipts) == (1, 1, 2, 1, 1)


def test_an_unknown_form_of_export_is_refused() -> None:
    """Only JSON and Markdown are offered."""
    session = memory().session(user_id="anna")
    session.add_turn("q", "r")
    with pytest.raises(ValidationError, match=r"form: expected 'json' or 'markdown'"):
        session.export("pdf")  # type: ignore[call-overload]


# Opening


def test_open_takes_settings_and_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keywords are settings; RICORDO_URL says where when nothing else does."""
    monkeypatch.setenv("RICORDO_URL", "memory:")
    monkeypatch.setenv("RICORDO_MAX_TURNS", "5")
    with ricordo.open(preset="tutor", max_tokens="500") as kept:
        assert (kept.settings.preset, kept.settings.window.max_turns, kept.settings.window.max_tokens) == (
            "tutor",
            5,
            500,
        )
        assert kept.store.location == "memory:"


def test_open_falls_back_to_a_file_in_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without argument and with an empty RICORDO_URL the memory is ricordo.db, and it is still there next time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RICORDO_URL", "")
    with ricordo.open() as kept:
        kept.session("s", user_id="anna").add_turn("Domanda?", "Risposta.")
    with ricordo.open(tmp_path / "ricordo.db") as kept:
        assert kept.session("s", user_id="anna").history()[0].query == "Domanda?"


def test_a_setting_that_is_wrong_opens_nothing(tmp_path: Path) -> None:
    """Settings are checked before a store is touched."""
    with pytest.raises(SettingsError):
        ricordo.open(tmp_path / "a.db", max_turns="many")
    with pytest.raises(ValidationError, match="tenant_id"):
        ricordo.open(tmp_path / "a.db", tenant_id=" ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", [5, b"a.db", "", "  ", "sqlite://a.db", "sqlite:///"])
def test_a_place_that_is_none_is_refused(place: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is neither a path nor a URL is refused with what would work, and no file is made of it."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=r"'url'.*file path"):
        ricordo.open(place)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "wanted",
    [
        lambda kept: kept.delete_session("nope", user_id="anna"),
        lambda kept: kept.session("nope", user_id="anna").clear(),
        lambda kept: kept.session("nope", user_id="anna").export(),
        lambda kept: kept.session("nope", user_id="anna").end(),
        lambda kept: kept.session("nope", user_id="anna").info(),
    ],
)
def test_a_session_that_is_not_there_is_named_with_the_remedy(wanted: Callable[[ricordo.Memory], object]) -> None:
    """Management calls say which session of whom is unknown, and how to find those that are."""
    with ricordo.open("memory:") as kept, pytest.raises(NotFoundError, match=r"'nope'.*'anna'; list the sessions"):
        wanted(kept)


@pytest.mark.parametrize("path", [None, 5, "", b"a.db"])
def test_a_backup_needs_a_path(path: Any) -> None:
    """A path that is none is refused by name."""
    with ricordo.open("memory:") as kept, pytest.raises(ValidationError, match="path"):
        kept.backup(path)


def test_an_unknown_scheme_is_refused() -> None:
    """A URL of another kind is refused with what would work."""
    with pytest.raises(SettingsError, match=r"'mysql'.*file path or a postgresql:// URL"):
        ricordo.open("mysql://host/db")
