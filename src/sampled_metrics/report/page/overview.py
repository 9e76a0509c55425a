"""The question and the answer, in a few sentences with the numbers of the run."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from sampled_metrics.ranks import Ranks
from sampled_metrics.report.scorecard import totals
from sampled_metrics.study.cells import EXACT, SAMPLED

MOST_NAMED = 4  # recommenders in a sentence


def overview(
    tables: Mapping[int, pd.DataFrame],
    card: pd.DataFrame | None,
    figure6: pd.DataFrame,
    config: Mapping[str, Any],
    ranks: Mapping[str, Ranks],
) -> list[str]:
    """Summarise the run; sentences about numbers that it did not compute are left out.

    `tables` are ours as printed, by number; `figure6` is the data of that figure.
    """
    experiment = config.get("experiment", {})
    m = experiment.get("n_negatives", 100)
    return [
        f"Does ranking the held-out item against {m} random items put recommenders in the same "
        "order as ranking it against all items, and can the sampled metric be corrected? "
        "Krichene and Rendle asked this at KDD 2020.",
        *_levels(tables[3], m, ranks),
        *_orders(tables[4], figure6, m, experiment.get("repetitions", 100)),
        *_sizes(figure6),
        *([] if card is None else [_agreement(card)]),
    ]


def _levels(table: pd.DataFrame, m: int, ranks: Mapping[str, Ranks]) -> list[str]:
    """Exact and sampled values of the first metric of Table 3."""
    if table.empty:
        return []
    metric = table["metric"].iloc[0]
    of_metric = table[table["metric"] == metric]
    exact, sampled = (
        of_metric[of_metric["column"] == column].set_index("row")["value"].to_dict()
        for column in (EXACT, SAMPLED)
    )
    order = sorted(exact, key=lambda name: -float(exact[name]))
    users = f"For {len(next(iter(ranks.values()))):,} users, exact" if ranks else "Exact"
    words = f"{users} {metric} ranks {_listed(exact, order)}."
    if len(order) == 1:
        return [f"{users} {metric} of {order[0]} is {exact[order[0]]} %."]
    if sampled:
        by_sample = sorted(sampled, key=lambda name: -float(sampled[name]))
        change = "is reversed" if by_sample == order[::-1] else "changes"
        change = "is the same" if by_sample == order else change
        words += f" Against {m} random items the order {change}: {_listed(sampled, by_sample)}."
    return [words]


def _listed(values: Mapping[str, str], order: list[str]) -> str:
    first = order if len(order) <= MOST_NAMED else order[: MOST_NAMED - 1]
    words = " above ".join(f"{name} ({values[name]} %)" for name in first)
    return words if first is order else f"{words} above {len(order) - len(first)} others"


def _orders(table: pd.DataFrame, figure6: pd.DataFrame, m: int, repetitions: int) -> list[str]:
    """The pair of Table 4 that sampling orders worst, and the correction of Figure 6 for it."""
    sampled = table[table["column"] == SAMPLED]
    if sampled.empty:
        return []
    worst = sampled.iloc[sampled["value"].astype(float).argmin()]
    same = table[(table["row"] == worst["row"]) & (table["metric"] == worst["metric"])]
    counts = same.set_index("column")["value"]
    corrected = [
        f"; corrected ({name}), in {counts[name]}"
        for name in figure6.get("estimator", pd.Series(dtype=str)).unique()
        if name != SAMPLED and name in counts
    ]
    return [
        f"Uncorrected, {worst['row']} was ordered correctly by {worst['metric']} with {m} "
        f"negatives in {worst['value']} of {repetitions} runs{''.join(corrected)}."
    ]


def _sizes(figure6: pd.DataFrame) -> list[str]:
    """From how many negatives on the pair that needs most is ordered correctly."""
    ordered = figure6[figure6["kind"] == "ordered"]
    if ordered.empty:
        return []
    name = ordered["recommender"].iloc[ordered["n_negatives"].argmax()]
    of_pair = figure6[figure6["recommender"] == name]
    rows = of_pair[of_pair["kind"] == "ordered"].itertuples(index=False)
    from_on = [
        f"m = {row.n_negatives:,} on "
        + ("uncorrected" if row.estimator == SAMPLED else f"with {row.estimator}")
        for row in rows
    ]
    words = f"On average, Recall@10 orders {name} correctly from {' and from '.join(from_on)}."
    sure = [f"{m:,}" for m in of_pair.loc[of_pair["kind"] == "sure", "n_negatives"]]
    if len(sure) == len(from_on):
        words += (
            " A single experiment is right half the time there, and needs "
            f"{' and '.join(sure)} to be right 95 % of the time."
        )
    return [words]


def _agreement(card: pd.DataFrame) -> str:
    exact, noise, explained, differs = totals(card).values()
    deterministic = (card["verdict"] == "exact") & (card.get("kind", "") == "deterministic")
    certain = int(deterministic.sum())
    return (
        f"Of {len(card)} published numbers, {certain} without chance agree to the last printed "
        f"digit, {exact - certain + noise} sampled ones within the noise of the paper's "
        f"repetitions, {explained} more given what the paper leaves open, and {differs} differ."
    )
