"""Tables 3 and 4: sampled and corrected metrics, and how often they order pairs correctly."""

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from sampled_metrics.inference.moments import (
    Moments,
    count_less,
    probability_less,
    simulated_moments,
)
from sampled_metrics.study.experiment import Experiment
from sampled_metrics.study.labels import EXACT
from sampled_metrics.study.unrounded import Row, unrounded

PERCENT = 100.0


def table3(experiments: Mapping[str, Experiment]) -> pd.DataFrame:
    """Exact, sampled and corrected metrics in percent, over all repetitions."""
    first = next(iter(experiments.values()))
    rows = [
        row
        for i in range(len(first.settings.metrics))
        for name, experiment in experiments.items()
        for row in _of_metric(name, experiment, i)
    ]
    return unrounded(rows)


def _of_metric(name: str, experiment: Experiment, i: int) -> Iterator[Row]:
    label = experiment.settings.measures[i].label
    exact = PERCENT * float(experiment.exact[i])
    yield Row(3, name, label, EXACT, exact, None, exact, None, 0, experiment.source)
    drawn = simulated_moments(PERCENT * experiment.repeated[i])
    for j, estimator in enumerate(experiment.settings.corrections):
        yield Row(
            3,
            name,
            label,
            estimator.label,
            float(drawn.mean[j]),
            float(drawn.sd[j]),
            PERCENT * float(experiment.expected.mean[i, j]),
            PERCENT * float(experiment.expected.sd[i, j]),
            experiment.repeated.shape[-1],
            experiment.source,
        )


def table4(experiments: Mapping[str, Experiment]) -> pd.DataFrame:
    """Count the repetitions that order a pair as the exact metric does, and the expected number.

    Equal estimates count as incorrect, and as half in expectation.
    """
    rows: list[Row] = []
    for a, b in combinations(experiments, 2):
        for i in range(len(experiments[a].settings.metrics)):
            rows += _of_pair(f"{a} vs {b}", experiments[a], experiments[b], i)
    return unrounded(rows)


def _of_pair(pair: str, a: Experiment, b: Experiment, i: int) -> Iterator[Row]:
    label = a.settings.measures[i].label
    worse, better = (a, b) if a.exact[i] < b.exact[i] else (b, a)
    counts = count_less(worse.repeated[i], better.repeated[i])
    repetitions = worse.repeated.shape[-1]
    chances = correct_order(worse, better, i)
    spread = np.sqrt(repetitions * chances * (1.0 - chances))
    source = "; ".join(sorted({a.source, b.source}))
    for j, estimator in enumerate(a.settings.corrections):
        value, expected, sd = map(float, (counts[j], repetitions * chances[j], spread[j]))
        cell = (4, pair, label, estimator.label)
        yield Row(*cell, value, None, expected, sd, repetitions, source)


def correct_order(worse: Experiment, better: Experiment, i: int) -> np.ndarray:
    """Probability, by estimator, that one repetition orders two recommenders correctly."""
    return probability_less(*(
        Moments(each.expected.mean[i], each.expected.sd[i]) for each in (worse, better)
    ))  # fmt: skip
