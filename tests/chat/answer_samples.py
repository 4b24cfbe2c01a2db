"""Chunks, questions and answers to test with."""

from hypothesis import strategies as st

from ricordo.records.turns import Chunk

_WORDS = ("acqua", "luce", "pelle", "bread", "water", "ustione", "perché", "because", "is", "è", "due", "the", "oven")
SENTENCES = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=12).map(lambda w: " ".join(w).capitalize() + ".")
PARAGRAPHS = st.lists(SENTENCES, min_size=1, max_size=4).map(" ".join)
LISTS = st.lists(SENTENCES, min_size=1, max_size=5).map(lambda points: "\n".join(f"- {point}" for point in points))
TABLES = st.lists(SENTENCES, min_size=1, max_size=3).map(
    lambda rows: "| a |\n|---|\n" + "\n".join(f"| {r} |" for r in rows)
)
HEADINGS = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=3).map(lambda words: "## " + " ".join(words))
TEXTS = st.one_of(
    st.lists(st.one_of(PARAGRAPHS, PARAGRAPHS, LISTS, TABLES, HEADINGS), min_size=1, max_size=5).map("\n\n".join),
    st.text(max_size=120),
)
IDS = st.sampled_from(["doc#1a2b", "doc#3c4d", "altro#9f00", "chunk-1", "7", "a, b"])
CHUNKS = st.lists(st.builds(Chunk, IDS, TEXTS), max_size=6, unique_by=lambda chunk: chunk.id)
QUESTIONS = st.one_of(
    st.sampled_from(
        [
            "Che cos'è un'ustione?",
            "Perché la pelle è rossa?",
            "What is bread?",
            "Why does water boil?",
            "Quali sono i gradi?",
            "How do I treat it?",
            "continua",
        ]
    ),
    SENTENCES,
    st.text(max_size=60),
)
LANGUAGES = st.sampled_from(["it", "en"])
