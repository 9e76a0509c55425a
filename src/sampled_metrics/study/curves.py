"""The data of Figures 1 to 6."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import (
    Float,
    Int,
    geometric_sizes,
    one_thread,
)
from sampled_metrics._base.files import read_table
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.metrics import Measure, parse_measure
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling import (
    pmf,
)
from sampled_metrics.study.against_samples import CURVES, recall_against_samples
from sampled_metrics.study.cells import EXACT
from sampled_metrics.study.settings import N_ITEMS, ExperimentSettings
from sampled_metrics.study.tables import METRICS, PREDICTED_RANKS

_WITH = Sampling.WITH_REPLACEMENT
_WITHOUT = Sampling.WITHOUT_REPLACEMENT
BUCKET = 100  # ranks in the worst bin of Figure 5
TIES_MATTER = 1  # candidates tied with the held-out item, on average over users
SIZES = (1, 10, 100, 1000)  # samples in Figure 3


@one_thread()
def theory() -> dict[int, pd.DataFrame]:
    """Return the tables of Figures 1 to 4, which need no data."""
    return {
        1: metric_against_rank(),
        2: toy_against_samples(),
        3: sampled_against_rank(),
        4: corrected_ap(),
    }


@one_thread()
def recommenders(
    records: Mapping[str, Ranks], settings: ExperimentSettings, band: Path | None = None
) -> dict[int, pd.DataFrame]:
    """Return the tables of Figures 5 and 6.

    `band` is a file of the lowest and highest curves of Figure 6 over random starts.
    """
    recall = recall_against_samples(records, settings)
    if band is not None:
        recall = pd.concat([recall, read_table(band, CURVES)])
    return {5: rank_distribution(records), 6: recall}


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
        sampled = np.array([measure.in_sample(m) for measure in METRICS])
        for name, ranks in PREDICTED_RANKS.items():
            means = sampled @ pmf(ranks, N_ITEMS, m, _WITHOUT).mean(axis=0)
            rows += [(label, name, m, mean) for label, mean in zip(labels, means, strict=True)]
    return pd.DataFrame(rows, columns=["metric", "recommender", "n_negatives", "value"])


def sampled_against_rank() -> pd.DataFrame:
    """Figure 3: expected sampled metrics at the top 1,000 of n = 10,000, with replacement."""
    ranks = np.r_[1:101, 105:1001:5]
    frames = []
    for measure in METRICS:
        curves = {f"m = {m}": expected_values(measure, ranks, N_ITEMS, m, _WITH) for m in SIZES}
        curves[EXACT] = measure.at(ranks, N_ITEMS)
        for name, value in curves.items():
            columns = {"metric": measure.label, "curve": name, "rank": ranks, "value": value}
            frames.append(pd.DataFrame(columns))
    return pd.concat(frames)


def expected_values(
    measure: Measure, rank: ArrayLike, n: ArrayLike, m: int, sampling: Sampling | str
) -> Float:
    """Average the sampled metric, eq. 16: sum over i of p(sampled rank = i | r) M(i).

    Further parameters are as for `pmf`. Returns fractions, float64, shape (ranks,).

    Examples
    --------
    >>> expected_values(parse_measure("ap"), [1, 2, 3], 3, 1, "with-replacement")
    array([1.  , 0.75, 0.5 ])
    """
    return pmf(rank, n, m, sampling) @ measure.in_sample(m)


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
    """Figure 5: number of users whose held-out item falls in each bin of ranks.

    `ties` is `random`, the expectation over orders of the ties, and for a recommender whose ties
    matter also `pessimistic`, the held-out item ranked last among them. Panel `all` divides the
    interval from the first to the last rank into bins of equal width, at most 100 ranks, and panel
    `top` the first 100 ranks into ten. With fewer than 1,000 candidates bins are ten or a hundred
    times narrower, so that there are at least ten.
    """
    last = max(int(ranks.n_candidates.max()) for ranks in records.values())
    power = 10 ** (len(str(last)) - 1)  # power of ten, at most `last`
    top = max(10, min(100, power))
    edges = {
        "all": equal_bins(last, max(1, min(BUCKET, power // 10))),
        "top": np.arange(0, top + 1, top // 10),
    }
    tables = []
    for name, ranks in records.items():
        policies = ("random", "pessimistic")[: 1 + (ranks.n_tied.mean() > TIES_MATTER)]
        for (panel, ends), ties in product(edges.items(), policies):
            columns = {
                "panel": panel,
                "recommender": name,
                "ties": ties,
                "first_rank": ends[:-1] + 1,
                "last_rank": ends[1:],
                "users": users_by_bucket(ranks, ends, ties),
            }
            tables.append(pd.DataFrame(columns))
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

    It ranks last among tied items if `ties` is `pessimistic`, else the count is the expectation
    over their orders.
    """
    first = ranks.worst_rank
    if ties == "random":
        first = ranks.best_rank
    places = ranks.worst_rank - first + 1
    up_to = np.clip(np.asarray(edges)[:, None] - first + 1, 0, places) / places
    return np.diff(up_to.sum(axis=1))
