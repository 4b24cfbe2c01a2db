"""Staying, coming back, or opening a topic."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from topic_samples import a_topic

from ricordo.recall.embedders.light import LightEmbedder
from ricordo.recall.quantization import bytes_of, vector_of
from ricordo.records.derived import Topic
from ricordo.topics.assign import Closeness, TalkState, TopicMessage, decide, similarity
from ricordo.topics.session_topic import title_of
from ricordo.topics.thresholds import Vector, first_centre, moved_centre, scale, scale_for

SCALE = scale_for("never measured")
texts = st.text(max_size=120)


@st.composite
def unit_vectors(draw: st.DrawFn) -> Vector:
    """Directions in four dimensions."""
    angles = [draw(st.floats(min_value=-math.pi, max_value=math.pi)) for _ in range(3)]
    a, b, c = angles
    numbers = [math.cos(a), math.sin(a) * math.cos(b), math.sin(a) * math.sin(b) * math.cos(c)]
    numbers.append(math.sin(a) * math.sin(b) * math.sin(c))
    return np.array(numbers, dtype=np.float32)


said = st.builds(TopicMessage, texts, unit_vectors(), st.sampled_from(["user", "assistant"]))
talks = st.builds(
    TalkState,
    st.just("t0"),
    st.lists(said, min_size=1, max_size=6).map(tuple),
    st.integers(min_value=1, max_value=40),
    st.builds(Closeness, st.floats(min_value=0, max_value=10), st.integers(min_value=10, max_value=30)),
)
topic_rows = st.lists(unit_vectors(), max_size=6).map(
    lambda vectors: [replace(a_topic(f"t{n}"), centre=bytes_of(vector)) for n, vector in enumerate(vectors)]
)


@given(said, talks, topic_rows)
def test_a_follow_up_stays_whatever_its_words(message: TopicMessage, talk: TalkState, topics: list[Topic]) -> None:
    """A message that refers to the talk so far never leaves the active topic."""
    decision = decide(message, talk, topics, SCALE, follow_up="talk")
    assert (decision.topic_id, decision.reason) == ("t0", "follow-up")


@given(said, talks, topic_rows)
def test_a_message_about_the_past_never_opens_a_topic(
    message: TopicMessage, talk: TalkState, topics: list[Topic]
) -> None:
    """What points at something said before goes to a topic that exists: the active one or one that was left."""
    decision = decide(message, talk, topics, SCALE, follow_up="past")
    assert decision.topic_id in {talk.topic_id, *(topic.id for topic in topics)}


@given(said, talks, topic_rows)
def test_a_decision_names_a_known_topic_or_none(message: TopicMessage, talk: TalkState, topics: list[Topic]) -> None:
    """A message joins the active topic, one of those offered, or opens one; the reason fits."""
    decision = decide(message, talk, topics, SCALE)
    others = {topic.id for topic in topics} - {talk.topic_id}
    assert {
        "close": decision.topic_id == talk.topic_id,
        "returns": decision.topic_id in others,
        "new": decision.topic_id is None,
    }[decision.reason]
    assert (decision.topic_id is None) == (decision.margin < 0)


@given(said, talks, topic_rows)
def test_the_same_question_gets_the_same_answer(message: TopicMessage, talk: TalkState, topics: list[Topic]) -> None:
    """Deciding twice decides the same, and changes nothing it was given."""
    assert decide(message, talk, topics, SCALE) == decide(message, talk, topics, SCALE)


@given(said, talks, st.floats(min_value=-1, max_value=1), st.floats(min_value=-1, max_value=1))
def test_a_lower_threshold_never_leaves_more(message: TopicMessage, talk: TalkState, one: float, other: float) -> None:
    """What stays at a high threshold stays at a lower one too."""
    low, high = sorted((one, other))
    if decide(message, talk, [], SCALE.at(high)).topic_id == "t0":
        assert decide(message, talk, [], SCALE.at(low)).topic_id == "t0"


@given(texts, talks, unit_vectors(), unit_vectors())
def test_a_closer_message_belongs_more(text: str, talk: TalkState, one: Vector, other: Vector) -> None:
    """With the same words, the vector nearer to every recent message never belongs less."""
    recent = np.stack([each.vector for each in talk.recent[-4:]])
    if bool((recent @ one >= recent @ other).all()):
        nearer = similarity(TopicMessage(text, one), talk, SCALE)
        assert nearer >= similarity(TopicMessage(text, other), talk, SCALE) - 1e-6


@given(texts)
def test_a_title_is_one_short_visible_line(text: str) -> None:
    """Whatever the message, its title has 1 to 80 characters, on one line, without control characters."""
    title = title_of(text)
    assert 1 <= len(title) <= 80
    assert title == title.strip()
    assert "\n" not in title
    assert "\u202e" not in title


@given(st.lists(unit_vectors(), min_size=1, max_size=40))
def test_a_centre_stays_a_direction(vectors: list[Vector]) -> None:
    """However many messages move it, a centre has length one (or none, when messages cancel out)."""
    centre = first_centre(vectors[0])
    for number, vector in enumerate(vectors[1:], start=1):
        centre = moved_centre(centre, number, vector)
    length = float(np.linalg.norm(vector_of(centre)))
    assert length == pytest.approx(1.0, abs=1e-4) or length < 1e-6


@given(st.lists(unit_vectors(), min_size=2, max_size=30))
def test_closeness_shifts_within_what_it_saw(vectors: list[Vector]) -> None:
    """A session moves the line towards its own mean cosine, never beyond it."""
    closeness = Closeness()
    for before, message in pairwise(vectors):
        closeness = closeness.after(before, message)
    own = closeness.total / closeness.count - SCALE.mean
    assert min(0.0, own) - 1e-6 <= closeness.shift(SCALE) <= max(0.0, own) + 1e-6


def test_the_first_message_opens_a_topic() -> None:
    """Without any topic there is nothing to join."""
    decision = decide(TopicMessage("ciao", np.eye(4, dtype=np.float32)[0]), None, [], SCALE)
    assert (decision.topic_id, decision.reason) == (None, "first")


def test_signs_of_talk_move_the_similarity() -> None:
    """At the same cosine an answer belongs more than a statement, and a greeting out of the blue belongs less."""
    vectors = np.eye(4, dtype=np.float32)
    message = TopicMessage("in the evening after work with friends", vectors[1])
    asked = TalkState("t0", (TopicMessage("hello", vectors[0]), TopicMessage("when do you go there?", vectors[0])), 4)
    told = TalkState("t0", (TopicMessage("hello", vectors[0]), TopicMessage("I go there often.", vectors[0])), 4)
    opening = replace(message, text="by the way " + message.text)
    assert similarity(message, asked, SCALE) > similarity(message, told, SCALE)
    assert similarity(opening, told, SCALE) < similarity(message, told, SCALE)


def test_between_people_a_message_that_opens_a_subject_leaves_more_easily() -> None:
    """What the vector of a message says by itself counts between people; to an assistant whole turns are judged."""
    embedder, measured = LightEmbedder(), scale_for(LightEmbedder().name)
    plain = replace(measured, subjects=None)
    opening, following, before = embedder.embed_passages(["Who invented the radio?", "and with milk?", "It was cold."])
    for role in ("user", "assistant"):
        talk = TalkState("t0", (TopicMessage("It was cold.", before, role),), 4)
        moved = [
            similarity(TopicMessage(text, vector), talk, measured) - similarity(TopicMessage(text, vector), talk, plain)
            for text, vector in (("Who invented the radio?", opening), ("and with milk?", following))
        ]
        assert moved[0] < moved[1] if role == "user" else moved == [0, 0]


def test_questions_to_an_assistant_leave_less_easily() -> None:
    """Asking is the rule when talking to an assistant, so a question counts less there than between people."""
    vectors = np.eye(4, dtype=np.float32)
    question = TopicMessage("how long does the second phase usually last?", vectors[1])
    person = TalkState("t0", (TopicMessage("It has two phases.", vectors[0], "user"),), 4)
    assistant = TalkState("t0", (TopicMessage("It has two phases.", vectors[0], "assistant"),), 4)
    assert similarity(question, assistant, SCALE) > similarity(question, person, SCALE)


@given(said, talks)
def test_a_question_mark_tells_nothing_to_an_assistant(message: TopicMessage, talk: TalkState) -> None:
    """After an assistant's message the same words leave as easily with a question mark as without."""
    talk = replace(talk, recent=(*talk.recent, TopicMessage("Done.", talk.recent[0].vector, "assistant")))
    bare = replace(message, text=message.text.replace("?", ""))
    asked = replace(bare, text=bare.text + "?")
    assert similarity(bare, talk, SCALE) == similarity(asked, talk, SCALE)


@given(said, talks, st.floats(min_value=-50, max_value=0))
def test_changes_of_subject_do_not_hide_the_next(message: TopicMessage, talk: TalkState, total: float) -> None:
    """However far apart the messages of a chat with an assistant have been, staying gets no easier by it."""
    known = scale_for("light-256")
    talk = replace(talk, recent=(*talk.recent, TopicMessage("Done.", talk.recent[0].vector, "assistant")))
    fresh = similarity(message, replace(talk, closeness=Closeness()), known)
    assert similarity(message, replace(talk, closeness=Closeness(total, 40)), known) == fresh


def test_words_that_add_to_what_was_said_stay_longer() -> None:
    """Put to an assistant, "and for dinner" belongs more than "for dinner", in both languages."""
    vectors = np.eye(4, dtype=np.float32)
    talk = TalkState("t0", (TopicMessage("It has two phases.", vectors[0], "assistant"),), 4)
    for adding, plain in (("and for dinner", "now for dinner"), ("e per cena", "ora per cena")):
        adds, opens = TopicMessage(adding, vectors[1]), TopicMessage(plain, vectors[1])
        assert similarity(adds, talk, SCALE) > similarity(opens, talk, SCALE)


@pytest.mark.parametrize("mark", ["?", ""])
def test_unrelated_requests_to_an_assistant_do_not_pile_up(mark: str) -> None:
    """Requests about different things open topics all along a chat, with question marks and without."""
    chat = [
        ("Come si fa la pizza napoletana", "Impasta farina, acqua, sale e lievito."),
        ("Quali pianeti hanno anelli attorno", "Saturno, Giove, Urano e Nettuno."),
        ("Scrivi una lettera al condominio", "Gentili vicini, con la presente vi informo."),
        ("Riassumi il contratto d'affitto allegato", "Dura quattro anni, con disdetta di sei mesi."),
        ("Chi vinse la battaglia di Canne", "Annibale, contro i consoli romani."),
        ("Traduci buonasera in giapponese", "Konbanwa."),
        ("Quanto costa cambiare le gomme invernali", "Circa trecento euro."),
        ("Consigliami un romanzo giallo svedese", "Uomini che odiano le donne."),
    ]
    embedder = LightEmbedder()
    known = scale_for(embedder.name)
    talk: TalkState | None = None
    closeness = Closeness()
    opened = 0
    for question, answer in chat:
        asked, told = embedder.embed_passages([question + mark, answer])
        decision = decide(TopicMessage(question + mark, asked), talk, [], known)
        opened += decision.topic_id is None
        if talk is not None:
            closeness = closeness.after(talk.recent[-1].vector, asked)
        recent = talk.recent if talk is not None and decision.topic_id else ()
        both = (*recent, TopicMessage(question + mark, asked), TopicMessage(answer, told, "assistant"))
        talk = TalkState(question, both[-4:], len(both), closeness)
    assert opened >= len(chat) - 2


def test_an_explicit_return_leaves_what_is_talked_about() -> None:
    """A message that points into the past goes to the left topic it names, though the active one is closer."""
    vectors = np.eye(4, dtype=np.float32)
    left = a_topic("left", direction=2, title="How do I bake sourdough bread?")
    active = a_topic("t0", direction=0, title="How do I change a flat tyre?")
    talk = TalkState("t0", (TopicMessage("Tighten the wheel nuts.", vectors[0], "assistant"),), 6)
    message = TopicMessage("Let's go back to the sourdough", vectors[0])
    decision = decide(message, talk, [active, left], SCALE, follow_up="past")
    assert decision.topic_id == "left"
    about_this = replace(message, text="You said the nuts must be tight")
    assert decide(about_this, talk, [active, left], SCALE, follow_up="past").topic_id == "t0"


def test_a_left_topic_that_is_named_and_nearer_wins_over_a_habit_of_staying() -> None:
    """Where both staying and coming back would do, the topic whose centre is nearer and whose title is named wins."""
    vectors = np.eye(4, dtype=np.float32)
    left = a_topic("left", direction=2, title="Come si prepara il ragù?")
    active = a_topic("t0", direction=0, title="Un viaggio a Lisbona")
    talk = TalkState("t0", (TopicMessage("Vuoi altro per il viaggio?", vectors[0], "assistant"),), 6)
    vector = 0.55 * vectors[0] + 0.835 * vectors[2]
    assert similarity(TopicMessage("Per il ragù, che pasta metto?", vector), talk, SCALE) >= SCALE.threshold
    assert decide(TopicMessage("Per il ragù, che pasta metto?", vector), talk, [active, left], SCALE).topic_id == "left"


def test_what_leaves_comes_back_more_easily_to_a_topic_it_names() -> None:
    """Between the two lines a message that leaves an assistant's talk returns where its words point, else opens."""
    vectors = np.eye(4, dtype=np.float32)
    left = a_topic("left", direction=2, title="Freni della macchina")
    active = a_topic("t0", direction=0, title="Un viaggio a Lisbona")
    talk = TalkState("t0", (TopicMessage("Da maggio fa caldo.", vectors[0], "assistant"),), 6)
    between = 0.72 * vectors[2] + 0.694 * vectors[3]
    assert SCALE.threshold < 0.72 < SCALE.return_threshold
    named = decide(
        TopicMessage("Il meccanico dice che adesso i freni vanno bene", between), talk, [active, left], SCALE
    )
    assert (named.topic_id, named.reason) == ("left", "returns")
    unnamed = decide(
        TopicMessage("Il dentista dice che adesso i molari vanno bene", between), talk, [active, left], SCALE
    )
    assert unnamed.topic_id is None


def test_a_named_topic_is_returned_to() -> None:
    """A message with a topic's centre and its title's word goes back to it, archived or not, not to the active one."""
    vectors = np.eye(4, dtype=np.float32)
    left = replace(a_topic("left", direction=2, title="Cos'è la spondilolistesi?"), state="archived")
    active = a_topic("t0", direction=0)
    talk = TalkState("t0", (TopicMessage("La ricetta è pronta.", vectors[0], "assistant"),), 6)
    message = TopicMessage("Torniamo alla spondilolistesi: quando si opera?", vectors[2])
    decision = decide(message, talk, [active, left], SCALE)
    assert (decision.topic_id, decision.reason) == ("left", "returns")


def test_centres_of_another_embedder_stand_aside() -> None:
    """A topic whose centre has other dimensions is not compared, so it is not joined by chance."""
    other = replace(a_topic("other"), centre=bytes_of(np.ones(7, dtype=np.float32)))
    decision = decide(TopicMessage("ciao", np.eye(4, dtype=np.float32)[0]), None, [other], SCALE)
    assert decision.topic_id is None


def test_a_talk_in_two_topics_with_a_real_embedder() -> None:
    """Messages about one thing stay together, a new thing opens a topic, in Italian, with no weights at all."""
    embedder = LightEmbedder()
    chat = [
        ("Qual è la ricetta della pasta con le zucchine?", "Pasta con zucchine, menta e pecorino."),
        ("Posso fare la pasta con le zucchine senza pecorino?", "Sì, la pasta con zucchine viene bene lo stesso."),
        ("Senti, quanto costa un treno per Milano?", "Tra 40 e 90 euro."),
    ]
    talk: TalkState | None = None
    reasons = []
    for question, answer in chat:
        asked, told = embedder.embed_passages([question, answer])
        decision = decide(TopicMessage(question, asked), talk, [], scale_for(embedder.name))
        reasons.append(decision.reason)
        talk = TalkState(question, (TopicMessage(question, asked), TopicMessage(answer, told, "assistant")), 2)
    assert reasons == ["first", "close", "new"]


def test_scale_of_a_spread_embedder() -> None:
    """The lines of a scale lie above its mean, the one for coming back above the one for staying."""
    made = scale(0.3, 0.1)
    assert made.mean < made.threshold < made.return_threshold


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("What's an ox-bow lake?", "ox-bow lake"),
        ("What was the Dawes Plan?", "Dawes Plan"),
        ("Quanto dista la Luna?", "Luna"),
        ("ho appena comprato un ukulele, come lo accordo", "ukulele"),
        ("E il pane di Altamura invece com'è?", "pane di Altamura"),
        ("Come si calcola il volume di un cono?", "volume di un cono"),
        ("i'm 41 and want to learn the cello. too late?", "cello"),
        ("Why does bread go stale?", "bread going stale"),
        ("why does Lady Macbeth sleepwalk", "Lady Macbeth sleepwalking"),
        ("Why do vinyl records crackle?", "vinyl records crackling"),
        ("Perché il pane diventa raffermo?", "pane raffermo"),
        ("Why do leaves change colour in autumn?", "leaves changing colour in autumn"),
        ("Perché le foglie cambiano colore in autunno?", "foglie che cambiano colore"),
        ("How do vaccines train the immune system?", "vaccines training the immune system"),
        ("Does coffee stunt growth?", "coffee stunting growth"),
        ("Il caffè fa male al cuore?", "caffè"),
        ("Where do swallows go in winter?", "swallows in winter"),
        ("Quali vaccini servono per il Kenya?", "vaccini per il Kenya"),
        ("How does a heat pump work?", "heat pump"),
        ("Why does my laptop keep overheating?", "laptop overheating"),
        ("Perché il mio portatile si surriscalda?", "portatile che si surriscalda"),
        ("Perché il cielo è blu?", "cielo blu"),
        ("Quando è caduto l'Impero romano?", "Impero romano"),
        ("Quali sono i sintomi dell'influenza?", "sintomi dell'influenza"),
        ("Mi aiuti a organizzare un viaggio a Lisbona?", "viaggio a Lisbona"),
        ("How can I get rid of ants in the kitchen?", "ants in the kitchen"),
        ("My name is Anna and I live in Turin.", "Anna"),
        ("Mi chiamo Anna e vivo a Torino.", "Anna"),
        ("Il vaccino Pfizer va bene?", "vaccino Pfizer"),
        ("Why does coffee keep you awake?", "coffee keeping you awake"),
        ("What are the stages of sleep?", "stages of sleep"),
        ("I moved to Milan last week", "Milan"),
        ("La settimana scorsa mi sono trasferita a Milano", "trasferita a Milano"),
        ("Venerdì viene mia sorella Clara", "sorella Clara"),
        ("Why do cats purr?", "cats purring"),
        ("Why did the Titanic sink?", "Titanic sinking"),
        ("What's a shooting star made of?", "shooting star"),
        ("How do I get a white ring off an oak table?", "white ring off oak table"),
        ("How deep can a sperm whale dive?", "sperm whale diving"),
        ("lost my passport in the wash. literally.", "passport in the wash"),
        ("Che prodotto uso contro la muffa in bagno?", "prodotto contro la muffa"),
        ("Che cuffie prendo per registrare a casa?", "cuffie per registrare"),
        ("How far ahead should I book the Colosseum?", "Colosseum"),
        ("How do I count varroa mites?", "varroa mites"),
        ("How do I revise for history in three weeks?", "history in three weeks"),
        ("What do you do about jet lag?", "jet lag"),
        ("Come capisco se il pesce è fresco?", "pesce fresco"),
        ("Da dove comincio con Kurosawa?", "Kurosawa"),
        ("Come divento volontario in ambulanza?", "volontario in ambulanza"),
    ],
)
def test_a_title_names_the_subject(message: str, title: str) -> None:
    """Question words, contractions and the verb before an article are no part of a title; it is a name, no sentence."""
    assert title_of(message) == title
