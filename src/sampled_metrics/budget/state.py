"""What an evaluation on a budget has been told, and asks next; its file."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Bool, Float, Int
from sampled_metrics._base.files import read_arrays, reading_as, replacing
from sampled_metrics.inputs.tables import places

_EARLIER = "earlier_"  # prefix of the arrays of scores from a smaller budget


class Batch(NamedTuple):
    """Pairs to be scored: running numbers of recommender, user and item, shape (pairs,) each."""

    recommender: Int
    users: Int
    items: Int


class Scored(NamedTuple):
    """Pairs and their scores, NaN of those without."""

    recommender: Int
    users: Int
    items: Int
    scores: Float

    @classmethod
    def joined(cls, parts: Sequence["Scored"]) -> "Scored":
        """Put several one after another."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    @property
    def missing(self) -> Bool:
        """Which pairs have no score."""
        return np.isnan(self.scores)

    def take(self, which: Bool) -> "Scored":
        """Select some pairs."""
        recommender, users, items = (column[which] for column in self[:3])
        return Scored(recommender, users, items, self.scores[which])

    def of(self, batch: "Batch | Scored") -> Float:
        """Return the scores of other pairs, NaN of those that are not among these."""
        columns = zip(self[:3], batch[:3], strict=True)
        sizes = [max(known.max(initial=0), wanted.max(initial=0)) + 1 for known, wanted in columns]
        known, wanted = (np.ravel_multi_index(pairs[:3], sizes) for pairs in (self, batch))
        row = places(wanted, known)
        return np.where(row < 0, np.nan, self.scores[row])


@dataclass
class State:
    """Scores answered so far, a checksum of their pairs, and the pairs to be scored next.

    `next` has the scores that are known already; it is None if there is nothing to ask. With a
    larger budget than the folder was made with, `budget` is that, and `earlier` has all scores told
    until then.
    """

    answers: list[Float] = field(default_factory=list)
    check: int = 0
    next: Scored | None = None
    budget: float | None = None
    earlier: Scored | None = None

    @classmethod
    def read(cls, path: Path) -> "State":
        """Read what `save` wrote."""
        what = "the state of an evaluation on a budget"
        arrays = read_arrays(path, what, ("rounds", "check", "part"))
        with reading_as(path, what):
            answers = [arrays[f"scores{number}"] for number in range(int(arrays["rounds"]))]
            state = cls(answers, int(arrays["check"]))
            arrays["scores"] = arrays["part"].astype(np.float64)
            if "items" in arrays:
                state.next = Scored(*(arrays[name] for name in Scored._fields))
            if "budget" in arrays:
                state.budget = float(arrays["budget"])
                state.earlier = Scored(*(arrays[_EARLIER + name] for name in Scored._fields))
            return state

    def save(self, path: Path) -> None:
        """Write the state as `.npz`, all or nothing."""
        arrays: dict[str, Any] = {"rounds": len(self.answers), "check": self.check}
        for i, scores in enumerate(self.answers):
            arrays[f"scores{i}"] = scores
        if self.next:
            arrays.update(self.next._asdict())
        arrays["part"] = arrays.pop("scores", np.empty(0))
        if self.earlier:
            arrays["budget"] = self.budget
            for name, column in self.earlier._asdict().items():
                arrays[_EARLIER + name] = column
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)
