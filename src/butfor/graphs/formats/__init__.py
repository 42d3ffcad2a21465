"""dagitty text, DOT, NetworkX, YAML and JSON."""

from butfor.graphs.formats.choose import read, read_file
from butfor.graphs.formats.dagitty import read_dagitty, write_dagitty
from butfor.graphs.formats.dot import read_dot, write_dot
from butfor.graphs.formats.nx import from_networkx, to_networkx
from butfor.graphs.formats.yaml import read_yaml, write_json, write_yaml

__all__ = [
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
