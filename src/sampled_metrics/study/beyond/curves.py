"""Figures 7 and 8: error and probability of the right order against scores asked."""

from collections.abc import Sequence

import pandas as pd

from sampled_metrics.estimators import parse_estimator
from sampled_metrics.study.beyond.settings import SHARED, BeyondSettings
from sampled_metrics.study.beyond.tables import TITLES, label, pair_names

UNCORRECTED, PAPERS, LATER = "Uncorrected", "The paper's corrections", "Later corrections"
MOST_PAIRS = 3


def error_curves(values: pd.DataFrame) -> pd.DataFrame:
    """Root mean square error relative to the exact metric, in percent, mean over recommenders.

    Returns
    -------
    Columns `group`, `method`, `metric`, `scores_per_user`, `value`, `runs`.
    """
    rows = _drawn(values)
    error = (rows["bias"] ** 2 + rows["sd"] ** 2) ** 0.5 / rows["exact"]
    return _averaged(rows.assign(value=100.0 * error), "metric")


def order_curves(
    orders: pd.DataFrame, names: Sequence[str], settings: BeyondSettings
) -> pd.DataFrame:
    """Share of runs with the right order in percent, of the metric that is hardest to order by.

    Returns
    -------
    Columns `group`, `method`, `pair`, `scores_per_user`, `value`, `runs`.
    """
    rows = _drawn(orders)
    rows = rows[rows["pair"].isin(pair_names(names, settings)[:MOST_PAIRS])]
    rows = rows.assign(value=100.0 * rows["right"] / rows["runs"])
    return _averaged(rows, "pair", "min")


def _drawn(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of the curves, with the group and the name of their method."""
    rows = rows[rows["proxy"] != SHARED]
    pairs = list(zip(rows["method"], rows["proxy"], strict=True))
    return rows.assign(
        group=[_group(*pair) for pair in pairs], method=[label(*pair) for pair in pairs]
    )


def _group(method: str, proxy: str) -> str:
    if method in TITLES:
        return label(method, proxy)
    if method == "sampled":
        return UNCORRECTED
    return LATER if parse_estimator(method).fitted else PAPERS


def _averaged(rows: pd.DataFrame, panel: str, how: str = "mean") -> pd.DataFrame:
    keys = ["group", "method", panel, "budget"]
    means = rows.groupby(keys, sort=False, as_index=False).agg(
        scores_per_user=("scores_per_user", "mean"), value=("value", how), runs=("runs", "min")
    )
    return means.drop(columns="budget")
