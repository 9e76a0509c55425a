"""Pages of the reference: each function has its sections, in the order of numpydoc."""

import inspect
import pydoc
import re

import pytest

from tests.conftest import ROOT

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


def sections_of(documented):
    text = inspect.getdoc(documented) or ""
    found = re.split(r"(?m)^(\w[\w ]+)\n-{3,}\n", text)
    return dict(zip(found[1::2], found[2::2], strict=True))


@pytest.mark.parametrize("name", PAGES)
def test_sections_are_in_order(name):
    documented = [PAGES[name]]
    if inspect.isclass(PAGES[name]):
        members = vars(PAGES[name]).items()
        documented += [
            getattr(PAGES[name], x) for x, _ in members if not x.startswith("_")
        ]
    for one in documented:
        known = [section for section in sections_of(one) if section in ORDER]
        assert known == sorted(known, key=ORDER.index)
        assert known == list(sections_of(one)), "no other sections"


@pytest.mark.parametrize(
    "name", [name for name, x in PAGES.items() if inspect.isfunction(x)]
)
def test_functions_have_all_sections_and_name_all_parameters(name):
    sections = sections_of(PAGES[name])
    signature = inspect.signature(PAGES[name])
    returns = ["Returns"] * (signature.return_annotation not in (None, "None"))
    for section in ("Parameters", *returns, "Raises", "See Also", "Examples"):
        assert section in sections, section
    heads = re.findall(r"(?m)^(\w[\w, ]*)$", sections["Parameters"])
    named = [word for head in heads for word in head.split(", ")]
    assert set(named) == set(signature.parameters)
    assert len(named) == len(set(named))


def test_classes_that_are_called_have_examples_and_say_what_is_beside_them():
    for name in ("Ranks", "SampledRanks", "RankMeter"):
        sections = sections_of(PAGES[f"sampled_metrics.{name}"])
        assert {"See Also", "Examples"} <= sections.keys()
        assert {"Parameters", "Attributes"} & sections.keys()
