"""The page of one's own ranks: what the command writes, and what it refuses."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from sampled_metrics.inference.compare_sampled import compare_sampled
from sampled_metrics.inference.correct import correct
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.report.page.own import own_full, own_sampled
from sampled_metrics.report.page.own_tables import between

EVEN = [*range(1, 22)]
SIZES = ("--n-negatives", 20, "--n-items", 200)


class Rows(HTMLParser):
    """Texts of the cells of each table row, by the section that it is in."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.section, self.is_cell = {}, "", False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "section":
            self.section = dict(attrs).get("id", self.section)
        if tag == "tr":
            self.rows.setdefault(self.section, []).append([])
        if tag in {"td", "th"}:
            self.is_cell = True
            self.rows[self.section][-1].append("")

    def handle_endtag(self, tag):
        if tag in {"td", "th"}:
            self.is_cell = False

    def handle_data(self, data):
        if self.is_cell:
            self.rows[self.section][-1][-1] += data


def sample(*counts):
    """Sampled ranks among 20 negatives of 200 items, as often as the counts say."""
    ranks = np.repeat(np.arange(1, len(counts) + 1), counts)
    return SampledRanks(ranks, np.full(len(ranks), 200), 20, "without-replacement")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files of sampled ranks, of which `good` is far above the others, and of full rankings."""
    monkeypatch.chdir(tmp_path)
    for name, ranks in (
        ("good", [1] * 400 + EVEN * 5),
        ("poor", EVEN * 24 + [1]),
        ("bad", [1] + EVEN * 24),
    ):
        lines = [f"{user},{rank}" for user, rank in enumerate(ranks)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["user_id,sampled_rank", *lines]))
    (tmp_path / "full.csv").write_text("user_id,rank\nanna,1\nbert,3\ncora,11\ndora,12\n")
    (tmp_path / "full2.csv").write_text("user_id,rank\nanna,2\nbert,30\ncora,40\ndora,50\n")
    return tmp_path


def written(run, folder, *arguments):
    done = run("report", *arguments, "--output", "page.html")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return (folder / "page.html").read_text()


def test_sampled_ranks_of_several_pairs(run, folder):
    page = written(run, folder, "good.csv", "poor.csv", "bad.csv", *SIZES)
    rows = Rows(page).rows
    orders = {row[0]: row[2] for row in rows["comparisons"][1:]}
    assert orders == {
        "good and poor, Recall@10": "good above poor",
        "good and bad, Recall@10": "good above bad",
        "poor and bad, Recall@10": "undecided",
    }
    assert [row[0] for row in rows["cost"][1:]] == ["poor and bad"]
    least = [float(text) for text in rows["cost"][1][1:]]
    assert rows["cost"][0] == ["pair", "20 negatives", "full rankings"]
    assert least[0] > least[1] > 0
    ranges = {
        name: correct(SampledRanks.read(folder / f"{name}.csv", 20, 200), ["recall@10"])[0]
        for name in ("good", "poor")
    }
    shown = {row[0].split(",")[0]: row[1] for row in rows["values"][1:]}
    for name, result in ranges.items():
        assert shown[name] == between(result.range_low, result.range_high)
    assert not re.search(r'(src|href)="(?!#|data:|https://doi\.org/)', page)
    regions = re.findall(r'<section[^>]* aria-label="([^"]+)"', page)
    heads = re.findall(r'<section[^>]* aria-labelledby="[^"]+">\s*<h2[^>]*>([^<]+)<', page)
    assert len({*regions, *heads}) == len([*regions, *heads]) > 4  # each has a name of its own


def test_one_sample_has_no_comparison(run, folder):
    rows = Rows(written(run, folder, "good.csv", *SIZES)).rows
    assert "values" in rows
    assert not {"comparisons", "cost"} & rows.keys()


def test_files_that_say_what_they_hold_need_no_option(run, folder):
    run("sample", "full.csv", "--n-items", 200, "--n-negatives", 20, "--output", "drawn.csv")
    rows = Rows(written(run, folder, "drawn.csv")).rows
    assert rows == Rows(written(run, folder, "drawn.csv", *SIZES)).rows
    np.save(folder / "scores.npy", [[0.5, *np.linspace(0.0, 1.0, 20)]] * 8)
    of_scores = Rows(written(run, folder, "scores.npy", "--positive", 0, "--n-items", 200)).rows
    assert of_scores["values"][1][0] == "scores, Recall@10"


def test_full_rankings(run, folder):
    rows = Rows(written(run, folder, "full.csv", "full2.csv", "--n-items", 200)).rows
    # 2 of 4 held-out items are among the first ten of full.csv, 1 of 4 of full2.csv
    assert [row[:2] for row in rows["values"][1:]] == [
        ["full, Recall@10", "50.00 %"],
        ["full2, Recall@10", "25.00 %"],
    ]
    assert rows["comparisons"][1][0] == "full and full2, Recall@10"


@pytest.mark.parametrize(
    "arguments",
    [
        ("good.csv", "full.csv", *SIZES),
        ("full.csv", "good.csv", "--n-items", 200),
        ("full.csv", "none.csv", "--n-items", 200),
    ],
)
def test_mixed_and_missing_files_are_refused(refused, folder, arguments):
    message = refused("report", *arguments, "--output", "page.html")
    assert re.match(r"(full|none)(\.csv:| is ranked in full, good among samples)", message)
    assert not (folder / "page.html").exists()


def test_ranks_that_cannot_be_are_refused_with_their_file(refused, folder):
    (folder / "odd.csv").write_text("sampled_rank\n" + "20\n21\n" * 200)
    message = refused("report", "good.csv", "odd.csv", *SIZES, "--output", "page.html")
    assert message.startswith("odd.csv: ")


def test_names_are_escaped(run, folder):
    name = "<img src=x onerror=alert(1)>"
    (folder / f"{name}.csv").write_bytes((folder / "good.csv").read_bytes())
    page = written(run, folder, f"{name}.csv", "poor.csv", *SIZES)
    assert "<img" not in page
    assert name in {row[0].removesuffix(", Recall@10") for row in Rows(page).rows["values"]}


def test_panel_has_the_ranges_of_values_and_differences():
    samples = {"a": sample(60, *[2] * 20), "b": sample(100), "c": sample(*[5] * 21)}
    content = own_sampled(samples, ["recall@10", "ap"], ["sampled"])
    panel = content["explorer"]["ranges"]
    assert (panel["sizes"], panel["labels"]) == ([20], ["Recall@10", "AP"])
    values = {name: correct(each, ["ap"], ["sampled"])[0] for name, each in samples.items()}
    differences = compare_sampled(samples, ["ap"], ["sampled"])
    for key, results in (("ranges", values.values()), ("differences", differences)):
        (of_size,) = panel["metrics"]["ap-all"][key]
        ends = [[each.range_low, each.range_high] for each in results]
        assert np.array(of_size) == pytest.approx(np.array(ends), abs=1e-5)
    shares = content["explorer"]["own"]["recommenders"][0]["shares"]
    assert shares == [0.6, *[0.02] * 20]
    json.dumps(content["explorer"], allow_nan=False)


def test_parts_of_full_rankings():
    n = np.full(4, 200)
    rankings = {
        name: Ranks(n, np.array(better), np.zeros(4, dtype=int))
        for name, better in (("a", [0, 2, 10, 11]), ("b", [1, 29, 39, 49]))
    }
    content = own_full(rankings, ["ap"])
    assert [table["id"] for table in content["tables"]] == ["values", "comparisons"]
    # (1 + 1/3 + 1/11 + 1/12) / 4 = 0.37689, (1/2 + 1/30 + 1/40 + 1/50) / 4 = 0.14458
    assert [line[1] for line in content["tables"][0]["lines"]] == ["37.69 %", "14.46 %"]
    assert content["explorer"]["ranges"] is None
    json.dumps(content["explorer"], allow_nan=False)
