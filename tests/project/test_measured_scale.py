"""Events of `make measure PAGE=scale`, and measurements compared with what rules request."""

import importlib
import re
import subprocess
import sys

import numpy as np
import pytest

from sampled_metrics_study.data.events import read_ratings
from sampled_metrics_study.data.filters import apply_filters
from sampled_metrics_study.data.movielens import CATALOGUE
from tests.conftest import ROOT

LINES = (ROOT / "docs/measured/scale.md").read_text("utf-8").splitlines()
NAMES = (
    "size",
    "users",
    "items",
    "events",
    "step",
    "seconds",
    "cpu",
    "used",
    "of_one",
)
NAMES += ("megabytes",)
TEXTS = ("size", "step")


def record_of(line):
    """Return the cells of a row of the page by name, numbers without commas."""
    cells = [cell.strip() for cell in line.strip("| ").split("|")]
    record = dict(zip(NAMES, cells, strict=True))
    numbers = {
        name: float(record[name].replace(",", ""))
        for name in NAMES
        if name not in TEXTS
    }
    return {**record, **numbers}


ROWS = [record_of(line) for line in LINES if line.startswith("| ml-")]
RULES = "".join(
    path.read_text("utf-8")
    for path in sorted((ROOT / "workflow/rules").glob("*.smk"))
)


def requests():
    """Return what each rule requests: memory in MB and minutes, each as base and amount per MB."""
    number = r"([\d.]+)"
    pair = rf"scaled\({number}, {number}\)"
    form = rf"^rule (\w+):(?:(?!^rule ).)*?mem_mb={pair},\s+runtime={pair},"
    by_rule = {}
    for name, *numbers in re.findall(form, RULES, re.MULTILINE | re.DOTALL):
        assert by_rule.setdefault(name, [*map(float, numbers)]) == [
            *map(float, numbers)
        ]
    return by_rule


@pytest.fixture
def large():
    return importlib.import_module("benchmarks.archive.large")


def test_history_sizes_add_up(large):
    for users, items, events in (
        (6040, 3706, 1_000_209),
        (100, 300, 2000),
        (7, 90, 200),
    ):
        sizes = large.draw_history_sizes(users, items, events)
        assert sizes.sum() == events
        assert sizes.min() >= 20
        assert sizes.max() <= items


def test_histories_have_distinct_items(large):
    sizes = np.array([20, 1, 29, 0, 30])
    user, item = large.draw_histories(sizes, 30, np.random.default_rng(0))
    assert np.bincount(user, minlength=5).tolist() == sizes.tolist()
    assert len(set(zip(user.tolist(), item.tolist(), strict=True))) == 80
    assert sorted(item[user == 4].tolist()) == list(range(30))


@pytest.mark.parametrize("chunk", [100, 1 << 20])
def test_written_archive_contains_the_events(large, monkeypatch, tmp_path, chunk):
    monkeypatch.setattr(large, "CHUNK", chunk)
    large.write_archive(tmp_path / "ml-20m.zip", users=40, items=200, events=1500)
    events = read_ratings(tmp_path / "ml-20m.zip", CATALOGUE["ml-20m"])
    assert len(apply_filters(events)[0]) == 1500  # no duplicate is refused
    assert set(events.user.tolist()) == set(range(1, 41))
    assert 1 <= events.item.min() <= events.item.max() <= 200
    last = [events.timestamp[events.user == user].tolist() for user in range(1, 41)]
    assert 0 < sum(times.count(max(times)) > 1 for times in last) < 40


PARENT = """
import subprocess, sys
subprocess.run([sys.executable, "-c", sys.argv[1]])
"""
CHILD = """
import os, sys
held = bytearray(b"x") * 20_000_000
if os.fork() == 0:
    more = bytearray(b"x") * 60_000_000
    print("ready", flush=True)
sys.stdin.read()
"""


def test_memory_includes_grandchildren(large):
    """Steps of a local study are forked from a server, which is a child of Snakemake."""
    command = [sys.executable, "-c", PARENT, CHILD]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        sampled = large.MemorySampler(process.pid)
        sizes = sampled.resident()
        process.kill()
    assert len(sizes) == 3
    assert max(sizes) >= 60e6
    assert sum(sizes) >= 20e6 + 60e6 + 2e6  # and interpreters


def test_page_rows_match_the_command(large):
    listed = [(row["size"], row["step"]) for row in ROWS]
    expected = [
        (size, label)
        for size in large.SIZES
        for label in large.STEPS
        if size in large.STEPS[label].sizes
    ]
    assert listed == expected
    for row in ROWS:
        counts = CATALOGUE[row["size"]].counts
        assert [row[name] for name in ("users", "items", "events")] == list(
            counts.values()
        )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['size']} {row['step']}")
def test_requests_exceed_measurements(large, row):
    rule = "split" if large.STEPS[row["step"]].recommender is None else "rank"
    base, per_mb, minutes, minutes_per_mb = requests()[rule]
    memory = (base + per_mb * row["megabytes"]) / 1e3
    assert 6 > memory > row["used"] > row["of_one"]
    assert 60 * (minutes + minutes_per_mb * row["megabytes"]) > row["cpu"]


def test_cluster_guide_quotes_requests():
    lines = (ROOT / "docs/cluster.md").read_text("utf-8").splitlines()
    quoted = {}
    for line in lines:
        names, *numbers = (cell.strip() for cell in line.strip("| ").split("|"))
        if len(numbers) == 4 and names.startswith("`"):
            for name in re.findall(r"`(\w+)`", names):
                quoted[name] = [float(number.replace(",", "")) for number in numbers]
    assert quoted == requests()
