"""An agent of LangChain with a memory: a tool call, a follow-up, and a new day on which it still knows the user.

Runs as it is, without network: the model is a script that says what it was shown. Put a real one in its place.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

import ricordo
from ricordo.contrib.langchain import RicordoMiddleware
from ricordo.contrib.langgraph_checkpoint import RicordoSaver


class ScriptedModel(BaseChatModel):
    """Calls the tool when asked for the weather, and otherwise repeats what it knows."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> "ScriptedModel":
        """Needs no binding."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        asked = messages[-1]
        if "weather" in asked.text and not isinstance(asked, ToolMessage):
            call = {"name": "weather", "args": {"city": "Rome"}, "id": "call-1", "type": "tool_call"}
            answer = AIMessage("", tool_calls=[call])
        elif isinstance(asked, ToolMessage):
            answer = AIMessage(f"The weather: {asked.text}.")
        else:
            known = "Rome" if any("Rome" in message.text for message in messages[:-1]) else "nothing"
            answer = AIMessage(f"I was shown {len(messages)} messages; of where you live I know {known}.")
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


def main(path: Path) -> list[str]:
    """Talk on two days; the answers."""
    with ricordo.open(path) as memory:
        agent = create_agent(
            ScriptedModel(),
            tools=[weather],
            system_prompt="You are kind.",
            middleware=[RicordoMiddleware(memory, user_id=lambda config: config["configurable"]["user_id"])],
            checkpointer=RicordoSaver(memory, user_id=lambda config: config["configurable"]["user_id"], keep=3),
        )

        def ask(question: str, day: str) -> str:
            config = {"configurable": {"thread_id": day, "user_id": "ada"}}
            state = agent.invoke({"messages": [("user", question)]}, config)
            return state["messages"][-1].text

        said = [ask("My name is Ada and I live in Rome.", "monday"), ask("How is the weather?", "monday")]
        memory.session("monday", user_id="ada").end()
        return [*said, ask("What do you know of me?", "tuesday")]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for answer in main(Path(folder) / "agent.db"):
            print(answer)
