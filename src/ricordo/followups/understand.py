"""Understanding a question in its conversation: its references, the standalone question, or a clarification.

Reads the last turns, applies the pure rules, and searches further back through recall when the question quotes
something older. A pending clarification is read here and removed when the next turn is written, so that building a
context twice gives the same context.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from ricordo.engine import LLM
from ricordo.engine.core import Engine, Scope
from ricordo.followups.antecedents import shipped_scorer
from ricordo.followups.clarify import answer, ask, clarifications_of, key_of
from ricordo.followups.items import derive_items, enumeration
from ricordo.followups.parse import small_talk
from ricordo.followups.phrases import has_meaning
from ricordo.followups.reference import LONGEST_FOLLOW_UP, ClarificationOption, PastTurn, Pending, Resolved
from ricordo.followups.resolve import resolve
from ricordo.followups.rewrite import Rewriter
from ricordo.languages.registry import languages
from ricordo.languages.text import familiar, followup_languages, language_of
from ricordo.records.turns import LOOKBACK, Turn
from ricordo.safety.fence import close_fence, defuse, marker, open_fence

if TYPE_CHECKING:
    from ricordo.languages.base import ReaderPhrases

_READ_TURNS = 6  # that a model reads
_READ_CHARACTERS = 1_200  # of each message
_MOST_TOKENS = 120
RULES_WROTE = "the model could not make the question stand alone: the rules did"

FindTurns = Callable[[str], Sequence[Turn]]


@dataclass(frozen=True, slots=True)
class Understanding:
    """What a question means. `standalone` is empty where the question is complete.

    `degraded` says that the rules replaced a model that failed.
    """

    standalone: str = ""
    references: tuple[Resolved, ...] = ()
    clarification: Pending | None = None
    degraded: tuple[str, ...] = ()


def understand(
    engine: Engine, scope: Scope, question: str, *, find: FindTurns | None = None, recent: Sequence[Turn] | None = None
) -> Understanding:
    """Interpret a question by the pending clarification, if there is one, and by the conversation.

    `find` searches older turns by the words that the question quotes; `recent` are the newest turns if they were read.
    """
    _load()
    now = engine.clock.now()
    states, rewriter = clarifications_of(engine), _rewriter(engine)
    pending = states.get(key_of(scope), now)
    complete = len(question) > LONGEST_FOLLOW_UP
    if complete and not pending:
        return Understanding()
    if recent is None:
        recent = engine.store.turns.page(scope.owner, scope.session_id, last=LOOKBACK + 1)
    recent = recent[-LOOKBACK - 1 :]
    if pending and not _turns_exist(engine, scope, pending, recent):
        states.delete(key_of(scope))
        pending = None
    if pending and pending.question != question:
        outcome = answer(pending, question, now=now)
        if outcome.kind == "answered":
            return Understanding(outcome.question, tuple(_chosen(option) for option in outcome.chosen))
        if outcome.pending is not None:  # a name that two options share: ask again, with a new expiry
            states.put(key_of(scope), outcome.pending)
            return Understanding(clarification=outcome.pending)
    if complete:
        return Understanding()
    turns = [turn for turn in recent if not (turn.is_open and turn.query == question)]
    further = None if find is None else lambda words: [past_turn(turn) for turn in find(words)]
    told = familiar(question)
    meaning = resolve(told, [past_turn(turn) for turn in turns], find_answer=further, rewriter=rewriter)
    if meaning.candidates:
        patience = engine.settings.clarification_timeout
        asked = ask(question, meaning.candidates, language=meaning.language, now=now, patience=patience)
        states.put(key_of(scope), asked)
        return Understanding(clarification=asked)
    standalone = meaning.standalone if meaning.standalone != told else ""
    by_rules = rewriter is not None and bool(meaning.references) and meaning.rewritten_by == "rules"
    return Understanding(standalone, meaning.resolved, degraded=(RULES_WROTE,) if by_rules else ())


@cache
def _load() -> None:
    """Load and compile what the rules need, so that only the first question of a process waits for it."""
    _ = (
        said_in(""),
        small_talk("x"),
        shipped_scorer(),
        has_meaning("x"),
        [each.patterns for each in followup_languages()],
    )


def _rewriter(engine: Engine) -> Rewriter | None:
    """The model that writes standalone questions, if the settings want one."""
    return None if engine.llm is None or engine.settings.recall.rewriter == "rules" else ModelRewriter(engine.llm)


def _turns_exist(engine: Engine, scope: Scope, pending: Pending, recent: Sequence[Turn]) -> bool:
    """Whether every turn of the options still exists: deleted text must not be shown again."""
    numbers = {option.turn_number for option in pending.options}
    if not numbers <= {turn.turn_number for turn in recent}:
        recent = engine.store.turns.page(scope.owner, scope.session_id, after=min(numbers) - 1, before=max(numbers) + 1)
    return numbers <= {turn.turn_number for turn in recent if not turn.damage}


def past_turn(turn: Turn) -> PastTurn:
    """A stored turn as the rules need it. A quote of the user's own words tells nothing new, if it lists nothing."""
    answer, chunk_ids, recalled = turn.response or "", turn.chunk_ids, "memory_sources" in turn.metadata
    response = said_in(answer)
    items = derive_items(response, chunk_ids)
    if turn.metadata.get("memory_sources") and not (items or len(enumeration(response, language_of(response))) > 2):
        response = said_in(answer, quotes=False)
    # A question without an answer still has its topic.
    told = bool(answer and not response) and (recalled or not _refuses(answer))
    return PastTurn(turn.turn_number, turn.query, response, chunk_ids, items, told)


@lru_cache(maxsize=2_048)
def said_in(answer: str, *, quotes: bool = True) -> str:
    """An answer with the reader's own sentences blanked, so that places in it stay; empty if it says nothing else.

    Without `quotes` the user's own words are blanked too.
    """
    alone, within = _fixed_sentences(quotes)
    said = "" if alone.fullmatch(answer) else within.sub(lambda found: " " * len(found[0]), answer)
    return said if said.strip() else ""


def _refuses(answer: str) -> bool:
    """Whether the reader says in an answer that it has none."""
    return any(sentence in answer for each in languages() for sentence in _refusals(each.reader))


def _refusals(own: "ReaderPhrases") -> tuple[str, ...]:
    """The sentences that stand where nothing answers a question, without quotes behind them."""
    return (own.absent, own.nothing_yet, own.nothing_held, own.fallback)


@cache
def _fixed_sentences(quotes: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What the reader says of itself: alone (a greeting); anywhere (a refusal), in front of a quote or around it."""
    whole_answers: list[str] = []
    fixed: list[str] = []
    for own in (each.reader for each in languages()):
        alone = (own.greeting, own.greeting_name, own.thanks, own.okay, own.farewell, own.feeling, own.gladness)
        told = (
            own.noted, own.remembered, own.standing, own.forgotten, own.nothing_to_forget, own.never_said,
            own.forget_all, own.all_forgotten, own.no_wishes, own.no_origin, own.no_translation, own.no_other_words,
            own.mentions,
        )  # fmt: skip
        none = (*_refusals(own), own.unsure, own.no_more, own.no_talk)
        whole = () if quotes else (own.you_said, own.talk_user, own.known_line)
        quoting = (own.you_said, own.i_said, own.confirmed, own.nearest)
        leads = (
            own.opening,
            own.both,
            own.talk,
            own.known,
            own.wishes,
            *(each.split("{quote}")[0] for each in quoting),
        )
        whole_answers += alone
        fixed += (*told, *none, *whole, *leads)
    joined = (
        "|".join(re.sub(r"\\{\w+\\}", ".*?", re.escape(each)) for each in known) for known in (whole_answers, fixed)
    )
    alone_pattern, within = joined
    return re.compile(rf"\s*(?:{alone_pattern})\s*", re.DOTALL), re.compile(within, re.DOTALL)


def _chosen(option: ClarificationOption) -> Resolved:
    return Resolved("ordinal", option.turn_number, None, option.text or option.name, option.chunk_ids, 1.0)


class ModelRewriter:
    """Rewrites with a language model. Thread-safe if the model is."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def rewrite(self, question: str, history: Sequence[PastTurn]) -> str:
        """The question with everything it needs from the talk."""
        language = language_of(question)
        talk = "\n".join(
            f"- {defuse(said[:_READ_CHARACTERS])}"
            for turn in history[-_READ_TURNS:]
            for said in (turn.query, turn.response)
            if said
        )
        word = marker((talk, question))
        asked = f"{open_fence(word, language.code)}\n{talk}\n{close_fence(word, language.code)}\n\n{question}"
        messages = [{"role": "system", "content": language.rewrite_instructions}, {"role": "user", "content": asked}]
        return self._llm.complete(messages, max_tokens=_MOST_TOKENS).text
