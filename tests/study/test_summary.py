"""The lines at the end of a run of the study."""

import os
import re
import subprocess
import sys

import pytest

from sampled_metrics_study.page.closing import closing_text, order_line
from sampled_metrics_study.verdicts import VERDICT_PHRASES, VERDICTS, verdict_line

COUNTS = {"exact": 64, "within noise": 215, "explained": 21, "differs": 0}
NOT_OFFICIAL = "The ratings are not the official file of MovieLens 1M."


def content(values=("9.42", "8.84", "7.75"), **changed):
    """What `closing_text` reads of the content of a page; Y and Z are undecided."""
    lens = {
        "start": {"metric": "recall@10", "estimator": "sampled", "m": 100},
        "names": ["X", "Y", "Z"],
        "asked": {"recall@10": {"label": "Recall@10"}},
        "views": {
            "recall@10 sampled 100": {
                "read": [(0, "66.1\xa0%"), (1, "56.5\xa0%"), (2, "54.2\xa0%")]
            }
        },
        "truth": {"recall@10": [(2 - place, f"{text}\xa0%") for place, text in enumerate(values)]},
        "undecided": [["Y", "Z"]],
    }
    usual = {
        "lens": lens,
        "verdict_sentence": verdict_line(COUNTS),
        "origin": {"ranks": "trained"},
        "data_note": "",
    }
    return {**usual, **changed}


def lines_of(**changed):
    lines = closing_text(content(**changed), "results/report.html").splitlines()
    assert max(map(len, lines)) <= 80
    return lines


def test_lines_state_orders_verdict_and_page():
    sampled, exact, *verdict, last = lines_of()
    assert sampled == "Recall@10  against 100 random items  X 66.1 > Y 56.5 > Z 54.2"
    assert exact.startswith("           over all items            Z 9.42, Y 8.84 > X 7.75")
    numbers = list(map(int, re.findall(r"\b\d+\b", " ".join(verdict))))
    assert numbers == [300, 64, 215, 3, 21, 0]
    assert last == "Open results/report.html"


def test_data_and_stored_ranks_are_named_beside_the_verdict():
    usual = " ".join(lines_of()[2:-1])
    other = " ".join(lines_of(data_note=NOT_OFFICIAL, origin={"ranks": "reference"})[2:-1])
    assert other.startswith(usual)
    assert other.endswith(NOT_OFFICIAL)
    assert "reference" in other.removeprefix(usual)


def test_numbers_that_are_not_comparable_are_counted():
    assert "comparable" not in verdict_line(COUNTS)
    verdict = verdict_line({**COUNTS, "not comparable": 7})
    assert "307 published numbers" in verdict
    assert "7 not comparable" in verdict


def test_study_without_published_numbers_names_its_recommenders():
    *_, verdict, _ = lines_of(verdict_sentence="")
    assert "X, Y, Z" in verdict
    assert not re.search("published|differ", verdict)


@pytest.mark.parametrize(
    ("undecided", "expected"),
    [
        ([], "A 3 > B 2 > C 1"),
        (["AB"], "A 3, B 2 > C 1"),
        (["BC"], "A 3 > B 2, C 1"),
        (["AC"], "A 3, B 2, C 1"),  # no sign may claim the order of A and C
    ],
)
def test_order_has_signs_only_where_all_pairs_are_decided(undecided, expected):
    line = order_line({"A": "3", "B": "2", "C": "1"}, list(map(frozenset, undecided)))
    assert line.partition(" (")[0] == expected
    assert ("(" in line) == bool(undecided)


def test_many_recommenders_take_several_lines():
    names = [f"a-recommender-with-a-long-name-{i}" for i in range(5)]
    many = content()
    values = [(i, "12.3\xa0%") for i in range(5)]
    many["lens"] |= {"names": names, "truth": {"recall@10": values}, "undecided": []}
    many["lens"]["views"]["recall@10 sampled 100"] = {"read": values}
    lines = closing_text(many, "results/report.html").splitlines()
    assert max(map(len, lines)) <= 80
    assert all(sum(name in line for line in lines) == 2 for name in names)


def test_every_verdict_has_phrase():
    assert tuple(VERDICT_PHRASES) == VERDICTS


# The command.


def run(folder, *arguments, **environment):
    command = [sys.executable, "-m", "sampled_metrics_study.summary", *arguments]
    path = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    done = subprocess.run(
        command, cwd=folder, env=path | environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.splitlines(), done.stderr


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "summary.txt").write_text("one\ntwo\n")
    (folder / "report.html").touch()
    return folder


def test_summary_prints_the_lines_of_the_run(results):
    assert run(results.parent) == (0, ["one", "two"], "")
    assert run(results, ".") == (0, ["one", "two"], "")


def test_summary_names_inactive_environment_first(results):
    activate = results.parent / ".venv/bin/activate"
    activate.parent.mkdir(parents=True)
    activate.touch()
    _, lines, _ = run(results.parent)
    assert "source .venv/bin/activate" in lines[0]
    assert lines[-2:] == ["one", "two"]
    _, lines, _ = run(results.parent, VIRTUAL_ENV=str(activate.parents[1]))
    assert lines == ["one", "two"]


@pytest.mark.parametrize("name", ["summary.txt", "report.html"])
def test_summary_of_unfinished_run_is_one_line(results, name):
    (results / name).unlink()
    status, lines, error = run(results.parent)
    assert (status, lines) == (2, [])
    assert error.startswith(f"results/{name} is missing")
