"""The file that the import benchmark times holds the steps that it says, scattered, and all are imported."""

import io

from butfor.benchmarks.import_speed import measure, write


def test_every_step_of_the_timed_file_is_imported(tmp_path):
    text = io.StringIO()
    write(text, 60, 10, seed=1)
    path = tmp_path / "t.otlp.jsonl"
    path.write_text(text.getvalue())
    lines = text.getvalue().splitlines()
    assert len(lines) == 120
    assert lines != sorted(lines, key=lambda line: line.split('"spanId": "')[1])
    assert measure(str(path))["imported"] == 60
