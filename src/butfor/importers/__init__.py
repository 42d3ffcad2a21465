"""Foreign traces to runs, and runs to ATIF."""
