"""Whether samples were shared is told from tables that were made either way."""

import numpy as np
import pytest

from sampled_metrics.ranks import Ranks
from sampled_metrics.study.comparison import table3, table4
from sampled_metrics.study.experiment import run_experiment
from sampled_metrics.study.settings import ExperimentSettings
from sampled_metrics.study.sharing import INDEPENDENT, READINGS, SHARED, sharing

USERS, N = 1500, 1000
SETTINGS = ExperimentSettings(
    n_negatives=40, estimators=("sampled", "rank-estimate", "cls", "bv:1", "bv:0.1")
)
BOTH = list(READINGS)[1]


@pytest.fixture(scope="module")
def ranks():
    rng = np.random.default_rng(1)
    better = {name: (rng.beta(0.4, shape, USERS) * (N - 1)).astype(int)
              for name, shape in zip("XYZ", (1.2, 1.3, 1.4), strict=True)}  # fmt: skip
    tied = {"X": 0, "Y": 0, "Z": rng.integers(0, 2, USERS) * (N - 1 - better["Z"])}
    return {name: Ranks([N] * USERS, each, tied[name] + 0 * each) for name, each in better.items()}


def made(ranks, reading):
    """Tables printed after an experiment of that design, and what they say of all readings."""
    settings = SETTINGS.replaced(**READINGS[reading], seed=3)
    experiments = {name: run_experiment(name, each, settings) for name, each in ranks.items()}
    cells = [*table3(experiments).itertuples(), *table4(experiments).itertuples()]
    printed = {
        (cell.row, cell.metric, cell.column): f"{cell.value:.{2 if cell.table == 3 else 0}f}"
        for cell in cells
    }
    return {
        name: [abs(value - float(published)) <= allowed
               for _, value, published, allowed in quantities]
        for name, quantities in sharing(ranks, SETTINGS, lambda *key: printed[key])
    }  # fmt: skip


# of the quantities of a reading: ratios of Y and Z, AUC of Y and Z, multiples, equal counts
def test_shared_samples_are_told_from_independent_ones(ranks):
    fits = made(ranks, SHARED)
    assert all(fits[SHARED])
    assert not fits[INDEPENDENT][0]
    assert not fits[BOTH][3]  # the ties of Z differ between its columns


def test_independent_samples_are_told_from_shared_ones(ranks):
    fits = made(ranks, INDEPENDENT)
    assert all(fits[INDEPENDENT])
    assert not any(fits[SHARED][:2])
    assert not fits[SHARED][4]  # CLS is no multiple of Rank Estimate


def test_shared_ties_are_told_from_others(ranks):
    fits = made(ranks, BOTH)
    assert all(fits[BOTH])
    assert not fits[INDEPENDENT][0]
