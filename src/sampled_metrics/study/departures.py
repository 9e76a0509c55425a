"""Settings in which a study on the paper's data departs from the paper's, and cells they change.

A published cell is comparable with ours if both are of the same settings. What does not move an
expectation is no departure: repetitions, seeds, shared samples. Nor is the random start of X, which
the paper leaves open and `study.starts` measures.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sampled_metrics.estimators import parse_estimator
from sampled_metrics.metrics import parse_measure
from sampled_metrics.study.config import PAPERS_CHOICES, Entry, Study
from sampled_metrics.study.settings import ExperimentSettings, ToySettings

if TYPE_CHECKING:  # Snakemake's own process needs no pandas
    import pandas as pd

PAPERS_EXPERIMENT = ExperimentSettings(**PAPERS_CHOICES)  # type: ignore[arg-type]
PAPERS_RECOMMENDERS: dict[str, tuple[str, dict[str, Any]]] = {  # kind and settings, section 9
    "X": ("als", {"d": 16, "lambda": 10, "alpha": 0.2}),
    "Y": (
        "itemknn",
        {
            "q": 3,
            "k": None,
            "k_prime": None,
            "self_similarity": True,
            "normalise_scores": False,
        },
    ),
    "Z": (
        "itemknn",
        {
            "q": 1,
            "k": None,
            "k_prime": 10,
            "neighbour_axis": "column",
            "self_similarity": False,
            "normalise_scores": False,
        },
    ),
}
OF_DATA = (3, 4, 6)  # tables and the figure that are made of the recommenders' ranks
_ESTIMATES = ("Sampled", "Rank Estimate", "CLS", "BV")  # how columns of estimates begin
_CELLS = {  # tables, and columns of them, that each setting of the experiment changes
    "n_negatives": ((3, 4), _ESTIMATES),
    "sampling": (OF_DATA, _ESTIMATES),
    "ties": ((3, 4), _ESTIMATES),
    "assumed_sampling": (OF_DATA, ("CLS", "BV")),
    "n_items": (OF_DATA, ("Rank Estimate", "CLS", "BV")),
    "cls_nonnegative": ((3, 4), ("CLS",)),
    "rounding": ((3, 4), ("Rank Estimate",)),
    "divisor": ((3, 4), ("Rank Estimate",)),
}


class Departure(NamedTuple):
    """A setting that is not the paper's, in words, and the cells that it changes.

    An empty `row`, `metric` or `columns` stands for all of them. `row` is a recommender, also of
    the pairs of Table 4; `columns` are the beginnings of their names.
    """

    words: str
    tables: tuple[int, ...]
    row: str = ""
    metric: str = ""
    columns: tuple[str, ...] = ()

    def changes(self, table: int, row: str, metric: str, column: str) -> bool:
        """Whether a cell, by the key of the published ones, is of other settings."""
        return (
            table in self.tables
            and self.row in ("", *row.split(" vs "))
            and self.metric in ("", metric)
            and (not self.columns or column.startswith(self.columns))
        )


def notes(cells: "pd.DataFrame", departures: Iterable[Sequence[Any]]) -> list[str]:
    """Say for each cell which setting is not the paper's; an empty text if it is comparable."""
    found = [Departure(*values) for values in departures]
    texts = []
    for key in cells[["table", "row", "metric", "column"]].itertuples(index=False):
        texts.append("; ".join(one.words for one in found if one.changes(*key)))
    return texts


def changed_tables(departures: Iterable[Sequence[Any]]) -> set[int]:
    """Return the numbers of tables, and of Figure 6, that some departure changes."""
    return {number for values in departures for number in Departure(*values).tables}


def departures(study: Study) -> list[Departure]:
    """Compare a study on the paper's data with the paper's settings."""
    found: list[Departure] = []
    toy = ToySettings()
    for name in ("n_negatives", "sampling"):
        found += _different(f"toy.{name}", getattr(study.toy, name), getattr(toy, name), (2,))
    for name, value in study.filters.on.items():
        found += _different(f"filters.{name}", value, None, OF_DATA)
    found += _different("split.tie_break", study.split.tie_break, "ncf", OF_DATA)
    found += _of_experiment(study.experiment)
    if study.ranks == "trained":
        for entry in study.recommenders:
            found += _of_recommender(entry)
    for name in PAPERS_RECOMMENDERS:
        if name not in study.names:
            found.append(Departure(f"recommenders has no {name}", OF_DATA, row=name))
    return found


def _of_experiment(experiment: ExperimentSettings) -> Iterator[Departure]:
    for name, (tables, columns) in _CELLS.items():
        papers = getattr(PAPERS_EXPERIMENT, name)
        ours = getattr(experiment, name)
        yield from _different(f"experiment.{name}", ours, papers, tables, columns=columns)
    for metric in PAPERS_EXPERIMENT.metrics:
        if metric not in experiment.metrics:
            label = parse_measure(metric).label
            yield Departure(f"experiment.metrics has no {metric}", (3, 4), metric=label)
    for estimator in PAPERS_EXPERIMENT.estimators:
        if estimator not in experiment.estimators:
            columns = (parse_estimator(estimator).label,)
            yield Departure(f"experiment.estimators has no {estimator}", (3, 4), columns=columns)


def _of_recommender(entry: Entry) -> Iterator[Departure]:
    """Compare a recommender by its name; one from a file may be anything."""
    name = entry.name
    if name not in PAPERS_RECOMMENDERS or entry.kind == "external":
        return
    kind, papers = PAPERS_RECOMMENDERS[name]
    yield from _different(f"{name} is of kind", entry.kind, kind, OF_DATA, row=name)
    if entry.kind == kind:
        ours = entry.settings.model_dump(by_alias=True)
        for key, value in papers.items():
            yield from _different(f"{key} of {name}", ours[key], value, OF_DATA, row=name)


def _different(
    setting: str, ours: object, papers: object, tables: tuple[int, ...], **cells: Any
) -> Iterator[Departure]:
    """Name a setting with both values if they differ."""
    if ours != papers:
        shown = ["null" if value is None else value for value in (ours, papers)]
        yield Departure(f"{setting} is {shown[0]}, the paper's {shown[1]}", tables, **cells)
