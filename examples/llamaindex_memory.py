"""LlamaIndex with a memory that lasts: its own `Memory` on Ricordo's store, what is known of the user beside it.

Runs as it is, without network: the model is LlamaIndex's mock, which repeats what it is told.
"""

import asyncio
import tempfile
from pathlib import Path

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.memory import Memory

import ricordo
from ricordo.contrib.llamaindex import RicordoChatStore, RicordoMemory, RicordoMemoryBlock


async def with_their_memory(memory: ricordo.Memory, day: str, question: str) -> list[ChatMessage]:
    """LlamaIndex's own memory: its queue is a session, and what leaves it stays searchable."""
    theirs = Memory.from_defaults(
        session_id=day,
        token_limit=400,
        chat_store=RicordoChatStore(memory, user_id="ada"),
        memory_blocks=[RicordoMemoryBlock(memory, user_id="ada")],
    )
    await theirs.aput_messages([ChatMessage(question), ChatMessage("Noted.", role="assistant")])
    return await theirs.aget()


def with_our_memory(memory: ricordo.Memory, day: str, question: str) -> str:
    """A chat engine on Ricordo's memory: what is known, the recent turns and what was recalled, within the limit."""
    ours = RicordoMemory(memory, user_id="ada", session_id=day, token_limit=2_000)
    engine = SimpleChatEngine(llm=MockLLM(), memory=ours, prefix_messages=[])
    return str(engine.chat(question))


def main(path: Path) -> list[str]:
    """Talk on three days; what the model was told on the last two."""
    with ricordo.open(path) as memory:
        asyncio.run(with_their_memory(memory, "monday", "My name is Ada and I live in Rome."))
        memory.session("monday", user_id="ada").end()
        shown = asyncio.run(with_their_memory(memory, "tuesday", "What shall I visit?"))
        return [str(shown[0]), with_our_memory(memory, "wednesday", "Where do I live?")]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for told in main(Path(folder) / "chat.db"):
            print(told, end="\n\n")
