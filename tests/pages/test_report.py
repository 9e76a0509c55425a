"""The page about one's own ranks: its content against evaluate, correct and compare."""

import json
import re
import shlex
from html import unescape

import numpy as np
import pytest

import sampled_metrics as sm
from sampled_metrics._base.text import format_number, format_range
from sampled_metrics.evaluation.compare import compare
from sampled_metrics.evaluation.correct import correct
from sampled_metrics.pages import render
from sampled_metrics.pages.report import (
    full_content,
    order_line,
    report,
    sampled_content,
    typical_item,
)
from sampled_metrics.ranks import Ranks, SampledRanks
from tests.helpers.comparisons import make_compared

pytestmark = pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")


BOTH = ["recall@10", "ap"]


def sample(ranks, n=200, sampling="without-replacement"):
    ids = np.arange(len(ranks))
    return SampledRanks(ranks, np.full(len(ranks), n), 20, sampling=sampling, users=ids)


@pytest.fixture(scope="module")
def samples():
    """Five recommenders, the second one best, with 100 users each, the last one with 80."""
    rng = np.random.default_rng(7)
    top = {"a": 0.5, "b": 1.0, "c": 0.7, "d": 0.2, "e": 0.6}
    sample_by_name = {}
    for name, share in top.items():
        ranks = rng.integers(1, 22, 80 if name == "e" else 100)
        ranks[rng.random(ranks.size) < share] = 1
        sample_by_name[name] = sample(ranks, sampling="with-replacement")
    return sample_by_name


@pytest.fixture(scope="module")
def sampled_page(samples):
    return sampled_content(samples, BOTH, ["sampled", "cls"], confidence=0.9)


def cells(row, columns):
    values = [row[name] for name in columns]
    return [format_number(value) if isinstance(value, float) else str(value) for value in values]


def test_sampled_tables_match_correct_and_compare(samples, sampled_page):
    values, pairs = sampled_page["tables"]
    assert (values["id"], pairs["id"]) == ("values", "comparisons")
    printed = {
        name: sm.correct(each, BOTH, ["likely", "sampled", "cls"], confidence=0.9)
        for name, each in samples.items()
    }
    expected = []
    for name, results in printed.items():
        table, text, *_ = results.parts()
        assert values["heads"] == ["recommender", *table[0]]
        expected += [[name, *cells(row, table[0])] for row in table]
        if name == "a":
            assert values["words"].split()[: len(text.split())] == text.split()
    assert values["lines"] == expected
    assert "\n  " not in values["words"] + pairs["words"]
    table, *_ = sm.compare(samples, BOTH, "sampled", confidence=0.9).parts()
    assert pairs["lines"] == [cells(row, table[0]) for row in table]


def test_sampled_bars_are_ranges(samples, sampled_page):
    compared = sm.compare(samples, BOTH, "sampled", confidence=0.9)
    for metric, group in zip(BOTH, sampled_page["bars"], strict=True):
        results = [
            sm.correct(each, metric, "sampled", confidence=0.9)[0] for each in samples.values()
        ]
        assert group["sampled"] == [result.value for result in results]
        quoted = [
            sm.correct(each, metric, "likely", confidence=0.9)[0].value for each in samples.values()
        ]  # the mark is the number to quote
        bars = [
            (result.range_low, result.range_high, value)
            for result, value in zip(results, quoted, strict=True)
        ]
        assert np.array(group["bars"]) == pytest.approx(np.array(bars), abs=6e-6)
        orders = [pair.order for pair in compared if pair.metric == metric]
        n_decided = 10 - orders.count("undecided")
        assert (len(group["decided"]), group["open"]) == (n_decided, 10 - n_decided)
        label = {"recall@10": "Recall@10", "ap": "AP"}[metric]
        assert (group["label"], group["m"]) == (label, "20 random items")


def test_headline_names_four_best(sampled_page):
    values = sampled_page["bars"][0]["sampled"]
    order = sorted("abcde", key=lambda name: -values["abcde".index(name)])
    first, second = re.fullmatch(r"(.*)\. It suggests (.*)\.", sampled_page["says"]).groups()
    named = re.findall(r"\b([a-e]) (\d+\.\d+)", first)
    assert [name for name, _ in named] == order[:4]
    for name, number in named:
        assert float(number) == pytest.approx(100 * values["abcde".index(name)], abs=0.051)
    assert first.endswith(" and 1 more")
    assert second == " > ".join(order)


def test_sampled_page_describes_the_samples(sampled_page):
    assert sampled_page["names"] == list("abcde")
    assert (sampled_page["m"], sampled_page["sampling"]) == (20, "with replacement")
    assert sampled_page["users"] == 100
    assert sampled_page["scores"] == 100 * 200  # of all items for all users


def test_sampled_lens_is_for_the_size_of_the_samples(sampled_page):
    lens = sampled_page["lens"]
    assert sampled_page["numbers"]["lens"] is lens
    assert (lens["sizes"], list(lens["estimators"])) == ([20], ["sampled", "cls"])
    assert lens["start"] == {"metric": "recall@10", "estimator": "sampled", "m": 20}
    assert (lens["names"], lens["n"], lens["last"]) == ([], "200", 200)


def test_numbers_of_the_page_are_json(sampled_page):
    json.dumps(sampled_page["numbers"], allow_nan=False)


def low(n_first):
    """Return a sample with `n_first` users of sampled rank 1 and five of each rank."""
    return sample([1] * n_first + [*range(1, 22)] * 5)


def spread(power):
    """Draw sampled ranks of 3,000 users; a share (k/200)^(1/power) has a true rank up to k."""
    rng = np.random.default_rng(int(100 * power))
    better = (200 * rng.random(3000) ** power).astype(int)
    return sample(rng.hypergeometric(better, 199 - better, 20) + 1)


@pytest.mark.long
def test_weak_order_is_leaning(tmp_path):
    """The order of x and y holds up to a factor of 1.3, that of x and z up to 16."""
    both = {"x": spread(1.4), "y": spread(1.8)}
    (result,) = sm.compare(both, "recall@10", "likely")
    assert 1.0 < result.holds_up_to < 2.0
    (bars,) = sampled_content(both, ["recall@10"], [])["bars"]
    assert (bars["decided"], bars["leaning"], bars["open"]) == ([], ["y above x"], 0)
    sm.report(both, tmp_path / "page.html")
    page = " ".join((tmp_path / "page.html").read_text().split())
    assert "Leaning to y above x" in page
    assert "Decided" not in page
    (bars,) = sampled_content({**both, "z": spread(3.0)}, ["recall@10"], [])["bars"]
    assert "z above x" in bars["decided"]


def test_sampled_lens_skips_fitted_estimators():
    content = sampled_content({"a": low(30)}, ["recall@10"], ["em:5", "cls"])
    lens = content["numbers"]["lens"]
    assert list(lens["estimators"]) == ["sampled", "cls"]
    assert lens["views"].keys() == {"recall@10 sampled 20", "recall@10 cls 20"}
    (values,) = content["tables"]
    place = values["heads"].index("estimator")
    assert [line[place] for line in values["lines"]] == ["likely", "sampled", "em:5", "cls"]
    assert content["bars"][0]["decided"] == []
    assert "It says" not in content["says"]


def test_headline_shows_equal_values():
    alike = low(30)
    content = sampled_content({"x": alike, "y": alike, "z": low(60)}, ["recall@10"], [])
    assert content["says"].endswith("It suggests z > x = y.")


def full(ranks, n=60):
    ranks = np.asarray(ranks)
    return Ranks(
        np.full(ranks.size, n), ranks - 1, np.zeros_like(ranks), users=np.arange(ranks.size)
    )


@pytest.fixture(scope="module")
def rankings():
    """`good` is better than `poor` by any metric; `twin` differs from `good` for a few users."""
    good = np.tile([1, 2, 3, 11, 40], 60)
    twin = good.copy()
    twin[:8] = [2, 1, 4, 12, 40, 2, 1, 4]
    return {"good": full(good), "poor": full(np.tile([12, 30, 50, 60, 9], 60)), "twin": full(twin)}


@pytest.fixture(scope="module")
def full_page(rankings):
    return full_content(rankings, BOTH, ties="expected", confidence=0.9)


def test_full_tables_match_evaluate_and_compare(rankings, full_page):
    values, pairs = full_page["tables"]
    expected = []
    for name, ranks in rankings.items():
        table, text, *_ = sm.evaluate(ranks, BOTH, confidence=0.9).parts()
        expected += [[name, *cells(row, table[0])] for row in table]
        assert values["words"].split()[: len(text.split())] == text.split()
    assert values["lines"] == expected
    assert values["heads"] == ["recommender", *table[0]]
    table, *_ = sm.compare(rankings, BOTH, confidence=0.9).parts()
    assert (pairs["id"], pairs["lines"]) == ("comparisons", [cells(row, table[0]) for row in table])


def test_full_bars_are_intervals(rankings, full_page):
    for metric, group in zip(BOTH, full_page["exact_bars"], strict=True):
        results = [sm.evaluate(ranks, metric, confidence=0.9)[0] for ranks in rankings.values()]
        assert group["bars"] == [(each.ci_low, each.ci_high, each.value) for each in results]
        highest = max(each.ci_high for each in results)
        assert group["most"] == pytest.approx(min(1.01 * highest, 1.0))
        assert group["decided"] == ["good above poor", "twin above poor"]
        (open_,) = group["open"]
        assert open_.startswith("good and twin")
    first, second = full_page["exact_bars"]
    assert (first["label"], second["label"]) == ("Recall@10", "AP")
    # Recall@10 of good and twin is the same for each user, so no number of users decides.
    assert first["open"] == ["good and twin"]
    compared = sm.compare(rankings, "ap", confidence=0.9)
    (needed,) = [pair.users_needed for pair in compared if pair.users_needed]
    assert second["open"] == [f"good and twin (about {needed:,} users would decide)"]


def test_full_content(full_page):
    assert (full_page["names"], full_page["users"]) == (["good", "poor", "twin"], 300)
    assert full_page["level"] == "90"
    lens = full_page["numbers"]["lens"]
    assert lens["start"]["m"] == 59  # all other candidates, because there are fewer than 100
    assert lens["start"]["estimator"] == "sampled"
    assert list(lens["estimators"]) == ["sampled", "rank-estimate", "bv:0.1"]
    signs = [pair[0] for pair in lens["views"]["ap sampled 59"]["pairs"]]
    assert signs.count("~") == 1  # good and twin


@pytest.mark.parametrize(("n", "m"), [(100, 99), (101, 100), (500, 100)])
def test_full_lens_starts_with_100_negatives(n, m):
    both = {"a": full([1, 2, 5, 9], n), "b": full([3, 7, 2, 1], max(n, 300))}
    content = full_content(both, ["recall@3"], ties="expected", confidence=0.95)
    assert content["lens"]["start"]["m"] == m
    alone = full_content(
        {"a": full([1, 100, 30, 4], n)}, ["recall@3"], ties="expected", confidence=0.95
    )
    assert [table["id"] for table in alone["tables"]] == ["values"]
    assert alone["exact_bars"][0]["open"] == alone["exact_bars"][0]["decided"] == []


def test_ties_and_confidence_reach_page(tmp_path):
    """Each held-out item is tied with all of ten items: recall@5 is 0, 1/2 or 1."""
    tied = Ranks([10] * 40, [0] * 40, [9] * 40)
    for ties, value in (("pessimistic", 0), ("expected", 0.5), ("optimistic", 1)):
        content = full_content({"a": tied}, ["recall@5"], ties=ties, confidence=0.5)
        assert (content["exact_bars"][0]["bars"][0][2], content["level"]) == (value, "50")
        sm.report({"a": tied}, tmp_path / "page.html", "recall@5", ties=ties)
        page = (tmp_path / "page.html").read_text()
        assert float(rows_of(page)["values"][1][2]) == value


def test_several_items_are_refused(tmp_path):
    several = {"mine": {"anna": [1, 2, 3], "bert": [3, 2, 1]}}
    with pytest.raises(sm.InputError, match="mine"):
        sm.report(
            several, tmp_path / "page.html", relevant={"anna": [1, 2], "bert": [2]}, n_items=9
        )


def test_shape_and_confidence_reach_page(tmp_path):
    ranks = [1] * 60 + [*range(1, 22)] * 5
    for shape, confidence in ((1, 0.5), ("none", 0.99)):
        options = {"shape": shape, "confidence": confidence}
        sm.report({"a": sample(ranks)}, tmp_path / "p.html", **options)
        (result,) = sm.correct(sample(ranks), "recall@10", "sampled", **options)
        row = rows_of((tmp_path / "p.html").read_text())["values"][1]
        assert row[2] == format_range(result.range_low, result.range_high)


@pytest.mark.parametrize("data", [{}, [], [1, 2], None, "ranks.csv"])
def test_data_without_names_is_refused(data, tmp_path):
    with pytest.raises(sm.InputError, match="dictionary"):
        sm.report(data, tmp_path / "page.html", n_items=9)
    assert not (tmp_path / "page.html").exists()


EVEN = [*range(1, 22)]


SIZE_OPTIONS = ("--n-negatives", 20, "--n-items", 200)


def rows_of(page):
    """Return the texts of the cells of all table rows, by section."""
    rows, name = {}, ""
    for section in page.split("<section")[1:]:
        name = (re.findall(r'^[^>]* id="(\w+)"', section) or [name])[0]
        for row in re.findall(r"<tr\b.*?</tr>", section, re.DOTALL):
            cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
            rows.setdefault(name, []).append([unescape(cell) for cell in cells])
    return rows


def sample_of_counts(*counts):
    """Return sampled ranks among 20 negatives of 200 items; `counts` are users by rank."""
    ranks = np.repeat(np.arange(1, len(counts) + 1), counts)
    return SampledRanks(ranks, np.full(len(ranks), 200), 20, users=np.arange(len(ranks)))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Write files of sampled ranks, `good` far above the others, and of full rankings."""
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
    assert (done.returncode, done.stdout[:16]) == (0, "Wrote page.html "), done.stderr
    return (folder / "page.html").read_text()


def test_command_writes_sampled_page(run, folder):
    page = written(run, folder, "good.csv", "poor.csv", "bad.csv", *SIZE_OPTIONS)
    rows = rows_of(page)
    place = rows["comparisons"][0].index("order")
    orders = {tuple(row[:3]): row[place] for row in rows["comparisons"][1:]}
    assert orders == {
        ("good", "poor", "recall@10"): "good above poor",
        ("good", "bad", "recall@10"): "good above bad",
        ("poor", "bad", "recall@10"): "undecided",
    }
    ranges = {
        name: correct(folder / f"{name}.csv", "recall@10", n_negatives=20, n_items=200)[0]
        for name in ("good", "poor")
    }
    shown = {row[0]: row[2] for row in rows["values"][1:] if row[2]}
    ends = {name: str(format_range(x.range_low, x.range_high)) for name, x in ranges.items()}
    assert ends.items() <= shown.items()
    assert not re.search(r'(src|href)="(?!#|data:|https://doi\.org/)', page)


def test_command_writes_full_page(run, folder):
    page = written(run, folder, "full.csv", "full2.csv", "--n-items", 200)
    assert "Undecided: full and full2" in page  # four users
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
        ("good.csv", "full.csv", *SIZE_OPTIONS),
        ("full.csv", "good.csv", "--n-items", 200),
        ("full.csv", "none.csv", "--n-items", 200),
        ("good.csv", "odd.csv", *SIZE_OPTIONS),
    ],
)
def test_mixed_and_missing_files_are_refused(refusal_line, folder, arguments):
    (folder / "odd.csv").write_text("sampled_rank\n" + "8\n9\n" * 200 + "21\n")
    message = refusal_line("report", *arguments, "--output", "page.html")
    assert message.startswith(("full", "none", "odd"))  # not good
    assert not (folder / "page.html").exists()


THREE = {
    "a": sample_of_counts(60, *[2] * 20),
    "b": sample_of_counts(100),
    "c": sample_of_counts(*[5] * 21),
}


def test_bars_are_ranges_with_the_number_to_quote_if_there_is_one():
    content = sampled_content(THREE, ["recall@10", "ap"], ["sampled"])
    likely = [correct(each, ["recall@10", "ap"], "likely")[1] for each in THREE.values()]
    _, of_ap = content["bars"]
    assert of_ap["bars"] == [
        (each.range_low, each.range_high, None if np.isnan(each.value) else each.value)
        for each in likely
    ]
    json.dumps(content["numbers"], allow_nan=False)


def test_page_counts_decided_orders():
    content = sampled_content(THREE, ["recall@10"], ["sampled"])
    (bars,) = content["bars"]
    assert content["says"].endswith("It suggests b > a > c.")
    assert len(bars["decided"]) + bars["open"] == 3
    page = " ".join(render(content, "report.html").split())
    assert f"{len(bars['decided'])} of 3 orders" in page


def test_page_of_equal_samples_decides_nothing():
    content = sampled_content({"a": THREE["c"], "b": THREE["c"]}, ["ap"], ["sampled"])
    assert content["says"].endswith("It suggests a = b.")
    assert "cannot decide" in render(content, "report.html")


def test_bars_decide_as_table():
    """With a correction for three pairs, a range that excludes 0 does not decide the order."""
    n, m, n_users = 2000, 200, 1500
    samples = {}
    for name, exponent, seed in (("a", 0.69, 3), ("b", 1.0, 1), ("c", 1.0, 2)):
        rng = np.random.default_rng(seed)
        ranks = np.clip((n ** rng.random(n_users) ** exponent).astype(int), 1, n)
        sampled_ranks = 1 + rng.hypergeometric(ranks - 1, n - ranks, m)
        samples[name] = SampledRanks(
            sampled_ranks, np.full(n_users, n), m, users=np.arange(n_users)
        )
    compared = compare(samples, "recall@10", "sampled")
    orders = [(result.order, result.range_low > 0.0) for result in compared]
    assert ("undecided", True) in orders
    group = sampled_content(samples, ["recall@10"], ["sampled"])["bars"][0]
    decided = [result for result in compared if result.order != "undecided"]
    assert len(group["decided"]) == len(group["verdicts"]) == len(decided)
    assert group["open"] == 3 - len(decided)


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_bars_are_marked_by_likely(tmp_path):
    rng = np.random.default_rng(0)
    ranks = 1 + rng.binomial(99, rng.random(600) ** 4)
    quoted = SampledRanks(ranks, 900, 99)
    (likely,) = correct(quoted, "hr@10", "likely")
    page = tmp_path / "page.html"
    report({"A": quoted}, page, "hr@10")
    assert f"%, line at {100 * likely.value:.2f} %" in page.read_text()
    few = SampledRanks([50, 60, 99], 100_000, 99)  # without a number to quote
    assert np.isnan(correct(few, "hr@10", "likely", shape="none")[0].value)
    report({"A": few}, page, "hr@10", shape="none")
    assert "%, line at" not in page.read_text()
    assert "too uncertain" in page.read_text()


def ranks_with_hits(share, seed=0):
    """Ranks of 400 users, of which a share has rank 1 and the others rank 150."""
    rng = np.random.default_rng(seed)
    better = np.where(rng.permutation(400) < 400 * share, 0, 149)
    return Ranks(np.full(400, 200), better, np.zeros(400, int))


def test_full_page_has_order_line_and_sorted_bars(tmp_path):
    """Pairs within 2 points are undecided, and pairs 20 points apart are decided."""
    shares = {"a": 0.10, "b": 0.50, "c": 0.30, "d": 0.51, "e": 0.31}
    files = {}
    for seed, (name, share) in enumerate(shares.items()):
        files[name] = tmp_path / f"my {name}.parquet"
        ranks_with_hits(share, seed).write(files[name])
    page = tmp_path / "page.html"
    report(files, page, "HR@10")
    text = page.read_text("utf-8")
    head = re.search(r"<h1[^>]*>(.*?)</h1>", text, re.DOTALL)[1]
    head = " ".join(unescape(re.sub("<[^>]+>", " ", head)).split())
    assert "d, b > e, c > a" in head
    assert re.findall(r'<b class="who">(\w)</b>', text) == list("dbeca")
    command = unescape(re.search(r"<code>(sampled-metrics plan.*?)</code>", text)[1])
    # Full rankings do not decide d against b, so the plan is for d against e, the next one.
    assert shlex.split(command)[-2:] == [str(files["d"]), str(files["e"])]


def test_order_of_likely_values_is_compared_with_the_sampled_one():
    """True ranks 1 to 80 of 200 are nearly all hits among 20 negatives, but 1 in 8 is above 10."""
    near = np.tile(np.arange(1, 81), 3)
    drawn = 1 + np.random.default_rng(5).hypergeometric(near - 1, 200 - near, 20)
    samples = {
        "near": sample(drawn),
        "more": sample(np.repeat([1, 21], [168, 72])),
        "fewer": sample(np.repeat([1, 21], [120, 120])),
    }
    for names, is_reordered in ((["near", "fewer"], True), (["more", "fewer"], False)):
        pair = {name: samples[name] for name in names}
        (group,) = sampled_content(pair, ["recall@10"], ["sampled"])["bars"]
        assert group["sampled"][0] > group["sampled"][1]
        assert group["is_reordered"] == is_reordered


@pytest.mark.parametrize(
    ("order_of_ab", "order_of_ac", "line", "rest"),
    [
        ("a", "a", "a > b, c", []),
        ("undecided", "undecided", "a, b, c", []),
        ("undecided", "a", "a, b, c", ["a above c"]),  # no sign can stand between them
    ],
)
def test_order_line_has_a_sign_where_all_before_are_above_all_after(
    order_of_ab, order_of_ac, line, rest
):
    pairs = [
        make_compared(a="a", b="b", order=order_of_ab),
        make_compared(a="a", b="c", order=order_of_ac),
        make_compared(a="b", b="c", order="undecided"),
    ]
    assert order_line(["a", "b", "c"], [0, 1, 2], pairs) == {"line": line, "rest": rest}


@pytest.mark.parametrize(("holds_up_to", "line"), [(2.0, "a > b > c"), (1.9, "a, b > c")])
def test_order_that_proves_little_has_no_sign(holds_up_to, line):
    pairs = [
        make_compared(a="a", b="b", order="a", holds_up_to=holds_up_to),
        make_compared(a="a", b="c", order="a", holds_up_to=16.0),
        make_compared(a="b", b="c", order="a", holds_up_to=16.0),
    ]
    assert order_line(["a", "b", "c"], [0, 1, 2], pairs)["line"] == line


def test_typical_item_is_seventh_among_its_negatives():
    """Rank 600 of 10,000 has 599 items above: of 100 negatives, 599 * 100 / 9,999 = 5.99."""
    lens = {"start": {"m": 100}, "n": "10,000"}
    assert typical_item(lens) == {"rank": 600, "sampled": 7}
