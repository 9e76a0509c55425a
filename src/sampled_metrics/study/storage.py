"""Reading and writing sampled experiments between the steps of the study."""

import json
from pathlib import Path

import numpy as np

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_arrays, replacing
from sampled_metrics.inference.moments import Moments
from sampled_metrics.study.experiment import Experiment
from sampled_metrics.study.settings import ExperimentSettings


def save_experiment(path: Path, experiment: Experiment) -> None:
    """Write an experiment as `.npz`."""
    with replacing(path) as temporary:
        np.savez(
            temporary,
            settings=experiment.settings.as_json(),
            users=experiment.users,
            exact=experiment.exact,
            repeated=experiment.repeated,
            expected_mean=experiment.expected.mean,
            expected_sd=experiment.expected.sd,
            source=experiment.source,
        )


def load_experiment(path: Path) -> Experiment:
    """Read an experiment written by `save_experiment`."""
    names = ("settings", "users", "exact", "repeated", "expected_mean", "expected_sd", "source")
    data = read_arrays(path, "a sampled experiment", names)
    return Experiment(
        ExperimentSettings.of(json.loads(str(data["settings"])), str(path)),
        int(data["users"]),
        data["exact"],
        data["repeated"],
        Moments(data["expected_mean"], data["expected_sd"]),
        str(data["source"]),
    )


def load_experiments(paths: list[Path]) -> dict[str, Experiment]:
    """Read experiments by recommender, the stem of the file.

    All must have been done in the same way, and for as many users.
    """
    experiments = {path.stem: load_experiment(path) for path in paths}
    if len(experiments) != len(paths):
        raise InputError(f"two of {', '.join(map(str, paths))} have the same name")
    (first, expected), *others = (
        (name, {"users": experiment.users, **experiment.settings.model_dump()})
        for name, experiment in experiments.items()
    )
    for name, design in others:
        for key, value in design.items():
            if value != expected[key]:
                raise InputError(
                    f"experiments {first} and {name} cannot be compared: {key} is "
                    f"{expected[key]} for {first} and {value} for {name}"
                )
    return experiments
