"""Scripts of the workflow that do not need the reference run."""

import gzip
import json
import os
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import sampled_metrics
from sampled_metrics_study.data import archive as download
from sampled_metrics_study.data.archive import UnreachableError
from sampled_metrics_study.data.movielens import CATALOGUE
from sampled_metrics_study.data.split import load_split
from sampled_metrics_study.page.contents import provenance
from tests.conftest import run_script, write_archive
from tests.helpers.interactions import as_ratings, synthetic_interactions


@pytest.fixture
def log(tmp_path):
    return tmp_path / "step.log"


def files_of_fetch(folder):
    return {"archive": str(folder / "out.zip"), "source": str(folder / "source.json")}


def test_fetch_marks_unreachable_server(tmp_path, log, monkeypatch):
    def fail(*_):
        raise UnreachableError("no answer; try again")

    monkeypatch.setattr(download, "find_or_download", fail)
    with pytest.raises(SystemExit) as ended:
        run_script("fetch", log, {"archive": []}, files_of_fetch(tmp_path), dataset={})
    assert ended.value.code == 2
    assert (tmp_path / "step.log.unreachable").read_text() == "no answer; try again\n"


@pytest.mark.parametrize("is_local", [True, False])
def test_fetch_uses_archive_of_rule(tmp_path, log, monkeypatch, is_local):
    """The archive comes from the rule's input, or else from the cache or a download."""
    path = write_archive(tmp_path / "mine.zip", as_ratings(synthetic_interactions(users=5)))
    monkeypatch.setattr(download, "find_or_download", lambda *_: (path, "cache"))
    inputs = {"archive": str(path) if is_local else []}
    run_script("fetch", log, inputs, files_of_fetch(tmp_path), dataset={"name": "ml-1m"})
    record = json.loads((tmp_path / "source.json").read_text())
    assert record["archive"] == "mine.zip"
    assert record["origin"] == ("local archive" if is_local else "cache")
    assert (tmp_path / "out.zip").read_bytes() == path.read_bytes()


def test_describe_records_tables(tmp_path, log):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("user,item\n1,2\n")
    inputs = {"tables": [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]}
    dataset = {"format": "table", "name": "mine", "licence": "CC0", "citation": "me"}
    outputs = {"source": str(tmp_path / "source.json")}
    run_script("describe", log, inputs, outputs, dataset=dataset)
    record = json.loads((tmp_path / "source.json").read_text())
    assert (record["dataset"], record["origin"], record["archive"]) == (
        "mine", "table", "a.csv, b.csv")  # fmt: skip
    assert log.read_text() == "licence of mine: CC0\ncitation of mine: me\n"


def run_split(tmp_path, events, **params):
    """Split the events of a file; return the split and its counts."""
    params = {"dataset": {}, "filters": {}, "split": {}} | params
    outputs = {"split": str(tmp_path / "s.npz"), "counts": str(tmp_path / "c.json")}
    run_script(
        "split", tmp_path / "step.log", {"events": str(tmp_path / events)}, outputs, **params
    )
    return load_split(tmp_path / "s.npz"), json.loads((tmp_path / "c.json").read_text())


@pytest.fixture
def split_of_twelve(tmp_path, log, monkeypatch):
    """Split an archive of 12 users; return its counts, those published, the record and the log.

    The counts that are published differ by `changed` from those of the archive.
    """

    def run_split_of_twelve(name, changed, filters):
        data, dataset = synthetic_interactions(users=12), CATALOGUE[name]
        lines = as_ratings(data).replace(b"::", dataset.layout.separator.encode())
        header = f"{dataset.layout.header}\n" if dataset.layout.header else ""
        write_archive(tmp_path / "a.zip", header.encode() + lines, dataset.member)
        counts = {"users": 12, "items": len(set(data.item)), "interactions": len(data.user)}
        published = {kind: count + changed.get(kind, 0) for kind, count in counts.items()}
        monkeypatch.setitem(CATALOGUE, name, replace(dataset, counts=published))
        _, record = run_split(tmp_path, "a.zip", dataset={"name": name}, filters=filters)
        return counts, published, record, log.read_text()

    return run_split_of_twelve


@pytest.mark.parametrize(
    ("changed", "filters"),
    [
        ({}, {}),
        # the counts of the publisher are before filtering
        ({}, {"min_item_events": 3}),
        ({"users": 1}, {}),
        ({"users": 1}, {"min_item_events": 3}),
        ({"items": -1}, {}),
        ({"interactions": 1}, {}),
    ],
)
@pytest.mark.parametrize("name", CATALOGUE)
def test_split_records_read_and_published_counts(split_of_twelve, name, changed, filters):
    counts, published, record, _ = split_of_twelve(name, changed, filters)
    assert (record["read"], record["expected"]) == (counts, published)
    assert record["as_expected"] == (not changed)


def test_split_warns_of_other_counts_than_published(split_of_twelve):
    counts, published, _, text = split_of_twelve("ml-1m", {"users": 1}, {})
    (warning,) = [line for line in text.splitlines() if line.startswith("WARNING")]
    assert "ml-1m" in warning
    for kind in ("users", "items", "interactions"):
        assert f"{counts[kind]:,} {kind} for {published[kind]:,}" in warning


def test_split_with_published_counts_warns_of_nothing(split_of_twelve):
    *_, text = split_of_twelve("ml-1m", {}, {})
    assert "WARNING" not in text


@pytest.fixture
def senseless(tmp_path):
    """A split of 300 users, and a file of random scores of its users and items."""
    data = synthetic_interactions(users=300)
    write_archive(tmp_path / "a.zip", as_ratings(data))
    run_split(tmp_path, "a.zip")
    users, items = np.unique(data.user), np.unique(data.item)
    scores = np.random.default_rng(0).random((users.size, items.size))
    np.savez(tmp_path / "scores.npz", scores=scores, user_ids=users, item_ids=items)
    return str(tmp_path / "s.npz"), str(tmp_path / "scores.npz")


def run_rank(folder, log, split, source, recommender):
    inputs, outputs = {"split": split, "source": source}, {"ranks": str(folder / "R.parquet")}
    run_script("rank", log, inputs, outputs, recommender=recommender, block_size=50)


def test_rank_warns_of_senseless_scores_of_a_file_once(tmp_path, log, capsys, senseless):
    split, scores = senseless
    external = {"kind": "external", "settings": {"path": scores, "format": "scores"}}
    capsys.readouterr()
    run_rank(tmp_path, log, split, scores, external)
    shown = capsys.readouterr().err
    assert shown.count("WARNING") == shown.count("higher scores are better") == 1
    assert ".py:" not in shown  # it is no warning of Python
    # the next step does not repeat it
    exact = {name: str(tmp_path / f"exact.{name}") for name in ("csv", "md", "ranges")}
    inputs = {"ranks": [str(tmp_path / "R.parquet")]}
    run_script("exact", log, inputs, exact, exact={}, metrics=["recall@10"])
    assert "WARNING" not in capsys.readouterr().err


def test_rank_does_not_warn_of_the_random_recommender(tmp_path, log, capsys, senseless):
    split, _ = senseless
    capsys.readouterr()
    run_rank(tmp_path, log, split, [], {"kind": "random", "settings": {"seed": 0}})
    assert "WARNING" not in capsys.readouterr().err


def test_provenance_has_records_versions_machine(tmp_path):
    (tmp_path / "source.json").write_text('{"origin": "table"}')
    record = provenance("trained", [Path(tmp_path / "source.json")], {"seeds": {"X": 7}})
    versions = record.pop("versions")
    host = record.pop("host")
    assert record == {"ranks": "trained", "source": {"origin": "table"}, "seeds": {"X": 7}}
    assert versions.pop("python") == ".".join(map(str, sys.version_info[:3]))
    assert versions.pop("sampled-metrics") == sampled_metrics.__version__
    assert versions == {name: version(name) for name in versions}
    assert host == {"system": os.uname().sysname, "machine": os.uname().machine,
                    "processors": os.cpu_count()}  # fmt: skip


TABLE = "user,item,rating,when\nann,x,5,7\nann,y,2,8\nbob,x,4,5\nann,z,4,9\nbob,z,3,6\nbob,z,5,4\n"
MINE = {"format": "table", "name": "mine", "columns": {"timestamp": "when"}}


def test_split_of_filtered_table(tmp_path):
    (tmp_path / "mine.csv").write_text(TABLE)
    filters = {"duplicates": "first", "min_rating": None, "min_user_events": 2}
    done, counts = run_split(tmp_path, "mine.csv", dataset=MINE, filters=filters)
    # held out: z of ann at 9, x of bob at 5; training: 7 and 8 of ann, 4 of bob
    assert counts == {
        "method": "leave-last-out", "tie_break": "ncf", "users": 2, "items": 3, "interactions": 5,
        "training_events": 3, "tied_users": 0,
        "evaluated_users": 2,
        "filters": {"duplicates": {"value": "first", "removed": 1},
                    "min_user_events": {"value": 2, "removed": 0}},
        "expected": None, "as_expected": None, "read": None,
    }  # fmt: skip
    assert done.user_ids.tolist() == ["ann", "bob"]
    # the last event of ann is z at 9; of z at 6 and 4, bob keeps the earlier, so x at 5 is his last
    assert done.item_ids[done.held_out].tolist() == ["z", "x"]


def test_split_is_same_from_any_file(tmp_path):
    data = synthetic_interactions()
    write_archive(tmp_path / "a.zip", as_ratings(data))
    columns = {"user": data.user, "item": data.item, "timestamp": data.timestamp}
    text = "u;i;t\n"
    text += "".join(f"{u};{i};{t}.0\n" for u, i, t in zip(*columns.values(), strict=True))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    mine = {"format": "table", "name": "mine"}
    named = mine | {"columns": {"user": "u", "item": "i", "timestamp": "t"}, "separator": ";"}
    splits = []
    for file, dataset in (("a.zip", {"name": "ml-1m"}), ("a.csv.gz", named), ("a.parquet", mine)):
        counts = run_split(tmp_path, file, dataset=dataset)[1]
        splits.append((tmp_path / "s.npz").read_bytes())
        assert counts["as_expected"] is (False if file == "a.zip" else None)
    assert splits[0] == splits[1] == splits[2]
