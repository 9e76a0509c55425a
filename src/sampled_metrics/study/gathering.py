"""The draws of an experiment in pieces: some of its repetitions each, gathered in their order."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_arrays, replacing
from sampled_metrics.estimators import Estimator
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.experiment import ExperimentSettings, streams


@dataclass(frozen=True)
class Design:
    """What is drawn: all pieces of one experiment have the same.

    Attributes
    ----------
    name
        Of the recommender.
    users
        How many of them there are.
    streams
        What draws samples of its own, see `experiment.streams`.
    settings
        Of the experiment.
    """

    name: str
    users: int
    streams: tuple[str, ...]
    settings: ExperimentSettings

    def to_json(self) -> str:
        """Write it as one line."""
        return json.dumps(asdict(self))


def design(
    name: str, records: Ranks, estimators: list[Estimator], settings: ExperimentSettings
) -> Design:
    """Say what is drawn for one recommender."""
    return Design(name, len(records), tuple(streams(estimators, settings)), settings)


def save_draws(path: Path, drawn: Design, repetitions: range, counts: Int) -> None:
    """Write what `experiment.draw` has drawn for some repetitions as `.npz`."""
    with replacing(path) as temporary:
        np.savez(
            temporary,
            design=drawn.to_json(),
            repetitions=[repetitions.start, repetitions.stop],
            counts=counts,
        )


def gather_draws(paths: Sequence[Path], drawn: Design) -> Int:
    """Put the draws of all pieces, in their order, behind one another.

    Returns
    -------
    Histograms of sampled ranks; int64, shape (streams, repetitions, m + 1).

    Raises
    ------
    InputError
        A file holds no draws or those of another design, or together they are not all
        repetitions in their order.
    """
    pieces, next_one, total = [], 0, drawn.settings.repetitions
    for path in paths:
        piece = read_arrays(path, "draws of an experiment", ("design", "repetitions", "counts"))
        _check_design(path, str(piece["design"]), drawn)
        first, end = (int(each) for each in piece["repetitions"])
        if first != next_one:
            raise InputError(f"{path}: begins with repetition {first}; expected {next_one}")
        pieces.append(piece["counts"])
        next_one = end
    if next_one != total:
        raise InputError(f"draws end with repetition {next_one} of {total}; expected all of them")
    return np.concatenate(pieces, axis=1)


def _check_design(path: Path, found: str, drawn: Design) -> None:
    expected = json.loads(drawn.to_json())
    for part, value in json.loads(found).items():
        if value != expected[part]:
            raise InputError(f"{path}: {part} is {value!r}; expected {expected[part]!r}")
