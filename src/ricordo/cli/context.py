"""Commands on prompts: the context of a question, the receipts of past turns, a past context rebuilt.

A receipt is shown as a bar of the budget, a table of sections and a table of items. `--prompt` prints only the prompt
on stdout and its receipt on stderr, ready for a pipe to a model.
"""

import argparse

from rich.console import RenderableType
from rich.text import Text

from ricordo.cli.arguments import (
    Options,
    add_budget,
    add_chunks,
    add_talk,
    command,
    open_memory,
    read_chunks,
    read_text,
    session_of,
    user_of,
)
from ricordo.cli.output import Output, context_json, meaning_view, one_line, table
from ricordo.cli.views import item_names, messages_view, receipt_view, section_view
from ricordo.prompt.context import Context
from ricordo.records.turns import Owner


def _context_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", help="the next question; - reads it from standard input")
    add_talk(parser)
    add_chunks(parser)
    add_budget(parser)
    parser.add_argument("--system", metavar="TEXT", help="the base prompt; default: the setting system_prompt")
    parser.add_argument("--profile", metavar="TEXT", default="", help="what is known of the user")
    parser.add_argument("--summary", metavar="TEXT", default="", help="a summary of earlier turns")
    _add_form(parser)


@command(
    "build the next prompt under one budget and explain it",
    _context_arguments,
    'ricordo context "And the second point?" --user anna --chunks course.jsonl --budget 1000',
)
def context(options: Options, output: Output) -> None:
    from ricordo.chat import Chat, ChatRequest
    from ricordo.documents.library import Library

    question = read_text(options.question)
    with open_memory(options) as memory:
        if options.session is None and not memory.sessions(user_id=user_of(options), limit=1):
            session = memory.session(user_id=user_of(options))
        else:
            session = session_of(memory, options)
        chunks = read_chunks(options) if options.chunks else None
        request = ChatRequest(question, session.user_id, session.agent_id, session.id, chunks=chunks)
        built = Chat(memory, passages=Library(memory, memory.store.documents)).preview(
            request, budget=options.budget, system=options.system, profile=options.profile, summary=options.summary
        )
        names = item_names(memory.store, Owner(memory.settings.tenant_id, session.user_id), built.receipt)
    print_context(built, names, options, output)


def _receipts_arguments(parser: argparse.ArgumentParser) -> None:
    add_talk(parser)
    parser.add_argument("-n", "--limit", metavar="N", type=int, default=50, help="default: %(default)s")


@command("list the receipts of past prompts", _receipts_arguments, "ricordo receipts --user anna")
def receipts(options: Options, output: Output) -> None:
    with open_memory(options) as memory:
        found = session_of(memory, options).receipts(options.limit)
    rows = table(
        "turn", "question", "tokens", "limit", "kept", "dropped", right=("turn", "tokens", "limit", "kept", "dropped")
    )
    for each in found:
        numbers = (f"{each.total_tokens:,}", f"{each.limit:,}", str(len(each.kept)), str(len(each.dropped)))
        rows.add_row(str(each.turn_number), Text(one_line(each.question, 50)), *numbers)
    empty = "no receipts: they are stored with turns whose context was built first (`ricordo ask`)"
    output.lines((each.as_json() for each in found), rows if found else empty)


def _rebuild_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("turn_number", type=int, help="the number of the turn")
    add_talk(parser)
    _add_form(parser)


@command(
    "rebuild the context of a past turn, byte for byte",
    _rebuild_arguments,
    "ricordo rebuild 3 --user anna --prompt",
)
def rebuild(options: Options, output: Output) -> None:
    with open_memory(options) as memory:
        session = session_of(memory, options)
        built = session.rebuild(options.turn_number)
        names = item_names(memory.store, Owner(memory.settings.tenant_id, session.user_id), built.receipt)
    print_context(built, names, options, output)


def print_context(built: Context, names: dict[str, str], options: Options, output: Output) -> None:
    """Print the standalone question, the messages and the receipt; or only the prompt."""
    receipt: RenderableType = receipt_view(built.receipt, names)
    meaning = meaning_view(built)
    understood: list[RenderableType] = [section_view("question", meaning), ""] if meaning else []
    if options.prompt and not output.as_json:
        output.raw(built.prompt)
        output.note("", *understood, receipt)
        return
    shown_as = (*understood, section_view("messages", messages_view(built)), "", section_view("receipt", receipt))
    output.document(context_json(built), *shown_as)


def _add_form(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--prompt", action="store_true", help="only the prompt on stdout, the receipt on stderr")
