"""One spelling for every measure: `recall@10`, `ndcg`, `auc` ... in config, files and options."""

from collections.abc import Callable
from dataclasses import dataclass

from numpy.typing import ArrayLike

from sampled_metrics import metrics
from sampled_metrics.errors import InputError

_WITH_CUTOFF: dict[str, Callable[[ArrayLike, int], metrics.Float]] = {
    "ap": metrics.ap,
    "f1": metrics.f1,
    "ndcg": metrics.ndcg,
    "precision": metrics.precision,
    "recall": metrics.recall,
}
_WITHOUT_CUTOFF: dict[str, Callable[[ArrayLike], metrics.Float]] = {
    "ap": metrics.ap,
    "ndcg": metrics.ndcg,
    "rr": metrics.ap,
}
_OF_RANK_AND_CANDIDATES = "auc"

KNOWN = (
    *(f"{name}@k" for name in sorted(_WITH_CUTOFF)),
    *sorted((_OF_RANK_AND_CANDIDATES, *_WITHOUT_CUTOFF)),
)


@dataclass(frozen=True)
class Measure:
    """A metric and its cut-off, printed and parsed as one name.

    Attributes
    ----------
    name
        The metric: `recall`, `precision`, `f1`, `ap`, `ndcg`, `auc` or `rr`.
    cutoff
        k of eq. 8-11, or None for the whole ranking (eq. 7, 12, 13).
    """

    name: str
    cutoff: int | None = None

    def __post_init__(self) -> None:
        known = {_OF_RANK_AND_CANDIDATES, *_WITHOUT_CUTOFF} if self.cutoff is None else _WITH_CUTOFF
        if self.name not in known or (self.cutoff is not None and self.cutoff < 1):
            raise InputError(
                f"unknown measure {str(self)!r}; known: {', '.join(KNOWN)} (k a whole number >= 1)"
            )

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    @property
    def needs_candidates(self) -> bool:
        """Whether the value depends on the number of candidates beside the rank (AUC)."""
        return self.name == _OF_RANK_AND_CANDIDATES

    def at(self, rank: ArrayLike, n_candidates: ArrayLike) -> metrics.Float:
        """Value as a fraction at 1-based ranks among `n_candidates`, the held-out item included.

        >>> parse_measure("recall@2").at([1, 2, 3], 10)
        array([1., 1., 0.])
        """
        if self.needs_candidates:
            return metrics.auc(rank, n_candidates)
        if self.cutoff is None:
            return _WITHOUT_CUTOFF[self.name](rank)
        return _WITH_CUTOFF[self.name](rank, self.cutoff)


def parse_measure(text: str) -> Measure:
    """Read a measure from its name.

    Raises
    ------
    InputError
        The name is not known; the message lists those that are.

    >>> parse_measure("ndcg@10")
    Measure(name='ndcg', cutoff=10)
    >>> str(parse_measure("auc"))
    'auc'
    """
    name, at, cutoff = text.partition("@")
    if not at:
        return Measure(name)
    if not (cutoff.isascii() and cutoff.isdigit()):
        raise InputError(
            f"unknown measure {text!r}; known: {', '.join(KNOWN)} (k a whole number >= 1)"
        )
    return Measure(name, int(cutoff))
