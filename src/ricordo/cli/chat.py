"""`ricordo chat`: a conversation in the terminal, through the same pipeline as the server's.

The answer is streamed to stdout; the standalone question, citations and notes go to stderr, so that a pipe carries
only answers. Ctrl-C stops an answer and keeps the part that was printed; before its first word the question stays open.
"""

import argparse
import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ricordo.cli.arguments import (
    OK,
    Options,
    add_agent,
    add_llm,
    add_session_choice,
    add_user,
    command,
    exit_code,
    open_memory,
    read_text,
    report,
    user_of,
)
from ricordo.cli.output import Output, one_line, printable
from ricordo.cli.transfer import add_file, library_for
from ricordo.cli.views import item_names, receipt_view
from ricordo.errors import LLMError, NotFoundError, ValidationError
from ricordo.memory import Memory
from ricordo.records.turns import Owner

if TYPE_CHECKING:
    from ricordo.chat import Chat, ChatResponse
    from ricordo.chat.response import Event

PROMPT = "you › "
SETTLE_SECONDS = 20.0  # at the end, for the background work
HELP = "/new starts another session, /receipt explains the last prompt, /quit ends; Ctrl-C stops an answer"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", nargs="?", help="one question, - to read it from stdin; without it, line by line")
    add_user(parser)
    add_session_choice(parser)
    add_agent(parser)
    add_llm(parser)
    parser.add_argument(
        "--document",
        metavar="FILE",
        action="append",
        default=[],
        help="answer only from this file (.txt, .md, .pdf); repeatable; default: all that the user may read",
    )


@command(
    "chat in the terminal: answers from your documents or a model, with memory",
    _arguments,
    "ricordo chat --user anna --document course.md",
)
def chat(options: Options, output: Output) -> int:
    with _no_log_lines(), open_memory(options, create=True) as memory:
        conversation = _open_chat(memory, options, output)
        if options.question is not None:
            conversation.ask(read_text(options.question))
        else:
            for line in _lines(output, conversation):
                conversation.handle_line(line)
        memory.settle(SETTLE_SECONDS)  # the process ends, and its background worker with it
    return OK if sys.stdin.isatty() else conversation.code  # of the last failure in a pipe


@contextmanager
def _no_log_lines() -> Iterator[None]:
    """Print no log lines between the answers, which report failures themselves; configured handlers still get them."""
    log, silent = logging.getLogger("ricordo"), logging.NullHandler()
    log.addHandler(silent)
    try:
        yield
    finally:
        log.removeHandler(silent)


@dataclass
class TerminalChat:
    """A session in the terminal."""

    memory: Memory
    chat: "Chat"
    output: Output
    user_id: str
    agent_id: str
    session_id: str | None
    document_ids: tuple[str, ...] | None
    stopping: bool = False
    silent: bool = False  # the question is stored, and there is no text of the answer yet
    code: int = OK

    def handle_line(self, line: str) -> None:
        """Run a line that was typed: a slash command, or a question."""
        word = line.strip()
        if word == "/new":
            self.session_id = None
            self.output.note(Text("a new session starts with your next question", "dim"))
        elif word == "/receipt":
            self._explain()
        elif word == "/help":
            self.output.note(Text(HELP, "dim"))
        elif word:
            try:
                self.ask(line)
            except LLMError as error:  # the question is kept, and the next one may be answered
                report(error, as_json=self.output.as_json)
                self.code = exit_code(error)

    def ask(self, question: str) -> None:
        """Ask a question and print the answer as it is streamed."""
        from ricordo.chat import ChatRequest
        from ricordo.chat.response import Delta, Done, Started

        if self.session_id is None and self.document_ids:
            session = self.memory.session(user_id=self.user_id, agent_id=self.agent_id)
            self.session_id = session.create(document_ids=self.document_ids).id
        request = ChatRequest(
            question,
            self.user_id,
            self.agent_id,
            self.session_id,
            document_ids=self.document_ids,
            stop=lambda: self.stopping,
        )
        printed: list[str] = []
        turn_id = ""
        try:
            with self._stoppable():
                for event in self.chat.respond(request):
                    if isinstance(event, Started):
                        turn_id, self.session_id, self.silent = event.turn_id, event.session_id, True
                    if isinstance(event, Delta):
                        printed.append(event.text)
                        self.silent = False
                    if isinstance(event, Done):
                        self._done(event.response)
                    else:
                        self._show(event)
        except LLMError:
            if printed and not self.output.as_json:
                print(flush=True)  # end the line of an incomplete answer
            raise
        except KeyboardInterrupt:  # a second Ctrl-C, or one before any text
            if not turn_id:
                raise
            session = self.memory.session(self.session_id, user_id=self.user_id, agent_id=self.agent_id)
            if printed:
                session.answer(turn_id, "".join(printed), metadata={"stopped": True})
                raise
            error = LLMError("the answer was stopped before its first word", cause="stopped")
            self.chat.mark_failed(self.user_id, turn_id, error, self.chat.language(question, session))
            raise error from None

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        """The first Ctrl-C stops the answer, at once while it is silent; the second ends the program."""
        self.stopping = self.silent = False

        def stop(number: int, frame: FrameType | None) -> None:
            if self.stopping or self.silent:
                raise KeyboardInterrupt
            self.stopping = True

        before = signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _show(self, event: "Event") -> None:
        from ricordo.chat.response import Clarify, CrisisNotice, Delta, Understood

        if isinstance(event, Understood) and event.standalone:
            self.output.note(Text(f"understood as: {printable(event.standalone)}", "green"))
        elif isinstance(event, CrisisNotice):
            notice = f"! {event.category}, tier {event.tier}: a fixed reply with helplines; no model is asked"
            self.output.note(Text(notice, "bold red"))
        elif isinstance(event, Clarify):
            self.output.note(*_options(event))
        elif isinstance(event, Delta) and not self.output.as_json:
            sys.stdout.write(printable(event.text) if sys.stdout.isatty() else event.text)
            sys.stdout.flush()

    def _done(self, response: "ChatResponse") -> None:
        if self.output.as_json:
            self.output.document(response.as_json())
            return
        sys.stdout.write("\n")
        sys.stdout.flush()
        known = response.metadata
        self.output.note(*[Text(line, "dim") for line in citation_lines(response)])
        if known.get("stopped"):
            self.output.note(Text("stopped; the part above is kept", "yellow"))
        self.output.note(*[Text(f"! {printable(note)}", "yellow") for note in known.get("degraded", ())], "")

    def _explain(self) -> None:
        """Print the receipt of the last answer."""
        receipts = []
        if self.session_id:
            session = self.memory.session(self.session_id, user_id=self.user_id, agent_id=self.agent_id)
            receipts = session.receipts(1)
        if not receipts:
            self.output.note(Text("no question was asked yet", "dim"))
            return
        owner = Owner(self.memory.settings.tenant_id, self.user_id)
        self.output.show(receipt_view(receipts[0], item_names(self.memory.store, owner, receipts[0])))


def citation_lines(response: "ChatResponse") -> list[str]:
    """The passages that an answer cites, each with its document and its beginning."""
    found = {each.chunk_id: each for each in response.data}
    cited = [found[chunk_id] for chunk_id in response.metadata.get("citations", ()) if chunk_id in found]
    return [f"[{printable(p.chunk_id)}] {one_line(p.title or '', 40)}: {one_line(p.text, 60)}" for p in cited]


def _options(event: Any) -> list[Text]:
    numbered = [
        Text(f"  {number}. {one_line(option['label'], 80)}", "yellow") for number, option in enumerate(event.options, 1)
    ]
    return [*numbered, Text("  a number, a place or a name answers it; anything else is a new question", "dim")]


def _open_chat(memory: Memory, options: Options, output: Output) -> TerminalChat:
    """The chat of a new or given session, over the documents of --document or all of the user's."""
    from ricordo.chat import Chat

    user_id, session_id = user_of(options), options.session
    owner, library = Owner(memory.settings.tenant_id, user_id), library_for(memory)
    if session_id is not None and memory.store.sessions.get(owner, session_id) is None:
        raise NotFoundError(f"user {user_id!r} has no session {session_id!r}; `ricordo sessions` lists them")
    if options.continue_session and session_id is None:
        newest = memory.sessions(user_id=user_id, limit=1, agent_id=options.agent)
        session_id = newest[0].id if newest else None
    given = tuple(add_file(library, owner, path)[0].id for path in options.document)
    pipeline = Chat(memory, passages=library)
    return TerminalChat(memory, pipeline, output, user_id, options.agent, session_id, given or None)


def _lines(output: Output, conversation: TerminalChat) -> Iterator[str]:
    """The lines that are typed, or the non-empty lines of a pipe."""
    if not sys.stdin.isatty():
        try:
            yield from (line.rstrip("\n") for line in sys.stdin if line.strip())
        except UnicodeDecodeError as error:
            raise ValidationError("standard input", f"is not text ({error}); give UTF-8") from error
        return
    with suppress(ImportError):  # arrow keys and history, if this Python has them
        import readline  # noqa: F401 - importing it is enough
    answerer = conversation.chat.answerer.name
    output.note(Text(f"{printable(answerer)} answers user {printable(conversation.user_id)}. {HELP}", "dim"), "")
    while True:
        try:
            line = input(PROMPT)
        except EOFError:
            output.note("")
            return
        if line.strip() == "/quit":
            return
        yield line
