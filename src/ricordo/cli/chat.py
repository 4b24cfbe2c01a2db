"""`ricordo chat`: a talk in the terminal, through the same pipeline as the server's.

The answer goes to stdout as it comes; what a follow-up was understood as, what the answer cites and what else is to be
known go to stderr, so that a pipe only carries answers. Ctrl-C stops an answer and keeps what was said of it.
"""

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ricordo.cli.arguments import Command, Options, add_agent, add_llm, add_user, open_memory, user_of
from ricordo.cli.documents import add_file, library_for
from ricordo.cli.output import Output, one_line, shown
from ricordo.cli.receipts import account, item_names
from ricordo.cli.turns import read_text
from ricordo.errors import NotFoundError, ValidationError
from ricordo.memory import Memory
from ricordo.records.turns import Owner

if TYPE_CHECKING:
    from ricordo.chat import Chat, ChatResponse
    from ricordo.chat.events import Event

PROMPT = "you › "
PATIENCE = 20.0  # seconds at the end for what is learned beside the chat
HELP = "/new begins another session, /receipt explains the last prompt, /quit ends; Ctrl-C stops an answer"


def chat(options: Options, output: Output) -> int:
    """Talk until there is nothing more to say."""
    with open_memory(options, create=True) as memory:
        talk = _begin(memory, options, output)
        if options.question is not None:
            talk.say(read_text(options.question))
        else:
            for line in _lines(output, talk):
                talk.hear(line)
        memory.settle(PATIENCE)  # a running program learns beside the chat; this one is about to end
    return 0


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

    def hear(self, line: str) -> None:
        """A line that was typed: a word to the program, or something that is said."""
        word = line.strip()
        if word == "/new":
            self.session_id = None
            self.output.aside(Text("a new session begins with your next question", "dim"))
        elif word == "/receipt":
            self._explain()
        elif word == "/help":
            self.output.aside(Text(HELP, "dim"))
        elif word:
            self.say(line)

    def say(self, question: str) -> None:
        """Ask, and show the answer as it comes."""
        from ricordo.chat import ChatRequest
        from ricordo.chat.events import Delta, Done, Started

        request = ChatRequest(
            question,
            self.user_id,
            self.agent_id,
            self.session_id,
            document_ids=self.document_ids,
            stop=lambda: self.stopping,
        )
        said: list[str] = []
        started: Started | None = None
        try:
            with self._stoppable():
                for event in self.chat.respond(request):
                    if isinstance(event, Started):
                        started, self.session_id = event, event.session_id
                    if isinstance(event, Delta):
                        said.append(event.text)
                    if isinstance(event, Done):
                        self._done(event.response)
                    else:
                        self._show(event)
        except KeyboardInterrupt:  # a second Ctrl-C: the answerer did not come back by itself
            if started is not None:
                self._keep(started.turn_id, "".join(said))
            raise

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        """The first Ctrl-C asks the answer to stop, the second ends the program."""
        self.stopping = False

        def stop(number: int, frame: FrameType | None) -> None:
            if self.stopping:
                raise KeyboardInterrupt
            self.stopping = True

        before = signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _show(self, event: "Event") -> None:
        from ricordo.chat.events import Clarify, CrisisNotice, Delta, Understood

        if isinstance(event, Understood) and event.standalone:
            self.output.aside(Text(f"understood as: {shown(event.standalone)}", "green"))
        elif isinstance(event, CrisisNotice):
            told = f"! {event.category}, tier {event.tier}: a fixed reply with helplines; no model is asked"
            self.output.aside(Text(told, "bold red"))
        elif isinstance(event, Clarify):
            self.output.aside(*_options(event))
        elif isinstance(event, Delta) and not self.output.as_json:
            sys.stdout.write(shown(event.text) if sys.stdout.isatty() else event.text)
            sys.stdout.flush()

    def _done(self, response: "ChatResponse") -> None:
        if self.output.as_json:
            self.output.document(response.as_json())
            return
        sys.stdout.write("\n")
        sys.stdout.flush()
        known = response.metadata
        self.output.aside(*[Text(line, "dim") for line in sources(response)])
        if known.get("stopped"):
            self.output.aside(Text("stopped; what was said is kept", "yellow"))
        self.output.aside(*[Text(f"! {shown(note)}", "yellow") for note in known.get("degraded", ())], "")

    def _keep(self, turn_id: str, text: str) -> None:
        """Keep what was said of an answer that was broken off; a question without any answer stays open."""
        if text and self.session_id:
            session = self.memory.session(self.session_id, user_id=self.user_id, agent_id=self.agent_id)
            session.answer(turn_id, text, metadata={"stopped": True})

    def _explain(self) -> None:
        """The receipt of the last answer."""
        receipts = []
        if self.session_id:
            session = self.memory.session(self.session_id, user_id=self.user_id, agent_id=self.agent_id)
            receipts = session.receipts(1)
        if not receipts:
            self.output.aside(Text("nothing was asked yet", "dim"))
            return
        owner = Owner(self.memory.settings.tenant_id, self.user_id)
        self.output.show(account(receipts[0], item_names(self.memory.store, owner, receipts[0])))


def sources(response: "ChatResponse") -> list[str]:
    """What the answer cites, each passage with its document and how it begins."""
    found = {each.chunk_id: each for each in response.data}
    lines = []
    for chunk_id in response.metadata.get("citations", ()):
        if passage := found.get(chunk_id):
            lines.append(f"[{shown(chunk_id)}] {one_line(passage.title or '', 40)}: {one_line(passage.text, 60)}")
    return lines


def _options(event: Any) -> list[Text]:
    numbered = [
        Text(f"  {number}. {one_line(option['label'], 80)}", "yellow") for number, option in enumerate(event.options, 1)
    ]
    return [*numbered, Text("  a number, a place or a name answers it; anything else is a new question", "dim")]


def _begin(memory: Memory, options: Options, output: Output) -> TerminalChat:
    """The talk that the options describe, with the documents that were given."""
    from ricordo.chat import Chat

    user_id, session_id = user_of(options), options.session
    owner, library = Owner(memory.settings.tenant_id, user_id), library_for(memory)
    if session_id is not None and memory.store.sessions.get(owner, session_id) is None:
        raise NotFoundError(f"user {user_id!r} has no session {session_id!r}; `ricordo sessions` lists them")
    if options.go_on and session_id is None:
        newest = memory.sessions(user_id=user_id, limit=1, agent_id=options.agent)
        session_id = newest[0].id if newest else None
    given = tuple(add_file(library, owner, path)[0].id for path in options.document)
    spoken = Chat(memory, passages=library)
    return TerminalChat(memory, spoken, output, user_id, options.agent, session_id, given or None)


def _lines(output: Output, talk: TerminalChat) -> Iterator[str]:
    """What a person types, or the lines of a pipe; empty ones say nothing."""
    if not sys.stdin.isatty():
        try:
            yield from (line.rstrip("\n") for line in sys.stdin if line.strip())
        except UnicodeDecodeError as error:
            raise ValidationError("standard input", f"is not text ({error}); give UTF-8") from error
        return
    _arm_line_editing()
    answers = talk.chat.answerer.name
    output.aside(Text(f"{shown(answers)} answers user {shown(talk.user_id)}. {HELP}", "dim"), "")
    while True:
        try:
            line = input(PROMPT)
        except EOFError:
            output.aside("")
            return
        if line.strip() == "/quit":
            return
        yield line


def _arm_line_editing() -> None:
    """Arrow keys and history, where this Python can."""
    with suppress(ImportError):
        import readline  # noqa: F401 - being there is enough


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", nargs="?", help="ask this alone, - for all of stdin; without it, line by line")
    add_user(parser)
    parser.add_argument("-s", "--session", metavar="ID", help="default: a new session")
    parser.add_argument(
        "-c", "--continue", dest="go_on", action="store_true", help="go on with the most recent session"
    )
    add_agent(parser)
    add_llm(parser)
    parser.add_argument(
        "--document",
        metavar="FILE",
        action="append",
        default=[],
        help="answer from this file alone (.txt, .md, .pdf); repeatable; default: all that the user may read",
    )


COMMANDS = (
    Command(
        "chat",
        "talk in the terminal: answers from your documents or a model, with everything remembered",
        chat,
        _arguments,
        "ricordo chat --user anna --document course.md",
    ),
)
