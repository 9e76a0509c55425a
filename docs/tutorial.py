# %% [markdown]
# # Tutorial
#
# Ten minutes with two recommenders of your own. *Careful* puts the
# held-out item near the top for a quarter of the users, and anywhere
# for the others; *Broad* rarely puts it at the very top, but seldom
# far down.

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
# Rank every item. There is nothing to correct, and it is fast.

# %%
ranked = {
    "Careful": sm.rank(careful, None, held_out),
    "Broad": sm.rank(broad, None, held_out),
}
sm.compare(ranked, "HR@10").plot()
sm.compare(ranked, "HR@10")

# %% [markdown]
# **You now know** the exact HR@10 of both, and that Careful is
# better. One recommender alone is `sm.evaluate(careful, "HR@10",
# relevant=held_out)`. If it has vectors of users and items, give
# these, as in `sm.evaluate((users, items), "HR@10",
# relevant=held_out)`: exact metrics at a cut-off then [cost what 100
# negatives cost](scale.md#exact-for-what-a-sample-costs).
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
# The rest is for those who have only this.
#
# ## 3. Correct
#
# Which HR@10 over all items do these sampled ranks allow?

# %%
sm.correct(samples["Careful"], "HR@10", "sampled, cls")

# %% [markdown]
# **You now know** which values of the exact metric are possible. The
# sampled value measures another metric, the one under "acts like".
#
# ## 4. Compare

# %%
sm.compare(samples, "HR@10", "sampled")

# %% [markdown]
# **You now know** that this sample does not decide the order: Broad
# looks better, but the range of the difference includes 0.
#
# ## 5. Plan
#
# How many random items would decide it?

# %%
sm.plan(ranked["Careful"], ranked["Broad"], "HR@10", sizes=(100, 400))

# %% [markdown]
# **You now know** how likely 100 and 400 random items are to decide.
# If you can still ask your recommender for scores, there is a better
# way.
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
# One HTML page to send to others:
#
# ```python
# sm.report(ranked, "page.html", "HR@10")
# ```
#
# **You now know** all steps. See [inputs](inputs.md) for other forms
# of data, and [libraries](libraries.md) for lines for yours.
