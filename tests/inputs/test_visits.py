"""Visits of users: means over visits, errors of independent users, in every form of data."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm

# Items of three visits of anna and one of bob, best first, and the relevant ones.
LISTS = {
    ("anna", 1): ["a", "b", "c", "d"],
    ("anna", 2): ["b", "a", "d", "c"],
    ("anna", 3): ["d", "c", "b", "a"],
    ("bob", 1): ["c", "a", "b", "d"],
}
WANTED = {
    ("anna", 1): ["a"],
    ("anna", 2): ["d"],
    ("anna", 3): ["c", "a"],
    ("bob", 1): ["d"],
}
RR = {
    ("anna", 1): Fraction(1),
    ("anna", 2): Fraction(1, 3),
    ("anna", 3): Fraction(1, 2),
    ("bob", 1): Fraction(1, 4),
}
MEAN = float(sum(RR.values()) / 4)  # of visits: 25/48; of users 31/72
SESSIONS = np.repeat(np.arange(200), 10)


def sandwich(value, user):
    """Standard error of a mean, clustered: residuals are summed by user before the square."""
    value, user = list(value), list(user)
    mean = sum(value) / len(value)
    users = sorted(set(user))
    total = 0.0
    for one in users:
        residual = sum(
            x - mean for x, owner in zip(value, user, strict=True) if owner == one
        )
        total += residual**2
    few = len(users) / (len(users) - 1)
    return (few * total) ** 0.5 / len(value)


ERROR = sandwich(map(float, RR.values()), [user for user, _ in RR])


def lists_table(lists=LISTS, name="session_id"):
    rows = [
        (user, visit, item, -place)
        for (user, visit), items in lists.items()
        for place, item in enumerate(items)
    ]
    return pd.DataFrame(rows, columns=["user_id", name, "item_id", "score"])


def wanted_table(name="session_id"):
    rows = [(*unit, item) for unit, items in WANTED.items() for item in items]
    return pd.DataFrame(rows, columns=["user_id", name, "item_id"])


def labelled():
    lists = lists_table()
    units = zip(lists["user_id"], lists["session_id"], lists["item_id"], strict=True)
    label = [int(item in WANTED[user, visit]) for user, visit, item in units]
    return lists.assign(label=label)


def ranked():
    rows = [
        (user, visit, LISTS[user, visit].index(item) + 1)
        for (user, visit), items in WANTED.items()
        for item in items
    ]
    return pd.DataFrame(rows, columns=["user_id", "session_id", "rank"])


def expect(found, n_visits=4):
    one = found[0]
    assert one.value == pytest.approx(MEAN)
    assert one.std_error == pytest.approx(ERROR)
    assert (one.n_users, one.n_visits) == (2, n_visits)


def test_hand_arithmetic():
    assert pytest.approx(25 / 48) == MEAN
    # residuals 23/48, -9/48, -1/48 of anna, together 13/48, and -13/48 of bob
    assert pytest.approx((2 * 2 * (13 / 48) ** 2) ** 0.5 / 4) == ERROR


def from_scores(make):
    items = ["a", "b", "c", "d"]
    scores = np.array(
        [[-own.index(item) for item in items] for own in LISTS.values()], float
    )
    users, visits = zip(*LISTS, strict=True)
    return make(scores, wanted_table(), users=users, visits=visits, items=items)


FORMS = {
    "lists": lambda: sm.evaluate(lists_table(), "rr", relevant=wanted_table()),
    "shuffled": lambda: sm.evaluate(
        lists_table().sample(frac=1, random_state=0),
        "rr",
        relevant=wanted_table("impression_id").sample(frac=1, random_state=1),
    ),
    "users of relevant items": lambda: sm.evaluate(
        lists_table({(None, f"{u}{v}"): x for (u, v), x in LISTS.items()}).drop(
            columns="user_id"
        ),
        "rr",
        relevant=wanted_table().assign(
            session_id=lambda table: (
                table["user_id"] + table["session_id"].astype(str)
            )
        ),
    ),
    "labelled pairs": lambda: sm.evaluate(labelled(), "rr", complete=True),
    "ranks": lambda: sm.evaluate(ranked(), "rr", n_items=4),
    "from_ranks": lambda: sm.evaluate(
        sm.Ranks.from_ranks(
            ranked()["rank"],
            4,
            users=ranked()["user_id"],
            visits=ranked()["session_id"],
        ),
        "rr",
    ),
    "from_top_k": lambda: sm.evaluate(
        sm.Ranks.from_top_k(
            list(LISTS.values()),
            wanted_table(),
            users=[user for user, _ in LISTS],
            visits=[visit for _, visit in LISTS],
        ),
        "rr",
    ),
    "from_top_k by row": lambda: sm.evaluate(
        sm.Ranks.from_top_k(
            list(LISTS.values()),
            list(WANTED.values()),
            users=[user for user, _ in LISTS],
            visits=[visit for _, visit in LISTS],
        ),
        "rr",
    ),
    "from_scores": lambda: sm.evaluate(from_scores(sm.Ranks.from_scores), "rr"),
    "rank": lambda: sm.evaluate(
        from_scores(
            lambda scores, wanted, **ids: sm.rank(scores, None, wanted, **ids)
        ),
        "rr",
    ),
    "a function": lambda: sm.evaluate(
        from_scores(
            lambda scores, wanted, **ids: sm.rank(
                lambda rows: scores[rows], None, wanted, **ids
            )
        ),
        "rr",
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_means_over_visits_with_errors_of_users(name):
    expect(FORMS[name]())


def test_files_and_the_command(tmp_path):
    lists_table().to_csv(tmp_path / "lists.csv", index=False)
    wanted_table().to_csv(tmp_path / "wanted.csv", index=False)
    run = subprocess.run(
        [
            *(sys.executable, "-m", "sampled_metrics", "evaluate", "lists.csv"),
            *("--relevant", "wanted.csv", "--metric", "rr", "--format", "csv"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    (tmp_path / "found.csv").write_text(run.stdout)
    found = pd.read_csv(tmp_path / "found.csv").iloc[0]
    assert found["value"] == pytest.approx(MEAN)
    assert found["std_error"] == pytest.approx(ERROR)
    assert (found["n_users"], found["n_visits"]) == (2, 4)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_written_visits_are_read(suffix, tmp_path):
    ranks = sm.Ranks.from_table(ranked(), 4)
    ranks.write(tmp_path / f"ranks.{suffix}")
    expect(sm.evaluate(tmp_path / f"ranks.{suffix}", "rr"))
    pairs = sm.SampledRanks.from_pairs(labelled().iloc[:8], n_items=9)
    pairs.write(tmp_path / f"sampled.{suffix}")
    same = sm.SampledRanks.read(tmp_path / f"sampled.{suffix}")
    assert same.visits.tolist() == pairs.visits.tolist() == [1, 2]
    assert same.users.tolist() == ["anna", "anna"]


def test_parts_together_and_some_visits():
    ranks = sm.Ranks.from_table(ranked(), 4)
    halves = [ranks.take([0, 3]), ranks.take([1, 2])]
    expect(sm.evaluate(sm.Ranks.concatenate(halves), "rr"))
    with pytest.raises(sm.InputError, match="visits"):
        sm.Ranks.concatenate([ranks, sm.Ranks([4], [0], [0], users=["cleo"])])


def test_values_by_visit():
    found = sm.values_by_user(lists_table(), "rr", relevant=wanted_table())
    assert found.index.names == ["user_id", "visit_id"]
    assert found["rr"].to_dict() == pytest.approx(
        {unit: float(value) for unit, value in RR.items()}
    )


def test_a_meter_of_visits():
    items = ["a", "b", "c", "d"]
    for cuts in ([4], [1, 3], [2, 2]):
        meter = sm.RankMeter("rr")
        first = 0
        for size in cuts:
            units = list(LISTS)[first : first + size]
            meter.update(
                [[-LISTS[unit].index(item) for item in items] for unit in units],
                [[int(item in WANTED[unit]) for item in items] for unit in units],
                users=[user for user, _ in units],
                visits=[visit for _, visit in units],
            )
            first += size
        expect(meter.compute())


def test_visits_of_several_meters_count_once():
    meters = []
    for rows in ([0, 1, 2], [2, 3]):  # a sampler repeats the third
        meters.append(sm.RankMeter("rr", n_items=9))
        meters[-1].update(
            ranks=np.array([1, 3, 2, 4])[rows],
            users=np.array(["anna", "anna", "anna", "bob"])[rows],
            visits=np.array([1, 2, 3, 1])[rows],
        )
    expect((meters[0] + meters[1]).compute())


def test_sessions_of_ten_targets():
    """The standard error of 2,000 rows as independent ones is a third of the right one."""
    rng = np.random.default_rng(49)
    easy = rng.random(200) < 0.3
    hit = rng.random((200, 10)) < np.where(easy, 0.9, 0.05)[:, None]
    rank = np.where(hit, 1, 50).ravel()
    means = hit.mean(1)
    right = means.std(ddof=1) / 200**0.5
    assert right == pytest.approx(0.02859, abs=1e-5)
    with pytest.raises(sm.InputError, match="visits="):
        sm.Ranks.from_ranks(rank, 1000, users=SESSIONS)
    meter = sm.RankMeter("recall@10", n_items=1000)
    meter.update(ranks=rank, users=SESSIONS)
    with pytest.raises(sm.InputError, match="visits="):
        meter.compute()
    # as the messages say
    ids = {"users": SESSIONS, "visits": np.arange(2000)}
    meter = sm.RankMeter("recall@10", n_items=1000)
    meter.update(ranks=rank, **ids)
    full = sm.Ranks.from_ranks(rank, 1000, **ids)
    with pytest.warns(sm.InputWarning):  # ranks that end at 50
        results = [sm.evaluate(full, "recall@10")[0], meter.compute()[0]]
    for found in results:
        assert found.value == pytest.approx(hit.mean())
        assert found.std_error == pytest.approx(right)
        assert (found.n_users, found.n_visits) == (200, 2000)


def uneven(seed, n_users=30):
    """Users with 1 to 6 visits, of which those of a user are alike; ranks of two models."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(n_users), rng.integers(1, 7, n_users))
    level = rng.gamma(1.0, 50.0, n_users)[user]
    ranks = [
        1 + np.minimum(rng.poisson(level * factor), 229) for factor in (1.0, 0.6)
    ]
    return user, np.arange(user.size) % 7 + 100 * user, ranks


@pytest.mark.parametrize("seed", range(3))
def test_errors_and_comparisons_against_brute_force(seed):
    user, visit, ranks = uneven(seed)
    values = [np.where(rank <= 10, 1 / np.log2(1 + rank), 0) for rank in ranks]
    made = {
        name: sm.Ranks.from_ranks(rank, 230, users=user, visits=visit)
        for name, rank in zip("ab", ranks, strict=True)
    }
    for name, value in zip("ab", values, strict=True):
        (found,) = sm.evaluate(made[name], "ndcg@10")
        assert found.value == pytest.approx(value.mean())
        assert found.std_error == pytest.approx(sandwich(value, user))
        assert found.n_users == 30
    # in any order, and of the visits in common
    order = np.random.default_rng(9).permutation(user.size)[:-5]
    made["b"] = made["b"].take(order)
    (found,) = sm.compare(made, "ndcg@10")
    difference = (values[1] - values[0])[order]
    assert found.difference == pytest.approx(difference.mean())
    assert found.std_error == pytest.approx(sandwich(difference, user[order]))
    assert (found.n_users, found.n_visits) == (
        np.unique(user[order]).size,
        order.size,
    )


def test_users_of_one_visit_each_are_users():
    user, visit, (rank, _) = uneven(0)
    first = np.unique(user, return_index=True)[1]
    ids = {"users": user[first], "visits": visit[first]}
    ranks = sm.Ranks.from_ranks(rank[first], 230, **ids)
    assert ranks.visits is None
    (found,) = sm.evaluate(ranks, "rr")
    assert found.n_visits is None
    assert "n_visits" not in sm.evaluate(ranks, "rr").to_frame()


def sampled(seed, n_negatives=20):
    user, visit, ranks = uneven(seed, 120)
    rng = np.random.default_rng(seed)
    drawn = [
        1 + rng.hypergeometric(rank - 1, 230 - rank, n_negatives) for rank in ranks
    ]
    return user, visit, drawn


@pytest.mark.parametrize("seed", range(2))
def test_sampled_ranks_against_brute_force(seed):
    user, visit, drawn = sampled(seed)
    made = {
        name: sm.SampledRanks(rank, 230, 20, users=user, visits=visit)
        for name, rank in zip("ab", drawn, strict=True)
    }
    values = [np.where(rank <= 5, 1 / np.log2(1 + rank), 0) for rank in drawn]
    for name, value in zip("ab", values, strict=True):
        (found,) = sm.correct(made[name], "ndcg@5", "sampled")
        assert found.value == pytest.approx(value.mean())
        assert found.std_error == pytest.approx(sandwich(value, user))
        assert (found.n_users, found.n_visits) == (120, user.size)
    (found,) = sm.compare(made, "ndcg@5", "sampled")
    assert found.difference == pytest.approx((values[1] - values[0]).mean())
    assert found.std_error == pytest.approx(sandwich(values[1] - values[0], user))
    # AUC is linear in the sampled rank: its range is the interval of a mean of users, and a
    # little more for users of many visits that were not drawn
    (auc,) = sm.correct(made["a"], "auc", "sampled")
    value = 1 - (drawn[0] - 1) / 20
    width = auc.range_high - auc.range_low
    assert 1.95 < width / 2 / sandwich(value, user) < 2.6


def test_ranges_of_visits_are_wider_than_of_rows():
    rng = np.random.default_rng(1)
    user = np.repeat(np.arange(60), 10)
    rank = 1 + np.minimum(rng.poisson(rng.gamma(1.0, 15.0, 60)[user]), 229)
    drawn = 1 + rng.hypergeometric(rank - 1, 230 - rank, 50)
    ids = {"users": user, "visits": np.arange(600)}
    widths = []
    for options in ({}, ids):
        ranks = sm.SampledRanks(drawn, 230, 50, **options)
        (found,) = sm.correct(ranks, "recall@10", "sampled")
        widths.append(found.range_high - found.range_low)
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
    (found,) = sm.correct(table, "hr@1", "sampled", n_items=50, n_negatives=9)
    assert found.value == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)
    assert (found.n_users, found.n_visits) == (2, 3)


def test_plans_of_visits_need_more_negatives_than_of_rows():
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(40), 10)
    base = rng.gamma(1.0, 60.0, 40)
    a = 1 + np.minimum(rng.poisson(base[user]), 499)
    b = 1 + np.minimum(rng.poisson(rng.permutation(base)[user] * 0.5), 499)
    ids = {"users": user, "visits": np.arange(400)}
    plans = []
    for options in ({}, ids):
        made = [sm.Ranks.from_ranks(rank, 500, **options) for rank in (a, b)]
        plans.append(sm.plan(*made, "recall@10", sizes=[100]))
    rows, visits = plans
    assert (visits[0].n_users, visits[0].n_visits) == (40, 400)
    assert visits[-1].exact_a == pytest.approx((a <= 10).mean())
    for of_rows, of_visits in zip(rows, visits, strict=True):
        assert of_visits.decides_above > 1.5 * of_rows.decides_above
    # of full rankings, the half width of the interval that `compare` gives
    value = (b <= 10).astype(float) - (a <= 10)
    assert visits[-1].decides_above == pytest.approx(
        1.96 * sandwich(value, user), rel=0.05
    )
    with pytest.raises(sm.InputError, match="n_users"):
        sm.plan(*made, "recall@10", n_users=100)


def test_seen_items_of_a_user_are_those_of_all_visits():
    seen = pd.DataFrame({"user_id": ["anna"], "item_id": ["b"]})
    found = sm.values_by_user(lists_table(), "rr", relevant=wanted_table(), seen=seen)
    assert found["rr"].tolist() == pytest.approx([1, 1 / 2, 1 / 2, 1 / 4])
    # of one visit
    seen["session_id"] = 2
    found = sm.values_by_user(lists_table(), "rr", relevant=wanted_table(), seen=seen)
    assert found["rr"].tolist() == pytest.approx([1, 1 / 2, 1 / 2, 1 / 4])
    seen["session_id"] = 3
    found = sm.values_by_user(lists_table(), "rr", relevant=wanted_table(), seen=seen)
    assert found["rr"].tolist() == pytest.approx([1, 1 / 3, 1 / 2, 1 / 4])
    # of earlier ones: as the message says
    seen["session_id"] = 99
    with pytest.raises(sm.InputError, match="session_id"):
        sm.evaluate(lists_table(), "rr", relevant=wanted_table(), seen=seen)
    # beside scores
    seen = seen.drop(columns="session_id")
    ranks = from_scores(
        lambda scores, wanted, **ids: sm.rank(scores, seen, wanted, **ids)
    )
    found = sm.values_by_user(ranks, "rr")
    assert found["rr"].tolist() == pytest.approx([1, 1 / 2, 1 / 2, 1 / 4])


def test_what_is_refused():
    lists, wanted = lists_table(), wanted_table()
    with pytest.raises(sm.InputError, match=r"relevant.*visit"):
        sm.evaluate(
            lists, "rr", relevant=wanted[["user_id", "item_id"]].drop_duplicates()
        )
    with pytest.raises(sm.InputError, match=r"relevant.*visit"):
        sm.evaluate(lists, "rr", relevant={"anna": ["a"]})
    with pytest.raises(sm.InputError, match="several users"):
        sm.evaluate(lists.drop(columns="user_id").iloc[:4], "rr", relevant=wanted)
    with pytest.raises(sm.InputError, match="user anna, visit 3"):
        sm.evaluate(lists[lists["session_id"] != 3], "rr", relevant=wanted)
    with pytest.raises(sm.InputError, match="user_id"):
        sm.evaluate(lists, "rr", relevant=wanted.drop(columns="user_id"))
    with pytest.raises(sm.InputError, match="users"):
        sm.Ranks.from_ranks([1, 2], 9, visits=[1, 2])
    with pytest.raises(sm.InputError, match="duplicate"):
        sm.Ranks([9, 9], [0, 1], [0, 0], users=[1, 1], visits=[2, 2])
    numbered = lists.drop(columns="session_id").reset_index(names="row_id")
    with pytest.raises(sm.InputError, match=r"row_id.*number"):
        sm.evaluate(numbered, "rr", relevant=wanted)
    of_visits = sm.Ranks.from_table(ranked(), 4)
    of_users = sm.Ranks([4, 4], [0, 1], [0, 0], users=["anna", "bob"])
    with pytest.raises(sm.InputError, match="visits"):
        sm.compare({"A": of_visits, "B": of_users}, "rr")


def test_results_say_how_many_visits():
    found = sm.evaluate(lists_table(), "rr", relevant=wanted_table())
    assert "2 users, 4 visits" in str(found)
    user, visit, drawn = sampled(0)
    ranks = sm.SampledRanks(drawn[0], 230, 20, users=user, visits=visit)
    assert f"120 users, {user.size} visits" in str(sm.correct(ranks, "recall@5"))


def test_lists_in_order_without_scores():
    lists = lists_table().drop(columns="score")
    expect(sm.evaluate(lists, "rr", relevant=wanted_table()))
    alone = lists[lists["user_id"] == "anna"].drop(columns="user_id")
    wanted = wanted_table()[lambda table: table["user_id"] == "anna"]
    found = sm.evaluate(alone, "rr", relevant=wanted.drop(columns="user_id"))
    assert found[0].value == pytest.approx((1 + 1 / 3 + 1 / 2) / 3)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_intervals_and_ranges_hold_for_visits_and_not_for_rows():
    """60 users with 1 to 11 visits of one level, 60 times; all of 400,000 are the truth."""
    rng = np.random.default_rng(0)

    def drawn(level):
        return 1 + np.minimum(rng.poisson(level), 499)

    everybody = drawn(rng.gamma(0.7, 60.0, 400_000))
    recall = (everybody <= 10).mean()
    auc = 1 - (everybody - 1).mean() / 499
    held = np.zeros((2, 3))
    for _ in range(60):
        user = np.repeat(np.arange(60), rng.integers(1, 12, 60))
        rank = drawn(rng.gamma(0.7, 60.0, 60)[user])
        among = 1 + rng.hypergeometric(rank - 1, 500 - rank, 50)
        ids = {"users": user, "visits": np.arange(user.size)}
        for row, options in enumerate(({}, ids)):
            sample = sm.SampledRanks(among, 500, 50, **options)
            found = sm.correct(sample, "recall@10, auc", "sampled")
            (full,) = sm.evaluate(
                sm.Ranks.from_ranks(rank, 500, **options), "recall@10"
            )
            held[row] += (
                found[0].range_low <= recall <= found[0].range_high,
                found[1].range_low <= auc <= found[1].range_high,
                full.ci_low <= recall <= full.ci_high,
            )
    rows, visits = held / 60
    assert (visits >= 0.85).all()
    assert (rows[1:] < 0.6).all()
