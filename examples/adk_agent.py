"""An agent of Google ADK with its sessions and memories in Ricordo. Runs without a network."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.tools import load_memory
from google.genai import types

import ricordo
from ricordo.contrib.adk import RicordoMemoryService, RicordoSessionService


class Rules(BaseLlm):
    """Stands in for a language model: a question is looked up in the memory, anything else is noted."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        last = llm_request.contents[-1].parts[-1]
        if last.function_response:
            found = last.function_response.response["result"].memories
            part = types.Part(text=f"You said: {found[0].content.parts[0].text}" if found else "I do not know.")
        elif last.text.endswith("?"):
            part = types.Part(function_call=types.FunctionCall(name="load_memory", args={"query": last.text}, id="c"))
        else:
            part = types.Part(text="Noted.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main(place: str) -> None:
    """What is said in one session is found in the next."""
    with ricordo.open(place) as memory:
        sessions, memories = RicordoSessionService(memory), RicordoMemoryService(memory)
        agent = LlmAgent(name="assistant", model=Rules(model="rules"), tools=[load_memory])
        runner = Runner(app_name="demo", agent=agent, session_service=sessions, memory_service=memories)
        for name, words in [("monday", "My cat is called Zorzi."), ("tuesday", "What is my cat called?")]:
            await sessions.create_session(app_name="demo", user_id="ada", session_id=name)
            message = types.Content(role="user", parts=[types.Part(text=words)])
            async for event in runner.run_async(user_id="ada", session_id=name, new_message=message):
                if event.content and event.content.parts and event.content.parts[0].text:
                    print(f"{name}: {words} → {event.content.parts[0].text}")
            session = await sessions.get_session(app_name="demo", user_id="ada", session_id=name)
            assert session is not None
            await memories.add_session_to_memory(session)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(str(Path(folder) / "chat.db")))
