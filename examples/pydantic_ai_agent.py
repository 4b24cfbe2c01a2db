"""An agent of Pydantic AI that remembers, and the record of its conversations. Runs without a network."""

import asyncio
import tempfile
from pathlib import Path

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart
from pydantic_ai.conversation import Conversation
from pydantic_ai.models.function import AgentInfo, FunctionModel

import ricordo
from ricordo.contrib.pydantic_ai import RicordoConversations, RicordoMemory


def rules(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Stands in for a language model."""
    return ModelResponse(parts=[TextPart(f"I have read {len(messages)} messages.")])


async def main(place: str) -> None:
    """A conversation that is saved whole, and a second one that knows of the first."""
    with ricordo.open(place) as memory:
        store = RicordoConversations(memory, user_id="ada")
        agent = Agent(FunctionModel(rules), capabilities=[RicordoMemory(memory, user_id="ada")])
        for question in ("My name is Ada.", "I live in Turin."):
            conversation = await store.load("first") or Conversation(conversation_id="first")
            result = await agent.run(question, conversation=conversation)
            await store.save(result)
            print(question, "→", result.output)
        fork = await store.fork("first", at=2, new_conversation_id="second")
        saved = [each.conversation_id for each in await store.list_conversations()]
        print("the fork has", len(fork.messages), "messages; saved:", saved)
        memory.session("first", user_id="ada").end()
        print("known:", ", ".join(sorted(fact.text for fact in memory.facts("ada"))))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(str(Path(folder) / "chat.db")))
