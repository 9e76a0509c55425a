"""Grades of relevant items: by hand, all orders of ties, other packages, all forms of data."""

import json
import warnings
from math import log2

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, save_npz
from sklearn.metrics import ndcg_score
from typer.testing import CliRunner

import sampled_metrics as sm
from sampled_metrics.cli import app
from sampled_metrics.read.options import as_ranks
from tests.helpers.caught_warnings import warns_about
from tests.helpers.relevance import metric_values, orders_with_ties

WORST = (1 + 2 / log2(3) + 3 / 2) / (3 + 2 / log2(3) + 1 / 2)  # grades 1, 2, 3 at places 1, 2, 3


def graded(users, min_relevance=0.0):
    """Return ranks of users from their scores and grades, 0 for irrelevant items."""
    scores = np.array([scores for scores, _ in users], dtype=float)
    grades = csr_array(np.array([grades for _, grades in users], dtype=float))
    return sm.rank(scores, None, grades, min_relevance=min_relevance)


def by_definition(name, grades):
    """Return NDCG of one ranking from the grades in order."""
    kind, _, cutoff = name.partition("@")
    k = int(cutoff) if cutoff else len(grades)
    best = sorted(grades, reverse=True)
    if kind != "ndcg-by-relevant":
        best = best[:k]
    return _dcg(grades[:k]) / _dcg(best)


def _dcg(grades):
    return sum(grade / log2(place + 1) for place, grade in enumerate(grades, start=1))


class TestByHand:
    WRONG_ORDER = sm.Ranks([2], [0, 1], [0, 0], n_found=[2], relevance=[1, 3])

    def test_ndcg_of_grades_1_2_3_in_worst_order(self):
        for name in ("ndcg@3", "ndcg"):
            (result,) = sm.evaluate([[0.9, 0.5, 0.1]], name, relevant=[[1, 2, 3]])
            assert result.value == pytest.approx(WORST, rel=1e-15)
        assert pytest.approx(0.790, abs=5e-4) == WORST

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("ndcg@2", (1 + 3 / log2(3)) / (3 + 1 / log2(3))),
            ("ndcg", (1 + 3 / log2(3)) / (3 + 1 / log2(3))),
            ("ndcg@1", 1 / 3),
            ("ndcg-by-relevant@1", 1 / (3 + 1 / log2(3))),
            # the others take both items as relevant
            ("recall@1", 1 / 2),
            ("ap", 1),
            ("ndcg-by-k@2", 1),
        ],
    )
    def test_metrics_of_grades_1_and_3(self, name, expected):
        assert metric_values(name, self.WRONG_ORDER).item() == pytest.approx(expected, rel=1e-14)

    def test_at_least_decides_relevance_of_other_metrics(self):
        # grades 2, 4 and 1 at places 1, 3 and 4 of 9
        ranks = sm.Ranks([9], [0, 2, 3], [0, 0, 0], n_found=[3], relevance=[2, 4, 1]).at_least(2)
        assert metric_values("recall@1", ranks).item() == 1 / 2
        assert metric_values("ap", ranks).item() == pytest.approx((1 / 1 + 2 / 3) / 2, rel=1e-15)
        assert metric_values("auc", ranks).item() == pytest.approx((7 + 6) / (2 * 7), rel=1e-15)
        ideal = 4 + 2 / log2(3) + 1 / log2(4)
        expected = (2 + 4 / log2(4) + 1 / log2(5)) / ideal
        assert metric_values("ndcg", ranks).item() == pytest.approx(expected, rel=1e-15)

    def test_ndcg_ideal_list_has_items_below_the_end(self):
        # grade 1 at place 2 of a top 3, and an item of grade 3 that is not in it
        ranks = sm.Ranks([0], [1], [0], n_found=[1], n_relevant=[2], depth=[3], relevance=[1, 3])
        expected = (1 / log2(3)) / (3 + 1 / log2(3))
        assert metric_values("ndcg@3", ranks).item() == pytest.approx(expected, rel=1e-15)

    def test_ranks_unordered_items_have_their_grades(self):
        ranks = sm.Ranks([9, 9], [4, 0, 2], [0] * 3, n_found=[2, 1], relevance=[5, 1, 2])
        assert ranks.n_better.tolist() == [0, 4, 2]
        assert ranks.relevance.tolist() == [1, 5, 2]

    def test_equal_grades_change_nothing(self):
        users = [([3, 1, 2, 2], [4, 0, 4, 0]), ([1, 2, 3, 4], [0, 4, 0, 0])]
        same = [(scores, [grade / 4 for grade in grades]) for scores, grades in users]
        for name in ("ndcg", "ndcg@2", "recall@2"):
            np.testing.assert_allclose(
                metric_values(name, graded(users)), metric_values(name, graded(same))
            )


NAMES = ("ndcg", "ndcg@1", "ndcg@3", "ndcg-by-relevant@3")


one_user = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=2, max_size=6).filter(
    lambda items: any(grade for _, grade in items)
)


@settings(max_examples=60)
@given(items=one_user, seed=st.integers(0, 9))
def test_tie_policies_match_all_orders(items, seed):
    scores, grades = zip(*items, strict=True)
    ranks = graded([(scores, grades)])
    for name in NAMES:
        by_order = [
            by_definition(name, [grades[item] for item in order])
            for order in orders_with_ties(scores)
        ]
        assert metric_values(name, ranks).item() == pytest.approx(np.mean(by_order), abs=1e-13)
        assert metric_values(name, ranks, "optimistic").item() == pytest.approx(
            max(by_order), abs=1e-13
        )
        assert metric_values(name, ranks, "pessimistic").item() == pytest.approx(
            min(by_order), abs=1e-13
        )
        value = metric_values(name, ranks, "random", np.random.default_rng(seed)).item()
        assert min(abs(value - other) for other in by_order) < 1e-13


def test_random_orders_average_to_expectation():
    # grades 3, 1, 2 and an irrelevant item, all tied, 20,000 times
    copies = 20_000
    ranks = sm.Ranks(
        [4] * copies,
        [0] * 3 * copies,
        [3] * 3 * copies,
        n_found=[3] * copies,
        relevance=[3, 1, 2] * copies,
    )
    for name in NAMES:
        values = metric_values(name, ranks, "random", np.random.default_rng(3))
        error = values.std() / np.sqrt(copies)
        assert abs(values.mean() - metric_values(name, ranks)[0]) < 4 * error


def some_users(seed, tied):
    rng = np.random.default_rng(seed)
    for _ in range(30):
        scores = rng.integers(0, 6, 12) if tied else rng.permutation(12)
        grades = rng.integers(0, 4, 12) * (rng.random(12) < 0.6)
        grades[rng.integers(12)] = 3
        yield scores.tolist(), grades.tolist()


@pytest.mark.parametrize("tied", [True, False])
def test_ndcg_matches_scikit_learn(tied):
    users = list(some_users(1, tied))
    for k in (2, 5, None):
        name = "ndcg" if k is None else f"ndcg@{k}"
        theirs = [ndcg_score([grades], [scores], k=k) for scores, grades in users]
        np.testing.assert_allclose(metric_values(name, graded(users)), theirs, rtol=1e-12)


@pytest.mark.parametrize("least", [1, 2, 3])
def test_trec_eval_with_relevance_level(least):
    users = list(some_users(2, tied=False))
    names = {
        "ndcg": "ndcg",
        "ndcg_cut_5": "ndcg@5",
        "map": "ap",
        "P_5": "precision@5",
        "recall_5": "recall@5",
        "recip_rank": "rr",
        "map_cut_5": "ap-by-relevant@5",
        "success_5": "hit@5",
    }
    wanted = {"ndcg", "ndcg_cut.5", "map", "P.5", "recall.5", "recip_rank", "map_cut.5"}
    wanted.add("success.5")
    run = {}
    qrels = {}
    for user, (scores, grades) in enumerate(users):
        run[f"u{user}"] = {str(item): float(score) for item, score in enumerate(scores)}
        qrels[f"u{user}"] = {str(item): grade for item, grade in enumerate(grades)}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, wanted, relevance_level=least).evaluate(run)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sm.InputWarning)  # all items have scores
        ours = sm.values_by_user(
            run, list(names.values()), relevant=qrels, n_items=12, min_relevance=least
        )
    assert len(ours) == len(users)
    for their_name, name in names.items():
        expected = [theirs[user][their_name] for user in ours.index]
        np.testing.assert_allclose(ours[name], expected, rtol=1e-12)


CUTOFFS = (1, 3, 10, 30)


def test_trec_eval_of_full_rankings():
    """Binary relevance with several items per user."""
    rng = np.random.default_rng(11)
    users, items = 80, 40
    scores = rng.permuted(np.tile(np.arange(items) / items, (users, 1)), axis=1)
    relevant = [rng.choice(items, rng.integers(1, 9), replace=False).tolist() for _ in range(users)]
    names = {"map": "ap", "recip_rank": "rr", "ndcg": "ndcg"}
    for k in CUTOFFS:
        names[f"recall_{k}"] = f"recall@{k}"
        names[f"P_{k}"] = f"precision@{k}"
        names[f"ndcg_cut_{k}"] = f"ndcg@{k}"
        names[f"map_cut_{k}"] = f"ap-by-relevant@{k}"
    cuts = ",".join(map(str, CUTOFFS))
    wanted = {"map", "recip_rank", "ndcg"}
    wanted.update(f"{measure}.{cuts}" for measure in ("recall", "P", "ndcg_cut", "map_cut"))
    run = {}
    qrels = {}
    for user in range(users):
        run[f"u{user}"] = {f"i{item}": float(scores[user, item]) for item in range(items)}
        qrels[f"u{user}"] = {f"i{item}": 1 for item in relevant[user]}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, wanted).evaluate(run)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sm.InputWarning)  # all items have scores
        ours = sm.values_by_user(scores, [*names.values()], relevant=relevant)
        by_id = sm.values_by_user(run, [*names.values()], relevant=qrels, n_items=items)
    assert ours.index.tolist() == list(range(users))
    assert by_id.index.tolist() == [f"u{user}" for user in range(users)]
    for their_name, name in names.items():
        expected = [theirs[user][their_name] for user in by_id.index]
        np.testing.assert_allclose(ours[name], expected, rtol=0, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(by_id[name], expected, rtol=0, atol=1e-12, err_msg=name)


# Grades 1, 2, 3 at places 1, 2, 3 of anna; 3 at place 2 of bert; none above 1 of carl.
SCORES = np.array([[0.9, 0.5, 0.1, 0.0], [0.9, 0.5, 0.1, 0.0], [0.9, 0.5, 0.1, 0.0]])


GRADES = np.array([[1, 2, 3, 0], [0, 3, 0, -1], [1, 0, 0, 0]])


NDCG = [WORST, 1 / log2(3), 1]


TABLE = pd.DataFrame(
    [(user, item, GRADES[user, item]) for user in range(3) for item in range(4)],
    columns=["user_id", "item_id", "relevance"],
)


LISTS = pd.DataFrame(
    [(user, item, SCORES[user, item]) for user in range(3) for item in range(4)],
    columns=["user_id", "item_id", "score"],
)


QRELS = "".join(f"{user} 0 {item} {grade}\n" for user, item, grade in TABLE.to_numpy())


def forms(folder):
    """Yield scores and lists with grades in every form."""
    TABLE.to_csv(folder / "grades.csv", index=False)
    (folder / "grades.qrels").write_text(QRELS)
    np.save(folder / "grades.npy", GRADES)
    save_npz(folder / "grades.npz", csr_array(GRADES))
    np.save(folder / "scores.npy", SCORES)
    by_user = {u: {i: int(GRADES[u, i]) for i in range(4)} for u in range(3)}
    tables = [TABLE, folder / "grades.csv", folder / "grades.qrels", by_user]
    matrices = [GRADES, GRADES.tolist(), GRADES.astype(np.float32), csr_array(GRADES)]
    files = [folder / "grades.npy", folder / "grades.npz", folder / "grades.csv"]
    for relevant in [*tables, *matrices]:
        yield SCORES, relevant
    for relevant in [*files, folder / "grades.qrels"]:
        yield folder / "scores.npy", relevant
    for relevant in [*tables, csr_array(GRADES)]:
        yield LISTS, relevant
    yield {u: dict(enumerate(SCORES[u])) for u in range(3)}, by_user


def test_every_form_of_grades_gives_the_same_values(tmp_path):
    for data, relevant in forms(tmp_path):
        by_user = sm.values_by_user(data, "ndcg@3,recall@1", relevant=relevant)
        np.testing.assert_allclose(by_user["ndcg@3"], NDCG, rtol=1e-14)
        np.testing.assert_allclose(by_user["recall@1"], [1 / 3, 0, 1], rtol=1e-14)
        mean = sm.evaluate(data, "ndcg@3", relevant=relevant)[0]
        assert mean.value == pytest.approx(np.mean(NDCG), rel=1e-14)
        # carl has no item of at least 2
        high = sm.values_by_user(data, "ndcg@3,recall@2", relevant=relevant, min_relevance=2)
        np.testing.assert_allclose(high["ndcg@3"], NDCG[:2], rtol=1e-14)
        np.testing.assert_allclose(high["recall@2"], [1 / 2, 1], rtol=1e-14)


def test_compare_matches_evaluate_and_mentions_grades():
    results = sm.compare(
        {"A": SCORES, "B": -SCORES}, "ndcg@3, recall@2", relevant=GRADES, min_relevance=2
    )
    alone = sm.evaluate(SCORES, "ndcg@3, recall@2", relevant=GRADES, min_relevance=2)
    assert [result.value_a for result in results] == [result.value for result in alone]
    for printed in (results, alone):
        assert "grades" in str(printed)
        assert "least" in str(printed)
    assert "least" not in str(sm.evaluate(SCORES, "ndcg@3", relevant=GRADES))


class TestStoredGrades:
    RANKS = sm.Ranks(
        [4, 4], [0, 1, 2, 1], [0] * 4, n_found=[3, 1], relevance=[1, 2, 3, 3], users=["a", "b"]
    )

    @pytest.mark.parametrize("least", [0, 2, 3])
    def test_written_ranks_have_grades(self, least, tmp_path):
        ranks = self.RANKS.at_least(least) if least else self.RANKS
        ranks.write(tmp_path / "ranks.parquet")
        read = as_ranks(tmp_path / "ranks.parquet")
        assert read.min_relevance == least
        for name in ("ndcg@3", "recall@2", "ap"):
            assert metric_values(name, read).tolist() == metric_values(name, ranks).tolist()

    def test_take_and_replace_preserve_grades(self):
        assert self.RANKS.take([1, 0]).relevance.tolist() == [3, 1, 2, 3]
        named = self.RANKS.replace(source="a test", users=["x", "y"])
        assert metric_values("ndcg", named).tolist() == metric_values("ndcg", self.RANKS).tolist()
        assert named.users.tolist() == ["x", "y"]
        assert named.replace(source="again").users.tolist() == ["x", "y"]

    def test_evaluate_ranks_with_min_relevance(self):
        (result,) = sm.evaluate(self.RANKS, "recall@2", min_relevance=2)
        assert result.value == pytest.approx((1 / 2 + 1) / 2)

    def test_evaluate_command_with_min_relevance(self, tmp_path):
        TABLE.to_csv(tmp_path / "grades.csv", index=False)
        np.save(tmp_path / "scores.npy", SCORES)
        arguments = ["evaluate", tmp_path / "scores.npy", "--relevant", tmp_path / "grades.csv"]
        arguments += ["--metric", "ndcg@3,recall@2", "--min-relevance", 2, "--format", "json"]
        result = CliRunner().invoke(app, list(map(str, arguments)))
        assert result.exit_code == 0, result.output
        ndcg, recall = json.loads(result.stdout)
        assert ndcg["value"] == pytest.approx(np.mean(NDCG[:2]), rel=1e-14)
        assert recall["value"] == pytest.approx((1 / 2 + 1) / 2)

    def test_correct_warns_about_unused_grades(self):
        with warns_about("grades"):
            sm.correct(LISTS[LISTS.user_id == 1], "hr@1", relevant=TABLE, n_items=50)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relevant": GRADES, "min_relevance": 4}, "highest relevance is 3"),
        ({"relevant": [0, 1, 2], "min_relevance": 2}, "no grades"),
        ({"relevant": GRADES > 0, "min_relevance": 2}, "no grades"),
        ({"relevant": GRADES, "min_relevance": -1}, "min_relevance is -1"),
        ({"relevant": GRADES, "min_relevance": float("nan")}, "min_relevance is nan"),
        ({"relevant": np.where(GRADES > 2, np.nan, GRADES)}, "finite"),
    ],
)
def test_wrong_grades_are_refused(options, message):
    with pytest.raises(sm.InputError, match=message):
        sm.evaluate(SCORES, "ndcg@3", **options)


@pytest.mark.parametrize("relevance", [[1], [1, 0], [1, -1], [1, np.inf]])
def test_ranks_with_wrong_grades_are_refused(relevance):
    with pytest.raises(sm.InputError, match="relevance"):
        sm.Ranks([9], [0, 1], [0, 0], n_found=[2], relevance=relevance)


def test_compare_of_sampled_ranks_refuses_min_relevance():
    sampled = sm.SampledRanks([1, 2], 9, 4)
    with pytest.raises(sm.InputError, match="min_relevance"):
        sm.compare({"A": sampled, "B": sampled}, "hr@1", min_relevance=2)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]])
@pytest.mark.parametrize(("item", "place"), [("a", 1), ("b", 2), ("e", 3)])
def test_grades_of_missing_items_in_any_order_of_rows(item, place, order):
    """An item of grade 1 is in the list; c of grade 3 and d of grade 2 are not."""
    lists = pd.DataFrame({"user_id": ["anna"] * 3, "item_id": list("abe"), "rank": [1, 2, 3]})
    relevant = pd.DataFrame(
        {"user_id": ["anna"] * 3, "item_id": [item, "c", "d"], "relevance": [1, 3, 2]}
    )
    relevant = relevant.iloc[order]
    (result,) = sm.evaluate(lists, "ndcg@3", relevant=relevant, n_items=50)
    ideal = 3 + 2 / log2(3) + 1 / 2
    assert result.value == pytest.approx(1 / log2(place + 1) / ideal, rel=1e-12)
