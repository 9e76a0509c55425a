"""`kind_of`: what data is, by the table of kinds."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy
from scipy import sparse

import sampled_metrics as sm
from sampled_metrics._base.calls import AssignedColumns, open_call
from sampled_metrics.read.kinds import KINDS, Kind, kind_of
from tests.helpers.forms import (
    list_forms,
    mark_forms,
    matrix_forms,
    table_forms,
    user_item_forms,
)

SCORES = np.array([[0.9, 0.5, 0.1], [0.2, 0.8, 0.4]])


def forms(folder: Path) -> dict[str, dict[str, Any]]:
    frame = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [7, 8, 7]})
    return {
        "lists": list_forms(frame, folder),
        "scored lists": list_forms(frame.assign(score=[0.5, 0.25, 0.125]), folder),
        "items": user_item_forms(frame, folder),
        "ranks": table_forms(pd.DataFrame({"user_id": [1, 2], "rank": [3, 1]}), folder),
        "matrix": matrix_forms(SCORES, folder),
        "marks": mark_forms((SCORES > 0.4).astype(int), folder),
    }


FRAME = pd.DataFrame({"user_id": [1, 2], "rank": [3, 1]})
# The kinds of the forms of one table, one matrix and so on; further ones of some of them below.
KIND_OF_FORM = {
    "frame": Kind.TABLE,
    "csv": Kind.TABLE_FILE,
    "tsv": Kind.TABLE_FILE,
    "parquet": Kind.TABLE_FILE,
    "columns": Kind.COLUMNS,
    "arrow": Kind.TABLE,
    "lent": Kind.TABLE,
    "polars": Kind.TABLE,
    "trec": Kind.TABLE_FILE,
    "dictionary": Kind.BY_USER,
    "sets": Kind.BY_USER,
    "dictionaries": Kind.BY_USER,
    "series": Kind.SERIES,
    "array": Kind.MATRIX,
    "swapped bytes": Kind.MATRIX,
    "lists": Kind.ROWS,
    "wide": Kind.WIDE,
    "npy": Kind.ARRAY_FILE,
    "npz": Kind.ARRAY_FILE,
    "csr_array": Kind.SPARSE,
    "coo_array": Kind.SPARSE,
}
KIND_OF_MATRIX = KIND_OF_FORM | dict.fromkeys(("arrow", "lent", "polars"), Kind.WIDE)


def test_kinds_of_forms(tmp_path: Path) -> None:
    groups = forms(tmp_path)
    for group, made in groups.items():
        kinds = KIND_OF_MATRIX if group == "matrix" else KIND_OF_FORM
        assert {name: kind_of(form) for name, form in made.items()} == {
            name: kinds[name] for name in made
        }, group


BY_USER = {1: [7], 2: [8]}
OTHERS = [
    (sm.Ranks([9], [0], [0]), Kind.READ),
    (sm.SampledRanks([1], n_items=9, n_negatives=3), Kind.READ),
    ("no suffix", Kind.TABLE_FILE),
    (Path("a.npy.csv"), Kind.TABLE_FILE),
    ({"A": SCORES, "B": "b.csv"}, Kind.RECOMMENDERS),
    ({"A": sm.Ranks([9], [0], [0])}, Kind.RECOMMENDERS),
    ({"A": FRAME, "B": lambda users: SCORES[users]}, Kind.RECOMMENDERS),
    ({"A": (SCORES, SCORES), "B": SCORES.tolist()}, Kind.RECOMMENDERS),
    ({"A": BY_USER}, Kind.RECOMMENDERS),
    ({"A": {"rank": [1, 2]}}, Kind.RECOMMENDERS),
    ({"A": BY_USER, "B": [7, 8]}, Kind.BY_USER),
    ({"ids": [["x"], ["y"]], "distances": [[0.5], [0.25]]}, Kind.BY_USER),  # of a vector store
    ({"a": 7}, Kind.BY_USER),
    ({"a": "x", "b": "y"}, Kind.BY_USER),
    ({"a": "a.csv", "b": "b.csv"}, Kind.RECOMMENDERS),
    ({"a": {7: 0.5}}, Kind.BY_USER),
    ({}, Kind.BY_USER),
    ({"who": [1], "what": [2]}, Kind.BY_USER),
    ({"user_id": [1]}, Kind.BY_USER),
    ({"user_id": [1], "item": [7]}, Kind.COLUMNS),
    ({"score": [0.5], "label": [1]}, Kind.COLUMNS),
    ({"rank": [1]}, Kind.COLUMNS),
    (sparse.dok_array(SCORES), Kind.SPARSE),
    (pd.Series([3, 1], index=["a", "b"]), Kind.SERIES),
    (pd.Series([3, 1]), Kind.ARRAY),
    (FRAME.to_records(index=False), Kind.RECORDS),
    (FRAME.to_dict("records"), Kind.RECORDS),
    (pd.DataFrame(SCORES).assign(rank=1), Kind.TABLE),
    (pd.DataFrame({"x": ["text"]}), Kind.TABLE),
    ((SCORES, SCORES), Kind.PAIR),
    ((SCORES.tolist(), SCORES.tolist()), Kind.PAIR),
    (([1, 2], [3, 4]), Kind.ROWS),
    (([[1], [2, 3]], [[4], [5, 6]]), Kind.ROWS),
    (len, Kind.FUNCTION),
    ([3, 1], Kind.ARRAY),
    (np.array([3, 1]), Kind.ARRAY),
    (pa.array([3, 1]), Kind.ARRAY),
    (range(3), Kind.ARRAY),
    ([], Kind.ARRAY),
    ([[1], [2, 3]], Kind.ROWS),
    ([{1}, {2, 3}], Kind.ROWS),
    (["a", "b"], Kind.ROWS),
    (SCORES[None], Kind.OTHER),
    (np.array(3), Kind.OTHER),
    (dict, Kind.OTHER),
    (None, Kind.OTHER),
]


@pytest.mark.parametrize(("data", "kind"), OTHERS)
def test_kinds_of_other_data(data: Any, kind: Kind) -> None:
    assert kind_of(data) is kind


def test_caller_names_the_columns_of_a_dictionary() -> None:
    pairs = {"who": [1], "what": [7]}
    columns = AssignedColumns({"who": "user_id", "what": "item_id"}, {})
    with open_call(columns=columns):
        assert kind_of(pairs) is Kind.COLUMNS
    assert kind_of(pairs) is Kind.BY_USER


NAMES = {"sm": sm, "pandas": pd, "scipy": scipy, "scores": SCORES}


@pytest.mark.parametrize("row", KINDS, ids=lambda row: row.kind.value)
def test_examples_are_of_their_kind(row: Any) -> None:
    names = dict(NAMES)
    if "polars" in row.example:
        names["polars"] = pytest.importorskip("polars")
    data = eval(row.example, names)  # noqa: S307
    assert kind_of(data) is row.kind


def test_each_kind_has_one_row() -> None:
    assert sorted(row.kind.value for row in KINDS) == sorted(kind.value for kind in Kind)
