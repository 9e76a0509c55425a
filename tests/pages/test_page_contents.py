"""What the page of one's own results holds, against `evaluate`, `correct` and `compare`."""

import json
import re

import numpy as np
import pytest

import sampled_metrics as sm
from sampled_metrics._base.text import format_number, format_range
from sampled_metrics.pages.report import (
    _describe_values,
    full_content,
    sampled_content,
)
from sampled_metrics.ranks import Ranks, SampledRanks
from tests.pages.test_page_own import rows_of

pytestmark = pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
BOTH = ["recall@10", "ap"]
RNG = np.random.default_rng(7)


def sample(ranks, n=200, sampling="without-replacement"):
    ids = np.arange(len(ranks))
    return SampledRanks(
        ranks, np.full(len(ranks), n), 20, sampling=sampling, users=ids
    )


@pytest.fixture(scope="module")
def samples():
    """Five recommenders, the second one best, whose users are 100 but for the last one's 80."""
    top = {"a": 0.5, "b": 1.0, "c": 0.7, "d": 0.2, "e": 0.6}
    found = {}
    for name, share in top.items():
        ranks = RNG.integers(1, 22, 80 if name == "e" else 100)
        ranks[RNG.random(ranks.size) < share] = 1
        found[name] = sample(ranks, sampling="with-replacement")
    return found


@pytest.fixture(scope="module")
def of_samples(samples):
    return sampled_content(samples, BOTH, ["sampled", "cls"], confidence=0.9)


def cells(row, columns):
    values = [row[name] for name in columns]
    return [
        format_number(value) if isinstance(value, float) else str(value)
        for value in values
    ]


def test_tables_of_samples_are_those_that_correct_and_compare_print(
    samples, of_samples
):
    values, pairs = of_samples["tables"]
    assert (values["id"], values["title"], pairs["id"]) == (
        "values",
        "Values",
        "comparisons",
    )
    printed = {
        name: sm.correct(each, BOTH, ["likely", "sampled", "cls"], confidence=0.9)
        for name, each in samples.items()
    }
    expected = []
    for name, results in printed.items():
        table, words, *_ = results.parts()
        assert values["heads"] == ["recommender", *table[0]]
        expected += [[name, *cells(row, table[0])] for row in table]
        if name == "a":
            assert values["words"].split()[: len(words.split())] == words.split()
    assert values["lines"] == expected
    assert "\n  " not in values["words"] + pairs["words"]
    table, *_ = sm.compare(samples, BOTH, "sampled", confidence=0.9).parts()
    assert pairs["lines"] == [cells(row, table[0]) for row in table]


def test_bars_of_samples_are_ranges_with_the_sampled_values(samples, of_samples):
    compared = sm.compare(samples, BOTH, "sampled", confidence=0.9)
    for metric, group in zip(BOTH, of_samples["bars"], strict=True):
        results = [
            sm.correct(each, metric, "sampled", confidence=0.9)[0]
            for each in samples.values()
        ]
        assert group["sampled"] == [result.value for result in results]
        quoted = [
            sm.correct(each, metric, "likely", confidence=0.9)[0].value
            for each in samples.values()
        ]  # the number to quote is the mark in its range
        bars = [
            (result.range_low, result.range_high, value)
            for result, value in zip(results, quoted, strict=True)
        ]
        assert np.array(group["bars"]) == pytest.approx(np.array(bars), abs=6e-6)
        orders = [pair.order for pair in compared if pair.metric == metric]
        n_decided = 10 - orders.count("undecided")
        assert (len(group["decided"]), group["open"]) == (n_decided, 10 - n_decided)
        label = {"recall@10": "Recall@10", "ap": "AP"}[metric]
        assert (group["label"], group["m"]) == (label, "20 random items")


def test_headline_of_samples_names_four_of_five_in_their_order(of_samples):
    values = of_samples["bars"][0]["sampled"]
    order = sorted("abcde", key=lambda name: -values["abcde".index(name)])
    first, second = re.fullmatch(
        r"(.*)\. It suggests (.*)\.", of_samples["says"]
    ).groups()
    named = re.findall(r"\b([a-e]) (\d+\.\d+)", first)
    assert [name for name, _ in named] == order[:4]
    for name, number in named:
        assert float(number) == pytest.approx(
            100 * values["abcde".index(name)], abs=0.051
        )
    assert first.endswith(" and 1 more")
    assert second == " > ".join(order)


def test_numbers_of_samples(of_samples):
    assert of_samples["names"] == list("abcde")
    assert (of_samples["m"], of_samples["users"], of_samples["scores"]) == (
        20,
        100,
        100 * 200,
    )
    assert of_samples["sampling"] == "with replacement"
    lens = of_samples["numbers"]["lens"]
    assert lens is of_samples["lens"]
    assert lens["sizes"] == [20]
    assert list(lens["estimators"]) == ["sampled", "cls"]
    assert lens["start"] == {"metric": "recall@10", "estimator": "sampled", "m": 20}
    assert (lens["names"], lens["n"], lens["last"]) == ([], "200", 200)
    json.dumps(of_samples["numbers"], allow_nan=False)


def low(n_first):
    """A sample of 120 users of which about so many have sampled rank 1, others any."""
    return sample([1] * n_first + [*range(1, 22)] * 5)


def spread(power):
    """Sampled ranks of 3,000 users, a share (k/200)^(1/power) of whom have a rank up to k."""
    rng = np.random.default_rng(int(100 * power))
    better = (200 * rng.random(3000) ** power).astype(int)
    return sample(rng.hypergeometric(better, 199 - better, 20) + 1)


def test_an_order_that_proves_little_is_leaning(tmp_path):
    """Of x and y the order holds up to a factor of 1.3, of x and z up to 16."""
    both = {"x": spread(1.4), "y": spread(1.8)}
    (found,) = sm.compare(both, "recall@10", "likely")
    assert 1.0 < found.holds_up_to < 2.0
    (bars,) = sampled_content(both, ["recall@10"], [])["bars"]
    assert (bars["decided"], bars["leaning"], bars["open"]) == ([], ["y above x"], 0)
    sm.report(both, tmp_path / "page.html")
    page = " ".join((tmp_path / "page.html").read_text().split())
    assert "Leaning to y above x" in page
    assert "decides no order firmly" in page
    assert "Decided: y above x" not in page
    (bars,) = sampled_content({**both, "z": spread(3.0)}, ["recall@10"], [])["bars"]
    assert "z above x" in bars["decided"]


def test_windows_of_samples_are_of_estimators_that_need_no_fit():
    content = sampled_content({"a": low(30)}, ["recall@10"], ["em:5", "cls"])
    lens = content["numbers"]["lens"]
    assert list(lens["estimators"]) == ["sampled", "cls"]
    assert lens["views"].keys() == {"recall@10 sampled 20", "recall@10 cls 20"}
    (values,) = content["tables"]
    place = values["heads"].index("estimator")
    assert [line[place] for line in values["lines"]] == [
        "likely",
        "sampled",
        "em:5",
        "cls",
    ]
    assert content["bars"][0]["decided"] == []
    assert "It says" not in content["says"]


def test_equal_values_are_equal_in_the_headline():
    alike = low(30)
    content = sampled_content(
        {"x": alike, "y": alike, "z": low(60)}, ["recall@10"], []
    )
    assert content["says"].endswith("It suggests z > x = y.")


def full(ranks, n=60):
    ranks = np.asarray(ranks)
    return Ranks(
        np.full(ranks.size, n),
        ranks - 1,
        np.zeros_like(ranks),
        users=np.arange(ranks.size),
    )


@pytest.fixture(scope="module")
def rankings():
    """`good` is better than `poor` by any metric; `twin` differs from `good` for a few users."""
    good = np.tile([1, 2, 3, 11, 40], 60)
    twin = good.copy()
    twin[:8] = [2, 1, 4, 12, 40, 2, 1, 4]
    return {
        "good": full(good),
        "poor": full(np.tile([12, 30, 50, 60, 9], 60)),
        "twin": full(twin),
    }


@pytest.fixture(scope="module")
def of_full(rankings):
    return full_content(rankings, BOTH, ties="expected", confidence=0.9)


def test_tables_of_full_rankings_are_those_that_evaluate_and_compare_print(
    rankings, of_full
):
    values, pairs = of_full["tables"]
    expected = []
    for name, ranks in rankings.items():
        table, words, *_ = sm.evaluate(ranks, BOTH, confidence=0.9).parts()
        expected += [[name, *cells(row, table[0])] for row in table]
        assert values["words"].split()[: len(words.split())] == words.split()
    assert values["lines"] == expected
    assert values["heads"] == ["recommender", *table[0]]
    table, *_ = sm.compare(rankings, BOTH, confidence=0.9).parts()
    assert (pairs["id"], pairs["lines"]) == (
        "comparisons",
        [cells(row, table[0]) for row in table],
    )


def test_bars_of_full_rankings_are_intervals_with_values(rankings, of_full):
    for metric, group in zip(BOTH, of_full["exact_bars"], strict=True):
        results = [
            sm.evaluate(ranks, metric, confidence=0.9)[0]
            for ranks in rankings.values()
        ]
        assert group["bars"] == [
            (each.ci_low, each.ci_high, each.value) for each in results
        ]
        highest = max(each.ci_high for each in results)
        assert group["most"] == pytest.approx(min(1.01 * highest, 1.0))
        assert group["decided"] == ["good above poor", "twin above poor"]
        (open_,) = group["open"]
        assert open_.startswith("good and twin")
    first, second = of_full["exact_bars"]
    assert (first["label"], second["label"]) == ("Recall@10", "AP")
    # recall@10 of good and twin is the same for each user: no number of users decides
    assert first["open"] == ["good and twin"]
    compared = sm.compare(rankings, "ap", confidence=0.9)
    (needed,) = [pair.users_needed for pair in compared if pair.users_needed]
    assert second["open"] == [f"good and twin (about {needed:,} users would decide)"]


def test_numbers_of_full_rankings(of_full):
    assert (of_full["names"], of_full["users"]) == (["good", "poor", "twin"], 300)
    assert of_full["level"] == "90"
    lens = of_full["numbers"]["lens"]
    assert (
        lens["start"]["m"] == 59
    )  # all other candidates, where they are fewer than 100
    assert lens["start"]["estimator"] == "sampled"
    assert list(lens["estimators"]) == ["sampled", "rank-estimate", "bv:0.1"]
    signs = [pair[0] for pair in lens["views"]["ap sampled 59"]["pairs"]]
    assert signs.count("~") == 1  # good and twin


@pytest.mark.parametrize(("n", "m"), [(100, 99), (101, 100), (500, 100)])
def test_the_lens_of_full_rankings_begins_with_100_negatives(n, m):
    both = {"a": full([1, 2, 5, 9], n), "b": full([3, 7, 2, 1], max(n, 300))}
    content = full_content(both, ["recall@3"], ties="expected", confidence=0.95)
    assert content["lens"]["start"]["m"] == m
    alone = full_content(
        {"a": full([1, 100, 30, 4], n)},
        ["recall@3"],
        ties="expected",
        confidence=0.95,
    )
    assert [table["id"] for table in alone["tables"]] == ["values"]
    assert alone["exact_bars"][0]["open"] == alone["exact_bars"][0]["decided"] == []


def test_ties_and_confidence_are_those_asked_for(tmp_path):
    """All of ten items are tied with each held-out one: recall@5 is 0, 1/2 or 1."""
    tied = Ranks([10] * 40, [0] * 40, [9] * 40)
    for ties, value in (("pessimistic", 0), ("expected", 0.5), ("optimistic", 1)):
        content = full_content({"a": tied}, ["recall@5"], ties=ties, confidence=0.5)
        assert (content["exact_bars"][0]["bars"][0][2], content["level"]) == (
            value,
            "50",
        )
        sm.report({"a": tied}, tmp_path / "page.html", "recall@5", ties=ties)
        page = (tmp_path / "page.html").read_text()
        assert float(rows_of(page)["values"][1][2]) == value


def test_a_page_is_of_users_with_one_held_out_item(tmp_path):
    several = {"mine": {"anna": [1, 2, 3], "bert": [3, 2, 1]}}
    with pytest.raises(sm.InputError, match="mine"):
        sm.report(
            several,
            tmp_path / "page.html",
            relevant={"anna": [1, 2], "bert": [2]},
            n_items=9,
        )


def test_a_page_of_samples_takes_shape_and_confidence(tmp_path):
    ranks = [1] * 60 + [*range(1, 22)] * 5
    for shape, confidence in ((1, 0.5), ("none", 0.99)):
        options = {"shape": shape, "confidence": confidence}
        sm.report({"a": sample(ranks)}, tmp_path / "p.html", **options)
        (found,) = sm.correct(sample(ranks), "recall@10", "sampled", **options)
        row = rows_of((tmp_path / "p.html").read_text())["values"][1]
        assert row[2] == format_range(found.range_low, found.range_high)


@pytest.mark.parametrize("data", [{}, [], [1, 2], None, "ranks.csv"])
def test_a_page_is_of_recommenders_by_name(data, tmp_path):
    with pytest.raises(sm.InputError, match="dictionary"):
        sm.report(data, tmp_path / "page.html", n_items=9)
    assert not (tmp_path / "page.html").exists()


def test_of_many_recommenders_the_best_are_named_and_the_others_counted():
    values = [0.1, 0.6, 0.2, 0.5, 0.4, 0.3]
    words = _describe_values("Recall@10", list("abcdef"), values)
    shown = re.findall(r"\b([a-f]) ([\d.]+)\s%", words)
    assert shown == [("b", "60.0"), ("d", "50.0"), ("e", "40.0"), ("f", "30.0")]
    assert "2 more" in words
    assert "more" not in _describe_values("Recall@10", list("abc"), values[:3])
