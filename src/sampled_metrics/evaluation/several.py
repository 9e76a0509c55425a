"""Functions that take the data of one recommender, applied to several recommenders by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import Any

import pandas as pd

from sampled_metrics._base.arguments import is_function
from sampled_metrics._base.errors import reading
from sampled_metrics._base.text import Parts
from sampled_metrics._base.threads import Parameters, Result
from sampled_metrics.evaluation.pairing import with_text_names
from sampled_metrics.evaluation.results import Results
from sampled_metrics.inputs.options import Data
from sampled_metrics.ranks import Ranks, SampledRanks


def split_recommenders(data: Data) -> dict[str, Data] | None:
    """Return the data of each recommender by name, or None if data is of a single one.

    Data holds several recommenders if it is a dictionary and each value has several users.
    Dictionaries by user (whose values are items, or scores by item) and dictionaries of columns are
    the data of a single recommender.

    Examples
    --------
    >>> split_recommenders({"ALS": Ranks([9], [0], [0]), "kNN": "knn.csv"}).keys()
    dict_keys(['ALS', 'kNN'])
    >>> split_recommenders({"anna": [7, 9]}), split_recommenders({"anna": {7: 0.3, 9: 0.2}})
    (None, None)
    """
    if not isinstance(data, Mapping) or _n_dimensions(data):  # such as a sparse matrix by keys
        return None
    if len(data) == 0 or not all(map(_has_users, data.values())):
        return None
    return with_text_names(data)


def _has_users(value: Any) -> bool:
    """Return whether data holds several users, rather than one user or one column."""
    if isinstance(value, Ranks | SampledRanks | str | Path) or is_function(value):
        return True
    if isinstance(value, Mapping):  # by user, or of columns
        return len(value) > 0 and all(map(_is_row_or_column, value.values()))
    if isinstance(value, tuple):  # vectors of users and of items, or ids and scores
        return len(value) == 2 and all(_n_dimensions(part) == 2 for part in value)
    return _n_dimensions(value) == 2


def _is_row_or_column(value: Any) -> bool:
    """Return whether a value holds several entries in one dimension."""
    is_collection = isinstance(value, Mapping | Sequence) and not isinstance(value, str)
    return is_collection or _n_dimensions(value) == 1


def _n_dimensions(value: Any) -> int:
    """Return the number of dimensions of an array or a table; 0 for other objects."""
    return len(getattr(value, "shape", ()))


def each_recommender(
    join: Callable[[dict[str, Result]], Result],
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Decorate a function of one recommender's `data` to accept a dictionary of several as well.

    `join` makes one result of the results by name.
    """

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        signature = inspect.signature(function)

        @wraps(function)
        def for_each(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            bound = signature.bind_partial(*args, **kwargs)
            recommenders = split_recommenders(bound.arguments.get("data"))
            if recommenders is None:
                return function(*args, **kwargs)
            result_by_name = {}
            for name, data in recommenders.items():
                bound.arguments["data"] = data
                with reading(name):
                    result_by_name[name] = function(*bound.args, **bound.kwargs)
            return join(result_by_name)

        return for_each

    return decorate


def join_results(results_by_name: Mapping[str, Results[Any]]) -> Results[Any]:
    """Put the results of several recommenders into one table."""
    named_results = [
        replace(result, recommender=name)
        for name, results in results_by_name.items()
        for result in results
    ]
    return Results(named_results, partial(_joined_parts, results_by_name=results_by_name))


def join_frames(frame_by_name: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Put the rows of several recommenders below each other; the index begins with their names."""
    return pd.concat(frame_by_name, names=["recommender"])


def _joined_parts(
    results: Iterable[Any], *, results_by_name: Mapping[str, Results[Any]], **options: Any
) -> Parts:
    """Show the results of all recommenders in one table."""
    parts_by_name = {
        name: single.show([result for result in results if result.recommender == name], **options)
        for name, single in results_by_name.items()
    }
    return join_tables("recommender", parts_by_name)


def join_tables(column: str, parts_by_name: Mapping[str, Parts]) -> Parts:
    """Join tables with the same columns, adding a column of names.

    Lines that several tables share are printed once, after the names they apply to if not all.
    """
    table: list[dict[str, Any]] = []
    names_by_text: dict[Any, list[str]] = {}
    for name, (rows, *texts) in parts_by_name.items():
        table += [{column: name, **row} for row in rows]  # type: ignore[dict-item]
        for text in texts:
            names_by_text.setdefault(text, []).append(name)
    lines = []
    for text, names in names_by_text.items():
        if len(names) < len(parts_by_name):
            text = type(text)(f"{', '.join(names)}: {text}")
        lines.append(text)
    return [table, *lines]
