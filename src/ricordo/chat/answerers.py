"""Answerers: the reader, which needs no model, or a language model with the reader as its fallback.

In: a task with the composed context. Out: the answer in pieces, then its citations, confidence and token usage.
Citations are checked while the text streams.
"""

import logging
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from ricordo.chat.citations import CitationCheck
from ricordo.chat.material_reader import outline, read, words_of
from ricordo.chat.memory_reader import CONFIRMS, MemoryAnswer, MemoryReader, says_nothing_new
from ricordo.chat.passages import AnswerSupport, confidence, coverage, margin
from ricordo.chat.past import READER, MemoryPassage, MessageWords, Past
from ricordo.chat.question import (
    CLAUSES,
    COMMANDS,
    LAST_ANSWER,
    SMALL_TALK,
    DialogueAct,
    dialogue_act,
    folded,
    memory_question,
)
from ricordo.errors import LLMError, RicordoError
from ricordo.followups.parse import parse
from ricordo.followups.reference import main_kind
from ricordo.languages.registry import AnyLanguage
from ricordo.languages.registry import language as language_by_code
from ricordo.languages.text import familiar
from ricordo.limits import readable
from ricordo.people.facts.statements import FOR_GOOD, facts_of_message

if TYPE_CHECKING:
    from ricordo.engine import LLM, Completion
    from ricordo.prompt.context import Context
    from ricordo.records.turns import Chunk

log = logging.getLogger("ricordo")
_CREATION = AnyLanguage(r"\W*(?:<dialogue.wanted:creation>)", flags=0)
_NEEDS_HELP = AnyLanguage(r"\b(?:<dialogue.wanted:help>)\b", flags=0)
LONGEST_YES = 60  # letters of a message that only says yes
LONGEST_CHOICE = 4  # words of a message that only says which one: "the second one"
UNFINISHED = ("length", "content_filter")  # reasons of a model to end an answer before it is whole


@dataclass(frozen=True, slots=True)
class Task:
    """A question with everything that an answerer may use. `said` holds the earlier answers, newest last."""

    question: str
    context: "Context"
    chunks: tuple["Chunk", ...]
    scores: tuple[float, ...]
    language: str
    said: tuple[str, ...] = ()
    past: Past | None = None
    act: DialogueAct | None = None  # of the question, where it is known already
    titles: tuple[str, ...] = ()  # of the documents, where the question is for them
    outlined: bool = False  # the chunks are the outline of a document to summarise

    @property
    def standalone(self) -> str:
        """The standalone question, as rules read it; empty if it is the question itself."""
        standalone = familiar(readable(self.context.question))
        return "" if standalone == familiar(readable(self.question)) else standalone


@dataclass(frozen=True, slots=True)
class Answered:
    """A complete answer. `completion` is the model's; None if no model was called."""

    text: str
    cited: tuple[str, ...]
    removed: tuple[str, ...]
    confidence: float
    answerer: str
    completion: "Completion | None" = None
    notes: tuple[str, ...] = field(default=())
    act: str = ""
    told: tuple[str, ...] = ()  # what the user stated beside a question, in the words of the message
    sources: tuple[MemoryPassage, ...] = ()
    options: tuple[str, ...] = ()  # the answer asks which of these is meant
    unfinished: str = ""  # why the model ended it too early: "length" or "content_filter"


class Answerer(Protocol):
    """Answers tasks; thread-safe."""

    @property
    def name(self) -> str:
        """The name shown in results."""
        ...

    def answer(self, task: Task) -> Generator[str, None, Answered]:
        """Yield the answer in pieces and return it complete. Closing the generator stops the work."""
        ...


class Reader:
    """Answers with sentences of the material and of what was said."""

    name = READER

    def answer(self, task: Task) -> Generator[str, None, Answered]:
        """Small talk, an acknowledgement, quotes with their sources, or the sentence that there is no answer."""
        task = replace(task, question=familiar(readable(task.question)))
        try:
            answered = self._with_statements(task, self._answered(task))
        except RicordoError as error:  # the database is away: the material is at hand, the past is not
            log.warning("memory could not be read for an answer: %s", error, extra={"operation": "answer"})
            note = language_by_code(task.language).reader.notes["memory_not_read"]
            answered = replace(self._from_material(task), notes=(note,))
        yield from words_of(answered.text)
        return answered

    def _with_statements(self, task: Task, answered: Answered) -> Answered:
        """An answer behind the acknowledgement of what the message states beside its question."""
        if task.past is None or answered.act != "question" or not CLAUSES.search(task.question):
            return answered
        reader = MemoryReader(task.past, task.language)
        if not (facts := reader.learned(task.question)):
            return answered
        text = f"{reader.noted(facts)}\n\n{answered.text}"
        return replace(answered, text=text, told=tuple(fact.quote for fact in facts))

    def _answered(self, task: Task) -> Answered:
        if task.past is None:
            return self._from_material(task)
        act = task.act or dialogue_act(task.question)
        informs = (act.act == "statement" or act.unclear) and bool(facts_of_message(task.question))
        states = act.about_oneself and informs
        if act.act == "statement" and not states and dialogue_act(task.standalone or "").act == "question":
            act = DialogueAct("question", task.standalone)  # "the first", "physics": it completes a question
        asks = act.act == "question" and task.question.rstrip().endswith("?")
        if (
            asks
            and FOR_GOOD.search(task.question)
            and any(fact.kind == "instruction" for fact in facts_of_message(task.question))
        ):
            act = DialogueAct("standing", task.question)  # "could you answer in English from now on?"
        reader = partial(MemoryReader, task.past, task.language)
        plain = folded(task.question)
        if act.act == "statement" and (unclear := _NEEDS_HELP.search(plain)):  # "I don't get the part about gluten"
            explained = self._from_material(replace(task, question=plain[unclear.end() :]), act.act)
            if explained.cited:
                return explained
        if len(plain) <= LONGEST_YES and CONFIRMS.fullmatch(plain) and (done := reader().confirmed()):
            return self._from_memory(done, DialogueAct("forget", task.question))
        if act.act in SMALL_TALK:
            return self._from_memory(reader().small_talk(act), act)
        if act.act in LAST_ANSWER:
            return self._from_memory(reader().again(act), act)
        if act.act == "wishes":
            return self._from_memory(reader().wishes(), act)
        if act.act == "statement" and act.unclear and not informs:
            held = reader().recall(task.question)
            if held and says_nothing_new(task.question, held):
                return self._from_memory(held, DialogueAct("question", task.question))
        orders = act.act in ("statement", "question") and "?" not in plain and _CREATION.match(plain)
        if act.act in ("about_you", "hijack") or (orders and not informs and not task.chunks):
            return self._from_memory(MemoryAnswer(language_by_code(task.language).reader.nothing_yet, 1.0), act)
        if act.act in COMMANDS or (act.about_oneself and (states or not task.context.references)):
            return self._from_memory(reader().acknowledge(act), act)
        if task.outlined and task.chunks:
            summary = outline(task.chunks, task.language)
            return Answered(summary.text, summary.chunk_ids, (), summary.confidence, self.name, act=act.act)
        if task.titles or act.act == "documents":
            return self._from_memory(reader().documents(task.titles), act)
        if act.act == "talk":
            return self._from_memory(reader().talk(task.question), act)
        if act.act in ("claim", "own_claim"):
            return self._from_memory(reader().claim(task.question, own=act.act == "own_claim"), act)
        if act.act == "about_me" and (known := reader().about_user()):
            return self._from_memory(known, act)
        asked = memory_question(task.question)
        personal = act.act == "question" and (asked.fact_groups or asked.own_name)
        # No material knows where the user lives: «abito» is no «abiti».
        material = self._from_material(replace(task, chunks=()) if personal else task, act.act)
        if act.act == "statement":
            pointing = not act.about_oneself and len(task.question.split()) <= LONGEST_CHOICE
            picked = [one.item for one in task.context.references if pointing and one.item and one.kind == "ordinal"]
            chooses = picked or (pointing and main_kind(tuple(parse(task.question))) == "ordinal")
            said = reader().item(picked[0].text if picked else "") if chooses else reader().acknowledge(act)
            return material if material.cited else self._from_memory(said, act)
        pointed = material.cited and task.context.references  # a follow-up on the material stays there
        recalled = None if pointed else reader().recall(task.question)
        if task.standalone and not (pointed or (recalled and recalled.found)):
            again = reader().recall(task.standalone)
            recalled = recalled if recalled and not _speaks_of_it(again, recalled, task.question) else again
        if act.unclear and informs and not (material.cited or says_nothing_new(task.question, recalled)):
            stated = DialogueAct("statement", task.question, about_oneself=True)
            return self._from_memory(reader().acknowledge(stated), stated)
        if recalled is None and not task.chunks and task.past.is_empty:
            return replace(material, text=language_by_code(task.language).reader.nothing_held)
        if recalled is None:
            return material
        if not material.cited or recalled.of_user or _is_own(recalled, task.question):
            return self._from_memory(recalled, act)
        if _is_weaker(recalled, material):
            return material
        both = f"{language_by_code(task.language).reader.both}\n\n{material.text}\n\n{recalled.text}"
        return replace(material, text=both, sources=recalled.sources)

    def _from_material(self, task: Task, act: str = "question") -> Answered:
        asked = (task.question, task.standalone, task.chunks, task.language)
        answer = read(*asked, references=task.context.references, said=task.said)
        return Answered(answer.text, answer.chunk_ids, (), answer.confidence, self.name, act=act)

    def _from_memory(self, told: MemoryAnswer, act: DialogueAct) -> Answered:
        answered = Answered(told.text, told.chunk_ids, (), told.confidence, self.name, act=act.act)
        return replace(answered, sources=told.sources, options=told.options)


def _speaks_of_it(again: MemoryAnswer | None, first: MemoryAnswer, question: str) -> bool:
    """Whether the answer to a standalone question still holds the question's own words, if the first one did."""
    asked = memory_question(question)
    held = [
        any(MessageWords.of(each.text).heard(asked) for each in told.sources) if told else False
        for told in (first, again)
    ]
    return held[1] or not held[0]


def _is_own(recalled: MemoryAnswer, question: str) -> bool:
    """Whether the user's own words answer for certain what is asked about the user: no material can know it."""
    own = recalled.found and all(each.role == "user" for each in recalled.sources)
    return own and memory_question(question).is_personal


def _is_weaker(recalled: MemoryAnswer, material: Answered) -> bool:
    return not recalled.found or recalled.confidence < material.confidence


class Model:
    """Calls a language model. A model that fails, is cut off or says nothing gives no answer: `LLMError`.

    With `fallback` the reader answers where the model fails before its first piece, and its answer says so.
    """

    def __init__(self, llm: "LLM", max_tokens: int | None = None, *, fallback: bool = False) -> None:
        self._llm = llm
        self._max_tokens = max_tokens
        self._fallback = fallback

    @property
    def name(self) -> str:
        """The model's name."""
        return self._llm.name

    def answer(self, task: Task) -> Generator[str, None, Answered]:
        """The model's answer with checked citations."""
        return (yield from self.stream_messages(task, task.context.messages))

    def stream_messages(
        self, task: Task, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any] | None = None
    ) -> Generator[str, None, Answered]:
        """The model's answer to these messages; `options` of the chat protocol are passed through."""
        check = CitationCheck(chunk.id for chunk in task.chunks)
        said: list[str] = []
        completion: Completion | None = None
        failure: LLMError | None = None
        pieces = self._llm.stream(messages, max_tokens=self._max_tokens, options=options)
        try:
            while True:
                try:
                    piece = check.feed(next(pieces))
                except StopIteration as ended:
                    completion = ended.value
                    break
                if piece:
                    said.append(piece)
                    yield piece
        except LLMError as error:
            log.warning("the model failed: %s", error, extra={"operation": "answer"})
            failure = error
        finally:
            pieces.close()
        if failure is None and (rest := check.close()):
            said.append(rest)
            yield rest
        text = "".join(said)
        if failure is None and not text.strip() and not (completion and completion.tool_calls):
            failure = LLMError(f"the model {self.name} said nothing; ask again", cause="empty")
        if failure is not None:
            if not self._fallback or text.strip():
                raise failure
            return (yield from self._fall_back(task, completion, failure))
        covered = coverage(task.context.question, [chunk.text for chunk in task.chunks])
        cited, removed = len(check.cited), len(check.removed)
        known = AnswerSupport(len(task.chunks), covered, margin(task.scores), cited=cited, removed=removed)
        cut = completion.finish_reason if completion and completion.finish_reason in UNFINISHED else ""
        told = (language_by_code(task.language).reader.notes[cut],) if cut else ()
        whole = Answered(text, check.cited, check.removed, confidence(known), self.name, completion)
        return replace(whole, notes=told, unfinished=cut)

    def _fall_back(
        self, task: Task, completion: "Completion | None", failure: LLMError
    ) -> Generator[str, None, Answered]:
        """The reader's answer behind a sentence that says that the model did not answer."""
        words = language_by_code(task.language).reader
        said = f"{words.fallback}\n\n"
        yield said
        answered = yield from Reader().answer(task)
        notes = (f"{words.notes['model_failed']}: {failure}", *answered.notes)
        return replace(answered, text=said + answered.text, completion=completion, notes=notes)


_NAMED_IDS = 3


@dataclass(frozen=True, slots=True)
class Instructions:
    """Texts for the system and format sections of the prompt, so that a model cites like the reader."""

    system: str
    format: str


def instructions(language: str, chunk_ids: Sequence[str] = ()) -> Instructions:
    """The instructions in a language, in English where it is unknown; the first ids serve as the example."""
    words = language_by_code(language).answers
    named = " ".join(f"[{name}]" for name in chunk_ids[:_NAMED_IDS])
    if not named:
        return Instructions(words.system, words.without_material)
    return Instructions(words.system, words.format.replace("{example}", words.example + named))
