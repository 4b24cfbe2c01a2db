"""Whether a message says enough about a question to take room in a prompt: two measures go in, a verdict comes out.

A score only tells which message stands nearest, and something always does. So the verdict rests on what can be told
without the others: how much of the question a turn says in its own words, or how near the message is in meaning, on
the scale of the embedder (docs/recall.md says how the lines were measured).
"""

from ricordo.recall.ranking import Hit

LEAST_SAID = 0.25  # of the question's words, a rare one counting more

# Cosines that hardly any message reaches for a question about something else, and most true ones do.
_LINES = {
    "arctic-s-int8+use-multilingual-v3": 0.44,
    "arctic-s-int8": 0.64,
    "use-multilingual-v3": 0.3,
    "light-256": 0.3,
}
_UNMEASURED = 0.6


def line_for(embedder: str) -> float:
    """The cosine from which on meaning alone speaks, for the embedder of that name, whatever its weights' identity."""
    return _LINES.get("+".join(part.partition("@")[0] for part in embedder.split("+")), _UNMEASURED)


def speaks(hit: Hit, embedder: str) -> bool:
    """Whether a hit's own turn says enough of what is asked, or its meaning is near enough."""
    return hit.said >= LEAST_SAID or (hit.cosine is not None and hit.cosine >= line_for(embedder))
