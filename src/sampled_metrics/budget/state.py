"""What an evaluation on a budget has been told, and asks next; its file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.files import read_arrays, reading_as, replacing
from sampled_metrics.tables.arrow import as_arrow, places

_EARLIER = "earlier_"  # prefix of the arrays of scores from a smaller budget


class Batch(NamedTuple):
    """Pairs to be scored: running numbers of recommender, user and item, shape (pairs,) each."""

    recommender: Int
    users: Int
    items: Int


class Scored(NamedTuple):
    """Pairs and their scores."""

    pairs: Batch
    scores: Float

    @classmethod
    def joined(cls, parts: Sequence["Scored"]) -> "Scored":
        """Put several one after another."""
        columns = zip(*(part.pairs for part in parts), strict=True)
        pairs = Batch(*(np.concatenate(column) for column in columns))
        return cls(pairs, np.concatenate([part.scores for part in parts]))

    def of(self, batch: Batch) -> Float:
        """Return the scores of a batch, NaN of pairs that have none."""
        sizes = []
        for columns in zip(self.pairs, batch, strict=True):
            largest = max(column.max(initial=0) for column in columns)
            sizes.append(int(largest) + 1)
        known = np.ravel_multi_index(tuple(self.pairs), sizes)
        wanted = np.ravel_multi_index(tuple(batch), sizes)
        row = places(as_arrow(wanted), as_arrow(known))
        return np.where(row < 0, np.nan, self.scores[row])


class State(NamedTuple):
    """Scores answered so far, a checksum of their pairs, and the pairs to be scored next.

    `part` has the scores of the latter that are known already, NaN for the others. With a larger
    budget than the folder was made with, `budget` is that, and `earlier` has all scores told until
    then.
    """

    answers: Sequence[Float] = ()
    check: int = 0
    batch: Batch | None = None
    part: Float = np.empty(0)
    budget: float | None = None
    earlier: Scored | None = None

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which of the pairs to be scored next have no score yet."""
        return np.isnan(self.part)

    def following(self, answers: Sequence[Float], check: int, batch: Batch | None) -> "State":
        """Return the state after more answers, with what is known of the next pairs."""
        part = np.empty(0)
        if batch is not None:
            part = np.full(batch.users.size, np.nan)
            if self.earlier is not None:
                part = self.earlier.of(batch)
        return self._replace(answers=answers, check=check, batch=batch, part=part)

    @classmethod
    def read(cls, path: Path) -> "State":
        """Read what `save` wrote."""
        what = "the state of an evaluation on a budget"
        arrays = read_arrays(path, what, ("rounds", "check", "part"))
        with reading_as(path, what):
            answers = [arrays[f"scores{number}"] for number in range(int(arrays["rounds"]))]
            batch = None
            if "items" in arrays:
                batch = Batch(*(arrays[name] for name in Batch._fields))
            state = cls(answers, int(arrays["check"]), batch, arrays["part"])
            if "budget" not in arrays:
                return state
            pairs = Batch(*(arrays[f"{_EARLIER}{name}"] for name in Batch._fields))
            earlier = Scored(pairs, arrays[f"{_EARLIER}scores"])
            return state._replace(budget=float(arrays["budget"]), earlier=earlier)

    def save(self, path: Path) -> None:
        """Write the state as `.npz`, all or nothing."""
        rounds = len(self.answers)
        arrays: dict[str, Any] = {"rounds": rounds, "check": self.check, "part": self.part}
        for i, scores in enumerate(self.answers):
            arrays[f"scores{i}"] = scores
        if self.batch is not None:
            arrays.update(self.batch._asdict())
        if self.earlier is not None:
            for name, column in self.earlier.pairs._asdict().items():
                arrays[f"{_EARLIER}{name}"] = column
            arrays[f"{_EARLIER}scores"] = self.earlier.scores
            arrays["budget"] = self.budget
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)
