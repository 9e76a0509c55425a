"""The data of the explorer: encoded true ranks of the users, and ranges that samples allow."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from sampled_metrics.inference.population import Population
from sampled_metrics.inference.search import geometric_sizes
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks

MOST_KINDS = 20_000
FEW_KINDS = 700  # from which the curve of panel (d) takes its variances
LARGEST = 2000
N_SIZES = 22
_SHORT = 2**16
_OF_SCRIPT = {"ap": "ap-all", "ndcg": "ndcg-all"}  # names of metrics in the scripts


def explorer(records: Mapping[str, Ranks], m: int, *, toy: bool = True) -> dict[str, Any]:
    """Collect the data of the explorer, which begins with m negatives.

    Returns
    -------
    `groups`, the recommenders of this run and, if `toy`, the toy ones, each with `label`, `n` (mean
    number of candidates, rounded), `sizes` (numbers of negatives to draw curves at) and
    `recommenders` (`name`, `users`, and all and few of them as `kinds` and `few`, see `encoded`);
    `start`, the initial positions of the controls; `few` and `most`, of how many users these are.
    """
    groups = [_group("This run", records, LARGEST)] if records else []
    if toy:
        from sampled_metrics.study.toy import PREDICTED_RANKS, toy_ranks

        named = {name: toy_ranks(name) for name in PREDICTED_RANKS}
        groups.append(_group("Toy recommenders", named, MOST_KINDS))
    n = groups[0]["n"]
    start = initial(n=n, m=min(m, groups[0]["sizes"][-1]))
    return {"groups": groups, "start": start, "few": FEW_KINDS, "most": MOST_KINDS}


def initial(n: int, m: int, metric: str = "recall", k: int = 10) -> dict[str, Any]:
    """Return the initial positions of the controls."""
    others = {"estimator": "sampled", "gamma": 0.1, "group": 0, "pair": "", "r": min(200, n)}
    return {"metric": metric, "k": k, "n": n, "m": m, **others}


def _group(label: str, records: Mapping[str, Ranks], largest: int) -> dict[str, Any]:
    mean = np.mean([ranks.mean_candidates for ranks in records.values()])
    fewest = min(int(ranks.n_candidates.min()) for ranks in records.values())
    return {
        "label": label,
        "n": round(float(mean)),
        "sizes": geometric_sizes(1, min(fewest - 1, largest), N_SIZES),
        "recommenders": [
            {
                "name": name,
                "users": len(ranks),
                "kinds": encoded(ranks),
                "few": encoded(ranks, FEW_KINDS),
            }
            for name, ranks in records.items()
        ],
        "thinned": any(len(ranks) > MOST_KINDS for ranks in records.values()),
    }


def encoded(records: Ranks, most: int = MOST_KINDS) -> dict[str, Any]:
    """Encode kinds of users as little-endian unsigned integers: all N, all b, all e, all counts.

    More than `most` users are represented by that many, evenly spaced in the order of their ranks'
    share of the candidates. Returns `bytes` of a number, and the `text` in base64.
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
    size = 2 if columns.max() < _SHORT else 4
    return {"bytes": size, "text": base64.b64encode(columns.astype(f"<u{size}").tobytes()).decode()}


def range_panel(rows: Iterable[Any], names: Sequence[str]) -> dict[str, Any]:
    """Arrange ranges, tuples as of `study.allowed.Allowed`, for the page.

    Returns `sizes`, the numbers of negatives; `labels` of the metrics; and `metrics`, by name in
    the scripts: `ranges` by size and recommender, `differences` by size and pair.
    """
    ends = {tuple(key): [round(low, 5), round(high, 5)] for *key, low, high in rows}
    metrics = list(dict.fromkeys(metric for metric, *_ in ends))
    sizes = sorted({m for _, m, *_ in ends})
    return {
        "sizes": sizes,
        "labels": [parse_measure(metric).label for metric in metrics],
        "metrics": {
            in_script(metric): {
                "ranges": [[ends[metric, m, a, ""] for a in names] for m in sizes],
                "differences": [
                    [ends[metric, m, a, b] for a, b in combinations(names, 2)] for m in sizes
                ],
            }
            for metric in metrics
        },
    }


def in_script(metric: str) -> str:
    """Name of a metric in the scripts.

    Examples
    --------
    >>> in_script("recall@10"), in_script("ap")
    ('recall@10', 'ap-all')
    """
    return _OF_SCRIPT.get(metric, metric)
