"""Labels and grades: rows of label 0 are not relevant, whatever the form of the data."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import warns_about
from tests.helpers.labelled_lists import LABELS, SCORED_LISTS
from tests.helpers.results import refusal_message, values, values_and_warnings
from tests.helpers.retriever import HELD_OUT, ITEM_SCORES, N_USERS

NDCG = (1 + (1 / np.log2(3) + 1 / 2) / (1 + 1 / np.log2(3))) / 2


LABEL_NAMES = [
    *("relevance", "label", "clicked", "target", "rel", "relevant", "is_relevant"),
    "label:float",
]


@pytest.mark.parametrize("name", LABEL_NAMES)
def test_row_of_label_0_is_not_relevant(name):
    signs = 2 * LABELS - 1
    for labels in (LABELS, LABELS.astype(float), LABELS.astype(bool), signs):
        relevant = SCORED_LISTS[["user_id", "item_id"]].assign(**{name: labels})
        result, messages = values_and_warnings(
            sm.evaluate, SCORED_LISTS, "ndcg@3, recall@1", relevant=relevant
        )
        assert result == pytest.approx([NDCG, 0.5]), labels.dtype
        assert not messages


def test_labels_in_files_are_read(tmp_path):
    rows = zip(SCORED_LISTS.user_id, SCORED_LISTS.item_id, LABELS, strict=True)
    (tmp_path / "a.qrels").write_text("".join(f"{u} 0 {i} {y}\n" for u, i, y in rows))
    table = SCORED_LISTS[["user_id", "item_id"]].assign(label=LABELS)
    atomic = {"user_id": "user_id:token", "item_id": "item_id:token"}
    beir = {"user_id": "query-id", "item_id": "corpus-id", "label": "score"}
    for name, names in (("a.inter", atomic), ("qrels.tsv", beir)):
        table.rename(columns=names).to_csv(tmp_path / name, sep="\t", index=False)
    for name in ("a.qrels", "a.inter", "qrels.tsv"):
        call = partial(sm.evaluate, relevant=tmp_path / name)
        result, _ = values_and_warnings(call, SCORED_LISTS, "ndcg@3")
        assert result == pytest.approx([NDCG])


def test_ratings_are_grades_with_min_relevance():
    rated = SCORED_LISTS[["user_id", "item_id"]].assign(rating=1 + 4 * LABELS)
    call = partial(sm.evaluate, SCORED_LISTS, "recall@1", relevant=rated)
    result, _ = values_and_warnings(call, min_relevance=4)
    assert result == pytest.approx([0.5])
    assert "rating is not read" in values_and_warnings(call)[1]


def test_labels_of_seen_items_and_negatives_are_read():
    held_out = {0: [3], 1: [4]}
    lists = SCORED_LISTS[["user_id", "item_id"]]
    is_seen = lists["item_id"] < 3
    seen, marked = lists[is_seen], lists.assign(label=is_seen.astype(int))
    for table in (seen, marked):
        with warnings.catch_warnings(action="ignore"):
            result = sm.negatives(held_out, table, 1, items=6)
        assert result.item_id.isin([3, 4, 5, 0]).all()
    pairs = pd.DataFrame({"user_id": [0, 0, 1, 1], "item_id": [3, 5, 4, 5], "label": [1, 0, 1, 0]})
    checks = sm.check_negatives(pairs, held_out, seen, items=range(6))
    assert {check.name: check.passed for check in checks}["held-out item"]


def test_impressions_stand_for_users():
    """MIND has a row for each candidate of an impression, clicked or not."""
    data = SCORED_LISTS.rename(columns={"user_id": "impression_id"}).assign(clicked=LABELS)
    expected = pytest.approx([NDCG, 0.5])
    by_relevant = partial(sm.evaluate, data.drop(columns="clicked"), relevant=data)
    for call in (by_relevant, partial(sm.evaluate, data, complete=True)):
        assert values_and_warnings(partial(call, "ndcg@3, recall@1"))[0] == expected


def test_several_labels_of_a_row_are_read():
    """Full rankings count all candidates above an item, samples only the negatives."""
    scores = np.array([[0.9, 0.5, 0.7, 0.1], [0.2, 0.8, 0.3, 0.4]])
    labels = np.array([[1, 1, 0, 0], [0, 0, 1, 0]])
    meter = sm.RankMeter("ap")
    meter.update(scores, positive=labels)
    assert meter.compute()[0].value == pytest.approx(((1 + 2 / 3) / 2 + 1 / 3) / 2)
    same = sm.evaluate(scores, "ap", relevant=[[0, 1], [2]])
    assert same[0].value == meter.compute()[0].value
    positive = np.array([[1, 1, 0, 0]] * 2)
    both = sm.SampledRanks.from_scores(scores, positive, n_items=90)
    assert both.sampled_ranks.tolist() == [1, 2, 3, 1]
    assert both.users.tolist() == [0, 0, 1, 1]
    assert both.n_negatives == 2
    positive = np.array([[1, 0, 0, 0], [0] * 4])
    assert "row 2" in refusal_message(meter.update, scores, positive=positive)


def test_labelled_pairs_need_complete_or_correct():
    pairs = pd.DataFrame({"user_id": [1, 1, 1], "score": [0.5, 0.9, 0.1], "label": [1, 0, 0]})
    message = refusal_message(sm.evaluate, pairs, "rr")
    assert "complete=True" in message
    assert "correct" in message
    assert values(sm.evaluate(sm.Ranks.from_pairs(pairs), "rr")) == [0.5]
    assert values(sm.evaluate(pairs, "rr", complete=True)) == [0.5]


def test_labels_of_each_column_are_read():
    one_hot = np.zeros(ITEM_SCORES.shape, int)
    one_hot[np.arange(N_USERS), HELD_OUT] = 1
    held_out_score = ITEM_SCORES[np.arange(N_USERS), HELD_OUT][:, None]
    expected = np.mean((held_out_score < ITEM_SCORES).sum(axis=1) < 10)
    for labels in (one_hot, one_hot.astype(bool), one_hot.astype(float)):
        meter = sm.RankMeter("recall@10")
        meter.update(ITEM_SCORES, positive=labels)
        assert values_and_warnings(meter.compute)[0] == [pytest.approx(expected)]


# Labels beside ranks


def labelled_ranks():
    """Return ranks 1 to 30 of each user with one relevant item, and the ranks of these items."""
    n_users, n = 60, 30
    held_out = np.ceil(n * np.random.default_rng(1).random(n_users) ** 3).astype(int)
    rank = np.tile(np.arange(1, n + 1), n_users)
    user = np.repeat(np.arange(n_users), n)
    label = (rank == held_out[user]) * 1
    return pd.DataFrame({"user_id": user, "rank": rank, "label": label}), held_out


def test_rank_of_label_0_is_not_relevant():
    labels = {"rank": [1, 2, 3] * 2, "label": [0, 1, 0, 0, 0, 1]}
    table = pd.DataFrame({"user_id": list("aaabbb"), **labels})
    sizes = table.assign(n_candidates=4)
    counts = sizes.assign(n_better=table["rank"] - 1, n_tied=0).drop(columns="rank")
    for data, options in (
        (table, {"n_items": 4}),
        (table.rename(columns={"label": "target"}), {"n_items": 4}),
        (table.rename(columns={"label": "is_relevant"}), {"n_items": 4}),
        (table.rename(columns={"label": "clicked"}), {"n_items": 4}),
        (sizes, {}),
        (sm.Ranks.from_ranks(table, 4), {}),
        (counts, {}),
        (counts.sample(frac=1, random_state=0), {}),
    ):
        # ranks 2 and 3: (1/2 + 1/3) / 2, and no hit at rank 1
        results = sm.evaluate(data, "rr, hit@1", **options)
        assert values(results) == pytest.approx([5 / 12, 0.0])


def test_labelled_ranks_of_many_users_are_read(tmp_path):
    table, held_out = labelled_ranks()
    right = pytest.approx([np.mean(1 / held_out), np.mean(held_out <= 5)])
    path = tmp_path / "ranks.csv"
    table.to_csv(path, index=False)
    for data in (table, path):
        assert values(sm.evaluate(data, "rr, hit@5", n_items=30)) == right


def test_labels_of_ranks_may_be_grades():
    table = pd.DataFrame({"user_id": 1, "rank": [1, 2, 3], "label": [1, 0, 3]})
    # gain 1 at rank 1 and 3 at rank 3; the ideal is 3 at rank 1 and 1 at rank 2
    right = (1 + 3 / 2) / (3 + 1 / np.log2(3))
    assert values(sm.evaluate(table, "ndcg@3", n_items=3)) == pytest.approx([right])


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_labelled_ranks_called_predictions_warn():
    table, held_out = labelled_ranks()
    predicted = table.rename(columns={"rank": "prediction"})
    results = sm.evaluate(predicted, "rr", complete=True)
    assert any("if they are ranks" in note for note in results.notes)
    results = sm.evaluate(table, "rr", n_items=30)  # as the warning suggests
    assert values(results) == pytest.approx([np.mean(1 / held_out)])


def test_users_without_a_positive_label_warn():
    table = pd.DataFrame({"user_id": [1, 1, 2, 2], "rank": [1, 2] * 2, "label": [0, 1, 0, 0]})
    with warns_about("1 of 2 users"):
        assert values(sm.evaluate(table, "rr", n_items=9)) == [0.5]
    with pytest.raises(sm.InputError, match="label"):
        sm.evaluate(table.assign(label=0), "rr", n_items=9)


def test_labelled_lists_hold_their_relevant_items():
    table, held_out = labelled_ranks()
    table["item_id"] = table["rank"] * 37 % 101
    with pytest.raises(sm.InputError, match="label"):
        sm.evaluate(table, "rr")
    results = sm.evaluate(table, "rr", relevant=table)
    assert values(results) == pytest.approx([np.mean(1 / held_out)])


def test_row_of_label_0_is_not_a_sampled_rank():
    ranks = np.random.default_rng(0).integers(1, 12, 40)
    table = pd.DataFrame({"user_id": np.arange(40), "sampled_rank": ranks})
    right = np.mean(table["sampled_rank"] <= 5)
    others = table.assign(label=0, sampled_rank=1)
    both = pd.concat([table.assign(label=1), others]).sample(frac=1, random_state=1)
    options = {"n_items": 99, "n_negatives": 10}
    results = sm.correct(both, "recall@5", "sampled", **options)
    assert values(results) == pytest.approx([right])
