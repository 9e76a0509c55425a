"""What negatives that somebody else drew say of the recommenders of a study."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.seeds import generator
from sampled_metrics.datasets.split import Split, require_all
from sampled_metrics.inference.budget import evaluate_on_budget
from sampled_metrics.inference.compare_sampled import compare_sampled
from sampled_metrics.inference.correct import correct
from sampled_metrics.ranks import SampledRanks
from sampled_metrics.sampling.soundness import Drawn, check_negatives
from sampled_metrics.study.beyond.outcomes import BETTER, EQUAL, SEEN, Codes, Compared
from sampled_metrics.tables.ids import ITEM, USER, places
from sampled_metrics.tables.reading import read_table

WHAT = "negatives (user_id, item_id)"


class Negatives(NamedTuple):
    """As many negatives of each evaluated user, as numbers of users and items of the split."""

    user: Int
    item: Int
    per_user: int


def read_negatives(path: Path, split: Split) -> Negatives:
    """Read a table of negatives; those of users who are not evaluated are left out."""
    table = read_table(path, WHAT, (USER, ITEM))
    table.require(USER, ITEM)
    user = places(table.ids(USER), split.evaluated_ids)
    item = places(table.ids(ITEM), split.item_ids)
    table.refuse(ITEM, (item < 0) & (user >= 0), table.ids(ITEM), "an item of the split")
    user, item = user[user >= 0], item[user >= 0]
    counts = np.bincount(user, minlength=split.held_out.size)
    require_all(path, "user", counts > 0, split.evaluated_ids)
    if counts.min() < counts.max():
        ids = split.evaluated_ids[[counts.argmin(), counts.argmax()]]
        raise InputError(
            f"user {ids[0]} has {counts.min()} negatives and user {ids[1]} has {counts.max()}; "
            "give every user as many",
            path=path,
        )
    order = np.argsort(user, kind="stable")
    return Negatives(user[order], item[order], int(counts[0]))


def sampled_ranks(name: str, codes: Codes, negatives: Negatives, split: Split) -> SampledRanks:
    """Rank each held-out item among the negatives of its user by the outcomes of a recommender.

    A held-out item among its own negatives is not better than itself. Ties are broken at random.
    """
    among = codes[negatives.user, negatives.item]
    if (among == SEEN).any():
        row = int(np.argmax(among == SEEN))
        user, item = negatives.user[row], negatives.item[row]
        raise InputError(
            f"negative {split.item_ids[item]} of user {split.user_ids[user]} is among the user's "
            "training items, which are not ranked; draw from unseen items"
        )
    is_other = negatives.item != split.held_out[negatives.user]
    better, tied = (
        counted.reshape(-1, negatives.per_user).sum(axis=1)
        for counted in (among == BETTER, (among == EQUAL) & is_other)
    )
    rank = 1 + better + generator(0, "negatives", name).integers(0, tied + 1)
    return SampledRanks(rank, split.n_candidates, negatives.per_user, users=split.evaluated_ids)


def value_table(samples: Mapping[str, SampledRanks], compared: Compared) -> pd.DataFrame:
    """Sampled metrics, the ranges that they allow, and the exact metrics, by recommender."""
    metrics = list(map(str, compared.measures))
    rows = [
        {
            "recommender": name,
            "metric": metric,
            "n_negatives": samples[name].n_negatives,
            "sampled": corrected.value,
            "range_low": corrected.range_low,
            "range_high": corrected.range_high,
            "exact": exact.mean(),
        }
        for name, of_name in zip(compared.names, compared.exact, strict=True)
        for metric, corrected, exact in zip(
            metrics, correct(samples[name], metrics, ["sampled"]), of_name, strict=True
        )
    ]
    return pd.DataFrame(rows)


def order_table(
    samples: Mapping[str, SampledRanks], compared: Compared, split: Split
) -> pd.DataFrame:
    """Orders of all pairs: exact, by the ranges that the negatives allow, and on a budget.

    Differences are of the second less the first recommender. The evaluation on a budget has the
    default budget and proxy `als`.
    """
    metrics = list(map(str, compared.measures))
    score = {
        name: partial(_scores, codes)
        for name, codes in zip(compared.names, compared.codes, strict=True)
    }
    budgeted = evaluate_on_budget(score, split.seen, split.held_out, proxy="als", metrics=metrics)
    on_budget = {(pair.a, pair.b, pair.metric): pair for pair in budgeted.compare()}
    means = dict(zip(compared.names, compared.exact.mean(axis=2), strict=True))
    rows = []
    for pair in compare_sampled(samples, metrics, ["sampled"]):
        by_budget = on_budget[pair.a, pair.b, pair.metric]
        place = metrics.index(pair.metric)
        exact = means[pair.b][place] - means[pair.a][place]
        rows.append(
            {
                "a": pair.a,
                "b": pair.b,
                "metric": pair.metric,
                "exact": exact,
                "exact_order": ("undecided", "b", "a")[int(np.sign(exact))],
                "range_low": pair.range_low,
                "range_high": pair.range_high,
                "sampled_order": pair.order,
                "scores_per_user": max(budgeted.scores_per_user),
                "budget_low": by_budget.range_low,
                "budget_high": by_budget.range_high,
                "budget_order": by_budget.order,
            }
        )
    return pd.DataFrame(rows)


def _scores(codes: Codes, users: Int, items: Int) -> Codes:
    return codes[users, items]


def check_table(negatives: Negatives, split: Split) -> pd.DataFrame:
    """Checks of the negatives, see `check_negatives`."""
    n_users = split.held_out.size
    marks = (np.ones(n_users), (np.arange(n_users), split.held_out))
    held_out = csr_array(marks, shape=split.seen.shape)
    drawn = Drawn(negatives.user, negatives.item, split.seen, held_out)
    return pd.DataFrame(map(asdict, check_negatives(drawn)))
