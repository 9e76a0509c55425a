"""Data as people have it: labels under other names, joined or rounded ids, truncated lists.

Each gives the right value, a warning, or a refusal; none gives other values silently. Data and
values that are named here and not defined are those of tests/helpers/world.py.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import sampled_metrics as sm
from tests.helpers.cases import (
    OMIT,
    Call,
    Case,
    Warned,
    assert_ends_as_expected,
    call_of,
    correct,
    each_case,
    evaluate,
    ranks,
)
from tests.helpers.results import refusal_message, values_by_metric
from tests.helpers.world import FRAME, LISTS, RR, TEST

pytestmark = pytest.mark.filterwarnings("ignore:.*carry most of the value")

# Files


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_column_of_lists_of_items_is_not_that_of_items(tmp_path: Path) -> None:
    text = "user_id:token\titem_id_list:token_seq\titem_id:token\na\tx y z\tz\nb\tx y z\tx\n"
    assert evaluate(LISTS, "rr@3", relevant=write(tmp_path / "seq.test.inter", text))() == RR


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
def test_trec_files(tmp_path: Path, run: str, qrels: str) -> None:
    """d1 is the second document of q1, and d3 the first of q2."""
    files = write(tmp_path / "a.run", run), write(tmp_path / "a.qrels", qrels)
    assert evaluate(files[0], "rr@2", relevant=files[1])() == (1 / 2 + 1) / 2


def test_hash_begins_comments_above_a_table_and_ids(tmp_path: Path) -> None:
    of_b = {"metrics": "rr@1", "relevant": {"a": "z"}}
    above = write(tmp_path / "above.csv", "# of x\nuser_id,item_id\na,z\n")
    assert evaluate(above, **of_b)() == 1
    below = write(tmp_path / "below.csv", "user_id,item_id\na,z\n# end\n")
    assert "# end" in refusal_message(evaluate(below, **of_b))
    run = write(tmp_path / "lists.run", "#1 Q0 z 1 .9 x\na Q0 z 1 .9 x\n")
    assert evaluate(run, "rr@1", relevant={"a": "z", "#1": "z"})() == 1


def test_table_without_header_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "u.data", "1\t4\t5\t8\n2\t4\t4\t9\n")
    call = evaluate({1: [5, 4], 2: [4, 5]}, "rr@2", relevant=path)
    assert "column" in refusal_message(call)


# Whole metrics of truncated lists


def test_truncated_lists_equal_trec_eval() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(0)
    names = {"map": "ap", "ndcg": "ndcg", "recip_rank": "rr", "ndcg_cut_5": "ndcg@5",
             "recall_5": "recall@5"}  # fmt: skip

    def values_of_items(n_items: int, values: Any) -> dict[str, Any]:
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
        ours = values_by_metric(run, ",".join(right), relevant=qrels, missing="last")
        assert ours == pytest.approx(right)


def test_tied_ranks_of_lightfm_are_counts() -> None:
    """User 0 has items at ranks 0, 3 and 3, and 11 users one at rank 2; ranks start at 0."""
    users = np.array([0, 0, 0, *range(1, 12)])
    items = np.array([0, 2, 4, *range(1, 12)])
    from_0 = np.array([0, 3, 3, *[2] * 11])
    ranks = sparse.csr_array((from_0.astype("f4"), (users, items)), shape=(12, 23))
    test = sparse.csr_array((np.ones(14), (users, items)), shape=(12, 23))
    assert "from_ranks(ranks.data + 1, n_items" in refusal_message(evaluate(ranks, relevant=test))
    twice = call_of(sm.Ranks.from_ranks, ranks.data + 1, 23, users=users)
    assert "n_candidates, n_better" in refusal_message(twice)
    n_tied = np.array([0, 1, 1, *[0] * 11])
    columns = {"user_id": users, "n_candidates": 23, "n_better": from_0, "n_tied": n_tied}
    assert values_by_metric(pd.DataFrame(columns), "recall@3, recall@5, rr") == pytest.approx(
        {"recall@3": (1 / 3 + 11 * 1) / 12, "recall@5": 1.0, "rr": (1 + 11 / 3) / 12}
    )
    first = users != np.append(-1, users[:-1])  # without those that tie
    exact = sm.Ranks.from_ranks(ranks.data[first] + 1, 23, users=users[first])
    assert evaluate(exact)() == pytest.approx((1 + 11 / 3) / 12)


# Cases

LABELS = np.array([1, 0] * 2)


def table(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns)


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


def users_of(column: str, *values: Any) -> pd.DataFrame:
    """Return items a, b and c of users 1 and 2 with a column; b of 1 and c of 2 are held out."""
    of_two = table(user_id=[1, 1, 1, 2, 2, 2], item_id=list("abcabc"), **{column: values})
    return of_two.assign(target=[0, 1, 0, 0, 0, 1])


def sample_ranks(*arguments: Any, **options: Any) -> Call:
    """Return the ranks of the held-out items of the users in order, among 19 negatives."""
    options |= {"n_items": 300, "n_negatives": 19, "missing": "last"}
    call = call_of(sm.SampledRanks.from_pairs, *arguments, **options)
    return call._replace(value=lambda made: made.sampled_ranks[np.argsort(made.users)].tolist())


AS_LABEL = {"relevant": LABELLED_TWO}
NO_LABELS = {
    "gender": list("FM") * 3,
    "hour": [0, 7, 23, 14, 9, 11],
    "price": [0.0, 9.5, 3.25, 1.99, 5.0, 4.0],
    "useful": range(6),
    "transaction_id": [None, None, 17, 18, 19, 20],
    "weight": [None, 1, 0, 1, 0, 1],
}
CUT = {"data": {"u": [20, 10, 30]}, "relevant": {"u": [20, 1, 3]}, "missing": "last"}
PYTERRIER = table(  # docid, an internal number, beside docno; ranks from 0
    qid=["q1", "q1", "q2", "q2"], docid=[0, 1, 2, 3], docno=list("abcd"), rank=[0, 1, 0, 1],
    score=[0.9, 0.6, 0.8, 0.7],
)  # fmt: skip
TOPICS = table(qid=["q1", "q2"], docno=["b", "x"], docid=[1, 9], label=[1, 1])
IMPRESSIONS = table(
    user_id=1, impression_id=[1, 1, 2, 2], item_id=list("abab"), score=[0.9, 0.1, 0.2, 0.8],
    clicked=[1, 0, 1, 0],
)  # fmt: skip
AS_RANKS, BOTH = users_of("prediction", 3, 1, 2, 1, 2, 3), {1: ["b"], 2: ["c"]}
RANKED = AS_RANKS.rename(columns={"prediction": "rank"})
SHOWN = {user: [f"t{place}" for place in range(20)] for user in range(12)}
FIRST_SHOWN, THIRD_SHOWN = {user: ["t0"] for user in SHOWN}, {user: ["t2"] for user in SHOWN}
NOT_SHOWN = ["no such film", *SHOWN[0][:19]]
OWN_NEGATIVES = table(  # ranks 2 and 1 of user 1, and 3 of user 2, among two negatives each
    user_id=[1] * 6 + [2] * 3, item_id=[5, 6, 7, 8, 9, 4, 5, 6, 9], row=np.repeat([10, 11, 12], 3),
    score=[0.5, 0.9, 0.1, 0.4, 0.3, 0.2, 0.1, 0.2, 0.3], label=[1, 0, 0] * 3,
)  # fmt: skip
ROWS_OF_IDS = [[5, 7], [7, 5], [9, 7]]
TEXTS = np.array([["a", "b"], ["b", None]], object)


def rising(n_users: int) -> pd.DataFrame:
    """Return lists, best first, with distances 0.1, 0.2 ..., of which the first is relevant."""
    length = 2 if n_users > 1 else 3
    return table(
        user_id=np.repeat(np.arange(n_users), length),
        item_id=[f"{user}-{place}" for user in range(n_users) for place in range(length)],
        score=np.tile(np.arange(1, length + 1) / 10, n_users),
    )


FIRST = {user: [f"{user}-0"] for user in range(9)}


def arrays_of(lists: pd.DataFrame) -> dict[str, Any]:
    n_users = lists["user_id"].nunique()
    ids, scores = (lists[name].to_numpy().reshape(n_users, -1) for name in ("item_id", "score"))
    return {"ids": ids.tolist(), "relevant": ids[:, :1].tolist(), "scores": scores}


def signed(lists: pd.DataFrame) -> pd.DataFrame:
    return lists.assign(score=-lists["score"])


CASES = [
    # values
    *(Case(f"column {name} is no label", evaluate(LISTS, "rr@3", relevant=table(
           user_id=list("aaabbb"), item_id=list("xyz") * 2, **{name: values})), 1)
      for name, values in NO_LABELS.items()),
    Case("ap of a truncated list", evaluate(metrics="ap", **CUT), 1 / 3),
    Case("ndcg of a truncated list", evaluate(metrics="ndcg", **CUT),
         1 / (1 + 1 / np.log2(3) + 1 / 2)),
    *(Case(f"user without relevant items, {form}", evaluate({0: [5, 7], 1: [7, 5]}, "rr@2",
           relevant=relevant), 1 / 2) for form, relevant in (
               ("sparse", sparse.csr_matrix(([1], ([0], [7])), shape=(2, 9))),
               ("lists", [[7], []]), ("columns", [7, -1]))),
    *(Case(f"answer {answer}", sample_ranks({**SHOWN, 0: answer}, FIRST_SHOWN), [rank] + [1] * 11)
      for answer, rank in ((["t2", "t0"], 2), (["t0"], 1), ([], 20))),
    Case("invented titles", sample_ranks({**SHOWN, 0: NOT_SHOWN}, THIRD_SHOWN, candidates=SHOWN),
         [3] * 12),
    *(Case(f"rows by {name}", call_of(sm.SampledRanks.from_pairs, OWN_NEGATIVES.rename(
           columns={"row": name}), n_items=50)._replace(value=lambda made:
               [*made.sampled_ranks, made.n_negatives]), [2, 1, 3, 2])
      for name in ("row_id", "impression_id", "ImpressionID")),
    Case("labelled impressions", evaluate(IMPRESSIONS, complete=True), (1 + 1 / 2) / 2),
    Case("ids of users of rows", ranks(sm.Ranks.from_top_k, ROWS_OF_IDS, {1: [7], 2: [7], 3: [7]},
         users=[1, 2, 3], metrics="rr@2"), (1 / 2 + 1 + 1 / 2) / 3),
    Case("no ids of users of rows", ranks(sm.Ranks.from_top_k, ROWS_OF_IDS,
         {1: [7], 2: [7], 3: [7]}, missing="last", metrics="rr@2"), "user 3",
         {"users": [1, 2, 3]}, (1 / 2 + 1 + 1 / 2) / 3),
    Case("text as objects", ranks(sm.Ranks.from_top_k, TEXTS, {0: ["b"], 1: ["b"]},
         metrics="rr@2"), (1 / 2 + 1) / 2),
    Case("predictions that are no ranks", evaluate(table(user_id=[1, 1, 2, 2],
         item_id=list("abab"), prediction=[2, 1, 5, 4]), "rr@2", relevant={1: ["b"], 2: ["a"]}),
         (1 / 2 + 1) / 2),
    Case("scores like ranks", evaluate(table(user_id=[1, 1, 2, 2], item_id=list("abab"),
         score=[2, 1, 2, 1]), "rr@2", relevant={1: ["b"], 2: ["a"]}), (1 / 2 + 1) / 2),
    *(Case(f"PyTerrier without {without}", evaluate(PYTERRIER.drop(columns=without), "rr@2",
           relevant=TOPICS[["qid", "docid" if "docno" in without else "docno", "label"]]),
           (1 / 2 + 0) / 2) for without in (["docid"], ["docno"], ["rank"], ["docid", "rank"],
                                            ["score"])),
    # labels
    *(Case(f"labels called {name}", labelled(**{name: LABELS}), Warned(f"column {name} .*label"),
           AS_LABEL, RR) for name in ("y_true", "is_click", "bought", "liked", "weight")),
    *(Case(f"labels of {values}", labelled(grade=values), Warned("column grade .*label"), AS_LABEL,
           RR) for values in ([3, 0, 2, 0], ["1", "0"] * 2, ["yes", "no"] * 2, [1, None] * 2,
                              [7, 0, 12, 0], [-1, 1] * 2, [True, False] * 2)),
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
      for joined in ("12 13", "12|13", "12,13", "12;13", "[12 13]", "[12, 13]")),
    Case("numbers with zeros joined", evaluate({1: ["0706", "5"]}, "recall@2",
         relevant=table(user_id=[1], item_id=["0706 5"])), Warned("several ids"),
         {"relevant": {1: ["0706", "5"]}}, 1),
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
    Case("ranks called prediction", evaluate(AS_RANKS.drop(columns="target"), "rr@3",
         relevant=BOTH), Warned("if they are ranks"), {"data": RANKED.drop(columns="target")},
         (1 + 1 / 3) / 2),
    Case("ranks called prediction, all candidates", evaluate(AS_RANKS, "rr@3", complete=True),
         Warned("if they are ranks"), {"data": RANKED, "relevant": BOTH, "complete": OMIT},
         (1 + 1 / 3) / 2),
    Case("ranks called prediction, sample", correct(AS_RANKS), Warned("if they are ranks")),
    *(Case(f"distances of {n} lists", evaluate(rising(n), "rr@2", relevant={
           user: FIRST[user] for user in range(n)}), Warned("distances"),
           {"data": signed(rising(n))}, 1) for n in (1, 2, 9)),
    *(Case(f"distances of {n} rows", ranks(sm.Ranks.from_top_k, **arrays_of(rising(n)),
           metrics="rr@2"), Warned("contradict"),
           {"scores": arrays_of(signed(rising(n)))["scores"]}, 1) for n in (1, 2, 9)),
    *(Case(f"ranks called {name}", evaluate(SHUFFLED.rename(columns={"rank": name}), "rr@3",
           relevant=TEST), f"column {name} may contain scores or ranks.* name it score or rank",
           {"data": SHUFFLED}, RR) for name in ("position", "pos", "place", "order", "k")),
    *(Case(f"ranks {places}", evaluate(PLACES_FROM_0.assign(rank=places), "rr@3", relevant=TEST),
           "rank", {"data": FROM_1}, RR)
      for places in ([0, 1, 2, 1, 2, 3], [0, 1, 2, 0, 1, 3], [0, 1, 2, 3, 4, 5])),
    Case("ranks as scores", evaluate(MANY.assign(score=MANY["score"] + 1), "hit@1",
             relevant=FIRST_OF_MANY), Warned("if they are ranks, name them rank"),
         {"data": MANY.assign(rank=MANY["score"] + 1).drop(columns="score")}, 1),
    Case("ranks from 0 as scores", evaluate(MANY, "hit@1", relevant=FIRST_OF_MANY),
         Warned("if they are ranks"), {"data": MANY.assign(score=-MANY["score"])}, 1),
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


@pytest.mark.parametrize("without", [[], ["rank"], ["score"]])
def test_second_id_of_pyterrier_is_noted(without: list[str]) -> None:
    frame = PYTERRIER.drop(columns=without)
    results = sm.evaluate(frame, "rr@2", relevant=TOPICS[["qid", "docno", "label"]])
    assert any("docid" in note for note in results.notes)
    assert results[0].value == (1 / 2 + 0) / 2
