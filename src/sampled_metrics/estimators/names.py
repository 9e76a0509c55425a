"""One spelling for every estimator: `sampled`, `rank-estimate`, `cls`, `bv:0.1`."""

import re
from dataclasses import dataclass

from sampled_metrics._base.errors import InputError

SAMPLED = "sampled"
RANK_ESTIMATE = "rank-estimate"
CLS = "cls"
BV = "bv"
_WITHOUT_GAMMA = (SAMPLED, RANK_ESTIMATE, CLS)
KNOWN = (*_WITHOUT_GAMMA, f"{BV}:GAMMA")

_NUMBER = re.compile(r"[0-9]*\.?[0-9]+(e-?[0-9]+)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Estimator:
    """A correction and its parameter, printed and parsed as one name.

    Attributes
    ----------
    name
        `sampled`, `rank-estimate`, `cls` or `bv`.
    gamma
        Weight of the variance in eq. 24 and 25, in [0, 1]; of `bv` and only there.

    Raises
    ------
    InputError
        The name is not known, or gamma is missing, superfluous or outside [0, 1].
    """

    name: str
    gamma: float | None = None

    def __post_init__(self) -> None:
        if self.gamma is None:
            known = self.name in _WITHOUT_GAMMA
        else:
            known = self.name == BV and 0.0 <= self.gamma <= 1.0
        if not known:
            raise _unknown(str(self))

    def __str__(self) -> str:
        if self.gamma is None:
            return self.name
        return f"{self.name}:{repr(float(self.gamma)).removesuffix('.0')}"


def parse_estimator(text: str) -> Estimator:
    """Read an estimator from its name.

    Raises
    ------
    InputError
        The name is not known or gamma is not a number from 0 to 1; the message lists the names.

    >>> parse_estimator("bv:0.1")
    Estimator(name='bv', gamma=0.1)
    >>> [str(parse_estimator(name)) for name in ("cls", "bv:1.0", "bv:1e-3")]
    ['cls', 'bv:1', 'bv:0.001']
    """
    name, colon, gamma = text.partition(":")
    if not colon:
        return Estimator(name)
    if not _NUMBER.fullmatch(gamma):
        raise _unknown(text)
    return Estimator(name, float(gamma))


def _unknown(text: str) -> InputError:
    return InputError(
        f"unknown estimator {text!r}; known: {', '.join(KNOWN)} (GAMMA a number from 0 to 1)"
    )
