"""Evidence: tables of past units with a digest and a kind, from objects, files, SQL and the run store."""

from butfor.estimation.evidence.decisions import Decisions, decision_rows, starter_graph
from butfor.estimation.evidence.description import KINDS, Evidence, Kind, Roles
from butfor.estimation.evidence.engine import aggregate, read_sql
from butfor.estimation.evidence.expressions import aggregate_expression
from butfor.estimation.evidence.manifest import open_evidence, save_evidence, write_rows
from butfor.estimation.evidence.reading import Table, read_file, read_object
from butfor.estimation.evidence.reduced import Aggregate

__all__ = [
    "Evidence",
    "Kind",
    "KINDS",
    "Roles",
    "Table",
    "read_object",
    "read_file",
    "read_sql",
    "aggregate",
    "aggregate_expression",
    "Aggregate",
    "save_evidence",
    "open_evidence",
    "write_rows",
    "decision_rows",
    "Decisions",
    "starter_graph",
]
