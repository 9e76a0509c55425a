"""Run a step of the study: what a rule calls by `params: step=...`."""

import gc

from sampled_metrics.study import steps

gc.disable()  # a step is short, and little of what it makes is garbage before its end,
steps.run(snakemake)  # noqa: F821 (of Snakemake)
gc.freeze()  # nor is it worth a search then
