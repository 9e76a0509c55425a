"""The atlas of published results: what it holds, and that the committed one is of today's table."""

import json
import re

import pytest

from sampled_metrics import check, reported
from sampled_metrics.inference.printed import read_printed
from sampled_metrics.pages.atlas import COLUMNS, SHARED, atlas
from tests.conftest import ROOT

PAGE = ROOT / "docs/atlas.html"
TABLE = ROOT / "config/literature.csv"
ABOUT = {"n_items": 3416, "n_negatives": 100, "n_users": 6040, "source_id": "s", "data_set": "D 1"}


def numbers_of(page):
    return json.loads(re.search(r'id="numbers">(.*?)</script>', page, re.DOTALL)[1])


def rows_of(page):
    numbers = numbers_of(page)
    rows = [dict(zip(numbers["columns"], row, strict=True)) for row in numbers["rows"]]
    for row in rows:
        for name in SHARED:
            row[name] = numbers["texts"][name][row[name]]
    return rows


@pytest.fixture(scope="module")
def small():
    table = [
        {"model": "A <b>", "HR@10": "0.8245", "NDCG@10": "0.5905", "exact HR@10": "0.21", **ABOUT},
        {"model": "A <b>", "NDCG@10": "0.5905", "exact NDCG@10": "0.1", "note": "n", **ABOUT},
        {"model": "B", "HR@10": "0.500", "NDCG@10": "0.600", **ABOUT},
        {"model": "C", "HR@10": "0.5", "sampling": "popularity", **ABOUT},
    ]
    return atlas(read_printed(table), check(table), "s.d-1.b")


def test_rows_show_hit_rates_or_else_another_metric(small):
    rows = rows_of(small)
    assert [row["metric"] for row in rows] == ["HR@10", "NDCG@10", "HR@10", "HR@10"]
    (first, second, third, fourth) = rows
    printed = {"HR@10": "0.8245", "NDCG@10": "0.5905"}
    (expected,) = reported(printed, "HR@10", n_items=3416, n_negatives=100, n_users=6040)
    ends = (expected.range_low, expected.range_high)
    assert (first["low"], first["high"]) == pytest.approx(ends, abs=1e-5)
    assert (first["measured"], first["standing"]) == (0.21, "inside")
    assert second["low"] < first["low"]  # NDCG@10, by which alone it is
    assert second["note"] == "n"
    assert (third["low"], third["standing"]) == (None, None)
    assert third["remark"].startswith("No range: ")
    assert fourth["remark"] == "No range: negatives drawn by popularity."
    assert numbers_of(small)["start"] == 2


def test_values_outside_have_a_neutral_remark_with_what_the_source_says():
    table = [{"HR@10": "0.8245", "exact HR@10": "0.0010", "cause": "ties", "note": "n", **ABOUT}]
    (row,) = rows_of(atlas(read_printed(table), check(table)))
    assert row["standing"] == "outside"
    assert row["remark"].endswith("more than its sampling error. In the source: ties.")


def test_a_metric_that_was_not_checked_has_the_range_of_reported():
    table = [{"HR@5": "0.4", "sampling": "with", **ABOUT}]
    (row,) = rows_of(atlas(read_printed(table), check(table)))
    about = {"n_items": 3416, "n_negatives": 100, "n_users": 6040}
    (expected,) = reported({"HR@5": "0.4"}, sampling="with-replacement", **about)
    assert row["low"] == pytest.approx(expected.range_low, abs=1e-5)


def test_names_in_the_address_are_unique_and_texts_are_escaped(small):
    assert [row["id"] for row in rows_of(small)] == [
        "s.d-1.a-b",
        "s.d-1.a-b.2",
        "s.d-1.b",
        "s.d-1.c",
    ]
    assert "A <b>" not in small


def test_committed_atlas_is_of_the_table():
    rows = read_printed(TABLE)
    page = PAGE.read_text(encoding="utf-8")
    shown = rows_of(page)
    assert numbers_of(page)["columns"] == list(COLUMNS)
    assert [row["model"] for row in shown] == [row.model for row in rows]
    for of_page, row in zip(shown, rows, strict=True):
        printed = " ".join(f"{name}={text}" for name, text in row.printed.items())
        assert of_page["printed"] == printed, "make literature"
    assert len(page.encode()) <= 250_000
    assert not re.search(r"(src|href)=\"(?!#|data:)", page)  # one file


def test_rows_of_the_literature_name_their_source():
    rows = read_printed(TABLE)
    seen = set()
    for row in rows:
        assert row.about["source"], row.name
        assert "n:" in row.about["note"] or row.about["note"], row.name
        key = (row.source, row.data_set, row.model, tuple(row.printed.items()))
        assert key not in seen, row.name
        seen.add(key)
