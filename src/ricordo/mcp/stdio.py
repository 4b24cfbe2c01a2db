"""Serve one user over standard input and output, for programs that start the server themselves.

The user is given at the start. There is no authentication: a program that can start the server can also read the file.
"""

import logging
import sys
from typing import Any

from ricordo.errors import SettingsError
from ricordo.limits import check_id
from ricordo.memory import Memory
from ricordo.records.turns import DEFAULT_AGENT

SETTLE_SECONDS = 5.0
INSTALL = "pip install 'ricordo[mcp]'"


def run_stdio(memory: Memory, user_id: str, agent_id: str = DEFAULT_AGENT) -> None:
    """Serve until the input ends, then wait up to five seconds for facts to be learned from the last messages.

    The memory stays open; the caller closes it.
    """
    server = server_for(memory, user_id, agent_id)
    handler = logging.StreamHandler(sys.stderr)  # standard output belongs to the protocol
    logging.getLogger("ricordo").addHandler(handler)
    try:
        server.run("stdio")
        memory.settle(SETTLE_SECONDS)
    finally:
        logging.getLogger("ricordo").removeHandler(handler)


def server_for(memory: Memory, user_id: str, agent_id: str = DEFAULT_AGENT) -> Any:
    """A server (`mcp.server.MCPServer`) for one user."""
    memory.facts(user_id, agent_id)  # validates the ids before a client connects
    try:
        from ricordo.mcp.memories import McpUser
        from ricordo.mcp.server import make_server
    except ImportError as error:
        if (error.name or "").startswith("ricordo"):
            raise
        raise SettingsError("mcp", f"needs packages that are not installed ({error}): {INSTALL}") from error
    user = McpUser(memory, check_id("user_id", user_id), check_id("agent_id", agent_id))
    return make_server(lambda ctx, scope: user)
