"""Options on full rankings, and kinds of data that functions take."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sampled_metrics import tables
from sampled_metrics._base.arrays import array_of
from sampled_metrics._base.errors import InputError, InputWarning, flag

SEVERAL = 10  # users and items, of which fewer are complete by chance
# Options allowed beside each kind of input; those that are numbers must agree with the input.
_ALLOWED = {
    "Ranks": ("min_relevance",),
    "ranks": ("n_items", "min_relevance"),
    "scores": ("n_items", "relevant", "seen", "min_relevance"),
    "lists": ("n_items", "relevant", "seen", "complete", "min_relevance"),
}


class Ranked(NamedTuple):
    """What the caller knows of full rankings.

    Attributes
    ----------
    n_items
        Candidates of each ranking, if there is no column `n_candidates`.
    relevant
        Relevant items of lists and scores: for files and DataFrames a table of `user_id` and
        `item_id` or qrels, or for a matrix `.npy` with one column number per user; for arrays a
        column for each user, or a matrix, users x items; for a dictionary of lists a dictionary.
    seen
        Items that are no candidates, of lists and scores, likewise.
    complete
        Whether lists hold all candidates of their users, whose number they then give.
    min_relevance
        Least grade of an item that is relevant for metrics other than NDCG; 0 for any above 0.
    """

    n_items: int | None = None
    relevant: Any = None
    seen: Any = None
    complete: bool = False
    min_relevance: float = 0.0

    def check(self, kind: str, path: Path | None = None) -> None:
        """Raise InputError for an option that `kind` of input does not allow."""
        for name, value in self._asdict().items():
            is_set = value is not None if name in {"n_items", "relevant", "seen"} else value
            if name in _ALLOWED.get(kind, ("n_items", "relevant")) or not is_set:
                continue
            kinds = [other for other, allowed in _ALLOWED.items() if name in allowed]
            needed = f"{name} ({flag(name)}) needs {' or '.join(kinds)}"
            raise InputError(f"{needed}, found {kind}", path=path)


def is_table(data: Any) -> bool:
    """Return whether data is the name of a file, a DataFrame or a dictionary of lists."""
    return isinstance(data, str | Path | Mapping) or tables.is_frame(data)


def without_names(data: Any) -> Any:
    """Return a DataFrame of numbers without any known column as an array; other data as it is."""
    if not tables.is_frame(data) or any(data[name].dtype.kind not in "biuf" for name in data):
        return data
    _, known = tables.selected(Path("DataFrame"), list(map(str, data.columns)), tables.KNOWN)
    return data if known else data.to_numpy()


def as_array(data: Any, name: str = "data") -> NDArray[Any]:
    """Return numbers of one or two dimensions as an array."""
    is_tensor = hasattr(data, "__dlpack__") and not hasattr(data, "__array__")
    try:
        array = array_of(name, np.from_dlpack(data) if is_tensor else data)
    except RuntimeError as error:  # of a tensor of torch with gradients
        raise InputError(f"{name}: {type(data).__name__} is no array ({error})") from error
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2) or not array.size:
        shape = f" of {array.dtype}, shape {array.shape}" if array.ndim else ""
        found = f"{name}: found {type(data).__name__}{shape}"
        raise InputError(f"{found}; expected numbers, a DataFrame, a file (docs/inputs.md)")
    return array


def warn_of_seen_items(users: int, items: int) -> None:
    """Warn that every user has a score for every item, also for those seen in training."""
    if min(users, items) >= SEVERAL:
        problem = (
            f"all {users:,} users have scores of all {items:,} items: items seen in training "
            "count as candidates; if they are none, name them with --seen (seen=)"
        )
        warnings.warn(problem, InputWarning, stacklevel=2)
