"""An embedder that is away: words answer, it is said, nobody waits for it twice, and it is used when it is back."""

from collections.abc import Sequence
from time import monotonic

import pytest

import ricordo
from ricordo.errors import SettingsError
from ricordo.recall import indexes
from ricordo.recall.embedders import EmbedderChoice, EmbedderUnavailable
from ricordo.recall.embedders.light import LightEmbedder
from ricordo.recall.embedders.selection import EmbeddingsEndpoint, RemoteEmbedder, choose
from ricordo.recall.quantization import Vectors
from ricordo.settings import EMBEDDERS
from ricordo.testing import MemoryStore
from talks import CountingEmbedder, fill, memory, texts

NOWHERE = "http://127.0.0.1:9/v1"


class Away(CountingEmbedder):
    """A remote embedder whose endpoint is down; it learns its dimensions with its first vector."""

    def __init__(self) -> None:
        super().__init__()
        self.down = True
        self.attempts: list[float | None] = []
        self._known = 0

    @property
    def dimensions(self) -> int:
        return self._known

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._made(texts, None)

    def embed_query(self, text: str) -> Vectors:
        row: Vectors = self._made([text], None)[0]
        return row

    def embed_query_within(self, text: str, seconds: float) -> Vectors:
        row: Vectors = self._made([text], seconds)[0]
        return row

    def _made(self, texts: Sequence[str], seconds: float | None) -> Vectors:
        self.attempts.append(seconds)
        if self.down:
            raise ConnectionError
        made = CountingEmbedder(64).embed_passages(texts)
        self._known = made.shape[1]
        return made


def test_a_search_answers_by_words_while_the_endpoint_is_down() -> None:
    """A remote endpoint that never answered costs the meaning alone, and `degraded` names it."""
    remote = RemoteEmbedder(EmbeddingsEndpoint(NOWHERE, "m"), sleep=lambda _: None)
    with memory(embedder=remote, organise="off") as kept:
        kept.session("s", user_id="anna").add_turn("dove dormono i rondoni", "in volo")
        hits = kept.search("rondoni", user_id="anna")
        assert texts(hits)[0] == "dove dormono i rondoni"
        assert f"embeddings endpoint {NOWHERE}" in hits.degraded[0]
        assert remote.dimensions == 0


def test_meaning_is_back_when_the_embedder_is() -> None:
    """What was read without vectors gets them as soon as the embedder answers, and nothing is embedded twice."""
    away = Away()
    with memory(embedder=away, organise="off", recall_messages=0) as kept:
        fill(kept.session("s", user_id="anna"), 3, "gatto")
        assert kept.search("gatto", user_id="anna").degraded
        away.down = False
        hits = kept.search("gatto", user_id="anna")
        assert hits.degraded == ()
        assert any(reason.startswith("meaning") for hit in hits for reason in hit.reasons)
    store = kept.store
    again = Away()
    again.down = False
    with memory(store, embedder=again, organise="off", recall_messages=0) as kept:
        assert kept.search("gatto", user_id="anna").degraded == ()
        assert len(again.attempts) == 2  # one to learn the dimensions, one for the question: no message again


def test_a_chat_tries_once_and_then_leaves_the_embedder_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A context gives the embedder one short attempt, says so, and asks again only after the pause."""
    away = Away()
    with memory(embedder=away, organise="off", max_turns=1) as kept:
        kept._engine.queue.index.lane.close()  # only the chat itself speaks to the embedder here
        fill(kept.session("t", user_id="anna"), 3, "gatto")
        session = kept.session("s", user_id="anna")
        first = session.context("gatto domanda 1")
        assert away.attempts == [1.0]
        assert first.receipt.degraded == (
            "found by words only: the embedder deterministic-64@1 failed (ConnectionError)",
        )
        assert "gatto domanda 1" in first.prompt
        assert session.context("gatto domanda 2").receipt.degraded == first.receipt.degraded
        assert away.attempts == [1.0]
        away.down = False
        now = monotonic()
        monkeypatch.setattr(indexes, "monotonic", lambda: now + indexes.COOLDOWN + 1)
        assert session.context("gatto domanda 2").receipt.degraded == ()
        assert away.attempts == [1.0, 1.0]


def test_topics_are_listed_though_they_cannot_be_organised(caplog: pytest.LogCaptureFixture) -> None:
    """The shelf is shown as it is; `degraded` and the log say that it is not up to date."""
    away = Away()
    away.down = False
    with memory(embedder=away) as kept:
        session = kept.session("s", user_id="anna")
        fill(session, 2, "gatto")
        before = session.topics()
        assert (len(before), before.degraded) == (1, ())
        kept.settle(10)
        away.down = True
        session.add_turn("motore pistone?", "benzina")
        after = session.topics()
        assert [topic.id for topic in after] == [topic.id for topic in before]
        assert after.degraded == ("topics are not up to date: ConnectionError",)
        assert "topics are not up to date" in caplog.text


def test_an_embedder_that_cannot_be_made_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A named embedder without weights leaves the words, says the remedy, and is taken when it can be made."""
    missing = True

    def choosing(setting: str) -> EmbedderChoice:
        if missing:
            raise EmbedderUnavailable("the weights are not here: run `ricordo weights --fetch`")
        return EmbedderChoice(LightEmbedder(), "chosen by setting")

    monkeypatch.setattr("ricordo.recall.embedders.selection.choose", choosing)
    monkeypatch.setattr("ricordo.recall.embedders.selection._shared", {})
    with memory(MemoryStore(), embedder=None, organise="off") as kept:
        kept.session("s", user_id="anna").add_turn("dove dormono i rondoni", "in volo")
        hits = kept.search("rondoni", user_id="anna")
        assert texts(hits)[0] == "dove dormono i rondoni"
        assert "run `ricordo weights --fetch`" in hits.degraded[0]
        assert "words only" in kept.stats().embedder
        missing = False
        now = monotonic()
        monkeypatch.setattr(indexes, "monotonic", lambda: now + indexes.TRY_AGAIN + 1)
        assert kept.search("rondoni", user_id="anna").degraded == ()
        assert kept.stats().embedder.startswith("light")


@pytest.mark.parametrize("setting", ["nonsense", "", "ftp://host#m", "https://host/v1", "https://host/v1#"])
def test_a_name_that_is_no_embedder_is_refused_at_once(setting: str) -> None:
    """A misspelt embedder is a SettingsError when the memory is opened, and names the setting."""
    with pytest.raises(SettingsError, match="embedder"):
        ricordo.open("memory:", embedder=setting)


@pytest.mark.parametrize("setting", [*EMBEDDERS, f"{NOWHERE}#m"])
def test_names_are_checked_without_loading_anything(setting: str) -> None:
    """Every embedder that can be chosen opens, whether its weights are here or not."""
    with ricordo.open("memory:", embedder=setting) as kept:
        assert kept.stats().embedder == f"{setting} (not loaded yet)"


def test_the_names_are_those_that_can_be_chosen() -> None:
    """The list that is checked at opening and the one that embedders are made from are the same."""
    with pytest.raises(Exception, match=", ".join(EMBEDDERS)):
        choose("nonsense")
