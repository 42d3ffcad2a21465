"""The doctor: one line a check, and a fix where something is wrong."""

import json
import os
from pathlib import Path

import pytest

from butfor.cli.doctor import content_check, python_check, store_check
from butfor.cli.main import main
from butfor.runs import Run
from butfor.store import Store


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return int(stop.value.code or 0), capsys.readouterr().out


def test_all_is_well_in_a_new_place(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path / "new"))
    code, out = called(capsys, "doctor")
    assert code == 0
    assert "BROKEN" not in out
    assert "the first recording makes" in out
    assert not (tmp_path / "new").exists()  # looking changes nothing


def test_json_has_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path))
    code, out = called(capsys, "doctor", "--json")
    checks = json.loads(out)
    assert code == 0
    assert {"Python", "packages", "fresh process", "store", "local model"} <= {each["name"] for each in checks}
    assert all(each["fix"] for each in checks if each["status"] == "optional")


def test_an_old_python_is_broken():
    assert python_check((3, 10)).status == "broken"
    assert python_check((3, 11)).status == "ok"


def test_a_store_that_is_a_file_is_broken(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    assert store_check(tmp_path / "file" / "store").status == "broken"
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path / "file"))
    code, out = called(capsys, "doctor")
    assert (code, "set BUTFOR_HOME to a directory" in out) == (1, True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_that_cannot_be_written_is_broken(tmp_path):
    (tmp_path / "shut").mkdir(mode=0o500)
    assert store_check(tmp_path / "shut").status == "broken"


def test_damage_is_found(tmp_path: Path):
    with Store.open(tmp_path) as store:
        store.save_run(Run(run_id="one"))
        file = store.path
    assert content_check(tmp_path).status == "ok"
    file.write_bytes(b"not a database" * 1000)
    found = content_check(tmp_path)
    assert found.status == "broken"
    assert found.fix
