"""Warnings about data, in full: a result with several of them is announced by one warning."""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from warnings import WarningMessage

import pytest

import sampled_metrics as sm
from sampled_metrics._base.calls import warn_all


def full_messages(caught: Iterable[WarningMessage]) -> list[str]:
    """Return the messages about data that warnings announce, and the text of other warnings."""
    messages = []
    for warning in caught:
        messages += getattr(warning.message, "notes", ()) or [str(warning.message)]
    return messages


def messages_with(caught: Iterable[WarningMessage], word: str) -> list[str]:
    """Return the messages that contain a word."""
    return [message for message in full_messages(caught) if word in message]


def with_warnings(
    call: Callable[..., Any], *arguments: Any, **options: Any
) -> tuple[Any, list[str]]:
    """Return the result of a call, and all messages that it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call(*arguments, **options)
        if isinstance(result, Iterator):  # signs of a mistake
            warn_all(result)
    return result, full_messages(caught)


def warnings_of(call: Callable[..., Any], *arguments: Any, **options: Any) -> list[str]:
    """Return all messages that a call warns of."""
    return with_warnings(call, *arguments, **options)[1]


@contextmanager
def warns_about(pattern: str = "") -> Iterator[list[str]]:
    """Require an InputWarning that matches a pattern; yield all messages, known at the end."""
    messages: list[str] = []
    with pytest.warns(sm.InputWarning) as caught:
        yield messages
    messages += full_messages(warning for warning in caught if warning.category is sm.InputWarning)
    assert any(re.search(pattern, message) for message in messages), messages
