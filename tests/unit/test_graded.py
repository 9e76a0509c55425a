"""Grades of relevant items and metrics of a whole batch: by hand, by every order, by others."""

from math import log2

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import ndcg_score

from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.evaluate import evaluate
from sampled_metrics.metrics import parse_measure, values
from sampled_metrics.ranks import Ranks, rank
from tests.unit.relevance import orders

WRONG_ORDER = Ranks([2], [0, 1], [0, 0], n_found=[2], grades=[1, 3])


def value(name, ranks, *args):
    return values(parse_measure(name), ranks, *args)


def graded(users, min_grade=0.0):
    """Ranks of users given as (scores, grades), 0 for an irrelevant item."""
    scores = np.array([scores for scores, _ in users], dtype=float)
    grades = csr_array(np.array([grades for _, grades in users], dtype=float))
    return rank(lambda rows: scores[rows], None, grades, min_grade=min_grade)


def by_definition(name, grades):
    """NDCG of one ranking, from the grades by place."""
    kind, _, cutoff = name.partition("@")
    k = int(cutoff) if cutoff else len(grades)
    best = sorted(grades, reverse=True)
    if kind != "ndcg-by-relevant":
        best = best[:k]
    return _dcg(kind, grades[:k]) / _dcg(kind, best)


def _dcg(kind, grades):
    gain = (lambda grade: 2**grade - 1) if kind == "ndcg-exp" else float
    return sum(gain(grade) / log2(place + 1) for place, grade in enumerate(grades, start=1))


class TestByHand:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("ndcg@2", (1 + 3 / log2(3)) / (3 + 1 / log2(3))),
            ("ndcg", (1 + 3 / log2(3)) / (3 + 1 / log2(3))),
            ("ndcg@1", 1 / 3),
            ("ndcg-by-relevant@1", 1 / (3 + 1 / log2(3))),
            ("ndcg-exp@2", (1 + 7 / log2(3)) / (7 + 1 / log2(3))),
            ("ndcg-exp@1", 1 / 7),
            # the others take both items as relevant
            ("recall@1", 1 / 2),
            ("ap", 1),
            ("ndcg-by-k@2", 1),
        ],
    )
    def test_grades_3_and_1_in_the_wrong_order(self, name, expected):
        assert value(name, WRONG_ORDER).item() == pytest.approx(expected, rel=1e-14)

    def test_other_metrics_take_items_of_at_least_a_grade(self):
        # grades 2, 4 and 1 at places 1, 3 and 4 of 9
        columns = ([9], [0, 2, 3], [0, 0, 0])
        ranks = Ranks(*columns, n_found=[3], grades=[2, 4, 1], min_grade=2)
        assert value("recall@1", ranks).item() == 1 / 2
        assert value("ap", ranks).item() == pytest.approx((1 / 1 + 2 / 3) / 2, rel=1e-15)
        assert value("auc", ranks).item() == pytest.approx((7 + 6) / (2 * 7), rel=1e-15)
        ideal = 4 + 2 / log2(3) + 1 / log2(4)
        expected = (2 + 4 / log2(4) + 1 / log2(5)) / ideal
        assert value("ndcg", ranks).item() == pytest.approx(expected, rel=1e-15)

    def test_items_below_the_end_of_a_list_count_in_the_ideal_list(self):
        # grade 1 at place 2 of a top 3, and an item of grade 3 that is not in it
        ranks = Ranks([0], [1], [0], n_found=[1], n_relevant=[2], depth=[3], grades=[1, 3])
        expected = (1 / log2(3)) / (3 + 1 / log2(3))
        assert value("ndcg@3", ranks).item() == pytest.approx(expected, rel=1e-15)

    def test_gain_beyond_float64_is_refused(self):
        huge = Ranks([2], [0], [0], n_found=[1], grades=[2000])
        assert value("ndcg", huge).item() == 1
        several = Ranks([3], [0, 1], [0, 0], n_found=[2], grades=[1, 2000])
        with pytest.raises(InputError, match="grade 2000 is too large"):
            value("ndcg-exp", several)


NAMES = ("ndcg", "ndcg@1", "ndcg@3", "ndcg-exp", "ndcg-exp@3", "ndcg-by-relevant@3")
one_user = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=2, max_size=5)
one_user = one_user.filter(lambda items: any(grade for _, grade in items))


@settings(max_examples=60)
@given(items=one_user, seed=st.integers(0, 9))
def test_every_tie_policy_against_every_order(items, seed):
    scores, grades = zip(*items, strict=True)
    ranks = graded([(scores, grades)])
    for name in NAMES:
        by_order = [
            by_definition(name, [grades[item] for item in order]) for order in orders(scores)
        ]
        assert value(name, ranks).item() == pytest.approx(np.mean(by_order), abs=1e-13)
        assert value(name, ranks, "optimistic").item() == pytest.approx(max(by_order), abs=1e-13)
        assert value(name, ranks, "pessimistic").item() == pytest.approx(min(by_order), abs=1e-13)
        drawn = value(name, ranks, "random", np.random.default_rng(seed)).item()
        assert min(abs(drawn - each) for each in by_order) < 1e-13


def some_users(seed, tied):
    rng = np.random.default_rng(seed)
    for _ in range(30):
        scores = rng.integers(0, 6, 12) if tied else rng.permutation(12)
        grades = rng.integers(0, 4, 12) * (rng.random(12) < 0.6)
        grades[rng.integers(12)] = 3
        yield scores.tolist(), grades.tolist()


@pytest.mark.parametrize("tied", [True, False])
def test_scikit_learn(tied):
    users = list(some_users(1, tied))
    for k in (2, 5, None):
        at = "" if k is None else f"@{k}"
        for kind, gain in (
            ("ndcg", np.array),
            ("ndcg-exp", lambda grades: 2 ** np.array(grades) - 1),
        ):
            theirs = [ndcg_score([gain(grades)], [scores], k=k) for scores, grades in users]
            np.testing.assert_allclose(value(kind + at, graded(users)), theirs, rtol=1e-12)


@pytest.mark.parametrize("least", [1, 2, 3])
def test_trec_eval_with_its_level_of_relevance(least):
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
    wanted |= {"success.5"}
    run = {
        str(user): {str(item): float(score) for item, score in enumerate(scores)}
        for user, (scores, _) in enumerate(users)
    }
    qrels = {
        str(user): {str(item): grade for item, grade in enumerate(grades)}
        for user, (_, grades) in enumerate(users)
    }
    theirs = pytrec_eval.RelevanceEvaluator(qrels, wanted, relevance_level=least).evaluate(run)
    ranks = graded(users, least)
    assert len(ranks) == len(users)
    for their_name, name in names.items():
        expected = [theirs[str(user)][their_name] for user in range(len(users))]
        np.testing.assert_allclose(value(name, ranks), expected, rtol=1e-12)


class TestFiles:
    LIST = "user_id,item_id,rank\nu,a,1\nu,b,2\nv,d,1\nv,c,2\nw,a,1\nw,b,2\n"
    QRELS = "u 0 a 1\nu 0 b 3\nv 0 c 2\nv 0 e 1\nw 0 b 1\nw 0 a 0\nw 0 c -1\n"

    def read(self, folder, qrels, **options):
        (folder / "list.csv").write_text(self.LIST)
        (folder / "a.qrels").write_text(qrels)
        return Ranks.read(folder / "list.csv", relevant=folder / "a.qrels", **options)

    def test_grades_of_qrels(self, tmp_path):
        ranks = self.read(tmp_path, self.QRELS)
        assert ranks.users.tolist() == ["u", "v", "w"]
        assert ranks.grades.tolist() == [1, 3, 2, 1, 1]
        assert ranks.n_found.tolist() == [2, 1, 1]
        expected = [
            (1 + 3 / log2(3)) / (3 + 1 / log2(3)),
            (2 / log2(3)) / (2 + 1 / log2(3)),
            1 / log2(3),
        ]
        np.testing.assert_allclose(value("ndcg@2", ranks), expected, rtol=1e-15)
        assert value("recall@2", ranks).tolist() == [1, 1 / 2, 1]


class TestBatch:
    """Hits and labels of all users together."""

    # one of three labels in the top 2, two of two, none of one
    RANKS = Ranks([9] * 3, [1, 5, 6, 0, 1, 4], [0] * 6, n_found=[3, 2, 1], users=["a", "b", "c"])

    def test_recall_is_hits_by_labels(self):
        # (1 + 2 + 0) / (3 + 2 + 1), and not the mean of 1/3, 1 and 0
        (micro, macro) = evaluate(self.RANKS, ["recall-micro@2", "recall@2"])
        assert micro.value == pytest.approx(3 / 6, rel=1e-15)
        assert macro.value == pytest.approx((1 / 3 + 1 + 0) / 3, rel=1e-15)

    def test_error_is_that_of_resampled_users(self):
        rng = np.random.default_rng(0)
        scores = rng.random((300, 22))
        relevant = csr_array(rng.random((300, 22)) < rng.random((300, 1)) / 2)
        ranks = rank(lambda rows: scores[rows], None, relevant)
        (found,) = evaluate(ranks, ["recall-micro@5"])
        hits = np.zeros(len(ranks))
        np.add.at(hits, np.repeat(np.arange(len(ranks)), ranks.n_found), ranks.n_better < 5)
        rows = rng.integers(0, len(ranks), (4000, len(ranks)))
        resampled = hits[rows].sum(axis=1) / ranks.n_relevant[rows].sum(axis=1)
        assert found.value == pytest.approx(hits.sum() / ranks.n_relevant.sum(), rel=1e-12)
        assert found.std_error == pytest.approx(resampled.std(), rel=0.05)
