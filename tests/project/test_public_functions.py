"""Public functions: their defaults are the same everywhere, and their docstrings are complete."""

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
    assert {
        "seed",
        "confidence",
        "min_relevance",
        "complete",
        "several_items",
    } <= checked


def test_options_of_reading_have_the_defaults_of_functions():
    of_reading = dict(inspect.signature(Reading).parameters)
    of_reading.pop("cut")  # follows from the metrics
    full, sampled = (inspect.signature(each).parameters for each in (sm.evaluate, sm.correct))
    for name, parameter in of_reading.items():
        functions = [each for each in (full, sampled) if name in each]
        assert functions
        if name == "ties":  # of sampled ranks only
            functions = [sampled]
        assert all(each[name].default == parameter.default for each in functions)


ORDER = [
    "Parameters",
    "Attributes",
    "Returns",
    "Raises",
    "See Also",
    "References",
    "Examples",
]
PAGES = {
    name: pydoc.locate(name)
    for path in sorted((ROOT / "docs/api").glob("*.md"))
    for name in re.findall(r"(?m)^::: (\S+)", path.read_text())
}


# What every public function says of invalid input.
RAISES = """
InputError
    If the data or an option is invalid; the message says where, why and what to do.
"""


def sections_of(documented):
    text = inspect.getdoc(documented) or ""
    parts = re.split(r"(?m)^(\w[\w ]+)\n-{3,}\n", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", PAGES)
def test_docstring_sections_are_in_order(name):
    documented = [PAGES[name]]
    if inspect.isclass(PAGES[name]):
        members = vars(PAGES[name]).items()
        documented += [getattr(PAGES[name], x) for x, _ in members if not x.startswith("_")]
    for one in documented:
        numpydoc = [section for section in sections_of(one) if section in ORDER]
        assert numpydoc == sorted(numpydoc, key=ORDER.index)
        assert numpydoc == list(sections_of(one)), "no other sections"


@pytest.mark.parametrize("name", [name for name, x in PAGES.items() if inspect.isfunction(x)])
def test_function_docstrings_are_complete(name):
    sections = sections_of(PAGES[name])
    signature = inspect.signature(PAGES[name])
    returns = ["Returns"] * (signature.return_annotation not in (None, "None"))
    for section in ("Parameters", *returns, "Raises", "See Also", "Examples"):
        assert section in sections, section
    assert RAISES.strip() in sections["Raises"]
    heads = re.findall(r"(?m)^(\w[\w, ]*)$", sections["Parameters"])
    named = [word for head in heads for word in head.split(", ")]
    assert set(named) == set(signature.parameters)
    assert len(named) == len(set(named))


def test_class_docstrings_have_examples_and_see_also():
    for name in ("Ranks", "SampledRanks", "RankMeter"):
        sections = sections_of(PAGES[f"sampled_metrics.{name}"])
        assert {"See Also", "Examples"} <= sections.keys()
        assert {"Parameters", "Attributes"} & sections.keys()
