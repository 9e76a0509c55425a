"""Results that print as tables with a few lines below, also in notebooks, and their plots."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from sampled_metrics._base.arguments import check_arguments, wrong_type
from sampled_metrics._base.calls import Note, NoteKind, warnings_among
from sampled_metrics._base.defaults import DEFAULT_BUDGET
from sampled_metrics._base.records import record_to_row
from sampled_metrics._base.text import Explanation, Parts, TableRows, format_html, format_text
from sampled_metrics._base.threads import Result
from sampled_metrics.ranks import Ranks, SampledRanks

Row = dict[str, Any]
EXACT = "exact"  # estimator of values from full rankings
UNDECIDED = "undecided"
OTHER_WAYS = (
    "To know more, rank fully where scores are cheap (`evaluate`): with vectors of users and "
    "items, exact metrics at a cut-off need only part of all scores. If each score is "
    "expensive, `evaluate_on_budget` estimates exact metrics from about "
    f"{DEFAULT_BUDGET:g} scores per user."
)


class Shown(ABC):
    """An object that prints as tables with lines about them."""

    @abstractmethod
    def parts(self, **options: Any) -> Parts:
        """Return tables of few columns and lines about them."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with a row for each result and a column for each of its fields."""

    def plot(self, exact: "Shown | Mapping[Any, float] | None" = None, axes: Any = None) -> Any:
        """Draw a panel for each metric.

        Ranges or intervals are bars, with the values or estimates on them. The interval of
        `likely` is a thin line, and a printed value is a ring. Differences are b - a, and bars of
        differences that contain 0 are striped. Metrics share an axis that starts at 0; metrics
        that compare with all candidates, such as AUC, have their own. For a plan, draw the
        probability that an order is decided against the number of negatives.

        Parameters
        ----------
        exact
            Exact values to draw beside the estimates: results of `evaluate` or `compare`, or a
            dictionary with values by metric, or by (recommender, metric).
        axes
            Axes of Matplotlib, one for each metric; by default those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes or numpy.ndarray
            The axes; an array if there are several metrics.
        """
        from sampled_metrics.evaluation.plots import draw

        if not isinstance(exact, Shown | Mapping | None):
            raise wrong_type("exact", exact, Shown, Mapping)
        exact_values = exact.to_frame() if isinstance(exact, Shown) else exact or {}
        return draw(self.to_frame(), exact_values, axes)

    def explain(self) -> str:
        """Say how to read the printed table: its columns, and what is assumed."""
        explanations = [part for part in self.parts() if isinstance(part, Explanation)]
        return format_text(explanations).rstrip("\n")

    def __str__(self) -> str:
        hint = "To interpret this table: print(results.explain())"
        return format_text(self.parts(), instead=hint).rstrip("\n")

    def _repr_html_(self) -> str:
        return format_html(self.parts())


class Results(Shown, list[Result]):
    r"""A list of results that prints as a table, in notebooks too.

    Attributes
    ----------
    notes
        Warnings about the data, how it was read, and columns that were not read. Each names the
        argument and, if there are several, the recommender. The printed table ends with them.

    Examples
    --------
    >>> from sampled_metrics import correct
    >>> results = correct([1, 1, 5, 40, 90], "recall@10", "cls", n_items=3541, n_negatives=100)
    >>> print(str(results).partition("\n\n")[0])
    metric              range  estimator      value    error  acts like
    ---------  --------------  -----------  -------  -------  -----------
    recall@10  0.000 to 0.902  cls            0.197    0.121  recall@26
    """

    def __init__(
        self, results: Iterable[Result], show: Callable[..., Parts], notes: list[Note] | None = None
    ) -> None:
        super().__init__(results)
        self.show = show
        self.note_records: list[Note] = [] if notes is None else notes

    @property
    def notes(self) -> list[str]:
        """The texts of all notes."""
        return [str(note) for note in self.note_records]

    def parts(self, **options: Any) -> Parts:
        """Return tables of few columns and lines about them."""
        check_arguments(**options)
        return [*self.show(self, **options), *note_parts(self.note_records)]

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with a row for each result and a column for each of its fields."""
        return pd.DataFrame(self.flat_rows())

    def flat_rows(self) -> list[Row]:
        """Return a dictionary of numbers and texts for each result."""
        return [record_to_row(result) for result in self]

    __repr__ = Shown.__str__


def note_parts(notes: Sequence[Note]) -> list[str]:
    """Return the lines that print warnings and notes on how data was read, if there are any."""
    if not notes:
        return []
    lines = [f"warning: {message}" for message in warnings_among(notes)]
    if lines:
        lines = ["Please check your data:", *lines]
    lines += [f"{note}." for note in notes if note.kind is not NoteKind.WARNING]
    return ["\n".join(lines)]


def explained_table(rows: TableRows, lines: Iterable[str], explained: Iterable[str]) -> Parts:
    """Return a table, lines about it, and an explanation of its columns."""
    return [rows, "\n".join(lines), Explanation("\n".join(explained))]


def quantity(number: int, noun: str) -> str:
    """Write a number with its noun, such as 1 user or 6,040 users."""
    if number == 1:
        return f"{number:,} {noun}"
    return f"{number:,} {noun}s"


def quantity_range(numbers: Sequence[int], noun: str) -> str:
    """Write the least and largest number, such as 943 to 6,040 users; nothing for zeros."""
    least = min(numbers, default=0)
    most = max(numbers, default=0)
    if least < most:
        return f"{least:,} to {most:,} {noun}s"
    if most == 0:
        return ""
    return quantity(most, noun)


def missing_notes(samples: Iterable[Ranks | SampledRanks]) -> list[str]:
    """Write how many users or rows have held-out items that count as not found."""
    notes = []
    for ranks in samples:
        if ranks.n_missing:
            units = quantity(ranks.n_missing, "user" if isinstance(ranks, Ranks) else "row")
            notes.append(
                f"{units} without a list or scores, or with items missing from them: not found."
            )
    return notes


def describe_rankings(samples: Collection[SampledRanks], *, ordered: bool = False) -> str:
    """Describe the rankings that ranges refer to, and whether negatives were checked.

    With `ordered`, mention the effect of shared negatives on orders of recommenders.
    """
    least = min(int(sample.n_items.min()) for sample in samples)
    most = max(int(sample.n_items.max()) for sample in samples)
    if all(sample.strata is not None for sample in samples):
        sizes = f"{least:,} to {most:,}" if least < most else f"{least:,}"
        return (
            f"Ranges refer to rankings of {sizes} items: those with a count, without the items of "
            "the user's events, unless these were drawn too."
        )
    if least < most:
        text = (
            f"Ranges refer to rankings of {least:,} to {most:,} items: of each user's own number. "
            "Estimates use the mean."
        )
    else:
        text = (
            f"Ranges refer to rankings of {least:,} items. If users differ, pass one n_items per "
            "user."
        )
    text += " Count seen items if negatives were drawn from them too."
    if all(sample.pairs is not None for sample in samples):
        return f"{text} Pairs of users and items were checked, but not for seen items."
    text += " Negatives were not checked, because the pairs of users and items are not known"
    if ordered:
        return f"{text}: if users share them, orders may be wrong."
    return f"{text}; users may share them."
