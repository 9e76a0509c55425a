"""The panel of given negatives, from tables small enough to read."""

import re

import pytest

from sampled_metrics.report.page.collect import collect
from sampled_metrics.report.page.negatives import negatives_panel
from sampled_metrics.report.page.render import render
from tests.unit.test_page import REFERENCE, config, sources

VALUES = """\
recommender,metric,n_negatives,sampled,range_low,range_high,exact
A,ap,9,0.5,0.1,0.4,0.2
B,ap,9,0.4,0.1,0.5,0.3
C,ap,9,0.6,0.2,0.6,0.4
"""
ORDERS = """\
a,b,metric,exact,exact_order,range_low,range_high,sampled_order,\
scores_per_user,budget_low,budget_high,budget_order
A,B,ap,0.1,b,-0.1,0.2,undecided,99.7,0.05,0.2,b
A,C,ap,0.2,b,0.1,0.3,b,99.7,-0.3,-0.1,a
B,C,ap,0.1,b,-0.1,0.3,undecided,99.7,-0.1,0.1,undecided
"""
CHECKS = """\
name,passed,found,expected,p_value,remark
seen items,True,0,0,,
duplicates,False,2,0,,2 users have duplicates
"""


@pytest.fixture
def panel(tmp_path):
    for name, text in (("values", VALUES), ("orders", ORDERS), ("checks", CHECKS)):
        (tmp_path / f"{name}.csv").write_text(text)
    return negatives_panel(tmp_path)


def test_orders_by_the_sample_the_range_and_the_budget(panel):
    # sampled, C > A > B; exact, C > B > A: one of three is wrong
    assert panel["words"] == (
        "Of 3 orders (each pair by each metric), the sampled metric gets 1 wrong. The ranges that "
        "the negatives allow decide 1, none of them wrongly. An evaluation on a budget of 100 "
        "scores per user, at about the same price, decides 2, 1 of them wrongly."
    )
    assert panel["orders"]["lines"] == [
        ["A and B, AP", "B above A", "10.00", "A above B: wrong", "undecided", "B above A"],
        ["A and C, AP", "C above A", "20.00", "C above A", "C above A", "A above C: wrong"],
        ["B and C, AP", "C above B", "10.00", "C above B", "undecided", "undecided"],
    ]


def test_values_and_failed_checks(panel):
    assert panel["values"]["lines"][0] == ["A, AP", "50.00 %", "20.00 %", "10.00 to 40.00 %"]
    assert (panel["m"], panel["remarks"]) == (9, ["2 users have duplicates"])


def test_page_of_a_study_with_published_negatives():
    settings = config() | {"negatives": "published/negatives.csv"}
    page = render(collect(**sources(config=settings, negatives=REFERENCE / "ncf")))
    section = page.partition('<section id="negatives"')[2].partition('<section id="tables"')[0]
    assert '<a href="#negatives">' in page
    assert "<code>negatives.csv</code>" in section
    text = re.sub(r"<[^>]+>", " ", section)
    assert "gets 18 wrong" in text  # of 30: where sampled and exact differ in sign
    assert "156 users have their held-out item" in text
