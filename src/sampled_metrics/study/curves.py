"""The data of Figures 1 to 6, and the ranges of exact metrics that samples allow."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import combinations, product
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtri

from sampled_metrics import metrics
from sampled_metrics._base.arrays import (
    MEMORY,
    Float,
    Int,
    blocks,
    generator,
    geometric_sizes,
    one_thread,
)
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_table
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.estimators.least_squares import rank_rule
from sampled_metrics.inference.ranges import bracket_users, difference_range
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks, Sampling
from sampled_metrics.ranks.records import sources
from sampled_metrics.sampling import (
    draw_sampled_ranks,
    expected_values,
    pmf,
    sampled_rank_distribution,
)
from sampled_metrics.sampling.probability import likely_columns, pmf_at
from sampled_metrics.study.moments import Moments, deviations
from sampled_metrics.study.settings import N_ITEMS, ExperimentSettings
from sampled_metrics.study.tables import EXACT, METRICS, PREDICTED_RANKS, corrected_items

_WITH = Sampling.WITH_REPLACEMENT
_WITHOUT = Sampling.WITHOUT_REPLACEMENT
BUCKET = 100  # ranks in the worst bin of Figure 5
TIES_MATTER = 1  # candidates tied with the held-out item, on average over users
RECALL = parse_measure("recall@10")
ESTIMATORS = tuple(parse_estimator(name) for name in ("sampled", "bv:0.1"))  # of Figure 6
SMALLEST = 10  # with fewer negatives, every sampled rank is at most 10
LARGEST = 2000  # beyond it the corrections of a large catalogue take hours to solve
SURE = 0.95
COLUMNS = ["kind", "recommender", "estimator", "n_negatives", "value"]  # of Figure 6
DISTRIBUTION = ("panel", "recommender", "ties", "first_rank", "last_rank", "users")  # Figure 5
RANGE = ["metric", "n_negatives", "a", "b", "low", "high"]
RANGE_SIZES = (1, 10, 100, 1000)
Expected: TypeAlias = Callable[[str, int, int], Moments]


@one_thread()
def figure_data(
    number: int,
    records: Mapping[str, Ranks],
    settings: ExperimentSettings,
    band: Path | None = None,
) -> tuple[pd.DataFrame, str]:
    """Return the table that a figure plots, and a note on where its ranks come from.

    Figures 5 and 6 need the ranks of recommenders; 6 also reads a `band_over_starts`.
    """
    theory = (metric_against_rank, toy_against_samples, sampled_against_rank, corrected_ap)
    if number <= len(theory):
        return theory[number - 1](), ""
    note = f"Ranks: {sources(ranks.source for ranks in records.values())}"
    if number == 5:
        return rank_distribution(records), note
    table = recall_against_samples(records, settings)
    if band is not None:
        table = pd.concat([table, read_table(band, COLUMNS)])
    return table, note


def metric_against_rank() -> pd.DataFrame:
    """Figure 1: every metric at the ranks of n = 10,000, all of the top and every 20th below."""
    ranks = np.r_[1:201, 220 : N_ITEMS + 1 : 20]
    return pd.concat(
        pd.DataFrame({"metric": m.label, "rank": ranks, "value": m.at(ranks, N_ITEMS)})
        for m in METRICS
    )


def toy_against_samples() -> pd.DataFrame:
    """Figure 2: expected sampled metrics of A, B and C, without replacement, m up to n - 1."""
    rows = []
    labels = [measure.label for measure in METRICS]
    for m in geometric_sizes(1, N_ITEMS - 1, 121):
        sampled = np.array([measure.at(np.arange(1, m + 2), m + 1) for measure in METRICS])
        for name, ranks in PREDICTED_RANKS.items():
            means = sampled @ pmf(ranks, N_ITEMS, m, _WITHOUT).mean(axis=0)
            rows += [(label, name, m, mean) for label, mean in zip(labels, means, strict=True)]
    return pd.DataFrame(rows, columns=["metric", "recommender", "n_negatives", "value"])


def sampled_against_rank() -> pd.DataFrame:
    """Figure 3: expected sampled metrics at the top 1,000 of n = 10,000, with replacement."""
    ranks = np.r_[1:101, 105:1001:5]
    frames = []
    for measure in METRICS:
        table = pd.DataFrame({"metric": measure.label, "curve": "", "rank": ranks})
        for m in (1, 10, 100, 1000):
            value = expected_values(measure, ranks, N_ITEMS, m, _WITH)
            frames.append(table.assign(curve=f"m = {m}", value=value))
        frames.append(table.assign(curve=EXACT, value=measure.at(ranks, N_ITEMS)))
    return pd.concat(frames)


def corrected_ap() -> pd.DataFrame:
    """Figure 4: corrected AP at each sampled rank, and expected at each true rank (section 5.4)."""
    measure = parse_measure("ap")
    n_negatives = 100
    names = ("sampled", "rank-estimate", "cls", "bv:1", "bv:0.1", "bv:0.01", "bv:0.001")
    estimators = [parse_estimator(name) for name in names]
    vectors = estimator_matrix(estimators, [measure], N_ITEMS, n_negatives, sampling=_WITH)[0]
    ranks = np.array(geometric_sizes(1, N_ITEMS, 400))
    expectations = vectors @ pmf(ranks, N_ITEMS, n_negatives, _WITH).T

    sampled = np.arange(1, n_negatives + 2)
    curves = []
    for estimator, vector, expectation in zip(estimators, vectors, expectations, strict=True):
        curves.append(("sampled rank", estimator.label, sampled, vector))
        curves.append(("true rank", estimator.label, ranks, expectation))
    curves.append(("true rank", EXACT, ranks, measure.at(ranks, N_ITEMS)))
    columns = ("panel", "curve", "rank", "value")
    return pd.concat(pd.DataFrame(dict(zip(columns, one, strict=True))) for one in curves)


def rank_distribution(records: Mapping[str, Ranks]) -> pd.DataFrame:
    """Figure 5: number of users whose held-out item falls in each range of ranks.

    `ties` is `random`, the expectation over orders of the ties, and for a recommender whose ties
    matter also `pessimistic`, the held-out item ranked last among them. Panel `all` divides the
    interval from the first to the last rank into bins of equal width, at most 100 ranks, and panel
    `top` the first 100 ranks into ten. With fewer than 1,000 candidates bins are ten or a hundred
    times narrower, so that there are at least ten.
    """
    last = max(int(ranks.n_candidates.max()) for ranks in records.values())
    power = 10 ** (len(str(last)) - 1)  # of ten, at most `last`
    width = max(1, min(BUCKET, power // 10))
    top = max(10, min(100, power))
    edges = {
        "all": equal_bins(last, width),
        "top": np.arange(0, top + 1, top // 10),
    }
    tables = []
    for name, ranks in records.items():
        policies = ("random", "pessimistic")[: 1 + (ranks.n_tied.mean() > TIES_MATTER)]
        for panel, ties in product(edges, policies):
            ends = edges[panel]
            about = {"panel": panel, "recommender": name, "ties": ties}
            table = pd.DataFrame({"first_rank": ends[:-1] + 1, "last_rank": ends[1:]})
            table["users"] = users_by_bucket(ranks, ends, ties)
            tables.append(table.assign(**about)[list(DISTRIBUTION)])
    return pd.concat(tables)


def equal_bins(last: int, width: int) -> Int:
    """Return the last rank of each of the equal bins over [1, last], after a 0.

    There are as many bins as buckets of `width` ranks would be. A rank on an edge belongs to the
    bin above, as in `numpy.histogram`.

    Examples
    --------
    >>> equal_bins(23, 10)
    array([ 0,  8, 15, 23])
    """
    count = -(-last // width)
    edges = np.linspace(1, last, count + 1)
    below = np.ceil(edges).astype(np.int64) - 1
    below[-1] = last
    return below


def users_by_bucket(ranks: Ranks, edges: Int | Sequence[int], ties: str) -> Float:
    """Count users whose held-out item ranks after one edge and up to the next.

    It is last among tied items if `ties` is `pessimistic`, else the count is expected over their
    orders.
    """
    first = ranks.worst_rank
    if ties == "random":
        first = ranks.best_rank
    places = ranks.worst_rank - first + 1
    up_to = np.clip(np.asarray(edges)[:, None] - first + 1, 0, places) / places
    return np.diff(up_to.sum(axis=1))


def in_worst_bucket(ranks: Ranks, ties: str, width: int = BUCKET) -> int:
    """Count, to the nearest whole user, those in the last `width` ranks, as Figure 5 does."""
    last = int(ranks.n_candidates.max())
    return round(float(users_by_bucket(ranks, [last - width, last], ties)[0]))


def recall_against_samples(
    records: Mapping[str, Ranks], settings: ExperimentSettings
) -> pd.DataFrame:
    """Figure 6: expected Recall@10 in percent against m, uncorrected and corrected by BV 0.1.

    From m = 10 to the most that every user has candidates for, but not beyond 2,000; ties at
    random. Rows by `kind`: `curve`, the expected estimate of a recommender; `ordered`, the smallest
    m from which on, up to the largest, a pair is ordered as by the exact metric, and there the
    estimate of the first, 10 if it is at all m; `sure`, the same for the first pair and 95 % of
    single evaluations; `exact`, the exact metric, that of all candidates as negatives.
    """
    sizes = sample_sizes(records)
    exact = {name: 100.0 * metrics.values(RECALL, ranks).mean() for name, ranks in records.items()}
    at = expected_recall(records, settings)
    pairs = list(combinations(records, 2))
    conditions = [("ordered", *pair, signed_difference) for pair in pairs]
    conditions += [("sure", *pair, _margin) for pair in pairs[:1]]
    rows = []
    for e, estimator in enumerate(ESTIMATORS):
        label = estimator.label
        for name in records:
            rows += [("curve", name, label, m, at(name, e, m).mean) for m in sizes]
        for kind, a, b, condition in conditions:
            smallest = smallest_from(partial(condition, at, a, b, e, exact[b] - exact[a]), sizes)
            if smallest is not None:
                rows.append((kind, f"{a} vs {b}", label, smallest, at(a, e, smallest).mean))
    for name, ranks in records.items():
        rows.append(("exact", name, EXACT, ranks.mean_candidates - 1, exact[name]))
    return pd.DataFrame(rows, columns=COLUMNS)


def sample_sizes(records: Mapping[str, Ranks]) -> list[int]:
    """Return the m of Figure 6."""
    fewest = min(int(ranks.n_candidates.min()) for ranks in records.values())
    if fewest <= SMALLEST + 1:
        raise InputError(f"a user has {fewest} candidates; Figure 6 needs more than {SMALLEST + 1}")
    return geometric_sizes(SMALLEST, min(fewest - 1, LARGEST), 12)


def smallest_from(lead: Callable[[int], float], sizes: Sequence[int]) -> int | None:
    """Find the smallest size from which on `lead` is positive, up to the largest of `sizes`.

    It may change its sign several times, between the increasing `sizes` once. Returns None if it
    is not positive at the largest.
    """
    last = next((i for i in reversed(range(len(sizes))) if lead(sizes[i]) <= 0.0), None)
    if last is None:
        return sizes[0]
    if last == len(sizes) - 1:
        return None
    between = range(sizes[last] + 1, sizes[last + 1])
    return between.start + bisect_left(between, True, key=lambda m: lead(m) > 0.0)


def signed_difference(at: Expected, a: str, b: str, estimator: int, exact: float, m: int) -> float:
    """Expected difference b - a, positive if it has the sign of the exact difference."""
    return float(np.sign(exact) * (at(b, estimator, m).mean - at(a, estimator, m).mean))


def _margin(at: Expected, a: str, b: str, estimator: int, exact: float, m: int) -> float:
    """Standard deviations by which that difference exceeds what 95 % of single runs need."""
    sd = np.hypot(at(a, estimator, m).sd, at(b, estimator, m).sd)
    difference = signed_difference(at, a, b, estimator, exact, m)
    return float(deviations(difference, sd) - ndtri(SURE))


def expected_recall(records: Mapping[str, Ranks], settings: ExperimentSettings) -> Expected:
    """Return a cached function of recommender, place in `ESTIMATORS`, m: moments in percent."""

    @cache
    def vector(estimator: int, n: int, m: int) -> Float:
        gamma = ESTIMATORS[estimator].parameter
        if gamma is None:
            return 100.0 * RECALL.at(np.arange(1, m + 2), m + 1)
        return 100.0 * _bias_variance(n, m, settings.correction_sampling, gamma)

    @cache
    def at(name: str, estimator: int, m: int) -> Moments:
        ranks = records[name]
        values = vector(estimator, corrected_items(ranks, settings), m)
        both = np.stack([values, np.square(values)])
        mean, square = _averages(both, ranks, settings.sampling)
        variance = np.maximum(square - np.square(mean), 0.0).sum()  # -1e-16 by rounding
        return Moments(mean.mean(), np.sqrt(variance) / len(ranks))

    return at


def _bias_variance(n: int, m: int, sampling: Sampling | str, gamma: float) -> Float:
    """Solve eq. 25 for Recall@10 by normal equations, of condition 1 / gamma: half the time."""
    ranks, weights = rank_rule([RECALL], n, m)
    gram = np.zeros((m + 1, m + 1))
    target = np.zeros(m + 1)
    marginal = np.zeros(m + 1)
    better = (ranks - 1.0) / (n - 1.0)
    for rows in blocks(ranks.size, m + 1, MEMORY):
        likely = likely_columns(better[rows].min(), better[rows].max(), m, sampling)
        grid = pmf_at(ranks[rows], n, m, sampling, likely)
        columns = slice(likely.start, likely.stop)
        marginal[columns] += weights[rows] @ grid
        target[columns] += (weights[rows] * RECALL.at(ranks[rows], n)) @ grid
        grid *= np.sqrt(weights[rows])[:, None]
        gram[columns, columns] += grid.T @ grid
    root = np.sqrt(marginal)
    gram *= (1.0 - gamma) / np.outer(root, root)
    gram[np.diag_indices(m + 1)] += gamma
    return cho_solve(cho_factor(gram, overwrite_a=True), target / root) / root


def _averages(vectors: Float, ranks: Ranks, sampling: str) -> Float:
    """Average vectors, constant beyond some sampled rank, for each user; shape (vectors, users)."""
    m = vectors.shape[1] - 1
    last = vectors[:, -1:]
    differs = np.abs(vectors - last) > 1e-13 * np.abs(vectors).max(axis=1, keepdims=True)
    head = int(np.flatnonzero(differs.any(axis=0)).max(initial=0)) + 1
    weights = vectors[:, :head] - last
    n = ranks.n_candidates
    best = ranks.best_rank
    worst = ranks.worst_rank
    few = [(n - rank > m) | (n - rank + head <= m) for rank in (best, worst)]
    direct = few[0] & few[1] & (sampling == _WITHOUT)
    untied = direct & (ranks.n_tied == 0)
    tied = direct & (ranks.n_tied > 0)
    averages = np.empty((len(vectors), len(ranks)))
    rest = sampled_rank_distribution(ranks.take(~direct), m, sampling)
    averages[:, ~direct] = weights @ rest[:, :head].T
    averages[:, untied] = weights @ _first(best[untied], n[untied], m, head)
    n = n[tied] + 1  # see `_random` in sampling.probability
    best = best[tied]
    worst = worst[tied]
    steps = _first(best, n, m + 1, head) - _first(worst + 1, n, m + 1, head)
    mean = np.cumsum(steps, axis=0) * (n - 1) / ((m + 1.0) * (worst - best + 1))
    averages[:, tied] = weights @ np.maximum(mean, 0.0)
    return last + averages


def _first(rank: Int, n: Int, m: int, count: int) -> Float:
    """Probability of the first sampled ranks, without replacement.

    Either none of m draws may be better, n - rank >= m, or at least `count` must be: chance 0.
    """
    logs = _log_factorials(int(n.max(initial=1)))  # n - rank of m draws are not better
    rest = n - rank - m
    log_chance = logs[n - rank] - logs[np.maximum(rest, 0)] - logs[n - 1] + logs[n - 1 - m]
    chance = np.exp(log_chance.astype(np.float64))
    chance = np.where(rest < 0, 0.0, chance)
    rest = np.where(rest < 0, m, rest)
    chances = np.empty((count, rank.size))
    ratio = np.empty(rank.size)
    chances[0] = chance
    for i in range(count - 1):
        np.subtract(rank, i + 1.0, out=ratio)
        ratio *= (m - i) / (i + 1.0)
        ratio /= rest + (i + 1.0)
        np.multiply(chances[i], ratio, out=chances[i + 1])
    return chances


@lru_cache(maxsize=8)
def _log_factorials(last: int) -> NDArray[np.longdouble]:
    """Logarithms of the factorials of 0 ... `last`."""
    logs = np.log(np.arange(1, last + 1, dtype=np.longdouble))
    return np.concatenate([[0.0], np.cumsum(logs)])


def allowed_ranges(
    records: Mapping[str, Ranks],
    names: Sequence[str],
    seed: int = 0,
    sizes: Sequence[int] = RANGE_SIZES,
) -> pd.DataFrame:
    """Compute the ranges of exact metrics that one draw of negatives of each size allows.

    Negatives are drawn without replacement for each recommender, and ranges assume that near
    the top no rank is likelier than the one before it. Columns `RANGE`: a range is of the exact
    metric of `a`, or of the difference b - a where `b` is not empty.
    """
    measures = [parse_measure(name) for name in names]
    fewest = min(int(ranks.n_candidates.min()) for ranks in records.values())
    rows = []
    for m in (m for m in sizes if m < fewest):
        brackets = {}
        for name, ranks in records.items():
            rng = generator(seed, "ranges", name, m)
            drawn = draw_sampled_ranks(ranks, m, rng, _WITHOUT, "random")
            sample = SampledRanks(drawn, ranks.n_candidates, m, _WITHOUT, users=ranks.users)
            brackets[name] = bracket_users(tuple(measures), sample)
        for place, metric in enumerate(map(str, measures)):
            for name, bracket in brackets.items():
                single = bracket.range(place)
                rows.append((metric, m, name, "", single.low, single.high))
            for a, b in combinations(brackets, 2):
                both = difference_range(brackets[a], brackets[b], place)
                rows.append((metric, m, a, b, both.low, both.high))
    return pd.DataFrame(rows, columns=RANGE)
