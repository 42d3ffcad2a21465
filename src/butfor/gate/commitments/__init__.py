"""Graphs that somebody stands for: versions, approvals, and the directory that holds them."""
