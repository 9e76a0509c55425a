"""The page people look at: what goes in, that it is escaped, and that it asks for nothing."""

import base64
import gzip
import json
import re
import shutil
from html.parser import HTMLParser

import pandas as pd
import pytest
import yaml

from sampled_metrics.pages import render
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.page import collect
from tests.conftest import ROOT

REFERENCE = ROOT / "results/reference"
HOSTILE = "<script>alert(1)</script>"
VOID = {"meta", "link", "br", "img", "input", "hr", "path", "rect", "use"}


def config():
    return yaml.safe_load((ROOT / "config/config.yaml").read_text())


def sources(folder=REFERENCE, **changed):
    usual = {
        "ranks": [REFERENCE / f"ranks/{name}.parquet" for name in "XYZ"],
        "audit": REFERENCE / "audit.csv",
        "orders": REFERENCE / "beyond/orders.csv",
        "config": config(),
        "is_paper": True,
    }
    return {"results": folder, **usual, **changed}


def copied(folder):
    """Copy what the page reads of the reference run."""
    for name in ("tables", "figures"):
        shutil.copytree(REFERENCE / name, folder / name)
    for name in ("scorecard.csv", "claims.csv", "ranges.csv", "provenance.json"):
        shutil.copy(REFERENCE / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def content():
    return collect(**sources())


@pytest.fixture(scope="module")
def page(content):
    return render(content)


class Document(HTMLParser):
    """Elements with their attributes, texts by element, and whether every one is closed."""

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


def test_page_is_well_formed_and_fits_in_2_mb(document, page):
    assert document.open == []
    ids = [attrs["id"] for _, attrs in document.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = [attrs.get("href", "") for tag, attrs in document.elements if tag in {"a", "use"}]
    assert {target[1:] for target in targets if target.startswith("#")} <= set(ids)
    assert len(page.encode()) <= 2_000_000


def test_nothing_asks_the_network(document):
    for tag, attrs in document.elements:
        for name in {"src", "href", "xlink:href", "action", "data", "poster", "srcset"} & {*attrs}:
            local = attrs[name].startswith(("#", "data:", "logs/"))
            assert local or (tag == "a" and attrs[name].startswith("https://doi.org/")), attrs
    assert not {"link", "img", "iframe", "object", "base"} & {tag for tag, _ in document.elements}
    assert "@import" not in " ".join(document.texts["style"])
    policies = [a["content"] for _, a in document.elements if "http-equiv" in a]
    assert all("default-src 'none'" in each and "connect-src 'none'" in each for each in policies)
    assert policies
    for path in (ROOT / "src/sampled_metrics/pages/static").glob("*.js"):
        text = path.read_text()
        assert not re.search(r"\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|import\(|eval\(", text)
        assert "innerHTML" not in text


def test_every_figure_and_download_is_there(document):
    downloads = {
        attrs["data-name"]: attrs["data-packed"]
        for _, attrs in document.elements
        if "data-packed" in attrs
    }
    figures, tables = ["z", *(f"figure{i}" for i in range(1, 7))], ["exact", "table4"]
    assert {f"{name}.{form}" for name in figures for form in ("csv", "pdf")} < downloads.keys()
    assert {f"{name}.csv" for name in tables} < downloads.keys()
    for name, packed in downloads.items():
        folder = "figures" if name.partition(".")[0] in figures else "tables"
        assert gzip.decompress(base64.b64decode(packed)) == (REFERENCE / folder / name).read_bytes()
    assert sum(attrs.get("class") == "drawing" for _, attrs in document.elements) == 7


def test_every_published_cell_is_there_with_its_verdict(document):
    card = pd.read_csv(REFERENCE / "scorecard.csv", dtype=str, keep_default_na=False)
    cells = [attrs for _, attrs in document.elements if "data-verdict" in attrs]
    verdicts = sorted(cell["data-verdict"] for cell in cells)
    assert verdicts == sorted(card["verdict"])
    noted = [cell for cell in cells if cell["data-verdict"] == "explained"]
    assert all(cell["data-note"] and cell["data-tolerance"] for cell in noted)
    # A cell shows the number that was judged, so that an exact one has the published digits.
    for cell in cells:
        ours, published = (cell[f"data-{whose}"].split(" ")[0] for whose in ("ours", "published"))
        by_order = cell["data-note"] == "order of tied samples"
        assert by_order or (ours == published) is (cell["data-verdict"] == "exact")


def hostile_sources(tmp_path):
    """A run whose recommender, note, reading and setting all carry markup."""
    copied(tmp_path)
    records = Ranks.read(REFERENCE / "ranks/X.parquet")
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
    return sources(tmp_path, ranks=[ranks], audit=tmp_path / "audit.csv", config=settings)


def test_all_text_is_escaped(tmp_path, document):
    found = Document(render(collect(**hostile_sources(tmp_path))))
    assert found.open == []
    count = [tag for tag, _ in found.elements].count
    assert count("script") == [tag for tag, _ in document.elements].count("script") == 3
    assert count("img") == 0
    assert not [attrs for _, attrs in found.elements if "onerror" in attrs]
    assert any(HOSTILE in attrs.get("data-note", "") for _, attrs in found.elements)
    assert any(HOSTILE in text for text in found.texts["th"])
    (numbers,) = [t for t in found.texts["script"] if t.startswith("{")]
    assert json.loads(numbers)["groups"][0]["recommenders"][0]["name"].startswith("<script>")


def test_settings_without_folders_of_the_machine():
    changed = config()
    changed["dataset"] |= {"archive": "/home/somebody/ml-1m.zip", "cache": "/home/somebody"}
    assert "somebody" not in collect(**sources(config=changed))["config"]


BUDGET = """\
method,proxy,budget,scores_per_user,pair,metric,right,significantly_wrong,runs
budget,als,50,49.64,A vs B,recall@10,9,0,10
budget,als,20,19.66,B vs A,recall@10,12,0,20
budget,als,20,19.66,B vs A,ap,20,0,20
budget,none,50,50,A vs B,recall@10,3,0,3
bv:0.1,"uniform, shared",50,50,A vs B,recall@10,10,,10
users,all items,50,50,A vs C,recall@10,10,0,10
unknown,uniform,50,50,A vs B,recall@10,10,0,10
"""
