"""What the scripts of the workflow have in common, and those without a reference run."""

import json
import logging
import os
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import sampled_metrics
from sampled_metrics._base.errors import InputError
from sampled_metrics_study.data import archive as download
from sampled_metrics_study.data.archive import UnreachableError
from sampled_metrics_study.data.movielens import CATALOGUE
from sampled_metrics_study.page.contents import provenance
from sampled_metrics_study.steps import refuse_edited, step
from tests.conftest import run_script, write_archive
from tests.helpers.interactions import as_ratings, synthetic_interactions


@pytest.fixture(autouse=True)
def handlers():
    """Close the logs that scripts open."""
    yield
    for handler in logging.getLogger().handlers[:]:
        if type(handler) in (logging.StreamHandler, logging.FileHandler):
            logging.getLogger().removeHandler(handler)
            handler.close()


def job(log, output=()):
    return SimpleNamespace(log=[str(log)], output=[str(path) for path in output])


@pytest.fixture
def log(tmp_path):
    return tmp_path / "step.log"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (InputError("wrong", path="a.csv"), "ERROR: a.csv: wrong\n"),
        (
            OSError(28, "No space left on device"),
            "ERROR: No space left on device\n",
        ),
        (
            OSError(13, "Permission denied", "a.zip"),
            "ERROR: a.zip: Permission denied\n",
        ),
        (MemoryError("1 GB"), "ERROR: 1 GB\n"),
    ],
)
def test_errors_of_data_and_machine_have_status_2_and_a_line(
    log, capsys, error, words
):
    with pytest.raises(SystemExit) as ended, step(job(log)):
        raise error
    assert ended.value.code == 2
    assert log.read_text() == capsys.readouterr().err == words


def test_mistakes_of_the_program_are_raised(log):
    with pytest.raises(ZeroDivisionError), step(job(log)):
        raise ZeroDivisionError


def test_messages_are_in_the_log_and_on_the_screen(log, capsys):
    log.write_text("of the last run\n")
    with step(job(log)) as logger:
        logger.info("%d users", 7)
        logger.debug("nobody asks for it")
    assert log.read_text() == capsys.readouterr().err == "7 users\n"


def test_a_file_that_was_edited_is_refused_by_name(tmp_path, log):
    made, foreign = tmp_path / "made.csv", tmp_path / "foreign.csv"
    for text in ("a\n", "b\n"):  # also where the step runs again
        with step(job(log, output=[made])):
            made.write_text(text)
    # as printed by sha256sum for "b\n"
    digest = "0263829989b6fd954f72baaf2fc64bc2e2f01d692d4de72986ea808f6e99813f"
    assert log.with_suffix(".sha256").read_text() == f"{digest}  {made}\n"
    foreign.write_text("not of a step\n")
    refuse_edited([str(made), str(foreign)], tmp_path)
    made.write_text("c\n")
    refuse_edited([str(foreign)], tmp_path)
    with pytest.raises(InputError, match=r"made\.csv: edited .* remove it"):
        refuse_edited([str(foreign), str(made)], tmp_path)


def test_the_checksum_of_the_last_step_counts(tmp_path):
    """The same file may have been made by another step before, such as one with other pieces."""
    made = tmp_path / "made.csv"
    for number, name in enumerate(("z", "a")):
        with step(job(tmp_path / f"{name}.log", output=[made])):
            made.write_text(name)
        os.utime(tmp_path / f"{name}.sha256", (number, number))
    refuse_edited([str(made)], tmp_path)


def files_of_fetch(folder):
    return {"archive": str(folder / "out.zip"), "source": str(folder / "source.json")}


def test_a_server_that_is_not_reached_leaves_a_mark(tmp_path, log, monkeypatch):
    def fail(*_):
        raise UnreachableError("no answer; try again")

    monkeypatch.setattr(download, "find_or_download", fail)
    with pytest.raises(SystemExit) as ended:
        run_script(
            "fetch", log, {"archive": []}, files_of_fetch(tmp_path), dataset={}
        )
    assert ended.value.code == 2
    assert (tmp_path / "step.log.unreachable").read_text() == "no answer; try again\n"


@pytest.mark.parametrize("is_local", [True, False])
def test_an_archive_is_the_one_of_the_rule(tmp_path, log, monkeypatch, is_local):
    """The rule names it by the configuration or the environment; else it is got elsewhere."""
    path = write_archive(
        tmp_path / "mine.zip", as_ratings(synthetic_interactions(users=5))
    )
    monkeypatch.setattr(download, "find_or_download", lambda *_: (path, "cache"))
    given = {"archive": str(path) if is_local else []}
    run_script(
        "fetch", log, given, files_of_fetch(tmp_path), dataset={"name": "ml-1m"}
    )
    record = json.loads((tmp_path / "source.json").read_text())
    assert record["archive"] == "mine.zip"
    assert record["origin"] == ("local archive" if is_local else "cache")
    assert (tmp_path / "out.zip").read_bytes() == path.read_bytes()


def test_tables_are_described_where_they_are(tmp_path, log):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("user,item\n1,2\n")
    given = {"tables": [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]}
    dataset = {"format": "table", "name": "mine", "licence": "CC0", "citation": "me"}
    written = {"source": str(tmp_path / "source.json")}
    run_script("describe", log, given, written, dataset=dataset)
    record = json.loads((tmp_path / "source.json").read_text())
    assert (record["dataset"], record["origin"], record["archive"]) == (
        "mine", "table", "a.csv, b.csv")  # fmt: skip
    assert log.read_text() == "licence of mine: CC0\ncitation of mine: me\n"


@pytest.mark.parametrize(
    ("changed", "filters", "as_expected"),
    [
        ({}, {}, True),
        ({"users": 1}, {}, False),
        ({"items": -1}, {}, False),
        ({"interactions": 1}, {}, False),
        (
            {},
            {"min_user_events": 2},
            None,
        ),  # what the publisher counts is not filtered
    ],
)
def test_a_split_says_whether_it_has_the_published_counts(
    tmp_path, log, monkeypatch, changed, filters, as_expected
):
    data = synthetic_interactions(users=12)
    write_archive(tmp_path / "a.zip", as_ratings(data))
    counts = {
        "users": 12,
        "items": len(set(data.item)),
        "interactions": len(data.user),
    }
    published = {name: count + changed.get(name, 0) for name, count in counts.items()}
    monkeypatch.setitem(
        CATALOGUE, "ml-1m", replace(CATALOGUE["ml-1m"], counts=published)
    )
    written = {"split": str(tmp_path / "s.npz"), "counts": str(tmp_path / "c.json")}
    given = {"events": str(tmp_path / "a.zip")}
    run_script("split", log, given, written, dataset={}, filters=filters, split={})
    record = json.loads((tmp_path / "c.json").read_text())
    assert record["as_expected"] is as_expected
    assert record["expected"] == published
    assert {name: record[name] for name in counts} == counts


def test_a_recommender_without_sense_is_asked_about_once_and_random_is_not(
    tmp_path, log, capsys
):
    data = synthetic_interactions(users=300)
    write_archive(tmp_path / "a.zip", as_ratings(data))
    split = str(tmp_path / "s.npz")
    written = {"split": split, "counts": str(tmp_path / "c.json")}
    given = {"events": str(tmp_path / "a.zip")}
    run_script("split", log, given, written, dataset={}, filters={}, split={})
    users, items = np.unique(data.user), np.unique(data.item)
    scores = np.random.default_rng(0).random((users.size, items.size))
    path = str(tmp_path / "scores.npz")
    np.savez(path, scores=scores, user_ids=users, item_ids=items)
    external = {"kind": "external", "settings": {"path": path, "format": "scores"}}
    ours = {"kind": "random", "settings": {"seed": 0}}
    capsys.readouterr()
    for recommender, source, asked in ((external, path, 1), (ours, [], 0)):
        given = {"split": split, "source": source}
        ranks = {"ranks": str(tmp_path / "R.parquet")}
        run_script("rank", log, given, ranks, recommender=recommender, block_size=50)
        shown = capsys.readouterr().err
        assert (
            shown.count("WARNING") == shown.count("are higher scores better") == asked
        )
        assert ".py:" not in shown
        exact = {
            name: str(tmp_path / f"exact.{name}") for name in ("csv", "md", "ranges")
        }
        given = {"ranks": [ranks["ranks"]]}
        run_script("exact", log, given, exact, exact={}, metrics=["recall@10"])
        assert "WARNING" not in capsys.readouterr().err


def test_the_provenance_has_the_records_of_earlier_steps_versions_and_the_machine(
    tmp_path,
):
    (tmp_path / "source.json").write_text('{"origin": "table"}')
    record = provenance(
        "trained", [Path(tmp_path / "source.json")], {"seeds": {"X": 7}}
    )
    versions = record.pop("versions")
    host = record.pop("host")
    assert record == {
        "ranks": "trained",
        "source": {"origin": "table"},
        "seeds": {"X": 7},
    }
    assert versions.pop("python") == ".".join(map(str, sys.version_info[:3]))
    assert versions.pop("sampled-metrics") == sampled_metrics.__version__
    assert versions == {name: version(name) for name in versions}
    assert host == {"system": os.uname().sysname, "machine": os.uname().machine,
                    "processors": os.cpu_count()}  # fmt: skip
