"""The page of a study: its contents, escaping, and independence of other files."""

import base64
import gzip
import json
import re
import shutil
from functools import partial
from html.parser import HTMLParser
from io import StringIO
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml

from sampled_metrics.estimators import estimator_matrix, parse_estimators
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.pages.lens import compute_settings
from sampled_metrics.ranks import Ranks
from sampled_metrics.read.options import as_ranks
from sampled_metrics.sampling import sampled_rank_distribution
from sampled_metrics_study.config import STORED_RANKS, Study
from sampled_metrics_study.experiment import expected_moments
from sampled_metrics_study.page import contents as page_of_a_study
from sampled_metrics_study.page import render
from sampled_metrics_study.page.contents import collect, describe_data
from sampled_metrics_study.tables import read_texts
from tests.conftest import ROOT
from tests.study.conftest import REFERENCE

HOSTILE = "<script>alert(1)</script>"
VOID = {"meta", "link", "br", "img", "input", "hr", "path", "rect", "use"}


def config():
    """The configuration of the paper's study as the workflow passes it, with defaults."""
    settings = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    return Study.of(settings, "config").model_dump(mode="json", by_alias=True)


def sources(folder=REFERENCE, **changed):
    usual = {
        "ranks": [REFERENCE / f"ranks/{name}.parquet" for name in "XYZ"],
        "audit": REFERENCE / "audit.csv",
        "stored": [REFERENCE / f"{name}.parquet" for name in STORED_RANKS],
        "config": config(),
        "is_paper": True,
    }
    return {"results": folder, **usual, **changed}


def copied(folder):
    """Copy the files of the reference run that the page reads."""
    for name in ("tables", "figures"):
        shutil.copytree(REFERENCE / name, folder / name)
    for name in ("scorecard.csv", "ranges.csv", "provenance.json"):
        shutil.copy(REFERENCE / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def content():
    return collect(**sources())


@pytest.fixture(scope="module")
def page(content):
    return render(content)


class Document(HTMLParser):
    """Elements with their attributes, texts by element, and elements still open."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.texts = [], [], {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)


@pytest.fixture(scope="module")
def document(page):
    return Document(page)


def test_page_is_well_formed_and_small(document, page):
    assert document.open == []
    ids = [attrs["id"] for _, attrs in document.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = [attrs.get("href", "") for tag, attrs in document.elements if tag in {"a", "use"}]
    assert {target[1:] for target in targets if target.startswith("#")} <= set(ids)
    assert len(page.encode()) <= 650_000
    assert len(gzip.compress(page.encode())) <= 220_000


def test_page_makes_no_network_requests(document):
    for tag, attrs in document.elements:
        for name in {"src", "href", "xlink:href", "action", "data", "poster", "srcset"} & {*attrs}:
            local = attrs[name].startswith(("#", "data:", "logs/"))
            assert local or (tag == "a" and attrs[name].startswith("https://doi.org/")), attrs
    assert not {"link", "img", "iframe", "object", "base"} & {tag for tag, _ in document.elements}
    assert "@import" not in " ".join(document.texts["style"])
    policies = [a["content"] for _, a in document.elements if "http-equiv" in a]
    assert all("default-src 'none'" in each and "connect-src 'none'" in each for each in policies)
    assert policies
    for path in (ROOT / "src").glob("*/page*/static/*.js"):
        text = path.read_text()
        assert not re.search(r"\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|import\(|eval\(", text)
        assert "innerHTML" not in text


def test_page_has_figures_and_downloads(document):
    packed = [attrs for _, attrs in document.elements if "data-packed" in attrs]
    downloads = {attrs["data-name"]: attrs["data-packed"] for attrs in packed}
    figures = ["z", "errors", *(f"figure{i}" for i in range(1, 7))]
    tables = ["exact", "table4"]
    assert {f"{name}.csv" for name in (*figures, *tables)} < downloads.keys()
    for name, packed in downloads.items():
        (path,) = [
            path
            for folder in ("", "figures", "tables")
            if (path := REFERENCE / folder / name).is_file()
        ]
        assert gzip.decompress(base64.b64decode(packed)) == path.read_bytes()
    assert sum(attrs.get("class") == "drawing" for _, attrs in document.elements) == 8


@pytest.fixture(scope="module")
def card():
    return pd.read_csv(REFERENCE / "scorecard.csv", dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def published_cells(document):
    """Attributes of each published number, with the verdict: the class of the cell around it."""
    numbers_in_cells = pairwise(document.elements)
    return [
        {**number, "verdict": cell["class"].replace("-", " ")}
        for (_, cell), (_, number) in numbers_in_cells
        if "data-published" in number
    ]


def test_page_has_the_verdict_of_every_published_cell(published_cells, card):
    assert sorted(cell["verdict"] for cell in published_cells) == sorted(card["verdict"])


def test_first_picture_has_a_square_for_each_judged_number(document, card):
    """Squares are the first elements `i` with a class, also for standard deviations."""
    squares = [
        attrs["class"].replace("-", " ")
        for tag, attrs in document.elements
        if tag == "i" and "class" in attrs
    ]
    judged = [*card["verdict"], *card.loc[card["std verdict"] != "", "std verdict"]]
    assert sorted(squares[: len(judged)]) == sorted(judged)


def test_explained_cells_have_a_note_and_a_tolerance(published_cells):
    explained = [cell for cell in published_cells if cell["verdict"] == "explained"]
    assert explained
    assert all(cell["data-note"] and cell["data-tolerance"] for cell in explained)


def test_exact_cells_show_the_published_digits(published_cells):
    exact = [cell for cell in published_cells if cell["verdict"] == "exact"]
    assert exact
    assert [cell["data-ours"] for cell in exact] == [cell["data-published"] for cell in exact]


def hostile_sources(tmp_path):
    """A run whose recommender, note, reading and setting all contain markup."""
    copied(tmp_path)
    records = as_ranks(REFERENCE / "ranks/X.parquet")
    ranks = tmp_path / "ranks" / f"{HOSTILE.replace('/', '∕')}.parquet"
    records.replace(source=HOSTILE).write(ranks)
    for name in ("scorecard.csv", "audit.csv", "tables/table3.csv"):
        text = (REFERENCE / name).read_text()
        text = text.replace("initialisation of X", HOSTILE).replace("tie_break: ncf", HOSTILE)
        (tmp_path / name).write_text(text.replace("\n3,Z,", f"\n3,{HOSTILE},"))
    origin = json.loads((REFERENCE / "provenance.json").read_text())
    origin["source"]["archive"] = f'"><img src=x onerror=alert(1)>{HOSTILE}'
    (tmp_path / "provenance.json").write_text(json.dumps(origin))
    svg = tmp_path / "figures/figure5.svg"
    svg.write_text(svg.read_text().replace("</svg>", f"<!-- {HOSTILE} --></svg>"))
    ranges = pd.read_csv(tmp_path / "ranges.csv", keep_default_na=False)
    ranges = ranges[(ranges["a"] == "X") & (ranges["b"] == "")].assign(a=ranks.stem)
    ranges.to_csv(tmp_path / "ranges.csv", index=False)
    settings = config() | {"note": HOSTILE}
    settings["dataset"] |= {"archive": "/home/somebody/ml-1m.zip", "cache": "/home/somebody"}
    return sources(tmp_path, ranks=[ranks], audit=tmp_path / "audit.csv", config=settings)


@pytest.fixture
def same_lens(content, monkeypatch):
    """Take the lens of the reference run, whose computation takes most of the time of a page."""
    monkeypatch.setattr(page_of_a_study, "_lens_of_study", lambda *_: content["lens"])


@pytest.mark.usefixtures("same_lens")
def test_other_counts_are_said_beside_the_verdict(tmp_path):
    folder = copied(tmp_path)
    record = json.loads((folder / "provenance.json").read_text())
    record["split"] |= {
        "as_expected": False,
        "read": {"users": 60, "items": 40, "interactions": 540},
        "expected": {"users": 6040, "items": 3706, "interactions": 1_000_209},
    }
    (folder / "provenance.json").write_text(json.dumps(record))
    beginning = render(collect(**sources(folder))).partition('<section id="tables"')[0]
    assert {"60", "40", "540", "6,040", "3,706", "1,000,209"} <= set(beginning.split())


@pytest.mark.parametrize(
    ("source", "is_said"),
    [
        ({"ratings_is_official": False, "archive_is_official": False}, True),
        ({"ratings_is_official": None, "archive_is_official": False}, True),
        ({"ratings_is_official": True, "archive_is_official": False}, False),
        ({"ratings_is_official": None, "archive_is_official": None}, False),
        ({}, False),
    ],
)
def test_data_that_is_not_the_published_file_is_named(source, is_said):
    """The next test finds the note on the page."""
    note = describe_data({"source": {"dataset": "ml-1m", **source}})
    assert ("MovieLens 1M" in note) == is_said
    assert bool(note) == is_said


def test_verdict_and_data_come_first(page, content):
    """Before the first picture: how many numbers, and that the ratings are a reconstruction."""
    beginning = page.partition('class="picture-head"')[0]
    counts = re.findall(r'class="tally [^"]*">(\d+)', beginning)
    assert list(map(int, counts)) == list(content["verdicts"].values())
    assert content["data_note"]
    assert content["data_note"] in beginning


class Tables(HTMLParser):
    """The tables of a page by their names: rows of texts; and the files that it embeds."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.files, self.names, self.cell, self.hidden = {}, {}, [], None, 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag == "section":
            self.names.append(attributes.get("aria-label", ""))
        elif "data-packed" in attributes:
            packed = base64.b64decode(attributes["data-packed"])
            self.files[attributes["data-name"]] = gzip.decompress(packed).decode()
        elif tag == "tr" and self.names:
            self.rows.setdefault(self.names[-1], []).append([])
        elif tag in {"td", "th"} and self.names:
            self.cell = []
        elif attributes.get("class") == "unseen":
            self.hidden += 1
        elif tag == "small" and self.cell is not None:
            self.cell.append("|")

    def handle_endtag(self, tag):
        if tag == "section":
            self.names.pop()
        elif tag in {"td", "th"} and self.cell is not None:
            self.rows[self.names[-1]][-1].append(" ".join("".join(self.cell).split()))
            self.cell = None
        elif tag == "span":
            self.hidden = 0

    def handle_data(self, data):
        if self.cell is not None and not self.hidden:
            self.cell.append(data)


@pytest.fixture(scope="module")
def tables(page):
    return Tables(page)


def with_deviation(value, std):
    return f"{value} ± {std}" if std else value


# Row, metric and column of a cell, by its group of rows, the head of its row and its column.
KEYS = {
    1: lambda _, head, column: (head, column, "Exact"),
    2: lambda _, head, column: (head, column, "Sampled"),
    3: lambda group, head, column: (head, group, column),
    4: lambda group, head, column: (group, head, column),
}


@pytest.mark.parametrize(("number", "n_cells"), [(1, 12), (2, 12), (3, 96), (4, 84)])
def test_numbers_of_a_table_are_those_of_its_file(tables, number, n_cells):
    file = pd.read_csv(StringIO(tables.files[f"table{number}.csv"]), dtype=str).fillna("")
    expected = {}
    for cell in file.to_dict("records"):
        ours = with_deviation(cell["ours (expected)"], cell["ours (expected) std"])
        paper = with_deviation(cell["paper"], cell["paper std"])
        expected[cell["row"], cell["metric"], cell["column"]] = [ours.strip(), paper.strip()]

    first = 2 if number == 1 else 1  # Table 1 has a column of ranks before its numbers
    (_, *columns), *rows = tables.rows[f"Table {number}"]
    shown, group = {}, ""
    for head, *cells in rows:
        if not cells:
            group = head
            continue
        for column, text in zip(columns[first - 1 :], cells[first - 1 :], strict=True):
            ours, paper = text.split("|")
            shown[KEYS[number](group, head, column)] = [ours.strip(), paper.strip()]
    assert shown == expected
    assert len(shown) == n_cells


def test_table_1_has_the_ranks_that_define_its_recommenders(tables):
    """They are printed in the paper, not computed."""
    _, *rows = tables.rows["Table 1"]
    assert {head: ranks for head, ranks, *_ in rows} == {
        "A": "100, 100, 100, 100, 100",
        "B": "40, 40, 8,437, 9,266, 4,482",
        "C": "212, 2, 743, 5,342, 1,548",
    }


def test_sizes_of_right_orders_are_those_of_figure_6(tables):
    """The figure begins at 10 negatives, so that a size of 10 may be smaller."""
    figure6 = pd.read_csv(StringIO(tables.files["figure6.csv"]))
    ordered = figure6[figure6["kind"] == "ordered"].set_index(["recommender", "estimator"])
    sizes = ordered["n_negatives"]
    ((_, *rows),) = [rows for rows in tables.rows.values() if rows[-1][0].startswith("Y and Z")]
    pairs = [pair for pair, *_ in rows]
    assert [pair[:7] for pair in pairs] == ["X and Y", "X and Z", "Y and Z"]
    assert ["not decided" in pair for pair in pairs] == [False, False, True]  # see `compare`
    for pair, *shown in rows:
        names = pair[:7].replace(" and ", " vs ")
        for estimator, text in zip(("Sampled", "BV 0.1"), shown, strict=True):
            m = sizes.get((names, estimator))
            expected = "-" if m is None else "≤ 10" if m == 10 else f"{m:,.0f}"
            assert text == expected


def test_readings_are_those_of_the_audit(tables):
    """Up to three readings that agree in all rows are named, more are counted."""
    audit = pd.read_csv(StringIO(tables.files["audit.csv"]), dtype=str)
    _, *readings = tables.rows["Readings of the paper"]
    assert [topic for topic, _ in readings] == audit["topic"].drop_duplicates().tolist()
    for topic, listed in readings:
        of_topic = audit[audit["topic"] == topic].groupby("reading", sort=False)["reproduces"]
        agreeing = [reading for reading, same in of_topic if (same == "yes").all()]
        if len(agreeing) > 3:
            assert re.findall(r"\d+", listed) == [str(len(agreeing)), str(len(of_topic))]
        else:
            named = "; ".join(reading.replace(";", ",") for reading in agreeing)
            assert listed == (named or "no reading in all rows")


def test_captions_state_the_number_of_negatives(content):
    m = {table["number"]: re.findall(r"m = (\d+)", table["caption"]) for table in content["tables"]}
    assert m == {1: [], 2: ["99"], 3: ["100"], 4: ["100"]}


def test_verdicts_count_compared_numbers(content):
    assert sum(content["verdicts"].values()) == len(content["cells"]) == 300
    for verdict, count in content["verdicts"].items():
        assert content["cells"].count(verdict) == count
    assert min(content["verdicts"].values()) > 0 or "differs" in content["verdicts"]


@pytest.mark.usefixtures("same_lens")
def test_other_data_has_no_verdicts():
    other = collect(**sources(is_paper=False, audit=None))
    assert [table["number"] for table in other["tables"]] == [3, 4]
    for table in other["tables"]:
        for lines in table["groups"].values():
            for cell in [cell for columns in lines.values() for cell in columns.values()]:
                assert cell["verdict"] == ""
    assert (other["cells"], other["of_other_settings"]) == ([], [])


@pytest.mark.long
@pytest.mark.parametrize(("metric", "is_explained"), [("recall@5", True), ("auc", False)])
def test_page_explains_its_first_metric_if_it_is_recall(tmp_path, metric, is_explained):
    folder = copied(tmp_path)
    ranges = folder / "ranges.csv"
    ranges.write_text(ranges.read_text().replace("recall@10", "recall@5"))
    other = config()
    other["experiment"]["metrics"] = [metric]
    text = " ".join(render(collect(**sources(folder, config=other))).split())
    assert ("Recall@5 is the share of users" in text) == is_explained
    assert "Recall@10 is the share of users" not in text


def test_lens_sizes_are_those_of_sampled_orders(content):
    table = pd.read_csv(REFERENCE / "figures/figure6.csv")
    ordered = table[table["kind"] == "ordered"].groupby("estimator")["n_negatives"]
    of = {name: set(values.astype(int)) for name, values in ordered}
    others = set().union(*(of[name] for name in of if name != "Sampled")) - of["Sampled"]
    unusual = {m for m in others if m % 10}  # round numbers are always included
    assert unusual
    assert not unusual & set(content["lens"]["sizes"])


@pytest.mark.long
def test_page_escapes_all_text(tmp_path, document):
    page = render(collect(**hostile_sources(tmp_path)))
    assert "somebody" not in page  # paths of the machine are left out
    found = Document(page)
    assert found.open == []
    count = [tag for tag, _ in found.elements].count
    assert count("script") == [tag for tag, _ in document.elements].count("script") == 3
    assert count("img") == 0
    assert not [attrs for _, attrs in found.elements if "onerror" in attrs]
    assert any(HOSTILE in attrs.get("data-note", "") for _, attrs in found.elements)
    assert any(HOSTILE in text for text in found.texts["th"])
    (numbers,) = [t for t in found.texts["script"] if t.startswith("{")]
    assert json.loads(numbers)["lens"]["names"][0].startswith("<script>")


def shares(view):
    """Values in percent by recommender, as shown."""
    return {"XYZ"[i]: float(text.removesuffix("\xa0%")) for i, text in view["read"]}


METRICS = ("recall@10", "ndcg@10", "ap", "auc")


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("estimator", ["sampled", "rank-estimate", "bv:0.1"])
def test_lens_matches_tables_3_and_4(content, metric, estimator):
    card = pd.read_csv(REFERENCE / "scorecard.csv", dtype=str, keep_default_na=False)
    names = (content["lens"]["asked"][metric]["label"], content["lens"]["estimators"][estimator])
    of_both = (card["metric"] == names[0]) & (card["column"] == names[1])
    cells = card[of_both].set_index(["table", "row"])["ours (expected)"].astype(float)
    shown = content["lens"]["views"][f"{metric} {estimator} 100"]
    for name, value in shares(shown).items():
        # as shown: one decimal
        order_of_ties = 0.4 if (name, metric) == ("Z", "auc") else 0.06
        assert value == pytest.approx(cells["3", name], abs=order_of_ties)
    for a, b, chance in shown["right"]:
        assert 100 * chance == pytest.approx(cells["4", f"{'XYZ'[a]} vs {'XYZ'[b]}"], abs=1.1)


def test_lens_matches_figure_6(content):
    table = pd.read_csv(REFERENCE / "figures/figure6.csv")
    curves = table[table["kind"] == "curve"].set_index(["recommender", "estimator", "n_negatives"])
    lens = content["lens"]
    for estimator, m in (("sampled", 10), ("sampled", lens["sizes"][-1]), ("bv:0.1", 10)):
        for name, value in shares(lens["views"][f"recall@10 {estimator} {m}"]).items():
            curve = curves.loc[(name, lens["estimators"][estimator], m), "value"]
            assert value == pytest.approx(curve, abs=0.051)  # one decimal


def test_lens_has_the_sizes_at_which_orders_become_right(content):
    table = pd.read_csv(REFERENCE / "figures/figure6.csv")
    ordered = table[(table["kind"] == "ordered") & (table["estimator"] == "Sampled")]
    assert set(ordered["n_negatives"].astype(int)) < set(content["lens"]["sizes"])


def test_examples_match_literature(document):
    rows = pd.read_csv(ROOT / "docs/atlas/literature.csv", dtype=str, keep_default_na=False)
    keys = ["source_id", "n_negatives", "n_items", "n_users", "sampling"]
    examples = [attrs for _, attrs in document.elements if "data-source" in attrs]
    for example in examples:
        known = [example[f"data-{name}"] for name in ("source", "of", "n", "users")]
        found = rows[(rows[keys] == [*known, "without"]).all(axis=1)]
        printed = f"HR@10={example['data-hr']} NDCG@10={example['data-ndcg']}"
        (row,) = found[found["printed"].str.contains(example["data-hr"])].itertuples()
        assert set(printed.split()) <= set(row.printed.split())
        assert f"HR@10={example['data-measured'] or 'none'}" in [*row.exact.split(), "HR@10=none"]
    assert examples


@pytest.mark.parametrize("metric", METRICS)
def test_lens_weights_give_expected_estimate(metric):
    n, m, rng = 300, 20, np.random.default_rng(0)
    better = rng.integers(0, n, 400) ** 2 // n
    ranks = Ranks(np.full(400, n), better, rng.integers(0, n - better))
    ks, estimators = (np.arange(1, n + 1), parse_estimators(["sampled", "cls", "bv:0.01"]))
    vectors = partial(estimator_matrix, sampling="without-replacement")
    options = {
        "measures": [parse_measure(metric)],
        "estimators": estimators,
        "sizes": [m],
        "estimator_vectors": vectors,
        "sampling": "without-replacement",
    }
    recall = [np.clip((k - ranks.n_better) / (ranks.n_tied + 1), 0, 1).mean() for k in ks]
    given = sampled_rank_distribution(ranks, m)
    for setting in compute_settings({"A": ranks}, ranks.n_candidates, ks, **options):
        weights = setting.by_rank - np.append(setting.by_rank[1:], 0.0)
        vector = vectors([setting.estimator], [setting.measure], n, m)[0, 0]
        expected = expected_moments(given, vector)
        assert weights @ recall == pytest.approx(expected.mean, abs=1e-9)
        assert setting.mean[0] == pytest.approx(expected.mean, abs=2e-4)
        assert setting.sd[0] == pytest.approx(expected.sd, rel=0.01)


@pytest.mark.usefixtures("same_lens")
def test_readings_follow_audit_file(tmp_path):
    header = "topic,reading,quantity,value,published,tolerance,reproduces"
    rows = [
        "A topic,first reading,NDCG of Y,4.5933,4.59,0.005,yes",
        "A topic,second reading,NDCG of Y,4.7,4.59,0.005,no",
        "A topic,second reading,NDCG of Z,5.1,5.1,0.005,yes",
    ]
    audit = tmp_path / "audit.csv"
    audit.write_text("\n".join([header, *rows, ""]))
    changed = collect(**sources(audit=audit))
    assert changed["audit"] == [("A topic", "first reading")]
    page = render(changed)
    assert "first reading" in page
    assert "tie_break: ncf" not in page


def test_read_texts_keeps_na_names(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("recommender,value\nNA,1.50\nnull,\n")
    found = read_texts(path, ["recommender", "value"])
    assert found.to_numpy().tolist() == [["NA", "1.50"], ["null", ""]]


def test_links_of_project_come_from_metadata(monkeypatch):
    stated = {"Project-URL": ["Documentation, https://docs.example/", "Source, https://x.example"]}
    found = SimpleNamespace(get_all=stated.get)
    monkeypatch.setattr(page_of_a_study, "metadata", lambda _: found)
    assert page_of_a_study.links_of_project() == [
        ("Documentation", "https://docs.example/"),
        ("Source", "https://x.example"),
    ]
