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
