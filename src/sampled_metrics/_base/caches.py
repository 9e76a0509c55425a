"""Results that are stored for as long as the object that they were computed from."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

Owner = TypeVar("Owner")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def cache_with_owner(
    function: Callable[Concatenate[Owner, Parameters], Result],
) -> Callable[Concatenate[Owner, Parameters], Result]:
    """Store the results of a function until its first argument, the owner, is deleted.

    `functools.lru_cache` would keep large samples in memory after their last use. The owner is
    compared by identity, and results must not refer to it; other arguments must be hashable.

    Examples
    --------
    >>> class Sample:
    ...     pass
    >>> calls = []
    >>> @cache_with_owner
    ... def count_calls(sample, number):
    ...     calls.append(number)
    ...     return len(calls)
    >>> a, b = Sample(), Sample()
    >>> [count_calls(a, 1), count_calls(a, 1), count_calls(b, 1), count_calls(a, 2)]
    [1, 1, 2, 3]
    """
    results: WeakKeyDictionary[Owner, dict[Hashable, Result]] = WeakKeyDictionary()

    @wraps(function)
    def cached(owner: Owner, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        of_owner = results.setdefault(owner, {})
        key = (args, *kwargs.items())
        if key not in of_owner:
            of_owner[key] = function(owner, *args, **kwargs)
        return of_owner[key]

    return cached
