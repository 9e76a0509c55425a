"""Printed sampled metrics: read, checked, and turned into a range of an exact metric.

Question: which exact metrics are compatible with numbers such as HR@10 = 0.8245 among 100
negatives?

A printed number is a mean over users, each with one held-out item, rounded to the digits shown. Its
expectation is linear in the distribution of true ranks. So the compatible distributions of a class
follow from a programme (see `programme`), and the lowest and highest exact metric among them are
the ends of the range. The class has its shape at all ranks but the last, where further users may
be, up to the share `unscored`.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from numbers import Real
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import issparse
from scipy.special import chdtri, ndtri

from sampled_metrics._base.arguments import check_arguments, whole_number
from sampled_metrics._base.array_types import Float
from sampled_metrics._base.defaults import DEFAULT_CONFIDENCE, DEFAULT_SHAPE, MAX_UNSCORED
from sampled_metrics._base.errors import InputError, format_value
from sampled_metrics.intervals.kernels import ExtremePoints
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.intervals.shapes import shape_factor
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.printed.expectations import exact_metric, extreme_ranks, sampled_moments
from sampled_metrics.printed.programme import (
    MeanConstraints,
    distance_to_class,
    distance_to_point,
    least_mean,
)
from sampled_metrics.ranks import Sampling

Numbers: TypeAlias = Mapping[str, float | str]  # printed metrics by name
Statement: TypeAlias = Numbers | str | Sequence[str]  # also as `HR@10=0.47`, several with blanks
# Around printed numbers: bold and underlined ones, footnotes; and a deviation after them.
_MARKS = re.compile(r"[*_†‡§¶${}]|\\(?:textbf|mathbf|underline)\b")
_DEVIATION = re.compile(r"(?:±|\+/-|\\pm).*", re.DOTALL)
MOST_ITEMS = 10_000_000  # an evaluation with more takes GB
_NO_NUMBERS = "no printed numbers; expected a dictionary such as {'HR@10': 0.8245}"
# Numbers that contradict each other, or the class: p of the chi-square test, so few valid ones are
# refused (make measure PAGE=reported counts them).
_CONTRADICTION_P = 0.005
_NO_DISTANCE = 1e-6  # without users: sum of differences that is the solver's error


class EvaluationSetting(NamedTuple):
    """Facts about the evaluation behind printed means, and assumptions.

    The fields are the parameters of `reported`.
    """

    n_items: int
    n_negatives: int
    n_users: int | None = None
    sampling: str = Sampling.WITHOUT_REPLACEMENT
    shape: str | float = DEFAULT_SHAPE
    unscored: float = MAX_UNSCORED
    runs: int = 1
    confidence: float = DEFAULT_CONFIDENCE


class PrintedMeans(NamedTuple):
    """Printed numbers, and the distributions of true ranks that they allow."""

    texts: list[str]  # such as HR@10=0.8245, for errors
    setting: EvaluationSetting
    constraints: MeanConstraints
    measures: tuple[Measure, ...]

    @property
    def single_ranks(self) -> bool:
        """Whether extreme points are single ranks, because no shape is assumed."""
        return self.constraints.extreme_points.factor == np.inf

    @property
    def allows_random_order(self) -> bool:
        """Whether the numbers are compatible with a random order of the items.

        A random order is at the edge of the class, so only a test of all numbers together excludes
        it.
        """
        n_users = self.setting.n_users
        if n_users is None or self.single_ranks:
            return False
        quantile = float(chdtri(len(self.texts), 1.0 - self.setting.confidence))
        return distance_to_point(self.constraints, -1) <= quantile / n_users


def state_means(printed: Numbers, setting: EvaluationSetting) -> PrintedMeans:
    """State which distributions of true ranks the printed numbers allow.

    Raises
    ------
    InputError
        If a number or the setting cannot be right, if no sampled ranks have all the numbers, or if
        no distribution of the class gives them.
    """
    setting = check_setting(printed, setting)
    texts = [f"{name}={number}" for name, number in printed.items()]
    values, half_units = _values_and_half_units(printed)
    measures = tuple(map(parse_measure, printed))
    credit = np.stack([measure.sampled_values(setting.n_negatives) for measure in measures])
    sampled_ranks = np.arange(1, credit.shape[1] + 1)
    of_sampled_ranks = MeanConstraints.from_ranks(values, half_units, sampled_ranks, credit)
    # The numbers are of the same users, so no sampling error can explain a contradiction here.
    without_error = setting._replace(n_users=None)
    _distance_or_error(of_sampled_ranks, texts, without_error, "no sampled ranks have", remedy="")
    of_true_ranks = _constrain_class(values, half_units, measures, credit[:, -1:], setting)
    claim = "no distribution of true ranks gives"
    remedy = _suggest_assumption(setting)
    distance = _distance_or_error(of_true_ranks, texts, setting, claim, remedy)
    if setting.n_users is not None:
        # Distributions may be farther away than the nearest one of the class by z^2 / D.
        of_true_ranks = of_true_ranks._replace(max_distance=of_true_ranks.max_distance + distance)
    return PrintedMeans(texts=texts, setting=setting, constraints=of_true_ranks, measures=measures)


def _values_and_half_units(printed: Numbers) -> tuple[Float, Float]:
    """Return printed values, and half a unit of their last digits."""
    pairs = [parse_number(name, number) for name, number in printed.items()]
    values = np.array([value for value, _ in pairs])
    half_units = np.array([0.5 * 10.0**-decimals for _, decimals in pairs])
    return values, half_units


def _constrain_class(
    values: Float,
    half_units: Float,
    measures: tuple[Measure, ...],
    last_credit: Float,
    setting: EvaluationSetting,
) -> MeanConstraints:
    """State that true ranks of the class give the printed numbers, to half of the last digit.

    `last_credit` has the metrics of a held-out item that is the last of all; shape (means, 1).
    """
    n = setting.n_items
    factor = shape_factor(setting.shape)
    single_ranks = factor == np.inf
    means, products = sampled_moments(
        measures,
        n,
        setting.n_negatives,
        sampling=Sampling(setting.sampling),
        single_ranks=single_ranks,
        runs=setting.runs,
    )
    deviations, second_moments = _moments_about(values, means, products)
    last_products = np.outer(last_credit, last_credit)[..., None]
    last_deviations, last_second_moments = _moments_about(values, last_credit, last_products)
    max_distance = 0.0  # without users, printed numbers are expectations
    if setting.n_users is not None:
        z = float(ndtri((1.0 + setting.confidence) / 2.0))
        max_distance = z**2 / setting.n_users
    return MeanConstraints(
        values=values,
        half_units=half_units,
        deviations=deviations,
        second_moments=second_moments,
        extreme_points=ExtremePoints(
            factor=factor, last_shaped=0 if single_ranks else n, points=extreme_ranks(n)
        ),
        last_deviations=last_deviations[:, 0],
        last_second_moments=last_second_moments[..., 0],
        max_distance=max_distance,
        max_unscored=setting.unscored,
    )


def _moments_about(values: Float, means: Float, products: Float) -> tuple[Float, Float]:
    """Return v - E(x), and the second moments E((x - v) (y - v)) of metrics x, y about values v.

    The latter are E(x y) - v E(y) - E(x) v' + v v'.

    Parameters
    ----------
    values
        Printed numbers v, shape (means,).
    means, products
        E(x) and E(x y) under each distribution; shapes (means, points) and (means, means, points),
        as those of the results.
    """
    crossed = values[:, None, None] * means
    squares = np.outer(values, values)[..., None]
    return values[:, None] - means, products - crossed - crossed.swapaxes(0, 1) + squares


def _suggest_assumption(setting: EvaluationSetting) -> str:
    """Say which assumption to change if no distribution of the class gives the numbers."""
    factor = shape_factor(setting.shape)
    if factor == np.inf:
        return ""
    weaker_shape = "shape=2 (--shape 2)" if factor < 2.0 else "shape='none' (--shape none)"
    if setting.unscored >= MAX_UNSCORED:
        return f", or try {weaker_shape}"
    return (
        "; are many held-out items not scored at all, as in a split by time? Then pass unscored "
        f"(--unscored). Or try {weaker_shape}"
    )


def _distance_or_error(
    constraints: MeanConstraints,
    texts: list[str],
    setting: EvaluationSetting,
    claim: str,
    remedy: str,
) -> float:
    """Return the distance of printed numbers from the nearest distribution.

    Raises InputError if it is too large, and names the numbers without which it would not be. The
    error begins with `claim` and ends with `remedy`.
    """
    distance = distance_to_class(constraints)
    if distance <= _max_distance(constraints, setting.n_users):
        return distance
    culprits = []
    if len(texts) > 1:
        for index, text in enumerate(texts):
            others = constraints.without(index)
            do_others_agree = distance_to_class(others) <= _max_distance(others, setting.n_users)
            if do_others_agree:
                culprits.append(text)
    raise InputError(
        f"{claim} {' and '.join(texts)} among {setting.n_items:,} candidates; check "
        f"{', '.join(culprits or texts)}, n_negatives and n_items{remedy}"
    )


def _max_distance(constraints: MeanConstraints, n_users: int | None) -> float:
    """Return the largest distance from a class that the error of sampling or solving explains.

    D times the distance is about chi-square, with a degree of freedom for each number.
    """
    if n_users is None:
        return _NO_DISTANCE
    return float(chdtri(constraints.values.size, _CONTRADICTION_P)) / n_users


def check_setting(printed: Numbers, setting: EvaluationSetting) -> EvaluationSetting:
    """Return a setting with Python's whole numbers, or refuse what cannot have been printed."""
    check_arguments(
        n_users=setting.n_users,
        shape=setting.shape,
        confidence=setting.confidence,
        sampling=setting.sampling,
    )
    shape_factor(setting.shape)
    if not isinstance(printed, Mapping) or issparse(printed) or not printed:
        raise InputError(_NO_NUMBERS)
    m = whole_number("n_negatives", setting.n_negatives, 1)
    n = whole_number("n_items", setting.n_items)
    if not m < n <= MOST_ITEMS:
        raise InputError(
            f"n_negatives is {m} and n_items is {n}; expected 1 <= n_negatives < n_items "
            f"<= {MOST_ITEMS:,}"
        )
    runs = whole_number("runs", setting.runs, 1)
    is_number = isinstance(setting.unscored, Real) and not isinstance(setting.unscored, bool)
    if not is_number or not 0.0 <= setting.unscored < 1.0:
        raise InputError(
            f"unscored is {format_value(setting.unscored)}; expected a share, at least 0, below 1"
        )
    n_users = None if setting.n_users is None else int(setting.n_users)
    return setting._replace(n_items=n, n_negatives=m, n_users=n_users, runs=runs)


def exact_range(means: PrintedMeans, measure: Measure) -> Range:
    """Find the range of an exact metric that printed means allow.

    Its ends are the least and the greatest mean among the compatible distributions. Errors of the
    solver are cut off at the metrics that the class has at all.

    Examples
    --------
    >>> setting = EvaluationSetting(n_items=3253, n_negatives=100, n_users=6040)
    >>> means = state_means({"HR@10": "0.8245", "NDCG@10": "0.5905"}, setting)
    >>> low, high, _ = exact_range(means, parse_measure("HR@10"))
    >>> round(low, 3), round(high, 3)
    (0.103, 0.459)
    """
    constraints = means.constraints
    n = means.setting.n_items
    exact = exact_metric(measure, n, means.single_ranks)
    exact_of_last = float(measure.value_at([n], n)[0])
    low = least_mean(constraints, exact, exact_of_last)
    high = -least_mean(constraints, -exact, -exact_of_last)
    if means.allows_random_order:
        of_random_order = float(exact[-1])
        low = min(low, of_random_order)
        high = max(high, of_random_order)
    lowest = min(float(exact.min()), exact_of_last)
    highest = constraints.extreme_points.greatest_mean(exact)
    low, high = np.clip([low, high], lowest, highest).tolist()
    return Range(low, high)


def parse_statement(printed: Statement) -> Numbers:
    """Split texts such as `HR@10=0.47 NDCG@10=0.25` into values by metric.

    Examples
    --------
    >>> parse_statement("HR@10=0.47, NDCG@10 = 0.250")
    {'HR@10': '0.47', 'NDCG@10': '0.250'}
    """
    if isinstance(printed, Mapping):
        return printed
    texts: Sequence[str] = printed
    if isinstance(printed, str):
        without_blanks = re.sub(r"\s*=\s*", "=", printed.strip())
        texts = re.split(r"\s*,\s+|\s+", without_blanks)
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise InputError(_NO_NUMBERS)
    values: dict[str, float | str] = {}
    for text in texts:
        metric, equals, value = text.partition("=")
        if not equals:
            raise InputError(
                f"{format_value(text)}; expected a metric and its value, such as HR@10=0.8245"
            )
        if metric in values:
            raise InputError(f"{metric} is {values[metric]} and {value}; pass one of them")
        values[metric] = value
    return values


def parse_number(name: str, number: float | str) -> tuple[float, int]:
    r"""Return a printed number as a fraction, and its number of decimals.

    Marks around it, such as those of bold numbers or footnotes, and a deviation after it do not
    count.

    Examples
    --------
    >>> parse_number("HR@10", "0.820"), parse_number("HR@10", "82.0 %")
    ((0.82, 3), (0.82, 3))
    >>> parse_number("HR@10", "**.82**±.003"), parse_number("HR@10", r"\textbf{82} ± 1 %")
    ((0.82, 2), (0.82, 2))
    """
    text = _MARKS.sub("", str(number)).strip()
    value = _DEVIATION.sub("", text).strip()
    try:
        decimal = Decimal(value.removesuffix("%").strip())
        is_percentage = text.endswith("%") or value.endswith("%")
        if is_percentage:
            decimal = decimal.scaleb(-2)
        is_fraction = 0 <= decimal <= 1
    except InvalidOperation:
        raise InputError(
            f"{name} is {format_value(number)}; expected a number such as 0.8245"
        ) from None
    if not is_fraction:
        percent = f"; if this is in percent, write {decimal / 100}" if 1 < decimal <= 100 else ""
        raise InputError(f"{name} is {number}; expected a fraction from 0 to 1{percent}")
    n_decimals = max(-int(decimal.as_tuple().exponent), 0)
    return float(decimal), n_decimals


def rounding_interval(value: float, decimals: int) -> tuple[float, float]:
    """Return the ends of the fractions that are rounded to a printed one.

    Examples
    --------
    >>> rounding_interval(0.5, 1)
    (0.45, 0.55)
    """
    half_unit = 0.5 * 10.0**-decimals
    return max(value - half_unit, 0.0), min(value + half_unit, 1.0)


def wilson_interval(
    low: float, high: float, quantile: float, n_users: int | None
) -> tuple[float, float]:
    """Widen an interval of mean metrics by their sampling error; not if `n_users` is None.

    The ends are those of Wilson's intervals about `low` and `high`, for values that vary at most as
    hits do: with e = quantile^2 / n_users, the `quantile` being that of the normal distribution,

        (p + e / 2 -+ sqrt(e p (1 - p) + e^2 / 4)) / (1 + e)   for p = low, high.

    Examples
    --------
    >>> low, high = wilson_interval(0.1, 0.1, quantile=1.96, n_users=100)
    >>> round(low, 3), round(high, 3)
    (0.055, 0.174)
    """
    if n_users is None:
        return low, high
    e = quantile**2 / n_users

    def end(p: float, sign: float) -> float:
        reach = np.sqrt(e * p * (1.0 - p) + e**2 / 4.0)
        return float((p + e / 2.0 + sign * reach) / (1.0 + e))

    return end(low, -1.0), end(high, 1.0)
