"""What an evaluation by a language model can say.

Writes the tables of docs/llm.md. One made-up recommender is evaluated against m of 9,999 random
items, its ranks as likely in any equal step of their logarithm, and HR@1, HR@5 and HR@10 are
printed as far as k is at most m. For the budgets users like latent factors and popular items; the
proxy knows the popularity only, or noisy factors as well.
"""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from benchmarks.markdown import write_table
from sampled_metrics import evaluate, evaluate_on_budget, reported

PAGE = Path(__file__).parents[2] / "docs/llm.md"
ITEMS = 10_000
USERS = (200, 1_000, 10_000)
NEGATIVES = (4, 9, 19, 99, 999)
CUTOFFS = (1, 5, 10)
CATALOGUE, RANKED, FACTORS = 3_000, 1_000, 8  # of the budgets: items, users
SEEN = 20
BUDGETS = (20, 50, 100, 200)  # scores per user
SEEDS = 4


def main() -> None:
    """Write both tables."""
    rng = np.random.default_rng(0)
    of_users = {users: ranks_of(users, rng) for users in USERS}
    rows = []
    for m in NEGATIVES:
        row = {"random items": str(m)}
        for users, ranks in of_users.items():
            row[f"{users:,} users"] = allowed(ranks, m, rng)
        rows.append(row)
    exact = {"random items": "all"}
    for users, ranks in of_users.items():
        exact[f"{users:,} users"] = f"{np.mean(ranks <= CUTOFFS[-1]):.3f}"
    rows.append(exact)
    write_table(PAGE, rows, "few")
    write_table(PAGE, budgets(), "budget")


def ranks_of(users: int, rng: np.random.Generator) -> np.ndarray:
    """True ranks of the held-out items."""
    return np.exp(rng.uniform(0.0, np.log(ITEMS), users)).astype(int).clip(1, ITEMS)


def allowed(ranks: np.ndarray, m: int, rng: np.random.Generator) -> str:
    """Range of HR@10 over all items, and its upper end by the lower one."""
    sampled = 1 + rng.hypergeometric(ranks - 1, ITEMS - ranks, m)
    printed = {f"HR@{k}": f"{np.mean(sampled <= k):.4f}" for k in CUTOFFS if k <= m}
    (found,) = reported(printed, "HR@10", n_items=ITEMS, n_negatives=m, n_users=ranks.size)
    times = found.range_high / found.range_low
    return f"{found.range_low:.3f} to {found.range_high:.3f} (×{times:.0f})"


def budgets() -> list[dict[str, str]]:
    """Widths of intervals by budget, over some made-up populations, and how many held the value."""
    rows = []
    for name, noise in (("popularity", np.inf), ("a cheap personal model", 0.5)):
        row = {"proxy": name}
        for budget in BUDGETS:
            found = [interval(seed, budget, noise) for seed in range(SEEDS)]
            widths = [high - low for low, high, _ in found]
            held = sum(low <= exact <= high for low, high, exact in found)
            row[f"{budget}"] = f"{min(widths):.3f} to {max(widths):.3f} ({held} of {SEEDS} hold)"
        rows.append(row)
    return rows


def interval(seed: int, budget: int, noise: float) -> tuple[float, float, float]:
    """Interval of HR@10 on a budget, and its exact value."""
    rng = np.random.default_rng(seed)
    popularity = -0.7 * np.log(np.arange(1, CATALOGUE + 1))
    taste = rng.normal(size=(RANKED, FACTORS)) @ rng.normal(size=(FACTORS, CATALOGUE))
    taste = popularity + 0.8 * taste / np.sqrt(FACTORS) * 1.5
    liked = np.argsort(-taste - rng.gumbel(size=taste.shape))[:, : SEEN + 1]
    rows = np.repeat(np.arange(RANKED), SEEN)
    seen = csr_array((np.ones(rows.size), (rows, liked[:, 1:].ravel())), taste.shape)
    scores = taste + 0.3 * rng.normal(size=taste.shape)
    proxy = np.tile(popularity, (RANKED, 1))
    if np.isfinite(noise):
        proxy = taste + noise * rng.normal(size=taste.shape)
    given = {"relevant": liked[:, 0], "seen": seen}
    found = evaluate_on_budget(
        lambda users, items: scores[users, items],
        "HR@10",
        budget=budget,
        proxy=proxy,
        seed=seed,
        **given,
    ).to_frame()
    (exact,) = evaluate(scores, "HR@10", **given)
    return float(found["ci_low"].iloc[0]), float(found["ci_high"].iloc[0]), exact.value


if __name__ == "__main__":
    main()
