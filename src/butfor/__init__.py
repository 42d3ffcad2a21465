"""Causal verification for LLM agents: gate a tool call, attribute a failure, repair the step that caused it."""
