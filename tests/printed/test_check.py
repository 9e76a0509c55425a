"""Checks of tables of printed metrics: errors planted in them, hand-made rows, files."""

import json
from itertools import permutations, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sampled_metrics import InputError, check, reported
from sampled_metrics.cli import app
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
    assert (result.range_low, result.range_high) == (
        expected.range_low,
        expected.range_high,
    )
    assert result.likely == expected.likely
    assert result.flags == ()


@pytest.mark.parametrize("unscored", [0.2, 0.9])
def test_unscored_is_same_in_reported(unscored):
    about = {"n_items": 300, "n_negatives": 20, "n_users": 500}
    paper = {"HR@1": "0.20", "HR@10": "0.45"}
    assert failed([{**paper, **about}], unscored=0) == ["ranks"]
    (row,) = check([{**paper, **about}], "HR@5", unscored=unscored)
    (result,) = reported(paper, "HR@5", **about, unscored=unscored)
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


def test_granularity_names_neighbouring_shares():
    actual = find_impossible_shares([("HR@10", "0.423")], 13, 1)
    assert actual.hits == 6  # 5.499 users: 5 are .385, and 6 are .462
    assert find_impossible_shares([("NDCG@10", "0.423")], 13, 1) is None
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
    assert [(one.exact, one.sampled) for one in find_exact_above_sampled(wrong)] == [
        ("0.33", "0.30")
    ]
    assert [flag.test for flag in flag_arithmetic(wrong)] == ["bounds"]
    assert find_exact_above_sampled(row({"HR@10": "0.30"}, {"HR@10": "0.30"})) == []
    assert find_exact_above_sampled(row({"AUC": "0.70"}, {"AUC": "0.75"})) == []


def test_exact_metric_has_sampling_error():
    users = row({"HR@10": "0.30"}, {"HR@10": "0.0000"}, n_users=117)
    actual = place_exact_metric("HR@10", users, Range(0.0006, 0.1), confidence=0.95)
    # Wilson's upper end of 0 hits of 117 users is z^2/(117 + z^2) = 0.0318.
    assert actual.high_error == pytest.approx(0.0318, abs=1e-3)
    assert (actual.low_error, actual.standing) == (0.0, "inside within its error")
    assert (
        place_exact_metric("HR@10", users, Range(0.04, 0.1), confidence=0.95).standing == "outside"
    )
    certain = row({"HR@10": "0.30"}, {"HR@10": "0.0000"})
    assert (
        place_exact_metric("HR@10", certain, Range(0.0006, 0.1), confidence=0.95).standing
        == "outside"
    )


def test_exact_metric_flagged_outside_range():
    """Without n_users a sampling error may explain the distance, so nothing is flagged."""
    (expected,) = reported(PAPER, "HR@10", **ABOUT)
    for value, users, flags_of in (
        (expected.range_high + 0.002, 6040, []),  # inside by its own sampling error
        (expected.range_high + 0.05, 6040, ["exact"]),
        (0.82, None, []),
    ):
        table = [{**PAPER, "exact HR@10": f"{value:.4f}", **ABOUT, "n_users": users}]
        assert failed(table) == flags_of


def test_below_random_order_has_range():
    """Any share of held-out items may be last of all, because they are not scored."""
    setting = {"n_items": 23770, "n_negatives": 100, "n_users": 4230}
    (result,) = check([{"NDCG@10": "0.030", **setting}])
    assert not result.flags
    assert (result.range_low < 0.001, result.likely) == (True, None)


@pytest.mark.parametrize(
    ("exact", "cause"),
    [("0.0015", "Ties counted as hits"), ("0.80", "drawn by popularity")],
)
def test_exact_outside_range_has_causes(exact, cause):
    (result,) = check([{**PAPER, "exact HR@10": exact, **ABOUT}])
    assert [flag.test for flag in result.flags] == ["exact"]
    assert cause in result.flags[0].causes
    assert result.measured == float(exact)
    assert result.standing == "outside"


def test_disjoint_ranges_decide_order():
    worst = {"HR@1": "0.0100", "HR@5": "0.0500", "HR@10": "0.1000"}
    table = [
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
    assert "2 of 3" in " ".join(str(checks).split())


def test_orders_use_half_the_error():
    """The ranges are those of `reported`; some nearly meet."""
    setting = {"n_items": 400, "n_negatives": 50, "n_users": 2000}
    table = []
    for i in range(16):
        numbers = {
            "HR@5": f"{0.10 + 0.02 * i:.3f}",
            "HR@10": f"{0.21 + 0.03 * i:.3f}",
        }
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


def test_items_and_negatives_as_arguments(tmp_path):
    (expected,) = check([{**PAPER, **ABOUT}])
    numbers = {**PAPER, "n_users": 6040}
    assert check([numbers], n_items=3416, n_negatives=100)[0] == expected
    (column,) = check(
        [{**numbers, "n_items": 500, "n_negatives": ""}],
        n_items=3416,
        n_negatives=100,
    )
    assert (column.n_items, column.n_negatives) == (500, 100)
    path = tmp_path / "table.csv"
    path.write_text("HR@10\n0.8245\n")
    command = [
        "check",
        str(path),
        "--n-items",
        "3416",
        "--n-negatives",
        "100",
        "--format",
        "json",
    ]
    (result,) = json.loads(CliRunner().invoke(app, command).stdout)
    assert (result["n_items"], result["n_negatives"]) == (3416, 100)


def test_popular_negatives_have_no_range():
    (result,) = check([{**PAPER, **ABOUT, "sampling": "popularity"}])
    assert result.range_low is None
    assert result.flags == ()


def test_reads_files_frames_and_pairs(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(
        "\ufeffmodel,Dataset,n_items,n_negatives,n_users,HR@10,exact HR@10,other\n"
        'A,ML,"3,416",100,,82.45 %,-,x\n'
    )
    (of_file,) = read_printed(path)
    assert of_file.printed == {"HR@10": "0.8245"}
    assert (of_file.exact, of_file.n_users, of_file.data_set) == ({}, None, "ML")
    path.write_text('n_items,n_negatives,HR@10,note\n500,99,0.5,"of one line,\tand a tab"\n')
    assert read_printed(path)[0].details == {"note": "of one line,\tand a tab"}
    frame = pd.DataFrame([{"printed": "HR@10=0.8245", "exact": "AUC=0.9", **ABOUT}])
    (of_frame,) = read_printed(frame)
    assert of_frame.printed == of_file.printed
    assert of_frame.exact == {"AUC": "0.9"}
    mixed = pd.DataFrame(
        [{"HR@10": 0.5, **ABOUT}, {"HR@10": "", "MRR": ".3", **ABOUT, "n_users": ""}]
    )
    assert [(row.printed, row.n_users) for row in read_printed(mixed)] == [
        ({"HR@10": "0.5"}, 6040),
        ({"MRR": ".3"}, None),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "model,n_items,n_negatives,HR@10\nA,500,99,82\n",
            "row 1, line 2: HR@10 is 82",
        ),
        (
            "n_items,n_negatives,HR@10\n500,many,0.5\n",
            "column n_negatives: found 'many'",
        ),
        ("n_items,n_negatives,HR@10\n500,,0.5\n", "no n_negatives; add a column"),
        ("n_negatives,HR@10\n99,0.5\n", "pass n_items"),
        (
            "n_items,n_negatives,HR@10\n50,99,0.5\n",
            "n_negatives is 99 and n_items is 50",
        ),
        ("n_items,n_negatives,HRten\n500,99,0.5\n", "no printed metric"),
        (
            "n_items,n_negatives,HR@10\n500,99\n",
            "line 2: found 2 columns; expected 3",
        ),
        (
            "n_items,n_negatives,printed\n500,99,HR@10\n",
            "column printed: found 'HR@10'",
        ),
        ("n_items,n_negatives,HR@10,Recall@10\n500,99,x,y\n", "HR@10 is 'x'"),
        (
            "n_items,n_negatives,HR@10,hit@10\n500,99,0.5,0.5\n",
            "hit@10 occurs twice",
        ),
        (
            "n_items,n_negatives,HR@10,sampling\n500,99,0.5,odd\n",
            "unknown sampling 'odd'",
        ),
        ("n_items,n_negatives,HR@10\n", "no rows"),
        (
            'model,n_items,n_negatives,HR@10\n"A,500,99,0.4\nB",500,99,0.5\n',
            "line 2: found a cell with a line break",
        ),
    ],
)
def test_errors_name_place(tmp_path, text, message):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        check(path)
    assert str(caught.value).startswith(f"{path}")
    assert message in str(caught.value)


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


def test_command_formats(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(
        "model,n_items,n_negatives,n_users,HR@5,HR@10\n"
        "A,3416,100,6040,0.7235,0.8245\nB,3416,100,6040,0.8245,0.7235\n"
    )
    shown = CliRunner().invoke(app, ["check", str(path)])
    assert shown.exit_code == 1
    phrase = " ".join(shown.stdout.split())
    assert "row 2, B: among 100 random items the other numbers allow HR@5" in phrase
    rows = json.loads(CliRunner().invoke(app, ["check", str(path), "--format", "json"]).stdout)
    assert [[flag["test"] for flag in row["flags"]] for row in rows] == [
        [],
        ["bounds"],
    ]
    table = CliRunner().invoke(app, ["check", str(path), "--format", "csv"]).stdout
    assert ",bounds: among 100 random items" in table.replace('"', "")
    assert check(path).to_frame()["flags"].iloc[0] == ""
    (tmp_path / "sound.csv").write_text("\n".join(path.read_text().splitlines()[:2]))
    command = [
        "check",
        str(tmp_path / "sound.csv"),
        "--format",
        "csv",
        "--metric",
        "NDCG@10",
    ]
    sound = CliRunner().invoke(app, command)
    assert sound.exit_code == 0
    assert sound.stdout.splitlines()[0].endswith("flags,measured,standing")


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_flag_names_two_exact_metrics(count):
    names = [f"HR@{k}" for k in range(1, 6)]
    row = SimpleNamespace(n_negatives=100, exact=dict.fromkeys(names, "0.5"))
    for value, phrase in ((0.5, "drawn by popularity"), (0.05, "counted as hits")):
        placed = [
            SimpleNamespace(
                metric=name,
                value=value,
                low=0.1,
                high=0.2,
            )
            for name in names[:count]
        ]
        flag = flags.flag_exact(row, placed)
        named = [name for name in names if f"{name}=0.5, not in 0.1000 to 0.2000" in flag.problem]
        assert named == names[: min(count, 2)]
        assert (f"and {count - 2} more" in flag.problem) == (count > 2)
        assert phrase in flag.causes


@pytest.mark.parametrize(
    ("runs", "who"),
    [
        (1, "7 users: 2 of them are 0.28571, 3 are 0.42857"),
        (2, "7 users in 2 runs: 2 of them are 0.14286, 3 are 0.21429"),
    ],
)
def test_flag_names_neighbouring_shares(runs, who):
    for numbers, verb in (
        (("HR@5=0.3000",), "cannot be a share"),
        (("a", "b"), "a and b cannot be shares"),
    ):
        flag = flags.flag_shares(
            ImpossibleShares(numbers, hits=3, n_users=7, runs=runs, decimals=4)
        )
        assert verb in flag.problem
        assert flag.problem.endswith(f"of {who}")


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
