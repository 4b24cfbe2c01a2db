"""Ranking: the laws that hold for any messages and questions, then what people expect of a memory."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from math import isfinite
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recall_samples import EMBEDDER, NOW, START, index_of, message, rows, said

from ricordo.recall import index as index_module
from ricordo.recall.index import Links, OwnerIndex, Row, highest
from ricordo.recall.ranking import Filters, RankedMessage, RecallQuestion, rank, rank_all


def ask(
    index: OwnerIndex, text: str, *, limit: int = 10, filters: Filters | None = None, embed: bool = True
) -> list[RankedMessage]:
    vector = EMBEDDER.embed_query(text) if embed else None
    return rank(index, RecallQuestion(text, NOW, vector), limit=limit, filters=filters)


filter_sets = st.builds(
    Filters,
    session_id=st.sampled_from([None, "a", "z"]),
    agent_id=st.sampled_from([None, "tutor"]),
    topic_id=st.sampled_from([None, "t1"]),
    role=st.sampled_from([None, "user"]),
    after=st.none() | st.integers(0, 300).map(lambda n: START + timedelta(days=n)),
    before=st.none() | st.integers(0, 300).map(lambda n: START + timedelta(days=n)),
    tags=st.sampled_from([frozenset[str](), frozenset({"work"}), frozenset({"work", "home"})]),
)


def passes(row: Row, filters: Filters) -> bool:
    wanted = [(filters.session_id, row.session_id), (filters.agent_id, row.agent_id)]
    wanted += [(filters.topic_id, row.topic_id or ""), (filters.role, row.role)]
    return (
        all(want is None or want == has for want, has in wanted)
        and (filters.after is None or row.created_at >= filters.after)
        and (filters.before is None or row.created_at < filters.before)
        and filters.tags <= row.tags
    )


@given(rows(), said | st.text(max_size=40), filter_sets, st.integers(-1, 5))
def test_hits_are_sound(messages: list[Row], text: str, filters: Filters, limit: int) -> None:
    """Every hit passes the filters, has a finite score between 0 and 1 and a reason, and comes once, best first."""
    hits = ask(index_of(*messages), text, limit=limit, filters=filters)
    by_id = {row.message_id: row for row in messages}
    assert len(hits) <= max(0, limit)
    assert len({hit.message_id for hit in hits}) == len(hits)
    assert all(passes(by_id[hit.message_id], filters) for hit in hits)
    assert all(isfinite(hit.score) and 0 <= hit.score <= 1 and hit.reasons for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@given(rows(), said, st.integers(1, 4))
def test_asking_while_it_grows_changes_nothing(messages: list[Row], text: str, step: int) -> None:
    """What an index keeps of a question's words holds for the rows that come later, also between earlier ones."""
    growing = index_of()
    for start in range(0, len(messages), step):
        growing.add(messages[start : start + step])
        whole = ask(index_of(*messages[: start + step]), text)
        with patch.object(index_module, "_LARGE", 0):
            assert ask(growing, text) == whole


@given(rows(), said, st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(messages: list[Row], text: str, chance: object) -> None:
    """Messages taken in at once, one by one, or out of order are ranked the same."""
    at_once = ask(index_of(*messages), text, limit=20)
    shuffled = list(messages)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    one_by_one = OwnerIndex(EMBEDDER.dimensions)
    for row in shuffled:
        one_by_one.add([row])
    later = ask(one_by_one, text, limit=20)
    assert [hit.message_id for hit in later] == [hit.message_id for hit in at_once]
    assert [hit.reasons for hit in later] == [hit.reasons for hit in at_once]
    assert np.allclose([hit.score for hit in later], [hit.score for hit in at_once], atol=1e-5)


@given(rows(), said)
def test_a_larger_limit_only_adds(messages: list[Row], text: str) -> None:
    """The first hits do not depend on how many are asked for."""
    index = index_of(*messages)
    assert ask(index, text, limit=3) == ask(index, text, limit=9)[:3]
    assert rank_all(index, RecallQuestion(text, NOW)) == [
        hit.message_id for hit in ask(index, text, limit=99, embed=False)
    ]


@given(rows(), said)
def test_taking_in_twice_is_taking_in_once(messages: list[Row], text: str) -> None:
    """A message that is known already changes nothing."""
    index = index_of(*messages)
    before = ask(index, text)
    index.add(messages)
    assert len(index) == len(messages)
    assert ask(index, text) == before


@given(rows(), said)
def test_vectors_may_come_later(messages: list[Row], text: str) -> None:
    """An index whose vectors were filled in afterwards ranks as one that had them from the beginning."""
    blobs = {row.message_id: row.vector for row in messages if row.vector}
    without = [Row(*(None if name == "vector" else getattr(row, name) for name in Row.__slots__)) for row in messages]
    filled = index_of(*without)
    filled.set_vectors(blobs)
    assert ask(filled, text) == ask(index_of(*messages), text)


@given(rows())
def test_a_new_message_is_found_by_its_words_at_once(messages: list[Row]) -> None:
    """What was just said, and is not embedded yet, comes first for a question in its words."""
    index = index_of(*messages)
    index.add([message(99, "il pappagallo verde canta l'opera", session="new", embedded=False)])
    assert ask(index, "pappagallo verde opera")[0].message_id == "99"


def test_a_question_without_substance_finds_nothing() -> None:
    """Blank questions have no hits, and without vectors neither has a question none of whose words was said."""
    index = index_of(message(1, "the sea is blue"))
    assert ask(index, "  ") == []
    assert ask(index, "xylophone", embed=False) == []
    assert ask(OwnerIndex(16), "the sea") == []


def test_a_vector_of_another_size_is_refused() -> None:
    """Vectors of two embedders are never compared."""
    with pytest.raises(ValueError, match="dimensions"):
        rank(index_of(message(1, "sea")), RecallQuestion("sea", NOW, np.ones(8, dtype=np.float32)))


def test_an_answer_is_found_by_the_words_of_its_question() -> None:
    """A short answer inherits what it answers, and the reasons say so."""
    index = index_of(
        message(1, "Anna: Which instrument do you play at the concert on Sunday evening?"),
        message(2, "Marco: The clarinet, and a little bit of everything else that makes noise and music"),
        message(3, "Anna: Nice, I would like to hear that some day", session="other"),
        message(4, "Marco: The weather was awful all of last week in the mountains, sadly", session="other"),
    )
    hits = ask(index, "What instrument does Marco play?", embed=False)
    assert {hit.message_id for hit in hits[:2]} == {"1", "2"}
    [answer] = [hit for hit in hits if hit.message_id == "2"]
    assert "words nearby: instrument, play" in answer.reasons
    assert "speaker: Marco" in answer.reasons


def test_a_long_neighbour_does_not_lend_its_whole_vocabulary() -> None:
    """The thanks after a page of advice do not outrank a message that says the word itself."""
    advice = "Certainly: " + " ".join(f"step{n} detail{n}" for n in range(300)) + " zucchini"
    index = index_of(
        message(1, advice, role="assistant"),
        message(2, "Thanks a lot, that was really very helpful for tonight", role="user"),
        message(3, "I planted zucchini behind the house with my brother in April", session="other"),
    )
    assert ask(index, "zucchini", embed=False)[0].message_id == "3"


def test_a_date_in_the_question_counts() -> None:
    """Of two like messages the one of the named day comes first, with the date as a reason, in both languages."""
    rainy = [
        message(
            n,
            "We went for a walk in the park and talked about work",
            session=str(n),
            at=datetime(2025, m, 8, tzinfo=START.tzinfo),
        )
        for n, m in enumerate((4, 5, 6))
    ]
    for question in ("Where did we walk on 8 May 2025?", "walk park l'8 maggio 2025", "walk in May"):
        best = ask(index_of(*rainy), question)[0]
        assert best.message_id == "1"
        assert any(reason.startswith("time: ") for reason in best.reasons)


@pytest.mark.parametrize("question", ["what did we say about the walk yesterday", "che cosa dicevo ieri del walk"])
@pytest.mark.parametrize("today", [4, 40])
def test_yesterday_is_found_from_the_middle_of_a_long_talk(question: str, today: int) -> None:
    """However much was said today, yesterday is the day that is asked for."""
    days = [NOW - timedelta(days=n) for n in (3, 2, 1)] + [NOW - timedelta(minutes=n) for n in range(today)]
    index = index_of(*(message(n, "We talked about the walk", session=str(n), at=day) for n, day in enumerate(days)))
    best = ask(index, question, limit=1)[0]
    assert best.message_id == "2"
    assert any(reason.startswith("time: ") for reason in best.reasons)


def test_a_month_without_a_year_is_the_latest_one_with_messages() -> None:
    """Asked years later, "in May" still finds the May that was talked about."""
    talks = [
        message(
            n, "We went for a walk in the park and talked", session=str(n), at=datetime(2021, m, 8, tzinfo=START.tzinfo)
        )
        for n, m in enumerate((4, 5, 6))
    ]
    assert ask(index_of(*talks), "Where did we walk in May?")[0].message_id == "1"
    assert ask(index_of(*talks), "walk last May")[0].message_id == "2"


def test_persons_tip_the_scales() -> None:
    """ "I" prefers what the user said, "you" what the assistant said."""
    index = index_of(
        message(1, "The deadline of the project is the third of March I think", role="user", session="x"),
        message(2, "The deadline of the project is the third of March I think", role="assistant", session="y"),
    )
    assert ask(index, "when is my project deadline?", embed=False)[0].message_id == "1"
    assert ask(index, "what project deadline did you suggest?", embed=False)[0].message_id == "2"


def test_a_near_topic_tips_the_scales() -> None:
    """What the caller knows of topics counts and is given as a reason."""
    index = index_of(
        message(1, "we should book the tickets for the whole family soon", topic="sea", session="x"),
        message(2, "we should book the tickets for the whole family soon", topic="opera", session="y"),
    )
    hits = rank(index, RecallQuestion("tickets", NOW, topics={"opera": 0.9}))
    assert hits[0].message_id == "2"
    assert "topic: opera" in hits[0].reasons
    index.set_topics({"1": "opera", "2": None})
    assert rank(index, RecallQuestion("tickets", NOW, topics={"opera": 0.9}))[0].message_id == "1"


def test_italian_inflection_and_accents_do_not_matter() -> None:
    """A question in other forms of the words finds the message."""
    index = index_of(
        message(1, "Ho comprato due biciclette rosse per i bambini al mercato", session="x"),
        message(2, "La riunione è stata spostata a giovedì perché il capo era malato", session="y"),
    )
    assert ask(index, "Perche' fu spostata la riunione?", embed=False)[0].message_id == "2"
    assert ask(index, "Dov'è che compro la bicicletta rossa?", embed=False)[0].message_id == "1"


def test_many_messages_are_ranked_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the size where bits choose what to compare, the best hits stay those of the exact comparison."""
    things = [
        "sea",
        "mountain",
        "cat",
        "dog",
        "house",
        "garden",
        "bread",
        "wine",
        "piano",
        "book",
        "train",
        "lake",
        "moon",
        "star",
        "river",
        "cloud",
    ]
    chance = np.random.default_rng(5)
    texts = [" ".join(chance.choice(things, 9)) for _ in range(600)]
    messages = [message(n, text, session=str(n // 10)) for n, text in enumerate(texts)]
    exact = [ask(index_of(*messages), question)[0].message_id for question in texts[:20]]
    monkeypatch.setattr(index_module, "EXACT_UP_TO", 100)
    monkeypatch.setattr(index_module, "_LIKELIEST", 60)
    many = index_of(*messages[:590])
    ask(many, "sea")
    many.add(messages[590:])
    found = [ask(many, question)[0].message_id for question in texts[:20]]
    assert sum(one == other for one, other in zip(exact, found, strict=True)) >= 19
    assert ask(many, texts[599])[0].message_id == "599"


@given(st.integers(0, 2_000), st.integers(1, 80), st.integers(0, 2**32), st.sampled_from([1, 4, 1_000_000]))
def test_the_highest_scores_are_found_without_sorting_all(count: int, places: int, seed: int, kinds: int) -> None:
    """The score at a place from the top, with ties and with scores that count for nothing, is that of a sorted list."""
    chance = np.random.default_rng(seed)
    scores = chance.integers(0, kinds, count).astype(np.float32)
    scores[chance.random(count) < 0.3] = -np.inf
    wanted = np.sort(scores)[-places] if places < count else -np.inf
    assert highest(scores, places) == wanted


@given(st.lists(st.integers(0, 3), max_size=60))
def test_neighbours_are_added_as_links_name_them(sessions: list[int]) -> None:
    """Whether a session stands in one piece or between others: what stands beside a row is added in one order."""
    before, after, newest = [-1] * len(sessions), [-1] * len(sessions), dict[int, int]()
    for row, session in enumerate(sessions):
        if session in newest:
            before[row], after[newest[session]] = newest[session], row
        newest[session] = row
    values = np.random.default_rng(1).random(len(sessions), dtype=np.float32)
    links = Links(values, np.array(before, dtype=np.int32), np.array(after, dtype=np.int32))
    rows = np.arange(len(sessions))
    assert links.around(slice(0, len(sessions)), values).tolist() == links.around(rows, values).tolist()


def test_owners_share_nothing() -> None:
    """An index holds one owner's rows; filling another changes nothing in it."""
    mine = index_of(message(1, "my secret is in the garden"))
    before = ask(mine, "garden")
    index_of(*(message(n, "garden garden garden") for n in range(50)))
    assert ask(mine, "garden") == before


def test_asking_while_messages_arrive_is_safe() -> None:
    """Threads that add and threads that ask do not disturb each other, and nothing that was added is lost."""
    index = index_of(message(0, "the first thing that was ever said here"))

    def add(first: int) -> None:
        for number in range(first, first + 60):
            index.add([message(number, f"thing number{number} about the garden", session=str(first))])

    def ask_often(_: int) -> list[list[RankedMessage]]:
        return [ask(index, "garden thing") for _ in range(40)]

    with ThreadPoolExecutor(4) as pool:
        adding = [pool.submit(add, first) for first in (100, 200)]
        asking = [pool.submit(ask_often, n) for n in range(2)]
        assert all(hits for each in asking for hits in each.result())
        assert [each.result() for each in adding] == [None, None]
    assert len(index) == 121
    assert ask(index, "number159")[0].message_id == "159"
