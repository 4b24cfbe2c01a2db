"""Messages for the tests of recall: short to write, and strategies for the laws."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from ricordo.recall.embedders.light import DeterministicEmbedder
from ricordo.recall.evidence import terms
from ricordo.recall.index import OwnerIndex, Row
from ricordo.recall.index_state import ends_with_question, indexed_text, shows, speaker_in
from ricordo.recall.quantization import vectors_to_blobs

START = datetime(2025, 3, 1, 9, 0, tzinfo=UTC)
NOW = datetime(2025, 11, 12, 15, 0, tzinfo=UTC)  # a Wednesday
EMBEDDER = DeterministicEmbedder(16)


def message(
    number: int,
    text: str,
    *,
    session: str = "s",
    role: str = "user",
    name: str | None = None,
    at: datetime | None = None,
    embedded: bool = True,
    agent: str = "tutor",
    topic: str | None = None,
    tags: frozenset[str] = frozenset(),
) -> Row:
    """A row as the product would make it from a stored message."""
    speaker = name or speaker_in(text)
    indexed = indexed_text(text, speaker)
    vector = vectors_to_blobs(EMBEDDER.embed_passages([indexed]))[0] if embedded else None
    moment = at or START + timedelta(hours=number)
    signs = ends_with_question(text), shows(text)
    return Row(
        str(number), session, number, 0, moment, role, terms(indexed), vector, agent, speaker, topic, tags, *signs
    )


def index_of(*rows: Row) -> OwnerIndex:
    return OwnerIndex(EMBEDDER.dimensions, rows)


words = st.sampled_from(
    [
        "sea",
        "mountain",
        "cat",
        "dog",
        "house",
        "mare",
        "monte",
        "gatto",
        "cane",
        "casa",
        "went",
        "bought",
        "2023",
        "DNT-4471",
        "Anna",
    ]
)
said = st.lists(words, max_size=6).map(" ".join)


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """A few messages over sessions, roles, agents, topics, tags and times, some not embedded yet."""
    return [
        message(
            number,
            draw(said | st.text(max_size=20)),
            session=draw(st.sampled_from(["a", "b"])),
            role=draw(st.sampled_from(["user", "assistant"])),
            name=draw(st.sampled_from([None, "Anna", "Marco Rossi"])),
            at=START + timedelta(days=draw(st.integers(0, 300))),
            embedded=draw(st.booleans()),
            agent=draw(st.sampled_from(["tutor", "maestro"])),
            topic=draw(st.sampled_from([None, "t1", "t2"])),
            tags=draw(st.frozensets(st.sampled_from(["work", "home"]))),
        )
        for number in range(draw(st.integers(0, 12)))
    ]
