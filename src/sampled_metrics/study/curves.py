"""The data of Figures 1 to 6, and the ranges of exact metrics that samples allow."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
from scipy.special import ndtri

from sampled_metrics import metrics
from sampled_metrics._base.arrays import Float, Int, generator, geometric_sizes, one_thread
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_table
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.inference.ranges import bracket_users, difference_range
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks, Sampling
from sampled_metrics.ranks.reading import read_by_name, sources
from sampled_metrics.sampling import (
    draw_sampled_ranks,
    expected_values,
    pmf,
    sampled_rank_distribution,
)
from sampled_metrics.study.config import N_ITEMS, ExperimentSettings
from sampled_metrics.study.moments import Moments, deviations
from sampled_metrics.study.tables import (
    EXACT,
    METRICS,
    PREDICTED_RANKS,
    corrected_items,
    estimator_vectors,
)

_WITH, _WITHOUT = Sampling.WITH_REPLACEMENT, Sampling.WITHOUT_REPLACEMENT
TIES_MATTER = 1  # candidates tied with the held-out item, on average over users
RECALL = parse_measure("recall@10")
ESTIMATORS = tuple(parse_estimator(name) for name in ("sampled", "bv:0.1"))  # of Figure 6
SMALLEST = 10  # with fewer negatives, every sampled rank is at most 10
LARGEST = 2000  # beyond it the corrections of a large catalogue take hours to solve
SURE = 0.95
COLUMNS = ["kind", "recommender", "estimator", "n_negatives", "value"]  # of Figure 6
RANGE = ["metric", "n_negatives", "a", "b", "low", "high"]
RANGE_SIZES = (1, 10, 100, 1000)
Expected: TypeAlias = Callable[[str, int, int], Moments]


@one_thread()
def figure_data(
    number: int,
    paths: Sequence[Path],
    settings: ExperimentSettings,
    band: Path | None = None,
) -> tuple[pd.DataFrame, str]:
    """Return the table that a figure plots, and a note on where its ranks come from.

    Figures 1-4 need no ranks; 5 and 6 read rank records, named by their files. Figure 6 also shows
    a band over starts of a recommender, as `study.starts.band_over_starts` computes it.
    """
    theory = (metric_against_rank, toy_against_samples, sampled_against_rank, corrected_ap)
    if number <= len(theory):
        return theory[number - 1](), ""
    records = read_by_name(paths)
    note = f"Ranks: {sources(ranks.source for ranks in records.values())}"
    if number == 5:
        return rank_distribution(records, settings.seed), note
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
    """Figure 2: expected sampled metrics of A, B and C for m from 1 to 9,999 = n - 1.

    Without replacement, as Table 2; at m = n - 1 the sampled metric is the exact one.
    """
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
    """Figure 4: corrected AP at each sampled rank, and its expectation at each true rank.

    n = 10,000, with replacement, uniform prior (section 5.4); `panel` is `sampled rank` or
    `true rank`, the latter evenly spread on a logarithmic axis.
    """
    measure, n_negatives = parse_measure("ap"), 100
    names = ("sampled", "rank-estimate", "cls", "bv:1", "bv:0.1", "bv:0.01", "bv:0.001")
    estimators = [parse_estimator(name) for name in names]
    vectors = estimator_matrix(estimators, [measure], N_ITEMS, n_negatives, sampling=_WITH)[0]
    ranks = np.array(geometric_sizes(1, N_ITEMS, 400))
    expectations = vectors @ pmf(ranks, N_ITEMS, n_negatives, _WITH).T

    sampled, curves = np.arange(1, n_negatives + 2), []
    for estimator, vector, expectation in zip(estimators, vectors, expectations, strict=True):
        curves.append(("sampled rank", estimator.label, sampled, vector))
        curves.append(("true rank", estimator.label, ranks, expectation))
    curves.append(("true rank", EXACT, ranks, measure.at(ranks, N_ITEMS)))
    columns = ("panel", "curve", "rank", "value")
    return pd.concat(pd.DataFrame(dict(zip(columns, one, strict=True))) for one in curves)


def rank_distribution(records: Mapping[str, Ranks], seed: int) -> pd.DataFrame:
    """Figure 5: number of users whose held-out item falls in each range of ranks.

    `ties` is `random`, one random order of the ties, and for a recommender whose ties matter also
    `pessimistic`, the held-out item ranked last among them. With 1,000 candidates or more, panel
    `all` has ranges of 100 ranks, and panel `top` the first 100 ranks in ranges of 10. With fewer
    candidates the ranges are ten or a hundred times narrower, so that there are at least ten.
    """
    last = max(int(ranks.n_candidates.max()) for ranks in records.values())
    power = 10 ** (len(str(last)) - 1)  # of ten, at most `last`
    width, top = max(1, min(100, power // 10)), max(10, min(100, power))
    rows: list[tuple[str, str, str, int, int, int]] = []
    for name, users in records.items():
        place = generator(seed, "ties", name).integers(0, users.n_tied + 1)
        by_ties = {"random": users.best_rank + place}
        if users.n_tied.mean() > TIES_MATTER:
            by_ties["pessimistic"] = users.worst_rank
        for panel, stop, size in (("all", last + width - 1, width), ("top", top, top // 10)):
            edges = np.arange(0, stop + 1, size)
            for ties, ranks in by_ties.items():
                counts = np.histogram(ranks, bins=edges + 0.5)[0]
                rows += [
                    (panel, name, ties, first + 1, end, count)
                    for first, end, count in zip(edges, edges[1:], counts, strict=False)
                ]
    columns = ["panel", "recommender", "ties", "first_rank", "last_rank", "users"]
    return pd.DataFrame(rows, columns=columns)


def recall_against_samples(
    records: Mapping[str, Ranks], settings: ExperimentSettings
) -> pd.DataFrame:
    """Figure 6: expected Recall@10 in percent against m, uncorrected and corrected by BV 0.1.

    From m = 10 to the most that every user has candidates for, but not beyond 2,000; ties at
    random.

    Returns
    -------
    Rows with `kind` = `curve` hold a recommender's expected estimate. Rows with `kind` =
    `ordered` hold for a pair the smallest m from which on, up to the largest, it is ordered as by
    the exact metric, and there the first one's estimate; a pair without such m has no row. Rows
    with `kind` = `sure` hold the same for the first pair and 95 % of single evaluations. Rows with
    `kind` = `exact` hold the exact metric, that of all candidates as negatives.
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
    largest = min(int(ranks.n_candidates.min()) for ranks in records.values()) - 1
    if largest <= SMALLEST:
        raise InputError(
            f"a user has {largest + 1} candidates; Figure 6 needs more than {SMALLEST + 1}"
        )
    return geometric_sizes(SMALLEST, min(largest, LARGEST), 12)


def smallest_from(lead: Callable[[int], float], sizes: Sequence[int]) -> int | None:
    """Find the smallest size from which on `lead` is positive, up to the largest of `sizes`.

    `lead` may change its sign several times and be infinite. Between the last of the increasing
    `sizes` at which it is not positive and the next one, the change is located by interpolation.
    Returns None if `lead` is not positive at the largest.

    Examples
    --------
    >>> smallest_from(lambda m: m * m - 1000.0, [1, 10, 100])
    32
    """
    last = next((i for i in reversed(range(len(sizes))) if lead(sizes[i]) <= 0.0), None)
    if last is None:
        return sizes[0]
    if last == len(sizes) - 1:
        return None
    low, high = sizes[last], sizes[last + 1]
    while high - low > 1:
        below, above, share = lead(low), lead(high), 0.5
        if math.isfinite(below) and math.isfinite(
            above
        ):  # where a line crosses 0, within both ends
            share = min(max(below / (below - above), 0.1), 0.9)
        middle = min(max(round(low + share * (high - low)), low + 1), high - 1)
        low, high = (middle, high) if lead(middle) <= 0.0 else (low, middle)
    return high


def signed_difference(at: Expected, a: str, b: str, estimator: int, exact: float, m: int) -> float:
    """Expected difference b - a, positive if it has the sign of the exact difference."""
    return float(np.sign(exact) * (at(b, estimator, m).mean - at(a, estimator, m).mean))


def _margin(at: Expected, a: str, b: str, estimator: int, exact: float, m: int) -> float:
    """Standard deviations by which that difference exceeds what 95 % of single runs need."""
    sd = np.hypot(at(a, estimator, m).sd, at(b, estimator, m).sd)
    difference = signed_difference(at, a, b, estimator, exact, m)
    return float(deviations(difference, sd) - ndtri(SURE))


def expected_recall(records: Mapping[str, Ranks], settings: ExperimentSettings) -> Expected:
    """Return a function of recommender, place in `ESTIMATORS` and m: moments of Recall@10, percent.

    Its values are cached. It takes one estimator at a time, because searches at large m need only
    the sampled metric.
    """

    @cache
    def vector(estimator: int, n_items: int, m: int) -> Float:
        chosen = (str(ESTIMATORS[estimator]),)
        changed = settings.replaced(metrics=(str(RECALL),), estimators=chosen, n_negatives=m)
        return 100.0 * estimator_vectors(n_items, changed)[0, 0]

    @cache
    def at(name: str, estimator: int, m: int) -> Moments:
        ranks = records[name]
        values = vector(estimator, corrected_items(ranks, settings), m)
        both = np.stack([values, np.square(values)])
        mean, square = _averages(both, ranks, settings.sampling)
        variance = np.maximum(square - np.square(mean), 0.0).sum()  # -1e-16 by rounding
        return Moments(mean.mean(), np.sqrt(variance) / len(ranks))

    return at


def _averages(vectors: Float, ranks: Ranks, sampling: str) -> Float:
    """Average vectors over the sampled rank of each user; shape (vectors, users).

    Beyond the first sampled ranks vectors are constant, to 1e-13, so only the probabilities of
    those are computed, and for users who reach them with a probability above 1e-18.
    """
    m, last = vectors.shape[1] - 1, vectors[:, -1:]
    differs = np.abs(vectors - last) > 1e-13 * np.abs(vectors).max(axis=1, keepdims=True)
    head = int(np.flatnonzero(differs.any(axis=0)).max(initial=0)) + 1
    n, best, worst = ranks.n_candidates, ranks.best_rank, ranks.worst_rank
    expected = m * (best - 1) / (n - 1)
    near = (expected <= head) | (np.square(expected - head) <= 83.0 * expected)
    few = [(n - rank > m) | (n - rank + head <= m) for rank in (best, worst)]
    direct = near & few[0] & few[1] & (sampling == _WITHOUT)
    untied, tied = direct & (ranks.n_tied == 0), direct & (ranks.n_tied > 0)
    chances = np.zeros((head, len(ranks)))
    rest = sampled_rank_distribution(ranks.take(near & ~direct), m, sampling)
    chances[:, near & ~direct] = rest[:, :head].T
    chances[:, untied] = _first(best[untied], n[untied], m, head)
    n, best, worst = n[tied] + 1, best[tied], worst[tied]  # see `_random` in sampling.probability
    steps = _first(best, n, m + 1, head) - _first(worst + 1, n, m + 1, head)
    mean = np.cumsum(steps, axis=0) * (n - 1) / ((m + 1.0) * (worst - best + 1))
    chances[:, tied] = np.maximum(mean, 0.0)
    return last + (vectors[:, :head] - last) @ chances


def _first(rank: Int, n: Int, m: int, count: int) -> Float:
    """Probability of the first sampled ranks, without replacement.

    Either none of m draws may be better, n - rank >= m, or at least `count` must be: chance 0.
    """
    logs = np.cumsum(np.log(np.arange(1, n.max(initial=1) + 1, dtype=np.longdouble)))
    logs = np.concatenate([[0.0], logs])  # of factorials; n - rank of m draws are not better
    rest = n - rank - m
    chance = np.exp(logs[n - rank] - logs[np.maximum(rest, 0)] - logs[n - 1] + logs[n - 1 - m])
    chance, rest = np.where(rest < 0, 0.0, chance), np.where(rest < 0, m, rest)
    chances = np.empty((count, rank.size))
    for i in range(count):
        chances[i] = chance
        chance = chance * ((rank - 1.0 - i) * (m - i) / ((i + 1.0) * (rest + i + 1.0)))
    return chances


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
