"""Acyclic directed mixed graphs, m-separation, districts and their file formats."""
