"""Draw negatives for the users of tables, and check negatives drawn by others."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

import numpy as np
import pandas as pd

from sampled_metrics._base.arguments import check_arguments
from sampled_metrics._base.array_types import Float, ItemsByUser
from sampled_metrics._base.arrow import positions
from sampled_metrics._base.calls import IN_RESULT, current_call, place_of, public
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.text import Parts, RightAligned
from sampled_metrics.evaluation.results import Results, explained_table
from sampled_metrics.ranks.sampling import Design
from sampled_metrics.read.item_counts import ItemCounts, read_item_counts
from sampled_metrics.read.items import negative_rows, read_item_table
from sampled_metrics.read.roles import ITEM, USER, NamesByRole, check_roles
from sampled_metrics.sampling import negatives as uniform
from sampled_metrics.sampling.catalogue import Catalogue, read_catalogue

COUNT_WITHOUT_EVENTS = 0.5  # of an item that nobody has seen


@public(columns=check_roles)
def negatives(
    relevant: ItemsByUser,
    seen: ItemsByUser,
    n_negatives: int,
    *,
    items: ItemsByUser | None = None,
    design: str = str(Design.UNIFORM),
    counts: Any = None,
    seed: int = 0,
    columns: NamesByRole = None,
) -> pd.DataFrame:
    """Draw negatives for each user, without replacement.

    Items that a user has seen, or that are relevant, are never drawn. The same seed gives the same
    negatives, so that all recommenders can be ranked against them.

    Negatives by popularity, and half and half, say more about ranks near the top than uniform
    ones. Their metrics must be corrected with the ids and counts of items: `correct` with `counts`.

    Parameters
    ----------
    relevant, seen
        Held-out items, and items seen in training: files or DataFrames of `user_id` and `item_id`,
        or dictionaries with a list of items for each user; "none" or an empty list as `seen` if
        there are none.
    n_negatives
        m: number of negatives for each user.
    items
        All items, if some are not in the other tables: a table with `item_id`, a list or an array
        of ids, or their number n for the ids 0 to n - 1.
    design
        `uniform`; `popularity`, each draw with a probability proportional to the counts of the
        items left; or `half`, n_negatives // 2 by popularity and the others uniformly from the
        items left, which is the safest with `counts`.
    counts
        Popularity, for the last two designs: events of users and items, or the count of each item,
        as a table, a dictionary or a Series. By default the events in `seen`. Items without events
        get a count of 0.5, so that they can be drawn.
    seed
        Seed of the draw.
    columns
        Mapping from role to column name, see `evaluate`.

    Returns
    -------
    pandas.DataFrame
        Columns user_id and item_id, a row for each negative.

    Raises
    ------
    InputError
        If the data or an option is invalid; the message says where, why and what to do.

    See Also
    --------
    check_negatives : Check negatives drawn by others.

    Examples
    --------
    >>> import pandas as pd
    >>> negatives({"anna": [3]}, {"anna": [1, 2]}, 2, items=pd.DataFrame({"item_id": [4, 5]}))
      user_id  item_id
    0    anna        4
    1    anna        5
    >>> train = {"anna": [1], "bert": [1, 2], "carl": [2, 4]}
    >>> negatives({"anna": [2], "bert": [4]}, train, 2, items=9, design="half")["user_id"].tolist()
    ['anna', 'anna', 'bert', 'bert']
    """
    check_arguments(design=design)
    counted = None if counts is None else read_item_counts(counts)
    counted_ids = None if counted is None else counted.item_ids
    catalogue = read_catalogue(relevant, seen, items, counted_ids=counted_ids)
    popularity = None
    if Design(design) is not Design.UNIFORM:
        popularity = _popularity_of_items(catalogue, counted)
    elif counted is not None:
        raise InputError(
            "counts (--counts) are for the designs popularity and half; pass one as design "
            "(--design)"
        )
    excluded = catalogue.seen.matrix() + catalogue.held_out.matrix()
    with place_of(relevant):
        items_by_user = uniform.draw_negatives(
            excluded,
            n_negatives,
            popularity=popularity,
            design=design,
            seed=seed,
            users=catalogue.user_ids,
        )
    users = np.repeat(catalogue.user_ids, n_negatives)
    return pd.DataFrame({USER: users, ITEM: catalogue.item_ids[items_by_user.ravel()]})


def _popularity_of_items(catalogue: Catalogue, counted: ItemCounts | None) -> Float:
    """Return the count of each item of a catalogue, by default that of its seen events."""
    n_items = catalogue.item_ids.size
    counts = np.zeros(n_items)
    if counted is None:
        for seen in (catalogue.seen, catalogue.seen_by_others):
            counts += np.bincount(seen.item, minlength=n_items)
        if not counts.any():
            raise InputError(
                "no items are seen, so that their popularity is not known; pass counts (--counts), "
                "the events of training, or design='uniform'"
            )
    else:
        counts[positions(counted.item_ids, catalogue.item_ids)] = counted.counts
    return np.where(counts > 0.0, counts, COUNT_WITHOUT_EVENTS)


@public(columns=check_roles, see=IN_RESULT)
def check_negatives(
    negatives: ItemsByUser,
    relevant: ItemsByUser,
    seen: ItemsByUser,
    *,
    items: ItemsByUser | None = None,
    counts: Any = None,
    columns: NamesByRole = None,
) -> Results[uniform.Check]:
    """Check that negatives are as corrections and ranges assume: uniform, distinct and unseen.

    With counts of items, negatives of any design that depends on popularity are sound. The check
    `evenness` then tests whether anything else decided which items were drawn, and says which
    design it sees.

    Parameters
    ----------
    negatives
        A table of user_id and item_id, a row for each negative.
    relevant, seen, items, columns
        As for `negatives`.
    counts
        Popularity, by which negatives may be drawn: events of users and items, or the count of each
        item, as a table, a dictionary or a Series. Items without events get a count of 0.5.

    Returns
    -------
    Results
        A list of checks, one for each property, which prints as a table.

    Raises
    ------
    InputError
        If the data or an option is invalid; the message says where, why and what to do.

    See Also
    --------
    negatives : Draw uniform negatives.

    Examples
    --------
    >>> held, seen = {"anna": [3], "bert": [4]}, {"anna": [1], "bert": [2]}
    >>> checks = check_negatives({"anna": [2, 2], "bert": [1, 3]}, held, seen)
    >>> checks.to_frame()[["name", "passed", "found"]].head(3)
                name  passed  found
    0  held-out item    True    0.0
    1     seen items    True    0.0
    2     duplicates   False    1.0
    >>> counts = {item: 900 // (item + 1) for item in range(90)}
    >>> held = {user: [user % 90] for user in range(300)}
    >>> drawn = negatives(held, "none", 9, counts=counts, design="half")
    >>> check_negatives(drawn, held, "none", counts=counts)[-1].remark
    'half by popularity and half uniformly'
    """
    table = read_item_table(negatives, "negatives")
    if table is None:
        raise InputError(
            f"negatives: found {type(negatives).__name__}; expected a table of user_id and item_id"
        )
    counted = None if counts is None else read_item_counts(counts)
    counted_ids = None if counted is None else counted.item_ids
    catalogue = read_catalogue(relevant, seen, items, [table], counted_ids)
    rows = negative_rows(table)
    user = table.positions(USER, catalogue.user_ids, "an id of the relevant items")[rows]
    item = table.positions(ITEM, catalogue.item_ids, "an id of the items")[rows]
    checks = uniform.check_drawn_negatives(
        user,
        item,
        catalogue.seen.matrix(),
        catalogue.held_out.matrix(),
        None if counted is None else _popularity_of_items(catalogue, counted),
    )
    return Results(checks, check_parts, current_call().notes)


def check_parts(checks: Sequence[uniform.Check]) -> Parts:
    """Return a table of the checks, remarks on those that failed, and an explanation."""
    rows = [
        {
            "check": check.name,
            "passed": "yes" if check.passed else "NO",
            "found": _format_finding(check),
            "p": RightAligned("" if isnan(check.p_value) else f"{check.p_value:.2g}"),
        }
        for check in checks
    ]
    about_columns = (
        "found: number of such negatives, or the chi-square of how often items are drawn, with its "
        "expectation for sound negatives. p: how often sound negatives deviate as much."
    )
    return explained_table(rows, _verdict(checks), [about_columns])


def _verdict(checks: Sequence[uniform.Check]) -> list[str]:
    """Write what failed and how negatives were drawn, or that they are sound.

    The remark of a check that passed is the design that it recognises.
    """
    failed = [f"{check.name}: {check.remark}." for check in checks if not check.passed]
    designs = [check.remark for check in checks if check.passed and check.remark]
    if not failed:
        return ["Sound: distinct, unseen and uniform as far as these tests can tell."]
    if not designs:
        return failed
    if uniform.are_sound(checks):
        return [f"Sound with counts, as far as these tests can tell; {failed[0]}"]
    return [*failed, f"Drawn {designs[0]}."]


def _format_finding(check: uniform.Check) -> str:
    """Write the number of negatives that fail a check, or the chi-square and its expectation."""
    if isnan(check.p_value):
        return f"{check.found:,.0f}" if check.found else "none"
    if check.passed:
        return "as expected"
    return f"{check.found:,.0f}, expected {check.expected:,.0f}"
