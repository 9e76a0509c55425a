"""The whole study twice from clean copies: the same bytes, on one core and on all."""

import re

import pandas as pd
import pytest

from sampled_metrics.study.curves import figure_data
from sampled_metrics.study.settings import ExperimentSettings
from tests.conftest import ROOT
from tests.workflow.conftest import Project

# Rules and wall times of a run, the one place of the page where two runs may differ.
HOW_IT_RAN = re.compile(
    r"<!-- how this run went -->.*?<!-- end of how this run went -->", re.DOTALL
)

pytestmark = pytest.mark.archive


def test_two_clean_runs_give_the_same_csv_svg_and_ranks(archive, tmp_path):
    runs = []
    for name, cores in (("one", 1), ("all", "all")):
        (tmp_path / name).mkdir()
        project = Project(tmp_path / name, archive, small=False)
        project.snakemake(cores=cores)
        results = project.folder / "results"
        runs.append(
            {
                path.relative_to(results): path.read_bytes()
                for form in ("csv", "svg", "parquet", "pdf", "png", "md", "tex")
                for path in results.rglob(f"*.{form}")
            }
        )
        page = (results / "report.html").read_text(encoding="utf-8")
        runs[-1]["report.html"] = HOW_IT_RAN.sub("", page)
    assert runs[0].keys() == runs[1].keys()
    assert sum(str(path).endswith(".svg") for path in runs[0]) >= 6
    assert "Wall time" not in runs[0]["report.html"]
    differing = [str(path) for path in runs[0] if runs[0][path] != runs[1][path]]
    assert not differing


@pytest.mark.usefixtures("archive")
def test_figure_6_from_the_reference_ranks():
    # Needs no archive, but more time than tests without one should take.
    reference = ROOT / "results/reference"
    ranks = [reference / f"ranks/{name}.parquet" for name in "XYZ"]
    found, _ = figure_data(6, ranks, ExperimentSettings(), reference / "band.csv")
    kept = pd.read_csv(reference / "figures/figure6.csv")
    found = found.reset_index(drop=True)
    pd.testing.assert_frame_equal(found, kept, rtol=1e-8, check_dtype=False)
