"""One connection, its transactions, and the translation of its faults."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from butfor.errors import StoreError
from butfor.store import sqlite
from butfor.store.blobs import Packer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sqlalchemy import Connection
    from sqlalchemy.engine.interfaces import Dialect
    from sqlalchemy.sql import Insert, Select

Row: TypeAlias = "Mapping[str, object]"


class Prepared:
    """A statement, compiled once.

    Executing it through SQLAlchemy costs 60 to 75 µs of CPU a statement, of which the database needs a fraction; a
    rollout that should cost one commit does not pay it.
    """

    def __init__(self, statement: Insert | Select[Any], dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self.sql = str(compiled)
        self._order: tuple[str, ...] | None = None if compiled.positiontup is None else tuple(compiled.positiontup)
        # What the compiler added itself, such as the offset beside a limit.
        self._given = {name: value for name, value in compiled.params.items() if value is not None}

    def bind(self, row: Row) -> Any:
        """Return the row's values as the driver wants them."""
        values = {**self._given, **row} if self._given else row
        return [values[name] for name in self._order] if self._order is not None else values


class Database:
    """A connection that several threads may use, one at a time.

    Args:
        path: The database file.
        patience: Seconds to wait for another process that is writing.
        survives: Whose death a commit survives at the moment when it returns.
    """

    def __init__(self, path: Path, *, patience: float, survives: sqlite.Survives = "process") -> None:
        self.path = path
        self.patience = patience
        self.packer = Packer()
        self.lock = threading.RLock()
        self._engine = sqlite.engine(path, patience=patience, survives=survives)
        self._closed = False
        try:
            self._connection = self._engine.connect()
        except DBAPIError as error:
            raise self._fault(error) from None
        self.errors: Any = self._engine.dialect.loaded_dbapi
        self._driver: Any = self._connection.connection.dbapi_connection

    def prepare(self, statement: Insert | Select[Any]) -> Prepared:
        """Compile a statement for `commit` or `driving`."""
        return Prepared(statement, self._engine.dialect)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give one consistent view of the store, which no writer blocks."""
        with self._transaction(write=False) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a transaction that holds the writer's lock; it commits unless something is raised."""
        with self._transaction(write=True) as connection:
            yield connection

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[Connection]:
        with self.lock:
            self._check_open()
            try:
                with self._connection.begin():
                    sqlite.begin(self._driver, write=write)
                    yield self._connection
            except (SQLAlchemyError, self.errors.Error) as error:
                raise self._fault(error) from None

    def commit(self, *writes: tuple[Prepared, Row]) -> None:
        """Execute prepared statements in one transaction, without SQLAlchemy's bookkeeping.

        Raises:
            StoreError: They could not be written; nothing was.
            IntegrityError: A row contradicts what is stored (the driver's own exception, for the caller to explain).
        """
        with self.driving(write=True) as cursor:
            for prepared, row in writes:
                cursor.execute(prepared.sql, prepared.bind(row))

    @contextmanager
    def driving(self, *, write: bool) -> Iterator[Any]:
        """Give the driver's cursor in a transaction, for prepared statements.

        Args:
            write: Take the writer's lock now; the transaction commits unless something is raised.

        Raises:
            StoreError: The database refused; nothing was written.
            IntegrityError: A row contradicts what is stored (the driver's own exception, for the caller to explain).
        """
        with self.lock:
            self._check_open()
            driver = self._driver
            try:
                sqlite.begin(driver, write=write)
                yield driver.cursor()
                driver.commit()
            except BaseException as error:
                driver.rollback()
                if isinstance(error, self.errors.Error) and not isinstance(error, self.errors.IntegrityError):
                    raise self._fault(error) from None
                raise

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        with self.lock:
            if not self._closed:
                self._closed = True
                self._connection.close()
                self._engine.dispose()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the store is closed", where=str(self.path), fix="open it again")

    def _fault(self, error: BaseException) -> StoreError:
        return sqlite.fault(getattr(error, "orig", None) or error, self.path)
