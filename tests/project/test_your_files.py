"""The page "Your files": each of its blocks on a few lines of such a file, with values by hand."""

import importlib.util
import json
import re
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

import sampled_metrics as sm
from tests.conftest import ROOT
from tests.helpers.caught_warnings import warns_about
from tests.helpers.small_lists import HELD_OUT, LISTS, RIGHT, means, table

PAGE = (ROOT / "docs/your-files.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.filterwarnings("ignore:.*carry most of the value")


def sampled(results):
    """Return the metric among the negatives."""
    (value,) = [result.value for result in results if result.estimator == "sampled"]
    return value


@pytest.fixture
def run_block(tmp_path, monkeypatch):
    """Run the code below a heading of the page in a folder with some files; return `results`."""
    monkeypatch.chdir(tmp_path)

    def run(title, files=(), nth=0, **yours):
        sections = re.split(r"^### ", PAGE, flags=re.MULTILINE)
        (section,) = [text for text in sections if text.startswith(f"{title}\n")]
        blocks = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
        for name, text in dict(files).items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        names = {"np": np, "pd": pd, "sm": sm, **yours}
        exec(blocks[nth], names)  # noqa: S102 - the page's own code
        return names["results"]

    return run


def test_all_blocks_are_run():
    text = (ROOT / "tests/project/test_your_files.py").read_text(encoding="utf-8")
    titles = re.findall(r"^### (.*)$", PAGE, re.MULTILINE)
    assert len(titles) >= 11
    assert [title for title in titles if f'"{title}"' not in text] == []
    imports, *blocks = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE)
    assert "import sampled_metrics as sm" in imports
    assert len(blocks) == text.count("    results = " + "run_block(")


def test_top_k_arrays(run_block):
    scores = np.array([[0.1, 0.9, 0.3, 0.5], [0.8, 0.2, 0.6, 0.7], [0.4, 0.3, 0.2, 0.1]])

    def topk(values, k):
        columns = np.argsort(-values, axis=1)[:, :k]
        return np.take_along_axis(values, columns, axis=1), columns

    yours = {"model": lambda users: scores[users], "users": np.arange(3)}
    yours["torch"] = SimpleNamespace(topk=topk)
    results = run_block("Two arrays of the best items", held_out=np.array([1, 2, 3]), **yours)
    assert means(results) == pytest.approx({"HR@1": 1 / 3, "HR@3": 2 / 3})


def test_implicit(run_block):
    als = pytest.importorskip("implicit.als")
    rng = np.random.default_rng(0)
    train = sparse.csr_matrix(rng.random((30, 20)) < 0.2, dtype=np.float32)
    is_new = train.toarray() == 0
    test = (rng.random((30, 20)) < 0.1) & is_new
    test[np.arange(30), is_new.argmax(axis=1)] = True  # at least one of each user
    model = als.AlternatingLeastSquares(factors=4, iterations=2, random_state=0)
    model.fit(train, show_progress=False)
    results = run_block("implicit", model=model, train=train, test=sparse.csr_matrix(test))
    ids, _ = model.recommend(np.arange(30), train, N=3)
    recall = np.take_along_axis(test, ids, axis=1).sum(axis=1) / test.sum(axis=1)
    assert means(results)["recall@3"] == pytest.approx(recall.mean())


def test_recbole(run_block):
    ratings = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
    ratings += "u1\tb\t5\t1\nu1\ta\t1\t2\nu2\tc\t4\t3\nu2\tb\t2\t4\n"
    lists = table(user_id=["u1"] * 3 + ["u2"] * 3, item_id=[*"abcbac"], score=[3, 2, 1] * 2)
    results = run_block("RecBole", {"ml.test.inter": ratings}, lists=lists)
    assert means(results) == pytest.approx({"recall@1": 0.0, "rr@2": 1 / 4})


def test_beir(run_block):
    qrels = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td3\t2\n"
    results = run_block("BEIR", {"qrels/test.tsv": qrels}, results={"q1": {"d2": 0.9, "d1": 0.5}})
    assert means(results) == pytest.approx({"ndcg@10": 1 / np.log2(3) / 2, "recall@10": 1 / 2})


def test_ms_marco(run_block):
    """Relevant documents at rank 2 and at rank 1, and one that is not in the run."""
    files = {
        "run.tsv": "11\t501\t1\n11\t502\t2\n12\t601\t1\n",
        "qrels.dev.small.tsv": "11\t0\t502\t1\n12\t0\t601\t1\n13\t0\t700\t1\n",
    }
    results = run_block("MS MARCO", files)
    assert means(results) == pytest.approx({"rr@10": (1 / 2 + 1 + 0) / 3})


@pytest.mark.parametrize("users", [["u1", "u2", "u3"], [1, 2, 3], [3, 2, 1]])
def test_json_lines(run_block, users):
    rows = zip(users, LISTS.values(), strict=True)
    text = "".join(json.dumps({"user_id": u, "items": items}) + "\n" for u, items in rows)
    test = dict(zip(users, HELD_OUT.values(), strict=True))
    results = run_block("JSON, a line per user", {"lists.jsonl": text}, test=test)
    assert means(results) == pytest.approx(RIGHT)


def test_ids_joined_in_a_cell(run_block):
    text = "customer_id,prediction\nc1,0111 0222 0333\nc2,\nc3,0222 0111\n"
    test = table(user_id=["c1", "c1", "c2", "c3"], item_id=["0222", "0999", "0111", "0222"])
    results = run_block("Ids joined in a cell", {"submission.csv": text}, test=test)
    assert means(results) == pytest.approx({"ap@12": (1 / 4 + 0 + 1) / 3})


def test_mind(run_block):
    lines = "1\tU1\t11/15/2019 8:55:22 AM\tN8\tN1-0 N2-1 N3-0\n"
    lines += "2\tU1\t11/15/2019 9:10:00 AM\tN8\tN4-1 N5-0 N9-0 N10-1\n"
    lines += "3\tU2\t11/15/2019 9:11:00 AM\t\tN6-0 N7-0\n"
    scores = {"N1": 0.9, "N2": 0.5, "N3": 0.1, "N4": 0.8, "N5": 0.3, "N6": 0.2, "N7": 0.1,
              "N9": 0.2, "N10": 0.1}  # fmt: skip
    yours = {"score": lambda _, news: news.map(scores)}
    results = run_block("MIND", {"behaviors.tsv": lines}, **yours)
    by_hand = {
        "auc": (1 / 2 + 2 / 4) / 2,
        "rr-by-relevant": (1 / 2 + (1 + 1 / 4) / 2) / 2,
        "ndcg@5": (1 / np.log2(3) + (1 + 1 / np.log2(5)) / (1 + 1 / np.log2(3))) / 2,
    }
    assert means(results) == pytest.approx(by_hand)


def test_letor(run_block):
    lines = "2 qid:10 1:0.03 2:0.5 #docid = G1\n0 qid:10 1:0.1 2:0.2 #docid = G2\n"
    lines += "1 qid:10 1:0.3 2:0.1 #docid = G3\n1 qid:11 1:0 2:1 #docid = G4\n"
    lines += "0 qid:11 1:1 2:0 #docid = G5\n"
    results = run_block("LETOR", {"test.txt": lines}, scores=[0.1, 0.9, 0.5, 0.7, 0.2])
    # the best item is last, the second best in between
    ndcg = (1 / np.log2(3) + 2 / 2) / (2 + 1 / np.log2(3))
    by_hand = {"ndcg@3": (ndcg + 1) / 2, "ap": ((1 / 2 + 2 / 3) / 2 + 1) / 2}
    assert means(results) == pytest.approx(by_hand)


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

    results = run_block("NCF", {"ml-1m.test.negative": lines}, model=model, n_items=200)
    assert sampled(results) == 2 / 4


def test_rechorus(run_block):
    runner = SimpleNamespace(predict=lambda _: OF_CANDIDATES)
    results = run_block("ReChorus", runner=runner, data=None, n_items=200)
    assert sampled(results) == 2 / 4


def test_s3_rec(run_block):
    """Each of 40 users has seen two of the items 1 to 9, holds out 9, 1 or 2, and gets 3 others."""
    rng = np.random.default_rng(0)
    events, sampled_items, n_hits = "", "", 0
    for user in range(40):
        held_out = (9, 1, 2)[user % 3]
        others = rng.permutation([item for item in range(1, 10) if item != held_out])
        events += f"{user} {others[0]} {others[1]} {held_out}\n"
        sampled_items += f"{user} {others[2]} {others[3]} {others[4]}\n"
        n_hits += (others[2:5] > held_out).sum() < 2  # an item's score is its number
    files = {"Beauty.txt": events, "Beauty_sample.txt": sampled_items}
    results = run_block("S3-Rec", files, score=lambda _, items: items.astype(float))
    assert sampled(results) == pytest.approx(n_hits / 40)


SHOWN = {user: [f"film {user}{k}" for k in range(5)] for user in range(8)}
# 1st to 5th of those shown
TITLES = {user: f"film {user}{user % 5}" for user in SHOWN}


def test_answer_without_held_out_item_ranks_last(run_block):
    answers = {user: list(shown) for user, shown in SHOWN.items()}
    answers[0].remove(TITLES[0])  # it was 1st and is now behind all
    yours = {"answers": answers, "held_out": TITLES, "n_items": 300}
    # Of users 0 to 7 the places are 1 to 5 and 1 to 3.
    results = run_block("Answers of a language model", **yours)
    assert sampled(results) == (2 + 2 - 1) / 8


def test_answers_with_missing_or_invented_titles(run_block):
    answers = {user: list(shown) for user, shown in SHOWN.items()}
    answers[1] = ["a film that is not there", *SHOWN[1][:2]]
    answers[2] = []
    answers[5] = SHOWN[5][1:2]
    del answers[6]
    yours = {"answers": answers, "shown": SHOWN, "held_out": TITLES, "n_items": 300}
    # Of users 0 and 1 the held-out item is 1st and 2nd; of 2, 5 and 6 it is behind all.
    results = run_block("Answers of a language model", nth=1, **yours)
    assert sampled(results) == 2 / 8


# Formats of packages that need not be installed: stand-ins with the same output.

OF_TABLES = table(
    user_id=[user for user in LISTS for _ in "abc"],
    item_id=[item for items in LISTS.values() for item in items],
    score=[3.0, 2.0, 1.0] * 3,
)
HELD_ROWS = table(user_id=[*HELD_OUT], item_id=[*HELD_OUT.values()])


class Row(NamedTuple):
    """A row of a Spark struct."""

    item: str
    rating: float


class Prediction(NamedTuple):
    """A prediction of Surprise."""

    uid: str
    iid: str
    r_ui: float
    est: float
    details: Any


def frame_of(data):
    return SimpleNamespace(to_df=lambda: data, toPandas=lambda: data)


def test_lists_with_scores_in_a_cell(run_block):
    recommendations = [
        [Row(item, score) for item, score in zip(items, (0.9, 0.5, 0.1), strict=True)]
        for items in LISTS.values()
    ]
    rows = table(user=[*LISTS], recommendations=recommendations)
    model = SimpleNamespace(recommendForAllUsers=lambda _: frame_of(rows))
    title = "Lists with scores in a cell"
    results = run_block(title, model=model, test=HELD_OUT)
    assert means(results) == pytest.approx(RIGHT)
    top_n = dict(zip(LISTS, recommendations, strict=True))
    results = run_block(title, nth=1, top_n=top_n, test=HELD_OUT)
    assert means(results) == pytest.approx(RIGHT)


def test_ranx(run_block):
    run = {user: dict(zip(items, (0.9, 0.5, 0.1), strict=True)) for user, items in LISTS.items()}
    qrels = {user: {item: 1} for user, item in HELD_OUT.items()}
    yours = {
        name: SimpleNamespace(to_dict=lambda data=data: data)
        for name, data in {"run": run, "qrels": qrels}.items()
    }
    if importlib.util.find_spec("ranx"):
        import ranx

        yours = {"run": ranx.Run(run), "qrels": ranx.Qrels(qrels)}
    results = run_block("ranx", **yours)
    assert means(results) == pytest.approx(RIGHT)


def test_pyterrier(run_block):
    run = OF_TABLES.set_axis(["qid", "docno", "score"], axis=1)
    run = run.assign(docid=range(9), rank=[0, 1, 2] * 3, query="words")
    qrels = HELD_ROWS.set_axis(["qid", "docno"], axis=1).assign(label=1, iteration="0")
    results = run_block("PyTerrier", run=run, qrels=qrels)
    assert means(results) == pytest.approx(RIGHT)


def test_lenskit(run_block):
    recs = frame_of(OF_TABLES.assign(rank=[1, 2, 3] * 3))
    results = run_block("LensKit", recs=recs, test=frame_of(HELD_ROWS))
    assert means(results) == pytest.approx(RIGHT)


def test_replay_and_evidently(run_block):
    names = ["user_idx", "item_idx", "rating"]
    recs = OF_TABLES.set_axis(names, axis=1)
    test = HELD_ROWS.set_axis(names[:2], axis=1)
    results = run_block("RePlay and evidently", recs=recs, test=test)
    assert means(results) == pytest.approx(RIGHT)
    target = OF_TABLES["item_id"] == OF_TABLES["user_id"].map(HELD_OUT)
    current = OF_TABLES.assign(prediction=OF_TABLES["score"] / 10)  # 3, 2, 1 would look like ranks
    current = current.drop(columns="score").assign(target=target.astype(int))
    results = run_block("RePlay and evidently", nth=1, current=current)
    assert means(results) == pytest.approx(RIGHT)


def test_faiss(run_block):
    ids, neighbors = np.array([[4, 7], [5, 9]]), np.array([[7, 8, 4], [9, 5, 1]])
    results = run_block("faiss and ANN benchmarks", ids=ids, neighbors=neighbors)
    assert means(results) == {"recall@2": (1 / 2 + 1) / 2}


def test_semantic_ids(run_block):
    beams = np.array([[[1, 2], [1, 3], [12, 3]], [[4, 5], [4, 6], [4, 7]]])
    held_out = np.array([[12, 3], [4, 5]])
    results = run_block("Semantic ids", beams=beams, held_out=held_out)
    assert means(results) == pytest.approx({"recall@1": 1 / 2, "rr@3": (1 / 3 + 1) / 2})


def test_lightfm(run_block):
    # user 0 has two items at ranks 1 and 3, user 1 one at rank 2
    ranks = sparse.csr_matrix(([0.0, 2.0, 1.0], ([0, 0, 1], [4, 2, 3])), shape=(2, 5))
    model = SimpleNamespace(predict_rank=lambda _, train_interactions: ranks)  # noqa: ARG005
    results = run_block("LightFM", model=model, test=ranks, train=None)
    assert means(results) == {"rr": (1 + 1 / 2) / 2, "recall@1": (1 / 2 + 0) / 2}


def test_polars_columns(run_block):
    scores = np.array([[0.1, 0.9, 0.3], [0.8, 0.2, 0.6], [0.4, 0.3, 0.2]])
    held_out = pa.chunked_array([[1, 2, 2]])  # what a Series of polars converts to
    if importlib.util.find_spec("polars"):
        import polars

        held_out = polars.Series(held_out)
    results = run_block("Columns of polars", scores=scores, held_out=held_out)
    assert means(results) == pytest.approx({"recall@1": 1 / 3, "rr@3": (1 + 1 / 2 + 1 / 3) / 3})


def test_pykeen(run_block):
    scores = np.array([[0.9, 0.8, 0.1, 0.3], [0.2, 0.7, 0.6, 0.9]])
    is_fact = np.array([[True, True, False, False], [False, True, True, False]])
    results = run_block("PyKEEN", scores=scores, tails=np.array([1, 2]), is_fact=is_fact)
    assert means(results) == pytest.approx({"rr": (1 + 1 / 2) / 2, "recall@1": 1 / 2})


def test_lightgcn_and_sasrec_text_files(run_block):
    title = "Text files of LightGCN and SASRec"
    lists = {
        "1": ["11", "12", "13"],
        "2": ["12", "11", "13"],
        "3": ["13", "12", "11"],
    }
    text = "1 12\n2 13\n3 13\n4\n"
    results = run_block(title, {"test.txt": text}, lists=lists)
    assert means(results) == pytest.approx(RIGHT)
    text = "1 20\n1 12\n2 21\n2 13\n3 12\n3 13\n"
    results = run_block(title, {"ml-1m.txt": text}, nth=1, lists=lists)
    assert means(results) == pytest.approx(RIGHT)


def test_amazon_reviews(run_block):
    text = "user_id,parent_asin,rating,timestamp\n"
    text += "u1,b,5.0,9\nu1,a,1.0,8\nu2,c,4.0,7\nu3,c,5.0,6\n"
    lists = OF_TABLES.rename(columns={"item_id": "parent_asin"})
    results = run_block("Amazon Reviews 2023", {"Movies_and_TV.test.csv": text}, lists=lists)
    assert means(results) == pytest.approx(RIGHT)


def test_kuairec(run_block):
    text = "user_id,video_id,watch_ratio,timestamp\n"
    text += "1,7,0.5,9\n1,8,2.5,8\n1,9,0.1,7\n2,7,3.0,6\n2,8,0.1,5\n2,9,2.0,4\n"
    yours = {"score": lambda _, videos: -videos}  # best first: 7, 8, 9
    results = run_block("KuaiRec", {"small_matrix.csv": text}, **yours)
    by_hand = {"recall@1": (0 + 1 / 2) / 2, "rr@3": (1 / 2 + 1) / 2}
    assert means(results) == pytest.approx(by_hand)


def test_eb_nerd(run_block, tmp_path):
    rows = table(
        impression_id=[1, 2],
        user_id=[5, 5],
        article_ids_inview=[[10, 11, 12], [11, 13]],
        article_ids_clicked=[[11], [13]],
    )
    rows.to_parquet(tmp_path / "behaviors.parquet")
    yours = {"score": lambda _, articles: -articles.astype(int)}
    results = run_block("EB-NeRD", **yours)
    by_hand = {"auc": (1 / 2 + 0) / 2, "ndcg@5": 1 / np.log2(3)}
    assert means(results) == pytest.approx(by_hand)


def test_ogb_and_tgb(run_block):
    positive, others = OF_CANDIDATES[:, 0], OF_CANDIDATES[:, 1:]
    yours = {"y_pred_pos": positive, "y_pred_neg": others, "n_items": 200}
    results = run_block("OGB and TGB", **yours)
    assert sampled(results) == 2 / 4
    yours["y_pred_neg"] = [*np.tile(others, 7)]  # 7, 21, 0 and 14 of 21 are above
    yours["y_pred_neg"][1] = yours["y_pred_neg"][1][:-1]
    with warns_about("chosen at random"):
        results = run_block("OGB and TGB", nth=1, **yours)
    assert sampled(results) == 1 / 4


def test_surprise(run_block):
    rows = [
        Prediction("u", "a", 5.0, 4.0, {"was_impossible": False}),
        Prediction("v", "b", 3.0, 3.0, {"was_impossible": False}),
    ]
    results = run_block("Surprise", predictions=rows)
    assert results == pytest.approx((1 / 2) ** 0.5)
