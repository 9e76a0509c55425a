"""Every registered estimator: its name, and moments against a simulation."""

import numpy as np
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import estimator_matrix, parse_estimator, register
from sampled_metrics.estimators.registry import REGISTERED_ESTIMATORS
from sampled_metrics.metrics import known_measures, parse_measure
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling import draw_sampled_ranks, histograms, sampled_rank_distribution
from sampled_metrics_study.experiment import expected_moments, repeated_estimates

N_ITEMS, N_NEGATIVES, USERS, REPETITIONS, RESAMPLES = 200, 15, 120, 1500, 400
DEVIATIONS = 4.5  # one of a thousand cells is outside with probability 0.007


def spellings(name):
    values = {None: ("",), "gamma": (":0.01", ":0.3", ":1"), "iterations": (":1", ":20")}
    return [name + value for value in values[REGISTERED_ESTIMATORS[name].parameter]]


ESTIMATORS = [parse_estimator(text) for name in REGISTERED_ESTIMATORS for text in spellings(name)]
MEASURES = [
    parse_measure(name.replace("@k", "@5").replace("BETA", "2")) for name in known_measures()
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_estimator_name_round_trip(estimator):
    assert parse_estimator(str(estimator)) == estimator
    assert estimator.label[0].isupper()


def test_register_same_name_is_refused():
    with pytest.raises(InputError, match="'cls'"):
        register("cls", label="CLS")(lambda _: None)


@pytest.mark.parametrize("sampling", Sampling)
def test_moments_match_simulation(sampling):
    """Tolerances are bootstrap errors of the simulated mean and deviation."""
    rng = np.random.default_rng(1)
    better = np.minimum(rng.geometric(0.03, USERS), N_ITEMS - 31)
    ranks = Ranks([N_ITEMS] * USERS, better, rng.integers(0, 2, USERS) * rng.integers(0, 30, USERS))
    sampled_ranks = draw_sampled_ranks(ranks, N_NEGATIVES, rng, sampling)
    vectors = estimator_matrix(
        *(ESTIMATORS, MEASURES, N_ITEMS, N_NEGATIVES),
        sampling=sampling,
        histogram=np.bincount(sampled_ranks - 1, minlength=N_NEGATIVES + 1),
    )
    expected = expected_moments(sampled_rank_distribution(ranks, N_NEGATIVES, sampling), vectors)

    estimates = repeated_estimates(
        histograms(ranks, N_NEGATIVES, rng.spawn(REPETITIONS), sampling), vectors
    ).reshape(-1, REPETITIONS)
    centred = estimates - estimates.mean(axis=1, keepdims=True)
    weights = rng.multinomial(REPETITIONS, np.full(REPETITIONS, 1 / REPETITIONS), RESAMPLES)
    means = centred @ weights.T / REPETITIONS
    deviations = np.sqrt(np.maximum(np.square(centred) @ weights.T / REPETITIONS - means**2, 0.0))

    cells = [f"{estimator} of {measure}" for measure in MEASURES for estimator in ESTIMATORS]
    errors = {
        "mean": np.abs(estimates.mean(axis=1) - expected.mean.ravel()),
        "deviation": np.abs(estimates.std(axis=1, ddof=1) - expected.sd.ravel()),
    }
    spreads = {"mean": means.std(axis=1), "deviation": deviations.std(axis=1)}
    for moment, error in errors.items():
        is_large = error > DEVIATIONS * spreads[moment] + 1e-12
        wrong = [cell for cell, large in zip(cells, is_large, strict=True) if large]
        assert not wrong, moment
