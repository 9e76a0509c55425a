"""The atlas of published results: its rows, and whether the committed page is current."""

import csv
import json
import re
from collections import Counter

import pytest

from sampled_metrics import check, reported
from sampled_metrics.printed.rows import read_printed
from sampled_metrics_study.page.atlas import COLUMNS, KINDS, SHARED_COLUMNS, STYLES, atlas
from tests.conftest import ROOT

PAGE = ROOT / "docs/atlas.html"
TABLE = ROOT / "docs/atlas/literature.csv"
SIZES = {"n_items": 3416, "n_negatives": 100, "n_users": 6040}
ABOUT = {**SIZES, "source_id": "s", "data_set": "D 1"}


def numbers_of(page):
    return json.loads(re.search(r'id="numbers">(.*?)</script>', page, re.DOTALL)[1])


def rows_of(page):
    numbers = numbers_of(page)
    rows = [dict(zip(numbers["columns"], row, strict=True)) for row in numbers["rows"]]
    for row in rows:
        for name in SHARED_COLUMNS:
            row[name] = numbers["texts"][name][row[name]]
    return rows


@pytest.fixture(scope="module")
def small_atlas():
    table = [
        {"model": "A <b>", "HR@10": "0.8245", "NDCG@10": "0.5905", "exact HR@10": "0.21", **ABOUT},
        {"model": "A <b>", "NDCG@10": "0.5905", "exact NDCG@10": "0.1", "note": "n", **ABOUT},
        {"model": "B", "HR@10": "0.500", "NDCG@10": "0.600", **ABOUT},
        {"model": "C", "HR@10": "0.5", "sampling": "popularity", **ABOUT},
    ]
    return atlas(read_printed(table), check(table), "s.d-1.b")


def test_row_shows_hit_rate_first(small_atlas):
    rows = rows_of(small_atlas)
    assert [row["metric"] for row in rows] == ["HR@10", "NDCG@10", "HR@10", "HR@10"]


def test_ranges_are_those_of_all_printed_numbers(small_atlas):
    both, ndcg_alone, *_ = rows_of(small_atlas)
    (expected,) = reported({"HR@10": "0.8245", "NDCG@10": "0.5905"}, "HR@10", **SIZES)
    ends = (expected.range_low, expected.range_high)
    assert (both["low"], both["high"]) == pytest.approx(ends, abs=1e-5)
    assert (both["measured"], both["standing"]) == (0.21, "inside")
    assert ndcg_alone["low"] < both["low"]


def test_rows_without_a_range_say_why(small_atlas):
    *_, contradiction, by_popularity = rows_of(small_atlas)
    assert (contradiction["low"], contradiction["standing"]) == (None, None)
    assert "No range" in contradiction["remark"]
    assert "by popularity" in by_popularity["remark"]


def test_atlas_starts_with_the_row_of_an_address(small_atlas):
    assert numbers_of(small_atlas)["start"] == 2  # s.d-1.b
    table = [ROW]
    with pytest.raises(ValueError, match="nowhere"):
        atlas(read_printed(table), check(table), "nowhere")


ROW = {"model": "M", "HR@10": "0.8245", "NDCG@10": "0.5905", **ABOUT}


def one_row(**changed):
    record = {**ROW, **changed}
    table = [{name: value for name, value in record.items() if value is not None}]
    (row,) = rows_of(atlas(read_printed(table), check(table)))
    return row, check(table)[0]


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        (["HR@10", "NDCG@10", "HR@5", "NDCG@5"], "HR@10"),
        (["NDCG@5", "HR@5", "NDCG@10"], "NDCG@10"),
        (["NDCG@5", "HR@5"], "HR@5"),
        (["MRR", "NDCG@5"], "NDCG@5"),
        (["MRR", "HR@1"], "MRR"),  # the first metric among the columns
    ],
)
def test_row_metric_has_joint_range(printed, shown):
    """Ranges follow from all numbers together, to five decimals."""
    table = {"HR@10": "0.66", "NDCG@10": "0.44", "HR@5": "0.51", "NDCG@5": "0.39", "MRR": "0.37",
             "HR@1": "0.23"}  # fmt: skip
    numbers = {name: text for name, text in table.items() if name in printed}
    row, _ = one_row(**{"HR@10": None, "NDCG@10": None, **numbers})
    assert (row["metric"], row["value"]) == (shown, numbers[shown])
    (joint,) = reported(numbers, shown, **SIZES)
    assert (row["low"], row["high"]) == (round(joint.range_low, 5), round(joint.range_high, 5))


def test_row_has_all_numbers_and_texts():
    about = {"paper": "P", "year": "2019", "source": "http://x", "note": "n: 1", "runs": "5"}
    row, _ = one_row(**about, **{"exact HR@10": "0.21"})
    shown = {
        "model": "M", "metric": "HR@10", "value": "0.8245", "measured": 0.21, "standing": "inside",
        "printed": "HR@10=0.8245 NDCG@10=0.5905", "exact": "HR@10=0.21",
        "n": 3416, "m": 100, "users": 6040, "runs": 5,
        "data": "D 1", "note": "n: 1", "way": "without-replacement", "remark": "",
    }  # fmt: skip
    assert {name: row[name] for name in shown} == shown
    assert row["paper"].split("\n") == ["s", "P", "2019", "http://x"]


def test_measured_value_of_other_metric_is_hidden():
    row, checked = one_row(**{"exact NDCG@10": "0.1"})
    assert [placed.metric for placed in checked.placed] == ["NDCG@10"]
    assert (row["measured"], row["standing"]) == (None, None)
    printed = {"HR@10": "0.8245", "NDCG@10": "0.5905"}
    (expected,) = reported(printed, "HR@10", **SIZES)
    assert row["low"] == pytest.approx(expected.range_low, abs=6e-6)


DO_NOT_FIT = {"HR@10": "0.500", "NDCG@10": "0.600"}


@pytest.mark.parametrize(
    ("changed", "keyword"),
    [
        (DO_NOT_FIT, "do not fit"),
        ({"sampling": "popularity"}, "by popularity"),
        ({"exact HR@10": "0.0010"}, "outside"),
    ],
)
def test_remark_says_what_is_unusual(changed, keyword):
    assert keyword in one_row(**changed)[0]["remark"]


def test_usual_row_has_no_remark():
    assert one_row(**{"exact HR@10": "0.21"})[0]["remark"] == ""


@pytest.mark.parametrize(
    ("changed", "is_told"),
    [
        (DO_NOT_FIT, True),
        ({"exact HR@10": "0.0010"}, True),
        ({"exact HR@10": "0.21"}, False),
        ({"sampling": "popularity"}, False),
    ],
)
def test_cause_in_the_source_ends_the_remark_on_a_contradiction(changed, is_told):
    row, _ = one_row(**changed, cause="a typing error")
    assert row["remark"].endswith(" a typing error.") == is_told


@pytest.mark.parametrize(
    ("changed", "has_range"),
    [({"exact HR@10": "0.0010"}, True), (DO_NOT_FIT, False), ({"sampling": "popularity"}, False)],
)
def test_row_has_range_if_its_numbers_fit_uniform_samples(changed, has_range):
    row, _ = one_row(**changed)
    assert [row[end] is not None for end in ("low", "high")] == [has_range] * 2


@pytest.mark.parametrize(("measured", "standing"), [("0.21", "inside"), ("0.0010", "outside")])
def test_standing_of_measured_value(measured, standing):
    assert one_row(**{"exact HR@10": measured})[0]["standing"] == standing


@pytest.mark.parametrize(
    ("changed", "way"), [({}, "without-replacement"), ({"sampling": "popularity"}, "by popularity")]
)
def test_row_has_the_way_of_sampling(changed, way):
    assert one_row(**changed)[0]["way"] == way


@pytest.fixture(scope="module")
def repeated():
    """Five rows with two data sets, two notes and two sources."""
    table = [
        {**ROW, "source_id": source, "data_set": data, "note": note}
        for source, data, note in (
            ("S", "D", "one"), ("S", "D", "two"), ("S", "E", "one"),
            ("T", "D", "two"), ("S", "D", "one"),
        )
    ]  # fmt: skip
    return atlas(read_printed(table), check(table))


def test_shared_texts_are_stored_once(repeated):
    texts = numbers_of(repeated)["texts"]
    assert (texts["data"], texts["note"]) == (["D", "E"], ["one", "two"])
    assert [text.split("\n")[0] for text in texts["paper"]] == ["S", "T"]


def test_rows_refer_to_their_texts(repeated):
    rows = rows_of(repeated)
    assert [row["note"] for row in rows] == ["one", "two", "one", "two", "one"]
    assert [row["data"] for row in rows] == ["D", "D", "E", "D", "D"]


def test_repeated_names_of_rows_are_numbered(repeated):
    names = ["s.d.m", "s.d.m.2", "s.e.m", "t.d.m", "s.d.m.3"]
    assert [row["id"] for row in rows_of(repeated)] == names


def test_unchecked_metric_has_range_of_reported():
    table = [{"HR@5": "0.4", "sampling": "with", **ABOUT}]
    (row,) = rows_of(atlas(read_printed(table), check(table)))
    (expected,) = reported({"HR@5": "0.4"}, sampling="with-replacement", **SIZES)
    assert row["low"] == pytest.approx(expected.range_low, abs=1e-5)


def test_row_names_are_unique_and_escaped(small_atlas):
    assert [row["id"] for row in rows_of(small_atlas)] == [
        "s.d-1.a-b",
        "s.d-1.a-b.2",
        "s.d-1.b",
        "s.d-1.c",
    ]
    assert "A <b>" not in small_atlas


def test_committed_atlas_has_the_rows_of_the_literature():
    page = PAGE.read_text(encoding="utf-8")
    rows, shown = read_printed(TABLE), rows_of(page)
    assert numbers_of(page)["columns"] == list(COLUMNS)
    assert [row["model"] for row in shown] == [row.model for row in rows]
    for of_page, row in zip(shown, rows, strict=True):
        printed = " ".join(f"{name}={text}" for name, text in row.printed.items())
        assert of_page["printed"] == printed, "make measure PAGE=literature"


@pytest.mark.parametrize("name", STYLES)
def test_committed_atlas_has_current_style(name):
    """The page is written by a command, not after each change of a style."""
    (style,) = (ROOT / "src").glob(f"*/page*/static/{name}.css")
    rules = re.sub(r"(?m)^[ \t]+", "", style.read_text("utf-8"))  # as on pages
    assert rules.strip() in PAGE.read_text(encoding="utf-8"), "make measure PAGE=literature"


def test_committed_atlas_is_one_small_file():
    page = PAGE.read_text(encoding="utf-8")
    assert len(page.encode()) <= 250_000
    addresses = re.findall(r"(?:src|href)=\"(?!#|data:)([^\"]*)", page)
    assert {address.split("/")[2] for address in addresses} == {"doi.org"}


def test_literature_rows_are_different_and_have_source_and_note():
    rows = read_printed(TABLE)
    keys = [(row.source, row.data_set, row.model, tuple(row.printed.items())) for row in rows]
    assert len(set(keys)) == len(keys)
    assert [row.row for row in rows if not (row.details["source"] and row.details["note"])] == []


@pytest.fixture(scope="module")
def sources():
    """Kind and evidence of each source of the literature."""
    with (ROOT / "docs/atlas/sources.csv").open(encoding="utf-8") as file:
        return {source["source_id"]: source for source in csv.DictReader(file)}


def test_each_source_has_one_kind_and_evidence(sources):
    rows = read_printed(TABLE)
    assert {row.source for row in rows} == set(sources)
    for row in rows:
        assert row.details["kind"] == sources[row.source]["kind"] in KINDS, row.row
    assert all(source["evidence"] for source in sources.values())


def test_committed_atlas_counts_rows_and_sources_by_kind(sources):
    rows = Counter(sources[row.source]["kind"] for row in read_printed(TABLE))
    kinds = Counter(source["kind"] for source in sources.values())
    head = PAGE.read_text(encoding="utf-8").split('<section id="atlas"')[0]
    counted = {(int(of), int(n)) for of, n in re.findall(r"(\d+) of (\d+) ", head)}
    assert {(rows[kind], kinds[kind]) for kind in KINDS} <= counted


@pytest.fixture(scope="module")
def two_kinds():
    """Two rows of a paper with HR@10 and NDCG@10, and a row of a log with HR@5 as well."""
    of_paper = {**ROW, "kind": "paper"}
    of_log = {**ROW, "source_id": "t", "kind": "log", "HR@5": "0.7"}
    table = [of_paper, {**of_paper, "model": "N"}, of_log]
    return atlas(read_printed(table), check(table))


def test_further_metrics_of_rows_have_ranges(two_kinds):
    numbers = numbers_of(two_kinds)
    of_row, *_ = further = [
        dict(zip(["row", *numbers["of_metric"]], values, strict=True))
        for values in numbers["further"]
    ]
    places = [(entry["row"], entry["metric"]) for entry in further]
    assert places == [(0, "NDCG@10"), (1, "NDCG@10"), (2, "NDCG@10"), (2, "HR@5")]
    (expected,) = reported({"HR@10": "0.8245", "NDCG@10": "0.5905"}, "NDCG@10", **SIZES)
    assert of_row["high"] == pytest.approx(expected.range_high, abs=1e-5)


def test_atlas_counts_rows_by_kind_of_source(two_kinds):
    assert [row["kind"] for row in rows_of(two_kinds)] == ["paper", "paper", "log"]
    head = " ".join(two_kinds.partition('<section id="atlas"')[0].split())
    for count in ("3 rows", "2 of 1 paper", "7 values"):  # 2 * 2 of the paper and 3 of the log
        assert count in head
    assert 'id="kind"' in two_kinds


def test_atlas_without_kinds_has_no_choice(small_atlas):
    assert 'id="kind"' not in small_atlas
    assert "sources:" not in small_atlas
