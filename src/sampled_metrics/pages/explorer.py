"""What both pages show of ranks: the first screen in words, and the data of the explorer."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from sampled_metrics._base.arrays import geometric_sizes
from sampled_metrics.inference.population import Population
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, Sampling

MEASURE = parse_measure("recall@10")  # of the first screen
MOST_KINDS = 20_000
FEW_KINDS = 700  # from which the curve of panel (d) takes its variances
LARGEST, N_SIZES = 2000, 22
_KINDS = {
    "als": "matrix factorisation",
    "bm25": "nearest neighbours weighted by BM25",
    "bpr": "pairwise matrix factorisation",
    "external": "trained elsewhere",
    "itemknn": "nearest neighbours of items",
    "lmf": "logistic matrix factorisation",
    "popularity": "the same popular items for everybody",
    "random": "a random order",
}
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def story(
    ranks: Mapping[str, Ranks], m: int, data: str = "", kinds: Iterable[tuple[str, str]] = ()
) -> dict[str, Any]:
    """Describe the first screen for readers without JavaScript, and define its terms.

    It begins with m random items. `data` is the name of the data; `kinds` pairs names of
    recommenders with their kinds.
    """
    users = {name: Population.of_users(records) for name, records in ranks.items()}
    credit = MEASURE.at(range(1, m + 2), m + 1)
    exact = {name: float(population.exact([MEASURE])[0]) for name, population in users.items()}
    sampled = {
        name: float(population.sampled_shares(m, Sampling.WITHOUT_REPLACEMENT) @ credit)
        for name, population in users.items()
    }
    order, other = (sorted(v, key=v.__getitem__, reverse=True) for v in (exact, sampled))
    verdict = "the order turns upside down" if order == other[::-1] else "the order changes"
    if order == other:
        verdict = "the order is right on average"
    if len(order) == 1:
        verdict = "there is no order to get wrong"
    n = round(sum(records.mean_candidates for records in ranks.values()) / len(ranks))
    return {
        "m": f"{m:,}",
        "others": f"{n - 1:,}",
        "candidates": f"{n:,}",
        "verdict": verdict,
        "pair": _first_pair(list(exact.values()), list(sampled.values())),
        "who": _who(ranks, data, kinds),
    }


def _first_pair(exact: list[float], sampled: list[float]) -> str:
    """Return the places of the first pair, or if it is in order of the wrong one most apart."""
    pairs = list(combinations(range(len(exact)), 2))
    wrong = [(i, j) for i, j in pairs if (exact[i] - exact[j]) * (sampled[i] - sampled[j]) < 0]
    if wrong and (0, 1) not in wrong:
        pairs = [max(wrong, key=lambda pair: abs(exact[pair[0]] - exact[pair[1]]))]
    return f"{pairs[0][0]},{pairs[0][1]}" if pairs else ""


def _who(ranks: Mapping[str, Ranks], data: str, kinds: Iterable[tuple[str, str]]) -> str:
    groups: dict[str, list[str]] = {}
    for name, kind in kinds:
        groups.setdefault(_KINDS.get(kind, kind), []).append(name)
    people = [f"{listed(names)} ({kind})" for kind, names in groups.items()]
    users = max(map(len, ranks.values()))
    number = _NUMBERS[len(ranks)] if len(ranks) < len(_NUMBERS) else str(len(ranks))
    noun = "recommender" if len(ranks) == 1 else "recommenders"
    return (
        f"{number.capitalize()} {noun}{f' on {data}' if data else ''}: "
        f"{listed(people) if people else listed(list(ranks))}. "
        f"For each of {users:,} users one item that the user chose is held out, and ranked by its "
        "score among all items that the user did not choose before. Recall@10 is the share of "
        "users whose held-out item is among the best 10. Random items are also called negatives."
    )


def listed(names: list[str]) -> str:
    """Write names as a list.

    Examples
    --------
    >>> listed(["X"]), listed(["X", "Y", "Z"])
    ('X', 'X, Y and Z')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def explorer(
    records: Mapping[str, Ranks], m: int, toys: Mapping[str, Ranks] | None = None
) -> dict[str, Any]:
    """Collect the data of the explorer, which begins with m negatives.

    Returns
    -------
    `groups`, the recommenders of this run and the toy ones, each with `label`, `n` (mean number of
    candidates, rounded), `sizes` (numbers of negatives to draw curves at) and `recommenders`
    (`name`, `users`, and all and few of them as `kinds` and `few`, see `encoded`); `start`, the
    initial positions of the controls; `few` and `most`, of how many users these are.
    """
    groups = [_group("This run", records, LARGEST)]
    if toys:
        groups.append(_group("Toy recommenders", toys, MOST_KINDS))
    start = initial(n=groups[0]["n"], m=min(m, groups[0]["sizes"][-1]))
    return {"groups": groups, "start": start, "few": FEW_KINDS, "most": MOST_KINDS}


def initial(n: int, m: int, metric: str = "recall", k: int = 10) -> dict[str, Any]:
    """Return the initial positions of the controls."""
    others = {"estimator": "sampled", "gamma": 0.1, "group": 0, "pair": "", "r": min(200, n)}
    return {"metric": metric, "k": k, "n": n, "m": m, **others}


def _group(label: str, records: Mapping[str, Ranks], largest: int) -> dict[str, Any]:
    mean = np.mean([ranks.mean_candidates for ranks in records.values()])
    fewest = min(int(ranks.n_candidates.min()) for ranks in records.values())
    recommenders = [
        {
            "name": name,
            "users": len(ranks),
            "kinds": encoded(ranks),
            "few": encoded(ranks, FEW_KINDS),
        }
        for name, ranks in records.items()
    ]
    return {
        "label": label,
        "n": round(float(mean)),
        "sizes": geometric_sizes(1, min(fewest - 1, largest), N_SIZES),
        "recommenders": recommenders,
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
    kinds, counts = population.ranks, np.rint(population.share * len(records))
    columns = np.concatenate([kinds.n_candidates, kinds.n_better, kinds.n_tied, counts])
    size = 2 if columns.max() < 2**16 else 4
    return {"bytes": size, "text": base64.b64encode(columns.astype(f"<u{size}").tobytes()).decode()}


def range_panel(rows: Iterable[Any], names: Sequence[str]) -> dict[str, Any]:
    """Arrange ranges, tuples of metric, m, a, b, low and high, for the page.

    Returns `sizes`, the numbers of negatives; `labels` of the metrics; and `metrics`, by name in
    the scripts: `ranges` by size and recommender, `differences` by size and pair.
    """
    ends = {tuple(key): [round(low, 5), round(high, 5)] for *key, low, high in rows}
    metrics = list(dict.fromkeys(metric for metric, *_ in ends))
    sizes, pairs = sorted({m for _, m, *_ in ends}), list(combinations(names, 2))
    return {
        "sizes": sizes,
        "labels": [parse_measure(metric).label for metric in metrics],
        "metrics": {
            in_script(metric): {
                "ranges": [[ends[metric, m, a, ""] for a in names] for m in sizes],
                "differences": [[ends[metric, m, a, b] for a, b in pairs] for m in sizes],
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
    return {"ap": "ap-all", "ndcg": "ndcg-all"}.get(metric, metric)
