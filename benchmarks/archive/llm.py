"""What small evaluations, as of a language model, can say.

Writes the tables of docs/llm.md. For the first table a random recommender, whose ranks are
log-uniform, is evaluated against m of 9,999 random items, and HR@1, HR@5 and HR@10 are printed
where k is at most m. For the budgets users like latent factors and popular items; the proxy knows
popularity only, or noisy factors as well.
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
CATALOGUE, RANKED, FACTORS = 3_000, 1_000, 8  # items, users and factors of the budgets
SEEN = 20
BUDGETS = (20, 50, 100, 200)  # scores per user
SEEDS = 4


def main() -> None:
    """Write both tables."""
    rng = np.random.default_rng(0)
    ranks_by_users = {users: draw_ranks(users, rng) for users in USERS}
    rows = []
    for m in NEGATIVES:
        row = {"random items": str(m)}
        for users, ranks in ranks_by_users.items():
            row[f"{users:,} users"] = range_text(ranks, m, rng)
        rows.append(row)
    exact = {"random items": "all"}
    for users, ranks in ranks_by_users.items():
        exact[f"{users:,} users"] = f"{np.mean(ranks <= CUTOFFS[-1]):.3f}"
    rows.append(exact)
    write_table(PAGE, rows, "few")
    write_table(PAGE, budget_rows(), "budget")


def draw_ranks(users: int, rng: np.random.Generator) -> np.ndarray:
    """Draw true ranks of the held-out items."""
    return np.exp(rng.uniform(0.0, np.log(ITEMS), users)).astype(int).clip(1, ITEMS)


def range_text(ranks: np.ndarray, m: int, rng: np.random.Generator) -> str:
    """Format the range of HR@10 over all items, and the ratio of its ends."""
    sampled = 1 + rng.hypergeometric(ranks - 1, ITEMS - ranks, m)
    printed = {f"HR@{k}": f"{np.mean(sampled <= k):.4f}" for k in CUTOFFS if k <= m}
    (estimate,) = reported(printed, "HR@10", n_items=ITEMS, n_negatives=m, n_users=ranks.size)
    times = estimate.range_high / estimate.range_low
    return f"{estimate.range_low:.3f} to {estimate.range_high:.3f} (×{times:.0f})"


def budget_rows() -> list[dict[str, str]]:
    """Tabulate widths of intervals by budget over random populations, and their coverage."""
    rows = []
    for name, noise in (("popularity", np.inf), ("a cheap personal model", 0.5)):
        row = {"proxy": name}
        for budget in BUDGETS:
            intervals = [interval(seed, budget, noise) for seed in range(SEEDS)]
            widths = [high - low for low, high, _ in intervals]
            held = sum(low <= exact <= high for low, high, exact in intervals)
            row[f"{budget}"] = f"{min(widths):.3f} to {max(widths):.3f} ({held} of {SEEDS} hold)"
        rows.append(row)
    return rows


def interval(seed: int, budget: int, noise: float) -> tuple[float, float, float]:
    """Return the interval of HR@10 on a budget, and its exact value."""
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
    data = {"relevant": liked[:, 0], "seen": seen}
    table = evaluate_on_budget(
        lambda users, items: scores[users, items],
        "HR@10",
        budget=budget,
        proxy=proxy,
        seed=seed,
        **data,
    ).to_frame()
    (exact,) = evaluate(scores, "HR@10", **data)
    return float(table["ci_low"].iloc[0]), float(table["ci_high"].iloc[0]), exact.value


if __name__ == "__main__":
    main()
