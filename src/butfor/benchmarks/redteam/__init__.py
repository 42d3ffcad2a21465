"""Attacks on the gate's graph: an edge forgotten, an arrow turned round, a consequence taken for a confounder."""
