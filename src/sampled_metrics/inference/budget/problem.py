"""Users, items and events of an evaluation, read from files and kept in one."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sampled_metrics._base.arrays import Ids, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_arrays
from sampled_metrics.inference.budget.candidates import Candidates
from sampled_metrics.ranks.matrices import read_sparse
from sampled_metrics.ranks.relevant_items import Pairs, read_pairs, relevant_rows
from sampled_metrics.tables.columns import ITEM, USER, Table
from sampled_metrics.tables.ids import column_of, places
from sampled_metrics.tables.reading import read_table, require_file

SEEN = "seen items: a table of user_id and item_id, or .npz as scipy.sparse.save_npz writes"
HELD_OUT = "held-out items (user_id, item_id)"
ITEMS = "items (item_id)"
MATRIX = ".npz"


class Problem(NamedTuple):
    """What users have seen and what was held out of it.

    Attributes
    ----------
    events
        1 where a user has seen an item; shape (all users, items). Users with held-out items come
        first and are evaluated; the events of the others only train proxies.
    owner, item
        User and item of each held-out row, ordered by user.
    user_ids, item_ids
        Ids of the users evaluated and of all items.
    numbered
        Whether the ids are rows and columns of a matrix.
    """

    events: csr_array
    owner: Int
    item: Int
    user_ids: Ids
    item_ids: Ids
    numbered: bool = False

    @property
    def seen(self) -> csr_array:
        """What the users evaluated have seen."""
        return self.events[: self.user_ids.size]

    def candidates(self) -> Candidates:
        """Candidates of the users evaluated: all items that they have not seen."""
        first = np.searchsorted(self.owner, np.arange(1, self.user_ids.size))
        return Candidates(self.seen, np.split(self.item, first))

    def write(self, path: Path) -> None:
        """Write everything as `.npz`."""
        np.savez(
            path,
            indptr=self.events.indptr,
            indices=self.events.indices,
            shape=self.events.shape,
            owner=self.owner,
            item=self.item,
            user_ids=self.user_ids,
            item_ids=self.item_ids,
            numbered=self.numbered,
        )

    @classmethod
    def load(cls, path: Path) -> "Problem":
        """Read what `write` wrote."""
        columns = ("owner", "item", "user_ids", "item_ids")
        what = "the problem of an evaluation on a budget"
        arrays = read_arrays(path, what, ("indptr", "indices", "shape", "numbered", *columns))
        indices = arrays["indices"]
        events = csr_array(
            (np.ones(indices.size), indices, arrays["indptr"]), shape=tuple(arrays["shape"])
        )
        owner, item, user_ids, item_ids = (arrays[name] for name in columns)
        return cls(events, owner, item, user_ids, item_ids, bool(arrays["numbered"]))


def read_problem(seen: Path, held_out: Path, items: Path | None = None) -> Problem:
    """Read what users have seen, and their held-out items.

    Parameters
    ----------
    seen
        A table with columns `user_id` and `item_id`, ids of any kind, in which pairs may be
        repeated; or `.npz` of a sparse matrix, users x items, whose row and column numbers are
        the ids.
    held_out
        A table of `user_id` and `item_id`, one or several items per user.
    items
        A table of `item_id`: further items of the catalogue that nobody has seen.
    """
    if seen.suffix != MATRIX:
        return _of_tables(seen, held_out, items)
    if items is not None:
        raise InputError(
            "a matrix of seen items has a column for every item; drop this", path=items
        )
    require_file(seen, SEEN)
    events = csr_array(read_sparse(seen))
    n_users, n_items = events.shape
    table = read_pairs(held_out, HELD_OUT)
    user, item = table.whole(USER, 0, n_users - 1), table.whole(ITEM, 0, n_items - 1)
    Pairs.of(table)  # refuses duplicates
    rows, _ = relevant_rows(table)
    evaluated = np.unique(user[rows])
    order = np.concatenate([evaluated, np.setdiff1d(np.arange(n_users), evaluated)])
    owner = np.searchsorted(evaluated, user[rows])
    problem = _assembled(
        events[order], owner, item[rows], table, rows, evaluated, np.arange(n_items)
    )
    return problem._replace(numbered=True)


def _of_tables(seen: Path, held_out: Path, items: Path | None) -> Problem:
    table = read_pairs(held_out, HELD_OUT)
    rows, _ = relevant_rows(table)
    held = Pairs.of(table).take(rows)
    (user, user_ids), (item, item_ids) = _codes(read_pairs(seen, SEEN))
    further = []
    if items is not None:
        catalogue = read_table(items, ITEMS, (ITEM,))
        catalogue.require(ITEM)
        further.append(catalogue.codes(ITEM)[1])
    all_users = _union(held.user_ids, user_ids)
    all_items = _union(held.item_ids, item_ids, *further)
    user, item = places(user_ids, all_users)[user], places(item_ids, all_items)[item]
    events = csr_array((np.ones(user.size), (user, item)), shape=(len(all_users), len(all_items)))
    # The ids of the held-out items come first in the unions, so their codes are those of the rows.
    names = all_users[: len(held.user_ids)]
    return _assembled(
        events, held.user, held.item, table, rows, _array_of(names), _array_of(all_items)
    )


def _codes(table: Table) -> Any:
    return [(codes.astype(np.int64), ids) for codes, ids in map(table.codes, (USER, ITEM))]


def _union(*ids: Any) -> Any:
    """Return all ids, each once, in the order in which they first appear."""
    import pyarrow as pa

    if len({one.type for one in ids}) > 1:
        ids = tuple(one.cast(pa.string()) for one in ids)
    return pa.concat_arrays(ids).unique()


def _array_of(ids: Any) -> Ids:
    import pyarrow as pa

    if pa.types.is_integer(ids.type):
        return ids.to_numpy()
    return np.array(ids.to_pylist(), dtype=np.str_)


def _assembled(
    events: csr_array,
    owner: Int,
    item: Int,
    table: Table,
    rows: Int,
    user_ids: Ids,
    item_ids: Ids,
) -> Problem:
    """Put the events in canonical form, and refuse held-out items that were seen."""
    events.sum_duplicates()
    events.eliminate_zeros()
    events.data = np.ones(events.nnz)
    twice = np.asarray(events[owner, item]).ravel() > 0
    if twice.any():
        row = int(np.argmax(twice))
        user, name = user_ids[owner[row]], item_ids[item[row]]
        problem = f"item {name} of user {user} is among the seen items; hold it out of them"
        raise table.error_at(int(rows[row]), problem)
    order = np.argsort(owner, kind="stable")
    return Problem(events, owner[order].astype(np.int64), item[order], user_ids, item_ids)


def places_of(ids: Any, among: Ids) -> Int:
    """Return the number of each id, an array of pyarrow, -1 where it is unknown."""
    return places(ids, column_of(among))
