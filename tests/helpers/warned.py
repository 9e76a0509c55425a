"""What warnings say in full, also those that only count the questions that a result keeps."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from warnings import WarningMessage

import pytest

import sampled_metrics as sm


def in_full(caught: Iterable[WarningMessage]) -> list[str]:
    """Return the questions of some warnings, and the text of others."""
    texts = []
    for one in caught:
        texts += getattr(one.message, "notes", ()) or [str(one.message)]
    return texts


@contextmanager
def asks(pattern: str = "") -> Iterator[list[str]]:
    """Require a question that a pattern is found in; yield all questions, filled in the end."""
    texts: list[str] = []
    with pytest.warns(sm.InputWarning) as caught:
        yield texts
    texts += in_full(one for one in caught if one.category is sm.InputWarning)
    assert any(re.search(pattern, text) for text in texts), texts
