"""The README's example runs as printed, and what the pages point to exists."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def butfor(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "butfor.cli", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def test_the_twenty_line_example_is_recorded_and_attributed_as_the_page_says(tmp_path):
    (source,) = re.findall(r"```python\n(# my_agent\.py\n.*?)```", README, re.DOTALL)
    assert len(source.splitlines()) <= 24
    (tmp_path / "my_agent.py").write_text(source)
    (commands,) = re.findall(r"```\n(echo .*?)```", README, re.DOTALL)
    task = re.search(r"echo '(.*?)' > task.json", commands)
    assert task is not None
    (tmp_path / "task.json").write_text(task.group(1))
    recorded = butfor(tmp_path, "record", "--agent", "my_agent:agent", "--input", "task.json", "--outcome",
                      'tool_called("send")')  # fmt: skip
    assert recorded.returncode == 0, recorded.stderr
    run = recorded.stdout.split()[0]
    assert "outcome 1" in recorded.stderr
    attributed = butfor(tmp_path, "attribute", run, "--method", "profile")
    assert attributed.returncode == 0, attributed.stderr
    assert "price: " in attributed.stderr
    replayed = butfor(tmp_path, "replay", run, "--do", 'action(0, {"answer": "no"})', "-n", "40")
    assert "outcome 0.000" in replayed.stdout, replayed.stderr
    reported = butfor(tmp_path, "report", run, "--out", "report.html")
    assert reported.returncode == 0, reported.stderr
    assert "<html" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    "page", sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")]), ids=lambda page: page.name
)
def test_every_local_link_of_a_page_leads_somewhere(page):
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_module_and_test_that_the_table_of_methods_names_exists():
    text = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    for path in re.findall(r"`((?:tests|[a-z]+)/[\w/.]*)`", text):
        assert (ROOT / path).exists() or (ROOT / "src" / "butfor" / path).exists(), path
