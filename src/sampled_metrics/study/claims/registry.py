"""Declaration of a claim: where the paper makes it, a short quote, and how it is measured."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias


class Finding(NamedTuple):
    """Whether a claim is true of what was measured, and what that was in words and numbers."""

    holds: bool
    measured: str


Measurement: TypeAlias = Callable[..., Finding]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper with a number or an order in it."""

    section: str
    """Section, caption or footnote."""
    quote: str
    """The words that make the claim."""
    measure: Measurement
    """Takes a `Run` where the claim is about the recommenders X, Y and Z, else nothing."""
    published: str = ""
    """The paper's number; empty where the measurement of the published tables says it."""
    note: str = ""
    """What a vague word is taken to mean, or what else is to be said."""
    of_run: bool = False
    """Whether the claim is about X, Y and Z."""
    varies: bool = False
    """Whether it depends on the start of X or on the draws."""
    is_slip: bool = False
    """Whether it is a misprint or a wrong word that no number depends on, if it does not hold."""


CLAIMS: list[Claim] = []


def claim(section: str, quote: str, **options: Any) -> Callable[[Measurement], Measurement]:
    """Declare a claim; decorates its measurement. Options are the attributes of `Claim`."""

    def add(measure: Measurement) -> Measurement:
        CLAIMS.append(Claim(section, quote, measure, **options))
        return measure

    return add
