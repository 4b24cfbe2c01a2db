"""The chat: one pipeline from a question to its stored answer, for every interface."""

from ricordo.chat.answerers import Answered, Answerer, Model, Reader, Task
from ricordo.chat.events import ChatRequest, ChatResponse, Event
from ricordo.chat.pipeline import Chat

__all__ = ["Answered", "Answerer", "Chat", "ChatRequest", "ChatResponse", "Event", "Model", "Reader", "Task"]
