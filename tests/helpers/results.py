"""Values of results, and what a call says when it refuses its data."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import with_warnings


def values(results: Iterable[Any]) -> list[float]:
    """Return the value of each result."""
    return [result.value for result in results]


def values_by_metric(data: Any, metrics: str, **options: Any) -> dict[str, float]:
    """Evaluate data; return the value of each metric by its name."""
    return {result.metric: result.value for result in sm.evaluate(data, metrics, **options)}


def value_of(results: Any) -> float:
    """Return the value of the first result."""
    return float(results[0].value)


def values_and_warnings(
    call: Callable[..., Any], *arguments: Any, **options: Any
) -> tuple[list[float | None], str]:
    """Return the values of the results of a call, and all its warnings in one text."""
    results, messages = with_warnings(call, *arguments, **options)
    return [getattr(result, "value", None) for result in results], " ".join(messages)


def refusal(call: Callable[..., Any], *arguments: Any, **options: Any) -> sm.InputError:
    """Return the error with which a call refuses its data, in one line."""
    with pytest.raises(sm.InputError) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)
    return caught.value


def refusal_message(call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """Return the line with which a call refuses its data."""
    return str(refusal(call, *arguments, **options))
