# %% [markdown]
# # Plan an evaluation
#
# How many negatives does it take to see which of two recommenders is better? The ranks of X and Y
# on MovieLens 1M, of the paper's study, serve as an example of what to expect: Recall@10 is .077
# and .088.

# %%
from pathlib import Path

import sampled_metrics as sm

ROOT = next(path for path in [Path.cwd(), *Path.cwd().parents] if (path / "mkdocs.yml").exists())
ranks = [sm.Ranks.read(ROOT / f"results/reference/ranks/{name}.parquet") for name in "XY"]
sm.plan(*ranks, "recall@10, ap")

# %% [markdown]
# A range can be seen to decide, while the sign of an estimate may be wrong with certainty.
