"""Programs and files of the study, in this process."""

import json

import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics_study.files import write_json
from sampled_metrics_study.program import program
from sampled_metrics_study.summary import main
from tests.conftest import ROOT


def test_program_with_wrong_input_has_status_2(capsys):
    with pytest.raises(SystemExit) as ended, program():
        raise InputError("wrong")
    assert ended.value.code == 2
    assert capsys.readouterr().err == "wrong\n"


def test_json_keeps_letters(tmp_path):
    write_json(tmp_path / "a.json", {"name": "Amélie"})
    assert "Amélie" in (tmp_path / "a.json").read_text("utf-8")


def test_only_summary_of_reference_ranks_has_second_part(tmp_path, capsys):
    card = (ROOT / "results/reference/scorecard.csv").read_text("utf-8")
    (tmp_path / "scorecard.csv").write_text(card, "utf-8")
    (tmp_path / "report.html").touch()
    parts = {}
    for ranks in ("reference", "trained"):
        (tmp_path / "provenance.json").write_text(json.dumps({"ranks": ranks}))
        main(tmp_path)
        parts[ranks] = len(capsys.readouterr().out.splitlines()[0].split("; "))
    assert parts == {"reference": 3, "trained": 2}
