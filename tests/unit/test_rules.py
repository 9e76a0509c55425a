"""What rules of the workflow write as inputs, outputs and parameters."""

import re
from types import SimpleNamespace

import yaml

from sampled_metrics.study.config import Study
from sampled_metrics.study.rules import (
    figure_files,
    folder_of,
    followed,
    one_of,
    setting,
    source_of_scores,
    table_files,
)
from tests.conftest import ROOT

CONFIG = yaml.safe_load((ROOT / "config/config.yaml").read_text())


def test_a_pattern_matches_its_names_alone():
    names = ["X", "1.5", "a+b", "X|Y"]
    assert all(re.fullmatch(one_of(names), name) for name in names)
    assert not any(re.fullmatch(one_of(names), name) for name in ("Y", "1x5", "aab", ""))
    assert not re.match(one_of([]), "")


def test_files_of_tables_and_figures():
    assert table_files(3) == [f"<results>/tables/table3.{form}" for form in ("csv", "md", "tex")]
    assert len(figure_files(5, 6)) == len(set(figure_files(5, 6))) == 8
    assert figure_files() == []


def test_an_archive_is_followed_if_it_is_there_and_names_no_wildcard(tmp_path):
    for name, is_followed in (("a b.zip", True), ("{x}.zip", False), ("<y>.zip", False)):
        path = tmp_path / name
        assert followed(str(path)) == []
        path.touch()
        assert followed(str(path)) == [str(path)] * is_followed


def test_scores_are_of_a_model_or_of_a_file():
    other = {"name": "Other", "kind": "external", "settings": {"path": "o.csv", "format": "scores"}}
    source = source_of_scores(
        Study.of(CONFIG | {"recommenders": [CONFIG["recommenders"][0], other]}, "config")
    )
    assert source(SimpleNamespace(recommender="X")) == "<results>/models/X.npz"
    assert source(SimpleNamespace(recommender="Other")) == "o.csv"


def test_parameters_take_values_as_they_are():
    assert setting("{x} <y>")(SimpleNamespace()) == "{x} <y>"
    output = SimpleNamespace(cells=["results/cells/table3.csv", "results/cells/table4.csv"])
    assert folder_of("cells")(None, output) == "results/cells"
