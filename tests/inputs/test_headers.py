"""Files without a header, and flat scores: what a message says to give is right."""

import pathlib
import re

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm

RNG = np.random.default_rng(21)
LISTS = {user: RNG.permutation(40)[:10].tolist() for user in range(30)}
HELD = {user: RNG.permutation(40)[:3].tolist() for user in range(30)}
RECALL = np.mean([np.isin(HELD[user], LISTS[user]).mean() for user in LISTS])
SCORED = pd.DataFrame(
    [(u, i, -k) for u, items in LISTS.items() for k, i in enumerate(items)],
    columns=["user_id", "item_id", "score"],
)
PAIRS = [(user, item) for user, items in HELD.items() for item in items]
FILES = {
    "test.tsv": ("".join(f"{u}\t{i}\t1.0\n" for u, i in PAIRS), "read_csv"),
    "times.tsv": ("".join(f"{u}\t{i}\t5.0\t9783\n" for u, i in PAIRS), "read_csv"),
    "pairs.csv": ("".join(f"{u},{i}\n" for u, i in PAIRS), "read_csv"),
    "sasrec.txt": ("".join(f"{u} {i}\n" for u, i in PAIRS), "read_csv"),
    "lightgcn.txt": (
        "".join(f"{u} {' '.join(map(str, own))}\n" for u, own in HELD.items()),
        "str.split",
    ),
    "lengths.txt": (
        "".join(
            f"{u} {' '.join(map(str, own[: 1 + u % 3]))}\n" for u, own in HELD.items()
        ),
        "str.split",
    ),
}


def code(message):
    """What the message says to give, by the function that it calls."""
    found = re.findall(r"give (pandas.read_csv\(.*?\]\)|\{.*?\)\})", str(message))
    return {
        "read_csv" if "read_csv" in text else "str.split": eval(  # noqa: S307
            text, {"pandas": pd, "pathlib": pathlib}
        )
        for text in found
    }


@pytest.mark.filterwarnings("ignore:relevant. rating is not read")
@pytest.mark.parametrize("name", FILES)
def test_relevant_items_without_a_header(name, tmp_path):
    text, how = FILES[name]
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(sm.InputError, match=name) as caught:
        sm.evaluate(SCORED, "recall@10", relevant=path)
    relevant = code(caught.value)[how]
    right = RECALL
    if name == "lengths.txt":
        held = {user: own[: 1 + user % 3] for user, own in HELD.items()}
        right = np.mean([np.isin(held[u], LISTS[u]).mean() for u in LISTS])
    (found,) = sm.evaluate(SCORED, "recall@10", relevant=relevant)
    assert found.value == pytest.approx(right)


def test_lists_without_a_header(tmp_path):
    path = tmp_path / "recs.tsv"
    SCORED.to_csv(path, sep="\t", header=False, index=False)
    with pytest.raises(sm.InputError, match="no header") as caught:
        sm.evaluate(path, "recall@10", relevant=HELD)
    lists = code(caught.value)["read_csv"]
    (found,) = sm.evaluate(lists, "recall@10", relevant=HELD)
    assert found.value == pytest.approx(RECALL)


def test_flat_scores_of_samples():
    scores = RNG.normal([2.0] + 99 * [0], size=(200, 100))
    label = np.tile([1] + 99 * [0], 200)
    right = np.mean((scores[:, 1:] > scores[:, :1]).sum(1) < 10)

    def hit_rate(data, positive=0):
        options = {"positive": positive, "n_items": 3706}
        return sm.correct(data, "HR@10", "sampled", **options)[0].value

    names = {"n_negatives": 99, "numpy": np}
    for data, positive, expected in (
        (scores[..., None], 0, "scores[..., 0]"),
        (scores[None], 0, "scores.reshape(-1, scores.shape[-1])"),
        (scores.reshape(-1, 1), 0, "scores.reshape(-1, 1 + n_negatives)"),
        (scores.ravel(), label, "scores.reshape(-1, 1 + n_negatives)"),
    ):
        with pytest.raises(sm.InputError, match=re.escape(expected)):
            hit_rate(data, positive)
        assert hit_rate(eval(expected, {**names, "scores": data})) == right  # noqa: S307
    table = pd.DataFrame({"score": scores.ravel(), "label": label})
    expected = "numpy.arange(len(table)) // (1 + n_negatives)"
    with pytest.raises(sm.InputError, match=re.escape(expected)):
        hit_rate(table, None)
    table["user_id"] = eval(expected, {**names, "table": table})  # noqa: S307
    assert hit_rate(table, None) == right


def test_what_vector_stores_return():
    """As of Chroma: a dictionary of lists of lists."""
    found = {"ids": [["a", "b"], ["c", "d"]], "distances": [[0.1, 0.4], [0.2, 0.3]]}
    expected = "Ranks.from_top_k(data['ids'], relevant)"
    with pytest.raises(sm.InputError, match=re.escape(expected)):
        sm.evaluate(found, "mrr@2", relevant=[["b"], ["x"]])
    names = {"Ranks": sm.Ranks, "data": found, "relevant": [["b"], ["x"]]}
    ranks = eval(expected, names)  # noqa: S307
    assert sm.evaluate(ranks, "mrr@2")[0].value == 0.25
