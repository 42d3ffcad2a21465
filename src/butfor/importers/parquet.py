"""Rows of a Parquet file, where pyarrow is installed."""

from __future__ import annotations

import datetime as dt
import importlib
import math
from typing import TYPE_CHECKING, Any

from butfor.errors import InputError
from butfor.importers.records import raise_or_tell, unheard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from butfor.canonical import Json
    from butfor.importers.inputs import Source
    from butfor.importers.records import Record

_BATCH = 1000


class ParquetRecords:
    """One record for each row, read a batch at a time.

    Args:
        source: The bytes and how they are opened.
    """

    def __init__(self, source: Source) -> None:
        self.digest: str | None = source.digest
        self._source = source

    def each(self, problem: Callable[[InputError], None] = unheard) -> Iterator[Record]:
        """Read from the start.

        Raises:
            InputError: pyarrow is not installed, or the file is damaged.
        """
        try:
            parquet: Any = importlib.import_module("pyarrow.parquet")
        except ImportError:
            raise InputError(
                "reading Parquet needs the package 'pyarrow', which is too large to come with butfor",
                where=self._source.name,
                fix="pip install pyarrow, or export the table as JSON Lines",
            ) from None
        number = 0
        with self._source.opened() as stream:
            try:
                for batch in parquet.ParquetFile(stream).iter_batches(batch_size=_BATCH):
                    for row in batch.to_pylist():
                        number += 1
                        value: Json = {key: _plain(each) for key, each in row.items()}
                        yield self._source.record(value, part=f"row {number}")
            except (OSError, ValueError) as error:
                broken = InputError(
                    f"the Parquet file is cut off or damaged ({str(error)[:80]})",
                    where=self._source.name,
                    fix="export it again",
                )
                raise_or_tell(broken, problem, nothing_read=not number)


def _plain(value: Any) -> Json:
    """Return a cell as JSON; maps come as lists of pairs, decimals and times as text."""
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        pairs = all(isinstance(each, tuple) and len(each) == 2 for each in value) and bool(value)
        return {str(key): _plain(each) for key, each in value} if pairs else [_plain(each) for each in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
