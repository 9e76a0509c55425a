"""Metrics of held-out items collected batch by batch, for evaluation loops of any library."""

from __future__ import annotations

import sys
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import ALL_CORES, check_arguments
from sampled_metrics._base.array_types import Int
from sampled_metrics._base.arrays import (
    concatenate_ranges,
    run_starts,
)
from sampled_metrics._base.calls import (
    IN_RESULT,
    current_call,
    note_meaning,
    public,
    warn_all,
)
from sampled_metrics._base.columns import column_ids, index_ids, integer_array, require_all
from sampled_metrics._base.conversion import (
    keeps_own_library,
    numeric_array,
    to_numpy,
)
from sampled_metrics._base.defaults import DEFAULT_CONFIDENCE, DEFAULT_METRICS, Names
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.units import Units
from sampled_metrics.checks.ranks import signs_in_ranks, signs_of_other_processes
from sampled_metrics.checks.samples import signs_in_sampled_ranks
from sampled_metrics.checks.scores import signs_of_batches, signs_of_sample_columns
from sampled_metrics.evaluation.correct import Corrected, correct
from sampled_metrics.evaluation.evaluate import Evaluated, evaluate
from sampled_metrics.evaluation.results import Results
from sampled_metrics.metrics import parse_measures
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.read.kinds import FRAMES, Kind, kind_of, recommenders_error
from sampled_metrics.read.row_counts import (
    RowCounts,
    count_in_rows,
    held_out_positions,
    note_rows_without_target,
    positive_by_row,
)
from sampled_metrics.read.samples import Draw, sampled_from_rows
from sampled_metrics.read.scores import refuse_id_column

_METER_OPTIONS = ("n_items", "n_negatives", "sampling", "missing", "ties", "seed", "confidence")


class _Batch(NamedTuple):
    """Counts of some rows, and their users or visits, if ids are given."""

    counts: RowCounts
    units: Units | None
    n_negatives: int | None  # None for full rankings
    column: Int | None = None  # of each held-out item in scores of all items; None for ranks
    n_columns: int = 0  # of scores of all items
    meter: int = 0  # number of the meter that the batch comes from, if meters were merged

    @property
    def n_rows(self) -> int:
        return self.counts.n_found.size


@dataclass(eq=False, repr=False)
class RankMeter:
    """Metrics of held-out items whose scores come in batches, with the interface of torchmetrics.

    Scores of all items, or exact ranks, give exact metrics. Scores of a held-out item and sampled
    negatives, or ranks among them, give the results of `correct`; they need `n_items`. The result
    does not depend on how rows are divided into batches. Meters can be pickled; `sync`, `merge` and
    `+` combine the meters of several processes.

    Parameters
    ----------
    metrics
        Names, as a list or separated by commas; by default recall@10, ndcg@10, ap and auc.
    n_items
        Candidates of a full ranking, the held-out item included. Scores with fewer columns are
        read as those of sampled negatives. Exact ranks need it. Without it, scores are read as
        those of all items, and a note of the result reminds you of seen items if no score is -inf.
    n_negatives
        Negatives of each row, for ranks among negatives.
    sampling
        How the negatives were drawn, see `correct`.
    missing
        What to do with held-out items whose score is -inf: `refuse` them, or rank them `last`.
    ties, seed
        See `evaluate` and `correct`: by default `expected` for full rankings, and `random`, drawn
        with `seed`, among negatives.
    confidence
        Nominal coverage of intervals and ranges.
    n_jobs
        Number of threads, as in joblib; -1 for one per core. The result does not depend on it.

    See Also
    --------
    evaluate : All users at once.

    Examples
    --------
    >>> meter = RankMeter("hr@2, rr")
    >>> meter.update([[0.9, 0.2, 0.4, 0.3]], positive=2)
    >>> meter.update([[0.5, 0.1, 0.7, 0.8], [0.1, 0.9, 0.2, 0.3]], positive=[0, 1])
    >>> [(result.metric, round(result.value, 3)) for result in meter.compute()]
    [('hr@2', 0.667), ('rr', 0.611)]
    """

    metrics: Names = DEFAULT_METRICS
    _: KW_ONLY
    n_items: int | None = None
    n_negatives: int | None = None
    sampling: str | None = None
    missing: str = "refuse"
    ties: str | None = None
    seed: int = 0
    confidence: float = DEFAULT_CONFIDENCE
    n_jobs: int = ALL_CORES

    def __post_init__(self) -> None:
        if self.n_negatives is not None and self.n_items is None:
            raise InputError(
                "n_negatives needs n_items, the number of candidates of a full ranking"
            )
        check_arguments(**{name: getattr(self, name) for name in _METER_OPTIONS})
        self.metrics = [str(measure) for measure in parse_measures(self.metrics)]
        self.reset()

    def reset(self) -> None:
        """Remove all batches."""
        self._batches: list[_Batch] = []
        self._n_dropped = 0  # rows without a held-out item
        self._is_merged = False  # whether the rows of other processes are included

    @public()
    def update(
        self,
        scores: ArrayLike | None = None,
        positive: ArrayLike = 0,
        *,
        ranks: ArrayLike | None = None,
        users: ArrayLike | None = None,
        visits: ArrayLike | None = None,
    ) -> None:
        """Add a batch of scores or of ranks.

        Parameters
        ----------
        scores
            Array or tensor of any library, also on a device, with a row for each held-out item.
            Scores are read as those of sampled negatives if the meter has `n_negatives`, or if
            they have fewer columns than its `n_items`, and else for those of all items. Among
            scores of all items, -inf marks an item that is not a candidate, such as a seen item.
        positive
            Column of the held-out item, one for all rows (-1 for the last) or one per row, where
            -1 or -100 marks a row without one, which is dropped; or labels with the shape of the
            scores, 1 for the held-out items of a row.
        ranks
            Ranks, counted from 1, instead of scores; shape (rows,).
        users
            Ids of the users of the rows, in all batches or in none.
        visits
            Ids of visits, such as sessions, if users may have several rows.
        """
        if (scores is None) == (ranks is None):
            raise InputError("pass update either scores or ranks")
        if _is_empty(scores) or _is_empty(ranks):
            return  # an empty batch
        if scores is None:
            batch = self._count_ranks(ranks)
        else:
            row_ids: Any = users
            if users is None and isinstance(scores, pd.DataFrame):
                row_ids = index_ids(scores)
            columns = positive_by_row(positive, row_ids)
            batch = self._count_scores(scores, to_numpy(columns))
        units = Units.of_rows(users, visits, batch.n_rows)
        has_held_out_item = batch.counts.has_target
        self._n_dropped += int(np.count_nonzero(~has_held_out_item))
        if has_held_out_item.any():
            kept_units = None if units is None else units.take(has_held_out_item)
            kept = batch._replace(counts=batch.counts.with_target(), units=kept_units)
            self._add(kept, "batches")

    def merge(self, *others: Self) -> Self:
        """Add the rows of other meters, such as those of other processes, and return this meter.

        Users who are in several meters count once if they have ids: torch's DistributedSampler
        repeats some users to fill the last batches. Rows are then in order of users.
        """
        for other in others:
            self._require_same_options(other)
            self._n_dropped += other._n_dropped
            # The batches of the other, which may be merged itself, get new numbers of meters.
            n_meters = 1 + max((batch.meter for batch in self._batches), default=0)
            for batch in list(other._batches):  # a copy, as other may be this meter
                self._add(batch._replace(meter=n_meters + batch.meter), "meters")
        self._is_merged = True
        return self

    def _require_same_options(self, other: Self) -> None:
        """Raise InputError if another meter has other metrics or options."""
        for name in ("metrics", *_METER_OPTIONS):
            value = getattr(self, name)
            other_value = getattr(other, name)
            if value != other_value:
                raise InputError(f"meters differ in {name}: {value} and {other_value}")

    def __add__(self, other: Self) -> Self:
        """Return a meter with the rows of both."""
        return self._empty().merge(self, other)

    def sync(self, group: Any = None) -> Self:
        """Return a meter with the rows of all processes of torch.distributed.

        All processes have to call it. This meter is not changed. Without several processes, a copy
        is returned. Pass ids of users to `update`, so that rows that a sampler repeats count once.
        """
        distributed = _distributed()
        if distributed is None:
            return self._empty().merge(self)
        meters: list[Any] = [None] * distributed.get_world_size(group)
        distributed.all_gather_object(meters, self, group=group)
        return meters[0].merge(*meters[1:])

    def _empty(self) -> Self:
        meter = copy(self)
        meter.reset()
        return meter

    def _add(self, batch: _Batch, source: str) -> None:
        """Add a batch; raise InputError if it differs in kind from the first.

        `source` names what the batch is compared with: batches or meters.
        """
        if self._batches:
            _require_same_kind(batch, self._batches[0], source)
        self._batches.append(batch)

    @public()
    def ranks(self) -> Ranks | SampledRanks:
        """Return the ranks of all batches, which are also data for `compare` and `report`."""
        if not self._batches:
            raise InputError("no ranks yet; call update with a batch first")
        counts, units = _concatenate(self._batches)
        if self._batches[0].n_negatives is None:
            full = self._full_ranks(counts, units)
            warn_all(signs_in_ranks(full))
            return full
        draw = Draw(
            n_items=self.n_items,
            n_negatives=self.n_negatives,
            sampling=self.sampling,
            ties="random" if self.ties is None else self.ties,
            seed=self.seed,
        )
        sampled = sampled_from_rows(counts, units, draw)
        warn_all(signs_in_sampled_ranks(sampled))
        return sampled

    def _full_ranks(self, counts: RowCounts, units: Units | None) -> Ranks:
        """Return the ranks of rows of full rankings, which need users, or visits, of their own."""
        n_columns = min(batch.n_columns for batch in self._batches)  # 0 for ranks
        if n_columns:
            self._warn_about_columns(counts.candidates, n_columns)
        _require_single_rows(units)
        users, visits = (None, None) if units is None else units.users_and_visits()
        return Ranks(
            counts.candidates,
            counts.better,
            counts.tied,
            n_found=None if (counts.n_found == 1).all() else counts.n_found,
            users=users,
            visits=visits,
            n_columns=n_columns,
            n_missing=int(np.count_nonzero(counts.lost)),
        )

    def _warn_about_columns(self, n_candidates: Int, n_columns: int) -> None:
        """Warn that scores may be those of a sample, and note that seen items may be candidates."""
        are_seen_items_masked = (n_candidates < n_columns).any()  # by -inf
        if are_seen_items_masked:
            return
        columns = [batch.column for batch in self._batches if batch.column is not None]
        is_catalogue = self.n_items is not None
        warn_all(signs_of_sample_columns(np.concatenate(columns), n_columns, is_catalogue))
        if not is_catalogue:
            note_meaning(
                "n_items",
                f"{n_columns:,}, the columns of scores, so items seen in training are candidates; "
                "mask their scores by -inf, or pass n_items if there are none",
            )

    @public(see=IN_RESULT)
    def compute(self, *, sync: bool = False) -> Results[Evaluated] | Results[Corrected]:
        """Return the results of `evaluate` or `correct` for all batches together.

        With `sync`, include the batches of all processes of torch.distributed. All processes then
        have to call it.
        """
        if sync:
            return self.sync().compute()
        distributed = _distributed()
        if distributed is not None and not self._is_merged:
            warn_all(signs_of_other_processes(len(self), distributed.get_world_size()))
        ranks = self.ranks()
        note_rows_without_target(self._n_dropped)
        results: Results[Evaluated] | Results[Corrected]
        if isinstance(ranks, SampledRanks):
            results = correct(ranks, self.metrics, confidence=self.confidence)
        else:
            ties = "expected" if self.ties is None else self.ties
            results = evaluate(
                ranks, self.metrics, ties=ties, confidence=self.confidence, seed=self.seed
            )
        results.note_records = current_call().notes
        return results

    def __len__(self) -> int:
        """Return the number of rows of all batches."""
        return sum(batch.n_rows for batch in self._batches)

    def _count_scores(self, scores: ArrayLike, positive: ArrayLike) -> _Batch:
        """Count the candidates better than, or tied with, the held-out items of rows of scores.

        The columns are those of all items, or of a held-out item and negatives. The batch has no
        users yet.
        """
        matrix = _score_matrix(scores)
        width = matrix.shape[-1]
        m = self._negatives_in_columns(width)
        counts = count_in_rows(
            matrix,
            positive,
            column_ids=column_ids(scores) if isinstance(scores, pd.DataFrame) else None,
            is_full=m is None,
            missing=self.missing,
            n_jobs=self.n_jobs,
        )
        if m is not None:
            return _Batch(counts, units=None, n_negatives=m)
        row, column = held_out_positions(positive, matrix.shape)
        if self._batches:
            warn_all(signs_of_batches(row, column, width))
        return _Batch(counts, units=None, n_negatives=None, column=column, n_columns=width)

    def _negatives_in_columns(self, width: int) -> int | None:
        """Return the number of negatives in rows of `width` scores; None for scores of all items.

        These are 1 + n_negatives columns, n_items columns, or fewer than n_items: a held-out item
        and negatives.
        """
        n = self.n_items
        m = self.n_negatives
        if m is not None and width != m + 1:
            raise InputError(f"scores have {width} columns; expected {m + 1}, 1 + n_negatives")
        if m is not None or n is None or width == n:
            return m
        if width > n:
            raise InputError(
                f"scores have {width} columns, more than n_items ({n}); "
                "drop n_items if they are the scores of all items"
            )
        return width - 1

    def _count_ranks(self, ranks: Any) -> _Batch:
        """Convert ranks without ties to counts; the batch has no users yet."""
        values: Int = integer_array(ranks, "ranks", is_column=True)
        m = self.n_negatives
        most = self.n_items if m is None else m + 1
        if most is None:
            raise InputError("ranks need n_items, and n_negatives if they are among negatives")
        require_all("ranks", values, (values >= 1) & (values <= most), f"1 to {most}")
        zeros = np.zeros_like(values)
        counts = RowCounts(
            candidates=np.full_like(values, most),
            better=values - 1,
            tied=zeros,
            n_found=zeros + 1,
            lost=zeros,
        )
        return _Batch(counts, units=None, n_negatives=m)


def _require_same_kind(batch: _Batch, first: _Batch, source: str) -> None:
    """Raise InputError if a batch has other numbers of negatives or kinds of ids than the first.

    `source` names where both come from: batches or meters.
    """
    if batch.n_negatives != first.n_negatives:
        remedy = ""
        if batch.n_negatives is not None and first.n_negatives is not None:
            remedy = "; pad rows of at most a tenth fewer negatives with -inf"
        raise InputError(
            f"found {_describe_kind(batch.n_negatives)}, but "
            f"{_describe_kind(first.n_negatives)} in earlier {source}{remedy}"
        )
    if _kind(batch.units) != _kind(first.units):
        raise InputError(
            f"some {source} have users, or visits, and others have none or ids of another "
            "type; pass ids of one type with all or none"
        )


def _kind(units: Units | None) -> str:
    return "none" if units is None else units.kind


def _require_single_rows(units: Units | None) -> None:
    """Raise InputError for a user, or a visit, that has several rows."""
    again = None if units is None else units.first_duplicate()
    if units is not None and again is not None:
        raise InputError(
            f"duplicate users {units.name(again)}; if users have several visits, pass ids by "
            "visits=",
            row=again + 1,
        )


def _score_matrix(scores: Any) -> Any:
    """Return scores as a matrix, in the library that they come from if it can count them."""
    if keeps_own_library(scores):
        return scores
    kind = kind_of(scores)
    if kind is Kind.RECOMMENDERS:
        raise recommenders_error("rank")
    if kind in FRAMES:
        refuse_id_column(scores, "scores", "users=")
    return numeric_array(scores, "scores")


def _is_empty(batch: Any) -> bool:
    """Return whether a batch has no rows."""
    if isinstance(batch, list | tuple):
        return not batch
    return tuple(getattr(batch, "shape", ()))[:1] == (0,)


def _concatenate(batches: list[_Batch]) -> tuple[RowCounts, Units | None]:
    """Return the rows of all batches, and their users or visits.

    Rows of several meters are sorted by user, see `_drop_repeated`.
    """
    arrays_by_field = zip(*(batch.counts for batch in batches), strict=True)
    counts = RowCounts(*map(np.concatenate, arrays_by_field))
    units_of_batches = [batch.units for batch in batches if batch.units is not None]
    if not units_of_batches:
        return counts, None
    units = Units.concatenate(units_of_batches)
    meters = [batch.meter for batch in batches]
    are_of_one_meter = len(set(meters)) == 1
    if are_of_one_meter:
        return counts, units
    meter_of_row = np.repeat(meters, [batch.n_rows for batch in batches])
    return _drop_repeated(counts, units, meter_of_row)


def _drop_repeated(counts: RowCounts, units: Units, meter_of_row: Int) -> tuple[RowCounts, Units]:
    """Keep the rows of each user from the first meter that has them, and sort rows by user.

    Parameters
    ----------
    counts, units
        Counts of all rows, and the user of each. `better` and `tied` have an element for each
        held-out item, row after row; the other counts have one for each row.
    meter_of_row
        Number of the meter that each row comes from; shape (rows,).

    Raises
    ------
    InputError
        Unless the user has the same ranks in other meters.
    """
    meter = pd.Series(meter_of_row)
    first_meter_of_user = meter.groupby(units.codes).transform("min")
    is_repeated = (meter > first_meter_of_user).to_numpy()
    first_item = run_starts(counts.n_found)  # index of each row's first held-out item
    sums_by_row = counts._replace(
        better=np.add.reduceat(counts.better, first_item),
        tied=np.add.reduceat(counts.tied, first_item),
    )
    rows_with_users = pd.DataFrame({"user": units.codes, **sums_by_row._asdict()})
    is_copy = rows_with_users.duplicated().to_numpy()
    differs = is_repeated & ~is_copy
    if differs.any():
        first_different = int(differs.argmax())
        raise InputError(f"user {units.name(first_different)} has different ranks in two meters")
    kept = np.flatnonzero(~is_repeated)
    _, order_of_unit = units.ascending()
    rows = kept[np.argsort(order_of_unit[kept], kind="stable")]  # by user
    items = concatenate_ranges(first_item[rows], counts.n_found[rows])
    merged = RowCounts(
        candidates=counts.candidates[rows],
        better=counts.better[items],
        tied=counts.tied[items],
        n_found=counts.n_found[rows],
        lost=counts.lost[rows],
    )
    return merged, units.take(rows)


def _distributed() -> Any:
    """Return torch.distributed if several processes are running; does not import torch."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed if distributed.get_world_size() > 1 else None


def _describe_kind(n_negatives: int | None) -> str:
    if n_negatives is None:
        return "scores of all items"
    return f"{n_negatives} negatives"
