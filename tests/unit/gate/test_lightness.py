"""What a host pays for naming the gate: no NumPy, no database, and a request path without heavy packages."""

import subprocess
import sys

from tests.patience import PATIENCE


def loaded_by(statement):
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    return set(found.stdout.split())


def test_the_room_is_light():
    assert not loaded_by("import butfor.gate") & {"numpy", "pydantic", "sqlalchemy", "yaml", "cryptography"}


def test_deciding_from_cells_loads_numpy_and_nothing_heavier():
    heavy = {"scipy", "pydantic", "sqlalchemy", "pandas", "yaml", "cryptography", "sklearn", "pyarrow", "duckdb"}
    statement = "import butfor.gate.decide, butfor.gate.warm, butfor.estimation.standardise"
    loaded = loaded_by(statement)
    assert "numpy" in loaded
    assert not loaded & heavy
