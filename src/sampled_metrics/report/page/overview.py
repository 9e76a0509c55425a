"""What was asked and what came out, in five sentences with the numbers of the run."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from sampled_metrics.ranks import Ranks
from sampled_metrics.report.scorecard import VERDICTS
from sampled_metrics.study.labels import EXACT

_SAMPLED = "Sampled"


def overview(
    tables: Mapping[int, pd.DataFrame],
    card: pd.DataFrame | None,
    figure6: pd.DataFrame,
    config: Mapping[str, Any],
    records: Mapping[str, Ranks],
) -> list[str]:
    """Sum the run up; what it did not compute is left out.

    Parameters
    ----------
    tables
        Our tables as printed, by number.
    card
        The scorecard, where there is one.
    figure6
        What Figure 6 plots.
    config
        The configuration.
    records
        Rank records by recommender.
    """
    experiment = config.get("experiment", {})
    m = experiment.get("n_negatives", 100)
    return [
        "Krichene and Rendle (KDD 2020) asked whether a metric computed among a few sampled "
        "negatives orders recommenders as the full ranking does, and whether it can be corrected.",
        *_levels(tables[3], m, records),
        *_orders(tables[4], m, experiment.get("repetitions", 100)),
        *_sizes(figure6),
        *([] if card is None else [_agreement(card)]),
    ]


def _levels(table: pd.DataFrame, m: int, records: Mapping[str, Ranks]) -> list[str]:
    """Exact and sampled values of the first metric of Table 3."""
    if table.empty:
        return []
    metric = table["metric"].iloc[0]
    of_metric = table[table["metric"] == metric]
    exact, sampled = (
        of_metric[of_metric["column"] == column].set_index("row")["value"].to_dict()
        for column in (EXACT, _SAMPLED)
    )
    users = f"{len(next(iter(records.values()))):,}" if records else "the"
    words = f"For {users} users, exact {metric} is {_listed(exact)}"
    if len(exact) > 1:
        words += f", which puts {_order(exact)} from best to worst"
    if sampled:
        words += f"; among {m} sampled negatives it reads {_listed(sampled)}"
    if len(sampled) > 1:
        words += f", which puts {_order(sampled)}"
    return [f"{words}."]


def _listed(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value} %" for name, value in values.items())


def _order(values: Mapping[str, str]) -> str:
    return " > ".join(sorted(values, key=lambda name: -float(values[name])))


def _orders(table: pd.DataFrame, m: int, repetitions: int) -> list[str]:
    """Take the pair of Table 4 that sampling orders worst, and what helps it most."""
    sampled = table[table["column"] == _SAMPLED]
    if sampled.empty:
        return []
    worst = _sorted(sampled)[0]
    same = table[(table["row"] == worst["row"]) & (table["metric"] == worst["metric"])]
    best = _sorted(same)[-1]
    return [
        f"By {worst['metric']} with {m} negatives, {worst['row']} came out in the right order in "
        f"{worst['value']} of {repetitions} repetitions uncorrected, and in {best['value']} with "
        f"the correction that did best, {best['column']}."
    ]


def _sorted(table: pd.DataFrame) -> list[dict[Any, Any]]:
    return sorted(table.to_dict("records"), key=lambda row: float(row["value"]))


def _sizes(figure6: pd.DataFrame) -> list[str]:
    """From how many negatives on the pair that needs most is ordered correctly in expectation."""
    ordered = figure6[figure6["kind"] == "ordered"]
    if ordered.empty:
        return []
    most = ordered.sort_values("n_negatives", kind="stable").iloc[-1]
    of_pair = ordered[ordered["recommender"] == most["recommender"]]
    needs = [f"{row.n_negatives:,} ({row.estimator})" for row in of_pair.itertuples(index=False)]
    name = most["recommender"]
    return [
        f"In expectation, Recall@10 orders {name} correctly from this many negatives on: "
        f"{' and '.join(needs)}."
    ]


def _agreement(card: pd.DataFrame) -> str:
    exact, noise, explained, differs = (int((card["verdict"] == each).sum()) for each in VERDICTS)
    return (
        f"Of {len(card)} published numbers, {exact} agree to the last printed digit, {noise} more "
        f"within the noise of repetition, {explained} more given what the paper leaves open, and "
        f"{differs} differ."
    )
