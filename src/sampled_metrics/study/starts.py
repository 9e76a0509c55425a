"""What the paper leaves open, and how far it moves the numbers: the start of X, the ties of Z.

Each start of X is also a sampled experiment with a seed of its own, so that what varies between
starts is what varies between two runs of the study.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.seeds import generator
from sampled_metrics._base.threads import one_thread
from sampled_metrics.inference.search import smallest_from
from sampled_metrics.metrics import Measure, values
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.cells import COUNTS, EXACT, KEY, SPREAD_COLUMNS, scale_of_counts
from sampled_metrics.study.comparison import PERCENT, table3, table4
from sampled_metrics.study.experiment import run_experiment
from sampled_metrics.study.sample_sizes import COLUMNS as CURVES
from sampled_metrics.study.sample_sizes import (
    ESTIMATORS,
    RECALL,
    expected_recall,
    lead,
    sample_sizes,
)
from sampled_metrics.study.settings import ExperimentSettings

COLUMNS = ("start", *KEY, "value", "expected")
USERS, SIZES = (5, "users"), (6, RECALL.label)  # of rows on Figures 5 and 6
TOP, HALF = "top 100", "bottom half"


def table_of_starts(
    name: str, starts: Sequence[Ranks], others: Mapping[str, Ranks], settings: ExperimentSettings
) -> pd.DataFrame:
    """Compute Tables 3 and 4 and some numbers on Figures 5 and 6 for each start of a recommender.

    Start i has the seed i + 1, so none repeats the experiment of seed 0.

    Returns
    -------
    Rows with the columns `COLUMNS`. Those of tables 3 and 4 are cells in the units of the tables:
    simulated (`value`) and in expectation. Those of `table` 5 are users of the recommender with a
    rank in the top 100 or the bottom half; those of `table` 6 the smallest m from which on the
    expected estimate orders the first pair as the exact metric does; missing if no size does.
    """
    tables = []
    for start, ranks in enumerate(starts):
        seeded = settings.replaced(seed=settings.seed + start + 1)
        experiments = {
            recommender: run_experiment(recommender, users, seeded)
            for recommender, users in {name: ranks, **others}.items()
        }
        counts = [
            (USERS[0], name, USERS[1], which, users, users)
            for which, users in users_by_rank(ranks).items()
        ]
        cells = [
            table3(experiments),
            table4(experiments),
            pd.DataFrame(counts, columns=COLUMNS[1:]),
        ]
        tables += [table[[*KEY, "value", "expected"]].assign(start=start) for table in cells]
    sizes = smallest_sizes(name, starts, others, settings)
    return pd.concat([*tables, sizes])[list(COLUMNS)].reset_index(drop=True)


def users_by_rank(ranks: Ranks) -> dict[str, int]:
    """Count users whose held-out item ranks at most 100, and in the lower half of its candidates.

    Examples
    --------
    >>> users_by_rank(Ranks([500] * 3, [99, 100, 251], [0, 0, 0]))
    {'top 100': 1, 'bottom half': 1}
    """
    return {
        TOP: int(np.sum(ranks.best_rank <= 100)),
        HALF: int(np.sum(2 * ranks.best_rank > ranks.n_candidates)),
    }


def smallest_sizes(
    name: str, starts: Sequence[Ranks], others: Mapping[str, Ranks], settings: ExperimentSettings
) -> pd.DataFrame:
    """Smallest m from which on each start and the first of the others are ordered correctly."""
    if not others:
        return pd.DataFrame(columns=COLUMNS)
    other = next(iter(others))
    records = {**{str(start): ranks for start, ranks in enumerate(starts)}, other: others[other]}
    sizes = sample_sizes(records)
    exact = {key: values(RECALL, ranks).mean() for key, ranks in records.items()}
    at = expected_recall(records, settings)
    rows = []
    for e, estimator in enumerate(ESTIMATORS):
        for start in range(len(starts)):
            difference = exact[other] - exact[str(start)]
            m = smallest_from(partial(lead, at, str(start), other, e, difference), sizes)
            rows.append((start, SIZES[0], f"{name} vs {other}", SIZES[1], estimator.label, m, m))
    return pd.DataFrame(rows, columns=COLUMNS)


def band_over_starts(
    name: str, starts: Sequence[Ranks], settings: ExperimentSettings
) -> pd.DataFrame:
    """Lowest and highest expected Recall@10 over the starts, at each m of Figure 6.

    Rows have the columns of `study.sample_sizes.recall_against_samples`, with `kind` = `lowest` and
    `highest`.
    """
    records = {str(start): ranks for start, ranks in enumerate(starts)}
    at = expected_recall(records, settings)
    rows = []
    for m in sample_sizes(records):
        for e, estimator in enumerate(ESTIMATORS):
            of_starts = [at(start, e, m).mean for start in records]
            low, high = min(of_starts), max(of_starts)
            rows.append(("lowest", name, estimator.label, m, low))
            rows.append(("highest", name, estimator.label, m, high))
    return pd.DataFrame(rows, columns=CURVES)


@one_thread()
def spread_table(
    name: str, starts: pd.DataFrame, others: Mapping[str, Ranks], settings: ExperimentSettings
) -> pd.DataFrame:
    """Spread of every cell over the starts of one recommender, and over ties of the others."""
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
