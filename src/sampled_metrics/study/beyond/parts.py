"""The jobs that the comparison is divided into, and putting their results together."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from sampled_metrics._base.files import read_table
from sampled_metrics.datasets.split import Split
from sampled_metrics.study.beyond.budgets import on_budgets
from sampled_metrics.study.beyond.outcomes import Compared
from sampled_metrics.study.beyond.runs import ORDERS, Runs
from sampled_metrics.study.beyond.sampled import independent, shared
from sampled_metrics.study.beyond.settings import SAMPLED, SAMPLED_SHARED, USERS, BeyondSettings
from sampled_metrics.study.beyond.users import fully_ranked_users


def repeated(
    part: str, compared: Compared, settings: BeyondSettings, split: Split
) -> Iterator[Runs]:
    """Yield the runs of a part, one of `BeyondSettings.parts`."""
    if part == SAMPLED:
        return independent(compared, settings)
    if part == SAMPLED_SHARED:
        return shared(compared, settings, split.held_out)
    if part == USERS:
        return fully_ranked_users(compared, settings)
    method, _, proxy = part.partition("-")
    return on_budgets(compared, settings, split, method, proxy)


def joined(paths: Sequence[Path], columns: tuple[str, ...]) -> pd.DataFrame:
    """Concatenate the values or the orders of all parts."""
    tables = [read_table(path, columns) for path in paths]
    if columns == ORDERS:
        tables = [table.astype({"significantly_wrong": "Int64"}) for table in tables]
    return pd.concat([table.dropna(axis=1, how="all") for table in tables])[list(columns)]
