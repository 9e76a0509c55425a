"""Full ranking of a random subset of the users."""

from collections.abc import Iterator

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
    pairs = [(a, b) for a in range(n_recommenders) for b in range(a + 1, n_recommenders)]
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
        value, of_value = map(np.array, zip(*single, strict=True))
        lead, of_lead = map(np.array, zip(*paired, strict=True))
        yield Runs(
            USERS,
            ALL_ITEMS,
            budget,
            np.array(scores),
            value,
            lead,
            np.stack([value - of_value, value + of_value]),
            np.stack([lead - of_lead, lead + of_lead]),
        )


def _interval(values: Float, n_users: int) -> tuple[Float, Float]:
    """Mean over the drawn users, the last axis, and half the width of its 95 % interval."""
    count = values.shape[-1]
    error = values.std(axis=-1, ddof=1) * np.sqrt((1.0 - count / n_users) / count)
    return values.mean(axis=-1), stdtrit(count - 1, 0.975) * error
