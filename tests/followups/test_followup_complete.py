"""Complete questions are left alone whatever stood before, and a standalone question has at most one bracket."""

import pytest
from followup_samples import PIECES, talk
from hypothesis import given
from hypothesis import strategies as st

from ricordo.followups.candidates import PastTurn
from ricordo.followups.resolve import resolve
from ricordo.followups.understand import past_turn, said_in
from ricordo.languages.english import READER as ENGLISH
from ricordo.languages.italian import READER as ITALIAN
from ricordo.records.turns import Message, Owner, Turn
from ricordo.testing import FakeClock

COMPLETE = (
    "What are the stages of sleep?",
    "Which stages does sleep have?",
    "what types of play are there?",
    "What are the benefits of walking?",
    "What causes does snoring have?",
    "Tell me the risks of cooking with gas",
    "Which effects does running have?",
    "what are the different kinds of travel?",
    "What are the costs of study abroad?",
    "What is the meaning of trust?",
    "How many phases does the moon have?",
    "name the main causes of stress",
    "What are the advantages of open relationships?",
    "What is the history of taste?",
    "Quali sono le fasi del sonno?",
    "che fasi ha il sonno?",
    "Quali sono i tipi di cucina italiana?",
    "Quali sono le cause del mal di schiena?",
    "Quali sono i benefici della corsa?",
    "dimmi i rischi della guida notturna",
    "Che effetti ha il fumo?",
    "Quali sono i vantaggi della scoperta guidata?",
    "Quante fasi ha la luna?",
    "Qual è il significato del piacere?",
    "Quali sono i sintomi dell'influenza?",
    "quali sono gli usi del mirto",
    "Quali sono i tipi di visita medica?",
    "Qual è la storia della legge Basaglia?",
    "What are the risks of war?",
    "What are the causes of war?",
    "Quali sono i rischi della guerra?",
)
BEFORE = (
    (
        "My name is Sam and my knee was operated on 2 November",
        ENGLISH.noted.format(quote="“My name is Sam and my knee was operated on 2 November”"),
    ),
    ("Mi chiamo Sara e vivo a Lecce", ITALIAN.noted.format(quote="«Mi chiamo Sara e vivo a Lecce»")),
    ("Who invented the microwave oven?", ENGLISH.absent),
    ("Chi ha inventato il forno a microonde?", ITALIAN.absent),
    ("Should we get a Labrador or a Vizsla?", ENGLISH.absent),
    ("How do I clean a cast iron pan?", "Rinse it with hot water, dry it on the stove and rub it with a little oil."),
    (
        "Come si pulisce una padella di ghisa?",
        "Con acqua calda e sale grosso, poi si asciuga e si unge con un filo d'olio.",
    ),
    ("Hi!", ENGLISH.greeting),
    ("grazie mille", ITALIAN.thanks),
    ("When was Rome founded?", "According to legend in 753 BC, by Romulus, on the Palatine Hill."),
)


def told(*turns: tuple[str, str]) -> tuple[PastTurn, ...]:
    """Past turns as a session reads them, without the reader's own sentences."""
    return talk(*((query, said_in(response)) for query, response in turns))


@pytest.mark.parametrize(
    "question", ["E il gatto come sta?", "e mio fratello quanti anni ha?", "And my cat how old is she?"]
)
def test_a_part_with_its_own_question_word_replaces_nothing(question: str) -> None:
    """ "And" before a subject that is asked about opens a new question, not a part of the last one."""
    for before in (
        ("Ho detto che ho un cane?", "Non lo trovo."),
        ("Where does my sister live?", "She lives in Porto."),
    ):
        assert resolve(question, told(before)).standalone == question


@pytest.mark.parametrize("question", COMPLETE)
def test_a_question_that_names_its_subject_is_left_alone(question: str) -> None:
    """After a statement, a refusal, a question in the other language or on something else."""
    for before in BEFORE:
        found = resolve(question, told(before))
        assert (found.standalone, found.resolved, found.candidates) == (question, (), ()), before


@pytest.mark.parametrize(
    "question",
    [
        "What is photosynthesis?",
        "Where does photosynthesis take place?",
        "Does photosynthesis need sugar?",
        "Che cos'è la fotosintesi?",
        "Dove avviene la fotosintesi?",
        "La fotosintesi produce zucchero?",
    ],
)
def test_a_question_that_names_the_subject_of_the_talk_is_complete(question: str) -> None:
    """Asked again, or asked otherwise, it has nothing left out and nothing to ask back, whatever was answered."""
    asked = "Che cos'è la fotosintesi?" if "fotosintesi" in question else "What is photosynthesis?"
    for answer in (
        "Photosynthesis turns light into sugar. It takes place in the leaves.",
        "1. La fotosintesi trasforma la luce in zucchero.\n2. La fotosintesi avviene nei cloroplasti.",
        "1. Photosynthesis turns light into sugar.\n2. Photosynthesis takes place in the leaves.",
    ):
        for turns in (told((asked, answer)), told((asked, answer), (asked, answer))):
            found = resolve(question, turns)
            assert (found.standalone, found.resolved, found.candidates) == (question, (), ())


@pytest.mark.parametrize(
    "question",
    [
        "What are the stages?",
        "Which stages does it have?",
        "What types are there?",
        "What are the causes?",
        "Quali sono le fasi?",
        "che fasi ha?",
        "Quali sono i tipi?",
        "Quali sono le cause?",
    ],
)
def test_a_noun_that_waits_still_takes_the_subject(question: str) -> None:
    """Without its complement the same noun asks for the subject of the talk."""
    history = told(("How does photosynthesis work?", "Plants turn light into sugar."))
    if question[0] in "Qc":
        history = told(("Come funziona la fotosintesi?", "Le piante trasformano la luce in zucchero."))
    assert (
        "otosinte" in resolve(question, history).standalone or "photosynthesis" in resolve(question, history).standalone
    )


@pytest.mark.parametrize("reader", [ENGLISH, ITALIAN])
def test_the_readers_sentences_have_no_points(reader: object) -> None:
    """A refusal, a greeting and an acknowledgement say nothing; a quote and what stands beside it stay in place."""
    assert isinstance(reader, type(ENGLISH))
    quote = "“It's on Monday. Bring a pen”"
    fixed = (
        reader.absent,
        reader.nothing_held,
        reader.nothing_yet,
        reader.greeting,
        reader.thanks,
        reader.okay,
        reader.farewell,
        reader.forgotten,
        reader.nothing_to_forget,
        reader.never_said,
        reader.no_talk,
        reader.no_more,
        reader.noted.format(quote=quote),
        reader.remembered.format(quote=quote),
        reader.standing.format(quote=quote),
        reader.greeting_name.format(name="Ada"),
    )
    assert [said_in(sentence) for sentence in fixed] == [""] * len(fixed)
    answer = f"{reader.opening}\n1. Red.\n2. Blue."
    assert said_in(answer).split() == ["1.", "Red.", "2.", "Blue."]
    assert said_in(answer).index("Red") == answer.index("Red")
    assert "Rome" in said_in(reader.you_said.format(day="today", quote="I live in Rome"))
    assert said_in("All right. Then take the red one.") == "All right. Then take the red one."


@pytest.mark.parametrize(
    "question",
    [
        "Explain point 2 in more detail.",
        "Spiega meglio il punto 2.",
        "the second one",
        "il terzo",
        "tell me about the first",
        "approfondisci il secondo punto",
        "and the last one?",
        "e il primo?",
        "both",
        "option b",
        "point 3",
        "punto 1",
    ],
)
def test_no_place_is_found_in_a_refusal(question: str) -> None:
    """The reader's own sentences give no items and no names."""
    for before in (("Chi ha inventato il forno?", ITALIAN.absent), ("Who invented it?", ENGLISH.absent)):
        found = resolve(question, told(before))
        assert not any(bound.item for bound in found.resolved)
        assert not {"document", "documento", "rispondere", "answer"} & set(
            found.standalone[len(question) - 1 :].split()
        )


DEGREES = "1. Primo grado: arrossamento.\n2. Secondo grado: vesciche.\n3. Terzo grado: necrosi.\n4. Quarto grado: ossa."
SECOND = "Ecco:\n1. Vesciche con liquido.\n2. Dolore forte.\n3. Guarigione in tre settimane."
BURNS = "1. First degree: redness.\n2. Second degree: blisters.\n3. Third degree: necrosis.\n4. Fourth degree: bones."
BLISTERS = "Here:\n1. Fluid under the skin.\n2. Strong pain.\n3. Three weeks of healing."


@pytest.mark.parametrize(
    ("asked", "question", "meant"),
    [
        ("approfondisci il punto 2", "e il terzo?", "Terzo grado"),
        ("approfondisci il punto 2", "E il quarto?", "Quarto grado"),
        ("dimmi di più sul secondo", "e il terzo", "Terzo grado"),
        ("spiegami il primo", "e il secondo?", "Secondo grado"),
        ("spiega il punto 1", "ora il secondo", "Secondo grado"),
        ("il secondo?", "e l'ultimo?", "Quarto grado"),
        ("approfondisci il punto 3", "e il primo?", "Primo grado"),
        ("approfondisci il punto 2", "e il punto 3?", "Terzo grado"),
        ("tell me more about the second", "and the third?", "Third degree"),
        ("explain point 2", "and point 3?", "Third degree"),
        ("expand on number 1", "and the second one?", "Second degree"),
        ("what about the second?", "and the last one?", "Fourth degree"),
        ("explain the first", "now the second", "Second degree"),
        ("more on the third", "And the first?", "First degree"),
        ("tell me more about point 2", "ok and the third", "Third degree"),
    ],
)
def test_a_series_of_places_stays_in_its_list(asked: str, question: str, meant: str) -> None:
    """ "And the third?" after a point of a list is the third of that list, though the answer has points too."""
    english = meant.endswith("degree")
    history = told(
        ("What are the degrees of burns?", BURNS) if english else ("Quali sono i gradi delle ustioni?", DEGREES),
        (asked, BLISTERS if english else SECOND),
    )
    assert [bound.text[: len(meant)] for bound in resolve(question, history).resolved] == [meant]


@pytest.mark.parametrize(
    ("asked", "question", "meant"),
    [
        ("approfondisci il punto 2", "spiegami meglio il punto 1", "Vesciche"),
        ("tell me more about the second", "now tell me about point 1", "Fluid"),
        ("Quali sono i sintomi delle ustioni?", "e il terzo?", "Guarigione"),
        ("What are the symptoms of burns?", "and the third?", "Three weeks"),
    ],
)
def test_a_new_place_is_looked_for_in_the_newest_list(asked: str, question: str, meant: str) -> None:
    """A place that continues no series belongs to the newest list."""
    english = meant in ("Fluid", "Three weeks")
    history = told(("Burns?", BURNS) if english else ("Le ustioni?", DEGREES), (asked, BLISTERS if english else SECOND))
    assert [bound.text[: len(meant)] for bound in resolve(question, history).resolved] == [meant]


@pytest.mark.parametrize(
    ("asked", "answer", "question", "subject"),
    [
        (
            "Come funziona la fotosintesi?",
            "La fotosintesi usa la luce. La respirazione è il contrario. Con il freddo la fotosintesi rallenta.",
            "e dove avviene?",
            "fotosintesi",
        ),
        (
            "Come si forma la grandine?",
            "La grandine nasce nei temporali. La grandine grossa cade d'estate.",
            "quanto dura?",
            "grandine",
        ),
        (
            "Che cos'è il glaucoma?",
            "Il glaucoma danneggia il nervo ottico. Il glaucoma acuto fa male.",
            "come si cura?",
            "glaucoma",
        ),
        (
            "How does composting work?",
            "Composting breaks down scraps. Hot composting is faster.",
            "how long does it take?",
            "composting",
        ),
        (
            "What is glaucoma?",
            "Glaucoma harms the optic nerve. Acute glaucoma hurts.",
            "how is it treated?",
            "glaucoma",
        ),
        (
            "How does hail form?",
            "Hail forms in storms. Large hail falls in summer.",
            "where does it fall most?",
            "hail",
        ),
    ],
)
def test_the_subject_is_added_once(asked: str, answer: str, question: str, subject: str) -> None:
    """The shortest phrase that names the subject, not its longer namesakes too."""
    assert resolve(question, told((asked, answer))).standalone.lower().count(subject) == 1


@pytest.mark.parametrize(
    ("opening", "answer", "question", "standalone"),
    [
        (
            "Porcupine Tree",
            "The first album came out in 1992.",
            "Was the second album a success?",
            "Was the second album a success (Porcupine Tree)?",
        ),
        (
            "Mauro Corona",
            "Scrive libri, scolpisce e arrampica.",
            "Quanti libri ha venduto?",
            "Quanti libri ha venduto (Mauro Corona)?",
        ),
    ],
)
def test_a_name_that_opened_the_talk_is_its_subject(opening: str, answer: str, question: str, standalone: str) -> None:
    """Where the first message is nothing but a name, a question without a subject of its own is about this name."""
    assert resolve(question, told((opening, answer))).standalone == standalone


@pytest.mark.parametrize(
    "question", ["What is photosynthesis?", "Where was Nikola Tesla born?", "Cos'è la fotosintesi?", "Turandot piace?"]
)
def test_a_subject_of_its_own_needs_no_title(question: str) -> None:
    """A new subject, a name, or the title itself is left as it was."""
    assert resolve(question, told(("Turandot", "An opera by Puccini."))).standalone == question


@pytest.mark.parametrize(
    "question",
    [
        "What did you say before?",
        "what did you just say?",
        "What were you saying before?",
        "what have you said so far?",
        "What did I ask you before?",
        "what did I just ask?",
        "Cosa hai detto prima?",
        "che cosa mi hai detto prima?",
        "Che dicevi prima?",
        "cosa hai appena detto?",
        "Cosa ti ho chiesto prima?",
        "che cosa ti ho appena chiesto?",
    ],
)
def test_what_was_said_is_left_to_the_talk(question: str) -> None:
    """A question about the talk itself gets no subject."""
    for before in BEFORE:
        assert resolve(question, told(before)).standalone == question


QUESTIONS = (
    "Quali sono i gradi delle ustioni?",
    "approfondisci il punto 2",
    "e il terzo?",
    "e nei bambini?",
    "continua",
    "perché?",
    "Come funziona la fotosintesi?",
    "e dove avviene?",
    "What are the stages of sleep?",
    "tell me more about the third",
    "and in children?",
    "how long does it last?",
    "Why?",
    "no, I meant fourteen",
    "and in Peru?",
    "what about sheep?",
    "Explain point 2 in more detail.",
    "non il polpo, la seppia",
    "And then?",
    "if it rains?",
    "e se piove?",
    "why not?",
    "What is the tallest tower in Chile?",
    "Is it safe?",
    "quanto costa?",
    "the animal, I mean",
    "Malta?",
    "e per Pisa?",
)
ANSWERS = (
    DEGREES,
    BLISTERS,
    "",
    "Yes.",
    "Either mediation, arbitration or the court.",
    "1. Call 112 (if it is large).\n2. Cool it (20 min).",
    "The Gran Torre (300 m) in Santiago.",
    "Prague and Vienna are both cheap; Prague is closer.",
)


@given(st.lists(st.tuples(st.sampled_from(QUESTIONS), st.sampled_from(ANSWERS)), min_size=2, max_size=6))
def test_at_most_one_bracket(turns: list[tuple[str, str]]) -> None:
    """However questions follow each other, brackets balance, never nest, and there is one pair at most."""
    standalone = resolve(turns[-1][0], talk(*turns[:-1])).standalone
    marks = "".join(mark for mark in standalone if mark in "()")
    assert marks in ("", "()"), standalone


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from([p for p in PIECES if "(" not in p and ")" not in p]), max_size=6),
            st.sampled_from(ANSWERS),
        ),
        min_size=2,
        max_size=5,
    )
)
def test_at_most_one_bracket_in_any_talk(turns: list[tuple[list[str], str]]) -> None:
    """The same for questions made of the pieces that the rules look for."""
    spoken = [(" ".join(pieces), answer) for pieces, answer in turns]
    standalone = resolve(spoken[-1][0], talk(*spoken[:-1])).standalone
    assert "".join(mark for mark in standalone if mark in "()") in ("", "()"), standalone


@pytest.mark.parametrize(
    ("told", "question"),
    [
        (("Sono nata a Forlì nel 1951.",), "in che anno sono nata?"),
        (("mia zia Nives non sopporta il sedano",), "cosa non sopporta nives?"),
        (("Ho un cane che si chiama Argo.",), "Mi hai detto che il mio cane si chiama Fido, giusto?"),
        (
            ("segna che il signor Berti mi deve 90 euro", "quanto mi deve berti"),
            "Berti ha pagato, non mi deve più nulla",
        ),
        (("mia sorella gioca a pallavolo", "dove gioca mia sorella?"), "sto ancora con marta?"),
        (("uso un iPhone", "che telefono uso?"), "Bologna è cara questa stagione?"),
        (("la riunione è a Lodi", "dov'è la riunione?"), "ricordati che servono otto sedie"),
        (("I was born in Dundee in 1951.",), "in what year was i born?"),
        (("Our choir night is at Ned's on Monday.", "where is choir night?"), "What song have I got to?"),
        (("My husband is called Ravi", "who is my husband?"), "what is the name of my husband's mother?"),
    ],
)
def test_after_what_the_user_told_a_message_with_its_own_subject_is_complete(
    told: tuple[str, ...], question: str
) -> None:
    """What was only noted or given back is no topic: a question about oneself or about a name of the talk stays."""
    assert resolve(question, [PastTurn(n, each, told=True) for n, each in enumerate(told)]).standalone == question


@pytest.mark.parametrize(
    ("told", "question", "meant"),
    [
        (("Mia nipote Ada ha sei anni", "quanti anni ha Ada?"), "e Piero?", "quanti anni ha Piero?"),
        (("My tutor is Mrs Blake", "who is my tutor?"), "when does she come?", "Mrs Blake"),
    ],
)
def test_after_what_the_user_told_a_word_that_points_back_is_still_read(
    told: tuple[str, ...], question: str, meant: str
) -> None:
    """A pronoun or a part that replaces another needs the talk there too."""
    assert meant in resolve(question, [PastTurn(n, each, told=True) for n, each in enumerate(told)]).standalone


@pytest.mark.parametrize(
    ("query", "answer", "told"),
    [
        ("Vivo a Lecce", ITALIAN.noted.format(quote="«Vivo a Lecce»"), True),
        ("Che cos'è la spondilolistesi?", ITALIAN.absent, False),
        ("What is spondylolisthesis?", "The slipping of one vertebra on another.", False),
    ],
)
def test_a_question_without_an_answer_still_has_its_topic(query: str, answer: str, told: bool) -> None:
    """Only what was noted or given back counts as told: what was asked in vain can be asked about further."""
    now = FakeClock().now()
    question, said = Message("t:query", "user", query, now), Message("t:answer", "assistant", answer, now)
    assert past_turn(Turn("t", Owner("default", "anna"), "a", "s", 1, now, question, said)).told is told
