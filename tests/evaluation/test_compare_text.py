"""Verdicts and tables of comparisons, from results made by hand."""

from dataclasses import replace

import numpy as np
import pytest

import sampled_metrics as sm
from sampled_metrics._base.text import format_range
from sampled_metrics.evaluation.compare import compare
from sampled_metrics.evaluation.compare_text import (
    exact_verdict,
    order_parts,
    sampled_verdict,
)
from sampled_metrics.intervals.ranges import (
    Range,
)
from sampled_metrics.ranks import Ranks, SampledRanks
from tests.helpers.comparisons import make_compared


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"order": "a"}, "A is above B"),
        ({"order": "b", "users_needed": 9}, "B is above A"),
        ({}, "undecided with 500 users"),
        ({"n_users": 1}, "undecided with 1 user"),
        ({"users_needed": 1234}, "undecided with 500 users; about 1,234 would do"),
        (
            {"users_needed": 10**7},
            "undecided with 500 users; about 10,000,000 would do",
        ),
        (
            {"users_needed": 10**7 + 1},
            "undecided with 500 users; more than 10,000,000 would be needed",
        ),
    ],
)
def test_exact_verdict(changed, words):
    assert exact_verdict(make_compared(**changed)) == words


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (None, "B is above A"),
        (1.04, "B is above A, unless some rank near the top is likelier than a better one; "
         "this proves little"),
        (1.96, "B is above A, unless some rank near the top is 1.9 times as likely as a better "
         "one; this proves little"),
        (2.0, "B is above A, unless some rank near the top is 2.0 times as likely as a better "
         "one"),
        (15.9, "B is above A, unless some rank near the top is 16 times as likely as a better "
         "one"),
        (16.0, "B is above A, unless some rank near the top is more than 16 times as likely as "
         "a better one"),
    ],
)  # fmt: skip
def test_sampled_verdict_decided(factor, words):
    nothing = Range(0.0, 1.0, False)
    result = make_compared(order="b", holds_up_to=factor)
    assert sampled_verdict(result, nothing, nothing) == words
    of_auc = replace(result, metric="auc")
    assert sampled_verdict(of_auc, nothing, nothing) == "B is above A"


@pytest.mark.parametrize(("m", "words"), [(1, "1 uniform negative leaves"),
                                          (2, "2 uniform negatives leave"),
                                          (1000, "1,000 uniform negatives leave")])  # fmt: skip
def test_sampled_verdict_undecided(m, words):
    low, high = Range(0.1, 0.25, False), Range(0.2, 0.5, False)
    verdict = sampled_verdict(make_compared(n_negatives=m), low, high)
    assert verdict.startswith(
        f"undecided: {words} recall@10 between 0.100 and 0.250 for A and between 0.200 and 0.500 "
        "for B; "
    )


@pytest.mark.parametrize("count", [1, 30, 31])
def test_many_metrics_become_columns_of_signs(count):
    results = [
        make_compared(
            metric=f"recall@{k}",
            order="b" if k % 2 else "undecided",
            users_needed=None,
        )
        for k in range(1, count + 1)
    ]
    table, text = order_parts(
        results, confidence=0.9, correction="holm", notes=["one note.", "another."]
    )
    assert text.endswith("one note.\nanother.")
    assert "decided if the interval of b - a excludes 0" in text
    assert "corrected" not in text
    if count > 30:
        (row,) = table
        signs = {f"recall@{k}": "<" if k % 2 else "?" for k in range(1, count + 1)}
        assert row == {"a": "A", "b": "B"} | signs
        return
    assert len(table) == count
    assert table[0]["b - a (90 %)"].startswith("0.100 to 0.300")
    assert [row["order"] for row in table] == ["B above A", "undecided"][:1] + [
        "B above A" if k % 2 else "undecided" for k in range(2, count + 1)
    ]


@pytest.mark.parametrize(("needed", "shown"), [(None, False), (10**7, True), (10**7 + 1, False)])
def test_users_needed_are_in_brackets(needed, shown):
    results = [make_compared(users_needed=needed), make_compared(b="C", paired=False)]
    table, text = order_parts(results, confidence=0.95, correction="holm", notes=[])
    assert table[0]["order"] == "undecided" + " (10,000,000)" * shown
    assert ("in brackets" in text) == shown
    assert "corrected for 2 pairs (holm)" in text
    assert "paired" not in text
    assert "p_value" not in table[0]
    _, text = order_parts(results[1:], confidence=0.95, correction="holm", notes=[])
    assert ", not paired" in text
    _, text = order_parts(results, confidence=0.95, correction="none", notes=[])
    assert "corrected" not in text


def sampled(ranks, users=None, n=300, m=10):
    return SampledRanks(np.array(ranks), n, m, users=users)


def named(*evaluations):
    return dict(zip("ABCD", evaluations, strict=False))


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")  # a perfect order
def test_table_keeps_names_that_look_like_verdicts():
    high, low = (Ranks([100] * 400, [better] * 400, [0] * 400) for better in (0, 50))
    results = compare({"A; about 7 would": high, "B": low, "undecided (": low}, "ap")
    table, _, text = str(results).partition("\n\n")
    orders = [
        "A; about 7 would above B",
        "A; about 7 would above undecided (",
        "undecided",
    ]
    assert [line.rpartition("  ")[2] for line in table.splitlines()[2:]] == orders
    assert "in brackets" not in text
    assert [result.users_needed for result in results] == [None] * 3


@pytest.mark.filterwarnings("ignore:.*the largest rank")
def test_acts_like_row_names_cutoff_or_rank():
    samples = named(sampled([1, 3, 2, 4] * 9), sampled([2, 1, 5, 3] * 9))
    lines = str(compare(samples, "f1@3, ap, auc", "sampled")).splitlines()
    rows = [line.split()[2:] for line in lines if line.startswith("acts like")]
    ranks = [result.acts_like for result in compare(samples, "f1@3, ap", "sampled")]
    assert rows == [[f"@{ranks[0]}"], ["(not", "2)", "rank", str(ranks[1])], []]


SCORES = np.random.default_rng(0).normal(size=(60, 11))
SCORES[:, 0] += 1.0
ITEMS = {"positive": 0, "n_items": 200}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*have the same ranks")
def test_many_metrics_print_ranges():
    data, metrics = (
        {"A": SCORES, "B": SCORES[::-1], "C": SCORES},
        [f"hr@{k}" for k in range(1, 12)],
    )
    orders, _, _, ranges, *_ = sm.compare(data, metrics, "sampled", **ITEMS).parts()
    assert [set(row.values()) for row in orders] == [{*pair, "?"} for pair in ("AB", "AC", "BC")]
    results = sm.correct(SCORES, metrics, **ITEMS)
    ends = {format_range(x.range_low, x.range_high) for x in results}
    assert [row.pop("") for row in ranges] == ["A", "B", "C"]
    assert set(ranges[0].values()) == ends
