"""The whole pipeline on small synthetic data, and what a change to it runs again."""

import json
import os
import re
import shutil

import pytest
import yaml

from sampled_metrics.study.config import Study
from tests.conftest import ROOT, as_ratings, synthetic_interactions, write_archive
from tests.workflow.graph import dot
from tests.workflow.kills import after, after_rename, before_rename
from tests.workflow.studies import BRACES, NASTY

RANKS = [f"ranks/{name}.parquet" for name in "XYZ"]
MODELS = [f"models/{name}.npz" for name in "XYZ"]
SPLIT = ["split/split.npz", "split/split.json"]
SAMPLES = [f"samples/{name}.npz" for name in "XYZ"]
EXACT = {"tables/exact.csv", "tables/exact.md"}
TABLES_34 = {f"tables/table{n}.{form}" for n in (3, 4) for form in ("csv", "md", "tex")}
CELLS_34 = {"cells/table3.csv", "cells/table4.csv"}
SCORECARD = {"scorecard.csv", "scorecard.md"}
COMPARED = {*CELLS_34, *TABLES_34, *SCORECARD}
# Figures are drawn by the runs on the reference ranks and, where there is one, on the archive.
TARGETS = [f"results/{name}" for name in (*EXACT, *SCORECARD, "provenance.json")]
PAGE = "results/report.html"
RESULTS = sorted({*RANKS, *EXACT, *COMPARED})


@pytest.fixture(scope="module")
def finished(make_project, small_archive, tmp_path_factory):
    archive = tmp_path_factory.mktemp("archive") / f"{BRACES}.zip"
    project = make_project(shutil.copy(small_archive, archive))
    folder = tmp_path_factory.mktemp("published")
    kept = {
        "published": "config/paper/tables.csv",
        "spread": "results/reference/spread.csv",
        "by_start": "results/reference/starts.csv",
        "band": "results/reference/band.csv",
    }
    for name, path in kept.items():
        kept[name] = str(shutil.copy(ROOT / path, folder / f"{name} {NASTY}.csv"))
    project.change("scorecard", **kept)
    project.snakemake(*TARGETS)
    return project


def test_no_text_of_the_configuration_is_executed(finished):
    assert not list(finished.folder.rglob("hacked"))


def test_everything_is_there(finished):
    for name in RESULTS:
        assert finished.result(name)
    record = json.loads(finished.result("provenance.json"))
    assert record["ranks"] == "trained"
    assert record["source"]["origin"] == "local archive"
    assert record["split"]["users"] == 60
    assert set(record["seeds"]) == {"split", "exact", "toy", "experiment", "X"}
    assert len(record["config_sha256"]) == 64
    assert "snakemake" in record["versions"]
    for name in ("tables/exact.md", "tables/table3.md", "tables/table4.tex", "scorecard.md"):
        assert "trained in this run" in finished.result(name).decode()
    leftovers = [p for p in (finished.folder / "results").rglob(".*") if p.is_file()]
    assert not leftovers


@pytest.fixture(scope="module")
def with_page(finished):
    # It needs the figures, so it is no target of the tests of what runs again.
    finished.snakemake(PAGE)
    return finished


def test_page_shows_the_small_study(with_page):
    page = with_page.result("report.html").decode()
    assert "For 60 users" in page
    assert "The ratings are not the official file of ml-1m" in page
    assert page.count('class="drawing"') == 7
    assert all(f"logs/{name}.log" in page for name in ("fetch", "train/X", "scorecard"))


def test_report_of_snakemake_has_tables_and_figures_with_captions(with_page, tmp_path):
    with_page.snakemake("--report", str(tmp_path / "report.html"), PAGE)
    text = (tmp_path / "report.html").read_text()
    (categories,) = re.findall(r"var categories = (.*?);?\n", text)
    shown = {name: files["Other"] for name, files in json.loads(categories).items()}
    numbers = range(1, 5)
    assert shown == {
        "Tables": [f"results/tables/{n}.csv" for n in ("exact", *(f"table{i}" for i in numbers))],
        "Figures": [f"results/figures/figure{number}.svg" for number in range(1, 7)],
        "Comparison": ["results/scorecard.csv"],
    }
    for words in ("On Sampled Metrics", "as there: mean", "plotted numbers", "repetition explains"):
        assert words in text


def test_page_follows_every_benchmark_and_files_of_the_reference_run(with_page):
    files = {*(with_page.folder / "results/benchmarks").rglob("*.tsv")}
    study = Study.of(yaml.safe_load((ROOT / "config/config.yaml").read_text()), "config")
    followed = {f"{step}.tsv" for step in study.benchmarks()}
    timed = {str(path.relative_to(with_page.folder / "results/benchmarks")) for path in files}
    assert timed == followed | {"page.tsv"}
    names = ("benchmarks/train/X.tsv", "reference/audit.csv", "reference/beyond/orders.csv")
    paths = [with_page.folder / "results" / name for name in names]
    for path in paths:
        os.utime(path)
    assert with_page.planned(PAGE) == set()
    for path in paths:
        before = path.read_bytes()
        path.write_bytes(before.replace(b"0", b"1"))
        assert with_page.planned(PAGE) == {"report.html"}
        path.write_bytes(before)


def test_graph_on_the_page_is_that_of_the_rules():
    declared = (ROOT / "workflow/rulegraph.dot").read_text()
    assert dot() == declared, "make graph"
    # That of the study which ranks in pieces.
    assert {"train -> rank;", "rank -> gather_ranks;", "gather_ranks -> sample;"} <= {
        line.strip() for line in declared.splitlines()
    }
    drawn = set(re.findall('id="rule_([^"]*)"', (ROOT / "workflow/rulegraph.svg").read_text()))
    assert drawn == set(re.findall('id="rule_([^"]*)"', declared)), "make graph"


MOMENTS = [before_rename(1), after_rename(2), after(4)]


def test_killed_runs_are_finished_by_the_same_command(finished, make_project, small_archive):
    project = make_project(small_archive)
    names = ["models/Y.npz", "ranks/Y.parquet"]
    targets = " ".join(f"results/{name}" for name in names)
    command = ["make", "reproduce", f"TARGETS={targets}", "CORES=2"]
    assert sum(project.killed(command, moment) for moment in MOMENTS) >= 2
    done = project.run(*command)
    assert done.returncode == 0, done.stdout
    assert [project.result(name) for name in names] == [finished.result(name) for name in names]
    left = [path for path in (project.folder / "results").rglob(".*") if path.is_file()]
    assert not left


@pytest.fixture(scope="module")
def cut(make_project, small_archive, finished):
    """The same on one core, and ranked in pieces."""
    project = make_project(small_archive)
    config = yaml.safe_load((finished.folder / "config/config.yaml").read_text())
    project.change("scorecard", **config["scorecard"])
    project.change("ranking", pieces=3)
    made = ["results/ranks/X.parquet", "results/provenance.json"]
    project.snakemake(*made, cores=1)
    return project


def test_pieces_and_cores_do_not_change_a_byte(finished, cut):
    assert cut.result("ranks/X.parquet") == finished.result("ranks/X.parquet")
    one, other = (json.loads(each.result("provenance.json")) for each in (finished, cut))
    assert one["config_sha256"] == other["config_sha256"]


def test_pieces_are_jobs_whose_files_are_removed(cut):
    folder = cut.folder / "results"
    assert not [path for path in folder.rglob("pieces/**/*") if path.is_file()]
    logs = [path.read_text() for path in sorted(folder.glob("logs/rank/X/*.log"))]
    assert [text.split()[2] for text in logs] == ["20", "20", "20"]


X_ALONE = {"models/X.npz", "ranks/X.parquet", "samples/X.npz"}
BELOW_RANKS = {*EXACT, *COMPARED}
CHANGES = [
    (("recommenders", 0, "settings"), {"iterations": 3}, {*X_ALONE, *BELOW_RANKS}),
    (("exact",), {"metrics": ["auc"]}, EXACT),
    (("experiment",), {"repetitions": 30}, {*SAMPLES, *COMPARED}),
    (
        ("split",),
        {"tie_break": "first"},
        {*SPLIT, *MODELS, *RANKS, *SAMPLES, *BELOW_RANKS},
    ),
]


@pytest.mark.parametrize(("path", "values", "expected"), CHANGES)
def test_a_change_runs_only_what_depends_on_it(finished, path, values, expected):
    config = finished.folder / "config/config.yaml"
    before = config.read_text()
    try:
        finished.change(*path, **values)
        assert finished.planned(*TARGETS) == expected | {"provenance.json"}
    finally:
        config.write_text(before)


def test_touching_without_changing_runs_nothing(finished):
    for name in ("config/config.yaml", "results/models/Y.npz"):
        os.utime(finished.folder / name)
    assert finished.planned(*TARGETS) == set()


def test_a_changed_model_is_ranked_again(finished):
    model, other = (finished.folder / f"results/models/{name}.npz" for name in "YZ")
    before = model.read_bytes()
    try:
        model.write_bytes(other.read_bytes())
        assert finished.planned(*TARGETS) == {"ranks/Y.parquet", "samples/Y.npz", *BELOW_RANKS}
    finally:
        model.write_bytes(before)


def test_a_changed_archive_is_read_again(cut, small_archive):
    write_archive(small_archive, as_ratings(synthetic_interactions(users=20)))
    planned = cut.planned("results/ranks/X.parquet")
    assert {"data/ml-1m.zip", *SPLIT, "models/X.npz", "ranks/X.parquet"} <= planned
