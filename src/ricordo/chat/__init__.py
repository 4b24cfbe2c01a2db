"""The chat: one pipeline from a question to its kept answer, for every face."""

from ricordo.chat.answerers import Answered, Answerer, Model, Reader, Task
from ricordo.chat.events import ChatResponse, Event
from ricordo.chat.pipeline import Chat
from ricordo.chat.response import ChatRequest

__all__ = ["Answered", "Answerer", "Chat", "ChatRequest", "ChatResponse", "Event", "Model", "Reader", "Task"]
