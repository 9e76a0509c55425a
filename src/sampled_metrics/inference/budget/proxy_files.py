"""Proxies from files, kept in the folder of an evaluation."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap

from sampled_metrics._base.arrays import Int, blocks
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_array, read_arrays
from sampled_metrics.datasets.split import Split
from sampled_metrics.inference.budget.problem import Problem
from sampled_metrics.inference.budget.proxies import (
    NAMES,
    Factors,
    Matrix,
    Part,
    Proxy,
    make_proxy,
)
from sampled_metrics.recommenders.external import External
from sampled_metrics.tables.reading import require_file

WHAT = "scores of a proxy: .npy, users x items, or .npz of scores, user_ids, item_ids"
POPULARITY, ALS = NAMES


def keep_proxy(proxy: str | Path, number: int, problem: Problem, seed: int, folder: Path) -> str:
    """Train or read a proxy, write what `kept_proxy` needs, return its name.

    Parameters
    ----------
    proxy
        `popularity`; `als`, trained on the events of all users; or a file: `.npz` with arrays
        `scores`, `user_ids` and `item_ids`, as written by `numpy.savez`, or `.npy` of the scores
        alone where ids are rows and columns of a matrix.
    number
        Of the proxy, which names its file.
    """
    events = problem.events
    if proxy == POPULARITY:
        return POPULARITY
    if proxy == ALS:
        model = make_proxy(ALS, events, events.shape, seed)
        assert isinstance(model, Factors)  # noqa: S101 - for mypy
        np.savez(folder / f"proxy{number}.npz", users=model.user_vectors, items=model.item_vectors)
        return ALS
    path = Path(proxy)
    if path.suffix not in (".npy", ".npz"):
        raise InputError(
            f"unknown proxy {str(proxy)!r}; known: popularity, als, FILE.npy, FILE.npz"
        )
    require_file(path, WHAT)
    target = folder / f"proxy{number}.npy"
    rows = _rows(path, problem) if path.suffix == ".npy" else _rows_by_id(path, problem)
    shape = (problem.user_ids.size, problem.item_ids.size)
    scores = open_memmap(target, "w+", rows(np.arange(1)).dtype, shape)
    for block in blocks(*shape):
        scores[block] = rows(np.arange(*block.indices(shape[0])))
    scores.flush()
    return path.name


def kept_proxy(name: str, number: int, problem: Problem, folder: Path) -> Proxy:
    """Return a proxy that `keep_proxy` kept."""
    if name == POPULARITY:
        proxy = make_proxy(POPULARITY, problem.events, problem.events.shape, 0)
        n_users = problem.user_ids.size
        # Popularity is known to be that of the users evaluated, unless it is a part of another.
        return proxy if n_users == problem.events.shape[0] else Part(proxy, np.arange(n_users))
    if name == ALS:
        arrays = read_arrays(folder / f"proxy{number}.npz", "factors", ("users", "items"))
        return Factors(arrays["users"], arrays["items"])
    matrix = Matrix(np.load(folder / f"proxy{number}.npy", mmap_mode="r"))
    matrix.name = name
    return matrix


def _rows(path: Path, problem: Problem) -> Callable[[Int], Any]:
    """Return a function of users that gives their rows of a matrix."""
    if not problem.numbered:
        raise InputError(
            "a matrix has no ids, but the seen items have; give .npz with scores, user_ids and "
            "item_ids",
            path=path,
        )
    scores = read_array(path, WHAT, mmap_mode="r")
    if scores.shape != problem.events.shape or scores.dtype.kind not in "fiu":
        raise InputError(
            f"scores are {scores.dtype} of shape {scores.shape}; expected numbers of shape "
            f"{problem.events.shape}",
            path=path,
        )
    return lambda users: scores[problem.user_ids[users]]


def _rows_by_id(path: Path, problem: Problem) -> Callable[[Int], Any]:
    """Return a function of users that gives their scores in the order of the problem's items."""
    first = np.searchsorted(problem.owner, np.arange(problem.user_ids.size))
    split = Split(problem.seen, problem.item[first], problem.user_ids, problem.item_ids, 0)
    return External.read(path, split).rows
