"""Ranks of held-out items gathered batch by batch, for evaluation loops of any library."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import check_arguments
from sampled_metrics._base.arrays import Ids, Int, as_array, id_column, integers, require
from sampled_metrics._base.defaults import CONFIDENCE, METRICS, Names
from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.correct import Corrected, correct
from sampled_metrics.inference.evaluate import Evaluated, evaluate
from sampled_metrics.inference.results import Results, with_questions
from sampled_metrics.inputs.samples import Samples
from sampled_metrics.inputs.scores import Beside as Counts
from sampled_metrics.inputs.scores import ask_of_seen_items, counts_beside
from sampled_metrics.metrics import parse_measures
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.ranks.data import question_ranks, question_samples


class RankMeter:
    """Metrics of held-out items whose scores come in batches, used as metrics of torchmetrics are.

    Scores of all items, or exact ranks, give exact metrics. Scores of a held-out item and sampled
    negatives, or ranks among them, give the results of `correct`, if `n_items` is given. The result
    does not depend on how rows are cut into batches.

    Parameters
    ----------
    metrics
        Names, several with commas or in a list; by default recall@10, ndcg@10, ap and auc.
    n_items
        Candidates of a full ranking, the held-out item included. Scores of fewer columns are of
        sampled negatives. Exact ranks need it. Without it scores are of all items, and a warning
        asks for seen items, if no score is -inf.
    n_negatives
        Negatives of each row, if ranks among them are given.
    sampling
        How the negatives were drawn, see `correct`.
    missing
        Held-out items of score -inf, which an answer leaves out: `refuse` them, or take them as
        behind all others (`last`).
    ties, seed
        See `evaluate` and `correct`: by default `expected` in full rankings, and `random`, drawn
        with `seed`, among negatives.
    confidence
        Nominal coverage of intervals and ranges.

    See Also
    --------
    evaluate : All users at once.

    Examples
    --------
    >>> meter = RankMeter("hr@2, rr")
    >>> meter.update([[0.9, 0.2, 0.4, 0.3]], positive=2)
    >>> meter.update([[0.5, 0.1, 0.7, 0.8], [0.1, 0.9, 0.2, 0.3]], positive=[0, 1])
    >>> [(result.metric, round(result.value, 3)) for result in meter.compute()]
    [('hit@2', 0.667), ('rr', 0.611)]
    """

    def __init__(
        self,
        metrics: Names = METRICS,
        *,
        n_items: int | None = None,
        n_negatives: int | None = None,
        sampling: str | None = None,
        missing: str = "refuse",
        ties: str | None = None,
        seed: int = 0,
        confidence: float = CONFIDENCE,
    ) -> None:
        if n_negatives is not None and n_items is None:
            raise InputError(
                "n_negatives is given without n_items, the candidates of full rankings"
            )
        check_arguments(
            n_items=n_items,
            n_negatives=n_negatives,
            sampling=sampling,
            missing=missing,
            ties=ties,
            seed=seed,
            confidence=confidence,
        )
        self._metrics = [str(measure) for measure in parse_measures(metrics)]
        self._n_items = n_items
        self._given_negatives = n_negatives
        self._sampling = sampling
        self._missing = missing
        self._ties = ties
        self._seed = seed
        self._confidence = confidence
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        self._batches: list[Counts] = []
        self._users: list[Ids] = []
        self._n_negatives: int | None = None

    def update(
        self,
        scores: ArrayLike | None = None,
        positive: ArrayLike = 0,
        *,
        ranks: ArrayLike | None = None,
        users: ArrayLike | None = None,
    ) -> None:
        """Take a batch of scores or of ranks.

        Parameters
        ----------
        scores
            Numbers of any library, also tensors on a device; a row for each held-out item. Among
            scores of all items, -inf marks an item that is no candidate, such as a seen one.
        positive
            Column of the held-out item, one for all rows or one per row; or labels of the shape of
            the scores, 1 for the held-out items of a row.
        ranks
            Ranks from 1 instead of scores, shape (rows,).
        users
            Ids of the users of the rows, in all batches or in none.
        """
        if (scores is None) == (ranks is None):
            raise InputError("give scores or ranks to update, one of both")
        if _is_empty(scores) or _is_empty(ranks):
            return  # an empty batch
        if scores is None:
            counts, n_negatives = self._of_ranks(_in_memory(ranks))
        else:
            counts, n_negatives = self._of_scores(_in_memory(scores), _in_memory(positive))
        if self._batches and n_negatives != self._n_negatives:
            raise InputError(
                f"found {_kind(n_negatives)}, but {_kind(self._n_negatives)} in earlier batches"
            )
        rows = counts.candidates.size
        if self._batches and (users is None) == bool(self._users):
            raise InputError("users are given with some batches only; expected with all or none")
        if users is not None:
            self._users.append(id_column("users", _in_memory(users), rows))
        self._batches.append(counts)
        self._n_negatives = n_negatives

    def ranks(self) -> Ranks | SampledRanks:
        """Return the ranks of all batches, which `compare` and `report` take too."""
        if not self._batches:
            raise InputError("no ranks yet; call update with a batch first")
        counts = Counts(*map(np.concatenate, zip(*self._batches, strict=True)))
        candidates = counts.candidates
        users: Any = np.concatenate(self._users) if self._users else None
        if self._n_negatives is None:
            if self._n_items is None and (candidates == candidates[0]).all():
                ask_of_seen_items(candidates.size, int(candidates[0]))
            n_found = None if (counts.n_found == 1).all() else counts.n_found
            n_missing = int(np.count_nonzero(counts.lost))
            better, tied = counts.better, counts.tied
            full = Ranks(
                candidates, better, tied, n_found=n_found, users=users, n_missing=n_missing
            )
            question_ranks(full)
            return full
        ties = "random" if self._ties is None else self._ties
        check_arguments(tie_policy=ties)
        sampled = SampledRanks.from_counts(
            Samples.of_rows(counts, users),
            n_items=self._n_items,
            n_negatives=self._n_negatives,
            sampling=self._sampling,
            ties=ties,
            seed=self._seed,
        )
        question_samples(sampled)
        return sampled

    @with_questions
    def compute(self) -> Results[Evaluated] | Results[Corrected]:
        """Return the results of `evaluate` or `correct` for all batches together."""
        ranks = self.ranks()
        if isinstance(ranks, SampledRanks):
            return correct(ranks, self._metrics, confidence=self._confidence)
        ties = "expected" if self._ties is None else self._ties
        return evaluate(
            ranks, self._metrics, ties=ties, confidence=self._confidence, seed=self._seed
        )

    def __len__(self) -> int:
        """Return the number of rows of all batches."""
        return sum(batch.candidates.size for batch in self._batches)

    def _of_scores(self, scores: ArrayLike, positive: ArrayLike) -> tuple[Counts, int | None]:
        """Return the counts of scores, and the number of negatives, None of full rankings."""
        matrix = as_array(scores, "scores")
        width = matrix.shape[-1]
        m = self._given_negatives
        if m is not None and width != m + 1:
            raise InputError(f"scores have {width} columns; expected {m + 1}, 1 + n_negatives")
        if m is None and self._n_items is not None:
            if width > self._n_items:
                raise InputError(
                    f"scores have {width} columns, more than n_items, {self._n_items}; "
                    "leave n_items out if they are of all items"
                )
            if width < self._n_items:
                m = width - 1
        return counts_beside(matrix, positive, is_full=m is None, missing=self._missing), m

    def _of_ranks(self, ranks: ArrayLike) -> tuple[Counts, int | None]:
        """Return the counts of ranks without ties, likewise."""
        values: Int = integers("ranks", ranks, is_column=True)
        m = self._given_negatives
        most = self._n_items if m is None else m + 1
        if most is None:
            raise InputError("ranks need n_items, and n_negatives if they are among negatives")
        require("ranks", values, (values >= 1) & (values <= most), f"1 to {most}")
        none = np.zeros_like(values)
        return Counts(np.full_like(values, most), values - 1, none, none + 1, none), m


def _is_empty(batch: Any) -> bool:
    """Return whether a batch has no rows."""
    if isinstance(batch, list | tuple):
        return not batch
    return tuple(getattr(batch, "shape", ()))[:1] == (0,)


def _in_memory(values: Any) -> Any:
    """Return a tensor of torch without its device and its gradients; anything else as it is."""
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        return values.detach().cpu()
    return values


def _kind(n_negatives: int | None) -> str:
    if n_negatives is None:
        return "scores of all items"
    return f"{n_negatives} negatives"
