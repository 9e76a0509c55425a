"""Numbers quoted in the documentation equal those in the files that commands write."""

import importlib.util
import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from benchmarks import speed
from benchmarks.archive import price
from sampled_metrics.read.options import as_ranks
from sampled_metrics_study import audit
from sampled_metrics_study.scorecard import verdicts_of_numbers
from sampled_metrics_study.verdicts import verdict_line
from tests.conftest import ROOT
from tests.helpers.documents import text_of, words_of

REFERENCE = ROOT / "results/reference"
GUIDE = (ROOT / "docs/evidence.md").read_text(encoding="utf-8")
SECTION = GUIDE.split("## Which number comes from which command")[1].split("\n## ")[0]
ROWS = [
    [cell.strip().strip("`") for cell in line.strip("|").split("|")]
    for line in SECTION.splitlines()
    if line.startswith("| ") and "`" in line
]
TIMES = ("docs/measured/speed.md", "results/reference/peers.md")
# Pages of numbers computed here; docs/measured/literature.md cites commits of other repositories.
PAGES = [
    ROOT / "README.md",
    *(path for path in ROOT.glob("docs/*.md") if path.name != "evidence.md"),
    *(path for path in ROOT.glob("docs/measured/*.md") if path.name != "literature.md"),
    *ROOT.glob("results/reference/**/*.md"),
    *ROOT.glob("src/*/page*/templates/*.html"),
]


@pytest.mark.parametrize(("file", "command"), [row[1:] for row in ROWS])
def test_quoted_numbers_have_a_file_and_a_command(file, command):
    assert (ROOT / file).exists()
    program, *words = command.split()
    if program == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert re.search(rf"(?m)^{words[0]}:", makefile)
    else:
        assert words[0] == "-m"
        assert importlib.util.find_spec(words[1])


@pytest.mark.parametrize("path", PAGES, ids=str)
def test_pages_quote_no_commit(path):
    assert not re.search(r"(?i)\bcommit `?[0-9a-f]{7}\b", path.read_text(encoding="utf-8"))


def test_share_of_later_training_events_is_quoted():
    (share,) = re.findall(
        r"MovieLens 1M, ([\d.]+) % on average", words_of("docs/measured/future.md")
    )
    for guide in ("docs/study.md", "docs/other-data.md"):
        text = words_of(guide)
        assert f"{share} % of" in text
        assert "measured/future.md" in text


def cells_of(text):
    """Return the rows of all tables of a page as lists of cells, without headings and rulers."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    ruler = re.compile("[| :-]+")
    heads = {i for i, line in enumerate(lines[1:]) if ruler.fullmatch(line)}
    rows = []
    for i, line in enumerate(lines):
        if i not in heads and not ruler.fullmatch(line):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def test_speed_page_matches_its_script():
    title, ratios, commands = text_of(TIMES[0]).split("\n## ")
    assert title.startswith(speed.TITLE)
    assert f"## {ratios}".startswith(speed.RATIOS.format(speed.RUNS_OF_RATIOS))
    assert f"## {commands}".startswith(speed.COMMANDS.format(speed.RUNS_OF_COMMANDS))
    assert len(cells_of(ratios)) == 9
    for _, ours, _, bound, times in cells_of(ratios):
        # all three are rounded
        assert float(times) == pytest.approx(float(ours) / float(bound), abs=0.06, rel=0.04)
    assert len(cells_of(commands)) == 10
    for _, *numbers in cells_of(commands):
        assert min(map(float, numbers)) > 0


def test_times_of_other_packages_are_quoted():
    assert len(cells_of(text_of(TIMES[1]))) >= 9
    section = GUIDE.split("## Beside other packages")[1]
    assert cells_of(section) == cells_of(text_of(TIMES[1]))


def test_interval_coverage_is_quoted():
    section = text_of("results/reference/coverage.md").split("## Estimates from 100 negatives")[1]
    number = r" +\| ([\d.,]+)"
    rows = re.findall(rf"(?m)^\| ([XYZ]){4 * number}", section)
    of_estimates = rows[:18]  # three recommenders, six numbers of users; exact metrics follow
    least = min(float(low) for _, _, low, *_ in of_estimates)
    greatest = max(float(high) for *_, high in of_estimates)
    assert f"{least} to {greatest} % of 2,000 experiments" in words_of("docs/estimators.md")


def test_share_of_wrong_orders_is_quoted():
    table = pd.read_csv(REFERENCE / "verdicts.csv")
    draws = table["seeds"].sum()
    assert table["range wrong"].sum() == 0
    shares = [100 * table[f"{name} wrong"].sum() / draws for name in ("bv:0.1", "cls")]
    words = "wrong in {:.0f} to {:.0f} % of the draws".format(*shares)
    assert words in words_of("docs/estimators.md")


def test_coverage_of_reported_ranges_is_quoted():
    cells = re.findall(
        r"\| +([\d.]+)(?: \([\d.]+\))? +(?=\|)", text_of("docs/measured/reported.md")
    )
    held = [float(cell) for cell in cells]
    assert len(held) > 60
    assert min(held) >= 94.0  # 95 % is promised; each cell has a few hundred experiments
    assert "95 to 100 % of the ranges held the exact value" in words_of("docs/reported.md")


def test_recall_by_split_is_quoted():
    """Recall@10, users and decided orders of the table of two splits."""
    section = text_of("docs/other-data.md").split("| Recall@10 | users |")[1].split("\n\n")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines()[2:]
    ]
    folders = {"leave-last-out": "ranks", "global-time": "global-time/ranks"}
    assert [row[0].split("`")[1] for row in rows] == [*folders]
    for (_, users, *quoted, decided), folder in zip(rows, folders.values(), strict=True):
        ranks = {name: as_ranks(REFERENCE / folder / f"{name}.parquet") for name in "XYZ"}
        assert {f"{len(ranking):,}" for ranking in ranks.values()} == {users}
        for recall, ranking in zip(quoted, ranks.values(), strict=True):
            # The held-out item has each of the ranks that it shares equally often.
            places = np.clip(10 - ranking.n_better, 0, ranking.n_tied + 1) / (ranking.n_tied + 1)
            assert recall == f"{places.mean():.4f}".removeprefix("0")
        above, below = decided.split(" above ")
        pairs = {(a, b) for a in above.split(" and ") for b in below.split(" and ")}
        orders = set()
        for result in sm.compare(ranks, "recall@10"):
            if result.order == "a":
                orders.add((result.a, result.b))
            if result.order == "b":
                orders.add((result.b, result.a))
        assert orders == pairs


def test_divisors_of_rank_estimate_are_quoted():
    table = pd.read_csv(REFERENCE / "audit.csv", dtype={"published": str})
    topic = table[table["topic"].str.startswith("13.")].set_index(["reading", "quantity"])["value"]
    printed, ours = (
        topic["divided by m, as printed; floor"],
        topic["divided by m+1; floor"],
    )
    auc = "Y, AUC, Rank Estimate"
    words = f"is expected to be {ours[auc]:.2f} with m + 1 and {printed[auc]:.2f} with m"
    assert words in words_of("docs/estimators.md")
    assert (ours - printed).drop(auc).abs().max() < 0.01


def test_audit_page_shows_the_stored_rows():
    table = pd.read_csv(REFERENCE / "audit.csv", dtype=str)
    lines = [line for line in text_of("results/reference/audit.md").splitlines() if "|" in line]
    shown = [[cell.strip() for cell in line.strip("|").split("|")][1:] for line in lines]
    shown = [row for row in shown if row[-1] in ("yes", "no")]
    assert len(shown) == len(table)
    for (quantity, ours, published, verdict), row in zip(shown, table.itertuples(), strict=True):
        assert (quantity, verdict) == (row.quantity, row.reproduces)
        assert published == row.published
        assert float(ours) == pytest.approx(float(row.value), abs=0.00056)


def test_shares_later_by_hand():
    shares = audit.share_later(np.array([5, 1, 3, 3]), np.array([0, 3, 5]))
    assert shares.tolist() == [1.0, 0.25, 0.0]


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


@pytest.mark.parametrize(
    ("value", "published", "tolerance", "expected"),
    [
        (8.8411, "8.84", 0.005, True),
        (8.8461, "8.84", 0.005, False),
        (207.0, "< 300", 0.0, True),
        (300.0, "< 300", 0.0, False),
        (1592.0, "> 1600", 0.0, False),
        (1736.0, "> 1600", 0.0, True),
    ],
)
def test_quantity_reproduces_number_or_bound(value, published, tolerance, expected):
    quantity = audit.Quantity("Y", value, published, tolerance)
    assert quantity.is_reproduced == expected


@pytest.mark.parametrize(
    "path",
    [
        *("README.md", "docs/index.md", "docs/results.md", "docs/study.md", "docs/evidence.md"),
        *("docs/measured/scorecard.md", "paper/paper.md"),
    ],
)
def test_pages_quote_the_verdict(path):
    card = pd.read_csv(REFERENCE / "scorecard.csv", keep_default_na=False)
    words = re.sub(r" \([^()]* ties [^()]*\)", "", words_of(path))
    numbers, _, verdicts = verdict_line(Counter(verdicts_of_numbers(card))).partition(": ")
    assert numbers in re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", words)
    assert verdicts.removesuffix(".") in words


def test_study_guide_quotes_totals():
    words = words_of("docs/study.md")
    claims = pd.read_csv(REFERENCE / "claims.csv")
    verdicts = claims["verdict"].value_counts()
    assert f"Of {verdicts.sum()} sentences" in words
    assert f"{verdicts['holds']} hold, {verdicts['depends on the start']} depend on the" in words
    shares = claims.loc[claims["verdict"] == "depends on the start", "note"]
    *most, last = sorted(shares.str.extract(r"(\d+) of 20 others")[0].astype(int))
    assert f"(they hold in {', '.join(map(str, most))} and {last} of 20 others)" in words
    assert f"{verdicts['does not hold']} do not hold, {verdicts['slip']} are slips" in words


SIZES = {
    "Sampled": "from {} negatives on, {} to {} over 20 starts of X, and in 95 % of single runs "
    "from {}",
    "BV 0.1": "with γ = 0.1 from {} ({} to {}), and in 95 % of runs from {}",
}


@pytest.mark.parametrize(("estimator", "words"), SIZES.items())
def test_study_guide_quotes_sample_sizes_of_figure_6(estimator, words):
    table = pd.read_csv(REFERENCE / "figures/figure6.csv")
    pair = table[table["recommender"] == "X vs Y"].set_index(["kind", "estimator"])["n_negatives"]
    starts = pd.read_csv(REFERENCE / "starts.csv")
    starts = starts[(starts["table"] == 6) & (starts["row"] == "X vs Y")]
    values = starts[starts["column"] == estimator]["value"]
    sizes = (
        pair["ordered", estimator],
        values.min(),
        values.max(),
        pair["sure", estimator],
    )
    assert words.format(*(f"{size:,.0f}" for size in sizes)) in words_of("docs/study.md")


def test_budget_guide_quotes_right_orders():
    orders = pd.read_csv(REFERENCE / "beyond/orders.csv")
    budgets = orders[orders["method"] == "budget"]
    (runs,) = set(budgets["runs"])
    least = budgets.groupby("proxy")["right"].min()
    words = words_of("docs/budget.md")
    assert f"in at least {least['als']} of {runs} runs with a small ALS" in words
    assert f"and in at least {least['popularity']} with popularity" in words


def test_readme_quotes_values_of_the_chart():
    words, lens_words = re.findall('alt="([^"]*)"', text_of("README.md"))
    assert "Recall@342" in lens_words  # as in test_lens_picture
    tables = REFERENCE / "tables"
    expected = re.findall(
        r"(?m)^\| Recall@10 \| [XYZ] +\| ours \(expected\) \| [*]*([\d.]+)[*]* +\| [*]*([\d.]+)",
        (tables / "table3.md").read_text(encoding="utf-8"),
    )
    exact, sampled = zip(*expected, strict=True)
    rounded = [f"{float(value):.1f}" for value in sampled]
    assert "against 100 random items {}, {} and {} %".format(*rounded) in words
    assert "over all items {}, {} and {} %".format(*exact) in words


def test_guide_of_warnings_quotes_the_measured_rates():
    page = text_of("docs/measured/warnings.md")
    n_calls = re.search(r"(\d+) calls have data", page)[1]
    n_alarmed = re.search(r"(\d+) of the calls without a mistake", page)[1]
    assert f"of {n_calls} calls without a mistake, {n_alarmed} have a warning" in words_of(
        "docs/warnings.md"
    )
