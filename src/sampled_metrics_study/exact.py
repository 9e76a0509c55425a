"""Exact metrics by tie policy, and the ranges of them that samples of several sizes allow."""

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from pathlib import Path

import pandas as pd

from sampled_metrics._base.files import write_text
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.threads import one_thread
from sampled_metrics.intervals.ranges import Differences, bracket_users
from sampled_metrics.metrics import parse_measure, values
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.sampling import draw_sampled_ranks
from sampled_metrics_study.experiment import fewest_candidates
from sampled_metrics_study.files import write_table
from sampled_metrics_study.settings import ExactSettings
from sampled_metrics_study.tables import PERCENT, to_markdown

RANGES = ["metric", "n_negatives", "a", "b", "low", "high"]


@one_thread()
def exact_table(records: Mapping[str, Ranks], settings: ExactSettings) -> pd.DataFrame:
    """Average exact metrics over users, in percent, by recommender, metric and tie policy.

    The policy `random` draws one order of the ties for each recommender and uses it for all
    metrics.
    """
    rows = []
    for name, ranks in records.items():
        for metric, policy in product(settings.metrics, settings.ties):
            rng = generator(settings.seed, "ties", name)
            mean = values(parse_measure(metric), ranks, policy, rng).mean()
            rows.append((name, metric, policy, PERCENT * mean))
    return pd.DataFrame(rows, columns=["recommender", "metric", "ties", "value"])


@one_thread()
def allowed_ranges(
    records: Mapping[str, Ranks],
    names: Sequence[str],
    seed: int = 0,
    sizes: Sequence[int] = (1, 10, 100, 1000),
) -> pd.DataFrame:
    """Compute the ranges of exact metrics that remain possible after one draw of each size.

    Negatives are drawn without replacement for each recommender. The ranges assume that near the
    top no rank is more likely than a better one. A row, with the columns `RANGES`, is the range of
    the exact metric of `a`, or of the difference b - a if `b` is not empty.
    """
    measures = [parse_measure(name) for name in names]
    fewest = fewest_candidates(records)
    rows = []
    for m in sizes:
        if m >= fewest:
            continue
        brackets = {}
        for name, ranks in records.items():
            rng = generator(seed, "ranges", name, m)
            sampled_ranks = draw_sampled_ranks(ranks, m, rng)
            sample = SampledRanks(sampled_ranks, ranks.n_candidates, m, users=ranks.users)
            brackets[name] = bracket_users(sample, tuple(measures))
        differences = {
            (a, b): Differences(brackets[a], brackets[b]) for a, b in combinations(brackets, 2)
        }
        for place, metric in enumerate(map(str, measures)):
            for name, bracket in brackets.items():
                metric_range = bracket.range(place)
                rows.append((metric, m, name, "", metric_range.low, metric_range.high))
            for (a, b), of_pair in differences.items():
                difference = of_pair.range(place)
                rows.append((metric, m, a, b, difference.low, difference.high))
    return pd.DataFrame(rows, columns=RANGES)


def write_exact(table: pd.DataFrame, source: str, csv: Path, md: Path) -> None:
    """Write the exact metrics as CSV, and as Markdown with a column per metric."""
    write_table(table, csv, "%.6f")
    caption = f"Exact metrics in percent, by tie policy. Ranks: {source}."
    wide = table.set_index(["recommender", "ties", "metric"])["value"].unstack(sort=False)
    write_text(md, f"{caption}\n\n{to_markdown(wide.reset_index(), decimals=2)}\n")
