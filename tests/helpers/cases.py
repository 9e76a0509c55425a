"""One table of cases: a call, how it ends, and what its message suggests with the right value.

    Case("no size", evaluate([2, 3]), "pass n_items", {"n_items": 3}, (1 / 2 + 1 / 3) / 2)

is refused with a message that has the pattern "pass n_items", and with n_items=3 the value is
right. A suggestion is a change of the arguments, where `OMIT` leaves one out, or another call.

    Case("cut-off", evaluate([2, 3], "hr@2", n_items=3), 1 / 2)

has the value 1 / 2, and no warning.
"""

import inspect
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import full_messages, with_warnings
from tests.helpers.forms import InForms
from tests.helpers.results import value_of

OMIT = inspect.Parameter.empty
OF_OTHER_LIBRARIES = ("polars", "torch", "gradients")  # forms that may be refused
LONGEST_MESSAGE = 450  # without a path and the names that are known
FEW_USERS = "carry most of the value"  # in a warning about users, of whom cases have two


class Call(NamedTuple):
    """A function with arguments by name, and what is asserted of its result."""

    function: Callable[..., Any]
    arguments: dict[str, Any]
    value: Callable[[Any], Any] = value_of

    def __call__(self) -> Any:
        return self.value(self.function(**self.arguments))

    def but(self, **changes: Any) -> "Call":
        """Return the call with other arguments."""
        arguments = {**self.arguments, **changes}
        kept = {name: value for name, value in arguments.items() if value is not OMIT}
        return self._replace(arguments=kept)


# How calls end: a number is their value, and a text a pattern of their refusal.


@dataclass(frozen=True)
class Warned:
    """A warning with a pattern, which stays in the notes; of the suggestion there is none."""

    pattern: str


@dataclass(frozen=True)
class Noted:
    """A note, without a warning, how an argument was read."""

    argument: str


class OneOf(tuple[Any, ...]):
    """Outcomes of which each form has one."""


class Case(NamedTuple):
    """A call, how it ends, and what the message suggests.

    The suggestion, a change of the call or another one, has the right value.
    """

    name: str
    call: Callable[[], Any]
    outcome: str | Warned | Noted | OneOf | float | list[float]
    suggested: dict[str, Any] | Callable[[], Any] | None = None
    right: Any = None


def each_case(cases: list[Case]) -> pytest.MarkDecorator:
    """Return the parametrization of a test by cases."""
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), "two cases of one name"
    return pytest.mark.parametrize("case", cases, ids=names)


# Forms of data: one argument of a call may be in several.


def _find_forms(value: Any) -> InForms | None:
    """Return the data in forms, among arguments or in them."""
    if isinstance(value, InForms):
        return value
    parts = value.values() if isinstance(value, dict) else value
    is_container = isinstance(value, dict | list | tuple)
    found = (_find_forms(part) for part in parts) if is_container else iter(())
    return next((each for each in found if each is not None), None)


def _with_data(value: Any, data: Any) -> Any:
    """Return a value with data in one form in the place of all."""
    if isinstance(value, InForms):
        return data
    if isinstance(value, dict):
        return {name: _with_data(part, data) for name, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_with_data(part, data) for part in value)
    return value


def calls_of_forms(call: Callable[[], Any], folder: Path) -> dict[str, Callable[[], Any]]:
    """Return a call with each form of its data, or itself."""
    in_forms = _find_forms(call.arguments) if isinstance(call, Call) else None
    if in_forms is None:
        return {"": call}
    assert isinstance(call, Call)
    return {
        form: call._replace(arguments=_with_data(call.arguments, data))
        for form, data in in_forms.make(folder).items()
    }


def refused_forms(call: Callable[[], Any]) -> list[str]:
    """Return the names of the forms that are refused."""
    in_forms = _find_forms(call.arguments) if isinstance(call, Call) else None
    return in_forms.refused.split(", ") if in_forms and in_forms.refused else []


class Ending(NamedTuple):
    """The refusal of a call, or its value, warnings and notes."""

    refusal: str = ""
    value: Any = None
    warned: list[str] = []  # noqa: RUF012 - not changed
    notes: list[str] | None = None

    def is_as(self, outcome: Any) -> bool:
        """Return whether this is the outcome of a case."""
        if isinstance(outcome, OneOf):
            return any(self.is_as(each) for each in outcome)
        if isinstance(outcome, str):
            return bool(self.refusal) and bool(re.search(outcome, self.refusal))
        if isinstance(outcome, Warned):
            return any(re.search(outcome.pattern, text) for text in self.warned)
        if isinstance(outcome, Noted):
            start = f"{outcome.argument}: read as"
            return not self.warned and any(note.startswith(start) for note in self.notes or ())
        others = [text for text in self.warned if FEW_USERS not in text]
        return not self.refusal and not others and self.value == pytest.approx(outcome)


def ending_of(call: Callable[[], Any]) -> Ending:
    """Return how a call ends; lines are short, and warnings stay in the notes."""
    function = partial(call.function, **call.arguments) if isinstance(call, Call) else call
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", sm.InputWarning)
        try:
            result = function()
            value = call.value(result) if isinstance(call, Call) else result
            ending = Ending("", value, full_messages(caught), getattr(result, "notes", None))
        except sm.InputError as error:
            ending = Ending(str(error))
    for message in (ending.refusal, *ending.warned):
        text, _, _ = re.sub(r"^/\S+: ", "", message).partition("; known: ")
        assert len(text) <= LONGEST_MESSAGE
        assert not re.search(r"\n|docs/|\.md\b|^:", message)
    if ending.notes is not None and isinstance(call, Call):  # of one function
        assert [note for note in ending.notes if note in ending.warned] == ending.warned
    return ending


def assert_ends_as_expected(case: Case, folder: Path | None = None) -> None:
    """Assert that a call ends as expected in all forms, and that the suggestion is right."""
    refused = refused_forms(case.call)
    for form, call in calls_of_forms(case.call, folder or Path()).items():
        ending = ending_of(call)
        if form not in OF_OTHER_LIBRARIES or not ending.refusal:
            assert ending.is_as("" if form in refused else case.outcome), (form, ending)
    if case.suggested is None:
        return
    followed = case.suggested
    if isinstance(followed, dict):
        assert isinstance(case.call, Call)
        followed = case.call.but(**followed)
    value, messages = with_warnings(followed)
    assert value == pytest.approx(case.right)
    pattern = getattr(case.outcome, "pattern", case.outcome)
    assert not any(re.search(pattern, text) for text in messages)


# Calls of the library by name; what a case asserts of their result is its first value.


def call_of(function: Callable[..., Any], *arguments: Any, **options: Any) -> Call:
    """Return a call whose arguments are named, so that a case can change one of them."""
    by_position = inspect.signature(function).bind_partial(*arguments)
    return Call(function, {**by_position.arguments, **options})


def evaluate(data: Any, metrics: Any = "rr", **options: Any) -> Call:
    return Call(sm.evaluate, {"data": data, "metrics": metrics, **options})


def correct(data: Any, **options: Any) -> Call:
    """Return a correction of HR@2 by the share in the sample, of 90 items."""
    fixed = {"metrics": "hr@2", "estimators": "sampled", "n_items": 90}
    return Call(sm.correct, {"data": data, **fixed, **options})


def ranks(
    constructor: Callable[..., sm.Ranks], *arguments: Any, metrics: str = "rr", **options: Any
) -> Call:
    """Return the evaluation of ranks that a constructor makes."""
    made = call_of(constructor, *arguments, **options)
    return made._replace(value=lambda result: value_of(sm.evaluate(result, metrics)))


def meter(*batches: dict[str, Any], metrics: str = "rr", **options: Any) -> Call:
    """Return the value of a meter that is updated by batches."""

    def run(batches: Any, metrics: str, **options: Any) -> Any:
        meter = sm.RankMeter(metrics, **options)
        for batch in batches:
            meter.update(**batch)
        return meter.compute()

    return Call(run, {"batches": batches, "metrics": metrics, **options})


def sample_meter(*batches: dict[str, Any], metrics: str = "hr@2", **options: Any) -> Call:
    """Return the correction of the sampled ranks of a meter."""

    def run(batches: Any, metrics: str, **options: Any) -> Any:
        meter = sm.RankMeter(metrics, **options)
        for batch in batches:
            meter.update(**batch)
        return sm.correct(meter.ranks(), metrics, "sampled")

    return Call(run, {"batches": batches, "metrics": metrics, **options})
