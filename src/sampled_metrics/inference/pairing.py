"""Which users of several evaluations are the same: by ids, or by rows where there are none."""

from collections.abc import Mapping
from copy import copy
from itertools import combinations
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.asking import ask
from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.ranges import common_users
from sampled_metrics.ranks import Ranks, SampledRanks

Evaluation = TypeVar("Evaluation", Ranks, SampledRanks)
Common: TypeAlias = dict[tuple[str, str], tuple[Int, Int] | None]


class Paired(NamedTuple, Generic[Evaluation]):
    """Evaluations whose users have ids.

    Attributes
    ----------
    common
        Rows of the users that both of a pair have, by their names; None without such users.
    notes
        How users are paired, or how many of each pair have no partner.
    doubts
        Pairs whose numbers of candidates differ by more than 1 %, or with few users in common.
    """

    evaluations: dict[str, Evaluation]
    common: Common
    notes: list[str]
    doubts: list[str]


def questioned_users(evaluations: Mapping[str, Evaluation]) -> Paired[Evaluation]:
    """Find common users, and ask about pairs that may not be of the same data."""
    paired = paired_users(evaluations)
    for words in paired.doubts:
        ask("data", f"{words}: are these evaluations on the same data?")
    return paired


def paired_users(evaluations: Mapping[str, Evaluation]) -> Paired[Evaluation]:
    """Find common users by their ids, or by rows if some have none and all have as many."""
    found = dict(evaluations)
    notes = []
    without_ids = any(ranks.users is None for ranks in found.values())
    by_row = without_ids or all(ranks.n_rows for ranks in found.values())
    if by_row:
        _require_as_many(evaluations)
        notes.append("paired: by row, as there are no ids of users.")
    if without_ids:
        for name, ranks in evaluations.items():
            found[name] = copy(ranks)
            found[name].__dict__["users"] = np.arange(len(ranks))
    common: Common = {}
    doubts = []
    for a, b in combinations(found, 2):
        n_a = found[a].mean_candidates
        n_b = found[b].mean_candidates
        if n_a and n_b and abs(n_a - n_b) > 0.01 * max(n_a, n_b):
            doubts.append(f"{a} has {n_a:,} candidates and {b} has {n_b:,}")
        of_a, of_b = (_different_ids(found[name]) for name in (a, b))
        rows = common[a, b] = common_users(of_a, of_b)
        number = 0 if rows is None else rows[0].size
        least = min(of_a.size, of_b.size)
        if 2 * number < least:
            doubts.append(f"{a} and {b} have {number:,} of {least:,} users in common")
        left_a = of_a.size - number
        left_b = of_b.size - number
        if number and (left_a or left_b) and not by_row:
            notes.append(f"{a}, {b}: {left_a:,} users of {a} and {left_b:,} of {b} are left out.")
    return Paired(found, common, notes, doubts)


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


def _different_ids(ranks: Ranks | SampledRanks) -> Any:
    """Return the ids of users, each once."""
    if isinstance(ranks, SampledRanks):
        return ranks.different_users()[0]
    return ranks.users
