"""Roles of columns: known names, names that the caller gives, and columns that are not read."""

import json
from itertools import cycle
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sampled_metrics as sm
from sampled_metrics.cli import app
from sampled_metrics.read import large_files
from sampled_metrics.read.items import items_by_id
from sampled_metrics.read.roles import ROLES, find_roles
from sampled_metrics.read.tables import Table
from tests.helpers.cases import (
    Case,
    assert_ends_as_expected,
    call_of,
    correct,
    each_case,
    evaluate,
    ranks,
)
from tests.helpers.caught_warnings import warns_about
from tests.helpers.files import write_file
from tests.helpers.results import refusal, value_of, values

LISTS = pd.DataFrame(
    {
        "who": [1, 1, 1, 2, 2, 2],
        "code": [7, 8, 9, 9, 8, 7],
        "strength": [3.0, 2.0, 1.0, 5.0, 4.0, 3.0],
    }
)
TEST = pd.DataFrame({"who": [1, 2], "code": [8, 9]})  # at ranks 2 and 1
LIST_COLUMNS = {"user": "who", "item": "code", "score": "strength"}
ID_COLUMNS = {"user": "who", "item": "code"}
PAIRS = LISTS.assign(truth=[0, 1, 0, 1, 0, 0])
SEEN = pd.DataFrame({"who": [1, 2], "code": [9, 7]})
RANKS = pd.DataFrame({"who": [1, 2], "place": [2, 1]})
RANK_COLUMNS = {"user": "who", "rank": "place"}
PAIR_COLUMNS = {**LIST_COLUMNS, "label": "truth"}
SAMPLES = pd.DataFrame({"who": [1, 2], "place": [2, 1], "draws": 5, "all": 90})
SAMPLE_COLUMNS = {
    "user": "who",
    "sampled_rank": "place",
    "n_negatives": "draws",
    "n_candidates": "all",
}


def reciprocal_rank(data, **options):
    return value_of(sm.evaluate(data, "rr", **options))


ARRAY = np.array([[3.0, 2.0, 1.0], [3.0, 4.0, 5.0]])
RR, HIT_1 = (1 / 2 + 1) / 2, (0 + 1) / 2
BY_LIST, BY_PAIR, BY_ID = (
    {"columns": columns} for columns in (LIST_COLUMNS, PAIR_COLUMNS, ID_COLUMNS)
)
BY_RANK, BY_SAMPLE = {"columns": RANK_COLUMNS}, {"columns": SAMPLE_COLUMNS}
TWO_LISTS = {"A": LISTS, "B": LISTS.assign(strength=[3.0, 1.0, 2.0, 5.0, 3.0, 4.0])}


def hit_1(constructor, *arguments, **options):
    """Return the share of first ranks of a sample."""
    made = call_of(constructor, *arguments, **options)
    return made._replace(value=lambda sample: np.mean(sample.sampled_ranks == 1))


CASES = [
    Case("evaluate lists", evaluate(LISTS, relevant=TEST, **BY_LIST), RR),
    Case("evaluate pairs", evaluate(PAIRS, complete=True, **BY_PAIR), RR),
    Case("evaluate ranks", evaluate(RANKS, n_items=9, **BY_RANK), RR),
    Case("a dictionary of columns",
         evaluate(LISTS.to_dict("list"), relevant=TEST, **BY_LIST), RR),
    Case("beside scores", evaluate([[3.0, 9.0, 1.0], [1.0, 2.0, 3.0]],
         relevant=pd.DataFrame({"who": [0, 1], "code": [0, 2]}), **BY_ID), RR),
    Case("values_by_user", call_of(sm.values_by_user, LISTS, "rr", relevant=TEST, **BY_LIST)
         ._replace(value=lambda table: table["rr"].tolist()), [1 / 2, 1]),
    Case("from_lists", ranks(sm.Ranks.from_lists, LISTS, TEST, **BY_LIST), RR),
    Case("from_pairs", ranks(sm.Ranks.from_pairs, PAIRS, **BY_PAIR), RR),
    Case("from_table", ranks(sm.Ranks.from_table, RANKS, 9, **BY_RANK), RR),
    Case("from_ranks", ranks(sm.Ranks.from_ranks, RANKS, 9, **BY_RANK), RR),
    Case("from_top_k", ranks(sm.Ranks.from_top_k, [[7, 8], [9, 8]], TEST, users=[1, 2], **BY_ID),
         RR),
    Case("rank", ranks(sm.rank, ARRAY, None, TEST, users=[1, 2], items=[7, 8, 9], **BY_ID), RR),
    Case("correct pairs", correct(PAIRS, metrics="recall@1", **BY_PAIR), HIT_1),
    Case("correct samples", correct(SAMPLES, metrics="hr@1", **BY_SAMPLE), HIT_1),
    Case("SampledRanks.from_pairs", hit_1(sm.SampledRanks.from_pairs, PAIRS, n_items=50, **BY_PAIR),
         HIT_1),
    Case("SampledRanks.from_table", hit_1(sm.SampledRanks.from_table, SAMPLES, **BY_SAMPLE), HIT_1),
    Case("compare", call_of(sm.compare, TWO_LISTS, "rr", relevant=TEST, **BY_LIST)
         ._replace(value=lambda results: results[0].value_a), RR),
    Case("plan", call_of(sm.plan, RANKS, RANKS, "hr@1", n_items=9, sizes=[5], **BY_RANK)
         ._replace(value=lambda plans: plans[0].exact_a), HIT_1),
]  # fmt: skip


@each_case(CASES)
def test_named_columns_are_read(case):
    assert_ends_as_expected(case)


def test_negatives_read_named_columns():
    seen = pd.DataFrame({"who": [1, 2], "code": [7, 8]})
    sample = sm.negatives(TEST, seen, 1, columns=ID_COLUMNS)
    sample = sample.rename(columns={"user_id": "who", "item_id": "code"})
    checks = sm.check_negatives(sample, TEST, seen, columns=ID_COLUMNS)
    assert checks[0].passed


def test_budget_reads_named_columns():
    scores = pd.DataFrame(ARRAY, [1, 2], [7, 8, 9])
    options = {"relevant": TEST, "seen": SEEN, "columns": ID_COLUMNS, "budget": 2}
    results = sm.evaluate_on_budget(scores, "hr@1", **options)
    assert results.estimates[0][0].value == 0.5


def test_report_reads_named_columns(tmp_path):
    page = tmp_path / "page.html"
    sm.report({"mine": RANKS}, page, n_items=9, columns=RANK_COLUMNS)
    assert page.exists()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_command_reads_named_columns(suffix, tmp_path, run, refusal_line):
    lists, test = tmp_path / f"lists.{suffix}", tmp_path / f"test.{suffix}"
    for path, table in ((lists, LISTS), (test, TEST)):
        table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    options = [f"--column={role}={name}" for role, name in LIST_COLUMNS.items()]
    arguments = ["evaluate", lists, "--relevant", test]
    arguments += ["--metric", "rr", "--format", "csv"]
    assert ",0.75," in run(*arguments, *options).stdout
    assert "item=docno" in refusal_line(*arguments, *options[:-1], "--column=score")


def test_given_name_wins_over_known_name():
    lists = LISTS.assign(item_id=range(6), score=-1.0)
    assert reciprocal_rank(lists, relevant=TEST, columns=LIST_COLUMNS) == RR


def test_table_without_the_given_names_is_read_by_known_ones():
    test = TEST.rename(columns={"who": "user_id", "code": "asin"})
    assert reciprocal_rank(LISTS, relevant=test, columns=LIST_COLUMNS) == RR


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"thing": "code"}, r"'thing'.*user, item"),
        ({**LIST_COLUMNS, "label": "docno"}, r"'docno'.*who, code, strength"),
        ({**LIST_COLUMNS, "rank": "code"}, "two roles"),
        ("item=code", "columns"),
        ([("item", "code")], "columns"),
        ({"item": 3}, "columns"),
        ({3: "code"}, "columns"),
    ],
)
def test_unknown_role_or_name_is_refused(columns, named):
    with pytest.raises(sm.InputError, match=named):
        sm.evaluate(LISTS, "rr", relevant=TEST, columns=columns)


def test_names_of_one_call_do_not_affect_the_next():
    assert reciprocal_rank(LISTS, relevant=TEST, columns=LIST_COLUMNS) == RR
    with pytest.raises(sm.InputError, match="who"):
        sm.evaluate(LISTS, "rr", relevant=TEST)


@pytest.mark.parametrize(
    ("relevant", "named"),
    [
        (pd.DataFrame({"who": [1], "code": [7]}), "relevant.*who, code"),
        (pd.DataFrame({"who": [1], "code": [7], "title": "x"}), "relevant.*who, code"),
        (pd.DataFrame({"user_id": [1], "code": [7]}), r"columns=\{'item': NAME\}"),
    ],
    ids=["no role", "no role and a text", "no item"],
)
def test_missing_roles_are_named_together(relevant, named):
    with pytest.raises(sm.InputError, match=named):
        sm.evaluate({1: [7]}, "rr", relevant=relevant)


def test_visit_column_can_be_named():
    lists = LISTS.assign(who=1, when=LISTS["who"])
    test = TEST.assign(who=1, when=TEST["who"])
    names = {**LIST_COLUMNS, "visit": "when"}
    (result,) = sm.evaluate(lists, "rr", relevant=test, columns=names)
    assert (result.value, result.n_users, result.n_visits) == (0.75, 1, 2)


@pytest.mark.parametrize("role", sorted(ROLES.keys() - {"rank"}))  # which RANK_COLUMNS name
def test_every_role_can_be_named(role):
    """A column that the table lacks is refused by its name, so the role is known."""
    with pytest.raises(sm.InputError, match="'absent'"):
        sm.evaluate(RANKS, "rr", n_items=9, columns={**RANK_COLUMNS, role: "absent"})


# Known names

PATH = Path("t")


@pytest.mark.parametrize(
    ("names", "known"),
    [
        (["user_id", "item_id"], ["user_id", "item_id"]),
        (["User", "MOVIE_ID"], ["user_id", "item_id"]),
        # an alias only counts where no column has the name itself
        (["uid", "user_id"], [None, "user_id"]),
        (["user_id:token", "item_id:token", "score:float"], ["user_id", "item_id", "score"]),
        (["user_id", " item "], ["user_id", "item_id"]),
        (["user", "pred", "est"], ["user_id", "score", None]),
        (["user", "est", "Prediction"], ["user_id", None, "score"]),
        (["user", "est", "rank"], ["user_id", None, "rank"]),
        (["user", "rating", "relevance"], ["user_id", None, "relevance"]),
        (["user", "rating", "n_tied"], ["user_id", "score", "n_tied"]),
        (["rank", "score_x"], ["rank", None]),
        (["user", "Clicked"], ["user_id", "label"]),
        (["label", "target"], ["label", None]),
        (["impression_id", "docid"], ["visit_id", "item_id"]),
    ],
)  # fmt: skip
def test_known_names_give_roles(names, known):
    assert find_roles(names) == known


@pytest.mark.parametrize(
    ("names", "roles", "known"),
    [
        (["user", "est", "item"], ["user_id"], ["user_id", None, None]),
        (["user", "user"], ["rank"], [None, None]),
    ],
)
def test_names_of_other_roles_are_left(names, roles, known):
    assert find_roles(names, roles) == known


@pytest.mark.parametrize("names", [["user", "uid"], ["rank", "rank"], ["rank", "rank:float"]])
def test_two_columns_of_one_role_are_refused(names):
    table = pa.table([pa.array([1]), pa.array([1])], names=names)
    assert "duplicate column" in refusal(Table.from_arrow, PATH, table).problem


@pytest.mark.parametrize(
    "header",
    [
        *("user,item", "userId,movieId", "UserID,ItemID", "uid,iid"),
        "user_id:token,item_id",
    ],
)
def test_names_of_other_libraries_are_known(header, tmp_path):
    path = write_file(tmp_path, "t.csv", f"{header},day\n7,3,5\n8,4,1\n")
    frame = pd.read_csv(path)
    frame.to_parquet(tmp_path / "t.parquet")
    for data in (path, frame, tmp_path / "t.parquet"):
        pairs = items_by_id(data, "relevant")
        assert pairs.user_ids.to_pylist() == [7, 8]
        assert pairs.item_ids.to_pylist() == [3, 4]


def test_own_name_comes_first(tmp_path):
    """Of three rows, one has a relevance above 0; its user is 2 and not 1."""
    text = "user,user_id,item_id,relevance\n1,2,3,0.5\n1,9,3,0\n1,8,3,-1\n"
    path = write_file(tmp_path, "t.csv", text)
    with warns_about("column user "):
        relevant = items_by_id(path, "relevant")
    assert relevant.user_ids.to_pylist() == [2]
    assert relevant.relevance.tolist() == [0.5]


def test_two_aliases_of_one_role_are_refused(tmp_path):
    path = write_file(tmp_path, "t.csv", "user,uid,item_id\n1,2,3\n")
    with pytest.raises(sm.InputError, match="column user_id"):
        items_by_id(path, "relevant")


# Unknown names


def hit_rate(lists, held_out):
    return pytest.approx(value_of(sm.evaluate(lists, "hit@3", relevant=held_out)))


def ranked_lists():
    """Return lists of users, best first, held-out items, and the hit rate at 3 by hand."""
    n_users, n_items, k = 60, 40, 8
    rng = np.random.default_rng(5)
    lists = np.array([rng.permutation(n_items)[:k] for _ in range(n_users)])
    held_out = np.array([row[min(int(rng.exponential(3)), k - 1)] for row in lists])
    held_out[::3] = n_items + 1
    hits = [item in row[:3] for item, row in zip(held_out, lists, strict=True)]
    users = np.arange(n_users)
    frame = pd.DataFrame({"user_id": users.repeat(k), "item_id": lists.ravel()})
    frame["place"] = np.tile(np.arange(k), n_users)
    frame["strength"] = 1000 - 100 * frame["place"] + rng.integers(0, 50, len(frame))
    relevant = pd.DataFrame({"user_id": users, "item_id": held_out})
    return frame, relevant, np.mean(hits)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("count", int),
        ("votes", "uint16"),
        ("bm25", str),
        ("similarity", "category"),
        ("distance", str),
    ],
)
def test_unknown_numbers_beside_shuffled_lists_are_refused(name, kind):
    frame, held_out, _ = ranked_lists()
    lists = frame[["user_id", "item_id"]].assign(**{name: frame["strength"].astype(kind)})
    with pytest.raises(sm.InputError, match=name):
        sm.evaluate(lists.sample(frac=1, random_state=0), "hit@3", relevant=held_out)


def test_numbers_called_score_decide_the_order_of_shuffled_lists():
    frame, held_out, right = ranked_lists()
    lists = frame.rename(columns={"strength": "score"})[["user_id", "item_id", "score"]]
    assert hit_rate(lists.sample(frac=1, random_state=0), held_out) == right


@pytest.mark.parametrize("name", ["count", "bm25"])
def test_unknown_numbers_beside_lists_best_first_are_not_needed(name):
    frame, held_out, right = ranked_lists()
    lists = frame[["user_id", "item_id"]].assign(**{name: frame["strength"]})
    assert hit_rate(lists, held_out) == right


@pytest.mark.parametrize("name", ["count", "bm25"])
def test_unknown_numbers_beside_shuffled_rows_of_each_user_warn(name):
    frame, held_out, _ = ranked_lists()
    lists = frame[["user_id", "item_id"]].assign(**{name: frame["strength"]})
    with warns_about(name):
        by_user = lists.sample(frac=1, random_state=0).sort_values("user_id")
        sm.evaluate(by_user, "hit@3", relevant=held_out)


def test_lists_may_be_sorted_by_place():
    """The first items of all users, then the second ones, and so on."""
    frame, held_out, right = ranked_lists()
    by_place = frame.sort_values("place", kind="stable")[["user_id", "item_id"]]
    assert hit_rate(by_place, held_out) == right


def test_mixed_rows_of_users_warn():
    frame, held_out, _ = ranked_lists()
    lists = frame[["user_id", "item_id"]]
    with warns_about("mixed"):
        sm.evaluate(lists.sample(frac=1, random_state=0), "hit@3", relevant=held_out)


def lists_with_items_called(name):
    frame, held_out, right = ranked_lists()
    lists = frame.assign(rank=frame["place"] + 1)[["user_id", "item_id", "rank"]]
    return lists.rename(columns={"item_id": name}), held_out, right


@pytest.mark.parametrize("options", [{}, {"missing": "refuse"}], ids=["", "missing"])
def test_unknown_item_column_beside_ranks_is_refused(options):
    lists, _, _ = lists_with_items_called("thing")
    with pytest.raises(sm.InputError, match="thing"):
        sm.evaluate(lists, "hit@3", n_items=60, **options)


def test_unknown_item_column_beside_relevant_items_is_refused():
    lists, held_out, _ = lists_with_items_called("thing")
    with pytest.raises(sm.InputError, match="user_id, thing"):
        sm.evaluate(lists, "hit@3", relevant=held_out)


def test_known_item_column_is_read():
    lists, held_out, right = lists_with_items_called("item_id")
    assert hit_rate(lists, held_out) == right


ITEM_NAMES = [
    "docno", "asin", "parent_asin", "video_id", "article_id", "news_id", "track_id",
    "song_id", "product_id", "business_id", "doc_id", "movieId", "ItemID",
]  # fmt: skip
USER_NAMES = ["customer_id", "visitorid", "reviewerID", "qid"]


@pytest.mark.parametrize(("name", "user"), [*zip(ITEM_NAMES, cycle(USER_NAMES), strict=False)])
def test_usual_names_of_users_and_items_are_known(name, user):
    lists, held_out, right = lists_with_items_called("item_id")
    names = {"item_id": name, "user_id": user}
    assert hit_rate(lists.rename(columns=names), held_out.rename(columns=names)) == right


@pytest.mark.parametrize("name", ITEM_NAMES)
def test_ranks_of_items_need_relevant_ones(name):
    lists, _, _ = lists_with_items_called(name)
    with pytest.raises(sm.InputError, match="pass relevant"):
        sm.evaluate(lists, "hit@3", n_items=60)


def test_two_item_columns_are_refused():
    row = {"user_id": [1], "asin": ["a"], "parent_asin": ["b"], "rank": [1]}
    table = pd.DataFrame(row)
    with pytest.raises(sm.InputError, match="asin and parent_asin"):
        sm.evaluate(table, "hit@1", relevant={1: ["a"]})


@pytest.fixture
def titled_lists():
    """Lists with titles, held-out items with a day, and the hit rate at 3 by hand."""
    lists, held_out, right = lists_with_items_called("item_id")
    return lists.assign(title="t"), held_out.assign(day=3), right


def test_unread_columns_are_noted(titled_lists):
    lists, held_out, right = titled_lists
    results = sm.evaluate(lists, "hit@3", relevant=held_out)
    assert results.notes == ["data: not read: title", "relevant: not read: day"]
    assert values(results) == pytest.approx([right])


def test_unread_columns_are_printed_and_no_warning(titled_lists):
    lists, held_out, _ = titled_lists
    printed = str(sm.evaluate(lists, "hit@3", relevant=held_out))
    assert "title" in printed
    assert "warning:" not in printed


def test_unread_columns_of_a_file_are_noted_with_its_path(titled_lists, tmp_path):
    """The first column is the index, without a name."""
    lists, held_out, right = titled_lists
    path = tmp_path / "lists.csv"
    lists.to_csv(path)
    results = sm.evaluate(path, "hit@3", relevant=held_out)
    assert results.notes == [f"{path}: not read: title", f"{path}, relevant: not read: day"]
    assert values(results) == pytest.approx([right])


def test_unread_columns_are_noted_for_each_recommender(titled_lists):
    lists, held_out, _ = titled_lists
    other = lists.assign(x=1, rank=9 - lists["rank"])
    notes = sm.compare({"a": lists, "b": other}, "hit@3", relevant=held_out).notes
    assert {"a, data: not read: title", "b, data: not read: title, x"} <= set(notes)


@pytest.mark.parametrize("columns", [["user_id", "item_id", "rank"], ["user_id", "item_id"]])
def test_columns_that_are_read_are_not_noted(titled_lists, columns):
    lists, held_out, _ = titled_lists
    held_out = held_out.drop(columns="day")
    assert sm.evaluate(lists[columns], "hit@3", relevant=held_out).notes == []


UNREAD = pd.DataFrame({"user_id": [1, 2], "rank": [1, 4], "title": ["a", "b"]})
UNREAD_COUNTS = UNREAD.assign(n_candidates=9, n_better=[0, 3], n_tied=0)
UNREAD_PAIRS = pd.DataFrame({"user_id": 1, "score": [2.0, 1.0], "label": [1, 0], "day": 5})
UNREAD_SAMPLES = pd.DataFrame({"user_id": [1, 2], "sampled_rank": [1, 2], "n": 4})
UNREAD_LISTS = UNREAD_PAIRS.drop(columns="day").assign(item_id=[5, 6], label=[0, 1])
OF_SAMPLES = {"estimators": "sampled", "n_items": 90, "n_negatives": 5}


@pytest.mark.parametrize(
    ("call", "data", "options", "notes"),
    [
        (sm.evaluate, UNREAD, {"n_items": 9}, ["data: not read: title"]),
        (sm.evaluate, UNREAD_COUNTS, {}, ["data: not read: rank, title"]),
        (sm.evaluate, UNREAD_PAIRS, {"complete": True}, ["data: not read: day"]),
        (sm.correct, UNREAD_SAMPLES, OF_SAMPLES, ["data: not read: n"]),
        (sm.evaluate, UNREAD_LISTS, {"relevant": UNREAD_LISTS},
         ["data: not read: label", "relevant: not read: score"]),
    ],
    ids=["ranks", "counts", "pairs", "samples", "lists"],
)  # fmt: skip
def test_unread_columns_of_each_table_are_noted(call, data, options, notes):
    assert call(data, "hr@1", **options).notes == notes


@pytest.mark.filterwarnings("ignore:.*the largest rank is")
@pytest.mark.parametrize("kind", ["ranks", "counts"])
def test_unread_columns_of_a_file_read_in_parts_are_noted(tmp_path, monkeypatch, kind):
    rank = np.arange(200) % 90 + 1
    ranks = pd.DataFrame({"user_id": np.arange(200), "rank": rank, "title": "t"})
    if kind == "counts":
        ranks = ranks.assign(n_candidates=97, n_better=rank - 1, n_tied=0)
    path = tmp_path / "ranks.parquet"
    ranks.to_parquet(path)
    whole = sm.evaluate(path, "rr", n_items=97)
    monkeypatch.setattr(large_files, "LARGE_FILE_ROWS", 100)
    monkeypatch.setattr(large_files, "ROWS_AT_A_TIME", 70)
    in_parts = sm.evaluate(path, "rr", n_items=97)
    unread = {"ranks": "title", "counts": "rank, title"}[kind]
    for result in (whole, in_parts):
        assert f"{path}: not read: {unread}" in result.notes
        assert values(result) == pytest.approx([np.mean(1 / rank)])


def test_columns_command_lists_known_names(capsys):
    app(["columns", "--format", "json"], standalone_mode=False)
    rows = {row["column"]: row["names"] for row in json.loads(capsys.readouterr().out)}
    assert rows.keys() == ROLES.keys()
    for column, names in rows.items():
        for name in filter(None, names.split(", ")):
            assert find_roles([name]) == [column]


@pytest.mark.parametrize(
    "names",
    [
        ("qid", "pid", "rank"),  # MS MARCO
        ("query", "docid", "rank"),  # evaluate of Hugging Face
    ],
)
def test_names_of_runs_are_known(names):
    run = pd.DataFrame([(1, "a", 1), (1, "b", 2)], columns=names)
    assert values(sm.evaluate(run, "rr@2", relevant={1: ["b"]})) == [1 / 2]


def test_text_of_a_query_is_not_its_id():
    run = pd.DataFrame({"qid": 1, "query": "a title", "pid": ["a", "b"], "score": [2.0, 1.0]})
    assert values(sm.evaluate(run, "rr@2", relevant={1: ["b"]})) == [1 / 2]


def test_names_of_torchmetrics_are_known():
    """Above the irrelevant items: .5 of query 0; .3 and .2 of query 1 above .1, but not .5."""
    pairs = {
        "indexes": [0, 0, 0, 1, 1, 1, 1],
        "preds": [0.2, 0.3, 0.5, 0.1, 0.3, 0.5, 0.2],
        "target": [0, 0, 1, 0, 1, 0, 1],
    }
    assert values(sm.evaluate(pairs, "auc", complete=True)) == [(2 / 2 + 2 / 4) / 2]
