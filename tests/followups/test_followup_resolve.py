"""Follow-ups bound to the talk, and the standalone question."""

from collections.abc import Sequence

import pytest
from followup_samples import any_text, talk, talks
from hypothesis import given

from ricordo.followups.items import headline
from ricordo.followups.reference import Addition, PastTurn
from ricordo.followups.resolve import resolve
from ricordo.followups.rewrite import MOST_ADDED_WORDS, fit_additions

SPONDYLO = {
    "it": talk(("Cos'è la spondilolistesi?", "È lo scivolamento di una vertebra. Quattro concetti chiave.", ("c-1",))),
    "en": talk(("What is spondylolisthesis?", "It is the slipping of a vertebra. Four key concepts.", ("c-1",))),
}
BACK_PAIN = {
    "it": talk(
        (
            "Parliamo di lombalgia meccanica",
            "Tre punti: 1) Definizione: dolore [k-1] 2) Cause: postura e sforzo [k-2] 3) Diagnosi: esame [k-3]",
            ("k-1", "k-2", "k-3"),
        )
    ),
    "en": talk(
        (
            "Let's talk about mechanical back pain",
            "Three points: 1) Definition: pain [k-1] 2) Causes: posture and strain [k-2] 3) Diagnosis: exam [k-3]",
            ("k-1", "k-2", "k-3"),
        )
    ),
}
STENOSIS = {
    "it": talk(
        ("Cos'è la stenosi?", "Un restringimento del canale. La stenosi è sempre sintomatica.", ("s-1",)),
        ("Quanto dura la fisioterapia?", "Circa sei settimane.", ("s-2",)),
        ("E quanto costa una seduta?", "Tra 40 e 60 euro.", ("s-3",)),
    ),
    "en": talk(
        ("What is stenosis?", "A narrowing of the canal. Stenosis is always symptomatic.", ("s-1",)),
        ("How long does physiotherapy take?", "About six weeks.", ("s-2",)),
        ("How much is a session?", "Between 40 and 60 euros.", ("s-3",)),
    ),
}


@given(any_text, talks)
def test_nothing_makes_it_raise(question: str, history: tuple[PastTurn, ...]) -> None:
    """For every question and talk: bound texts are slices of stored answers, and what is added is bounded."""
    resolution = resolve(question, history)
    by_number = {turn.turn_number: turn for turn in history}
    for resolved in resolution.resolved:
        turn = by_number[resolved.turn_number]
        if resolved.item is not None:
            assert turn.response[resolved.item.start : resolved.item.end] == resolved.item.text == resolved.text
        else:
            assert resolved.text in (turn.response, turn.query)
        assert 0 < resolved.confidence <= 1
    assert sum(len(addition.text.split()) for addition in resolution.additions) <= MOST_ADDED_WORDS


@given(any_text, talks)
def test_added_words_come_from_the_turn_they_name(question: str, history: tuple[PastTurn, ...]) -> None:
    """Every word a standalone question gains is written in the turn that it is said to come from."""
    by_number = {turn.turn_number: turn for turn in history}
    for addition in resolve(question, history).additions:
        turn = by_number[addition.turn_number]
        assert all(word in f"{turn.query} {turn.response}" for word in addition.text.split())


@given(any_text)
def test_without_a_talk_a_question_stands_alone(question: str) -> None:
    """The first question of a session is never changed."""
    resolution = resolve(question, ())
    assert resolution.standalone == question
    assert resolution.references == resolution.resolved == resolution.additions == ()


@given(any_text, talks)
def test_the_same_inputs_resolve_the_same(question: str, history: tuple[PastTurn, ...]) -> None:
    """Resolution is a function of its arguments."""
    assert resolve(question, history) == resolve(question, history)


@pytest.mark.parametrize(
    ("lang", "question", "topic"),
    [("it", "Quali sono i gradi?", "spondilolistesi"), ("en", "What are the grades?", "spondylolisthesis")],
)
def test_a_bare_noun_takes_the_topic_of_the_talk(lang: str, question: str, topic: str) -> None:
    """ "Quali sono i gradi?" after spondylolisthesis asks for its grades."""
    resolution = resolve(question, SPONDYLO[lang])
    assert resolution.kind == "ellipsis"
    assert resolution.standalone == f"{question[:-1]} ({topic})?"
    assert resolution.additions == (Addition(topic, 1, "question"),)


@pytest.mark.parametrize(
    ("lang", "question", "item", "topic"),
    [
        ("it", "Approfondisci il punto 2", "Cause: postura e sforzo [k-2]", "lombalgia"),
        ("en", "Expand on point 2", "Causes: posture and strain [k-2]", "back pain"),
    ],
)
def test_a_point_is_bound_in_full_with_its_chunks(lang: str, question: str, item: str, topic: str) -> None:
    """ "Approfondisci il punto 2" gives the whole text of the second point and the chunk cited there."""
    resolution = resolve(question, BACK_PAIN[lang])
    (resolved,) = resolution.resolved
    assert (resolved.kind, resolved.turn_number, resolved.text, resolved.chunk_ids) == ("ordinal", 1, item, ("k-2",))
    assert item.split(":")[0] in resolution.standalone
    assert topic in resolution.standalone


@pytest.mark.parametrize(
    ("lang", "question"),
    [
        ("it", "Hai detto che la stenosi è sempre sintomatica?"),
        ("en", "You said that stenosis is always symptomatic?"),
    ],
)
def test_a_statement_finds_the_answer_that_made_it(lang: str, question: str) -> None:
    """ "Hai detto che…" is bound to the answer that said it, three turns ago."""
    (resolved,) = resolve(question, STENOSIS[lang]).resolved
    assert (resolved.kind, resolved.turn_number, resolved.chunk_ids) == ("statement", 1, ("s-1",))


def test_a_statement_is_sought_beyond_the_window() -> None:
    """The caller's search over all answers reaches turns that are not at hand."""
    asked: list[str] = []
    archived = PastTurn(7, "Parlami della scoliosi", "La scoliosi idiopatica compare in adolescenza.", ("arch-1",))

    def find(content: str) -> Sequence[PastTurn]:
        asked.append(content)
        return [archived]

    recent = (PastTurn(40, "Che tempo fa?", "Non lo so."),)
    resolution = resolve("Hai detto che la scoliosi compare in adolescenza?", recent, find_answer=find)
    assert asked == ["la scoliosi compare in adolescenza"]
    assert (resolution.resolved[0].turn_number, resolution.resolved[0].chunk_ids) == (7, ("arch-1",))


def test_an_item_without_citations_has_the_chunks_of_its_turn() -> None:
    """When the point cites nothing itself, the chunks of the whole answer stand for it."""
    history = talk(("Quali esercizi?", "- Ponte\n- Plank", ("e-1", "e-2")))
    assert resolve("il secondo", history).resolved[0].chunk_ids == ("e-1", "e-2")


def test_a_place_beyond_the_last_list_reaches_an_older_one() -> None:
    """Point 4 is sought in the newest answer that has four points, with less confidence."""
    history = talk(
        ("Elenca le fasi", "1. a1\n2. b1\n3. c1\n4. d1"),
        ("Elenca i rischi", "1. e1\n2. f1"),
    )
    near, far = resolve("il punto 2", history).resolved[0], resolve("il punto 4", history).resolved[0]
    assert (near.text, far.text) == ("f1", "d1")
    assert far.confidence < near.confidence


def test_the_noun_says_which_list() -> None:
    """ "The second exercise" passes over a newer list that is about something else."""
    history = talk(
        ("Which exercises help?", "1. Bridge\n2. Plank"),
        ("Which foods help?", "1. Salmon\n2. Walnuts"),
    )
    assert resolve("Show me the second exercise", history).resolved[0].text == "Plank"
    assert resolve("Tell me about the second one", history).resolved[0].text == "Walnuts"


def test_the_next_one_counts_from_the_item_last_asked_about() -> None:
    """ "The next one" twice after "the first one" is the third."""
    history = talk(
        ("Which openings?", "1. Italian\n2. London\n3. Caro-Kann"),
        ("Explain the first one", "It begins 1.e4 e5."),
        ("And the next one?", "It begins 1.d4."),
    )
    assert resolve("And the next one?", history).resolved[0].text == "Caro-Kann"


def test_two_lists_that_fit_are_candidates() -> None:
    """A place that two lists of one answer have is asked about, not guessed, and nothing is added."""
    history = talk(("Plan it", "Before:\n\n- pack bags\n- book hotel\n\nAfter:\n\n- unpack\n- send photos"))
    resolution = resolve("Explain the second one", history)
    assert resolution.candidates
    assert [candidate.name for candidate in resolution.candidates] == ["book hotel", "send photos"]
    assert resolution.standalone == "Explain the second one"


def test_a_pronoun_after_a_choice_is_ambiguous() -> None:
    """ "It" after "A or B" may be either: both are candidates; "which of the two" takes both."""
    history = talk(("Should I buy the Sony A7 IV or the Canon R6?", "Both are good."))
    resolution = resolve("How heavy is it?", history)
    assert [candidate.name for candidate in resolution.candidates] == ["Sony A7 IV", "Canon R6"]
    both = resolve("Which of the two is lighter?", history)
    assert [addition.text for addition in both.additions] == ["Sony A7 IV", "Canon R6"]


def test_that_exercise_after_a_list_of_exercises_is_ambiguous() -> None:
    """A singular demonstrative whose noun names a whole list asks which of its items."""
    history = talk(("Quali esercizi posso fare?", "- Ponte\n- Plank\n- Cyclette"))
    assert [c.name for c in resolve("Quell'esercizio fa male?", history).candidates] == ["Ponte", "Plank", "Cyclette"]


def test_an_english_pronoun_gives_way_to_the_topic() -> None:
    """The standalone question reads as a person would write it."""
    history = talk(("What is throat cancer?", ""))
    assert resolve("Is it treatable?", history).standalone == "Is throat cancer treatable?"
    assert resolve("What are its symptoms?", history).standalone == "What are throat cancer's symptoms?"


class Model:
    """A rewriter that returns, or raises, what it is given."""

    def __init__(self, reply: str | Exception) -> None:
        self.reply = reply

    def rewrite(self, question: str, history: Sequence[PastTurn]) -> str:
        """The prepared reply."""
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


def test_a_model_may_write_the_standalone_question() -> None:
    """A sensible rewrite is taken, and the resolution says who wrote it."""
    history = SPONDYLO["it"]
    resolution = resolve("Quali sono i gradi?", history, rewriter=Model("Quali sono i gradi della spondilolistesi?"))
    assert resolution.standalone == "Quali sono i gradi della spondilolistesi?"
    assert resolution.rewritten_by == "model"


@pytest.mark.parametrize(
    "reply",
    [TimeoutError("away"), "", "  \n", "What are the grades of spondylolisthesis?", "Quali sono i gradi " * 60],
    ids=["fails", "empty", "blank", "another language", "runs away"],
)
def test_the_rules_remain_when_the_model_does_not_do(reply: str | Exception) -> None:
    """A model that fails, is blank, changes language or runs away in length is passed over."""
    resolution = resolve("Quali sono i gradi?", SPONDYLO["it"], rewriter=Model(reply))
    assert resolution.standalone == "Quali sono i gradi (spondilolistesi)?"
    assert resolution.rewritten_by == "rules"


def test_a_complete_question_never_reaches_the_model() -> None:
    """A question without references is left alone, model or not."""
    resolution = resolve("Parlami della scoliosi", SPONDYLO["it"], rewriter=Model("Altro"))
    assert resolution.standalone == "Parlami della scoliosi"


@given(any_text, talks)
def test_additions_say_only_new_things(question: str, history: tuple[PastTurn, ...]) -> None:
    """Offering the same additions twice adds them once."""
    offered = [Addition(turn.query, turn.turn_number, "question") for turn in history]
    assert fit_additions(question, offered + offered) == fit_additions(question, offered)


def test_a_headline_is_the_first_clause_without_markup() -> None:
    """An item is named by how it begins: no bold, no citation, no second sentence."""
    assert headline("**Cause**: postura e sforzo [k-2]") == "Cause"
    assert headline("Zé da Mouraria | Mouraria | 15 €") == "Zé da Mouraria Mouraria 15 €"


@pytest.mark.parametrize(
    ("answer", "question", "said"),
    [
        (
            "A philatelic society values an album for free, an auction house charges a fee.",
            "Going back to the free valuation, how long does it take?",
            "philatelic",
        ),
        (
            "Il carlino è pigro, il barboncino perde poco pelo.",
            "Il cane che perde poco pelo di cui parlavi, va tosato?",
            "barboncino",
        ),
        (
            "Il Ponte Vecchio ha le botteghe degli orafi. Rialto è di pietra.",
            "Quello con le botteghe è sopravvissuto alla guerra?",
            "Vecchio",
        ),
    ],
)
def test_a_return_brings_the_clause_that_said_it(answer: str, question: str, said: str) -> None:
    """What was told before is found by the words of its clause, and by words of like meaning."""
    history = (PastTurn(1, "Tell me something", answer),)
    assert said in resolve(question, history).standalone


@pytest.mark.parametrize("question", ["Quanto vive?", "Ha bisogno di spazio?", "È adatto a un anziano?"])
def test_a_verb_without_its_subject_after_several_names_is_asked_back(question: str) -> None:
    """Two animals were told of, and the verb of the question has no subject."""
    history = (PastTurn(1, "Che cane mi consigli?", "Birba è pigra e affettuosa, Fulmine è veloce e ubbidiente."),)
    assert [candidate.name for candidate in resolve(question, history).candidates] == ["Birba", "Fulmine"]


@pytest.mark.parametrize(
    "question",
    [
        "Quanti abitanti ha Malta?",
        "Quante corde ha un violino?",
        "È vero che piove?",
        "Cosa si beve con il pesce?",
        "Mio figlio ha la febbre?",
        "Quante ore ci sono in un anno?",
    ],
)
def test_a_verb_with_its_subject_is_complete(question: str) -> None:
    """A noun, a name or an impersonal verb leaves nothing out."""
    history = (PastTurn(1, "Come si pota una rosa?", "A marzo, sopra la terza gemma."),)
    resolution = resolve(question, history)
    assert (resolution.references, resolution.standalone) == ((), question)


@pytest.mark.parametrize(
    ("asked", "answer", "question", "meant", "other"),
    [
        (
            "Gas o induzione?",
            "Il gas costa meno. L'induzione è più sicura.",
            "La prima quanto consuma?",
            "Gas",
            "induzione",
        ),
        (
            "Which sport?",
            "Try rowing, which is easy on the knees, or swimming, or walking.",
            "How dear is the second one?",
            "swimming",
            "rowing",
        ),
        (
            "Che sport?",
            "Prova il judo, che insegna a cadere, oppure il nuoto.",
            "Il primo da che età?",
            "judo",
            "nuoto",
        ),
    ],
)
def test_places_of_what_is_told_in_prose(asked: str, answer: str, question: str, meant: str, other: str) -> None:
    """The two sides of a question, and choices with clauses between them, can be called by their places."""
    standalone = resolve(question, (PastTurn(1, asked, answer),)).standalone
    assert meant in standalone
    assert other not in standalone


@pytest.mark.parametrize(
    ("asked", "answer", "message"),
    [
        ("should I get a cat or a dog?", "Either works: a cat is calm, a dog is lively.", message)
        for message in ("ok bye", "ok then bye", "cool, thanks!", "see you tomorrow", "alright talk later", "perfect")
    ]
    + [
        ("ho allergie o intolleranze?", "Non lo trovo in quello che ci siamo detti.", message)
        for message in ("ok ciao", "ok", "ok allora a domani", "grazie, buonanotte", "perfetto")
    ],
)
def test_small_talk_points_at_nothing(asked: str, answer: str, message: str) -> None:
    """Thanks, agreement and leave are left as they are and never asked back, whatever choice was talked of."""
    found = resolve(message, (PastTurn(1, asked, answer),))
    assert (found.standalone, found.references, found.candidates) == (message, (), ())


def test_agreement_takes_what_an_answer_offers() -> None:
    """ "Yes" after an answer that ends with a question still brings its subject."""
    offered = PastTurn(1, "come curo una storta?", "Con riposo e ghiaccio. Vuoi che ti spieghi gli esercizi?")
    assert "storta" in resolve("sì", (offered,)).standalone
