"""Which format a text is in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from butfor.errors import InputError, NotFound, system_reason
from butfor.graphs.formats.dagitty import read_dagitty
from butfor.graphs.formats.dot import read_dot
from butfor.graphs.formats.yaml import read_yaml

if TYPE_CHECKING:
    from butfor.graphs.admg import Graph

# Comments come first in all three languages; `dag`, `mag` and so on open dagitty text, `digraph` and `graph x` DOT.
_LEAD = r"\A(?:\ufeff|\s|//[^\n]*\n|/\*.*?\*/|\#[^\n]*\n)*"
_DOT = re.compile(_LEAD + r"(?:strict\s+)?(?:digraph|graph)\b[^:]*?\{", re.DOTALL | re.IGNORECASE)
_DAGITTY = re.compile(_LEAD + r"(?:dag|mag|pdag|pag)\b\s*(?:\"[^\"]*\"|\w+)?\s*\{", re.DOTALL | re.IGNORECASE)


def read(text: str, *, source: str = "graph") -> Graph:
    """Read a graph from dagitty text, DOT, YAML or JSON, whichever it is.

    Args:
        text: The whole file.
        source: What to call it in errors, usually its file name.

    Raises:
        InputError: The text is none of these, or says something that is not an ADMG; the line is named.
    """
    if _DAGITTY.match(text):
        return read_dagitty(text, source=source)
    if _DOT.match(text):
        return read_dot(text, source=source)
    return read_yaml(text, source=source)


def read_file(path: str | Path) -> Graph:
    """Read a graph file.

    Raises:
        NotFound: There is no such file.
        InputError: It cannot be read as UTF-8 text, or not as a graph.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise NotFound(f"there is no file {str(path)!r}", fix="check the path") from None
    except UnicodeDecodeError as error:
        raise InputError(
            "the file is not UTF-8 text", where=f"{path}, byte {error.start}", fix="save it as UTF-8"
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"the file cannot be read ({system_reason(error)})", where=str(path)) from None
    return read(text, source=path.name)
