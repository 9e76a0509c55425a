"""What a step of the study asks of a scheduler: memory and time, from the size of the data.

Each step has two formulas, its peak of resident memory and its processor time. What is asked for
is MARGIN times the peak, that of Snakemake on the node included, and TIME_MARGIN times the time,
at least LEAST_MINUTES. Both double with every attempt: where a formula falls short, the next
attempt has twice as much.

Beside each formula stand the peaks measured (MiB, largest of one process, by
tests/benchmarks/stages.py): on MovieLens 1M (6,040 users, 3,706 items, 1,000,209 events) and, after
the stroke, on generated data of 24,000 users, 8,000 items and 2,528,868 events, with the settings
of `config/config.yaml`; of bm25, bpr and lmf with 20 neighbours, and with 16 dimensions.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

MARGIN = 1.5
TIME_MARGIN = 5.0
LEAST_MINUTES = 10
SNAKEMAKE = 190  # MiB: it runs twice beside a job on a node, 94 measured each
_ROUND_MB = 100
_MIB = 1.048576  # MB
_EVENT_BYTES = 4  # in a table, compressed as parquet is
_EVENTS_PER_ITEM = 250
_EVENTS_PER_USER = 20


@dataclass(frozen=True)
class Size:
    """How large the data is.

    Attributes
    ----------
    users, items, interactions
        Numbers of them, before the split.
    """

    users: int
    items: int
    interactions: int

    @classmethod
    def of_counts(cls, path: Path) -> "Size":
        """Read the counts that the split leaves."""
        counts = json.loads(path.read_text(encoding="utf-8"))
        return cls(*(int(counts[name]) for name in ("users", "items", "interactions")))

    @classmethod
    def of_table(cls, n_bytes: int) -> "Size":
        """Guess from the size of a table of events, rather too much than too little.

        >>> Size.of_table(5_000_000)
        Size(users=62501, items=5001, interactions=1250000)
        """
        events = max(n_bytes // _EVENT_BYTES, 1)
        return cls(events // _EVENTS_PER_USER + 1, events // _EVENTS_PER_ITEM + 1, events)


@dataclass(frozen=True)
class Work:
    """What is done with the data, as far as memory and time depend on it.

    Attributes
    ----------
    size
        Of the data.
    n_negatives, draws
        m, and how often every user's sampled rank is drawn.
    block_size
        Users scored at a time.
    d, iterations, starts
        The largest of the recommenders.
    file_bytes
        Size of what is read from elsewhere.
    pieces
        Jobs that share the step.
    """

    size: Size
    n_negatives: int = 100
    draws: int = 700
    block_size: int = 512
    d: int = 16
    iterations: int = 4
    starts: int = 20
    file_bytes: int = 0
    pieces: int = 1

    @property
    def square(self) -> float:
        """Bytes of float64 for each pair of items."""
        return 8.0 * self.size.items**2

    @property
    def rows(self) -> float:
        """Bytes of the rows of that which are worked on at a time."""
        return 8.0 * 256 * self.size.items

    @property
    def scores(self) -> float:
        """Bytes of a block of scores."""
        return 8.0 * min(self.block_size, self.size.users) * self.size.items

    @property
    def vectors(self) -> float:
        """Bytes of the vectors of als."""
        return 8.0 * self.d * (self.size.users + self.size.items)

    @property
    def sweep(self) -> float:
        """Multiplications of one iteration of als."""
        size = self.size
        return size.interactions * self.d**2 + (size.users + size.items) * self.d**3


class Need(NamedTuple):
    """Formulas of a step: peak in MiB, processor seconds."""

    peak: Callable[[Work], float]
    seconds: Callable[[Work], float]


def _bytes(of: Callable[[Work], float], fixed: float) -> Callable[[Work], float]:
    """Peak of `fixed` MiB for interpreter and libraries, and the bytes that grow."""
    return lambda work: fixed + of(work) / 2**20


def _fixed(peak: float, seconds: float) -> Need:
    return Need(lambda _: peak, lambda _: seconds)


# By rule, or by rule and kind of recommender. Peaks measured are in the comments.
NEEDS: dict[str, Need] = {
    "fetch": Need(lambda _: 70, lambda w: 1 + 1e-6 * w.size.interactions),  # 56 / 56
    "describe": Need(lambda _: 100, lambda w: 1 + 2e-8 * w.file_bytes),  # 88, of 150 MB
    # 250 / 394: columns of events, and their order
    "split": Need(
        _bytes(lambda w: 110 * w.size.interactions, 150), lambda w: 1 + 1e-6 * w.size.interactions
    ),
    # 127 / 171: events, vectors twice (implicit's own and the scaled ones)
    "train als": Need(
        _bytes(lambda w: 48 * w.size.interactions + 2 * w.vectors, 100),
        lambda w: 1 + 1e-9 * w.iterations * w.sweep,
    ),
    # Y 250 / 708: the similarity of all pairs of items
    "train itemknn-all": Need(
        _bytes(lambda w: 1.1 * w.square + 32 * w.size.interactions, 120),
        lambda w: 1 + 1.5e-8 * w.square + 1e-6 * w.size.interactions,
    ),
    # Z 160 / 239: some of its rows at a time
    "train itemknn": Need(
        _bytes(lambda w: 6 * w.rows + 32 * w.size.interactions, 130),
        lambda w: 1 + 1.5e-8 * w.square + 1e-6 * w.size.interactions,
    ),
    # bm25 141 / 205, bpr 137 / 195, lmf 133 / 185, popularity 104 / 134, random 97 / 114
    "train": Need(
        _bytes(lambda w: 48 * w.size.interactions + 2 * w.vectors, 100),
        lambda w: 2 + 1e-7 * w.iterations * w.size.interactions * w.d,
    ),
    # Y 251 / 734: the weights, events, a block of scores and what is compared in it
    "rank itemknn-all": Need(
        _bytes(lambda w: 1.2 * w.square + 32 * w.size.interactions + 3 * w.scores, 120),
        lambda w: 1 + 1e-9 * w.size.interactions * w.size.items / w.pieces,
    ),
    # Z 155 / 248, other kinds 173 / 228 at most
    "rank": Need(
        _bytes(lambda w: 32 * w.size.interactions + w.vectors + 3 * w.scores, 120),
        lambda w: 1 + 1e-9 * (w.d + 1) * w.size.users * w.size.items / w.pieces,
    ),
    # a table, unpacked; scores in .npz are read row by row: 245 for 24,000 users, 8,000 items
    "rank_external": Need(
        _bytes(lambda w: 10 * w.file_bytes + 32 * w.size.interactions, 200),
        lambda w: 5 + 1e-6 * w.file_bytes + 1e-8 * w.size.users * w.size.items,
    ),
    # 197 / 211: blocks of draws, and the distribution of every user's sampled rank
    "sample": Need(
        _bytes(lambda w: 24.0 * w.size.users * (w.n_negatives + 1), 220),
        lambda w: 2 + 1e-7 * w.size.users * (w.draws / w.pieces + w.n_negatives),
    ),
    # 400 / 738: Figure 6 holds 2^24 probabilities at a time, and matrices for up to 2,000 negatives
    "ranks_figures": Need(
        _bytes(lambda w: 32.0 * min(w.size.users * w.size.items, 2**24) + 200 * w.size.users, 250),
        lambda w: 30 + 2e-3 * w.size.users,
    ),
    # 400: Y and Z trained anew, beside the events of the archive
    "measure_readings": Need(
        _bytes(lambda w: 170 * w.size.interactions + 2 * w.square + 3 * w.scores, 150),
        lambda w: 60 + 100 * 1e-9 * w.size.interactions * w.size.items,
    ),
    # 217: X trained anew and the distributions of all recommenders
    "measure_spread": Need(
        _bytes(
            lambda w: (
                32 * w.size.interactions
                + 2 * w.vectors
                + 3 * w.scores
                + 24.0 * w.size.users * (w.n_negatives + 1)
            ),
            200,
        ),
        lambda w: (
            10 + 1e-9 * w.starts * (w.iterations * w.sweep + w.d * w.size.users * w.size.items)
        ),
    ),
    # 143 / 157
    "exact": Need(_bytes(lambda w: 400.0 * w.size.users, 150), lambda w: 1 + 1e-4 * w.size.users),
    "compare": _fixed(160, 2),  # 156 / 156
    "scorecard": _fixed(160, 2),  # 156
    "toy": _fixed(160, 2),  # 156
    "theory_figures": _fixed(240, 10),  # 232
    "provenance": _fixed(100, 1),  # 33 / 33
    # 214 / 233
    "page": Need(_bytes(lambda w: 1000.0 * w.size.users, 220), lambda _: 5),
}
# A piece needs the memory of the whole: the model is the same, blocks are as large.
NEEDS |= {"draw": NEEDS["sample"]}


def need(rule: str, kind: str = "") -> Need:
    """Return the formulas of a rule, of the kind of recommender where they differ.

    >>> need("rank_piece", "als") is need("rank")
    True
    """
    rule = rule.removesuffix("_piece")
    return NEEDS.get(f"{rule} {kind}", NEEDS[rule])


def memory_mb(rule: str, work: Work, attempt: int = 1, kind: str = "") -> int:
    """Memory to ask for, in MB, in whole hundreds.

    >>> memory_mb("split", Work(Size(6040, 3706, 1_000_209)))
    700
    >>> memory_mb("split", Work(Size(6040, 3706, 1_000_209)), attempt=2)
    1400
    """
    asked = MARGIN * _MIB * (SNAKEMAKE + need(rule, kind).peak(work))
    return math.ceil(asked / _ROUND_MB) * _ROUND_MB * 2 ** (attempt - 1)


def minutes(rule: str, work: Work, attempt: int = 1, kind: str = "") -> int:
    """Wall time to ask for, in minutes.

    >>> minutes("split", Work(Size(6040, 3706, 1_000_209)))
    10
    """
    asked = max(TIME_MARGIN * need(rule, kind).seconds(work) / 60, LEAST_MINUTES)
    return math.ceil(asked) * 2 ** (attempt - 1)
