"""Whether a message has enough to do with a question to be put into a prompt, by its own words or its meaning."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recall_samples import EMBEDDER, NOW, index_of, message, rows, said

from ricordo.recall.embedders.light import DeterministicEmbedder
from ricordo.recall.evidence import question_words
from ricordo.recall.index import OwnerIndex, Row
from ricordo.recall.quantization import vectors_to_blobs
from ricordo.recall.ranking import MIN_COVERAGE, RankedMessage, RecallQuestion, cosine_threshold, is_relevant, rank
from ricordo.topics.thresholds import known_embedders

TALKS = Path(__file__).resolve().parent.parent / "data" / "recall_italian.jsonl"


@given(rows(), said)
def test_both_measures_stand_for_themselves(messages: list[Row], question: str) -> None:
    """What a hit says of a question is a share, its cosine is its own, and both are the same for any limit."""
    index = index_of(*messages)
    vector = EMBEDDER.embed_query(question)
    hits = rank(index, RecallQuestion(question, NOW, vector), limit=50)
    for hit in hits:
        assert 0 <= hit.said <= 1 + 1e-9
        if hit.cosine is not None:
            assert hit.cosine == pytest.approx(float(index.vectors_of([hit.message_id])[0] @ vector), abs=1e-4)
    assert rank(index, RecallQuestion(question, NOW, vector), limit=2) == hits[:2]


@pytest.mark.parametrize("dimensions", [256, 896])
def test_a_cosine_is_that_of_the_vectors_however_they_are_kept(dimensions: int) -> None:
    """Short and long vectors are kept differently; the cosine of a hit is that of the words all the same."""
    embedder = DeterministicEmbedder(dimensions)
    texts = ["Domani vado dal dentista.", "Mi piace il jazz.", "Il pane vuole tempo."]
    blobs = vectors_to_blobs(embedder.embed_passages(texts))
    index = OwnerIndex(
        dimensions,
        [replace(message(at, text), vector=blob) for at, (text, blob) in enumerate(zip(texts, blobs, strict=True))],
    )
    for at, text in enumerate(texts):
        hits = {hit.message_id: hit for hit in rank(index, RecallQuestion(text, NOW, embedder.embed_query(text)))}
        assert hits[index.message_ids[at]].cosine == pytest.approx(1.0, abs=0.15)


def test_words_of_another_turn_are_not_ones_own() -> None:
    """A neighbour in another turn lends words for the order, not for the verdict."""
    index = OwnerIndex(1, [message(0, "domani vado dal dentista"), message(1, "mi piace il jazz")])
    said_it, beside = rank(index, RecallQuestion("dentista", NOW))
    assert (said_it.message_id, beside.reasons) == (index.message_ids[0], ("words nearby: dentista",))
    assert (said_it.said, beside.said) == (1.0, 0.0)
    assert is_relevant(said_it, "light-256@1")
    assert not is_relevant(beside, "light-256@1")


def test_a_message_that_says_the_word_stands_before_its_short_neighbour() -> None:
    """By words alone, "dentista" finds the message about the dentist before the wishes that follow it."""
    talk = ["Ho il dentista domani.", "Auguri per la visita.", "Mi piace il jazz."]
    index = OwnerIndex(1, [message(number, text) for number, text in enumerate(talk)])
    assert rank(index, RecallQuestion("dentista", NOW))[0].message_id == index.message_ids[0]


@given(st.floats(0, 1), st.none() | st.floats(-1, 1), st.sampled_from([*known_embedders(), "remote:m@http://x"]))
def test_either_measure_is_enough(share: float, cosine: float | None, embedder: str) -> None:
    """A hit speaks exactly if its words or its meaning reach their line."""
    near = cosine is not None and cosine >= cosine_threshold(embedder)
    assert is_relevant(RankedMessage("m", 0.0, (), share, cosine), embedder) == (share >= MIN_COVERAGE or near)


def test_every_measured_embedder_has_its_own_line() -> None:
    """An embedder whose cosines were measured is judged on its own scale, whatever the identity of its weights."""
    unmeasured = cosine_threshold("remote:m@http://x")
    for name in known_embedders():
        assert cosine_threshold(name) != unmeasured
        assert cosine_threshold("+".join(f"{part}@abc" for part in name.split("+"))) == cosine_threshold(name)


def test_question_words_carry_no_subject() -> None:
    """ "Qual è", "dov'è" and "com'è" say nothing that could be looked for."""
    for question in ("Qual è il codice?", "Dov'è il codice?", "Com'è il codice?", "Cos'è il codice?"):
        assert [word for word, _ in question_words(question)] == ["codice"]


@pytest.mark.slow
def test_questions_about_other_talks_bring_little_back() -> None:
    """Of five messages nearest to a question of another talk, few pass; of those that hold the evidence, most do."""
    from ricordo.recall.embedders import EmbedderError
    from ricordo.recall.embedders.selection import embedder_for

    try:
        embedder = embedder_for("bilingual")
    except EmbedderError as reason:
        pytest.skip(f"the default embedder cannot be tried here: {reason}")
    talks = [json.loads(line) for line in TALKS.read_text(encoding="utf-8").splitlines()]
    true, foreign = [], []
    for talk in talks:
        units = [unit["text"] for unit in talk["units"]]
        vectors = embedder.embed_passages(units)
        for other in talks:
            for query in other["queries"]:
                near = vectors @ embedder.embed_query(query["text"])
                if other is talk:
                    places = [n for n, unit in enumerate(talk["units"]) if unit["id"] in query["gold"]]
                    true += [max(near[places])] if places else []
                else:
                    foreign += sorted(near)[-5:]
    line = cosine_threshold(embedder.name)
    assert np.mean(np.array(foreign) >= line) < 0.05
    assert np.mean(np.array(true) >= line) > 5 * np.mean(np.array(foreign) >= line)
