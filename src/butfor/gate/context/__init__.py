"""What is true when a call comes: values from its arguments, functions, commands, HTTP and SQL."""

from butfor.gate.context.reading import Reading, Unread, read_context

__all__ = ["read_context", "Reading", "Unread"]
