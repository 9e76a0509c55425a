"""The sampled experiment and Tables 3 and 4, from the committed ranks of the reference run."""

import numpy as np
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.moments import Moments
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.comparison import table3, table4
from sampled_metrics.study.experiment import (
    Experiment,
    load_experiments,
    run_experiment,
    save_experiment,
)
from sampled_metrics.study.settings import ExperimentSettings
from tests.conftest import ROOT

SETTINGS = ExperimentSettings()


@pytest.fixture(scope="module")
def ranks():
    folder = ROOT / "results/reference/ranks"
    return {name: Ranks.read(folder / f"{name}.parquet") for name in "XYZ"}


@pytest.fixture(scope="module")
def experiments(ranks):
    return {name: run_experiment(name, records, SETTINGS) for name, records in ranks.items()}


def test_means_over_100_seeds_within_4_standard_errors_of_the_closed_form(experiments):
    for experiment in experiments.values():
        error = experiment.expected.sd / np.sqrt(100)
        found = experiment.repeated.mean(axis=-1)
        assert (abs(found - experiment.expected.mean) <= 4 * error).all()


def test_deviations_over_100_seeds_within_4_standard_errors_of_the_closed_form(experiments):
    for experiment in experiments.values():
        deviation = experiment.repeated.std(axis=-1, ddof=1)
        error = experiment.expected.sd / np.sqrt(2 * 99)
        assert (abs(deviation - experiment.expected.sd) <= 4 * error).all()


def test_table_4_within_4_binomial_standard_errors_of_the_closed_form(experiments):
    cells = table4(experiments)
    # Equal estimates count half in the closed form and not at all in the count: allow for 2 %
    # of equal pairs, which whole users make likely for rank-estimate of recall.
    allowed = 4 * cells["expected_std"] + 1.0
    assert (abs(cells["value"] - cells["expected"]) <= allowed).all()
    assert len(cells) == 3 * 4 * 7


@pytest.mark.parametrize(
    ("recommender", "metric", "expected"),
    [  # Table 3: sampled, rank estimate, CLS, BV 1, 0.1, 0.01, 0.001, within 3 standard errors
        ("Y", "Recall@10", [56.51, 17.26, 8.42, 4.60, 6.95, 8.18, 8.54]),
        ("Y", "NDCG@10", [34.82, 17.26, 3.94, 2.12, 3.24, 3.85, 4.03]),
        ("Y", "AP", [30.01, 17.81, 3.54, 2.32, 3.19, 3.62, 3.73]),
        ("Y", "AUC", [85.33, 85.48, 85.32, 84.63, 85.26, 85.32, 85.32]),
        ("Z", "Recall@10", [54.20, 18.67, 9.10, 4.97, 7.44, 8.63, 9.08]),
        ("Z", "AUC", [75.04, 75.24, 75.04, 74.51, 75.02, 75.02, 75.02]),
    ],
)
def test_published_means_follow_from_the_closed_form(experiments, recommender, metric, expected):
    cells = table3({recommender: experiments[recommender]})
    cells = cells[(cells["metric"] == metric) & (cells["column"] != "Exact")]
    error = cells["expected_std"] / np.sqrt(100)
    assert (abs(cells["expected"] - expected) <= 3 * error + 0.005).all()


def test_a_cell_does_not_depend_on_what_else_is_computed(ranks, experiments):
    one = SETTINGS.replaced(estimators=("bv:0.1",), metrics=("ap",))
    alone = run_experiment("Y", ranks["Y"], one)
    # the draws are the same; linear algebra may round otherwise with other right-hand sides
    np.testing.assert_allclose(alone.repeated[0, 0], experiments["Y"].repeated[2, 4], rtol=1e-12)
    fewer = run_experiment("Y", ranks["Y"], one.replaced(repetitions=7))
    np.testing.assert_allclose(
        fewer.repeated[0, 0], experiments["Y"].repeated[2, 4, :7], rtol=1e-12
    )


def test_streams_follow_seed_name_and_estimator(ranks):
    def first(name="Y", estimator="sampled", **changes):
        settings = SETTINGS.replaced(
            repetitions=3, estimators=(estimator,), metrics=("recall@10",), **changes
        )
        return run_experiment(name, ranks["Y"], settings).repeated.tolist()

    assert first() == first()
    assert first() != first(seed=1)
    assert first() != first(name="W")
    own = first(shared_samples=False)
    assert own != first()
    assert own != first(shared_samples=False, estimator="cls")


def correlation(ranks, **changes):
    """Correlation of the AUC of two estimators that are linear in the sampled rank."""
    both = SETTINGS.replaced(estimators=("sampled", "rank-estimate"), metrics=("auc",), **changes)
    return np.corrcoef(run_experiment("R", ranks, both).repeated[0])[0, 1]


def test_estimators_share_samples_and_ties_as_the_settings_say(ranks):
    assert correlation(ranks["Y"]) > 0.99
    assert abs(correlation(ranks["Y"], shared_samples=False)) < 0.5
    # half of Z's users tie with thousands of items, whose order carries most of the variance
    assert correlation(ranks["Z"], shared_ties=True) > 0.99
    assert abs(correlation(ranks["Z"], shared_ties=False)) < 0.5


def test_shared_samples_make_multiples_agree_on_every_order(experiments):
    # Rank Estimate and CLS of Recall@10 are both multiples of 1[sampled rank = 1].
    counts = table4(experiments).set_index(["metric", "column", "row"])["value"]["Recall@10"]
    assert counts["Rank Estimate"].equals(counts["CLS"])


def test_round_trip(tmp_path, experiments):
    for name, experiment in experiments.items():
        save_experiment(tmp_path / f"{name}.npz", experiment)
    again = load_experiments([tmp_path / f"{name}.npz" for name in "XYZ"])
    assert list(again) == ["X", "Y", "Z"]
    assert table3(again).equals(table3(experiments))
    assert table4(again).equals(table4(experiments))


def test_experiments_that_cannot_be_compared(tmp_path, ranks, experiments):
    save_experiment(tmp_path / "X.npz", experiments["X"])
    few, quick = ranks["Y"].take(np.arange(10)), SETTINGS.replaced(repetitions=2)
    for records, settings, key in (
        (few, quick.replaced(estimators=("sampled",)), "users"),
        (ranks["Y"], SETTINGS.replaced(n_negatives=20), "n_negatives is 100 for X and 20 for Y"),
        (ranks["Y"], SETTINGS.replaced(estimators=("sampled",)), "estimators"),
    ):
        save_experiment(tmp_path / "Y.npz", run_experiment("Y", records, settings))
        with pytest.raises(InputError, match=f"X and Y cannot be compared: {key}"):
            load_experiments([tmp_path / "X.npz", tmp_path / "Y.npz"])
    with pytest.raises(InputError, match="have the same name"):
        load_experiments([tmp_path / "X.npz", tmp_path / "X.npz"])


def test_files_that_hold_no_experiment(tmp_path):
    text, other = tmp_path / "text.npz", tmp_path / "other.npz"
    text.write_text("nothing")
    np.savez(other, a=np.zeros(3))
    for path in (text, other, tmp_path / "gone.npz"):
        with pytest.raises(InputError, match=f"{path.name}: .*a sampled experiment"):
            load_experiments([path])


@pytest.mark.parametrize(
    ("name", "value"),
    [("exact", [0.1]), ("repeated", [[[0.1]]]), ("users", [1, 2]), ("users", "x"), ("settings", 7)],
)
def test_arrays_that_do_not_fit_together_are_no_experiment(tmp_path, experiments, name, value):
    path = tmp_path / "X.npz"
    save_experiment(path, experiments["X"])
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **arrays | {name: np.array(value)})
    with pytest.raises(InputError) as caught:
        load_experiments([path])
    assert str(caught.value).startswith(str(path))


def test_more_negatives_than_candidates_are_refused():
    # the second user has 6 candidates besides the held-out item
    few = Ranks([9, 7, 8], [0, 0, 0], [0, 0, 0])
    one = SETTINGS.replaced(estimators=("sampled",))
    run_experiment("E", few, one.replaced(n_negatives=6))
    message = "^E: experiment.n_negatives must be at most 6, not 7, because a user has 7 candidates"
    with pytest.raises(InputError, match=message):
        run_experiment("E", few, one.replaced(n_negatives=7))


def by_hand(exact, repeated, mean, sd):
    """An experiment of one measure and one estimator."""
    return Experiment(
        SETTINGS.replaced(metrics=("ap",), estimators=("sampled",)),
        5,
        np.array([exact]),
        np.array([[repeated]]),
        Moments(np.array([[mean]]), np.array([[sd]])),
        "by hand",
    )


def test_table_3_by_hand():
    cells = table3({"A": by_hand(0.25, [0.1, 0.2, 0.3, 0.6], 0.31, 0.02)})
    exact, sampled = cells.itertuples()
    assert (exact.column, exact.value, exact.expected, exact.repetitions) == ("Exact", 25, 25, 0)
    assert np.isnan(exact.std)
    assert sampled.value == pytest.approx(100 * (0.1 + 0.2 + 0.3 + 0.6) / 4)
    # deviations from 30 %: -20, -10, 0, 30; squares 400 + 100 + 0 + 900 = 1400, over 3
    assert sampled.std == pytest.approx(np.sqrt(1400 / 3))
    assert (sampled.expected, sampled.expected_std) == pytest.approx((31, 2))
    assert (sampled.repetitions, sampled.ranks) == (4, "by hand")


def test_table_4_by_hand():
    a = by_hand(0.2, [0.1, 0.5, 0.3, 0.3], 0.30, 0.03)
    b = by_hand(0.4, [0.2, 0.4, 0.3, 0.6], 0.35, 0.04)
    # B is better; right in repetitions 1 and 4, equal in 3, wrong in 2
    for pair in ({"A": a, "B": b}, {"B": b, "A": a}):
        cell = next(table4(pair).itertuples())
        assert cell.row == " vs ".join(pair)
        assert cell.value == 2
        # (0.35 - 0.30) / sqrt(0.03^2 + 0.04^2) = 1 standard deviation: 84.13 %
        assert cell.expected == pytest.approx(4 * 0.8413447460685429)
