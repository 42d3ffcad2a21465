"""Foreign traces to runs, and runs to ATIF."""

from butfor.importers.atif_export import to_atif
from butfor.importers.compression import Limits
from butfor.importers.inputs import Input, Opening, from_bytes, from_path, from_stream
from butfor.importers.redaction import RULES, Redactor, redactor
from butfor.importers.registry import FORMATS, Format, Import, import_file, import_input
from butfor.importers.tally import ImportReport

__all__ = [
    "import_file",
    "import_input",
    "Import",
    "ImportReport",
    "Opening",
    "Limits",
    "Input",
    "from_path",
    "from_stream",
    "from_bytes",
    "FORMATS",
    "Format",
    "Redactor",
    "redactor",
    "RULES",
    "to_atif",
]
