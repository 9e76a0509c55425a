"""Steps of the study: splits of any file, their counts and logs, exact tables, broken models."""

import gzip
import json

import pyarrow as pa
from pyarrow import parquet

from sampled_metrics.ranks import Ranks
from sampled_metrics_study.data.split import load_split
from sampled_metrics_study.exact import exact_table, write_exact
from sampled_metrics_study.settings import ExactSettings
from tests.conftest import run_script, write_archive
from tests.helpers.interactions import as_ratings, synthetic_interactions

TABLE = "user,item,rating,when\nann,x,5,7\nann,y,2,8\nbob,x,4,5\nann,z,4,9\nbob,z,3,6\nbob,z,5,4\n"
MINE = {"format": "table", "name": "mine", "columns": {"timestamp": "when"}}


def split(tmp_path, events, **params):
    """Split the events of a file; return the split and its counts."""
    params = {"dataset": {}, "filters": {}, "split": {}} | params
    written = {"split": str(tmp_path / "s.npz"), "counts": str(tmp_path / "c.json")}
    run_script(
        "split",
        tmp_path / "split.log",
        {"events": str(tmp_path / events)},
        written,
        **params,
    )
    return load_split(tmp_path / "s.npz"), json.loads(
        (tmp_path / "c.json").read_text()
    )


def test_split_of_a_table_with_filters(tmp_path):
    (tmp_path / "mine.csv").write_text(TABLE)
    filters = {"duplicates": "first", "min_rating": None, "min_user_events": 2}
    done, counts = split(tmp_path, "mine.csv", dataset=MINE, filters=filters)
    # held out: z of ann at 9 and x of bob at 5; trained on: 7 and 8 of ann, 4 of bob
    assert counts == {
        "method": "leave-last-out", "tie_break": "ncf", "users": 2, "items": 3, "interactions": 5,
        "training_events": 3, "tied_users": 0,
        "evaluated_users": 2,
        "filters": {"duplicates": {"value": "first", "removed": 1},
                    "min_user_events": {"value": 2, "removed": 0}},
        "expected": None, "as_expected": None,
    }  # fmt: skip
    assert done.user_ids.tolist() == ["ann", "bob"]
    # ann's last is z at 9; of bob's z at 6 and 4 the first by time is kept, so x at 5 is his last
    assert done.item_ids[done.held_out].tolist() == ["z", "x"]


def test_same_events_from_any_file_give_the_same_split(tmp_path):
    data = synthetic_interactions()
    write_archive(tmp_path / "a.zip", as_ratings(data))
    columns = {"user": data.user, "item": data.item, "timestamp": data.timestamp}
    text = "u;i;t\n"
    text += "".join(
        f"{u};{i};{t}.0\n" for u, i, t in zip(*columns.values(), strict=True)
    )
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    mine = {"format": "table", "name": "mine"}
    named = mine | {
        "columns": {"user": "u", "item": "i", "timestamp": "t"},
        "separator": ";",
    }
    splits = []
    for file, dataset in (
        ("a.zip", {"name": "ml-1m"}),
        ("a.csv.gz", named),
        ("a.parquet", mine),
    ):
        counts = split(tmp_path, file, dataset=dataset)[1]
        splits.append((tmp_path / "s.npz").read_bytes())
        assert counts["as_expected"] is (False if file == "a.zip" else None)
    assert splits[0] == splits[1] == splits[2]


def test_exact_table_by_hand(tmp_path):
    # ranks 1 and 2-4 (uniform) among 11: AP (1 + (1/2 + 1/3 + 1/4)/3)/2, AUC (1 + 8/10)/2
    ranks = {"A": Ranks([11, 11], [0, 1], [0, 2], source="hand")}
    settings = ExactSettings(metrics=("ap", "auc"), ties=("expected", "optimistic"))
    write_exact(
        exact_table(ranks, settings), "hand", tmp_path / "e.csv", tmp_path / "e.md"
    )
    ap = 100 * (1 + (1 / 2 + 1 / 3 + 1 / 4) / 3) / 2
    assert (tmp_path / "e.csv").read_text() == (
        "recommender,metric,ties,value\n"
        f"A,ap,expected,{ap:.6f}\n"
        "A,ap,optimistic,75.000000\n"
        "A,auc,expected,90.000000\n"
        "A,auc,optimistic,95.000000\n"
    )
    assert f"| {ap:.2f} " in (tmp_path / "e.md").read_text()
