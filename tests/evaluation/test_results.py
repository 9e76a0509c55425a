"""Results as tables in text and in notebooks, and as DataFrames."""

import math
import pickle
import re

import numpy as np
import pytest

import sampled_metrics as sm
from sampled_metrics._base.text import format_html
from sampled_metrics.evaluation.results import quantity, quantity_range

SCORES = np.random.default_rng(0).normal(size=(60, 11))
SCORES[:, 0] += 1.0
ITEMS = {"positive": 0, "n_items": 200}


@pytest.fixture(scope="module")
def corrected():
    return sm.correct(SCORES, "hr@10, ap", "sampled, cls", **ITEMS)


def test_likely_is_bold_in_html():
    rng = np.random.default_rng(0)
    ranks = 1 + rng.binomial(99, rng.random(600) ** 4)
    results = sm.correct(ranks, "hr@10", "sampled, likely", n_items=900, n_negatives=99)
    bold = re.findall("<b>([^<]*)</b>", results._repr_html_())
    assert [text.strip() for text in bold] == ["likely", f"{results[1].value:.3g}"]
    assert "\ue000" not in str(results)
    printed = sm.reported("HR@10=0.47 NDCG@10=0.25", n_items=3000, n_negatives=99)
    bold = re.findall("<b>([^<]*)</b>", printed._repr_html_())
    assert [float(text) for text in bold] == [float(f"{one.likely:.3g}") for one in printed]


def test_html_has_the_values_and_the_lines(corrected):
    page = corrected._repr_html_()
    cells = [re.findall("<td[^>]*>([^<]*)</td>", row) for row in page.split("<tr>")[2:]]
    shown = [float(cell[3]) for cell in cells]
    assert shown == [float(f"{result.value:.3g}") for result in corrected]
    assert "60 users" in page


def test_html_escapes_markup():
    assert format_html(["a < b"]) == "<p>a &lt; b</p>"


def test_results_print_alike_after_pickling(corrected):
    again = pickle.loads(pickle.dumps(corrected))  # noqa: S301
    assert str(corrected) == repr(corrected) == str(again)


def test_frame_has_a_row_for_each_result(corrected):
    frame = corrected.to_frame()
    assert frame["value"].tolist() == [result.value for result in corrected]
    assert list(frame.columns[:3]) == ["metric", "estimator", "value"]


def test_nan_prints_as_dash():
    (one,) = sm.evaluate(sm.Ranks([100], [3], [0]), "ap").parts()[0]
    assert math.isnan(one["std_error"])
    assert "nan" not in str(sm.evaluate(sm.Ranks([100], [3], [0]), "ap"))


def test_quantity_has_plural():
    assert [quantity(n, "user") for n in (0, 1, 2, 6040)] == [
        "0 users", "1 user", "2 users", "6,040 users",
    ]  # fmt: skip
    assert [quantity_range(n, "user") for n in ([], [0], [1], [5, 5], [943, 6040, 1000])] == [
        "", "", "1 user", "5 users", "943 to 6,040 users",
    ]  # fmt: skip
