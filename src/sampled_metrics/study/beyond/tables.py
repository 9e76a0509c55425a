"""Tables 5 and 6 from the values and orders of all methods."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import pandas as pd

from sampled_metrics.estimators import parse_estimator
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.study.beyond.settings import (
    ADAPTIVE,
    ALS,
    BUDGET,
    NO_PROXY,
    POPULARITY,
    SCAN,
    SHARED,
    USERS,
    BeyondSettings,
)

PROXY_LABELS = {NO_PROXY: "no proxy", POPULARITY: "popularity", ALS: "ALS-8"}
TITLES = {
    ADAPTIVE: "Adaptive negatives, EM",
    USERS: "All items of some users",
    BUDGET: "Budget",
    SCAN: "Scan and stop",
}


def label(method: str, proxy: str) -> str:
    """Name of a method in tables and figures.

    Examples
    --------
    >>> label("bv:0.1", "uniform"), label("budget", "als"), label("em:50", "uniform, shared")
    ('BV 0.1', 'Budget, ALS-8', 'EM 50, shared')
    """
    name = TITLES[method] if method in TITLES else parse_estimator(method).label
    if proxy in PROXY_LABELS:
        return f"{name}, {PROXY_LABELS[proxy]}"
    return f"{name}, shared" if proxy == SHARED else name


def reported(rows: pd.DataFrame, settings: BeyondSettings) -> pd.DataFrame:
    """Rows of the methods at the budgets that Tables 5 and 6 have, with their `label`."""
    chosen = rows["budget"] == settings.reported
    chosen = chosen.mask(rows["method"] == ADAPTIVE, rows["budget"] == settings.adaptive_reported)
    for method, proxies in ((BUDGET, settings.proxies), (SCAN, settings.scan_proxies)):
        for proxy, budgets in proxies.items():
            of_proxy = (rows["method"] == method) & (rows["proxy"] == proxy)
            chosen |= of_proxy & rows["budget"].isin(budgets)
    named = [label(*pair) for pair in zip(rows["method"], rows["proxy"], strict=True)]
    return rows.assign(label=named)[chosen]


def pair_names(names: Sequence[str], settings: BeyondSettings) -> list[str]:
    """Pairs of Table 6, as `orders.csv` names them; the recommenders of all pairs by default."""
    place = {name: number for number, name in enumerate(names)}
    pairs = settings.pairs or tuple(combinations(names, 2))
    return [" vs ".join(sorted(pair, key=place.__getitem__)) for pair in pairs]


def wide_values(values: pd.DataFrame, settings: BeyondSettings) -> pd.DataFrame:
    """Table 5: mean, bias and standard deviation in percent by method, metric and recommender."""
    rows = reported(values, settings)
    text = [
        f"{100 * mean:.2f}±{100 * sd:.2f} ({100 * bias:+.2f})"
        for mean, sd, bias in zip(rows["mean"], rows["sd"], rows["bias"], strict=True)
    ]
    exact = values.drop_duplicates(["recommender", "metric"]).assign(
        label="Exact", budget=0, scores_per_user=float("nan"), runs=0
    )
    exact["text"] = [f"{100 * value:.2f}" for value in exact["exact"]]
    both = pd.concat([exact, rows.assign(text=text)])
    both["scores"] = [_price(price) for price in both["scores_per_user"]]
    both["metric"] = [parse_measure(name).label for name in both["metric"]]
    order = {name: number for number, name in enumerate(both["metric"].unique())}
    both = both.sort_values("metric", key=lambda column: column.map(order), kind="stable")
    keys = ["metric", "label", "budget", "scores", "runs"]
    wide = both.set_index([*keys, "recommender"])["text"].unstack(sort=False)
    return wide.reset_index().drop(columns="budget").rename(columns=_HEADS)


def wide_orders(
    orders: pd.DataFrame, names: Sequence[str], settings: BeyondSettings
) -> pd.DataFrame:
    """Table 6: right orders in percent of the runs, by method and pair; one number per metric."""
    rows = reported(orders, settings)
    rows = rows[rows["pair"].isin(pair_names(names, settings))]
    rows = rows.assign(
        text=[f"{share:.0f}" for share in 100 * rows["right"] / rows["runs"]],
        scores=[_price(price) for price in rows["scores_per_user"]],
    )
    keys = ["label", "budget", "scores", "runs"]
    wide = rows.groupby([*keys, "pair"], sort=False)["text"].agg(" ".join).unstack(sort=False)
    wide = wide[pair_names(names, settings)].reset_index()
    return wide.drop(columns="budget").rename(columns=_HEADS)


def cells(values: pd.DataFrame, orders: pd.DataFrame, settings: BeyondSettings) -> pd.DataFrame:
    """Cells of both tables as `table, row, metric, column, value, std`; numbers as text.

    Table 5 has the mean in percent and, as metric `bias of ...`, the bias; `scores per user` is
    the price.
    """
    rows: list[tuple[object, ...]] = []
    of_values = reported(values, settings)
    for line in _lines(of_values.drop_duplicates(["label", "budget"])):
        rows.append((5, _row(line), "scores per user", "", _price(line.scores_per_user), ""))
    for line in _lines(of_values):
        metric, name = parse_measure(line.metric).label, line.recommender
        mean, bias, sd = (f"{100 * x:.2f}" for x in (line.mean, line.bias, line.sd))
        rows.append((5, _row(line), metric, name, mean, sd))
        rows.append((5, _row(line), f"bias of {metric}", name, bias, ""))
    names = list(values["recommender"].unique())
    of_orders = reported(orders, settings)
    for line in _lines(of_orders[of_orders["pair"].isin(pair_names(names, settings))]):
        metric = parse_measure(line.metric).label
        rows.append((6, line.pair, metric, _row(line), f"{line.right}", ""))
    return pd.DataFrame(rows, columns=["table", "row", "metric", "column", "value", "std"])


_HEADS = {"label": "method", "scores": "scores per user"}


def _lines(rows: pd.DataFrame) -> Iterator[Any]:
    yield from rows.itertuples()


def _row(line: Any) -> str:
    """Name of a row, with the budget where a method has several."""
    return f"{line.label} at {line.budget}" if line.method in (BUDGET, SCAN) else line.label


def _price(scores: float) -> str:
    return "" if pd.isna(scores) else f"{scores:.0f}"
