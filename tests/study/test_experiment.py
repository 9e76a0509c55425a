"""The sampled experiment and Tables 1 to 4, compared with the paper and with closed forms."""

from functools import reduce
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import estimator_matrix, likely_estimates, parse_estimators
from sampled_metrics.metrics import parse_measure
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.read.options import as_ranks
from sampled_metrics.sampling import sampled_rank_distribution
from sampled_metrics_study.config import PAPERS_CHOICES
from sampled_metrics_study.experiment import (
    Experiment,
    MeanAndSd,
    divide_by_sd,
    expected_moments,
    probability_less,
    repeated_estimates,
    run_experiment,
)
from sampled_metrics_study.settings import ExperimentSettings, ToySettings
from sampled_metrics_study.tables import as_printed, read_published, table3, table4, toy_tables
from tests.conftest import ROOT

SETTINGS = ExperimentSettings(**PAPERS_CHOICES)
PUBLISHED = read_published(ROOT / "config/paper/tables.csv")


@pytest.fixture(scope="module")
def ranks():
    folder = ROOT / "results/reference/ranks"
    return {name: as_ranks(folder / f"{name}.parquet") for name in "XYZ"}


@pytest.fixture(scope="module")
def experiments(ranks):
    return {name: run_experiment(name, records, SETTINGS) for name, records in ranks.items()}


def test_simulation_agrees_with_closed_form(experiments):
    for experiment in experiments.values():
        (mean, sd), repeated = experiment.expected, experiment.repeated
        assert (abs(repeated.mean(axis=-1) - mean) <= 4 * sd / np.sqrt(100)).all()
        assert (abs(repeated.std(axis=-1, ddof=1) - sd) <= 4 * sd / np.sqrt(2 * 99)).all()
    cells = table4(experiments)
    # Equal estimates count half in the closed form but not in the simulated count. Allow for
    # 2 % of equal pairs: recall by rank-estimate counts whole users, so equality is likely.
    assert (abs(cells["value"] - cells["expected"]) <= 4 * cells["expected_std"] + 1.0).all()
    assert len(cells) == 3 * 4 * 7
    # Rank Estimate and CLS of Recall@10 are both multiples of 1[sampled rank = 1].
    counts = cells.set_index(["metric", "column", "row"])["value"]["Recall@10"]
    assert counts["Rank Estimate"].equals(counts["CLS"])


def test_published_means_agree_with_closed_form(experiments):
    """All sampled and corrected cells of Y and Z are within 3 standard errors."""
    cells = table3({name: experiments[name] for name in "YZ"})
    key = ["row", "metric", "column"]
    cells = cells[cells["column"] != "Exact"].set_index(key)
    printed = PUBLISHED[PUBLISHED["table"] == 3].set_index(key)["value"].astype(float)
    error = cells["expected_std"] / np.sqrt(100)
    far = abs(cells["expected"] - printed.loc[cells.index]) > 3 * error + 0.005
    assert (len(cells), far.sum()) == (56, 0)


def test_cell_is_independent_of_others(ranks, experiments):
    metric, estimator = SETTINGS.metrics.index("ap"), SETTINGS.estimators.index("bv:0.1")
    among_others = experiments["Y"].repeated[metric, estimator]
    one = SETTINGS.replaced(estimators=("bv:0.1",), metrics=("ap",))
    for count in (100, 7):
        alone = run_experiment("Y", ranks["Y"], one.replaced(repetitions=count)).repeated[0, 0]
        # draws are equal, but linear algebra may round differently with other right-hand sides
        np.testing.assert_allclose(alone, among_others[:count], rtol=1e-12)


def test_streams_depend_on_seed_name_estimator(ranks):
    def first(name="Y", estimator="sampled", **changes):
        settings = SETTINGS.replaced(repetitions=3, estimators=(estimator,), metrics=("auc",))
        return run_experiment(name, ranks["Y"], settings.replaced(**changes)).repeated.tolist()

    own = first(shared_samples=False)
    assert first() == first()
    assert first() not in (first(seed=1), first(name="W"), own)
    assert own != first(shared_samples=False, estimator="cls")


def correlation(ranks, **changes):
    """Correlation of the AUC of two estimators, both linear in the sampled rank."""
    both = SETTINGS.replaced(estimators=("sampled", "rank-estimate"), metrics=("auc",), **changes)
    return np.corrcoef(run_experiment("R", ranks, both).repeated[0])[0, 1]


@pytest.mark.long
def test_shared_samples_and_ties_correlate(ranks):
    y, z = (ranks[name].take(np.arange(1000)) for name in "YZ")
    assert correlation(y) > 0.99
    assert abs(correlation(y, shared_samples=False)) < 0.5
    # half of Z's users tie with thousands of items, whose order carries most of the variance
    assert correlation(z, shared_ties=True) > 0.99
    assert abs(correlation(z, shared_ties=False)) < 0.5


def test_too_many_negatives_are_refused():
    # the second user has 6 candidates besides the held-out item
    few = Ranks(n_candidates=[9, 7, 8], n_better=[0, 0, 0], n_tied=[0, 0, 0])
    one = SETTINGS.replaced(estimators=("sampled",))
    run_experiment("E", few, one.replaced(n_negatives=6))
    with pytest.raises(InputError, match=r"n_negatives must be at most 6, not 7.* 7 candidates"):
        run_experiment("E", few, one.replaced(n_negatives=7))


def by_hand(exact, repeated, expected, uniform=None):
    """An experiment of one measure and one estimator; `expected` and `uniform` are mean and sd."""
    one = SETTINGS.replaced(metrics=("ap",), estimators=("sampled",))
    moments = [
        MeanAndSd(np.array([[mean]]), np.array([[sd]]))
        for mean, sd in (expected, uniform or expected)
    ]
    return Experiment(one, np.array([exact]), np.array([[repeated]]), *moments, None, "by hand")


def test_table_3_by_hand():
    a = by_hand(0.25, [0.1, 0.2, 0.3, 0.6], expected=(0.31, 0.02))
    exact, sampled = table3({"A": a}).itertuples()
    assert (exact.column, exact.value, exact.expected, exact.repetitions) == ("Exact", 25, 25, 0)
    assert np.isnan(exact.std)
    assert sampled.value == pytest.approx(100 * (0.1 + 0.2 + 0.3 + 0.6) / 4)
    # deviations from 30 %: -20, -10, 0, 30; squares 400 + 100 + 0 + 900 = 1400, over 3
    assert sampled.std == pytest.approx(np.sqrt(1400 / 3))
    assert (sampled.expected, sampled.expected_std) == pytest.approx((31, 2))
    assert (sampled.repetitions, sampled.ranks) == (4, "by hand")


@pytest.mark.parametrize("names", ["AB", "BA"])
def test_table_4_by_hand(names):
    """B is better; right in repetitions 1 and 4 of 4, equal in 3, wrong in 2."""
    both = {
        "A": by_hand(0.2, [0.1, 0.5, 0.3, 0.3], expected=(0.30, 0.03)),
        "B": by_hand(0.4, [0.2, 0.4, 0.3, 0.6], expected=(0.35, 0.04)),
    }
    (cell,) = table4({name: both[name] for name in names}).itertuples()
    assert (cell.row, cell.value) == (f"{names[0]} vs {names[1]}", 2)
    # the difference is (0.35 - 0.30) / sqrt(0.03² + 0.04²) = 1 standard deviation
    chance = NormalDist().cdf(1)
    assert cell.expected == pytest.approx(4 * chance)
    assert cell.expected_std == pytest.approx(np.sqrt(4 * chance * (1 - chance)))


def test_table_4_also_expects_counts_for_ties_in_any_order():
    """B is better; the difference is 0, or 0.5 if tied samples have all orders; its sd is 0.5."""
    a = by_hand(0.2, [0.2, 0.3], expected=(0.2, 0.3), uniform=(0.1, 0.3))
    b = by_hand(0.5, [0.4, 0.1], expected=(0.2, 0.4), uniform=(0.6, 0.4))
    (cell,) = table4({"A": a, "B": b}).itertuples()
    assert cell.expected == pytest.approx(2 * 0.5)
    assert cell.uniform == pytest.approx(2 * NormalDist().cdf(0.5 / np.hypot(0.3, 0.4)))


# Tables 1 and 2.


@pytest.fixture(scope="module")
def toys():
    return toy_tables(ToySettings())


def test_table_1_as_printed(toys):
    printed = PUBLISHED[PUBLISHED["table"] == 1].reset_index(drop=True)
    assert as_printed(toys[1]).astype(str).equals(printed.astype(str))
    assert len(printed) == 12


def test_table_2_closed_form_simulation_and_print(toys):
    second = toys[2]
    closed_forms = {  # AUC, AP, NDCG, Recall@10, without replacement
        "A": ["0.9901", "0.6358", "0.7284", "1.0000"],
        "B": ["0.5548", "0.3405", "0.4472", "0.4000"],
        "C": ["0.8431", "0.3260", "0.4598", "0.5695"],
    }
    actual = second.groupby("row")["expected"].agg(lambda cells: [f"{x:.4f}" for x in cells])
    assert actual.to_dict() == closed_forms
    sd = second["expected_std"]
    assert (abs(second["value"] - second["expected"]) <= 4 * sd / np.sqrt(1000) + 1e-12).all()
    printed = second.merge(PUBLISHED[PUBLISHED["table"] == 2], on=["row", "metric"])
    value, std = (printed[f"{name}_y"].astype(float) for name in ("value", "std"))
    assert (abs(value - printed["expected"]) <= 3 * std / np.sqrt(1000) + 0.0005).all()
    assert len(printed) == 12
    assert not toy_tables(ToySettings(seed=1))[2]["value"].equals(second["value"])


def test_toys_do_not_estimate_likely(monkeypatch):
    """Computing `likely` would take twenty times as long as Tables 1 and 2."""

    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr("sampled_metrics_study.experiment.likely_estimates", refuse)
    assert set(toy_tables(ToySettings(repetitions=2))) == {1, 2}


@pytest.mark.parametrize("m", [1, 10, 20])
def test_constant_recommender_auc_is_half(m):
    everyone_tied = Ranks(np.full(40, 142), np.zeros(40, int), np.full(40, 141))
    estimators = ("sampled", "rank-estimate", "cls")
    settings = ExperimentSettings(
        metrics=("auc",), estimators=estimators, n_negatives=m, repetitions=2, rounding="linear"
    )
    outcome = run_experiment("constant", everyone_tied, settings)
    assert outcome.exact[0] == pytest.approx(0.5)
    np.testing.assert_allclose(outcome.expected.mean[0], 0.5, atol=1e-9)


def test_constant_recommender_auc_with_the_papers_order_of_ties():
    """Of m = 10 tied negatives 0 to 9 are above, so 10 to 1 of 10 are below: 0.55 on average."""
    everyone_tied = Ranks(np.full(40, 142), np.zeros(40, int), np.full(40, 141))
    settings = ExperimentSettings(
        metrics=("auc",), estimators=("sampled",), n_negatives=10, repetitions=2, ties="paper"
    )
    outcome = run_experiment("constant", everyone_tied, settings)
    assert outcome.expected.mean[0, 0] == pytest.approx(sum(range(1, 11)) / 10 / 10)


@pytest.mark.parametrize("sampling", [Sampling.WITHOUT_REPLACEMENT, Sampling.WITH_REPLACEMENT])
def test_likely_estimates_of_several_samples(sampling):
    rng = np.random.default_rng(0)
    counts = rng.multinomial(900, rng.dirichlet(np.ones(21)), size=4)
    measures = [parse_measure(name) for name in ("recall@10", "ap", "auc")]
    actual = likely_estimates(counts, measures, 700, 20, sampling)
    for histogram, column in zip(counts, actual.T, strict=True):
        about = {"sampling": sampling, "histogram": histogram}
        vectors = estimator_matrix(parse_estimators("likely"), measures, 700, 20, **about)
        assert column == pytest.approx(vectors[:, 0] @ histogram / 900, rel=1e-12)


# Expected estimates and their deviations.


def records(seed, users=300, scale=150):
    rng = np.random.default_rng(seed)
    n = rng.integers(900, 1001, users)
    better = np.minimum(rng.exponential(scale, users).astype(int), 800)
    return Ranks(n, better, rng.integers(0, 2, users) * rng.integers(0, 90, users))


def test_expected_moments_by_hand():
    # user 1: 1 or 0 with 1/2 each, variance 1/4; user 2: 2 or 0 with 1/4, 3/4, variance 3/4
    distribution = np.array([[0.5, 0.5, 0.0], [0.0, 0.75, 0.25]])
    moments = expected_moments(distribution, np.array([1.0, 0.0, 2.0]))
    assert moments.mean == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert moments.sd == pytest.approx(np.sqrt(1 / 4 + 3 / 4) / 2)


@settings(derandomize=True, deadline=None, max_examples=50)
@given(
    arrays(float, (3, 3), elements=st.floats(0.01, 1)),
    arrays(float, 3, elements=st.floats(-10, 10)),
)
def test_expected_moments_match_all_outcomes(weights, vector):
    p = weights / weights.sum(axis=1, keepdims=True)
    outcomes = list(product(range(3), repeat=3))
    chance = np.array([np.prod([p[u, i] for u, i in enumerate(o)]) for o in outcomes])
    value = np.array([np.mean([vector[i] for i in o]) for o in outcomes])
    mean = chance @ value
    actual = expected_moments(p, vector)
    assert actual.mean == pytest.approx(mean, abs=1e-12)
    assert actual.sd == pytest.approx(np.sqrt(chance @ (value - mean) ** 2), abs=1e-11)


def test_expected_moments_without_spread_are_0():
    certain = np.eye(4)[[0, 2, 2]]
    assert expected_moments(certain, np.array([0.3, 0.1, -7.7, 5.0])).sd == 0.0
    spread = np.random.default_rng(0).dirichlet(np.ones(50), size=40)
    constant = np.array([[0.1] * 50, [0.0] * 50])
    assert (expected_moments(spread, constant).sd == 0.0).all()


def test_estimates_by_hand():
    vectors = np.array([[1.0, 0.5, 0.0], [3.0, 0.0, -1.0]])
    actual = repeated_estimates([[2, 1, 1], [0, 4, 0], [0, 0, 4]], vectors)
    assert actual == pytest.approx(np.array([[(2 + 0.5) / 4, 0.5, 0], [(6 - 1) / 4, 0, -1]]))
    assert repeated_estimates([[3, 1], [2, 2]], vectors[:, None, :2]).shape == (2, 1, 2)


def test_probability_less_by_hand():
    # difference 3 with deviation sqrt(3^2 + 4^2) = 5: Phi(3/5) = 0.7257
    a, b = MeanAndSd(np.array(1.0), np.array(3.0)), MeanAndSd(np.array(4.0), np.array(4.0))
    assert probability_less(a, b) == pytest.approx(0.725747, abs=1e-6)
    assert probability_less(a, b) + probability_less(b, a) == pytest.approx(1)


@pytest.mark.parametrize(
    ("a", "b", "probability"),
    [(1.0, 0.9, 0.0), (1.0, 1.1, 1.0), (1.0, 1.0, 0.5), (0.1 + 0.2, 0.3, 0.5)],
)
def test_probability_less_of_certain_values(a, b, probability):
    certain = [MeanAndSd(np.array([mean]), np.zeros(1)) for mean in (a, b)]
    assert probability_less(*certain).tolist() == [probability]


@pytest.mark.parametrize(
    ("difference", "sd", "quotient"),
    [(1.0, 0.0, np.inf), (-1.0, 0.0, -np.inf), (0.0, 0.0, 0.0), (0.0, 2.0, 0.0), (4.0, 2.0, 2.0)],
)
def test_divide_by_sd_of_0(difference, sd, quotient):
    assert divide_by_sd([difference], [sd]).tolist() == [quotient]


@pytest.mark.parametrize(("users", "tolerance"), [(100, 0.01), (2000, 1e-3)])
def test_probability_less_matches_convolution(users, tolerance):
    # the number of users at sampled rank 1 is a sum of independent 0-1 variables
    tables = [sampled_rank_distribution(records(seed, users), 50) for seed in (3, 4)]
    count_a, count_b = (
        reduce(np.convolve, [np.array([1 - p, p]) for p in table[:, 0]]) for table in tables
    )
    below = count_b @ np.concatenate([[0], np.cumsum(count_a)[:-1]])
    actual = probability_less(*(expected_moments(table, np.eye(51)[0]) for table in tables))
    assert actual == pytest.approx(below + count_a @ count_b / 2, abs=tolerance)
