"""Compare exports made now with those kept for the tests: compare.py MADE KEPT."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd


def largest_difference(made, kept):
    """Return the largest difference of two files' numbers; other values must be equal."""
    if made.suffix == ".npy":
        a = np.load(made)
        b = np.load(kept)
        finite = np.isfinite(a)
        np.testing.assert_array_equal(finite, np.isfinite(b))
        return float(np.abs(a[finite] - b[finite]).max())
    if made.suffix == ".json":
        a = json.loads(made.read_text())["metrics"]
        b = json.loads(kept.read_text())["metrics"]
        assert a.keys() == b.keys()
        return max(abs(a[name] - b[name]) for name in a)
    a = pd.read_csv(made)
    b = pd.read_csv(kept)
    numbers = a.select_dtypes("number").columns
    pd.testing.assert_frame_equal(a.drop(columns=numbers), b.drop(columns=numbers))
    return float((a[numbers] - b[numbers]).abs().max(axis=None)) if len(numbers) else 0.0


def main():
    made, kept = map(Path, sys.argv[1:])
    for path in sorted(kept.iterdir()):
        difference = largest_difference(made / path.name, path)
        print(f"{kept.name}/{path.name}: largest difference {difference:.2g}")
        assert difference < 1e-4


if __name__ == "__main__":
    main()
