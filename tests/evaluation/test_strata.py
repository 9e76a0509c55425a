"""Negatives by popularity, corrected with the ids and counts of items, in every form of data."""

import json

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.results import value_of

# 400 users, 500 items: item j is drawn in proportion to POPULARITY[j], and liked in proportion too.
N_USERS, N_ITEMS, M = 400, 500, 60
RNG = np.random.default_rng(5)
POPULARITY = 1000 / np.arange(1, N_ITEMS + 1) ** 0.8
USERS = np.arange(N_USERS)
SCORES = np.log(POPULARITY) + RNG.normal(size=(N_USERS, N_ITEMS))
HELD_OUT = RNG.choice(N_ITEMS, N_USERS, p=POPULARITY / POPULARITY.sum())
SCORES[USERS, HELD_OUT] += 0.7
WORSE = SCORES + 1.5 * RNG.normal(size=SCORES.shape)
COUNTS = pd.Series(POPULARITY, index=np.arange(N_ITEMS))
BATCH = RNG.permutation(N_USERS).reshape(8, -1)  # of 50 users


def exact_hit_rate(scores):
    """Share of users with fewer than 10 of all items above their held-out item."""
    better = scores > scores[USERS, HELD_OUT][:, None]
    return (better.sum(axis=1) < 10).mean()


def draw(weights, seed=0, m=M):
    """Return ids of the held-out item and of m others, drawn by weights without replacement."""
    keys = np.log(weights) + np.random.default_rng(seed).gumbel(size=SCORES.shape)
    keys[USERS, HELD_OUT] = -np.inf
    return np.column_stack([HELD_OUT, np.argsort(-keys, axis=1)[:, :m]])


def pairs_of(items, scores=SCORES):
    """Return the table of labelled pairs of the first item of each row and its negatives."""
    n_rows, width = items.shape
    return pd.DataFrame(
        {
            "user_id": np.repeat(USERS, width),
            "item_id": items.ravel(),
            "score": np.take_along_axis(scores, items, axis=1).ravel(),
            "label": np.tile([1] + [0] * (width - 1), n_rows),
        }
    )


BY_POPULARITY = draw(POPULARITY)
PAIRS = pairs_of(BY_POPULARITY)
AMONG = np.take_along_axis(SCORES, BY_POPULARITY, axis=1)


@pytest.mark.parametrize(
    "weights", [POPULARITY, np.sqrt(POPULARITY), np.ones(N_ITEMS)], ids=["all", "root", "uniform"]
)
def test_ranges_contain_the_exact_metric(weights):
    result, _ = sm.correct(pairs_of(draw(weights)), "HR@10", counts=COUNTS)
    exact = exact_hit_rate(SCORES)
    assert result.range_low < exact < result.range_high
    assert result.likely_low < exact < result.likely_high
    assert result.value == pytest.approx(exact, rel=0.15)


@pytest.fixture
def forms(tmp_path):
    """Data and options in all forms, by name."""
    PAIRS.to_csv(tmp_path / "pairs.csv", index=False)
    COUNTS.rename_axis("item_id").rename("count").to_csv(tmp_path / "counts.csv")
    np.save(tmp_path / "scores.npy", AMONG)
    np.save(tmp_path / "items.npy", BY_POPULARITY)
    text_ids = PAIRS.assign(item_id="i" + PAIRS["item_id"].astype(str))
    return {
        "shuffled": (PAIRS.sample(frac=1, random_state=0), {}),
        "files": (tmp_path / "pairs.csv", {"counts": tmp_path / "counts.csv"}),
        "relevant": (PAIRS.drop(columns="label"), {"relevant": PAIRS[PAIRS["label"] == 1]}),
        "array": (AMONG, {"positive": 0, "items": BY_POPULARITY}),
        "reversed": (AMONG[:, ::-1], {"positive": M, "items": BY_POPULARITY[:, ::-1]}),
        "npy": (tmp_path / "scores.npy", {"positive": 0, "items": tmp_path / "items.npy"}),
        "text": (text_ids, {"counts": {f"i{item}": count for item, count in COUNTS.items()}}),
    }


@pytest.mark.parametrize(
    "form", ["shuffled", "files", "relevant", "array", "reversed", "npy", "text"]
)
def test_every_form_of_data_gives_the_same_result(forms, form):
    data, options = forms[form]
    results = sm.correct(data, "HR@10", "likely", **{"counts": COUNTS, **options})
    of_pairs = sm.correct(PAIRS, "HR@10", "likely", counts=COUNTS)
    assert value_of(results) == pytest.approx(value_of(of_pairs), rel=1e-9)


def test_events_tell_counts_and_seen_items():
    """Anna has seen item 0, so that she has 3 - 1 other candidates, and Bert has 3."""
    events = pd.DataFrame(
        {"user_id": ["anna", *"xxxxyyyy"], "item_id": [0, 0, 1, 2, 3, 0, 1, 2, 3]}
    )
    pairs = pd.DataFrame(
        {
            "user_id": ["anna"] * 2 + ["bert"] * 2,
            "item_id": [1, 2, 1, 3],
            "score": [0.5, 0.9, 0.5, 0.1],
            "label": [1, 0, 1, 0],
        }
    )
    ranks = sm.SampledRanks.from_pairs(pairs, n_items=None, counts=events)
    assert ranks.n_items.tolist() == [3, 4]
    assert ranks.sampled_ranks.tolist() == [2, 1]


def test_compare_decides_the_order():
    items = draw(POPULARITY, m=200)
    data = {"A": pairs_of(items), "B": pairs_of(items, WORSE)}
    result, *_ = sm.compare(data, "HR@10", counts=COUNTS)
    exact = exact_hit_rate(WORSE) - exact_hit_rate(SCORES)
    assert result.order == "a"
    assert result.range_low < exact < result.range_high < 0


@pytest.mark.filterwarnings("ignore:.*same ranks")
def test_compare_leaves_the_same_data_undecided():
    same, *_ = sm.compare({"A": PAIRS, "B": PAIRS}, "HR@10", counts=COUNTS)
    assert (same.order, same.p_value) == ("undecided", 1.0)


def test_comparison_is_antisymmetric():
    items = draw(POPULARITY)
    data = {"A": pairs_of(items), "B": pairs_of(items, WORSE)}
    one, *_ = sm.compare(data, "NDCG@10", counts=COUNTS)
    other, *_ = sm.compare(dict(reversed(data.items())), "NDCG@10", counts=COUNTS)
    assert (other.range_low, other.range_high) == pytest.approx((-one.range_high, -one.range_low))
    assert other.p_value == one.p_value


def test_users_of_one_recommender_only_are_left_out():
    items = draw(POPULARITY)
    worse = pairs_of(items, WORSE)
    fewer = worse[worse["user_id"] < N_USERS - 10]
    some = PAIRS[PAIRS["user_id"] < N_USERS - 10]
    partly, *_ = sm.compare({"A": pairs_of(items), "B": fewer}, "HR@10", counts=COUNTS)
    common = pairs_of(items)[lambda frame: frame["user_id"].isin(some["user_id"])]
    both, *_ = sm.compare({"A": common, "B": fewer}, "HR@10", counts=COUNTS)
    assert partly.n_users == N_USERS - 10
    assert (partly.range_low, partly.range_high) == pytest.approx((both.range_low, both.range_high))


def batches(scores):
    """Return scores of the users of each batch for the held-out items of all of them."""
    width = BATCH.shape[1]
    among = np.concatenate([scores[users][:, HELD_OUT[users]] for users in BATCH])
    items = np.repeat(HELD_OUT[BATCH], width, axis=0)
    positive = np.tile(np.arange(width), len(BATCH))
    return among, {"items": items, "positive": positive, "counts": COUNTS}


def test_batches_are_corrected_by_their_clusters():
    among, options = batches(SCORES)
    with pytest.raises(sm.InputError, match="cluster"):
        sm.correct(among, "HR@10", **options)
    cluster = np.repeat(np.arange(len(BATCH)), BATCH.shape[1])
    result, _ = sm.correct(among, "HR@10", cluster=cluster, **options)
    assert result.range_low < exact_hit_rate(SCORES) < result.range_high


def pairs_of_a_shared_set(seed):
    """Return pairs with one set of 100 items for all users."""
    shared = np.random.default_rng(seed).choice(N_ITEMS, 100, replace=False)
    items = np.column_stack([HELD_OUT, np.broadcast_to(shared, (N_USERS, 100))])
    return pairs_of(items).assign(set="one")


def test_shared_set_is_refused_without_its_cluster():
    with pytest.raises(sm.InputError, match="cluster"):
        sm.correct(pairs_of_a_shared_set(0), "HR@10", counts=COUNTS)


@pytest.mark.parametrize("seed", range(4))
def test_shared_set_widens_the_range(seed):
    """Its choice is a part of the error."""
    shared, _ = sm.correct(pairs_of_a_shared_set(seed), "HR@10", counts=COUNTS, cluster="set")
    own, _ = sm.correct(pairs_of(draw(np.ones(N_ITEMS), m=100)), "HR@10", counts=COUNTS)
    assert shared.range_low < exact_hit_rate(SCORES) < shared.range_high
    assert shared.range_high / shared.range_low > own.range_high / own.range_low


def test_visits_of_a_user_count_as_one():
    """A user's ranks among all items are the same in 4 visits, which differ in negatives only.

    So they are hardly more evidence than one visit, and the range is about as wide.
    """
    visits = [pairs_of(draw(POPULARITY, seed)).assign(visit_id=seed) for seed in range(4)]
    once, _ = sm.correct(visits[0].drop(columns="visit_id"), "HR@10", counts=COUNTS)
    often, _ = sm.correct(pd.concat(visits), "HR@10", counts=COUNTS)
    assert (often.n_users, often.n_visits) == (N_USERS, 4 * N_USERS)
    assert often.range_low < exact_hit_rate(SCORES) < often.range_high
    width = often.range_high / often.range_low
    assert width == pytest.approx(once.range_high / once.range_low, rel=0.2)


def test_items_disliked_for_popularity_allow_any_tastes():
    """Without uniform negatives, hardly any draw shows what a recommender of rare items does."""
    rare = SCORES - 1.6 * np.log(POPULARITY)
    result, _ = sm.correct(pairs_of(BY_POPULARITY, rare), "HR@10", counts=COUNTS)
    assert result.tastes == "any"
    assert result.range_low <= exact_hit_rate(rare) <= result.range_high


def test_usual_tastes_are_smooth():
    result, _ = sm.correct(PAIRS, "HR@10", counts=COUNTS)
    assert result.tastes == "smooth"


def test_page_names_the_correction(tmp_path):
    items = draw(POPULARITY)
    data = {"A": pairs_of(items), "B": pairs_of(items, WORSE)}
    sm.report(data, tmp_path / "page.html", "HR@10", counts=COUNTS)
    page = (tmp_path / "page.html").read_text()
    assert "corrected by" in page
    assert "random items" not in page.partition("Getting a firm answer")[0]


def test_command_reads_counts(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    PAIRS.to_csv("pairs.csv", index=False)
    COUNTS.rename_axis("item_id").rename("count").to_csv("train.csv")
    line = ("correct", "pairs.csv", "--counts", "train.csv", "--metric", "HR@10")
    rows = json.loads(run(*line, "--format", "json").stdout)
    result, _ = sm.correct(PAIRS, "HR@10", counts=COUNTS)
    assert rows[0]["range_low"] == pytest.approx(result.range_low, rel=1e-6)


def hard_negatives():
    """Return the 30 best items of each user by a retriever that prefers some items to others."""
    others = SCORES + np.random.default_rng(9).normal(size=N_ITEMS)
    others[USERS, HELD_OUT] = -np.inf
    return np.argsort(-others, axis=1)[:, :30]


MOST_POPULAR = np.argsort(-np.where(np.arange(N_ITEMS) == HELD_OUT[:, None], 0, POPULARITY))[:, :M]
HALF = draw(POPULARITY, m=M // 2), draw(np.ones(N_ITEMS), seed=1, m=M // 2)[:, 1:]
RARE = COUNTS.index[COUNTS < 8]
KNOWN = COUNTS.drop(RARE)
SCORED = {"positive": 0, "items": BY_POPULARITY}


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (PAIRS, {"n_items": N_ITEMS}, "counts="),  # uneven negatives
        (PAIRS.drop(columns="item_id"), {"counts": COUNTS}, "item_id"),
        (1 + (AMONG[:, :1] < AMONG).sum(axis=1), {"counts": COUNTS}, "item_id"),  # ranks alone
        (AMONG, {"positive": 0, "counts": COUNTS}, "items"),
        (AMONG, {**SCORED, "n_items": N_ITEMS}, "counts"),
        (PAIRS, {"counts": KNOWN}, "without a count"),
        (PAIRS, {"counts": COUNTS.where(COUNTS >= 8, 0)}, "0.5"),
        (PAIRS, {"counts": COUNTS, "shape": 2}, "shape"),
        (pairs_of(np.column_stack([HELD_OUT, MOST_POPULAR])), {"counts": COUNTS}, "half"),
        (
            pairs_of(np.column_stack([BY_POPULARITY, hard_negatives()])),
            {"counts": COUNTS},
            "evenness",
        ),
    ],
    ids=[
        "uneven", "no item_id", "ranks", "no items", "items without counts", "no count",
        "count of 0", "shape", "most popular", "hard",
    ],
)  # fmt: skip
def test_data_that_cannot_be_corrected_is_refused(data, options, words):
    with pytest.raises(sm.InputError, match=words):
        sm.correct(data, "HR@10", "likely", **options)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (PAIRS, {"counts": COUNTS}),
        (AMONG, {**SCORED, "counts": COUNTS}),
        (PAIRS, {"counts": pd.concat([KNOWN, pd.Series(0.5, index=RARE)])}),
        (pairs_of(np.column_stack(HALF)), {"counts": COUNTS}),
    ],
    ids=["counts", "items and counts", "0.5 for unknown counts", "half uniform negatives"],
)
def test_remedies_of_these_refusals_give_the_exact_metric(data, options):
    (result,) = sm.correct(data, "HR@10", "likely", **options)
    exact = exact_hit_rate(SCORES)
    assert result.range_low < exact < result.range_high
    assert result.value == pytest.approx(exact, rel=0.15)


def test_written_ranks_cannot_lose_their_counts(tmp_path):
    ranks = sm.SampledRanks.from_pairs(PAIRS, n_items=None, counts=COUNTS)
    with pytest.raises(sm.InputError, match="counts"):
        ranks.write(tmp_path / "ranks.csv")
    assert not (tmp_path / "ranks.csv").exists()


def test_several_held_out_items_of_a_user_are_averaged():
    """Recall is the mean over a user's items; two rows of a user count as one."""
    second = np.roll(HELD_OUT, 1)
    extra = np.column_stack([second, BY_POPULARITY[:, 1:]])
    both = pd.concat([PAIRS, pairs_of(extra)[lambda frame: frame["label"] == 1]])
    both = both.sort_values("label", ascending=False).drop_duplicates(["user_id", "item_id"])
    (result,) = sm.correct(both, "Recall@10", "likely", counts=COUNTS)
    hits = np.zeros(N_USERS)
    for held_out in (HELD_OUT, second):
        better = SCORES[USERS, held_out][:, None] < SCORES
        better[USERS, HELD_OUT] = better[USERS, second] = False
        hits += better.sum(axis=1) < 10
    exact = (hits / 2).mean()  # also of users whose two items are the same one
    assert result.range_low < exact < result.range_high
    with pytest.raises(sm.InputError, match="together"):
        sm.correct(both, "NDCG@10", "likely", counts=COUNTS)


@pytest.mark.parametrize("n_common", [N_USERS, pytest.param(0, marks=pytest.mark.long)])
@pytest.mark.filterwarnings("ignore:.*in common")
def test_order_of_recommenders_of_rare_items_needs_no_tastes(n_common):
    """Ranges without tastes decide an order if one recommender is much better."""
    rng = np.random.default_rng(6)
    items = draw(POPULARITY**1.5, m=100)
    rare = SCORES - 1.6 * np.log(POPULARITY)
    rare[USERS, HELD_OUT] += 2.5
    worse = rare + 6 * rng.normal(size=rare.shape)
    first, second = pairs_of(items, rare), pairs_of(items, worse)
    if not n_common:
        second = second.assign(user_id=second["user_id"] + N_USERS)
    result, *_ = sm.compare({"A": first, "B": second}, "HR@10", counts=COUNTS)
    assert (result.order, result.tastes) == ("a", "any")
    assert result.paired == (n_common > 0)
    assert result.range_low < exact_hit_rate(worse) - exact_hit_rate(rare) < result.range_high
