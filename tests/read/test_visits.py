"""Visits of users: means over visits, standard errors over users, in every form of the data."""

import json

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.cases import Case, assert_ends_as_expected, each_case, evaluate
from tests.helpers.results import value_of, values, values_and_warnings

# user  visit  list, best first  relevant  reciprocal rank  residual of the mean, 25 / 48
# anna  1      a b c d           a         1                 23 / 48
# anna  2      b a d c           d         1 / 3             -9 / 48
# anna  3      d c b a           c, a      1 / 2             -1 / 48
# bob   1      c a b d           d         1 / 4            -13 / 48
RR = [1, 1 / 3, 1 / 2, 1 / 4]
ERROR = (2 / (2 - 1) * ((13 / 48) ** 2 + (-13 / 48) ** 2)) ** 0.5 / 4  # sums of two users
BY_HAND = pytest.approx((25 / 48, ERROR, 2, 4))
IDS = {"users": ["anna", "anna", "anna", "bob"], "visits": [1, 2, 3, 1]}
LISTS = [list("abcd"), list("badc"), list("dcba"), list("cabd")]
RELEVANT = [["a"], ["d"], ["c", "a"], ["d"]]
ITEMS = ["a", "b", "c", "d"]
SCORES = np.array([[4.0, 3, 2, 1], [3, 4, 1, 2], [1, 2, 3, 4], [3, 2, 4, 1]])
ALL_LISTS = pd.DataFrame(
    {"user_id": ["anna"] * 12 + ["bob"] * 4, "session_id": np.repeat([1, 2, 3, 1], 4),
     "item_id": [item for items in LISTS for item in items], "score": [4, 3, 2, 1] * 4}
)  # fmt: skip
LABELLED = ALL_LISTS.assign(
    label=np.ravel([[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 1]])
)
ALL_RELEVANT = pd.DataFrame(
    {"user_id": ["anna"] * 4 + ["bob"], "session_id": [1, 2, 3, 3, 1], "item_id": list("adcad")}
)
RANKS = ALL_RELEVANT[["user_id", "session_id"]].assign(rank=[1, 3, 2, 4, 4])
SESSIONS = np.repeat(np.arange(200), 10)


def clustered_error(value, user):
    """Return the clustered standard error of a mean: residuals are summed by user, then squared."""
    value, user = list(value), list(user)
    mean = sum(value) / len(value)
    residual = dict.fromkeys(user, 0.0)
    for visit_value, visit_user in zip(value, user, strict=True):
        residual[visit_user] += visit_value - mean
    few = len(residual) / (len(residual) - 1)
    return (few * sum(x**2 for x in residual.values())) ** 0.5 / len(value)


def of_first(results):
    """Return mean, standard error and numbers of users and visits of the first result."""
    first = results[0]
    return first.value, first.std_error, first.n_users, first.n_visits


def rank_scores(scores=SCORES, seen=None):
    return sm.rank(scores, seen, ALL_RELEVANT, items=ITEMS, **IDS)


def with_visits_of_one_user(table):
    """Return a table whose numbers of visits contain the user."""
    return table.assign(session_id=table["user_id"] + table["session_id"].astype(str))


TABLES = {
    "lists": (ALL_LISTS, {"relevant": ALL_RELEVANT}),
    "lists without scores": (
        ALL_LISTS.drop(columns="score"),
        {"relevant": ALL_RELEVANT},
    ),
    "shuffled": (
        ALL_LISTS.sample(frac=1, random_state=0),
        {"relevant": ALL_RELEVANT.rename(columns={"session_id": "impression_id"})[::-1]},
    ),
    "users of relevant items": (
        with_visits_of_one_user(ALL_LISTS).drop(columns="user_id"),
        {"relevant": with_visits_of_one_user(ALL_RELEVANT)},
    ),
    "labelled pairs": (LABELLED, {"complete": True}),
    "ranks": (RANKS, {"n_items": 4}),
}


@pytest.mark.parametrize(("data", "options"), TABLES.values(), ids=TABLES)
def test_mean_and_error_of_tables_by_hand(data, options):
    assert of_first(sm.evaluate(data, "rr", **options)) == BY_HAND


@pytest.mark.parametrize(
    "make",
    [
        lambda: sm.Ranks.from_ranks(
            RANKS["rank"], 4, users=RANKS["user_id"], visits=RANKS["session_id"]
        ),
        lambda: sm.Ranks.from_top_k(LISTS, ALL_RELEVANT, **IDS),
        lambda: sm.Ranks.from_top_k(LISTS, RELEVANT, **IDS),
        lambda: sm.Ranks.from_scores(SCORES, ALL_RELEVANT, items=ITEMS, **IDS),
        lambda: rank_scores(SCORES),
        lambda: rank_scores(lambda rows: SCORES[rows]),
    ],
    ids=["ranks", "lists", "lists of each", "from_scores", "rank", "rank of a function"],
)
def test_mean_and_error_of_ranks_by_hand(make):
    assert of_first(sm.evaluate(make(), "rr")) == BY_HAND


def test_command_reads_visits(run, tmp_path):
    lists, relevant = tmp_path / "lists.csv", tmp_path / "wanted.csv"
    ALL_LISTS.to_csv(lists, index=False)
    ALL_RELEVANT.to_csv(relevant, index=False)
    line = ("evaluate", lists, "--relevant", relevant, "--metric", "rr", "--format", "json")
    (row,) = json.loads(run(*line).stdout)
    assert (row["value"], row["std_error"], row["n_users"], row["n_visits"]) == BY_HAND


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_written_visits_of_ranks_are_read(suffix, tmp_path):
    sm.Ranks.from_table(RANKS, 4).write(tmp_path / f"ranks.{suffix}")
    assert of_first(sm.evaluate(tmp_path / f"ranks.{suffix}", "rr")) == BY_HAND


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_written_visits_of_samples_are_read(suffix, tmp_path):
    """The first eight pairs are of two visits of anna."""
    sm.SampledRanks.from_pairs(LABELLED[:8], n_items=9).write(tmp_path / f"sample.{suffix}")
    sample = sm.SampledRanks.read(tmp_path / f"sample.{suffix}")
    assert sample.users.tolist() == ["anna", "anna"]
    assert sample.visits.tolist() == [1, 2]


def test_visits_in_several_parts_are_joined():
    ranks = sm.Ranks.from_table(RANKS, 4)
    halves = [ranks.take([0, 3]), ranks.take([1, 2])]
    assert of_first(sm.evaluate(sm.Ranks.concatenate(halves), "rr")) == BY_HAND


def test_part_without_visits_is_not_joined():
    without_visits = sm.Ranks([4], [0], [0], users=["cleo"])
    with pytest.raises(sm.InputError, match="visits"):
        sm.Ranks.concatenate([sm.Ranks.from_table(RANKS, 4), without_visits])


def test_values_by_visit():
    result = sm.values_by_user(ALL_LISTS, "rr", relevant=ALL_RELEVANT)
    assert result.index.names == ["user_id", "visit_id"]
    assert [*result.index] == [("anna", 1), ("anna", 2), ("anna", 3), ("bob", 1)]
    assert result["rr"].tolist() == pytest.approx(RR)


@pytest.mark.parametrize("batches", [[[0, 1, 2, 3]], [[0], [1, 2, 3]], [[0, 1], [2, 3]]])
def test_meter_of_visits_by_hand(batches):
    marks = np.array([[1, 0, 0, 0], [0, 0, 0, 1], [1, 0, 1, 0], [0, 0, 0, 1]])
    meter = sm.RankMeter("rr")
    for rows in batches:
        ids = {name: np.array(values)[rows] for name, values in IDS.items()}
        meter.update(SCORES[rows], marks[rows], **ids)
    assert of_first(meter.compute()) == BY_HAND


def test_visit_in_several_meters_counts_once():
    meters = []
    for rows in ([0, 1, 2], [2, 3]):  # a distributed sampler repeats the third
        meters.append(sm.RankMeter("rr", n_items=9))
        meters[-1].update(
            ranks=np.array([1, 3, 2, 4])[rows],
            users=np.array(["anna", "anna", "anna", "bob"])[rows],
            visits=np.array([1, 2, 3, 1])[rows],
        )
    assert of_first((meters[0] + meters[1]).compute()) == BY_HAND


@pytest.fixture
def hits():
    """Hits of 200 users in 10 visits each: a user has many or few."""
    rng = np.random.default_rng(49)
    is_easy = rng.random(200) < 0.3
    return rng.random((200, 10)) < np.where(is_easy, 0.9, 0.05)[:, None]


def read_ranks(hits, **ids):
    return sm.evaluate(sm.Ranks.from_ranks(np.where(hits, 1, 50).ravel(), 1000, **ids), "recall@10")


def read_in_a_meter(hits, **ids):
    meter = sm.RankMeter("recall@10", n_items=1000)
    meter.update(ranks=np.where(hits, 1, 50).ravel(), **ids)
    return meter.compute()


@pytest.mark.parametrize("read", [read_ranks, read_in_a_meter])
def test_users_with_ten_rows_are_refused_without_visits(hits, read):
    with pytest.raises(sm.InputError, match="visits="):
        read(hits, users=SESSIONS)


@pytest.mark.parametrize("read", [read_ranks, read_in_a_meter])
@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")  # ranks end at 50
def test_visits_have_the_error_of_means_of_users(hits, read):
    """The error of independent rows would be a third of it."""
    (result,) = read(hits, users=SESSIONS, visits=np.arange(2000))
    of_users = hits.mean(axis=1)
    assert result.value == pytest.approx(of_users.mean())
    assert result.std_error == pytest.approx(of_users.std(ddof=1) / 200**0.5)
    assert (result.n_users, result.n_visits) == (200, 2000)


def uneven_visits(seed, n_users=30):
    """Return users with 1 to 6 similar visits, the visits, and the ranks of two models."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(n_users), rng.integers(1, 7, n_users))
    level = rng.gamma(1.0, 50.0, n_users)[user]
    ranks = [1 + np.minimum(rng.poisson(level * factor), 229) for factor in (1.0, 0.6)]
    return user, np.arange(user.size) % 7 + 100 * user, ranks


def ndcg_at_10(rank):
    return np.where(rank <= 10, 1 / np.log2(1 + rank), 0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", [0, 1])
def test_clustered_error_of_a_metric_matches_brute_force(seed, model):
    user, visit, ranks = uneven_visits(seed)
    value = ndcg_at_10(ranks[model])
    (result,) = sm.evaluate(
        sm.Ranks.from_ranks(ranks[model], 230, users=user, visits=visit), "ndcg@10"
    )
    assert result.value == pytest.approx(value.mean())
    assert result.std_error == pytest.approx(clustered_error(value, user))
    assert result.n_users == 30


@pytest.mark.parametrize("seed", range(3))
def test_clustered_error_of_a_difference_matches_brute_force(seed):
    """Visits of b are in another order, and lack five of a."""
    user, visit, ranks = uneven_visits(seed)
    a, b = (sm.Ranks.from_ranks(rank, 230, users=user, visits=visit) for rank in ranks)
    order = np.random.default_rng(9).permutation(user.size)[:-5]
    (result,) = sm.compare({"a": a, "b": b.take(order)}, "ndcg@10")
    difference = (ndcg_at_10(ranks[1]) - ndcg_at_10(ranks[0]))[order]
    assert result.difference == pytest.approx(difference.mean())
    assert result.std_error == pytest.approx(clustered_error(difference, user[order]))
    assert (result.n_users, result.n_visits) == (np.unique(user[order]).size, order.size)


def test_users_of_one_visit_have_no_visits():
    user, visit, (rank, _) = uneven_visits(0)
    first = np.unique(user, return_index=True)[1]
    ids = {"users": user[first], "visits": visit[first]}
    ranks = sm.Ranks.from_ranks(rank[first], 230, **ids)
    assert ranks.visits is None
    (result,) = sm.evaluate(ranks, "rr")
    assert result.n_visits is None
    assert "n_visits" not in sm.evaluate(ranks, "rr").to_frame()


def sampled_visits(seed, n_negatives=20):
    user, visit, ranks = uneven_visits(seed, 120)
    rng = np.random.default_rng(seed)
    sampled_ranks = [1 + rng.hypergeometric(rank - 1, 230 - rank, n_negatives) for rank in ranks]
    return user, visit, sampled_ranks


def ndcg_at_5(rank):
    return np.where(rank <= 5, 1 / np.log2(1 + rank), 0)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("model", [0, 1])
def test_clustered_error_of_a_sampled_metric_matches_brute_force(seed, model):
    user, visit, ranks = sampled_visits(seed)
    value = ndcg_at_5(ranks[model])
    sample = sm.SampledRanks(ranks[model], 230, 20, users=user, visits=visit)
    (result,) = sm.correct(sample, "ndcg@5", "sampled")
    assert result.value == pytest.approx(value.mean())
    assert result.std_error == pytest.approx(clustered_error(value, user))
    assert (result.n_users, result.n_visits) == (120, user.size)


@pytest.mark.parametrize("seed", range(2))
def test_clustered_error_of_a_sampled_difference_matches_brute_force(seed):
    user, visit, ranks = sampled_visits(seed)
    a, b = (sm.SampledRanks(rank, 230, 20, users=user, visits=visit) for rank in ranks)
    (result,) = sm.compare({"a": a, "b": b}, "ndcg@5", "sampled")
    difference = ndcg_at_5(ranks[1]) - ndcg_at_5(ranks[0])
    assert result.difference == pytest.approx(difference.mean())
    assert result.std_error == pytest.approx(clustered_error(difference, user))


@pytest.mark.parametrize("seed", range(2))
def test_range_of_auc_has_the_width_of_a_clustered_interval(seed):
    """AUC is linear in the sampled rank, so that its range is an interval of 1.96 errors.

    It is a little wider, as users with many visits may be missing.
    """
    user, visit, (rank, _) = sampled_visits(seed)
    (auc,) = sm.correct(sm.SampledRanks(rank, 230, 20, users=user, visits=visit), "auc", "sampled")
    error = clustered_error(1 - (rank - 1) / 20, user)
    half_width = (auc.range_high - auc.range_low) / 2
    assert 1.95 < half_width / error < 2.6


def test_range_of_visits_is_wider_than_of_rows():
    rng = np.random.default_rng(1)
    user = np.repeat(np.arange(60), 10)
    rank = 1 + np.minimum(rng.poisson(rng.gamma(1.0, 15.0, 60)[user]), 229)
    sample = 1 + rng.hypergeometric(rank - 1, 230 - rank, 50)
    ids = {"users": user, "visits": np.arange(600)}
    widths = []
    for options in ({}, ids):
        ranks = sm.SampledRanks(sample, 230, 50, **options)
        (result,) = sm.correct(ranks, "recall@10", "sampled")
        widths.append(result.range_high - result.range_low)
    assert widths[1] > 1.3 * widths[0]


def test_repeated_draws_of_a_visit_are_averaged():
    table = pd.DataFrame(
        {
            "user_id": [1, 1, 1, 2, 2],
            "session_id": [1, 1, 2, 1, 1],
            "repetition": [0, 1, 0, 0, 1],
            "sampled_rank": [1, 3, 1, 4, 1],
        }
    )
    (result,) = sm.correct(table, "hr@1", "sampled", n_items=50, n_negatives=9)
    assert result.value == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)
    assert (result.n_users, result.n_visits) == (2, 3)


@pytest.fixture(scope="module")
def visits_of_plans():
    """Users of 400 visits, ten each, and the ranks of two recommenders in them."""
    rng = np.random.default_rng(0)
    user, level = np.repeat(np.arange(40), 10), rng.gamma(1.0, 60.0, 40)
    a = 1 + np.minimum(rng.poisson(level[user]), 499)
    b = 1 + np.minimum(rng.poisson(rng.permutation(level)[user] * 0.5), 499)
    return user, a, b


def plan_of(visits_of_plans, with_visits=True, **options):
    user, *both = visits_of_plans
    ids = {"users": user, "visits": np.arange(400)} if with_visits else {}
    ranks = [sm.Ranks.from_ranks(rank, 500, **ids) for rank in both]
    return sm.plan(*ranks, "recall@10", **options)


@pytest.mark.long
def test_plan_counts_users_and_visits(visits_of_plans):
    _, a, _ = visits_of_plans
    sampled, full = plan_of(visits_of_plans, sizes=[100])
    assert (sampled.n_users, sampled.n_visits) == (40, 400)
    assert full.exact_a == pytest.approx((a <= 10).mean())


@pytest.mark.long
def test_plan_of_visits_decides_larger_differences(visits_of_plans):
    rows = plan_of(visits_of_plans, with_visits=False, sizes=[100])
    visits = plan_of(visits_of_plans, sizes=[100])
    for of_rows, of_visits in zip(rows, visits, strict=True):
        assert of_visits.decides_above > 1.5 * of_rows.decides_above


@pytest.mark.long
def test_plan_of_full_rankings_decides_above_half_the_interval(visits_of_plans):
    user, a, b = visits_of_plans
    (full,) = plan_of(visits_of_plans, sizes=[])
    error = clustered_error((b <= 10).astype(float) - (a <= 10), user)
    assert full.decides_above == pytest.approx(1.96 * error, rel=0.05)


def test_plan_of_visits_for_another_number_of_users_is_refused(visits_of_plans):
    with pytest.raises(sm.InputError, match="n_users"):
        plan_of(visits_of_plans, n_users=100)


@pytest.mark.parametrize("visits", [{}, {"session_id": [2]}], ids=["all visits", "visit 2"])
def test_seen_item_is_left_out_of_its_visits(visits):
    """Anna has seen b, which is before the relevant item in the second of four lists only."""
    seen = pd.DataFrame({"user_id": ["anna"], "item_id": ["b"], **visits})
    result = sm.values_by_user(ALL_LISTS, "rr", relevant=ALL_RELEVANT, seen=seen)
    assert result["rr"].tolist() == pytest.approx([1, 1 / 2, 1 / 2, 1 / 4])


def test_seen_item_is_left_out_of_scores_of_all_visits():
    seen = pd.DataFrame({"user_id": ["anna"], "item_id": ["b"]})
    result = sm.values_by_user(rank_scores(seen=seen), "rr")
    assert result["rr"].tolist() == pytest.approx([1, 1 / 2, 1 / 2, 1 / 4])


def test_item_seen_in_a_visit_stays_in_the_others():
    """Anna has seen b in visit 3, where it is below the relevant item."""
    seen = pd.DataFrame({"user_id": ["anna"], "item_id": ["b"], "session_id": [3]})
    result = sm.values_by_user(ALL_LISTS, "rr", relevant=ALL_RELEVANT, seen=seen)
    assert result["rr"].tolist() == pytest.approx(RR)


@pytest.mark.parametrize(
    ("lists", "options", "message"),
    [
        (
            ALL_LISTS,
            {"relevant": ALL_RELEVANT[["user_id", "item_id"]].drop_duplicates()},
            r"relevant.*visit",
        ),
        (ALL_LISTS, {"relevant": {"anna": ["a"]}}, r"relevant.*visit"),
        (ALL_LISTS.drop(columns="user_id").iloc[:4], {}, "several users"),
        (ALL_LISTS[ALL_LISTS["session_id"] != 3], {}, "user anna, visit 3"),
        (ALL_LISTS, {"relevant": ALL_RELEVANT.drop(columns="user_id")}, "user_id"),
        (
            ALL_LISTS.drop(columns="session_id").reset_index(names="row_id"),
            {},
            r"row_id.*number",
        ),
        (
            ALL_LISTS,
            {"seen": {"user_id": ["anna"], "item_id": ["b"], "session_id": [99]}},
            "session_id",
        ),
    ],
)
def test_unclear_visits_of_lists_are_refused(lists, options, message):
    with pytest.raises(sm.InputError, match=message):
        sm.evaluate(lists, "rr", **{"relevant": ALL_RELEVANT, **options})


VISIT_RANKS = sm.Ranks.from_table(RANKS, 4)
USER_RANKS = sm.Ranks([4, 4], [0, 1], [0, 0], users=["anna", "bob"])


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: sm.Ranks.from_ranks([1, 2], 9, visits=[1, 2]), "users"),
        (lambda: sm.Ranks([9, 9], [0, 1], [0, 0], users=[1, 1], visits=[2, 2]), "duplicate"),
        (lambda: sm.compare({"A": VISIT_RANKS, "B": USER_RANKS}, "rr"), "visits"),
    ],
    ids=["without users", "visit twice", "of one recommender"],
)
def test_unclear_visits_of_ranks_are_refused(call, named):
    with pytest.raises(sm.InputError, match=named):
        call()


def test_results_count_visits():
    results = sm.evaluate(ALL_LISTS, "rr", relevant=ALL_RELEVANT)
    assert "2 users, 4 visits" in str(results)
    user, visit, sample = sampled_visits(0)
    ranks = sm.SampledRanks(sample[0], 230, 20, users=user, visits=visit)
    assert f"120 users, {user.size} visits" in str(sm.correct(ranks, "recall@5"))


def test_lists_of_one_user_without_scores_are_read():
    lists, relevant = (
        table[table["user_id"] == "anna"].drop(columns="user_id")
        for table in (ALL_LISTS.drop(columns="score"), ALL_RELEVANT)
    )
    results = sm.evaluate(lists, "rr", relevant=relevant)
    assert results[0].value == pytest.approx((1 + 1 / 3 + 1 / 2) / 3)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_intervals_hold_for_visits_and_not_for_rows():
    """Repeat 60 times: draw 60 users with 1 to 11 similar visits; 400,000 visits give the truth."""
    rng = np.random.default_rng(0)

    def ranks_around(level):
        return 1 + np.minimum(rng.poisson(level), 499)

    everybody = ranks_around(rng.gamma(0.7, 60.0, 400_000))
    recall = (everybody <= 10).mean()
    auc = 1 - (everybody - 1).mean() / 499
    n_held = np.zeros((2, 3))
    for _ in range(60):
        user = np.repeat(np.arange(60), rng.integers(1, 12, 60))
        rank = ranks_around(rng.gamma(0.7, 60.0, 60)[user])
        among = 1 + rng.hypergeometric(rank - 1, 500 - rank, 50)
        ids = {"users": user, "visits": np.arange(user.size)}
        for row, options in enumerate(({}, ids)):
            sample = sm.SampledRanks(among, 500, 50, **options)
            results = sm.correct(sample, "recall@10, auc", "sampled")
            (full,) = sm.evaluate(sm.Ranks.from_ranks(rank, 500, **options), "recall@10")
            n_held[row] += (
                results[0].range_low <= recall <= results[0].range_high,
                results[1].range_low <= auc <= results[1].range_high,
                full.ci_low <= recall <= full.ci_high,
            )
    rows, visits = n_held / 60
    assert (visits >= 0.85).all()
    assert (rows[1:] < 0.6).all()


# Names of visits

SESSION_LISTS = pd.DataFrame(
    {
        "user_id": 1,
        "visit": [7, 7, 8, 8],
        "item_id": [10, 11, 20, 10],
        "score": [9.0, 8.0, 2.0, 1.0],
    }
)
SESSION_HELD = pd.DataFrame({"user_id": 1, "visit": [7, 8], "item_id": [11, 20]})
VISIT_NAMES = [
    "session_id",
    "impression_id",
    "request_id",
    "visit_id",
    "row_id",
    "SessionId",
]


# The relevant items are at ranks 2 and 1 of the lists of visits 7 and 8.
SESSION_RANKED = SESSION_LISTS.drop(columns="score").assign(rank=[1, 2, 1, 2])


@pytest.mark.parametrize("name", VISIT_NAMES)
@pytest.mark.parametrize("lists", [SESSION_LISTS, SESSION_RANKED], ids=["scores", "ranks"])
def test_lists_of_visits_are_not_merged(name, lists):
    lists, held_out = (table.rename(columns={"visit": name}) for table in (lists, SESSION_HELD))
    results = sm.evaluate(lists, "mrr@2, recall@2", relevant=held_out)
    assert values(results) == [(1 / 2 + 1) / 2, 1]
    assert (results[0].n_users, results[0].n_visits) == (1, 2)


@pytest.mark.parametrize("name", VISIT_NAMES)
def test_lists_of_visits_in_a_file_are_not_merged(name, tmp_path):
    SESSION_LISTS.rename(columns={"visit": name}).to_csv(tmp_path / "lists.csv", index=False)
    held_out = SESSION_HELD.rename(columns={"visit": name})
    results = sm.evaluate(tmp_path / "lists.csv", "mrr@2", relevant=held_out)
    assert values(results) == [(1 / 2 + 1) / 2]


@pytest.mark.parametrize("name", VISIT_NAMES)
@pytest.mark.parametrize("lists", [SESSION_LISTS, SESSION_RANKED], ids=["scores", "ranks"])
def test_visits_without_users_are_users(name, lists):
    lists, held_out = (
        table.drop(columns="user_id").rename(columns={"visit": name})
        for table in (lists, SESSION_HELD)
    )
    for relevant in (held_out, {7: [11], 8: [20]}):
        results = sm.evaluate(lists, "mrr@2, recall@2", relevant=relevant)
        assert values(results) == [(1 / 2 + 1) / 2, 1]
        assert (results[0].n_users, results[0].n_visits) == (2, None)


@pytest.mark.parametrize("name", VISIT_NAMES)
def test_visits_beside_relevant_items_of_users_are_refused(name):
    lists = SESSION_LISTS.drop(columns="user_id").rename(columns={"visit": name})
    with pytest.raises(sm.InputError, match="visit_id"):
        sm.evaluate(lists, "mrr@2", relevant=SESSION_HELD[["user_id", "item_id"]])


def test_one_visit_of_each_user_does_not_matter():
    """Users 7 and 8 have one list each; their relevant items are given by user."""
    lists = SESSION_LISTS.assign(user_id=SESSION_LISTS["visit"])
    lists = lists.rename(columns={"visit": "session_id"})
    held_out = pd.DataFrame({"user_id": [7, 8], "item_id": [11, 20]})
    assert values(sm.evaluate(lists, "mrr@2", relevant=held_out)) == [(1 / 2 + 1) / 2]


def test_visits_of_relevant_items_alone_do_not_split_a_list():
    lists = SESSION_LISTS.assign(user_id=SESSION_LISTS["visit"])
    lists = lists.rename(columns={"visit": "session_id"})
    held_out = pd.DataFrame({"user_id": 8, "item_id": [10, 20], "session_id": [1, 2]})
    assert values(sm.evaluate(lists, "recall@2", relevant=held_out)) == [1.0]


def several_lists(n_users=20):
    """Return two lists of five items for each user, for two days; the first item is relevant."""
    rng = np.random.default_rng(0)
    rows = [
        (user, day, item, 5.5 - 0.7 * place)
        for user in range(n_users)
        for day in ("Mon", "Tue")
        for place, item in enumerate(rng.permutation(50)[:5] + 100 * (day == "Tue"))
    ]
    return pd.DataFrame(rows, columns=["user_id", "day", "item_id", "score"])


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_unknown_column_that_separates_lists_is_refused(is_shuffled):
    lists = several_lists()
    held_out = lists[lists["score"] == 5.5][["user_id", "item_id"]]
    if is_shuffled:
        lists = lists.sample(frac=1, random_state=0)
    with pytest.raises(sm.InputError, match="column day"):
        sm.evaluate(lists, "rr@5", relevant=held_out)


def test_lists_of_one_day_are_read():
    """Each user's relevant item is first on Tuesday."""
    tuesday = several_lists().query("day == 'Tue'")
    held_out = tuesday[tuesday["score"] == 5.5][["user_id", "item_id"]]
    assert values(sm.evaluate(tuesday, "rr@5", relevant=held_out)) == [1.0]


def test_lists_of_both_days_are_read_with_the_day_in_the_id_of_the_user():
    lists = several_lists()
    lists["user_id"] = lists["user_id"].astype(str) + lists["day"]
    held_out = lists[lists["score"] == 5.5][["user_id", "item_id"]]
    assert values(sm.evaluate(lists.drop(columns="day"), "rr@5", relevant=held_out)) == [1.0]


def test_other_columns_do_not_separate_lists():
    lists = several_lists()
    lists = lists[lists["day"] == "Mon"].drop(columns="day")
    held_out = lists[lists["score"] == 5.5][["user_id", "item_id"]]
    rng = np.random.default_rng(1)
    others = {
        "genre": rng.choice(["x", "y", "z"], len(lists)),
        "year": rng.integers(1990, 1995, len(lists)),
        "title": [f"t{item}" for item in lists["item_id"]],
        "country": lists["user_id"].astype(str),
        "is_new": rng.random(len(lists)) < 0.5,
    }
    for name, column in others.items():
        results = sm.evaluate(lists.assign(**{name: column}), "rr@5", relevant=held_out)
        assert values(results) == [1.0]


@pytest.mark.parametrize("name", VISIT_NAMES)
def test_labelled_pairs_of_visits_are_not_merged(name):
    pairs = SESSION_LISTS.rename(columns={"visit": name}).assign(label=[0, 1, 1, 0])
    assert values(sm.evaluate(pairs, "mrr", complete=True)) == [0.75]
    # two users may use the same numbers of visits
    pairs["user_id"], pairs[name] = [1, 1, 2, 2], 1
    assert values(sm.evaluate(pairs, "mrr", complete=True)) == [0.75]


@pytest.mark.parametrize(
    ("ids", "reciprocal_ranks", "n_users", "n_visits"),
    [
        ({"user_id": [1, 1, 2], "session_id": [4, 5, 6]}, [1 / 2, 1, 1 / 4], 2, 3),
        ({"session_id": [4, 5, 6]}, [1 / 2, 1, 1 / 4], 3, None),
        # one visit with two items
        ({"impression_id": [4, 4, 6]}, [1, 1 / 4], 2, None),
    ],
)
def test_ranks_of_visits_are_read(ids, reciprocal_ranks, n_users, n_visits):
    table = pd.DataFrame({**ids, "rank": [2, 1, 4]})
    results = sm.evaluate(table, "rr", n_items=9)
    assert values(results) == [pytest.approx(np.mean(reciprocal_ranks))]
    assert (results[0].n_users, results[0].n_visits) == (n_users, n_visits)


STEPS = pd.DataFrame({"session_id": [8, 8, 9], "step": [1, 2, 1], "rank": [1, 5, 3]})
RR_OF_STEPS = (1 + 1 / 5 + 1 / 3) / 3
EQUAL_STEPS = STEPS.assign(rank=[1, 1, 3])
BY_SESSION = {"columns": {"user": "session_id"}}
COUNTS = STEPS.assign(n_candidates=9, n_better=STEPS["rank"] - 1, n_tied=0)
STEP_CASES = [
    Case("renamed", evaluate(STEPS, n_items=100),
         "step.* name it visit_id and pass columns={'user': 'session_id'}",
         {"data": STEPS.rename(columns={"step": "visit_id"}), **BY_SESSION}, RR_OF_STEPS),
    Case("one ranking",
         evaluate(STEPS.rename(columns={"session_id": "impression_id"}), n_items=100),
         "drop step", {"data": STEPS[["session_id", "rank"]]
             .set_axis(["impression_id", "rank"], axis=1)}, (1 + 1 / 3) / 2),
    Case("steps of users", evaluate(STEPS.rename(columns={"session_id": "user_id"}), n_items=100),
         "name it visit_id;", {"data": STEPS.set_axis(["user_id", "visit_id", "rank"], axis=1)},
         RR_OF_STEPS),
    Case("counts", evaluate(COUNTS), "visit_id",
         {"columns": {"user": "session_id", "visit": "step"}}, RR_OF_STEPS),
    Case("equal ranks", evaluate(EQUAL_STEPS.drop(columns="step"), n_items=100),
         "visit_id.* columns={'user': 'session_id'}",
         {"data": EQUAL_STEPS.rename(columns={"step": "visit_id"}), **BY_SESSION},
         (1 + 1 + 1 / 3) / 3),
]  # fmt: skip


@each_case(STEP_CASES)
def test_steps_of_a_session_are_refused_as_items_of_one_ranking(case: Case) -> None:
    assert_ends_as_expected(case)


def test_sessions_with_several_ranks_warn():
    value, warning = values_and_warnings(sm.evaluate, STEPS.drop(columns="step"), "rr", n_items=100)
    assert value == [pytest.approx((1 + 1 / 3) / 2)]  # the best rank of sessions 8 and 9
    assert "visit_id" in warning


def test_sessions_beside_visits_without_users_warn():
    numbered = STEPS.drop(columns="step").assign(visit_id=[11, 12, 11])
    _, warning = values_and_warnings(sm.evaluate, numbered, "rr", n_items=100)
    assert "session_id" in warning


@pytest.fixture
def candidates_of_visits():
    """Six items of each of two visits of two users; the held-out one is below 3 of 5 negatives."""
    rows = [
        (user, visit, 1000 * user + 100 * visit + item, float(item), item == 2)
        for user in (1, 2)
        for visit in (1, 2)
        for item in range(6)
    ]
    return pd.DataFrame(rows, columns=["user_id", "session_id", "item_id", "score", "label"])


def test_labelled_candidates_of_visits_are_not_merged(candidates_of_visits):
    results = sm.correct(candidates_of_visits, "recall@3, recall@4", "sampled", n_items=99)
    assert values(results) == [0, 1]
    assert (results[0].n_users, results[0].n_visits) == (2, 4)


def test_candidates_of_visits_beside_relevant_items_are_not_merged(candidates_of_visits):
    held_out = candidates_of_visits[candidates_of_visits["label"]].drop(columns=["score", "label"])
    lists = candidates_of_visits.drop(columns="label")
    results = sm.correct(lists, "recall@3, recall@4", "sampled", relevant=held_out, n_items=99)
    assert values(results) == [0, 1]
    assert (results[0].n_users, results[0].n_visits) == (2, 4)


# Rows with negatives of their own


@pytest.fixture(scope="module")
def own_negatives():
    """Two rows of each of 40 users, with ten negatives of their own, and recall@3 of the rows."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(80, 11))
    scores[:, 0] += 1.5
    row = np.repeat(np.arange(80), 11)
    label = np.tile([1] + [0] * 10, 80)
    pairs = pd.DataFrame(
        {"user_id": row // 2, "row_id": row, "score": scores.ravel(), "label": label}
    )
    n_better = (scores[:, 1:] > scores[:, :1]).sum(axis=1)
    return pairs, np.mean(n_better < 3)


@pytest.mark.parametrize("name", ["row_id", "impression_id"])
def test_rows_with_own_negatives_are_visits(own_negatives, name):
    pairs, right = own_negatives
    value, _ = values_and_warnings(
        sm.correct, pairs.rename(columns={"row_id": name}), "recall@3", "sampled",
        n_items=500, shape="none",
    )  # fmt: skip
    assert value == [pytest.approx(right)]


def test_pooled_negatives_of_two_rows_of_a_user_warn(own_negatives):
    pairs, _ = own_negatives
    pooled = pairs.drop(columns="row_id")
    _, messages = values_and_warnings(
        sm.correct, pooled, "recall@3", "sampled", n_items=500, shape="none"
    )
    assert "visit_id" in messages


ROW_RNG = np.random.default_rng(22)
ROWS = ROW_RNG.normal([2.0] + 99 * [0.0], size=(200, 100))
ROW_HIT_RATE = np.mean((ROWS[:, 1:] > ROWS[:, :1]).sum(axis=1) < 10)


ROW_RANKS = 1 + (ROWS[:, 1:] > ROWS[:, :1]).sum(axis=1)
TWO_OF_EACH = np.repeat(range(100), 2)  # held-out items of 100 users, with 99 negatives each


def test_two_held_out_items_of_a_user_are_visits():
    row = np.repeat(np.arange(200), 100)
    label = np.tile([1] + 99 * [0], 200)
    pairs = pd.DataFrame(
        {"row_id": row, "user_id": row // 2, "score": ROWS.ravel(), "label": label}
    )
    hit, ndcg = sm.correct(pairs, "HR@10, NDCG@10", "sampled", n_items=3706)
    assert hit.value == ROW_HIT_RATE
    assert ndcg.value == pytest.approx(np.mean((ROW_RANKS <= 10) / np.log2(ROW_RANKS + 1)))
    assert (hit.n_users, hit.n_visits) == (100, 200)


def test_two_ranks_of_a_user_are_refused_without_visits():
    pooled = sm.SampledRanks(ROW_RANKS, 3706, 99, users=TWO_OF_EACH, several_items=True)
    with pytest.raises(sm.InputError, match="visits="):
        sm.correct(pooled, "HR@10", "sampled")


def test_two_rows_of_a_user_with_visits_are_read():
    ids = {"users": TWO_OF_EACH, "visits": np.arange(200)}
    ranks = sm.SampledRanks.from_scores(ROWS, n_items=3706, **ids)
    assert value_of(sm.correct(ranks, "HR@10", "sampled")) == ROW_HIT_RATE
