"""Made-up users whose exact metric is known, and how a call with a mistake in their data ends."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

import sampled_metrics as sm
from tests.helpers.caught_warnings import full_messages
from tests.helpers.forms import Forms, matrix_forms, new_path, table_forms

USERS, ITEMS, SEEN, NEGATIVES, CUT = 300, 400, 12, 50, 10
METRIC = f"hit@{CUT}"
# the form of the data, a call with it, and the right value: nan where every value is wrong
Attempt = tuple[str, Callable[[], Any], float]
Attempts = Iterator[Attempt]


@dataclass(frozen=True)
class World:
    """Scores, seen and held-out items of made-up users, and the exact hit@10."""

    scores: np.ndarray
    seen: np.ndarray
    held_out: np.ndarray
    popularity: np.ndarray
    folder: Path

    @property
    def mask(self) -> np.ndarray:
        mask = np.zeros((USERS, ITEMS), dtype=bool)
        np.put_along_axis(mask, self.seen, True, axis=1)
        return mask

    @property
    def masked(self) -> np.ndarray:
        return np.where(self.mask, -np.inf, self.scores)

    @property
    def ranks(self) -> np.ndarray:
        mine = np.take_along_axis(self.masked, self.held_out[:, None], axis=1)
        return 1 + (self.masked > mine).sum(axis=1)

    @property
    def truth(self) -> float:
        return float(np.mean(self.ranks <= CUT))

    @property
    def seen_table(self) -> pd.DataFrame:
        return pairs_table(np.repeat(np.arange(USERS), SEEN), self.seen.ravel())

    @property
    def test_table(self) -> pd.DataFrame:
        return pairs_table(np.arange(USERS), self.held_out)

    @property
    def seen_matrix(self) -> csr_array:
        return csr_array(self.mask.astype(float))

    def top(self, k: int) -> np.ndarray:
        return np.argsort(-self.masked, axis=1, kind="stable")[:, :k]

    def lists(self, k: int = 20) -> pd.DataFrame:
        items = self.top(k)
        scores = np.take_along_axis(self.masked, items, axis=1)
        frame = pairs_table(np.repeat(np.arange(USERS), k), items.ravel())
        return frame.assign(score=scores.ravel())

    def negatives(
        self, weights: np.ndarray | None = None, seed: int = 7
    ) -> np.ndarray:
        """Without replacement by weights, from neither seen nor held-out items."""
        rng = np.random.default_rng(seed)
        keys = np.log(np.ones(ITEMS) if weights is None else weights) + rng.gumbel(
            size=(USERS, ITEMS)
        )
        keys[self.mask] = -np.inf
        keys[np.arange(USERS), self.held_out] = -np.inf
        return np.argsort(-keys, axis=1)[:, :NEGATIVES]

    def among(self, negatives: np.ndarray) -> np.ndarray:
        """Scores of the held-out item and then of the negatives."""
        items = np.column_stack([self.held_out, negatives])
        return np.take_along_axis(self.scores, items, axis=1)

    def pairs(self, negatives: np.ndarray) -> pd.DataFrame:
        items = np.column_stack([self.held_out, negatives])
        width = items.shape[1]
        frame = pairs_table(np.repeat(np.arange(USERS), width), items.ravel())
        labels = np.tile([1] + [0] * (width - 1), USERS)
        return frame.assign(score=self.among(negatives).ravel(), label=labels)

    def sampled(self) -> np.ndarray:
        rows = self.among(self.negatives())
        return 1 + (rows[:, 1:] > rows[:, :1]).sum(axis=1)

    def path(self, name: str) -> Path:
        return new_path(self.folder, name)

    def forms(self, frame: pd.DataFrame) -> Forms:
        return table_forms(frame, self.folder)

    def matrix_forms(self, matrix: np.ndarray) -> Forms:
        return matrix_forms(matrix, self.folder)


def pairs_table(users: Any, items: Any, **columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"user_id": users, "item_id": items, **columns})


def make_world(folder: Path) -> World:
    """Draw users with seen and held-out items, and scores by which seen items are too high."""
    rng = np.random.default_rng(11)
    popularity = 1 / np.arange(10, ITEMS + 10)
    taste = rng.normal(size=(USERS, 8)) @ rng.normal(size=(8, ITEMS)) / 2 + np.log(
        popularity
    )
    taste = taste[:, shuffled := rng.permutation(ITEMS)]
    liked = np.argsort(-taste - rng.gumbel(size=taste.shape), axis=1)[:, : SEEN + 1]
    place = rng.integers(SEEN + 1, size=USERS)
    held_out = liked[np.arange(USERS), place]
    keep = np.ones(liked.shape, dtype=bool)
    keep[np.arange(USERS), place] = False
    seen = liked[keep].reshape(USERS, SEEN)
    scores = taste + rng.normal(size=taste.shape) / 2
    np.put_along_axis(scores, seen, np.take_along_axis(scores, seen, 1) + 2, 1)
    return World(scores, seen, held_out, popularity[shuffled], folder)


def is_right(result: Any, truth: float) -> bool:
    """Return whether all ranges of a result hold a value, or all values are near it."""
    frame = result.to_frame()
    for row in frame.to_dict("records"):
        low, high = row.get("range_low", np.nan), row.get("range_high", np.nan)
        if not np.isnan(low):
            if not low - 0.005 <= truth <= high + 0.005:
                return False
        elif abs(row["value"] - truth) > 0.005:
            return False
    return True


def outcome(call: Callable[[], Any], truth: float) -> str:
    """Say how a call ends: refused, warned, right, or silently wrong."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except sm.InputError:
            return "refused"
    messages = full_messages(caught)
    if messages:
        return "warned" if list(result.notes) == messages else "not in the notes"
    if not np.isnan(truth) and is_right(result, truth):
        return "right"
    return "silent"


def silent_forms(attempts: Iterable[Attempt]) -> dict[str, str]:
    """Return the forms of the data in which a wrong value is neither refused nor warned about."""
    outcomes = {form: outcome(call, truth) for form, call, truth in attempts}
    return {
        form: end
        for form, end in outcomes.items()
        if end in ("silent", "not in the notes")
    }
