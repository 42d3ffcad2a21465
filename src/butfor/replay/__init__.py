"""Recorder, journal, do-operations, engine and the tool-effect policy."""
