"""An agent of the OpenAI Agents SDK with a session in Ricordo. Runs without a network: the model is a few rules."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents import Agent, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import ricordo
from ricordo.contrib.agents import RicordoSession, instructions


@dataclass
class Signed:
    """Who has signed in."""

    user: str


@function_tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


class Rules(Model):
    """Stands in for a language model."""

    async def get_response(self, *args: Any, **named: Any) -> ModelResponse:
        items = named["input"]
        last = items[-1]
        if "weather" in str(last.get("content", "")):
            call = ResponseFunctionToolCall(
                id="f", type="function_call", call_id=f"c{len(items)}", name="weather", arguments='{"city": "Rome"}'
            )
            return ModelResponse([call], Usage(), None)
        words = str(last.get("output") or f"I have read {len(items)} items.")
        text = ResponseOutputText(type="output_text", text=words, annotations=[], logprobs=[])
        said = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse([said], Usage(), None)

    def stream_response(self, *args: Any, **named: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


async def main(place: str) -> None:
    """Two users with one session object: the context of the run says whose it is."""
    with ricordo.open(place) as memory:
        prompt = instructions(memory, "You are brief.", user_id=lambda signed: signed.user)
        agent = Agent[Signed](name="assistant", model=Rules(), tools=[weather], instructions=prompt)
        session = RicordoSession("today", memory, user_id=lambda signed: signed.user)
        quiet = RunConfig(tracing_disabled=True)
        for user, question in [("ada", "How is the weather?"), ("ada", "And before?"), ("bob", "What was said?")]:
            result = await Runner.run(agent, question, session=session, context=Signed(user), run_config=quiet)
            print(f"{user}: {question} → {result.final_output}")
        for turn in memory.session("today", user_id="ada").history():
            print(turn.turn_number, turn.query, [step.role for step in turn.steps], turn.response)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(str(Path(folder) / "chat.db")))
