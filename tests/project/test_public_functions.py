"""Public functions: the same defaults everywhere, and a description of each parameter."""

import inspect
import pydoc
import re
from enum import StrEnum

import pytest

import sampled_metrics as sm
from sampled_metrics.read.options import Reading
from tests.conftest import ROOT

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


def test_public_functions_share_their_defaults():
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
                defaults = DEFAULTS.get(parameter.name)
                if defaults is None or parameter.default is inspect.Parameter.empty:
                    continue
                assert parameter.default in defaults, (name, parameter)
                checked.add(parameter.name)
    assert {"seed", "confidence", "min_relevance", "complete", "several_items"} <= checked


def test_options_of_reading_have_the_defaults_of_functions():
    of_reading = dict(inspect.signature(Reading).parameters)
    of_reading.pop("early_stop")  # follows from the metrics
    full, sampled = (inspect.signature(each).parameters for each in (sm.evaluate, sm.correct))
    for name, parameter in of_reading.items():
        functions = [each for each in (full, sampled) if name in each]
        assert functions
        if name == "ties":  # of sampled ranks only
            functions = [sampled]
        assert all(each[name].default == parameter.default for each in functions)


FUNCTIONS = [
    name
    for path in sorted((ROOT / "docs/api").glob("*.md"))
    for name in re.findall(r"(?m)^::: (\S+)", path.read_text())
    if inspect.isfunction(pydoc.locate(name))
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstring_describes_each_parameter(name):
    function = pydoc.locate(name)
    text = inspect.getdoc(function)
    section = re.search(r"(?s)\nParameters\n-+\n(.*?)\n\n\w[\w ]+\n-{3,}\n", text)[1]
    heads = re.findall(r"(?m)^(\w[\w, ]*)$", section)
    described = [parameter for head in heads for parameter in head.split(", ")]
    assert sorted(described) == sorted(inspect.signature(function).parameters)
    is_engine = ".engines." in name  # which examples cannot start
    assert (">>> " in text) or (is_engine and "::\n" in text), "no example"
