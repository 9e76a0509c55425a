"""The whole study twice from clean copies: the same bytes, on one core and on all."""

import pandas as pd
import pytest

from tests.conftest import ROOT
from tests.workflow.conftest import Project

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
    assert runs[0].keys() == runs[1].keys()
    assert sum(path.match("figures/*.svg") for path in runs[0]) >= 6
    differing = [str(path) for path in runs[0] if runs[0][path] != runs[1][path]]
    assert not differing
    for number in range(1, 7):
        name = f"figures/figure{number}.csv"
        kept = pd.read_csv(ROOT / "results/reference" / name)
        found = pd.read_csv(project.folder / "results" / name)
        pd.testing.assert_frame_equal(found, kept, rtol=1e-3)
