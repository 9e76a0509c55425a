"""Exports of RecTools and RecBole give the metrics that these packages print.

The packages wrote the files in tests/golden/libraries for made-up data; metrics.json names their
versions. `python -m benchmarks.archive.exports` writes them again.
"""

import json

import numpy as np
import pytest

from sampled_metrics.evaluation.evaluate import evaluate
from sampled_metrics.read.options import as_ranks
from tests.conftest import ROOT

GOLDEN = ROOT / "tests/golden/libraries"
K = 10
pytestmark = pytest.mark.filterwarnings("ignore:.*held-out items are above")  # hardly


def metrics_by_hand(ranks):
    """Return mean recall@10, NDCG@10 and AP@10 by their definitions, user by user."""
    assert not ranks.n_tied.any()
    recall, ndcg, ap = [], [], []
    for user, n_relevant in enumerate(ranks.n_relevant):
        places = np.sort(ranks.n_better[user_of_each_rank(ranks) == user] + 1)
        hits = places[places <= K]
        best_places = np.arange(1, min(K, n_relevant) + 1)
        recall.append(len(hits) / n_relevant)
        ndcg.append((1 / np.log2(hits + 1)).sum() / (1 / np.log2(best_places + 1)).sum())
        ap.append(sum(n_hits / place for n_hits, place in enumerate(hits, 1)) / n_relevant)
    means = np.mean([recall, ndcg, ap], axis=1)
    return dict(zip(("recall@10", "ndcg@10", "ap@10"), means, strict=True))


def user_of_each_rank(ranks):
    return np.repeat(np.arange(len(ranks)), ranks.n_found)


def printed_metrics(package):
    return json.loads((GOLDEN / package / "metrics.json").read_text())["metrics"]


@pytest.mark.parametrize(
    ("package", "name", "relevant"),
    [
        ("rectools", "reco.csv", "relevant.csv"),
        ("recbole", "topk.csv", "relevant.csv"),
        ("recbole", "scores.npy", "relevant_rows.csv"),
    ],
)
def test_metrics_match_the_package(package, name, relevant):
    folder = GOLDEN / package
    ranking = as_ranks(folder / name, relevant=folder / relevant)
    assert len(ranking) == 60
    printed = printed_metrics(package)
    # RecBole scores in single precision, averages in double precision and prints ten decimals.
    assert metrics_by_hand(ranking) == pytest.approx(printed, abs=1e-9)
    # Both divide AP@10 by all relevant items; no user has more than ten.
    ours = {result.metric: result.value for result in evaluate(ranking, [*printed])}
    assert ours == pytest.approx(printed, abs=1e-9)


def test_topk_of_recbole_matches_its_scores():
    folder = GOLDEN / "recbole"
    whole = as_ranks(folder / "scores.npy", relevant=folder / "relevant_rows.csv")
    # Of 40 items, the 8 of training and one of validation are masked.
    assert set(whole.n_candidates.tolist()) == {40 - 8 - 1} == set(whole.depth.tolist())
    top = as_ranks(folder / "topk.csv", relevant=folder / "relevant.csv")
    shown = whole.n_better < K
    ranks_of_scores = zip(
        user_of_each_rank(whole)[shown].tolist(),
        whole.n_better[shown].tolist(),
        strict=True,
    )
    ranks_of_topk = zip(user_of_each_rank(top).tolist(), top.n_better.tolist(), strict=True)
    assert sorted(ranks_of_scores) == sorted(ranks_of_topk)
