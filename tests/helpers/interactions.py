"""Synthetic interactions of users and items, also in the format of a MovieLens archive."""

import numpy as np

from sampled_metrics_study.data.events import Interactions


def synthetic_interactions(users: int = 60, items: int = 40, seed: int = 0) -> Interactions:
    """Users with one of two tastes and a few other events; timestamps have many ties."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(users):
        liked = np.arange(user % 2, items, 2)
        chosen = rng.permutation(liked)[: rng.integers(4, 12)]
        chosen = np.union1d(chosen, rng.integers(0, items, 2))
        stamps = np.sort(rng.integers(0, 6, chosen.size)) + 1000 * user
        rows += list(
            zip(
                [user + 1] * chosen.size,
                rng.permutation(chosen) + 1,
                stamps,
                strict=True,
            )
        )
    user, item, timestamp = np.array(rows, dtype=np.int64).T
    return Interactions(user.astype(np.int32), item.astype(np.int32), timestamp)


def as_ratings(interactions: Interactions) -> bytes:
    columns = (interactions.user, interactions.item, interactions.timestamp)
    return "".join(
        f"{user}::{item}::{1 + (user + item) % 5}::{timestamp}\n"
        for user, item, timestamp in zip(*columns, strict=True)
    ).encode()
