"""Which users of several evaluations are the same: by ids, or by rows where there are none."""

from collections.abc import Mapping
from copy import copy
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from sampled_metrics._base.arrays import Ids
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
    without_ids = any(ranks.users is None for ranks in evaluations.values())
    are_numbered = all(ranks.n_rows for ranks in evaluations.values())
    if not without_ids and not are_numbered:
        return dict(evaluations), _unpaired(evaluations)
    sizes = {name: ranks.n_rows or len(ranks) for name, ranks in evaluations.items()}
    few = min(sizes, key=sizes.__getitem__)
    many = max(sizes, key=sizes.__getitem__)
    if sizes[few] != sizes[many]:
        raise InputError(
            f"{few} has {sizes[few]:,} users and {many} {sizes[many]:,}, without ids to pair them; "
            "give ids by users= (sm.rank, sm.Ranks, sm.SampledRanks) or in a column user_id"
        )
    numbered = {name: copy(ranks) for name, ranks in evaluations.items()}
    if without_ids:
        for ranks in numbered.values():
            ranks.__dict__["users"] = np.arange(len(ranks))
    return numbered, ["paired: by row, as there are no ids of users."]


def different_ids(ranks: Ranks | SampledRanks) -> Ids | None:
    """Return the ids of users, each once; None if there are none."""
    if isinstance(ranks, SampledRanks):
        return ranks.different_users()[0]
    return ranks.users


def _unpaired(evaluations: Mapping[str, Ranks | SampledRanks]) -> list[str]:
    """Say how many users of each pair are in one evaluation only."""
    ids: dict[str, Any] = {name: different_ids(ranks) for name, ranks in evaluations.items()}
    words = []
    for a, b in combinations(ids, 2):
        rows = common_users(ids[a], ids[b])
        if rows is None:
            continue
        left_a = ids[a].size - rows[0].size
        left_b = ids[b].size - rows[0].size
        if left_a or left_b:
            words.append(f"{a}, {b}: {left_a:,} users of {a} and {left_b:,} of {b} are left out.")
    return words
