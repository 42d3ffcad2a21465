"""Acyclic directed mixed graphs, m-separation, districts and their file formats.

The readers and the drawing are loaded when they are first asked for: the request path needs neither.
"""

import importlib
from typing import TYPE_CHECKING, Any

from butfor.graphs.admg import Graph
from butfor.graphs.draft import Draft
from butfor.graphs.parts import ROLES, Edges, Role, bits

if TYPE_CHECKING:
    from butfor.graphs.drawing import svg
    from butfor.graphs.formats import (
        from_networkx,
        read,
        read_dagitty,
        read_dot,
        read_file,
        read_yaml,
        to_networkx,
        write_dagitty,
        write_dot,
        write_json,
        write_yaml,
    )
    from butfor.graphs.projection import latent_projection
    from butfor.graphs.relations import ancestors, descendants, district, districts
    from butfor.graphs.separation import m_separated, minimal_separator

_HOMES = {
    "svg": "drawing",
    "latent_projection": "projection",
    **dict.fromkeys(["ancestors", "descendants", "district", "districts"], "relations"),
    **dict.fromkeys(["m_separated", "minimal_separator"], "separation"),
    **dict.fromkeys(["from_networkx", "read", "read_dagitty", "read_dot", "read_file", "read_yaml"], "formats"),
    **dict.fromkeys(["to_networkx", "write_dagitty", "write_dot", "write_json", "write_yaml"], "formats"),
}

__all__ = [
    "Graph",
    "Role",
    "ROLES",
    "Edges",
    "Draft",
    "bits",
    "ancestors",
    "descendants",
    "district",
    "districts",
    "latent_projection",
    "m_separated",
    "minimal_separator",
    "svg",
    "read",
    "read_file",
    "read_dagitty",
    "read_dot",
    "read_yaml",
    "from_networkx",
    "to_networkx",
    "write_dagitty",
    "write_dot",
    "write_json",
    "write_yaml",
]


def __getattr__(name: str) -> Any:
    """Load a reader, a relation or the drawing when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'butfor.graphs' has no attribute {name!r}")
    return getattr(importlib.import_module(f"butfor.graphs.{_HOMES[name]}"), name)
