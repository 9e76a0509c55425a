"""The sentences of the paper with a number or an order in them, each measured.

`registry` declares claims and judges all of them; `run` holds the numbers of a study that they are
measured on. The other modules are the claims, by sections of the paper.
"""

from sampled_metrics.study.claims import corrections, experiment, sampling, theory, toy
from sampled_metrics.study.claims.registry import CLAIMS, VERDICTS, Claim, Finding, ledger
from sampled_metrics.study.claims.run import Run

__all__ = ["CLAIMS", "VERDICTS", "Claim", "Finding", "Run", "ledger"]
__all__ += ["corrections", "experiment", "sampling", "theory", "toy"]
