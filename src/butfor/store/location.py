"""Where the store is."""

from __future__ import annotations

import os
from pathlib import Path

from butfor.errors import StoreError

FILE_NAME = "butfor.db"


def home() -> Path:
    """Return the directory of the store: `BUTFOR_HOME`, else `./.butfor`."""
    return Path(os.environ.get("BUTFOR_HOME") or ".butfor")


def make(directory: Path) -> Path:
    """Create the directory where it is missing, and return the path of the database in it.

    Raises:
        StoreError: It is a file, or cannot be created.
    """
    fix = "give a directory that you can write to, or set BUTFOR_HOME to one"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise StoreError("the store's path is a file or goes through one", where=str(directory), fix=fix) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise StoreError(f"the store's directory cannot be made ({reason})", where=str(directory), fix=fix) from None
    return directory / FILE_NAME
