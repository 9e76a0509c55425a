"""The whole pipeline on small synthetic data, and what a change to it runs again."""

import json
import os

import pytest

from tests.conftest import as_ratings, synthetic_interactions, write_archive

RANKS = [f"ranks/{name}.parquet" for name in "XYZ"]
MODELS = [f"models/{name}.npz" for name in "XYZ"]
SPLIT = ["split/split.npz", "split/split.json"]
RESULTS = [*RANKS, "tables/exact.csv", "tables/exact.md"]


@pytest.fixture(scope="module")
def finished(make_project, small_archive):
    project = make_project(small_archive)
    project.snakemake()
    return project


def test_everything_is_there(finished):
    for name in RESULTS:
        assert finished.result(name)
    record = json.loads(finished.result("provenance.json"))
    assert record["ranks"] == "trained"
    assert record["source"]["origin"] == "local archive"
    assert record["split"]["users"] == 60
    assert set(record["seeds"]) == {"split", "exact", "X"}
    assert len(record["config_sha256"]) == 64
    assert "snakemake" in record["versions"]
    assert "trained in this run" in finished.result("tables/exact.md").decode()
    leftovers = [p for p in (finished.folder / "results").rglob(".*") if p.is_file()]
    assert not leftovers


def test_second_run_has_nothing_to_do(finished):
    assert "Nothing to be done" in finished.snakemake()


def test_one_core_gives_the_same_bytes(finished, make_project, small_archive):
    other = make_project(small_archive)
    other.snakemake(cores=1)
    for name in RESULTS:
        assert other.result(name) == finished.result(name)


AFTER_RANKS = {"tables/exact.csv", "tables/exact.md", "provenance.json"}
CHANGES = [
    (("recommenders", 0, "settings"), {"iterations": 3}, {"models/X.npz", "ranks/X.parquet"}),
    (("recommenders", 2, "settings"), {"k_prime": 4}, {"models/Z.npz", "ranks/Z.parquet"}),
    (("ranking",), {"block_size": 7}, set(RANKS)),
    (("exact",), {"metrics": ["auc"]}, set()),
    (("split",), {"tie_break": "first"}, {*SPLIT, *MODELS, *RANKS}),
]


@pytest.mark.parametrize(("path", "values", "expected"), CHANGES)
def test_a_change_runs_only_what_depends_on_it(finished, path, values, expected):
    config = finished.folder / "config/config.yaml"
    before = config.read_text()
    try:
        finished.change(*path, **values)
        assert finished.planned() == expected | AFTER_RANKS
    finally:
        config.write_text(before)


@pytest.mark.parametrize("name", ["config/config.yaml", "results/models/Y.npz"])
def test_touching_without_changing_runs_nothing(finished, name):
    os.utime(finished.folder / name)
    assert finished.planned() == set()


def test_a_changed_model_is_ranked_again(finished):
    model, other = (finished.folder / f"results/models/{name}.npz" for name in "YZ")
    before = model.read_bytes()
    try:
        model.write_bytes(other.read_bytes())
        assert finished.planned() == {"ranks/Y.parquet", "tables/exact.csv", "tables/exact.md"}
    finally:
        model.write_bytes(before)


def test_a_changed_archive_is_read_again(finished, small_archive):
    write_archive(small_archive, as_ratings(synthetic_interactions(users=20)))
    assert {"data/ml-1m.zip", *SPLIT, *MODELS, *RANKS} < finished.planned()
