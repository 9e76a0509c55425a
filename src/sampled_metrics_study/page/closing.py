"""The lines with which a run and Snakemake's report state the result: orders, verdict, page."""

import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sampled_metrics.pages.lens_text import decided_groups

WIDTH = 80  # columns of a terminal


def closing_text(content: Mapping[str, Any], page: str) -> str:
    """Return the order against random items, that over all items, the verdict, and what to open.

    `content` is the result of `contents.collect`. A study on other data has no verdict; its line
    names the recommenders.
    """
    lens = content["lens"]
    start = lens["start"]
    names = lens["names"]
    read = lens["views"][f"{start['metric']} {start['estimator']} {start['m']}"]["read"]
    truth = lens["truth"][start["metric"]]
    undecided = {frozenset(pair) for pair in lens["undecided"]}
    label = lens["asked"][start["metric"]]["label"]
    orders = {
        f"against {start['m']:,} random items": order_line(_named(read, names)),
        "over all items": order_line(_named(truth, names), undecided),
    }
    lines = []
    size = max(map(len, orders))
    for side, order in orders.items():
        head = f"{label}  {side:<{size}}  "
        lines += textwrap.wrap(head + order, WIDTH, subsequent_indent=" " * len(head))
        label = " " * len(label)
    verdict = content["verdict_sentence"]
    if not verdict:
        verdict = f"Tables 3 and 4, Figures 5 and 6 of {', '.join(names)}."
    if content["origin"]["ranks"] == "reference":
        verdict += " Nothing was trained: the ranks are those of the reference run."
    lines += textwrap.wrap(f"{verdict} {content['data_note']}", WIDTH)
    return "\n".join([*lines, f"Open {page}"]) + "\n"


def _named(best_first: Sequence[tuple[int, str]], names: Sequence[str]) -> dict[str, str]:
    """Return values by name, best first, without the sign of percent."""
    return {names[index]: text.removesuffix("\xa0%") for index, text in best_first}


def order_line(values: Mapping[str, str], undecided: Collection[frozenset[str]] = ()) -> str:
    """Return names with their values, best first, with `>` where all pairs across are decided.

    Examples
    --------
    >>> order_line({"Z": "9.42", "Y": "8.84", "X": "7.75"}, [frozenset("YZ")])
    'Z 9.42, Y 8.84 > X 7.75 (comma: undecided)'
    >>> order_line({"A": "3", "B": "2", "C": "1"}, [frozenset("AC")])
    'A 3, B 2, C 1 (comma: undecided)'
    """
    groups = decided_groups(list(values), lambda a, b: frozenset((a, b)) not in undecided)
    line = " > ".join(", ".join(f"{name} {values[name]}" for name in group) for group in groups)
    if len(groups) < len(values):
        line += " (comma: undecided)"
    return line
