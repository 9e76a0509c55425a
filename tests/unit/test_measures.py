import numpy as np
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics.measures import Measure, known_measures, parse_measure

FIXED_NAMES = ["recall@10", "ndcg@10", "precision@10", "f1@10", "ap@10", "ap", "ndcg", "auc", "rr"]


OF_SEVERAL = [
    *("f2@10", "f0.5@10", "f1e+06@3", "hit@10", "rr@10", "ap-by-relevant@10", "ap-by-hits@10"),
    *("ndcg-by-relevant@10", "ndcg-by-k@10"),
]


def test_names_survive_parsing():
    names = [*FIXED_NAMES, *OF_SEVERAL]
    assert [str(parse_measure(name)) for name in names] == names


UNKNOWN_NAMES = ["", "recall", "Recall@10", "auc@10", "hit", "f1", " recall@10", "ndcg@²"]
BAD_CUTOFFS = ["recall@", "recall@0", "recall@-1", "recall@1.5", "recall@ten", "recall@10@10"]
BAD_BETAS = [
    "f@5",
    "f0@5",
    "f-1@5",
    "f1_0@5",
    "finf@5",
    "f1e999@5",
    "fBETA@5",
    "f0.12345678@5",
    "f²@5",
]
BAD_CONVENTIONS = ["ap-by-hits", "ndcg-by-k", "ap-by-k@10", "ndcg-by-hits@10"]


@pytest.mark.parametrize("names", [UNKNOWN_NAMES, BAD_CUTOFFS, BAD_BETAS, BAD_CONVENTIONS])
def test_unknown_name_lists_the_known(names):
    for name in names:
        with pytest.raises(InputError, match="unknown measure") as caught:
            parse_measure(name)
        assert all(known in str(caught.value) for known in known_measures()), name
        assert "\n" not in str(caught.value)


def test_only_auc_looks_at_the_candidates():
    rank = np.array([1, 2, 7])
    for name in FIXED_NAMES:
        measure = parse_measure(name)
        same = np.array_equal(measure.at(rank, 10), measure.at(rank, 20))
        assert same != measure.metric.needs_candidates


def test_rr_is_ap():
    np.testing.assert_array_equal(Measure("rr").at([1, 3], 9), Measure("ap").at([1, 3], 9))


@pytest.mark.parametrize(
    ("text", "name", "beta"),
    [
        ("f2.0@5", "f2@5", 2),
        ("f0.50@5", "f0.5@5", 0.5),
        ("f1.@5", "f1@5", 1),
        ("ap@5", "ap@5", None),
    ],
)
def test_beta_has_one_spelling(text, name, beta):
    measure = parse_measure(text)
    assert str(measure) == name
    assert measure == parse_measure(name)
    assert measure.beta == beta
