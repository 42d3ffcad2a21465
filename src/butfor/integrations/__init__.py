"""One file for each host framework."""
