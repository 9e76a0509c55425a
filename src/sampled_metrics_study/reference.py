"""Store parts of a run as the reference, verify other runs against it, and write test archives.

`python -m sampled_metrics_study.reference` with

- `store FOLDER FILE...`: write ranks to a folder, without the ids of MovieLens;
- `schema FILE`: write the JSON schema of the configuration;
- `slope REFERENCE`: draw the slope chart of the README, slope.svg and slope-dark.svg;
- `lens REFERENCE`: draw the lens of the README, lens.svg, light, dark, wide and narrow;
- `verify RUN REFERENCE`: compare the tables and figures of a run with those of the reference;
- `times ARCHIVE OUTPUT`, `lines ARCHIVE OUTPUT`: rewrite an archive without changing results.
"""

import csv
import json
import math
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sampled_metrics._base.array_types import Int
from sampled_metrics._base.files import write_text
from sampled_metrics_study.program import program

MEMBER = "ml-1m/ratings.dat"
ACCURACY = 1e-6  # relative or absolute; another processor may round differently
PARTS = {
    "Tables 1-4": [f"tables/table{number}.csv" for number in range(1, 5)],
    "exact metrics": ["tables/exact.csv"],
    "Figures 1-6": [f"figures/figure{number}.csv" for number in range(1, 7)],
    "ranges": ["ranges.csv"],
    "scorecard": ["scorecard.csv"],
}


def read_rows(path: Path) -> list[list[str]]:
    """Read the cells of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def is_same(value: str, expected: str) -> bool:
    """Return whether two cells have the same text, or numbers that differ by rounding only."""
    if value == expected:
        return True
    try:
        return math.isclose(float(value), float(expected), rel_tol=ACCURACY, abs_tol=ACCURACY)
    except ValueError:
        return False


def differences(path: Path, expected_path: Path) -> tuple[list[str], int]:
    """Compare two CSV files; return a list of differences, and the number of cells.

    Files with different rows count as one difference.
    """
    ours = read_rows(path)
    theirs = read_rows(expected_path)
    n_cells = sum(map(len, theirs))
    if [len(row) for row in ours] != [len(row) for row in theirs]:
        return [f"{path.name} has other rows"], n_cells
    places = []
    for number, (row, expected_row) in enumerate(zip(ours, theirs, strict=True)):
        for column, value, expected_value in zip(theirs[0], row, expected_row, strict=True):
            if not is_same(value, expected_value):
                places.append(f"{path.name}, row {number}, {column}: {value}, not {expected_value}")
    return places, n_cells


def describe_archive(source: Mapping[str, Any]) -> str:
    """Return which data a run used, by the source in its provenance."""
    if source["archive_is_official"]:
        return "official archive"
    if source["ratings_is_official"]:
        return "official ratings in another archive"
    return "not the official archive"


def verify(run: Path, reference: Path) -> None:
    """Print in one line whether a run has the results of the reference; exit with 1 if not."""
    source = json.loads((run / "provenance.json").read_text("utf-8"))["source"]
    same = []
    differing = []
    all_differences = []
    for name, files in PARTS.items():
        n_cells = 0
        part_differences = []
        for file in files:
            cell_differences, cells = differences(run / file, reference / file)
            part_differences += cell_differences
            n_cells += cells
        if part_differences:
            differing.append(f"{name} ({len(part_differences)} of {n_cells:,} values)")
        else:
            same.append(name)
        all_differences += part_differences
    line = f"{describe_archive(source)} ({source['archive']}): "
    if differing:
        line += f"other than the reference: {', '.join(differing)}, first {all_differences[0]}; "
    line += f"the same as the reference: {', '.join(same) or 'nothing'}"
    print(line)
    sys.exit(bool(differing))


def store(folder: Path, *paths: Path) -> None:
    """Write ranks that may be shared: without item ids, and with users numbered from 0."""
    # Imported here, because `schema` must set an option before any settings are imported.
    from sampled_metrics_study.experiment import read_single_item_ranks

    for path in paths:
        records = read_single_item_ranks(path)
        source = "reference run; nothing was trained here"
        records.replace(users=np.arange(len(records)), source=source).write(folder / path.name)


def schema(path: Path) -> None:
    """Write the JSON schema of the configuration, with which editors complete and check keys."""
    import yaml

    from sampled_metrics_study.validation import Settings

    # The docstrings below attributes describe the keys. Reading them doubles the time of the
    # import, so this is only done here.
    Settings.model_config["use_attribute_docstrings"] = True
    from sampled_metrics_study.config import Study

    content = Study.model_json_schema(by_alias=True)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    write_text(path, yaml.safe_dump(head | content, sort_keys=False, width=100))


def slope(reference: Path) -> None:
    """Draw the slope chart of X, Y and Z in the folder of the reference run."""
    from sampled_metrics_study.figures.slope import write_slope

    write_slope(*ranks_and_settings(reference), reference)


def lens(reference: Path) -> None:
    """Draw the lens of X, Y and Z in the folder of the reference run."""
    from sampled_metrics_study.figures.lens import write_lens

    write_lens(*ranks_and_settings(reference), reference)


def ranks_and_settings(reference: Path) -> tuple[Any, Any]:
    """Read the ranks of the paper's recommenders, and the settings of its experiment."""
    from sampled_metrics_study.experiment import read_ranks_by_name
    from sampled_metrics_study.paper import read_study

    study = read_study()
    paths = [reference / f"ranks/{entry.name}.parquet" for entry in study.recommenders]
    return read_ranks_by_name(paths), study.experiment


def replace_times(user: Int, item: Int, time: Int) -> Int:
    """Return events with all ratings 3, and with the times of a user as 0, 1, 2 ... in order."""
    order = np.lexsort((time, user))
    is_later = np.diff(time[order], prepend=-1) != 0
    is_other = np.diff(user[order], prepend=-1) != 0
    place = np.cumsum(is_later | is_other)
    first_of_user = np.maximum.accumulate(np.where(is_other, place, 0))
    counted = np.empty_like(time)
    counted[order] = place - first_of_user
    return np.column_stack([user, item, np.full_like(user, 3), counted])


def rewrite(kind: str, archive: str, output: str) -> None:
    """Rewrite an archive of MovieLens 1M.

    `times` replaces each rating by 3, and the times of a user by 0, 1, 2 ... in the same order and
    with the same ties; the results of the study must not change. `lines` shuffles the ratings.
    """
    with zipfile.ZipFile(archive) as zipped:
        lines = zipped.read(MEMBER).decode("latin-1").split()
    events = np.array([line.split("::") for line in lines], dtype=np.int64)
    if kind == "times":
        events = replace_times(events[:, 0], events[:, 1], events[:, 3])
    else:
        events = np.random.default_rng(0).permutation(events)
    text = "".join(f"{u}::{i}::{r}::{t}\n" for u, i, r, t in events.tolist())
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr(MEMBER, text)


if __name__ == "__main__":
    with program():
        command, *arguments = sys.argv[1:]
        if command in ("times", "lines"):
            rewrite(command, *arguments)
        else:
            commands: dict[str, Any] = {
                "store": store,
                "schema": schema,
                "slope": slope,
                "lens": lens,
                "verify": verify,
            }
            commands[command](*map(Path, arguments))
