"""Records: equal if their values are, NaN included, on each version of Python."""

import importlib
import pkgutil
from dataclasses import dataclass, is_dataclass, replace
from inspect import getmembers, isclass

import numpy as np
import pytest

import sampled_metrics as sm
from sampled_metrics._base.records import Record, short_repr

# Parameters and declarations of functions, which never hold NaN, and a step of a computation.
NO_RESULTS = {
    "Correction", "Declaration", "Estimator", "EstimatorInputs", "Measure", "Metric",
    "ModelErrors", "Reading", "ReducedSystem",
}  # fmt: skip


def dataclasses_of_the_library():
    for module in pkgutil.walk_packages(sm.__path__, "sampled_metrics."):
        if module.name.endswith(("__main__", "recbole")):
            continue
        for _, kind in getmembers(importlib.import_module(module.name), isclass):
            if is_dataclass(kind) and kind.__module__ == module.name:
                yield kind


def test_results_with_numbers_are_records():
    compared_by_fields = {
        kind.__name__
        for kind in dataclasses_of_the_library()
        if kind.__dataclass_params__.eq
        and any("float" in str(each) for each in kind.__annotations__.values())
    }
    assert compared_by_fields <= NO_RESULTS


NAN = float("nan")


@dataclass(frozen=True, eq=False)
class Mean(Record):
    name: str
    value: object


@pytest.mark.parametrize(
    "value",
    [NAN, np.float64("nan"), (1.0, NAN), [[(NAN, 2)], {"a": NAN}], {(0, 1): [NAN]}],
    ids=str,
)
def test_record_nan_equals_nan(value):
    def again(part):
        if isinstance(part, dict):
            return {key: again(each) for key, each in part.items()}
        if isinstance(part, list | tuple):
            return type(part)(map(again, part))
        return type(part)("nan") if isinstance(part, float) and np.isnan(part) else part

    a, b = Mean("a", value), Mean("a", again(value))
    assert a == b
    if isinstance(value, float | tuple):
        assert hash(a) == hash(b)
    assert a != replace(b, name="b")
    assert a != Mean("a", 0.5)
    assert a != ("a", value)


@pytest.mark.parametrize(
    ("value", "other"),
    [(1, 2), (1.0, "1.0"), ((1,), (1, 2)), ([1], (1,)), ({"a": 1}, {"b": 1}), (NAN, None)],
)
def test_record_other_values_differ(value, other):
    assert Mean("a", value) != Mean("a", other)
    assert Mean("a", value) == Mean("a", value)


def test_results_of_equal_calls_are_equal():
    ranks = np.array([3, 1, 10, 7])

    def corrected():
        return list(sm.correct(ranks, "recall@2", n_items=3000, n_negatives=9))

    results = corrected()
    assert np.isnan([result.value for result in results]).any()
    assert corrected() == results
    assert len(set(results + corrected())) == len(set(results))

    def compared():
        both = {"a": ranks, "b": ranks[::-1]}
        return list(sm.compare(both, "recall@2", n_items=30, n_negatives=9))

    assert compared() == compared()


def test_results_of_one_user_are_equal():
    results = [list(sm.evaluate([[0.1, 0.4, 0.3]], "hit@1", relevant=[1])) for _ in range(2)]
    assert np.isnan(results[0][0].std_error)
    assert results[0] == results[1]


def test_short_repr_shortens_long_arrays():
    assert short_repr(np.arange(3), "size", "ndim") == "ndarray(size=3, ndim=1)"
    assert short_repr(np.arange(100), "T").startswith("ndarray(T=array([ 0,  1,  2, ..., 97, ")
    ten = "ndarray(T=array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]))"
    assert short_repr(np.arange(10), "T") == ten
