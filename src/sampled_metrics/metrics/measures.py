"""Declarations of metrics, names such as `recall@10` that add a cut-off, and exact values.

Formulas are over levels, candidates with the same score.
"""

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import inf
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arguments import require_known
from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import blocks
from sampled_metrics._base.defaults import MAX_ITEMS
from sampled_metrics._base.errors import InputError, format_value
from sampled_metrics.metrics.levels import TIE_POLICIES, Levels
from sampled_metrics.ranks import Ranks

Formula = TypeVar("Formula", bound=Callable[..., Float])
T = TypeVar("T")


_MANY = 10_000  # users, from which on values are looked up by place
_MOST_PLACES = 1_048_576  # in the table of values by place
_PLACES_AT_A_TIME = 8192  # few enough to stay in the processor's cache


class DepthError(InputError):
    """Lists end before a metric is known."""


@dataclass(frozen=True)
class Metric:
    """Declaration of a metric, made by `register`."""

    kind: str  # name, followed by @k for a cut-off
    label: str  # spelling in tables and figures
    equation: str  # equations of the paper that define it
    # Value of each user, shape (users,): the expectation over the orders within each level.
    of_levels: Callable[[Levels, Ranks, "Measure"], Float]
    # Whether names have a cut-off. A metric without one is that of k = n.
    cutoff: Literal["required", "optional", "none"] = "required"
    has_beta: bool = False  # whether a number >= 0 follows the name, as in f0.5@10
    aliases: Sequence[str] = ()  # other names
    needs_candidates: bool = False  # whether the value depends on the number of candidates
    first_item_decides: bool = False  # whether the first relevant item decides the value
    graded: bool = False  # whether grades count, rather than items of at least `min_relevance`
    pooled: bool = False  # whether only the mean over all users has a meaning


REGISTERED_METRICS: dict[str, Metric] = {}
_KINDS: dict[str, str] = {}  # by name or alias
_OF_RATINGS = ("mae", "rmse")  # functions of predicted ratings, not of ranks
_NAME = re.compile(r"(.+?)(?:(?:@|-|-at-)(\d{1,9}))?", re.ASCII)
_NUMBERED = re.compile(r"(.*[a-z])(\d{1,9})", re.ASCII)  # as HR10
_TYPED = str.maketrans("oil", "011")  # letters that are taken for digits
_TOP = re.compile(r"(?:.*/)?top-(\d{1,9})-(?:categorical-)?accuracy", re.ASCII)  # of Keras
_BETA = re.compile(r"(\D+)(\d+\.?\d*(?:e[+-]?\d+)?)", re.ASCII)


def register(
    kind: str, label: str, equation: str = "", **options: Any
) -> Callable[[Formula], Formula]:
    """Declare a metric; decorates its formula, `of_levels` of the attributes of `Metric`."""

    def add(of_levels: Formula) -> Formula:
        metric = Metric(kind, label, equation, of_levels, **options)
        for name in (kind, *metric.aliases):
            if name in _KINDS:
                raise InputError(f"metric {format_value(name)} is already registered")
            _KINDS[name] = kind
        REGISTERED_METRICS[kind] = metric
        return of_levels

    return add


@dataclass(frozen=True)
class Measure:
    """A metric with its parameters; its name is the one that the caller gave."""

    kind: str  # the metric; `sampled_metrics.metrics.formulas` lists them
    cutoff: int | None = None  # k, or None for the whole ranking
    beta: float | None = None  # weight of recall in F-beta; None for other metrics
    called: str = field(default="", compare=False)  # name that the caller gave

    def __post_init__(self) -> None:
        metric = REGISTERED_METRICS.get(self.kind)
        k = self.cutoff
        beta = self.beta
        if metric is None or metric.has_beta != (beta is not None):
            raise _unknown(str(self), self.kind)
        if k is not None and k < 1:
            problem = f": the cut-off is {k}, expected at least 1"
            raise _unknown(str(self), problem=problem)
        # A beta with more digits than a name shows would give two measures one name.
        if beta is not None and not 0.0 <= beta == float(f"{beta:g}") < inf:
            raise _unknown(str(self))
        if metric.cutoff == "required" and k is None:
            problem = f": {self.kind} needs a cut-off, as in {self.spelled(self.kind)}@10"
            raise _unknown(str(self), problem=problem)
        if metric.cutoff == "none" and k is not None:
            raise _unknown(str(self), problem=f": {self.kind} has no cut-off")

    def __str__(self) -> str:
        return self.called or self.spelled(self.kind)

    def spelled(self, kind: str) -> str:
        """Name of the metric with another name for its kind."""
        name = kind if self.beta is None else f"{kind}{self.beta:g}"
        return name if self.cutoff is None else f"{name}@{self.cutoff}"

    @property
    def name(self) -> str:
        """Name without the cut-off."""
        name, at, _ = str(self).partition("@")
        if at or self.cutoff is None:
            return name
        return self.spelled(self.kind).partition("@")[0]

    @property
    def metric(self) -> Metric:
        """Declaration of the metric."""
        return REGISTERED_METRICS[self.kind]

    @property
    def label(self) -> str:
        """Spelling in tables and figures, such as `Recall@10`."""
        return self.spelled(self.metric.label)

    def value_at(self, rank: ArrayLike, n_candidates: ArrayLike) -> Float:
        """Return the value if one item is relevant, from its rank, which need not be whole.

        Examples
        --------
        >>> parse_measure("recall@2").value_at([1, 2, 3], 10)
        array([1., 1., 0.])
        """
        rank, n = np.broadcast_arrays(rank, n_candidates)
        above = rank.ravel() - 1
        none = np.zeros(rank.size, np.int64)
        one = none + 1
        levels = Levels(user=np.arange(rank.size), above=above, size=one, hits=one, hits_above=none)
        ranks = Ranks(n.ravel(), above, none, is_checked=True)
        values = self.metric.of_levels(levels, ranks, self)
        return values.reshape(rank.shape)

    def sampled_values(self, n_negatives: int) -> Float:
        """Return the value at each rank 1 ... m + 1 in a sample of m negatives.

        Examples
        --------
        >>> parse_measure("auc").sampled_values(2)
        array([1. , 0.5, 0. ])
        """
        size = n_negatives + 1
        return self.value_at(np.arange(1, size + 1), size)


def parse_measure(text: str) -> Measure:
    """Return the measure of a name; an unknown one raises InputError with the known names.

    Names are registered ones and their aliases, in upper or lower case, with `_` for `-`; a
    cut-off follows `@`, `_`, `-`, `_at_`, or the name itself.

    Examples
    --------
    >>> parse_measure("hit_rate_at_5") == parse_measure("HR5") == Measure("hit", 5)
    True
    >>> str(parse_measure("HR@5"))  # as the caller calls it
    'HR@5'
    """
    if not isinstance(text, str):
        raise InputError(
            f"{format_value(text)} is no name of a metric; expected text such as 'HR@10'"
        )
    spelled = text.strip().lower().replace("_", "-")
    top = _TOP.fullmatch(spelled)
    if top:
        spelled = f"accuracy@{top[1]}"
    parts = _NAME.fullmatch(spelled)
    if parts is None:
        raise _unknown(text)
    if spelled.isdecimal():
        problem = f": a cut-off alone; name its metric, as in hr@{spelled}"
        raise _unknown(text, problem=problem)
    name, cutoff = parts.groups()
    numbered = _NUMBERED.fullmatch(name)
    if numbered and cutoff is None and numbered[1] in _KINDS and not _has_beta(numbered[1]):
        name, cutoff = numbered.groups()
    if name in _OF_RATINGS:
        raise InputError(
            f"{format_value(text)} is a metric of predicted ratings, not of ranks; "
            f"call sampled_metrics.{name}(true, predicted)"
        )
    stem = name
    name, beta = _split_beta(name)
    if name not in _KINDS:
        raise _unknown(text, stem, cutoff=cutoff)
    k = None if cutoff is None else int(cutoff)
    return Measure(_KINDS[name], k, beta, text.strip())


def _has_beta(name: str) -> bool:
    metric = REGISTERED_METRICS.get(_KINDS[name])
    return metric is not None and metric.has_beta


def _takes_cutoff(name: str) -> bool:
    metric = REGISTERED_METRICS.get(_KINDS[name])
    return metric is not None and metric.cutoff != "none"


def _split_beta(name: str) -> tuple[str, float | None]:
    """Split the number from the end of a name that is not known with it, as from f0.5."""
    numbered = _BETA.fullmatch(name)
    if numbered and name not in _KINDS:
        letters, digits = numbered.groups()
        return letters, float(digits)
    return name, None


def parse_measures(names: str | Sequence[str | Measure]) -> list[Measure]:
    """Return the measures of one name, of several separated by commas, or of a sequence.

    Examples
    --------
    >>> [measure.kind for measure in parse_measures("HR@10, mrr")]
    ['hit', 'rr']
    """
    return parse_list(names, "metrics", parse_measure, Measure)


def parse_list(
    names: str | Sequence[str | T], noun: str, parse: Callable[[str], T], kind: type[T]
) -> list[T]:
    """Parse one name, several separated by commas, or a sequence of either; at least one.

    Entries of the kind that `parse` returns are kept. Errors call a name a `noun`.
    """
    if isinstance(names, str):
        names = [names]
    try:
        entries = [] if hasattr(names, "keys") else list(names)
    except TypeError:
        raise InputError(f"{noun} are {format_value(names)}; expected names") from None
    parsed: list[T] = []
    for entry in entries:
        if isinstance(entry, str):
            parts = map(str.strip, entry.split(","))
            parsed.extend(map(parse, filter(None, parts)))
        elif isinstance(entry, kind):
            parsed.append(entry)
        else:
            raise InputError(f"{noun} hold an entry of type {type(entry).__name__}; expected names")
    if not parsed:
        raise InputError(f"no {noun}; expected at least one")
    return list(dict.fromkeys(parsed))


def suggest_names(name: str, known: Sequence[str]) -> str:
    """Ask ` did you mean ...?` with the known names most like a name, or nothing."""
    others = [one for one in known if one != name]  # a name alone may lack its number
    close = get_close_matches(name, others, n=2)
    if not close:
        return ""
    return f" did you mean {' or '.join(close)}?"


def known_measures() -> tuple[str, ...]:
    """Return all names, with `k` and `BETA` in the place of numbers."""
    cut = []
    whole = []
    for kind, metric in REGISTERED_METRICS.items():
        name = f"{kind}BETA" if metric.has_beta else kind
        if metric.cutoff != "none":
            cut.append(f"{name}@k")
        if metric.cutoff != "required":
            whole.append(name)
    return (*sorted(cut), *sorted(whole))


def values(
    measure: Measure, ranks: Ranks, ties: str = "expected", rng: np.random.Generator | None = None
) -> Float:
    """Return the exact metric of each user as a fraction; float64, shape (users,).

    Parameters
    ----------
    ranks
        Ranks of the relevant items, whose grades only NDCG uses. In a list that is cut, candidates
        below the cut count as not tied with any above; one that ends too early to know the value
        raises InputError.
    ties
        `expected` (mean over a uniformly random order of candidates with equal scores, relevant
        and irrelevant alike), `random` (one such order, drawn with `rng`), `optimistic` (relevant
        items first among their ties) or `pessimistic` (last).

    Examples
    --------
    >>> recall = parse_measure("recall@5")
    >>> [values(recall, Ranks([101], [0], [9]), ties).item()
    ...  for ties in ("optimistic", "expected", "pessimistic")]
    [1.0, 0.5, 0.0]
    >>> ranks = Ranks([6], [0, 2, 3], [0, 0, 0], n_found=[3])  # relevant items at ranks 1, 3, 4
    >>> values(parse_measure("ap@4"), ranks).round(4)  # (1/1 + 2/3 + 3/4) / 3
    array([0.8056])
    """
    require_known("tie policy", ties, TIE_POLICIES)
    if len(ranks) >= _MANY and ranks.is_single:
        tied = ranks.n_tied > 0
        # A random order draws a number for each user, tied or not.
        is_drawn = ties == "random" and tied.any()
        if not is_drawn and _has_table(measure, ranks):
            return _by_place(measure, ranks, ties, tied)
    if not measure.metric.graded:
        ranks = ranks.binary
    _require_depth(measure, ranks)
    levels = TIE_POLICIES[ties](Levels.of(ranks), rng)
    return measure.metric.of_levels(levels, ranks, measure)


def _has_table(measure: Measure, ranks: Ranks) -> bool:
    """Return whether the place of an item tells the metric, in a table that is not too long."""
    if ranks.n_better.max() >= _MOST_PLACES:
        return False
    if not measure.metric.needs_candidates:
        return True
    return bool((ranks.n_candidates == ranks.n_candidates[0]).all())


def _by_place(measure: Measure, ranks: Ranks, ties: str, tied: NDArray[np.bool_]) -> Float:
    """Return the metric of each user with one relevant item: of most by a table of places."""
    n_better = ranks.n_better
    last = int(n_better.max())
    if measure.cutoff is not None and measure.cutoff < last:  # all places below have the same value
        last = measure.cutoff
        n_better = np.minimum(n_better, last)
    n = int(ranks.n_candidates[0])
    if last < len(ranks) // 2:
        found = _at_places(measure, np.arange(1, last + 2), n)[n_better]
    else:
        found = _at_places(measure, n_better + 1, n)
    if tied.any():
        some = ranks.take(tied)
        levels = TIE_POLICIES[ties](Levels.of(some), None)
        found[tied] = measure.metric.of_levels(levels, some, measure)
    return found


def _at_places(measure: Measure, places: Int, n: int) -> Float:
    """Return the metric at each place, computed for some at a time."""
    found = np.empty(places.size)
    for rows in blocks(places.size, 1, _PLACES_AT_A_TIME):
        found[rows] = measure.value_at(places[rows], n)
    return found


def _require_depth(measure: Measure, ranks: Ranks) -> None:
    """Raise DepthError if a list ends before all relevant items that decide the value."""
    metric = measure.metric
    k = measure.cutoff
    if metric.needs_candidates:
        _require_candidates(measure, ranks)
    needed = "ranks of all relevant items"
    unknown = ranks.n_found < ranks.n_relevant
    if metric.first_item_decides:
        needed = "rank of the first relevant item"
        unknown = ranks.n_found < 1
    unknown &= (ranks.n_candidates == 0) | (ranks.depth < ranks.n_candidates)
    unknown &= ranks.depth < (k or MAX_ITEMS)
    if not unknown.any():
        return
    ends = ranks.depth[unknown]
    lists = f"lists end at {ends.min()} or later (users: {ends.size:,})"
    if k is not None:
        raise DepthError(
            f"{measure} needs ranks down to {k}; {lists}. "
            "missing='last' (--missing last) counts items that are not in a list as not found; "
            f"full rankings need up_to={k} or more, or none"
        )
    remedy = "full rankings are needed, without up_to"
    if metric.cutoff == "optional" and ends.min() > 0:
        remedy = f"use {measure.name}@{ends.min()}, or full rankings without up_to"
    raise DepthError(f"{measure} needs the {needed}, but {lists} before that; {remedy}")


def _require_candidates(measure: Measure, ranks: Ranks) -> None:
    """Raise DepthError if numbers of candidates are not known."""
    users = np.count_nonzero(ranks.n_candidates == 0)
    if users:
        raise DepthError(
            f"{measure} needs n_candidates, which is 0 (not known) for {users} users; if lists "
            "are complete, give complete=True (--complete)"
        )


def synonyms() -> list[dict[str, str]]:
    """Return names in other libraries, K being the cut-off: library, theirs, ours and note."""
    text = Path(__file__).with_name("libraries.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _unknown(text: str, stem: str = "", problem: str = "", cutoff: str | None = None) -> InputError:
    meant = _meant(stem, cutoff)
    return InputError(
        f"unknown measure {format_value(text)}{problem};{meant} known: "
        f"{', '.join(known_measures())} (k a whole number >= 1, BETA a number >= 0 of at most "
        "6 digits: f1, f0.5)"
    )


def _meant(stem: str, cutoff: str | None) -> str:
    """Ask ` did you mean ...?` with names most like a name, and its cut-off, or nothing."""
    for name in sorted(_KINDS, key=len, reverse=True):
        rest = stem.removeprefix(name).lstrip("@- ").translate(_TYPED)
        if stem.startswith(name) and rest.isdecimal() and _takes_cutoff(name):
            return f" did you mean {name}@{rest}?"
    numbered = _NUMBERED.fullmatch(stem)
    if numbered and cutoff is None:
        stem, cutoff = numbered.groups()
    known = [name for name in _KINDS if len(name) > 1]
    meant = suggest_names(stem, known)
    if cutoff is not None:
        for name in known:
            if _takes_cutoff(name):
                meant = re.sub(rf"(?<= ){name}(?=[ ?])", f"{name}@{cutoff}", meant)
    return meant
