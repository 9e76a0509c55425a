"""The commands that get data and split it: what they write, log and refuse."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from sampled_metrics.datasets.catalogue import CATALOGUE, CITATION, ML_1M, Counts
from sampled_metrics.datasets.split import load_split
from tests.conftest import as_ratings, synthetic_interactions, write_archive

TABLE = "user,item,rating,when\nann,x,5,7\nann,y,2,8\nbob,x,4,5\nann,z,4,9\nbob,z,3,6\nbob,z,5,4\n"
COLUMNS = {"format": "table", "name": "mine", "columns": {"timestamp": "when"}}


@pytest.fixture(autouse=True)
def _inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MOVIELENS_ARCHIVE", raising=False)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(TABLE)
    return path


def split_command(file, *options):
    return ("study", "split", file, "--output", "s.npz", "--counts", "s.json", *options)


def record(name):
    with open(name, encoding="utf-8") as file:  # noqa: PTH123 - the working folder is temporary
        return json.load(file)


def test_split_of_a_table_with_filters(run, table):
    filters = {"duplicates": "first", "min_rating": None, "min_user_events": 2}
    options = ("--dataset", json.dumps(COLUMNS), "--filters", json.dumps(filters))
    done = run(*split_command(table, *options))
    assert done.returncode == 0
    line, leak = done.stderr.splitlines()
    assert line.startswith("split: 2 users, 3 items, 5 interactions, 3 training_events, 0 tied_us")
    assert "; parsed in " in line
    # held out: z of ann at 9 and x of bob at 5; trained on: 7 and 8 of ann, 4 of bob, and of these
    # 7 and 8 are later than 5: (0/3 + 2/3) / 2
    assert "on average 33.3 % of all training events" in leak
    assert record("s.json") == {
        "method": "leave-last-out", "tie_break": "ncf", "users": 2, "items": 3, "interactions": 5,
        "training_events": 3, "tied_users": 0,
        "evaluated_users": 2, "later_training_events": 1 / 3,
        "filters": {"duplicates": {"value": "first", "removed": 1},
                    "min_user_events": {"value": 2, "removed": 0}},
        "expected": None, "as_expected": None,
    }  # fmt: skip
    split = load_split(table.parent / "s.npz")
    assert split.user_ids.tolist() == ["ann", "bob"]
    # ann's last is z at 9; of bob's z at 6 and 4 the first by time is kept, so x at 5 is his last
    assert split.item_ids[split.held_out].tolist() == ["z", "x"]


def test_same_events_from_any_file_give_the_same_split(run, tmp_path):
    data = synthetic_interactions()
    write_archive(tmp_path / "a.zip", as_ratings(data))
    columns = {"user": data.user, "item": data.item, "timestamp": data.timestamp}
    text = "".join(f"{u};{i};{t}.0\n" for u, i, t in zip(*columns.values(), strict=True))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    mine = {"format": "table", "name": "mine"}
    places = mine | {"columns": {"user": 0, "item": 1, "timestamp": 2}}
    splits = []
    for file, dataset in (
        ("a.zip", {"name": "ml-1m"}),
        ("a.csv.gz", places | {"separator": ";"}),
        ("a.parquet", mine),
    ):
        assert run(*split_command(file, "--dataset", json.dumps(dataset))).returncode == 0
        splits.append((tmp_path / "s.npz").read_bytes())
    assert splits[0] == splits[1] == splits[2]


def test_random_split_follows_its_seed(run, table):
    options = ("--dataset", json.dumps(COLUMNS), "--filters", '{"duplicates": "last"}')
    held_out = []
    for seed in (0, 0, 1, 2, 3, 4):
        settings = json.dumps({"method": "random", "seed": seed})
        assert run(*split_command(table, *options, "--settings", settings)).returncode == 0
        held_out.append(load_split(table.parent / "s.npz").held_out)
    assert (held_out[0] == held_out[1]).all()
    assert any((held_out[0] != each).any() for each in held_out)
    counts = record("s.json")
    assert (counts["method"], counts["tie_break"], counts["tied_users"]) == ("random", None, 0)


def test_split_of_any_movielens_with_a_filter_by_rating(run, tmp_path):
    lines = b"userId,movieId,rating,timestamp\n1,7,4.5,3\n1,8,4.0,2\n1,9,3.5,9\n"
    archive = write_archive(tmp_path / "a.zip", lines, member="ml-32m/ratings.csv")
    options = ("--dataset", '{"name": "ml-32m"}', "--filters", '{"min_rating": 4}')
    assert run(*split_command(archive, *options)).returncode == 0
    counts = record("s.json")
    assert counts["filters"] == {"min_rating": {"value": 4, "removed": 1}}
    assert counts["expected"] == {"users": 200948, "items": 84432, "interactions": 32000204}
    assert counts["as_expected"] is None
    split = load_split(tmp_path / "s.npz")
    assert split.item_ids[split.held_out].tolist() == [7]


def test_other_counts_than_published_are_told_and_do_not_stop(run, tmp_path):
    interactions = synthetic_interactions()
    archive = write_archive(tmp_path / "a.zip", as_ratings(interactions))
    done = run(*split_command(archive))
    assert done.returncode == 0
    told = "split: published counts of ml-1m differ: 6040 users, 3706 items, 1000209 interactions"
    assert done.stderr.splitlines()[0] == told
    assert record("s.json")["as_expected"] is False
    assert record("s.json")["filters"] == {}
    np.testing.assert_array_equal(
        load_split(tmp_path / "s.npz").user_ids, np.unique(interactions.user)
    )


def test_counts_as_published(run, tmp_path, monkeypatch):
    archive = write_archive(tmp_path / "a.zip", b"1::7::5::1\n1::8::5::2\n")
    # two events of one user with two items
    monkeypatch.setitem(CATALOGUE, "ml-1m", replace(ML_1M, counts=Counts(1, 2, 2)))
    assert run(*split_command(archive)).returncode == 0
    assert record("s.json")["as_expected"] is True


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dataset", "ml-1m"], "--dataset is not JSON"),
        (["--dataset", '{"format": "csv"}'], "--dataset: format must be "),
        (["--dataset", '{"format": "table", "name": "mine"}', "--filters",
          '{"duplicates": "last"}'], "mine.csv: no timestamps; leave-last-out needs a column"),
        (["--filters", '{"min": 2}'], "--filters: unknown key 'min'"),
        (["--settings", '{"method": "last"}'], "--settings: method must be "),
        (["--dataset", json.dumps(COLUMNS)],
         "mine.csv, row 6 (line 7): duplicate of row 5 (user bob, item z); "),
        (["--dataset", json.dumps(COLUMNS), "--filters", '{"min_rating": 5}'],
         "mine.csv, row 1 (line 2): the only event of user ann; "),
        (["--dataset", json.dumps(COLUMNS), "--filters", '{"duplicates": "last"}',
          "--settings", '{"method": "leave-k-out", "k": 2}'],
         "mine.csv, row 3 (line 4): the first of 2 events of user bob; one is needed for training"),
        (["--dataset", json.dumps(COLUMNS), "--filters", '{"duplicates": "last"}',
          "--settings", '{"method": "global-time", "cut": 4}'],
         "mine.csv: no user has events both before and from split.cut 4"),
        (["--dataset", json.dumps(COLUMNS), "--filters", '{"min_rating": 6}'],
         "mine.csv: no events remain after min_rating: 6"),
        (["--dataset", json.dumps(COLUMNS), "--filters",
          '{"duplicates": "last", "min_user_events": 7, "min_item_events": 2}'],
         "mine.csv: no events remain after min_user_events: 7, min_item_events: 2"),
    ],
)  # fmt: skip
def test_one_line_for_what_cannot_be_split(refused, table, options, message):
    told = refused(*split_command(table, *options)).removeprefix(f"{table.parent}/")
    assert told.startswith(message)
    assert [path.name for path in table.parent.iterdir()] == ["mine.csv"]


def test_fetch_tells_the_terms_once(run, tmp_path):
    lines = b"userId,movieId,rating,timestamp\r\n1,7,4.5,3\r\n1,8,4.0,2\r\n"
    archive = write_archive(tmp_path / "mine.zip", lines, member="ml-latest-small/ratings.csv")
    done = run("study", "fetch", "--dataset", '{"name": "ml-latest-small"}', "--archive", archive,
               "--output", "a.zip", "--source", "source.json")  # fmt: skip
    dataset = CATALOGUE["ml-latest-small"]
    assert done.stderr.splitlines() == [
        f"licence of ml-latest-small: {dataset.licence} ({dataset.licence_url})",
        f"to be cited for ml-latest-small: {CITATION}",
        "fetch: local archive, maybe the official ratings",
    ]
    source = record("source.json")
    assert source["dataset"] == "ml-latest-small"
    assert (source["archive_is_official"], source["ratings_is_official"]) == (None, None)
    assert (source["checksum"], source["checksum_verified"]) == (None, False)
    assert (source["licence"], source["citation"]) == (dataset.licence, CITATION)
    assert source["bytes"] == archive.stat().st_size
    assert run(*split_command("a.zip", "--dataset", '{"name": "ml-latest-small"}')).returncode == 0


def test_fetch_of_an_unknown_dataset(refused):
    dataset = ("--dataset", '{"name": "ml-2m"}')
    message = refused("study", "fetch", *dataset, "--output", "a", "--source", "s")
    assert message.startswith("--dataset: unknown name 'ml-2m'; known: ml-100k, ml-1m")


def test_describe(run, table):
    settings = COLUMNS | {"licence": "CC BY 4.0", "citation": "Me, 2024"}
    done = run("study", "describe", table, "--dataset", json.dumps(settings), "--source", "s.json")
    assert done.stderr.splitlines() == [
        "licence of mine: CC BY 4.0",
        "to be cited for mine: Me, 2024",
        f"describe: mine.csv, {len(TABLE)} bytes",
    ]
    assert record("s.json")["origin"] == "table"
    dataset = ("--dataset", json.dumps(COLUMNS))
    silent = run("study", "describe", table, *dataset, "--source", "s.json")
    assert silent.stderr.splitlines() == [f"describe: mine.csv, {len(TABLE)} bytes"]
    assert record("s.json")["licence"] is None


def test_describe_is_for_tables(refused, table):
    command = ("study", "describe", table, "--source", "s.json", "--dataset", "{}")
    assert refused(*command).startswith("--dataset: format is movielens")
    gone = ("study", "describe", "gone.csv", "--source", "s.json", "--dataset", json.dumps(COLUMNS))
    assert refused(*gone) == "gone.csv: no such file; expected a table of interactions"


def test_a_given_split(run, tmp_path):
    (tmp_path / "train.csv").write_text("who,what,when\nann,x,2024-01-05\nbob,y,2024-01-02\n")
    (tmp_path / "test.csv").write_text(
        "when,who,what\n2024-02-09,ann,z\n2024-02-03,ann,y\n2024-02-03,eve,y\n"
    )
    columns = {"user": "who", "item": "what", "timestamp": "when"}
    dataset = {"format": "table", "name": "mine", "columns": columns}
    settings = {"method": "given", "train": "train.csv", "test": "test.csv"}
    options = ("--dataset", json.dumps(dataset), "--settings", json.dumps(settings))
    command = ("study", "split", "train.csv", "test.csv", "--output", "s.npz", "--counts", "s.json")
    done = run(*command, *options)
    assert done.returncode == 0
    split = load_split(tmp_path / "s.npz")
    assert (split.evaluated_ids.tolist(), split.held_out_ids.tolist()) == (["ann"], ["y"])
    assert split.user_ids.tolist() == ["ann", "bob"]
    counts = record("s.json")
    assert (counts["method"], counts["later_training_events"]) == ("given", 0)
    sizes = [counts[name] for name in ("evaluated_users", "left_out_users", "left_out_events")]
    assert sizes == [1, 1, 2]
    run("study", "describe", "train.csv", "test.csv", "--dataset", json.dumps(dataset),
        "--source", "source.json")  # fmt: skip
    assert record("source.json")["archive"] == "train.csv, test.csv"


@pytest.mark.parametrize(
    ("settings", "evaluated"),
    [
        ({"method": "global-time", "cut": "2024-01-03"}, {"ann": "y"}),
        ({"method": "leave-k-out", "k": 2}, {"ann": "x", "bob": "z"}),
        ({"method": "leave-last-out", "users": 1}, {"ann": "y"}),
    ],
)
def test_other_splits(run, tmp_path, settings, evaluated):
    (tmp_path / "mine.csv").write_text(
        "user,item,timestamp\nann,z,2024-01-01\nann,y,2024-01-04\nann,x,2024-01-02\n"
        "bob,y,2024-01-04\nbob,z,2024-01-05\nbob,x,2024-01-06\n"
    )
    dataset = ("--dataset", '{"format": "table", "name": "mine"}')
    options = (*dataset, "--settings", json.dumps(settings))
    assert run(*split_command("mine.csv", *options)).returncode == 0
    split = load_split(tmp_path / "s.npz")
    assert dict(zip(split.evaluated_ids, split.held_out_ids, strict=True)) == evaluated
