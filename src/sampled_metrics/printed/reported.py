"""Range of exact metrics that printed sampled metrics allow.

The method is in `statement` (printed numbers, class, range), `programme` (the least and the
greatest mean among the compatible distributions) and `likely` (the number to quote).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sampled_metrics._base.calls import public, warn_all
from sampled_metrics._base.defaults import DEFAULT_CONFIDENCE, DEFAULT_SHAPE, MAX_UNSCORED, Names
from sampled_metrics._base.records import OMIT_IF_NONE, Record
from sampled_metrics._base.text import BoldNumber, Explanation, Parts, format_interval, format_range
from sampled_metrics._base.threads import one_thread
from sampled_metrics.checks.printed import signs_of_impossible_shares
from sampled_metrics.evaluation.results import Results, quantity
from sampled_metrics.intervals.quoting import NOT_QUOTED, Quoted, none_if_nan
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.intervals.shapes import (
    BEFORE_LAST,
    NONE,
    describe_caveat,
    describe_shape,
    shape_name,
)
from sampled_metrics.metrics.measures import Measure, parse_measure, parse_measures
from sampled_metrics.printed.consistency import find_impossible_shares, not_above_random
from sampled_metrics.printed.likely import WHY_NOT_QUOTED, quote_likely
from sampled_metrics.printed.popular import (
    ABOUT_POPULAR,
    MORE_POPULAR,
    Popularity,
    popular_range,
    read_popularity,
)
from sampled_metrics.printed.statement import (
    EvaluationSetting,
    Numbers,
    Statement,
    check_setting,
    exact_range,
    parse_number,
    parse_statement,
    state_means,
)
from sampled_metrics.ranks import Sampling


@dataclass(frozen=True, eq=False)
class Reported(Record):
    """Range of one exact metric.

    Attributes
    ----------
    metric, reported, printed
        The exact metric, its printed sampled value (None if it was not printed), and all printed
        numbers.
    range_low, range_high
        Lowest and highest value.
    likely, likely_low, likely_high
        The number to quote, and its interval about the exact metric; None if there is none, for
        example from a single printed number.
    shape, n_items, n_negatives, n_users, sampling
        Arguments of `reported`.
    power
        Power of the counts by which negatives were drawn; None for uniform negatives.
    """

    metric: str
    reported: float | None
    range_low: float
    range_high: float
    likely: float | None
    likely_low: float | None
    likely_high: float | None
    shape: str
    n_items: int
    n_negatives: int
    n_users: int | None
    sampling: str
    printed: str
    power: float | None = field(default=None, metadata=OMIT_IF_NONE)


@public()
@one_thread()
def reported(
    printed: Statement,
    metrics: Names | None = None,
    *,
    n_items: int,
    n_negatives: int,
    n_users: int | None = None,
    sampling: str = Sampling.WITHOUT_REPLACEMENT,
    shape: str | float = DEFAULT_SHAPE,
    unscored: float = MAX_UNSCORED,
    runs: int = 1,
    counts: Any = None,
    power: float = 1.0,
    confidence: float = DEFAULT_CONFIDENCE,
) -> Results[Reported]:
    """Compute the range of exact metrics that printed sampled metrics allow.

    Parameters
    ----------
    printed
        Sampled metrics by name, as fractions: means over users with one held-out item each, rounded
        to the digits shown. Numbers as text, such as "0.820", keep their zeros. Or one text with
        all, such as "HR@10=0.8245 NDCG@10=0.5905".
    metrics
        Exact metrics, by default the printed ones.
    n_items, n_negatives
        Candidates of a full ranking, that is the held-out item and all items that a user has not
        seen, and negatives drawn uniformly for each user.
    n_users
        Number of users averaged over. Without it the printed numbers are treated as exact
        expectations, and the range is too narrow by the sampling error.
    sampling, shape
        How negatives were drawn, and the assumption about true ranks, as for `correct`.
    unscored
        Largest share of users whose held-out item comes last because the recommender does not score
        it, such as a new item in a split by time. The shape holds for the other users. By default
        almost any share is possible; with 0 the shape holds down to the last rank.
    runs
        Number of runs that the printed numbers are means of: over the same users, with new
        negatives in each run.
    counts, power
        For negatives drawn by popularity: the count of each item, or events, as for `correct`, and
        the power of counts in proportion to which they were drawn. The range is then wide, and no
        number is quoted.
    confidence
        Nominal coverage of each range.

    Returns
    -------
    Results
        A list with the range of each metric, which prints as a table.

    Raises
    ------
    InputError
        If the data or an option is invalid; the message says where, why and what to do.

    See Also
    --------
    check : A whole table of printed numbers, and the orders that it decides.
    correct : The same from sampled ranks.

    References
    ----------
    W. Krichene and S. Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020.

    Examples
    --------
    >>> paper = {"HR@10": 0.8245, "NDCG@10": 0.5905}
    >>> result = reported(paper, "HR@10", n_items=3253, n_negatives=100, n_users=6040)[0]
    >>> round(result.range_low, 3), round(result.range_high, 3)
    (0.103, 0.459)
    """
    setting = EvaluationSetting(
        n_items=n_items,
        n_negatives=n_negatives,
        n_users=n_users,
        sampling=sampling,
        shape=shape,
        unscored=unscored,
        runs=runs,
        confidence=confidence,
    )
    numbers = parse_statement(printed)
    setting = check_setting(numbers, setting)
    popularity = read_popularity(counts, power)
    results = _compute_ranges(numbers, metrics, setting, popularity)
    shares = find_impossible_shares(numbers.items(), setting.n_users, setting.runs)
    if shares is not None:
        users = quantity(shares.n_users * shares.runs, "user")
        warn_all(signs_of_impossible_shares(shares.numbers, users))
    names_not_above_random: list[str] = []
    has_shape_at_all_ranks = not unscored and shape_name(shape) != NONE
    if has_shape_at_all_ranks and popularity is None:
        names_not_above_random = not_above_random(numbers, setting.n_negatives)
    show = partial(_format_results, confidence=confidence, low=names_not_above_random)
    return Results(results, show)


def _compute_ranges(
    numbers: Numbers,
    metrics: Names | None,
    setting: EvaluationSetting,
    popularity: Popularity | None,
) -> list[Reported]:
    """Compute the range of each metric, and the number to quote.

    `metrics` are by default the printed ones.
    """
    values_and_decimals = {
        parse_measure(name): parse_number(name, number) for name, number in numbers.items()
    }
    printed_values = {measure: value for measure, (value, _) in values_and_decimals.items()}
    measures = parse_measures(list(numbers) if metrics is None else metrics)
    ranges, quotes = _ranges_and_quotes(numbers, setting, measures, popularity)
    return [
        Reported(
            metric=str(measure),
            reported=printed_values.get(measure),
            range_low=allowed.low,
            range_high=allowed.high,
            likely=none_if_nan(quoted.value),
            likely_low=none_if_nan(quoted.low),
            likely_high=none_if_nan(quoted.high),
            shape=shape_name(setting.shape),
            n_items=setting.n_items,
            n_negatives=setting.n_negatives,
            n_users=setting.n_users,
            sampling=str(setting.sampling),
            printed=" ".join(f"{name}={number}" for name, number in numbers.items()),
            power=None if popularity is None else popularity.power,
        )
        for measure, allowed, quoted in zip(measures, ranges, quotes, strict=True)
    ]


def _ranges_and_quotes(
    numbers: Numbers,
    setting: EvaluationSetting,
    measures: Sequence[Measure],
    popularity: Popularity | None,
) -> tuple[list[Range], list[Quoted]]:
    """Compute ranges and numbers to quote from uniform negatives, or from those by popularity.

    Negatives by popularity (`popularity` is not None) give no number to quote.
    """
    if popularity is not None:
        ranges = [popular_range(numbers, setting, measure, popularity) for measure in measures]
        return ranges, [NOT_QUOTED] * len(measures)
    means = state_means(numbers, setting)
    ranges = [exact_range(means, measure) for measure in measures]
    quotes = [
        quote_likely(means, measure, allowed)
        for measure, allowed in zip(measures, ranges, strict=True)
    ]
    return ranges, quotes


def _format_results(results: list[Reported], confidence: float, low: list[str]) -> Parts:
    """Write a table of ranges, and notes; `low` names numbers not above those of a random order."""
    rows = [
        {
            "metric": result.metric,
            "range": format_range(result.range_low, result.range_high),
            "likely": None if result.likely is None else BoldNumber(result.likely),
            "likely in": format_interval(result.likely_low, result.likely_high),
        }
        for result in results
    ]
    lines = [_describe_assumptions(results[0], confidence)]
    if low:
        lines.append(
            f"{' and '.join(low)}: a random order has as much, or more. Are many held-out items "
            "not scored at all, as in a split by time? Then the range is too low; see unscored "
            "(--unscored)."
        )
    explanation = _explain_results(results)
    return [rows, "\n".join(lines), *([explanation] if explanation else [])]


def _explain_results(results: list[Reported]) -> Explanation:
    """Explain what the ranges assume, and how to read likely values, or why there are none."""
    lines = []
    is_popular = results[0].power is not None
    caveat = describe_caveat(results[0].shape)
    if caveat and not is_popular:
        lines.append(caveat)
    if any(result.likely is not None for result in results):
        lines.append(
            "likely: the number to quote; likely in: its interval about the exact metric, which "
            "contained 19 of 20 published ones. A random order of many items comes out at twice "
            "its value, and a flat top too low."
        )
    if is_popular:
        lines.append(ABOUT_POPULAR)
    elif any(result.likely is None for result in results):
        lines.append(f"likely: -, {WHY_NOT_QUOTED}")
    return Explanation("\n".join(lines))


def _describe_assumptions(result: Reported, confidence: float) -> str:
    """Describe the errors that a range includes, and its assumptions."""
    users = "no sampling error, because the number of users is not given"
    if result.n_users is not None:
        users = f"{quantity(result.n_users, 'user')}, at {100 * confidence:g} %"
    way = "uniformly"
    assumption = describe_shape(result.shape, where=BEFORE_LAST)
    if result.power is not None:
        way = f"by counts to the power {result.power:g}"
        assumption += f"; and that {MORE_POPULAR}"
    return (
        f"From {result.printed}: {quantity(result.n_negatives, 'negative')} drawn {way} "
        f"{result.sampling.replace('-', ' ')}; {result.n_items:,} candidates; {users}, "
        f"{assumption}."
    )
