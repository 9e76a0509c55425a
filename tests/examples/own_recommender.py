"""Walk-through: evaluate your own recommenders, here on made-up data, in a few seconds.

    python tests/examples/own_recommender.py

Two recommenders rank 5,000 items for 2,000 users. *Careful* often ranks the held-out item near the
top, and anywhere for other users; *Broad* rarely ranks it at the top, but seldom far down. Sampled
metrics prefer Broad, exact ones Careful: the reversal that the paper warns of.
"""

import numpy as np

import sampled_metrics as sm

N_USERS, N_ITEMS, N_NEGATIVES = 2000, 5000, 100
METRICS, ESTIMATORS = ["recall@10"], ["sampled", "bv:0.1"]


rng = np.random.default_rng(0)
held_out = rng.integers(0, N_ITEMS, N_USERS)


def scores_of(users: np.ndarray, careful: bool) -> np.ndarray:
    """Scores of all items for some users: noise, plus a bonus for the held-out item."""
    scores = np.empty((users.size, N_ITEMS))
    for row, user in zip(scores, users, strict=True):
        rng = np.random.default_rng([user, careful])
        row[:] = rng.standard_normal(N_ITEMS)
        row[held_out[user]] += 4.5 * (rng.random() < 0.25) if careful else 1.6
    return scores


# 1. Rank every held-out item among all items: 256 users at a time, never users x items at once.
records = {
    "Careful": sm.rank(lambda users: scores_of(users, True), None, held_out, block_size=256),
    "Broad": sm.rank(lambda users: scores_of(users, False), None, held_out, block_size=256),
}

# 2. Exact metrics, with intervals over users.
print("Exact, from full rankings:")
for name, ranked in records.items():
    (result,) = sm.evaluate(ranked, METRICS)
    interval = f"{result.ci_low:.3f} to {result.ci_high:.3f}"
    print(f"  {name:8}{result.metric} {result.value:.3f} ({interval})")

# 3. What 100 random negatives allow: the range of the exact metric. Each estimate is of a different
# metric, with a cut-off near the rank printed beside it.
samples = {}
for name, ranked in records.items():
    sampled_ranks = sm.draw_sampled_ranks(ranked, N_NEGATIVES, rng)
    samples[name] = sm.SampledRanks(sampled_ranks, N_ITEMS, N_NEGATIVES, users=np.arange(N_USERS))
print(f"From {N_NEGATIVES} negatives:")
for name, sample in samples.items():
    for each in sm.correct(sample, METRICS, ESTIMATORS):
        if each.estimator == ESTIMATORS[0]:
            print(f"  {name:8}{each.metric} {each.range_low:.3f} to {each.range_high:.3f}")
        print(f"    {each.estimator:8} {each.value:.3f}, acts like recall@{each.acts_like}")

# 4. Which is better?
print("Compared:")
for each in sm.compare(samples, METRICS, ESTIMATORS):
    print(f"  {each.estimator:8} {each.verdict}")

# 5. How likely are more negatives to decide the order of these two?
print("Probability of a decision:")
for each in sm.plan(*records.values(), METRICS, sizes=(100, 400)):
    print(f"  {each.n_negatives or 'all'} negatives: {each.probability:.2f}")
