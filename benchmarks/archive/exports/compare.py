"""Compare new exports with those stored for the tests: compare.py NEW STORED."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd


def largest_difference(new, stored):
    """Return the largest difference of two files' numbers; other values must be equal."""
    if new.suffix == ".npy":
        a = np.load(new)
        b = np.load(stored)
        finite = np.isfinite(a)
        np.testing.assert_array_equal(finite, np.isfinite(b))
        return float(np.abs(a[finite] - b[finite]).max())
    if new.suffix == ".json":
        a = json.loads(new.read_text())["metrics"]
        b = json.loads(stored.read_text())["metrics"]
        assert a.keys() == b.keys()
        return max(abs(a[name] - b[name]) for name in a)
    a = pd.read_csv(new)
    b = pd.read_csv(stored)
    numbers = a.select_dtypes("number").columns
    pd.testing.assert_frame_equal(a.drop(columns=numbers), b.drop(columns=numbers))
    return float((a[numbers] - b[numbers]).abs().max(axis=None)) if len(numbers) else 0.0


def main():
    new, stored = map(Path, sys.argv[1:])
    for path in sorted(stored.iterdir()):
        difference = largest_difference(new / path.name, path)
        print(f"{stored.name}/{path.name}: largest difference {difference:.2g}")
        assert difference < 1e-4


if __name__ == "__main__":
    main()
