"""What every step of the study has in common: its log, its errors and their status, its record."""

import json
import logging
import os
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest

import sampled_metrics
from sampled_metrics._base.errors import InputError, UnreachableError
from sampled_metrics.study import steps
from sampled_metrics.study.datasets import download
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


class Files(list):
    """Files of a job as Snakemake passes them: in a list, and some of them by name."""

    def __init__(self, **named):
        super().__init__()
        for name, files in named.items():
            setattr(self, name, files)
            self += [files] if isinstance(files, str) else files


def test_a_page_is_of_the_files_of_its_job_and_says_where_they_are_from(tmp_path, monkeypatch):
    origins = []
    for name, content in (("source", {"origin": "table"}), ("split", {"users": 3})):
        origins.append(str(tmp_path / f"{name}.json"))
        Path(origins[-1]).write_text(json.dumps(content))
    given = {"ranks": ["a.parquet", "b.parquet"], "origin": origins, "kept": ["k.parquet"]}
    collected = []

    def collect(folder, **options):
        collected.append((folder, options))
        return {"title": "all"}

    monkeypatch.setattr("sampled_metrics.study.page.collect", collect)
    monkeypatch.setattr("sampled_metrics.pages.render", lambda content: f"page of {content}")
    identity = {"seeds": {"X": 7}, "config_sha256": "0f"}
    study = {"ranks": "trained", "results": "results"}
    written = Files(page=str(tmp_path / "p.html"), provenance=str(tmp_path / "p.json"))
    params = SimpleNamespace(study=study, identity=identity)
    for optional in (
        {"scorecard": [], "audit": [], "orders": []},
        {"scorecard": ["s.csv", "s.md"], "audit": ["audit.csv"], "orders": ["orders.csv"]},
    ):
        steps.page(SimpleNamespace(input=Files(**given, **optional), output=written, params=params))
        folder, options = collected.pop()
        paths = {name: Path(optional[name][0]) if optional[name] else None for name in optional}
        assert folder == tmp_path
        assert options == {
            "ranks": [Path("a.parquet"), Path("b.parquet")],
            "config": study,
            "is_paper": bool(optional["scorecard"]),
            "audit": paths["audit"],
            "orders": paths["orders"],
            "kept": [Path("k.parquet")],
        }
        assert (tmp_path / "p.html").read_text() == "page of {'title': 'all'}"
        record = json.loads((tmp_path / "p.json").read_text())
        versions = record.pop("versions")
        host = record.pop("host")
        sources = {"source": {"origin": "table"}, "split": {"users": 3}}
        assert record == {"ranks": "trained", **sources, **identity}
    installed = {name: version(name) for name in versions if name != "python"}
    assert versions.pop("python") == ".".join(map(str, sys.version_info[:3]))
    assert versions == installed | {"sampled-metrics": sampled_metrics.__version__}
    assert {"numpy", "scipy", "pandas", "pyarrow", "matplotlib"} < set(versions)
    assert host == {"system": os.uname().sysname, "machine": os.uname().machine,
                    "processors": os.cpu_count()}  # fmt: skip


def test_a_step_with_one_file_gets_a_name_and_not_a_list(tmp_path):
    one, two = str(tmp_path / "a"), str(tmp_path / "b")
    assert steps._paths(one) == [Path(one)]
    assert steps._paths([one, two]) == [Path(one), Path(two)]
    assert steps._paths([]) == []


@pytest.mark.parametrize("archive", [True, False])
def test_an_archive_is_the_one_of_the_rule(tmp_path, monkeypatch, archive):
    """The rule names it by the configuration or the environment; else it is got elsewhere."""
    path = write_archive(tmp_path / "mine.zip", as_ratings(synthetic_interactions(users=5)))
    got = []
    if not archive:
        monkeypatch.setattr(download, "cached_or_downloaded", lambda *given: got.append(given) or
                            (path, "cache"))  # fmt: skip
    written = Files(archive=str(tmp_path / "out.zip"), source=str(tmp_path / "s.json"))
    dataset = {"name": "ml-1m", "archive": "of/another/machine.zip" if archive else None}
    job = SimpleNamespace(
        input=[str(path)] * archive, output=written, params=SimpleNamespace(dataset=dataset)
    )
    steps.fetch(job)
    record = json.loads((tmp_path / "s.json").read_text())
    assert (record["dataset"], record["archive"]) == ("ml-1m", "mine.zip")
    assert record["origin"] == ("local archive" if archive else "cache")
    assert len(got) == (not archive)
    assert (tmp_path / "out.zip").read_bytes() == path.read_bytes()


def test_tables_are_described_where_they_are(tmp_path, caplog):
    (tmp_path / "a.csv").write_text("user,item\n1,2\n")
    (tmp_path / "b.csv").write_text("user,item\n1,3\n")
    paths = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    dataset = {"format": "table", "name": "mine", "licence": "CC0", "citation": "me"}
    written = Files(source=str(tmp_path / "s.json"))
    with caplog.at_level(logging.INFO):
        steps.fetch(
            SimpleNamespace(input=paths, output=written, params=SimpleNamespace(dataset=dataset))
        )
    record = json.loads((tmp_path / "s.json").read_text())
    assert (record["dataset"], record["origin"], record["archive"]) == (
        "mine", "table", "a.csv, b.csv")  # fmt: skip
    assert caplog.messages == ["licence of mine: CC0", "citation of mine: me"]
