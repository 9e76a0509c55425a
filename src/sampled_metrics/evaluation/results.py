"""Results that print as tables with a few lines below, in notebooks as well, and their plots.

Also the record of a comparison, and words that results of several kinds share.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from math import nan
from typing import Any, NamedTuple, ParamSpec, Self, TypeVar

import pandas as pd

from sampled_metrics._base.arguments import check_arguments, wrong_type
from sampled_metrics._base.defaults import DEFAULT_BUDGET
from sampled_metrics._base.errors import NOT_READ, READ_AS, collect_warnings
from sampled_metrics._base.records import OMIT_IF_NONE, Record, record_to_row
from sampled_metrics._base.text import Explanation, Parts, TableRows, format_html, format_text
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")
Found = TypeVar("Found", bound="Results[Any]")
Row = dict[str, Any]
EXACT = "exact"  # estimator of values from full rankings
UNDECIDED = "undecided"
# The same credit down to the cut-off.
FLAT = ("f", "hit", "precision", "recall", "recall-capped", "recall-micro")
INSTEAD = (
    "To know more, rank fully where scores are cheap (`evaluate`): by vectors of users and items "
    "exact metrics at a cut-off cost about what 100 negatives do. Where each score is expensive, "
    f"`evaluate_on_budget` estimates exact metrics from about {DEFAULT_BUDGET:g} scores per user."
)


class Shown(ABC):
    """An object that prints as tables with lines about them."""

    @abstractmethod
    def parts(self, **options: Any) -> Parts:
        """Return tables of few columns and lines about them."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with a row for each result and a column for each fact about it."""

    def plot(self, exact: "Shown | Mapping[Any, float] | None" = None, axes: Any = None) -> Any:
        """Draw a panel for each metric: ranges or intervals as lines, estimates or values on them.

        The interval of `likely` about the exact metric is a thin line.

        Of a plan, draw how likely an order is decided by the number of negatives. Returns the axes,
        an array of them if there are several metrics. Metrics share an axis that begins at 0; those
        that compare with all candidates, such as AUC, have their own.

        `exact` are results of `evaluate` or `compare` to be drawn beside the estimates, or values
        by metric, or by (recommender, metric) if there are several. `axes` are Matplotlib's, one
        for each metric; by default of a new figure.
        """
        from sampled_metrics.evaluation.plots import draw

        if not isinstance(exact, Shown | Mapping | None):
            raise wrong_type("exact", exact, Shown, Mapping)
        known = exact.to_frame() if isinstance(exact, Shown) else exact or {}
        return draw(self.to_frame(), known, axes)

    def __str__(self) -> str:
        return format_text(self.parts()).rstrip("\n")

    def _repr_html_(self) -> str:
        return format_html(self.parts())


class Results(Shown, list[Result]):
    r"""A list of results that prints as a table, in notebooks too.

    Attributes
    ----------
    notes
        Questions about the data, and columns that were not read, which the table ends with: each
        names the recommender, if there are several, and the argument.

    Examples
    --------
    >>> from sampled_metrics import correct
    >>> results = correct([1, 1, 5, 40, 90], "recall@10", "cls", n_items=3541, n_negatives=100)
    >>> print(str(results).partition("\n\n")[0])
    metric              range  estimator      value    error  acts like
    ---------  --------------  -----------  -------  -------  -----------
    recall@10  0.000 to 0.902  cls            0.197    0.121  recall@26
    """

    def __init__(self, results: Iterable[Result], show: Callable[..., Parts]) -> None:
        super().__init__(results)
        self.show = show
        self.notes: list[str] = []

    def parts(self, **options: Any) -> Parts:
        """Return tables of few columns and lines about them."""
        check_arguments(**options)
        return [*self.show(self, **options), *questions(self.notes)]

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with a row for each result and a column for each of its fields."""
        return pd.DataFrame(self.flat_rows())

    def flat_rows(self) -> list[Row]:
        """Return a dictionary for each result, of numbers and texts."""
        return [record_to_row(result) for result in self]

    __repr__ = Shown.__str__


def questions(notes: Sequence[str]) -> list[str]:
    """Return a part of a page with questions, which numbers depend on, and unread columns."""
    if not notes:
        return []
    of_reading = [note for note in notes if NOT_READ in note or READ_AS in note]
    lines = [f"question: {note}" for note in notes if note not in of_reading]
    if lines:
        lines = ["As the data was read; whether it is right depends on:", *lines]
    lines += [f"{note}." for note in of_reading]
    return ["\n".join(lines)]


def with_questions(function: Callable[Arguments, Found]) -> Callable[Arguments, Found]:
    """Have the results of a function keep the questions that it asks."""

    @wraps(function)
    def asking(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Found:
        with collect_warnings() as notes:
            results = function(*args, **kwargs)
        results.notes = notes
        return results

    return asking


@dataclass(frozen=True, eq=False, kw_only=True)
class Compared(Record):
    """The difference of one metric between recommenders `a` and `b`; fields also as in `Corrected`.

    Attributes
    ----------
    estimator
        `exact` from full rankings.
    value_a, value_b, difference
        Values as fractions, over the common users if users are paired, and value_b - value_a; of
        `likely` in the range of the difference, or nan where no number is quoted of `a` or `b`.
    std_error, ci_low, ci_high
        Error and interval of the expectation of this difference, which for estimates from sampled
        ranks is not the difference of the exact metrics.
    range_low, range_high
        Values of the difference of the exact metrics that the sampled ranks allow; from full
        rankings the interval.
    likely_low, likely_high
        Of `likely`, the interval about the difference of the exact metrics, from those of `a` and
        `b` as if their errors were independent; nan for other estimators.
    order
        The recommender with the higher exact metric, `a` or `b`, or `undecided`.
    p_value
        One less the highest confidence at which the range excludes 0, or from full rankings
        the p-value of a t-test; adjusted for all pairs of the same metric.
    verdict
        The order, and the estimates at their resolution, in words.
    n_users
        Number of pairs if users are `paired`, or else the smaller number of users.
    n_visits
        Likewise of visits, of which users have several; None without.
    users_needed
        About how many users would decide an undecided order of full rankings if they differed as
        these do; None for decided orders and sampled ranks, and without a difference.
    holds_up_to
        Largest factor of a shape (see `correct`) at which sampled ranks still decide the order, to
        within 5 %; 16 is 16 or more. Below 2 the order proves little. None where undecided or from
        full rankings.
    """

    a: str
    b: str
    metric: str
    estimator: str
    value_a: float
    value_b: float
    difference: float
    std_error: float
    ci_low: float
    ci_high: float
    range_low: float
    range_high: float
    likely_low: float = nan
    likely_high: float = nan
    order: str = UNDECIDED
    p_value: float
    acts_like: int | None = None
    verdict: str = ""
    paired: bool
    n_users: int
    n_items: int | None = None
    n_negatives: int | None = None
    sampling: str | None = None
    users_needed: int | None = None
    holds_up_to: float | None = None
    n_visits: int | None = field(default=None, metadata=OMIT_IF_NONE)

    @property
    def order_of_estimates(self) -> str:
        """Order by the interval of the estimates, which is not about the exact metrics."""
        return order_of(self.ci_low, self.ci_high)


def order_of(low: float, high: float) -> str:
    """Order that the ends of a range or an interval of b - a decide."""
    if low > 0.0:
        return "b"
    if high < 0.0:
        return "a"
    return UNDECIDED


class ActsLike(NamedTuple):
    """The cut-off or rank at which an estimate has half of the credit of rank 1.

    Attributes
    ----------
    name
        A metric that gives the same credit to all ranks up to its cut-off, such as recall, which
        the estimate acts like at the cut-off `rank`; or AUC, which sampling does not distort.
        None for other metrics.
    rank
        The first true rank whose expected credit is at most half of that of rank 1. None for AUC,
        and if no rank has so little credit.
    exact_rank
        The same for the exact metric; None if `name` is set or `rank` is None.
    """

    name: str | None = None
    rank: int | None = None
    exact_rank: int | None = None

    @classmethod
    def from_rank(cls, metric: str, acts_like: int | None, n_items: int) -> Self:
        """Describe the rank at which the credit of an estimate has fallen to half.

        Examples
        --------
        >>> str(ActsLike.from_rank("recall@10", 17, n_items=1000))
        'recall@17'
        >>> str(ActsLike.from_rank("ndcg@10", 17, n_items=1000))
        'rank 17 (not 3)'
        """
        measure = parse_measure(metric)
        if measure.metric.needs_candidates:
            return cls(name=metric)
        if acts_like is None:
            return cls()
        if measure.kind in FLAT:
            return cls(name=measure.name, rank=acts_like)
        half = measure.value_at([1], n_items)[0] / 2.0
        exact_rank = 2
        while exact_rank < n_items and measure.value_at([exact_rank], n_items)[0] > half:
            exact_rank += 1
        return cls(rank=acts_like, exact_rank=exact_rank)

    @property
    def place(self) -> str:
        """The rank in words."""
        if self.rank is None:
            return "no rank"
        return f"rank {self.rank}"

    def __str__(self) -> str:
        if self.exact_rank is not None:
            return f"{self.place} (not {self.exact_rank})"
        if self.name is None:
            return self.place
        if self.rank is None:
            return self.name
        return f"{self.name}@{self.rank}"

    @property
    def below_metric(self) -> str:
        """Short form for a row that already names the metric and the rank of the exact one."""
        if self.name is None:
            return self.place
        if self.rank is None:
            return ""
        return f"@{self.rank}"

    @property
    def phrase(self) -> str:
        """Where estimates separate recommenders best, such as `at about recall@17`."""
        if self.name is None:
            return f"with half credit at {self.place}"
        if self.rank is None:
            return f"at {self}"
        return f"at about {self}"


def explained_table(rows: TableRows, lines: Iterable[str], explained: Iterable[str]) -> Parts:
    """Return a table, lines about it, and an explanation of its columns."""
    return [rows, "\n".join(lines), Explanation("\n".join(explained))]


def count(number: int, noun: str) -> str:
    """Write a number of things, such as 1 user or 6,040 users."""
    if number == 1:
        return f"{number:,} {noun}"
    return f"{number:,} {noun}s"


def missing_notes(samples: Iterable[Ranks | SampledRanks]) -> list[str]:
    """Say of how many users or rows held-out items count as not found."""
    notes = []
    for ranks in samples:
        if ranks.n_missing:
            of = count(ranks.n_missing, "user" if isinstance(ranks, Ranks) else "row")
            notes.append(f"{of} without a list, or without some items in it: these are not found.")
    return notes


def rankings_meant(samples: Collection[SampledRanks], *, ordered: bool = False) -> str:
    """Say which rankings the ranges are about, and whether negatives were checked.

    `ordered` adds the effect of shared negatives on orders of recommenders.
    """
    least = min(int(sample.n_items.min()) for sample in samples)
    most = max(int(sample.n_items.max()) for sample in samples)
    n = f"{least:,} items like the negatives"
    own = "give each user's own number if they differ"
    if least < most:
        n = f"{least:,} to {most:,} items like the negatives"
        own = "ranges take each user's own number, estimates the mean"
    words = f"rankings: of {n}, those that users have seen included if they were drawn; {own}."
    if all(sample.pairs is not None for sample in samples):
        return f"{words} Pairs of users and items were checked, but not for seen ones."
    words += " Negatives were not checked, because no pairs of users and items are known"
    if ordered:
        return f"{words}: if users share them, orders may be wrong."
    return f"{words}; users may share them."


def extent(numbers: Sequence[int], noun: str) -> str:
    """Write how many things there are, such as 6,040 users or 943 to 6,040 users."""
    least = min(numbers, default=0)
    most = max(numbers, default=0)
    if least < most:
        return f"{least:,} to {most:,} {noun}s"
    if most == 0:
        return ""
    return count(most, noun)
