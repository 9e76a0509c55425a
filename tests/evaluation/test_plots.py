"""Plots of all results: a named line for each row, the caller's metrics, zero and units."""

import warnings

import numpy as np
import pytest

import sampled_metrics as sm

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

USERS = 300
RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(USERS, 150))
SCORES[:, 0] += 1.5
SAMPLED = SCORES[:, :51]
PRINTED = {"n_items": 3416, "n_negatives": 100, "n_users": 6040}


def full(steps):
    """Rank of user i: i modulo `steps`, from the top."""
    return sm.Ranks([150] * USERS, np.arange(USERS) % steps, [0] * USERS)


def budget():
    held_out = RNG.integers(0, 150, USERS)
    return sm.evaluate_on_budget(
        lambda users, items: SCORES[users, items],
        "HR@10, MRR@10",
        relevant=held_out,
        seen=np.zeros(SCORES.shape),
    )


RESULTS = {  # what makes a result, its metrics as called, the names of its lines
    "evaluate": (
        lambda: sm.evaluate(full(40), "HR@10, MRR"), ["HR@10", "MRR"], ["300 users"],
    ),
    "correct": (
        lambda: sm.correct(SAMPLED, "hit@5, MAP", positive=0, n_items=2000),
        ["hit@5", "MAP"], ["300 users"],
    ),
    "compare full": (
        lambda: sm.compare({"A": full(20), "B": full(40), "C": full(60)}, "HR@10"),
        ["HR@10"], ["A - B", "A - C", "B - C"],
    ),
    "compare sampled": (
        lambda: sm.compare({"A": SAMPLED, "B": SAMPLED[:, ::-1]}, "MRR", positive=0,
                           n_items=2000),
        ["MRR"], ["A - B"],
    ),
    "budget": (budget, ["HR@10", "MRR@10"], ["300 users"]),
    "reported": (
        lambda: sm.reported({"HR@10": "0.8245", "NDCG@10": "0.5905"}, **PRINTED),
        ["HR@10", "NDCG@10"], ["6,040 users"],
    ),
    "check": (
        lambda: sm.check([
            {"model": "A", "HR@5": "0.7235", "HR@10": "0.8245", **PRINTED},
            {"model": "B", "HR@5": "0.7013", "HR@10": "0.8013", **PRINTED},
            {"model": "C", "HR@5": "0.7235", "HR@10": "0.8145", **PRINTED},
        ]),
        ["hit@10"], ["A", "B", "C"],
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _close():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def plot(make):
    """Return the result, and the panels of its plot."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sm.InputWarning)
        result = make()
    return result, np.atleast_1d(np.array(result.plot(), dtype=object))


@pytest.mark.parametrize("name", RESULTS)
def test_plot_has_a_named_line_per_row_and_the_callers_metrics(name):
    make, metrics, lines = RESULTS[name]
    result, panels = plot(make)
    table = result.to_frame()
    assert [panel.get_title("left").split(":")[0] for panel in panels] == metrics
    for panel, metric in zip(panels, metrics, strict=True):
        assert [text.get_text() for text in panel.get_yticklabels()] == lines
        bars = [
            line for line in panel.lines if line.get_label() in ("range", "interval")
        ]
        assert len(bars) == len(lines)
        rows = table[table["metric"] == metric]
        ends = "range" if "range_low" in rows else "ci"
        (first,) = rows.iloc[:1].to_dict("records")
        assert sorted(map(abs, bars[0].get_xdata())) == pytest.approx(
            sorted(abs(first[f"{ends}_{side}"]) for side in ("low", "high"))
        )
        low, high = panel.get_xlim()
        assert low <= 0.0 < high
    assert panels[-1].get_xlabel().endswith("(fraction)")


def test_bars_of_a_check_lie_in_the_line_of_their_model():
    result, (panel,) = plot(RESULTS["check"][0])
    for height, row in enumerate(result.to_frame().itertuples()):
        (bar,) = [
            line for line in panel.lines
            if line.get_label() == "range" and line.get_ydata()[0] == height
        ]  # fmt: skip
        assert list(bar.get_xdata()) == pytest.approx([row.range_low, row.range_high])


def test_a_decided_difference_is_drawn_positive_and_named_better_first():
    result, (panel,) = plot(
        lambda: sm.compare({"A": full(20), "B": full(30)}, "HR@10")
    )
    assert result[0].difference == pytest.approx(1 / 3 - 1 / 2)  # B - A
    (mark,) = [line for line in panel.lines if line.get_label() == "difference"]
    assert list(mark.get_xdata()) == pytest.approx([1 / 2 - 1 / 3])
    assert panel.get_title("left") == "HR@10: A above B"
    (panel,) = np.atleast_1d(result.plot(exact=result))
    (mark,) = [line for line in panel.lines if line.get_label() == "exact"]
    assert list(mark.get_xdata()) == pytest.approx([1 / 2 - 1 / 3])


@pytest.mark.parametrize("name", ["evaluate", "correct", "reported"])
def test_titles_show_the_number_to_quote(name):
    result, panels = plot(RESULTS[name][0])
    row = result.to_frame().iloc[0]
    number = row["likely"] if name == "reported" else row["value"]
    assert f" {number:.3g} (" in panels[0].get_title("left")


def test_plan_is_a_curve_of_the_probability_with_full_rankings_at_the_right():
    result, panels = plot(
        lambda: sm.plan(full(20), full(40), "HR@10, NDCG@10", sizes=[1, 5, 20])
    )
    assert len(panels) == 2
    for panel, metric in zip(panels, ("HR@10", "NDCG@10"), strict=True):
        rows = [planned for planned in result if planned.metric == metric]
        (curve,) = [line for line in panel.lines if line.get_label() == metric]
        assert list(curve.get_ydata()) == [row.probability for row in rows]
        assert list(curve.get_xdata()[:3]) == [1, 5, 20]
        assert curve.get_xdata()[3] > 20
        ticks = [text.get_text() for text in panel.get_xticklabels()]
        assert ticks == ["1", "5", "20", "all"]
        assert panel.get_title("left").startswith(f"{metric}: ")
        assert [0.95, 0.95] in [list(line.get_ydata()) for line in panel.lines]
    assert panels[-1].get_xlabel() == "negatives"
