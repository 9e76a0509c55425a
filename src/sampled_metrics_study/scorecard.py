"""Every published number beside ours, with a verdict that follows from stated tolerances.

A cell has a value, and 96 of the 204 cells have a standard deviation over repetitions as well. Both
are judged.

`_RULES` explains the verdicts. The paper leaves three choices open that move the numbers: the
random start of X; the order of Z's ties, of which the published exact metric is one and ours the
expectation over all; and the order of tied samples. `claims.starts` measures how far they move each
cell. No verdict depends on a seed, because our numbers are in closed form.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import bdtr, ndtr

from sampled_metrics._base.files import write_text
from sampled_metrics_study.files import write_table
from sampled_metrics_study.tables import (
    COUNTS,
    DECIMALS,
    EXPECTED,
    KEY,
    PAPER,
    PAPERS_REPETITIONS,
    as_printed,
    counts_per_100_repetitions,
    std_of,
    to_markdown,
)
from sampled_metrics_study.verdicts import NOT_COMPARABLE, VERDICTS, verdict_line

# A normal difference is larger with probability 0.27 %: less than one of the 300 numbers.
SIGMAS = 3.0
LAST_DIGITS = {table: 10.0**-decimals for table, decimals in DECIMALS.items()}
# A number whose likeliest printed outcome has at least this probability is near-certain: that it
# agrees is hardly evidence.
CERTAIN = 0.9


class PublishedCell(NamedTuple):
    """A published cell, as text, and our numbers for it; NaN where one is missing."""

    table: int
    value_published: str
    std_published: str
    expected: float
    expected_std: float
    repetitions: float
    ours: str
    ours_std: str
    spread: float
    cause: str
    uniform: float
    departures: str  # settings that differ from the paper's


class Judgement(NamedTuple):
    """What the scorecard says of a cell."""

    tolerance: str = ""
    verdict: str = NOT_COMPARABLE
    note: str = ""
    kind: str = ""
    error: str = ""
    std_difference: str = ""
    std_tolerance: str = ""
    std_verdict: str = ""  # empty if no standard deviation is printed
    std_kind: str = ""


_NAMES = {
    "value_published": PAPER,
    "std_published": std_of(PAPER),
    "ours": EXPECTED,
    "ours_std": std_of(EXPECTED),
    **{field: field.replace("_", " ") for field in Judgement._fields},
}
SCORECARD = (
    *KEY,
    *(_NAMES[name] for name in ("value_published", "std_published", "ours", "ours_std")),
    "difference",
    *(_NAMES[field] for field in Judgement._fields),
)


class Tolerance(NamedTuple):
    """Values of a published cell that agree with ours.

    `kind` is one of those in `_RULES`. `error` is the standard deviation of the published number
    given ours, rounding included. `below` and `above` are the largest accepted differences, where
    ours is the higher or the lower one.
    """

    kind: str
    error: float
    below: float
    above: float

    def holds(self, difference: float) -> bool:
        """Return whether a difference, ours minus the published value, is accepted."""
        return -self.above <= difference <= self.below


def mean_tolerance(table: int, expected: float, deviation: float, spread: float = 0.0) -> Tolerance:
    """Return the tolerance of a mean of the paper: 3 standard errors plus half a unit.

    `expected` and `deviation` are the mean and the standard deviation of one repetition, in closed
    form. `spread` is the standard deviation over choices that the paper leaves open.
    """
    error_of_mean = deviation / PAPERS_REPETITIONS[table] ** 0.5
    error = float(np.hypot(error_of_mean, spread))
    return _normal_tolerance(expected, error, unit=LAST_DIGITS[table])


def std_tolerance(table: int, deviation: float) -> Tolerance:
    """Return the tolerance of a published standard deviation: 3 standard errors plus half a unit.

    `deviation` is the expected one. The standard error of a standard deviation over R repetitions
    is that of normal ones, `deviation` / sqrt(2 (R - 1)): 7.1 % of it for R = 100.
    """
    error = deviation / (2.0 * (PAPERS_REPETITIONS[table] - 1)) ** 0.5
    return _normal_tolerance(deviation, error, unit=LAST_DIGITS[table])


def _normal_tolerance(expected: float, error: float, unit: float) -> Tolerance:
    """Return the tolerance of a number that is normal about `expected`, and printed rounded.

    It is 3 standard errors plus half a unit of the last digit. The number is near-certain if it is
    printed like `expected` with a probability of at least `CERTAIN`. A rounding error is uniform
    over a unit, with the standard deviation unit / sqrt(12).
    """
    edges = (np.round(expected / unit) + np.array([-0.5, 0.5])) * unit  # rounded like `expected`
    with np.errstate(divide="ignore", invalid="ignore"):
        at_lower_edge, at_upper_edge = ndtr((edges - expected) / error)
    kind = "random"
    if not error or at_upper_edge - at_lower_edge >= CERTAIN:
        kind = "near-certain"
    allowed = SIGMAS * error + unit / 2.0
    error_with_rounding = float(np.hypot(error, unit / 12.0**0.5))
    return Tolerance(kind, error_with_rounding, below=allowed, above=allowed)


def count_tolerance(expected: float, spread: float = 0.0) -> Tolerance:
    """Return the tolerance of a count of Table 4: a binomial range, 0.135 % left out at each end.

    The count of right orders in n repetitions is binomial with the probability p = `expected` / n.
    The range is from the smallest k with P(count <= k) >= Phi(-3) to n minus the same number for
    wrong orders, with the probability 1 - p: so both ends are sums of small terms. With a `spread`
    it is at least 3 standard deviations of both together.
    """
    n = PAPERS_REPETITIONS[COUNTS]
    p = min(max(expected / n, 0.0), 1.0)
    expected_count = n * p
    counts = np.arange(n + 1.0)
    at_most_right = bdtr(counts, n, p)  # P(count <= k) for k = 0, ..., n
    at_most_wrong = bdtr(counts, n, 1.0 - p)
    fewest_right = np.argmax(at_most_right >= ndtr(-SIGMAS))
    fewest_wrong = np.argmax(at_most_wrong >= ndtr(-SIGMAS))
    low = float(fewest_right)
    high = float(n - fewest_wrong)
    error = float(np.hypot(np.sqrt(expected_count * (1.0 - p)), spread))
    if spread:
        low = min(low, expected_count - SIGMAS * error)
        high = max(high, expected_count + SIGMAS * error)
    probability_of_likeliest = np.diff(at_most_right, prepend=0.0).max()
    kind = "near-certain" if probability_of_likeliest >= CERTAIN else "random"
    return Tolerance(kind, error, below=expected - low, above=high - expected)


def scorecard(
    table: pd.DataFrame,
    published: pd.DataFrame,
    spread: pd.DataFrame,
    departures: Iterable[str] = (),
) -> pd.DataFrame:
    """Compare unrounded cells with the published ones.

    Parameters
    ----------
    table
        Cells of this run, with the columns of `tables.TableCell`.
    published
        Published cells, with the columns of `config/paper/tables.csv`.
    spread
        Standard deviation of cells over choices that the paper leaves open, and its `cause`.
    departures
        Settings that differ from the paper's, one sentence for each.

    Returns
    -------
    DataFrame
        One row for each published cell, in the same order, with the columns `SCORECARD`. Cells that
        this run did not compute are not comparable; with departures, no cell is.
    """
    # Both tables have columns `value` and `std`; the published ones get a suffix.
    cells = published.merge(
        _cells_like_published(table),
        on=KEY,
        how="left",
        suffixes=("_published", ""),
        validate="1:1",
    )
    cells = cells.merge(spread, on=KEY, how="left", validate="1:1").fillna({"spread": 0.0})
    # With a departure no cell is comparable, so each one has them all.
    cells["departures"] = "; ".join(departures)
    difference = cells["expected"] - cells["value_published"].astype(float)
    cells["difference"] = difference.map("{:z.4f}".format)
    is_not_computed = difference.isna()
    cells.loc[is_not_computed, ["ours", "ours_std", "difference"]] = ""
    rows = cells[[*PublishedCell._fields]].itertuples(index=False)
    judged = pd.DataFrame([_judge(PublishedCell(*row)) for row in rows], columns=Judgement._fields)
    return pd.concat([cells, judged], axis=1).rename(columns=_NAMES)[[*SCORECARD]]


def _cells_like_published(table: pd.DataFrame) -> pd.DataFrame:
    """Bring the cells of this run into the units and the digits of the published ones.

    Counts of Table 4 are published per 100 repetitions, and without a standard deviation. Columns
    added are `ours` and `ours_std`, expectations as texts with the published decimals; and
    `uniform`, the expectation if all orders of tied samples are equally likely.
    """
    cells = table.assign(
        expected=counts_per_100_repetitions(table),
        uniform=counts_per_100_repetitions(table, "uniform"),
        expected_std=table["expected_std"].where(table["table"] != COUNTS),
    )
    printed = as_printed(cells, "expected", "expected_std")
    return cells.assign(ours=printed["value"], ours_std=printed["std"])


def _judge(cell: PublishedCell) -> Judgement:
    """Judge a cell by the noise of repetitions, then by the choices that the paper leaves open."""
    if cell.departures or pd.isna(cell.expected):
        reason = cell.departures or "not computed in this run"
        return Judgement(note=reason, std_verdict=NOT_COMPARABLE if cell.std_published else "")
    difference = cell.expected - float(cell.value_published)
    noise = _tolerance(cell)
    noise_and_choices = _tolerance(cell, cell.spread)
    is_same = cell.ours == cell.value_published
    verdict_by_noise = _verdict_by_noise(noise, difference, is_same=is_same)
    tolerance = noise_and_choices if verdict_by_noise == "differs" else noise
    allowed = tolerance.below if difference > 0 else tolerance.above
    verdict, note = _explain_by_choices(cell, verdict_by_noise, noise_and_choices, difference)
    judgement = Judgement(
        tolerance=f"{allowed:.4f}",
        verdict=verdict,
        note=note,
        kind=noise.kind,
        error=f"{noise_and_choices.error:.4f}",
    )
    if not cell.std_published:
        return judgement
    return _judge_std(cell, judgement)


def _explain_by_choices(
    cell: PublishedCell, verdict_by_noise: str, noise_and_choices: Tolerance, difference: float
) -> tuple[str, str]:
    """Return the verdict on a value, and a note, given what the paper leaves open.

    A value that differs is `explained` if the spread over a choice allows it. One that agrees is
    `explained` too if it would not agree with all orders of tied samples equally likely.
    """
    if verdict_by_noise == "differs":
        if pd.isna(cell.cause):
            return verdict_by_noise, ""
        if noise_and_choices.holds(difference):
            return "explained", cell.cause
        return verdict_by_noise, f"beyond the spread of the {cell.cause}"
    if _is_due_to_ties(cell):
        return "explained", "order of tied samples"
    return verdict_by_noise, ""


def _judge_std(cell: PublishedCell, judgement: Judgement) -> Judgement:
    """Add what the scorecard says of the standard deviation of a cell."""
    tolerance = std_tolerance(cell.table, cell.expected_std)
    difference = cell.expected_std - float(cell.std_published)
    is_same = cell.ours_std == cell.std_published
    return judgement._replace(
        std_difference=f"{difference:z.4f}",
        std_tolerance=f"{tolerance.above:.4f}",
        std_verdict=_verdict_by_noise(tolerance, difference, is_same=is_same),
        std_kind=tolerance.kind,
    )


def _verdict_by_noise(tolerance: Tolerance, difference: float, *, is_same: bool) -> str:
    """Judge a number that noise may move, by its difference and whether it has the same digits."""
    if tolerance.kind == "deterministic":
        return "exact" if is_same else "differs"
    if tolerance.kind == "near-certain" and is_same:
        return "exact"
    return "within noise" if is_same or tolerance.holds(difference) else "differs"


def _is_due_to_ties(cell: PublishedCell) -> bool:
    """Return whether the published value is unlikely if all orders of ties are equally likely."""
    if not cell.repetitions or pd.isna(cell.uniform):
        return False
    noise = _tolerance(cell._replace(expected=cell.uniform))
    return not noise.holds(cell.uniform - float(cell.value_published))


def _tolerance(cell: PublishedCell, spread: float = 0.0) -> Tolerance:
    """Return how far a published cell may lie from its expectation.

    `spread` is the standard deviation over choices that the paper leaves open.
    """
    if cell.table == COUNTS:
        return count_tolerance(cell.expected, spread)
    if cell.repetitions or spread:
        deviation = cell.expected_std if cell.repetitions else 0.0
        return mean_tolerance(cell.table, cell.expected, deviation, spread)
    return Tolerance("deterministic", 0.0, LAST_DIGITS[cell.table] / 2, LAST_DIGITS[cell.table] / 2)


def z_scores(card: pd.DataFrame) -> pd.DataFrame:
    """Divide the differences of random cells by their standard errors; columns `KEY` and `z`."""
    cells = card[card["kind"] == "random"]
    z = pd.to_numeric(cells["difference"]) / pd.to_numeric(cells["error"])
    return cells.assign(z=z).dropna(subset="z")[[*KEY, "z"]].reset_index(drop=True)


def verdicts_of_numbers(card: pd.DataFrame) -> list[str]:
    """List the verdicts on all printed numbers: of each cell its value, then its deviation."""
    pairs = card[["verdict", "std verdict"]].to_numpy().tolist()
    return [verdict for pair in pairs for verdict in pair if verdict]


def count_by_verdict(card: pd.DataFrame) -> pd.DataFrame:
    """Count the printed numbers of each table by verdict: values, and standard deviations.

    The last row counts those of all tables.
    """
    verdicts_by_row: dict[tuple[object, str], list[str]] = {}
    for table, cells in card.groupby("table"):
        verdicts_by_row[table, "values"] = cells["verdict"].tolist()
        deviations = [verdict for verdict in cells["std verdict"] if verdict]
        verdicts_by_row[table, "standard deviations"] = deviations
    verdicts_by_row["all", ""] = verdicts_of_numbers(card)
    rows = []
    for table_and_numbers, verdicts in verdicts_by_row.items():
        if verdicts:
            counts = Counter(verdicts)
            rows.append([*table_and_numbers, *(counts[name] for name in VERDICTS), counts.total()])
    return pd.DataFrame(rows, columns=["table", "numbers", *VERDICTS, "all"]).astype(object)


def write_scorecard(card: pd.DataFrame, ranks: str, csv: Path, md: Path) -> None:
    """Write the scorecard as CSV, and as Markdown with a summary; `ranks` names their source."""
    write_table(card, csv)
    parts = [
        "# Scorecard against the published tables",
        verdict_line(Counter(verdicts_of_numbers(card))),
        f"Ranks: {ranks}.",
        to_markdown(count_by_verdict(card), decimals=0),
        _RULES,
        _explained_cells_text(card),
    ]
    z = z_scores(card)["z"]
    if len(z) > 1:
        parts.append(
            f"Differences of the {len(z)} random cells over their standard errors have the mean "
            f"{z.mean():.2f} and the standard deviation {z.std():.2f}. Independent ones would have "
            "0 and 1, but cells of a recommender share its samples and its start."
        )
    others = card.loc[card["verdict"] == NOT_COMPARABLE, "note"].value_counts(sort=False)
    if len(others):
        listed = "\n".join(f"- {note}: {n}" for note, n in others.items())
        parts.append(f"Cells that are not comparable, by setting:\n\n{listed}")
    write_text(md, "\n\n".join([*parts, "## Cells", to_markdown(card)]) + "\n")


def _explained_cells_text(card: pd.DataFrame) -> str:
    """Count explained cells by cause; cells with one cause are one event, not several."""
    notes_of_cells = card.loc[card["verdict"] == "explained", "note"]
    causes = notes_of_cells.str.split("; ").str[0].value_counts(sort=False)
    if not len(causes):
        return "No cell is `explained`."
    cells = "; ".join(f"{cause}, {n}" for cause, n in causes.items())
    n_values = causes.sum()
    values = "value that is `explained` is" if n_values == 1 else "values that are `explained` are"
    events = "1 event" if len(causes) == 1 else f"{len(causes)} events"
    return (
        f"The {n_values} {values} {events}, because one draw that the paper leaves open moves all "
        f"cells that rest on it. By cause: {cells}."
    )


_RULES = """\
Ours is the exact metric, or the expectation over sampling in closed form, so no verdict depends on
a seed. The kind of a number is `deterministic`, `random`, or `near-certain`: sampled, but one
printed outcome, such as 0 or 100, has a probability of at least 90 %. A deterministic or
near-certain number that has the same digits is `exact`: it must match, and does. A random one is
`within noise` whether its digits are the same, by chance, or not.

- A published mean is `within noise` if it lies at most 3 of its standard errors plus half a unit of
  the last digit from ours;
- a published count of Table 4 anywhere but in the outer 0.135 % of its binomial distribution on
  either side, which is the probability beyond 3 standard errors;
- a published standard deviation, in the columns `std`, at most 3 of its standard errors plus half a
  unit. Over R repetitions the standard error is 1/sqrt(2 (R - 1)) of ours: 7.1 % for the 100 of
  Table 3, 2.2 % for the 1,000 of Table 2.

Values are `explained` that would differ without what the paper leaves open: the initialisation of
X, the order of Z's ties, or that of its tied samples. A standard deviation is never `explained`. A
number is `not comparable` if this run did not compute it, or for another setting than the paper's,
which its note names."""
