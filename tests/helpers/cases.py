"""One table of cases: a call, how it ends, and what its message suggests with the right value.

    Case("no size", evaluate([2, 3]), "pass n_items", {"n_items": 3}, (1 / 2 + 1 / 3) / 2)

is refused with a message that has the pattern "pass n_items", and with n_items=3 the value is
right. A suggestion is a change of the arguments, where `OMIT` leaves one out, or another call.

    Case("cut-off", evaluate([2, 3], "hr@2", n_items=3), 1 / 2)

has the value 1 / 2, and no warning.
"""

import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import warns_about, with_warnings
from tests.helpers.results import refusal_message, value_of

OMIT = inspect.Parameter.empty
LONGEST_MESSAGE = 400  # before the names that are known
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


class Warned(NamedTuple):
    """A call that warns with a pattern; the suggestion does not."""

    pattern: str


class Case(NamedTuple):
    """A call, its value or a pattern of its refusal, and what the message suggests.

    The suggestion, a change of the call or another one, has the right value.
    """

    name: str
    call: Callable[[], Any]
    outcome: str | Warned | float | list[float]
    suggested: dict[str, Any] | Callable[[], Any] | None = None
    right: Any = None


def each_case(cases: list[Case]) -> pytest.MarkDecorator:
    """Return the parametrization of a test by cases."""
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), "two cases of one name"
    return pytest.mark.parametrize("case", cases, ids=names)


def assert_ends_as_expected(case: Case) -> None:
    """Assert a value without warnings, or that a short line is right in what it suggests."""
    if isinstance(case.outcome, float | int | list):
        value, messages = with_warnings(case.call)
        assert value == pytest.approx(case.outcome)
        assert [text for text in messages if FEW_USERS not in text] == []
        return
    if isinstance(case.outcome, Warned):
        pattern = case.outcome.pattern
        with warns_about(pattern) as messages:
            case.call()
        (message, *_) = (text for text in messages if re.search(pattern, text))
    else:
        pattern = case.outcome
        message = refusal_message(case.call)
        assert re.search(pattern, message), message
    assert len(message.partition("; known: ")[0]) <= LONGEST_MESSAGE
    assert not re.search(r"docs/|\.md\b|^:", message)
    if case.suggested is None:
        return
    followed = case.suggested
    if isinstance(followed, dict):
        assert isinstance(case.call, Call)
        followed = case.call.but(**followed)
    value, messages = with_warnings(followed)
    assert value == pytest.approx(case.right)
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
