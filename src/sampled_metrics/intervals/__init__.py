"""What sampled ranks say about exact metrics: ranges, intervals of means, and numbers to quote.

Modules in the order in which they build on each other: `shapes` (assumptions about true ranks),
`kernels` (probabilities of sampled ranks), `brackets` (one-sided estimators), `means` (intervals of
means), `likelihood` (confidence bounds), `misfit` (sampled ranks to be refused), `groups` (folds,
size groups and cohorts of users), `ranges`, `quoting`, `population` (users by their true ranks, for
plans and pages); `constants` for all of them. Ranges of other designs are in `rank_only_ranges`
(negatives by popularity, ids unknown), `taste_ranges` and `thinned_ranges` (counts by stratum).

A shape is always that of a distribution of true ranks; the sizes of arrays are given as "shape
(users, strata)" beside them.
"""
