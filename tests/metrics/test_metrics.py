"""Names, values by hand and tie policies of metrics of one relevant item."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics import (
    Measure,
    known_measures,
    measures,
    parse_measure,
    values,
)
from sampled_metrics.metrics.formulas import gains
from sampled_metrics.metrics.measures import parse_measures, synonyms
from sampled_metrics.ranks import Ranks

RANKS = np.array([1, 2, 3, 4, 5])  # of n = 5 candidates


def at(name, rank=RANKS, n=5):
    return parse_measure(name).value_at(rank, n)


class TestNames:
    @pytest.mark.parametrize(
        ("name", "names"),
        [
            (
                "hit@10",
                "hit@10 HR@10 hit_rate@10 HitRate@10 hits@10 hit_10 hit-10 success_10",
            ),
            (
                "hit@10",
                "HitRatio@10 hitratio_10 Hit_Ratio@10 accuracy@10 Accuracy_10",
            ),
            ("hit@10", "top_10_accuracy top_10_categorical_accuracy"),
            ("recall-capped@10", "R_cap@10 recall_cap_10 Recall_capped@10"),
            ("rr-by-relevant", "mean_mrr RR-by-relevant"),
            ("rr", "rr mrr MRR recip_rank"),
            ("ap", "ap map MAP"),
            ("ap-by-relevant@5", "ap-by-relevant@5 map_cut_5 AP_by_relevant@5"),
            ("precision@5", "precision@5 P@5 p_5 precision-5"),
            ("recall@10", "recall@10 RECALL_10 recall-10"),
            ("recall-micro@10", "recall-micro@10 Recall_micro_10"),
            ("ndcg@10", "ndcg@10 nDCG-10 ndcg_cut_10"),
            ("f1@10", "f1@10 f1.@10 F1.0@10"),
            ("f0.5@10", "f0.5@10 F0.50@10 f0.5_10"),
            ("auc", "auc AUC roc_auc"),
            ("auc-micro", "auc-micro AUC_micro GAUC"),
        ],
    )
    def test_spellings_of_one_metric(self, name, names):
        for spelling in names.split():
            measure = parse_measure(spelling)
            assert measure == parse_measure(name), spelling
            assert str(measure) == spelling
            assert measure.format_name(measure.kind) == name

    def test_a_name_without_the_cut_off_is_the_callers(self):
        names = {
            "HR@10": "HR",
            "hit_rate_5": "hit",
            "accuracy@1": "accuracy",
            "MAP": "MAP",
        }
        names |= {"F0.50@10": "F0.50", "f0.5_10": "f0.5", "AUC": "AUC"}
        for called, name in names.items():
            assert parse_measure(called).name == name

    @pytest.mark.parametrize(
        "name",
        [
            *(
                "",
                "recall",
                "hr",
                "auc@10",
                "hit",
                "f1",
                "recall @10",
                "ndcg@²",
                "recallten",
                "recall10.5",
                "f10",
                "10",
                "@10",
                "hr1o",
                "recall at 10",
                "recall_at_",
                "ndcg_at_10@10",
                "auc10",
            ),
            *("recall@", "recall@0", "recall@1000000000", "recall@-1", "recall@1.5"),
            *(
                "recall@ten",
                "recall@10@10",
                "ndcg-by-k",
                "ap-by-hits@10",
                "ndcg-by-hits@10",
            ),
            *("f@5", "f-1@5", "f1_0@5", "finf@5", "f1e999@5", "fBETA@5"),
            *("f0.12345678@5", "f²@5"),
        ],
    )
    def test_unknown_name_lists_the_known(self, name):
        with pytest.raises(InputError, match="unknown measure") as caught:
            parse_measure(name)
        assert all(known in str(caught.value) for known in known_measures())

    @pytest.mark.parametrize(
        ("kind", "names"),
        [
            (
                "hit",
                "HR10 HR@10 hr-10 hit_rate_at_10 hit_rate_10 HitRate10 hits10 hit10",
            ),
            ("ndcg", "ndcg10 NDCG10 ndcg_at_10 ndcg_cut_10 ndcg-at-10 ndcg_cut10"),
            ("recall", "R@10 R10 Recall_10 recall10 recall_at_10 RECALL-AT-10"),
            ("precision", "P@10 P10 P_10 precision_at_10 prec10"),
            ("rr", "MRR10 mrr_10 MRR_at_10 rr10 recip_rank10"),
            ("ap", "MAP10 map_at_10 AP10"),
            ("ap-by-relevant", "map_cut_10 map_cut10 AP_by_relevant_at_10"),
        ],
    )
    def test_cutoffs_as_papers_and_libraries_write_them(self, kind, names):
        for name in names.split():
            assert parse_measure(name) == Measure(kind, 10)
            assert str(parse_measure(name)) == name

    def test_a_number_after_f_is_beta(self):
        for name in ("f1@10", "F1_at_10", "f1_10", "f1-10"):
            assert parse_measure(name) == Measure("f", 10, 1.0)

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("recal@10", "mean recall"),
            ("HR1O", r"mean hr@10\?"),
            ("ndcg@l0", r"mean ndcg@10\?"),
            ("ndgc10", r"mean ndcg@10\?"),
            ("hitt@5", "mean hit@5 or hits@5"),
            ("auc10", "no cut-off"),
            ("recall", "as in recall@10"),
            ("auc@10", "no cut-off"),
        ],
    )
    def test_what_may_have_been_meant(self, name, words):
        with pytest.raises(InputError, match=words):
            parse_measure(name)

    @pytest.mark.parametrize(
        ("name", "function"), [("mae", "mae"), ("RMSE", "rmse"), ("rmse@10", "rmse")]
    )
    def test_metrics_of_ratings_are_functions(self, name, function):
        with pytest.raises(
            InputError, match=rf"sampled_metrics\.{function}\("
        ) as caught:
            parse_measure(name)
        assert name in str(caught.value)

    def test_lists_of_names(self):
        for names in (
            "hr@10,MRR",
            "hr@10, mrr",
            ["hr@10", "mrr"],
            ["hr@10,mrr"],
            ("hit@10", "RR"),
        ):
            assert parse_measures(names) == [Measure("hit", 10), Measure("rr")]
        assert parse_measures([parse_measure("ap"), "map"]) == [parse_measure("ap")]
        for names in ("", " , ", [], 10):
            with pytest.raises(InputError, match="metrics"):
                parse_measures(names)

    def test_names_of_other_libraries_are_metrics(self):
        for name in synonyms():
            measure = (
                None
                if name["ours"] == "-"
                else parse_measure(name["ours"].replace("K", "9"))
            )
            # Names of ranx and trec_eval are read as they are, where they mean the same.
            same = name["theirs"] not in ("map@K", "MAP@K", "map_at_K")
            if name["library"] in ("ranx", "trec_eval", "BEIR", "MTEB") and same:
                assert parse_measure(name["theirs"].replace("K", "9")) == measure


class TestOneRelevantItem:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("auc", [4 / 4, 3 / 4, 2 / 4, 1 / 4, 0 / 4]),
            ("recall@3", [1, 1, 1, 0, 0]),
            ("precision@3", [1 / 3, 1 / 3, 1 / 3, 0, 0]),
            ("f0@3", [1 / 3, 1 / 3, 1 / 3, 0, 0]),
            # precision 1/3 and recall 1: 2 * (1/3 * 1) / (1/3 + 1) = 1/2
            ("f1@3", [1 / 2, 1 / 2, 1 / 2, 0, 0]),
            # 5 P R / (4 P + R), and 1.25 P R / (0.25 P + R)
            ("f2@3", [5 / 7, 5 / 7, 5 / 7, 0, 0]),
            ("f0.5@3", [*[1.25 / 3 / (0.25 / 3 + 1)] * 3, 0, 0]),
            ("ap", [1 / 1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
            ("rr", [1 / 1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
            ("ap@3", [1 / 1, 1 / 2, 1 / 3, 0, 0]),
            ("ndcg", 1 / np.log2([2, 3, 4, 5, 6])),
            ("ndcg@3", [1 / np.log2(2), 1 / np.log2(3), 1 / np.log2(4), 0, 0]),
            # the ideal list gains 1/log2(2) + 1/log2(3)
            ("ndcg-by-k@2", [*(1 / np.log2([2, 3]) / (1 + 1 / np.log2(3))), 0, 0, 0]),
        ],
    )
    def test_by_hand(self, name, expected):
        found = at(name)
        np.testing.assert_allclose(found, expected, rtol=1e-15)
        assert found.dtype == np.float64
        if name != "auc":
            np.testing.assert_array_equal(found, at(name, n=20))

    def test_auc_takes_candidates_of_each_user(self):
        # user 1: (10 - 4)/(10 - 1) = 6/9; user 2: (3 - 3)/(3 - 1) = 0
        np.testing.assert_allclose(at("auc", [4, 3], [10, 3]), [6 / 9, 0])

    @pytest.mark.parametrize("name", ["ap", "rr", "ndcg", "recall@7", "auc"])
    def test_ranks_need_not_be_whole(self, name):
        rank = np.array([1.5, 3.25, 6.75, 99.5])
        expected = {
            "ap": 1 / rank,
            "rr": 1 / rank,
            "ndcg": 1 / np.log2(rank + 1),
            "recall@7": rank <= 7,
            "auc": (100 - rank) / 99,
        }
        np.testing.assert_allclose(at(name, rank, 100), expected[name], rtol=1e-13)

    @given(st.integers(1, 1000), st.integers(1, 1000))
    def test_never_better_at_a_worse_rank(self, rank, k):
        for name in known_measures():
            name = name.replace("@k", f"@{k}").replace("BETA", "2")
            better, worse = at(name, [rank, rank + 1], 1001)
            assert 0 <= worse <= better <= 1


@pytest.fixture
def rank_biased_precision():
    """Moffat and Zobel, 2008, declared as any metric is."""

    @measures.register(
        "rbp", "RBP", cutoff="optional", aliases=["rank-biased-precision"]
    )
    def rbp(levels, users, measure):
        k = measure.cutoff or int((levels.above + levels.size).max())
        return levels.per_user(
            users, gains(levels, k, lambda place: 0.2 * 0.8 ** (place - 1))
        )

    yield
    del (
        measures.REGISTERED_METRICS["rbp"],
        measures._KINDS["rbp"],
        measures._KINDS["rank-biased-precision"],
    )


@pytest.mark.usefixtures("rank_biased_precision")
def test_one_declaration_is_enough():
    measure = parse_measure("rbp@4")
    assert measure == parse_measure("rank-biased-precision@4") == Measure("rbp", 4)
    assert (str(measure), measure.label) == ("rbp@4", "RBP@4")
    assert {"rbp@k", "rbp"} < set(known_measures())
    np.testing.assert_allclose(at("rbp@2"), [0.2, 0.16, 0, 0, 0], rtol=1e-15)
    np.testing.assert_allclose(at("rbp"), 0.2 * 0.8 ** (RANKS - 1), rtol=1e-15)
    for kind, aliases in (("rbp", []), ("other", ["ap"])):
        with pytest.raises(InputError, match="already registered"):
            measures.register(kind, "RBP", aliases=aliases)(lambda *_: None)


class TestTies:
    def test_every_order_of_three_tied_items_by_hand(self):
        # 1 better, the held-out item H tied with P and Q: rank 2, 3 or 4 in two of six orders each
        ranks = [2 + order.index("H") for order in itertools.permutations("HPQ")]
        expected = np.mean([1 / rank for rank in ranks])  # (1/2 + 1/3 + 1/4) / 3
        found = values(parse_measure("ap"), Ranks([6], [1], [2])).item()
        assert found == pytest.approx(expected, rel=1e-15)

    def test_random_places_are_uniform(self):
        # 30,000 users with 2 ties: three places, each expected 10,000 times; 4 sd = 4 * 82
        records = Ranks(np.full(30_000, 9), np.full(30_000, 3), np.full(30_000, 2))
        of_values = 1 / values(
            parse_measure("ap"), records, "random", np.random.default_rng(1)
        )
        ranks, counts = np.unique(of_values.round(), return_counts=True)
        np.testing.assert_array_equal(ranks, [4, 5, 6])
        assert (abs(counts - 10_000) < 4 * np.sqrt(30_000 * (1 / 3) * (2 / 3))).all()

    def test_policies_that_cannot_be(self):
        for policy in ("middle", "random"):  # the latter without a generator
            with pytest.raises(InputError, match=policy):
                values(parse_measure("ap"), Ranks([9], [3], [2]), policy)


@pytest.mark.parametrize("ties", ["expected", "optimistic", "pessimistic", "random"])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("same_n", [False, True])
def test_many_users_have_the_values_that_few_have(ties, tied, same_n):
    # Values of many users are looked up by place, those of a few thousand are calculated.
    rng = np.random.default_rng(0)
    users = 12_000
    n = np.full(users, 900)
    if not same_n:
        n += rng.integers(0, 90, users)
    better = (800 * rng.random(users) ** 3).astype(int)
    ties_of_users = np.zeros(users, int)
    if tied:
        ties_of_users = rng.integers(0, 4, users) * (rng.random(users) < 0.1)
    ranks = Ranks(n, better, ties_of_users)
    names = "recall@10,precision@5,f0.5@7,hit@10,rr,rr@9,ap,ap@20,ndcg,ndcg@10,ndcg-by-k@5,auc"
    for measure in parse_measures(names):
        found = values(measure, ranks, ties, np.random.default_rng(1))
        numbers = np.random.default_rng(1)
        parts = [slice(start, start + 4000) for start in range(0, users, 4000)]
        expected = [
            values(measure, ranks.take(part), ties, numbers) for part in parts
        ]
        assert np.array_equal(found, np.concatenate(expected))


@pytest.mark.parametrize(
    "beta", ["0.1234561", "0.1234569"]
)  # shown are .123456 and .123457
def test_a_beta_with_more_digits_than_its_name_shows_is_refused(beta):
    with pytest.raises(InputError, match="6 digits"):
        parse_measure(f"f{beta}@5")
    assert parse_measure("f0.123456@5").beta == 0.123456
