"""Keeping sampled experiments between the steps of the study."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_arrays, replacing
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.inference.moments import Moments
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.study.experiment import Experiment, ExperimentSettings


def save_experiment(path: Path, experiment: Experiment) -> None:
    """Write an experiment as `.npz`."""
    with replacing(path) as temporary:
        np.savez(
            temporary,
            settings=json.dumps(asdict(experiment.settings)),
            users=experiment.users,
            measures=[str(measure) for measure in experiment.measures],
            estimators=[str(estimator) for estimator in experiment.estimators],
            exact=experiment.exact,
            repeated=experiment.repeated,
            expected_mean=experiment.expected.mean,
            expected_sd=experiment.expected.sd,
            source=experiment.source,
        )


def load_experiment(path: Path) -> Experiment:
    """Read an experiment written by `save_experiment`.

    Raises
    ------
    InputError
        The file is missing or is none.
    """
    names = ("settings", "users", "measures", "estimators", "exact", "repeated", "source")
    data = read_arrays(path, "a sampled experiment", names)
    return Experiment(
        ExperimentSettings(**json.loads(str(data["settings"]))),
        int(data["users"]),
        [parse_measure(str(name)) for name in data["measures"]],
        [parse_estimator(str(name)) for name in data["estimators"]],
        data["exact"],
        data["repeated"],
        Moments(data["expected_mean"], data["expected_sd"]),
        str(data["source"]),
    )


def load_experiments(paths: list[Path]) -> dict[str, Experiment]:
    """Read experiments by recommender, the stem of the file.

    Raises
    ------
    InputError
        Two files have one name, or what was done differs in settings, users, measures or
        estimators.
    """
    found = {path.stem: load_experiment(path) for path in paths}
    if len(found) != len(paths):
        raise InputError(f"two of {', '.join(map(str, paths))} have the same name")
    (first, expected), *others = ((name, each.design) for name, each in found.items())
    for name, design in others:
        for part, value in design.items():
            if value != expected[part]:
                raise InputError(
                    f"experiments {first} and {name} cannot be compared: their {part} differ "
                    f"({expected[part]} and {value})"
                )
    return found
