"""`ricordo eval`: how well past messages are found, for one's own talks or labelled files, by several settings at once.

Questions come from a user's history (what follow-ups pointed at, what answers quoted or, by their receipts, used, facts
with their sources), from a file of questions with expected messages, or from labelled conversations (LoCoMo,
LongMemEval and BEAM as they are published, or any set as conv_id, units, queries). Every variant gets a memory of its
own in a temporary folder, so the measured database is only read. Out: recall among the first hits and within a budget
of tokens, outdated messages that come first, refusals, tokens and time, as a table, JSON and a plot, and with --compare
what each question gained or lost.
"""

import argparse
import ast
import json
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from ricordo.cli.arguments import Options, add_user, chosen_settings, command, open_memory, user_of
from ricordo.cli.output import Output, one_line, printable, table
from ricordo.errors import NotFoundError, ValidationError
from ricordo.memory import Memory
from ricordo.memory import open as open_path
from ricordo.prompt.receipt import Receipt
from ricordo.recall.evidence import terms
from ricordo.records.turns import Turn, turn_id_of

CUTS = (5, 10)
MOST_HITS = 50
MOST_RECEIPTS = 1_000  # of a session
SETTLE_SECONDS = 600.0
BETWEEN_MESSAGES = timedelta(seconds=30)  # labelled sets give one time a session
_TIME_FORMATS = (
    "%I:%M %p on %d %B, %Y",
    "%B-%d-%Y",
    "%Y/%m/%d (%a) %H:%M",
    "%Y-%m-%d (%A)",
    "%Y-%m-%dT%H:%M:%S%z",
    "%Y-%m-%d",
)
_KNOWN = (
    'lines with "question" and "expected", conversations with "conv_id", "units" and "queries", '
    "or the files of LoCoMo, LongMemEval or BEAM"
)
_NONE = "0 of 0"  # a figure without questions, which the table leaves out
_SHARED_WORDS = 2  # of an answer with a recalled message, beyond those of the question: the answer used it


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    """A question with the messages that answer it and those that are outdated; without any it must be refused."""

    id: str
    user_id: str
    text: str
    kind: str
    expected: frozenset[str]
    outdated: frozenset[str] = frozenset()
    asked_in: str = ""  # the turn that asked it, which is no answer to it
    is_fact: bool = False  # the text of a fact: a search finds its message, but no reader answers a statement


@dataclass(frozen=True, slots=True)
class OwnTalks:
    """The exported sessions of a user, and questions about them."""

    documents: tuple[Mapping[str, Any], ...]
    questions: tuple[EvalQuestion, ...]

    def put_into(self, memory: Memory) -> tuple[EvalQuestion, ...]:
        """Import the sessions; the messages keep their ids."""
        memory.import_documents(self.documents)
        return self.questions


@dataclass(frozen=True, slots=True)
class LabelledTalks:
    """Labelled conversations, one user each; a role that no chat has is the name of a speaker."""

    rows: tuple[Mapping[str, Any], ...]

    def put_into(self, memory: Memory) -> tuple[EvalQuestion, ...]:
        """Add the messages one by one; the questions name them by their new ids."""
        questions: list[EvalQuestion] = []
        for row in self.rows:
            user = f"talk-{row['conv_id']}"
            ids: dict[Any, str] = {}
            moment, last = datetime(2000, 1, 1, tzinfo=UTC), None
            for unit in row["units"]:
                said = moment_of(unit.get("time"))
                same = unit["session"] == last
                moment = moment + BETWEEN_MESSAGES if said is None or (same and said <= moment) else said
                session = memory.session(f"{user}-{unit['session']}", user_id=user)
                ids[unit["id"]] = session.add_message(unit["role"], unit["text"], created_at=moment).id
                last = unit["session"]
            questions += [
                EvalQuestion(f"{user}:{query['id']}", user, query["text"], str(query.get("cat", "asked")), gold)
                for query in row["queries"]
                if (gold := frozenset(ids[each] for each in query.get("gold", ()) if each in ids))
            ]
        return tuple(questions)


Talks = OwnTalks | LabelledTalks


def moment_of(text: str | None) -> datetime | None:
    """The time of a labelled message, in any of the forms that the known sets have; None if it is in none."""
    for form in _TIME_FORMATS if text else ():
        try:
            moment = datetime.strptime(str(text), form)
        except ValueError:
            continue
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None


@dataclass(frozen=True, slots=True)
class EvalOutcome:
    """One question under one variant; `rank` is the place of the first expected message, 0 if it was not found."""

    variant: str
    question: str
    kind: str
    text: str
    rank: int
    shares: Mapping[str, float]
    outdated_first: bool
    refused: bool | None
    tokens: int
    milliseconds: float


def _published(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row of LoCoMo, LongMemEval or BEAM in the common form; any other row as it is."""
    asked: list[tuple[Any, ...]]
    if {"conversation", "qa"} <= row.keys():
        talk = row["conversation"]
        units = [
            (unit["dia_id"], unit["speaker"], name, talk.get(f"{name}_date_time"), unit["text"] + _shown(unit))
            for name, said in talk.items()
            for unit in (said if isinstance(said, list) else ())
        ]
        asked = [
            (str(at), each["question"], each["category"], each.get("evidence", ())) for at, each in enumerate(row["qa"])
        ]
    elif {"haystack_dates", "haystack_sessions"} <= row.keys():  # their ids of sessions would give answers away
        days = enumerate(zip(row["haystack_dates"], row["haystack_sessions"], strict=True))
        told = list(enumerate((number, day, unit) for number, (day, said) in days for unit in said))
        units = [(at, unit["role"], number, day, unit["content"]) for at, (number, day, unit) in told]
        gold = [at for at, (*_, unit) in told if unit.get("has_answer")]
        asked = [("1", row["question"], row["question_type"], gold)]
    elif {"chat", "probing_questions"} <= row.keys():
        batches = ((number, unit) for number, batch in enumerate(row["chat"]) for unit in _leaves(batch))
        said = [(number, unit) for number, unit in batches if isinstance(unit, Mapping)]
        units = [(unit["id"], unit["role"], at, unit.get("time_anchor"), unit["content"]) for at, unit in said]
        kinds = row["probing_questions"]
        kinds = ast.literal_eval(kinds) if isinstance(kinds, str) else kinds  # one edition writes them as Python
        asked = [
            (f"{kind}-{at}", each["question"], kind, list(_leaves(each.get("source_chat_ids", []))))
            for kind, questions in kinds.items()
            for at, each in enumerate(questions)
        ]
    else:
        return row
    name = next((row[key] for key in ("sample_id", "question_id", "conversation_id") if key in row), "talk")
    forms = (
        ("units", ("id", "role", "session", "time", "text"), units),
        ("queries", ("id", "text", "cat", "gold"), asked),
    )
    return {"conv_id": name} | {key: [dict(zip(n, each, strict=True)) for each in rows] for key, n, rows in forms}


def _shown(unit: Mapping[str, Any]) -> str:
    return f" [image: {unit['blip_caption']}]" if unit.get("blip_caption") else ""


def _leaves(value: Any) -> Iterator[Any]:
    """What lists and objects hold, however deep; a message is not opened."""
    if isinstance(value, Mapping) and "content" not in value:
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_user(parser)
    parser.add_argument("--questions", metavar="FILE", help=f"JSON lines: {_KNOWN}; default: made from the history")
    parser.add_argument(
        "--variant",
        metavar="SETTINGS",
        action="append",
        help='measure with these settings ("embedder=light", "preset=assistant recall_messages=5"); repeatable',
    )
    parser.add_argument("--answers", action="store_true", help="ask the built-in reader too, and count refusals")
    parser.add_argument(
        "--compare", action="store_true", help="list the questions that the second variant gains or loses"
    )
    parser.add_argument("--budget", metavar="N", type=int, default=2_000, help="tokens of hits; default: %(default)s")
    parser.add_argument(
        "-n", "--limit", metavar="N", type=int, default=500, help="most questions; default: %(default)s"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write all outcomes as JSON")
    parser.add_argument("--plot", metavar="FILE", help="write the recall of the variants as an SVG picture")


@command(
    "measure recall on your own talks or a file, with several settings side by side",
    _arguments,
    "ricordo eval --user anna --variant embedder=auto --variant embedder=light --compare",
    name="eval",
)
def evaluate(options: Options, output: Output) -> None:
    talks = _talks_of(options)
    if isinstance(talks, OwnTalks) and not talks.questions:
        raise NotFoundError(
            "there are no questions to measure with: the history holds no follow-ups, quotes or facts yet; "
            "give a file of questions with --questions"
        )
    variants = _variants(options)
    if options.compare and len(variants) < 2:
        raise ValidationError("compare", "there is nothing to compare with; give --variant twice")
    outcomes: list[EvalOutcome] = []
    with output.progress("measuring") as step:
        for number, (name, settings) in enumerate(variants):
            outcomes += measure(name, settings, talks, options.budget, answers=options.answers)
            step(number + 1, len(variants))
    names = [name for name, _ in variants]
    summaries = [summary(name, outcomes) for name in names]
    if options.plot:
        Path(options.plot).write_text(plot(summaries), encoding="utf-8")
    changes = compared(outcomes, names[0], names[1]) if options.compare else []
    plain = {"variants": summaries, "questions": [asdict(each) for each in outcomes], "compared": changes}
    if options.output:
        Path(options.output).write_text(json.dumps(plain, ensure_ascii=False, indent=1), encoding="utf-8")
    moved = _change_table(changes) if changes else Text("Every first expected message kept its place.")
    output.document(plain, _summary_table(summaries), *([moved] if options.compare else []))
    for written in filter(None, (options.plot, options.output)):
        output.note(f"wrote {written}")


def _talks_of(options: Options) -> Talks:
    if options.questions:
        path = Path(options.questions)
        if not path.exists():
            raise ValidationError("questions", f"there is no {path}; give a file of {_KNOWN}")
        rows = list(_rows(path))
        if rows and all("units" in row for row in rows):
            return LabelledTalks(tuple(rows))
        with open_memory(options) as memory:
            return OwnTalks(_exported(memory, user_of(options)), tuple(_asked(rows, memory, user_of(options))))
    with open_memory(options) as memory:
        user_id = user_of(options)
        found = list(own_questions(memory, user_id))
        step = max(1, -(-len(found) // max(1, options.limit)))  # of a long history every few, of every kind
        return OwnTalks(_exported(memory, user_id), tuple(found[::step]))


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    text = path.read_text(encoding="utf-8")
    whole = text.lstrip().startswith("[")  # one list, as sets are published; else a row a line
    for number, line in enumerate([text] if whole else text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError as error:
            raise ValidationError("questions", f"line {number} is no JSON ({error}); give {_KNOWN}") from error
        for row in found if whole else [found]:
            known = _published(row) if isinstance(row, dict) else {}
            if not {"question", "expected"} <= known.keys() and not {"units", "queries"} <= known.keys():
                raise ValidationError("questions", f"line {number} is of no known format; give {_KNOWN}")
            yield known


def _exported(memory: Memory, user_id: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(memory.export(user_id))


def _asked(rows: Iterable[Mapping[str, Any]], memory: Memory, user_id: str) -> Iterator[EvalQuestion]:
    """The questions of a file; an expected message is named by its id or by words that it holds."""
    said = list(_said(memory, user_id))
    for number, row in enumerate(rows, start=1):
        expected = [row["expected"]] if isinstance(row["expected"], str) else list(row["expected"])
        found = {
            name
            for name, text in said
            for wanted in expected
            if wanted == name or (len(wanted) > 3 and wanted.casefold() in text.casefold())
        }
        if expected and not found:
            raise ValidationError(
                "questions",
                f"question {number} expects {one_line(expected[0], 60)!r}, which no message of the user holds",
            )
        yield EvalQuestion(
            str(row.get("id", number)), user_id, row["question"], str(row.get("kind", "asked")), frozenset(found)
        )


def _said(memory: Memory, user_id: str) -> Iterator[tuple[str, str]]:
    for info in memory.sessions(user_id=user_id, limit=10_000):
        for turn in memory.session(info.id, user_id=user_id).history():
            yield from ((message.id, message.content) for message in turn.messages)


def own_questions(memory: Memory, user_id: str) -> Iterator[EvalQuestion]:
    """Questions that a history answers: what follow-ups pointed at, what answers quoted or used, facts with sources."""
    said = dict(_said(memory, user_id))
    for info in memory.sessions(user_id=user_id, limit=10_000):
        session = memory.session(info.id, user_id=user_id)
        turns = {turn.turn_number: turn for turn in session.history()}
        for receipt in session.receipts(limit=MOST_RECEIPTS):
            turn = turns.get(receipt.turn_number or 0)
            if turn and (used := _used(turn, receipt, said)):
                asked = receipt.standalone or turn.query
                yield EvalQuestion(f"{turn.id}:receipt", user_id, asked, "receipt", used, asked_in=turn.id)
        for turn in turns.values():
            asked = str(turn.metadata.get("standalone") or turn.query)
            pointed = [turns.get(each["turn_number"]) for each in turn.metadata.get("references", ())]
            answers = frozenset[str]().union(
                *(_quoted(each) or {each.answer.id} for each in pointed if each and each.answer)
            )
            quoted = _quoted(turn)
            if answers and asked:
                yield EvalQuestion(f"{turn.id}:follow-up", user_id, asked, "follow-up", answers, asked_in=turn.id)
            if quoted and asked:
                yield EvalQuestion(f"{turn.id}:quoted", user_id, asked, "quoted", quoted, asked_in=turn.id)
    facts = memory.facts(user_id, superseded=True)
    for fact in facts:
        sources = frozenset(each.message_id for each in fact.sources)
        if fact.valid_to is not None or not sources:
            continue
        older = [each for each in facts if each.superseded_by == fact.id]
        outdated = frozenset(source.message_id for each in older for source in each.sources) - sources
        kind = "correction" if outdated else "fact"
        yield EvalQuestion(f"{fact.id}:{kind}", user_id, fact.text, kind, sources, outdated, is_fact=True)


def _used(turn: Turn, receipt: Receipt, said: Mapping[str, str]) -> frozenset[str]:
    """The recalled messages of a receipt that share words with the answer which the question does not have."""
    if not turn.answer or _quoted(turn):
        return frozenset()
    new = set(terms(turn.answer.content).tolist()) - set(terms(turn.query).tolist())
    recalled = [each.id for each in receipt.kept if each.section == "recalled" and each.id in said]
    return frozenset(each for each in recalled if len(new.intersection(terms(said[each]).tolist())) >= _SHARED_WORDS)


def _quoted(turn: Turn) -> frozenset[str]:
    """The messages that a turn's answer quotes; a search finds them in place of the answer."""
    return frozenset(each["message_id"] for each in turn.metadata.get("memory_sources", ()))


def _variants(options: Options) -> list[tuple[str, dict[str, str]]]:
    """The settings to compare, over those of the command; those alone where no variant is named."""
    common = chosen_settings(options)
    found: list[tuple[str, dict[str, str]]] = []
    for given in options.variant or [""]:
        pairs = [each.partition("=") for each in given.split()]
        if any(not separator for _, separator, _ in pairs):
            raise ValidationError("variant", f"{given!r} is no setting; write name=value, with blanks between several")
        found.append((given or "as set", {**common, **{name: value for name, _, value in pairs}}))
        open_path("memory:", **found[-1][1]).close()  # a setting that cannot be is refused before anything is measured
    return found


def measure(
    name: str, settings: Mapping[str, str], talks: Talks, budget: int, *, answers: bool = False
) -> Iterator[EvalOutcome]:
    """The outcomes of all questions in a memory with these settings, filled with the talks."""
    with tempfile.TemporaryDirectory() as folder, open_path(Path(folder) / "eval.db", **settings) as memory:
        questions = talks.put_into(memory)
        memory.settle(SETTLE_SECONDS)
        for user_id in dict.fromkeys(question.user_id for question in questions):
            memory.search("warm", user_id=user_id, limit=1)  # the index is loaded, the embedder too
        for question in questions:
            yield _outcome(name, memory, question, budget, answers=answers)


def _outcome(variant: str, memory: Memory, question: EvalQuestion, budget: int, *, answers: bool) -> EvalOutcome:
    begun = time.perf_counter()
    hits = memory.search(question.text, user_id=question.user_id, limit=MOST_HITS)
    spent = (time.perf_counter() - begun) * 1e3
    hits[:] = [hit for hit in hits if turn_id_of(hit.message_id) != question.asked_in]
    found = [hit.message_id for hit in hits]
    within, tokens = 0, 0
    for hit in hits:
        cost = memory.counter.count(hit.text)
        if tokens + cost > budget:
            break
        within, tokens = within + 1, tokens + cost
    places = [found.index(each) for each in question.expected if each in found]
    first = min(places, default=-1)
    outdated = [found.index(each) for each in question.outdated if each in found]
    wanted = len(question.expected)
    shares = {f"R@{cut}": sum(place < cut for place in places) / wanted for cut in CUTS} if wanted else {}
    shares |= {f"R@{budget}t": sum(place < within for place in places) / wanted} if wanted else {}
    return EvalOutcome(
        variant=variant,
        question=question.id,
        kind=question.kind,
        text=question.text,
        rank=first + 1,
        shares=shares,
        outdated_first=bool(outdated) and (first < 0 or min(outdated) < first),
        refused=_refused(memory, question) if not wanted or (answers and not question.is_fact) else None,
        tokens=tokens,
        milliseconds=spent,
    )


def _refused(memory: Memory, question: EvalQuestion) -> bool:
    """Whether the built-in reader names no source for an answer."""
    from ricordo.chat import Chat, ChatRequest

    response = Chat(memory).ask(ChatRequest(question.text, question.user_id))
    memory.delete_session(response.session_id, user_id=question.user_id)  # the next question must not find this one
    return not response.metadata["memory_sources"] and not response.metadata["citations"]


def summary(variant: str, outcomes: Iterable[EvalOutcome]) -> dict[str, Any]:
    """The figures of one variant."""
    mine = [each for each in outcomes if each.variant == variant]
    asked = [each for each in mine if each.shares]
    nowhere = [each for each in mine if not each.shares]
    corrected = [each for each in mine if each.kind == "correction"]
    answered = [each for each in asked if each.refused is not None]
    figures: dict[str, Any] = {"variant": variant, "questions": len(mine)}
    for name in asked[0].shares if asked else ():
        figures[name] = round(sum(each.shares[name] for each in asked) / len(asked), 3)
    kinds = sorted({each.kind for each in asked})
    for kind in kinds if len(kinds) > 1 else ():
        found = [each.shares["R@10"] for each in asked if each.kind == kind]
        figures[f"{kind} ({len(found)}), R@10"] = round(sum(found) / len(found), 3)
    figures["outdated first"] = f"{sum(each.outdated_first for each in corrected)} of {len(corrected)}"
    figures["refused rightly"] = f"{sum(bool(each.refused) for each in nowhere)} of {len(nowhere)}"
    figures["refused wrongly"] = f"{sum(bool(each.refused) for each in answered)} of {len(answered)}"
    figures["tokens"] = round(sum(each.tokens for each in mine) / max(1, len(mine)))
    times = sorted(each.milliseconds for each in mine)
    figures["p50 ms"] = round(times[len(times) // 2], 1) if times else 0.0
    return figures


def compared(outcomes: Iterable[EvalOutcome], before: str, after: str) -> list[dict[str, Any]]:
    """The questions whose first expected message moved, those that lost most first."""
    known = {each.question: each for each in outcomes if each.variant == before}
    changes = []
    for each in outcomes:
        old = known.get(each.question)
        if each.variant != after or old is None or old.rank == each.rank:
            continue
        lost = (each.rank or MOST_HITS + 1) - (old.rank or MOST_HITS + 1)
        changes.append({"question": each.text, "before": old.rank, "after": each.rank, "lost": lost})
    return sorted(changes, key=lambda change: -change["lost"])


def plot(summaries: Sequence[Mapping[str, Any]]) -> str:
    """The recall of the variants as bars, an SVG picture."""
    names = [name for name in (summaries[0] if summaries else ()) if name.startswith("R@")]
    row, left, width = 26, 260, 420
    bars: list[str] = []
    for number, (each, name) in enumerate((each, name) for each in summaries for name in names):
        top = 30 + number * row
        label = escape(f"{each['variant']} · {name}")
        value = each.get(name, 0.0)
        bars.append(f'<text x="{left - 8}" y="{top + 15}" text-anchor="end">{label}</text>')
        bars.append(f'<rect x="{left}" y="{top}" width="{value * width:.0f}" height="{row - 8}" fill="#4466aa"/>')
        bars.append(f'<text x="{left + value * width + 6:.0f}" y="{top + 15}">{value:.3f}</text>')
    height = 40 + row * len(summaries) * len(names)
    style = 'font-family="sans-serif" font-size="12"'
    size = f'width="{left + width + 70}" height="{height}"'
    title = '<text x="8" y="18" font-weight="bold">Share of the expected messages found</text>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{title}{"".join(bars)}</svg>\n'


def _summary_table(summaries: Sequence[Mapping[str, Any]]) -> Table:
    """A column a variant, a row a figure."""
    names = [str(each["variant"]) for each in summaries]
    shown = table("", *names, right=names)
    for figure in list(summaries[0])[1:]:
        values = [each.get(figure, "") for each in summaries]
        digits = 1 if figure.endswith("ms") else 3
        if any(value != _NONE for value in values):
            shown.add_row(figure, *(f"{v:.{digits}f}" if isinstance(v, float) else str(v) for v in values))
    return shown


def _change_table(changes: Sequence[Mapping[str, Any]]) -> Table:
    shown = table("question", "before", "after", right=("before", "after"))
    for each in changes:
        colour = "red" if each["lost"] > 0 else "green"
        places = (str(each[name] or "–") for name in ("before", "after"))
        shown.add_row(printable(one_line(each["question"], 80)), *(Text(place, colour) for place in places))
    return shown
