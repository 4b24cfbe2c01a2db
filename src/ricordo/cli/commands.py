"""All commands, in the order in which the help shows them."""

from ricordo.cli import (
    bench,
    chat,
    context,
    demo,
    documents,
    maintenance,
    people,
    search,
    serve,
    sessions,
    topics,
    transfer,
    turns,
)

COMMANDS = (
    *demo.COMMANDS,
    *serve.SERVE_COMMANDS,
    *chat.COMMANDS,
    *turns.COMMANDS,
    *sessions.READ_COMMANDS,
    *context.COMMANDS,
    *search.SEARCH_COMMANDS,
    *topics.COMMANDS,
    *people.PERSON_COMMANDS,
    *documents.COMMANDS,
    *transfer.COMMANDS,
    *sessions.FORGET_COMMANDS,
    *people.SAFETY_COMMANDS,
    *serve.KEYS_COMMANDS,
    *maintenance.COMMANDS,
    *search.WEIGHTS_COMMANDS,
    *bench.COMMANDS,
)
