"""Ranks and sampled ranks from whatever a caller has: arrays, tables, lists, files, or ranks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.ranks import sampled_reading, trec
from sampled_metrics.ranks.columns import require, require_same_items
from sampled_metrics.ranks.ranking import rank
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.reading import read_ranks
from sampled_metrics.ranks.sampled import SampledRanks
from sampled_metrics.ranks.sampled_reading import Drawn
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.tables.columns import ITEM, USER
from sampled_metrics.tables.naming import KNOWN, selected
from sampled_metrics.tables.reading import column_names, is_frame, read_table, require_file


def as_ranks(
    data: Any,
    *,
    n_items: int | None = None,
    relevant: Any = None,
    seen: Any = None,
    min_grade: float = 0.0,
    complete: bool = False,
) -> Ranks:
    """Return the ranks in full rankings that some data gives.

    Parameters
    ----------
    data
        `Ranks`; the name of a file, or a DataFrame with the same columns, see `read_ranks`; scores,
        shape (users, items), in a DataFrame too; exact ranks from 1, shape (users,); or a list of
        items, best first, for each user of a dictionary.
    n_items
        Candidates of each ranking, for ranks and lists.
    relevant
        Relevant items of scores and lists: a column for each user, or a matrix, users x items, for
        arrays; a file or a DataFrame for files and DataFrames; a dictionary for a dictionary.
    seen, min_grade, complete
        See `rank` for arrays, and `read_ranks`.

    Examples
    --------
    >>> as_ranks([[0.3, 0.9, 0.5]], relevant=[2]).best_rank
    array([2])
    >>> as_ranks({"anna": [7, 9]}, relevant={"anna": [9]}).best_rank
    array([2])
    """
    if relevant is not None and not _is_table(relevant):
        data = _unnamed(data)
    if _is_table(data):
        table, relevant, seen = (_frame_of(each) for each in (data, relevant, seen))
        return read_ranks(
            table,
            n_items=n_items,
            relevant=relevant,
            seen=seen,
            min_grade=min_grade,
            complete=complete,
        )
    if complete:
        raise InputError("complete is for lists")
    if isinstance(data, Ranks):
        if any(each is not None for each in (n_items, relevant, seen)) or min_grade:
            raise InputError("found ranks; relevant, seen, n_items and min_grade are for others")
        return data
    if isinstance(data, SampledRanks):
        raise InputError("found sampled ranks; `correct` takes them")
    array = _array(data)
    if array.ndim == 1:
        return _plain(array, n_items, relevant)
    return _scored(array, n_items, relevant, seen, min_grade)


def _scored(
    scores: NDArray[Any], n_items: int | None, relevant: Any, seen: Any, min_grade: float
) -> Ranks:
    if relevant is None:
        raise InputError(
            "found scores; give relevant, the column of each user's held-out item, or `correct` "
            "with positive if these are scores of a held-out item and its negatives"
        )
    if n_items is not None and n_items != scores.shape[1]:
        raise InputError(f"found scores of {scores.shape[1]} items, but n_items is {n_items}")
    relevant = relevant if issparse(relevant) else _array(relevant)
    if relevant.shape not in {scores.shape, scores.shape[:1]}:
        raise InputError(f"relevant has shape {relevant.shape}, the scores {scores.shape}")
    if seen is not None and np.shape(seen) != scores.shape:
        raise InputError(f"seen has shape {np.shape(seen)}, the scores {scores.shape}")
    return rank(lambda users: scores[users], seen, relevant, min_grade=min_grade or None)


def as_sampled(data: Any, drawn: Drawn) -> SampledRanks:
    """Return the sampled ranks that some data gives.

    Parameters
    ----------
    data
        `SampledRanks`; the name of a file, or a DataFrame with the same columns, see
        `read_sampled`; scores of held-out items and their negatives, shape (users, 1 + m), in a
        DataFrame too; or sampled ranks from 1, shape (users,).
    drawn
        What is known of them besides.

    Examples
    --------
    >>> as_sampled([[0.3, 0.9, 0.1]], Drawn(n_items=50, positive=0)).sampled_ranks
    array([2])
    """
    drawn.check()
    if isinstance(data, SampledRanks):
        return _unchanged(data, drawn)
    if isinstance(data, Ranks):
        raise InputError("found full rankings, which need no correction; `evaluate` takes them")
    if isinstance(data, str | Path):
        return sampled_reading.read_sampled(Path(data), drawn)
    if drawn.positive is not None:
        if isinstance(drawn.positive, str) and drawn.positive in getattr(data, "columns", ()):
            drawn = drawn._replace(positive=list(data.columns).index(drawn.positive))
        data = _unnamed(data)
    if is_frame(data):
        return sampled_reading.of_table(read_table(data, sampled_reading.WHAT), drawn)
    table = _array(data)
    if table.ndim == 1:
        return sampled_reading.of_ranks(table, drawn)
    return sampled_reading.of_scores(table, drawn)


def is_sampled(data: Any, drawn: Drawn) -> bool:
    """Return whether data is of sampled rankings, by its kind or by what is said of it."""
    if isinstance(data, Ranks | SampledRanks):
        return isinstance(data, SampledRanks)
    if drawn.positive is not None or drawn.n_negatives is not None:
        return True
    if isinstance(data, str | Path):
        path = Path(data)
        require_file(path, sampled_reading.WHAT)
        if path.suffix in {".npy", ".npz"} or trec.is_run_file(path, sampled_reading.WHAT):
            return False
    elif not is_frame(data):
        return False
    return bool({"sampled_rank", "label"} & set(column_names(data, sampled_reading.WHAT)))


def all_alike(
    data: Mapping[str, Any],
    drawn: Drawn,
    *,
    seen: Any = None,
    min_grade: float = 0.0,
    complete: bool = False,
) -> tuple[dict[str, SampledRanks], dict[str, Ranks]]:
    """Return the sampled ranks of all recommenders, or their ranks in full rankings.

    The other of the two dictionaries is empty. Data of both kinds is an error. For the parameters
    see `is_sampled`, `as_sampled` and `as_ranks`.

    Examples
    --------
    >>> all_alike({"A": [1, 3], "B": [2, 2]}, Drawn(n_items=9))[1]["B"].best_rank
    array([2, 2])
    """
    among = [name for name, each in data.items() if is_sampled(each, drawn)]
    full = [name for name in data if name not in among]
    if among and full:
        raise InputError(
            f"{full[0]} is ranked in full, {among[0]} among samples; compare like with like"
        )
    of_full: dict[str, Any] = {"n_items": drawn.n_items, "relevant": drawn.relevant, "seen": seen}
    of_full |= {"min_grade": min_grade, "complete": complete}
    samples, rankings = {}, {}
    for name, each in data.items():
        with reading(name):
            if among:
                samples[name] = as_sampled(each, drawn)
            else:
                rankings[name] = as_ranks(each, **of_full)
    return samples, rankings


def _unchanged(data: SampledRanks, drawn: Drawn) -> SampledRanks:
    """Return sampled ranks, or raise InputError where options say otherwise than they do."""
    sampling = None if drawn.sampling is None else Sampling(drawn.sampling)
    require_same_items(data.n_items, drawn.n_items)
    for name, given, found in (
        ("n_negatives", drawn.n_negatives, data.n_negatives),
        ("sampling", sampling, data.sampling),
    ):
        if given is not None and given != found:
            raise InputError(f"found {name} {found}, but {name} is {given}; leave it out")
    if drawn.positive is not None or drawn.relevant is not None:
        raise InputError("found sampled ranks; positive and relevant are for scores")
    return data


def _plain(ranks: NDArray[Any], n_items: int | None, relevant: Any) -> Ranks:
    if relevant is not None:
        raise InputError("found exact ranks; relevant is for scores and lists")
    if n_items is None:
        raise InputError("found exact ranks, but not among how many items; give n_items")
    if ranks.dtype.kind not in "iu":
        raise InputError(f"ranks are {ranks.dtype}; expected whole numbers from 1")
    require("rank", ranks, (ranks >= 1) & (ranks <= n_items), f"1 to {n_items}")
    return Ranks(np.full(ranks.size, n_items), ranks.astype(np.int64) - 1, np.zeros_like(ranks))


def _frame_of(data: Any) -> Any:
    """Return a table of the lists of a dictionary; anything else as it is."""
    if not isinstance(data, Mapping):
        return data
    import pandas as pd

    lists = {user: np.atleast_1d(np.asarray(items)) for user, items in data.items()}
    counts = [items.size for items in lists.values()]
    if not sum(counts):
        raise InputError("no items in the lists; expected items for each user")
    return pd.DataFrame(
        {
            USER: np.repeat(np.asarray(list(lists)), counts),
            ITEM: np.concatenate(list(lists.values())),
            "rank": np.concatenate([np.arange(1, count + 1) for count in counts]),
        }
    )


def _is_table(data: Any) -> bool:
    return isinstance(data, str | Path | Mapping) or is_frame(data)


def _unnamed(data: Any) -> Any:
    """Return a DataFrame of numbers without any known column as an array; other data as it is."""
    if not is_frame(data) or any(data[name].dtype.kind not in "biuf" for name in data):
        return data
    _, known = selected(Path("DataFrame"), list(map(str, data.columns)), KNOWN)
    return data if known else data.to_numpy()


def _array(data: Any) -> NDArray[Any]:
    """Return numbers of one or two dimensions as an array."""
    kind = type(data).__name__
    try:
        array = np.asarray(data)
    except ValueError:
        raise InputError(f"rows of the {kind} differ in length; expected an array") from None
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2) or not array.size:
        shape = f" of {array.dtype}, shape {array.shape}" if array.ndim else ""
        raise InputError(
            f"found {kind}{shape}; expected numbers (ranks or scores), a DataFrame, a file, or "
            "what a reader returns"
        )
    return array
