"""Programs and files of the study, in this process."""

import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics_study.files import write_json
from sampled_metrics_study.program import program


def test_program_with_wrong_input_has_status_2(capsys):
    with pytest.raises(SystemExit) as ended, program():
        raise InputError("wrong")
    assert ended.value.code == 2
    assert capsys.readouterr().err == "wrong\n"


def test_json_keeps_letters(tmp_path):
    write_json(tmp_path / "a.json", {"name": "Amélie"})
    assert "Amélie" in (tmp_path / "a.json").read_text("utf-8")
