"""The study's numbers for several starts of a recommender that is trained from a random one.

Each start is also a sampled experiment with a seed of its own, so that what varies between them
is what varies between two runs of the study.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from sampled_metrics.inference.search import smallest_from
from sampled_metrics.metrics import values
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.cells import KEY
from sampled_metrics.study.comparison import table3, table4
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
