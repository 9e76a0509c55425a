"""A metric of RecBole: exact metrics with intervals, or the range that samples allow for them.

Its import adds `Exact` to the metrics of RecBole. With `mode: full` it computes exact metrics of
the ranks that RecBole's collector gathers, and with `mode: uni100` the range of the exact metrics
and the number to quote, which needs `n_items` in the configuration. Each user has one held-out
item, as after `split: {LS: valid_and_test}`. docs/meter.md shows a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from recbole.evaluator import register
from recbole.utils import EvaluatorType

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.random_streams import generator
from sampled_metrics.evaluation.correct import correct
from sampled_metrics.evaluation.evaluate import evaluate
from sampled_metrics.ranks import Ranks, SampledRanks, Sampling

if TYPE_CHECKING:
    from recbole.config import Config
    from recbole.data.dataloader import AbstractDataLoader
    from recbole.evaluator.collector import DataStruct
    from recbole.trainer import Trainer

NAME = "exact"
_METRICS = ("recall", "ndcg")  # unless the configuration has exact_metrics


class Exact:
    """Exact metrics at each of `topk`: their interval or range, and a value to quote.

    Keys are such as `exact_recall@10_low`, `exact_recall@10` and `exact_recall@10_high`. The second
    is the value of full rankings, or the number to quote, nan if its interval is too wide.
    """

    metric_type = EvaluatorType.RANKING
    metric_need = ("rec.meanrank",)
    smaller = False

    def __init__(self, config: Config) -> None:
        self.decimal_place = config["metric_decimal_place"]
        names = config["exact_metrics"] or _METRICS
        self._metrics = [f"{name}@{k}" for name in names for k in config["topk"]]
        self._n_items = config["n_items"]
        self._n_negatives: int | None = None
        self.ranks: Ranks | SampledRanks | None = None
        if not config["single_spec"]:
            raise InputError("ranges of several processes cannot be averaged; evaluate in one")
        for mode in config["eval_args"]["mode"].values():
            if mode.startswith("pop"):
                Sampling("popularity")  # raises an InputError that says why
            if mode.startswith("uni"):
                self._take_negatives(mode)

    def _take_negatives(self, mode: str) -> None:
        """Take the number of negatives from a mode such as uni100, the same for all."""
        n_negatives = int(mode.removeprefix("uni"))
        if self._n_negatives not in (None, n_negatives):
            raise InputError("mode: valid and test have different numbers of negatives")
        if self._n_items is None:
            raise InputError(
                f"mode {mode} needs n_items in the configuration, the candidates of a full "
                "ranking; sampled_metrics.recbole.n_items(test_data) returns them"
            )
        self._n_negatives = n_negatives

    def calculate_metric(self, dataobject: DataStruct) -> dict[str, float]:
        """Return the metrics by key, from the data that RecBole collected."""
        self.ranks = self._ranks(dataobject.get("rec.meanrank").numpy().astype(np.float64))
        found: dict[str, float] = {}
        if isinstance(self.ranks, SampledRanks):
            for one in correct(self.ranks, self._metrics, "likely"):
                key = f"{NAME}_{one.metric}"
                found[f"{key}_low"] = one.range_low
                found[key] = one.value
                found[f"{key}_high"] = one.range_high
        else:
            for exact in evaluate(self.ranks, self._metrics):
                key = f"{NAME}_{exact.metric}"
                found[f"{key}_low"] = exact.ci_low
                found[key] = exact.value
                found[f"{key}_high"] = exact.ci_high
        return {key: round(number, self.decimal_place) for key, number in found.items()}

    def _ranks(self, collected: NDArray[np.float64]) -> Ranks | SampledRanks:
        """Take the mean rank among ties, the number of candidates and of held-out items by user."""
        rank, n_candidates, n_held_out = collected.T
        several = int((n_held_out != 1).sum())
        if several:
            raise InputError(
                f"{several} users have several held-out items, whose ranks RecBole adds up; split "
                "by {'LS': 'valid_and_test'}"
            )
        place = np.floor(rank).astype(np.int64)
        is_between = rank > place  # two places, of an odd number of ties
        m = self._n_negatives
        if m is None or n_candidates.max() > m + 1:
            return Ranks(n_candidates.astype(np.int64), place - 1, is_between.astype(np.int64))
        draws = generator(0, NAME).integers(0, 2, place.size)
        return SampledRanks(place + is_between * draws, self._n_items, m, Sampling.DISTINCT)


def n_items(data: AbstractDataLoader) -> int:
    """Return the mean number of candidates of a full ranking, from the data loader of a test."""
    dataset = data._dataset  # before the first batch `dataset` is torch's
    if data.config["repeatable"]:  # seen items are candidates
        return int(dataset.item_num) - 1  # without padding
    users = dataset.inter_feat[dataset.uid_field].unique().tolist()
    used = [len(data._sampler.used_ids[user]) for user in users]  # the held-out item is one of them
    return round(dataset.item_num - float(np.mean(used)))


def ranks_of(trainer: Trainer) -> Ranks | SampledRanks:
    """Return the ranks of a trainer's last evaluation, which `compare` and `report` take."""
    ranks: Ranks | SampledRanks | None = trainer.evaluator.metric_class[NAME].ranks
    if ranks is None:
        raise InputError("no evaluation yet; call trainer.evaluate first")
    return ranks


register.metrics_dict[NAME] = Exact
register.metric_information[NAME] = Exact.metric_need
register.metric_types[NAME] = Exact.metric_type
