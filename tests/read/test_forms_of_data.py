"""Data as people have it: labels under other names, joined or rounded ids, truncated lists.

Each form gives the right values, a warning, or an error; none gives other values silently.
"""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import sampled_metrics as sm
from tests.helpers.caught_warnings import full_messages, warns_about
from tests.helpers.small_lists import HELD_OUT, LABELLED, LISTS, RIGHT, means, table

pytestmark = pytest.mark.filterwarnings("ignore:.*carry most of the value")


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(LABELLED, id="whole numbers"),
        pytest.param(LABELLED.astype({"label": bool}), id="true and false"),
        pytest.param(LABELLED.astype({"label": "boolean"}), id="nullable"),
        pytest.param(LABELLED.astype({"label": str}), id="text"),
        pytest.param(
            LABELLED.astype({"label": str}).astype({"label": "category"}),
            id="category",
        ),
        pytest.param(LABELLED.astype({"label": "float16"}), id="float16"),
        pytest.param(LABELLED.assign(label=2 * LABELLED["label"] - 1), id="-1 and 1"),
        *(
            pytest.param(LABELLED.rename(columns={"label": name}), id=name)
            for name in (
                "clicked",
                "target",
                "is_relevant",
                "label:float",
                "relevance",
            )
        ),
    ],
)
def test_label_0_is_not_relevant(labels):
    assert means(sm.evaluate(LISTS, ",".join(RIGHT), relevant=labels)) == pytest.approx(RIGHT)


@pytest.mark.parametrize("name", ["y_true", "is_click", "bought", "liked", "weight"])
def test_unknown_label_column_warns(name):
    relevant = LABELLED.rename(columns={"label": name})
    with warns_about(f"column {name} .*call it label"):
        sm.evaluate(LISTS, "rr@3", relevant=relevant)


@pytest.mark.parametrize(("values", "warns"), [([1.0], True), ([0.0, 1.0], False)])
def test_gaps_beside_one_value_are_labels(values, warns):
    weight = np.resize(values, len(LABELLED))
    weight[0] = np.nan
    relevant = LABELLED.drop(columns="label").assign(weight=weight)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sm.evaluate(LISTS, "rr@3", relevant=relevant)
    assert any("column weight" in text for text in full_messages(caught)) == warns


def test_item_id_list_column_is_ignored(tmp_path):
    path = tmp_path / "seq.test.inter"
    lines = [f"{user}\tx y z\t{item}\n" for user, item in HELD_OUT.items()]
    path.write_text("user_id:token\titem_id_list:token_seq\titem_id:token\n" + "".join(lines))
    assert means(sm.evaluate(LISTS, ",".join(RIGHT), relevant=path)) == pytest.approx(RIGHT)


@pytest.mark.parametrize(
    "joined",
    [
        *("12 13", "12|13", "12,13", "12;13", "[12 13]"),
        *("k12::k13", "k12/k13", "k12-k13", "k12_k13", "k12+k13", "k12-1 k13-0"),
    ],
)
def test_joined_ids_in_a_cell_warn(joined):
    lists = {1: ["k11", "k12", "k13"], 2: ["k12", "k11", "k13"]}
    relevant = table(user_id=[1, 2], item_id=[joined, "k13"])
    if "k" not in joined:
        lists, relevant["item_id"] = (
            {1: [11, 12, 13], 2: [12, 11, 13]},
            [joined, "13"],
        )
    with warns_about("several ids"):
        sm.evaluate(lists, "recall@2", relevant=relevant)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_rounded_float_ids_are_refused(dtype):
    first = 2 ** {"float16": 11, "float32": 24}[dtype] + 1
    relevant = table(user_id=[1], item_id=np.array([first + 2], dtype))
    with pytest.raises(sm.InputError, match="item_id"):
        sm.evaluate({1: [first, first + 2]}, "rr@2", relevant=relevant)


def test_float_and_integer_ids_match():
    lists = table(user_id=[1.0, 1.0], item_id=[5.0, 6.0])
    assert means(sm.evaluate(lists, "rr@2", relevant={1: [6]})) == {"rr@2": 1 / 2}


@pytest.mark.parametrize(
    "lists",
    [
        pytest.param({"u": [], "v": ["a", "b"]}, id="empty"),
        pytest.param({"u": None, "v": ["a", "b"]}, id="None"),
        pytest.param({"v": ["a", "b"]}, id="absent"),
        pytest.param(pd.Series({"u": [], "v": ["a"]}), id="Series"),
        pytest.param({"u": np.array([], str), "v": np.array(["a"])}, id="arrays"),
    ],
)
def test_user_without_list_is_refused_or_missing(lists):
    relevant = {"u": ["a"], "v": ["a"]}
    assert means(sm.evaluate(lists, "recall@1", relevant=relevant, missing="last")) == {
        "recall@1": 1 / 2
    }
    with pytest.raises(sm.InputError, match="missing='last'"):
        sm.evaluate(lists, "recall@1", relevant=relevant)


def test_minus_1_ends_a_list():
    ids = [[5, 6, -1], [-1, -1, -1], [7, 5, 6]]
    ranks = sm.Ranks.from_top_k(ids, [[7], [7], [7]], missing="last")
    assert means(sm.evaluate(ranks, "rr@3")) == pytest.approx({"rr@3": 1 / 3})


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float16"])
def test_reranker_scores_decide_the_order(dtype):
    scores = np.array([[100, 200]], np.uint8).astype(dtype)
    ranks = sm.Ranks.from_top_k([[5, 7]], [[7]], scores=scores)
    assert means(sm.evaluate(ranks, "rr@2")) == {"rr@2": 1.0}


SCORES = np.array([[0.1, 0.9, 0.5], [0.7, 0.2, 0.3]])
ONE_HOT = np.array([[0, 0, 1], [1, 0, 0]])  # 2nd and 1st


@pytest.mark.parametrize("as_form", [np.asarray, np.ndarray.tolist, np.bool_, np.float32, np.uint8])
def test_meter_one_hot_labels(as_form):
    meter = sm.RankMeter("hit@1")
    meter.update(SCORES, positive=as_form(ONE_HOT))
    assert means(meter.compute())["hit@1"] == 1 / 2


def test_meter_several_labels():
    meter = sm.RankMeter("recall@1")
    meter.update(SCORES, positive=[[1, 1, 0], [1, 0, 0]])
    assert means(meter.compute())["recall@1"] == (1 / 2 + 1) / 2


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


def test_from_top_k_different_lengths():
    ranks = sm.Ranks.from_top_k([[5, 7], [7, 5, 6]], [[7], [7]], missing="last")
    assert means(sm.evaluate(ranks, "rr@3")) == {"rr@3": 3 / 4}


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


@pytest.mark.parametrize("column", ["movie_id", "docid"])
def test_two_item_columns_warn(column):
    lists = ROWS.assign(**{column: ROWS["item_id"].str.upper()})
    with warns_about(column):
        sm.evaluate(lists, "rr@3", relevant=HELD_OUT)


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
    ],
)
@pytest.mark.filterwarnings("error")
def test_columns_that_are_not_labels(name, values):
    relevant = table(user_id=["u1", "u2", "u3"] * 2, item_id=[*"bcbaac"])
    sm.evaluate(LISTS, "rr@3", relevant=relevant.assign(**{name: values}))


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


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        (table(customer_id=["c1"], prediction=["11 12"]), "user_id"),
        (table(user_id=[1, 2], rec_0=[5, 7], rec_1=[7, 5]), "item_id"),
        (table(user_id=[1, 2], x=[0.5, 0.7], y=[0.7, 0.5]), "item_id"),
    ],
)
def test_tables_without_item_ids_are_refused(lists, words):
    with pytest.raises(sm.InputError, match=words):
        sm.evaluate(lists, "rr@2", relevant=table(user_id=[1, 2], item_id=[5, 7]))


def test_scores_of_one_user_are_refused():
    with pytest.raises(sm.InputError):
        sm.evaluate(np.array([0.1, 0.9, 0.5]), "rr", relevant=np.array([0, 0, 1]))


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


@pytest.mark.parametrize("ranks", [[0, 1, 1, 2], [0, 1, 0, 2], [0, 1, 2, 3]])
def test_ranks_from_0_in_some_lists_are_refused(ranks):
    frame = table(qid=["q1", "q1", "q2", "q2"], docno=list("abcd"), rank=ranks)
    with pytest.raises(sm.InputError, match="rank"):
        sm.evaluate(frame, "rr@2", relevant={"q1": ["b"], "q2": ["x"]})


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
    with pytest.raises(sm.InputError, match="give n_candidates, n_better"):
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


# Each call gives the right values, a warning, or an error; never other values silently.
ROWS = pd.DataFrame(
    [(user, item, place) for user, items in LISTS.items() for place, item in enumerate(items, 1)],
    columns=["user_id", "item_id", "rank"],
)
SHUFFLED = ROWS.iloc[[2, 1, 0, 5, 4, 3, 6, 7, 8]]
RELEVANT_ROWS = table(user_id=["u1", "u1", "u2", "u2", "u3", "u3"], item_id=[*"bacbca"])
METRICS = ",".join(RIGHT)
NUMBER = {"u1": 1, "u2": 2, "u3": 3}


def evaluate_running_row_numbers():
    lists = ROWS.replace({"user_id": NUMBER}).reset_index(names="row_id")
    relevant = {NUMBER[user]: item for user, item in HELD_OUT.items()}
    return sm.evaluate(lists, METRICS, relevant=relevant, missing="last")


def evaluate_impressions():
    lists = table(
        user_id=[1] * 4,
        impression_id=[1, 1, 2, 2],
        item_id=[*"abab"],
        score=[0.9, 0.1, 0.2, 0.8],
    )
    relevant = table(user_id=[1, 1], impression_id=[1, 2], item_id=["a", "a"])
    return sm.evaluate(lists, "rr", relevant=relevant, complete=True)


def evaluate_joined(joined):
    lists = {1: ["k11", "k12", "k13"], 2: ["k12", "k11", "k13"]}
    relevant = table(user_id=[1, 2], item_id=[joined, "k13"])
    return sm.evaluate(lists, "recall@2", relevant=relevant)


def evaluate_not_finite(score):
    scores = [[score, 0.3], [0.2, 0.1]]
    lists = [[5, 7], [7, 5]]
    ranks = sm.Ranks.from_top_k(lists, [[5], [7]], scores=scores, missing="last")
    return sm.evaluate(ranks, "rr@2")


def evaluate_increasing_scores(first):
    """Scores are ranks from 0, or distances from 1.5."""
    rng = np.random.default_rng(0)
    items = np.array([rng.permutation(50)[:8] for _ in range(20)])
    scores = np.tile(np.arange(8), 20) + first
    lists = table(user_id=np.repeat(np.arange(20), 8), item_id=items.ravel(), score=scores)
    relevant = dict(enumerate(items[:, :1].tolist()))
    return sm.evaluate(lists, "hit@1", relevant=relevant)


def evaluate_rounded_ids(dtype, first):
    relevant = {1: np.array([first], dtype)}
    return sm.evaluate({1: [first, first - 1]}, "rr@2", relevant=relevant)


def evaluate_other_ids(in_lists, in_relevant):
    lists = table(user_id=[1, 1, 2, 2], item_id=[in_lists, "8", "8", "9"])
    eight = "8" if in_relevant == "a" else 8
    relevant = table(user_id=[1, 2], item_id=[in_relevant, eight])
    return sm.evaluate(lists, "rr@2", relevant=relevant)


def evaluate_seen_labels():
    seen = table(user_id=["u1", "u2"], item_id=["a", "a"], label=[0, 1])
    lists = {user: LISTS[user] for user in ("u1", "u2")}
    return sm.evaluate(lists, "rr@2", relevant={"u1": ["b"], "u2": ["b"]}, seen=seen)


@pytest.mark.parametrize(
    ("right", "call"),
    [
        *(
            (RIGHT, partial(sm.evaluate, SHUFFLED.rename(columns={"rank": name}),
                            METRICS, relevant=HELD_OUT))
            for name in ("Rank", "position", "pos", "place", "order", "k")
        ),
        *(
            (RIGHT, partial(sm.evaluate, LISTS, METRICS,
                            relevant=RELEVANT_ROWS.assign(grade=grades)))
            for grades in ((3, 0, 2, 0, 1, 0), ("1", "0") * 3, ("yes", "no") * 3,
                           (1, None) * 3, (7, 0, 1, 0, 12, 0))
        ),
        (RIGHT, evaluate_running_row_numbers),
        ({"rr": 3 / 4}, evaluate_impressions),
        *(
            ({"recall@2": 1 / 4}, partial(evaluate_joined, joined))
            for joined in ("k12 k13", "k12|k13", "k12,k13", "['k12', 'k13']", "k12;k13")
        ),
        # an item after -1, which ends a list
        ({"rr@3": (1 / 3 + 1) / 2}, lambda: sm.evaluate(
            sm.Ranks.from_top_k([[5, -1, 7], [7, 5, 6]], [[7], [7]]), "rr@3")),
        ({"rr@2": 1 / 2}, partial(evaluate_not_finite, np.nan)),
        ({"rr@2": 1 / 2}, partial(evaluate_not_finite, -np.inf)),
        *(
            ({"rr@2": 3 / 4}, partial(sm.evaluate, {"u": [nothing, "b"], "v": ["b", "a"]},
                                      "rr@2", relevant={"u": ["b"], "v": ["b"]}))
            for nothing in (None, np.nan)
        ),
        ({"hit@1": 1.0}, partial(evaluate_increasing_scores, 0.0)),
        ({"hit@1": 1.0}, partial(evaluate_increasing_scores, 1.5)),
        ({"rr@2": 1.0}, partial(evaluate_rounded_ids, "float16", 2**11 + 1)),
        ({"rr@2": 1.0}, partial(evaluate_rounded_ids, "float32", 2**24 + 1)),
        # a constant label beside another
        (RIGHT, partial(sm.evaluate, LISTS, METRICS, relevant=RELEVANT_ROWS.assign(
            clicked=1, purchased=(1, 0) * 3))),
        *(
            ({"rr@2": 1.0}, partial(evaluate_other_ids, *ids))
            for ids in (("007", 7), ("5.0", 5), ("1e5", 100000), ("+7", 7), ("a ", "a"))
        ),
        # distances of few rows
        ({"rr@3": 1.0}, lambda: sm.evaluate(
            (np.array([[0.1, 0.2, 0.3]] * 3), np.array([[5, 6, 7]] * 3)), "rr@3",
            relevant=[5, 5, 5])),
        ({"rr@2": 1.0}, evaluate_seen_labels),
    ],
)  # fmt: skip
def test_odd_data_gives_right_values_or_says_so(right, call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            results = means(call())
        except sm.InputError:
            return
    messages = [text for text in full_messages(caught) if "carry" not in text]
    assert messages or results == pytest.approx(right)
