"""Calls without a mistake have hardly any warnings; docs/measured/warnings.md has the rates."""

import re

import pytest

from tests.helpers.caught_warnings import with_warnings
from tests.helpers.clean_calls import clean_calls
from tests.helpers.documents import text_of, words_of

MAX_SHARE_WITH_WARNING = 0.05


@pytest.mark.long
def test_calls_without_a_mistake_have_few_warnings():
    calls = clean_calls()
    assert len(calls) >= 100
    alarmed = []
    for name, call in calls.items():
        result, messages = with_warnings(call)
        n_lines = len({*messages, *getattr(result, "notes", ())})
        assert n_lines <= 1, name
        if messages:
            alarmed.append(name)
    assert len(alarmed) <= MAX_SHARE_WITH_WARNING * len(calls), alarmed


def test_guide_quotes_the_measured_numbers():
    page = text_of("docs/measured/warnings.md")
    n_calls = re.search(r"(\d+) calls have data", page)[1]
    n_alarmed = re.search(r"(\d+) of the calls without a mistake", page)[1]
    assert f"of {n_calls} calls without a mistake, {n_alarmed} have a warning" in words_of(
        "docs/warnings.md"
    )
