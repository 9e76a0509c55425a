# %% [markdown]
# # Tutorial
#
# Ten minutes with two recommenders. *Careful* ranks the held-out item
# near the top for a quarter of the users, and anywhere for the
# others. *Broad* rarely ranks it at the very top, but seldom far
# down.

# %%
import logging

import numpy as np
from scipy.sparse import csr_array

import sampled_metrics as sm

logging.disable(logging.WARNING)
N_USERS, N_ITEMS = 1000, 3000
rng = np.random.default_rng(0)
held_out = rng.integers(0, N_ITEMS, N_USERS)
rows = np.arange(N_USERS)
careful = rng.normal(size=(N_USERS, N_ITEMS))  # scores, users x items
careful[rows, held_out] += 4.5 * (rng.random(N_USERS) < 0.25)
broad = rng.normal(size=(N_USERS, N_ITEMS))
broad[rows, held_out] += 1.6

# %% [markdown]
# ## 1. Evaluate
#
# Rank every item. This is fast, and there is nothing to correct.

# %%
ranked = {
    "Careful": sm.rank(careful, None, held_out),
    "Broad": sm.rank(broad, None, held_out),
}
sm.compare(ranked, "HR@10").plot()
sm.compare(ranked, "HR@10")

# %% [markdown]
# **You now know** the exact HR@10 of both, and that Careful is
# better. For a single recommender, call `sm.evaluate(careful,
# "HR@10", relevant=held_out)`. If it has vectors of users and items,
# pass those instead: `sm.evaluate((users, items), "HR@10",
# relevant=held_out)`. Exact metrics at a cut-off then need [only part
# of all scores](scale.md#exact-for-what-a-sample-costs).
#
# ## 2. Sample
#
# Most papers rank the held-out item among 100 random ones.

# %%
samples = {}
hits = {}
for name, ranks in ranked.items():
    sampled = sm.draw_sampled_ranks(ranks, 100, seed=rng)
    samples[name] = sm.SampledRanks(sampled, N_ITEMS, 100, users=rows)
    hits[name] = float((sampled <= 10).mean())
hits

# %% [markdown]
# **You now know** what a paper would print: Broad looks far better.
# Steps 3 to 5 show what you can conclude if you have only samples.
#
# ## 3. Correct
#
# Which HR@10 over all items do these sampled ranks allow?

# %%
sm.correct(samples["Careful"], "HR@10", "sampled, cls")

# %% [markdown]
# **You now know** which values of the exact metric are possible. The
# sampled value measures a different metric: see "acts like".
#
# ## 4. Compare

# %%
sm.compare(samples, "HR@10", "sampled")

# %% [markdown]
# **You now know** that this sample cannot decide the order: Broad
# looks better, but the range of the difference includes 0.
#
# ## 5. Plan
#
# How many random items would decide the order?

# %%
sm.plan(ranked["Careful"], ranked["Broad"], "HR@10", sizes=(100, 400))

# %% [markdown]
# **You now know** how likely 100 and 400 random items are to decide
# it. If you can still compute scores, there is a better way.
#
# ## 6. Evaluate on a budget
#
# Spend about 100 scores per user, where they are most informative.
# The proxy is any cheap score: here a noisy one.

# %%
proxy = careful + broad + rng.normal(size=careful.shape)
budget = sm.evaluate_on_budget(
    {"Careful": careful, "Broad": broad},
    "HR@10",
    relevant=held_out,
    seen=csr_array((N_USERS, N_ITEMS)),  # nothing, here
    proxy=proxy,
)
budget.compare()

# %% [markdown]
# **You now know** the exact order, from a thirtieth of the scores.
#
# ## 7. Report
#
# Write one HTML page to share:
#
# ```python
# sm.report(ranked, "page.html", "HR@10")
# ```
#
# **You now know** all steps. See [your data](inputs.md) for other
# inputs, and [lines for your library](libraries.md).
