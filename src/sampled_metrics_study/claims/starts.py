"""Measure how far two choices that the paper leaves open move the numbers.

These are the random start of X and the order of Z's ties. Each start of X also has a seed of its
own for the sampled experiment, so starts differ as two runs of the study do.

`python -m sampled_metrics_study.claims.starts RUN REFERENCE` writes spread.csv, starts.csv and
band.csv to REFERENCE; RUN is the folder of a study with the paper's settings.
"""

import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from sampled_metrics import rank
from sampled_metrics._base.array_types import Float
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.threads import one_thread
from sampled_metrics.metrics import Measure, values
from sampled_metrics.ranks import Ranks
from sampled_metrics_study.config import Study
from sampled_metrics_study.data.split import Split, load_split
from sampled_metrics_study.experiment import read_ranks_by_name, run_experiment
from sampled_metrics_study.figures.figure5 import BUCKET, users_by_bucket
from sampled_metrics_study.figures.figure6 import (
    CURVES,
    ESTIMATORS,
    RECALL,
    expected_recall,
    lead_in_sds,
    sample_sizes,
    smallest_size_with_lead,
)
from sampled_metrics_study.files import write_table
from sampled_metrics_study.program import program
from sampled_metrics_study.recommenders import create
from sampled_metrics_study.settings import ExperimentSettings
from sampled_metrics_study.tables import (
    COUNTS,
    EXACT,
    KEY,
    PERCENT,
    SPREAD_COLUMNS,
    counts_per_100_repetitions,
    table3,
    table4,
)

_log = logging.getLogger(__name__)
STARTS = 20  # enough for a standard deviation within 16 %; each takes some seconds to train
THREADS = 2  # changes no result
COLUMNS = ("start", *KEY, "value", "expected")
# Rows with numbers of Figures 5 and 6 have these as their table and metric.
USERS = (5, "users")
SIZES = (6, RECALL.label)
TOP_100 = "top 100"
BOTTOM_HALF = "bottom half"


def ranks_by_start(
    settings: dict[str, Any], split: Split, starts: int, threads: int
) -> list[Ranks]:
    """Train an als recommender from the seeds 0, 1, ...; return the ranks of each."""
    ranks = []
    for seed in range(starts):
        model = create("als", {**settings, "seed": seed}).fit(split.train, threads)
        ranks.append(rank(model.scorer, split.train, split.held_out))
        _log.info("spread: start %d of %d", seed + 1, starts)
    return ranks


def starts_table(
    name: str, starts: Sequence[Ranks], others: Mapping[str, Ranks], settings: ExperimentSettings
) -> pd.DataFrame:
    """Compute Tables 3 and 4 and some numbers of Figures 5 and 6 for each start of a recommender.

    Start i, from 0, uses the seed of `settings` plus i + 1: none repeats the experiment of seed 0.

    Rows of tables 3 and 4 are cells in the units of the tables, simulated (`value`) and expected.
    Table 5 has the numbers of users with a rank in the top 100 and in the bottom half. Table 6 has
    the smallest m such that the expected estimate orders the first pair as the exact metric does
    at m and above; NaN if there is none.
    """
    tables = []
    for start, ranks in enumerate(starts):
        settings_of_start = settings.replaced(seed=settings.seed + start + 1)
        experiments = {
            recommender: run_experiment(recommender, records, settings_of_start, with_likely=False)
            for recommender, records in {name: ranks, **others}.items()
        }
        users = _users_table(name, ranks)
        for table in (table3(experiments), table4(experiments), users):
            tables.append(table.assign(start=start))
    sizes = smallest_sizes_of_starts(name, starts, others, settings)
    return pd.concat([*tables, sizes], ignore_index=True)[[*COLUMNS]]


def _users_table(name: str, ranks: Ranks) -> pd.DataFrame:
    """Return the rows of Table 5 for one start, with the columns `COLUMNS` without the start."""
    table, metric = USERS
    rows = [
        (table, name, metric, part_of_ranks, n_users, n_users)
        for part_of_ranks, n_users in count_users_by_rank(ranks).items()
    ]
    return pd.DataFrame(rows, columns=COLUMNS[1:])


def count_in_worst_bucket(ranks: Ranks, ties: str, width: int = BUCKET) -> int:
    """Count the users in the last `width` ranks as Figure 5 does, rounded to an integer."""
    last = int(ranks.n_candidates.max())
    return round(float(users_by_bucket(ranks, [last - width, last], ties)[0]))


def count_users_by_rank(ranks: Ranks) -> dict[str, int]:
    """Count the users whose held-out item is in the top 100, and in the lower half of candidates.

    Examples
    --------
    >>> count_users_by_rank(Ranks([500] * 3, [99, 100, 251], [0, 0, 0]))
    {'top 100': 1, 'bottom half': 1}
    """
    return {
        TOP_100: int(np.sum(ranks.best_rank <= 100)),
        BOTTOM_HALF: int(np.sum(2 * ranks.best_rank > ranks.n_candidates)),
    }


def smallest_sizes_of_starts(
    name: str, starts: Sequence[Ranks], others: Mapping[str, Ranks], settings: ExperimentSettings
) -> pd.DataFrame:
    """Find the m at which the order of each start and the first other recommender becomes right.

    These are the rows of Table 6, one for each estimator and start, with the columns `COLUMNS`.
    """
    if not others:
        return pd.DataFrame(columns=COLUMNS)
    other = next(iter(others))
    ranks_by_start = {str(start): ranks for start, ranks in enumerate(starts)}
    records = {other: others[other], **ranks_by_start}
    sizes = sample_sizes(records)
    moments_at = expected_recall(records, settings)
    exact = {key: values(RECALL, ranks).mean() for key, ranks in records.items()}
    table, metric = SIZES
    rows = []
    for index, estimator in enumerate(ESTIMATORS):
        for start in ranks_by_start:
            lead_at = partial(
                lead_in_sds, moments_at=moments_at, exact=exact, a=start, b=other, estimator=index
            )
            m = smallest_size_with_lead(lead_at, sizes)
            rows.append((int(start), table, f"{name} vs {other}", metric, estimator.label, m, m))
    return pd.DataFrame(rows, columns=COLUMNS)


def band_over_starts(
    name: str, starts: Sequence[Ranks], settings: ExperimentSettings
) -> pd.DataFrame:
    """Compute the lowest and the highest expected Recall@10 over the starts, at each m of Figure 6.

    The columns are those of Figure 6; `kind` is `lowest` or `highest`.
    """
    records = {str(start): ranks for start, ranks in enumerate(starts)}
    moments_at = expected_recall(records, settings)
    rows = []
    for m in sample_sizes(records):
        for index, estimator in enumerate(ESTIMATORS):
            means = [moments_at(start, index, m).mean for start in records]
            for kind, value in (("lowest", min(means)), ("highest", max(means))):
                rows.append((kind, name, estimator.label, m, value))
    return pd.DataFrame(rows, columns=CURVES)


@one_thread()
def spread_table(
    name: str, starts: pd.DataFrame, others: Mapping[str, Ranks], settings: ExperimentSettings
) -> pd.DataFrame:
    """Compute the spread of every cell over starts of one recommender, and over ties of the others.

    The spread over starts is the standard deviation of the difference of two starts, because the
    published number and ours each come from one: the standard deviation over starts times the root
    of 2, in the units of Tables 3 and 4 with counts of 100 repetitions. Cells are expectations, so
    sampling does not contribute. The spread over ties is the standard deviation of exact metrics,
    in percent, over 1,000 random orders, because the published number comes from one order and ours
    is the expectation over all.
    """
    over_starts = _spread_over_starts(name, starts, settings)
    over_ties = _spread_over_ties(others, settings)
    return pd.concat([table for table in (over_starts, over_ties) if len(table)])


def _spread_over_starts(
    name: str, starts: pd.DataFrame, settings: ExperimentSettings
) -> pd.DataFrame:
    """Return the standard deviation of the difference of two starts, for each cell of `name`."""
    is_of_name = starts["row"].str.split(" vs ").str[0] == name  # alone, or first of a pair
    cells = starts[starts["table"].isin((3, COUNTS)) & is_of_name]
    cells = cells.assign(repetitions=settings.repetitions)
    expected = cells.assign(spread=counts_per_100_repetitions(cells))
    table = expected.groupby(KEY, sort=False)["spread"].std(ddof=1).reset_index()
    table["spread"] *= np.sqrt(2.0)
    return table.assign(cause=f"initialisation of {name}")


def _spread_over_ties(others: Mapping[str, Ranks], settings: ExperimentSettings) -> pd.DataFrame:
    """Return the standard deviation over orders of ties, for exact metrics with many ties."""
    rows = []
    for other, ranks in others.items():
        has_many_ties = ranks.n_tied.mean() > 1
        if has_many_ties:
            for measure in settings.measures:
                orders = (generator(settings.seed, "ties", other, draw) for draw in range(1000))
                spread = PERCENT * float(means_over_orders(measure, ranks, orders).std(ddof=1))
                rows.append((3, other, measure.label, EXACT, spread, f"tie draw of {other}"))
    return pd.DataFrame(rows, columns=SPREAD_COLUMNS)


def means_over_orders(
    measure: Measure, records: Ranks, generators: Iterable[np.random.Generator]
) -> Float:
    """Compute the mean of an exact metric over users for a random order of the ties per generator.

    Examples
    --------
    >>> from sampled_metrics.metrics import parse_measure
    >>> seeds = (np.random.default_rng(seed) for seed in range(2))
    >>> means_over_orders(parse_measure("auc"), Ranks([3], [1], [0]), seeds)
    array([0.5, 0.5])
    """
    return np.array([values(measure, records, "random", rng).mean() for rng in generators])


def main() -> None:
    """Train X from each start, compute the study of each, and write the three tables."""
    results, reference = map(Path, sys.argv[1:])
    study = Study.of(yaml.safe_load(Path("config/config.yaml").read_text("utf-8")), "config")
    settings = study.experiment
    others = read_ranks_by_name([results / f"ranks/{name}.parquet" for name in ("Y", "Z")])
    split = load_split(results / "split/split.npz")
    entry = study.recommender("X").model_dump(mode="json", by_alias=True)
    trained = ranks_by_start(entry["settings"], split, STARTS, THREADS)
    numbers = starts_table("X", trained, others, settings)
    write_table(numbers, reference / "starts.csv", "%.6g")
    band = band_over_starts("X", trained, settings)
    write_table(band, reference / "band.csv", "%.10g")
    spread = spread_table("X", numbers, others, settings)
    write_table(spread, reference / "spread.csv", "%.6g")


if __name__ == "__main__":
    with program():
        main()
