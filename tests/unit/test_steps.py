"""What every step of the study has in common: its log, its errors and their status, its record."""

import json
import logging
from dataclasses import replace
from types import SimpleNamespace

import pytest

from sampled_metrics._base.errors import InputError, UnreachableError
from sampled_metrics.study import steps
from sampled_metrics.study.datasets.catalogue import CATALOGUE
from tests.conftest import as_ratings, synthetic_interactions, write_archive


@pytest.fixture
def job(tmp_path):
    """A job of a step that writes one file."""
    return SimpleNamespace(
        output=[str(tmp_path / "out.csv")],
        log=[str(tmp_path / "step.log")],
        params=SimpleNamespace(step="exact"),
    )


@pytest.fixture(autouse=True)
def handlers():
    """Close the logs that steps open."""
    yield
    for handler in logging.getLogger().handlers[:]:
        if type(handler) in (logging.StreamHandler, logging.FileHandler):
            logging.getLogger().removeHandler(handler)
            handler.close()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (InputError("wrong", path="a.csv"), "ERROR: a.csv: wrong\n"),
        (OSError(28, "No space left on device"), "ERROR: [Errno 28] No space left on device\n"),
        (MemoryError("1 GB"), "ERROR: 1 GB\n"),
    ],
)
def test_errors_of_data_and_machine_have_status_2_and_a_line(
    job, tmp_path, monkeypatch, capsys, error, words
):
    def fail(_):
        raise error

    monkeypatch.setattr(steps, "exact", fail)
    with pytest.raises(SystemExit) as ended:
        steps.run(job)
    assert ended.value.code == 2
    assert (tmp_path / "step.log").read_text() == words
    assert capsys.readouterr().err == words
    assert not (tmp_path / "step.log.unreachable").exists()


def test_a_server_that_is_not_reached_leaves_a_mark(job, tmp_path, monkeypatch):
    def fail(_):
        raise UnreachableError("no answer; try again")

    monkeypatch.setattr(steps, "exact", fail)
    with pytest.raises(SystemExit) as ended:
        steps.run(job)
    assert ended.value.code == "ERROR: no answer; try again"
    assert (tmp_path / "step.log.unreachable").read_text() == "no answer; try again\n"


def test_mistakes_of_the_program_are_raised(job, monkeypatch):
    monkeypatch.setattr(steps, "exact", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        steps.run(job)


def test_messages_of_a_step_are_in_its_log_and_on_the_screen(job, tmp_path, monkeypatch, capsys):
    (tmp_path / "step.log").write_text("of the last run\n")

    def work(given):
        assert given is job
        logging.getLogger("sampled_metrics").info("%d users", 7)
        logging.getLogger("sampled_metrics").debug("nobody asks for it")

    monkeypatch.setattr(steps, "exact", work)
    steps.run(job)
    assert (tmp_path / "step.log").read_text() == capsys.readouterr().err == "7 users\n"


def test_files_of_a_killed_step_are_swept(job, tmp_path, monkeypatch):
    swept = []
    monkeypatch.setattr(steps, "sweep", swept.append)
    monkeypatch.setattr(steps, "exact", lambda _: swept.append("worked"))
    job.output.append(str(tmp_path / "out.md"))
    steps.run(job)
    assert swept == [tmp_path / "out.csv", tmp_path / "out.md", "worked"]


@pytest.mark.parametrize(
    ("changed", "filters", "as_expected"),
    [
        ({}, {}, True),
        ({"users": 1}, {}, False),
        ({"items": -1}, {}, False),
        ({"interactions": 1}, {}, False),
        ({}, {"min_user_events": 2}, None),  # what the publisher counts is not filtered
        ({"users": 1}, {"min_rating": 1.0}, None),
    ],
)
def test_a_split_says_whether_it_has_the_published_counts(
    tmp_path, monkeypatch, changed, filters, as_expected
):
    data = synthetic_interactions(users=12)
    write_archive(tmp_path / "a.zip", as_ratings(data))
    counts = {"users": 12, "items": len(set(data.item)), "interactions": len(data.user)}
    published = {name: count + changed.get(name, 0) for name, count in counts.items()}
    monkeypatch.setitem(CATALOGUE, "ml-1m", replace(CATALOGUE["ml-1m"], counts=published))
    job = SimpleNamespace(
        input=SimpleNamespace(events=str(tmp_path / "a.zip")),
        output=SimpleNamespace(split=str(tmp_path / "s.npz"), counts=str(tmp_path / "c.json")),
        params=SimpleNamespace(dataset={}, filters=filters, split={}),
    )
    steps.split(job)
    record = json.loads((tmp_path / "c.json").read_text())
    assert record["as_expected"] is as_expected
    assert record["expected"] == published
    assert {name: record[name] for name in counts} == counts
