"""A program that remembers through the Model Context Protocol: it starts `ricordo mcp`, tells it something, and asks.

Runs as it is, without network. With a server that runs elsewhere, give `Client` its address instead:
`Client("https://memory.example.org/mcp")`, with a key in the header `Authorization`.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from mcp.client.stdio import StdioServerParameters

from mcp import Client


def server_at(path: Path, user_id: str) -> StdioServerParameters:
    """How the server is started: for one file and one user."""
    arguments = ["-m", "ricordo", "mcp", "--db", str(path), "--user", user_id, "--set", "embedder=light"]
    return StdioServerParameters(command=sys.executable, args=arguments)


async def main() -> None:
    """Two runs of a program, with a memory between them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        async with Client(server_at(path, "anna")) as memory:
            await memory.call_tool("add_memory", {"text": "My name is Anna and I am learning Portuguese."})
            talk = [
                {"role": "user", "content": "How do I say good morning?"},
                {"role": "assistant", "content": "Bom dia."},
            ]
            await memory.call_tool("append_messages", {"session_id": "lesson-1", "messages": talk})
        async with Client(server_at(path, "anna")) as memory:
            found = await memory.call_tool("search_memories", {"query": "good morning", "limit": 1})
            print("found:", found.structured_content["results"][0]["memory"])
            context = await memory.call_tool(
                "get_context", {"session_id": "lesson-1", "query": "And good night?", "token_budget": 1000}
            )
            print("tokens within the budget:", context.structured_content["tokens"] <= 1000)
            print("knows the talk:", "Bom dia." in context.structured_content["prompt"])


if __name__ == "__main__":
    asyncio.run(main())
