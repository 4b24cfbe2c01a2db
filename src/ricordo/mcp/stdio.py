"""Serve one user over standard input and output, as programs start it on a person's machine.

The user is named when the server is started; whoever can start it could open the file as well.
"""

import logging
import sys
from typing import Any

from ricordo.errors import SettingsError
from ricordo.limits import check_id
from ricordo.mcp.caller import McpUser
from ricordo.memory import DEFAULT_AGENT, Memory

LAST_MOMENT = 5.0
INSTALL = "pip install 'ricordo[mcp]'"


def run_stdio(memory: Memory, user_id: str, agent_id: str = DEFAULT_AGENT) -> None:
    """Serve until the input ends, then give what was said last a moment to be learned from.

    The memory stays open: whoever opened it closes it.
    """
    server = server_for(memory, user_id, agent_id)
    handler = logging.StreamHandler(sys.stderr)  # standard output belongs to the protocol
    logging.getLogger("ricordo").addHandler(handler)
    try:
        server.run("stdio")
        memory.settle(LAST_MOMENT)
    finally:
        logging.getLogger("ricordo").removeHandler(handler)


def server_for(memory: Memory, user_id: str, agent_id: str = DEFAULT_AGENT) -> Any:
    """A server (`mcp.server.MCPServer`) that is about one user, whoever calls."""
    memory.facts(user_id, agent_id)  # refuses names that cannot be, before anybody connects
    person = McpUser(memory, check_id("user_id", user_id), check_id("agent_id", agent_id))
    try:
        from ricordo.mcp.server import make_server
    except ImportError as error:
        if (error.name or "").startswith("ricordo"):
            raise
        raise SettingsError("mcp", f"needs packages that are not installed ({error}): {INSTALL}") from error
    return make_server(lambda ctx, scope: person)
