"""Tables of printed metrics as papers make them: sound ones, and ones with an error planted.

Users have true ranks of a distribution in which better ranks are likelier, negatives are drawn
without replacement, and means are rounded to four decimals.
"""

from dataclasses import dataclass

import numpy as np

ERRORS = ("columns exchanged", "another m", "HR of another k", "ties as hits")
SAMPLED = ("HR@1", "HR@5", "HR@10", "NDCG@5", "NDCG@10", "MRR")
OVER_ALL = ("HR@10", "NDCG@10")
MODELS = 2


@dataclass(frozen=True)
class Setting:
    """Of one table: n, m and the users."""

    n_items: int
    n_negatives: int
    n_users: int


def setting_of(rng):
    return Setting(
        n_items=int(rng.integers(400, 4_000)),
        n_negatives=int(rng.choice([50, 99, 100])),
        n_users=int(rng.integers(500, 8_000)),
    )


def true_ranks(setting, rng):
    """Ranks from 1 to n with a density that falls like a power, and some of it uniform."""
    places = np.arange(1, setting.n_items + 1)
    density = (places + rng.uniform(0.0, 30.0)) ** -rng.uniform(0.4, 1.3)
    uniform = rng.uniform(0.0, 0.2)
    density = (1.0 - uniform) * density / density.sum() + uniform / places.size
    return rng.choice(places, size=setting.n_users, p=density / density.sum())


def among_negatives(ranks, setting, m, rng):
    return 1 + rng.hypergeometric(ranks - 1, setting.n_items - ranks, m)


def value(name, ranks):
    """Mean metric of users with one held-out item each, by its definition."""
    if name == "MRR":
        return float(np.mean(1.0 / ranks))
    kind, _, cutoff = name.partition("@")
    found = ranks <= int(cutoff)
    if kind == "HR":
        return float(found.mean())
    return float(np.mean(np.where(found, 1.0 / np.log2(ranks + 1.0), 0.0)))


def row_of(setting, sampled, ranks, exact, wrong_k=None):
    """One row as text; HR@10 is that of another cut-off if one is given."""
    row = {
        "n_items": str(setting.n_items),
        "n_negatives": str(setting.n_negatives),
        "n_users": str(setting.n_users),
    }
    for name in SAMPLED:
        measured = name
        if name == "HR@10" and wrong_k is not None:
            measured = f"HR@{wrong_k}"
        row[name] = f"{value(measured, sampled):.4f}"
    if exact:
        for name in OVER_ALL:
            row[f"exact {name}"] = f"{value(name, ranks):.4f}"
    return row


def sound_table(rng, exact=True):
    setting = setting_of(rng)
    rows = []
    for _ in range(MODELS):
        ranks = true_ranks(setting, rng)
        sampled = among_negatives(ranks, setting, setting.n_negatives, rng)
        rows.append(row_of(setting, sampled, ranks, exact))
    return rows


def wrong_table(error, rng, exact=True):
    """A table with the same error in all of its rows."""
    setting = setting_of(rng)
    drawn = setting.n_negatives
    wrong_k = None
    if error == "another m":
        drawn = int(drawn * rng.choice([0.2, 0.5, 2.0]))
    elif error == "HR of another k":
        wrong_k = int(rng.choice([1, 5, 20]))
    tied = rng.uniform(0.1, 0.4) if error == "ties as hits" else 0.0
    rows = []
    for _ in range(MODELS):
        ranks = true_ranks(setting, rng)
        sampled = among_negatives(ranks, setting, drawn, rng)
        constant = rng.random(setting.n_users) < tied  # all items have the same score
        sampled[constant] = 1
        ranks[constant] = rng.integers(1, setting.n_items + 1, int(constant.sum()))
        rows.append(row_of(setting, sampled, ranks, exact, wrong_k))
    if error == "columns exchanged":
        columns = [name for name in rows[0] if "@" in name or name == "MRR"]
        first, second = rng.choice(columns, size=2, replace=False)
        for row in rows:
            kept = row[first]
            row[first] = row[second]
            row[second] = kept
    return rows
