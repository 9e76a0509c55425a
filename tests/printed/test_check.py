"""Checks of tables of printed metrics: errors planted in them, hand-made rows, files."""

import json
import re
from itertools import permutations, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sampled_metrics import InputError, check, reported
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.printed import flags
from sampled_metrics.printed.consistency import (
    ImpossibleShares,
    find_contradictions,
    find_exact_above_sampled,
    find_impossible_shares,
    place_exact_metric,
)
from sampled_metrics.printed.flags import flag_arithmetic
from sampled_metrics.printed.rows import PrintedRow, read_printed
from tests.helpers import printed_tables
from tests.helpers.results import refusal

ABOUT = {"n_items": 3416, "n_negatives": 100, "n_users": 6040}
PAPER = {"HR@1": "0.3675", "HR@5": "0.7235", "HR@10": "0.8245"}


def row(printed, exact=None, **setting):
    settings = {"n_items": 500, "n_negatives": 99, **setting}
    return PrintedRow(1, "", "", "A", printed, exact or {}, **settings)


def failed(table, **options):
    return [flag.test for result in check(table, **options) for flag in result.flags]


# benchmarks/archive/check.py measures the same for more tables.
@pytest.mark.long
def test_sound_table_not_flagged():
    rng = np.random.default_rng(1)
    flagged = [
        table for table in range(40) if failed(printed_tables.correct_table(rng, table % 2 == 0))
    ]
    assert len(flagged) <= 1


@pytest.mark.long
def test_planted_errors_flagged():
    rng = np.random.default_rng(2)
    actual = dict.fromkeys(printed_tables.ERRORS, 0)
    for _, error in product(range(5), printed_tables.ERRORS):
        actual[error] += bool(failed(printed_tables.table_with_error(error, rng)))
    assert sum(actual.values()) >= 17
    assert actual["columns exchanged"] == actual["HR of another k"] == actual["ties as hits"] == 5


def test_range_matches_reported():
    (result,) = check([{"model": "A", **PAPER, **ABOUT}])
    (expected,) = reported(PAPER, "HR@10", **ABOUT)
    assert (result.range_low, result.range_high) == (expected.range_low, expected.range_high)
    assert result.likely == expected.likely
    assert result.flags == ()


UNSCORED = {"n_items": 300, "n_negatives": 20, "n_users": 500, "HR@1": "0.20", "HR@10": "0.45"}


def test_numbers_that_need_unscored_items_are_flagged_without():
    assert failed([UNSCORED], unscored=0) == ["ranks"]


@pytest.mark.parametrize("unscored", [0.2, 0.9])
def test_range_with_unscored_items_is_that_of_reported(unscored):
    (row,) = check([UNSCORED], "HR@5", unscored=unscored)
    sizes = {"n_items": 300, "n_negatives": 20, "n_users": 500}
    printed = {"HR@1": "0.20", "HR@10": "0.45"}
    (result,) = reported(printed, "HR@5", **sizes, unscored=unscored)
    assert (row.range_low, row.range_high) == (result.range_low, result.range_high)


@pytest.mark.parametrize(
    ("share", "users", "runs", "sound"),
    [
        ("0.385", 13, 1, True),  # 5 of 13 are 0.38461...
        ("0.384", 13, 1, True),  # cut off
        ("0.386", 13, 1, False),
        ("0.423", 13, 1, False),
        ("0.423", 13, 2, True),  # 11 of 26
        ("0.8079470198675497", 6040, 1, True),  # all digits
        ("1.0", 7, 1, True),
        ("0.45", 6040, 1, True),  # two digits fit many numbers of hits
    ],
)
def test_hit_rate_is_share_of_users(share, users, runs, sound):
    assert (find_impossible_shares([("HR@10", share)], users, runs) is None) == sound


def test_impossible_share_names_the_hits_above_it():
    """.423 of 13 users are 5.499: 5 are .385, and 6 are .462."""
    assert find_impossible_shares([("HR@10", "0.423")], 13, 1).hits == 6


def test_metric_that_is_no_share_may_have_any_value():
    assert find_impossible_shares([("NDCG@10", "0.423")], 13, 1) is None


def test_share_of_an_unknown_number_of_users_may_have_any_value():
    assert find_impossible_shares([("HR@10", "0.423")], None, 1) is None


@pytest.mark.parametrize(
    ("printed", "sound"),
    [
        ({"HR@1": "0.20", "HR@5": "0.30", "HR@10": "0.30"}, True),
        ({"HR@5": "0.31", "HR@10": "0.29"}, False),
        ({"HR@10": "0.30", "NDCG@10": "0.32"}, False),
        (
            {"HR@10": "0.300", "NDCG@10": "0.085"},
            False,
        ),  # at least 0.3 / log2(11) = 0.0867 is needed
        ({"HR@10": "0.300", "NDCG@10": "0.087"}, True),
        ({"HR@1": "0.30", "MRR": "0.29"}, False),
        ({"HR@1": "0.300", "MRR": "0.660"}, False),  # at most 0.3 + 0.7 / 2
        ({"NDCG@5": "0.40", "NDCG@10": "0.38"}, False),
    ],
)
def test_sampled_metrics_bound_each_other(printed, sound):
    assert (find_contradictions(row(printed)) == []) == sound


def test_bounds_accept_drawn_ranks():
    rng = np.random.default_rng(0)
    for _ in range(100):
        ranks = rng.integers(1, 101, size=rng.integers(1, 40))
        printed = {
            name: f"{printed_tables.mean_metric(name, ranks):.3f}"
            for name in printed_tables.SAMPLED
        }
        assert find_contradictions(row(printed)) == []


def test_exact_above_sampled_flagged():
    wrong = row({"HR@10": "0.30"}, {"HR@10": "0.33"})
    (found,) = find_exact_above_sampled(wrong)
    assert (found.exact, found.sampled) == ("0.33", "0.30")
    assert [flag.test for flag in flag_arithmetic(wrong)] == ["bounds"]


@pytest.mark.parametrize(
    ("sampled", "exact"),
    [({"HR@10": "0.30"}, {"HR@10": "0.30"}), ({"AUC": "0.70"}, {"AUC": "0.75"})],
    ids=["equal", "unbiased"],
)
def test_exact_metric_that_may_be_as_high_is_not_flagged(sampled, exact):
    assert find_exact_above_sampled(row(sampled, exact)) == []


@pytest.mark.parametrize(
    ("n_users", "low", "standing"),
    [(117, 0.0006, "inside within its error"), (117, 0.04, "outside"), (None, 0.0006, "outside")],
)
def test_exact_metric_is_placed_with_its_error(n_users, low, standing):
    """0 hits of 117 users, as a sample, allow up to .0318."""
    printed = row({"HR@10": "0.30"}, {"HR@10": "0.0000"}, n_users=n_users)
    placed = place_exact_metric("HR@10", printed, Range(low, 0.1), confidence=0.95)
    assert placed.standing == standing


def test_error_of_an_exact_hit_rate_is_that_of_wilson():
    """z^2 / (n + z^2) is the upper end for 0 hits of n users."""
    printed = row({"HR@10": "0.30"}, {"HR@10": "0.0000"}, n_users=117)
    placed = place_exact_metric("HR@10", printed, Range(0.0006, 0.1), confidence=0.95)
    assert placed.low_error == 0.0
    assert placed.high_error == pytest.approx(1.96**2 / (117 + 1.96**2), abs=1e-3)


@pytest.mark.parametrize(
    ("distance", "n_users", "tests"),
    [
        (0.002, 6040, []),  # inside by its own sampling error
        (0.05, 6040, ["exact"]),
        (0.05, None, []),  # a sampling error may explain the distance
    ],
)
def test_exact_metric_flagged_outside_range(distance, n_users, tests):
    (expected,) = reported(PAPER, "HR@10", **ABOUT | {"n_users": n_users})
    exact = f"{expected.range_high + distance:.4f}"
    assert failed([{**PAPER, "exact HR@10": exact, **ABOUT, "n_users": n_users}]) == tests


def test_below_random_order_has_range():
    """Any share of held-out items may be last of all, because they are not scored."""
    setting = {"n_items": 23770, "n_negatives": 100, "n_users": 4230}
    (result,) = check([{"NDCG@10": "0.030", **setting}])
    assert not result.flags
    assert (result.range_low < 0.001, result.likely) == (True, None)


@pytest.mark.parametrize(
    ("exact", "cause"), [("0.0015", "Ties counted as hits"), ("0.80", "drawn by popularity")]
)
def test_exact_outside_range_has_causes(exact, cause):
    (result,) = check([{**PAPER, "exact HR@10": exact, **ABOUT}])
    assert [flag.test for flag in result.flags] == ["exact"]
    assert cause in result.flags[0].causes
    assert result.measured == float(exact)
    assert result.standing == "outside"


def test_disjoint_ranges_decide_order():
    worst = {"HR@1": "0.0100", "HR@5": "0.0500", "HR@10": "0.1000"}
    table = [  # A and C print the same numbers
        {"data_set": "a", "model": "A", **PAPER, **ABOUT},
        {"data_set": "a", "model": "B", **worst, **ABOUT},
        {"data_set": "a", "model": "C", **PAPER, **ABOUT},
        {"data_set": "b", "model": "D", **worst, **ABOUT},
    ]
    checks = check(table)
    assert [(o.data_set, o.n_pairs, o.decided) for o in checks.orders] == [
        ("a", 3, ((1, 2), (3, 2))),
        ("b", 0, ()),
    ]


def test_orders_use_half_the_error():
    """The ranges are those of `reported`; some nearly meet."""
    setting = {"n_items": 400, "n_negatives": 50, "n_users": 2000}
    table = []
    for i in range(16):
        numbers = {"HR@5": f"{0.10 + 0.02 * i:.3f}", "HR@10": f"{0.21 + 0.03 * i:.3f}"}
        table.append({**numbers, **setting})
    (orders,) = check(table, "HR@10").orders
    ranges = []
    for line in table:
        numbers = {name: line[name] for name in ("HR@5", "HR@10")}
        ranges += reported(numbers, "HR@10", confidence=0.975, **setting)
    expected = set()
    for a, b in permutations(range(16), 2):
        if ranges[a].range_low > ranges[b].range_high:
            expected.add((a + 1, b + 1))
    assert set(orders.decided) == expected
    assert 0 < len(expected) < 120


def test_exact_metrics_placed_in_ranges():
    (result,) = check([{**PAPER, "exact HR@10": "0.25", "exact NDCG@10": "0.12", **ABOUT}])
    expected = reported(PAPER, ["HR@10", "NDCG@10"], **ABOUT)
    assert (result.measured, result.standing) == (0.25, result.placed[0].standing)
    for placed, range_of in zip(result.placed, expected, strict=True):
        assert placed.low == pytest.approx(range_of.range_low, abs=1e-9)
        assert placed.high == pytest.approx(range_of.range_high, abs=1e-9)


def test_sizes_may_be_arguments():
    numbers = {**PAPER, "n_users": 6040}
    (by_column,) = check([{**numbers, "n_items": 3416, "n_negatives": 100}])
    (by_argument,) = check([numbers], n_items=3416, n_negatives=100)
    assert by_argument == by_column


def test_sizes_of_a_row_win_over_arguments():
    row = {**PAPER, "n_users": 6040, "n_items": 500, "n_negatives": ""}
    (result,) = check([row], n_items=3416, n_negatives=100)
    assert (result.n_items, result.n_negatives) == (500, 100)


def test_command_takes_the_sizes(run, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("HR@10\n0.8245\n")
    done = run("check", path, "--n-items", 3416, "--n-negatives", 100, "--format", "json")
    (result,) = json.loads(done.stdout)
    assert (result["n_items"], result["n_negatives"]) == (3416, 100)


def test_popular_negatives_have_no_range():
    (result,) = check([{**PAPER, **ABOUT, "sampling": "popularity"}])
    assert result.range_low is None
    assert result.flags == ()


def test_file_is_read_as_printed(tmp_path):
    """A byte order mark, thousands with commas, percent, a dash and an unknown column."""
    path = tmp_path / "table.csv"
    path.write_text(
        "\ufeffmodel,Dataset,n_items,n_negatives,n_users,HR@10,exact HR@10,other\n"
        'A,ML,"3,416",100,,82.45 %,-,x\n'
    )
    (row,) = read_printed(path)
    assert (row.printed, row.exact) == ({"HR@10": "0.8245"}, {})
    assert (row.n_items, row.n_users, row.data_set) == (3416, None, "ML")


def test_other_columns_are_details(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('n_items,n_negatives,HR@10,note\n500,99,0.5,"of one line,\tand a tab"\n')
    assert read_printed(path)[0].details == {"note": "of one line,\tand a tab"}


def test_metrics_may_be_pairs_in_a_column():
    pairs = pd.DataFrame([{"printed": "HR@10=0.8245", "exact": "AUC=0.9", **ABOUT}])
    (row,) = read_printed(pairs)
    assert (row.printed, row.exact) == ({"HR@10": "0.8245"}, {"AUC": "0.9"})


def test_metrics_may_be_columns():
    table = pd.DataFrame(
        [{"HR@10": 0.5, **ABOUT}, {"HR@10": "", "MRR": ".3", **ABOUT, "n_users": ""}]
    )
    first, second = read_printed(table)
    assert (first.printed, first.n_users) == ({"HR@10": "0.5"}, 6040)
    assert (second.printed, second.n_users) == ({"MRR": ".3"}, None)


@pytest.mark.parametrize(
    ("text", "line", "column", "shown"),
    [
        ("model,n_items,n_negatives,HR@10\nA,500,99,82\n", 2, None, "HR@10 is 82"),
        ("n_items,n_negatives,HR@10\n500,many,0.5\n", 2, "n_negatives", "'many'"),
        ("n_items,n_negatives,HR@10\n500,,0.5\n", 2, None, "n_negatives"),
        ("n_negatives,HR@10\n99,0.5\n", 2, None, "n_items"),
        ("n_items,n_negatives,HR@10\n50,99,0.5\n", 2, None, "n_negatives is 99"),
        ("n_items,n_negatives,HRten\n500,99,0.5\n", 2, None, "printed metric"),
        ("n_items,n_negatives,HR@10\n500,99\n", 2, None, "2 columns"),
        ("n_items,n_negatives,printed\n500,99,HR@10\n", 2, "printed", "'HR@10'"),
        ("n_items,n_negatives,HR@10,Recall@10\n500,99,x,y\n", 2, None, "HR@10 is 'x'"),
        ("n_items,n_negatives,HR@10,hit@10\n500,99,0.5,0.5\n", 2, "hit@10", "twice"),
        ("n_items,n_negatives,HR@10,sampling\n500,99,0.5,odd\n", 2, None, "'odd'"),
        ("n_items,n_negatives,HR@10\n", None, None, "no rows"),
        ('model,n_items,n_negatives,HR@10\n"A,500,99,0.4\nB",500,99,0.5\n', 2, None, "line break"),
    ],
)
def test_error_names_the_place_and_what_is_wrong(tmp_path, text, line, column, shown):
    path = tmp_path / "table.csv"
    path.write_text(text)
    error = refusal(check, path)
    assert (error.path, error.line, error.column) == (path, line, column)
    assert shown in error.problem


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (3, {}, "found int"),
        ([3], {}, "a row of int"),
        ([{**PAPER, **ABOUT}], {"shape": "odd"}, "unknown shape"),
        ([{**PAPER, **ABOUT}], {"metric": "odd"}, "unknown measure"),
        ([PAPER], {"n_items": 0, "n_negatives": 100}, "n_items"),
        ("/no/such.csv", {}, "no such file"),
    ],
)
def test_wrong_arguments_named(table, options, message):
    with pytest.raises(InputError, match=message):
        check(table, **options)


TWO_ROWS = """model,n_items,n_negatives,n_users,HR@5,HR@10
A,3416,100,6040,0.7235,0.8245
B,3416,100,6040,0.8245,0.7235
"""


SOUND, FLAGGED = "".join(TWO_ROWS.splitlines(keepends=True)[:2]), TWO_ROWS


@pytest.mark.parametrize("form", ["table", "json", "csv"])
@pytest.mark.parametrize(("rows", "status"), [(SOUND, 0), (FLAGGED, 1)], ids=["sound", "flagged"])
def test_command_fails_if_a_row_has_a_flag(run, tmp_path, form, rows, status):
    """HR@10 of B is below its HR@5."""
    path = tmp_path / "table.csv"
    path.write_text(rows)
    done = run("check", path, "--format", form)
    assert done.returncode == status
    assert ("bounds" in done.stdout) == (status == 1)


def test_frame_has_the_tests_that_a_row_fails(tmp_path):
    (tmp_path / "table.csv").write_text(TWO_ROWS)
    sound, flagged = check(tmp_path / "table.csv").to_frame()["flags"]
    assert (sound, flagged.partition(":")[0]) == ("", "bounds")


@pytest.mark.parametrize(("n_outside", "more"), [(1, ""), (2, ""), (3, "1 more"), (4, "2 more")])
def test_flag_names_two_exact_metrics(n_outside, more):
    exact = {f"HR@{k}": "0.5" for k in range(1, 6)}
    row = SimpleNamespace(n_negatives=100, exact=exact)
    placed = [
        SimpleNamespace(metric=name, value=0.5, low=0.1, high=0.2)
        for name in list(exact)[:n_outside]
    ]
    problem = flags.flag_exact(row, placed).problem
    assert re.findall(r"HR@\d", problem) == ["HR@1", "HR@2"][:n_outside]
    assert more in problem
    assert ("more" in problem) == bool(more)


@pytest.mark.parametrize(("runs", "below", "above"), [(1, 2 / 7, 3 / 7), (2, 2 / 14, 3 / 14)])
def test_flag_names_neighbouring_shares(runs, below, above):
    impossible = ImpossibleShares(("HR@5=0.3000",), hits=3, n_users=7, runs=runs, decimals=4)
    problem = flags.flag_shares(impossible).problem
    assert "HR@5=0.3000" in problem
    assert f"{below:.5f}" in problem
    assert f"{above:.5f}" in problem


@pytest.mark.parametrize(("printed", "tests"), [("0.45", ["granularity"]), ("0.46", [])])
def test_shares_of_13_users(printed, tests):
    """5 of 13 are 0.385, and 6 are 0.462."""
    setting = {"n_items": 500, "n_negatives": 99, "n_users": 13}
    assert failed([{"HR@10": printed, **setting}]) == tests


@pytest.mark.parametrize("content", [b"", b"HR@10\n\xff\n"])
def test_unreadable_file_named(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match="table"):
        check(path, n_items=500, n_negatives=99)


def test_marks_and_missing_numbers_of_a_table():
    row = {"model": "A", "n_items": 3416, "n_negatives": 100, "H@10": "**.82**†", "NDCG@10": "N/A"}
    (printed,) = read_printed([row])
    assert printed.printed == {"H@10": "0.82"}


def test_metrics_in_rows_are_read_as_suggested():
    table = pd.DataFrame({"metric": ["HR@10", "NDCG@10"], "A": [".82", ".59"], "B": [".7", ".5"]})
    with pytest.raises(InputError, match=r"table.set_index\('metric'\).T") as caught:
        read_printed(table, 3416, 100)
    expression = str(caught.value).partition(": pass ")[2]
    rows = read_printed(eval(expression, {"table": table}), 3416, 100)  # noqa: S307
    assert [row.model for row in rows] == ["A", "B"]
    assert rows[1].printed == {"HR@10": ".7", "NDCG@10": ".5"}
