"""The number to quote for an exact metric, from printed sampled ones.

Question: which value of the exact metric is likely, within its range?

The distribution of true ranks is taken to be smooth and of a usual slope, as for sampled ranks
(`estimators.smooth`). The printed means v are taken to be normal about their expectations,

    log P(v | g) = -(E' p - v)' C^-1 (E' p - v) / 2,

with E the expected sampled metrics at each true rank, p the distribution of true ranks, and C the
covariance of means over D users under the likely distribution, plus the error of rounding.

What papers say about their evaluations is not exact: items that users have seen are dropped or
not, ties are broken in some way, n is known roughly. Therefore C is that of 1 / (1/D + 1/3000)
users. Any number from 300 to 10,000 in place of 3,000 gives a root mean square error of the log of
.250 to .264 on docs/atlas/literature.csv, and without it .288 (`make measure PAGE=literature` has
the present numbers).

One number says too little about another metric: of 525 published values, 80 % lay within a factor
of 3.6.
"""

from dataclasses import dataclass

import numpy as np

from sampled_metrics._base.array_types import Float
from sampled_metrics.estimators import smooth
from sampled_metrics.estimators.smooth import Cells, Derivatives, Fit
from sampled_metrics.intervals.quoting import NOT_QUOTED, TOO_WIDE, Quoted, quote
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.printed.statement import PrintedMeans

WHY_NOT_QUOTED = (
    "as one printed number says too little, and so does one no better than a random order's, the "
    f"shape none, or an interval {TOO_WIDE}."
)
_LEAST_NUMBERS = 2  # printed numbers, see above
_SETTING_USERS = 3000.0  # as many users have a sampling error like that of a paper's description
_FITS = 3  # of covariance and distribution in turn; the second changes estimates by 1 %
_LEAST_VARIANCE = 1e-14  # keeps the covariance invertible


@dataclass(frozen=True, eq=False)
class PrintedMeansLikelihood:
    """The likelihood of printed means of sampled metrics, a `smooth.Likelihood`.

    Attributes
    ----------
    expected
        Expected sampled metrics by cell of true ranks; shape (cells, metrics).
    values
        Printed means; shape (metrics,).
    precision
        Inverse of their covariance; shape (metrics, metrics).
    """

    expected: Float
    values: Float
    precision: Float

    def log(self, share: Float) -> float:
        """Return the log likelihood, but for a constant."""
        error = share @ self.expected - self.values
        return -float(error @ self.precision @ error) / 2.0

    def derivatives(self, share: Float) -> Derivatives:
        """Return the derivatives by the log density g of the cells.

        With p = `share` and C^-1 = `precision`, a mean metric has the derivatives
        A_c = p_c (E_c - E' p) by g in each cell c; the matrix A has a column for each metric. Then

            gradient    = -A C^-1 (E' p - v)
            information = A C^-1 A'
            curvature   = A C^-1 A' - diag(gradient) + gradient p' + p gradient'.
        """
        means = share @ self.expected  # E' p
        slopes = share[:, None] * (self.expected - means)  # A, shape (cells, metrics)
        gradient = -slopes @ (self.precision @ (means - self.values))
        information = slopes @ self.precision @ slopes.T
        crossed = np.outer(gradient, share)
        curvature = information - np.diag(gradient) + crossed + crossed.T
        return Derivatives(gradient, curvature, information)


def quote_likely(means: PrintedMeans, measure: Measure, allowed: Range) -> Quoted:
    """Quote an exact metric under the likely distribution, within its range.

    Nothing is quoted from one printed number, if a number is not above that of a random order, if
    no shape is assumed, or if the interval is too wide.
    """
    if len(means.texts) < _LEAST_NUMBERS or means.single_ranks:
        return NOT_QUOTED
    excess_over_random = means.constraints.deviations[:, -1]  # the last point is a random order
    if (excess_over_random <= 0.0).any():
        return NOT_QUOTED
    setting = means.setting
    cells = smooth.rank_cells((measure,), setting.n_items, setting.n_negatives, setting.sampling)
    fit = _fit(means, cells)
    value = float(fit.share @ cells.values[:, 0])
    log_error = float(fit.log_errors(cells.values)[0])
    return quote(value, log_error, allowed, setting.confidence)


def _fit(means: PrintedMeans, cells: Cells) -> Fit:
    """Fit the distribution of true ranks to the printed means.

    The covariance C of the printed means depends on the distribution p, so both are fitted in turn:

        C = (sum over cells c of p_c E_c[x x'] - mean mean') / D + diag(h^2 / 3),

    where D is the effective number of users, 1 / (1 / n_users + 1 / 3000), and h half a unit of the
    last digit: a rounding error is uniform from -h to h, which has the variance h^2 / 3.
    """
    expected, products = _moments_of_cells(means, cells)
    n_users = means.setting.n_users
    inverse_n_users = 1.0 / n_users if n_users else 0.0
    effective_users = 1.0 / (inverse_n_users + 1.0 / _SETTING_USERS)
    rounding = np.diag(means.constraints.half_units**2 / 3.0 + _LEAST_VARIANCE)
    share = cells.share(cells.usual_log_density)
    for _ in range(_FITS):
        mean = share @ expected
        covariance_of_user = np.einsum("c,cij->ij", share, products) - np.outer(mean, mean)
        precision = np.linalg.inv(covariance_of_user / effective_users + rounding)
        likelihood = PrintedMeansLikelihood(expected, means.constraints.values, precision)
        fit = smooth.maximise(cells, likelihood)
        share = fit.share
    return fit


def _moments_of_cells(means: PrintedMeans, cells: Cells) -> tuple[Float, Float]:
    """Return expectations of a user's metrics, and of products of each two, by cell of true ranks.

    Of means over R runs with the same users, only the covariance due to the negatives is divided by
    R: E(x y) = E(x) E(y) + Cov(x, y) / R.

    Returns
    -------
    expected, products
        E(x) and E(x y); shapes (cells, metrics) and (cells, metrics, metrics).
    """
    m = means.setting.n_negatives
    credit = np.stack([measure.sampled_values(m) for measure in means.measures])
    expected = cells.probabilities @ credit.T
    products_in_run = np.einsum("cs,is,js->cij", cells.probabilities, credit, credit)
    products_of_means = expected[:, :, None] * expected[:, None, :]
    covariances = products_in_run - products_of_means
    return expected, products_of_means + covariances / means.setting.runs
