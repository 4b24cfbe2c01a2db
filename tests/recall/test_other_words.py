"""Questions in other words than the message: words that know little give way, and what only asks stands back."""

import json
from pathlib import Path

import numpy as np
import pytest
from bench.recall import Report, run
from recall_samples import NOW, message

from ricordo.recall.embedders import EmbedderUnavailable
from ricordo.recall.embedders.light import DeterministicEmbedder, LightEmbedder
from ricordo.recall.embedders.multilingual import (
    BilingualEmbedder,
    QuestionProjection,
    question_projection,
)
from ricordo.recall.evidence import (
    answer_evidence,
    meaning_evidence,
    question_words,
    spellings,
    terms,
    word_evidence,
)
from ricordo.recall.index import OwnerIndex, Row
from ricordo.recall.index_state import ends_with_question, shows
from ricordo.recall.quantization import Vectors, vectors_to_blobs
from ricordo.recall.ranking import RankedMessage, RecallQuestion, rank, weights_for

DATA = Path(__file__).parents[1] / "data"
DIMENSIONS = 32
SPELLED = ("favourite favorite", "mum mom", "organise organize", "theatre theater", "travelled traveled")


def towards(*places: int) -> Vectors:
    """A vector in the direction of some dimensions."""
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    vector[list(places)] = 1
    return vector / np.float32(np.sqrt(len(places)))


def said(number: int, text: str, vector: Vectors, **more: str) -> Row:
    row = message(number, text, embedded=False, **{"session": f"s{number}", **more})
    return Row(*({"vector": vectors_to_blobs(vector[None])[0]}.get(n, getattr(row, n)) for n in Row.__slots__))


def a_past(*rows: Row) -> OwnerIndex:
    """The rows among others that share neither words nor meaning with any question."""
    others = [said(100 + at, f"Filler{at} number{at} talk{at}", towards(8 + at)) for at in range(20)]
    return OwnerIndex(DIMENSIONS, [*rows, *others])


def ask(index: OwnerIndex, text: str, vector: Vectors, limit: int = 3) -> list[RankedMessage]:
    return rank(index, RecallQuestion(text, NOW, vector), limit=limit)


def test_words_give_way_where_they_know_little() -> None:
    """A look-alike with one common word of the question stands behind the message that means the same."""
    meant = said(1, "Our greyhound Biscuit came from the shelter", towards(0, 1))
    alike = said(2, "The animal clinic is closed on Sundays", towards(2, 3))
    hits = ask(a_past(meant, alike), "Which animal lives with us at home these days?", towards(0, 4))
    assert hits[0].message_id == "1"
    assert "asked in other words" in hits[0].reasons


def test_words_decide_where_they_say_the_question() -> None:
    """A message that has nearly all words of the question stands before one that is only similar in meaning."""
    exact = said(1, "The serial number of the boiler is DNT-4471", towards(0, 5, 6, 7))
    similar = said(2, "We had the heating serviced before winter", towards(0, 1))
    hits = ask(a_past(exact, similar), "boiler serial number DNT-4471", towards(0))
    assert hits[0].message_id == "1"
    assert "asked in other words" not in hits[0].reasons


def test_a_statement_stands_before_a_question() -> None:
    """Of two equally similar messages the one that tells something comes first, whatever follows the question mark."""
    asked = said(1, "Where do we keep the spare key of the cellar? :)", towards(0))
    told = said(2, "We keep the spare key of the cellar in the blue jar", towards(0))
    assert [hit.message_id for hit in ask(a_past(asked, told), "where is the spare key", towards(0), 2)] == ["2", "1"]
    assert ends_with_question("Really?!")
    assert ends_with_question("Davvero? 😀")
    assert ends_with_question("What do you think? [image: a red kayak on a roof]")
    assert ends_with_question("Che ne dici? [file: preventivo.pdf] [image]")
    assert not ends_with_question("Why? [sic]")
    assert not ends_with_question("What? No.")
    assert not ends_with_question("")


def test_a_question_that_shows_something_is_no_mere_question() -> None:
    """Of two equally similar questions the one with a picture comes first: the picture tells something."""
    shown = said(1, "Where do we keep the spare key? [image: a blue jar]", towards(0))
    asked = said(2, "In a blue jar, image or not: where do we keep the spare key?", towards(0))
    assert [shows(text) for text in ("Look [image]", "[file: a.pdf] there", "Look [1]")] == [True, False, False]
    assert [hit.message_id for hit in ask(a_past(shown, asked), "spare key", towards(0), 2)] == ["1", "2"]


def test_the_answer_to_a_similar_question_is_found() -> None:
    """A reply that shares nothing with the question is lifted by the question before it."""
    asked = said(1, "Which doctor do you see?", towards(0), session="s")
    reply = said(2, "Old Ferraris, on the corner, since I was nine years old", towards(5), session="s")
    other = said(3, "Old Martelli, on the square, since we moved into town here", towards(5))
    hits = ask(a_past(asked, reply, other), "Who is my physician?", towards(0), 30)
    found = [hit.message_id for hit in hits]
    assert found.index("2") < found.index("3")


def test_a_long_question_has_an_answer_and_a_page_is_hardly_one() -> None:
    """What follows a question of thirty words answers it; what follows a page, and a page itself, does so less."""
    long, page = (" ".join(f"word{at}" for at in range(count)) for count in (30, 400))
    found = []
    for asking, reply in ((long, "Ferraris"), (page, "Ferraris"), (long, page)):
        rows = [said(at, text, towards(at), session="s") for at, text in ((0, f"{asking}, which doctor?"), (1, reply))]
        index = a_past(*rows)
        meaning = meaning_evidence(index, towards(0), index.lengths * 0, np.ones(len(index), dtype=np.bool_))
        answers = answer_evidence(index, meaning)
        assert answers is not None
        found.append(float(answers[1]))
    assert found[0] > 5 * found[2] > 0
    assert found[1] == 0


def test_a_page_does_not_stand_before_a_sentence() -> None:
    """A page of the assistant with the same words and meaning comes after what the user said in a sentence."""
    page = said(1, "My shoe size is 43. " + " ".join(f"advice{at}" for at in range(300)), towards(0), role="assistant")
    line = said(2, "My shoe size is 43.", towards(0))
    assert ask(a_past(page, line), "What is my shoe size?", towards(0), 1)[0].message_id == "2"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("favourite", "favorite"),
        ("mum", "mom"),
        ("organise", "organize"),
        ("theatre", "theater"),
        ("travelled", "traveled"),
    ],
)
def test_spellings_of_two_countries_are_one_word(one: str, other: str) -> None:
    """A question in one spelling finds a message in the other."""
    assert other in spellings(one)
    for asked, told in ((one, other), (other, one)):
        [(_, variants)] = question_words(asked)
        assert set(variants) & set(terms(told, "en").tolist())


def test_elided_words_are_no_words() -> None:
    """Of "all'università" and "quest'anno" only the noun counts; other apostrophes change nothing."""
    assert [word for word, _ in question_words("Cosa ho fatto quest'anno all\u2019università?")] == [
        "anno",
        "universita",
    ]
    assert [word for word, _ in question_words("Anna's birthday")] == [
        word for word, _ in question_words("Anna s birthday")
    ]


def test_a_projection_belongs_to_its_weights() -> None:
    """Another pair of embedders is joined as it is; the projection gives unit vectors."""
    known = question_projection()
    assert np.isclose(np.linalg.norm(known.moved(np.ones(len(known.into), dtype=np.float32))), 1)
    halves = {"english": DeterministicEmbedder(8), "multilingual": DeterministicEmbedder(16)}
    plain = BilingualEmbedder(**halves, projected=False).embed_query("the sea")
    assert np.array_equal(BilingualEmbedder(**halves).embed_query("the sea"), plain)
    zero = QuestionProjection("any", np.zeros((24, 2), dtype=np.float32), np.zeros((2, 24), dtype=np.float32))
    assert np.allclose(zero.moved(plain), plain)


def test_questions_of_each_language_are_moved_apart() -> None:
    """English questions and all others have projections of the same weights, which are not the same."""
    english, other = question_projection(), question_projection("question_other.npz")
    assert english.embedder == other.embedder
    question = np.linspace(-1, 1, len(english.into), dtype=np.float32)
    assert not np.allclose(english.moved(question), other.moved(question))


def test_words_give_way_sooner_where_vectors_know_more() -> None:
    """Of two questions half of whose words are known, the Italian one trusts them less than the English one."""
    index = a_past(said(1, "Filippo ripara la caldaia", towards(0)), said(2, "Filippo repairs the boiler", towards(1)))
    allowed = np.ones(len(index), dtype=np.bool_)
    italian, english = (
        word_evidence(index, text, allowed).certainty
        for text in ("Quanto è costata la caldaia nella cantina?", "How expensive was the boiler in the cellar?")
    )
    assert 0 < italian < english < 1


def test_a_missing_projection_names_the_remedy() -> None:
    """Without its file the embedder cannot be made: `auto` takes the next one."""
    with pytest.raises(EmbedderUnavailable, match="install ricordo again"):
        question_projection("no-such-file.npz")
    with pytest.raises(EmbedderUnavailable, match="install ricordo again"):
        question_projection("light.py")


def test_letters_do_not_lose_to_words() -> None:
    """The light embedder finds at least what words alone find, on both of our sets."""
    files = [DATA / "recall_italian.jsonl", DATA / "recall_paraphrases.jsonl"]
    report: Report = run(files, {"light": LightEmbedder()})
    for data in ("recall_italian", "recall_paraphrases"):
        light, words = (report.mean(data, f"ricordo ({name})") for name in ("light", "words only"))
        assert light["R@10"] >= words["R@10"]
        assert light["R@2000t"] >= words["R@2000t"]
    assert weights_for("light-256@1").words > weights_for("other").words


def test_paraphrases_share_no_word_with_their_message() -> None:
    """The set is what it says: no question has a content word of the message that it asks for."""
    files = (DATA / "recall_paraphrases.jsonl", DATA / "recall_paraphrases_second.jsonl")
    for line in (line for path in files for line in path.read_text(encoding="utf-8").splitlines()):
        talk = json.loads(line)
        texts = {unit["id"]: unit["text"] for unit in talk["units"]}
        for query in talk["queries"]:
            spoken = set(terms(texts[query["gold"][0]]).tolist())
            assert not [word for word, variants in question_words(query["text"]) if spoken & set(variants)], query["id"]
