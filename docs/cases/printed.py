# %% [markdown]
# # A number in a paper
#
# The published weights of Neural Collaborative Filtering have these
# HR@10 and NDCG@10 of the held-out item among 99 random ones, on
# MovieLens 1M. What may HR@10 over all items be?

# %%
import sampled_metrics as sm

paper = {"HR@10": 0.6368, "NDCG@10": 0.3691}
about = {"n_items": 3541, "n_negatives": 99, "n_users": 6040}
reported = sm.reported(paper, "HR@10", **about)
axes = reported.plot()

# %%
reported

# %% [markdown]
# HR@1, HR@5 and HR@10 would have said more at no cost:

# %%
sm.reported(
    {"HR@1": 0.1608, "HR@5": 0.4568, "HR@10": 0.6368},
    "HR@10",
    **about,
)

# %% [markdown]
# The exact value is [known](../notebooks/gallery.py) here. [A printed
# number](../reported.md) compares two papers, and says how it is
# computed.
