"""Tables of exact, sampled and corrected metrics, and how often these order pairs correctly."""

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
from sampled_metrics.study.cells import EXACT, Row
from sampled_metrics.study.experiment import Experiment

PERCENT = 100.0


def table3(experiments: Mapping[str, Experiment]) -> pd.DataFrame:
    """Exact, sampled and corrected metrics in percent, over all repetitions."""
    first = next(iter(experiments.values()))
    rows = [
        row
        for i in range(len(first.settings.metrics))
        for name, experiment in experiments.items()
        for row in metric_rows(3, name, experiment, i, PERCENT)
    ]
    return pd.DataFrame(rows, columns=Row._fields)


def metric_rows(
    table: int, name: str, experiment: Experiment, i: int, unit: float = 1.0
) -> Iterator[Row]:
    """Yield the exact value of the i-th metric, then the estimates by estimator, times `unit`."""
    label, source = experiment.settings.measures[i].label, experiment.source
    exact = unit * float(experiment.exact[i])
    yield Row(table, name, label, EXACT, exact, None, exact, None, 0, source)
    drawn = simulated_moments(unit * experiment.repeated[i])
    expected = unit * experiment.expected.mean[i], unit * experiment.expected.sd[i]
    for j, estimator in enumerate(experiment.settings.corrections):
        cell = (table, name, label, estimator.label)
        value, std, mean, sd = (float(values[j]) for values in (drawn.mean, drawn.sd, *expected))
        yield Row(*cell, value, std, mean, sd, experiment.repeated.shape[-1], source)


def table4(experiments: Mapping[str, Experiment]) -> pd.DataFrame:
    """Count the repetitions that order a pair as the exact metric does, and the expected number.

    Equal estimates count as incorrect, and as half in expectation.
    """
    rows: list[Row] = []
    for a, b in combinations(experiments, 2):
        for i in range(len(experiments[a].settings.metrics)):
            rows += _of_pair(f"{a} vs {b}", experiments[a], experiments[b], i)
    return pd.DataFrame(rows, columns=Row._fields)


def _of_pair(pair: str, a: Experiment, b: Experiment, i: int) -> Iterator[Row]:
    label = a.settings.measures[i].label
    worse, better = (a, b) if a.exact[i] < b.exact[i] else (b, a)
    counts = count_less(worse.repeated[i], better.repeated[i])
    repetitions = worse.repeated.shape[-1]
    expected_worse, expected_better = (
        Moments(e.expected.mean[i], e.expected.sd[i]) for e in (worse, better)
    )
    chances = probability_less(expected_worse, expected_better)
    spread = np.sqrt(repetitions * chances * (1.0 - chances))
    source = "; ".join(sorted({a.source, b.source}))
    for j, estimator in enumerate(a.settings.corrections):
        value, expected, sd = map(float, (counts[j], repetitions * chances[j], spread[j]))
        cell = (4, pair, label, estimator.label)
        yield Row(*cell, value, None, expected, sd, repetitions, source)
