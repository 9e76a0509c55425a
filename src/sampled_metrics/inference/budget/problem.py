"""Users, items and events of an evaluation, read from files and kept in one."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from sampled_metrics._base.arrays import Ids, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_arrays
from sampled_metrics._base.sparse import from_structure, marked, structure, structure_names
from sampled_metrics.inference.budget.candidates import Candidates
from sampled_metrics.ranks.matrices import read_sparse
from sampled_metrics.ranks.relevant_items import Pairs, read_known_items, read_pairs, relevant_rows
from sampled_metrics.tables.ids import ITEM, USER
from sampled_metrics.tables.reading import require_file

SEEN = "seen items: a table of user_id and item_id, or .npz as scipy.sparse.save_npz writes"
HELD_OUT = "held-out items (user_id, item_id)"
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
            **structure(self.events),
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
        arrays = read_arrays(path, what, (*structure_names(), "numbered", *columns))
        owner, item, user_ids, item_ids = (arrays[name] for name in columns)
        return cls(
            from_structure(arrays), owner, item, user_ids, item_ids, bool(arrays["numbered"])
        )


def read_problem(seen: Path, held_out: Path, items: Path | None = None) -> Problem:
    """Read what users have seen, and their held-out items.

    Parameters
    ----------
    seen
        A table with columns `user_id` and `item_id`, ids of any kind, in which pairs may be
        repeated; or `.npz` of a sparse matrix, users x items, whose row and column numbers are
        the ids.
    held_out
        A table of `user_id` and `item_id`, or qrels; one or several items per user.
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
    table = read_pairs(held_out, HELD_OUT)
    user = table.whole(USER, 0, events.shape[0] - 1)
    item = table.whole(ITEM, 0, events.shape[1] - 1)
    Pairs.of(table)  # refuses duplicates
    rows, _ = relevant_rows(table)
    twice = np.asarray(events[user[rows], item[rows]]).ravel() != 0
    if twice.any():
        row = int(rows[np.argmax(twice)])
        problem = f"item {item[row]} of user {user[row]} is both seen and held out"
        raise table.error_at(row, problem)
    evaluated = np.unique(user[rows])
    others = np.setdiff1d(np.arange(events.shape[0]), evaluated)
    owner = np.searchsorted(evaluated, user[rows])
    order = np.lexsort((item[rows], owner))
    return Problem(
        marked(events[np.concatenate([evaluated, others])]),
        owner[order],
        item[rows][order],
        evaluated,
        np.arange(events.shape[1]),
        numbered=True,
    )


def _of_tables(seen: Path, held_out: Path, items: Path | None) -> Problem:
    known = read_known_items(held_out, seen, items)
    events = marked(vstack([known.seen, known.seen_by_others], format="csr"))
    owner, item = np.nonzero(known.held_out)
    order = np.lexsort((item, owner))
    return Problem(events, owner[order], item[order], known.user_ids, known.item_ids)
