"""The paper's study on small synthetic data, and the steps that changes run again."""

import hashlib
import html
import json
import os
import signal
import sys
import time
from pathlib import Path, PurePath
from zipfile import ZipFile

import pytest

from tests.conftest import write_archive
from tests.helpers.interactions import as_ratings, synthetic_interactions

RANKS = {f"ranks/{name}.parquet" for name in "XYZ"}
SPLIT = {"split/split.npz", "split/split.json"}
DATA = {"data/ml-1m.zip", "data/source.json"}
EXACT = {"tables/exact.csv", "tables/exact.md", "ranges.csv"}
TABLES = {
    *(f"tables/table{n}.{form}" for n in (3, 4) for form in ("csv", "md", "tex")),
    *(f"cells/table{n}.csv" for n in (3, 4)),
    *(f"tables/likely.{form}" for form in ("csv", "md")),
}
CARD = {
    *(f"scorecard.{form}" for form in ("csv", "md")),
    *(f"figures/z.{form}" for form in ("csv", "svg", "pdf", "png")),
}
THEORY, FIGURES = (
    {f"figures/figure{n}.{form}" for n in numbers for form in ("csv", "svg", "pdf", "png")}
    for numbers in (range(1, 5), (5, 6))
)
FIGURES |= {f"figures/errors.{form}" for form in ("csv", "svg", "pdf", "png")}
THEORY |= {f"tables/table{n}.{form}" for n in (1, 2) for form in ("csv", "md", "tex")}
THEORY |= {f"cells/table{n}.csv" for n in (1, 2)}
PAGE = {"report.html", "provenance.json", "summary.txt"}
BELOW_RANKS = {*EXACT, *TABLES, *FIGURES, *CARD, *PAGE}


@pytest.fixture(scope="module")
def finished(make_project, small_archive):
    project = make_project(small_archive)
    project.snakemake()
    return project


@pytest.mark.long
def test_all_results_are_planned(make_project, small_archive):
    expected = {*RANKS, *SPLIT, *BELOW_RANKS, *THEORY}
    assert expected <= make_project(small_archive).planned_results()


@pytest.mark.long
def test_all_results_are_made(finished):
    expected = {*RANKS, *SPLIT, *BELOW_RANKS, *THEORY}
    assert [name for name in expected if not finished.result(name)] == []
    assert finished.temporary_files() == []


@pytest.mark.long
def test_provenance_tells_that_recommenders_were_trained(finished):
    record = json.loads(finished.result("provenance.json"))
    assert record["ranks"] == "trained"
    assert record["source"]["origin"] == "local archive"
    assert record["split"]["users"] == 60
    assert set(record["seeds"]) == {"split", "exact", "toy", "experiment", "X"}


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["tables/exact.md", "tables/table3.md", "tables/table4.tex", "scorecard.md"]
)
def test_tables_tell_that_recommenders_were_trained(finished, name):
    assert "trained in this run" in finished.result(name).decode()


@pytest.mark.long
def test_page_has_the_number_of_users(finished):
    assert "60 users" in finished.result("report.html").decode()


@pytest.mark.long
def test_provenance_has_digest_of_code(finished):
    source = finished.folder / "src"
    digest = hashlib.sha256()
    for package in ("sampled_metrics", "sampled_metrics_study"):
        for path in sorted((source / package).rglob("*.*")):
            if path.suffix != ".pyc" and path.is_file():
                digest.update(str(path.relative_to(source)).encode() + b"\0" + path.read_bytes())
    record = json.loads(finished.result("provenance.json"))
    assert record["code_sha256"] == digest.hexdigest()


CHANGES = [
    (("recommenders", 0, "settings"), {"iterations": 3}, {"ranks/X.parquet", *BELOW_RANKS}),
    (("exact",), {"metrics": ["auc"]}, {*EXACT, *PAGE}),
    (("toy",), {"repetitions": 30}, {*THEORY, *CARD, *PAGE}),
    (("experiment",), {"repetitions": 30}, BELOW_RANKS - EXACT),
    (("experiment",), {"seed": 7}, BELOW_RANKS - EXACT),
    (("split",), {"tie_break": "first"}, {*SPLIT, *RANKS, *BELOW_RANKS}),
]


@pytest.mark.long
@pytest.mark.parametrize(("path", "values", "expected"), CHANGES)
def test_changed_setting_reruns_dependents_only(finished, path, values, expected):
    config = finished.folder / "config/config.yaml"
    before = config.read_text()
    try:
        finished.change(*path, **values)
        assert finished.planned_results() == expected
    finally:
        config.write_text(before)


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("sampled_metrics_study/data/split.py", {*DATA, *SPLIT, *RANKS, *BELOW_RANKS, *THEORY}),
        ("sampled_metrics_study/recommenders/factors.py", {*RANKS, *BELOW_RANKS}),
        ("sampled_metrics_study/tables.py", {*BELOW_RANKS, *THEORY}),
        ("sampled_metrics_study/figures/style.py", {*FIGURES, *THEORY, *CARD, *PAGE}),
        ("sampled_metrics/pages/static/page.css", {*PAGE}),
    ],
)
def test_changed_code_reruns_its_results(finished, module, expected):
    module = finished.folder / "src" / module
    before = module.read_text()
    try:
        module.write_text(f"{before}\n")
        assert finished.planned_results() == expected
        finished.snakemake("--touch")
        assert finished.planned_results() == set()
    finally:
        module.write_text(before)
        finished.snakemake("--touch")


EDITS = {  # to files that can still be read
    "tables/exact.md": lambda content, _: content + b" ",
    "ranks/Y.parquet": lambda _, results: (results / "ranks/Z.parquet").read_bytes(),
    "cells/table3.csv": lambda content, _: content.replace(b"0.", b"1.", 1),
    "split/split.npz": lambda content, _: content + b" ",
}


@pytest.mark.long
@pytest.mark.parametrize("name", EDITS)
def test_edited_result_is_refused_until_removed(finished, name):
    path = finished.results / name
    folders = ("cells", "figures", "ranks", "split", "tables")
    result_paths = [file for folder in folders for file in (finished.results / folder).iterdir()]
    before = {file: file.read_bytes() for file in result_paths}
    path.write_bytes(EDITS[name](before[path], finished.results))
    refused = finished.run("snakemake", "--cores", "2", "--rerun-incomplete")
    assert refused.returncode != 0
    (error,) = [line for line in refused.stdout.splitlines() if line.startswith("ERROR: ")]
    assert error.startswith(f"ERROR: results/{name}: edited")
    assert "remove it" in error
    path.unlink()
    finished.snakemake()
    assert {file: file.read_bytes() for file in before} == before


@pytest.mark.long
def test_results_from_future_need_touch(finished):
    """All files are from next year except one made now, which Snakemake takes for clock skew."""
    later = time.time() + 3e7
    ranks = finished.results / "ranks/Y.parquet"
    for path in finished.results.rglob("*"):
        if path.is_file() and path != ranks:
            os.utime(path, (later, later))
    ranks.unlink()
    command = ("snakemake", "--cores", "2", "results/ranks/Y.parquet")
    refused = finished.run(*command)
    assert refused.returncode != 0
    assert "clock skew" in refused.stdout
    finished.run("find", "results", "-newermt", "now", "-exec", "touch", "{}", "+")
    done = finished.run(*command)
    assert done.returncode == 0, done.stdout
    finished.snakemake()


@pytest.mark.long
def test_python_path_with_blank_is_refused(finished, tmp_path):
    """Snakemake would start scripts with a path that is cut at the blank."""
    environment = tmp_path / "a b"
    environment.symlink_to(Path(sys.prefix))
    arguments = ["-m", "snakemake", "--dry-run"]
    refused = finished.run(str(environment / "bin/python"), *arguments)
    assert refused.returncode != 0
    (line,) = [line for line in refused.stdout.splitlines() if "blank" in line]
    assert line.startswith(str(environment))


@pytest.fixture(scope="module")
def report(finished):
    """The report of Snakemake: names of the files in it, and the text of its first page."""
    output = finished.snakemake("--report", "report.zip")
    assert "RuntimeWarning" not in output
    with ZipFile(finished.folder / "report.zip") as archive:
        names = archive.namelist()
        (first,) = [name for name in names if "/data/" not in name]
        return {PurePath(name).name for name in names}, html.unescape(archive.read(first).decode())


@pytest.mark.long
def test_report_has_results(report):
    names, _ = report
    figures = {f"figure{n}.svg" for n in range(1, 7)}
    tables = {f"table{n}.md" for n in range(1, 5)}
    assert {*figures, *tables, "exact.md", "scorecard.md", "z.svg", "report.html"} < names


@pytest.mark.long
def test_report_begins_with_the_last_lines_of_make_reproduce(finished, report):
    _, text = report
    lines = finished.result("summary.txt").decode().splitlines()
    assert lines[-1] == "Open results/report.html"
    assert [line for line in lines if line not in text] == []


@pytest.mark.long
def test_changed_times_rerun_nothing(finished):
    ranks, other = (finished.results / f"ranks/{name}.parquet" for name in "YZ")
    for path in (finished.folder / "config/config.yaml", ranks):
        os.utime(path)
    assert finished.planned_results() == set()
    before = ranks.read_bytes()
    try:
        ranks.write_bytes(other.read_bytes())
        assert finished.planned_results() == BELOW_RANKS
    finally:
        ranks.write_bytes(before)


REPRODUCE_X = ["make", "reproduce", "TARGETS=results/split/split.json results/ranks/X.parquet"]


@pytest.fixture(scope="module")
def killed(make_project, small_archive):
    """A project that ranks X in two pieces: killed while splitting, and once X is trained."""
    project = make_project(small_archive)
    project.change("ranking", pieces=2)
    split, model = project.results / "split/split.npz", project.results / "models/X.npz"
    project.kill_when(
        [*REPRODUCE_X, "CORES=2"], lambda _: project.temporary_files() or split.exists()
    )
    project.run("snakemake", "--unlock")
    assert project.kill_when([*REPRODUCE_X, "CORES=2"], lambda _: model.exists())
    return project


@pytest.mark.long
def test_killed_run_leaves_a_lock_that_is_named(killed):
    refused = killed.run(*REPRODUCE_X)
    assert refused.returncode != 0
    assert "locked" in refused.stdout
    assert "snakemake --unlock" in refused.stdout
    assert killed.run(*REPRODUCE_X).returncode != 0  # it does not unlock by itself


@pytest.mark.long
def test_kills_pieces_cores_keep_bytes(finished, killed):
    """The other run was neither killed nor in pieces, and used two cores."""
    killed.run("snakemake", "--unlock")
    done = killed.run(*REPRODUCE_X, "CORES=1")
    assert done.returncode == 0, done.stdout
    for name in ("split/split.json", "ranks/X.parquet"):
        assert killed.result(name) == finished.result(name)
    assert [path.name for path in (killed.results / "ranks").glob("[!.]*")] == ["X.parquet"]
    logs = sorted(killed.results.glob("logs/rank-X.*-of-2.log"))
    users_of_pieces = [path.read_text().split()[1] for path in logs]
    assert users_of_pieces == ["30", "30"]  # of 60


@pytest.mark.long
def test_folder_of_a_running_workflow_is_refused(make_project, small_archive):
    project = make_project(small_archive)
    project.change("ranking", pieces=2)  # so that the model stays until both are ranked
    running = project.start(*REPRODUCE_X, "CORES=2")
    while not (project.results / "models/X.npz").exists():
        assert running.poll() is None
        time.sleep(0.001)
    os.killpg(running.pid, signal.SIGSTOP)
    try:
        refused = project.run(*REPRODUCE_X, "CORES=2")
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    assert refused.returncode != 0
    assert "locked" in refused.stdout


@pytest.mark.long
def test_changed_archive_is_read_again(finished, small_archive):
    before = small_archive.read_bytes()
    write_archive(small_archive, as_ratings(synthetic_interactions(users=20)))
    try:
        results = finished.planned_results("results/ranks/X.parquet")
    finally:
        small_archive.write_bytes(before)
    assert {"data/ml-1m.zip", *SPLIT, "ranks/X.parquet"} <= results
