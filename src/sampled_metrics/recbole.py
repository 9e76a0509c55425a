"""A metric for RecBole: exact metrics with intervals, or their range given sampled negatives.

Importing this module adds `Exact` to the metrics of RecBole. With `mode: full` it computes exact
metrics of the ranks that the collector of RecBole gathers. With `mode: uni100` it computes the
range of the exact metrics and the number to quote, which needs `n_items` in the configuration. With
`mode: pop100` the range is wide and there is no number, because RecBole does not keep which
negatives were better; it also needs `item_counts`. Each user must have one held-out item, as after
`split: {LS: valid_and_test}`. docs/meter.md shows a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import nan
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from recbole.evaluator import register
from recbole.utils import EvaluatorType

from sampled_metrics._base.defaults import DEFAULT_CONFIDENCE
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.random_streams import generator
from sampled_metrics.evaluation.correct import correct
from sampled_metrics.evaluation.evaluate import evaluate
from sampled_metrics.intervals.kernels import last_shaped_rank
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.intervals.rank_only_ranges import (
    item_draws,
    rank_only_ranges,
)
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.printed.popular import Popularity, read_popularity
from sampled_metrics.ranks import Ranks, SampledRanks, Sampling

if TYPE_CHECKING:
    from recbole.config import Config
    from recbole.data.dataloader import AbstractDataLoader
    from recbole.data.dataset import Dataset
    from recbole.evaluator.collector import DataStruct
    from recbole.trainer import Trainer

NAME = "exact"
_DEFAULT_METRICS = ("recall", "ndcg")  # without exact_metrics in the configuration


class Exact:
    """Exact metrics at each of `topk`: an interval or a range, and a value to quote.

    Keys are, for example, `exact_recall@10_low`, `exact_recall@10` and `exact_recall@10_high`. The
    second is the value of full rankings, or the number to quote, which is nan if its interval is
    too wide.
    """

    metric_type = EvaluatorType.RANKING
    metric_need = ("rec.meanrank",)
    smaller = False

    def __init__(self, config: Config) -> None:
        self.decimal_place = config["metric_decimal_place"]
        names = config["exact_metrics"] or _DEFAULT_METRICS
        self._metrics = [f"{name}@{k}" for name in names for k in config["topk"]]
        self._n_items = config["n_items"]
        self._n_negatives: int | None = None
        self._popularity: Popularity | None = None
        self.ranks: Ranks | SampledRanks | None = None
        if not config["single_spec"]:
            raise InputError("ranges of several processes cannot be averaged; evaluate in one")
        for mode in config["eval_args"]["mode"].values():
            if mode.startswith(("uni", "pop")):
                self._set_n_negatives(mode)
            if mode.startswith("pop"):
                self._popularity = read_popularity(config["item_counts"], 1.0)
                if self._popularity is None:
                    raise InputError(
                        f"mode {mode} needs item_counts in the configuration, how often each item "
                        "occurs; sampled_metrics.recbole.item_counts(dataset) returns it"
                    )

    @property
    def is_by_popularity(self) -> bool:
        """Whether negatives are drawn by popularity."""
        return self._popularity is not None

    def _set_n_negatives(self, mode: str) -> None:
        """Set the number of negatives from a mode such as uni100, the same for all splits."""
        n_negatives = int(mode.removeprefix("uni").removeprefix("pop"))
        if self._n_negatives not in (None, n_negatives):
            raise InputError("mode: valid and test have different numbers of negatives")
        if self._n_items is None:
            raise InputError(
                f"mode {mode} needs n_items in the configuration, the number of candidates of a "
                "full ranking; sampled_metrics.recbole.n_items(test_data) returns it"
            )
        self._n_negatives = n_negatives

    def calculate_metric(self, dataobject: DataStruct) -> dict[str, float]:
        """Return the metrics by key, computed from the data that RecBole collected."""
        self.ranks = self._to_ranks(dataobject.get("rec.meanrank").numpy().astype(np.float64))
        values: dict[str, float] = {}
        for metric, low, value, high in self._values_with_ends(self.ranks):
            key = f"{NAME}_{metric}"
            values |= {f"{key}_low": low, key: value, f"{key}_high": high}
        return {key: round(value, self.decimal_place) for key, value in values.items()}

    def _values_with_ends(
        self, ranks: Ranks | SampledRanks
    ) -> Iterator[tuple[str, float, float, float]]:
        """Yield the name, the low end, the value and the high end of each metric.

        The ends are those of the range, or of the interval of full rankings; the value is nan if
        there is none to quote.
        """
        if isinstance(ranks, Ranks):
            for evaluated in evaluate(ranks, self._metrics):
                yield evaluated.metric, evaluated.ci_low, evaluated.value, evaluated.ci_high
        elif self._popularity is not None:
            for metric, allowed in self._popular_ranges(ranks, self._popularity).items():
                yield metric, allowed.low, nan, allowed.high
        else:
            for corrected in correct(ranks, self._metrics, "likely"):
                yield corrected.metric, corrected.range_low, corrected.value, corrected.range_high

    def _popular_ranges(self, ranks: SampledRanks, popularity: Popularity) -> dict[str, Range]:
        """Return the range of each metric that ranks among negatives by popularity allow."""
        measures = [parse_measure(name) for name in self._metrics]
        draws = item_draws(
            popularity.counts,
            popularity.power,
            ranks.mean_candidates,
            ranks.n_negatives,
            str(ranks.sampling),
        )
        cutoff = max(measure.cutoff or 0 for measure in measures)
        last_shaped = last_shaped_rank(draws.n, draws.m, cutoff)
        found = rank_only_ranges(
            ranks.sampled_ranks, draws, measures, last_shaped, DEFAULT_CONFIDENCE
        )
        if any(each.is_inverted for each in found):
            raise InputError(
                "no distribution of true ranks explains the ranks among negatives by popularity; "
                "check n_items and item_counts, or evaluate with full"
            )
        return dict(zip(self._metrics, found, strict=True))

    def _to_ranks(self, collected: NDArray[np.float64]) -> Ranks | SampledRanks:
        """Convert what RecBole collects for each user to ranks.

        A mean rank of r + 1/2 stands for the tied ranks r and r + 1; sampled ranks draw one of
        them.

        Parameters
        ----------
        collected
            Mean rank among ties, number of candidates and number of held-out items; shape
            (users, 3).
        """
        mean_rank, n_candidates, n_held_out = collected.T
        n_several = int((n_held_out != 1).sum())
        if n_several:
            raise InputError(
                f"{n_several} users have several held-out items, for which RecBole sums the ranks; "
                "split by {'LS': 'valid_and_test'}"
            )
        rank = np.floor(mean_rank).astype(np.int64)
        is_tied = (mean_rank > rank).astype(np.int64)  # 1 for a mean rank between two ranks
        m = self._n_negatives
        if m is None or n_candidates.max() > m + 1:
            return Ranks(n_candidates.astype(np.int64), n_better=rank - 1, n_tied=is_tied)
        loses_tie = generator(0, NAME).integers(0, 2, rank.size)  # 0 or 1
        return SampledRanks(rank + is_tied * loses_tie, self._n_items, m, Sampling.DISTINCT)


def n_items(data: AbstractDataLoader) -> int:
    """Return the mean number of candidates of a full ranking, from the data loader of a test."""
    dataset = data._dataset  # `data.dataset` is an object of torch before the first batch
    if data.config["repeatable"]:  # then seen items are candidates
        return int(dataset.item_num) - 1  # without the padding item
    users = dataset.inter_feat[dataset.uid_field].unique().tolist()
    n_used = [len(data._sampler.used_ids[user]) for user in users]  # including the held-out item
    return round(dataset.item_num - float(np.mean(n_used)))


def item_counts(dataset: Dataset) -> dict[int, int]:
    """Return how often each item occurs in a data set, by which RecBole draws for `pop100`."""
    counts = np.bincount(np.asarray(dataset.inter_feat[dataset.iid_field]))
    return {item: int(count) for item, count in enumerate(counts.tolist()) if count}


def ranks_of(trainer: Trainer) -> Ranks | SampledRanks:
    """Return the ranks of the last evaluation of a trainer, for `compare` and `report`."""
    metric = trainer.evaluator.metric_class[NAME]
    if metric.is_by_popularity:
        raise InputError(
            "ranks among negatives by popularity (mode pop) decide no order; evaluate with full or "
            "uni100"
        )
    ranks: Ranks | SampledRanks | None = metric.ranks
    if ranks is None:
        raise InputError("no evaluation yet; call trainer.evaluate first")
    return ranks


register.metrics_dict[NAME] = Exact
register.metric_information[NAME] = Exact.metric_need
register.metric_types[NAME] = Exact.metric_type
