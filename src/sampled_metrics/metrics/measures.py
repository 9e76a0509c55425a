"""Declarations of metrics, and names such as `recall@10` that add a cut-off to one."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.names import parse_list, plain, similar
from sampled_metrics.metrics.levels import Levels
from sampled_metrics.ranks import Ranks

# Value of each user, float64, shape (users,), from the levels with relevant items of the ranks: the
# expectation over a uniformly random order within each level.
OfLevels: TypeAlias = Callable[[Levels, Ranks, "Measure"], Float]
# The same where one item is relevant, from its rank, from 1, among the number of candidates, of any
# shape. It only saves time and rounding errors.
OfRank: TypeAlias = Callable[[Float, Float, "Measure"], Float]


@dataclass(frozen=True)
class Metric:
    """Declaration of a metric, made by `register`."""

    kind: str  # name, followed by @k for a cut-off
    label: str  # spelling in tables and figures
    equation: str  # equations of the paper that define it
    of_levels: OfLevels
    of_rank: OfRank | None = None
    # Whether names have a cut-off. A metric without one is that of k = n.
    cutoff: Literal["required", "optional", "none"] = "required"
    has_beta: bool = False  # whether a positive number follows the name, as in f0.5@10
    aliases: Sequence[str] = ()  # other names
    needs_candidates: bool = False  # whether the value depends on the number of candidates
    first_item_decides: bool = False  # whether the first relevant item decides the value
    pooled: bool = False  # whether only the mean of the values has a meaning, that of all users
    graded: bool = False  # whether grades count, rather than items of at least `min_grade`


METRICS: dict[str, Metric] = {}
_KINDS: dict[str, str] = {}  # by name or alias
_NAME = re.compile(r"(.+?)(?:[@-](\d{1,9}))?", re.ASCII)
_BETA = re.compile(r"(\D+)(\d+\.?\d*(?:e[+-]?\d+)?)", re.ASCII)


def register(
    kind: str, label: str, equation: str = "", **options: Any
) -> Callable[[OfLevels], OfLevels]:
    """Declare a metric; decorates its formula for several relevant items per user.

    Arguments are the attributes of `Metric`, the formula being `of_levels`. Names, labels and tie
    policies follow from the declaration.
    """

    def add(of_levels: OfLevels) -> OfLevels:
        metric = Metric(kind, label, equation, of_levels, **options)
        for name in (kind, *metric.aliases):
            if name in _KINDS:
                raise InputError(f"metric {name!r} is already registered")
        METRICS[kind] = metric
        _KINDS.update(dict.fromkeys((kind, *metric.aliases), kind))
        return of_levels

    return add


@dataclass(frozen=True)
class Measure:
    """A metric with its parameters.

    Attributes
    ----------
    kind
        The metric; `sampled_metrics.metrics.catalogue` lists them.
    cutoff
        k, or None for the whole ranking.
    beta
        Weight of recall in F-beta; None for other metrics.
    """

    kind: str
    cutoff: int | None = None
    beta: float | None = None

    def __post_init__(self) -> None:
        metric, k, beta = METRICS.get(self.kind), self.cutoff, self.beta
        if metric is None or metric.has_beta != (beta is not None):
            raise _unknown(str(self))
        if metric.cutoff == ("required" if k is None else "none") or (k is not None and k < 1):
            raise _unknown(str(self))
        # A beta with more digits than a name shows would give two measures one name.
        if beta is not None and not 0.0 < beta == float(f"{beta:g}") < inf:
            raise _unknown(str(self))

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    @property
    def name(self) -> str:
        """Name without the cut-off."""
        return self.kind if self.beta is None else f"{self.kind}{self.beta:g}"

    @property
    def metric(self) -> Metric:
        """Declaration of the metric."""
        return METRICS[self.kind]

    @property
    def label(self) -> str:
        """Spelling in tables and figures, such as `Recall@10`."""
        beta = "" if self.beta is None else f"{self.beta:g}"
        at = "" if self.cutoff is None else f"@{self.cutoff}"
        return f"{self.metric.label}{beta}{at}"

    def at(self, rank: ArrayLike, n_candidates: ArrayLike) -> Float:
        """Return the value if one item is relevant, from its rank among the candidates.

        Examples
        --------
        >>> parse_measure("recall@2").at([1, 2, 3], 10)
        array([1., 1., 0.])
        """
        places, n = np.asarray(rank), np.asarray(n_candidates)
        if self.metric.of_rank is not None:
            return self.metric.of_rank(places, n, self)
        places, n = np.broadcast_arrays(places, n)
        ranks = Ranks.trusted(n.ravel(), places.ravel() - 1, np.zeros(places.size, np.int64))
        return self.metric.of_levels(Levels.of(ranks), ranks, self).reshape(places.shape)


def parse_measure(text: str) -> Measure:
    """Return the measure of a name; an unknown one raises InputError with the known names.

    Names are those of the registry and their aliases, in upper or lower case, with `_` for `-`; a
    cut-off follows `@`, `_` or `-`.

    Examples
    --------
    >>> parse_measure("ndcg@10")
    Measure(kind='ndcg', cutoff=10, beta=None)
    >>> [str(parse_measure(name)) for name in ("AUC", "f0.50@10", "HR@5", "hit_rate_5", "map")]
    ['auc', 'f0.5@10', 'hit@5', 'hit@5', 'ap']
    """
    parts = _NAME.fullmatch(plain(text))
    if parts is None:
        raise _unknown(text)
    name, cutoff = parts[1], parts[2]
    beta = _BETA.fullmatch(name)
    stem = beta[1] if beta and name not in _KINDS else name
    if stem not in _KINDS:
        raise _unknown(text, stem)
    kind = _KINDS[stem]
    if METRICS[kind].cutoff == ("none" if cutoff else "required"):
        has = "has no cut-off" if cutoff else f"needs a cut-off, as in {kind}@10"
        raise _unknown(text, problem=f": {kind} {has}")
    try:
        return Measure(kind, int(cutoff) if cutoff else None, float(beta[2]) if beta else None)
    except InputError:
        raise _unknown(text) from None


def parse_measures(names: str | Sequence[str | Measure]) -> list[Measure]:
    """Return the measures of one name, of several separated by commas, or of a sequence.

    Examples
    --------
    >>> [str(measure) for measure in parse_measures("HR@10, mrr")]
    ['hit@10', 'rr']
    """
    measures = parse_list(names, "metrics", parse_measure)
    if not measures:
        raise InputError("no metrics; expected at least one")
    return measures


def known_measures() -> tuple[str, ...]:
    """Return all names, with `k` and `BETA` in the place of numbers."""
    names = {f"{kind}BETA" if m.has_beta else kind: m.cutoff for kind, m in METRICS.items()}
    cut = sorted(name for name, cutoff in names.items() if cutoff != "none")
    whole = sorted(name for name, cutoff in names.items() if cutoff != "required")
    return (*(f"{name}@k" for name in cut), *whole)


def _unknown(text: str, stem: str = "", problem: str = "") -> InputError:
    meant = similar(stem, list(_KINDS))
    return InputError(
        f"unknown measure {text!r}{problem};{meant} known: {', '.join(known_measures())} (k a "
        "whole number >= 1, BETA a number > 0 of at most 6 digits: f1, f0.5)"
    )
