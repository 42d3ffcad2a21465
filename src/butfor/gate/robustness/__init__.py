"""What would change the verdict: tests of the graph, single-edge changes, and hidden causes by strength."""
