"""The registry of metrics, names such as `recall@10` with a cut-off, and exact values."""

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
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
Parsed = TypeVar("Parsed")


_USERS_FOR_TABLE = 10_000  # users from which on a table of values by rank is faster than formulas
_MAX_TABLE_RANKS = 1_048_576  # in that table, which then takes 8 MB
_RANKS_AT_A_TIME = 8192  # few enough that their arrays stay in the processor's cache


class DepthError(InputError):
    """Lists end too early to compute a metric."""


@dataclass(frozen=True)
class Metric:
    """A metric without the values of its parameters, made by `register`.

    Attributes
    ----------
    kind, aliases
        Name, such as `recall`, and other names.
    label
        Spelling in tables and figures.
    equation
        Numbers of the equations of the paper that define it.
    formula
        Function of levels, ranks and a measure that returns the value of each user, shape (users,):
        the expectation over the order of the candidates within each level.
    cutoff
        Whether names have a cut-off @k. A metric without one has k = n.
    has_beta
        Whether a number of at least 0 follows the name, as in f0.5@10.
    needs_candidates
        Whether the value depends on the number of candidates.
    first_item_decides
        Whether the value depends on the first relevant item only.
    graded
        Whether gains are grades. Otherwise items of at least `min_relevance` are relevant.
    ends_at_relevant
        Whether the cut-off is the number of relevant items of each user.
    pooled
        Name of the metric of single users, if only the mean over all users has a meaning.
    bounds
        Least and largest value. Only `evaluate` accepts metrics that are no fractions.
    """

    kind: str
    label: str
    equation: str
    formula: Callable[[Levels, Ranks, "Measure"], Float]
    cutoff: Literal["required", "optional", "none"] = "required"
    has_beta: bool = False
    aliases: Sequence[str] = ()
    needs_candidates: bool = False
    first_item_decides: bool = False
    graded: bool = False
    ends_at_relevant: bool = False
    pooled: str = ""
    bounds: tuple[float, float] = (0.0, 1.0)

    @property
    def is_fraction(self) -> bool:
        """Whether values are between 0 and 1, and higher ones better."""
        return self.bounds == (0.0, 1.0)


REGISTERED_METRICS: dict[str, Metric] = {}
_KINDS: dict[str, str] = {}  # kind of metric by name or alias
_RATING_METRICS = ("mae", "rmse")  # functions of predicted ratings, not of ranks
_NAME_AND_CUTOFF = re.compile(r"(.+?)(?:(?:@|-|-at-|(?<=[a-z])\.)(\d{1,9}))?", re.ASCII)
_NAME_AND_NUMBER = re.compile(r"(.*[a-z])(\d{1,9})", re.ASCII)  # such as HR10
_NAME_AND_BETA = re.compile(r"(\D+)(\d+\.?\d*(?:e[+-]?\d+)?)", re.ASCII)
_DECORATION = re.compile(r"(?:\s*(?:\(%\)|\[%\]|[%↑]))+\Z|/mean\Z")  # in tables and logs
_KERAS_NAME = re.compile(r"(?:.*/)?top-(\d{1,9})-(?:categorical-)?accuracy", re.ASCII)
_LETTERS_AS_DIGITS = str.maketrans("oil", "011")  # letters that are mistaken for digits


def register(
    kind: str, label: str, equation: str = "", **options: Any
) -> Callable[[Formula], Formula]:
    """Register the decorated function as the formula of a metric.

    Parameters
    ----------
    kind, label, equation
        See `Metric`.
    options
        Further attributes of `Metric`.
    """

    def decorate(formula: Formula) -> Formula:
        metric = Metric(kind, label, equation, formula, **options)
        for name in (kind, *metric.aliases):
            if name in _KINDS:
                raise InputError(f"metric {format_value(name)} is already registered")
            _KINDS[name] = kind
        REGISTERED_METRICS[kind] = metric
        return formula

    return decorate


@dataclass(frozen=True)
class Measure:
    """A metric with the values of its parameters; its text is the name that the caller gave."""

    kind: str  # name of the metric, see `sampled_metrics.metrics.formulas`
    cutoff: int | None = None  # k, or None for the whole ranking
    beta: float | None = None  # weight of recall in F-beta; None for other metrics
    original_name: str = field(default="", compare=False)  # the name that the caller gave

    def __post_init__(self) -> None:
        metric = REGISTERED_METRICS.get(self.kind)
        k = self.cutoff
        beta = self.beta
        if metric is None or metric.has_beta != (beta is not None):
            raise _unknown_measure(str(self), self.kind)
        if k is not None and k < 1:
            raise _invalid_measure(str(self), f": the cut-off is {k}, expected at least 1")
        # A beta with more digits than a name shows would give two measures one name.
        if beta is not None and not 0.0 <= beta == float(f"{beta:g}") < inf:
            raise _invalid_measure(str(self))
        if metric.cutoff == "required" and k is None:
            example = f"{self.format_name(self.kind)}@10"
            raise _invalid_measure(str(self), f": {self.kind} needs a cut-off, as in {example}")
        if metric.cutoff == "none" and k is not None:
            raise _invalid_measure(str(self), f": {self.kind} has no cut-off")

    def __str__(self) -> str:
        return self.original_name or self.format_name(self.kind)

    def format_name(self, kind: str) -> str:
        """Return the name with the parameters, and with `kind` for the name of the metric."""
        name = kind if self.beta is None else f"{kind}{self.beta:g}"
        return name if self.cutoff is None else f"{name}@{self.cutoff}"

    @property
    def name(self) -> str:
        """Name without the cut-off."""
        name, at, _ = str(self).partition("@")
        if at or self.cutoff is None:
            return name
        return self.format_name(self.kind).partition("@")[0]

    @property
    def metric(self) -> Metric:
        """The metric without values of its parameters."""
        return REGISTERED_METRICS[self.kind]

    @property
    def label(self) -> str:
        """Spelling in tables and figures, such as `Recall@10`."""
        return self.format_name(self.metric.label)

    def value_at(self, rank: ArrayLike, n_candidates: ArrayLike) -> Float:
        """Return the value for one relevant item at a rank, which need not be whole.

        Parameters
        ----------
        rank, n_candidates
            Rank from 1, and number of candidates; any shapes that broadcast, which is that of the
            result.

        Examples
        --------
        >>> parse_measure("recall@2").value_at([1, 2, 3], 10)
        array([1., 1., 0.])
        """
        ranks, n = np.broadcast_arrays(rank, n_candidates)
        zeros = np.zeros(ranks.size, np.int64)
        ones = zeros + 1
        # Each rank is the level of a user with one relevant item. Formulas take ranks from levels,
        # so those of `users`, which are whole, are not used.
        levels = Levels(
            user=np.arange(ranks.size),
            above=ranks.ravel() - 1,
            size=ones,
            hits=ones,
            hits_above=zeros,
        )
        users = Ranks(n.ravel(), zeros, zeros, n_found=ones)
        return self.metric.formula(levels, users, self).reshape(ranks.shape)

    def sampled_values(self, n_negatives: int) -> Float:
        """Return the value at each rank 1 ... m + 1 among m negatives, shape (m + 1,).

        Examples
        --------
        >>> parse_measure("auc").sampled_values(2)
        array([1. , 0.5, 0. ])
        """
        size = n_negatives + 1
        return self.value_at(np.arange(1, size + 1), size)


def parse_measure(text: str, *, any_bounds: bool = False) -> Measure:
    """Return the measure with a name; InputError lists the known names.

    Names are registered names and aliases in upper or lower case, with `_` or `-`. A cut-off
    follows after `@`, `_`, `-`, `.` or `_at_`, or directly after the name. Metrics that are no
    fractions are refused, unless `any_bounds` allows them.

    Examples
    --------
    >>> parse_measure("hit_rate_at_5") == parse_measure("HR5") == Measure("hit", 5)
    True
    >>> str(parse_measure("HR@5"))  # the name that the caller gave
    'HR@5'
    """
    if not isinstance(text, str):
        raise InputError(
            f"{format_value(text)} is not a metric name; expected text such as 'HR@10'"
        )
    name_with_beta, cutoff = _split_cutoff(text)
    if name_with_beta in _RATING_METRICS:
        raise InputError(
            f"{format_value(text)} is a metric of predicted ratings, not of ranks; "
            f"call sampled_metrics.{name_with_beta}(true, predicted)"
        )
    name, beta = _split_beta(name_with_beta)
    if name not in _KINDS:
        raise _unknown_measure(text, name_with_beta, cutoff)
    k = None if cutoff is None else int(cutoff)
    measure = Measure(_KINDS[name], k, beta, text.strip())
    if not (any_bounds or measure.metric.is_fraction):
        raise InputError(
            f"{measure} is not a fraction, so only `evaluate` accepts it; the nearest metric here "
            "is auc"
        )
    return measure


def _split_cutoff(text: str) -> tuple[str, str | None]:
    """Return the name in lower case with hyphens, and the digits of the cut-off, None without.

    Digits after the letters of a known name are a cut-off, unless they may be a beta.

    Examples
    --------
    >>> _split_cutoff("Hit_Rate_at_5"), _split_cutoff("hr5"), _split_cutoff("f0.5")
    (('hit-rate', '5'), ('hr', '5'), ('f0.5', None))
    """
    normalised = _DECORATION.sub("", text.strip().lower().replace("_", "-"))
    keras_name = _KERAS_NAME.fullmatch(normalised)
    if keras_name:
        return "accuracy", keras_name[1]
    match = _NAME_AND_CUTOFF.fullmatch(normalised)
    if match is None:
        raise _invalid_measure(text)
    if normalised.isdecimal():
        raise _invalid_measure(text, f": a cut-off alone; name its metric, as in hr@{normalised}")
    name, cutoff = match.groups()
    if cutoff is None:
        numbered = _NAME_AND_NUMBER.fullmatch(name)  # such as HR10
        if numbered and numbered[1] in _KINDS and not _has_beta(numbered[1]):
            name, cutoff = numbered.groups()
    return name, cutoff


def _has_beta(name: str) -> bool:
    metric = REGISTERED_METRICS.get(_KINDS[name])
    return metric is not None and metric.has_beta


def _takes_cutoff(name: str) -> bool:
    metric = REGISTERED_METRICS.get(_KINDS[name])
    return metric is not None and metric.cutoff != "none"


def _split_beta(name: str) -> tuple[str, float | None]:
    """Split a name such as f0.5 into letters and number, unless it is a known name."""
    match = _NAME_AND_BETA.fullmatch(name)
    if match and name not in _KINDS:
        letters, digits = match.groups()
        return letters, float(digits)
    return name, None


def parse_measures(
    names: str | Sequence[str | Measure], *, any_bounds: bool = False
) -> list[Measure]:
    """Return the measures named in a text, separated by commas, or in a sequence.

    Metrics that are no fractions need `any_bounds`.

    Examples
    --------
    >>> [measure.kind for measure in parse_measures("HR@10, mrr")]
    ['hit', 'rr']
    """
    return parse_list(names, "metrics", partial(parse_measure, any_bounds=any_bounds), Measure)


def parse_list(
    names: str | Sequence[str | Parsed],
    noun: str,
    parse: Callable[[str], Parsed],
    parsed_type: type[Parsed],
) -> list[Parsed]:
    """Parse names in a text, separated by commas, or in a sequence; there must be at least one.

    Parameters
    ----------
    names
        The names. Entries of a sequence may also be of type `parsed_type`.
    noun
        What messages call the names.
    parse, parsed_type
        Function that parses one name, and the type that it returns.
    """
    entries = _entries_of_names(names, noun)
    parsed: list[Parsed] = []
    for entry in entries:
        if isinstance(entry, str):
            texts = [text.strip() for text in entry.split(",")]
            parsed += [parse(text) for text in texts if text]
        elif isinstance(entry, parsed_type):
            parsed.append(entry)
        else:
            raise InputError(
                f"{noun} contain an entry of type {type(entry).__name__}; expected names"
            )
    if not parsed:
        raise InputError(f"no {noun}; expected at least one")
    without_repeated = dict.fromkeys(parsed)
    return list(without_repeated)


def _entries_of_names(names: str | Sequence[str | Parsed], noun: str) -> list[str | Parsed]:
    """Return the names in a list: the entries of a sequence, or one text.

    A mapping has no names, so that it is refused like an empty sequence.
    """
    if isinstance(names, str):
        return [names]
    if hasattr(names, "keys"):
        return []
    try:
        return list(names)
    except TypeError:
        raise InputError(f"{noun} are {format_value(names)}; expected names") from None


def suggest_names(name: str, known_names: Sequence[str]) -> str:
    """Return ` did you mean ...?` with the most similar known names, or an empty text."""
    # The name itself is unknown only because its number is missing.
    others = [known_name for known_name in known_names if known_name != name]
    similar_names = get_close_matches(name, others, n=2)
    if not similar_names:
        return ""
    return f" did you mean {' or '.join(similar_names)}?"


def known_measures(*, any_bounds: bool = False) -> tuple[str, ...]:
    """Return the names of all metrics, with `k` and `BETA` in place of numbers.

    Metrics that are no fractions need `any_bounds`.
    """
    with_cutoff = []
    without_cutoff = []
    for kind, metric in REGISTERED_METRICS.items():
        if not (any_bounds or metric.is_fraction):
            continue
        name = f"{kind}BETA" if metric.has_beta else kind
        if metric.cutoff != "none":
            with_cutoff.append(f"{name}@k")
        if metric.cutoff != "required":
            without_cutoff.append(name)
    return (*sorted(with_cutoff), *sorted(without_cutoff))


def values(
    measure: Measure, ranks: Ranks, ties: str = "expected", rng: np.random.Generator | None = None
) -> Float:
    """Return the exact metric of each user as a fraction; float64, shape (users,).

    Parameters
    ----------
    ranks
        Ranks of the relevant items; only NDCG uses their grades. In a list that is cut, candidates
        below the cut are not tied with any above. A list that ends too early for the metric raises
        InputError.
    ties
        `expected` (mean over uniformly random orders of candidates with equal scores), `random`
        (one such order, drawn with `rng`), `optimistic` (relevant items before their ties) or
        `pessimistic` (after them).

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
    if len(ranks) >= _USERS_FOR_TABLE and ranks.is_single:
        is_tied = ranks.n_tied > 0
        # A random order draws a number for each user, tied or not, so a table would change results.
        needs_draws = ties == "random" and is_tied.any()
        if not needs_draws and _has_table(measure, ranks):
            return _values_from_table(measure, ranks, ties, is_tied)
    if not measure.metric.graded:
        ranks = ranks.binary
    _require_depth(measure, ranks)
    levels = TIE_POLICIES[ties](Levels.from_ranks(ranks), rng)
    return measure.metric.formula(levels, ranks, measure)


def _has_table(measure: Measure, ranks: Ranks) -> bool:
    """Return whether the rank of an item determines the metric, and the table is not too long."""
    if ranks.n_better.max() >= _MAX_TABLE_RANKS:
        return False
    if not measure.metric.needs_candidates:
        return True
    return bool((ranks.n_candidates == ranks.n_candidates[0]).all())


def _values_from_table(
    measure: Measure, ranks: Ranks, ties: str, is_tied: NDArray[np.bool_]
) -> Float:
    """Return the metric of each user with one relevant item, looked up by rank if not tied.

    The table has the values at all ranks up to the last one of a user. Where users are too few for
    that, the metric is computed at the rank of each user. That of tied users is always computed.

    Parameters
    ----------
    measure, ranks, ties
        As for `values`.
    is_tied
        Whether the item of each user has ties; shape (users,).
    """
    n_better = ranks.n_better
    if measure.cutoff is not None:
        n_better = np.minimum(n_better, measure.cutoff)  # all ranks beyond it have the same value
    last = int(n_better.max())
    n = int(ranks.n_candidates[0])
    has_short_table = last < len(ranks) // 2
    if has_short_table:
        value_of_rank = _values_at_ranks(measure, np.arange(1, last + 2), n)
        values_of_users = value_of_rank[n_better]
    else:
        values_of_users = _values_at_ranks(measure, n_better + 1, n)
    if is_tied.any():
        tied_ranks = ranks.take(is_tied)
        levels = TIE_POLICIES[ties](Levels.from_ranks(tied_ranks), None)
        values_of_users[is_tied] = measure.metric.formula(levels, tied_ranks, measure)
    return values_of_users


def _values_at_ranks(measure: Measure, ranks: Int, n: int) -> Float:
    """Return the metric at each rank, computed for some at a time."""
    values_at_ranks = np.empty(ranks.size)
    for rows in blocks(ranks.size, 1, _RANKS_AT_A_TIME):
        values_at_ranks[rows] = measure.value_at(ranks[rows], n)
    return values_at_ranks


def _require_depth(measure: Measure, ranks: Ranks) -> None:
    """Raise DepthError if a list ends before a relevant item that the value depends on.

    A list is known down to its depth. Its value is unknown if too few relevant items are found,
    others may follow, and the metric looks further down than the depth.
    """
    metric = measure.metric
    if metric.needs_candidates:
        _require_candidates(measure, ranks)
    n_needed: int | Int = 1 if metric.first_item_decides else ranks.n_relevant
    needed_depth: int | Int = measure.cutoff or MAX_ITEMS
    if metric.ends_at_relevant:
        needed_depth = ranks.n_relevant
    lacks_items = ranks.n_found < n_needed
    may_continue = (ranks.n_candidates == 0) | (ranks.depth < ranks.n_candidates)
    ends_too_early = ranks.depth < needed_depth
    is_unknown = lacks_items & may_continue & ends_too_early
    if is_unknown.any():
        raise _depth_error(measure, ranks, is_unknown)


def _depth_error(measure: Measure, ranks: Ranks, is_unknown: NDArray[np.bool_]) -> DepthError:
    """Return the error for users whose lists end too early, with what would do.

    `is_unknown` marks these users. Three cases have remedies of their own: a metric with a cut-off,
    one that ends at the number of relevant items, and one of the whole ranking.
    """
    metric = measure.metric
    k = measure.cutoff
    depths = ranks.depth[is_unknown]
    lists = f"lists end at {depths.min()} or later (users: {depths.size:,})"
    if k is not None:
        return DepthError(
            f"{measure} needs ranks down to {k}; {lists}. "
            "missing='last' (--missing last) counts items that are not in a list as not found; "
            f"full rankings need up_to={k} or more, or none"
        )
    if metric.ends_at_relevant:
        return DepthError(
            f"{measure} needs ranks down to the number of relevant items, up to "
            f"{ranks.n_relevant[is_unknown].max()}; {lists}. missing='last' (--missing last) "
            "counts items that are not in a list as not found"
        )
    has_cut_variant = metric.cutoff == "optional" and depths.min() > 0
    remedy = "full rankings are needed, without up_to"
    if has_cut_variant:
        remedy = f"use {measure.name}@{depths.min()}, or full rankings without up_to"
    needed = "ranks of all relevant items"
    if metric.first_item_decides:
        needed = "rank of the first relevant item"
    return DepthError(f"{measure} needs the {needed}, but {lists} before that; {remedy}")


def _require_candidates(measure: Measure, ranks: Ranks) -> None:
    """Raise DepthError if a number of candidates is not known."""
    n_users = np.count_nonzero(ranks.n_candidates == 0)
    if n_users:
        raise DepthError(
            f"{measure} needs n_candidates, which is 0 (not known) for {n_users} users; if lists "
            "are complete, pass complete=True (--complete)"
        )


def synonyms() -> list[dict[str, str]]:
    """Return the names of metrics in other libraries, with K for the cut-off.

    Each row has the keys library, theirs, ours and note.
    """
    text = Path(__file__).with_name("libraries.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _unknown_measure(text: str, name: str, cutoff: str | None = None) -> InputError:
    """Return the error for a text whose name is unknown, with similar names or with all."""
    similar = _similar_measures(name, cutoff)
    if not similar or similar == [text]:
        return _invalid_measure(text)
    return InputError(
        f"unknown measure {format_value(text)}; did you mean {' or '.join(similar)}? "
        "`sampled-metrics metrics` lists all names"
    )


def _invalid_measure(text: str, reason: str = "") -> InputError:
    """Return the error for a text that is no measure, with all names."""
    return InputError(
        f"unknown measure {format_value(text)}{reason}; known: "
        f"{', '.join(known_measures(any_bounds=True))} (k a whole number >= 1, BETA a number >= 0 "
        "of at most 6 digits: f1, f0.5)"
    )


def _similar_measures(name: str, cutoff: str | None) -> list[str]:
    """Return one or two measures with a similar name and the same cut-off, if there are any.

    Parameters
    ----------
    name
        A name that is not known, in lower case with hyphens; it may end in the number of a cut-off.
    cutoff
        Digits of the cut-off; None if none was recognised.
    """
    misread = _misread_cutoff(name)
    if misread is not None:
        return [misread]
    numbered = _NAME_AND_NUMBER.fullmatch(name)
    if numbered and cutoff is None:
        name, cutoff = numbered.groups()
    similar_names = [known_name for known_name in _KINDS if _is_misspelling(name, known_name)]
    if cutoff is None:
        return similar_names[:2]
    with_cutoff = [f"{each}@{cutoff}" for each in similar_names if _takes_cutoff(each)]
    return with_cutoff[:2]


def _misread_cutoff(name: str) -> str | None:
    """Return the measure of a known name before a cut-off with letters for digits, as in hr@1o."""
    for known_name in sorted(_KINDS, key=len, reverse=True):
        rest = name.removeprefix(known_name).lstrip("@ ").translate(_LETTERS_AS_DIGITS)
        is_cutoff = rest.isdecimal() and not rest.startswith("0")
        if name.startswith(known_name) and is_cutoff and _takes_cutoff(known_name):
            return f"{known_name}@{rest}"
    return None


def _is_misspelling(name: str, known_name: str) -> bool:
    """Return whether a name is a known one but for a typing error.

    That is other hyphens, two letters exchanged or, in a name of four letters or more that begins
    alike, a letter too many, too few or wrong. Other similar names are other metrics: ERR, RPrec.

    Examples
    --------
    >>> _is_misspelling("ndgc", "ndcg"), _is_misspelling("recal", "recall")
    (True, True)
    >>> _is_misspelling("err", "rr"), _is_misspelling("mean-rank", "recip-rank")
    (False, False)
    """
    is_word = re.fullmatch("[a-z-]+", name)
    if not is_word or name == known_name:  # the latter is unknown because its number is missing
        return False
    letters, known_letters = name.replace("-", ""), known_name.replace("-", "")
    if abs(len(known_letters) - len(letters)) > 1:  # before loops over a name that may be very long
        return False
    if known_letters == letters or known_letters in _swap_neighbours(letters):
        return True
    begins_alike = len(letters) >= 4 and letters[0] == known_letters[0]
    return begins_alike and _is_one_letter_off(letters, known_letters)


def _swap_neighbours(letters: str) -> set[str]:
    """Return the texts with a letter and the next one exchanged, and the text itself."""
    return {
        letters[:i] + letters[i + 1 : i + 2] + letters[i] + letters[i + 2 :]
        for i in range(len(letters))
    }


def _is_one_letter_off(name: str, known_name: str) -> bool:
    """Return whether one letter is wrong, or is missing in one of two names."""
    if len(name) == len(known_name):
        return sum(a != b for a, b in zip(name, known_name, strict=True)) == 1
    shorter, longer = sorted([name, known_name], key=len)
    return shorter in {longer[:i] + longer[i + 1 :] for i in range(len(longer))}
