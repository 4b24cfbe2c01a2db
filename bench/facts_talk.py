"""How well facts are read from everyday talk: labelled talk and cases in, figures per language out.

The untouched third of the labelled talk is what the weights were never trained on; it is judged clause by clause. Cases
(messages with the words that a fact must hold) go through the public interface. With other weights than the stored
ones, such as weights that were trained without the cases, the same figures say how well unseen talk is read.
"""

import json
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import ricordo
from ricordo.engine import LLM, Completion
from ricordo.errors import LLMError
from ricordo.people.facts import extraction
from ricordo.people.facts import judge as judging
from ricordo.people.facts.claims import UserMessage
from ricordo.people.facts.extraction import extract_by_patterns
from ricordo.people.facts.merge import LearningContext, merge_claims
from ricordo.people.facts.statements import message_claims
from ricordo.records.derived import KnownFacts

# Attributes that the labelled talk names, in the groups that the judge tells apart.
GROUPS = {
    "name": "name nickname", "age": "age birthday", "home": "home", "origin": "origin nationality",
    "work": "work employer", "study": "education course", "partner": "partner", "family": "family children",
    "pet": "pet", "health": "health condition medication allergy", "diet": "diet",
    "taste": "like dislike hobby sport instrument", "habit": "habit", "thing": "possession vehicle device",
    "skill": "skill language difficulty", "goal": "goal", "event": "appointment exam trip event",
    "manner": "style format address_form",
}  # fmt: skip
GROUP_OF = {name: group for group, names in GROUPS.items() for name in names.split()}
_OVERLAP = 0.3  # least share of a judged clause that lies in a labelled one


@dataclass(frozen=True, slots=True)
class ThirdFigures:
    """The untouched third of one language: shares of clauses found, of rows without a statement left alone, and so on.

    `through` counts what the whole reading claims, with patterns and guards. A group counts where one is told. `wrong`
    are claims that no labelled statement supports, of all claims; `changed` are learned facts that a later message
    changes or ends and that are no longer current; `instructions` those told as such.
    """

    lang: str
    rows: int
    found: float
    left_alone: float
    label_right: float
    group_told: float
    group_right: float
    found_through: float
    left_alone_through: float
    wrong: tuple[int, int] = (0, 0)
    changed: tuple[int, int] = (0, 0)
    instructions: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class TalkCaseFigures:
    """The cases of one language, read through the public interface: counts as (reached, all)."""

    lang: str
    found: tuple[int, int]
    wrong: int
    told: int
    kinds: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class GateFigures:
    """What a model claimed of labelled talk: claims proposed and kept, and how many of each a statement supports.

    `failed` counts rows for which it gave no list of facts.
    """

    lang: str
    rows: int
    failed: int
    proposed: int
    proposed_right: int
    kept: int
    kept_right: int
    seconds: float


class _Recorded:
    """A model whose last answer can be read."""

    def __init__(self, model: LLM) -> None:
        self.model, self.name, self.answer = model, model.name, ""

    def complete(self, messages: Any, **options: Any) -> Completion:
        """The model's answer, kept."""
        completion = self.model.complete(messages, **options)
        self.answer = completion.text
        return completion


def gate_figures(rows: Sequence[Mapping[str, Any]], lang: str, model: LLM) -> GateFigures:
    """What the gate of a model's claims lets through, on labelled rows of one language, one row at a time."""
    failed = proposed = proposed_right = kept = kept_right = 0
    chosen = [each for each in rows if each["lang"] == lang]
    recorded: Any = _Recorded(model)
    begun = time.perf_counter()
    for row in chosen:
        said = [
            UserMessage(f"{number}:query", row["id"], text, datetime(2026, 11, 16, tzinfo=UTC), turn_number=number)
            for number, text in enumerate(row["messages"])
        ]
        try:
            found = extraction.extract_by_model(said, recorded)
        except LLMError:
            failed += 1
            continue
        claims = [each for each in found.candidates if each.made_by == model.name]
        answered = [each for each in extraction._rows(recorded.answer) or () if isinstance(each, dict)]
        proposed, kept = proposed + len(answered), kept + len(claims)
        kept_right += sum(_is_stated(row, int(each.said.id.split(":")[0]), each.quote) for each in claims)
        proposed_right += sum(
            _is_stated(row, each["message"] - 1, each["quote"])
            for each in answered
            if isinstance(each.get("message"), int) and isinstance(each.get("quote"), str)
        )
    seconds = round(time.perf_counter() - begun, 1)
    return GateFigures(lang, len(chosen), failed, proposed, proposed_right, kept, kept_right, seconds)


def _is_stated(row: Mapping[str, Any], number: int, quote: str) -> bool:
    """Whether a quote of a message lies in a labelled statement."""
    if not 0 <= number < len(row["messages"]) or not quote or quote not in row["messages"][number]:
        return False
    text = row["messages"][number]
    stated = [_span(text, each["text"]) for each in _of(row, number) if each["label"] != "none"]
    return any(_overlaps(_span(text, quote), span) for span in stated)


def untouched(row: Mapping[str, Any]) -> bool:
    """Whether a row is of the third that is only measured with."""
    return zlib.crc32(row["id"].encode()) % 3 == 0


def talk_rows(folder: Path) -> list[dict[str, Any]]:
    """All rows of labelled talk in a folder."""
    files = sorted(folder.glob("talk_*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


@contextmanager
def weights(file: Path | None) -> Iterator[None]:
    """Judge with the weights of another file."""
    if file is None:
        yield
        return
    module: dict[str, Any] = vars(judging)
    before = module["files"]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "judge.npz").write_bytes(file.read_bytes())
        module["files"] = lambda _: Path(folder)
        judging._model.cache_clear()
        try:
            yield
        finally:
            module["files"] = before
            judging._model.cache_clear()


def third_figures(rows: Sequence[Mapping[str, Any]], lang: str) -> ThirdFigures:
    """The figures on the rows of one language."""
    wanted = found = labelled = told = grouped = quiet = silent = through = silent_through = counted = 0
    claims = unsupported = wishes = wished = changes = changed = 0
    for row in (each for each in rows if each["lang"] == lang):
        counted += 1
        claimed = claimed_through = 0
        before: str | None = None
        for number, text in enumerate(row["messages"]):
            judged = [each for each in judging.judge(text, before) if each.margin >= 0]
            said = UserMessage(f"{row['id']}-{number}:query", row["id"], text, datetime(2026, 11, 16, tzinfo=UTC))
            earlier = UserMessage("before:query", row["id"], before, said.created_at) if before else None
            made = message_claims(said, earlier)
            quotes = [_span(text, each.quote) for each in made]
            own = [_span(text, each["text"]) for each in row["clauses"] if each["m"] == number]
            stated = [span for span, each in zip(own, _of(row, number), strict=True) if each["label"] != "none"]
            claims += len(quotes)
            unsupported += sum(not any(_overlaps(quote, span) for span in stated) for quote in quotes)
            claimed, claimed_through = claimed + len(judged), claimed_through + len(quotes)
            begin = 0
            for clause in row["clauses"]:
                at = text.find(clause["text"], begin) if clause["m"] == number else -1
                if at < 0:
                    continue
                begin = at + len(clause["text"])
                if clause["label"] in ("none", "forget"):
                    continue
                over = [
                    each
                    for each in judged
                    if min(each.end, begin) - max(each.start, at) > _OVERLAP * (each.end - each.start)
                ]
                wanted += 1
                through += any(_overlaps(quote, (at, begin)) for quote in quotes)
                if clause["label"] == "instruction":
                    wishes += 1
                    wished += any(
                        each.about.startswith("instruction:") and _overlaps(_span(text, each.quote), (at, begin))
                        for each in made
                    )
                if over:
                    found += 1
                    labelled += any(each.label == clause["label"] for each in over)
                    named = {each.attribute for each in over} - {judging.OTHER}
                    told += bool(named)
                    grouped += GROUP_OF.get(clause["attribute"], judging.OTHER) in named
            before = text
        replaced, learned = _changes(row)
        changed, changes = changed + replaced, changes + learned
        if all(clause["label"] == "none" for clause in row["clauses"]):
            quiet += 1
            silent += not claimed
            silent_through += not claimed_through
    return ThirdFigures(
        lang,
        counted,
        found / max(1, wanted),
        silent / max(1, quiet),
        labelled / max(1, found),
        told / max(1, found),
        grouped / max(1, told),
        through / max(1, wanted),
        silent_through / max(1, quiet),
        (unsupported, claims),
        (changed, changes),
        (wished, wishes),
    )


def _of(row: Mapping[str, Any], number: int) -> list[Mapping[str, Any]]:
    return [each for each in row["clauses"] if each["m"] == number]


def _changes(row: Mapping[str, Any]) -> tuple[int, int]:
    """Facts of a first message that a later one changes or ends: those no longer current, and those that were learned.

    If the first message says several things, those of the same group are meant.
    """
    stated = [each for each in _of(row, 0) if each["label"] not in ("none", "forget", "remember")]
    later = [each for each in row["clauses"] if each["m"] and each["label"] in ("change", "end")]
    meant = {GROUP_OF.get(each["attribute"], each["attribute"]) for each in later}
    if len(stated) > 1:
        stated = [each for each in stated if GROUP_OF.get(each["attribute"], each["attribute"]) in meant]
    if not later or not stated:
        return 0, 0
    start = datetime(2026, 11, 1, tzinfo=UTC)
    said = [
        UserMessage(f"m{number}:query", "s", text, start + timedelta(hours=20 * number), turn_number=number)
        for number, text in enumerate(row["messages"])
    ]
    claims = extract_by_patterns(said).candidates
    facts = merge_claims(KnownFacts(), claims, LearningContext("", start + timedelta(days=9))).put
    text = row["messages"][0]
    first = [(fact, fact.sources[0].quote) for fact in facts if fact.sources[0].message_id == said[0].id]
    reached = learned = 0
    for clause in stated:
        span = _span(text, clause["text"])
        own = [fact for fact, quote in first if _overlaps(_span(text, quote), span)]
        learned += bool(own)
        reached += bool(own) and all(fact.valid_to for fact in own)
    return reached, learned


def _span(text: str, quote: str) -> tuple[int, int]:
    at = text.find(quote)
    return at, at + len(quote)


def _overlaps(claimed: tuple[int, int], wanted: tuple[int, int]) -> bool:
    """Whether enough of what is claimed lies in what is wanted."""
    shared = min(claimed[1], wanted[1]) - max(claimed[0], wanted[0])
    return shared > _OVERLAP * (claimed[1] - claimed[0])


def case_figures(file: Path) -> TalkCaseFigures:
    """The figures on a file of cases, each case a user of one memory, its messages 20 hours apart."""
    cases = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    start = datetime.now(UTC) - timedelta(days=9)
    kinds: dict[str, tuple[int, int]] = {}
    found = wanted = wrong = told = 0
    with tempfile.TemporaryDirectory() as folder, ricordo.open(str(Path(folder) / "m.db"), embedder="light") as memory:
        for case in cases:
            session = memory.session(user_id=case["id"])
            for number, text in enumerate(case["messages"]):
                session.add_turn(text, "Ok.", created_at=start + timedelta(hours=20 * number))
        memory.settle(900)
        for case in cases:
            known = [fact.text.casefold() for fact in memory.facts(case["id"])]
            want = case.get("want", [])
            hits = sum(any(word.casefold() in text for text in known for word in group) for group in want)
            bad = sum(any(word.casefold() in text for word in case.get("never") or ()) for text in known)
            bad += len(known) if case.get("none") else 0
            met = hits == len(want) and not bad
            good, all_of = kinds.get(case["kind"], (0, 0))
            kinds[case["kind"]] = (good + met, all_of + 1)
            found, wanted, wrong, told = (
                found + hits,
                wanted + len(want),
                wrong + bad,
                told + len(known),
            )
    return TalkCaseFigures(cases[0]["lang"] if cases else "", (found, wanted), wrong, told, kinds)


def milliseconds_of_talk(words: int = 200) -> tuple[float, float]:
    """The time of a clause beyond the embedder, and of a message of some words; the best of five."""
    text = (
        "im a night nurse in leeds, two kids, and the boiler is dead again. what do i do before the plumber comes? "
        * 20
    )
    text = " ".join(text.split()[:words])
    clauses = max(1, len(judging.segments(text)))
    best = min(_timed(text, number) for number in range(5))
    return best / clauses, best


def _timed(text: str, number: int) -> float:
    said = UserMessage(f"t{number}:query", "times", text + " " * number, datetime(2026, 11, 16, tzinfo=UTC))
    begun = time.process_time()  # other processes of the machine are not what is measured
    message_claims(said)
    return (time.process_time() - begun) * 1000
