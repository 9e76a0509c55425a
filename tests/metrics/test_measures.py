"""Names of metrics, their registry, tables of values, and lists that end too early."""

import numpy as np
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics import Measure, known_measures, measures, parse_measure, values
from sampled_metrics.metrics.formulas import gains
from sampled_metrics.metrics.measures import parse_measures, synonyms
from sampled_metrics.ranks import Ranks
from tests.helpers.relevance import FIVE_RANKS, metric_values, ranks_at_places, values_at


class TestNames:
    @pytest.mark.parametrize(
        ("name", "names"),
        [
            ("hit@10", "hit@10 HR@10 hit_rate@10 HitRate@10 hits@10 hit_10 hit-10 success_10"),
            ("hit@10", "HitRatio@10 hitratio_10 Hit_Ratio@10 accuracy@10 Accuracy_10"),
            ("hit@10", "top_10_accuracy top_10_categorical_accuracy HR@10↑"),
            ("recall-capped@10", "R_cap@10 recall_cap_10 Recall_capped@10"),
            ("rr-by-relevant", "mean_mrr RR-by-relevant"),
            ("rr", "rr mrr MRR recip_rank"),
            ("ap", "ap map MAP"),
            ("ap-by-relevant@5", "ap-by-relevant@5 map_cut_5 AP_by_relevant@5"),
            ("precision@5", "precision@5 P@5 p_5 precision-5 P.5 RetrievalPrecision@5"),
            ("r-precision", "R-Precision Rprec R-Prec RPrecision RetrievalRPrecision"),
            ("recall@10", "recall@10 RECALL_10 recall-10"),
            ("recall-micro@10", "recall-micro@10 Recall_micro_10"),
            ("ndcg@10", "ndcg@10 nDCG-10 ndcg_cut_10 ndcg_cut.10 NDCG@10(%) ndcg_at_10/mean"),
            ("f1@10", "f1@10 f1.@10 F1.0@10"),
            ("f0.5@10", "f0.5@10 F0.50@10 f0.5_10"),
            ("auc", "auc AUC roc_auc"),
            ("auc-micro", "auc-micro AUC_micro GAUC"),
        ],
    )
    def test_parse_measure_spellings_are_equal(self, name, names):
        for spelling in names.split():
            measure = parse_measure(spelling)
            assert measure == parse_measure(name), spelling
            assert str(measure) == spelling
            assert measure.format_name(measure.kind) == name

    def test_name_without_cutoff_is_the_callers(self):
        names = {"HR@10": "HR", "hit_rate_5": "hit", "accuracy@1": "accuracy", "MAP": "MAP"}
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
            *("recall@ten", "recall@10@10", "ndcg-by-k", "ap-by-hits@10", "ndcg-by-hits@10"),
            *("f@5", "f-1@5", "f1_0@5", "finf@5", "f1e999@5", "fBETA@5"),
            *("f0.12345678@5", "f²@5"),
        ],
    )
    def test_parse_measure_unknown_name_lists_known_or_similar(self, name):
        with pytest.raises(InputError, match="unknown measure") as caught:
            parse_measure(name)
        text = str(caught.value)
        if "did you mean" in text:
            assert len(text.removeprefix(f"unknown measure {name!r}")) < 100
            assert f"did you mean {name}?" not in text
        else:
            assert all(known_name in text for known_name in known_measures())

    def test_letters_are_not_taken_for_a_cutoff_of_zero(self):
        with pytest.raises(InputError) as caught:
            parse_measure("foo@10")
        assert "f@" not in str(caught.value).partition("known: ")[0]

    @pytest.mark.parametrize(
        ("kind", "names"),
        [
            ("hit", "HR10 HR@10 hr-10 hit_rate_at_10 hit_rate_10 HitRate10 hits10 hit10"),
            ("ndcg", "ndcg10 NDCG10 ndcg_at_10 ndcg_cut_10 ndcg-at-10 ndcg_cut10"),
            ("recall", "R@10 R10 Recall_10 recall10 recall_at_10 RECALL-AT-10"),
            ("precision", "P@10 P10 P_10 precision_at_10 prec10"),
            ("rr", "MRR10 mrr_10 MRR_at_10 rr10 recip_rank10"),
            ("ap", "MAP10 map_at_10 AP10"),
            ("ap-by-relevant", "map_cut_10 map_cut10 AP_by_relevant_at_10"),
        ],
    )
    def test_parse_measure_cutoff_spellings(self, kind, names):
        for name in names.split():
            assert parse_measure(name) == Measure(kind, 10)
            assert str(parse_measure(name)) == name

    def test_parse_measure_number_after_f_is_beta(self):
        for name in ("f1@10", "F1_at_10", "f1_10", "f1-10"):
            assert parse_measure(name) == Measure("f", 10, 1.0)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("recal@10", "mean recall"),
            ("HR1O", r"mean hr@10\?"),
            ("ndcg@l0", r"mean ndcg@10\?"),
            ("ndgc10", r"mean ndcg@10\?"),
            ("hitt@5", "mean hit@5 or hits@5"),
            ("CalibratedRecall@5", "mean calibrated-recall@5"),
            ("mpa@5", "mean map@5"),
            ("auc10", "no cut-off"),
            ("recall", "as in recall@10"),
            ("auc@10", "no cut-off"),
        ],
    )
    def test_parse_measure_suggests_names(self, name, message):
        with pytest.raises(InputError, match=message):
            parse_measure(name)

    @pytest.mark.parametrize(
        "name",
        [
            "ERR@5",
            "Bpref",
            "bpref",
            "RBP",
            "SetP",
            "infAP",
            "median_rank",
            "set_recall",
            "recall@-1",
            "recall@1e1",
            "test_recall@3",
            "f1_score@3",
            "cosine_accuracy@1",
            "NormalizedDiscountedCumulativeGain@3",
            "MeanAveragePrecision",
            "retrieval_recall_precision",
            "nDCGRendle2020",
            "RocAuc@10",
            "recall-capped-micro@3",
        ],
    )
    def test_other_metrics_are_not_suggested(self, name):
        with pytest.raises(InputError, match="unknown measure") as caught:
            parse_measure(name)
        assert "did you mean" not in str(caught.value)

    @pytest.mark.parametrize(
        ("name", "function"), [("mae", "mae"), ("RMSE", "rmse"), ("rmse@10", "rmse")]
    )
    def test_parse_measure_names_functions_of_ratings(self, name, function):
        with pytest.raises(InputError, match=rf"sampled_metrics\.{function}\(") as caught:
            parse_measure(name)
        assert name in str(caught.value)

    def test_parse_measures_of_lists(self):
        for names in ("hr@10,MRR", "hr@10, mrr", ["hr@10", "mrr"], ["hr@10,mrr"], ("hit@10", "RR")):
            assert parse_measures(names) == [Measure("hit", 10), Measure("rr")]
        assert parse_measures([parse_measure("ap"), "map"]) == [parse_measure("ap")]
        for names in ("", " , ", [], 10):
            with pytest.raises(InputError, match="metrics"):
                parse_measures(names)

    def test_synonyms_are_metrics(self):
        for name in synonyms():
            measure = None
            if name["ours"] != "-":
                measure = parse_measure(name["ours"].replace("K", "9"), any_bounds=True)
            # Names of these libraries can be used directly if they mean the same.
            same = name["theirs"] not in ("map@K", "MAP@K", "map_at_K")
            if name["library"] in ("ranx", "trec_eval", "BEIR", "MTEB", "PyKEEN") and same:
                theirs = name["theirs"].replace("K", "9")
                assert parse_measure(theirs, any_bounds=True) == measure


@pytest.fixture
def rank_biased_precision():
    """Rank-biased precision (Moffat and Zobel, 2008), registered like any metric."""

    @measures.register("rbp", "RBP", cutoff="optional", aliases=["rank-biased-precision"])
    def rbp(levels, users, measure):
        k = measure.cutoff or int((levels.above + levels.size).max())
        return levels.per_user(users, gains(levels, k, lambda place: 0.2 * 0.8 ** (place - 1)))

    yield
    del (
        measures.REGISTERED_METRICS["rbp"],
        measures._KINDS["rbp"],
        measures._KINDS["rank-biased-precision"],
    )


@pytest.mark.usefixtures("rank_biased_precision")
def test_register_makes_a_metric():
    measure = parse_measure("rbp@4")
    assert measure == parse_measure("rank-biased-precision@4") == Measure("rbp", 4)
    assert (str(measure), measure.label) == ("rbp@4", "RBP@4")
    assert {"rbp@k", "rbp"} < set(known_measures())
    np.testing.assert_allclose(values_at("rbp@2"), [0.2, 0.16, 0, 0, 0], rtol=1e-15)
    np.testing.assert_allclose(values_at("rbp"), 0.2 * 0.8 ** (FIVE_RANKS - 1), rtol=1e-15)
    for kind, aliases in (("rbp", []), ("other", ["ap"])):
        with pytest.raises(InputError, match="already registered"):
            measures.register(kind, "RBP", aliases=aliases)(lambda *_: None)


@pytest.mark.parametrize("ties", ["expected", "optimistic", "pessimistic", "random"])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("same_n", [False, True])
def test_values_of_many_users_match_values_of_few(ties, tied, same_n):
    # Values of many users are looked up by rank, those of a few thousand are computed.
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
    for measure in parse_measures(f"{names},r-precision,mean-rank", any_bounds=True):
        values_of_all = values(measure, ranks, ties, np.random.default_rng(1))
        numbers = np.random.default_rng(1)
        parts = [slice(start, start + 4000) for start in range(0, users, 4000)]
        expected = [values(measure, ranks.take(part), ties, numbers) for part in parts]
        assert np.array_equal(values_of_all, np.concatenate(expected))


@pytest.mark.parametrize("beta", ["0.1234561", "0.1234569"])  # names would show .123456 and .123457
def test_parse_measure_beta_with_many_digits_is_refused(beta):
    with pytest.raises(InputError, match="6 digits"):
        parse_measure(f"f{beta}@5")
    assert parse_measure("f0.123456@5").beta == 0.123456


@pytest.mark.parametrize("text", ["HR@1,5,10", "recall@5, 10"])
def test_parse_measure_cutoff_without_name_is_refused(text):
    with pytest.raises(InputError, match=r"cut-off alone.*hr@"):
        parse_measures(text)


@pytest.mark.parametrize(
    ("name", "places", "n", "expected"),
    [
        # one or two of two relevant items in a list of the top 10
        ("recall@10", [3], 0, 1 / 2),
        ("precision@20", [3, 4], 0, 2 / 20),  # places below the last relevant item do not matter
        ("ap", [3, 4], 0, (1 / 3 + 2 / 4) / 2),
        ("auc", [3, 4], 12, (8 + 8) / (2 * 10)),
        ("rr@20", [3], 0, 1 / 3),  # the first item decides
        ("hit@20", [3], 0, 1),
        ("ndcg@10", [], 0, 0),
        ("recall@20", [3], 0, "20; .* 10"),
        ("hit@20", [], 0, "20"),
        ("ap", [3], 99, "ap@10"),
        ("rr", [], 0, "rr@10"),
        ("auc", [3], 99, "full"),
        ("auc", [3], 0, "n_candidates"),
    ],
)
def test_values_of_short_lists_or_refusal(name, places, n, expected):
    ranks = ranks_at_places(*places, n=n, n_relevant=2, depth=10)
    if not isinstance(expected, str):
        assert metric_values(name, ranks).item() == pytest.approx(expected, rel=1e-15)
        return
    with pytest.raises(InputError, match=f"^{name} needs.*{expected}"):
        metric_values(name, ranks)


def test_auc_without_irrelevant_candidates_is_refused():
    with pytest.raises(InputError, match="1 users"):
        metric_values("auc", ranks_at_places(1, 2, n=2))


@pytest.mark.parametrize(
    ("depth", "message"),
    [
        ([9, 30, 7, 8], "lists end at 7 or later .users: 3."),
        ([8, 30, 8, 8], "lists end at 8 or later .users: 3."),
        ([30, 10, 9, 10], "lists end at 9 or later .users: 1."),
    ],
)
def test_values_of_short_lists_names_first_end(depth, message):
    ranks = Ranks([0] * 4, [0] * 4, [0] * 4, n_found=[1] * 4, n_relevant=[2] * 4, depth=depth)
    with pytest.raises(InputError, match=rf"recall@10 needs ranks down to 10; {message}\."):
        metric_values("recall@10", ranks)
    assert metric_values(f"recall@{min(depth)}", ranks).tolist() == [0.5] * 4
    with pytest.raises(InputError, match=f"use ap@{min(depth)}"):
        metric_values("ap", ranks)


def test_values_without_users_are_empty():
    ranks = Ranks([], [], [])
    for name in ("recall@3", "ap", "auc", "ndcg@3", "rr"):
        for ties in ("expected", "optimistic", "random"):
            values = metric_values(name, ranks, ties, np.random.default_rng(0))
            assert (values.shape, values.dtype) == ((0,), np.float64)
