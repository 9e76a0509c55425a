"""Evaluations of several recommenders: read alike, and which of their users are the same."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from sampled_metrics._base.array_types import Int
from sampled_metrics._base.errors import InputError, format_value, reading, warn_input
from sampled_metrics.inputs.tables import as_table
from sampled_metrics.intervals.ranges import common_users
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.ranks.data import Cut, as_ranks, as_sampled, taken

Evaluation = TypeVar("Evaluation", Ranks, SampledRanks)
_SEVERAL = 10  # users; fewer may have the same ranks by chance
_SAME = ": are these evaluations on the same data?"
Common: TypeAlias = dict[tuple[str, str], tuple[Int, Int] | None]


class Paired(NamedTuple, Generic[Evaluation]):
    """Evaluations whose users have ids.

    Attributes
    ----------
    common
        Rows of the users in common, by the names of a pair; None without such users.
    notes
        How users are paired, or how many of each pair have no partner.
    """

    evaluations: dict[str, Evaluation]
    common: Common
    notes: list[str]


def questioned_users(evaluations: Mapping[str, Evaluation]) -> Paired[Evaluation]:
    """Find common users, and ask about pairs that may not be of the same data.

    Such pairs have other numbers of candidates for the same users, or few common users.
    """
    paired = paired_users(evaluations)
    for (a, b), rows in paired.common.items():
        first, second = (paired.evaluations[name] for name in (a, b))
        _ask_of_candidates((a, b), (first, second), rows)
        is_same = all(map(np.array_equal, _ranks_of(first), _ranks_of(second)))
        if is_same and min(len(first), len(second)) >= _SEVERAL:
            warn_input("data", f"{a} and {b} have the same ranks: is one of them given twice?")
        number = 0 if rows is None else rows[0].size
        least = min(_unit_ids(first).size, _unit_ids(second).size)
        if 2 * number < least:
            warn_input("data", f"{a} and {b} have {number:,} of {least:,} users in common{_SAME}")
    return paired


def _ask_of_candidates(
    names: tuple[str, str],
    pair: tuple[Ranks | SampledRanks, Ranks | SampledRanks],
    rows: tuple[Int, Int] | None,
) -> None:
    """Ask about a tenth of common users with other numbers of candidates, or means 1 % apart.

    The means alone hide masks that differ by an item a user, which can decide an order.
    """
    a, b = names
    counts = [_candidates(of) for of in pair]
    if rows is not None and counts[0] is not None and counts[1] is not None:
        n_a, n_b = counts[0][rows[0]], counts[1][rows[1]]
        differs = (n_a != n_b) & (n_a > 0) & (n_b > 0)  # 0 where not known
        n_different = int(np.count_nonzero(differs))
        if n_different and 10 * n_different >= differs.size:
            first = int(np.argmax(differs))
            user = _unit_ids(pair[0])[rows[0][first]]
            warn_input(
                "data",
                f"{n_different:,} of {differs.size:,} users have other numbers of candidates in "
                f"{a} and {b}, such as {n_a[first]:,} and {n_b[first]:,} of user {user}: rank both "
                "with the same seen items (seen=) and the same catalogue",
            )
            return
    mean_a, mean_b = (of.mean_candidates for of in pair)
    if mean_a and mean_b and abs(mean_a - mean_b) > 0.01 * max(mean_a, mean_b):
        warn_input("data", f"{a} has {mean_a:,} candidates and {b} has {mean_b:,}{_SAME}")


def _candidates(ranks: Ranks | SampledRanks) -> Int | None:
    """Return the number of candidates of each different user; None if one is said for all."""
    if isinstance(ranks, Ranks):
        return ranks.n_candidates
    if not ranks.n_items.ndim:
        return None
    _, user = ranks.different_units()
    _, first = np.unique(user, return_index=True)
    return ranks.n_items[first]


def _ranks_of(ranks: Ranks | SampledRanks) -> list[Int]:
    if isinstance(ranks, SampledRanks):
        return [ranks.sampled_ranks]
    return [ranks.n_found, ranks.n_better, ranks.n_tied]


def paired_users(evaluations: Mapping[str, Evaluation]) -> Paired[Evaluation]:
    """Find common users by their ids, or by rows if some have none and all have as many."""
    found = dict(evaluations)
    _require_alike(found)
    without_ids = any(ranks.users is None for ranks in found.values())
    by_row = without_ids or all(ranks.n_rows for ranks in found.values())
    notes = []
    if by_row:
        _require_as_many(evaluations)
        notes.append("paired: by row, as there are no ids of users.")
    if without_ids:
        for name, ranks in evaluations.items():
            found[name] = replace(ranks, users=np.arange(len(ranks)))
    common: Common = {}
    for a, b in combinations(found, 2):
        of_a, of_b = (_unit_ids(found[name]) for name in (a, b))
        rows = common[a, b] = common_users(of_a, of_b)
        if rows is not None and not by_row:
            left_a = of_a.size - rows[0].size
            left_b = of_b.size - rows[0].size
            if left_a or left_b:
                words = f"{left_a:,} users of {a} and {left_b:,} of {b} are left out."
                notes.append(f"{a}, {b}: {words}")
    return Paired(found, common, notes)


def _require_as_many(evaluations: Mapping[str, Ranks | SampledRanks]) -> None:
    """Raise an InputError if evaluations whose users have no ids differ in rows."""
    sizes = {name: ranks.n_rows or len(ranks) for name, ranks in evaluations.items()}
    few = min(sizes, key=sizes.__getitem__)
    many = max(sizes, key=sizes.__getitem__)
    if sizes[few] != sizes[many]:
        raise InputError(
            f"{few} has {sizes[few]:,} users and {many} {sizes[many]:,}, without ids to pair them; "
            "give ids by users= (sm.rank, sm.Ranks, sm.SampledRanks) or in a column user_id"
        )


def _unit_ids(ranks: Ranks | SampledRanks) -> Any:
    """Return the ids of users, or of visits of users, each once."""
    if isinstance(ranks, SampledRanks):
        return ranks.different_units()[0]
    return ranks.unit_ids


def _require_alike(evaluations: Mapping[str, Ranks | SampledRanks]) -> None:
    """Raise InputError if some evaluations are of visits and others of users."""
    with_visits = {name for name, ranks in evaluations.items() if ranks.visits is not None}
    others = [name for name in evaluations if name not in with_visits]
    if with_visits and others:
        raise InputError(
            f"{min(with_visits)} has visits of users and {others[0]} has none; give both, or none, "
            "a column visit_id (visits=)"
        )


def with_text_names(data: Mapping[Any, object]) -> dict[str, object]:
    """Return recommenders by name, whole numbers as texts; other names raise InputError."""
    named: dict[str, object] = {}
    for name, value in data.items():
        if not isinstance(name, str | int | np.integer):
            raise InputError(
                f"found {format_value(name)} as a name of a recommender; expected text"
            )
        if str(name) in named:
            raise InputError(
                f"found two recommenders of name {format_value(str(name))}; rename one"
            )
        named[str(name)] = value
    return named


def all_alike(
    data: Mapping[str, object],
    full: Mapping[str, Any],
    drawn: Mapping[str, Any],
    cut: Cut | None = None,
) -> tuple[dict[str, SampledRanks], dict[str, Ranks]]:
    """Return the sampled ranks of all recommenders, or their ranks in full rankings.

    `full` and `drawn` are options of `as_ranks` and `as_sampled`, and full rankings may be `cut`.
    """
    data = with_text_names(data)
    among = [name for name, value in data.items() if _is_sampled(name, value, full, drawn)]
    others = [name for name in data if name not in among]
    if among and others:
        raise InputError(
            f"{others[0]} is ranked in full, {among[0]} among samples; compare like with like"
        )
    if among:
        taken(dict(full), "sampled ranks", "n_items", "relevant", "missing")
    elif drawn.get("sampling") is not None:
        raise InputError("sampling (--sampling) is for sampled rankings, these are full")
    samples = {}
    rankings = {}
    for name, value in data.items():
        with reading(name):
            if among:
                samples[name] = as_sampled(value, **drawn)
            else:
                rankings[name] = as_ranks(value, cut=cut, **full)
    return samples, rankings


def _is_sampled(name: str, value: Any, full: Mapping[str, Any], drawn: Mapping[str, Any]) -> bool:
    """Return whether data is of sampled rankings."""
    if isinstance(value, Ranks | SampledRanks):
        return isinstance(value, SampledRanks)
    if drawn.get("positive") is not None or drawn.get("n_negatives") is not None:
        return True
    with reading(name):
        table = as_table(value)
    if table is None or full.get("complete"):
        return False
    return not table.columns.keys().isdisjoint(("sampled_rank", "label"))
