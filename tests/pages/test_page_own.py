"""The page of one's own ranks: what the command writes, and what it refuses."""

import json
import re
from html import unescape

import numpy as np
import pytest

from sampled_metrics._base.text import format_range
from sampled_metrics.evaluation.compare import compare
from sampled_metrics.evaluation.correct import correct
from sampled_metrics.pages import render
from sampled_metrics.pages.report import report, sampled_content
from sampled_metrics.ranks import SampledRanks
from sampled_metrics.ranks.data import as_sampled


def read_sampled(path, n_negatives=None, n_items=None, sampling=None, **options):
    return as_sampled(
        path, n_negatives=n_negatives, n_items=n_items, sampling=sampling, **options
    )


EVEN = [*range(1, 22)]
SIZES = ("--n-negatives", 20, "--n-items", 200)


def rows_of(page):
    """Texts of the cells of each table row, by the section that it is in."""
    found, name = {}, ""
    for section in page.split("<section")[1:]:
        name = (re.findall(r'^[^>]* id="(\w+)"', section) or [name])[0]
        for row in re.findall(r"<tr\b.*?</tr>", section, re.DOTALL):
            cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
            found.setdefault(name, []).append([unescape(cell) for cell in cells])
    return found


def sample(*counts):
    """Sampled ranks among 20 negatives of 200 items, as often as the counts say."""
    ranks = np.repeat(np.arange(1, len(counts) + 1), counts)
    return SampledRanks(
        ranks, np.full(len(ranks), 200), 20, users=np.arange(len(ranks))
    )


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
        (tmp_path / f"{name}.csv").write_text(
            "\n".join(["user_id,sampled_rank", *lines])
        )
    (tmp_path / "full.csv").write_text(
        "user_id,rank\nanna,1\nbert,3\ncora,11\ndora,12\n"
    )
    (tmp_path / "full2.csv").write_text(
        "user_id,rank\nanna,2\nbert,30\ncora,40\ndora,50\n"
    )
    return tmp_path


def written(run, folder, *arguments):
    done = run("report", *arguments, "--output", "page.html")
    assert (done.returncode, done.stdout[:16]) == (0, "Wrote page.html "), done.stderr
    return (folder / "page.html").read_text()


def test_sampled_ranks_of_several_pairs(run, folder):
    page = written(run, folder, "good.csv", "poor.csv", "bad.csv", *SIZES)
    rows = rows_of(page)
    place = rows["comparisons"][0].index("order")
    orders = {tuple(row[:3]): row[place] for row in rows["comparisons"][1:]}
    assert orders == {
        ("good", "poor", "recall@10"): "good above poor",
        ("good", "bad", "recall@10"): "good above bad",
        ("poor", "bad", "recall@10"): "undecided",
    }
    ranges = {
        name: correct(read_sampled(folder / f"{name}.csv", 20, 200), ["recall@10"])[0]
        for name in ("good", "poor")
    }
    shown = {row[0]: row[2] for row in rows["values"][1:] if row[2]}
    ends = {
        name: str(format_range(x.range_low, x.range_high))
        for name, x in ranges.items()
    }
    assert ends.items() <= shown.items()
    assert not re.search(r'(src|href)="(?!#|data:|https://doi\.org/)', page)


def test_full_rankings(run, folder):
    page = written(run, folder, "full.csv", "full2.csv", "--n-items", 200)
    head = " ".join(re.findall(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)[0].split())
    assert "Undecided: full and full2" in head  # four users
    order = [
        page.index(text) for text in ('class="range"', 'id="leaders"', 'id="lens"')
    ]
    assert order == sorted(order)
    rows = rows_of(page)
    # 2 of 4 held-out items are among the first ten of full.csv, 1 of 4 of full2.csv
    assert [row[:3] for row in rows["values"][1:]] == [
        ["full", "recall@10", "0.500"],
        ["full2", "recall@10", "0.250"],
    ]
    assert rows["comparisons"][1][:2] == ["full", "full2"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("good.csv", "full.csv", *SIZES),
        ("full.csv", "good.csv", "--n-items", 200),
        ("full.csv", "none.csv", "--n-items", 200),
        ("good.csv", "odd.csv", *SIZES),
    ],
)
def test_mixed_and_missing_files_are_refused(refused, folder, arguments):
    (folder / "odd.csv").write_text("sampled_rank\n" + "8\n9\n" * 200 + "21\n")
    message = refused("report", *arguments, "--output", "page.html")
    assert re.match(
        r"(full|none|odd)(\.csv:| is ranked in full, good among samples)", message
    )
    assert not (folder / "page.html").exists()


@pytest.mark.filterwarnings(
    "ignore::sampled_metrics.InputWarning"
)  # which the page shows
def test_page_has_the_ranges_of_values_and_differences_and_says_what_they_decide():
    samples = {"a": sample(60, *[2] * 20), "b": sample(100), "c": sample(*[5] * 21)}
    content = sampled_content(samples, ["recall@10", "ap"], ["sampled"])
    assert [group["label"] for group in content["bars"]] == ["Recall@10", "AP"]
    both = ["recall@10", "ap"], ["likely", "sampled"]
    values = [correct(each, *both)[2] for each in samples.values()]
    ends = [
        (
            each.range_low,
            each.range_high,
            None if np.isnan(each.value) else each.value,
        )
        for each in values
    ]
    assert content["bars"][1]["bars"] == ends
    assert "b 100.0\xa0%" in content["says"]
    assert content["says"].endswith("It suggests b > a > c.")
    assert len(content["bars"][0]["decided"]) + content["bars"][0]["open"] == 3
    page = " ".join(render(content, "report.html").split())
    assert (
        f"This sample decides {len(content['bars'][0]['decided'])} of 3 orders."
        in page
    )
    alike = sampled_content(
        {"a": sample(*[5] * 21), "b": sample(*[5] * 21)}, ["ap"], ["sampled"]
    )
    assert alike["says"].endswith("It suggests a = b.")
    assert "This sample cannot decide it." in render(alike, "report.html")
    json.dumps(content["numbers"], allow_nan=False)


def test_bars_decide_the_orders_that_the_table_of_comparisons_decides():
    """A range that excludes 0 does not decide an order that is corrected for three pairs."""
    n, m, n_users = 2000, 200, 1500
    samples = {}
    for name, exponent, seed in (("a", 0.69, 3), ("b", 1.0, 1), ("c", 1.0, 2)):
        rng = np.random.default_rng(seed)
        ranks = np.clip((n ** rng.random(n_users) ** exponent).astype(int), 1, n)
        drawn = 1 + rng.hypergeometric(ranks - 1, n - ranks, m)
        samples[name] = SampledRanks(
            drawn, np.full(n_users, n), m, users=np.arange(n_users)
        )
    compared = compare(samples, "recall@10", "sampled")
    orders = [(result.order, result.range_low > 0.0) for result in compared]
    assert ("undecided", True) in orders
    group = sampled_content(samples, ["recall@10"], ["sampled"])["bars"][0]
    decided = [result for result in compared if result.order != "undecided"]
    assert len(group["decided"]) == len(group["verdicts"]) == len(decided)
    assert group["open"] == 3 - len(decided)


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_bars_are_marked_by_the_number_to_quote_if_there_is_one(tmp_path):
    rng = np.random.default_rng(0)
    ranks = 1 + rng.binomial(99, rng.random(600) ** 4)
    quoted = SampledRanks(ranks, 900, 99)
    (likely,) = correct(quoted, "hr@10", "likely")
    page = tmp_path / "page.html"
    report({"A": quoted}, page, "hr@10")
    assert f"%, line at {100 * likely.value:.2f} %" in page.read_text()
    few = SampledRanks([50, 60, 99], 100_000, 99)  # of which none is quoted
    assert np.isnan(correct(few, "hr@10", "likely", shape="none")[0].value)
    report({"A": few}, page, "hr@10", shape="none")
    assert "%, line at" not in page.read_text()
    assert "too uncertain to be quoted" in page.read_text()
