"""Random interactions with a fixed seed, the same for every package."""

import numpy as np

USERS, ITEMS = 60, 40


def interactions(seed: int = 0) -> dict[str, list[tuple[str, str]]]:
    """Pairs of user and item ids, for `train`, `valid` and `test`.

    Users like the items of their own half more. Each has 8 training items, one for validation and
    1 to 4 test items, none twice.
    """
    rng = np.random.default_rng(seed)
    parts: dict[str, list[tuple[str, str]]] = {"train": [], "valid": [], "test": []}
    for user in range(USERS):
        weight = np.where(np.arange(ITEMS) % 2 == user % 2, 3.0, 1.0)
        n_test = int(rng.integers(1, 5))
        chosen = rng.choice(ITEMS, size=9 + n_test, replace=False, p=weight / weight.sum())
        named = [(f"u{user:02d}", f"i{item:02d}") for item in chosen]
        parts["train"] += named[:8]
        parts["valid"] += named[8:9]
        parts["test"] += named[9:]
    return parts
