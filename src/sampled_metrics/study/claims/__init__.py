"""The sentences of the paper with a number or an order in them, each measured."""

from sampled_metrics.study.claims import corrections, experiment, sampling, theory, toy
from sampled_metrics.study.claims.registry import CLAIMS, Claim, Finding, claim
from sampled_metrics.study.claims.run import Run
from sampled_metrics.study.claims.verdicts import COLUMNS, VERDICTS, ledger

__all__ = [
    "CLAIMS",
    "COLUMNS",
    "VERDICTS",
    "Claim",
    "Finding",
    "Run",
    "claim",
    "corrections",
    "experiment",
    "ledger",
    "sampling",
    "theory",
    "toy",
]
