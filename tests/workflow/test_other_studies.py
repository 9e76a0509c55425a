"""Studies on other data than the paper's, from the data to the page."""

import json

import numpy as np
import pandas as pd
import pytest
import yaml

from sampled_metrics.datasets.split import load_split
from tests.workflow.studies import NASTY, write_ml_100k, write_own

RECOMMENDERS = ["Factors", "BPR", "Popularity"]  # of the eight


@pytest.fixture(scope="module")
def second(make_project, tmp_path_factory):
    archive = write_ml_100k(tmp_path_factory.mktemp("archive") / "ml-100k.zip")
    project = make_project(archive)
    path = project.folder / "config/ml-100k.yaml"
    config = yaml.safe_load(path.read_text())
    entries = [entry for entry in config["recommenders"] if entry["name"] in RECOMMENDERS]
    path.write_text(yaml.safe_dump(config | {"recommenders": entries, "beyond": {}}))
    project.output = project.snakemake("--configfile", "config/ml-100k.yaml")
    project.results = project.folder / "results/ml-100k"
    return project


@pytest.fixture(scope="module")
def own(make_project):
    project = make_project()
    project.configfile = str(write_own(project.folder).relative_to(project.folder))
    project.output = project.snakemake("--configfile", project.configfile)
    project.results = project.folder / "results/own"
    return project


def made(project):
    return {
        str(path.relative_to(project.results))
        for path in project.results.rglob("*")
        if path.is_file()
        and path.relative_to(project.results).parts[0] not in {"logs", "benchmarks"}
    }


def test_the_second_study_makes_what_is_about_its_data(second):
    files = made(second)
    assert {f"ranks/{name}.parquet" for name in RECOMMENDERS} < files
    assert {"tables/table3.csv", "tables/table4.md", "figures/figure5.svg", "report.html"} < files
    papers = ("scorecard", "tables/table1", "tables/table2", "figures/figure1", "audit")
    assert not [name for name in files if name.startswith(papers)]
    # Nothing lies beside the study's own folder but what came with the project.
    assert {path.name for path in (second.folder / "results").iterdir()} == {"reference", "ml-100k"}


def test_tables_follow_the_list_of_recommenders(second):
    table3 = pd.read_csv(second.results / "tables/table3.csv")
    assert table3["row"].drop_duplicates().tolist() == RECOMMENDERS
    table4 = pd.read_csv(second.results / "tables/table4.csv")
    assert table4["row"].nunique() == 3 * 2 // 2
    assert "paper" not in (second.results / "tables/table3.md").read_text()
    figure = pd.read_csv(second.results / "figures/figure5.csv")
    assert figure["recommender"].drop_duplicates().tolist() == RECOMMENDERS


def test_licence_and_citation_are_said_once_and_stand_in_the_report(second, own):
    for project, licence, citation in (
        (second, "no commercial use without permission", "Harper"),
        (own, "None of anybody's business.", "Somebody (2026)."),
    ):
        told = [line for line in project.output.splitlines() if licence in line]
        assert len(told) == 1
        source = json.loads((project.results / "provenance.json").read_text())["source"]
        assert licence in source["licence"]
        assert citation in source["citation"]
        page = (project.results / "report.html").read_text()
        assert "Licence of the data:" in page
        # a given split without times does not tell
        is_told = project is second
        assert ("leaks the future" in page) == is_told
        assert ("later than other users' held-out ones" in project.output) == is_told
        assert citation in page


def test_the_sample_is_not_taken_for_the_published_data(second):
    record = json.loads((second.results / "provenance.json").read_text())
    assert record["source"]["ratings_is_official"] is not True
    assert record["split"]["users"] == 60
    assert "943" in (second.results / "report.html").read_text()


def test_seeds_of_the_list_are_recorded(second):
    seeds = json.loads((second.results / "provenance.json").read_text())["seeds"]
    assert seeds["Factors"] == seeds["BPR"] == 0
    assert "Popularity" not in seeds


def test_a_table_of_ones_own_with_scores_made_elsewhere(own):
    record = json.loads((own.results / "provenance.json").read_text())
    assert record["split"]["method"] == "given"
    assert (record["split"]["users"], record["split"]["evaluated_users"]) == (60, 40)
    assert record["source"]["dataset"] == f"Listening at home {NASTY}"
    ranks = pd.read_parquet(own.results / "ranks/Elsewhere.parquet")
    assert ranks["user_id"].str.startswith("u").all()
    assert len(ranks) == 40
    exact = pd.read_csv(own.results / "tables/exact.csv", dtype={"recommender": str})
    value = exact.set_index(["recommender", "metric", "ties"])["value"]
    assert value["Elsewhere", "auc", "expected"] > value["1.50", "auc", "expected"]
    assert f"scores from {NASTY}.csv" in (own.results / "tables/exact.md").read_text()


def test_no_text_of_the_configuration_is_executed(own):
    assert not list(own.folder.rglob("hacked"))


def test_a_second_run_has_nothing_to_do(own):
    assert "Nothing to be done" in own.snakemake("--configfile", own.configfile)


def test_what_is_the_papers_is_not_made_of_other_data(own):
    rules = own.snakemake("--list-rules", "--configfile", own.configfile).split()
    assert {"compare", "page", "beyond"} < set(rules)
    assert not {"audit", "spread", "scorecard", "claims"} & set(rules)


BEYOND = {
    "negatives": "own/negatives.csv",
    "beyond": {
        "estimators": ["sampled", "bv:0.1", "em:5"],
        "reported": 10,
        "budgets": [10, 20],
        "adaptive_limits": [20],
        "adaptive_reported": 20,
        "proxies": {"popularity": [20]},
        "runs": 3,
        "curve_runs": 2,
    },
}


def test_methods_beyond_the_paper(own):
    """With scores made elsewhere, which are not kept as outcomes."""
    file = own.folder / "config/beyond.yaml"
    file.write_text(yaml.safe_dump(BEYOND))
    split = load_split(own.results / "split/split.npz")
    unseen = np.argwhere(split.seen.toarray() == 0)
    drawn = [
        np.random.default_rng(0).permutation(unseen[unseen[:, 0] == user])[:9] for user in range(40)
    ]
    user, item = np.concatenate(drawn).T
    table = pd.DataFrame({"user_id": split.user_ids[user], "item_id": split.item_ids[item]})
    table.to_csv(own.folder / "own/negatives.csv", index=False)
    targets = ("beyond", "negatives", "--configfile", own.configfile, "config/beyond.yaml")
    own.snakemake(*targets)
    values = pd.read_csv(own.results / "negatives/values.csv", dtype={"recommender": str})
    assert set(values["recommender"]) == {"Elsewhere", "1.50"}
    assert (own.results / "negatives/negatives.md").stat().st_size
    orders = pd.read_csv(own.results / "beyond/orders.csv")
    assert orders["pair"].unique().tolist() == ["Elsewhere vs 1.50"]
    assert set(orders["method"]) == {
        *("sampled", "bv:0.1", "em:5", "adaptive", "users", "budget", "scan")
    }
    values = pd.read_csv(own.results / "beyond/values.csv", dtype={"recommender": str})
    assert set(values["recommender"]) == {"Elsewhere", "1.50"}
    for name in ("tables/table5.tex", "tables/table6.csv", "figures/figure8.png"):
        assert (own.results / name).stat().st_size
    assert not list((own.results / "beyond/outcomes").glob("*"))
