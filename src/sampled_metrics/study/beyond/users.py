"""Full ranking of a random subset of the users."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from scipy.special import stdtrit

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.seeds import generator
from sampled_metrics.study.beyond.outcomes import Compared
from sampled_metrics.study.beyond.runs import Runs, differences
from sampled_metrics.study.beyond.settings import ALL_ITEMS, USERS, BeyondSettings


def fully_ranked_users(compared: Compared, settings: BeyondSettings) -> Iterator[Runs]:
    """Yield the runs of full rankings of as many users as the scores suffice for, the same for all.

    Intervals are those of a mean over users drawn without replacement.
    """
    n_recommenders, _, n_users = compared.exact.shape
    price = compared.ranks[0].n_candidates - 1
    pairs = list(combinations(range(n_recommenders), 2))
    of_pairs = np.moveaxis(differences(np.moveaxis(compared.exact, 2, 0), pairs), 0, 2)
    for budget in settings.budgets:
        count = min(n_users, round(budget * n_users / price.mean()))
        if count < 2:
            continue
        scores, single, paired = [], [], []
        for run in range(settings.runs_of(budget, (settings.reported,))):
            rng = generator(settings.seed, "users", budget, run)
            users = rng.choice(n_users, count, replace=False)
            scores.append(price[users].sum() / n_users)
            single.append(_interval(compared.exact[:, :, users], n_users))
            paired.append(_interval(of_pairs[:, :, users], n_users))
        of_single, of_pairs_drawn = np.stack(single, axis=1), np.stack(paired, axis=1)
        yield Runs(
            *(USERS, ALL_ITEMS, budget, np.array(scores)),
            values=of_single[0],
            differences=of_pairs_drawn[0],
            intervals=of_single[1:],
            of_differences=of_pairs_drawn[1:],
        )


def _interval(values: Float, n_users: int) -> Float:
    """Mean over the drawn users, the last axis, and the limits of its 95 % interval."""
    count = values.shape[-1]
    error = values.std(axis=-1, ddof=1) * np.sqrt((1.0 - count / n_users) / count)
    mean, half = values.mean(axis=-1), stdtrit(count - 1, 0.975) * error
    return np.stack([mean, mean - half, mean + half])
