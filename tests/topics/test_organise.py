"""Topics through the whole memory: turns find their topic, topics fade and leave, come back, and nothing is lost."""

import threading
from collections import Counter
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo.recall.quantization import dimensions_of
from ricordo.records.derived import Topic, TopicChange, TopicStats
from ricordo.records.turns import Owner
from ricordo.stores.archive.block import pack
from ricordo.stores.archive.export import import_messages
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing import FakeClock, MemoryStore
from ricordo.testing.fakes import StoreProxy
from ricordo.topics.session_topic import title_of
from talks import CountingEmbedder, ThemedEmbedder, fill, on_file
from talks import memory as any_memory

ON_BOTH = pytest.mark.parametrize("kind", ["memory", "sqlite"])
ANNA = Owner("default", "anna")
MANY = 13  # turns: enough for a topic to be compacted

CATS = ("gatto pelo fusa", "gatto pelo coccole")
CARS = ("motore pistone olio", "motore benzina olio")
SEA = ("vela vento onda", "vela timone onda")


def memory(store: Any = None, **settings: Any) -> ricordo.Memory:
    """A memory whose embedder tells themes apart."""
    return any_memory(store, **{"embedder": ThemedEmbedder(), "locale": "it", **settings})


def opened(kind: str, folder: Path, **settings: Any) -> ricordo.Memory:
    """A memory on either store."""
    return memory(MemoryStore() if kind == "memory" else SqliteStore(folder / "r.db"), **settings)


def say(session: ricordo.Session, about: tuple[str, str], *numbers: int) -> None:
    """Turns about one thing."""
    for number in numbers or (0,):
        session.add_turn(f"{about[0]} {number}", f"{about[1]} {number}")


def topics_of(session: ricordo.Session) -> dict[str, list[int]]:
    """Each topic's title with the numbers of its turns."""
    found: dict[str, list[int]] = {}
    for topic in session.topics():
        numbers = [turn.turn_number for turn in session.topic(topic.id).history()]
        found.setdefault(topic.title, []).extend(numbers)
    return found


# Finding the topic


@ON_BOTH
def test_turns_open_join_stay_and_return(kind: str, tmp_path: Path) -> None:
    """A new thing opens a topic, near words stay, a follow-up stays whatever its words, and old words come back."""
    with opened(kind, tmp_path, locale="it") as kept:
        session = kept.session("s", user_id="anna")
        say(session, CATS, 1, 2)
        session.add_turn("continua", "tutt'altre parole per questa volta")
        say(session, CARS, 1, 2)
        say(session, CATS, 3)
        assert topics_of(session) == {"gatto pelo fusa 1": [1, 2, 3, 6], "motore pistone olio 1": [4, 5]}
        assert [turn.topic_id for turn in session.history()].count(None) == 0


def test_a_title_names_the_subject_of_what_opened_it() -> None:
    """At most five words on one line, without greeting, request and what cannot be seen."""
    session = memory().session("s", user_id="anna")
    session.add_turn("gatto\n\tche dorme \u202e" + "molto " * 40, "bene")
    (topic,) = session.topics()
    assert topic.title == "gatto"
    assert title_of("Ciao! Come si fa la focaccia genovese?") == "focaccia genovese"
    assert title_of("Hi, how do I bake sourdough bread?") == "sourdough bread"


@ON_BOTH
def test_the_active_topic_is_that_of_the_last_turn(kind: str, tmp_path: Path) -> None:
    """Without an id `topic()` is the active one, after compaction and after a return too; without topics it says so."""
    with opened(kind, tmp_path) as kept:
        session = kept.session("s", user_id="anna")
        with pytest.raises(ricordo.NotFoundError, match="has no topic yet"):
            session.topic()
        say(session, CATS, *range(MANY))
        assert session.topic().read().title == "gatto pelo fusa 0"
        say(session, CARS, 1)
        assert session.topic().read().title == "motore pistone olio 1"
        say(session, CATS, 99)
        assert session.topic().read().title == "gatto pelo fusa 0"


def test_each_use_counts(tmp_path: Path) -> None:
    """Uses, messages, half-life and kind of memory follow the turns, and the figures have the promised names."""
    clock = FakeClock()
    kept = memory(clock=clock)
    session = kept.session("s", user_id="anna")
    kinds = {1: "short-term", 4: "short-term", 5: "transitioning", 9: "transitioning", 10: "long-term", 25: "long-term"}
    days = {1: 1.0, 4: 1.0, 5: 2.0, 9: 2.0, 10: 4.0, 15: 8.0, 20: 16.0, 25: 30.0}
    began = clock.now()
    for number in range(1, 26):
        say(session, CATS, number)
        (topic,) = session.topics()
        stats = session.topic(topic.id).stats()
        assert (stats.access_count, stats.total_messages) == (number, 2 * number)
        assert stats.memory_type == kinds.get(number, stats.memory_type)
        assert stats.half_life_days == days.get(number, stats.half_life_days)
        clock.advance(minutes=1)
    clock.advance(hours=1)
    stats = session.topic(topic.id).stats()
    assert stats.age_seconds == (clock.now() - began).total_seconds()
    assert stats.inactive_seconds == 3_660
    assert stats.active_messages + stats.compressed_messages == stats.total_messages
    assert stats.has_summary is (stats.compressed_messages > 0) is True
    assert [field.name for field in fields(TopicStats)] == [
        "topic_id", "topic_title", "active_messages", "compressed_messages", "total_messages", "has_summary",
        "importance_score", "access_count", "memory_type", "half_life_days", "age_seconds", "inactive_seconds",
    ]  # fmt: skip


def test_a_question_waits_for_its_answer() -> None:
    """An open question finds its topic with its answer, or alone when a turn follows it or an hour has passed."""
    clock = FakeClock()
    kept = memory(clock=clock)
    session = kept.session("s", user_id="anna")
    asked = session.ask(CATS[0])
    assert session.topics() == []
    asked.answer(CATS[1])
    (topic,) = session.topics()
    assert topic.message_count == 2
    session.ask("gatto pelo aperta")
    clock.advance(minutes=61)
    assert session.topics()[0].message_count == 3
    late = session.ask("gatto pelo ancora")
    say(session, CATS, 9)
    assert session.topics()[0].message_count == 6
    late.answer("gatto pelo tardi")
    assert kept.settle(30)
    assert session.topics()[0].message_count == 7
    assert kept.verify().damages == ()


# Fading


def test_eighty_days_at_twenty_uses() -> None:
    """A topic used twenty times is worth half after 16 days and leaves after 80, if there are too many."""
    for days, leaves in ((60, False), (80, True)):
        clock = FakeClock()
        kept = memory(clock=clock, max_topics=1, locale="it")
        session = kept.session("s", user_id="anna")
        say(session, CATS, *range(20))
        (topic,) = session.topics()
        handle = session.topic(topic.id)
        assert handle.priority() == 1.0
        clock.advance(days=16)
        assert handle.priority() == pytest.approx(0.5)
        clock.advance(days=days - 16)
        assert handle.priority() == pytest.approx(0.5 ** (days / 16))
        say(session, CARS, *range(MANY))
        states = {topic.title: topic.state for topic in session.topics()}
        assert states == {"gatto pelo fusa 0": "archived" if leaves else "working", "motore pistone olio 0": "working"}
        kept.close()


def many_topics(count: int = 6, **settings: Any) -> tuple[ricordo.Memory, ricordo.Session, FakeClock]:
    """A session with so many topics of three turns each."""
    clock = FakeClock()
    kept = memory(clock=clock, **settings)
    session = kept.session("s", user_id="anna")
    for number in range(count):
        say(session, (f"cosa{number} parola{number} tema{number}", f"cosa{number} detta{number} tema{number}"), 1, 2, 3)
        clock.advance(minutes=5)
    assert len(session.topics()) == count
    return kept, session, clock


def test_while_there_is_room_nobody_leaves() -> None:
    """However faded, topics stay while there are at most as many as allowed."""
    kept, session, clock = many_topics(max_topics=7)
    clock.advance(days=400)
    say(session, CATS, 1)
    assert {topic.state for topic in session.topics()} == {"working"}
    assert len(session.topics()) == 7
    kept.close()


@pytest.mark.parametrize("forget", ["archive", "delete"])
def test_over_the_limit_the_faded_leave(forget: str) -> None:
    """Faded topics go to the archive, found and restored as ever, or are deleted for good; the active one stays."""
    kept, session, clock = many_topics(max_topics=3, forget=forget)
    kept.rest()  # all that follows is organised at once, when it is looked at
    words = {turn.turn_number: turn.query for turn in session.history()}
    clock.advance(days=30)
    say(session, CATS, *range(MANY + 1))
    after = session.topics()
    assert after[-1].title == "gatto pelo fusa 0"
    assert after[-1].state == "working"
    assert kept.verify().damages == ()
    if forget == "delete":
        assert len(after) == 1
        assert [turn.query for turn in session.history()] == [f"gatto pelo fusa {n}" for n in range(MANY + 1)]
        assert not [hit for hit in kept.search("cosa1 tema1", user_id="anna", limit=100) if "cosa1" in hit.text]
        return
    assert [topic.state for topic in after] == ["archived"] * 6 + ["working"]
    history = session.history()
    assert {turn.turn_number: turn.query for turn in history if turn.turn_number <= 18} == words
    assert {turn.archived for turn in history[:18]} == {True}
    assert [turn.archived for turn in history[18:]] == [True] * (MANY - 1) + [False, False]
    assert "cosa2 parola2 tema2 1" in [hit.text for hit in kept.search("parola2 tema2", user_id="anna")]
    say(session, ("cosa2 parola2 tema2", "cosa2 detta2 tema2"), 7)
    back = next(topic for topic in session.topics() if topic.title.startswith("cosa2"))
    assert (back.state, back.archived_count, back.message_count) == ("working", 0, 8)
    assert [turn.archived for turn in session.topic(back.id).history()] == [False] * 4
    kept.close()


def test_an_open_question_of_a_topic_that_left_follows_with_its_answer() -> None:
    """A topic that leaves is packed whole but for a question that waits; once answered, that is packed as well."""
    kept, session, clock = many_topics(max_topics=1)
    asked = session.ask("cosa5 parola5 tema5 aperta")
    clock.advance(days=30)
    say(session, CATS, 0)
    session.topics()
    assert [turn.archived for turn in session.history()] == [True] * 18 + [False, False]
    assert kept.verify().damages == ()
    asked.answer("cosa5 detta5 tema5")
    say(session, CATS, 1)
    session.topics()
    assert [turn.archived for turn in session.history()] == [True] * 19 + [False, False]
    assert kept.verify().damages == ()
    kept.close()


# Compaction


@ON_BOTH
def test_a_long_topic_is_compacted_and_nothing_changes(kind: str, tmp_path: Path) -> None:
    """Over twelve messages all but the last four are archived and summarised; history and window stay the same."""
    with opened(kind, tmp_path, max_turns=8, max_tokens=100_000) as kept:
        session = kept.session("s", user_id="anna")
        active = 0
        for number in range(30):
            say(session, CATS, number)
            before = [(turn.id, turn.query, turn.response, turn.checksum) for turn in session.history()]
            window = [(turn.id, turn.query, turn.response) for turn in session.window().turns]
            (topic,) = session.topics()
            history = session.history()
            assert [(turn.id, turn.query, turn.response, turn.checksum) for turn in history] == before
            assert [(turn.id, turn.query, turn.response) for turn in session.window().turns] == window
            active = active + 2 if active + 2 <= 12 else 4
            stats = session.topic(topic.id).stats()
            assert (stats.active_messages, stats.total_messages) == (active, 2 * number + 2)
            assert stats.has_summary is (stats.compressed_messages > 0)
            assert topic.hot == tuple(turn.turn_number for turn in history[-active // 2 :])
            assert [turn.turn_number for turn in history if not turn.archived] == list(topic.hot)
        assert kept.verify().damages == ()
        assert Counter(n for b in kept.store.topics.blocks(ANNA, "s") for n in b.turn_numbers).most_common(1)[0][1] == 1


def test_the_thirteenth_message_leaves_four_at_hand() -> None:
    """Six turns are left alone; the seventh, in one pass with them or in its own, leaves four messages active."""
    for at_once in (True, False):
        kept = memory()
        session = kept.session("s", user_id="anna")
        say(session, CATS, *range(6))
        if not at_once:
            assert session.topics()[0].archived_count == 0
        say(session, CATS, 6)
        (topic,) = session.topics()
        assert (topic.message_count, topic.archived_count, topic.hot) == (14, 10, (6, 7))
        assert "gatto pelo fusa 0" in (topic.summary or "")
        kept.close()


def packs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many messages each new block got, as they are packed."""
    sizes: list[int] = []

    def counting(messages: Any) -> bytes:
        sizes.append(len(messages))
        return pack(messages)

    monkeypatch.setattr("ricordo.topics.archive.pack", counting)
    return sizes


@ON_BOTH
def test_coming_back_restores_without_thrashing(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic that is talked about again is whole and plain; going to and fro packs no message a second time."""
    sizes = packs(monkeypatch)
    with opened(kind, tmp_path) as kept:
        session = kept.session("s", user_id="anna")
        say(session, CATS, *range(14))
        say(session, CARS, *range(MANY + 1))
        session.topics()
        cats = session.topics()[0]
        assert cats.archived_count > 0
        blocks = kept.store.topics.blocks(ANNA, "s", cats.id)
        for number in (100, 101):
            say(session, CATS, number, number, number)
            restored = session.topics()[0]
            assert (restored.archived_count, restored.state) == (0, "working")
            assert not any(turn.archived for turn in session.topic(cats.id).history())
            say(session, CARS, number, number, number)
            session.topics()
        assert kept.store.topics.blocks(ANNA, "s", cats.id) == blocks
        for number in range(102, 110):
            say(session, CATS, number, number, number)
            say(session, CARS, number, number, number)
            session.topics()
        assert sum(sizes) <= 2 * len(session.history())
        assert [turn.query for turn in session.topic(cats.id).history()] == [
            f"gatto pelo fusa {n}" for n in [*range(14), *(n for n in range(100, 110) for _ in range(3))]
        ]
        say(session, CATS, *range(200, 216))
        again = session.topics()[0]
        assert again.archived_count > 0
        packed = [n for block in kept.store.topics.blocks(ANNA, "s") for n in block.turn_numbers]
        assert len(packed) == len(set(packed))
        assert kept.verify().damages == ()


def test_a_crash_between_packing_and_counting_is_made_good(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the process ends after a block is kept and before the topic knows, the next pass counts right."""
    kept = memory()
    kept.rest()  # the crash is in the pass that the test asks for
    session = kept.session("s", user_id="anna")
    say(session, CATS, *range(MANY + 7))
    real = kept.store.topics.put
    failing = {"on": True}

    def put(owner: Owner, session_id: str, change: Any) -> bool:
        if failing["on"] and not change.assigned:
            raise ricordo.StoreUnavailable("crash")
        return real(owner, session_id, change)

    monkeypatch.setattr(kept.store.topics, "put", put)
    with pytest.raises(ricordo.StoreUnavailable):
        session.topics()
    failing["on"] = False
    assert [turn.archived for turn in session.history()].count(True) > 0
    say(session, CATS, *range(50, 65))
    session.topics()
    assert kept.verify().damages == ()
    kept.close()


# By hand


def test_tags_importance_and_feedback() -> None:
    """Tags, importance by hand and importance learned are kept; a topic of more importance is worth more."""
    kept, session, clock = many_topics(2)
    one, two = (session.topic(topic.id) for topic in session.topics())
    assert one.tag("casa", " casa ", "orto").tags == ("casa", "orto")
    assert one.weigh(0.5).importance == 0.5
    assert one.feedback(1).importance == pytest.approx(0.6)
    assert one.feedback(-1).importance == pytest.approx(0.48)
    assert one.priority() < two.priority()
    clock.advance(days=3)
    assert (one.read().tags, one.stats().importance_score) == (("casa", "orto"), pytest.approx(0.48))
    for call, field in (
        (lambda: one.weigh(1.5), "importance"),
        (lambda: one.weigh(True), "importance"),
        (lambda: one.feedback(float("nan")), "feedback"),
        (lambda: one.merge(one.id), "other_id"),
    ):
        with pytest.raises(ricordo.ValidationError) as refused:
            call()
        assert refused.value.field == field
    for call in (lambda: session.topic("none"), lambda: one.merge("none")):
        with pytest.raises(ricordo.NotFoundError, match=r"topic 'none' does not exist in session 's'.*list the topics"):
            call()
    kept.close()


@pytest.mark.parametrize("call", ["feedback", "merge"])
def test_a_change_waits_for_a_moment_while_others_write(call: str) -> None:
    """A topic that others change without pause for a moment is changed as soon as they let go, instead of refused."""

    class Busy(StoreProxy):
        until = 0.0

        def topics_put(self, owner: Owner, session_id: str, change: TopicChange) -> bool:
            return monotonic() >= self.until and self.inner.topics.put(owner, session_id, change)

    store = Busy()
    with memory(store) as kept:
        session = kept.session("s", user_id="anna")
        say(session, CATS, 1)
        say(session, CARS, 1)
        one, two = (session.topic(topic.id) for topic in session.topics())
        assert kept.settle(30)
        store.until = monotonic() + 0.05
        assert one.merge(two.id).message_count == 4 if call == "merge" else one.feedback(-1).importance < 1


@ON_BOTH
def test_merged_topics_have_everything_of_both(kind: str, tmp_path: Path) -> None:
    """Turns, uses, tags and archived turns of both; coming back restores what the other one had archived."""
    with opened(kind, tmp_path) as kept:
        session = kept.session("s", user_id="anna")
        say(session, CATS, *range(14))
        say(session, CARS, *range(14))
        say(session, SEA, *range(MANY))
        cats, cars, sea = (topic.id for topic in session.topics())
        session.topic(cars).tag("auto")
        before = session.topic(cats).read(), session.topic(cars).read()
        assert all(topic.archived_count for topic in before)
        joined = session.topic(cats).merge(cars)
        assert joined.message_count == sum(topic.message_count for topic in before) == 56
        assert joined.access_count == 28
        assert joined.tags == ("auto",)
        assert [topic.id for topic in session.topics()] == [cats, sea]
        assert len(session.topic(cats).history()) == 28
        assert kept.verify().damages == ()
        session.add_turn("torniamo al gatto", "gatto pelo fusa")
        assert session.topics()[0].archived_count == 0
        assert not any(turn.archived for turn in session.topic(cats).history())
        with pytest.raises(ricordo.NotFoundError):
            session.topic(cars)


def test_near_topics_are_named() -> None:
    """Two topics with the same words are proposed to each other, one without any to nobody."""
    kept = memory()
    session = kept.session("s", user_id="anna")
    say(session, CATS, 1, 2, 3)
    say(session, CARS, 1, 2, 3)
    cats, cars = session.topics()
    owner, shelf = ANNA, kept.store.topics.load(ANNA, "s")
    twin = replace(cats, id="twin", message_count=0, hot=(), access_count=0)
    assert kept.store.topics.put(owner, "s", TopicChange(shelf.revision, put=(twin,)))
    ((other, likeness),) = session.topic(cats.id).near()
    assert (other, likeness) == ("twin", pytest.approx(1.0, abs=1e-3))
    assert session.topic("twin").near()[0][0] == cats.id
    assert session.topic(cars.id).near() == []
    kept.close()


def test_a_topic_is_exported_whole() -> None:
    """Every message of the topic in order, archived ones included, as base64 of gzip of JSON."""
    kept = memory()
    session = kept.session("s", user_id="anna")
    say(session, CATS, *range(25))
    (topic,) = session.topics()
    assert topic.archived_count
    messages = import_messages(session.topic(topic.id).export())
    assert [message.content for message in messages] == [
        text for n in range(25) for text in (f"gatto pelo fusa {n}", f"gatto pelo coccole {n}")
    ]
    kept.close()


# Several organisers


def whole(session: ricordo.Session, topics: list[Topic]) -> None:
    """Every turn has one topic, and topics count what they have."""
    history = session.history()
    by_topic = Counter(turn.topic_id for turn in history)
    assert None not in by_topic
    assert by_topic == {topic.id: topic.access_count for topic in topics}
    assert {topic.id: topic.message_count for topic in topics} == {name: 2 * n for name, n in by_topic.items()}


@ON_BOTH
def test_organisers_at_once_lose_and_double_nothing(kind: str, tmp_path: Path) -> None:
    """Threads of two memories on one store write, organise, tag and merge at once: every turn is counted once."""
    store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "r.db")
    other_store = store if kind == "memory" else SqliteStore(tmp_path / "r.db")
    memories = [memory(store), memory(other_store)]
    errors: list[BaseException] = []

    def work(kept: ricordo.Memory, number: int) -> None:
        try:
            session = kept.session("s", user_id="anna")
            for step in range(10):
                about = (CATS, CARS, SEA)[(step // 3 + number) % 3]
                say(session, about, number * 100 + step)
                topics = session.topics()
                if step % 4 == 0:
                    session.topic(topics[0].id).tag(f"t{number}{step}")
        except ricordo.NotFoundError:
            pass  # a topic that another one took in
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(memories[n % 2], n)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    session = memories[0].session("s", user_id="anna")
    assert all(kept.settle(60) for kept in memories)
    topics = session.topics()
    assert len(session.history()) == 40
    whole(session, topics)
    assert memories[1].verify().damages == ()
    for kept in memories:
        kept.close()


def test_a_turn_that_goes_while_it_is_organised_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns that expire, or are answered, between reading them and writing their topics leave right counts."""
    clock = FakeClock()
    kept = memory(clock=clock)
    kept.rest()  # nobody organises before the test does
    session = kept.session("s", user_id="anna")
    say(session, CATS, 1)
    clock.advance(hours=2)
    asked = session.ask("gatto pelo domanda")
    say(session, CATS, 2, 3)
    real = kept.store.topics.put
    once = iter([True])

    def put(owner: Owner, session_id: str, change: Any) -> bool:
        if next(once, False):
            assert kept.cleanup(retention=ricordo.Retention(turn_ttl=timedelta(hours=1))).turns_deleted == 1
            asked.answer("gatto pelo risposta")
        return real(owner, session_id, change)

    monkeypatch.setattr(kept.store.topics, "put", put)
    (topic,) = session.topics()
    assert (topic.message_count, topic.hot) == (6, (2, 3, 4))
    assert kept.verify().damages == ()
    kept.close()


# Another embedder


def test_topics_of_another_embedder_go_on(tmp_path: Path) -> None:
    """After the embedder was changed turns join their topics, nothing is compared across spaces, nothing raises."""
    for dimensions, numbers in ((32, (1, 2, 3)), (96, (4, 5)), (32, (6,))):
        with on_file(tmp_path / "r.db", embedder=CountingEmbedder(dimensions), locale="it") as kept:
            session = kept.session("s", user_id="anna")
            say(session, CATS, *numbers)
            session.add_turn("continua", "certo")
            topics = session.topics()
            assert {topic.embedder for topic in topics} == {f"deterministic-{dimensions}@1"}
            assert {dimensions_of(topic.centre) for topic in topics} == {dimensions}
            assert [topic.title for topic in topics] == ["gatto pelo fusa 1"]
            assert kept.verify().damages == ()


def test_topics_go_on_when_the_model_behind_a_name_changes_size(tmp_path: Path) -> None:
    """A remote model may come back with other dimensions under the same name: centres are made anew, nothing raises."""

    class Renamed(CountingEmbedder):
        @property
        def name(self) -> str:
            return "remote:small@http://localhost/v1"

    for dimensions, numbers in ((32, (1, 2, 3)), (96, (4, 5)), (32, (6,))):
        with on_file(tmp_path / "r.db", embedder=Renamed(dimensions), locale="it") as kept:
            session = kept.session("s", user_id="anna")
            say(session, CATS, *numbers)
            session.add_turn("continua", "certo")
            topics = session.topics()
            assert topics.degraded == ()
            assert {dimensions_of(topic.centre) for topic in topics} == {dimensions}
            assert [topic.title for topic in topics] == ["gatto pelo fusa 1"]
            assert kept.search("gatto", user_id="anna").degraded == ()
            assert kept.verify().damages == ()


def test_a_vector_is_made_once_for_recall_and_topics() -> None:
    """Organising embeds nothing that recall has embedded, and the other way round."""
    for recall_messages in (0, 5):
        embedder = CountingEmbedder()
        kept = memory(embedder=embedder, recall_messages=recall_messages)
        session = kept.session("s", user_id="anna")
        for number in range(40):
            say(session, CATS, number)
            if number % 7 == 0:
                session.topics()
            if number % 11 == 0:
                assert kept.settle(30)
        assert kept.settle(30)
        kept.search("gatto", user_id="anna")
        assert len(embedder.passages) == 80
        kept.close()


# Everything together

ACTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["cats", "cars", "sea", "ask", "answer", "topics", "expire", "clear", "months", "merge", "tools"]
        ),
        st.integers(1, 6),
    ),
    max_size=10,
)


@ON_BOTH
@given(acts=ACTS, forget=st.sampled_from(["archive", "delete"]))
def test_a_store_stays_sound_whatever_is_done(
    kind: str, tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, int]], forget: str
) -> None:
    """After any writing, organising, archiving, expiring and merging: nothing is damaged and nothing else is gone."""
    clock = FakeClock()
    folder = tmp_path_factory.mktemp("store")
    few = {"max_topics": 2, "max_messages_per_topic": 4, "recent_message_keep": 2}
    kept = opened(kind, folder, clock=clock, forget=forget, **few)
    session = kept.session("s", user_id="anna")
    expected: dict[int, str] = {}
    for act, count in acts:
        clock.advance(minutes=20)
        match act:
            case "cats" | "cars" | "sea":
                say(session, {"cats": CATS, "cars": CARS, "sea": SEA}[act], *range(count))
            case "ask":
                session.ask(f"gatto pelo aperta {count}")
            case "answer":
                for turn in session.history():
                    if turn.is_open:
                        session.answer(turn, "gatto pelo tardi")
            case "topics":
                session.topics()
            case "expire":
                kept.cleanup(retention=ricordo.Retention(turn_ttl=timedelta(hours=count)))
            case "clear" if session.history():
                session.clear()
            case "months":
                clock.advance(days=40)
            case "merge":
                topics = session.topics()
                if len(topics) > 1:
                    session.topic(topics[0].id).merge(topics[-1].id)
            case "tools":
                session.add_message("user", "motore che ora è")
                session.add_message("assistant", "", tool_calls=[{"name": "ora"}])
                session.add_message("tool", "le tre", tool_call_id="1")
                session.add_message("assistant", "motore le tre")
        if forget == "archive" and act not in ("expire", "clear"):
            now = {turn.turn_number: f"{turn.query}" for turn in session.history()}
            assert expected.items() <= now.items()
            expected = now
        else:
            expected = {}
        assert kept.verify().damages == ()
    session_topics = session.topics()
    assert kept.verify().damages == ()
    for topic in session_topics:
        turns = session.topic(topic.id).history()
        assert topic.message_count == sum((turn.question is not None) + (turn.answer is not None) for turn in turns)
    kept.close()


def test_nothing_is_left_running() -> None:
    """After closing, no thread of any memory is at work and closing again changes nothing."""
    kept = memory()
    fill(kept.session("s", user_id="anna"), 30)
    kept.close()
    kept.close()
    assert not kept._engine.queue.index.lane.busy
    assert kept.settle(0)
