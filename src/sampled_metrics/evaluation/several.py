"""Several recommenders by name, in functions that take the data of one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, ParamSpec

from sampled_metrics._base.arguments import is_function
from sampled_metrics._base.errors import reading
from sampled_metrics._base.text import Parts
from sampled_metrics.evaluation.pairing import with_text_names
from sampled_metrics.evaluation.results import Results
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.ranks.data import Data

Arguments = ParamSpec("Arguments")


def recommenders_of(data: Data) -> dict[str, Data] | None:
    """Return the data of recommenders by name, or None if it is no dictionary of recommenders.

    A dictionary is one of recommenders if each of its values has users of its own. Dictionaries by
    user, whose values are items or scores by item, and those of columns are data themselves.

    Examples
    --------
    >>> recommenders_of({"ALS": Ranks([9], [0], [0]), "kNN": "knn.csv"}).keys()
    dict_keys(['ALS', 'kNN'])
    >>> recommenders_of({"anna": [7, 9]}), recommenders_of({"anna": {7: 0.3, 9: 0.2}})
    (None, None)
    """
    if not isinstance(data, Mapping) or _dimensions(data):  # such as a sparse matrix by keys
        return None
    if len(data) == 0 or not all(map(_is_of_users, data.values())):
        return None
    return with_text_names(data)


def _is_of_users(value: Any) -> bool:
    """Return whether data is of users, and not of one user or one column."""
    if isinstance(value, Ranks | SampledRanks | str | Path) or is_function(value):
        return True
    if isinstance(value, Mapping):  # by user, or of columns
        several = (Mapping, Sequence)
        return len(value) > 0 and all(
            (isinstance(each, several) and not isinstance(each, str)) or _dimensions(each) == 1
            for each in value.values()
        )
    if isinstance(value, tuple):  # vectors of users and of items, or ids and scores
        return len(value) == 2 and all(_dimensions(part) == 2 for part in value)
    return _dimensions(value) == 2


def _dimensions(value: Any) -> int:
    """Return the number of axes of an array or a table; 0 of all else."""
    return len(getattr(value, "shape", ()))


def each_recommender(
    function: Callable[Arguments, Results[Any]],
) -> Callable[Arguments, Results[Any]]:
    """Have a function of one recommender's `data` take a dictionary of several as well."""
    signature = inspect.signature(function)

    @wraps(function)
    def of_each(*args: Arguments.args, **options: Arguments.kwargs) -> Results[Any]:
        given = signature.bind_partial(*args, **options)
        data = given.arguments.get("data")
        recommenders = recommenders_of(data)
        if recommenders is None:
            return function(*args, **options)
        found = {}
        for name, one in recommenders.items():
            given.arguments["data"] = one
            with reading(name):
                found[name] = function(*given.args, **given.kwargs)
        results = [
            replace(result, recommender=name) for name, single in found.items() for result in single
        ]
        return Results(results, partial(_parts, found=found))

    return of_each


def _parts(results: Iterable[Any], *, found: Mapping[str, Results[Any]], **options: Any) -> Parts:
    """Show the results of each recommender in one table."""
    of_each = {
        name: single.show([one for one in results if one.recommender == name], **options)
        for name, single in found.items()
    }
    return joined("recommender", of_each)


def joined(column: str, parts: Mapping[str, Parts]) -> Parts:
    """Join tables of the same columns, with a column of names; lines alike for all come once."""
    table: list[dict[str, Any]] = []
    names_of: dict[Any, list[str]] = {}
    for name, (rows, *texts) in parts.items():
        table += [{column: name, **row} for row in rows]  # type: ignore[dict-item]
        for text in texts:
            names_of.setdefault(text, []).append(name)
    lines = []
    for text, names in names_of.items():
        if len(names) < len(parts):
            text = type(text)(f"{', '.join(names)}: {text}")
        lines.append(text)
    return [table, *lines]
