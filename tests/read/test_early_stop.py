"""Rankings that end at the cut-off of the metrics give the numbers of full rankings."""

from collections import Counter
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics.evaluation import compare, evaluate
from sampled_metrics.read import (
    comparisons,
    counting,
    early_stop,
    item_tiles,
    pair_scores,
    products,
)
from sampled_metrics.read.early_stop import EarlyStop
from tests.helpers.caught_warnings import warns_about, with_warnings
from tests.helpers.relevance import ALL_KINDS, metric_by_definition, orders_with_ties

# Equal vectors are meant: ties are counted exactly.
pytestmark = pytest.mark.filterwarnings("ignore:.*equal another")

USERS, ITEMS, D = 30, 90, 5  # two blocks of users, six tiles of items
KINDS_OF_METRICS = [kind for kind in ALL_KINDS if kind != "recall-micro"]
KINDS = ("far", "ties", "zeros", "negative", "lengths", "equal lengths", "all equal")
NUMBERS = (np.float16, np.float32, np.float64)


@pytest.fixture
def _small_blocks(monkeypatch):
    monkeypatch.setattr(item_tiles, "FIRST_TILE", 4)
    monkeypatch.setattr(item_tiles, "FIRST_SORTED", 8)
    monkeypatch.setattr(products, "TILE_ITEMS", 16)
    monkeypatch.setattr(products, "PAIRS_AT_A_TIME", 8)
    monkeypatch.setattr(counting, "USERS_AT_A_TIME", 25)
    monkeypatch.setattr(counting, "_MIN_USERS_PER_THREAD", 5)
    monkeypatch.setattr(products, "_TILES_BEFORE_SHARING", 1)
    monkeypatch.setattr(comparisons, "_PAIRS_TO_SEARCH_ROW", 3)
    monkeypatch.setattr(comparisons, "_COLUMNS_TO_SORT", 7)
    monkeypatch.setattr(pair_scores, "FIRST_ITEMS", 4)
    monkeypatch.setattr(pair_scores, "PAIRS_PER_CALL", 200)


def random_vectors(kind, rng, n_users=USERS, n_items=ITEMS):
    """Return vectors of users and items whose inner products are of some kind."""
    users, items = rng.normal(size=(n_users, D)), rng.normal(size=(n_items, D))
    users[:, 0] += 1.0
    if kind == "ties":
        users, items = np.rint(users), np.rint(items)
    if kind == "zeros":
        items[rng.random(n_items) < 0.5] = 0.0
    if kind == "negative":
        users, items = np.abs(users), -np.abs(items)
    if kind == "lengths":
        items *= rng.lognormal(0.0, 1.5, (n_items, 1))
    if kind == "equal lengths":
        items /= np.linalg.norm(items, axis=1, keepdims=True)
    items[::9] = items[0]
    if kind == "all equal":
        items[:] = items[0]
    return users, items


def random_items(rng, scores, several):
    """Return marks of relevant items, which tend to have high scores, and of seen items."""
    noisy = scores + scores.std() * rng.normal(size=scores.shape)
    relevant = noisy >= np.sort(noisy, axis=1)[:, [-several]]
    if several > 1:
        relevant &= rng.random(relevant.shape) < 0.9
        relevant[rng.random(len(relevant)) < 0.2] = False
    seen = (rng.random(scores.shape) < rng.choice([0.05, 0.4])) & ~relevant
    return relevant, seen


def counts_by_scores(scores, relevant, seen, up_to):
    """Count better and tied candidates of each user's relevant items, best first, below `up_to`."""
    results = []
    for row, is_relevant, is_seen in zip(scores, relevant, seen, strict=True):
        counts = [
            (
                int((row[~is_seen] > row[item]).sum()),
                int((row[~is_seen] == row[item]).sum()) - 1,
            )
            for item in np.flatnonzero(is_relevant)
        ]
        if counts:
            results.append(sorted(pair for pair in counts if pair[0] < up_to))
    return results


def counts_by_user(ranks):
    pairs = list(zip(ranks.n_better.tolist(), ranks.n_tied.tolist(), strict=True))
    ends = np.append(0, ranks.n_found.cumsum())
    return [pairs[a:b] for a, b in pairwise(ends)]


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("kind", KINDS)
def test_truncated_ranks_match_all_scores(kind, number):
    """Each kind with each type of numbers, and both with one, 5 and 40 relevant items."""
    case = KINDS.index(kind)
    rng = np.random.default_rng(case)
    several = (1, 5, 40)[(case + NUMBERS.index(number)) % 3]
    for up_to in (1, 2, 10, ITEMS):
        users, items = (part.astype(number) for part in random_vectors(kind, rng))
        exact = np.einsum("uf,if->ui", users.astype(float), items.astype(float))
        relevant, seen = random_items(rng, exact, several)
        expected = counts_by_scores(exact, relevant, seen, up_to)
        held_out = relevant if several > 1 else relevant.argmax(axis=1)

        def pairs(users, items, scores=exact, seen=seen):
            assert not seen[users, items].any()
            return scores[users, items]

        for score, more in (
            ((users, items), {}),
            ((users, items), {"n_jobs": 3}),  # each thread has its own users
            ((users, items), {"n_jobs": 18}),  # three threads have the same ones
            (exact, {}),
            (pairs, {"n_items": ITEMS, "block_size": 7}),
        ):
            ranks = sm.rank(score, csr_array(seen), held_out, up_to=up_to, **more)
            assert counts_by_user(ranks) == expected
            n_candidates = ITEMS - seen.sum(axis=1)[relevant.any(axis=1)]
            assert ranks.n_candidates.tolist() == n_candidates.tolist()
            n_relevant = relevant.sum(axis=1)[relevant.any(axis=1)]
            is_truncated = [len(counts) for counts in expected] < n_relevant
            assert ranks.depth[is_truncated].tolist() == [up_to] * is_truncated.sum()
            assert ranks.depth[~is_truncated].tolist() == n_candidates[~is_truncated].tolist()
            assert ranks.n_relevant.sum() == relevant.sum()
            ranks._check(is_plain=False)


@pytest.fixture
def _small_samples(monkeypatch):
    monkeypatch.setattr(counting, "SAMPLED_ITEMS", 40)
    monkeypatch.setattr(counting, "LEAST_TO_SAMPLE", 100)


def results_and_warnings(call):
    """Return what the result of a call shows, its notes, and the warnings."""
    results, messages = with_warnings(call)
    shown = [
        repr(results),
        results.to_csv() if hasattr(results, "to_csv") else repr(list(results)),
    ]
    return shown, getattr(results, "notes", []), messages


TIES = ("expected", "optimistic", "pessimistic", "random")
METRICS = (
    "hr@10, ndcg@10",
    "recall@5, precision@20, ap@10, rr@10, f1@7, recall-micro@10, ndcg-by-relevant@3",
    "ndcg-by-k@10, ap-by-relevant@10, hr@1, hr@200",
)
HELD_OUT = (
    "near the top",
    "anywhere",
    "by the scores",
    "equal scores",
    "graded",
    "several",
)


@pytest.mark.parametrize("held_out", HELD_OUT)
@pytest.mark.parametrize("kind", ["lengths", "ties", pytest.param("zeros", marks=pytest.mark.long)])
def test_values_intervals_and_warnings_match_full_ranks(kind, held_out, monkeypatch, request):
    if kind == "ties":
        request.getfixturevalue("_small_samples")
    case = [KINDS.index(kind), HELD_OUT.index(held_out)]
    rng = np.random.default_rng(case)
    users, items = random_vectors(kind, rng, 400, 150)
    if held_out == "equal scores":
        users[::8] = 0.0
    users, items = users.astype(np.float32), items.astype(np.float32)
    scores = users @ items.T
    relevant, seen = random_items(rng, scores, 5 if held_out in ("graded", "several") else 1)
    arguments = relevant.argmax(axis=1)
    if held_out == "anywhere":
        arguments = rng.integers(0, 150, 400)
    if held_out == "by the scores":
        arguments = scores.argmax(axis=1)
    if held_out == "graded":
        arguments = relevant * rng.integers(1, 4, relevant.shape)
    elif held_out == "several":
        arguments = relevant
    else:
        seen[np.arange(400), arguments] = False
    noisy = (users + rng.normal(size=users.shape).astype(np.float32), items)
    options = {"relevant": arguments, "seen": csr_array(seen)}
    # over all cases, each kind, held-out item and metric meets each policy
    calls = [
        partial(
            sm.evaluate,
            (users, items),
            metrics,
            ties=TIES[(sum(case) + place) % 4],
            **options,
        )
        for place, metrics in enumerate(METRICS)
    ]
    calls.append(lambda: sm.values_by_user((users, items), METRICS[0], **options))
    for other in (noisy, (users, items)):
        calls.append(
            lambda other=other: sm.compare({"a": (users, items), "b": other}, METRICS[0], **options)
        )
    truncated = [results_and_warnings(call) for call in calls]
    for module in (evaluate, compare):
        monkeypatch.setattr(module, "early_stop_of", lambda *_: None)
    assert truncated == [results_and_warnings(call) for call in calls]


def values_by_policy(names, scores, relevant, seen):
    """Return metrics of a user over all orders of tied candidates; only NDCG uses grades."""
    candidates = np.flatnonzero(~seen)
    orders = Counter(
        tuple(relevant[candidates[list(order)]].tolist())
        for order in orders_with_ties(scores[candidates].tolist())
    )
    discounts = 1 / np.log2(np.arange(2, candidates.size + 2))
    values = []
    for grades in orders:
        is_relevant = [grade > 0 for grade in grades]
        gains = (grades * discounts).cumsum()
        ideal_gains = (sorted(grades, reverse=True) * discounts).cumsum()
        values.append([])
        for name in names:
            kind, k = name.split("@")
            if kind == "ndcg":
                last = min(int(k), len(grades)) - 1
                values[-1].append(gains[last] / ideal_gains[last])
            else:
                values[-1].append(metric_by_definition(name, is_relevant))
    table = pd.DataFrame(values, columns=names)
    shares = np.array(list(orders.values())) / orders.total()
    return {
        "expected": table.mul(shares, axis=0).sum(),
        "optimistic": table.max(),
        "pessimistic": table.min(),
    }


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("relevant", ["one", "several", "grades"])
def test_metrics_of_truncated_ranks_match_every_order(relevant, monkeypatch):
    """Includes few items, cut-offs above their number, and users without a relevant item."""
    monkeypatch.setattr(early_stop, "_FIRST_USERS", 1)
    monkeypatch.setattr(EarlyStop, "may_end", lambda *_: True)
    rng = np.random.default_rng(["one", "several", "grades"].index(relevant))
    kinds = [kind for kind in KINDS_OF_METRICS if relevant != "grades" or "ndcg-by" not in kind]
    for n_items in (2, 3, 6, 7):
        users = rng.integers(-1, 3, (9, 2))
        items = rng.integers(-1, 3, (n_items, 2))
        scores = users @ items.T
        chosen_items = rng.random(scores.shape).argsort(axis=1)
        relevant_items = (chosen_items < (1 if relevant == "one" else 3)).astype(int)
        relevant_items *= chosen_items < n_items - 1
        relevant_items[:, 0] |= relevant_items.sum(axis=1) == 0
        if relevant == "grades":
            relevant_items *= rng.integers(1, 4, relevant_items.shape)
        if relevant != "one":
            relevant_items[4] = 0
        seen = (rng.random(scores.shape) < 0.2) & (relevant_items == 0)
        # one candidate is not relevant
        seen[np.arange(9), relevant_items.argmin(axis=1)] = False
        rows = np.flatnonzero(relevant_items.any(axis=1))
        held_out = relevant_items.argmax(axis=1) if relevant == "one" else relevant_items
        by_policy = [
            values_by_policy(
                [f"{kind}@{k}" for k in (1, 2, 5, 9) for kind in kinds],
                scores[row],
                relevant_items[row],
                seen[row],
            )
            for row in rows
        ]
        for k in (1, 2, 5, 9):
            names = [f"{kind}@{k}" for kind in kinds]
            # each type of numbers meets each number of items, cut-off and policy
            for place, ties in enumerate(TIES[:3]):
                number = NUMBERS[(n_items + k + place) % 3]
                result = sm.values_by_user(
                    (users.astype(number), items.astype(number)),
                    names,
                    relevant=held_out,
                    seen=csr_array(seen),
                    ties=ties,
                )
                expected = [values[ties][names] for values in by_policy]
                np.testing.assert_allclose(result.to_numpy(), expected, atol=1e-12)


@pytest.fixture
def decisions(monkeypatch):
    """Record whether each ranking may end early, and whether the truncated ranks were enough."""
    answers = []

    def record(name):
        decide = getattr(EarlyStop, name)

        def recorded(*arguments):
            answers.append(bool(decide(*arguments)))
            return answers[-1]

        monkeypatch.setattr(EarlyStop, name, recorded)

    record("may_end")
    record("keeps_results")
    return answers


def test_most_scores_are_not_needed(decisions):
    """A good model computes only a part of its scores."""
    rng = np.random.default_rng(5)
    n_users, n_items = 2000, 1500
    users, items = random_vectors("lengths", rng, n_users, n_items)
    scores = users @ items.T
    place = (n_items * rng.random(n_users) ** 4 * 0.95).astype(int)
    held_out = np.take_along_axis(np.argsort(-scores, axis=1), place[:, None], 1)[:, 0]
    n_scored = 0

    def score(rows, columns):
        nonlocal n_scored
        n_scored += rows.size
        return scores[rows, columns]

    options = {"relevant": held_out, "seen": np.zeros(scores.shape)}
    options["seen"][:, 0] = held_out != 0
    metrics = "HR@10, NDCG@10"
    truncated = sm.evaluate(score, metrics, n_items=n_items, **options)
    whole = sm.evaluate(scores, metrics, **options)
    products_of = sm.evaluate((users, items), metrics, **options)
    assert list(truncated) == list(whole) == list(products_of)
    assert decisions == [True, True] * 2
    assert n_scored < 0.5 * scores.size


def test_warning_ranks_everything_in_full(decisions):
    rng = np.random.default_rng(6)
    users, items = random_vectors("lengths", rng, 600, 200)
    held_out, seen = rng.integers(1, 200, 600), np.eye(600, 200)[[0] * 600]
    with warns_about("in a random order"):
        sm.evaluate((users, items), "hr@5", relevant=held_out, seen=seen)
    assert decisions == [False]


def random_scores(rng, ranks, n_items):
    """Return random scores, users x items, and the item of each user that has a given rank."""
    scores = rng.random((ranks.size, n_items))
    best_first = np.argsort(-scores, axis=1)
    return scores, best_first[np.arange(ranks.size), ranks - 1]


def test_sample_of_items_saves_full_rankings(decisions):
    """Ranks are spread over all 10,000 items, so 128 users and 1,024 items show that."""
    rng = np.random.default_rng(10)
    n_users, n_items = 300, 10_000
    ranks = 1 + (n_items * rng.random(n_users) ** 4).astype(int)
    scores, held_out = random_scores(rng, ranks, n_items)
    n_scored = 0

    def score(users, items):
        nonlocal n_scored
        n_scored += users.size
        return scores[users, items]

    options = {"relevant": held_out, "seen": "none"}
    values = sm.values_by_user(score, "HR@10, NDCG@10", n_items=n_items, **options)
    expected = sm.values_by_user(scores, "HR@10, NDCG@10", **options)
    pd.testing.assert_frame_equal(values, expected)
    assert decisions == [True, True]
    assert n_scored < 128 * n_items  # scores of the users who would be ranked in full


@pytest.mark.usefixtures("_small_samples")
def test_ranks_that_end_early_warn_despite_a_sample(decisions):
    """A sample of 40 of 1,000 items cannot show that no rank is above 60: some users are ranked."""
    rng = np.random.default_rng(11)
    scores, held_out = random_scores(rng, rng.integers(1, 61, 300), 1000)
    with warns_about("largest rank is 60 of 1,000"):
        sm.evaluate(
            lambda users, items: scores[users, items],
            "hr@5",
            n_items=1000,
            relevant=held_out,
            seen="none",
        )
    assert decisions == [False]


@pytest.fixture
def first_ten():
    """Ranks of held-out items among the first ten of each user."""
    rng = np.random.default_rng(7)
    vectors = random_vectors("far", rng)
    return sm.rank(vectors, None, rng.integers(0, ITEMS, USERS), up_to=10)


def test_metric_at_the_depth_has_all_users(first_ten):
    assert sm.evaluate(first_ten, "hr@10")[0].n_users == USERS


@pytest.mark.parametrize("metric", ["hr@11", "auc", "ap", "ndcg"])
def test_metric_below_the_depth_is_refused(first_ten, metric):
    with pytest.raises(sm.InputError, match=r"10 .*up_to"):
        sm.evaluate(first_ten, metric)


def test_single_ranks_of_cut_rankings_are_refused(first_ten):
    with pytest.raises(sm.InputError, match="fully ranked"):
        first_ten.single()


def test_depth_of_0_is_refused():
    with pytest.raises(sm.InputError, match="up_to is 0"):
        sm.rank(np.eye(3), None, [0, 1, 2], up_to=0)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (lambda users: np.full(users.size, np.nan), "item 0 for user 0 is nan"),
        (lambda users: np.zeros((users.size, 2)), "one for each pair"),
    ],
)
def test_function_of_pairs_is_checked(scores, message):
    with pytest.raises(sm.InputError, match=message):
        sm.Ranks.from_function(lambda users, _: scores(users), [0, 1], n_items=5)


RNG = np.random.default_rng(8)
SQUARE = RNG.normal(size=(40, 5)), RNG.normal(size=(40, 5))  # of 40 users and as many items
OPPOSITE = np.arange(40)[::-1]  # the held-out items
SEEN_3 = np.eye(40)[[3] * 40] * (OPPOSITE != 3)[:, None]  # item 3 was seen by all other users


@pytest.mark.parametrize(
    "relevant",
    [
        OPPOSITE,
        {"user_id": np.arange(40), "item_id": OPPOSITE},
        np.eye(40)[OPPOSITE],
        OPPOSITE[:, None].tolist(),
    ],
    ids=["columns", "table", "marks", "lists"],
)
def test_square_vectors_are_recognised_by_relevant_items(relevant):
    users, items = SQUARE
    scores = np.where(SEEN_3, -np.inf, users @ items.T)
    held_out_score = scores[np.arange(40), OPPOSITE][:, None]
    right = ((scores > held_out_score).sum(axis=1) < 10).mean()
    (result,) = sm.evaluate(SQUARE, "hr@10", relevant=relevant, seen=SEEN_3)
    assert result.value == pytest.approx(right)


@pytest.mark.parametrize(
    ("arrays", "relevant", "named"),
    [
        (SQUARE, OPPOSITE % 5, "two arrays"),  # or columns of a matrix of users x 5
        ((SQUARE[0], np.rint(SQUARE[1])), OPPOSITE, "two arrays"),  # or ids in lists
        (SQUARE, np.eye(5)[OPPOSITE % 5], "shape"),  # marks of 5 items
    ],
    ids=["few columns", "whole numbers", "marks of 5 items"],
)
def test_square_arrays_that_may_be_something_else_are_refused(arrays, relevant, named):
    with pytest.raises(sm.InputError, match=named):
        sm.evaluate(arrays, "hr@10", relevant=relevant)


VECTORS = RNG.normal(size=(30, 4)), RNG.normal(size=(50, 4))


def test_vectors_need_no_correction():
    with pytest.raises(sm.InputError, match=r"vectors .*`evaluate`"):
        sm.correct(VECTORS, "hr@10")


def test_vectors_need_no_plan():
    with pytest.raises(sm.InputError, match=r"a: found vectors .*`compare`"):
        sm.plan(VECTORS, VECTORS, "hr@10")
