"""Valid but unlikely data is used with a warning, which is given once and stays in the notes."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import (
    full_messages,
    warnings_of,
    warns_about,
    with_warnings,
)
from tests.helpers.labelled_lists import LABELS, SCORED_LISTS
from tests.helpers.results import values, values_and_warnings

USERS, N, M = 400, 1577, 100
RNG = np.random.default_rng(8)
TRUE = np.ceil(N * RNG.beta(0.35, 4, USERS)).astype(int)
SAMPLED = 1 + RNG.hypergeometric(TRUE - 1, N - TRUE, M)
AMONG = RNG.normal([2] + M * [0], size=(USERS, 1 + M))
FULL = {"n_items": N}


def notes_of(call, *arguments, **options):
    """Return all notes of a result, which must be what the call warns of."""
    result, messages = with_warnings(call, *arguments, **options)
    assert result.notes == messages
    return " ".join(messages)


def rank_forms(name, ranks, folder):
    frame = pd.DataFrame({name: ranks})
    frame.to_csv(folder / "r.csv", index=False)
    frame.to_parquet(folder / "r.parquet")
    paths = folder / "r.csv", folder / "r.parquet"
    return ranks, frame, *paths, {name: ranks.tolist()}


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (TRUE, None),
        (np.ones(USERS, int), "above all of their other candidates"),
        (np.minimum(TRUE, 101), "the largest rank is 101 of 1,577"),
        (np.where(TRUE > 300, N, TRUE), None),  # items that were not found are last
        (SAMPLED, "the largest rank is"),
        (N + 1 - TRUE, "higher scores are better"),
        (np.sort(TRUE), None),
    ],
)
def test_unlikely_exact_ranks_warn(ranks, message, tmp_path):
    for data in rank_forms("rank", ranks, tmp_path):
        notes = notes_of(sm.evaluate, data, "recall@10", **FULL)
        assert message in notes if message else not notes


def test_every_result_of_the_same_ranks_has_the_note():
    for ranks, warns in ((TRUE, False), (N + 1 - TRUE, True)):
        full = sm.Ranks(np.full(USERS, N), ranks - 1, np.zeros(USERS, int))
        metrics = ("recall@10", "auc", "auc")
        results = [notes_of(sm.evaluate, full, metric) for metric in metrics]
        assert results == [results[0]] * 3
        assert ("higher scores are better" in results[0]) == warns


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (SAMPLED, None),
        (np.ones(USERS, int), "above all of their negatives"),
        # items that were not found are last
        (np.where(SAMPLED > 30, M + 1, SAMPLED), None),
        (M + 2 - SAMPLED, "higher scores are better"),
    ],
)
def test_unlikely_sampled_ranks_warn(ranks, message, tmp_path):
    for data in rank_forms("sampled_rank", ranks, tmp_path):
        options = {"n_items": N, "n_negatives": M, "shape": "none"}
        notes = notes_of(sm.correct, data, "auc", "sampled", **options)
        assert message in notes if message else not notes


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (AMONG, None),
        (np.maximum(AMONG, 0.0), None),  # scores of a rectifier
        (1 / (1 + np.exp(-AMONG)), None),
        ((1 / (1 + np.exp(-9 * AMONG - 9))).astype(np.float16), "low precision"),
        (AMONG.astype(np.float16), None),
    ],
)
def test_scores_of_too_few_bits_warn(scores, message):
    for data in (scores, scores.astype(float).tolist(), pd.DataFrame(scores)):
        options = {"n_items": N, "positive": 0, "shape": "none"}
        notes = notes_of(sm.correct, data, "auc", "sampled", **options)
        assert message in notes if message else not notes


def test_sorted_negatives_do_not_warn():
    """Many recommenders score few items, and put all others last."""
    negatives = -np.sort(-np.maximum(AMONG[:, 1:], 0), axis=1)
    rows = np.column_stack([AMONG[:, 0], negatives])
    assert not notes_of(lambda: sm.correct(rows, "auc", "sampled", positive=0, **FULL))


def test_ties_that_decide_a_metric_show_both_ends():
    """1,000 of 1,577 items tie with each held-out item, and 5 are above it."""
    ranks = sm.Ranks(np.full(60, N), np.full(60, 5), np.full(60, 1000))
    result = notes_of(lambda: sm.evaluate(ranks, "recall@10, auc"))
    assert "60 of 60 relevant items have the same score as others" in result
    assert "recall@10 0.00 to 1.00" in result
    assert f"auc {1 - 1005 / 1576:.3f} to {1 - 5 / 1576:.3f}" in result
    few = sm.Ranks(np.full(60, N), np.arange(60), np.repeat([0, 1000], 30))
    assert "ties" not in notes_of(lambda: sm.evaluate(few, "recall@10"))


def top_lists(scores, k=20):
    items = np.argsort(-scores, axis=1)[:, :k]
    users = np.repeat(np.arange(len(scores)), k)
    values = np.take_along_axis(scores, items, axis=1).ravel()
    return pd.DataFrame({"user_id": users, "item_id": items.ravel(), "score": values})


def test_ranks_that_contradict_scores_warn():
    lists = top_lists(RNG.normal(size=(30, 50)))
    relevant = {user: [0] for user in range(30)}
    place = np.tile(np.arange(1, 21), 30)
    for score, warns in (
        (lists["score"], 0),
        (-lists["score"], 0),
        (lists["score"][::-1], 1),
    ):
        data = lists.assign(rank=place, score=np.asarray(score))
        data.loc[::3, "score"] *= 1 - 3 * warns
        notes = notes_of(sm.evaluate, data, "recall@10", relevant=relevant)
        assert ("contradict" in notes) == bool(warns)


def test_few_common_ids_warn():
    lists = {user: list(range(20))[::-1] for user in range(30)}
    relevant = {user: [user % 20] for user in range(30)}
    seen = {user: [100 + user] for user in range(28, 400)}
    assert not notes_of(sm.evaluate, lists, "recall@10", relevant=relevant)
    seen[29] = [19, *range(100, 200)]
    options = {"relevant": relevant, "seen": seen}
    assert "2 of 30" in notes_of(sm.evaluate, lists, "recall@10", **options)


def test_notes_of_a_comparison_name_the_recommender(recwarn):
    data = {"good": AMONG, "bad": -AMONG}
    options = {"n_items": N, "positive": 0, "shape": "none"}
    results = sm.compare(data, "auc", "sampled", **options)
    assert full_messages(recwarn) == results.notes
    (note,) = results.notes
    assert note.startswith("bad, positive: held-out items are above")
    assert f"warning: {note}" in str(results).replace("\n  ", " ")


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_command_prints_and_stores_notes(run, tmp_path):
    files = (tmp_path / "good.csv", tmp_path / "bad.csv")
    for path, ranks in zip(files, (TRUE, N + 1 - TRUE), strict=True):
        pd.DataFrame({"rank": ranks}).to_csv(path, index=False)
    line = (*files, "--n-items", N, "--metric", "auc", "--format")
    done = run("evaluate", *line, "json")
    good, bad = json.loads(done.stdout)
    assert good["notes"] == []
    (note,) = bad["notes"]
    assert note.startswith(f"{files[1]}, relevant: ")
    assert done.stderr.strip() == note
    assert note in run("evaluate", *line, "csv").stdout
    assert "warning: " in " ".join(run("evaluate", *line, "table").stdout.split())
    (row,) = json.loads(run("compare", *line, "json").stdout)
    assert [note.partition(":")[0] for note in row["notes"]] == ["bad, relevant"]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_page_shows_notes(tmp_path):
    def page(data, **options):
        sm.report(data, tmp_path / "p.html", **({"n_items": N} | options))
        return (tmp_path / "p.html").read_text()

    warned = page({"A": AMONG, "B": -AMONG}, positive=0)
    assert "This sample" not in warned
    assert warned.index("B, positive: held-out items are above") < warned.index("<h1")
    sound = page({"A": AMONG, "B": AMONG[::-1]}, positive=0)
    assert "This sample" in sound
    assert "Warnings about the data" not in sound
    for others in ({}, {"B": SAMPLED}):
        heading = page({"A": N + 1 - TRUE, **others}).split("<h1")[1].split("</h1>")[0]
        assert "warnings above" in heading
    assert "warnings above" not in page({"A": TRUE}).split("<h1")[1].split("</h1>")[0]
    both = {"A": TRUE, "B": np.sort(TRUE) + 1}
    assert "warnings above" not in page(both, n_items=N + 1)
    alone = page({"A": N + 1 - TRUE})
    assert "A, relevant: held-out items are above" in alone


# Negatives and full rankings

N_NEGATIVES, N_ROWS, CATALOGUE = 100, 940, 3541
SAMPLE_RNG = np.random.default_rng(0)
SAMPLE_SCORES = SAMPLE_RNG.normal([1] + 100 * [0], size=(N_ROWS, 101))
CONFUSED_SCORES = SAMPLE_SCORES.copy()  # of 450 users, a wrong column
CONFUSED_SCORES[:450, 5] = SAMPLE_SCORES[:450, 0]
SAMPLE_RANKS = 1 + (SAMPLE_SCORES[:, 1:] > SAMPLE_SCORES[:, :1]).sum(axis=1)
FULL_SCORES = SAMPLE_RNG.normal(size=(N_ROWS, 60))
PLACES = (60 * SAMPLE_RNG.random(N_ROWS) ** 3).astype(int)
HELD = np.argsort(-FULL_SCORES, axis=1)[np.arange(N_ROWS), PLACES]
FULL_OPTIONS = {"relevant": HELD, "seen": FULL_SCORES < -9}


def sampled(ranks, **columns):
    return pd.DataFrame({"sampled_rank": ranks, "n_negatives": N_NEGATIVES} | columns)


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (SAMPLE_SCORES, {}, None),
        (np.round(SAMPLE_SCORES, 1), {}, None),  # ties by rounding
        (1.0 * (SAMPLE_SCORES > 1), {"shape": "none"}, "a tenth of their negatives"),
        (CONFUSED_SCORES, {}, "of one of their negatives"),
        (SAMPLE_SCORES, {"positive": -1}, "above 49.5 %"),
        (SAMPLE_SCORES[:300].T, {}, "above 51.7 %"),
        (0 * SAMPLE_SCORES, {"shape": "none"}, "a tenth of their negatives"),
        (SAMPLE_SCORES, {"n_items": N_NEGATIVES + 1}, "n_items is 101"),
        (sampled(SAMPLE_RANKS, user_id=np.arange(N_ROWS) % 900), {}, "40 of 900 users"),
        (sampled(SAMPLE_RANKS, user_id=np.arange(N_ROWS) % 470, repetition=np.arange(N_ROWS)),
         {}, None),
        (sampled(SAMPLE_RANKS, n_negatives=N_NEGATIVES - (SAMPLE_RANKS < 9)), {},
         "more than 99 negatives"),
    ],
)  # fmt: skip
def test_unlikely_negatives_warn(data, options, message, recwarn):
    positive = None if isinstance(data, pd.DataFrame) else 0
    options = {"positive": positive, "n_items": CATALOGUE} | options
    sm.correct(data, "hr@10", "cls", **options)
    messages = full_messages(recwarn)
    assert any(message in text for text in messages) if message else not messages
    assert all(warning.filename == __file__ for warning in recwarn)


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        (FULL_SCORES, {}, None),
        (FULL_SCORES[::-1], {}, "random order"),
        (-FULL_SCORES, {}, "random order"),
        (0 * FULL_SCORES, {}, "ties"),
    ],
)
def test_unlikely_full_rankings_warn(scores, options, message, recwarn):
    sm.evaluate(scores, "hr@10", **(FULL_OPTIONS | options))
    messages = full_messages(recwarn)
    assert any(message in text for text in messages) if message else not messages


# Sampled candidates

N_SCORED_USERS = 60


def good_scores_of(n_items):
    """Return scores of 60 users whose held-out items are in different columns, at ranks 1 to 6."""
    scores = np.random.default_rng(0).random((N_SCORED_USERS, n_items))
    held_out = np.random.default_rng(1).integers(0, n_items, N_SCORED_USERS)
    users = np.arange(N_SCORED_USERS)
    scores[users, held_out] = -1.0
    best = -np.sort(-scores, axis=1)
    scores[users, held_out] = best[users, users % 6] + 1e-9
    return scores, held_out


@pytest.mark.parametrize("n_items", [20, 100, 500, 1000])
def test_small_catalogue_is_not_called_a_sample(n_items):
    scores, held_out = good_scores_of(n_items)
    options = {"relevant": held_out, "seen": "none"}
    meter = sm.RankMeter("hr@5", n_items=n_items)
    meter.update(scores, held_out)
    ids = {"users": np.arange(60), "items": np.arange(n_items)}
    for call in (
        lambda: sm.evaluate(scores, "hr@5", **options),
        lambda: sm.evaluate((scores, np.eye(n_items)), "hr@5", **options),
        lambda: sm.evaluate(sm.rank(scores, "none", held_out), "hr@5"),
        lambda: sm.evaluate(sm.rank(scores, "none", held_out, **ids), "hr@5"),
        meter.compute,
    ):
        results, warned = with_warnings(call)
        assert values(results) == [5 / 6]
        assert not warned


def test_vectors_and_columns_with_ids_are_not_called_a_sample():
    scores, held_out = good_scores_of(101)
    options = {"relevant": held_out, "seen": "none"}
    assert not warnings_of(sm.evaluate, (scores, np.eye(101)), "hr@5", **options)
    frame = pd.DataFrame(scores, columns=[f"item {number}" for number in range(101)])
    assert not warnings_of(sm.evaluate, frame, "hr@5", **options)
    with warns_about("101 columns without ids"):
        sm.evaluate(scores, "hr@5", **options)


@pytest.mark.parametrize("n_items", [30, 101])
def test_one_column_of_held_out_items_is_called_a_sample(n_items):
    scores, held_out = good_scores_of(n_items)
    users = np.arange(60)
    scores[users, held_out], scores[:, 3] = scores[:, 3].copy(), scores[users, held_out]
    column = np.full(60, 3)
    meter = sm.RankMeter("hr@5")
    meter.update(scores, column)
    for call in (
        lambda: sm.evaluate(scores, "hr@5", relevant=column, seen="none"),
        lambda: sm.compare({"A": scores, "B": -scores}, "hr@5", relevant=column, seen="none"),
        meter.compute,
    ):
        with warns_about("column 3 is the held-out item of all 60 users"):
            call()


@pytest.mark.parametrize(("n_items", "is_asked"), [(101, True), (100, True), (500, False)])
def test_one_column_of_all_items_is_asked_about_if_their_number_is_usual(n_items, is_asked):
    """A meter with `n_items`, and ids of columns, say that columns are all items."""
    scores = np.random.default_rng(0).random((60, n_items)) + np.eye(n_items)[0]
    meter = sm.RankMeter("auc", n_items=n_items)
    meter.update(scores)
    frame = pd.DataFrame(scores, columns=[f"item {number}" for number in range(n_items)])
    options = {"relevant": np.zeros(60, int), "seen": "none"}
    for messages in (warnings_of(meter.compute), warnings_of(sm.evaluate, frame, "auc", **options)):
        assert any("sampled candidates" in message for message in messages) == is_asked


def test_fixed_negatives_of_different_numbers_are_not_asked_about():
    """Of rows padded with -inf, metrics are wanted among the candidates."""
    scores, _ = good_scores_of(100)
    scores[:, 0] = np.sort(scores, axis=1)[:, -2] + 1e-9
    scores[::3, -1] = -np.inf
    assert not warnings_of(sm.evaluate, scores, "hr@5", relevant=np.zeros(60, int))


# Warned once

RANDOM_SCORES = np.random.default_rng(3).normal(size=(60, 101))
FIRST_COLUMN = np.zeros(60, int)


def result_and_warnings(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, caught


def test_several_warnings_are_counted_in_one():
    result, (warning,) = result_and_warnings(
        lambda: sm.evaluate(-RANDOM_SCORES, relevant=FIRST_COLUMN, seen="none")
    )
    assert len(result.notes) > 1
    assert str(warning.message).startswith(f"{len(result.notes)} warnings")
    assert warning.message.notes == tuple(result.notes)
    assert warning.filename == __file__


def test_single_warning_is_shown_in_full():
    ranks = sm.Ranks([101] * 60, np.arange(60), [0] * 60)
    result, (warning,) = result_and_warnings(lambda: sm.evaluate(ranks, "auc"))
    assert result.notes == [str(warning.message)]


def test_meter_warns_once():
    meter = sm.RankMeter("rr", n_items=101)
    meter.update(-RANDOM_SCORES, FIRST_COLUMN)
    result, (warning,) = result_and_warnings(meter.compute)
    assert warning.message.notes == tuple(result.notes)


@pytest.mark.parametrize("name", ["model 2", "model: read as 2", "model: not read: 2"])
def test_warning_does_not_depend_on_the_name_of_a_recommender(name):
    sample = sm.SampledRanks([1] * 30 + [2] * 15 + [3] * 8 + [4] * 7, n_items=4, n_negatives=3)
    with warns_about("n_items is 4, the held-out item and its 3 negatives") as messages:
        result = sm.compare({name: sample, "B": sample}, "auc", "sampled")
    assert set(messages) <= set(result.notes)
    assert f"warning: {name}, n_items" in str(result)


def test_report_warns_once(tmp_path):
    page = tmp_path / "page.html"
    _, (warning,) = result_and_warnings(
        lambda: sm.report({"A": -RANDOM_SCORES}, page, "auc", relevant=FIRST_COLUMN)
    )
    assert len(warning.message.notes) > 1
    assert "the page" in str(warning.message)


@pytest.mark.parametrize(
    ("form", "to_file"),
    [("table", False), ("table", True), ("json", False), ("csv", True)],
)
def test_command_writes_each_warning_once(run, form, to_file, tmp_path):
    """Warnings are below a printed table, or else on standard error, each in full."""
    np.save(tmp_path / "scores.npy", -RANDOM_SCORES)
    held_out = tmp_path / "test.csv"
    pairs = pd.DataFrame({"user_id": range(60), "item_id": 0})
    pairs.to_csv(held_out, index=False)
    output = ["--output", tmp_path / "out.txt"] if to_file else []
    line = (tmp_path / "scores.npy", "--relevant", held_out, "--format", form)
    done = run("evaluate", *line, *output)
    assert not done.returncode
    printed = " ".join(done.stdout.split())
    message = "look like sampled candidates"
    is_below_table = form == "table" and not to_file
    assert done.stderr.count(message) == (not is_below_table)
    if is_below_table:
        assert printed.count(message) == 1
    assert "warnings about" not in printed + done.stderr


# Columns, ids and options


def test_unknown_column_of_zeros_and_ones_warns():
    for marks in (LABELS, LABELS.astype(bool), 2.0 * LABELS - 1):
        relevant = SCORED_LISTS[["user_id", "item_id"]].assign(bought=marks)
        messages = warnings_of(sm.evaluate, SCORED_LISTS, "recall@1", relevant=relevant)
        assert "column bought" in " ".join(messages)
    days = SCORED_LISTS[["user_id", "item_id"]].assign(day=np.arange(7))
    assert not warnings_of(sm.evaluate, SCORED_LISTS, "recall@1", relevant=days)


@pytest.mark.parametrize(
    "cells",
    [["5 7", "6"], ["5,7", "6"], ["[5, 7]", "6"], ["0706016003 5", "0706016003"]],
)
def test_ids_joined_in_a_cell_warn(cells):
    lists = {"u": [cells[1], "5"], "v": [cells[1], "7"]}
    relevant = pd.DataFrame({"user_id": ["u", "v"], "item_id": cells})
    _, messages = values_and_warnings(sm.evaluate, lists, "hit@1", relevant=relevant)
    assert "several ids" in messages


def test_new_items_of_a_cold_split_warn():
    lists = {f"u{user}": [3, *range(20, 9, -1)] for user in range(12)}
    options = {"relevant": {user: [3] for user in lists}}
    seen = {user: list(range(50, 70)) for user in lists}
    result, messages = values_and_warnings(sm.evaluate, lists, "recall@1", seen=seen, **options)
    assert result == [1.0]
    assert "items" in messages


def good_ranks(users=30):
    return sm.Ranks(np.full(users, 40), np.arange(users) % 7, np.zeros(users, int))


@pytest.mark.parametrize(
    ("metrics", "options", "message"),
    [
        ("hit@5", {"confidence": 0.05}, "0.95"),
        ("hit@40", {}, "all 40 candidates"),
        ("recall@5000", {}, "all 40 candidates"),
        ("hit@39, ndcg@40", {}, None),
    ],
)
def test_odd_options_warn(metrics, options, message):
    messages = warnings_of(sm.evaluate, good_ranks(), metrics, **options)
    assert message in " ".join(messages) if message else not messages


def test_recommenders_with_the_same_ranks_warn():
    same = {"A": good_ranks(), "B": good_ranks()}
    messages = " ".join(warnings_of(sm.compare, same, "hit@5"))
    assert "A and B have the same ranks" in messages


def test_printed_number_that_is_not_a_share_of_users_warns():
    """Of 17 users, 5 are .2941 and 6 are .3529, but no number gives .3200."""
    sizes = {"n_items": 3416, "n_negatives": 100}
    for n_users, warns in ((17, True), (100, False), (6040, False)):
        _, messages = values_and_warnings(
            sm.reported, {"HR@10": "0.3200"}, "HR@10", n_users=n_users, **sizes
        )
        assert ("cannot be a share of" in messages) == warns


def test_few_users_get_one_note():
    ranks = sm.Ranks([9, 9], [0, 4], [0, 0])
    text = str(sm.evaluate(ranks, "ndcg, rr, ap, auc"))
    assert text.count("fewer than 10 users") == 1
    assert "carry most" not in text


def test_warning_names_the_file_with_other_ids(tmp_path: Path) -> None:
    seen = tmp_path / "seen.csv"
    seen.write_text("user_id,item_id\n1.0,7\n2.0,8\n")
    with pytest.warns(sm.InputWarning) as caught:
        sm.check_negatives({1: [3], 2: [4]}, {1: [5], 2: [6]}, seen)
    assert str(caught[0].message).startswith(f"{seen}, seen: 0 of 2 ids of the users of seen")


def test_same_ranks_of_every_user_warn():
    table = pd.DataFrame({"user_id": np.repeat(np.arange(12), 3), "rank": [1, 2, 3] * 12})
    with warns_about("1, 2, 3"):
        assert values(sm.evaluate(table, "recall@3", n_items=60)) == [1.0]
