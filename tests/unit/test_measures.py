import re

import numpy as np
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics.libraries import synonyms
from sampled_metrics.metrics.measures import Measure, known_measures, parse_measure, parse_measures
from tests.conftest import ROOT

FIXED_NAMES = ["recall@10", "ndcg@10", "precision@10", "f1@10", "ap@10", "ap", "ndcg", "auc", "rr"]


OF_SEVERAL = [
    *("f2@10", "f0.5@10", "f1e+06@3", "hit@10", "rr@10", "ap-by-relevant@10", "ap-by-hits@10"),
    *("ndcg-by-relevant@10", "ndcg-by-k@10"),
]


def test_names_survive_parsing():
    names = [*FIXED_NAMES, *OF_SEVERAL]
    assert [str(parse_measure(name)) for name in names] == names


UNKNOWN_NAMES = ["", "recall", "hr", "auc@10", "hit", "f1", "recall @10", "ndcg@²", "recall10"]
BAD_CUTOFFS = [
    "recall@",
    "recall@0",
    "recall@1000000000",
    "recall@-1",
    "recall@1.5",
    "recall@ten",
    "recall@10@10",
]
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


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("hit@10", "HR@10 hr@10 hit_rate@10 HitRate@10 hits@10 hit_10 hit-10 HR_10 success_10"),
        ("rr", "mrr MRR rr recip_rank"),
        ("rr@10", "MRR@10 mrr_10 rr-10"),
        ("ap", "map MAP"),
        ("ap@10", "map@10 MAP_10"),
        ("ap-by-relevant@5", "map_cut_5 AP_by_relevant@5"),
        ("precision@5", "P@5 p_5 P_5 Precision@5 precision-5"),
        ("recall@10", "Recall@10 RECALL_10 recall-10"),
        ("ndcg@10", "NDCG@10 ndcg_10 nDCG-10 ndcg_cut_10"),
        ("f0.5@10", "F0.5@10 f0.5_10"),
        ("auc", "AUC gauc roc_auc"),
    ],
)
def test_familiar_names(name, names):
    for each in names.split():
        assert str(parse_measure(each)) == name, each


def test_lists_of_names():
    for names in ("hr@10,MRR", "hr@10, mrr", ["hr@10", "mrr"], ["hr@10,mrr"], ("hit@10", "RR")):
        assert [str(measure) for measure in parse_measures(names)] == ["hit@10", "rr"]
    assert parse_measures([parse_measure("ap"), "map"]) == [parse_measure("ap")]
    for nothing in ("", " , ", []):
        with pytest.raises(InputError, match="no metrics"):
            parse_measures(nothing)
    with pytest.raises(InputError, match="metrics are 10"):
        parse_measures(10)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("recal@10", "did you mean recall"),
        ("ncdg@10", "did you mean ndcg"),
        ("recall", "needs a cut-off, as in recall@10"),
        ("auc@10", "auc has no cut-off"),
    ],
)
def test_what_may_have_been_meant(name, words):
    with pytest.raises(InputError, match=words):
        parse_measure(name)


def test_names_of_other_libraries_are_metrics_here():
    for synonym in synonyms():
        library, theirs, ours = (synonym[key] for key in ("library", "theirs", "ours"))
        measure = None if ours == "-" else parse_measure(ours.replace("K", "10"))
        # Names of ranx and trec_eval are read as they are, where they mean the same.
        if library in ("ranx", "trec_eval") and theirs not in ("ndcg_burges@K", "map@K"):
            assert parse_measure(theirs.replace("K", "10")) == measure


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


def test_documentation_has_the_names_of_other_libraries():
    text = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
    lines = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| `")]
    (heads,) = (line.split("|")[2:-1] for line in text.splitlines() if line.startswith("| ours"))
    libraries = [head.strip() for head in heads]
    told = {
        (library, name, ours.strip(" `"))
        for ours, *cells in lines
        if len(cells) == len(libraries)
        for library, cell in zip(libraries, cells, strict=True)
        for name in re.findall("`([^`]+)`", cell)
    }
    known = {(name["library"], name["theirs"], name["ours"]) for name in synonyms()}
    assert told == {name for name in known if name[0] in libraries and name[2] != "-"}
    assert len(libraries) == 7
