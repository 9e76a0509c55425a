"""Ranks and sampled ranks from whatever a caller has: arrays, tables, lists, files, or ranks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.ranks import sampled_reading, trec
from sampled_metrics.ranks.checks import require, require_same
from sampled_metrics.ranks.options import Drawn, Ranked
from sampled_metrics.ranks.ranking import rank
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.reading import read_ranks
from sampled_metrics.ranks.sampled import SampledRanks
from sampled_metrics.tables.ids import ITEM, USER
from sampled_metrics.tables.naming import KNOWN, selected
from sampled_metrics.tables.reading import column_names, is_frame, read_table, require_file


def as_ranks(data: Any, ranked: Ranked) -> Ranks:
    """Return the ranks in full rankings that some data gives.

    The data is `Ranks`; the name of a file, or a DataFrame with the same columns, see `read_ranks`;
    scores, shape (users, items), in a DataFrame too; exact ranks from 1, shape (users,); or a list
    of items, best first, for each user of a dictionary.

    Examples
    --------
    >>> as_ranks([[0.3, 0.9, 0.5]], Ranked(relevant=[2])).best_rank
    array([2])
    >>> as_ranks({"anna": [7, 9]}, Ranked(relevant={"anna": [9]})).best_rank
    array([2])
    """
    n_items, relevant, seen, min_grade, complete = ranked
    if relevant is not None and not _is_table(relevant):
        data = _unnamed(data)
    if _is_table(data):
        ranked = ranked._replace(relevant=_frame_of(relevant), seen=_frame_of(seen))
        return read_ranks(_frame_of(data), ranked)
    if complete:
        raise InputError("complete is for lists")
    if isinstance(data, Ranks):
        if any(option is not None for option in (n_items, relevant, seen)) or min_grade:
            raise InputError("found ranks; relevant, seen, n_items and min_grade are for others")
        return data
    if isinstance(data, SampledRanks):
        raise InputError("found sampled ranks; `correct` takes them")
    array = _array(data)
    return _plain(array, ranked) if array.ndim == 1 else _scored(array, ranked)


def as_sampled(data: Any, drawn: Drawn) -> SampledRanks:
    """Return the sampled ranks that some data gives.

    The data is `SampledRanks`; the name of a file, or a DataFrame with the same columns, see
    `read_sampled`; scores of held-out items and their negatives, shape (users, 1 + m), in a
    DataFrame too; or sampled ranks from 1, shape (users,).
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
    """Return whether data is of sampled rankings, by its kind or by the options given."""
    if isinstance(data, Ranks | SampledRanks):
        return isinstance(data, SampledRanks)
    if drawn.positive is not None or drawn.n_negatives is not None:
        return True
    if isinstance(data, str | Path):
        path = Path(data)
        require_file(path, sampled_reading.WHAT)
        if path.suffix in {".npy", ".npz"} or trec.RUN.is_of(path, sampled_reading.WHAT):
            return False
    elif not is_frame(data):
        return False
    return bool({"sampled_rank", "label"} & set(column_names(data, sampled_reading.WHAT)))


def all_alike(
    data: Mapping[str, Any], drawn: Drawn, ranked: Ranked
) -> tuple[dict[str, SampledRanks], dict[str, Ranks]]:
    """Return the sampled ranks of all recommenders, or their ranks in full rankings.

    The other of the two dictionaries is empty. Data of both kinds is an error.
    """
    among = [name for name, value in data.items() if is_sampled(value, drawn)]
    full = [name for name in data if name not in among]
    if among and full:
        raise InputError(
            f"{full[0]} is ranked in full, {among[0]} among samples; compare like with like"
        )
    samples, rankings = {}, {}
    for name, value in data.items():
        with reading(name):
            if among:
                samples[name] = as_sampled(value, drawn)
            else:
                rankings[name] = as_ranks(value, ranked)
    return samples, rankings


def _unchanged(data: SampledRanks, drawn: Drawn) -> SampledRanks:
    """Return sampled ranks, or raise InputError where options say otherwise than they do."""
    require_same("n_items", drawn.n_items, "n_candidates", data.n_items)
    require_same("n_negatives", drawn.n_negatives, "n_negatives", data.n_negatives)
    require_same("sampling", drawn.sampling, "sampling", data.sampling)
    if drawn.positive is not None or drawn.relevant is not None:
        raise InputError("found sampled ranks; positive and relevant are for scores")
    return data


def _scored(scores: NDArray[Any], ranked: Ranked) -> Ranks:
    relevant, seen = ranked.relevant, ranked.seen
    if relevant is None:
        raise InputError(
            "found scores; give relevant, the column of each user's held-out item, or `correct` "
            "with positive if these are scores of a held-out item and its negatives"
        )
    if ranked.n_items not in (None, scores.shape[1]):
        raise InputError(
            f"found scores of {scores.shape[1]} items, but n_items is {ranked.n_items}"
        )
    relevant = relevant if issparse(relevant) else _array(relevant)
    if relevant.shape not in {scores.shape, scores.shape[:1]}:
        raise InputError(f"relevant has shape {relevant.shape}, the scores {scores.shape}")
    if seen is not None and np.shape(seen) != scores.shape:
        raise InputError(f"seen has shape {np.shape(seen)}, the scores {scores.shape}")
    return rank(lambda users: scores[users], seen, relevant, min_grade=ranked.min_grade or None)


def _plain(ranks: NDArray[Any], ranked: Ranked) -> Ranks:
    n_items = ranked.n_items
    if ranked.relevant is not None:
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

    items = pd.Series(dict(data), dtype=object).explode().dropna()
    if items.empty:
        raise InputError("no items in the lists; expected items for each user")
    frame = pd.DataFrame({USER: items.index, ITEM: items.to_numpy()})
    return frame.assign(rank=frame.groupby(USER).cumcount() + 1)


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
