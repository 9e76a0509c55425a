# %% [markdown]
# # Plan an evaluation
#
# How many negatives does it take to see which of two recommenders is better? The ranks of X and Y
# on MovieLens 1M, of the paper's study, serve as an example of what to expect: Recall@10 is .077
# and .088.

# %%
from pathlib import Path

import sampled_metrics as sm
from sampled_metrics.inference.pair import Pair
from sampled_metrics.inference.population import Population

ROOT = next(path for path in [Path.cwd(), *Path.cwd().parents] if (path / "mkdocs.yml").exists())
ranks = [sm.Ranks.read(ROOT / f"results/reference/ranks/{name}.parquet") for name in "XY"]
pair = Pair(*map(Population.of_users, ranks), n_users=6040)
sm.plan(pair, "recall@10, ap", "sampled, bv:0.1", largest=2000)

# %% [markdown]
# `n_negatives` is `-` where even the largest number does not suffice in 95 of 100 evaluations.
# `range` is the row to plan by: it can be seen when a range decides, while the sign of an
# estimate may be wrong with certainty.
