"""All random cells of a table judged together, with the covariance that their draws give them."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import solve
from scipy.special import chdtrc

from sampled_metrics._base.arrays import Float
from sampled_metrics.inference.moments import deviations, order_probability
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.cells import COUNTS, REPETITIONS
from sampled_metrics.study.covariance import mean_and_covariance
from sampled_metrics.study.judgement import unit
from sampled_metrics.study.settings import ExperimentSettings

LABELS = ["metric", "column"]
UNDECIDED = 4.0  # standard deviations from 0 up to which an order varies from run to run
_NODES = 100  # of the integral over correlations
SINGULAR = 1e-4  # least eigenvalue of a correlation matrix that is known to about 1e-5


class Joint(NamedTuple):
    """Two tests of all cells together."""

    cells: int
    """Number of cells."""
    independent: float
    """Sum of the squared deviations, each over its own standard error."""
    effective: float
    """Number of independent cells that this sum has the mean and variance of, times a factor."""
    p_independent: float
    """Probability of a sum at least as large (Satterthwaite's approximation)."""
    chi_square: float
    """The deviations in the metric of their covariance; NaN where it is singular."""
    p_value: float
    """Probability of a chi-square at least as large."""


def joint_test(differences: Float, covariance: Float) -> Joint:
    """Test whether differences are those of a normal distribution around 0.

    Examples
    --------
    >>> joint_test(np.array([1.0, 2.0]), np.diag([1.0, 4.0])).chi_square
    2.0
    """
    size = differences.size
    errors = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(errors, errors)
    total = float(np.sum((differences / errors) ** 2))
    squares = float(np.sum(correlation**2))
    effective = size**2 / squares
    by_sum = float(chdtrc(effective, total * size / squares))
    if np.linalg.eigvalsh(correlation)[0] < SINGULAR:
        return Joint(size, total, effective, by_sum, np.nan, np.nan)
    scaled = differences / errors
    whole = float(scaled @ solve(correlation, scaled, assume_a="pos"))
    return Joint(size, total, effective, by_sum, whole, float(chdtrc(size, whole)))


class Estimates(NamedTuple):
    """Mean and covariance of all estimates of a recommender, flat, as fractions."""

    mean: Float
    covariance: Float
    """Shapes (estimates,) and (estimates, estimates)."""
    labels: pd.MultiIndex
    """Metric and estimator of each, as they are labelled in the tables."""

    @classmethod
    def of(cls, ranks: Ranks, settings: ExperimentSettings) -> "Estimates":
        """Compute them in closed form."""
        mean, covariance = mean_and_covariance(ranks, settings)
        labels = [
            [known.label for known in registered]
            for registered in (settings.measures, settings.corrections)
        ]
        square = covariance.reshape(mean.size, mean.size)
        return cls(mean.ravel(), square, pd.MultiIndex.from_product(labels, names=LABELS))


def covariance_of_means(table: int, of_recommender: Estimates) -> pd.DataFrame:
    """Covariance of published means in the unit of the table, by metric and estimator."""
    scale = 100.0 if table == 3 else 1.0
    matrix = scale**2 / REPETITIONS[table] * of_recommender.covariance
    matrix = matrix + unit(table) ** 2 / 12.0 * np.eye(len(matrix))  # of rounding
    return pd.DataFrame(matrix, index=of_recommender.labels, columns=of_recommender.labels)


def covariance_of_counts(a: Estimates, b: Estimates) -> pd.DataFrame:
    """Covariance of the counts of Table 4 of a pair, by metric and estimator.

    The differences of the estimates are taken to be normal, so two of them have the right sign
    with the probability of a quadrant. Counts that hardly vary have no covariance with others.
    """
    covariance = a.covariance + b.covariance
    sd = np.sqrt(np.diag(covariance))
    z = deviations(b.mean - a.mean, sd)
    chances = order_probability(z)
    undecided = np.flatnonzero(np.abs(z) < UNDECIDED)
    pairs = np.ix_(undecided, undecided)
    matrix = np.zeros(covariance.shape)
    correlation = covariance[pairs] / np.outer(sd, sd)[pairs]
    matrix[pairs] = covariance_of_signs(z[undecided][:, None], z[undecided], correlation)
    np.fill_diagonal(matrix, chances * (1.0 - chances))
    return pd.DataFrame(REPETITIONS[COUNTS] * matrix, index=a.labels, columns=a.labels)


def covariance_of_signs(z: Float, other: Float, correlation: Float) -> Float:
    """Covariance of the signs of normal variables of variance 1 (0 or 1), by Plackett's integral.

    Parameters
    ----------
    z, other
        Means of the variables.
    correlation
        Theirs; clipped to -1 ... 1.

    Examples
    --------
    >>> covariance_of_signs(np.zeros(2), np.zeros(2), np.array([0.5, 1.0])).round(6)
    array([0.083333, 0.25    ])
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    half = np.arcsin(np.clip(correlation, -1.0, 1.0))[..., None] / 2.0
    angle = half * (nodes + 1.0)
    squares, product = (z**2 + other**2)[..., None], (z * other)[..., None]
    exponent = (squares / 2.0 - product * np.sin(angle)) / np.cos(angle) ** 2
    return (half * np.exp(-exponent)) @ weights / (2.0 * np.pi)


def joint_table(
    card: pd.DataFrame,
    ranks: Mapping[str, Ranks],
    experiment: ExperimentSettings,
    toys: Mapping[str, Ranks],
    toy: ExperimentSettings,
    starts: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Judge the random cells of Tables 2, 3 and 4 together, by recommender or pair.

    `ranks` and `experiment` are those of Tables 3 and 4, `toys` and `toy` those of Table 2. With
    `starts`, the table of `study.starts`, the difference between two starts is allowed for.

    Returns
    -------
    `table`, `row` and the fields of `Joint`, for each row of the scorecard with random cells.
    """
    known = card[(card["kind"] == "random") & (card["difference"] != "")]
    of_data = {name: Estimates.of(users, experiment) for name, users in ranks.items()}
    of_toys = {name: Estimates.of(users, toy) for name, users in toys.items()}
    rows = []
    for _, cells in known.groupby(["table", "row"], sort=False):
        table, row = int(cells["table"].iloc[0]), str(cells["row"].iloc[0])
        if table == COUNTS:
            covariance = covariance_of_counts(*(of_data[name] for name in row.split(" vs ")))
        else:
            covariance = covariance_of_means(table, (of_data if table == 3 else of_toys)[row])
        labels = pd.MultiIndex.from_frame(cells[LABELS])
        matrix = covariance.loc[labels, labels].to_numpy()
        if starts is not None and table >= 3:
            matrix = matrix + _covariance_of_starts(starts, table, row, labels)
        differences = cells["difference"].to_numpy(dtype=np.float64)
        rows.append((table, row, *joint_test(differences, matrix)))
    return pd.DataFrame(rows, columns=["table", "row", *Joint._fields])


def _covariance_of_starts(
    starts: pd.DataFrame, table: int, row: str, labels: pd.MultiIndex
) -> Float:
    """Covariance of the difference between two starts, which is twice that over starts."""
    cells = starts[(starts["table"] == table) & (starts["row"] == row)]
    wide = cells.pivot(index="start", columns=LABELS, values="expected").reindex(columns=labels)
    return 2.0 * np.cov(wide.to_numpy(dtype=np.float64), rowvar=False).reshape([len(labels)] * 2)
