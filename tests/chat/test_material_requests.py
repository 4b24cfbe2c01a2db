"""Everyday requests about documents: which there are, what one says, lists asked for in other words."""

import re

import pytest

import ricordo
from ricordo.chat import Chat, ChatRequest
from ricordo.chat.question import dialogue_act, document_to_summarise
from ricordo.cli.story import lessons
from ricordo.documents.library import Library
from ricordo.records.turns import library_of

TITLES = {each.id: each.title for each in lessons()}
ABSENT = re.compile("holds no answer|non c'è una risposta|Noted|Annotato|no conversation|nessuna conversazione")


@pytest.fixture(scope="module")
def chat() -> Chat:
    """A chat over the six lessons of the demo."""
    memory = ricordo.open("memory:", embedder="light")
    library = Library(memory, memory.store.documents)
    for lesson in lessons():
        library.add(library_of(memory.settings.tenant_id), lesson.title, lesson.text, "markdown", lesson.id)
    return Chat(memory, passages=library)


@pytest.mark.parametrize(
    "question",
    [
        "What documents do you have?",
        "which files can you read?",
        "how many lessons are there?",
        "What's in the material?",
        "what can i ask you about?",
        "list the documents",
        "quali documenti hai?",
        "Cosa c'è nel materiale?",
        "su cosa posso farti domande?",
        "quanti documenti ci sono?",
        "elencami i documenti",
    ],
)
def test_the_documents_are_named(chat: Chat, question: str) -> None:
    """Titles and their number, instead of a refusal."""
    told = chat.ask(ChatRequest(question, "titles")).message
    assert all(title in told for title in TITLES.values()), told
    assert "6" in told


def test_without_documents_it_says_what_it_answers_from() -> None:
    """No list of nothing."""
    with ricordo.open("memory:", embedder="light", locale="en") as memory:
        chat = Chat(memory, passages=Library(memory, memory.store.documents))
        assert "Add a document" in chat.ask(ChatRequest("What documents do you have?", "anna")).message


@pytest.mark.parametrize(
    "question",
    [
        "What documents do I need for a visa?",
        "quali documenti servono per il passaporto?",
        "what is in the mayonnaise?",
        "cosa c'è nel pane?",
    ],
)
def test_other_questions_are_not_for_the_documents(question: str) -> None:
    """Only a question for the documents themselves is."""
    assert dialogue_act(question).act == "question"


@pytest.mark.parametrize(
    ("question", "document", "others"),
    [
        ("Summarise the document on low back pain.", "back-pain", ("Low back pain is pain", "Staying active")),
        ("Summarise the material on bread.", "bread", ()),
        ("can you give me a summary of the lesson on sleep and memory", "sleep-and-memory", ()),
        ("riassumi la lezione sulle ustioni", "ustioni", ("lesione della pelle",)),
        ("fammi un riassunto del documento sulla fotosintesi", "fotosintesi", ()),
        ("Riassumi le ustioni", "ustioni", ()),
    ],
)
def test_a_document_is_summarised(chat: Chat, question: str, document: str, others: tuple[str, ...]) -> None:
    """Its main points in its order, each with its source."""
    answer = chat.ask(ChatRequest(question, f"summary-{document}"))
    cited = answer.metadata["citations"]
    assert len(cited) >= 3
    assert {each.partition("#")[0] for each in cited} == {document}
    assert all(each in answer.message for each in others)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("summarise the document", ""),
        ("Summarise the document on whales.", ""),
        ("Summarise this conversation.", None),
        ("riassumi quello che abbiamo detto sulle ustioni", None),
        ("Riassuma la conversazione precedente.", None),
        ("What are the stages of sleep?", None),
    ],
)
def test_what_is_no_summary_of_a_document(question: str, wanted: str | None) -> None:
    """A talk is summarised as a talk; of several documents none is chosen."""
    assert document_to_summarise(question, TITLES) == wanted


@pytest.mark.parametrize(
    ("question", "quotes"),
    [
        (
            "List the warning signs that require immediate referral.",
            ("numbness", "urine", "weakness in a leg", "fever"),
        ),
        (
            "Please list the warning signs which need a doctor at once",
            ("numbness", "urine", "weakness in a leg", "fever"),
        ),
        ("quali sono i passaggi del primo soccorso?", ("Raffreddare", "Togliere", "Coprire", "Chiamare il 112")),
        ("elencami i passaggi del primo soccorso", ("Raffreddare", "Togliere", "Coprire", "Chiamare il 112")),
        ("che cosa bisogna fare per prima cosa in caso di ustione?", ("Raffreddare", "Chiamare il 112")),
        ("cosa si fa per un'ustione?", ("Raffreddare", "Chiamare il 112")),
        ("Che cosa fare in caso di ustione?", ("Raffreddare", "Chiamare il 112")),
        ("What is the Meyerding scale?", ("grades the slip", "up to 25", "26 to 50", "51 to 75", "76 to 100")),
        ("How many grades are there in the Meyerding scale?", ("up to 25", "76 to 100")),
        (
            "Che differenza c'è tra la reazione di Maillard e la caramellizzazione?",
            ("amminoacidi delle proteine", "160 °C"),
        ),
    ],
)
def test_a_request_in_everyday_words_is_answered_whole(chat: Chat, question: str, quotes: tuple[str, ...]) -> None:
    """The list that is meant, with all its items; both sides of a comparison."""
    told = chat.ask(ChatRequest(question, f"request-{hash(question)}")).message
    assert all(each in told for each in quotes), told


@pytest.mark.parametrize("question", ["What is the rule of nines?", "Che cos'è la scala Richter?"])
def test_a_term_is_not_defined_by_half_of_it(chat: Chat, question: str) -> None:
    """ "Nine cases out of ten" is no rule of nines."""
    assert ABSENT.search(chat.ask(ChatRequest(question, "terms")).message)


@pytest.mark.parametrize(
    ("first", "then", "quote"),
    [
        ("Quali sono le fasi della fotosintesi?", "E nei bambini?", ""),
        ("Che cos'è la maionese?", "e la besciamella?", ""),
        ("What is gluten?", "And in children?", ""),
        ("Come si tratta un'ustione?", "E nei bambini?", "18 %"),
    ],
)
def test_a_new_subject_after_an_answer_needs_words_of_its_own(chat: Chat, first: str, then: str, quote: str) -> None:
    """Where the material says nothing of it the points before are not repeated."""
    user = f"follow-{first}"
    began = chat.ask(ChatRequest(first, user))
    told = chat.ask(ChatRequest(then, user, session_id=began.session_id)).message
    assert quote in told if quote else re.search("holds no answer|non c'è una risposta|no more", told), told
