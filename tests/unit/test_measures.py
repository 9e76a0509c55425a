import numpy as np
import pytest

from sampled_metrics.errors import InputError
from sampled_metrics.measures import KNOWN, Measure, parse_measure

FIXED_NAMES = ["recall@10", "ndcg@10", "precision@10", "f1@10", "ap@10", "ap", "ndcg", "auc", "rr"]


@pytest.mark.parametrize("name", FIXED_NAMES)
def test_name_survives_parsing(name):
    assert str(parse_measure(name)) == name


UNKNOWN_NAMES = ["", "recall", "Recall@10", "auc@10", "rr@5", "hit@10", " recall@10", "ndcg@²"]
BAD_CUTOFFS = ["recall@", "recall@0", "recall@-1", "recall@1.5", "recall@ten", "recall@10@10"]


@pytest.mark.parametrize("name", [*UNKNOWN_NAMES, *BAD_CUTOFFS])
def test_unknown_name_lists_the_known(name):
    with pytest.raises(InputError, match="unknown measure") as caught:
        parse_measure(name)
    assert all(known in str(caught.value) for known in KNOWN)
    assert "\n" not in str(caught.value)


def test_only_auc_looks_at_the_candidates():
    rank = np.array([1, 2, 7])
    for name in FIXED_NAMES:
        measure = parse_measure(name)
        same = np.array_equal(measure.at(rank, 10), measure.at(rank, 20))
        assert same != measure.needs_candidates


def test_rr_is_ap():
    np.testing.assert_array_equal(Measure("rr").at([1, 3], 9), Measure("ap").at([1, 3], 9))
