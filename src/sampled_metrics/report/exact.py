"""The exact metrics of the study, for each recommender, measure and tie policy."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.seeds import generator
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.metrics.ties import exact_values
from sampled_metrics.ranks.reading import read_single

COLUMNS = ("recommender", "metric", "ties", "value")


def exact_table(
    paths: Sequence[Path], metrics: Sequence[str], ties: Sequence[str], seed: int
) -> tuple[pd.DataFrame, str]:
    """Mean over users of exact metrics, in percent.

    Parameters
    ----------
    paths
        Rank records; the file's stem is the recommender's name.
    metrics, ties
        Names of measures and of tie policies.
    seed
        Of the policy `random`; one order per recommender serves all measures.

    Returns
    -------
    The table, with the columns `COLUMNS`, and the words on where the ranks come from.

    Raises
    ------
    InputError
        A measure or a policy is not known, a name is given twice, or a file is not one of rank
        records.
    """
    for given in ([path.stem for path in paths], metrics, ties):
        if len(set(given)) != len(given):
            raise InputError(f"given twice: {', '.join(given)}; allowed: each once")
    measures = [parse_measure(name) for name in metrics]
    rows, sources = [], set()
    for path in paths:
        records = read_single(path)
        sources.add(records.source)
        for measure in measures:
            for policy in ties:
                values = exact_values(measure, records, policy, generator(seed, "ties", path.stem))
                rows.append((path.stem, str(measure), policy, 100.0 * values.mean()))
    return pd.DataFrame(rows, columns=COLUMNS), "; ".join(sorted(sources))


def by_metric(table: pd.DataFrame) -> pd.DataFrame:
    """Give every measure a column of its own, in the order of the table."""
    wide = table.set_index(["recommender", "ties", "metric"])["value"].unstack(sort=False)
    return wide.reset_index()
