"""Answers under way: whoever follows gets all of it, from anywhere, however threads and readers take turns."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.chat.response import ChatResponse, Delta, Done
from ricordo.errors import ConflictError
from ricordo.records.turns import Owner
from ricordo.server import streams
from ricordo.server.problems import error_body
from ricordo.server.streams import KEEPALIVE, AnswerRegistry, AnswerStream, StreamEvent, TooManyAnswers

ANNA, BRUNO = Owner("acme", "anna"), Owner("acme", "bruno")


async def read(answer: AnswerStream, after: int, slowly: bool) -> list[StreamEvent]:
    """All that comes after a number."""
    found = []
    async for sent in answer.follow(after):
        found.append(sent)
        if slowly:
            await asyncio.sleep(0)
    return found


@given(
    count=st.integers(0, 12),
    readers=st.lists(st.tuples(st.integers(0, 14), st.booleans()), min_size=1, max_size=5),
    late=st.booleans(),
)
def test_every_reader_gets_everything_once(count: int, readers: list[tuple[int, bool]], late: bool) -> None:
    """Events come in order and without a gap to each of many readers, and every reader comes to an end."""

    async def law() -> None:
        answer = AnswerStream(ANNA, "t1")

        def write() -> None:
            for number in range(count):
                answer.add("delta", {"text": str(number)})
            answer.finish()

        thread = threading.Thread(target=write)
        if not late:
            thread.start()
        tasks = [asyncio.create_task(read(answer, after, slowly)) for after, slowly in readers]
        if late:
            await asyncio.sleep(0)
            thread.start()
        found = await asyncio.wait_for(asyncio.gather(*tasks), 20)
        thread.join()
        for (after, _), got in zip(readers, found, strict=True):
            assert [sent.number for sent in got] == list(range(after + 1, count + 1))

    asyncio.run(law())


def test_silence_is_filled_so_that_nobody_hangs_up() -> None:
    """Where nothing comes for a while a reader gets a sign of life."""

    async def run() -> None:
        answer = AnswerStream(ANNA, "t1")
        following = answer.follow(keepalive=0.01)
        assert await anext(following) is KEEPALIVE
        answer.add("delta", {})
        answer.finish()
        rest = [sent async for sent in following]
        assert [sent.number for sent in rest if sent is not KEEPALIVE] == [1]

    asyncio.run(run())


def done(text: str = "x") -> Done:
    """The end of an answer."""
    return Done(ChatResponse("q", text, (), "other", 0.0, "s1"))


def test_answers_are_their_owners_and_are_let_go() -> None:
    """Nobody finds another's answer; what was forgotten is gone; a closed pool refuses."""

    async def run() -> None:
        with ThreadPoolExecutor(2) as pool:
            answers = AnswerRegistry(pool, error_body, limit=2)
            first = answers.begin(ANNA, "t1", lambda stop: iter([Delta("a"), done()]), "asked")  # type: ignore[arg-type, return-value]
            await read(first, 0, False)
            assert answers.find(BRUNO, "t1") is None
            assert not answers.stop(BRUNO, "t1")
            assert answers.find(ANNA, "t1") is first
            with pytest.raises(ConflictError):
                answers.begin(ANNA, "t1", lambda stop: iter([]), "something else")  # type: ignore[arg-type, return-value]
            answers.forget(ANNA, "another session")
            assert answers.find(ANNA, "t1") is first
            answers.forget(ANNA, "s1")
            assert answers.find(ANNA, "t1") is None
        with pytest.raises(TooManyAnswers):
            answers.begin(ANNA, "t2", lambda stop: iter([]))  # type: ignore[arg-type, return-value]

    asyncio.run(run())


def test_an_answer_that_fails_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    """A failure ends the stream with a problem that says nothing of its words; the next request begins anew."""

    def broken(stop: object):  # type: ignore[no-untyped-def]
        raise RuntimeError("words that were said")
        yield

    async def run() -> None:
        with ThreadPoolExecutor(1) as pool:
            answers = AnswerRegistry(pool, error_body)
            (failed,) = await read(answers.begin(ANNA, "t1", broken), 0, False)
            assert (failed.name, failed.data["status"]) == ("error", 500)
            assert "words" not in str(failed.data)
            again = await read(answers.begin(ANNA, "t1", lambda stop: iter([done()])), 0, False)  # type: ignore[arg-type, return-value]
            assert [sent.name for sent in again] == ["done"]

    asyncio.run(run())
    assert "words that were said" not in str([record.__dict__ for record in caplog.records])


def test_old_answers_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so many finished answers stay at hand, the newest; those past their minutes go."""
    monkeypatch.setattr(streams, "MAX_FINISHED", 3)

    async def run() -> None:
        with ThreadPoolExecutor(1) as pool:
            answers = AnswerRegistry(pool, error_body)
            for number in range(6):
                work = answers.begin(ANNA, f"t{number}", lambda stop: iter([done()]))  # type: ignore[arg-type, return-value]
                await read(work, 0, False)
            assert [number for number in range(6) if answers.find(ANNA, f"t{number}")] == [3, 4, 5]
            monkeypatch.setattr(streams, "KEEP_SECONDS", -1.0)
            assert answers.find(ANNA, "t5") is None

    asyncio.run(run())
