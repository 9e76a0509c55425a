"""The data of the figures, as tables: one function per figure."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_table
from sampled_metrics._base.seeds import generator
from sampled_metrics._base.threads import one_thread
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.inference.search import geometric_sizes
from sampled_metrics.metrics.levels import random_rank
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.ranks.reading import read_by_name, sources
from sampled_metrics.sampling import expected_values, pmf
from sampled_metrics.study.cells import EXACT
from sampled_metrics.study.sample_sizes import COLUMNS, recall_against_samples
from sampled_metrics.study.settings import N_ITEMS, ExperimentSettings
from sampled_metrics.study.toy import METRICS, PREDICTED_RANKS

SAMPLE_SIZES = (1, 10, 100, 1000)
TOP_RANKS = 1000
_WITH, _WITHOUT = Sampling.WITH_REPLACEMENT, Sampling.WITHOUT_REPLACEMENT
TIES_MATTER = 1  # candidates tied with the held-out item, on average over users
FIGURE_5 = ["panel", "recommender", "ties", "first_rank", "last_rank", "users"]
CORRECTIONS = ("rank-estimate", "cls", "bv:1", "bv:0.1", "bv:0.01", "bv:0.001")


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
    if not paths:
        raise InputError(f"figure {number} needs rank records")
    records = read_by_name(paths)
    note = f"Ranks: {sources(one.source for one in records.values())}"
    if number == 5:
        return rank_distribution(records, settings.seed), note
    table = recall_against_samples(records, settings)
    if band is not None:
        table = pd.concat([table, read_table(band, COLUMNS)])
    return table, note


def metric_against_rank() -> pd.DataFrame:
    """Figure 1: every metric at the ranks of n = 10,000, all of the top and every 20th below."""
    ranks = _top_and_every(20, 200, N_ITEMS)
    return pd.concat(
        pd.DataFrame({"metric": m.label, "rank": ranks, "value": m.at(ranks, N_ITEMS)})
        for m in METRICS
    )


def _top_and_every(step: int, top: int, last: int) -> np.ndarray:
    """Return the ranks to plot: the first `top`, then every `step`-th up to `last`."""
    return np.concatenate([np.arange(1, top + 1), np.arange(top + step, last + 1, step)])


def toy_against_samples() -> pd.DataFrame:
    """Figure 2: expected sampled metrics of A, B and C for m from 1 to 9,999 = n - 1.

    Without replacement, as Table 2; at m = n - 1 the sampled metric is the exact one.
    """
    rows = []
    for m in geometric_sizes(1, N_ITEMS - 1, 121):
        sampled = np.array([measure.at(np.arange(1, m + 2), m + 1) for measure in METRICS])
        for name, ranks in PREDICTED_RANKS.items():
            means = sampled @ pmf(ranks, N_ITEMS, m, _WITHOUT).mean(axis=0)
            rows += [(each.label, name, m, mean) for each, mean in zip(METRICS, means, strict=True)]
    return pd.DataFrame(rows, columns=["metric", "recommender", "n_negatives", "value"])


def sampled_against_rank() -> pd.DataFrame:
    """Figure 3: expected sampled metrics at the top 1,000 of n = 10,000, with replacement."""
    ranks = _top_and_every(5, 100, TOP_RANKS)
    frames = []
    for measure in METRICS:
        curves = {
            f"m = {m}": expected_values(measure, ranks, N_ITEMS, m, _WITH) for m in SAMPLE_SIZES
        }
        curves[EXACT] = measure.at(ranks, N_ITEMS)
        frames += [
            pd.DataFrame({"metric": measure.label, "curve": name, "rank": ranks, "value": values})
            for name, values in curves.items()
        ]
    return pd.concat(frames)


def corrected_ap(n_negatives: int = 100) -> pd.DataFrame:
    """Figure 4: corrected AP at each sampled rank, and its expectation at each true rank.

    n = 10,000, with replacement, uniform prior (section 5.4); `panel` is `sampled rank` or
    `true rank`, the latter evenly spread on a logarithmic axis.
    """
    measure = parse_measure("ap")
    names = ("sampled", *CORRECTIONS)
    estimators = [parse_estimator(name) for name in names]
    vectors = estimator_matrix(estimators, [measure], N_ITEMS, n_negatives, sampling=_WITH)[0]
    ranks = np.array(geometric_sizes(1, N_ITEMS, 400))
    expectations = vectors @ pmf(ranks, N_ITEMS, n_negatives, _WITH).T
    frames = []
    for estimator, vector, expectation in zip(estimators, vectors, expectations, strict=True):
        label = estimator.label
        frames.append(_curve("sampled rank", label, np.arange(1, n_negatives + 2), vector))
        frames.append(_curve("true rank", label, ranks, expectation))
    frames.append(_curve("true rank", EXACT, ranks, measure.at(ranks, N_ITEMS)))
    return pd.concat(frames)


def _curve(panel: str, curve: str, rank: np.ndarray, value: Float) -> pd.DataFrame:
    return pd.DataFrame({"panel": panel, "curve": curve, "rank": rank, "value": value})


def rank_distribution(records: Mapping[str, Ranks], seed: int) -> pd.DataFrame:
    """Figure 5: number of users whose held-out item falls in each range of ranks.

    `ties` is `random`, one random order of the ties, and for a recommender whose ties matter also
    `pessimistic`, the held-out item ranked last among them. With 1,000 candidates or more, panel
    `all` has ranges of 100 ranks, and panel `top` the first 100 ranks in ranges of 10. With fewer
    candidates the ranges are ten or a hundred times narrower, so that there are at least ten.
    """
    last = max(int(each.n_candidates.max()) for each in records.values())
    power = 10 ** (len(str(last)) - 1)  # of ten, at most `last`
    width, top = max(1, min(100, power // 10)), max(10, min(100, power))
    step = top // 10
    rows: list[tuple[str, str, str, int, int, int]] = []
    for name, users in records.items():
        by_ties = {"random": random_rank(users, generator(seed, "ties", name))}
        if users.n_tied.mean() > TIES_MATTER:
            by_ties["pessimistic"] = users.worst_rank
        for panel, stop, size in (("all", last + width - 1, width), ("top", top, step)):
            edges = np.arange(0, stop + 1, size)
            for ties, ranks in by_ties.items():
                counts = np.histogram(ranks, bins=edges + 0.5)[0]
                rows += [
                    (panel, name, ties, first + 1, end, count)
                    for first, end, count in zip(edges, edges[1:], counts, strict=False)
                ]
    return pd.DataFrame(rows, columns=FIGURE_5)
