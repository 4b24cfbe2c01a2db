"""What one hit leads to: its session, its speaker, and things of the kind that a question names."""

import importlib.util
from pathlib import Path

import numpy as np
from hypothesis import given
from recall_samples import NOW, index_of, message, rows, said

from ricordo.recall.evidence import kind_evidence
from ricordo.recall.index import OwnerIndex, Row
from ricordo.recall.ranking import Filters, RankedMessage, RecallQuestion, rank

ROOT = Path(__file__).parents[2]
THROUGH = "found through another message"


def ask(index: OwnerIndex, text: str, limit: int = 30, **filters: str) -> list[RankedMessage]:
    return rank(index, RecallQuestion(text, NOW), limit=limit, filters=Filters(**filters))


def a_past_of_boats() -> list[Row]:
    """A race, boats in sessions of their own, and an old boat told of twice: once in the session of the race."""
    told = {
        "race": {0: "The boat race on the lake was wonderful", 80: "Our boat was old then and leaking everywhere"},
        "far": {81: "Our boat was old then and leaking everywhere"},
        **{f"s{at}": {at: "A boat beside a boat passed slowly today"} for at in range(10, 24)},
    }
    told["race"] |= dict.fromkeys((1, 2, 3, 4), "Nothing much")
    return [
        message(number, text, session=session, embedded=False)
        for session, texts in told.items()
        for number, text in texts.items()
    ]


def test_a_hit_leads_to_the_others_of_its_session() -> None:
    """Of two messages that are found as well, the one in the session of the best hit comes first, and says why."""
    hits = ask(index_of(*a_past_of_boats()), "boat race lake")
    places = {hit.message_id: place for place, hit in enumerate(hits)}
    assert 10 <= places["80"] < places["81"]
    assert THROUGH in hits[places["80"]].reasons
    assert THROUGH not in hits[places["81"]].reasons
    assert THROUGH not in hits[places["0"]].reasons


def test_a_filter_closes_the_way() -> None:
    """What the filters leave out leads nowhere: without the best hit, its session is as any other."""
    hits = rank(
        index_of(*a_past_of_boats()),
        RecallQuestion("boat race lake", NOW),
        limit=30,
        filters=Filters(without=frozenset({"0", "1", "2", "3", "4"})),
    )
    assert "0" not in [hit.message_id for hit in hits]
    assert not [hit for hit in hits if THROUGH in hit.reasons]


def test_only_what_was_found_can_be_led_to() -> None:
    """A message of the best session that says and means nothing of the question is no hit."""
    index = index_of(*a_past_of_boats(), *(message(at, "Bye", session="race", embedded=False) for at in range(90, 95)))
    assert {"92", "93", "94"}.isdisjoint(hit.message_id for hit in ask(index, "boat race lake", 99))


@given(rows(), said)
def test_scores_fall_and_limits_only_cut(messages: list[Row], text: str) -> None:
    """Hits are in the order of their scores, and a smaller limit gives the first of them, whatever it is."""
    index = index_of(*messages)
    whole = ask(index, text, 99)
    assert [hit.score for hit in whole] == sorted((hit.score for hit in whole), reverse=True)
    for limit in (0, 1, 2, 10, 11, 98):
        assert ask(index, text, limit) == whole[:limit]


def test_a_kind_finds_its_things_in_both_languages() -> None:
    """The question names the kind, the message the thing; the hit says so."""
    told = [
        message(1, "Non digerisco i peperoni la sera", session="a", embedded=False),
        message(2, "I can't stand cabbage at dinner", session="b", embedded=False),
        message(3, "La sera guardo la televisione", session="c", embedded=False),
    ]
    index = index_of(*told)
    for question in ("Quale verdura evito la sera?", "Which vegetable do I avoid at dinner, la sera?"):
        found = kind_evidence(index, question)
        assert found is not None
        assert (found > 0).tolist() == [True, True, False]
    [hit] = [hit for hit in ask(index, "Quale verdura mi resta sullo stomaco la sera?") if hit.message_id == "1"]
    assert "kind: a thing of the kind that the question names" in hit.reasons


def test_a_kind_is_silent_where_it_knows_nothing() -> None:
    """No kind in the question, a long question, no message: no evidence, or none that counts."""
    index = index_of(message(1, "Non digerisco i peperoni", embedded=False))
    assert kind_evidence(index, "Che cosa ho detto ieri?") is None
    assert kind_evidence(index, "") is None
    passing = "vegetable " + " ".join(f"word{at}" for at in range(20))
    assert kind_evidence(index, passing) is None
    empty = kind_evidence(index_of(), "Quale verdura?")
    assert empty is not None
    assert not len(empty)
    assert not np.any(kind_evidence(index, "Quale strumento suono?"))


def test_a_page_names_everything_and_counts_less() -> None:
    """A thing in a sentence counts more than the same thing somewhere in a page."""
    page = "peppers " + " ".join(f"word{at}" for at in range(400))
    index = index_of(message(1, "I grow peppers", embedded=False), message(2, page, embedded=False))
    found = kind_evidence(index, "Which vegetable?")
    assert found is not None
    assert found[0] > 4 * found[1] > 0


def test_the_table_of_kinds_is_made_of_its_words() -> None:
    """`kinds.npz` is what `training/recall/kinds.py` makes of `kinds.txt` with the stems of today."""
    spec = importlib.util.spec_from_file_location("kinds", ROOT / "training/recall/kinds.py")
    assert spec
    assert spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    with np.load(ROOT / "src/ricordo/recall/kinds.npz") as stored:
        assert {name: array.tolist() for name, array in made.table().items()} == {
            name: stored[name].tolist() for name in stored.files
        }
