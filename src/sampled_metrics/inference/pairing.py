"""Which users of several evaluations are the same: by ids, or by rows where there are none."""

from collections.abc import Mapping
from copy import copy
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.ranges import common_users
from sampled_metrics.ranks import Ranks, SampledRanks

Evaluation = TypeVar("Evaluation", Ranks, SampledRanks)


def paired_users(
    evaluations: Mapping[str, Evaluation],
) -> tuple[dict[str, Evaluation], list[str]]:
    """Number the users that have no ids by their rows, of which all must have as many.

    The words say so, or how many users of each pair have no partner.
    """
    without = any(each.users is None for each in evaluations.values())
    if not without and not all(each.n_rows for each in evaluations.values()):
        return dict(evaluations), _unpaired(evaluations)
    sizes = {name: each.n_rows or len(each) for name, each in evaluations.items()}
    few, many = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    if sizes[few] != sizes[many]:
        raise InputError(
            f"{few} has {sizes[few]:,} users and {many} {sizes[many]:,}, without ids to pair them; "
            "give ids by users= (sm.rank, sm.Ranks, sm.SampledRanks) or in a column user_id"
        )
    numbered = {name: copy(each) for name, each in evaluations.items()}
    for each in numbered.values() if without else ():
        each.__dict__["users"] = np.arange(len(each))
    return numbered, ["paired: by row, as there are no ids of users."]


def _unpaired(evaluations: Mapping[str, Ranks | SampledRanks]) -> list[str]:
    users: dict[str, Any] = {name: each.users for name, each in evaluations.items()}
    ids, words = {name: np.unique(each) for name, each in users.items()}, []
    for (a, ids_a), (b, ids_b) in combinations(ids.items(), 2):
        rows = common_users(ids_a, ids_b)
        left_a, left_b = (0 if rows is None else x.size - rows[0].size for x in (ids_a, ids_b))
        if left_a or left_b:
            words.append(f"{a}, {b}: {left_a:,} users of {a} and {left_b:,} of {b} are left out.")
    return words
