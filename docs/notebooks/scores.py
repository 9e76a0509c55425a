# %% [markdown]
# # From scores to a range and an order
#
# Three exports of a small run: scores of RecBole (`full_sort_scores`), a top-10 list of RecTools,
# and the relevant items of both.

# %%
from pathlib import Path

import numpy as np

import sampled_metrics as sm

ROOT = next(path for path in [Path.cwd(), *Path.cwd().parents] if (path / "mkdocs.yml").exists())
PEERS = ROOT / "tests/golden/peers"

# %% [markdown]
# ## Everything was scored
#
# Items seen in training have the score -inf in RecBole's matrix and are no candidates. A matrix
# of scores is ranked in full:

# %%
ranks = sm.Ranks.read(PEERS / "recbole/scores.npy", relevant=PEERS / "recbole/relevant_rows.csv")
sm.evaluate(ranks, "recall@10, ndcg@10, ap")

# %% [markdown]
# A top-10 list is enough for metrics with a cut-off up to 10. `ndcg-by-k` is NDCG as RecTools
# computes it by default.

# %%
listed = sm.Ranks.read(PEERS / "rectools/reco.csv", relevant=PEERS / "rectools/relevant.csv")
sm.evaluate(listed, "recall@10, ndcg@10, ndcg-by-k@10")

# %% [markdown]
# Which one is better? Users are matched by their ids where both files have them.

# %%
lists = sm.Ranks.read(PEERS / "recbole/topk.csv", relevant=PEERS / "recbole/relevant.csv")
sm.compare({"RecBole": lists, "RecTools": listed}, "recall@10, ndcg@10")

# %% [markdown]
# ## Only a positive and its negatives were scored
#
# An array of scores, users x (1 + m), here with the held-out item in the first column:

# %%
rng = np.random.default_rng(0)
scores = rng.normal(size=(2000, 101))
scores[:, 0] += 1.5 * rng.exponential(size=2000)
sm.correct(scores, "recall@10, ndcg@10", positive=0, n_items=5000)

# %% [markdown]
# The grey bars are the ranges of the exact metrics; `sampled` is far outside.

# %%
axes = sm.correct(scores, "recall@10, ndcg@10", positive=0, n_items=5000).plot()
