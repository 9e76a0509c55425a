"""The toy recommenders A, B and C (sections 3.2 and 4.2): Tables 1 and 2."""

import numpy as np
import pandas as pd

from sampled_metrics._base.threads import one_thread
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.cells import EXACT, Row
from sampled_metrics.study.comparison import metric_rows
from sampled_metrics.study.experiment import run_experiment
from sampled_metrics.study.settings import N_ITEMS, ExperimentSettings, ToySettings

PREDICTED_RANKS = {
    "A": (100, 100, 100, 100, 100),
    "B": (40, 40, 8437, 9266, 4482),
    "C": (212, 2, 743, 5342, 1548),
}
METRICS = tuple(parse_measure(name) for name in ("auc", "ap", "ndcg", "recall@10"))


def toy_ranks(recommender: str) -> Ranks:
    """Return the ranks of a toy recommender, which has no ties.

    Examples
    --------
    >>> toy_ranks("C").best_rank.tolist()
    [212, 2, 743, 5342, 1548]
    """
    ranks = np.array(PREDICTED_RANKS[recommender])
    source = "toy recommenders of section 3.2"
    return Ranks(np.full(ranks.size, N_ITEMS), ranks - 1, np.zeros_like(ranks), source=source)


def toy_experiment(settings: ToySettings) -> ExperimentSettings:
    """Return the settings of Table 2 as those of an experiment."""
    return ExperimentSettings(
        **settings.model_dump(), metrics=tuple(map(str, METRICS)), estimators=("sampled",)
    )


@one_thread()
def toy_tables(settings: ToySettings) -> dict[int, pd.DataFrame]:
    """Compute exact metrics (Table 1) and sampled ones (Table 2), as fractions, by table.

    `std` is over repetitions of the mean over the five instances, as is `expected_std`.
    """
    experiment = toy_experiment(settings)
    rows: list[Row] = []
    for name in PREDICTED_RANKS:
        outcome = run_experiment("toy", toy_ranks(name), experiment, [name])
        for i in range(len(METRICS)):
            rows += metric_rows(2, name, outcome, i)
    cells = pd.DataFrame(rows, columns=Row._fields)
    is_exact = cells["column"] == EXACT
    exact, sampled = cells[is_exact].assign(table=1), cells[~is_exact]
    return {1: exact.reset_index(drop=True), 2: sampled.reset_index(drop=True)}
