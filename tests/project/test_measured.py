"""Pages of measurements: their commands and digests, and a row of each page recomputed.

Pages of times, and pages whose rows take longer than two seconds, are not recomputed. The pages of
the study have their own tests.
"""

import importlib.util
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from benchmarks import literature, measure, negatives, outside, quote, quoting, verdicts, worlds
from benchmarks.archive import check, llm, plans, price, proxies, shapes
from benchmarks.coverage import populations
from sampled_metrics import Ranks, plan
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.printed.rows import read_printed
from sampled_metrics_study.data.events import read_ratings
from sampled_metrics_study.data.filters import apply_filters
from sampled_metrics_study.data.movielens import CATALOGUE
from tests.conftest import ROOT
from tests.helpers import printed_tables

OF_THE_REFERENCE_RUN = ("scorecard.md", "claims.md")


def rows_of(page, name=""):
    """Return the rows of the first table of a page, or of the one after a comment, by column."""
    text = (ROOT / measure.PAGES[page].path).read_text("utf-8")
    if name:
        text = text.split(f"<!-- {name} -->")[1]
    lines = re.search(r"(?m)((?:^\|.*\n)+)", text)[1].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    head, _, *rows = cells
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_measured_pages_have_a_command():
    paths = {(ROOT / page.path).resolve() for page in measure.PAGES.values()}
    folder = {path.resolve() for path in ROOT.glob("docs/measured/*.md")}
    index = ROOT / "docs/measured/index.md"
    reference = {ROOT / "results/reference" / name for name in OF_THE_REFERENCE_RUN}
    assert folder - {index} <= paths | reference
    linked = set(re.findall(r"\((\w+\.md)\)", index.read_text()))
    assert linked == {path.name for path in folder - {index}}


@pytest.mark.parametrize("name", OF_THE_REFERENCE_RUN)
def test_pages_of_the_reference_run_are_what_it_writes(name):
    """A digest in them would be a difference from the files of any other run."""
    path = ROOT / "results/reference" / name
    assert path not in {(ROOT / page.path).resolve() for page in measure.PAGES.values()}
    assert not measure.RECORD.search(path.read_text("utf-8"))


def test_evidence_names_files_and_commands():
    """Rows of the table: numbers, the file that they are in, and the command that writes it."""
    text = (ROOT / "docs/evidence.md").read_text("utf-8")
    rows = re.findall(r"(?m)^\| .* \| `([^`]*)` \| `((?:make|python) [^`]*)` \|$", text)
    assert len(rows) > 20
    for file, command in rows:
        assert (ROOT / file).exists()
        page = re.search("PAGE=(.*)", command)
        module = re.search("-m (.*)", command)
        assert page is None or page[1] in measure.PAGES
        assert module is None or importlib.util.find_spec(module[1])


@pytest.mark.long
@pytest.mark.parametrize("page", measure.PAGES)
def test_scripts_of_a_page_exist(page):
    assert all(map(measure.file_of, measure.PAGES[page].modules))
    assert re.fullmatch("[0-9a-f]{12}", measure.digest_of(measure.PAGES[page]))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A page whose script imports a package with lazily imported names."""
    files = {
        "src/lib/__init__.py": (
            "from typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n    from lib.used import f\n    from lib.other import g\n"
        ),
        "src/lib/used.py": '"""Used."""\ndef f():\n    return 1  # one\n',
        "src/lib/other.py": "def g(): ...\n",
        "script.py": "import lib as l\nprint(l.f())\n",
        "page.md": "# Page\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(measure, "ROOT", tmp_path)
    monkeypatch.setattr(measure, "FOLDERS", (tmp_path / "src", tmp_path))
    return tmp_path


PAGE = measure.Page("page.md", 1, (("script",),))


def digest_after(project, name, text):
    (project / name).write_text(text)
    for cached in (measure.tree_of, measure.lazy_names, measure.read_code):
        cached.cache_clear()
    return measure.digest_of(PAGE)


def test_digest_covers_imported_code_only(project):
    digest = measure.digest_of(PAGE)
    documented = '"""Another text."""\n\ndef f():\n    """Say."""\n    return 1\n'
    assert digest_after(project, "src/lib/used.py", documented) == digest
    assert digest_after(project, "src/lib/other.py", "def g(): return 2\n") == digest
    changed = documented.replace("1", "2")
    assert digest_after(project, "src/lib/used.py", changed) != digest


def test_page_with_other_code_is_stale(project):
    assert measure.state_of(PAGE) == "stale: its code is not recorded"
    measure.record(PAGE, "0" * 12)
    assert measure.state_of(PAGE) == "stale: its code has changed"
    measure.record(PAGE, measure.digest_of(PAGE))
    assert measure.state_of(PAGE) == "current"
    assert (project / "page.md").read_text().count("measured with code") == 1


@pytest.mark.parametrize("words", [[], ["nothing"], ["orders"]])
def test_wrong_page_fails_in_one_line(words, monkeypatch):
    monkeypatch.delenv(measure.ARCHIVE, raising=False)
    monkeypatch.setattr("sys.argv", ["measure", *words])
    with pytest.raises(SystemExit, match=words[0] if words else "no page"):
        measure.main()


def test_page_names_each_archive_that_it_needs(monkeypatch):
    monkeypatch.setenv(measure.ARCHIVE, "ml-1m.zip")
    monkeypatch.delenv(measure.SMALL_ARCHIVE, raising=False)
    monkeypatch.setattr("sys.argv", ["measure", "negatives"])
    with pytest.raises(SystemExit, match=measure.SMALL_ARCHIVE):
        measure.main()


# Numbers that pages draw a conclusion from.


def test_ratios_of_speed_are_those_of_times():
    text = (ROOT / "docs/measured/speed.md").read_text("utf-8")
    rows = re.findall(r"(?m)^\| .* \| ([\d.]+) \| .* \| ([\d.]+) \| ([\d.]+) \|$", text)
    assert len(rows) == 9
    for ours, bound, ratio in rows:
        # all three are rounded
        assert float(ratio) == pytest.approx(float(ours) / float(bound), abs=0.06, rel=0.04)


def test_reported_ranges_contain_the_exact_value():
    shares = [
        float(cell.split(" (")[0])
        for row in rows_of("reported")
        for column, cell in row.items()
        if column.startswith("m = ")
    ]
    assert len(shares) > 60
    assert min(shares) >= 94.0  # 95 % is promised; each cell has a few hundred experiments


def test_no_decided_order_is_wrong():
    table = pd.read_csv(ROOT / "results/reference/verdicts.csv")
    assert table["range wrong"].sum() == 0
    assert table["range right"].sum() > 0


def test_hundred_scores_per_user_order_x_y_and_z():
    table = pd.read_csv(ROOT / "results/reference/beyond/orders.csv")
    budgets = table[table["method"] == "budget"]
    runs = budgets["runs"].unique().item()
    right = budgets.groupby("proxy")["right"].min()
    assert right["als"] == runs
    assert right["popularity"] > runs / 2


@pytest.mark.parametrize(
    ("exact", "estimate", "right", "wrong"),
    [
        (0.1, (0.2, 0.1, 0.3), True, False),
        (0.1, (-0.1, -0.2, 0.1), False, False),
        (0.1, (-0.2, -0.3, -0.1), False, True),
        (-0.1, (0.2, 0.1, 0.3), False, True),
        (-0.1, (-0.2, -0.3, -0.1), True, False),
    ],
)
def test_outcome_is_judged_by_the_exact_difference(exact, estimate, right, wrong):
    outcome = price.judge((0, 2), "ap", 99.5, exact, estimate)
    assert outcome == ("X vs Z", "ap", 99.5, right, wrong)


# The first or last row of a page, measured again.


def test_rows_of_llm_are_measured_again():
    """The first row has ranges among 4 negatives, and the last the true share of hits at 10."""
    rng = np.random.default_rng(0)
    ranks = {users: llm.draw_ranks(users, rng) for users in llm.USERS}
    first, *_, last = rows_of("llm", "few")
    for users, of_users in ranks.items():
        column = f"{users:,} users"
        assert first[column] == llm.range_text(of_users, 4, rng)
        assert last[column] == f"{np.mean(of_users <= 10):.3f}"


def test_first_row_of_shapes_is_measured_again():
    ranks = Ranks.read(ROOT / "results/reference/ranks/X.parquet")
    row = {"data": "ml-1m"} | shapes.measure_factor(ranks, "X")
    assert rows_of("shapes")[0] == {name: str(cell) for name, cell in row.items()}


def test_last_row_of_proxies_is_measured_again():
    runs = int(measure.PAGES["proxies"].steps[0][-1])
    row = proxies.summary_row("random users", proxies.evaluate_random_users(100.0, runs))
    assert rows_of("proxies")[-1] == row


@pytest.mark.long
def test_first_row_of_plan_is_planned_again():
    first = rows_of("plan")[0]
    m = int(first["m"])
    planned = plan(
        metrics=first["metric"],
        value=float(first["value"]),
        effect=float(first["effect"]),
        n_items=plans.N,
        n_users=int(first["users"]),
        sizes=[m],
    )
    (row,) = (row for row in planned if row.n_negatives == m)
    assert first["promised"] == f"{100 * row.probability:.0f}"


def test_factors_of_outside_are_computed_again():
    by_name = outside.populations()
    for row in rows_of("outside"):
        if row["population"] in by_name:
            last = -(-5 * outside.N // int(row["m"]))
            factor = outside.factor(by_name[row["population"]], last)
            assert row["factor"] == f"{factor:.2f}"


def test_exact_metrics_of_coverage_are_those_of_the_populations():
    table = pd.read_csv(ROOT / "results/reference/coverage.csv")
    by_name = populations()
    for row in table.itertuples():
        exact = by_name[row.population].exact(parse_measure(row.metric))
        assert row.exact == pytest.approx(exact, rel=1e-4)


def test_exact_metrics_of_verdicts_are_those_of_the_ranks():
    table = pd.read_csv(ROOT / "results/reference/verdicts.csv")
    row = table.iloc[0]
    ranks = verdicts.read_recommenders(row["dataset"])
    measure_ = parse_measure(row["metric"])
    for side in "ab":
        exact = verdicts.metrics.values(measure_, ranks[row[side]]).mean()
        assert row[f"exact_{side}"] == pytest.approx(exact, rel=1e-4)


def test_first_row_of_literature_is_counted_again():
    kinds = literature.kinds_text(read_printed(literature.TABLE))
    line = next(line for line in kinds.splitlines() if line.startswith("| paper"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert list(rows_of("literature")[0].values()) == cells


@pytest.mark.long
def test_first_row_of_estimators_is_measured_again():
    assert next(quoting.failure_rows()) == rows_of("estimators", "failures")[0]


@pytest.mark.long
def test_second_row_of_check_is_measured_again():
    rng = np.random.default_rng(1)
    for exact in (True, False):
        for _ in range(check.SOUND):
            printed_tables.correct_table(rng, exact=exact)
    error, each = printed_tables.ERRORS[0], check.WRONG // len(printed_tables.ERRORS)
    flagged = [
        check.count_flagged(
            [printed_tables.table_with_error(error, rng, exact=exact) for _ in range(each)]
        )
        for exact in (True, False)
    ]
    assert rows_of("check", "table")[1] == check.table_row(error, each, *flagged)


# Measurements on large data.


LINES = (ROOT / "docs/measured/scale.md").read_text("utf-8").splitlines()
NAMES = ("size", "users", "items", "events", "step", "seconds", "cpu", "used", "of_one")
NAMES += ("megabytes",)
TEXTS = ("size", "step")


def record_of(line):
    """Return the cells of a row of the page by name, numbers without commas."""
    cells = [cell.strip() for cell in line.strip("| ").split("|")]
    record = dict(zip(NAMES, cells, strict=True))
    numbers = {name: float(record[name].replace(",", "")) for name in NAMES if name not in TEXTS}
    return {**record, **numbers}


ROWS = [record_of(line) for line in LINES if line.startswith("| ml-")]


@pytest.fixture
def large():
    return importlib.import_module("benchmarks.archive.large")


def test_history_sizes_add_up(large):
    for users, items, events in ((6040, 3706, 1_000_209), (100, 300, 2000), (7, 90, 200)):
        sizes = large.draw_history_sizes(users, items, events)
        assert sizes.sum() == events
        assert sizes.min() >= 20
        assert sizes.max() <= items


def test_histories_have_the_drawn_sizes_and_distinct_items(large):
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
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
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
        assert [row[name] for name in ("users", "items", "events")] == list(counts.values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['size']} {row['step']}")
def test_requests_exceed_measurements(large, row):
    rule = "split" if large.STEPS[row["step"]].recommender is None else "rank"
    base, per_mb, minutes, minutes_per_mb = quote.requests()[rule]
    memory = (base + per_mb * row["megabytes"]) / 1e3
    assert 6 > memory > row["used"] > row["of_one"]
    assert 60 * (minutes + minutes_per_mb * row["megabytes"]) > row["cpu"]


@pytest.fixture(scope="module")
def made_up_world():
    """300 users and 400 items; the scores of the recommender are popularity and noise."""
    rng = np.random.default_rng(0)
    popularity = np.round(2000.0 / np.arange(1, 401)) + 1.0
    scores = np.log(popularity) + rng.normal(size=(300, 400))
    held_out = rng.choice(400, 300, p=popularity / popularity.sum())
    scores[np.arange(300), held_out] += 1.0
    is_candidate = np.ones((300, 400), bool)
    is_candidate[np.arange(300), held_out] = False
    return scores, worlds.world_of("", held_out, is_candidate, popularity, {"A": scores}, "A")


@pytest.mark.parametrize("design", worlds.DESIGNS)
def test_designs_draw_candidates(made_up_world, design):
    _, world = made_up_world
    draw = worlds.DESIGNS[design](world, 20, np.random.default_rng(1))
    n_drawn = draw.is_drawn.sum(axis=1)
    assert not (draw.is_drawn & ~world.is_candidate).any()
    # Popular held-out items repeat in a batch, and a shared set may contain the held-out item.
    assert (n_drawn <= 20).all() if draw.cluster is not None else (n_drawn == 20).all()


def test_half_of_the_negatives_are_popular(made_up_world):
    _, world = made_up_world
    rng = np.random.default_rng(2)
    halves = worlds.half(world, 40, rng).is_drawn.sum(axis=0)
    each = (worlds.DESIGNS[name](world, 20, rng) for name in ("popularity", "uniform"))
    twenty = sum(draw.is_drawn.sum(axis=0) for draw in each)
    popular = world.popularity > np.median(world.popularity)
    # 20 uniform ones of the items left are about 20 of all items.
    assert halves[popular].sum() == pytest.approx(twenty[popular].sum(), rel=0.03)


@pytest.mark.long
def test_measured_estimates_are_those_of_tables(made_up_world):
    scores, world = made_up_world
    draw = worlds.popularity(world, 50, np.random.default_rng(3))
    is_shown = draw.is_drawn.copy()
    is_shown[np.arange(300), world.held_out] = True
    user, item = np.nonzero(is_shown)
    label = (item == world.held_out[user]).astype(int)
    columns = {"user_id": user, "item_id": item, "score": scores[user, item], "label": label}
    counts = dict(enumerate(world.popularity))
    results = sm.correct(pd.DataFrame(columns), "HR@10, NDCG@10, AP", "likely", counts=counts)
    corrected, *_ = negatives.correct_one(world, draw, "A", 50)
    assert [result.value for result in results] == pytest.approx(corrected.value)
    own = scores[np.arange(300), world.held_out][:, None]
    is_hit = (scores > own).sum(axis=1) < 10
    assert corrected.exact[0] == pytest.approx(is_hit.mean())
