"""How far the numbers move with what the paper leaves open: the start of X, the ties of Z."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.seeds import generator
from sampled_metrics.estimators import Estimator
from sampled_metrics.metrics import Measure, values
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.comparison import PERCENT, table3, table4
from sampled_metrics.study.experiment import ExperimentSettings, run_experiment
from sampled_metrics.study.labels import EXACT
from sampled_metrics.study.unrounded import KEY

COLUMNS = (*KEY, "spread", "cause")


def spread_over_starts(
    name: str,
    starts: list[Ranks],
    others: Mapping[str, Ranks],
    estimators: list[Estimator],
    measures: list[Measure],
    settings: ExperimentSettings,
) -> pd.DataFrame:
    """Standard deviation of the difference between two starts, for every cell of a recommender.

    The published number and ours each come from one start, so it is the standard deviation over
    starts times the root of 2; in the units of Tables 3 and 4 (counts of a hundred). Closed forms
    stand for the repetitions, so that sampling adds nothing. Pairs name the recommender first.
    """
    quick = replace(settings, repetitions=2)
    fixed = {
        key: run_experiment(key, records, estimators, measures, quick)
        for key, records in others.items()
    }
    cells = []
    for start, records in enumerate(starts):
        own = run_experiment(name, records, estimators, measures, quick)
        both = pd.concat([table3({name: own}), table4({name: own, **fixed})])
        cells.append(both[both["row"].str.split().str[0] == name].assign(start=start))
    both = pd.concat(cells)
    per_hundred = np.where(both["table"] == 4, PERCENT / quick.repetitions, 1.0)
    both["spread"] = both["expected"] * per_hundred
    table = both.groupby(KEY, sort=False)["spread"].std(ddof=1).reset_index()
    table["spread"] *= np.sqrt(2.0)
    return table.assign(cause=f"initialisation of {name}")


def spread_over_ties(
    name: str, records: Ranks, measures: list[Measure], seed: int, draws: int = 1000
) -> pd.DataFrame:
    """Standard deviation of exact metrics, in percent, over random orders of tied candidates.

    The published number comes from one order, ours is the expectation over all.
    """
    rows = []
    for measure in measures:
        orders = (generator(seed, "ties", name, draw) for draw in range(draws))
        spread = PERCENT * float(means_over_orders(measure, records, orders).std(ddof=1))
        rows.append((3, name, measure.label, EXACT, spread, f"tie draw of {name}"))
    return pd.DataFrame(rows, columns=COLUMNS)


def means_over_orders(
    measure: Measure, records: Ranks, generators: Iterable[np.random.Generator]
) -> Float:
    """Mean of an exact metric over users, for one random order of the ties per generator.

    >>> from sampled_metrics.metrics import parse_measure
    >>> seeds = (np.random.default_rng(seed) for seed in range(2))
    >>> means_over_orders(parse_measure("auc"), Ranks([3], [1], [0]), seeds)
    array([0.5, 0.5])
    """
    return np.array([values(measure, records, "random", rng).mean() for rng in generators])
