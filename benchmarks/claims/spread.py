"""Measure how far cells move with the start of X and with tied ranks, for `make reference`.

spread.py RUN REFERENCE writes spread.csv, starts.csv and band.csv to REFERENCE; RUN is the folder
of a study with the paper's settings.
"""

import sys
from pathlib import Path

import yaml

from benchmarks.claims import starts
from sampled_metrics._base.files import write_table
from sampled_metrics.study.config import Study
from sampled_metrics.study.datasets.split import load_split
from sampled_metrics.study.reading import read_by_name

STARTS = 20
THREADS = 2


def main() -> None:
    """Train X from each start, and compute the study of each."""
    results, reference = map(Path, sys.argv[1:])
    study = Study.of(yaml.safe_load(Path("config/config.yaml").read_text("utf-8")), "config")
    settings = study.experiment
    others = read_by_name([results / f"ranks/{name}.parquet" for name in ("Y", "Z")])
    split = load_split(results / "split/split.npz")
    entry = study.recommender("X").model_dump(mode="json", by_alias=True)
    trained = starts.ranks_by_start(entry["settings"], split, STARTS, THREADS)
    numbers = starts.table_of_starts("X", trained, others, settings)
    write_table(numbers, reference / "starts.csv", "%.6g")
    band = starts.band_over_starts("X", trained, settings)
    write_table(band, reference / "band.csv", "%.10g")
    spread = starts.spread_table("X", numbers, others, settings)
    write_table(spread, reference / "spread.csv", "%.6g")


if __name__ == "__main__":
    main()
