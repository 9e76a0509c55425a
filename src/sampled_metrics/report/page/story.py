"""The first screen in words: who is compared, on what, and what becomes of their order."""

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

from sampled_metrics.datasets.catalogue import CATALOGUE
from sampled_metrics.inference.population import Population
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, Sampling

MEASURE = parse_measure("recall@10")
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
    exact = {name: float(population.exact([MEASURE])[0]) for name, population in users.items()}
    credit = MEASURE.at(range(1, m + 2), m + 1)
    sampled = {
        name: float(population.sampled_shares(m, Sampling.WITHOUT_REPLACEMENT) @ credit)
        for name, population in users.items()
    }
    n = round(sum(records.mean_candidates for records in ranks.values()) / len(ranks))
    return {
        "m": f"{m:,}",
        "others": f"{n - 1:,}",
        "candidates": f"{n:,}",
        "verdict": _verdict(exact, sampled),
        "pair": _pair(list(exact.values()), list(sampled.values())),
        "who": _who(ranks, data, kinds),
    }


def title(name: str) -> str:
    """Full name of a dataset.

    Examples
    --------
    >>> title("ml-1m"), title("Our shop")
    ('MovieLens 1M', 'Our shop')
    """
    return CATALOGUE[name].title if name in CATALOGUE else name


def _verdict(exact: Mapping[str, float], sampled: Mapping[str, float]) -> str:
    order, other = (sorted(v, key=v.__getitem__, reverse=True) for v in (exact, sampled))
    if len(order) == 1:
        return "there is no order to get wrong"
    if order == other:
        return "the order is right on average"
    return "the order turns upside down" if order == other[::-1] else "the order changes"


def _pair(exact: list[float], sampled: list[float]) -> str:
    """Return the places of the first pair, or if it is in order of the wrong one most apart."""
    wrong = [
        (i, j)
        for i, j in combinations(range(len(exact)), 2)
        if (exact[i] - exact[j]) * (sampled[i] - sampled[j]) < 0
    ]
    if len(exact) < 2:
        return ""
    first = (0, 1)
    if wrong and first not in wrong:
        first = max(wrong, key=lambda pair: abs(exact[pair[0]] - exact[pair[1]]))
    return f"{first[0]},{first[1]}"


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
