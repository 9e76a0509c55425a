"""Spread of the numbers over what the paper leaves open: the start of X and the ties of Z."""

import logging
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.seeds import generator
from sampled_metrics._base.threads import one_thread
from sampled_metrics.datasets.split import Split
from sampled_metrics.metrics import Measure, values
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.cells import COUNTS, EXACT, KEY, SPREAD_COLUMNS, scale_of_counts
from sampled_metrics.study.comparison import PERCENT
from sampled_metrics.study.entries import Entry
from sampled_metrics.study.readings import retrained
from sampled_metrics.study.settings import ExperimentSettings

_log = logging.getLogger(__name__)


def ranks_by_start(entry: Entry, split: Split, starts: int, threads: int) -> list[Ranks]:
    """Return the ranks of an als recommender for each of the seeds 0, 1 ... it is trained from."""
    ranks = []
    for seed in range(starts):
        ranks.append(retrained(entry, split, threads, seed=seed))
        _log.info("spread: start %d of %d", seed + 1, starts)
    return ranks


@one_thread()
def spread_table(
    name: str, starts: pd.DataFrame, others: Mapping[str, Ranks], settings: ExperimentSettings
) -> pd.DataFrame:
    """Spread of every cell over the starts of one recommender, and over ties of the others.

    `starts` is the table of `study.starts.table_of_starts`.
    """
    by_ties = [
        spread_over_ties(other, ranks, settings)
        for other, ranks in others.items()
        if ranks.n_tied.mean() > 1
    ]
    return pd.concat([spread_over_starts(name, starts, settings), *by_ties])


def spread_over_starts(
    name: str, starts: pd.DataFrame, settings: ExperimentSettings
) -> pd.DataFrame:
    """Standard deviation of the difference between two starts, for every cell of a recommender.

    The published number and ours each come from one start, so this is the standard deviation over
    starts times the root of 2, in the units of Tables 3 and 4 (counts of a hundred). Cells are
    expectations in closed form, so sampling adds nothing.
    """
    cells = starts[starts["table"].isin((3, COUNTS)) & (starts["row"].str.split().str[0] == name)]
    scale = scale_of_counts(cells["table"], settings.repetitions)
    cells = cells.assign(spread=cells["expected"] * scale)
    table = cells.groupby(KEY, sort=False)["spread"].std(ddof=1).reset_index()
    table["spread"] *= np.sqrt(2.0)
    return table.assign(cause=f"initialisation of {name}")


def spread_over_ties(
    name: str, records: Ranks, settings: ExperimentSettings, draws: int = 1000
) -> pd.DataFrame:
    """Standard deviation of exact metrics, in percent, over random orders of tied candidates.

    The published number comes from one order, ours is the expectation over all.
    """
    rows = []
    for measure in settings.measures:
        orders = (generator(settings.seed, "ties", name, draw) for draw in range(draws))
        spread = PERCENT * float(means_over_orders(measure, records, orders).std(ddof=1))
        rows.append((3, name, measure.label, EXACT, spread, f"tie draw of {name}"))
    return pd.DataFrame(rows, columns=SPREAD_COLUMNS)


def means_over_orders(
    measure: Measure, records: Ranks, generators: Iterable[np.random.Generator]
) -> Float:
    """Mean of an exact metric over users, for one random order of the ties per generator.

    Examples
    --------
    >>> from sampled_metrics.metrics import parse_measure
    >>> seeds = (np.random.default_rng(seed) for seed in range(2))
    >>> means_over_orders(parse_measure("auc"), Ranks([3], [1], [0]), seeds)
    array([0.5, 0.5])
    """
    return np.array([values(measure, records, "random", rng).mean() for rng in generators])
