"""Runs, journals, rollouts and results on SQLite."""
