"""What negatives that somebody else drew say, laid out for reading."""

import pandas as pd

from sampled_metrics.report.tables import markdown


def in_words(name: str, values: pd.DataFrame, orders: pd.DataFrame, checks: pd.DataFrame) -> str:
    """Lay out the tables of `study.negatives` as Markdown; `name` is that of the negatives."""
    remarks = checks.loc[checks["remark"] != "", ["name", "remark"]]
    price = orders["scores_per_user"].max()
    shown = pd.DataFrame(
        {
            "pair": orders["a"] + ", " + orders["b"],
            "metric": orders["metric"],
            "exact": orders["exact"].map("{:+.4f}".format),
            "allowed by the negatives": _interval(orders, "range"),
            "order by them": _order(orders, "sampled_order"),
            "on a budget": _interval(orders, "budget"),
            "order by it": _order(orders, "budget_order"),
        }
    )
    parts = [
        f"# What {name} says of the recommenders",
        "The range holds the values of the exact metric that the sampled ranks allow, at 95 %.",
        markdown(values, 4),
        "Differences, the second of a pair less the first. An order is decided if the range or "
        "interval excludes 0 after Holm's correction for the pairs. The budget is "
        f"{price:.0f} scores per user and recommender, where to look told by proxy `als`.",
        markdown(shown),
        "What `check-negatives` says of the negatives:",
        markdown(checks.drop(columns="remark"), 4),
        "\n".join(f"- {check}: {remark}." for check, remark in remarks.itertuples(index=False)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _interval(orders: pd.DataFrame, kind: str) -> pd.Series:
    low, high = (orders[f"{kind}_{end}"].map("{:+.4f}".format) for end in ("low", "high"))
    return low + " to " + high


def _order(orders: pd.DataFrame, column: str) -> pd.Series:
    better = orders["a"].where(orders[column] == "a", orders["b"])
    return better.where(orders[column] != "undecided", "undecided")
