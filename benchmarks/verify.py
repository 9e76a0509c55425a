"""Say whether a run has the tables and figures of the reference: verify.py RUN REFERENCE.

`make verify ARCHIVE=ml-1m.zip` makes the run. The exit status is 1 if anything differs.
"""

import csv
import json
import math
import sys
from pathlib import Path

ACCURACY = 1e-6  # of numbers, relative, which another processor may round otherwise
PARTS = {
    "Tables 1-4": [f"tables/table{number}.csv" for number in range(1, 5)],
    "exact metrics": ["tables/exact.csv"],
    "Figures 1-6": [f"figures/figure{number}.csv" for number in range(1, 7)],
    "ranges": ["ranges.csv"],
    "scorecard": ["scorecard.csv"],
}


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def is_same(found, expected):
    """Return whether two cells hold the same text, or numbers that are equal but for rounding."""
    if found == expected:
        return True
    try:
        return math.isclose(float(found), float(expected), rel_tol=ACCURACY, abs_tol=ACCURACY)
    except ValueError:
        return False


def differences(found, expected):
    """Return the cells that differ, and the number of cells; other rows differ as a whole."""
    ours = rows_of(found)
    theirs = rows_of(expected)
    n_cells = sum(map(len, theirs))
    if [len(row) for row in ours] != [len(row) for row in theirs]:
        return [f"{found.name} has other rows"], n_cells
    places = []
    for number, (row, kept) in enumerate(zip(ours, theirs, strict=True)):
        for column, value, known in zip(theirs[0], row, kept, strict=True):
            if not is_same(value, known):
                places.append(f"{found.name}, row {number}, {column}: {value}, not {known}")
    return places, n_cells


def kind_of(source):
    """Say which data a run used."""
    if source["archive_is_official"]:
        return "official archive"
    if source["ratings_is_official"]:
        return "official ratings in another archive"
    return "not the official archive"


def main():
    run, reference = map(Path, sys.argv[1:])
    source = json.loads((run / "provenance.json").read_text("utf-8"))["source"]
    same = []
    other = []
    places = []
    for name, files in PARTS.items():
        n_cells = 0
        of_part = []
        for file in files:
            found, cells = differences(run / file, reference / file)
            of_part += found
            n_cells += cells
        if of_part:
            other.append(f"{name} ({len(of_part)} of {n_cells:,} values)")
        else:
            same.append(name)
        places += of_part
    line = f"{kind_of(source)} ({source['archive']}): "
    if other:
        line += f"other than the reference: {', '.join(other)}, first {places[0]}; "
    line += f"the same as the reference: {', '.join(same) or 'nothing'}"
    print(line)
    sys.exit(bool(other))


if __name__ == "__main__":
    main()
