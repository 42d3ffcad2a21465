"""The trace model: runs, steps, tool calls, observations, outcomes and replayability grades."""
