"""How a call with a mistake in its data ends."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import sampled_metrics as sm
from tests.helpers.caught_warnings import full_messages
from tests.helpers.forms import Forms


class Mistake(NamedTuple):
    """Data with a mistake, a call with it, and the right value: nan if every value is wrong.

    `noted` is the argument of a note, for the mistakes that results note without a warning.
    """

    forms: Callable[[Any, Path], Forms]
    call: Callable[[Any], Any]
    data: Any
    right: float
    noted: str = ""


def one_form(data: Any, _folder: Path) -> Forms:
    return {"data": data}


def pairs_table(users: Any, items: Any, **columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"user_id": users, "item_id": items, **columns})


def some_forms(forms: Forms, number: int, step: int) -> Forms:
    """Return the first form and every step-th of the others; each number has different ones."""
    first, *others = forms
    return {name: forms[name] for name in (first, *others[number % step :: step])}


NOT_SILENT = ("refused", "warned", "noted", "right")


def is_right(result: Any, right: float) -> bool:
    """Return whether all ranges of a result hold a value, or all values are near it."""
    frame = result.to_frame()
    for row in frame.to_dict("records"):
        low, high = row.get("range_low", np.nan), row.get("range_high", np.nan)
        if not np.isnan(low):
            if not low - 0.005 <= right <= high + 0.005:
                return False
        elif abs(row["value"] - right) > 0.005:
            return False
    return True


def outcome(call: Callable[[], Any], right: float, noted: str = "") -> str:
    """Say how a call ends: refused, warned, noted about an argument, right, or silently wrong."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except sm.InputError:
            return "refused"
    messages = full_messages(caught)
    notes = list(result.notes)
    if messages:
        in_order = [note for note in notes if note in messages]  # and how data was read
        return "warned" if in_order == messages else "not in the notes"
    if noted and any(note.startswith(f"{noted}: read as") for note in notes):
        return "noted"
    if not np.isnan(right) and is_right(result, right):
        return "right"
    return "silent"


def silent_forms(mistake: Mistake, folder: Path, number: int, step: int) -> dict[str, str]:
    """Return forms of the data in which a wrong value is neither refused nor warned about."""
    forms = some_forms(mistake.forms(mistake.data, folder), number, step)
    outcomes = {
        form: outcome(lambda data=data: mistake.call(data), mistake.right, mistake.noted)
        for form, data in forms.items()
    }
    return {form: end for form, end in outcomes.items() if end not in NOT_SILENT}
