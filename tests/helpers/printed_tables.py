"""Printed tables of metrics as in papers: correct ones, and ones with an error.

Better true ranks are more likely, negatives are drawn without replacement, and means are rounded
to four decimals.
"""

from dataclasses import dataclass

import numpy as np

ERRORS = ("columns exchanged", "another m", "HR of another k", "ties as hits")
SAMPLED = ("HR@1", "HR@5", "HR@10", "NDCG@5", "NDCG@10", "MRR")
OVER_ALL = ("HR@10", "NDCG@10")
MODELS = 2


@dataclass(frozen=True)
class EvaluationSetting:
    """The numbers of items, negatives and users of one table."""

    n_items: int
    n_negatives: int
    n_users: int


def draw_setting(rng):
    return EvaluationSetting(
        n_items=int(rng.integers(400, 4_000)),
        n_negatives=int(rng.choice([50, 99, 100])),
        n_users=int(rng.integers(500, 8_000)),
    )


def draw_true_ranks(setting, rng):
    """Draw ranks from 1 to n with a density that falls like a power, plus a uniform part."""
    places = np.arange(1, setting.n_items + 1)
    density = (places + rng.uniform(0.0, 30.0)) ** -rng.uniform(0.4, 1.3)
    uniform = rng.uniform(0.0, 0.2)
    density = (1.0 - uniform) * density / density.sum() + uniform / places.size
    return rng.choice(places, size=setting.n_users, p=density / density.sum())


def draw_sampled_ranks(ranks, setting, m, rng):
    return 1 + rng.hypergeometric(ranks - 1, setting.n_items - ranks, m)


def mean_metric(name, ranks):
    """Return the mean metric of users with one held-out item each, by its definition."""
    if name == "MRR":
        return float(np.mean(1.0 / ranks))
    kind, _, cutoff = name.partition("@")
    is_hit = ranks <= int(cutoff)
    if kind == "HR":
        return float(is_hit.mean())
    return float(np.mean(np.where(is_hit, 1.0 / np.log2(ranks + 1.0), 0.0)))


def printed_row(setting, sampled, ranks, exact, wrong_k=None):
    """Return one row as text; HR@10 may have the value of another cut-off."""
    row = {
        "n_items": str(setting.n_items),
        "n_negatives": str(setting.n_negatives),
        "n_users": str(setting.n_users),
    }
    for name in SAMPLED:
        measured = name
        if name == "HR@10" and wrong_k is not None:
            measured = f"HR@{wrong_k}"
        row[name] = f"{mean_metric(measured, sampled):.4f}"
    if exact:
        for name in OVER_ALL:
            row[f"exact {name}"] = f"{mean_metric(name, ranks):.4f}"
    return row


def correct_table(rng, exact=True):
    setting = draw_setting(rng)
    rows = []
    for _ in range(MODELS):
        ranks = draw_true_ranks(setting, rng)
        sampled = draw_sampled_ranks(ranks, setting, setting.n_negatives, rng)
        rows.append(printed_row(setting, sampled, ranks, exact))
    return rows


def table_with_error(error, rng, exact=True):
    """Return a table with the same error in all rows."""
    setting = draw_setting(rng)
    n_drawn = setting.n_negatives
    wrong_k = None
    if error == "another m":
        n_drawn = int(n_drawn * rng.choice([0.2, 0.5, 2.0]))
    elif error == "HR of another k":
        wrong_k = int(rng.choice([1, 5, 20]))
    tied = rng.uniform(0.1, 0.4) if error == "ties as hits" else 0.0
    rows = []
    for _ in range(MODELS):
        ranks = draw_true_ranks(setting, rng)
        sampled = draw_sampled_ranks(ranks, setting, n_drawn, rng)
        constant = rng.random(setting.n_users) < tied  # all items have the same score
        sampled[constant] = 1
        ranks[constant] = rng.integers(1, setting.n_items + 1, int(constant.sum()))
        rows.append(printed_row(setting, sampled, ranks, exact, wrong_k))
    if error == "columns exchanged":
        columns = [name for name in rows[0] if "@" in name or name == "MRR"]
        first, second = rng.choice(columns, size=2, replace=False)
        for row in rows:
            row[first], row[second] = row[second], row[first]
    return rows
