"""What an evaluation on a budget says: rows, orders, notes; and what random draws say."""

from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.budget import BudgetResult, Estimate, reciprocal_rank
from sampled_metrics.inference.budget.comparison import p_value
from sampled_metrics.inference.budget.printed import duration
from sampled_metrics.inference.budget.result import DEPTH_SHARE, depth_of


def estimate(centre: float, slack: float = 0.0, error: float = 0.01, value: Any = None) -> Estimate:
    half = stats.t.ppf(0.975, 20.0) * error + slack
    model = centre if value is None else value
    return Estimate(model, centre - half, centre + half, centre, error, 20.0, model)


def result(differences: list[float], **changed: Any) -> BudgetResult:
    """Three recommenders, one metric, with these differences of the pairs AB, AC and BC."""
    pairs = dict(zip([(0, 1), (0, 2), (1, 2)], differences, strict=True))
    fields: dict[str, Any] = {
        "names": ("A", "B", "C"),
        "metrics": ("recall@10",),
        "estimates": [[estimate(0.1)], [estimate(0.2)], [estimate(0.3)]],
        "differences": {pair: [estimate(difference)] for pair, difference in pairs.items()},
        "posterior_mean": np.zeros((3, 1, 50)),
        "posterior_variance": np.zeros((3, 1, 50)),
        "n_asked": (1000, 1000, 1000),
        "n_held_out": 50,
        "n_users": 50,
        "n_audited": 10,
        "n_candidates": 5000,
        "confidence": 0.95,
        "level": 0.95,
        "proxy": "als",
        "depth": (10.0, 500.0, float("nan")),
    }
    return BudgetResult(**{**fields, **changed})


def test_rows_have_the_price_and_the_proxy() -> None:
    rows = result([0.1, 0.2, 0.1]).rows()
    assert [row["recommender"] for row in rows] == ["A", "B", "C"]
    assert [row["weak_proxy"] for row in rows] == [False, True, None]
    one = rows[0]
    assert (one["value"], one["n_asked"], one["n_candidates"]) == (0.1, 1000, 5000)
    assert one["ci_low"] < 0.1 < one["ci_high"]
    frame = result([0.1, 0.2, 0.1]).to_frame()
    assert frame["recommender"].tolist() == ["A", "B", "C"]
    assert frame.columns.tolist() == list(one)


def test_orders_are_corrected_for_several_pairs() -> None:
    # p of the three pairs by hand: 2 P(t > 2.3), 2 P(t > 10), 2 P(t < -0.5), 20 degrees of freedom
    p = [2 * stats.t.sf(x, 20) for x in (2.3, 10, 0.5)]
    several = result([0.023, 0.1, -0.005])
    alone, corrected = several.compare(correction="none"), several.compare()
    assert [one.p_value for one in alone] == pytest.approx(p)
    assert [one.p_value for one in corrected] == pytest.approx([2 * p[0], 3 * p[1], p[2]])
    assert [one.order for one in alone] == ["b", "b", "undecided"]
    assert [one.order for one in corrected] == ["undecided", "b", "undecided"]
    assert corrected[1].verdict == "C is above A"
    assert "put B above C" in corrected[2].verdict
    assert corrected[0].in_words() == "undecided"
    assert alone[0].in_words() == "B above A"
    assert (alone[0].value_a, alone[0].value_b, alone[0].n_items) == (0.1, 0.2, 101)


def test_an_evaluation_that_might_have_stopped_before_has_less_risk_left() -> None:
    early = result([0.023, 0.1, -0.005], confidence=0.9)
    assert [one.p_value for one in early.compare("none")] == pytest.approx(
        [min(1.0, 2 * p.p_value) for p in result([0.023, 0.1, -0.005]).compare("none")]
    )


@pytest.mark.parametrize("slack", [0.0, 0.004])
@pytest.mark.parametrize("centre", [-0.08, 0.015, 0.03])
def test_the_p_value_is_where_the_interval_begins_to_exclude_0(centre: float, slack: float) -> None:
    p = p_value(estimate(centre, slack), 0.95)
    reach = stats.t.isf(p / 2, 20.0) * 0.01 + slack
    excluded = abs(centre) > stats.t.ppf(0.975, 20.0) * 0.01 + slack
    assert (p < 0.05) == excluded
    assert reach == pytest.approx(abs(centre))
    clipped = estimate(centre, slack)._replace(low=centre - 0.001)
    assert p_value(clipped, 0.95) <= max(p, 0.05)


def test_nothing_differs_from_itself() -> None:
    assert p_value(Estimate(0.0, 0.0, 0.0, 0.0, 0.0, 1e6, 0.0), 0.95) == 1.0
    assert p_value(Estimate(0.1, 0.1, 0.1, 0.1, 0.0, 1e6, 0.1), 0.95) == 0.0


def test_notes_say_what_to_do() -> None:
    text = str(result([0.1, 0.2, 0.1], trials=(("als", 10.0), ("popularity", 70.0))))
    assert "Weak proxy for B" in text
    assert "C: too few users were ranked fully" in text
    assert "popularity 70" in text
    assert "20 scores per user of 100 candidates" in text
    assert "at the speed" not in text
    assert "undecided order" not in text
    soon = str(result([0.0, 0.2, 0.1], seconds_per_score=(1e-3, 1e-3, 1e-3)))
    assert "3 x 5,050 scores, about 15 s in all" in soon
    assert "rank fully" in soon
    assert "undecided order" in soon
    assert "rank fully" not in str(result([0.1, 0.2, 0.1], seconds_per_score=(1.0, 1.0, 1.0)))
    assert "all candidates were scored" in str(result([0.1, 0.2, 0.1], n_asked=(5000,) * 3))


def test_progress_is_shown_where_it_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    scores = np.random.default_rng(0).random((40, 30))
    asked: list[int] = []

    def evaluate(progress: Any, budget: float = 29) -> str:
        sm.evaluate_on_budget(
            lambda users, items: scores[users, items],
            csr_array((40, 30)),
            np.arange(40) % 30,
            budget=budget,
            progress=progress,
        )
        return capsys.readouterr().err

    assert [evaluate(choice) for choice in (None, False, asked.append)] == ["", "", ""]
    assert asked == [40, 40 * 30]
    # of 9 or all 29 others of each user, and the held-out items
    assert f"/{40 * 9 + 40} [" in evaluate(True, budget=9)
    assert f"/{40 * 30} [" in evaluate(True, budget=100)


def test_times_change_their_unit_where_the_next_one_fits() -> None:
    seconds = (3600.0, 3599.9, 60.0, 59.9, 1.0, 0.99, 1e-3, 9.9e-4, 1e-6, 9e-7, 0.0)
    told = "1 hours,60 minutes,1 minutes,60 s,1 s,990 ms,1 ms,990 µs,1 µs,0 s,0 s"
    assert [duration(each) for each in seconds] == told.split(",")


@pytest.mark.parametrize("n", [1, 4, 6])
@pytest.mark.parametrize("stop_at", [1, 2, 3])
def test_draws_are_unbiased_for_the_reciprocal_rank(n: int, stop_at: int) -> None:
    for rank in range(1, n + 1):
        found = SimpleNamespace(draws=[], better=[])
        for order in permutations([True] * (rank - 1) + [False] * (n - rank)):
            hits = np.flatnonzero(order)[:stop_at]
            stopped = hits.size == stop_at
            found.draws.append(int(hits[-1]) + 1 if stopped else n - 1)
            found.better.append(int(hits.size))
        sizes = np.full(len(found.draws), n)
        values = reciprocal_rank(found.draws, found.better, sizes, stop_at)
        assert values.mean() == pytest.approx(1 / rank)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (([3], [1], [3]), "fewer draws than n_candidates"),
        (([3], [2], [9]), "0 to 1 better"),
        (([3], [0], [9]), "candidates are left to draw"),
        (([3], [1], [9], 0), "stop_at is 0"),
    ],
)
def test_impossible_draws(arguments: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        reciprocal_rank(*arguments)


def test_depth_of_an_order_by_hand() -> None:
    """All better items are among the first ten places, or there are none."""
    frame = SimpleNamespace(
        n=np.ones((30, 2)), edges=np.array([0, 10, 100]), rows_of=lambda users: (users, users)
    )
    audited = SimpleNamespace(phases=[SimpleNamespace(users=np.arange(30), reached=np.ones(30))])
    for better, expected in ((0, 0.0), (4, 10 * DEPTH_SHARE)):
        found = np.tile([better, 0], (30, 1))
        counts = SimpleNamespace(frame=frame, left=np.zeros((30, 2)), better=found)
        assert depth_of(SimpleNamespace(counts=counts), audited) == pytest.approx(expected)
    counts.left[:] = 1  # nobody's candidates were all scored
    assert np.isnan(depth_of(SimpleNamespace(counts=counts), audited))
