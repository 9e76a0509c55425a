"""The page "Your files": each of its blocks on a few lines of such a file, with values by hand.

Then what goes wrong with such files: labels under other names, ids that are joined or rounded,
lists that end, several rows of a user. Each is right, refused, or asked about.
"""

import importlib.util
import re
import warnings
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

import sampled_metrics as sm
from tests.conftest import ROOT
from tests.helpers.caught_warnings import full_messages, warns_about

PAGE = (ROOT / "docs/your-files.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.filterwarnings("ignore:.*carry most of the value")

# Lists of three users, best first; of u1 b is 2nd, of u2 c 3rd, of u3 c 1st.
LISTS = {"u1": ["a", "b", "c"], "u2": ["b", "a", "c"], "u3": ["c", "b", "a"]}
HELD_OUT = {"u1": "b", "u2": "c", "u3": "c"}
RIGHT = {"recall@1": 1 / 3, "rr@3": (1 / 2 + 1 / 3 + 1) / 3}
# The same with an item that is not relevant for each user.
LABELLED = pd.DataFrame(
    [
        (u, i, int(i == HELD_OUT[u]))
        for u, own in LISTS.items()
        for i in (HELD_OUT[u], own[0])
    ],
    columns=["user_id", "item_id", "label"],
).drop_duplicates()


def means(found):
    return {each.metric: each.value for each in found}


def sampled(found):
    """Value among the negatives."""
    (value,) = [each.value for each in found if each.estimator == "sampled"]
    return value


def table(**columns):
    return pd.DataFrame(columns)


@pytest.fixture
def run_block(tmp_path, monkeypatch):
    """Run the code below a heading of the page in a folder with some files; return `results`."""
    monkeypatch.chdir(tmp_path)

    def run(title, files=(), nth=0, **yours):
        sections = re.split(r"^### ", PAGE, flags=re.MULTILINE)
        (section,) = [text for text in sections if text.startswith(f"{title}\n")]
        blocks = re.findall(
            r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL
        )
        for name, text in dict(files).items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        names = {"np": np, "pd": pd, "sm": sm, **yours}
        exec(blocks[nth], names)  # noqa: S102 - the page's own code
        return names["results"]

    return run


def test_all_blocks_of_the_page_are_run_here():
    text = (ROOT / "tests/project/test_your_files.py").read_text(encoding="utf-8")
    titles = re.findall(r"^### (.*)$", PAGE, re.MULTILINE)
    assert len(titles) >= 11
    assert [title for title in titles if f'"{title}"' not in text] == []
    imports, *blocks = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE)
    assert "import sampled_metrics as sm" in imports
    assert len(blocks) == text.count("    found = " + "run_block(")


def test_two_arrays_of_the_best_items(run_block):
    scores = np.array(
        [[0.1, 0.9, 0.3, 0.5], [0.8, 0.2, 0.6, 0.7], [0.4, 0.3, 0.2, 0.1]]
    )

    def topk(values, k):
        columns = np.argsort(-values, axis=1)[:, :k]
        return np.take_along_axis(values, columns, axis=1), columns

    yours = {"model": lambda users: scores[users], "users": np.arange(3)}
    yours["torch"] = SimpleNamespace(topk=topk)
    found = run_block(
        "Two arrays of the best items", held_out=np.array([1, 2, 3]), **yours
    )
    assert means(found) == pytest.approx({"HR@1": 1 / 3, "HR@3": 2 / 3})


def test_implicit(run_block):
    als = pytest.importorskip("implicit.als")
    rng = np.random.default_rng(0)
    train = sparse.csr_matrix(rng.random((30, 20)) < 0.2, dtype=np.float32)
    is_new = train.toarray() == 0
    test = (rng.random((30, 20)) < 0.1) & is_new
    test[np.arange(30), is_new.argmax(axis=1)] = True  # at least one of each user
    model = als.AlternatingLeastSquares(factors=4, iterations=2, random_state=0)
    model.fit(train, show_progress=False)
    found = run_block(
        "implicit", model=model, train=train, test=sparse.csr_matrix(test)
    )
    ids, _ = model.recommend(np.arange(30), train, N=3)
    recall = np.take_along_axis(test, ids, axis=1).sum(axis=1) / test.sum(axis=1)
    assert means(found)["recall@3"] == pytest.approx(recall.mean())


def test_recbole(run_block):
    ratings = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
    ratings += "u1\tb\t5\t1\nu1\ta\t1\t2\nu2\tc\t4\t3\nu2\tb\t2\t4\n"
    lists = table(
        user_id=["u1"] * 3 + ["u2"] * 3, item_id=[*"abcbac"], score=[3, 2, 1] * 2
    )
    found = run_block("RecBole", {"ml.test.inter": ratings}, lists=lists)
    assert means(found) == pytest.approx({"recall@1": 0.0, "rr@2": 1 / 4})


def test_beir(run_block):
    qrels = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td3\t2\n"
    found = run_block(
        "BEIR", {"qrels/test.tsv": qrels}, results={"q1": {"d2": 0.9, "d1": 0.5}}
    )
    assert means(found) == pytest.approx(
        {"ndcg@10": 1 / np.log2(3) / 2, "recall@10": 1 / 2}
    )


def test_json(run_block):
    lines = [f'{{"user_id": "{u}", "items": {own}}}\n' for u, own in LISTS.items()]
    text = "".join(lines).replace("'", '"')
    found = run_block("JSON, a line per user", {"lists.jsonl": text}, test=HELD_OUT)
    assert means(found) == pytest.approx(RIGHT)


def test_joined_ids(run_block):
    text = "customer_id,prediction\nc1,0111 0222 0333\nc2,\nc3,0222 0111\n"
    test = table(
        user_id=["c1", "c1", "c2", "c3"], item_id=["0222", "0999", "0111", "0222"]
    )
    found = run_block("Ids joined in a cell", {"submission.csv": text}, test=test)
    assert means(found) == pytest.approx({"ap@12": (1 / 4 + 0 + 1) / 3})


def test_mind(run_block):
    lines = "1\tU1\t11/15/2019 8:55:22 AM\tN8\tN1-0 N2-1 N3-0\n"
    lines += "2\tU1\t11/15/2019 9:10:00 AM\tN8\tN4-1 N5-0 N9-0 N10-1\n"
    lines += "3\tU2\t11/15/2019 9:11:00 AM\t\tN6-0 N7-0\n"
    scores = {
        "N1": 0.9,
        "N2": 0.5,
        "N3": 0.1,
        "N4": 0.8,
        "N5": 0.3,
        "N6": 0.2,
        "N7": 0.1,
        "N9": 0.2,
        "N10": 0.1,
    }
    yours = {"score": lambda _, news: news.map(scores)}
    found = run_block("MIND", {"behaviors.tsv": lines}, **yours)
    by_hand = {
        "auc": (1 / 2 + 2 / 4) / 2,
        "rr-by-relevant": (1 / 2 + (1 + 1 / 4) / 2) / 2,
        "ndcg@5": (1 / np.log2(3) + (1 + 1 / np.log2(5)) / (1 + 1 / np.log2(3))) / 2,
    }
    assert means(found) == pytest.approx(by_hand)


def test_letor(run_block):
    lines = "2 qid:10 1:0.03 2:0.5 #docid = G1\n0 qid:10 1:0.1 2:0.2 #docid = G2\n"
    lines += "1 qid:10 1:0.3 2:0.1 #docid = G3\n1 qid:11 1:0 2:1 #docid = G4\n"
    lines += "0 qid:11 1:1 2:0 #docid = G5\n"
    found = run_block("LETOR", {"test.txt": lines}, scores=[0.1, 0.9, 0.5, 0.7, 0.2])
    ndcg = (1 / np.log2(3) + 2 / 2) / (
        2 + 1 / np.log2(3)
    )  # the best last, the second in between
    by_hand = {"ndcg@3": (ndcg + 1) / 2, "ap": ((1 / 2 + 2 / 3) / 2 + 1) / 2}
    assert means(found) == pytest.approx(by_hand)


CANDIDATES = np.array([[25, 1, 2, 3], [133, 4, 5, 6], [40, 7, 8, 9], [50, 1, 5, 9]])
OF_CANDIDATES = np.array(
    [[0.5, 0.9, 0.1, 0.2], [0.1, 0.2, 0.3, 0.4], [0.9, 0, 0, 0], [0.3, 0, 1, 1]]
)


def test_ncf(run_block):
    lines = "".join(
        f"({user},{held})\t" + "\t".join(map(str, others)) + "\n"
        for user, (held, *others) in enumerate(CANDIDATES.tolist())
    )

    def model(users, items):
        assert users.tolist() == [0, 1, 2, 3]
        assert np.array_equal(items, CANDIDATES)
        return OF_CANDIDATES

    found = run_block("NCF", {"ml-1m.test.negative": lines}, model=model, n_items=200)
    assert sampled(found) == 2 / 4


def test_rechorus(run_block):
    runner = SimpleNamespace(predict=lambda _: OF_CANDIDATES)
    found = run_block("ReChorus", runner=runner, data=None, n_items=200)
    assert sampled(found) == 2 / 4


SHOWN = {user: [f"film {user}{k}" for k in range(5)] for user in range(8)}
TITLES = {
    user: f"film {user}{user % 5}" for user in SHOWN
}  # 1st to 5th of those shown


def test_answers_without_the_held_out_item(run_block):
    answers = {user: list(shown) for user, shown in SHOWN.items()}
    answers[0].remove(TITLES[0])  # from the 1st place to behind all
    yours = {"answers": answers, "held_out": TITLES, "n_items": 300}
    # Of users 0 to 7 the places are 1 to 5 and 1 to 3.
    found = run_block("Answers of a language model", **yours)
    assert sampled(found) == (2 + 2 - 1) / 8


def test_answers_that_end_or_make_titles_up(run_block):
    answers = {user: list(shown) for user, shown in SHOWN.items()}
    answers[1] = ["a film that is not there", *SHOWN[1][:2]]
    answers[2] = []
    answers[5] = SHOWN[5][1:2]
    del answers[6]
    yours = {"answers": answers, "shown": SHOWN, "held_out": TITLES, "n_items": 300}
    # Of users 0 and 1 the held-out item is 1st and 2nd; of 2, 5 and 6 it is behind all.
    found = run_block("Answers of a language model", nth=1, **yours)
    assert sampled(found) == 2 / 8


# Formats whose packages are not installed here, as what they yield.

OF_TABLES = table(
    user_id=[user for user in LISTS for _ in "abc"],
    item_id=[item for own in LISTS.values() for item in own],
    score=[3.0, 2.0, 1.0] * 3,
)
HELD_ROWS = table(user_id=[*HELD_OUT], item_id=[*HELD_OUT.values()])


class Row(NamedTuple):
    """Of a struct of Spark."""

    item: str
    rating: float


class Prediction(NamedTuple):
    """Of Surprise."""

    uid: str
    iid: str
    r_ui: float
    est: float
    details: Any


def frame_of(data):
    return SimpleNamespace(to_df=lambda: data, toPandas=lambda: data)


def test_lists_with_scores_in_a_cell(run_block):
    recommendations = [
        [Row(item, score) for item, score in zip(own, (0.9, 0.5, 0.1), strict=True)]
        for own in LISTS.values()
    ]
    rows = table(user=[*LISTS], recommendations=recommendations)
    model = SimpleNamespace(recommendForAllUsers=lambda _: frame_of(rows))
    title = "Lists with scores in a cell"
    found = run_block(title, model=model, test=HELD_OUT)
    assert means(found) == pytest.approx(RIGHT)
    top_n = dict(zip(LISTS, recommendations, strict=True))
    found = run_block(title, nth=1, top_n=top_n, test=HELD_OUT)
    assert means(found) == pytest.approx(RIGHT)


def test_ranx(run_block):
    run = {
        user: dict(zip(own, (0.9, 0.5, 0.1), strict=True))
        for user, own in LISTS.items()
    }
    qrels = {user: {item: 1} for user, item in HELD_OUT.items()}
    yours = {
        name: SimpleNamespace(to_dict=lambda data=data: data)
        for name, data in {"run": run, "qrels": qrels}.items()
    }
    if importlib.util.find_spec("ranx"):
        import ranx

        yours = {"run": ranx.Run(run), "qrels": ranx.Qrels(qrels)}
    found = run_block("ranx", **yours)
    assert means(found) == pytest.approx(RIGHT)


def test_pyterrier(run_block):
    run = OF_TABLES.set_axis(["qid", "docno", "score"], axis=1)
    run = run.assign(docid=range(9), rank=[0, 1, 2] * 3, query="words")
    qrels = HELD_ROWS.set_axis(["qid", "docno"], axis=1).assign(
        label=1, iteration="0"
    )
    found = run_block("PyTerrier", run=run, qrels=qrels)
    assert means(found) == pytest.approx(RIGHT)


def test_lenskit(run_block):
    recs = frame_of(OF_TABLES.assign(rank=[1, 2, 3] * 3))
    found = run_block("LensKit", recs=recs, test=frame_of(HELD_ROWS))
    assert means(found) == pytest.approx(RIGHT)


def test_replay_and_evidently(run_block):
    names = ["user_idx", "item_idx", "rating"]
    recs = OF_TABLES.set_axis(names, axis=1)
    test = HELD_ROWS.set_axis(names[:2], axis=1)
    found = run_block("RePlay and evidently", recs=recs, test=test)
    assert means(found) == pytest.approx(RIGHT)
    target = OF_TABLES["item_id"] == OF_TABLES["user_id"].map(HELD_OUT)
    current = OF_TABLES.assign(
        prediction=OF_TABLES["score"] / 10
    )  # 3, 2, 1 may be ranks
    current = current.drop(columns="score").assign(target=target.astype(int))
    found = run_block("RePlay and evidently", nth=1, current=current)
    assert means(found) == pytest.approx(RIGHT)


def test_faiss(run_block):
    ids, neighbors = np.array([[4, 7], [5, 9]]), np.array([[7, 8, 4], [9, 5, 1]])
    found = run_block("faiss and ANN benchmarks", ids=ids, neighbors=neighbors)
    assert means(found) == {"recall@2": (1 / 2 + 1) / 2}


def test_semantic_ids(run_block):
    beams = np.array([[[1, 2], [1, 3], [12, 3]], [[4, 5], [4, 6], [4, 7]]])
    held_out = np.array([[12, 3], [4, 5]])
    found = run_block("Semantic ids", beams=beams, held_out=held_out)
    assert means(found) == pytest.approx({"recall@1": 1 / 2, "rr@3": (1 / 3 + 1) / 2})


def test_lightfm(run_block):
    # user 0 has two items at ranks 1 and 3, user 1 one at rank 2
    ranks = sparse.csr_matrix(([0.0, 2.0, 1.0], ([0, 0, 1], [4, 2, 3])), shape=(2, 5))
    model = SimpleNamespace(predict_rank=lambda _, train_interactions: ranks)  # noqa: ARG005
    found = run_block("LightFM", model=model, test=ranks, train=None)
    assert means(found) == {"rr": (1 + 1 / 2) / 2, "recall@1": (1 / 2 + 0) / 2}


def test_columns_of_polars(run_block):
    scores = np.array([[0.1, 0.9, 0.3], [0.8, 0.2, 0.6], [0.4, 0.3, 0.2]])
    held_out = pa.chunked_array([[1, 2, 2]])  # as a Series lends itself
    if importlib.util.find_spec("polars"):
        import polars

        held_out = polars.Series(held_out)
    found = run_block("Columns of polars", scores=scores, held_out=held_out)
    assert means(found) == pytest.approx(
        {"recall@1": 1 / 3, "rr@3": (1 + 1 / 2 + 1 / 3) / 3}
    )


def test_pykeen(run_block):
    scores = np.array([[0.9, 0.8, 0.1, 0.3], [0.2, 0.7, 0.6, 0.9]])
    is_fact = np.array([[True, True, False, False], [False, True, True, False]])
    found = run_block(
        "PyKEEN", scores=scores, tails=np.array([1, 2]), is_fact=is_fact
    )
    assert means(found) == pytest.approx({"rr": (1 + 1 / 2) / 2, "recall@1": 1 / 2})


def test_text_files(run_block):
    title = "Text files of LightGCN and SASRec"
    lists = {
        "1": ["11", "12", "13"],
        "2": ["12", "11", "13"],
        "3": ["13", "12", "11"],
    }
    text = "1 12\n2 13\n3 13\n4\n"
    found = run_block(title, {"test.txt": text}, lists=lists)
    assert means(found) == pytest.approx(RIGHT)
    text = "1 20\n1 12\n2 21\n2 13\n3 12\n3 13\n"
    found = run_block(title, {"ml-1m.txt": text}, nth=1, lists=lists)
    assert means(found) == pytest.approx(RIGHT)


def test_amazon_reviews(run_block):
    text = "user_id,parent_asin,rating,timestamp\n"
    text += "u1,b,5.0,9\nu1,a,1.0,8\nu2,c,4.0,7\nu3,c,5.0,6\n"
    lists = OF_TABLES.rename(columns={"item_id": "parent_asin"})
    found = run_block(
        "Amazon Reviews 2023", {"Movies_and_TV.test.csv": text}, lists=lists
    )
    assert means(found) == pytest.approx(RIGHT)


def test_kuairec(run_block):
    text = "user_id,video_id,watch_ratio,timestamp\n"
    text += "1,7,0.5,9\n1,8,2.5,8\n1,9,0.1,7\n2,7,3.0,6\n2,8,0.1,5\n2,9,2.0,4\n"
    yours = {"score": lambda _, videos: -videos}  # 7, 8, 9 from the best on
    found = run_block("KuaiRec", {"small_matrix.csv": text}, **yours)
    by_hand = {"recall@1": (0 + 1 / 2) / 2, "rr@3": (1 / 2 + 1) / 2}
    assert means(found) == pytest.approx(by_hand)


def test_eb_nerd(run_block, tmp_path):
    rows = table(
        impression_id=[1, 2],
        user_id=[5, 5],
        article_ids_inview=[[10, 11, 12], [11, 13]],
        article_ids_clicked=[[11], [13]],
    )
    rows.to_parquet(tmp_path / "behaviors.parquet")
    yours = {"score": lambda _, articles: -articles.astype(int)}
    found = run_block("EB-NeRD", **yours)
    by_hand = {"auc": (1 / 2 + 0) / 2, "ndcg@5": 1 / np.log2(3)}
    assert means(found) == pytest.approx(by_hand)


def test_ogb_and_tgb(run_block):
    positive, others = OF_CANDIDATES[:, 0], OF_CANDIDATES[:, 1:]
    yours = {"y_pred_pos": positive, "y_pred_neg": others, "n_items": 200}
    found = run_block("OGB and TGB", **yours)
    assert sampled(found) == 2 / 4
    yours["y_pred_neg"] = [*np.tile(others, 7)]  # 7, 21, 0 and 14 of 21 are above
    yours["y_pred_neg"][1] = yours["y_pred_neg"][1][:-1]
    with warns_about("kept at random"):
        found = run_block("OGB and TGB", nth=1, **yours)
    assert sampled(found) == 1 / 4


def test_surprise(run_block):
    rows = [
        Prediction("u", "a", 5.0, 4.0, {"was_impossible": False}),
        Prediction("v", "b", 3.0, 3.0, {"was_impossible": False}),
    ]
    found = run_block("Surprise", predictions=rows)
    assert found == pytest.approx((1 / 2) ** 0.5)


# The same data with what people give instead.


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
def test_rows_of_label_0_are_not_relevant(labels):
    assert means(
        sm.evaluate(LISTS, ",".join(RIGHT), relevant=labels)
    ) == pytest.approx(RIGHT)


@pytest.mark.parametrize("name", ["y_true", "is_click", "bought", "liked", "weight"])
def test_column_that_could_be_a_label_is_asked_about(name):
    given = LABELLED.rename(columns={"label": name})
    with warns_about(f"column {name} .*call it label"):
        sm.evaluate(LISTS, "rr@3", relevant=given)


@pytest.mark.parametrize(("values", "asks"), [([1.0], True), ([0.0, 1.0], False)])
def test_gaps_beside_one_value_are_the_other_label(values, asks):
    weight = np.resize(values, len(LABELLED))
    weight[0] = np.nan
    given = LABELLED.drop(columns="label").assign(weight=weight)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sm.evaluate(LISTS, "rr@3", relevant=given)
    assert any("column weight" in text for text in full_messages(caught)) == asks


def test_item_lists_of_sequences_are_not_the_relevant_item(tmp_path):
    path = tmp_path / "seq.test.inter"
    lines = [f"{user}\tx y z\t{item}\n" for user, item in HELD_OUT.items()]
    path.write_text(
        "user_id:token\titem_id_list:token_seq\titem_id:token\n" + "".join(lines)
    )
    assert means(sm.evaluate(LISTS, ",".join(RIGHT), relevant=path)) == pytest.approx(
        RIGHT
    )


@pytest.mark.parametrize("joined", ["12 13", "12|13", "12,13", "12;13", "[12 13]"])
def test_several_ids_in_a_cell_are_asked_about(joined):
    relevant = table(user_id=[1, 2], item_id=[joined, "13"])
    with warns_about("several"):
        sm.evaluate({1: [11, 12, 13], 2: [12, 11, 13]}, "recall@2", relevant=relevant)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_ids_that_floats_round_are_refused(dtype):
    first = 2 ** {"float16": 11, "float32": 24}[dtype] + 1
    relevant = table(user_id=[1], item_id=np.array([first + 2], dtype))
    with pytest.raises(sm.InputError, match="item_id"):
        sm.evaluate({1: [first, first + 2]}, "rr@2", relevant=relevant)


def test_ids_are_the_same_as_floats_and_as_whole_numbers():
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
def test_user_without_recommendations(lists):
    relevant = {"u": ["a"], "v": ["a"]}
    assert means(
        sm.evaluate(lists, "recall@1", relevant=relevant, missing="last")
    ) == {"recall@1": 1 / 2}
    with pytest.raises(sm.InputError, match="missing='last'"):
        sm.evaluate(lists, "recall@1", relevant=relevant)


def test_columns_of_minus_1_end_a_list():
    ids = [[5, 6, -1], [-1, -1, -1], [7, 5, 6]]
    ranks = sm.Ranks.from_top_k(ids, [[7], [7], [7]], missing="last")
    assert means(sm.evaluate(ranks, "rr@3")) == pytest.approx({"rr@3": 1 / 3})


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float16"])
def test_scores_of_a_reranker_decide(dtype):
    scores = np.array([[100, 200]], np.uint8).astype(dtype)
    ranks = sm.Ranks.from_top_k([[5, 7]], [[7]], scores=scores)
    assert means(sm.evaluate(ranks, "rr@2")) == {"rr@2": 1.0}


SCORES = np.array([[0.1, 0.9, 0.5], [0.7, 0.2, 0.3]])
ONE_HOT = np.array([[0, 0, 1], [1, 0, 0]])  # 2nd and 1st


@pytest.mark.parametrize(
    "as_given", [np.asarray, np.ndarray.tolist, np.bool_, np.float32, np.uint8]
)
def test_one_hot_labels_of_a_batch(as_given):
    meter = sm.RankMeter("hit@1")
    meter.update(SCORES, positive=as_given(ONE_HOT))
    assert means(meter.compute())["hit@1"] == 1 / 2


def test_several_labels_of_a_row():
    meter = sm.RankMeter("recall@1")
    meter.update(SCORES, positive=[[1, 1, 0], [1, 0, 0]])
    assert means(meter.compute())["recall@1"] == (1 / 2 + 1) / 2


@pytest.mark.parametrize("name", ["row_id", "impression_id", "ImpressionID"])
def test_rows_of_a_user_with_negatives_of_their_own(name):
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
        pytest.param(
            RUN.replace(" d1", " #d1"), QRELS.replace("d1", "#d1"), id="ids with #"
        ),
        pytest.param(RUN.replace(" ", "\t"), QRELS.replace(" ", "  "), id="tabs"),
        pytest.param(
            RUN.replace("\n", "\r\n"), QRELS.replace("\n", "\r\n"), id="CRLF"
        ),
    ],
)
def test_files_of_trec_eval(tmp_path, run, qrels):
    (tmp_path / "a.run").write_bytes(run.encode())
    (tmp_path / "a.qrels").write_bytes(qrels.encode())
    found = sm.evaluate(tmp_path / "a.run", "rr@2", relevant=tmp_path / "a.qrels")
    assert means(found) == {"rr@2": (1 / 2 + 1) / 2}


# Right, refused or asked about; never other values in silence.
ROWS = pd.DataFrame(
    [
        (user, item, place)
        for user, own in LISTS.items()
        for place, item in enumerate(own, 1)
    ],
    columns=["user_id", "item_id", "rank"],
)
SHUFFLED = ROWS.iloc[[2, 1, 0, 5, 4, 3, 6, 7, 8]]


def asked_or(right, call):
    """The right values, a question, or a refusal; never other values in silence."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = means(call())
        except sm.InputError:
            return
    questions = [text for text in full_messages(caught) if "carry" not in text]
    assert questions or found == pytest.approx(right)


@pytest.mark.parametrize("metric", ["ap", "ndcg"])
def test_whole_metrics_of_lists_that_end(metric):
    places = {"ap": 1 / 3, "ndcg": 1 / (1 + 1 / np.log2(3) + 1 / 2)}
    found = sm.evaluate(
        {"u": [20, 10, 30]}, metric, relevant={"u": [20, 1, 3]}, missing="last"
    )
    assert means(found) == pytest.approx({metric: places[metric]})


def test_random_lists_that_end_against_trec_eval():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(0)
    names = {
        "map": "ap",
        "ndcg": "ndcg",
        "recip_rank": "rr",
        "ndcg_cut_5": "ndcg@5",
        "recall_5": "recall@5",
    }
    for _ in range(20):
        qrels = {
            f"q{u}": {
                f"d{i}": int(g)
                for i, g in zip(
                    rng.choice(12, 6, replace=False),
                    rng.integers(0, 3, 6),
                    strict=True,
                )
            }
            | {"d12": 1}
            for u in range(6)
        }
        run = {
            q: {
                f"d{i}": float(s)
                for i, s in zip(
                    rng.choice(14, n, replace=False), rng.permutation(n), strict=True
                )
            }
            for q, n in zip(qrels, rng.integers(0, 7, 6), strict=True)
            if n
        }
        if not run:
            continue
        theirs = pytrec_eval.RelevanceEvaluator(qrels, set(names)).evaluate(run)
        right = {
            ours: np.mean([theirs.get(q, {}).get(name, 0.0) for q in qrels])
            for name, ours in names.items()
        }
        assert means(
            sm.evaluate(run, ",".join(right), relevant=qrels, missing="last")
        ) == pytest.approx(right)


@pytest.mark.parametrize(
    "relevant",
    [sparse.csr_matrix(([1], ([0], [7])), shape=(2, 9)), [[7], []], [7, -1]],
)
def test_users_without_relevant_items_are_left_out_of_lists(relevant):
    found = sm.evaluate({0: [5, 7], 1: [7, 5]}, "rr@2,recall@2", relevant=relevant)
    assert means(found) == {"rr@2": 1 / 2, "recall@2": 1.0}
    assert found[0].n_users == 1


@pytest.mark.parametrize("name", ["Rank", "position", "pos", "place", "order", "k"])
def test_order_in_a_column_of_another_name(name):
    lists = SHUFFLED.rename(columns={"rank": name})
    asked_or(RIGHT, lambda: sm.evaluate(lists, ",".join(RIGHT), relevant=HELD_OUT))


@pytest.mark.parametrize(
    "grades",
    [
        (3, 0, 2, 0, 1, 0),
        ("1", "0") * 3,
        ("yes", "no") * 3,
        (1, None) * 3,
        (7, 0, 1, 0, 12, 0),
    ],
)
def test_grades_of_another_name(grades):
    relevant = pd.DataFrame(
        {
            "user_id": ["u1", "u1", "u2", "u2", "u3", "u3"],
            "item_id": [*"bacbca"],
            "grade": grades,
        }
    )
    asked_or(RIGHT, lambda: sm.evaluate(LISTS, ",".join(RIGHT), relevant=relevant))


def test_running_numbers_of_an_export():
    number = {"u1": 1, "u2": 2, "u3": 3}
    lists = ROWS.replace({"user_id": number}).reset_index(names="row_id")
    relevant = {number[user]: item for user, item in HELD_OUT.items()}
    asked_or(
        RIGHT,
        lambda: sm.evaluate(
            lists, ",".join(RIGHT), relevant=relevant, missing="last"
        ),
    )


def test_lists_per_impression_with_relevant_per_impression():
    lists = pd.DataFrame(
        {
            "user_id": [1] * 4,
            "impression_id": [1, 1, 2, 2],
            "item_id": [*"abab"],
            "score": [0.9, 0.1, 0.2, 0.8],
        }
    )
    relevant = pd.DataFrame(
        {"user_id": [1, 1], "impression_id": [1, 2], "item_id": ["a", "a"]}
    )
    asked_or(
        {"rr": 3 / 4},
        lambda: sm.evaluate(lists, "rr", relevant=relevant, complete=True),
    )


@pytest.mark.parametrize(
    "joined", ["k12 k13", "k12|k13", "k12,k13", "['k12', 'k13']", "k12;k13"]
)
def test_text_ids_joined(joined):
    relevant = pd.DataFrame({"user_id": [1, 2], "item_id": [joined, "k13"]})
    asked_or(
        {"recall@2": 1 / 4},
        lambda: sm.evaluate(
            {1: ["k11", "k12", "k13"], 2: ["k12", "k11", "k13"]},
            "recall@2",
            relevant=relevant,
        ),
    )


def test_item_behind_the_end_of_a_list():
    asked_or(
        {"rr@3": (1 / 3 + 1) / 2},
        lambda: sm.evaluate(
            sm.Ranks.from_top_k([[5, -1, 7], [7, 5, 6]], [[7], [7]]), "rr@3"
        ),
    )


@pytest.mark.parametrize(
    "scores", [[[np.nan, 0.3], [0.2, 0.1]], [[-np.inf, 0.3], [0.2, 0.1]]]
)
def test_scores_of_no_place(scores):
    asked_or(
        {"rr@2": 1 / 2},
        lambda: sm.evaluate(
            sm.Ranks.from_top_k(
                [[5, 7], [7, 5]], [[5], [7]], scores=scores, missing="last"
            ),
            "rr@2",
        ),
    )


@pytest.mark.parametrize("nothing", [None, np.nan])
def test_place_without_an_item(nothing):
    lists = {"u": [nothing, "b"], "v": ["b", "a"]}
    asked_or(
        {"rr@2": 3 / 4},
        lambda: sm.evaluate(lists, "rr@2", relevant={"u": ["b"], "v": ["b"]}),
    )


@pytest.mark.parametrize("first", [0, 1])
def test_ranks_or_distances_as_scores(first):
    rng = np.random.default_rng(0)
    items = np.array([rng.permutation(50)[:8] for _ in range(20)])
    lists = pd.DataFrame(
        {
            "user_id": np.repeat(np.arange(20), 8),
            "item_id": items.ravel(),
            "score": np.tile(np.arange(first, 8 + first), 20) + (0.0, 0.5)[first],
        }
    )
    asked_or(
        {"hit@1": 1.0},
        lambda: sm.evaluate(
            lists, "hit@1", relevant=dict(enumerate(items[:, :1].tolist()))
        ),
    )


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_ids_that_floats_round_in_dictionaries(dtype):
    first = 2 ** {"float16": 11, "float32": 24}[dtype] + 1
    asked_or(
        {"rr@2": 1.0},
        lambda: sm.evaluate(
            {1: [first, first - 1]}, "rr@2", relevant={1: np.array([first], dtype)}
        ),
    )


@pytest.mark.parametrize("answer", [["t2", "t0"], ["t0"], []])
def test_answers_that_name_some_candidates(answer):
    shown = {user: [f"t{k}" for k in range(20)] for user in range(12)}
    held_out = {user: ["t0"] for user in shown}
    place = answer.index("t0") + 1 if "t0" in answer else 20
    ranks = sm.SampledRanks.from_pairs(
        {**shown, 0: answer}, held_out, n_items=300, n_negatives=19, missing="last"
    )
    assert (
        dict(zip(ranks.users.tolist(), ranks.sampled_ranks.tolist(), strict=True))[0]
        == place
    )


def test_lists_of_different_lengths_in_from_top_k():
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


def test_label_that_says_nothing_beside_another():
    relevant = table(user_id=[*"112233"], item_id=[*"bacbca"], clicked=[1] * 6)
    relevant["user_id"] = "u" + relevant["user_id"]
    relevant["purchased"] = (1, 0) * 3
    asked_or(RIGHT, lambda: sm.evaluate(LISTS, ",".join(RIGHT), relevant=relevant))


@pytest.mark.parametrize(
    "ids", [("007", 7), ("5.0", 5), ("1e5", 100000), ("+7", 7), ("a ", "a")]
)
def test_ids_in_another_form(ids):
    lists = table(user_id=[1, 1, 2, 2], item_id=[ids[0], "8", "8", "9"])
    relevant = table(user_id=[1, 2], item_id=[ids[1], "8" if ids[1] == "a" else 8])
    asked_or({"rr@2": 1.0}, lambda: sm.evaluate(lists, "rr@2", relevant=relevant))


@pytest.mark.parametrize(
    "joined", ["k12::k13", "k12/k13", "k12-k13", "k12_k13", "k12+k13", "k12-1 k13-0"]
)
def test_text_ids_joined_otherwise(joined):
    lists = {1: ["k11", "k12", "k13"], 2: ["k12", "k11", "k13"]}
    relevant = table(user_id=[1, 2], item_id=[joined, "k13"])
    with warns_about("several ids"):
        sm.evaluate(lists, "recall@2", relevant=relevant)


@pytest.mark.parametrize("column", ["movie_id", "docid"])
def test_two_columns_of_ids(column):
    lists = ROWS.assign(**{column: ROWS["item_id"].str.upper()})
    with warns_about(column):
        sm.evaluate(lists, "rr@3", relevant=HELD_OUT)


def test_records():
    found = sm.evaluate(
        SHUFFLED.to_dict("records"),
        ",".join(RIGHT),
        relevant=[
            {"user_id": user, "item_id": item} for user, item in HELD_OUT.items()
        ],
    )
    assert means(found) == pytest.approx(RIGHT)


def test_ids_of_the_rows_of_arrays():
    ids = [[5, 7], [7, 5], [9, 7]]
    relevant = {1: [7], 2: [7], 3: [7]}
    ranks = sm.Ranks.from_top_k(ids, relevant, users=[1, 2, 3])
    assert means(sm.evaluate(ranks, "rr@2")) == pytest.approx(
        {"rr@2": (1 / 2 + 1 + 1 / 2) / 3}
    )
    with pytest.raises(sm.InputError, match="user 3"):
        sm.Ranks.from_top_k(ids, relevant, missing="last")


def test_texts_in_arrays_of_objects():
    ranks = sm.Ranks.from_top_k(
        np.array([["a", "b"], ["b", None]], object), {0: ["b"], 1: ["b"]}
    )
    assert ranks.n_better.tolist() == [1, 0]


def test_distances_of_few_rows():
    distances = np.array([[0.1, 0.2, 0.3]] * 3)
    ids = np.array([[5, 6, 7]] * 3)
    asked_or(
        {"rr@3": 1.0},
        lambda: sm.evaluate((distances, ids), "rr@3", relevant=[5, 5, 5]),
    )


def test_seen_rows_of_label_0():
    seen = table(user_id=["u1", "u2"], item_id=["a", "a"], label=[0, 1])
    lists = {user: LISTS[user] for user in ("u1", "u2")}
    relevant = {"u1": ["b"], "u2": ["b"]}
    asked_or(
        {"rr@2": 1.0},
        lambda: sm.evaluate(lists, "rr@2", relevant=relevant, seen=seen),
    )


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
def test_columns_that_are_no_labels(name, values):
    relevant = table(user_id=["u1", "u2", "u3"] * 2, item_id=[*"bcbaac"])
    sm.evaluate(LISTS, "rr@3", relevant=relevant.assign(**{name: values}))


def test_titles_that_answers_make_up():
    shown = {user: [f"t{k}" for k in range(20)] for user in range(12)}
    answers = {**shown, 0: ["no such film", *shown[0][:19]]}
    held_out = {user: ["t2"] for user in shown}
    given = {
        "candidates": shown,
        "n_items": 300,
        "n_negatives": 19,
        "missing": "last",
    }
    ranks = sm.SampledRanks.from_pairs(answers, held_out, **given)
    assert ranks.sampled_ranks.tolist() == [3] * 12


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        (table(customer_id=["c1"], prediction=["11 12"]), "user_id"),
        (table(user_id=[1, 2], rec_0=[5, 7], rec_1=[7, 5]), "item_id"),
        (table(user_id=[1, 2], x=[0.5, 0.7], y=[0.7, 0.5]), "item_id"),
    ],
)
def test_tables_without_ids_of_items(lists, words):
    with pytest.raises(sm.InputError, match=words):
        sm.evaluate(lists, "rr@2", relevant=table(user_id=[1, 2], item_id=[5, 7]))


def test_scores_of_one_user():
    with pytest.raises(sm.InputError):
        sm.evaluate(np.array([0.1, 0.9, 0.5]), "rr", relevant=np.array([0, 0, 1]))


def test_comments_of_tables_and_queries_that_look_like_them(tmp_path):
    path = tmp_path / "lists.csv"
    path.write_text("# of x\nuser_id,item_id\nu1,b\n", encoding="utf-8")
    assert sm.evaluate(path, "rr@1", relevant={"u1": "b"})[0].value == 1.0
    path.write_text("user_id,item_id\nu1,b\n# end\n", encoding="utf-8")
    with pytest.raises(sm.InputError, match="# end"):
        sm.evaluate(path, "rr@1", relevant={"u1": "b"})
    run = tmp_path / "lists.run"
    run.write_text("#1 Q0 b 1 .9 x\nu1 Q0 b 1 .9 x\n", encoding="utf-8")
    assert sm.evaluate(run, "rr@1", relevant={"u1": "b", "#1": "b"})[0].value == 1.0


def test_headerless_rows_of_few_users(tmp_path):
    path = tmp_path / "u.data"
    path.write_text("1\t4\t5\t8\n2\t4\t4\t9\n", encoding="utf-8")
    with pytest.raises(sm.InputError, match="second column"):
        sm.evaluate({1: [5, 4], 2: [4, 5]}, "rr@2", relevant=path)


TWO = [["a", "b"], ["c", "d"]]
B_AND_NONE = [["b"], ["x"]]


@pytest.mark.parametrize("n_users", [1, 2, 9])
def test_distances_of_few_lists_are_told(n_users):
    k = 2 if n_users > 1 else 3
    ids = [[f"{user}-{place}" for place in range(k)] for user in range(n_users)]
    distances = [np.arange(1, k + 1) / 10] * n_users
    relevant = [[own[0]] for own in ids]

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
def test_a_frame_of_pyterrier(without):
    """It has docid, an internal number, beside docno, and ranks from 0."""
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
    found = sm.evaluate(frame, "rr@2", relevant=relevant)
    assert means(found) == {"rr@2": 1 / 4}
    if {"docid", "docno"} <= {*frame}:
        assert any("not read" in note and "docid" in note for note in found.notes)


@pytest.mark.parametrize("ranks", [[0, 1, 1, 2], [0, 1, 0, 2], [0, 1, 2, 3]])
def test_ranks_from_0_are_those_of_all_lists(ranks):
    frame = table(qid=["q1", "q1", "q2", "q2"], docno=list("abcd"), rank=ranks)
    with pytest.raises(sm.InputError, match="rank"):
        sm.evaluate(frame, "rr@2", relevant={"q1": ["b"], "q2": ["x"]})


def test_named_tuples_are_rows_of_a_table():
    class ScoredDoc(NamedTuple):
        query_id: str
        doc_id: str
        score: float

    class Qrel(NamedTuple):
        query_id: str
        doc_id: str
        relevance: int

    rows = [("q1", "a", 0.9), ("q1", "b", 0.6), ("q2", "c", 0.8), ("q2", "d", 0.7)]
    run = [ScoredDoc(*row) for row in rows]
    qrels = [Qrel("q1", "b", 1), Qrel("q2", "x", 2), Qrel("q2", "c", 0)]
    found = sm.evaluate(run, "rr@2", relevant=qrels)
    assert means(found) == {"rr@2": 1 / 4}


@pytest.mark.parametrize("complete", [True, False])
def test_ranks_called_prediction_are_told_of_few_users(complete):
    """As evidently gives them; the item of user 1 is 1st, that of user 2 is 3rd."""
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
    with pytest.warns(sm.InputWarning, match="are they ranks"):
        sm.evaluate(data, "rr@3", **options)
    with pytest.warns(sm.InputWarning, match="are they ranks"):
        sm.correct(ranks, "recall@1", "sampled", n_items=9)
    named = data.rename(columns={"prediction": "rank"})
    found = sm.evaluate(named, "rr@3", relevant=relevant)  # as the warning says
    assert means(found) == pytest.approx({"rr@3": (1 + 1 / 3) / 2})


def test_predictions_that_are_no_ranks():
    lists = table(user_id=[1, 1, 2, 2], item_id=list("abab"), prediction=[2, 1, 5, 4])
    found = sm.evaluate(lists, "rr@2", relevant={1: ["b"], 2: ["a"]})
    assert means(found) == {"rr@2": (1 / 2 + 1) / 2}
    lists = lists.rename(columns={"prediction": "score"}).assign(score=[2, 1, 2, 1])
    found = sm.evaluate(lists, "rr@2", relevant={1: ["b"], 2: ["a"]})
    assert means(found) == {"rr@2": (1 / 2 + 1) / 2}


def test_the_remedies_for_lightfm_with_items_that_are_level():
    """Ranks from 0 of 3 items of user 0, of which 2 are level, and of one of 11 others."""
    users = np.array([0, 0, 0, *range(1, 12)])
    items = np.array([0, 2, 4, *range(1, 12)])
    from_0 = np.array([0, 3, 3, *[2] * 11], "f4")
    ranks = sparse.csr_array((from_0, (users, items)), shape=(12, 23))
    test = sparse.csr_array((np.ones(14), (users, items)), shape=(12, 23))
    with pytest.raises(sm.InputError, match=r"from_ranks\(ranks.data \+ 1, n_items"):
        sm.evaluate(ranks, "rr", relevant=test)
    with pytest.raises(sm.InputError, match="give n_candidates, n_better"):
        sm.Ranks.from_ranks(ranks.data + 1, 23, users=ranks.tocoo().row)
    counts = table(
        user_id=ranks.tocoo().row, n_candidates=23, n_better=ranks.data.astype(int)
    )
    level = counts.groupby(["user_id", "n_better"])["n_better"]
    counts["n_tied"] = level.transform("size") - 1
    found = sm.evaluate(counts, "recall@3, recall@5, rr")
    assert means(found) == pytest.approx(
        {"recall@3": (1 / 3 + 11) / 12, "recall@5": 1.0, "rr": (1 + 11 / 3) / 12}
    )
    different = ranks.data[[0, *range(3, 14)]] + 1
    found = sm.evaluate(sm.Ranks.from_ranks(different, 23, users=np.arange(12)), "rr")
    assert means(found) == pytest.approx({"rr": (1 + 11 / 3) / 12})
