"""Write a file that must not exist yet, whole or not at all: what somebody signed is never overwritten."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from butfor.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def write_new(path: Path, data: bytes) -> None:
    """Write a file that must not exist yet, whole or not at all.

    Raises:
        InputError: It exists, or cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # fails where the file exists, which a rename would not
    except FileExistsError:
        raise InputError("it is there already", where=str(path), fix="nothing needs to be done") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(
            f"the file cannot be written ({reason})", where=str(path), fix="choose another folder"
        ) from None
    finally:
        draft.unlink(missing_ok=True)
