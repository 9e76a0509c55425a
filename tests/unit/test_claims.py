"""The ledger of claims: its rules, and measurements against other arithmetic."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sampled_metrics.ranks import Ranks
from sampled_metrics.report.claims import write_claims
from sampled_metrics.study.cells import KEY, read_published
from sampled_metrics.study.claims import CLAIMS, Claim, Finding, Run, ledger
from sampled_metrics.study.claims import verdicts as module
from sampled_metrics.study.claims.registry import MEASUREMENTS
from sampled_metrics.study.claims.run import METRICS, NAMES, PAIRS
from sampled_metrics.study.starts import SIZES, USERS
from tests.conftest import ROOT

PUBLISHED = read_published(ROOT / "config/paper/tables.csv")


def printed(sizes=(1010.0, 59.0), changes=()):
    """The published tables as a run, with some cells of Table 3 or 4 changed."""
    run = Run.published(PUBLISHED)
    more = [(*SIZES[:1], "X vs Y", SIZES[1], name, m, m, np.nan)
            for name, m in zip(("Sampled", "BV 0.1"), sizes, strict=True)]  # fmt: skip
    more += [(USERS[0], "X", USERS[1], *each, np.nan)
             for each in (("top 100", 2310, 2310), ("bottom half", 299, 299))]  # fmt: skip
    cells = pd.concat(
        [run.cells.reset_index(), pd.DataFrame(more, columns=[*run.cells.reset_index().columns])]
    ).set_index(KEY)
    for *key, value in changes:
        cells.loc[tuple(key), ["value", "expected"]] = value
    ranks = {name: Ranks([3541] * 6040, [5] * 6040, [0] * 6040) for name in NAMES}
    return Run(cells.sort_index(), ranks)


def found(quote, run=None):
    (one,) = [each for each in CLAIMS if quote in each.quote]
    return one.measure(printed() if run is None else run) if one.of_run else one.measure()


def test_claims_are_many_and_each_is_made_once():
    assert len(CLAIMS) >= 35
    assert len({(each.section, each.quote) for each in CLAIMS}) == len(CLAIMS)
    assert all(len(each.quote.split()) <= 25 for each in CLAIMS)
    assert {each.measure for each in CLAIMS} == set(MEASUREMENTS.values())


@pytest.fixture(scope="module")
def of_printed():
    return ledger(printed(), Run.published(PUBLISHED), [printed(), printed()])


def test_what_the_printed_tables_bear(of_printed):
    """The paper's own numbers: what fails on them fails whatever is measured."""
    failing = of_printed[of_printed["verdict"] == "does not hold"]
    assert sorted(failing["claim"].str.split().str[0]) == ["All", "All", "it", "strictly"]
    table = of_printed.set_index("claim")
    strictly = "strictly better than the uncorrected metric in all comparisons of Table 4"
    # counts of Rank Estimate and Sampled in Table 4, read off the printed page
    assert table.loc[strictly, "ours"] == "better in 7 of 12, equal in 5"
    assert (of_printed["verdict"] == "slip").sum() == 8
    assert set(of_printed.loc[of_printed["section"] == "6.2", "verdict"]) == {"holds"}


def test_sections_are_in_order(of_printed):
    captions = {f"Caption of {name}" for name in ("Table 2", "Table 3", "Table 4",
                "Figure 2", "Figure 3", "Figure 4", "Figure 6")}  # fmt: skip
    assert captions <= set(of_printed["section"])
    numbers = [each.split()[0] for each in of_printed["section"] if each[0].isdigit()]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize(
    ("outcomes", "options", "verdict", "note"),
    [
        ([True], {}, "holds", ""),
        ([False], {}, "does not hold", ""),
        ([False], {"is_slip": True}, "slip", ""),
        ([True], {"is_slip": True}, "holds", ""),
        ([True, *[True] * 19], {"varies": True}, "holds", "in 19 of 19 other starts and draws"),
        ([True, *[True] * 18, False], {"varies": True}, "holds", "in 18 of 19"),
        ([False, *[True] * 19], {"varies": True}, "holds", "in 19 of 19"),
        ([True, *[True] * 17, *[False] * 2], {"varies": True}, "holds in this run only", "17 of"),
        ([False, True, False], {"varies": True}, "holds in this run only", "in 1 of 2"),
        ([False, False, False], {"varies": True}, "does not hold", ""),
    ],
)
def test_verdicts(monkeypatch, outcomes, options, verdict, note):
    runs = [Run(pd.DataFrame({"holds": [each]})) for each in outcomes]

    def measure(run):
        return Finding(bool(run.cells["holds"].iloc[0]), "measured")

    one = Claim("4.2", "quote", measure, "print", of_run=True, **options)
    monkeypatch.setattr(module, "CLAIMS", [one])
    (row,) = ledger(runs[0], runs[0], runs[1:]).itertuples(index=False)
    assert tuple(row[:5]) == ("4.2", "quote", "print", "measured", verdict)
    assert note in row.note


def test_a_claim_that_the_printed_tables_contradict_says_so(monkeypatch):
    one = Claim("6.3", "quote", lambda run: Finding("a" in run.ranks, "m"), of_run=True)
    monkeypatch.setattr(module, "CLAIMS", [one])
    run = Run(pd.DataFrame(), {"a": Ranks([9], [1], [0])})
    (row,) = ledger(run, Run(pd.DataFrame()), []).itertuples(index=False)
    assert (row.verdict, row.note) == ("holds", "does not hold in the published tables")


def test_what_was_not_computed_is_not_measured():
    lacking = Run.of_table(PUBLISHED[PUBLISHED["table"] == 4].assign(expected=0.0, value=0.0))
    table = ledger(lacking, Run.published(PUBLISHED), [])
    of_run = [each.of_run for each in CLAIMS]
    assert 0 < (table["verdict"] == "not measured").sum() <= sum(of_run)
    assert set(table.loc[table["verdict"] == "not measured", "ours"]) == {""}


def test_claims_about_orders_fail_when_the_order_is_another():
    quote = "recommender X is much better than Y which is better than Z"
    assert found(quote).holds
    swapped = printed(changes=[(3, "Y", "Recall@10", "Sampled", 53.0)])
    assert not found(quote, swapped).holds
    quote = "all of them place recommender Z as the best performing method"
    assert found(quote).measured == "18 of 18; smallest lead 0.010, BV 1 AP"  # 2.45 - 2.44
    assert not found(quote, printed(changes=[(3, "X", "AP", "BV 1", 2.46)])).holds


def test_counts_above_90():
    quote = "the correct order on all but one comparison with >90% chance"
    assert found(quote) == Finding(True, "90 or less: AP X vs Y 68")
    assert not found(quote, printed(changes=[(4, "Y vs Z", "NDCG@10", "BV 0.1", 90.0)])).holds


@pytest.mark.parametrize(
    ("sizes", "more", "about"),
    [((974, 53), 0, 1), ((1001, 60), 1, 1), ((940, 61), 0, 0), ((np.nan, 53), 1, 0)],
)
def test_sizes(sizes, more, about):
    run = printed(sizes)
    assert found("needs more than m = 1000 samples", run).holds == more
    assert found("needs m = 1000 samples", run).holds == about
    assert found("with less than m = 60", run).holds == (sizes[1] < 60)
    assert found("requires only m = 60", run).holds == (sizes[1] <= 60)


def test_users_in_the_worst_bucket_by_hand():
    # ranks 1 to 400 equally likely: a quarter beyond rank 300; and rank 400 for sure
    ranks = Ranks([400, 400], [0, 399], [399, 0])
    run = Run(pd.DataFrame(), {"Z": ranks})
    assert found("in the worst bucket", run).measured == (
        "1 with ties at random, 2 with ties ranked last"
    )
    ranks = Ranks([400] * 8, [0] * 8, [399] * 8)
    assert found("in the worst bucket", Run(pd.DataFrame(), {"Z": ranks})).measured.startswith("2 ")


def test_the_size_at_which_c_becomes_the_best_by_another_library():
    # C has one of five at rank 2; B two of five at rank 40: C leads once that is less than 1/2
    def lead(m):
        return stats.hypergeom(9999, 39, m).cdf(9) - 0.5

    sizes = np.arange(2000, 3000)
    first = int(sizes[np.argmax([lead(m) < 0 for m in sizes])])
    measured = found("for the metric to become consistent").measured
    numbers = [int(each.replace(",", "")) for each in re.findall(r"m = ([\d,]+)", measured)]
    assert abs(numbers[1] - first) <= 1
    # and B's recall is printed as 0.000 once 2/5 of it is below 0.0005
    assert 0.4 * stats.hypergeom(9999, 39, numbers[0]).cdf(9) < 0.0005
    assert 0.4 * stats.hypergeom(9999, 39, numbers[0] - 1).cdf(9) >= 0.0005


def test_counts_of_the_published_tables_are_those_of_the_file():
    run = Run.published(PUBLISHED)
    assert len(run.counts("CLS")) == len(PAIRS) * len(METRICS)
    assert run.counts("CLS")["X vs Y", "Recall@10"] == 31
    assert run.exact("Recall@10") == {"X": 7.60, "Y": 8.84, "Z": 9.42}


def test_files(tmp_path, of_printed):
    write_claims(of_printed, "from a test", tmp_path / "c.csv", tmp_path / "c.md")
    again = pd.read_csv(tmp_path / "c.csv", dtype=str, keep_default_na=False)
    assert again.equals(of_printed)
    lines = (tmp_path / "c.md").read_text().splitlines()
    rows = [line for line in lines if line.startswith("| 5.3")]
    assert len(rows) == 3
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {7}
    assert any(re.match(rf"\| all +\| +{len(CLAIMS)} \|", line) for line in lines)
