"""One module for each way of writing a message."""

from butfor.importers.dialects import anthropic, chat, genai, langchain, responses

__all__ = ["anthropic", "chat", "genai", "langchain", "responses"]
