"""Score test of means that the same users have: of sampled metrics and of exact ones.

A user's values are functions of the true rank, and of the sampled rank, whose distribution given
the true rank is known. So their means and their covariance are linear in the distribution of true
ranks, apart from the square of the means, and the least distance of the printed means from those of
a distribution of a class is found by least squares with weights of at least 0 on its extreme
points: the ranks 1 ... k, equally likely, if no rank is likelier than a better one, and any
rank k for all other shapes.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.solvers import nearest_weights
from sampled_metrics.inference.averages import moments
from sampled_metrics.inference.printed import PrintedRow
from sampled_metrics.inference.shapes import NON_INCREASING
from sampled_metrics.inference.statement import number_of
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.ranks import Sampling

_SINGLY = 64  # first k that are points
_WIDE = 250  # points in equal proportions
_ROUNDS = 6  # of the covariance
_TURNS = 500  # of active sets; there are hardly more positive weights than numbers
_SUM = 1e4  # weight of the condition that probabilities sum to 1
_APART = 0.001  # probability of a distance that is refused


def go_together(row: PrintedRow, shape: str) -> bool:
    """Test whether one distribution of true ranks gives the sampled and the exact metrics."""
    if not row.exact or row.n_users is None or row.sampling is None:
        return True
    numbers = [*row.printed.items(), *row.exact.items()]
    values = np.array([number_of(name, text)[0] for name, text in numbers])
    steps = np.array([10.0 ** -number_of(name, text)[1] for name, text in numbers])
    course = course_of(
        tuple(map(parse_measure, row.printed)),
        tuple(map(parse_measure, row.exact)),
        row.n_items,
        row.n_negatives,
        row.sampling,
        shape,
    )
    return distance(values, steps, course, row.n_users) <= float(chdtri(values.size, _APART))


class Course(NamedTuple):
    """Expectations under some extreme points of a class of distributions of true ranks."""

    means: Float  # of functions of the true and the sampled rank; shape (functions, points)
    products: Float  # of each two of them; shape (functions, functions, points)


def distance(values: Float, steps: Float, course: Course, n_users: int) -> float:
    """Least distance, by chi-square, of means of users from those of a distribution of a class.

    `steps` are units of the last digit. The covariance is that of the nearest distribution, which
    is found by least squares with weights of at least 0, and again with its covariance.
    """
    own = np.diag(0.25 * steps**2 + n_users**-2.0)  # of rounding, and of one user
    covariance = np.diag(values * (1.0 - values)) / n_users + own
    ones = np.full((1, course.means.shape[1]), _SUM)
    found = np.inf
    for _ in range(_ROUNDS):
        root = np.linalg.inv(np.linalg.cholesky(covariance))
        matrix = np.concatenate([root @ course.means, ones])
        weights = nearest_weights(matrix, np.append(root @ values, _SUM), _TURNS)
        weights /= weights.sum()
        means = course.means @ weights
        covariance = (course.products @ weights - np.outer(means, means)) / n_users + own
        difference = values - means
        found = min(found, float(difference @ np.linalg.solve(covariance, difference)))
    return found


@lru_cache(maxsize=4)  # rows of a table have the same
def course_of(
    sampled: tuple[Measure, ...],
    exact: tuple[Measure, ...],
    n: int,
    m: int,
    sampling: str,
    shape: str,
) -> Course:
    """Expectations of sampled and exact metrics, and of products, under some extreme points.

    Those are the first k, others in equal proportions, and cut-offs.
    """
    singly = min(n, _SINGLY)
    wide = np.geomspace(singly, n, _WIDE).round().astype(np.int64)
    cutoffs = [measure.cutoff or 1 for measure in exact]
    points = np.unique(np.concatenate([np.arange(1, singly), wide, np.minimum(cutoffs, n)]))
    alone = shape != NON_INCREASING
    found = moments(sampled, exact, n, m, Sampling(sampling), alone, points)
    return Course(*found)
