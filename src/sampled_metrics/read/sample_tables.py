"""Tables of sampled ranks: a row for each held-out item, and how its negatives were drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import require_same, whole_number
from sampled_metrics._base.array_types import RowSelection
from sampled_metrics._base.arrays import first_duplicate
from sampled_metrics._base.calls import public, warn_all
from sampled_metrics._base.defaults import MAX_ITEMS
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.units import Units
from sampled_metrics.checks.samples import signs_of_duplicates
from sampled_metrics.ranks import SampledRanks
from sampled_metrics.read.items import relevant_rows
from sampled_metrics.read.roles import ITEM, USER, VISIT, NamesByRole, check_roles
from sampled_metrics.read.samples import Draw, with_equal_negatives
from sampled_metrics.read.tables import Table, read_table


@public(columns=check_roles)
def sampled_from_table(table: Any, draw: Draw, *, columns: NamesByRole = None) -> SampledRanks:
    """Return sampled ranks from a column `sampled_rank`; see `SampledRanks.from_table`."""
    table = read_table(table, "sampled ranks")
    names = table.columns.keys()
    n_negatives = _read_n_negatives(table, draw.n_negatives)
    if "sampling" in names:
        draw = draw._replace(sampling=_read_sampling(table, draw.sampling))
    largest_rank = None if n_negatives is None else n_negatives + 1
    ranks = table.whole_numbers("sampled_rank", 1, largest_rank)
    n_items = _read_n_items(table, draw.n_items, n_negatives)
    if "repetition" in names:
        _require_different_repetitions(table)
    rows, _ = relevant_rows(table)
    units = _read_units(table, rows)
    if n_negatives is None:
        raise InputError("the number of negatives is not known; pass n_negatives (--n-negatives)")
    if n_items is None:
        raise InputError(
            "no column n_candidates; pass n_items (--n-items), the number of candidates of a "
            "full ranking"
        )
    return with_equal_negatives(
        ranks[rows],
        _of_rows(n_negatives, rows, ranks.size),
        draw._replace(n_items=_of_rows(n_items, rows, ranks.size)),
        units=units,
        several_items={USER, ITEM} <= names,
    )


def _of_rows(values: ArrayLike, rows: RowSelection, n_rows: int) -> ArrayLike:
    """Select the values of some rows; one number for all rows is returned unchanged."""
    if isinstance(rows, slice) or np.shape(values) != (n_rows,):
        return values
    return np.asarray(values)[rows]


def _read_units(table: Table, rows: RowSelection) -> Units | None:
    """Read the users, or visits of users, of some rows.

    Several rows of one user warn unless a column says why there are several.
    """
    if not table.columns.keys() & {USER, VISIT}:
        return None
    unit, different_units = table.units()
    units = different_units.take(unit[rows])
    if not table.columns.keys() & {"repetition", ITEM}:
        warn_all(signs_of_duplicates(units.codes))
    return units


def _read_n_negatives(table: Table, option: int | None) -> Any:
    """Return the number of negatives from the column or, without one, from the option.

    They must agree if both are passed.
    """
    if option is not None:
        option = whole_number("n_negatives", option, 1, MAX_ITEMS)
    if "n_negatives" not in table.columns:
        return option
    n_negatives = table.whole_numbers("n_negatives", 1, MAX_ITEMS)
    require_same("n_negatives", option, "n_negatives", n_negatives)
    return n_negatives


def _read_n_items(table: Table, option: ArrayLike | None, n_negatives: Any) -> Any:
    """Return the number of candidates from a column or, without one, from the option.

    They must agree if both are passed. Each must be larger than the largest number of negatives.
    """
    if "n_candidates" not in table.columns:
        return option
    fewest = 2 if n_negatives is None else int(np.max(n_negatives)) + 1
    n_items = table.whole_numbers("n_candidates", fewest, MAX_ITEMS)
    require_same("n_items", option, "n_candidates", n_items)
    return n_items


def _read_sampling(table: Table, option: str | None) -> str:
    """Read how negatives were drawn, which must be the same in all rows and in the option."""
    code, names = table.codes("sampling")
    sampling = str(names[0])
    table.refuse("sampling", code > 0, table.ids("sampling"), f"{sampling}, as in row 1")
    require_same("sampling", option, "sampling", sampling)
    return sampling


def _require_different_repetitions(table: Table) -> None:
    """Raise InputError for the first row with the repetition of an earlier one of its user."""
    repetition = table.whole_numbers("repetition", 0)
    item_codes = [table.codes(ITEM)[0]] if ITEM in table.columns else []
    row = first_duplicate(repetition, table.units()[0], *item_codes)
    if row is not None:
        user = table.columns[table.unit_columns()[0]][row]
        raise table.error_at(row, f"a repetition of user {user} that is in an earlier row")
