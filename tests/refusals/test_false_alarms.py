"""Calls without a mistake have hardly any warnings; docs/measured/warnings.md has the rates."""

import warnings

import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import full_messages
from tests.helpers.clean_calls import clean_calls

MAX_SHARE_WITH_WARNING = 0.05


@pytest.mark.long
def test_calls_without_a_mistake_have_few_warnings():
    calls = clean_calls()
    assert len(calls) >= 100
    alarmed = []
    for name, call in calls.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = call()
        messages = full_messages(w for w in caught if w.category is sm.InputWarning)
        n_lines = len({*messages, *getattr(result, "notes", ())})
        assert n_lines <= 1, name
        if messages:
            alarmed.append(name)
    assert len(alarmed) <= MAX_SHARE_WITH_WARNING * len(calls), alarmed
