"""Anthropic's memory tool with its files in Ricordo. Runs without a network, with commands as a model sends them."""

import tempfile
from pathlib import Path

from anthropic.lib.tools import ToolError

import ricordo
from ricordo.contrib.anthropic_memory import RicordoMemoryTool

COMMANDS = [
    {"command": "create", "path": "/memories/tea.md", "file_text": "Ada likes green tea.\n"},
    {"command": "insert", "path": "/memories/tea.md", "insert_line": 1, "insert_text": "Without sugar."},
    {"command": "str_replace", "path": "/memories/tea.md", "old_str": "green", "new_str": "white"},
    {"command": "rename", "old_path": "/memories/tea.md", "new_path": "/memories/drinks/tea.md"},
    {"command": "view", "path": "/memories"},
    {"command": "view", "path": "/memories/drinks/tea.md"},
    {"command": "view", "path": "/memories/../etc/passwd"},
]


def main(place: str) -> None:
    """With a client: `client.beta.messages.tool_runner(tools=[tool], ...)`."""
    with ricordo.open(place) as memory:
        tool = RicordoMemoryTool(memory, user_id="ada")
        for command in COMMANDS:
            try:
                print(tool.call(command))
            except ToolError as error:
                print("refused:", error.content)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(str(Path(folder) / "chat.db"))
