"""How well documents are found and read, and how fast memory answers: the sample course, or one user's many turns.

A question is answered when the points say all that its label asks for; one that the course cannot answer is right when
the reader says so. Questions set aside while the rules were written are counted separately: only they show how new
questions fare.
"""

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from rich.console import Console
from rich.table import Table

import ricordo
from bench import sample_turns
from ricordo.chat import Chat, ChatRequest
from ricordo.chat.material_reader import Answer, read
from ricordo.cli.story import Language, lessons
from ricordo.documents import Piece, PieceIndex, RetrievedPiece, as_chunk, chunk
from ricordo.recall.embedders import Embedder
from ricordo.recall.embedders.selection import choose

CHUNKS = 6
_QUESTIONS = Path(__file__).with_name("questions.jsonl")


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A labelled question: an answer must contain all of `says`; without `says` the course holds no answer.

    An `unseen` question was set aside while the rules were written.
    """

    language: Language
    text: str
    says: tuple[str, ...]
    lesson: str = ""
    unseen: bool = False

    @property
    def answerable(self) -> bool:
        """Whether the course holds an answer."""
        return bool(self.says)


@cache
def questions() -> tuple[SampleQuestion, ...]:
    """The labelled questions, answerable or not."""
    rows = [json.loads(line) for line in _QUESTIONS.read_text(encoding="utf-8").splitlines() if line.strip()]
    return tuple(SampleQuestion(**{**row, "says": tuple(row["says"])}) for row in rows)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question: whether its passage was found first, among the chunks, and what the answer made of it."""

    question: SampleQuestion
    first: bool
    among: bool
    first_point: bool
    answered: bool
    answer: Answer


@dataclass(frozen=True, slots=True)
class Figures:
    """One set of questions: shares from 0 to 1; `refused` is over the questions that the course cannot answer."""

    name: str
    answerable: int
    found_first: float
    found_among: float
    first_point: float
    answered: float
    points: float
    unanswerable: int
    refused: float


@dataclass(frozen=True, slots=True)
class AnswersReport:
    """Everything the benchmark measures; `confident` compares the mean confidence of right and wrong answers."""

    retrieval: str
    figures: tuple[Figures, ...]
    confidence_right: float
    confidence_wrong: float
    confidence_absent: float
    retrieve_p50_ms: float
    read_p50_ms: float


def run(embedder: Embedder | None = None) -> tuple[AnswersReport, tuple[Outcome, ...]]:
    """Measure on the sample course; with words alone where no embedder is given."""
    pieces = course()
    vectors = embedder.embed_passages([as_chunk(piece).text for piece in pieces]) if embedder else None
    index = PieceIndex(pieces, vectors)
    outcomes: list[Outcome] = []
    retrieving: list[float] = []
    reading: list[float] = []
    for question in questions():
        vector = embedder.embed_query(question.text) if embedder else None
        started = time.perf_counter()
        found = index.rank(question.text, question_vector=vector, limit=CHUNKS)
        retrieved = time.perf_counter()
        answer = read(question.text, "", [as_chunk(each.piece) for each in found], question.language)
        reading.append(1000 * (time.perf_counter() - retrieved))
        retrieving.append(1000 * (retrieved - started))
        outcomes.append(judge(question, found, answer))
    report = AnswersReport(
        retrieval=embedder.name if embedder else "words alone",
        figures=tuple(_figures(name, rows) for name, rows in _sets(outcomes)),
        confidence_right=_mean(
            [each.answer.confidence for each in outcomes if each.answered and each.question.answerable]
        ),
        confidence_wrong=_mean(
            [each.answer.confidence for each in outcomes if not each.answered and each.answer.found]
        ),
        confidence_absent=_mean([each.answer.confidence for each in outcomes if not each.answer.found]),
        retrieve_p50_ms=statistics.median(retrieving),
        read_p50_ms=statistics.median(reading),
    )
    return report, tuple(outcomes)


def course() -> tuple[Piece, ...]:
    """All pieces of the sample course."""
    return tuple(piece for lesson in lessons() for piece in chunk(lesson.text, "markdown", lesson.id, lesson.title))


def judge(question: SampleQuestion, found: Sequence[RetrievedPiece], answer: Answer) -> Outcome:
    """What became of a question."""
    said = " ".join(point.text for point in answer.points)
    if not question.answerable:
        return Outcome(question, True, True, True, not answer.found, answer)
    holds = [_says(each.piece.text, question) for each in found]
    first = bool(answer.points) and _says(answer.points[0].text, question, all_of=False)
    return Outcome(question, holds[:1] == [True], any(holds), first, _says(said, question), answer)


def _says(text: str, question: SampleQuestion, *, all_of: bool = True) -> bool:
    plain = " ".join(text.split())
    return (all if all_of else any)(says in plain for says in question.says)


def _sets(outcomes: Sequence[Outcome]) -> list[tuple[str, list[Outcome]]]:
    return [
        ("all", list(outcomes)),
        ("unseen", [each for each in outcomes if each.question.unseen]),
        ("Italian", [each for each in outcomes if each.question.language == "it"]),
        ("English", [each for each in outcomes if each.question.language == "en"]),
    ]


def _figures(name: str, rows: Sequence[Outcome]) -> Figures:
    asked = [each for each in rows if each.question.answerable]
    strange = [each for each in rows if not each.question.answerable]
    return Figures(
        name=name,
        answerable=len(asked),
        found_first=_mean([each.first for each in asked]),
        found_among=_mean([each.among for each in asked]),
        first_point=_mean([each.first_point for each in asked]),
        answered=_mean([each.answered for each in asked]),
        points=_mean([len(each.answer.points) for each in asked if each.answer.found]),
        unanswerable=len(strange),
        refused=_mean([each.answered for each in strange]),
    )


def _mean(numbers: Sequence[float]) -> float:
    return round(statistics.fmean(numbers), 3) if numbers else 0.0


@dataclass(frozen=True, slots=True)
class MemorySpeed:
    """How long answers from memory took in milliseconds: the whole chat, its CPU time, and its answer step alone."""

    turns: int
    answers: int
    chat_p50_ms: float
    chat_cpu_p50_ms: float
    answer_p50_ms: float
    answer_p95_ms: float


def memory_speed(count: int, answers: int = 60) -> MemorySpeed:
    """Ask a user's memory of `count` turns, with the light embedder, which takes well under a millisecond."""
    with ricordo.open(":memory:", embedder="light") as memory:
        session = memory.session(user_id="u")
        for at, (question, answer) in enumerate(sample_turns.turns("speed", count)):
            if at % 100 == 0:
                session = memory.session(user_id="u")
            session.add_turn(question, answer)
        session.add_turn("My dentist appointment is on Thursday at 15:40", "Noted.")
        memory.settle(600)
        chat = Chat(memory)
        whole: list[float] = []
        busy: list[float] = []
        step: list[float] = []
        for at in range(answers):
            asked = ("when is my dentist appointment?", "what did you say about the market?", "how old is my brother?")
            started, worked = time.perf_counter(), time.thread_time()
            response = chat.ask(ChatRequest(asked[at % len(asked)], "u"))
            whole.append(1000 * (time.perf_counter() - started))
            busy.append(1000 * (time.thread_time() - worked))
            step.append(response.metadata["timings_ms"]["answer"])
    slow = sorted(step)[int(0.95 * len(step))]
    chat_p50, cpu_p50, step_p50 = (round(statistics.median(each), 1) for each in (whole, busy, step))
    return MemorySpeed(count, answers, chat_p50, cpu_p50, step_p50, slow)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures, and on request every question that went wrong."""
    parser = argparse.ArgumentParser(prog="ricordo bench answers", description=__doc__)
    parser.add_argument("--embedder", help="also rank by meaning, with this embedder (auto, light, bilingual…)")
    parser.add_argument("--wrong", action="store_true", help="show the questions that went wrong, but for unseen ones")
    parser.add_argument("--memory", type=int, metavar="TURNS", help="measure answers from one user's memory instead")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    if options.memory:
        print(json.dumps(asdict(memory_speed(options.memory))))
        return 0
    report, outcomes = run(choose(options.embedder).embedder if options.embedder else None)
    if options.json:
        print(json.dumps(asdict(report)))
        return 0
    console = Console()
    table = Table(title=f"The sample course, {CHUNKS} chunks, {report.retrieval}")
    for column in (
        "questions",
        "n",
        "found 1st",
        f"found in {CHUNKS}",
        "in 1st point",
        "answered",
        "points",
        "n absent",
        "refused",
    ):
        table.add_column(column, justify="left" if column == "questions" else "right")
    for each in report.figures:
        shares = (each.found_first, each.found_among, each.first_point, each.answered)
        table.add_row(
            each.name, str(each.answerable), *(f"{share:.2f}" for share in shares), f"{each.points:.1f}",
            str(each.unanswerable), f"{each.refused:.2f}",
        )  # fmt: skip
    console.print(table)
    console.print(
        f"confidence: {report.confidence_right:.2f} when right, {report.confidence_wrong:.2f} when wrong, "
        f"{report.confidence_absent:.2f} when nothing was found · retrieval {report.retrieve_p50_ms:.2f} ms, "
        f"reading {report.read_p50_ms:.2f} ms (p50)"
    )
    if options.wrong:
        for outcome in outcomes:
            if not outcome.answered and not outcome.question.unseen:
                console.print(
                    f"\n[bold]{outcome.question.text}[/bold] wants {outcome.question.says or 'nothing'}",
                    highlight=False,
                )
                console.print(outcome.answer.text, markup=False, highlight=False)
    return 0
