"""The chat: one pipeline from a question to its stored answer, for every interface."""

from ricordo.chat.answerers import Answered, Answerer, Model, Reader, Task
from ricordo.chat.pipeline import Chat
from ricordo.chat.response import ChatRequest, ChatResponse, Event

__all__ = ["Answered", "Answerer", "Chat", "ChatRequest", "ChatResponse", "Event", "Model", "Reader", "Task"]
