"""The page "Your files": each of its blocks on a few lines of such a file, with values by hand.

Data and values that are named here and not defined are those of tests/helpers/world.py: the
held-out item of user a is at rank 2, and that of user b at rank 3.
"""

import json
import re
from pathlib import Path
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
from tests.helpers.world import FRAME, LABELLED, LISTS, RR, SCORES, TEST, TEST_PAIRS, USERS

PAGE = (ROOT / "docs/your-files.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.filterwarnings("ignore:.*carry most of the value")


def blocks_by_title() -> dict[str, list[str]]:
    """Return the code below each heading of the page that has some."""
    sections = re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]
    return {
        text.partition("\n")[0]: re.findall(r"(?ms)^```python\n(.*?)^```", text)
        for text in sections
    }


class Block(NamedTuple):
    """A block of the page by its title and number, your objects and files, and the values."""

    title: str
    right: list[float]
    yours: dict[str, Any]
    files: dict[str, str] = {}  # noqa: RUF012 - not changed
    number: int = 0

    def run(self, folder: Path) -> Any:
        """Run the code of the block, which names its results so."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        names = {"np": np, "pd": pd, "sm": sm, **self.yours}
        exec(blocks_by_title()[self.title][self.number], names)  # noqa: S102 - code of the page
        return names["results"]


# Stand-ins of objects of packages that need not be installed


def topk(values: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    columns = np.argsort(-values, axis=1)[:, :k]
    return np.take_along_axis(values, columns, axis=1), columns


def of(**methods: Any) -> SimpleNamespace:
    """Return an object whose methods return data, whatever they are called with."""
    return SimpleNamespace(
        **{name: lambda *_, data=data, **__: data for name, data in methods.items()}
    )


def named(frame: pd.DataFrame, *names: str) -> pd.DataFrame:
    return frame.set_axis(names, axis=1)


class SparkRow(NamedTuple):
    item: str
    rating: float


class Prediction(NamedTuple):
    """Of Surprise."""

    uid: str
    iid: str
    r_ui: float
    est: float
    details: Any


RUN = {user: dict(zip(items, (0.9, 0.5, 0.1), strict=True)) for user, items in LISTS.items()}
QRELS = {"a": {"z": 1}, "b": {"x": 1}}
SPARK_ROWS = [[SparkRow(*pair) for pair in run.items()] for run in RUN.values()]
STARS = "u1\tb\t5\t1\nu1\ta\t1\t2\nu2\tc\t4\t3\nu2\tb\t2\t4\n"
AMAZON = "a,z,5.0,9\na,y,1.0,8\nb,x,4.0,7\n"
BEHAVIORS = [
    "1\tU1\t11/15/2019 8:55:22 AM\tN8\tN1-0 N2-1 N3-0",
    "2\tU1\t11/15/2019 9:10:00 AM\tN8\tN4-1 N5-0 N9-0 N10-1",
    "3\tU2\t11/15/2019 9:11:00 AM\t\tN6-0 N7-0",
]
NEWS_SCORES = {"N1": .9, "N2": .5, "N3": .1, "N4": .8, "N5": .3, "N9": .2, "N10": .1, "N6": .2,
               "N7": .1}  # fmt: skip
LETOR = [
    "2 qid:10 1:0.03 2:0.5 #docid = G1",
    "0 qid:10 1:0.1 2:0.2 #docid = G2",
    "1 qid:10 1:0.3 2:0.1 #docid = G3",
    "1 qid:11 1:0 2:1 #docid = G4",
    "0 qid:11 1:1 2:0 #docid = G5",
]
WATCHED = "1,7,0.5,9\n1,8,2.5,8\n1,9,0.1,7\n2,7,3.0,6\n2,8,0.1,5\n2,9,2.0,4\n"
# Above the held-out items of four rows are 1, 3, 0 and 2 of their negatives.
CANDIDATES = [[25, 1, 2, 3], [133, 4, 5, 6], [40, 7, 8, 9], [50, 1, 5, 9]]
OF_CANDIDATES = np.array(
    [[0.5, 0.9, 0.1, 0.2], [0.1, 0.2, 0.3, 0.4], [0.9, 0, 0, 0], [0.3, 0, 1, 1]]
)
NCF_LINES = [f"({user},{held})\t{a}\t{b}\t{c}" for user, (held, a, b, c) in enumerate(CANDIDATES)]
# Of users 0 to 7 the held-out title is the 1st to 5th of those shown, and the 1st to 3rd.
SHOWN = {user: [f"film {user}{k}" for k in range(5)] for user in range(8)}
TITLES = {user: f"film {user}{user % 5}" for user in SHOWN}
OUT_OF_0 = {**SHOWN, 0: SHOWN[0][1:]}  # the title of user 0, which was 1st, is below all
INVENTED = {**SHOWN, 1: ["a film that is not there", *SHOWN[1][:2]], 2: [], 5: SHOWN[5][1:2]}
del INVENTED[6]  # now those of 0 and 1 are 1st and 2nd, and those of 2, 5 and 6 below all


def lines(rows: list[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def score_candidates(users: np.ndarray, items: np.ndarray) -> np.ndarray:
    assert users.tolist() == [0, 1, 2, 3]
    assert items.tolist() == CANDIDATES
    return OF_CANDIDATES


AT_1_AND_RR = [0, RR]  # recall@1, rr@3
BLOCKS = [
    # lists
    Block("Two arrays of the best items", [0, 2 / 2], {"torch": SimpleNamespace(topk=topk),
        "model": lambda users: SCORES[users], "users": [0, 1], "held_out": np.array([2, 0])}),
    # of a, b, c and b, a, c, items b and c have four stars or more
    Block("RecBole", [0, (1 / 2 + 0) / 2], {"lists": pd.DataFrame({"user_id": ["u1"] * 3
        + ["u2"] * 3, "item_id": list("abcbac"), "score": [3, 2, 1] * 2})},
        {"ml.test.inter": "user_id:token\titem_id:token\trating:float\ttimestamp:float\n" + STARS}),
    Block("BEIR", [(1 / np.log2(3) + 0) / 2, (1 + 0) / 2],
        {"results": {"q1": {"d2": 0.9, "d1": 0.5}}},
        {"qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td3\t2\n"}),
    Block("MS MARCO", [(1 / 2 + 1 + 0) / 3], {}, {"run.tsv": "11\t501\t1\n11\t502\t2\n12\t601\t1\n",
        "qrels.dev.small.tsv": "11\t0\t502\t1\n12\t0\t601\t1\n13\t0\t700\t1\n"}),
    *(Block("JSON, a line per user", AT_1_AND_RR, {"test": {first: ["z"], second: ["x"]}},
        {"lists.jsonl": lines([json.dumps({"user_id": user, "items": items})
            for user, items in zip((first, second), LISTS.values(), strict=True)])})
      for first, second in (("a", "b"), (1, 2), (2, 1))),
    Block("Ids joined in a cell", [(1 / 2 * 1 / 2 + 0 + 1) / 3], {"test": pd.DataFrame(
            {"user_id": ["c1", "c1", "c2", "c3"], "item_id": ["0222", "0999", "0111", "0222"]})},
        {"submission.csv": "customer_id,prediction\nc1,0111 0222 0333\nc2,\nc3,0222 0111\n"}),
    Block("Lists with scores in a cell", AT_1_AND_RR, {"test": TEST, "model": of(
        recommendForAllUsers=of(toPandas=pd.DataFrame({"user": USERS,
            "recommendations": SPARK_ROWS})))}),
    Block("Lists with scores in a cell", AT_1_AND_RR,
        {"top_n": dict(zip(USERS, SPARK_ROWS, strict=True)), "test": TEST}, number=1),
    Block("ranx", AT_1_AND_RR, {"run": of(to_dict=RUN), "qrels": of(to_dict=QRELS)}),
    Block("PyTerrier", AT_1_AND_RR, {"run": named(FRAME, "qid", "docno", "score").assign(
            docid=range(6), rank=[0, 1, 2] * 2, query="words"),
        "qrels": named(TEST_PAIRS, "qid", "docno").assign(label=1, iteration="0")}),
    Block("LensKit", AT_1_AND_RR, {"recs": of(to_df=FRAME.assign(rank=[1, 2, 3] * 2)),
        "test": of(to_df=TEST_PAIRS)}),
    Block("RePlay and evidently", AT_1_AND_RR, {"test": named(TEST_PAIRS, "user_idx", "item_idx"),
        "recs": named(FRAME, "user_idx", "item_idx", "rating")}),
    Block("RePlay and evidently", AT_1_AND_RR, {"current": named(LABELLED, "user_id", "item_id",
        "prediction", "target")}, number=1),
    Block("faiss and ANN benchmarks", [(1 / 2 + 2 / 2) / 2], {"ids": np.array([[4, 7], [5, 9]]),
        "neighbors": np.array([[7, 8, 4], [9, 5, 1]])}),
    Block("Semantic ids", [(0 + 1) / 2, (1 / 3 + 1) / 2], {"held_out": np.array([[12, 3], [4, 5]]),
        "beams": np.array([[[1, 2], [1, 3], [12, 3]], [[4, 5], [4, 6], [4, 7]]])}),
    # scores of all items
    # user 0 has two items at ranks 1 and 3, user 1 one at rank 2
    Block("LightFM", [(1 / 1 + 1 / 2) / 2, (1 / 2 + 0) / 2], {"test": None, "train": None,
        "model": of(predict_rank=sparse.csr_matrix(([0.0, 2.0, 1.0], ([0, 0, 1], [4, 2, 3])),
            shape=(2, 5)))}),
    Block("Columns of polars", AT_1_AND_RR,  # a Series of polars converts to chunks
        {"scores": SCORES, "held_out": pa.chunked_array([[2, 0]])}),
    Block("PyKEEN", [(1 / 1 + 1 / 2) / 2, (1 + 0) / 2], {"tails": np.array([1, 2]),
        "scores": np.array([[0.9, 0.8, 0.1, 0.3], [0.2, 0.7, 0.6, 0.9]]),
        "is_fact": np.array([[True, True, False, False], [False, True, True, False]])}),
    # data sets
    Block("Text files of LightGCN and SASRec", AT_1_AND_RR, {"lists": LISTS},
        {"test.txt": "a z\nb x\nc\n"}),
    Block("Text files of LightGCN and SASRec", AT_1_AND_RR, {"lists": LISTS},
        {"ml-1m.txt": "a k\na z\nb l\nb x\n"}, number=1),
    Block("Amazon Reviews 2023", AT_1_AND_RR,
        {"lists": named(FRAME, "user_id", "parent_asin", "score")},
        {"Movies_and_TV.test.csv": "user_id,parent_asin,rating,timestamp\n" + AMAZON}),
    Block("KuaiRec", [(0 + 1 / 2) / 2, (1 / 2 + 1) / 2], {"score": lambda _, videos: -videos},
        {"small_matrix.csv": "user_id,video_id,watch_ratio,timestamp\n" + WATCHED}),
    # candidates with labels
    Block("MIND", [(1 / 2 + 2 / 4) / 2, (1 / 2 + (1 + 1 / 4) / 2) / 2,
            (1 / np.log2(3) + (1 + 1 / np.log2(5)) / (1 + 1 / np.log2(3))) / 2],
        {"score": lambda _, news: news.map(NEWS_SCORES)}, {"behaviors.tsv": lines(BEHAVIORS)}),
    Block("LETOR", [((1 / np.log2(3) + 2 / 2) / (2 + 1 / np.log2(3)) + 1) / 2,
            ((1 / 2 + 2 / 3) / 2 + 1) / 2],
        {"scores": [0.1, 0.9, 0.5, 0.7, 0.2]}, {"test.txt": lines(LETOR)}),
    # samples
    Block("NCF", [2 / 4], {"model": score_candidates, "n_items": 200},
        {"ml-1m.test.negative": lines(NCF_LINES)}),
    Block("ReChorus", [2 / 4], {"runner": of(predict=OF_CANDIDATES), "data": None, "n_items": 200}),
    Block("OGB and TGB", [2 / 4],
        {"y_pred_pos": OF_CANDIDATES[:, 0], "y_pred_neg": OF_CANDIDATES[:, 1:], "n_items": 200}),
    Block("Answers of a language model", [(2 + 2 - 1) / 8],
        {"answers": OUT_OF_0, "held_out": TITLES, "n_items": 300}),
    Block("Answers of a language model", [2 / 8],
        {"answers": INVENTED, "shown": SHOWN, "held_out": TITLES, "n_items": 300}, number=1),
    Block("Surprise", [(1 / 2) ** 0.5], {"predictions": [Prediction("u", "a", 5.0, 4.0, {}),
        Prediction("v", "b", 3.0, 3.0, {})]}),
]  # fmt: skip


def values_of(results: Any) -> list[float]:
    """Return the values of all metrics, in samples those among the negatives."""
    if isinstance(results, float):
        return [results]
    return [each.value for each in results if getattr(each, "estimator", "sampled") == "sampled"]


@pytest.mark.parametrize("block", BLOCKS, ids=[f"{each.title} {each.number}" for each in BLOCKS])
def test_block_gives_the_values_by_hand(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert values_of(block.run(tmp_path)) == pytest.approx(block.right)


def test_every_block_is_run():
    """Some blocks have tests of their own below."""
    tested = {(block.title, block.number) for block in BLOCKS}
    tested |= {("implicit", 0), ("S3-Rec", 0), ("EB-NeRD", 0), ("OGB and TGB", 1)}
    blocks = {
        (title, number)
        for title, codes in blocks_by_title().items()
        for number in range(len(codes))
    }
    assert tested == blocks


def test_implicit(tmp_path):
    als = pytest.importorskip("implicit.als")
    rng = np.random.default_rng(0)
    train = sparse.csr_matrix(rng.random((30, 20)) < 0.2, dtype=np.float32)
    is_new = train.toarray() == 0
    test = (rng.random((30, 20)) < 0.1) & is_new
    test[np.arange(30), is_new.argmax(axis=1)] = True  # at least one of each user
    model = als.AlternatingLeastSquares(factors=4, iterations=2, random_state=0)
    model.fit(train, show_progress=False)
    yours = {"model": model, "train": train, "test": sparse.csr_matrix(test)}
    results = Block("implicit", [], yours).run(tmp_path)
    ids, _ = model.recommend(np.arange(30), train, N=3)
    recall = np.take_along_axis(test, ids, axis=1).sum(axis=1) / test.sum(axis=1)
    assert results[0].value == pytest.approx(recall.mean())


@pytest.mark.parametrize("package", ["ranx", "polars"])
def test_objects_of_installed_packages(package, tmp_path):
    installed = pytest.importorskip(package)
    if package == "ranx":
        yours = {"run": installed.Run(RUN), "qrels": installed.Qrels(QRELS)}
        results = Block("ranx", [], yours).run(tmp_path)
    else:
        yours = {"scores": SCORES, "held_out": installed.Series([2, 0])}
        results = Block("Columns of polars", [], yours).run(tmp_path)
    assert values_of(results) == pytest.approx([0, RR])


def test_s3_rec(tmp_path, monkeypatch):
    """Each of 40 users has seen two of the items 1 to 9, holds out 9, 1 or 2, and gets 3 others."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    events, sampled_items, n_hits = "", "", 0
    for user in range(40):
        held_out = (9, 1, 2)[user % 3]
        others = rng.permutation([item for item in range(1, 10) if item != held_out])
        events += f"{user} {others[0]} {others[1]} {held_out}\n"
        sampled_items += f"{user} {others[2]} {others[3]} {others[4]}\n"
        n_hits += (others[2:5] > held_out).sum() < 2  # an item's score is its number
    files = {"Beauty.txt": events, "Beauty_sample.txt": sampled_items}
    yours = {"score": lambda _, items: items.astype(float)}
    assert values_of(Block("S3-Rec", [], yours, files).run(tmp_path)) == pytest.approx(
        [n_hits / 40]
    )


def test_eb_nerd(tmp_path, monkeypatch):
    """Articles 11 and 13 are clicked, and the least numbers are best."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(
        {
            "impression_id": [1, 2],
            "user_id": [5, 5],
            "article_ids_inview": [[10, 11, 12], [11, 13]],
            "article_ids_clicked": [[11], [13]],
        }
    ).to_parquet("behaviors.parquet")
    yours = {"score": lambda _, articles: -articles.astype(int)}
    results = Block("EB-NeRD", [], yours).run(tmp_path)
    assert values_of(results) == pytest.approx([(1 / 2 + 0) / 2, 1 / np.log2(3)])


def test_tgb_with_fewer_negatives_in_a_row(tmp_path):
    """Of 21 negatives, or 20 of row 1, those above are 7, 20, 0 and 14."""
    negatives = [*np.tile(OF_CANDIDATES[:, 1:], 7)]
    negatives[1] = negatives[1][:-1]
    yours = {"y_pred_pos": OF_CANDIDATES[:, 0], "y_pred_neg": negatives, "n_items": 200}
    with warns_about("random"):
        results = Block("OGB and TGB", [], yours, number=1).run(tmp_path)
    assert values_of(results) == [1 / 4]
