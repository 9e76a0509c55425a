"""Evaluate published models among published negatives: the numbers of docs/notebooks/gallery.py.

    MOVIELENS_ARCHIVE=ml-1m.zip \
        python -m sampled_metrics_study.published_negatives

Reads what `sampled_metrics_study.ncf` writes to results/ncf, trains X, Y and Z of the paper, and
writes to results/reference/ncf: ranks among the published negatives (`NAME.sampled.parquet`), exact
metrics and the ranges that these ranks allow (`values.csv`), the orders of all pairs by ranges and
by an evaluation on a budget (`orders.csv`), and the results of `check-negatives` (`checks.csv`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import sampled_metrics as sm
from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.threads import one_thread
from sampled_metrics.evaluation.rank import rank
from sampled_metrics_study.data.split import Split
from sampled_metrics_study.paper import REFERENCE, ROOT, Paper, read_paper
from sampled_metrics_study.program import program
from sampled_metrics_study.recommenders import create
from sampled_metrics_study.recommenders.factors import ALS, ALSSettings
from sampled_metrics_study.recommenders.ranking import read_scores

SCORES = ROOT / "results/ncf"
FOLDER = REFERENCE / "ncf"
TRAINED = ("X", "Y", "Z")
PUBLISHED = ("GMF", "MLP")
# A small ALS, which is cheap to score with.
PROXY_SETTINGS = {"d": 8, "lambda": 10.0, "alpha": 0.2, "iterations": 15}
METRICS = ("recall@10", "ndcg@10", "ap")
ORDER_BY_SIGN = ("undecided", "b", "a")  # for b - a of sign 0, 1 and -1


@dataclass(frozen=True)
class Negatives:
    """Negatives of all evaluated users, by published ids and by numbers of the split."""

    table: pd.DataFrame
    user: Int
    item: Int

    @property
    def per_user(self) -> int:
        """Number of negatives of a user; it is the same for all."""
        (count,) = set(np.bincount(self.user).tolist())
        return int(count)


@dataclass(frozen=True)
class ScoredRecommender:
    """A recommender's scores of all items, and its ranks among all items and among negatives."""

    scores: Float
    full: sm.Ranks
    sampled: sm.SampledRanks


def read_negatives(path: Path, split: Split) -> Negatives:
    """Read the published negatives, a table of `user_id` and `item_id`."""
    table = pd.read_csv(path)
    user = pd.Index(split.evaluated_ids).get_indexer(pd.Index(table["user_id"]))
    item = pd.Index(split.item_ids).get_indexer(pd.Index(table["item_id"]))
    if min(user.min(), item.min()) < 0:
        raise SystemExit(f"{path}: some users or items are not in the split")
    return Negatives(table, user.astype(np.int64), item.astype(np.int64))


def score_recommender(paper: Paper, name: str, negatives: Negatives) -> ScoredRecommender:
    """Train a recommender or read its scores, and rank the held-out items.

    Ties with negatives are broken at random. A held-out item among its own negatives does not
    count.
    """
    split = paper.split
    if name in PUBLISHED:
        scorer = read_scores(SCORES / f"{name}.npz", split)
        scores = scorer(np.arange(split.held_out.size))
    else:
        entry = paper.entry(name)
        model = create(entry.kind, entry.settings).fit(split.train)
        scorer = model.scorer
        scores = np.asarray(model.score(np.arange(split.held_out.size)))
    full = rank(scorer, split.seen, split.held_out)
    left_out: NDArray[np.bool_] = np.ones(scores.shape, dtype=bool)
    left_out[negatives.user, negatives.item] = False
    left_out[np.arange(split.held_out.size), split.held_out] = False
    ranks_among_negatives = rank(scorer, left_out, split.held_out)
    places = generator(0, "negatives", name).integers(0, ranks_among_negatives.n_tied + 1)
    sampled = sm.SampledRanks(
        ranks_among_negatives.best_rank + places,
        split.n_candidates,
        negatives.per_user,
        users=np.arange(split.held_out.size),
    )
    return ScoredRecommender(scores, full, sampled)


def exact_metrics(recommender: ScoredRecommender) -> dict[str, float]:
    """Return the exact metrics by name."""
    results = sm.evaluate(recommender.full, METRICS)
    return {result.metric: result.value for result in results}


def value_table(recommenders: Mapping[str, ScoredRecommender]) -> pd.DataFrame:
    """Tabulate sampled metrics, the ranges that they allow, and exact metrics."""
    rows = []
    for name, recommender in recommenders.items():
        exact = exact_metrics(recommender)
        for correction in sm.correct(recommender.sampled, METRICS, "sampled"):
            row = {
                "recommender": name,
                "metric": correction.metric,
                "n_negatives": recommender.sampled.n_negatives,
                "sampled": correction.value,
                "range_low": correction.range_low,
                "range_high": correction.range_high,
                "exact": exact[correction.metric],
            }
            rows.append(row)
    return pd.DataFrame(rows)


def order_table(recommenders: Mapping[str, ScoredRecommender], split: Split) -> pd.DataFrame:
    """Tabulate the orders of all pairs: exact, by the ranges that negatives allow, and on a budget.

    Differences are b - a. The budget is the default; the proxy is a small ALS.
    """
    exact = {name: exact_metrics(recommender) for name, recommender in recommenders.items()}
    scores = {name: recommender.scores for name, recommender in recommenders.items()}
    small = ALS(ALSSettings.model_validate(PROXY_SETTINGS)).fit(split.seen)
    on_budget = sm.evaluate_on_budget(
        scores,
        METRICS,
        relevant=split.held_out,
        seen=split.seen,
        proxy=(small.user_vectors, small.item_vectors),
    )
    budget_comparisons = {
        (comparison.a, comparison.b, comparison.metric): comparison
        for comparison in on_budget.compare()
    }
    samples = {name: recommender.sampled for name, recommender in recommenders.items()}
    rows = []
    for comparison in sm.compare(samples, METRICS, "sampled"):
        by_budget = budget_comparisons[comparison.a, comparison.b, comparison.metric]
        difference = exact[comparison.b][comparison.metric] - exact[comparison.a][comparison.metric]
        row = {
            "a": comparison.a,
            "b": comparison.b,
            "metric": comparison.metric,
            "exact": difference,
            "exact_order": ORDER_BY_SIGN[int(np.sign(difference))],
            "range_low": comparison.range_low,
            "range_high": comparison.range_high,
            "sampled_order": comparison.order,
            "scores_per_user": max(on_budget.scores_per_user),
            "budget_low": by_budget.range_low,
            "budget_high": by_budget.range_high,
            "budget_order": by_budget.order,
        }
        rows.append(row)
    return pd.DataFrame(rows)


def check_table(negatives: Negatives, split: Split) -> pd.DataFrame:
    """Tabulate the checks of the negatives by `check_negatives`."""
    seen = split.seen.tocoo()
    events = {
        "user_id": split.evaluated_ids[seen.row],
        "item_id": split.item_ids[seen.col],
    }
    held_out = {"user_id": split.evaluated_ids, "item_id": split.held_out_ids}
    checks = sm.check_negatives(negatives.table, pd.DataFrame(held_out), pd.DataFrame(events))
    return checks.to_frame()


@one_thread()
def main() -> None:
    """Score and rank, compare, and write all files."""
    paper = read_paper()
    negatives = read_negatives(SCORES / "negatives.csv", paper.split)
    recommenders = {
        name: score_recommender(paper, name, negatives) for name in (*TRAINED, *PUBLISHED)
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, recommender in recommenders.items():
        recommender.sampled.write(FOLDER / f"{name}.sampled.parquet")
    tables = {
        "values": value_table(recommenders),
        "orders": order_table(recommenders, paper.split),
        "checks": check_table(negatives, paper.split),
    }
    for name, table in tables.items():
        table.to_csv(FOLDER / f"{name}.csv", index=False, float_format="%.10g")


if __name__ == "__main__":
    with program():
        main()
