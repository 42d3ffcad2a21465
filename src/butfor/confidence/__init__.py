"""Intervals, confidence sequences, sequential tests and multiplicity."""
