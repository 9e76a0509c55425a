"""Data as people have it: labels under other names, joined or rounded ids, truncated lists.

Each form gives the right values, a warning, or an error; none gives other values silently.
"""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import sampled_metrics as sm
from tests.helpers.cases import (
    Call,
    Case,
    Warned,
    assert_ends_as_expected,
    each_case,
    evaluate,
    ranks,
)
from tests.helpers.small_lists import means, table
from tests.helpers.world import FRAME, LISTS, RR, TEST

pytestmark = pytest.mark.filterwarnings("ignore:.*carry most of the value")


def test_item_id_list_column_is_ignored(tmp_path):
    path = tmp_path / "seq.test.inter"
    path.write_text(
        "user_id:token\titem_id_list:token_seq\titem_id:token\na\tx y z\tz\nb\tx y z\tx\n"
    )
    assert evaluate(LISTS, "rr@3", relevant=path)() == RR


@pytest.mark.parametrize("name", ["row_id", "impression_id", "ImpressionID"])
def test_rows_with_own_negatives(name):
    rows = table(
        user_id=[1] * 6 + [2] * 3,
        row=np.repeat([10, 11, 12], 3),
        item_id=[5, 6, 7, 8, 9, 4, 5, 6, 9],
        score=[0.5, 0.9, 0.1, 0.4, 0.3, 0.2, 0.1, 0.2, 0.3],
        label=[1, 0, 0] * 3,
    ).rename(columns={"row": name})
    ranks = sm.SampledRanks.from_pairs(rows, n_items=50)
    assert ranks.sampled_ranks.tolist() == [2, 1, 3]
    assert ranks.n_negatives == 2


RUN = "q1 Q0 d2 1 3.0 r\nq1 Q0 d1 2 2.0 r\nq2 Q0 d3 1 1.5 r\nq2 Q0 d9 2 1.0 r\n"
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\n"


@pytest.mark.parametrize(
    ("run", "qrels"),
    [
        pytest.param(RUN, QRELS, id="plain"),
        pytest.param("# first\n# x y z\n" + RUN, "# y\n" + QRELS, id="comments"),
        pytest.param(RUN.replace(" d1", " #d1"), QRELS.replace("d1", "#d1"), id="ids with #"),
        pytest.param(RUN.replace(" ", "\t"), QRELS.replace(" ", "  "), id="tabs"),
        pytest.param(RUN.replace("\n", "\r\n"), QRELS.replace("\n", "\r\n"), id="CRLF"),
    ],
)
def test_trec_files(tmp_path, run, qrels):
    (tmp_path / "a.run").write_bytes(run.encode())
    (tmp_path / "a.qrels").write_bytes(qrels.encode())
    results = sm.evaluate(tmp_path / "a.run", "rr@2", relevant=tmp_path / "a.qrels")
    assert means(results) == {"rr@2": (1 / 2 + 1) / 2}


@pytest.mark.parametrize("metric", ["ap", "ndcg"])
def test_truncated_lists_whole_metrics_by_hand(metric):
    places = {"ap": 1 / 3, "ndcg": 1 / (1 + 1 / np.log2(3) + 1 / 2)}
    results = sm.evaluate({"u": [20, 10, 30]}, metric, relevant={"u": [20, 1, 3]}, missing="last")
    assert means(results) == pytest.approx({metric: places[metric]})


def test_truncated_lists_equal_trec_eval():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(0)
    names = {"map": "ap", "ndcg": "ndcg", "recip_rank": "rr", "ndcg_cut_5": "ndcg@5",
             "recall_5": "recall@5"}  # fmt: skip

    def values_of_items(n_items, values):
        items = rng.choice(n_items, len(values), replace=False)
        return {f"d{i}": v.item() for i, v in zip(items, values, strict=True)}

    for _ in range(20):
        queries = [f"q{number}" for number in range(6)]
        qrels = {q: values_of_items(12, rng.integers(0, 3, 6)) | {"d12": 1} for q in queries}
        lengths = dict(zip(queries, rng.integers(0, 7, 6), strict=True))
        run = {
            q: values_of_items(14, rng.permutation(n).astype(float))
            for q, n in lengths.items()
            if n
        }
        theirs = pytrec_eval.RelevanceEvaluator(qrels, set(names)).evaluate(run)
        right = {
            ours: np.mean([theirs.get(q, {}).get(name, 0.0) for q in queries])
            for name, ours in names.items()
        }
        ours = sm.evaluate(run, ",".join(right), relevant=qrels, missing="last")
        assert means(ours) == pytest.approx(right)


@pytest.mark.parametrize(
    "relevant",
    [sparse.csr_matrix(([1], ([0], [7])), shape=(2, 9)), [[7], []], [7, -1]],
)
def test_users_without_relevant_items_are_left_out(relevant):
    results = sm.evaluate({0: [5, 7], 1: [7, 5]}, "rr@2,recall@2", relevant=relevant)
    assert means(results) == {"rr@2": 1 / 2, "recall@2": 1.0}
    assert results[0].n_users == 1


@pytest.mark.parametrize("answer", [["t2", "t0"], ["t0"], []])
def test_partial_answers(answer):
    shown = {user: [f"t{k}" for k in range(20)] for user in range(12)}
    held_out = {user: ["t0"] for user in shown}
    place = answer.index("t0") + 1 if "t0" in answer else 20
    ranks = sm.SampledRanks.from_pairs(
        {**shown, 0: answer}, held_out, n_items=300, n_negatives=19, missing="last"
    )
    assert dict(zip(ranks.users.tolist(), ranks.sampled_ranks.tolist(), strict=True))[0] == place


def test_labelled_impressions_are_complete():
    rows = pd.DataFrame(
        {
            "user_id": [1] * 4,
            "impression_id": [1, 1, 2, 2],
            "item_id": [*"abab"],
            "score": [0.9, 0.1, 0.2, 0.8],
            "clicked": [1, 0, 1, 0],
        }
    )
    assert means(sm.evaluate(rows, "rr", complete=True)) == {"rr": 3 / 4}


def test_user_ids_of_array_rows():
    ids = [[5, 7], [7, 5], [9, 7]]
    relevant = {1: [7], 2: [7], 3: [7]}
    ranks = sm.Ranks.from_top_k(ids, relevant, users=[1, 2, 3])
    assert means(sm.evaluate(ranks, "rr@2")) == pytest.approx({"rr@2": (1 / 2 + 1 + 1 / 2) / 3})
    with pytest.raises(sm.InputError, match="user 3"):
        sm.Ranks.from_top_k(ids, relevant, missing="last")


def test_object_arrays_of_text():
    ranks = sm.Ranks.from_top_k(np.array([["a", "b"], ["b", None]], object), {0: ["b"], 1: ["b"]})
    assert ranks.n_better.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("gender", ("F", "M") * 3),
        ("hour", (0, 7, 23, 14, 9, 11)),
        ("price", (0.0, 9.5, 3.25, 1.99, 5.0, 4.0)),
        ("useful", range(6)),
        ("transaction_id", (None, None, 17, 18, 19, 20)),
        ("weight", (None, 1, 0, 1, 0, 1)),
    ],
)
@pytest.mark.filterwarnings("error")
def test_columns_that_are_not_labels(name, values):
    relevant = table(user_id=[*"aaabbb"], item_id=[*"xyzxyz"], **{name: values})
    sm.evaluate(LISTS, "rr@3", relevant=relevant)


def test_invented_titles_do_not_count():
    shown = {user: [f"t{k}" for k in range(20)] for user in range(12)}
    answers = {**shown, 0: ["no such film", *shown[0][:19]]}
    held_out = {user: ["t2"] for user in shown}
    options = {
        "candidates": shown,
        "n_items": 300,
        "n_negatives": 19,
        "missing": "last",
    }
    ranks = sm.SampledRanks.from_pairs(answers, held_out, **options)
    assert ranks.sampled_ranks.tolist() == [3] * 12


def test_comments_and_ids_starting_with_hash(tmp_path):
    path = tmp_path / "lists.csv"
    path.write_text("# of x\nuser_id,item_id\nu1,b\n", encoding="utf-8")
    assert sm.evaluate(path, "rr@1", relevant={"u1": "b"})[0].value == 1.0
    path.write_text("user_id,item_id\nu1,b\n# end\n", encoding="utf-8")
    with pytest.raises(sm.InputError, match="# end"):
        sm.evaluate(path, "rr@1", relevant={"u1": "b"})
    run = tmp_path / "lists.run"
    run.write_text("#1 Q0 b 1 .9 x\nu1 Q0 b 1 .9 x\n", encoding="utf-8")
    assert sm.evaluate(run, "rr@1", relevant={"u1": "b", "#1": "b"})[0].value == 1.0


def test_table_without_header_is_refused(tmp_path):
    path = tmp_path / "u.data"
    path.write_text("1\t4\t5\t8\n2\t4\t4\t9\n", encoding="utf-8")
    with pytest.raises(sm.InputError, match="second column"):
        sm.evaluate({1: [5, 4], 2: [4, 5]}, "rr@2", relevant=path)


@pytest.mark.parametrize("n_users", [1, 2, 9])
def test_distances_of_few_lists_warn(n_users):
    k = 2 if n_users > 1 else 3
    ids = [[f"{user}-{place}" for place in range(k)] for user in range(n_users)]
    distances = [np.arange(1, k + 1) / 10] * n_users
    relevant = [[row[0]] for row in ids]

    def ranks(sign):
        scores = sign * np.array(distances)
        return sm.Ranks.from_top_k(ids, relevant, scores=scores)

    with pytest.warns(sm.InputWarning, match="contradict"):
        ranks(1.0)
    assert means(sm.evaluate(ranks(-1.0), "rr@2")) == {"rr@2": 1.0}
    lists = table(
        user_id=np.repeat(np.arange(n_users), k),
        item_id=np.concatenate(ids),
        score=np.concatenate(distances),
    )
    by_user = dict(enumerate(relevant))
    with pytest.warns(sm.InputWarning, match="distances"):
        sm.evaluate(lists, "rr@2", relevant=by_user)
    lists["score"] = -lists["score"]  # as the warning says
    assert means(sm.evaluate(lists, "rr@2", relevant=by_user)) == {"rr@2": 1.0}


@pytest.mark.parametrize(
    "without", [[], ["docid"], ["docno"], ["rank"], ["docid", "rank"], ["score"]]
)
def test_pyterrier_frame(without):
    """Frames of PyTerrier have docid, an internal number, beside docno, and ranks from 0."""
    frame = table(
        qid=["q1", "q1", "q2", "q2"],
        docid=[0, 1, 2, 3],
        docno=list("abcd"),
        rank=[0, 1, 0, 1],
        score=[0.9, 0.6, 0.8, 0.7],
    ).drop(columns=without)
    item = "docid" if "docno" in without else "docno"
    relevant = table(qid=["q1", "q2"], docno=["b", "x"], docid=[1, 9], label=[1, 1])
    relevant = relevant[["qid", item, "label"]]
    results = sm.evaluate(frame, "rr@2", relevant=relevant)
    assert means(results) == {"rr@2": 1 / 4}
    if {"docid", "docno"} <= {*frame}:
        assert any("not read" in note and "docid" in note for note in results.notes)


@pytest.mark.parametrize("complete", [True, False])
def test_ranks_named_prediction_warn(complete):
    """Data as in evidently; the item of user 1 is 1st, that of user 2 is 3rd."""
    ranks = table(
        user_id=[1, 1, 1, 2, 2, 2],
        item_id=list("abcabc"),
        prediction=[3, 1, 2, 1, 2, 3],
        target=[0, 1, 0, 0, 0, 1],
    )
    relevant = {1: ["b"], 2: ["c"]}
    data, options = ranks, {"complete": True}
    if not complete:
        data, options = ranks.drop(columns="target"), {"relevant": relevant}
    with pytest.warns(sm.InputWarning, match="if they are ranks"):
        sm.evaluate(data, "rr@3", **options)
    with pytest.warns(sm.InputWarning, match="if they are ranks"):
        sm.correct(ranks, "recall@1", "sampled", n_items=9)
    named = data.rename(columns={"prediction": "rank"})
    results = sm.evaluate(named, "rr@3", relevant=relevant)  # as the warning says
    assert means(results) == pytest.approx({"rr@3": (1 + 1 / 3) / 2})


def test_predictions_that_are_not_ranks():
    lists = table(user_id=[1, 1, 2, 2], item_id=list("abab"), prediction=[2, 1, 5, 4])
    results = sm.evaluate(lists, "rr@2", relevant={1: ["b"], 2: ["a"]})
    assert means(results) == {"rr@2": (1 / 2 + 1) / 2}
    lists = lists.rename(columns={"prediction": "score"}).assign(score=[2, 1, 2, 1])
    results = sm.evaluate(lists, "rr@2", relevant={1: ["b"], 2: ["a"]})
    assert means(results) == {"rr@2": (1 / 2 + 1) / 2}


def test_lightfm_tied_items_remedies():
    """User 0 has ranks of 3 items, 2 of them tied, and 11 users of one each; ranks start at 0."""
    users = np.array([0, 0, 0, *range(1, 12)])
    items = np.array([0, 2, 4, *range(1, 12)])
    from_0 = np.array([0, 3, 3, *[2] * 11], "f4")
    ranks = sparse.csr_array((from_0, (users, items)), shape=(12, 23))
    test = sparse.csr_array((np.ones(14), (users, items)), shape=(12, 23))
    with pytest.raises(sm.InputError, match=r"from_ranks\(ranks.data \+ 1, n_items"):
        sm.evaluate(ranks, "rr", relevant=test)
    with pytest.raises(sm.InputError, match="pass n_candidates, n_better"):
        sm.Ranks.from_ranks(ranks.data + 1, 23, users=ranks.tocoo().row)
    counts = table(user_id=ranks.tocoo().row, n_candidates=23, n_better=ranks.data.astype(int))
    level = counts.groupby(["user_id", "n_better"])["n_better"]
    counts["n_tied"] = level.transform("size") - 1
    results = sm.evaluate(counts, "recall@3, recall@5, rr")
    assert means(results) == pytest.approx(
        {"recall@3": (1 / 3 + 11) / 12, "recall@5": 1.0, "rr": (1 + 11 / 3) / 12}
    )
    different = ranks.data[[0, *range(3, 14)]] + 1
    results = sm.evaluate(sm.Ranks.from_ranks(different, 23, users=np.arange(12)), "rr")
    assert means(results) == pytest.approx({"rr": (1 + 11 / 3) / 12})


LABELS = np.array([1, 0] * 2)
TWO_EACH = pd.DataFrame({"user_id": [*"aabb"], "item_id": ["z", "y", "x", "y"]})
LABELLED_TWO = TWO_EACH.assign(label=LABELS)  # the held-out items, and y of both users
K_LISTS = {1: ["k11", "k12", "k13"], 2: ["k12", "k11", "k13"]}
K_SPLIT = table(user_id=[1, 1, 2], item_id=["k12", "k13", "k13"])  # 1 of 2, and 0 of 1
TWICE = FRAME.assign(docid=FRAME["item_id"].str.upper())
PLACES_FROM_0 = FRAME.assign(rank=[0, 1, 2, 0, 1, 2]).drop(columns="score")
FROM_1 = PLACES_FROM_0.assign(rank=PLACES_FROM_0["rank"] + 1)
SHUFFLED = FROM_1.iloc[[2, 1, 0, 5, 4, 3]]
NUMBERED = FRAME.replace({"user_id": {"a": 1, "b": 2}}).reset_index(names="row_id")
MANY = table(user_id=np.repeat(np.arange(20), 3), item_id=np.arange(60), score=[0, 1, 2] * 20)
FIRST_OF_MANY = {user: [3 * user] for user in range(20)}  # the least, of score 0
OF_TWO = {"relevant": {1: [7], 2: [8]}}
LEADING = table(user_id=[1, 1, 2, 2], item_id=["007", "8", "8", "9"])  # not the number 7


def labelled(**columns: Any) -> Call:
    """Return the evaluation of lists with a table of two rows for each user."""
    return evaluate(LISTS, "rr@3", relevant=TWO_EACH.assign(**columns))


AS_LABEL = {"relevant": LABELLED_TWO}
CASES = [
    *(Case(f"labels called {name}", labelled(**{name: LABELS}), Warned(f"column {name} .*label"),
           AS_LABEL, RR) for name in ("y_true", "is_click", "bought", "liked", "weight")),
    *(Case(f"labels of {values}", labelled(grade=values), Warned("column grade .*label"), AS_LABEL,
           RR) for values in ([3, 0, 2, 0], ["1", "0"] * 2, ["yes", "no"] * 2, [1, None] * 2,
                              [7, 0, 12, 0], [-1, 1] * 2)),
    Case("gaps beside one value", labelled(weight=[None, 1, 1, 1]), Warned("column weight")),
    Case("label of one value beside another", labelled(clicked=1, purchased=LABELS),
         Warned("column purchased .*label"), AS_LABEL, RR),
    Case("seen items of label 0", evaluate(LISTS, "rr@2", relevant={"a": ["z"], "b": ["z"]},
             seen=table(user_id=["a", "b"], item_id=["y", "y"], label=[0, 1])),
         Warned("rows of label 0 do not count as seen"),
         {"seen": table(user_id=["a", "b"], item_id=["y", "y"])}, 1),
    # ids
    *(Case(f"ids joined as {joined}",
           evaluate(K_LISTS, "recall@2", relevant=table(user_id=[1, 2], item_id=[joined, "k13"])),
           Warned("several ids"), {"relevant": K_SPLIT}, (1 / 2 + 0) / 2)
      for joined in ("k12 k13", "k12|k13", "k12,k13", "['k12', 'k13']", "k12;k13", "k12::k13",
                     "k12/k13", "k12-k13", "k12_k13", "k12+k13", "k12-1 k13-0", "[k12 k13]")),
    *(Case(f"numbers joined as {joined}", evaluate({1: [11, 12, 13], 2: [12, 11, 13]}, "recall@2",
           relevant=table(user_id=[1, 2], item_id=[joined, "13"])), Warned("several ids"),
           {"relevant": {1: [12, 13], 2: [13]}}, (1 / 2 + 0) / 2)
      for joined in ("12 13", "12|13", "12,13", "12;13", "[12 13]")),
    Case("zeros before", evaluate(LEADING, "rr@2", relevant=table(user_id=[1, 2], item_id=[7, 8])),
         Warned("found '007' and 7; are these the same id"),
         {"data": LEADING.replace("007", "7")}, 1),
    *(Case(f"{text} and {number}", evaluate(LEADING.replace("007", text), "rr@2",
           relevant=table(user_id=[1, 2], item_id=[number, 8])), Warned("are these the same id"),
           {"data": LEADING.replace("007", str(number))}, 1)
      for text, number in (("5.0", 5), ("1e5", 100_000), ("+7", 7))),
    Case("blank after an id", evaluate({"a": ["x ", "y"]}, "rr@2", relevant={"a": ["x"]}),
         "without control characters or blanks", {"data": {"a": ["x", "y"]}}, 1),
    *(Case(f"ids rounded to {kind}", evaluate({1: [first, first + 2]}, "rr@2",
           relevant=table(user_id=[1], item_id=np.array([first + 2], kind))),
           f"column item_id: .*{kind}", {"relevant": {1: [first + 2]}}, 1 / 2)
      for kind, first in (("float16", 2**11 + 1), ("float32", 2**24 + 1))),
    Case("two columns of items", evaluate(TWICE, "rr@3", relevant=TEST), Warned("docid"),
         {"data": FRAME}, RR),
    Case("numbers of rows", evaluate(NUMBERED, "rr@3", relevant={1: ["z"], 2: ["x"]}),
         "each row has its own row_id.*drop it", {"data": NUMBERED.drop(columns="row_id")},
         RR),
    # the order
    *(Case(f"ranks called {name}", evaluate(SHUFFLED.rename(columns={"rank": name}), "rr@3",
           relevant=TEST), f"column {name} may contain scores or ranks.* name it score or rank",
           {"data": SHUFFLED}, RR) for name in ("position", "pos", "place", "order", "k")),
    *(Case(f"ranks {places}", evaluate(PLACES_FROM_0.assign(rank=places), "rr@3", relevant=TEST),
           "rank", {"data": FROM_1}, RR)
      for places in ([0, 1, 2, 1, 2, 3], [0, 1, 2, 0, 1, 3], [0, 1, 2, 3, 4, 5])),
    Case("ranks as scores", evaluate(MANY.assign(score=MANY["score"] + 1), "hit@1",
             relevant=FIRST_OF_MANY), Warned("if they are ranks, name them rank"),
         {"data": MANY.assign(rank=MANY["score"] + 1).drop(columns="score")}, 1),
    Case("distances as scores", evaluate(MANY.assign(score=MANY["score"] + 1.5), "hit@1",
             relevant=FIRST_OF_MANY), Warned("if they are distances"),
         {"data": MANY.assign(score=-MANY["score"] - 1.5)}, 1),
    Case("distances of arrays", evaluate((np.array([[0.1, 0.2, 0.3]] * 3),
             np.array([[5, 6, 7]] * 3)), "rr@3", relevant=[5] * 3), Warned("contradict the order"),
         {"data": (-np.array([[0.1, 0.2, 0.3]] * 3), np.array([[5, 6, 7]] * 3))}, 1),
    Case("item after -1", ranks(sm.Ranks.from_top_k, [[5, -1, 7], [7, 5, 6]], [[7], [7]],
             metrics="rr@3"), "row 1: found an item after -1",
         {"ids": [[5, 900, 7], [7, 5, 6]]}, (1 / 3 + 1) / 2),
    Case("score of nan", ranks(sm.Ranks.from_top_k, [[5, 7]], [[5]], scores=[[np.nan, 0.3]]),
         "row 1, column scores: found nan"),
    Case("nan in a list", evaluate({"u": [np.nan, "b"]}, "rr@2", relevant={"u": ["b"]}),
         "no item .* at rank 1"),
    # columns that are missing
    Case("no users", evaluate(table(customer_id=["c1"], prediction=["11 12"]), "rr@2", **OF_TWO),
         "user_id"),
    Case("items in columns of ids", evaluate(table(user_id=[1, 2], rec_0=[5, 7], rec_1=[7, 5]),
         "rr@2", **OF_TWO), "item_id"),
    Case("items in columns of scores", evaluate(table(user_id=[1, 2], x=[0.5, 0.7], y=[0.7, 0.5]),
         "rr@2", **OF_TWO), "item_id"),
]  # fmt: skip


@each_case(CASES)
def test_data_of_others_is_refused_or_warned_about(case: Case) -> None:
    assert_ends_as_expected(case)
