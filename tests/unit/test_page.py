"""The page people look at: what goes in, that it is escaped, and that it asks for nothing."""

import base64
import gzip
import json
import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import yaml

from sampled_metrics._base.errors import InputError
from sampled_metrics.cli import app
from sampled_metrics.ranks import Ranks
from sampled_metrics.report.page.collect import collect
from sampled_metrics.report.page.embedded import encoded
from sampled_metrics.report.page.overview import overview
from sampled_metrics.report.page.pictures import inline_svg
from sampled_metrics.report.page.render import render
from tests.conftest import ROOT

REFERENCE = ROOT / "results/reference"
HOSTILE = "<script>alert(1)</script>"
VOID = {"meta", "link", "br", "img", "input", "hr", "path", "rect", "use"}


def config():
    return yaml.safe_load((ROOT / "config/config.yaml").read_text())


def sources(**changed):
    usual = {
        "ranks": [REFERENCE / f"ranks/{name}.parquet" for name in "XYZ"],
        "tables": REFERENCE / "tables",
        "figures": REFERENCE / "figures",
        "scorecard": REFERENCE / "scorecard.csv",
        "audit": REFERENCE / "audit.csv",
        "ranges": REFERENCE / "ranges.csv",
        "claims": REFERENCE / "claims.csv",
        "beyond": REFERENCE / "beyond/orders.csv",
        "provenance": REFERENCE / "provenance.json",
        "graph": ROOT / "workflow/rulegraph.svg",
        "times": ROOT / "no/such/folder",
        "config": config(),
    }
    return usual | changed


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


def test_page_is_well_formed(document):
    assert document.open == []
    ids = [attrs["id"] for _, attrs in document.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = {attrs["href"][1:] for tag, attrs in document.elements if _is_anchor(tag, attrs)}
    assert targets <= set(ids)


def _is_anchor(tag, attrs):
    return tag in {"a", "use"} and attrs.get("href", "").startswith("#")


def test_page_fits_in_2_mb(page):
    assert len(page.encode()) <= 2_000_000


def test_nothing_but_links_names_an_address(document):
    for tag, attrs in document.elements:
        for name, value in attrs.items():
            if name in {"src", "href", "xlink:href", "action", "data", "poster", "srcset"}:
                local = value.startswith(("#", "data:", "logs/"))
                assert local or (tag == "a" and value.startswith("https://doi.org/")), (tag, value)
    assert not {"link", "img", "iframe", "object", "base"} & {tag for tag, _ in document.elements}
    assert "@import" not in " ".join(document.texts["style"])
    policies = [a["content"] for _, a in document.elements if "http-equiv" in a]
    assert all("default-src 'none'" in each and "connect-src 'none'" in each for each in policies)
    assert policies


def test_own_scripts_ask_for_nothing():
    folder = ROOT / "src/sampled_metrics/report/page/static"
    for path in folder.glob("*.js"):
        text = path.read_text()
        assert not re.search(r"\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|import\(|eval\(", text)
        assert "innerHTML" not in text


def test_every_figure_and_download_is_there(document):
    downloads = {
        attrs["data-name"]: attrs["data-packed"]
        for _, attrs in document.elements
        if "data-packed" in attrs
    }
    figures = ["z", *(f"figure{i}" for i in range(1, 7))]
    wanted = {f"{name}.{form}" for name in figures for form in ("csv", "pdf")}
    wanted |= {"exact.csv", *(f"table{i}.csv" for i in range(1, 5))}
    assert downloads.keys() == wanted
    for name, packed in downloads.items():
        folder = "figures" if name.partition(".")[0] in figures else "tables"
        assert gzip.decompress(base64.b64decode(packed)) == (REFERENCE / folder / name).read_bytes()
    drawings = [attrs for _, attrs in document.elements if attrs.get("class") == "drawing"]
    assert len(drawings) == 7
    assert sum(tag == "svg" for tag, _ in document.elements) == 8


def test_every_published_cell_is_there_with_its_verdict(document):
    card = pd.read_csv(REFERENCE / "scorecard.csv", dtype=str, keep_default_na=False)
    cells = [attrs for _, attrs in document.elements if "data-verdict" in attrs]
    assert len(cells) == len(card)
    shown = pd.Series([cell["data-verdict"] for cell in cells]).value_counts()
    assert shown.to_dict() == card["verdict"].value_counts().to_dict()
    noted = [cell for cell in cells if cell["data-verdict"] == "explained"]
    assert all(cell["data-note"] and cell["data-tolerance"] for cell in noted)
    # A cell shows the number that was judged, so that an exact one has the published digits.
    for cell in cells:
        ours, published = (cell[f"data-{whose}"].split(" ")[0] for whose in ("ours", "published"))
        assert (ours == published) is (cell["data-verdict"] == "exact")
    judged = card[(card["kind"] == "random") & (card["difference"] != "")]
    z = judged["difference"].astype(float) / judged["error"].astype(float)
    assert sorted(float(cell["data-z"]) for cell in cells if cell["data-z"]) == pytest.approx(
        sorted(z), abs=0.051
    )


def test_claims_that_do_not_hold_come_first(content, page):
    claims = pd.DataFrame(content["claims"])
    first, rest = page.partition('id="claims"')[2].partition("<details>")[::2]
    holds = claims["verdict"] == "holds"
    assert (first.count('<th scope="row">'), holds.sum()) == ((~holds).sum(), 62)
    assert rest.partition("</details>")[0].count('<th scope="row">') == holds.sum()


def test_overview_has_the_numbers_of_the_run(content):
    sentences = " ".join(content["overview"])
    assert len(content["overview"]) == 5
    for words in (
        "6,040 users",
        "Z (9.42 %) above Y (8.84 %) above X (7.75 %)",
        "is reversed: X (66.12 %) above Y (56.48 %) above Z (54.15 %)",
        "in 0 of 100 runs; corrected (BV 0.1), in 92",
        "m = 974 on uncorrected and from m = 53 on with BV 0.1",
        "needs 1,125 and 122 to be right 95 % of the time",
        "Of 204 published numbers, 19 without chance agree",
    ):
        assert words in sentences


CELLS = ["table", "row", "metric", "column", "value", "std"]


def test_overview_without_a_pair_says_less():
    one = pd.DataFrame([("3", "X", "AP", "Exact", "1.00", "")], columns=CELLS)
    none = pd.DataFrame(columns=CELLS)
    card = pd.DataFrame({"verdict": ["differs"]})
    figure6 = pd.DataFrame({"kind": ["curve"], "n_negatives": [1]})
    found = overview({3: one, 4: none}, card, figure6, {}, {})
    assert len(found) == 3
    assert "X is 1.00 %" in found[1]


@pytest.mark.parametrize(
    ("sampled", "word"), [("321", "is the same"), ("123", "is reversed"), ("231", "changes")]
)
def test_overview_says_what_becomes_of_the_order(sampled, word):
    rows = [
        ("3", name, "AP", column, value, "")
        for column, values in (("Exact", "321"), ("Sampled", sampled))
        for name, value in zip("XYZ", values, strict=True)
    ]
    tables = {3: pd.DataFrame(rows, columns=CELLS), 4: pd.DataFrame(columns=CELLS)}
    figure6 = pd.DataFrame({"kind": ["curve"], "n_negatives": [1]})
    assert f"the order {word}:" in overview(tables, None, figure6, {}, {})[1]


def hostile_sources(tmp_path):
    """A run whose recommender, note, reading and setting all carry markup."""
    for name in ("tables", "figures"):
        shutil.copytree(REFERENCE / name, tmp_path / name)
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
    named = {name: tmp_path / name for name in ("tables", "figures")}
    settings = config() | {"note": HOSTILE}
    return sources(
        ranks=[ranks],
        scorecard=tmp_path / "scorecard.csv",
        audit=tmp_path / "audit.csv",
        ranges=None,
        claims=None,
        provenance=tmp_path / "provenance.json",
        config=settings,
        **named,
    )


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return collect(**hostile_sources(tmp_path_factory.mktemp("hostile")))


def test_all_text_is_escaped(hostile, document):
    found = Document(render(hostile))
    assert found.open == []
    count = [tag for tag, _ in found.elements].count
    assert count("script") == [tag for tag, _ in document.elements].count("script") == 3
    assert count("img") == 0
    assert not [attrs for _, attrs in found.elements if "onerror" in attrs]
    assert any(HOSTILE in attrs.get("data-note", "") for _, attrs in found.elements)
    assert any(HOSTILE in text for text in found.texts["th"])
    (numbers,) = [t for t in found.texts["script"] if t.startswith("{")]
    assert json.loads(numbers)["groups"][0]["recommenders"][0]["name"].startswith("<script>")


def test_a_recommender_of_ones_own_stands_in_the_tables_without_a_verdict(hostile):
    table = hostile["tables"][2]
    own = [line for group in table["groups"] for line in group["lines"] if line["name"] == HOSTILE]
    assert own
    kept = {cell["verdict"] for line in own for cell in line["cells"] if cell}
    assert kept <= {"not published", "exact", "within noise", "explained"}


def without_scorecard(tmp_path):
    """A study on other data: nothing was published, and only what is about the data is there."""
    for folder, names in (
        ("tables", ("table3", "table4", "exact")),
        ("figures", ("figure5", "figure6")),
    ):
        (tmp_path / folder).mkdir()
        for name in names:
            for path in (REFERENCE / folder).glob(f"{name}.*"):
                shutil.copy(path, tmp_path / folder)
    origin = json.loads((REFERENCE / "provenance.json").read_text())
    origin["source"] |= {
        "dataset": "events",
        "ratings_is_official": None,
        "licence": "None & <none>",
        "licence_url": None,
        "citation": "Somebody (2026).",
    }
    expected = {"users": 6040, "items": 3706, "interactions": 1_000_210}
    origin["split"] |= {"expected": expected, "as_expected": False}
    (tmp_path / "provenance.json").write_text(json.dumps(origin))
    named = {name: tmp_path / name for name in ("tables", "figures", "provenance.json")}
    return sources(
        ranks=sources()["ranks"][:1],
        tables=named["tables"],
        figures=named["figures"],
        provenance=named["provenance.json"],
        scorecard=None,
        audit=None,
        ranges=None,
        claims=None,
    )


def test_a_study_on_other_data_has_no_verdicts_and_no_audit(tmp_path):
    content = collect(**without_scorecard(tmp_path))
    found = Document(render(content))
    assert found.open == []
    assert [table["number"] for table in content["tables"]] == [3, 4]
    assert [figure["id"] for figure in content["figures"]] == ["figure5", "figure6"]
    assert content["scores"] is None
    cells = [attrs for tag, attrs in found.elements if tag == "button" and "data-ours" in attrs]
    assert cells
    assert not any(cell["data-verdict"] or cell["data-published"] for cell in cells)
    assert "audit" not in {attrs.get("id") for _, attrs in found.elements}
    words = " ".join(" ".join(texts) for texts in found.texts.values())
    assert "published numbers" not in words
    assert "Tables 3 and 4" in words
    assert "Figures 5 and 6" in words
    text = re.sub(r"\s+", " ", " ".join(found.texts["p"]))
    assert "The data is events" in text
    for number in ("1,000,209", "1,000,210"):
        assert f"6,040 users, 3,706 items and {number} interactions" in text
    assert "None & <none>." in text
    assert "Somebody (2026)." in text


def test_times_rules_that_ran_and_settings_without_folders_of_the_machine(tmp_path):
    (tmp_path / "train").mkdir()
    for name, seconds in (("fetch", 1.25), ("train/X", 2.0), ("page", 9.0)):
        (tmp_path / f"{name}.tsv").write_text(f"s\th:m:s\n{seconds}\t0:00:01\n")
    changed = config()
    changed["dataset"] |= {"archive": "/home/somebody/ml-1m.zip", "cache": "/home/somebody"}
    one = sources()["ranks"][:1]
    found = collect(**sources(times=tmp_path, config=changed, ranks=one))
    assert "somebody" not in found["config"]
    assert [tuple(job.values()) for job in found["times"]] == [
        ("fetch", "", "1.2", "logs/fetch.log"),
        ("train", "X", "2.0", "logs/train/X.log"),
    ]
    marked = re.findall(r'id="rule_(\w+)" class="node ran"', found["graph"])
    assert sorted(marked) == ["fetch", "page", "train"]


def decoded(kinds):
    columns = np.frombuffer(base64.b64decode(kinds["text"]), f"<u{kinds['bytes']}")
    return columns.reshape(4, -1).astype(np.int64)


def test_embedded_kinds_are_the_users():
    records = Ranks.read(REFERENCE / "ranks/Z.parquet")
    n, better, tied, count = decoded(encoded(records))
    assert count.sum() == len(records)
    again = Ranks(*(np.repeat(column, count) for column in (n, better, tied)))
    for column in ("n_candidates", "n_better", "n_tied"):
        assert getattr(again, column).sum() == getattr(records, column).sum()


def test_many_users_are_thinned_evenly():
    ranks = np.arange(10_000)
    records = Ranks(np.full(10_000, 10_000), ranks, np.zeros(10_000, dtype=int))
    _, better, _, count = decoded(encoded(records, most=1000))
    assert count.sum() == 1000
    assert abs(better.mean() - ranks.mean()) < 1
    assert np.diff(better).max() == 10


def test_something_else_than_svg_is_one_line():
    with pytest.raises(InputError, match="not SVG"):
        inline_svg("nothing", "f1-")


@pytest.mark.parametrize(
    "name", ["tables", "figures", "scorecard", "audit", "graph", "ranges", "beyond"]
)
def test_a_missing_file_is_one_line(name, tmp_path):
    with pytest.raises((InputError, FileNotFoundError), match=r"[Nn]o such file"):
        collect(**sources(**{name: tmp_path / "none"}))


def test_command_writes_the_same_page(tmp_path, page):
    from typer.testing import CliRunner

    output = tmp_path / "report.html"
    options = {name: path for name, path in sources().items() if name not in {"ranks", "config"}}
    arguments = [text for name, path in options.items() for text in (f"--{name}", str(path))]
    ranks = [str(path) for path in sources()["ranks"]]
    settings = ["--config", json.dumps(config()), "--output", str(output)]
    done = CliRunner().invoke(
        app,
        ["study", "report", *ranks, *arguments, *settings],
    )
    assert done.exit_code == 0, done.output
    assert output.read_text() == page
