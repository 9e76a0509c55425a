# %% [markdown]
# # Claims from the literature
#
# What sampled metrics in published evaluations say about the exact ones.
#
# ## Neural Collaborative Filtering
#
# He et al. (WWW 2017) rank the held-out item of MovieLens 1M among 99 negatives. They published
# the weights of two of their models, GMF and MLP, and the negatives. `results/reference/ncf` has
# the ranks of both models among those negatives and among all items, made by
# `tests/benchmarks/ncf.py`. HR@10 is the sampled Recall@10:

# %%
from pathlib import Path

import pandas as pd
from scipy.stats import hypergeom

import sampled_metrics as sm

ROOT = next(path for path in [Path.cwd(), *Path.cwd().parents] if (path / "mkdocs.yml").exists())
NCF = ROOT / "results/reference/ncf"

samples = {
    name: sm.SampledRanks.read(NCF / f"{name}.sampled.parquet", 99) for name in ("GMF", "MLP")
}
rankings = {name: sm.Ranks.read(NCF / f"{name}.parquet") for name in samples}
rows = []
for name, sample in samples.items():
    (result,) = sm.correct(sample, ["recall@10"], ["sampled"])
    (exact,) = sm.evaluate(rankings[name], ["recall@10"])
    rows.append((name, result.value, result.range_low, result.range_high, exact.value))
columns = ["model", "HR@10, 99 negatives", "range from", "to", "exact Recall@10"]
pd.DataFrame(rows, columns=columns).set_index("model").round(4)

# %% [markdown]
# An HR@10 of more than .6 is a Recall@10 of less than .08. The range that the published negatives
# allow holds the exact value of each model. Does it say which one is better?

# %%
sampled, *_ = sm.compare(samples, ["recall@10"], ["sampled"])
exact, *_ = sm.compare(rankings, ["recall@10"])
print("99 negatives:", sampled.verdict)
print("all items:   ", exact.verdict)

# %% [markdown]
# `sampled-metrics check-negatives` finds the published negatives uniform, distinct and unseen,
# except that 156 users have their own held-out item among them.
#
# ## Rank 1,490 of 10,000 in the top 20
#
# An item at rank 1,490 of 10,000 is among the first 20 of itself and 99 negatives, unless 20 or
# more of the 1,489 better ones are drawn:

# %%
float(hypergeom(9999, 1489, 99).cdf(19))

# %% [markdown]
# ## Recall@10 with 20 candidates
#
# Recommenders built on language models are often evaluated among 20 candidates, because each
# score is expensive. The top 10 are then half of them. With 3,541 items, the metric acts like

# %%
one = sm.SampledRanks([1], n_items=3541, n_negatives=19)
(result,) = sm.correct(one, ["recall@10"], ["sampled"])
f"recall@{result.behaves_like}"

# %% [markdown]
# that is, it says how often the held-out item is in the better half of the catalogue. For
# expensive scores, see [evaluation on a budget](../budget.md).
