"""Tables of the figures: their values, and the paper's statements about the figures."""

import math
import re
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import estimator_matrix, parse_estimators
from sampled_metrics.metrics import parse_measure
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.read.options import as_ranks
from sampled_metrics_study.claims.run import Run
from sampled_metrics_study.claims.starts import band_over_starts
from sampled_metrics_study.config import PAPERS_CHOICES
from sampled_metrics_study.experiment import expected_estimates, read_ranks_by_name
from sampled_metrics_study.figures import figure1_to_4, figure5
from sampled_metrics_study.figures.errors import errors_against_samples
from sampled_metrics_study.figures.figure1_to_4 import expected_values
from sampled_metrics_study.figures.figure6 import (
    expected_recall,
    recall_against_samples,
    sample_sizes,
    smallest_size_with_lead,
)
from sampled_metrics_study.settings import ExperimentSettings
from sampled_metrics_study.tables import KEY
from tests.helpers.enumeration import WITH, all_samples
from tests.study.conftest import REFERENCE

SETTINGS = ExperimentSettings(**PAPERS_CHOICES)


def pick(table, **conditions):
    return table[(table[list(conditions)] == conditions).all(axis=1)]


def test_figure_1_values():
    table = figure1_to_4.metric_against_rank().set_index(["metric", "rank"])["value"]
    assert len(table) == 4 * (200 + 490)
    values = {("AUC", 10_000): 0.0, ("AP", 4): 1 / 4, ("NDCG", 3): 1 / 2,
              ("Recall@10", 10): 1.0, ("Recall@10", 11): 0.0}  # fmt: skip
    assert {key: table[key] for key in values} == values


def test_figure_3_auc_is_unbiased():
    table = figure1_to_4.sampled_against_rank().set_index(["metric", "curve"])["value"]
    for m in (1, 10, 100, 1000):
        auc, exact = (table.loc["AUC", name] for name in (f"m = {m}", "Exact"))
        np.testing.assert_allclose(auc, exact, rtol=1e-9)
    np.testing.assert_allclose(table.loc["Recall@10", "m = 1"], 1.0)  # section 4.4.4


@pytest.fixture
def distribution():
    """Of 50 users, A has ranks 1, 6, 11 ... 246 of 251; B is tied for ranks 1 to 20 of 249."""
    none = np.zeros(50, int)
    a = Ranks(n_candidates=none + 251, n_better=np.arange(50) * 5, n_tied=none)
    b = Ranks(n_candidates=none + 249, n_better=none, n_tied=none + 19)
    return figure5.rank_distribution({"A": a, "B": b})


def test_figure_5_counts_all_users(distribution):
    users = pick(distribution, panel="all").groupby(["recommender", "ties"])["users"].sum()
    assert users.to_dict() == {("A", "random"): 50, ("B", "random"): 50, ("B", "pessimistic"): 50}


@pytest.mark.parametrize(("ties", "first_two"), [("random", [25, 25]), ("pessimistic", [0, 50])])
def test_figure_5_counts_ties_at_random_or_last(distribution, ties, first_two):
    """Ranges of ten ranks: ties for ranks 1 to 20 are half in the first, or all in the second."""
    top = pick(distribution, panel="top", recommender="B", ties=ties)
    assert top["users"].tolist() == [*first_two, *[0] * 8]


def test_figure_5_counts_ranks_to_100_in_tens(distribution):
    top = pick(distribution, panel="top", recommender="A")
    assert top["users"].tolist() == [2] * 10  # such as 1 and 6
    assert (top["first_rank"].iloc[0], top["last_rank"].iloc[-1]) == (1, 100)


def test_figure_5_counts_all_ranks_as_numpy_does(distribution):
    ranks_of_a = np.arange(50) * 5 + 1
    counts = np.histogram(ranks_of_a, bins=26, range=(1, 251))[0]
    assert pick(distribution, panel="all", recommender="A")["users"].tolist() == counts.tolist()


def test_figure_5_matches_paper():
    records = {}
    for name in "XYZ":
        records[name] = as_ranks(REFERENCE / f"ranks/{name}.parquet")
    table = pick(figure5.rank_distribution(records), panel="all")
    x = pick(table, recommender="X")
    assert np.histogram(records["X"].best_rank, bins=37, range=(1, 3687))[0].tolist() == (
        x["users"].tolist()
    )
    # "2310 items are in the top 100" and "over 1600 users in the worst bucket" of the paper
    assert (x["users"].iloc[0], x["first_rank"].iloc[0], x["last_rank"].iloc[0]) == (2300, 1, 100)
    z = pick(table, recommender="Z", ties="pessimistic")
    assert (z["users"].iloc[-1], z["last_rank"].iloc[-1]) == (1592, 3687)


@pytest.mark.parametrize(
    ("n", "width", "top"),
    [(7, 1, 10), (99, 1, 10), (100, 10, 100), (999, 10, 100), (1000, 100, 100), (84_432, 100, 100)],
)
def test_figure_5_bins_of_few_candidates(n, width, top):
    table = figure5.rank_distribution({"A": Ranks([n, n], [0, n - 1], [0, 0])})
    every, first = (table[table["panel"] == panel] for panel in ("all", "top"))
    widths = (every["last_rank"] - every["first_rank"] + 1).tolist()
    assert max(widths) <= width
    assert max(widths) - min(widths) <= 1
    assert len(widths) == -(-n // width)
    assert (every["first_rank"].iloc[0], every["last_rank"].iloc[-1]) == (1, n)
    assert every["users"].sum() == 2
    assert (first["last_rank"].max(), len(first)) == (top, 10)


@pytest.fixture(scope="module")
def users_of_z_in_the_last_100():
    """Users of Z among the last 100 ranks in Figure 5, by the order of ties."""
    ranks = {"Z": as_ranks(REFERENCE / "ranks/Z.parquet")}
    return pick(figure5.rank_distribution(ranks), panel="all").groupby("ties")["users"].last()


def test_users_in_the_last_100_ranks_by_enumeration(users_of_z_in_the_last_100):
    """Each user counts by the share of its tied ranks, or by the worst one."""
    z = as_ranks(REFERENCE / "ranks/Z.parquet")
    first_of_last_100 = z.n_candidates.max() - 100 + 1
    shares = [
        np.mean(np.arange(best, worst + 1) >= first_of_last_100)
        for best, worst in zip(z.best_rank, z.worst_rank, strict=True)
    ]
    assert users_of_z_in_the_last_100["random"] == pytest.approx(sum(shares))
    assert users_of_z_in_the_last_100["pessimistic"] == np.sum(z.worst_rank >= first_of_last_100)


def test_claim_counts_users_in_the_last_100_ranks_as_figure_5_does(users_of_z_in_the_last_100):
    run = Run(pd.DataFrame(columns=KEY), {"Z": as_ranks(REFERENCE / "ranks/Z.parquet")})
    _, measured = run.users_in_the_worst_bucket()
    counts = [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", measured)]
    expected = [round(users_of_z_in_the_last_100[ties]) for ties in ("random", "pessimistic")]
    assert counts == expected


@pytest.mark.parametrize(("ties", "reading"), [("random", "at random"), ("pessimistic",) * 2])
def test_audit_counts_users_in_the_last_100_ranks_as_figure_5_does(
    users_of_z_in_the_last_100, ties, reading
):
    audit = pd.read_csv(REFERENCE / "audit.csv").set_index("reading")["value"]
    users = audit[f"ties {reading}, buckets of 100 ranks"]
    assert users == round(users_of_z_in_the_last_100[ties])


def small_ranks(rank_sets):
    none = {name: np.zeros(len(ranks), int) for name, ranks in rank_sets.items()}
    return {k: Ranks(none[k] + 60, np.array(ranks) - 1, none[k]) for k, ranks in rank_sets.items()}


def test_figure_6_ordered_after_last_change():
    # B has one hit in the top ten, A is never far behind: sampling favours A for long
    records = small_ranks({"A": [12, 12, 12, 12], "B": [5, 40, 40, 40]})
    table = recall_against_samples(records, SETTINGS)
    at = expected_recall(records, SETTINGS)
    for e, label in enumerate(("Sampled", "BV 0.1")):
        wrong = [m for m in range(10, 60) if at("B", e, m).mean <= at("A", e, m).mean]
        last_wrong = max(wrong, default=9)
        actual = pick(table, kind="ordered", estimator=label)["n_negatives"]
        assert actual.tolist() == ([last_wrong + 1] if last_wrong < 59 else [])
    exact = pick(table, kind="exact").set_index("recommender")[["n_negatives", "value"]]
    assert exact.to_numpy().tolist() == [[59, 0.0], [59, 25.0]]


@pytest.mark.parametrize(("e", "label"), [(0, "Sampled"), (1, "BV 0.1")])
def test_figure_6_sure_has_95_percent_chance(e, label):
    rng = np.random.default_rng(3)
    records = small_ranks({"A": rng.integers(8, 40, 80), "B": rng.integers(1, 50, 80)})
    table = recall_against_samples(records, SETTINGS)
    sure = pick(table, kind="sure", estimator=label)["n_negatives"].item()
    moments_at, chance = expected_recall(records, SETTINGS), {}
    for m in (sure - 1, sure):
        a, b = moments_at("A", e, m), moments_at("B", e, m)
        chance[m] = NormalDist().cdf((b.mean - a.mean) / np.hypot(a.sd, b.sd))
    assert chance[sure - 1] < 0.95 <= chance[sure]


@pytest.mark.parametrize(("e", "name"), [(0, "sampled"), (1, "bv:0.1")])
@pytest.mark.parametrize(("n", "m"), [(60, 59), (60, 30), (400, 100), (400, 390)])
def test_figure_6_moments_are_those_of_experiments(n, m, e, name):
    """Figure 6 leaves out the sampled ranks below those with credit; experiments average all."""
    rng = np.random.default_rng(1)
    better = rng.integers(0, n, 500)
    tied = np.minimum(rng.integers(0, n, 500) * (rng.random(500) < 0.5), n - 1 - better)
    ranks = Ranks(np.full(500, n), better, tied)
    one = SETTINGS.replaced(
        metrics=("recall@10",), estimators=(name,), n_negatives=m, ties="random"
    )
    whole = 100 * np.ravel(expected_estimates(ranks, one))  # in percent
    assert expected_recall({"A": ranks}, SETTINGS)("A", e, m) == pytest.approx(whole, rel=1e-10)


def test_figure_6_needs_12_candidates():
    none = np.zeros(3, int)
    assert sample_sizes({"A": Ranks(none + 12, none, none)}) == [10, 11]
    with pytest.raises(InputError, match="11 candidates"):
        sample_sizes({"A": Ranks(none + 12, none, none), "B": Ranks(none + 11, none, none)})


def test_band_is_range_over_starts():
    starts = list(small_ranks({"0": [1, 30, 50], "1": [5, 12, 14], "2": [11, 11, 60]}).values())
    table = band_over_starts("X", starts, SETTINGS)
    keys = ["estimator", "n_negatives"]
    curves = [recall_against_samples({"X": ranks, "Y": ranks}, SETTINGS) for ranks in starts]
    curves = pd.concat([pick(one, kind="curve", recommender="X") for one in curves])
    for kind, how in (("lowest", "min"), ("highest", "max")):
        actual = pick(table, kind=kind, recommender="X").set_index(keys)["value"]
        expected = curves.groupby(keys)["value"].agg(how)
        pd.testing.assert_series_equal(actual.sort_index(), expected, check_index_type=False)


@pytest.fixture(scope="module")
def figures():
    files = [REFERENCE / f"ranks/{name}.parquet" for name in "XYZ"]
    return figure1_to_4.theory() | {5: figure5.rank_distribution(read_ranks_by_name(files))}


@pytest.mark.parametrize("number", range(1, 6))
def test_reference_ranks_give_reference_figures(figures, number):
    actual = figures[number].reset_index(drop=True)
    stored = pd.read_csv(REFERENCE / f"figures/figure{number}.csv")
    pd.testing.assert_frame_equal(actual, stored, rtol=1e-8, check_dtype=False)


@given(st.sets(st.integers(2, 61), max_size=30), st.sampled_from([1e-9, 1.0, math.inf]))
def test_smallest_size_matches_linear_search(wrong, height):
    actual = smallest_size_with_lead(lambda m: -height if m in wrong else 1.0, list(range(1, 62)))
    assert actual == (max(wrong, default=0) + 1 if 61 not in wrong else None)
    after = max(wrong, default=1)  # the last wrong size
    actual = smallest_size_with_lead(lambda m: -height if m <= after else 1.0, [1, 7, 61])
    assert actual == (after + 1 if after < 61 else None)


# Errors of estimators.


ERRORS = pd.read_csv(REFERENCE / "figures/errors.csv")


def test_errors_of_constant_ranks_by_hand():
    """First ranks stay first; metrics of last ranks are 0 and have no relative error."""
    settings = ExperimentSettings(metrics=("recall@10", "auc"), estimators=("sampled", "bv:0.1"))
    records = {
        "first": Ranks.from_ranks([1] * 50, n_items=101),
        "last": Ranks.from_ranks([101] * 50, n_items=101),
    }
    actual = errors_against_samples(records, settings).set_index(["n_negatives", "estimator"])
    assert list(actual.index.unique("n_negatives")) == [10, 20, 50, 100]
    recall = [parse_measure("recall@10")]
    for m in (10, 20, 50, 100):
        vector = estimator_matrix(
            parse_estimators("bv:0.1"), recall, 101, m, sampling=Sampling.WITHOUT_REPLACEMENT
        )[0, 0]
        errors = actual["value"][m]
        assert errors["Sampled"] == 0.0
        assert errors["BV 0.1"] == pytest.approx(100 * abs(vector[0] - 1))
        assert 0 < errors["Likely"] < 100


@pytest.mark.long
def test_errors_shrink_with_m_and_are_repeatable():
    settings = ExperimentSettings(metrics=("recall@10", "ap"), estimators=("sampled",))
    ranks = np.random.default_rng(0).geometric(0.01, 2000).clip(1, 3000)
    records = {"A": Ranks.from_ranks(ranks, n_items=3000)}
    actual = errors_against_samples(records, settings)
    again = errors_against_samples(records, settings)
    pd.testing.assert_frame_equal(actual, again)
    errors = actual.pivot(index="n_negatives", columns="estimator", values="value")
    assert list(errors.index) == [10, 20, 50, 100, 200]
    assert (errors["Likely"] < errors["Sampled"]).all()
    assert (errors.loc[200] < errors.loc[10]).all()


def test_reference_likely_has_smallest_error():
    errors = ERRORS.pivot(index="n_negatives", columns="estimator", values="value")
    others = errors.drop(columns="Likely").min(axis=1)
    assert (errors["Likely"] < others).all()


# Expected sampled metrics, compared with enumeration and with Table 2.


MEASURES = [parse_measure(name) for name in ("recall@3", "precision@2", "ap", "ndcg@5", "auc")]


@pytest.mark.parametrize("sampling", Sampling)
def test_expected_values_match_enumeration(sampling):
    n, m = 6, 3
    for rank in range(1, n + 1):
        others = [other for other in range(1, n + 1) if other != rank]
        sampled_ranks = np.array(
            [1 + sum(item < rank for item in sample) for sample in all_samples(others, m, sampling)]
        )
        for measure in MEASURES:
            mean = measure.value_at(sampled_ranks, m + 1).mean()
            value = expected_values(measure, rank, n, m, sampling)
            assert value == pytest.approx(mean, rel=1e-13), (str(measure), rank)


def test_expected_values_match_table_2():
    # recommenders A, B, C of section 3.2 with m = 99
    printed = {
        "ap": (0.630, 0.336, 0.325),
        "ndcg": (0.724, 0.444, 0.460),
        "recall@10": (1.000, 0.400, 0.567),
        "auc": (0.990, 0.555, 0.843),
    }
    ranks = [[100] * 5, [40, 40, 8437, 9266, 4482], [212, 2, 743, 5342, 1548]]
    for name, of_recommenders in printed.items():
        ours = [expected_values(parse_measure(name), r, 10_000, 99, WITH).mean() for r in ranks]
        assert ours == pytest.approx(of_recommenders, abs=0.01)
