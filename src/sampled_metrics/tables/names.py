"""Names of columns: those of this package, and those that other libraries give them.

Columns have the names of RecTools and RecBole (`user_id`, `item_id`, `score`, `rank`); RecBole's
typed headers (`user_id:token`) lose their types.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import compress
from pathlib import Path
from typing import NamedTuple

from sampled_metrics._base.errors import InputError

USER, ITEM = "user_id", "item_id"
KNOWN = (
    *(USER, ITEM, "rank", "score", "relevance"),
    *("n_candidates", "n_better", "n_tied", "sampled_rank", "repetition"),
    *("n_negatives", "sampling", "label"),
)
TYPE = re.compile(r":(token|float)(_seq)?\Z")  # that RecBole adds to the name of a column

# Names that other libraries give to the columns, in lower case without underscores.
_USERS = ("user", "userid", "uid", "useridx", "qid", "queryid")
_ITEMS = ("item", "itemid", "iid", "itemidx", "movie", "movieid", "docid")
_ALIASES = {**dict.fromkeys(_USERS, USER), **dict.fromkeys(_ITEMS, ITEM)}
# Names that they give to scores, the first that is there; `rating` is what Spark recommends by.
_SCORES = ("prediction", "predictions", "pred", "est", "logit", "logits", "rating")
_ORDERED = {"score", "rank", "sampled_rank", "n_better", "relevance"}  # nothing else is a score


class Names(NamedTuple):
    """Names of the columns of a table, in its order, and of those that are wanted."""

    all: tuple[str, ...]  # without types and aliases
    wanted: dict[str, str]  # the name here by the name in the table
    floats: tuple[str, ...]  # other columns, which hold numbers with decimals


def named(
    path: Path, names: Sequence[str], columns: Sequence[str], is_float: Iterable[bool] = ()
) -> Names:
    """Name the columns of a table, of which `columns` are wanted.

    A duplicate of a wanted column is an error. `is_float` tells which hold numbers with decimals.
    """
    bare = [TYPE.sub("", name.strip()) for name in names]
    _replace_aliases(bare, columns)
    for column in columns:
        if bare.count(column) > 1:
            raise InputError(f"duplicate column {column}", path=path)
    wanted = {name: own for name, own in zip(names, bare, strict=True) if own in columns}
    floats = [name for name in compress(names, is_float) if name not in wanted]
    return Names(tuple(bare), wanted, tuple(floats))


def _replace_aliases(bare: list[str], columns: Sequence[str]) -> None:
    """Rename columns that other libraries call otherwise, where no column has the name itself."""
    lacking = set(columns).difference(bare)
    for place, name in enumerate(bare):
        column = _ALIASES.get(name.lower().replace("_", ""))
        if column in lacking and name not in columns:
            bare[place] = column
    if "score" in columns and not _ORDERED.intersection(bare):
        _rename_scores(bare)


def _rename_scores(bare: list[str]) -> None:
    """Rename the column that has the first of the other names of scores, if any has."""
    lower = [name.lower() for name in bare]
    alias = next((alias for alias in _SCORES if alias in lower), None)
    if alias is not None:
        bare[lower.index(alias)] = "score"
