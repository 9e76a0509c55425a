"""Printed tables hold the numbers of the results, and the lines below describe them."""

import math
import re

import pytest

import sampled_metrics as sm

ABOUT = {"n_items": 300, "n_negatives": 20}
PRINTED = {"HR@5": "0.52", "NDCG@10": "0.41"}
TEXT = "HR@5=0.52 NDCG@10=0.41"


class span:  # noqa: N801 - stands for a text
    """The text of a range, with enough decimals for three digits of its larger end."""

    def __init__(self, low, high):
        self.ends = (low, high)

    def __eq__(self, text):
        decimals = len(text.partition(" ")[0].partition(".")[2])
        low, high = self.ends
        assert decimals >= 2 - math.floor(math.log10(max(-low, high)))
        return text == f"{low:.{decimals}f} to {high:.{decimals}f}"

    __hash__ = None


def numbers_of(text):
    """Return the numbers in a text, except those in names such as recall@10."""
    return [
        number.replace(",", "") for number in re.findall(r"(?<![@\w.])\d[\d,]*(?:\.\d+)?", text)
    ]


@pytest.mark.parametrize(
    ("users", "shape", "confidence", "numbers"),
    [
        (None, "non-increasing", 0.95, ["300"]),  # candidates
        (None, "none", 0.95, ["300"]),
        (1, "none", 0.9, ["300", "1", "90"]),
        (6040, 1.5, 0.99, ["300", "6040", "99", "1.5"]),
        (6040, 2, 0.5, ["300", "6040", "50", "2"]),
    ],
)
@pytest.mark.filterwarnings("ignore:n_users")  # of one user
def test_reported_table(users, shape, confidence, numbers):
    options = {"n_users": users, "shape": shape, "confidence": confidence}
    results = sm.reported(PRINTED, "HR@5, MRR", **ABOUT, **options, sampling="with-replacement")
    rows, text, *_ = results.parts()
    assert rows == [
        {
            "metric": result.metric,
            "range": span(result.range_low, result.range_high),
            "likely": result.likely,
            "likely in": "-"
            if result.likely is None
            else span(result.likely_low, result.likely_high),
        }
        for result in results
    ]
    assert numbers_of(text.removeprefix(f"From {TEXT}")) == ["20", *numbers]
    assert "with replacement" in text
    for result, name in zip(results, ("HR@5", "MRR"), strict=True):
        assert (result.metric, result.reported) == (name, {"HR@5": 0.52}.get(name))
        assert (result.n_items, result.n_negatives, result.n_users) == (
            300,
            20,
            users,
        )
        assert (result.likely is None) == (shape == "none")
        if result.likely is not None:
            numbers = [result.range_low, result.likely_low, result.likely]
            numbers += [result.likely_high, result.range_high]
            assert numbers == sorted(numbers)
    by_default = sm.reported(PRINTED, **ABOUT)
    assert [result.metric for result in by_default] == ["HR@5", "NDCG@10"]


@pytest.mark.parametrize("unscored", [0.2, 0.9])
def test_unscored_is_same_in_check_and_reported(unscored):
    paper = {"HR@1": "0.20", "HR@10": "0.45"}
    about = {**ABOUT, "n_users": 500}
    assert [flag.test for flag in sm.check([{**paper, **about}], unscored=0)[0].flags] == ["ranks"]
    (row,) = sm.check([{**paper, **about}], "HR@5", unscored=unscored)
    (result,) = sm.reported(paper, "HR@5", **about, unscored=unscored)
    assert (row.range_low, row.range_high) == (result.range_low, result.range_high)


def test_check_table():
    about = {**ABOUT, "n_users": 500, "source_id": "S", "data_set": "D"}
    table = [
        {"model": "A", "HR@5": "0.52", "exact HR@5": "0.11", **about},
        {"model": "B", "HR@5": "0.20", **about},
        {
            "HR@5": "0.20",
            "HR@10": "0.10",
            **about,
            "source_id": "T",
        },  # a contradiction
        {"HR@5": "0.92", "HR@1": "0.75", **about},
    ]
    checks = sm.check(table, "HR@5", confidence=0.9)
    rows, text, _ = checks.parts()
    for number, (row, result) in enumerate(zip(rows, checks, strict=True), start=1):
        assert (row["row"], row["model"]) == (str(number), result.model)
        assert row["likely"] == result.likely
        if number == 3:
            assert (row["HR@5"], row["flags"]) == ("-", "bounds")
        else:
            assert (row["HR@5"], row["flags"]) == (
                span(result.range_low, result.range_high),
                "",
            )
    assert [row["measured"] for row in rows] == [0.11, None, None, None]
    of_s, of_t = checks.orders
    assert (of_s.source, of_s.data_set, of_s.n_pairs) == ("S", "D", 3)
    assert (of_t.source, of_t.n_pairs, of_t.decided) == ("T", 0, ())
    (level,) = {0.95}  # each of the two ranges has half of the error
    wide = [
        sm.reported(
            {name: table[i][name] for name in ("HR@5", "HR@1") if name in table[i]},
            "HR@5",
            **ABOUT,
            n_users=500,
            confidence=level,
        )[0]
        for i in (0, 1, 3)
    ]
    decided = {
        (i, j)
        for i, a in zip((1, 2, 4), wide, strict=True)
        for j, b in zip((1, 2, 4), wide, strict=True)
        if a.range_low > b.range_high
    }
    assert set(of_s.decided) == decided
    *_, orders, last = text.splitlines()  # T has no pair, and so no line
    assert orders.startswith("S: D: ")
    assert numbers_of(orders)[:2] == [str(len(decided)), "3"]
    for better, worse in decided:
        name = {1: "A", 2: "B", 4: "row 4"}
        assert f"{name[better]} above {name[worse]}" in orders
    assert numbers_of(last) == ["90"]
    count = next(line for line in text.splitlines() if "with a flag" in line)
    assert numbers_of(count)[:2] == ["4", "1"]


def ranks(first, last):
    better = list(range(first, last))
    return sm.Ranks([300] * len(better), better, [0] * len(better))


def test_plan_table():
    results = sm.plan(ranks(0, 40), ranks(5, 45), "recall@10, auc", sizes=[5, 300, 20])
    rows, text, _ = results.parts()
    shown = [row["probability"].removeprefix("< ").removeprefix("> ") for row in rows]
    probabilities = [result.probability for result in results]
    assert list(map(float, shown)) == pytest.approx(probabilities, abs=1.1e-3)
    assert rows == [
        {
            "metric": result.metric,
            "n_negatives": "all" if result.n_negatives is None else str(result.n_negatives),
            "probability": row["probability"],
            "decides above": result.decides_above,
        }
        for result, row in zip(results, rows, strict=True)
    ]
    # 300 candidates allow at most 299 negatives
    assert [row["n_negatives"] for row in rows] == ["5", "20", "all"] * 2
    users, recall, auc = text.splitlines()[:3]
    assert numbers_of(users) == ["40"]
    assert numbers_of(recall)[:2] == ["0.2500", "0.1250"]
    places = [(300 - rank) / 299 for rank in range(1, 46)]
    exact = (sum(places[:40]) / 40, sum(places[5:]) / 40)
    assert numbers_of(auc)[:2] == [f"{value:.4f}" for value in exact]
    assert [result.decides for result in results] == [
        None
    ] * 6  # full rankings have no number of negatives


def test_correct_table():
    sampled = [1, 1, 5, 9, 2, 3, 1, 8, 11, 4]
    about = {
        "n_items": 300,
        "n_negatives": 10,
        "sampling": "with-replacement",
        "confidence": 0.9,
    }
    results = sm.correct(sampled, "recall@3, auc", "sampled, cls", **about)
    rows, text, _ = results.parts(intervals=True)
    for place, (row, result) in enumerate(zip(rows, results, strict=True)):
        ends = span(result.range_low, result.range_high)
        assert row["range"] == ("" if place % 2 else ends)
        assert (row["metric"], row["estimator"]) == (result.metric, result.estimator)
        assert (row["value"], row["interval"]) == (
            result.value,
            span(result.ci_low, result.ci_high),
        )
        like = "auc" if result.metric == "auc" else f"recall@{result.acts_like}"
        assert row["acts like"] == like
    assert "interval" not in results.parts()[0][0]
    lines = text.splitlines()
    assert numbers_of(lines[0]) == ["10", "10", "299"]
    assert "with replacement" in lines[0]
    # A random order has an AUC of 1/2, which is in the range, and a recall@3 of 3/300.
    random_orders = [line for line in lines if "random order" in line]
    assert [numbers_of(line) for line in random_orders] in (
        [["0.5000"]],
        [["0.0100"], ["0.5000"]],
    )
    distinct = sm.correct(sampled, "auc", "sampled", **{**about, "sampling": "distinct"})
    assert "replacement" not in str(distinct)
    lowest = sm.correct([4, 5, 3, 2, 7, 6] * 9, "recall@3", "sampled", **about, shape="none")
    assert lowest[0].range_low == 0.0


@pytest.mark.parametrize(("n_users", "confidence"), [(1, 0.95), (30, 0.95), (60, 0.5)])
def test_evaluate_table(n_users, confidence):
    """One user has rank 1 and carries most of the value of `ap`; others have rank 41 or more."""
    results = sm.evaluate(ranks(0, 1), "ap")
    if n_users > 1:
        better = [0, *range(40, 39 + n_users)]
        exact = sm.Ranks([300] * n_users, better, [0] * n_users)
        results = sm.evaluate(exact, "recall@3, ap", ties="optimistic", confidence=confidence)
    rows, text, _ = results.parts()
    heading = f"interval ({100 * confidence:g} %)"
    for row, result in zip(rows, results, strict=True):
        assert (row["metric"], row["value"]) == (result.metric, result.value)
        if n_users == 1:
            assert row[heading] is None
        else:
            assert row["std_error"] == result.std_error
            assert row[heading] == span(result.ci_low, result.ci_high)
    first, *few = text.splitlines()
    assert numbers_of(first) == [str(n_users), "300"]
    assert ("optimistic" in first) == (n_users > 1)
    if n_users == 1:
        assert few == []
        return
    (line,) = few  # about ap only: intervals of proportions are not too narrow
    values = [1.0, *(1.0 / rank for rank in range(41, 40 + n_users))]
    effective = sum(values) ** 2 / sum(value**2 for value in values)
    assert line.startswith("ap")
    assert numbers_of(line) == [
        str(round(effective)),
        str(n_users),
        f"{100 * confidence:g}",
    ]


@pytest.mark.parametrize(("least", "numbers"), [(0, ["0"]), (0.5, ["0.5"]), (2, ["2"])])
def test_min_relevance_is_noted(least, numbers):
    scores, grades = [[0.9, 0.5, 0.1]], [[3, 2, 1]]
    results = sm.evaluate(scores, "ndcg@3, recall@1", relevant=grades, min_relevance=least)
    _, note = results.parts()[1].splitlines()
    assert numbers_of(note) == numbers
    plain = sm.evaluate(scores, "ndcg@3", relevant=[0])
    assert len(plain.parts()[1].splitlines()) == 1


@pytest.mark.parametrize(("n_rows", "is_long"), [(3, False), (6, False), (9, True)])
def test_check_lists_up_to_twenty_orders(n_rows, is_long):
    """Rows far apart, so that many of their 3, 15 and 36 pairs are decided."""
    about = {"n_items": 60, "n_negatives": 40, "n_users": 10**6}
    checks = sm.check([{"HR@5": f"{0.99 - 0.09 * i:.2f}", **about} for i in range(n_rows)], "HR@5")
    (orders,) = checks.orders
    n_decided = len(orders.decided)
    assert (n_decided > 1, n_decided > 20) == (n_rows > 3, is_long)
    (line,) = [line for line in checks.parts()[1].splitlines() if "decided" in line]
    assert line.count(" above ") == min(n_decided, 20)
    assert line.endswith("...") == is_long
    assert numbers_of(line)[:2] == [str(n_decided), str(n_rows * (n_rows - 1) // 2)]


def test_rounded_number_allows_both_ends():
    """With a billion users, a printed 0.5 is any number from 0.45 to 0.55."""
    about = {**ABOUT, "n_users": 10**9}
    (result,) = sm.reported({"HR@5": "0.5"}, **about)
    (low,) = sm.reported({"HR@5": "0.450000"}, **about)
    (high,) = sm.reported({"HR@5": "0.550000"}, **about)
    ends = (low.range_low, high.range_high)
    assert (result.range_low, result.range_high) == pytest.approx(ends, abs=1e-4)
    (exact,) = sm.reported({"HR@5": "0.5"}, **ABOUT)  # without users
    assert (exact.range_low, exact.range_high) == pytest.approx(ends, abs=1e-3)


@pytest.mark.parametrize(
    ("number", "options", "warns"),
    [
        ("0.044", {"unscored": 0.0}, True),  # a random order of 101 items has 0.0450
        ("0.046", {"unscored": 0.0}, False),
        ("0.044", {}, False),
        ("0.044", {"unscored": 0.2}, False),
        ("0.044", {"shape": "none"}, False),
    ],
)
def test_number_of_random_order_warns(number, options, warns):
    """Held-out items without a score lower printed numbers, and so the range."""
    about = {"n_items": 2000, "n_negatives": 100, "n_users": 2000}
    _, text, *_ = sm.reported({"NDCG@10": number}, **about, **options).parts()
    assert ("--unscored" in text) == warns
