"""The data of the explorer: the true ranks of the users of each recommender, encoded."""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from sampled_metrics.inference.population import Population
from sampled_metrics.inference.search import geometric_sizes
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.toy import PREDICTED_RANKS, toy_ranks

MOST_KINDS = 20_000
FEW_KINDS = 700  # from which the curve of panel (d) takes its variances
LARGEST = 2000
N_SIZES = 22
_GAMMA = 0.1


def explorer(records: Mapping[str, Ranks], config: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the data of the explorer.

    Returns
    -------
    `groups`, the recommenders of this run and the toy ones, each with `label`, `n` (mean number
    of candidates, rounded), `sizes` (numbers of negatives to draw curves at) and `recommenders`
    (`name`, `users`, and all and few of them as `kinds` and `few`, see `encoded`); and `start`, the
    initial positions of the controls.
    """
    groups = [_group("This run", records)] if records else []
    toy = {name: toy_ranks(name) for name in PREDICTED_RANKS}
    groups.append(_group("Toy recommenders", toy))
    m = config.get("experiment", {}).get("n_negatives", 100)
    start = {"metric": "recall", "k": 10, "n": groups[0]["n"], "m": m}
    return {"groups": groups, "start": {**start, "estimator": "bv", "gamma": _GAMMA}}


def _group(label: str, records: Mapping[str, Ranks]) -> dict[str, Any]:
    mean = np.mean([of_users.mean_candidates for of_users in records.values()])
    fewest = min(int(of_users.n_candidates.min()) for of_users in records.values())
    most = min(fewest - 1, LARGEST)
    return {
        "label": label,
        "n": round(float(mean)),
        "sizes": geometric_sizes(1, most, N_SIZES),
        "recommenders": [
            {
                "name": name,
                "users": len(of_users),
                "kinds": encoded(of_users),
                "few": encoded(of_users, FEW_KINDS),
            }
            for name, of_users in records.items()
        ],
        "thinned": any(len(of_users) > MOST_KINDS for of_users in records.values()),
    }


def encoded(records: Ranks, most: int = MOST_KINDS) -> str:
    """Encode kinds of users as base64 of little-endian uint32: all N, all b, all e, all counts.

    More than `most` users are represented by that many, evenly spaced in the order of their ranks'
    share of the candidates.
    """
    if len(records) > most:
        middle = records.n_better + records.n_tied / 2.0
        order = np.argsort(middle / records.n_candidates, kind="stable")
        rows = order[((np.arange(most) + 0.5) * len(records) / most).astype(np.int64)]
        records = records.take(rows)
    population = Population.of_users(records)
    kinds = population.ranks
    counts = np.rint(population.share * len(records))
    columns = np.concatenate([kinds.n_candidates, kinds.n_better, kinds.n_tied, counts])
    return base64.b64encode(columns.astype("<u4").tobytes()).decode()
