"""Made-up interactions in RecBole's format: users of three tastes, of nobody real."""

import numpy as np

USERS, ITEMS, EVENTS = 800, 1200, 24


def write(folder, seed=0):
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(5, ITEMS + 5)
    rows = ["user_id:token\titem_id:token"]
    for user in range(USERS):
        taste = np.where(np.arange(ITEMS) % 3 == user % 3, 12.0, 1.0)
        weights = popularity * taste
        chosen = rng.choice(
            ITEMS, size=EVENTS, replace=False, p=weights / weights.sum()
        )
        rows += [f"u{user}\ti{item}" for item in chosen]
    (folder / "made").mkdir(parents=True)
    (folder / "made/made.inter").write_text("\n".join(rows) + "\n")
