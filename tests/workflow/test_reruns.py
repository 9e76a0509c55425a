"""Missing results, and results of other settings, data or code, are made again or refused."""

import json
import re

import pytest
import yaml

from tests.conftest import ROOT, write_archive
from tests.helpers.interactions import as_ratings, synthetic_interactions
from tests.workflow.conftest import run

DATA = {"data/ml-1m.zip", "data/source.json"}
FORMS = ("csv", "md", "tex")
FIGURE_FORMS = ("svg", "pdf", "png", "csv")
DELIVERABLES = {
    *DATA,
    *(f"split/split.{form}" for form in ("npz", "json")),
    *(f"ranks/{name}.parquet" for name in "XYZ"),
    *(f"tables/table{n}.{form}" for n in (1, 2, 3, 4) for form in FORMS),
    *(f"cells/table{n}.csv" for n in (1, 2, 3, 4)),
    *(f"tables/{name}.{form}" for name in ("likely", "exact") for form in FORMS[:2]),
    "ranges.csv",
    *(f"figures/figure{n}.{form}" for n in range(1, 7) for form in FIGURE_FORMS),
    *(f"figures/{name}.{form}" for name in ("errors", "z") for form in FIGURE_FORMS),
    *(f"scorecard.{form}" for form in FORMS[:2]),
    "report.html",
    "provenance.json",
    "summary.txt",
}
ONE_OF_EACH_KIND = [
    "split/split.npz", "split/split.json", "data/source.json", "ranks/Y.parquet",
    "cells/table1.csv", "cells/table4.csv", "tables/table2.md", "tables/table3.tex",
    "tables/likely.md", "tables/exact.csv", "ranges.csv", "figures/figure2.pdf",
    "figures/figure5.png", "figures/figure6.csv", "figures/errors.svg", "figures/z.png",
    "scorecard.md", "report.html", "provenance.json", "summary.txt",
]  # fmt: skip


def results_of(project):
    """Names of the results of a run, without the reference run, logs and benchmarks."""
    left_out = ("reference", "logs", "benchmarks")
    paths = (path for path in project.results.rglob("*") if path.is_file())
    names = (path.relative_to(project.results) for path in paths)
    return {str(name) for name in names if name.parts[0] not in left_out}


@pytest.fixture(scope="module")
def finished(make_project, small_archive):
    project = make_project(small_archive)
    project.snakemake()
    return project


@pytest.mark.long
def test_run_makes_deliverables_only(finished):
    assert results_of(finished) == DELIVERABLES
    assert "Nothing to be done" in finished.snakemake("--dry-run")


@pytest.mark.long
@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_missing_result_is_made_again(finished, name):
    path, aside = finished.results / name, finished.folder / "aside"
    path.rename(aside)
    try:
        assert name in finished.planned_results()
    finally:
        aside.rename(path)
    assert finished.planned_results() == set()


@pytest.mark.long
def test_missing_folders_are_made_again(finished):
    before = {name: finished.result(name) for name in DELIVERABLES}
    for folder in ("figures", "tables"):
        (finished.results / folder).rename(finished.folder / f"{folder}-before")
    finished.snakemake()
    assert {name: finished.result(name) for name in DELIVERABLES} == before


# Results computed from ranks, in several steps.
TARGETS = ["tables/exact.csv", "figures/figure6.csv", "scorecard.csv", "report.html"]


def change_settings(project, _):
    project.change("split", users=999)


def break_data(_, archive):
    write_archive(archive, b"broken line\n" + as_ratings(synthetic_interactions()))


def break_recommender(project, _):
    settings = {"path": "config/README.md", "format": "scores"}
    project.change("recommenders", 1, kind="external", settings=settings)


def break_code(project, _):
    path = project.folder / "src/sampled_metrics_study/recommenders/ranking.py"
    path.write_text(f"{path.read_text()}raise SystemExit('broken')\n")


@pytest.fixture(scope="module")
def finished_in_own_folder(make_project, small_archive):
    project = make_project(small_archive)
    project.snakemake("--config", "results=results/own")
    return project


@pytest.mark.long
@pytest.mark.parametrize("breaks", [change_settings, break_data, break_recommender, break_code])
def test_single_target_fails_again(finished_in_own_folder, small_archive, tmp_path, breaks):
    project = finished_in_own_folder.copy_to(tmp_path / "project")
    nothing = project.run("snakemake", "--dry-run", "--config", "results=results/own")
    assert "Nothing to be done" in nothing.stdout
    before = small_archive.read_bytes()
    options = ["--cores", "2", "--keep-going", "--config", "results=results/own", "--"]
    try:
        breaks(project, small_archive)
        # for all but the first, an earlier step has failed before
        for target in TARGETS:
            failed = project.run("snakemake", *options, f"results/own/{target}")
            assert failed.returncode != 0, target
            assert "Nothing to be done" not in failed.stdout
    finally:
        small_archive.write_bytes(before)


SHOP = {
    "dataset": {"format": "table", "name": "Shop", "path": "events.csv"},
    "split": {"method": "random"},
    "recommenders": [{"name": "Popularity", "kind": "popularity"}],
}


def plan_beside_results_of(dataset, folder):
    """Plan the study of a shop in a folder that has the results of a data set."""
    record = {"source": {"dataset": dataset}, "split": {"method": "leave-last-out"}}
    (folder / "config").mkdir()
    (folder / "config/config.yaml").write_text(yaml.safe_dump(SHOP))
    (folder / "events.csv").write_text("user,item\na,b\na,c\n")
    (folder / "results").mkdir()
    (folder / "results/provenance.json").write_text(json.dumps(record))
    return run("snakemake", "--snakefile", ROOT / "Snakefile", "--dry-run", cwd=folder)


@pytest.mark.long
def test_results_of_other_data_are_refused(tmp_path):
    """Other cases are in tests/study/test_config.py."""
    done = plan_beside_results_of("ml-1m", tmp_path)
    assert done.returncode == 1, done.stdout
    assert done.stdout.splitlines()[-1].startswith("config: results: ")


@pytest.mark.long
def test_results_of_the_same_data_are_updated(tmp_path):
    done = plan_beside_results_of("Shop", tmp_path)
    assert done.returncode == 0, done.stdout


def test_documented_studies_have_own_results():
    for page in sorted((ROOT / "docs").glob("*.md")):
        for block in re.findall(r"(?ms)^```yaml\n(.*?)^```$", page.read_text("utf-8")):
            study = yaml.safe_load(block)
            if "dataset" in study:
                assert study["results"].startswith("results/"), page.name


@pytest.mark.long
def test_missing_scores_name_command(tmp_path):
    arguments = ("--directory", tmp_path, "--dry-run", "--configfile")
    snakefile = ("--snakefile", ROOT / "Snakefile")
    done = run("snakemake", *snakefile, *arguments, ROOT / "config/ncf.yaml")
    assert done.returncode == 1
    (line,) = [line for line in done.stdout.splitlines() if "results/ncf/GMF.npz" in line]
    assert "python -m sampled_metrics_study.ncf FOLDER" in line
