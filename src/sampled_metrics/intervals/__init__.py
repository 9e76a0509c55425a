"""What sampled ranks say about exact metrics: ranges, intervals of means, and numbers to quote.

Modules in the order in which they build on each other: `shapes` (assumptions about true ranks),
`kernels` (probabilities of sampled ranks), `brackets` (one-sided estimators), `means` (intervals of
means), `likelihood` (confidence bounds), `misfit` (sampled ranks to be refused), `groups` (users),
`ranges`, `quoting`, `population` (users by their true ranks, for plans and pages).
"""
