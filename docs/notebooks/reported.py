# %% [markdown]
# # What a paper's number says
#
# The published weights of Neural Collaborative Filtering have these HR@10 and NDCG@10 of the
# held-out item among 99 random ones, on MovieLens 1M. What may HR@10 among all items be? The exact
# values are known: .067 for GMF and .079 for MLP.

# %%
import sampled_metrics as sm

about = {"n_items": 3541, "n_negatives": 99, "n_users": 6040}
sm.reported({"HR@10": 0.6368, "NDCG@10": 0.3691}, "HR@10", **about)

# %%
sm.reported({"HR@10": "0.6710", "NDCG@10": 0.3963}, "HR@10", **about)

# %% [markdown]
# Both ranges hold the exact value, and they overlap: what was printed does not say which of the two
# is better. HR@1, HR@5 and HR@10 would have said more at no cost:

# %%
sm.reported({"HR@1": 0.1608, "HR@5": 0.4568, "HR@10": 0.6368}, "HR@10", **about)
