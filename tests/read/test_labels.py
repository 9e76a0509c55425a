"""Labels and grades: rows of label 0 are not relevant, whatever the form of the data."""

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


OF_TWO_USERS = {0: [3], 1: [4]}  # held-out items


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize("has_labels", [False, True])
def test_items_of_label_0_are_not_seen(has_labels):
    """Items 0, 1 and 2 of each list are seen; the others may be drawn."""
    pairs = SCORED_LISTS[["user_id", "item_id"]]
    is_seen = pairs["item_id"] < 3
    seen = pairs.assign(label=is_seen.astype(int)) if has_labels else pairs[is_seen]
    drawn = sm.negatives(OF_TWO_USERS, seen, 1, items=6)
    assert drawn.item_id.isin([3, 4, 5, 0]).all()


def test_negatives_of_label_1_are_held_out_items():
    pairs = pd.DataFrame({"user_id": [0, 0, 1, 1], "item_id": [3, 5, 4, 5], "label": [1, 0, 1, 0]})
    seen = SCORED_LISTS[["user_id", "item_id"]].query("item_id < 3")
    checks = sm.check_negatives(pairs, OF_TWO_USERS, seen, items=range(6))
    assert {check.name: check.passed for check in checks}["held-out item"]


def test_impressions_stand_for_users():
    """MIND has a row for each candidate of an impression, clicked or not."""
    data = SCORED_LISTS.rename(columns={"user_id": "impression_id"}).assign(clicked=LABELS)
    expected = pytest.approx([NDCG, 0.5])
    by_relevant = partial(sm.evaluate, data.drop(columns="clicked"), relevant=data)
    for call in (by_relevant, partial(sm.evaluate, data, complete=True)):
        assert values_and_warnings(partial(call, "ndcg@3, recall@1"))[0] == expected


# The two items of row 0 are at ranks 1 and 3, and the one of row 1 at rank 3.
SCORES = np.array([[0.9, 0.5, 0.7, 0.1], [0.2, 0.8, 0.3, 0.4]])
ROW_LABELS = np.array([[1, 1, 0, 0], [0, 0, 1, 0]])
AP = ((1 / 1 + 2 / 3) / 2 + 1 / 3) / 2


def test_several_labels_of_a_row_of_a_meter_are_read():
    meter = sm.RankMeter("ap")
    meter.update(SCORES, positive=ROW_LABELS)
    assert meter.compute()[0].value == pytest.approx(AP)


def test_several_columns_of_a_row_are_read():
    (result,) = sm.evaluate(SCORES, "ap", relevant=[[0, 1], [2]])
    assert result.value == pytest.approx(AP)


def test_several_labels_of_a_sample_are_not_negatives_of_each_other():
    """Items 0 and 1 of each row among items 2 and 3: ranks 1 and 2, and 3 and 1."""
    sample = sm.SampledRanks.from_scores(SCORES, np.array([[1, 1, 0, 0]] * 2), n_items=90)
    assert sample.sampled_ranks.tolist() == [1, 2, 3, 1]
    assert sample.users.tolist() == [0, 0, 1, 1]
    assert sample.n_negatives == 2


def test_row_without_a_positive_label_is_named():
    positive = np.array([[1, 0, 0, 0], [0, 0, 0, 0]])
    assert "row 2" in refusal_message(sm.RankMeter("ap").update, SCORES, positive=positive)


# The labelled item is second of three.
LABELLED_PAIRS = pd.DataFrame({"user_id": 1, "score": [0.5, 0.9, 0.1], "label": [1, 0, 0]})


def test_labelled_pairs_are_refused_with_both_readings():
    message = refusal_message(sm.evaluate, LABELLED_PAIRS, "rr")
    assert "complete=True" in message
    assert "correct" in message


def test_complete_labelled_pairs_are_a_full_ranking():
    assert values(sm.evaluate(LABELLED_PAIRS, "rr", complete=True)) == [1 / 2]
    assert values(sm.evaluate(sm.Ranks.from_pairs(LABELLED_PAIRS), "rr")) == [1 / 2]


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


# The relevant items are at ranks 2 and 3 of 4.
RANKED = pd.DataFrame(
    {"user_id": list("aaabbb"), "rank": [1, 2, 3] * 2, "label": [0, 1, 0, 0, 0, 1]}
)
WITH_SIZES = RANKED.assign(n_candidates=4)
WITH_COUNTS = WITH_SIZES.assign(n_better=RANKED["rank"] - 1, n_tied=0).drop(columns="rank")


@pytest.mark.parametrize(
    ("data", "options"),
    [
        *((RANKED.rename(columns={"label": name}), {"n_items": 4})
          for name in ("label", "target", "is_relevant", "clicked")),
        (WITH_SIZES, {}),
        (sm.Ranks.from_ranks(RANKED, 4), {}),
        (WITH_COUNTS, {}),
        (WITH_COUNTS.sample(frac=1, random_state=0), {}),
    ],
    ids=["label", "target", "is_relevant", "clicked", "sizes", "Ranks", "counts", "shuffled"],
)  # fmt: skip
def test_rank_of_label_0_is_not_relevant(data, options):
    results = sm.evaluate(data, "rr, hit@1", **options)
    assert values(results) == pytest.approx([(1 / 2 + 1 / 3) / 2, 0.0])


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
