"""One spelling for every measure: `recall@10`, `ndcg`, `auc` ... in config, files and options."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics import formulas as metrics

_WITH_CUTOFF: dict[str, Callable[[ArrayLike, int], Float]] = {
    "ap": metrics.ap,
    "ap-by-hits": metrics.ap,
    "ap-by-relevant": metrics.ap,
    "hit": metrics.recall,
    "ndcg": metrics.ndcg,
    "ndcg-by-k": metrics.ndcg_by_k,
    "ndcg-by-relevant": metrics.ndcg,
    "precision": metrics.precision,
    "recall": metrics.recall,
    "rr": metrics.ap,
}
_WITHOUT_CUTOFF: dict[str, Callable[[ArrayLike], Float]] = {
    "ap": metrics.ap,
    "ndcg": metrics.ndcg,
    "rr": metrics.ap,
}
_OF_RANK_AND_CANDIDATES = "auc"
F = "f"

KNOWN = (
    *(f"{name}@k" for name in sorted((*_WITH_CUTOFF, "fBETA"))),
    *sorted((_OF_RANK_AND_CANDIDATES, *_WITHOUT_CUTOFF)),
)


@dataclass(frozen=True)
class Measure:
    """A metric and its cut-off, printed and parsed as one name.

    Attributes
    ----------
    name
        The metric, one of these:

        - `recall`, `precision`: eq. 4 and 3; `hit`: 1 where a relevant item is in the top k;
          `rr`: reciprocal of the first relevant item's rank.
        - `f1`, `f2`, `f0.5` ...: F-beta, the weighted harmonic mean of precision and recall. A
          number spelled otherwise (`f2.0`) becomes the shortest spelling.
        - `ap`: eq. 5, divided by min(|R|, k); `ap-by-relevant`: by |R|; `ap-by-hits`: by the
          number of relevant items in the top k.
        - `ndcg`: eq. 6, the ideal list holding min(|R|, k) items; `ndcg-by-relevant`: |R| items;
          `ndcg-by-k`: k items.
        - `auc`: eq. 2.
    cutoff
        k of eq. 3-6 and 8-11, or None for the whole ranking (eq. 2, 7, 12, 13).
    """

    name: str
    cutoff: int | None = None

    def __post_init__(self) -> None:
        if self.cutoff is None:
            known = self.needs_candidates or self.name in _WITHOUT_CUTOFF
        else:
            known = self.cutoff >= 1 and (self.beta is not None or self.name in _WITH_CUTOFF)
        if not known:
            raise _unknown(str(self))
        if self.beta is not None:
            object.__setattr__(self, "name", f"{F}{self.beta:g}")

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    @property
    def beta(self) -> float | None:
        """Weight of recall in an F measure; None for the others."""
        number = re.fullmatch(rf"{F}(\d+\.?\d*(?:e[+-]?\d+)?)", self.name, re.ASCII)
        if number is None:
            return None
        beta = float(number[1])
        # More digits than a name shows would make one name of two measures.
        return beta if 0.0 < beta < inf and float(f"{beta:g}") == beta else None

    @property
    def kind(self) -> str:
        """The metric without its parameters: `f` for every F measure, else the name."""
        return self.name if self.beta is None else F

    @property
    def needs_candidates(self) -> bool:
        """Whether the value depends on the number of candidates beside the rank (AUC)."""
        return self.name == _OF_RANK_AND_CANDIDATES

    def at(self, rank: ArrayLike, n_candidates: ArrayLike) -> Float:
        """Value as a fraction where one item is relevant, |R| = 1.

        Takes its 1-based ranks among `n_candidates`, that item included.

        >>> parse_measure("recall@2").at([1, 2, 3], 10)
        array([1., 1., 0.])
        """
        if self.needs_candidates:
            return metrics.auc(rank, n_candidates)
        if self.cutoff is None:
            return _WITHOUT_CUTOFF[self.name](rank)
        if self.beta is not None:
            return metrics.f_beta(rank, self.cutoff, self.beta)
        return _WITH_CUTOFF[self.name](rank, self.cutoff)


def parse_measure(text: str) -> Measure:
    """Read a measure from its name.

    Raises
    ------
    InputError
        The name is not known; the message lists those that are.

    >>> parse_measure("ndcg@10")
    Measure(name='ndcg', cutoff=10)
    >>> str(parse_measure("auc")), str(parse_measure("f0.50@10"))
    ('auc', 'f0.5@10')
    """
    name, at, cutoff = text.partition("@")
    if not at:
        return Measure(name)
    if not (cutoff.isascii() and cutoff.isdigit()):
        raise _unknown(text)
    return Measure(name, int(cutoff))


def _unknown(text: str) -> InputError:
    return InputError(
        f"unknown measure {text!r}; known: {', '.join(KNOWN)} (k a whole number >= 1, BETA a "
        "number > 0 of at most 6 digits: f1, f0.5)"
    )
