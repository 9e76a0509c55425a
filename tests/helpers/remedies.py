"""Refused calls, and the calls that their messages suggest."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import sampled_metrics as sm
from tests.helpers.results import value_of


class Remedy(NamedTuple):
    """A refused call, a pattern of the message, the call that it suggests, and the right value."""

    refused: Callable[[], Any]
    words: str
    followed: Callable[[], Any]
    right: Any


def assert_remedy_works(remedy: Remedy) -> None:
    """Assert that the message has the pattern, and that the value is right."""
    with pytest.raises(sm.InputError) as caught:
        remedy.refused()
    assert re.search(remedy.words, str(caught.value)), str(caught.value)
    assert remedy.followed() == pytest.approx(remedy.right)


def evaluation(data: Any, metrics: Any = "rr", **options: Any) -> Callable[[], float]:
    """Return a call of `evaluate` that returns the first value."""
    return lambda: value_of(sm.evaluate(data, metrics, **options))


def meter_evaluation(*batches: Any, metrics: str = "rr", **options: Any) -> Callable[[], float]:
    """Return a call that updates a meter by batches and returns its first value."""

    def run() -> float:
        meter = sm.RankMeter(metrics, **options)
        for batch in batches:
            meter.update(**batch)
        return value_of(meter.compute())

    return run
