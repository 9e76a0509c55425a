"""The ledger of claims, and the spread over starts and ties."""

import re

import numpy as np
import pandas as pd
import pytest

from sampled_metrics.ranks import Ranks
from sampled_metrics_study.claims import ledger as module
from sampled_metrics_study.claims.ledger import claims, ledger, write_claims
from sampled_metrics_study.claims.run import Run, printed_run
from sampled_metrics_study.claims.starts import COLUMNS, SIZES, USERS, spread_table, starts_table
from sampled_metrics_study.settings import ExperimentSettings
from sampled_metrics_study.tables import KEY
from tests.study.conftest import PUBLISHED


def published_run(sizes=(1010.0, 59.0), changes=(), deviations=()):
    """A run with the published values, some cells of Tables 3 and 4 and deviations changed."""
    cells = PUBLISHED[PUBLISHED["table"] >= 3].set_index(KEY)
    cells = cells.assign(expected=cells["value"].astype(float))
    cells = cells.assign(expected_std=pd.to_numeric(cells["std"]))
    for column, changed in (("expected", changes), ("expected_std", deviations)):
        for *key, value in changed:
            cells.loc[tuple(key), column] = value
    sampled, bv = sizes  # from which X and Y are in the right order
    more = [
        (SIZES[0], "X vs Y", SIZES[1], "Sampled", sampled),
        (SIZES[0], "X vs Y", SIZES[1], "BV 0.1", bv),
        (USERS[0], "X", USERS[1], "top 100", 2310),
        (USERS[0], "X", USERS[1], "bottom half", 299),
    ]
    others = pd.DataFrame(more, columns=[*KEY, "expected"])
    ranks = {name: Ranks([3541] * 6040, [5] * 6040, [0] * 6040) for name in "XYZ"}
    return Run(pd.concat([cells.reset_index(), others]), ranks)


def measure_claim(quote, run=None):
    (claim,) = [claim for claim in claims() if quote in claim["quote"]]
    return (run or published_run()).measure(claim["measurement"])


def test_claims_are_unique_and_in_order():
    quotes = [(claim["section"], claim["quote"]) for claim in claims()]
    assert len(set(quotes)) == len(quotes) == 78
    assert all(len(quote.split()) <= 25 for _, quote in quotes)
    numbers = [section.split()[0] for section, _ in quotes if section[0].isdigit()]
    assert numbers == sorted(numbers)


@pytest.fixture(scope="module")
def table():
    return ledger(published_run(), printed_run(PUBLISHED), [published_run(), published_run()])


def test_claims_on_printed_tables(table):
    """A claim that fails on the paper's numbers fails for any measured numbers."""
    failing = table[table["verdict"] == "does not hold"]
    assert sorted(failing["claim"].str.split().str[0]) == ["All", "All", "Increasing", "strictly"]
    strictly = table["claim"].str.startswith("strictly better")
    # counts of Rank Estimate and Sampled in the printed Table 4
    assert table.loc[strictly, "ours"].item() == "better in 7 of 12, equal in 5"
    assert (table["verdict"] == "slip").sum() == 7
    assert set(table.loc[table["section"] == "6.2", "verdict"]) == {"holds"}


class StubRun:
    """A run in which a claim holds (True), does not (False) or was not computed (None)."""

    def __init__(self, holds):
        self.holds = holds

    def measure(self, _):
        if self.holds is None:
            raise KeyError
        return self.holds, "measured"


@pytest.mark.parametrize(
    ("outcomes", "options", "verdict", "note"),
    [
        ([True], {}, "holds", ""),
        ([False], {}, "does not hold", ""),
        ([False], {"if_not": "slip"}, "slip", ""),
        ([True], {"if_not": "slip"}, "holds", ""),
        ([False], {"if_not": "cannot be told"}, "cannot be told", ""),
        ([None], {}, "not measured", "not computed in this run"),
        ([True, *[True] * 19], {"varies_with": "x"}, "holds", "true of 19 of 19 others"),
        ([True, *[True] * 18, False], {"varies_with": "x"}, "holds", "true of 18 of 19"),
        ([False, *[True] * 19], {"varies_with": "x"}, "holds", "true of 19 of 19"),
        ([True] * 18 + [False] * 2, {"varies_with": "x"}, "depends on the start", "one, 17 of"),
        ([False, True, False], {"varies_with": "x"}, "depends on the start", "run, 1 of 2 others"),
        ([False, False, False], {"varies_with": "x"}, "does not hold", ""),
        ([True], {"published": ""}, "holds", "does not hold in the published tables"),
    ],
)  # fmt: skip
def test_claim_verdict_follows_outcomes(monkeypatch, outcomes, options, verdict, note):
    claim = {"section": "4.2", "quote": "quote", "published": "print", "note": "", "if_not": "",
             "measurement": "any", "varies_with": ""} | options  # fmt: skip
    monkeypatch.setattr(module, "claims", lambda: [claim])
    runs = list(map(StubRun, outcomes))
    (row,) = ledger(runs[0], StubRun(False), runs[1:]).itertuples(index=False)
    assert (row.section, row.claim, row.verdict) == ("4.2", "quote", verdict)
    assert row.ours == "measured" * (outcomes != [None])
    assert row.published == (claim["published"] or "measured")
    assert note in row.note


ORDERS = "BV 0.1 [...] the correct order on all but one"
LEADS = "all of them place recommender Z as the best"
LOW_GAMMA = "CLS and BV with low γ have values close"
MUCH_BETTER = "recommender X is much better than Y which is better"


@pytest.mark.parametrize(
    ("quote", "changes", "holds", "text"),
    [
        (MUCH_BETTER, [], True, "X 66.19, Y 56.51, Z 54.20"),
        (MUCH_BETTER, [(3, "Y", "Recall@10", "Sampled", 53.0)], False, "Z 54.20, Y 53.00"),
        (LEADS, [], True, "18 of 18; smallest lead 0.010, BV 1 AP"),  # 2.45 - 2.44
        (LEADS, [(3, "X", "AP", "BV 1", 2.46)], False, "17 of 18"),
        (ORDERS, [], True, "90 or less: AP X vs Y 68"),
        (ORDERS, [(4, "Y vs Z", "AP", "BV 0.1", 90)], False, "AP X vs Y 68.0, AP Y vs Z 90.0"),
        ("(>90%) on all but the challenging", [], False, "AP X vs Y"),
        (LOW_GAMMA, [], True, "BV 0.001: "),
        ("The exact metric would always score 100", [(3, "X", "AUC", "Exact", 85.33)], False, ""),
    ],
)
def test_claim_measured_on_changed_cells(quote, changes, holds, text):
    is_true, measured = measure_claim(quote, published_run(changes=changes))
    assert is_true is holds
    assert text in measured


@pytest.mark.parametrize(
    ("quote", "sampled", "bv", "holds"),
    [
        ("needs more than m = 1000", 1000, 59, False),
        ("needs more than m = 1000", 1001, 59, True),
        ("less than m = 60", 1010, 60, False),
        ("requires only m = 60", 1010, 60, True),
        ("requires only m = 60", 1010, np.nan, False),
    ],
)
def test_claim_on_sizes_has_exact_bounds(quote, sampled, bv, holds):
    """X and Y are in the right order from m = `sampled` on, or from m = `bv` on by BV 0.1."""
    assert measure_claim(quote, published_run((sampled, bv)))[0] is holds


@pytest.mark.parametrize(
    ("quote", "measured"),
    [("2310 items are in the top 100", "2,310 of X"), ("less than 300", "299 of X")],
)
def test_claim_on_users_by_rank(quote, measured):
    assert measure_claim(quote) == (True, measured)


def test_claim_without_numbers_is_not_measured(table):
    lacking = Run(PUBLISHED[PUBLISHED["table"] == 4].assign(expected=0.0, value=0.0))
    partial = ledger(lacking, printed_run(PUBLISHED), [])
    assert set(partial.loc[partial["verdict"] == "not measured", "ours"]) == {""}
    assert 0 < (partial["verdict"] == "not measured").sum() <= 33
    assert (table["verdict"] != "not measured").all()


def test_write_claims_files(tmp_path, table):
    write_claims(table, "from a test", tmp_path / "c.csv", tmp_path / "c.md")
    again = pd.read_csv(tmp_path / "c.csv", dtype=str, keep_default_na=False)
    assert again.equals(table)
    lines = (tmp_path / "c.md").read_text().splitlines()
    rows = [re.split(r"(?<!\\)\|", line) for line in lines if line.startswith("| 5.3")]
    assert [len(row) - 2 for row in rows] == [len(table.columns)] * 3
    (total,) = [line.split("|")[2].strip() for line in lines if line.startswith("| all")]
    assert total == "78"  # claims


@pytest.mark.parametrize(
    ("column", "sd", "holds"),
    [
        ("Sampled", 0.0, True),
        ("Sampled", 1e3, False),  # above that of the lowest gamma
        ("BV 1", 1e3, False),  # not increasing
        ("BV 0.001", 0.0, False),
        ("CLS", 1e3, True),
    ],
)
def test_variance_claim_needs_growing_deviations(column, sd, holds):
    run = published_run(deviations=[(3, "Y", "AP", column, sd)])
    assert run.measure("variance_of_low_gamma")[0] is holds


# Spread over starts and ties.


SETTINGS = ExperimentSettings(n_negatives=10)


OF_AP = SETTINGS.replaced(metrics=("ap",), estimators=("sampled",), repetitions=10)


def tied_with_none(n_better):
    """Ranks of four users with as many better ones of 50 items."""
    return Ranks(np.full(4, 50), np.full(4, n_better), np.zeros(4, int))


@pytest.fixture
def starts():
    """Values of three starts of X, whose AP is 1, 1/2 and 1/4, and of Y, whose AP is 1/10."""
    of_x = [tied_with_none(n_better) for n_better in (0, 1, 3)]
    return starts_table("X", of_x, {"Y": tied_with_none(9)}, OF_AP)


def test_starts_table_by_hand(starts):
    cells = starts.set_index(["table", "row", "column"])["expected"]
    assert cells[3, "X", "Exact"].tolist() == [100, 50, 25]
    assert cells[3, "Y", "Exact"].tolist() == [10] * 3
    assert cells[5, "X", "top 100"].tolist() == [4] * 3
    assert cells[5, "X", "bottom half"].tolist() == [0] * 3
    # Recall@10 is 1 for X and Y in full rankings, so no m orders them
    assert cells[6, "X vs Y", "Sampled"].isna().all()


def test_recommender_without_starts_is_only_drawn_again(starts):
    of_y = starts[(starts["table"] == 3) & (starts["row"] == "Y") & (starts["column"] == "Sampled")]
    assert (of_y["value"].nunique(), of_y["expected"].nunique()) == (3, 1)


def test_spread_over_starts_by_hand(starts):
    """Of our start and of the paper's: the root of 2 deviations."""
    spread = spread_table("X", starts, {"Y": tied_with_none(9)}, OF_AP)
    assert set(spread["row"]) == {"X", "X vs Y"}
    assert set(spread["cause"]) == {"initialisation of X"}
    cells = spread.set_index(["table", "row", "column"])["spread"]
    assert cells[3, "X", "Exact"] == pytest.approx(np.sqrt(2) * np.std([100, 50, 25], ddof=1))
    assert 0 <= cells[4, "X vs Y", "Sampled"] <= 100


def test_spread_over_ties_closed_form():
    # e + 1 = 3 equally likely ranks 1, 2, 3 of AP: variance of (1, 1/2, 1/3) over 400 users
    records = Ranks(np.full(400, 20), np.zeros(400, int), np.full(400, 2))
    none = pd.DataFrame(columns=COLUMNS)
    table = spread_table("X", none, {"Z": records}, SETTINGS.replaced(metrics=("ap",)))
    exact = 100 * np.sqrt(np.var([1, 1 / 2, 1 / 3]) / 400)
    assert table["spread"].item() == pytest.approx(exact, rel=4 / np.sqrt(2 * 1000))


@pytest.mark.parametrize(("tied", "is_listed"), [(1, False), (2, True), (0, False)])
def test_spread_needs_more_than_one_tie_on_average(tied, is_listed):
    """399 of 400 users have one tied item, the last has `tied`."""
    counts = np.append(np.ones(399, int), tied)
    records = Ranks(np.full(400, 20), np.zeros(400, int), counts)
    none = pd.DataFrame(columns=COLUMNS)
    tied_often = Ranks(np.full(2, 20), np.zeros(2, int), np.full(2, 9))
    others = {"Z": records, "W": tied_often}
    table = spread_table("X", none, others, SETTINGS.replaced(metrics=("auc",)))
    assert table["row"].tolist() == ["Z"] * is_listed + ["W"]
