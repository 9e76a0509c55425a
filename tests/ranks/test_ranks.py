"""`Ranks`: checks of counts, properties, selection, reading and writing."""

from dataclasses import FrozenInstanceError
from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sampled_metrics as sm
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.read.options import as_ranks
from sampled_metrics_study.experiment import read_single_item_ranks
from tests.helpers.relevance import ranks_at_places

COLUMNS = ("n_candidates", "n_better", "n_tied", "n_found", "n_relevant", "depth")


def columns(ranks):
    return {name: getattr(ranks, name).tolist() for name in COLUMNS}


# User 0 is fully ranked, user 1 a list of the top 5 with one of three relevant items.
GOOD = {
    "n_candidates": [8, 0],
    "n_better": [0, 4, 2],
    "n_tied": [1, 0, 0],
    "n_found": [2, 1],
    "n_relevant": [2, 3],
    "depth": [8, 5],
}


@pytest.mark.parametrize(
    ("changed", "row", "column"),
    [
        ({"n_better": [-1, 4, 2]}, 1, "n_better"),
        ({"n_tied": [0, 0, -2]}, 3, "n_tied"),
        ({"n_better": [0, 4, 5]}, 3, "n_better"),  # beyond the depth
        ({"n_tied": [1, 4, 0]}, 2, "n_tied"),
        ({"n_relevant": [2, 0]}, 2, "n_relevant"),
        ({"n_relevant": [1, 3]}, 1, "n_found"),
        ({"n_found": [2, -1]}, 2, "n_found"),
        ({"n_relevant": [9, 3]}, 1, "n_relevant"),
        ({"n_relevant": [3, 3]}, 1, "n_relevant"),  # no place for the third
        ({"n_candidates": [8, -1]}, 2, "n_candidates"),
        ({"depth": [9, 5]}, 1, "depth"),
    ],
)
def test_impossible_counts_are_refused(changed, row, column):
    with pytest.raises(InputError) as caught:
        Ranks(**(GOOD | changed))
    assert (caught.value.row, caught.value.column) == (row, column)


def test_columns_are_int64_and_best_first():
    with pytest.raises(InputError, match="row 2, column n_candidates"):
        Ranks([10, 1], [0, 0], [0, 0])
    better, tied = np.array([4, 1], np.int32), np.array([0, 2], np.uint8)
    ranks = Ranks([9], better, tied, n_found=[2])
    assert all(getattr(ranks, name).dtype == np.int64 for name in COLUMNS)
    assert (ranks.n_better.tolist(), ranks.n_tied.tolist()) == ([1, 4], [2, 0])


def test_best_and_worst_rank_by_hand():
    """Two better and one tied: 3 or 4; three better and three tied: 4 to 7; one better: 2."""
    ranks = Ranks([9, 9, 9], [2, 3, 1], [1, 3, 0])
    assert ranks.best_rank.tolist() == [3, 4, 2]
    assert ranks.worst_rank.tolist() == [4, 7, 2]


def test_size_of_single_several_and_no_ranks():
    single = Ranks([5, 5, 6], [0, 4, 0], [0, 0, 4])
    assert (len(single), single.mean_candidates, single.is_single) == (3, 5, True)  # 16 / 3
    several = Ranks(**GOOD)
    assert (len(several), several.mean_candidates, several.is_single) == (2, 0, False)
    none = Ranks([], [], [])
    assert (len(none), none.mean_candidates) == (0, 0)


def test_take():
    ranks = Ranks(**GOOD, users=["a", "b"], source="hand")
    last, first = ranks.take([1]), ranks.take(np.array([True, False]))
    assert columns(last) == columns(ranks_at_places(3, n=0, n_relevant=3, depth=5))
    assert (first.users.tolist(), first.source) == (["a"], "hand")
    assert columns(ranks.take(slice(None, None, -1)).take([1, 0])) == columns(ranks)
    assert columns(ranks.take([0, 0]))["n_better"] == [0, 4, 0, 4]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"depth": [8]}, "columns differ in length"),
        ({"n_tied": [0]}, "columns differ in length"),
        ({"n_candidates": [8.0, 0.0]}, "n_candidates has dtype float64"),
        ({"n_candidates": [[8, 0]]}, r"n_candidates has shape \(1, 2\)"),
        ({"n_found": [2, 2]}, "3 ranks .* n_found is 4"),
        ({"n_better": [0, 0, 2]}, "0 better and 1 tied, 0 better and 0 tied"),
        ({"n_better": [4, 4, 2], "n_tied": [0, 0, 0]}, "4 better and 0 tied, 4 better and 0 tied"),
        ({"users": [7, 7]}, "row 2: duplicate users 7"),
        ({"users": [1.0, 2.0]}, "users has dtype float64"),
    ],
)  # fmt: skip
def test_inconsistent_arguments_are_refused(changed, message):
    with pytest.raises(InputError, match=message):
        Ranks(**(GOOD | changed))


def test_overlapping_ranks_name_their_row():
    with pytest.raises(InputError, match="user in row 2"):
        Ranks([9, 9], [0, 4, 4], [0] * 3, n_found=[1, 2])


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (Ranks(**GOOD, users=["a", "b"]), "user a has 2 "),
        (ranks_at_places(1, 2, n=5), "user 1 has 2 "),
        (Ranks([9, 9, 9], [1, 0, 3, 2], [0] * 4, n_found=[1, 2, 1], users=list("abc")),
         r"user b has 2 .* 9 items \(1 such"),
        (Ranks([9, 0, 9], [1, 2], [0] * 2, n_found=[1, 1, 0], n_relevant=[1] * 3, depth=[9, 5, 7]),
         r"user 2 has 1 .* 5 items \(2 such"),
        (ranks_at_places(1, n=9, depth=7), " 7 items"),
        (ranks_at_places(n=9, n_relevant=1, depth=7), " 7 items"),
    ],
)  # fmt: skip
def test_single_refuses_other_ranks(ranks, message):
    with pytest.raises(InputError, match=message):
        ranks.single()


SINGLE = Ranks([9, 8], [1, 0], [0, 3], users=[7, 9], source="a test")
SEVERAL = Ranks([9, 8], [1, 4, 0], [0, 0, 3], n_found=[2, 1], users=["b", "a"])


@pytest.mark.parametrize("ranks", [SINGLE, SEVERAL], ids=["single", "several"])
def test_written_ranks_are_read_as_they_were(tmp_path, ranks):
    path = tmp_path / "deep" / "A.parquet"
    ranks.write(path, items=np.arange(ranks.n_better.size))
    names = ["user_id", "item_id", "n_candidates", "n_better", "n_tied"]
    assert pq.read_table(path).column_names == names
    again = as_ranks(path)
    assert columns(again) == columns(ranks)
    assert (again.users.tolist(), again.source) == (ranks.users.tolist(), ranks.source)


def test_file_of_several_items_is_no_file_of_single_ones(tmp_path):
    SEVERAL.write(tmp_path / "A.parquet", items=[1, 2, 3])
    with pytest.raises(InputError, match="user b") as caught:
        read_single_item_ranks(tmp_path / "A.parquet")
    assert caught.value.path == tmp_path / "A.parquet"


def test_ranks_without_number_of_candidates_are_not_written(tmp_path):
    with pytest.raises(InputError, match="n_items"):
        Ranks(**GOOD).write(tmp_path / "A.parquet")


@pytest.mark.parametrize("as_table", [False, True])
def test_truncated_ranks_round_trip(tmp_path, as_table):
    # anna's items have 1 and 4 better ones of 8; ben's have 0, and one below depth 3
    ranks = Ranks(
        [8, 8], [1, 4, 0], [0, 1, 2], n_found=[2, 1], n_relevant=[2, 2], depth=[8, 3],
        relevance=[1.0, 2.0, 3.0, 1.0], users=["anna", "ben"],
    )  # fmt: skip
    table = ranks.to_frame()
    assert table["n_better"].tolist() == [1, 4, 0, 3]
    assert table["depth"].tolist() == [8, 8, 3, 3]
    path = tmp_path / "A.parquet"
    ranks.write(path)
    again = as_ranks(table if as_table else path)
    assert columns(again) == columns(ranks)
    assert again.relevance.tolist() == [1.0, 2.0, 3.0, 1.0]
    # ben's first item has rank 1, 2 or 3 and the other none: 1/2 of his items are in the top 3
    assert sm.evaluate(again, "recall@3")[0].value == (1 / 2 + 1 / 2) / 2
    with pytest.raises(InputError, match="end at 3"):
        sm.evaluate(again, "recall@4")


def test_rows_below_the_depth_of_their_user_are_refused():
    table = {"user_id": [1, 1], "n_candidates": [9, 9], "n_better": [0, 5], "n_tied": [0, 0]}
    for depth, row in ([4, 4], 2), ([9, 5], 2), ([0, 0], 1):
        with pytest.raises(InputError) as caught:
            as_ranks({**table, "depth": depth})
        assert caught.value.row == row


@pytest.mark.parametrize(
    ("ids", "written"),
    [
        (np.array([-(2**31), 2**31 - 1]), pa.int32()),
        (np.array([7, 2**31]), pa.int64()),
        (np.array([-(2**31) - 1, 7]), pa.int64()),
        (np.array(["7", "ω"]), pa.string()),
    ],
)
def test_write_ids_of_any_type_round_trip(tmp_path, ids, written):
    path = tmp_path / "A.parquet"
    Ranks([9, 8], [1, 0], [0, 3], users=ids).write(path, items=ids[::-1])
    table = pq.read_table(path)
    for name in ("user_id", "item_id"):
        assert table.schema.field(name).type == written
    assert table["item_id"].to_pylist() == ids[::-1].tolist()
    users = as_ranks(path).users
    assert users.tolist() == ids.tolist()
    assert users.dtype.kind in "iU"


def counts_of_rankings(n, relevant):
    """Counts of the first `relevant` of n items in each possible ranking with ties."""
    counts = set()
    for levels in product(range(n), repeat=n):
        better = [sum(other > level for other in levels) for level in levels]
        tied = [levels.count(level) - 1 for level in levels]
        pairs = zip(better[:relevant], tied[:relevant], strict=True)
        counts.add(tuple(sorted(pairs)))
    return counts


def is_taken(n, pairs, n_found):
    better, tied = np.array(pairs).T
    try:
        Ranks(n, better, tied, n_found=n_found)
    except InputError:
        return False
    return True


@pytest.mark.parametrize(
    ("n", "relevant"),
    [(2, 1), (4, 1), (2, 2), (4, 2), (3, 3), pytest.param(4, 3, marks=pytest.mark.long)],
)
def test_counts_are_accepted_if_a_ranking_has_them(n, relevant):
    possible = counts_of_rankings(n, relevant)
    every = product(range(-1, n + 1), repeat=2)
    for pairs in combinations_with_replacement(every, relevant):
        assert is_taken([n], pairs, [relevant]) == (pairs in possible), pairs


def test_counts_of_several_users_are_checked_separately():
    two, one = counts_of_rankings(3, 2), counts_of_rankings(3, 1)
    every = list(product(range(3), repeat=2))
    for first, second, third in product(every, repeat=3):
        is_possible = tuple(sorted((first, second))) in two and (third,) in one
        assert is_taken([3, 3], [first, second, third], [2, 1]) == is_possible
        is_possible = (first,) in one and tuple(sorted((second, third))) in two
        assert is_taken([3, 3], [first, second, third], [1, 2]) == is_possible


@pytest.mark.parametrize(
    ("wrong", "column"),
    [
        ((1, 0, 0), "n_candidates"),
        ((5, -1, 0), "n_better"),
        ((5, 5, 0), "n_better"),
        ((5, 0, -1), "n_tied"),
        ((5, 3, 2), "n_tied"),
    ],
)
def test_tables_at_bounds_and_beyond(tmp_path, wrong, column):
    rows = [(5, 4, 0), (5, 0, 4), (5, 3, 1), (2, 1, 0), (2, 0, 1)]
    path = tmp_path / "r.csv"
    pd.DataFrame(rows, columns=COLUMNS[:3]).to_csv(path, index=False)
    ranks = as_ranks(path)
    counts = [columns(ranks)[name] for name in COLUMNS[:3]]
    assert list(zip(*counts, strict=True)) == rows
    pd.DataFrame([*rows, wrong], columns=COLUMNS[:3]).to_csv(path, index=False)
    with pytest.raises(InputError) as caught:
        as_ranks(path)
    assert (caught.value.row, caught.value.column) == (6, column)


def test_ranks_compare_by_identity_and_are_frozen():
    for make in (lambda: Ranks([9], [1], [0]), lambda: SampledRanks([1], 9, 3)):
        ranks = make()
        assert {ranks, ranks, make()} - {ranks} != set()
        assert ranks != make()
        with pytest.raises(FrozenInstanceError):
            ranks.users = np.array([7])


def test_ranks_without_a_matrix_have_no_rows_of_it():
    single = Ranks([9, 9], [1, 0], [0, 0])
    assert (single.n_rows, single.min_relevance) == (0, 0.0)
    assert SampledRanks([1], 9, 3).n_rows == 0
    assert single.take([0]).n_rows == single.at_least(1).n_rows == 0


def test_binary_selects_items_of_at_least_a_grade():
    rng = np.random.default_rng(1)
    n_relevant = rng.integers(1, 5, 30)
    n_found = rng.integers(0, n_relevant + 1)
    better = [np.sort(rng.choice(20, k, replace=False)) for k in n_found]
    better = np.concatenate(better)
    grades = rng.integers(1, 4, n_relevant.sum())
    options = {"n_relevant": n_relevant, "n_found": n_found, "depth": np.full(30, 20)}
    graded = Ranks(np.full(30, 50), better, 0 * better, relevance=grades, **options)
    for least in (0.0, 1, 2, 3):
        binary = graded.at_least(least).binary
        rows = []
        first = first_found = 0
        for relevant, count in zip(n_relevant, n_found, strict=True):
            enough = grades[first : first + relevant] >= least
            places = better[first_found : first_found + count][enough[:count]]
            if enough.any():
                rows.append((enough.sum(), places.tolist()))
            first += relevant
            first_found += count
        assert binary.relevance is None
        assert binary.n_relevant.tolist() == [count for count, _ in rows]
        assert binary.n_found.tolist() == [len(places) for _, places in rows]
        places = [place for _, places_of_user in rows for place in places_of_user]
        assert binary.n_better.tolist() == places
