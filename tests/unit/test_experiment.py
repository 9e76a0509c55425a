"""The sampled experiment and Tables 3 and 4, from the committed ranks of the reference run."""

from dataclasses import replace

import numpy as np
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.inference.moments import Moments
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.comparison import table3, table4
from sampled_metrics.study.experiment import (
    Experiment,
    ExperimentSettings,
    run_experiment,
)
from sampled_metrics.study.storage import load_experiments, save_experiment
from tests.conftest import ROOT

ESTIMATORS = [
    parse_estimator(name)
    for name in ("sampled", "rank-estimate", "cls", "bv:1", "bv:0.1", "bv:0.01", "bv:0.001")
]
MEASURES = [parse_measure(name) for name in ("recall@10", "ndcg@10", "ap", "auc")]
SETTINGS = ExperimentSettings()


@pytest.fixture(scope="module")
def ranks():
    folder = ROOT / "results/reference/ranks"
    return {name: Ranks.read(folder / f"{name}.parquet") for name in "XYZ"}


@pytest.fixture(scope="module")
def experiments(ranks):
    return {
        name: run_experiment(name, records, ESTIMATORS, MEASURES, SETTINGS, "test")
        for name, records in ranks.items()
    }


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
    alone = run_experiment("Y", ranks["Y"], ESTIMATORS[4:5], MEASURES[2:3], SETTINGS)
    # the draws are the same; linear algebra may round otherwise with other right-hand sides
    np.testing.assert_allclose(alone.repeated[0, 0], experiments["Y"].repeated[2, 4], rtol=1e-12)
    fewer = run_experiment(
        "Y", ranks["Y"], ESTIMATORS[4:5], MEASURES[2:3], replace(SETTINGS, repetitions=7)
    )
    np.testing.assert_allclose(
        fewer.repeated[0, 0], experiments["Y"].repeated[2, 4, :7], rtol=1e-12
    )


def test_streams_follow_seed_name_and_estimator(ranks):
    def first(name="Y", estimator="sampled", **changes):
        settings = replace(SETTINGS, repetitions=3, **changes)
        chosen = [parse_estimator(estimator)]
        return run_experiment(name, ranks["Y"], chosen, MEASURES[:1], settings).repeated.tolist()

    assert first() == first()
    assert first() != first(seed=1)
    assert first() != first(name="W")
    shared = first(shared_samples=True)
    assert shared != first()
    # AUC of `sampled` and of `rank-estimate` rise and fall together on shared samples only
    both = [parse_estimator(name) for name in ("sampled", "rank-estimate")]
    for is_shared, least, most in ((True, 0.99, 1.0), (False, -0.5, 0.5)):
        settings = replace(SETTINGS, shared_samples=is_shared)
        auc = run_experiment("Y", ranks["Y"], both, MEASURES[3:], settings).repeated[0]
        assert least <= np.corrcoef(auc)[0, 1] <= most


def test_round_trip(tmp_path, experiments):
    for name, experiment in experiments.items():
        save_experiment(tmp_path / f"{name}.npz", experiment)
    again = load_experiments([tmp_path / f"{name}.npz" for name in "XYZ"])
    assert list(again) == ["X", "Y", "Z"]
    assert table3(again).equals(table3(experiments))
    assert table4(again).equals(table4(experiments))


def test_experiments_that_cannot_be_compared(tmp_path, ranks, experiments):
    save_experiment(tmp_path / "X.npz", experiments["X"])
    other = run_experiment("Y", ranks["Y"], ESTIMATORS[:1], MEASURES, SETTINGS)
    save_experiment(tmp_path / "Y.npz", other)
    with pytest.raises(InputError, match="X and Y cannot be compared: their estimators differ"):
        load_experiments([tmp_path / "X.npz", tmp_path / "Y.npz"])
    few = ranks["Y"].take(np.arange(10))
    for records, settings, part in (
        (ranks["Y"], replace(SETTINGS, n_negatives=20), "settings"),
        (few, SETTINGS, "users"),
    ):
        other = run_experiment("Y", records, ESTIMATORS, MEASURES, settings)
        save_experiment(tmp_path / "Y.npz", other)
        with pytest.raises(InputError, match=f"cannot be compared: their {part} differ"):
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
    ("settings", "message"),
    [
        ({"n_negatives": 0}, "experiment: n_negatives is 0; allowed: a whole number of at least 1"),
        ({"n_negatives": 10.5}, "experiment: n_negatives is 10.5"),
        ({"repetitions": 1}, "experiment: repetitions is 1; allowed: a whole number of at least 2"),
        ({"seed": -1}, "experiment: seed is -1"),
        ({"n_items": 0}, "experiment: n_items is 0; allowed: a whole number of at least 2"),
        ({"sampling": "none"}, "sampling is 'none'; allowed: without-replacement, with-replaceme"),
        ({"ties": ["paper"]}, "ties is .'paper'.; allowed: optimistic, paper, pessimistic, random"),
        ({"assumed_sampling": "normal"}, "assumed_sampling is 'normal'; allowed: without-rep"),
        ({"rounding": "ceil"}, "rounding is 'ceil'; allowed: floor, linear"),
        ({"divisor": "n"}, "divisor is 'n'; allowed: m, m.1"),
        ({"shared_samples": "no"}, "shared_samples is 'no'; allowed: True, False"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(InputError, match=message):
        ExperimentSettings(**settings)


def test_more_negatives_than_candidates_are_refused():
    # beside the held-out item the second user has 6 others
    few = Ranks([9, 7, 8], [0, 0, 0], [0, 0, 0])
    run_experiment("E", few, ESTIMATORS[:1], MEASURES, replace(SETTINGS, n_negatives=6))
    message = (
        "^E: experiment: n_negatives is 7; allowed: at most 6, for a user has 7 candidates and "
        "sampling is without-replacement$"
    )
    with pytest.raises(InputError, match=message):
        run_experiment("E", few, ESTIMATORS[:1], MEASURES, replace(SETTINGS, n_negatives=7))
    with pytest.raises(InputError, match="no rank record"):
        run_experiment("E", Ranks([], [], []), ESTIMATORS[:1], MEASURES, SETTINGS)


def by_hand(exact, repeated, mean, sd):
    """An experiment of one measure and one estimator."""
    return Experiment(
        SETTINGS,
        5,
        [parse_measure("ap")],
        [parse_estimator("sampled")],
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
