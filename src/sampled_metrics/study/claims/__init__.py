"""The sentences of the paper with a number or an order in them, each measured.

`claims.csv` has the sentences and names their measurements, which are in the modules `toy`,
`sampling`, `theory`, `experiment` and `corrections`, by sections of the paper. `run` holds the
numbers of a study that they measure, `verdicts` judges all claims.
"""

from sampled_metrics.study.claims import corrections, experiment, sampling, theory, toy
from sampled_metrics.study.claims.registry import Finding
from sampled_metrics.study.claims.run import Run
from sampled_metrics.study.claims.verdicts import CLAIMS, VERDICTS, Claim, ledger

__all__ = ["CLAIMS", "VERDICTS", "Claim", "Finding", "Run", "ledger"]
__all__ += ["corrections", "experiment", "sampling", "theory", "toy"]
