"""The same data in every form that people use."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.sparse import coo_array, csr_array, save_npz

Forms = dict[str, Any]


@dataclass(frozen=True)
class InForms:
    """Data in several forms, which may need files in a folder; some are refused, by name."""

    make: Callable[[Path], Forms]
    refused: str = ""


def arrays(values: Any, refused: str = "") -> InForms:
    return InForms(lambda folder: array_forms(np.array(values), folder), refused)


def matrices(values: Any) -> InForms:
    return InForms(lambda folder: matrix_forms(values, folder))


def marks(matrix: Any, refused: str = "") -> InForms:
    return InForms(lambda folder: mark_forms(matrix, folder), refused)


def columns(values: Any) -> InForms:
    return InForms(lambda _: column_forms(pa.array(values)))


def tables(frame: pd.DataFrame) -> InForms:
    return InForms(lambda folder: table_forms(frame, folder))


def lists(frame: pd.DataFrame) -> InForms:
    return InForms(lambda folder: list_forms(frame, folder))


def pairs(frame: pd.DataFrame) -> InForms:
    return InForms(lambda folder: user_item_forms(frame, folder))


def these(**forms: Any) -> InForms:
    return InForms(lambda _: forms)


def by_name(frame: pd.DataFrame, column: str, *names: str) -> InForms:
    """Return a table with each name of a column."""
    return these(**{name: frame.rename(columns={column: name}) for name in names})


class ArrowFrame:
    """A stand-in for a DataFrame of polars, which others read by the Arrow protocol."""

    def __init__(self, frame: Any):
        self.table = pa.table(frame)
        self.columns = self.table.column_names

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


ArrowFrame.__name__ = "DataFrame"


class ArrowColumn:
    """A stand-in for a column of another library, which others read by the Arrow protocol."""

    def __init__(self, values: Any):
        self.values = pa.chunked_array([values])
        self.dtype = self.values.type
        self.shape = (len(values),)

    def __len__(self) -> int:
        return len(self.values)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.values.__arrow_c_stream__(requested_schema)


class DlpackArray:
    """A tensor that only supports the DLPack protocol."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def table_forms(frame: pd.DataFrame, folder: Path) -> Forms:
    """A table in everything that holds one."""
    return {name: make() for name, make in table_form_makers(frame, folder).items()}


def table_form_makers(frame: pd.DataFrame, folder: Path) -> dict[str, Callable[[], Any]]:
    """Functions that make the forms of a table, to make one of them only."""

    def write(name: str, method: Callable[..., Any], **options: Any) -> Path:
        path = new_path(folder, name)
        method(path, index=False, **options)
        return path

    def arrow() -> pa.Table:
        return pa.Table.from_pandas(frame, preserve_index=False)

    makers: dict[str, Callable[[], Any]] = {
        "frame": lambda: frame,
        "csv": lambda: write("t.csv", frame.to_csv),
        "tsv": lambda: write("u.tsv", frame.to_csv, sep="\t"),
        "parquet": lambda: write("v.parquet", frame.to_parquet),
        "columns": lambda: {str(name): frame[name].to_numpy() for name in frame},
        "arrow": arrow,
        "lent": lambda: ArrowFrame(arrow()),
    }
    if importlib.util.find_spec("polars"):
        import polars

        makers["polars"] = lambda: polars.from_arrow(arrow())
    return makers


def list_forms(frame: pd.DataFrame, folder: Path) -> Forms:
    """Lists, with a column `score` or best first, in everything that holds them."""
    forms = table_forms(frame, folder)
    by_user = frame.groupby("user_id", sort=False)
    if "score" not in frame:
        forms["dictionary"] = {user: rows["item_id"].tolist() for user, rows in by_user}
        forms["series"] = by_user["item_id"].agg(list)
        return forms
    run = new_path(folder, "a.run")
    ids = zip(frame["user_id"], frame["item_id"], frame["score"], strict=True)
    run.write_text("".join(f"{user} Q0 {item} 1 {score!r} me\n" for user, item, score in ids))
    forms["trec"] = run
    forms["dictionaries"] = {
        user: dict(zip(rows["item_id"], rows["score"], strict=True)) for user, rows in by_user
    }
    return forms


def user_item_forms(frame: pd.DataFrame, folder: Path) -> Forms:
    """Pairs of user and item, at least one for each user, in everything that holds them by id."""
    forms = table_forms(frame, folder)
    by_user = frame.groupby("user_id", sort=False)["item_id"]
    forms["dictionary"] = {user: items.tolist() for user, items in by_user}
    forms["sets"] = {user: set(items) for user, items in by_user}
    forms["dictionaries"] = {user: dict.fromkeys(items, 1) for user, items in by_user}
    forms["series"] = by_user.agg(list)
    qrels = new_path(folder, "b.qrels")
    pairs = zip(frame["user_id"], frame["item_id"], strict=True)
    qrels.write_text("".join(f"{user} 0 {item} 1\n" for user, item in pairs))
    forms["trec"] = qrels
    return forms


def matrix_forms(matrix: np.ndarray, folder: Path) -> Forms:
    """Numbers of users x items in everything that holds them in one piece."""
    npy, npz = new_path(folder, "m.npy"), new_path(folder, "m.npz")
    np.save(npy, matrix)
    np.savez(npz, scores=matrix)
    wide = pd.DataFrame(matrix)
    forms: Forms = {"array": matrix, "lists": matrix.tolist(), "wide": wide}
    forms |= {
        "npy": npy,
        "npz": npz,
        "swapped bytes": matrix.astype(matrix.dtype.newbyteorder()),
    }
    columns = {f"c{place}": pa.array(column.tolist()) for place, column in enumerate(matrix.T)}
    forms["arrow"] = pa.table(columns)
    forms["lent"] = ArrowFrame(forms["arrow"])
    if importlib.util.find_spec("polars"):
        import polars

        forms["polars"] = polars.from_arrow(forms["arrow"])
    return forms


def array_forms(array: np.ndarray, folder: Path) -> Forms:
    """Numbers of one axis, or of users x items, in other types and in all that holds them."""
    forms: Forms = {"list": array.tolist(), "transposed": array.T.copy().T}
    forms["swapped bytes"] = array.astype(array.dtype.newbyteorder())
    types = ["float16", "float32", "float64", "object"]
    if array.dtype.kind == "i":
        types += ["int8", "int32", "uint64", "str"]
    forms |= {name: array.astype(name) for name in types}
    forms["dlpack"] = DlpackArray(array)
    forms["npy"] = new_path(folder, "a.npy")
    np.save(forms["npy"], array)
    if importlib.util.find_spec("torch"):
        import torch

        forms["torch"] = torch.as_tensor(array.copy())
        if array.dtype.kind == "f":
            forms["gradients"] = torch.as_tensor(array.copy()).requires_grad_()
    if array.ndim > 1:
        title = pd.DataFrame(array).assign(title="t")
        ids = pd.DataFrame(array).add_prefix("c").assign(user_id=np.arange(len(array)))
        return forms | matrix_forms(array, folder) | {"with ids": ids, "with a title": title}
    forms |= column_forms(pa.array(array))
    forms["tuple"] = tuple(array)
    forms["nullable"] = pd.Series(array).convert_dtypes()
    forms["shuffled index"] = pd.Series(array, index=np.arange(len(array))[::-1] + 100)
    return forms


def column_forms(column: pa.Array) -> Forms:
    """A column of numbers, of texts or of lists in everything that holds one."""
    half = len(column) // 2
    return {
        "list": column.to_pylist(),
        "series": pd.Series(column.to_pylist()),
        "objects": pd.Series(column.to_pylist()).to_numpy(),
        "arrow": column,
        "chunks": pa.chunked_array([column[:half], column[half:]]),
        "lent": ArrowColumn(column),
    }


def mark_forms(matrix: np.ndarray, folder: Path) -> Forms:
    """Nonzero numbers of users x items in everything that holds them by position."""
    npy, npz = new_path(folder, "n.npy"), new_path(folder, "n.npz")
    np.save(npy, matrix)
    save_npz(npz, csr_array(matrix))
    sparse = {kind.__name__: kind(matrix) for kind in (csr_array, coo_array)}
    return {
        "array": matrix,
        "lists": matrix.tolist(),
        "npy": npy,
        "npz": npz,
        **sparse,
    }


def new_path(folder: Path, name: str) -> Path:
    """Return the name of a file that is not in a folder yet."""
    folder.mkdir(exist_ok=True)
    return folder / f"{len(list(folder.iterdir()))}-{name}"
