"""Small examples of other packages' tests and documentation, with the numbers that they print.

Places of relevant documents stand for a run of trec_eval; other documents are not relevant.
"""

from itertools import count

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.results import values_by_metric

pytestmark = pytest.mark.filterwarnings("ignore:.*carry most of the value", "ignore:.*skipped")


def single_value(data, metric, **options):
    (result,) = sm.evaluate(data, metric, **options)
    return result.value


# From test/qrels.test and test/results.test of trec_eval: the places of relevant documents,
# the number of relevant documents, and the number of listed ones.
PLACES_AS_TEXT = {
    "301": """
        6 7 16 18 20 26 30 32 37 39 43 49 54 56 57 59 63 67 70 83 92 96 100 103 112
        115 116 122 125 130 131 133 143 144 145 158 172 178 184 197 199 200 207 210
        212 219 224 229 240 249 253 263 267 274 280 290 307 309 315 317 318 320 327
        342 348 384 394 419 435 491 495
    """,
    "302": """
        1 2 4 5 6 8 9 11 12 13 14 15 16 17 18 19 21 22 24 27 28 30 31 34 36 37 39 42
        43 44 47 48 49 50 51 53 56 58 72 79 82 84 116 154 289 301 331 353 394 458
    """,
    "303": """
        19 37 41 43 44 65 67 89 99 107
    """,
}
PLACES = {topic: [int(place) for place in text.split()] for topic, text in PLACES_AS_TEXT.items()}
N_RELEVANT = {"301": 474, "302": 77, "303": 10}
N_LISTED = 500
# From out.test.aq: topics 301, 302, 303 and their mean, with our names of metrics.
PRINTED = {
    "ap": (0.0324, 0.4175, 0.0858, 0.1785),
    "rr": (0.1667, 1.0000, 0.0526, 0.4064),
    "precision@5": (0.0000, 0.8000, 0.0000, 0.2667),
    "precision@10": (0.2000, 0.7000, 0.0000, 0.3000),
    "precision@100": (0.2300, 0.4200, 0.0900, 0.2467),
    "recall@5": (0.0000, 0.0519, 0.0000, 0.0173),
    "recall@100": (0.0485, 0.5455, 0.9000, 0.4980),
    "ndcg": (0.1584, 0.6617, 0.3862, 0.4021),
    "ndcg@10": (0.1518, 0.7530, 0.0000, 0.3016),
    "ndcg@100": (0.2166, 0.6046, 0.3537, 0.3916),
    "ap-by-relevant@10": (0.0010, 0.0768, 0.0000, 0.0259),
    "ap-by-relevant@100": (0.0118, 0.3983, 0.0764, 0.1622),
    "hit@1": (0.0000, 1.0000, 0.0000, 0.3333),
    "hit@5": (0.0000, 1.0000, 0.0000, 0.3333),
}
# From results.trunc with -c: topic 302 has no list, and the list of 303 ends after 84 documents.
CUT = {"302": None, "303": ([3, 4, 5, 7, 13, 18], 84)}
PRINTED_CUT = {
    "ap": (0.0324, 0.0000, 0.2723, 0.1016),
    "rr": (0.1667, 0.0000, 0.3333, 0.1667),
    "precision@5": (0.0000, 0.0000, 0.6000, 0.2000),
    "precision@10": (0.2000, 0.0000, 0.4000, 0.2000),
    "precision@100": (0.2300, 0.0000, 0.0600, 0.0967),
    "recall@5": (0.0000, 0.0000, 0.3000, 0.1000),
    "recall@100": (0.0485, 0.0000, 0.6000, 0.2162),
    "ndcg": (0.1584, 0.0000, 0.4730, 0.2105),
    "ndcg@10": (0.1518, 0.0000, 0.3633, 0.1717),
    "ndcg@100": (0.2166, 0.0000, 0.4730, 0.2299),
    "ap-by-relevant@10": (0.0010, 0.0000, 0.2005, 0.0671),
    "ap-by-relevant@100": (0.0118, 0.0000, 0.2723, 0.0947),
    "hit@1": (0.0000, 0.0000, 0.0000, 0.0000),
    "hit@5": (0.0000, 0.0000, 1.0000, 0.3333),
}


def list_with_relevant_at(places, n_listed, topic):
    """Return a list with the relevant documents r1, r2, ... at some places."""
    number = count(1)
    return [
        f"{topic} r{next(number)}" if place in places else f"{topic} n{place}"
        for place in range(1, n_listed + 1)
    ]


RELEVANT = {
    topic: [f"{topic} r{number}" for number in range(1, n + 1)] for topic, n in N_RELEVANT.items()
}
FULL_RUN = {
    topic: list_with_relevant_at(places, N_LISTED, topic) for topic, places in PLACES.items()
}
CUT_RUN = {"301": FULL_RUN["301"], "303": list_with_relevant_at(*CUT["303"], "303")}


@pytest.mark.parametrize(
    ("run", "printed"),
    [(FULL_RUN, PRINTED), (CUT_RUN, PRINTED_CUT)],
    ids=["all", "with -c"],
)
def test_numbers_of_trec_eval(run, printed):
    metrics = ",".join(printed)
    options = {"relevant": RELEVANT, "missing": "last"}
    means = {name: row[-1] for name, row in printed.items()}
    ours = values_by_metric(run, metrics, **options)
    assert ours == pytest.approx(means, abs=5.1e-5)
    by_topic = sm.values_by_user(run, metrics, **options).sort_index()
    for name, row in printed.items():
        assert by_topic[name].tolist() == pytest.approx(row[:-1], abs=5.1e-5)


def test_topic_without_documents_is_refused():
    with pytest.raises(sm.InputError, match=r"302.*missing"):
        sm.evaluate(CUT_RUN, "rr", relevant=RELEVANT)


def require_values_of_trec_eval(names, run, qrels):
    """Compare means over all topics; one without a list counts as 0."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    listed = {topic: scores for topic, scores in run.items() if scores}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(names)).evaluate(listed)
    expected = {
        ours: np.mean([theirs.get(topic, {}).get(name, 0.0) for topic in qrels])
        for name, ours in names.items()
    }
    ours = values_by_metric(run, ",".join(expected), relevant=qrels, missing="last")
    assert ours == pytest.approx(expected, abs=1e-12)


def test_trec_eval_agrees_to_all_digits():
    names = {"map": "ap", "recip_rank": "rr", "ndcg": "ndcg", "P_5": "precision@5"}
    names |= {
        "ndcg_cut_10": "ndcg@10",
        "recall_100": "recall@100",
        "success_5": "hit@5",
    }
    qrels = {topic: dict.fromkeys(items, 1) for topic, items in RELEVANT.items()}
    scored = {
        topic: {document: -float(place) for place, document in enumerate(documents)}
        for topic, documents in CUT_RUN.items()
    }
    require_values_of_trec_eval(names, scored, qrels)


@pytest.mark.parametrize("seed", range(8))
def test_short_empty_or_absent_lists_match_trec_eval(seed):
    rng = np.random.default_rng(seed)
    qrels = {}
    run = {"q0": {"d12": 1.0}}
    for topic in [f"q{number}" for number in range(8)]:
        judged = rng.choice(12, 6, replace=False)
        grades = rng.integers(0, 4, 6)
        qrels[topic] = {f"d{item}": int(grade) for item, grade in zip(judged, grades, strict=True)}
        qrels[topic]["d12"] = 1
        if rng.random() < 0.8:
            listed = rng.choice(14, rng.integers(0, 9), replace=False)
            run[topic] = {f"d{item}": float(place) for place, item in enumerate(listed)}
    names = {"recip_rank": "rr", "P_5": "precision@5", "recall_5": "recall@5"}
    names |= {
        "success_5": "hit@5",
        "ndcg_cut_5": "ndcg@5",
        "map_cut_5": "ap-by-relevant@5",
    }
    require_values_of_trec_eval(names, run, qrels)


def test_example_of_pytrec_eval():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels = {"q1": {"d1": 0, "d2": 1, "d3": 0}, "q2": {"d2": 1, "d3": 1}}
    run = {
        "q1": {"d1": 1.0, "d2": 0.0, "d3": 1.5},
        "q2": {"d1": 1.5, "d2": 0.2, "d3": 0.5},
    }
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg"}).evaluate(run)
    assert theirs["q1"]["map"] == pytest.approx(1 / 3)
    result = values_by_metric(run, "ap,ndcg", relevant=qrels)
    assert result["ap"] == pytest.approx((1 / 3 + (1 / 2 + 2 / 3) / 2) / 2)
    ndcg = np.mean([values["ndcg"] for values in theirs.values()])
    assert result["ndcg"] == pytest.approx(ndcg)


# From the tests of recommenders: tables of userID, itemID, rating and prediction.
TRUE = {
    1: {3: 3, 1: 5, 2: 4},
    2: {1: 5, 4: 5, 5: 3, 6: 3, 7: 1},
    3: {2: 5, 5: 5, 6: 5, 8: 4, 9: 4, 10: 3, 11: 3, 12: 3, 13: 2, 14: 1},
}
PREDICTED = {
    1: [3, 10, 12],
    2: [10, 3, 5, 11, 13],
    3: [4, 10, 7, 13, 1, 3, 5, 2, 11, 14],
}


def numbered_rows(lists, name, numbers):
    return pd.DataFrame(
        [
            (user, item, number)
            for user, items in lists.items()
            for item, number in zip(items, numbers(items), strict=True)
        ],
        columns=["userID", "itemID", name],
    )


@pytest.mark.filterwarnings("ignore:.*rating is not read")
@pytest.mark.filterwarnings("ignore:.*if they are ranks")  # predictions are 1 to k
@pytest.mark.filterwarnings("ignore:.*warnings about this input")
def test_lists_of_different_lengths_match_printed_values():
    true = numbered_rows(TRUE, "rating", dict.values)
    from_last = lambda items: range(len(items), 0, -1)  # noqa: E731
    predicted = numbered_rows(PREDICTED, "prediction", from_last)
    shuffled = predicted.sample(frac=1.0, random_state=0)
    metrics = "ndcg@10,ap-by-relevant@10,precision@10,recall@10"
    result = values_by_metric(shuffled, metrics, relevant=true, missing="last")
    printed = [0.38172, 0.23613, 0.26666, 0.37777]
    assert list(result.values()) == pytest.approx(printed, abs=1e-5)
    filled = {user: (items + [-2 - k for k in range(10)])[:10] for user, items in PREDICTED.items()}
    assert result == values_by_metric(filled, metrics, relevant=true)
    with pytest.raises(sm.InputError, match="missing"):
        sm.evaluate(shuffled, "ndcg@10", relevant=true)


def test_example_of_rectools():
    """The relevant items of users 1 to 4 are at no rank; 1; 1, 3 and 4; and 1, 2 and 3."""
    lists = {1: [7, 8], 2: [1, 2], 3: [1, 2, 3, 4], 4: [1, 2, 3]}
    relevant = {1: [1, 2], 2: [1], 3: [1, 3, 4], 4: [1, 2, 3]}
    options = {"relevant": relevant, "missing": "last"}
    by_user = sm.values_by_user(lists, "ap-by-relevant@1,ap-by-relevant@3", **options).sort_index()
    assert by_user["ap-by-relevant@1"].tolist() == pytest.approx([0, 1, 1 / 3, 1 / 3])
    assert by_user["ap-by-relevant@3"].tolist() == pytest.approx([0, 1, (1 + 2 / 3) / 3, 1])
    mean = single_value(lists, "ap-by-relevant@3", **options)
    assert mean == pytest.approx(0.6389, abs=5e-5)  # as printed there


# From the tests of LensKit: metric, list, relevant items and value.
LENSKIT = [
    ("ap", [1, 3, 5], [1, 3, 5], 1.0),
    ("ap", [1, 2, 3], [1, 3], (1 + 2 / 3) / 2),
    ("ap", [1, 2, 3], [2, 4], 0.25),
    ("ap@3", [1, 2, 3, 4, 5], [1, 3, 5], (1 + 2 / 3) / 3),
    ("ap@2", [1, 2, 3, 4, 5], [4, 5, 6], 0.0),
    ("ap", [10, 20, 30, 1], [1, 20, 3], (1 / 2 + 2 / 4) / 3),
    ("rr", [1, 2, 3], [1, 4], 1.0),
    ("rr", [1, 2, 3], [5, 2, 3], 0.5),
    ("rr", range(1, 21), [20, 10], 0.1),
    ("rr@5", range(1, 21), [20, 10], 0.0),
    ("rr@5", range(1, 21), [20, 10, 5], 0.2),
    ("rr@10", range(1, 5), [2], 0.5),
    ("ndcg@2", [2, 3, 1], {1: 3, 2: 5, 3: 4}, 1.0),
    ("recall@3", [1, 2, 3], [1, 2, 4, 5], 0.5),
]


@pytest.mark.parametrize(("metric", "recommended", "relevant", "printed"), LENSKIT)
def test_examples_of_lenskit(metric, recommended, relevant, printed):
    options = {"relevant": {"u": relevant}, "missing": "last"}
    value = single_value({"u": list(recommended)}, metric, **options)
    assert value == pytest.approx(printed)


def test_user_without_recommendations_counts_0_as_in_lenskit():
    lists, relevant = {"u": [], "v": [1, 2, 3]}, {"u": [1, 3], "v": [1, 2, 3]}
    result = values_by_metric(lists, "rr,ndcg", relevant=relevant, missing="last")
    assert result == {"rr": 0.5, "ndcg": 0.5}


INDEXES = [0, 0, 0, 1, 1, 1, 1]
PREDS = [0.2, 0.3, 0.5, 0.1, 0.3, 0.5, 0.2]
TARGET = [False, False, True, False, True, False, True]
TORCHMETRICS = {
    "ap": 0.7917,
    "rr": 0.75,
    "precision@2": 0.5,
    "recall@2": 0.75,
    "ndcg": 0.8467,
    "hit@2": 1.0,
    "auc": 0.75,
}


def test_examples_of_torchmetrics():
    pairs = pd.DataFrame({"user_id": INDEXES, "score": PREDS, "target": TARGET})
    result = values_by_metric(sm.Ranks.from_pairs(pairs), ",".join(TORCHMETRICS))
    assert result == pytest.approx(TORCHMETRICS, abs=5e-5)
    lists = pairs.assign(item_id=[0, 1, 2, 0, 1, 2, 3])
    relevant = lists[["user_id", "item_id", "target"]]
    lists = lists.drop(columns="target")
    assert single_value(lists, "recall@2", relevant=relevant) == pytest.approx(0.75)


def test_graded_example_of_torchmetrics():
    relevant = np.array([[10, 0, 0, 1, 5]])
    result = single_value([[0.1, 0.2, 0.3, 4.0, 70.0]], "ndcg", relevant=relevant)
    assert result == pytest.approx(0.6957, abs=5e-5)


def test_example_of_ranx():
    qrels = {"q_1": {"d_12": 5, "d_25": 3}, "q_2": {"d_11": 6, "d_22": 1}}
    scores = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    names = {
        "q_1": ["d_12", "d_23", "d_25", "d_36", "d_32", "d_35"],
        "q_2": ["d_12", "d_11", "d_25", "d_36", "d_22", "d_35"],
    }
    run = {query: dict(zip(ids, scores, strict=True)) for query, ids in names.items()}
    result = values_by_metric(run, "ndcg@5,ap-by-relevant@5,rr", relevant=qrels)
    printed = {"ndcg@5": 0.7861, "ap-by-relevant@5": 0.6416, "rr": 0.75}
    assert result == pytest.approx(printed, abs=1e-4)
