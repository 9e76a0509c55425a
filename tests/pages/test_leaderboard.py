"""The leaderboard: expected metrics, places and orders against m random items."""

import json
import re
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import hypergeom

from sampled_metrics import compare, evaluate
from sampled_metrics.metrics import parse_measures
from sampled_metrics.pages.leaderboard import (
    board_headline,
    board_sizes,
    build_board,
    describe_wrong_pair,
    place_brackets,
    places_by_size,
    undecided_apart,
    undecided_runs,
)
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling.draws import draw_sampled_ranks
from sampled_metrics_study.config import STORED_RANKS
from sampled_metrics_study.page.contents import PAPERS_RECOMMENDERS, leaderboard_ranks
from tests.conftest import ROOT

REFERENCE = ROOT / "results/reference"


@pytest.fixture(scope="module")
def records():
    trained_ranks = {
        name: Ranks.read(REFERENCE / f"ranks/{name}.parquet") for name in PAPERS_RECOMMENDERS
    }
    return leaderboard_ranks(
        trained_ranks, [REFERENCE / f"{name}.parquet" for name in STORED_RANKS], is_paper=True
    )


@pytest.fixture(scope="module")
def content(records):
    return build_board(records, parse_measures("hr@10, ndcg@10"))


def test_reference_board_has_13_wrong_pairs(content):
    at = content["sizes"].index(100)
    boards = content["metrics"].values()
    assert [(board["wrong"][at], board["decided"]) for board in boards] == [(13, 30), (11, 29)]
    assert all(board["wrong"][-1] == 0 and not board["shown"][-1] for board in boards)


def test_wrong_pairs_match_compare(records, content):
    names = list(records)
    decided = [p for p in compare(records, "hr@10") if p.order != "undecided"]
    board = content["metrics"]["HR@10"]
    for column in (0, content["sizes"].index(100), -1):
        here = dict(zip(names, np.array(board["values"])[:, column], strict=True))
        wrong = sum(pair.difference * (here[pair.b] - here[pair.a]) < 0 for pair in decided)
        assert board["wrong"][column] == wrong


@pytest.mark.parametrize("m", [20, pytest.param(1000, marks=pytest.mark.long)])
def test_values_match_hypergeometric_distribution(records, content, m):
    ranks = records["item-kNN, 10 (Z)"]
    assert ranks.n_tied.max() > 1000
    top = np.arange(10)
    n, below, ties = (x[:, None] for x in (ranks.n_candidates, ranks.n_better, ranks.n_tied))
    ends = [hypergeom.sf(top, n, better, m + 1) for better in (below, below + ties + 1)]
    share = ((ends[1] - ends[0]) * n / ((m + 1) * (ties + 1))).sum(axis=1).mean()
    place = list(records).index("item-kNN, 10 (Z)")
    value = content["metrics"]["HR@10"]["values"][place][content["sizes"].index(m)]
    assert value == pytest.approx(share, abs=1e-6)


def test_values_match_mean_of_draws(records, content):
    ranks = records["item-kNN, 10 (Z)"]
    draws = draw_sampled_ranks(ranks, 100, np.random.default_rng(1).spawn(10))
    place = list(records).index("item-kNN, 10 (Z)")
    value = content["metrics"]["HR@10"]["values"][place][content["sizes"].index(100)]
    assert np.mean(draws <= 10) == pytest.approx(value, abs=0.006)  # four standard errors


def test_last_size_is_exact(records, content):
    exact = [evaluate(ranks, "ndcg@10")[0].value for ranks in records.values()]
    board = content["metrics"]["NDCG@10"]
    assert [row[-1] for row in board["values"]] == pytest.approx(exact, abs=1e-6)
    assert sorted(row[-1] for row in board["places"]) == list(range(1, 11))


def test_few_negatives_reverse_the_only_pair():
    """Half of A's items are the best, and half far below; all of B's are a bit below the top 10."""
    of_a = Ranks([200] * 40, [0] * 20 + [*range(150, 190, 2)], [0] * 40)  # recall@10 is 1/2
    of_b = Ranks([200] * 40, [*range(11, 51)], [0] * 40)  # recall@10 is 0
    content = build_board({"A": of_a, "B": of_b}, parse_measures("hr@10"))
    board = content["metrics"]["HR@10"]
    assert board["decided"] == 1
    assert (board["wrong"][0], board["wrong"][-1]) == (1, 0)  # of fewest negatives, and of all
    assert board["shown"][0] == (0, 1)
    json.dumps(content)


@pytest.mark.parametrize(
    ("m", "n_wrong", "n_decided", "words"),
    [
        (15, 2, 3, "2 of 3 pairs"),
        (15, 1, 1, "the only pair"),
        (15, 0, 3, "no decided pair"),
        (15, 0, 1, "no decided pair"),
        (15, 0, 0, "no pair"),
        (None, 0, 3, "3 pairs"),  # over all items
    ],
)
def test_headline_has_the_numbers_of_pairs(m, n_wrong, n_decided, words):
    text = board_headline(m, n_wrong, n_decided)
    assert words in text
    assert ("15 random items" in text) == (m is not None and n_decided > 0)


def test_wrong_pair_has_sampled_values_before_exact_ones():
    """B, the worse one, has 0.5 against 0.4 among negatives, and 0.1 against 0.3 over all items."""
    sampled, exact = np.array([0.4, 0.5]), np.array([0.3, 0.1])
    text = describe_wrong_pair(["A", "B"], sampled, exact, (0, 1))
    assert re.findall(r"\b[AB]\b|[\d.]+(?=\s%)", text) == ["B", "A", "50.0", "40.0", "10.0", "30.0"]
    assert describe_wrong_pair(["A", "B"], sampled, exact, ()) == ""


def test_ties_keep_given_order():
    assert places_by_size(np.array([[0.5], [0.7], [0.5]])).ravel().tolist() == [2, 1, 3]


@pytest.mark.parametrize("most", [1, 2, 15, 99, 100, 5000])
def test_board_sizes_end_at_most(most):
    sizes = board_sizes(most)
    assert sizes[-1] == most
    assert sizes == sorted(set(sizes))
    assert all(m in sizes for m in (20, 50, 100) if m <= most)
    assert all(b > a for a, b in combinations(sizes, 2))


OF_55 = Ranks([50, 60], [1, 2], [0, 0])  # 55 candidates on average
OF_55_TOO = Ranks([60, 50], [2, 1], [0, 0])
OF_60 = Ranks([60, 60], [1, 2], [0, 0])


@pytest.mark.filterwarnings("ignore:data.*numbers of candidates")  # of two users
def test_board_shows_the_first_two_metrics_with_a_small_cutoff():
    """AP has none, and 200 is above MOST_CUTOFF."""
    measures = parse_measures("ap, hr@200, hr@10, hr@5, hr@1")
    board = build_board({"A": OF_55, "B": OF_55_TOO}, measures)
    assert list(board["metrics"]) == ["HR@10", "HR@5"]
    assert build_board({"A": OF_55, "B": OF_55_TOO}, parse_measures("ap, hr@200")) is None


@pytest.mark.filterwarnings("ignore:data.*numbers of candidates")  # of two users
@pytest.mark.parametrize("recommenders", [{"A": OF_55, "B": OF_60}, {"A": OF_55}])
def test_board_needs_two_recommenders_with_as_many_candidates(recommenders):
    assert build_board(recommenders, parse_measures("hr@10")) is None


def test_brackets_join_undecided_runs():
    """The order is d, b, e, a, c; decided pairs are d > a, d > c, b > c and e > c."""
    best_first = [3, 1, 4, 0, 2]
    orders = [(3, 0), (3, 2), (1, 2), (4, 2)]
    assert undecided_runs(best_first, orders) == [[1, 3], [2, 4], [4, 5]]
    assert undecided_apart(best_first, [[1, 3], [2, 4], [4, 5]], orders) == []
    assert undecided_apart([2, 1, 0], [], [(2, 1), (1, 0)]) == [(2, 0)]
    assert undecided_runs(best_first, list(combinations(best_first, 2))) == []
    assert undecided_runs(best_first, []) == [[1, 5]]
    assert place_brackets([[1, 3], [2, 4], [4, 5]]) == [[1, 3, 0], [2, 4, 1], [4, 5, 0]]


def test_brackets_match_compare(records, content):
    names = list(records)
    open_pairs = {
        frozenset((pair.a, pair.b))
        for pair in compare(records, "hr@10")
        if pair.order == "undecided"
    }
    board = content["metrics"]["HR@10"]
    last = [row[-1] for row in board["places"]]
    at = dict(zip(last, names, strict=True))
    shown = {frozenset(names[i] for i in pair) for pair in board["apart"]}
    assert shown == {frozenset({"ALS 16 (X)", "BPR"})}
    for first, end, _ in board["together"]:
        for pair in combinations(range(first, end + 1), 2):
            shown.add(frozenset(at[place] for place in pair))
    assert shown == open_pairs
    assert all(name in board["caption"] for name in ("ALS 16 (X)", "BPR"))
    assert board["together"][0][0] == 1  # the first places are undecided
    assert board["decided"] == 45 - len(open_pairs)


def test_headline_without_decided_pair():
    few = Ranks([50] * 4, [1, 2, 30, 40], [0] * 4)
    board = build_board({"A": few, "B": few}, parse_measures("hr@10"))["metrics"]["HR@10"]
    assert board["decided"] == 0
    for confidence, level in ((0.95, "95"), (0.9, "90")):
        content = build_board({"A": few, "B": few}, parse_measures("hr@10"), confidence=confidence)
        assert content["level"] == level
    assert board["wrong"] == [0] * len(board["wrong"])
    assert board["together"] == [[1, 2, 0]]
