"""Exact metrics with error bars, by hand."""

import json
import math
from dataclasses import asdict

import numpy as np
import pytest

import sampled_metrics as sm
from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.evaluate import evaluate, prior_shape
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks
from tests.unit.relevance import by_user


def ranks_of(n, better, tied=None):
    tied = [0] * len(better) if tied is None else tied
    return Ranks([n] * len(better), better, tied)


def test_by_hand():
    found = evaluate(ranks_of(11, [0, 2, 5, 10]), ["ap", "recall@3", "auc"])
    values = {
        "ap": [1, 1 / 3, 1 / 6, 1 / 11],
        "recall@3": [1, 1, 0, 0],
        "auc": [1, 8 / 10, 5 / 10, 0],
    }
    assert [each.metric for each in found] == list(values)
    for each in found:
        expected = np.array(values[each.metric])
        assert each.value == pytest.approx(expected.mean())
        assert each.std_error == pytest.approx(math.sqrt(expected.var(ddof=1) / 4))
        assert each.ci_low < each.value < each.ci_high
        assert (each.ties, each.n_users, each.n_items) == ("expected", 4, 11)
        assert json.loads(json.dumps(asdict(each))) == asdict(each)


def test_a_table_leaves_out_what_its_notes_say():
    found = sm.evaluate(ranks_of(11, [0, 2, 5, 10]), "ap")
    head = str(found).splitlines()[0].split()
    assert {"metric", "value"} <= set(head)
    assert not {"ties", "effective_users"} & set(head)


@pytest.mark.parametrize(
    ("ties", "values"),
    [
        ("expected", [(1 + 1 / 2 + 1 / 3) / 3, 1 / 2]),
        ("optimistic", [1, 1 / 2]),
        ("pessimistic", [1 / 3, 1 / 2]),
    ],
)
def test_ties(ties, values):
    (found,) = evaluate(ranks_of(9, [0, 1], [2, 0]), ["ap"], ties=ties)
    assert found.value == pytest.approx(np.mean(values))
    assert found.ties == ties


def test_random_ties_are_seeded_and_the_same_for_all_measures():
    ranks = ranks_of(60, [0] * 200, [9] * 200)
    one, again, other = (
        evaluate(ranks, ["recall@5", "hit@5"], ties="random", seed=seed) for seed in (1, 1, 2)
    )
    assert one == again
    assert one[0].value == one[1].value != other[0].value
    assert one[0].value == pytest.approx(0.5, abs=4 * math.sqrt(0.25 / 200))


def test_several_relevant_items():
    ranks = by_user([0, 0, 1], [0, 3, 1], [0, 0, 0], [2, 1], [6, 6], [6, 6])
    (found,) = evaluate(ranks, ["recall@2"])
    assert (found.value, found.n_users) == ((1 / 2 + 1) / 2, 2)


def test_lists_of_an_unknown_catalogue():
    ranks = by_user([0], [3], [0], [1, 1], [0, 0], [10, 10])
    (found,) = evaluate(ranks, ["ndcg@10"])
    assert (found.value, found.n_items) == (pytest.approx(1 / math.log2(5) / 2), None)
    with pytest.raises(InputError, match="auc needs n_candidates"):
        evaluate(ranks, ["auc"])
    assert ranks.mean_candidates == 0


def test_prior_is_a_uniform_rank():
    values = 1 / np.arange(1, 41)
    shape = prior_shape(parse_measure("ap"), ranks_of(40, [0]))
    assert shape.mean == pytest.approx(values.mean())
    assert shape.fourth == pytest.approx(((values - values.mean()) ** 4).mean())
    assert (shape.low, shape.high) == (1 / 40, 1.0)
    large = prior_shape(parse_measure("recall@10"), ranks_of(10**6, [0]))
    assert large.mean == pytest.approx(10 / 10**6)
    assert large.second == pytest.approx(1e-5 * (1 - 1e-5))


def test_one_user_and_wrong_names():
    (found,) = evaluate(ranks_of(9, [1]), ["ap"])
    assert found.value == 0.5
    assert all(map(math.isnan, (found.std_error, found.ci_low, found.ci_high)))
    for options, words in (
        ({"metrics": ["ap@0"]}, "unknown measure 'ap@0'"),
        ({"metrics": ["ap"], "ties": "paper"}, "unknown tie policy 'paper'; known: expected"),
        ({"metrics": ["ap"], "confidence": 0.0}, "confidence is 0.0"),
    ):
        with pytest.raises(InputError, match=words):
            evaluate(ranks_of(9, [1, 2]), **options)
