"""Defaults of public functions, which are those of the documentation wherever they occur."""

import inspect
from enum import StrEnum

import sampled_metrics as sm
from sampled_metrics.ranks.data import as_ranks, as_sampled

DEFAULTS = {
    "seed": {0},
    "confidence": {0.95},
    "min_relevance": {0.0},
    "complete": {False},
    "intervals": {False},
    "several_items": {False},
    "correction": {"holm"},
    "shape": {"non-increasing"},
    "sampling": {"without-replacement", None},
    "ties": {"random", "expected", None},
    "budget": {100.0},
    "proxy": {"popularity"},
    "positive": {0, None},
    "n_items": {None},
    "block_size": {512},
}


def test_defaults_are_the_same_everywhere():
    checked = set()
    for name in sm.__all__:
        value = getattr(sm, name)
        if inspect.isclass(value) and issubclass(value, Exception | StrEnum):
            continue
        functions = [value]
        if inspect.isclass(value):
            functions += [getattr(value, method) for method in ("read", "update", "add")
                          if hasattr(value, method)]  # fmt: skip
        for function in filter(callable, functions):
            for parameter in inspect.signature(function).parameters.values():
                known = DEFAULTS.get(parameter.name)
                if known is None or parameter.default is inspect.Parameter.empty:
                    continue
                assert parameter.default in known, (name, parameter)
                checked.add(parameter.name)
    assert {
        "seed",
        "confidence",
        "min_relevance",
        "complete",
        "several_items",
    } <= checked


def test_readers_of_data_have_the_defaults_of_functions():
    for reader, function in ((as_ranks, sm.evaluate), (as_sampled, sm.correct)):
        of_function = inspect.signature(function).parameters
        own = dict(inspect.signature(reader).parameters)
        own.pop("cut", None)  # which follows from the metrics
        assert len(own) >= 8
        for name, parameter in own.items():
            assert of_function[name].default == parameter.default
