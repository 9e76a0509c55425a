"""Studies with users who only train, with recommenders that have a vector for every user."""

import json

import pandas as pd
import pytest
import yaml

from sampled_metrics_study.data.split import load_split
from sampled_metrics_study.recommenders import create
from tests.helpers.interactions import synthetic_interactions
from tests.workflow.conftest import run

pytestmark = pytest.mark.long

STUDY = {
    "dataset": {"format": "table", "name": "Some users only train", "path": "events.csv"},
    "recommenders": [
        {"name": "ALS", "kind": "als", "settings": {"d": 3, "iterations": 4}},
        {"name": "BPR", "kind": "bpr", "settings": {"d": 3, "iterations": 20}},
    ],
    "experiment": {"n_negatives": 5, "repetitions": 10},
}
TABLES = ["train.csv", "test.csv"]
SPLITS = {
    "all users": {"method": "leave-last-out", "tie_break": "last"},
    "10 users": {"method": "leave-last-out", "tie_break": "last", "users": 10},
    "global-time": {"method": "global-time", "cut": 0.8, "tie_break": "last"},
    "given": {"method": "given", "train": TABLES[0], "test": TABLES[1], "tie_break": "last"},
}
COMPLETE = "10 users"  # of this study everything is made, of the others only ranks


def write_events(folder):
    """Write all events, and the tables of a given split that tests every third user."""
    events = synthetic_interactions()
    frame = pd.DataFrame({"user": events.user, "item": events.item})
    # all users are active at the same time
    frame["timestamp"] = events.timestamp % 1000
    frame = frame.sort_values(["user", "timestamp"], kind="stable")
    frame.to_csv(folder / "events.csv", index=False)
    is_last = ~frame["user"].duplicated(keep="last")
    is_test = is_last & (frame["user"] % 3 == 0)
    for name, rows in zip(TABLES, (frame[~is_test], frame[is_test]), strict=True):
        rows.to_csv(folder / name, index=False)


@pytest.fixture(scope="module")
def studies(make_project, tmp_path_factory):
    """Results of one study for each split of the same events."""
    project, results = make_project(), {}
    for name, split in SPLITS.items():
        folder = tmp_path_factory.mktemp("study")
        write_events(folder)
        study = STUDY | {"split": split}
        if split["method"] == "given":
            study["dataset"] = {k: v for k, v in STUDY["dataset"].items() if k != "path"}
        (folder / "config").mkdir()
        (folder / "config/config.yaml").write_text(yaml.safe_dump(study))
        targets = ["results/ranks/ALS.parquet", "results/ranks/BPR.parquet"]
        if name == COMPLETE:
            targets = []  # the page
        arguments = ("--snakefile", project.folder / "Snakefile", "--cores", "2", *targets)
        done = run("snakemake", *arguments, cwd=folder, env=project.environment)
        assert done.returncode == 0, done.stdout
        results[name] = folder / "results"
    return results


def ranks_of(results, recommender):
    return pd.read_parquet(results / f"ranks/{recommender}.parquet").set_index("user_id")


def test_study_of_some_users_has_page(studies):
    counts = json.loads((studies[COMPLETE] / "split/split.json").read_text())
    assert counts["evaluated_users"] < counts["users"]
    page = (studies[COMPLETE] / "report.html").read_text()
    assert f"{counts['evaluated_users']} users" in page


def test_some_users_have_ranks_of_all(studies):
    # not for BPR, whose negatives depend on the number of the user
    whole, sampled = (ranks_of(studies[name], "ALS") for name in ("all users", "10 users"))
    assert (len(whole), len(sampled)) == (60, 10)
    pd.testing.assert_frame_equal(sampled, whole.loc[sampled.index], check_index_type=False)


@pytest.mark.parametrize("recommender", ["ALS", "BPR"])
@pytest.mark.parametrize("name", ["10 users", "global-time", "given"])
def test_ranks_match_vectors_of_all_users(studies, name, recommender):
    split = load_split(studies[name] / "split/split.npz")
    entry = next(entry for entry in STUDY["recommenders"] if entry["name"] == recommender)
    model = create(entry["kind"], entry["settings"]).fit(split.train)
    scores = model.user_vectors @ model.item_vectors.T
    assert len(scores) == split.user_ids.size > split.held_out.size
    ranks = ranks_of(studies[name], recommender)
    assert list(ranks.index) == list(split.user_ids[: split.held_out.size])
    for user, (row, held_out) in enumerate(zip(scores, split.held_out, strict=False)):
        unseen = split.train[[user]].toarray()[0] == 0
        better = (row > row[held_out]) & unseen
        assert ranks.iloc[user]["n_better"] == better.sum()
        assert ranks.iloc[user]["n_candidates"] == unseen.sum()
