"""Valid but unlikely data is used with a warning, which is given once and stays in the notes.

Data and values that are named here and not defined are those of tests/helpers/many_users.py: ranks
among 388 candidates, and among 50 negatives.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers import cases
from tests.helpers.cases import Case, Warned, assert_ends_as_expected, call_of, each_case
from tests.helpers.caught_warnings import full_messages, warnings_of, warns_about, with_warnings
from tests.helpers.forms import matrices
from tests.helpers.many_users import (
    HIT_RATE,
    LISTS,
    RANKS,
    SAMPLE,
    SAMPLED_RANKS,
    SCORES,
    SEEN,
    TEST,
    USERS,
    correct,
    evaluate,
    of_ranks,
    of_sampled_ranks,
)
from tests.helpers.results import values

# Unlikely data, and likely data that looks like it

RIGHT_ORDER = "are better.*rows are users"
SHUFFLED = np.random.default_rng(0).permuted(SCORES, axis=1)
SCALED = (SAMPLE - SAMPLE.mean()) / SAMPLE.std()
FEW_SCORED = np.maximum(SAMPLE, np.median(SAMPLE))  # as a recommender that scores half of the items
SORTED_NEGATIVES = np.column_stack([FEW_SCORED[:, :1], -np.sort(-FEW_SCORED[:, 1:], axis=1)])
CONFUSED = np.where((USERS < 140)[:, None] & (np.arange(51) == 5), SAMPLE[:, :1], SAMPLE)
TABLE_OF_RANKS = pd.DataFrame({"sampled_rank": SAMPLED_RANKS, "n_negatives": 50})
LISTED = {user: [*range(19, -1, -1)] for user in range(30)}
OF_LISTED = {user: [user % 20] for user in range(30)}
OTHERS = {user: [100 + user] for user in range(28, 400)}  # two users have lists

CASES = [
    # exact ranks
    Case("ranks", of_ranks(RANKS), HIT_RATE),
    Case("all first", of_ranks(np.ones(300, int)), Warned("above all of their other candidates")),
    Case("not found is last", of_ranks(np.where(RANKS > 100, 388, RANKS)), HIT_RATE),
    Case("worst first", of_ranks(389 - RANKS), Warned(RIGHT_ORDER)),
    Case("sorted ranks", of_ranks(np.sort(RANKS)), HIT_RATE),
    Case("equal scores", evaluate(0 * SCORES, seen=SEEN), Warned("order of ties")),
    Case("scores of other users", evaluate(SHUFFLED), Warned("random order")),
    # sampled ranks
    Case("sampled ranks", of_sampled_ranks(SAMPLED_RANKS), 1),
    Case("not found is last, sampled", of_sampled_ranks(np.where(SAMPLED_RANKS > 30, 51,
         SAMPLED_RANKS)), 1),
    Case("worst first, sampled", of_sampled_ranks(52 - SAMPLED_RANKS), Warned(RIGHT_ORDER)),
    Case("users twice", correct(TABLE_OF_RANKS.assign(user_id=USERS % 260)),
         Warned("40 of 260 users")),
    Case("users repeated", correct(TABLE_OF_RANKS.assign(user_id=USERS // 2,
         repetition=USERS % 2)), 1),
    Case("a negative fewer", correct(TABLE_OF_RANKS.assign(n_negatives=50 - (SAMPLED_RANKS < 9))),
         Warned("more than 49 negatives")),
    # scores of samples
    Case("scores", correct(matrices(SAMPLE), positive=0), 1),
    Case("scores of few items", correct(FEW_SCORED, positive=0), 1),
    Case("sorted negatives", correct(SORTED_NEGATIVES, positive=0), 1),
    Case("rounded scores", correct(np.round(SAMPLE, 1), positive=0), 1),
    Case("probabilities", correct(1 / (1 + np.exp(-SCALED)), positive=0), 1),
    Case("half precision", correct(matrices(SAMPLE.astype(np.float16)), positive=0), 1),
    Case("probabilities in half precision",
         correct(matrices((1 / (1 + np.exp(-9 * SCALED - 9))).astype(np.float16)), positive=0),
         Warned("low precision")),
    Case("scores of 0 or 1", correct(1.0 * (SCALED > 1), positive=0, shape="none"),
         Warned("a tenth of their negatives")),
    Case("equal scores of a sample", correct(0 * SAMPLE, positive=0, shape="none"),
         Warned("a tenth of their negatives")),
    Case("held-out score in another column too", correct(CONFUSED, positive=0),
         Warned("of one of their negatives")),
    Case("sample transposed", correct(SAMPLE[:40].T, positive=0), Warned("random order")),
    # lists
    Case("rank and score agree", evaluate(LISTS.assign(rank=np.resize(np.arange(1, 21), 6000)),
         TEST), HIT_RATE),
    Case("seen items of other users", cases.evaluate(LISTED, "rr@20", relevant=OF_LISTED,
         seen=OTHERS), Warned("2 of 30")),
]  # fmt: skip


@each_case(CASES)
def test_unlikely_data_warns_and_likely_data_does_not(case: Case, tmp_path: Path) -> None:
    assert_ends_as_expected(case, tmp_path)


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize("metric", ["recall@10", "auc"])
def test_every_result_of_the_same_ranks_has_the_note(metric):
    worst_first = sm.Ranks([388] * 300, 388 - RANKS, [0] * 300)
    (note,) = sm.evaluate(worst_first, metric).notes
    assert sm.evaluate(worst_first, metric).notes == [note]
    assert sm.evaluate(worst_first, "hit@5").notes == [note]


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_ties_that_decide_a_metric_show_both_ends():
    """Of 1,577 candidates, 5 are above each held-out item and 1,000 tie with it."""
    ranks = sm.Ranks([1577] * 60, [5] * 60, [1000] * 60)
    note = " ".join(sm.evaluate(ranks, "recall@10, auc").notes)
    assert "60 of 60 relevant items" in note
    assert "recall@10 0.00 to 1.00" in note
    below_last, below_first = 1576 - 5 - 1000, 1576 - 5
    assert f"auc {below_last / 1576:.3f} to {below_first / 1576:.3f}" in note


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_ties_of_half_of_the_users_below_the_cut_off_are_not_noted():
    """The tied users have 30 or more items above."""
    half_tied = sm.Ranks([1577] * 60, np.arange(60), [0] * 30 + [1000] * 30)
    assert "ties" not in " ".join(sm.evaluate(half_tied, "recall@10").notes)


def test_notes_of_a_comparison_name_the_recommender(recwarn):
    data = {"good": SAMPLE, "bad": -SAMPLE}
    options = {"n_items": 388, "positive": 0, "shape": "none"}
    results = sm.compare(data, "auc", "sampled", **options)
    assert full_messages(recwarn) == results.notes
    (note,) = results.notes
    assert note.startswith("bad, positive: held-out items are above")
    assert f"warning: {note}" in str(results).replace("\n  ", " ")


@pytest.fixture
def good_and_bad(tmp_path):
    """Files of ranks, and of the same ranks in the opposite order."""
    files = (tmp_path / "good.csv", tmp_path / "bad.csv")
    for path, ranks in zip(files, (RANKS, 389 - RANKS), strict=True):
        pd.DataFrame({"rank": ranks}).to_csv(path, index=False)
    return files


def evaluate_files(run, files, form, verb="evaluate"):
    return run(verb, *files, "--n-items", 388, "--metric", "auc", "--format", form)


def test_command_stores_the_note_of_a_file_in_its_row(run, good_and_bad):
    done = evaluate_files(run, good_and_bad, "json")
    good, bad = json.loads(done.stdout)
    assert good["notes"] == []
    (note,) = bad["notes"]
    assert note.startswith(f"{good_and_bad[1]}, relevant: ")
    assert done.stderr.strip() == note


@pytest.mark.parametrize(("form", "start"), [("csv", ""), ("table", "warning: ")])
def test_command_prints_the_note_of_a_file(run, good_and_bad, form, start):
    printed = " ".join(evaluate_files(run, good_and_bad, form).stdout.split())
    assert f"{start}{good_and_bad[1]}, relevant: " in printed


def test_compare_command_names_the_recommender_of_a_note(run, good_and_bad):
    (row,) = json.loads(evaluate_files(run, good_and_bad, "json", verb="compare").stdout)
    assert [note.partition(":")[0] for note in row["notes"]] == ["bad, relevant"]


def page_of(folder, data, n_items=388, **options):
    sm.report(data, folder / "p.html", n_items=n_items, **options)
    return (folder / "p.html").read_text()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_page_begins_with_warnings_and_concludes_nothing(tmp_path):
    page = page_of(tmp_path, {"A": SAMPLE, "B": -SAMPLE}, positive=0)
    assert page.index("B, positive: held-out items are above") < page.index("<h1")
    assert "This sample" not in page


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_page_without_warnings_concludes(tmp_path):
    page = page_of(tmp_path, {"A": SAMPLE, "B": SAMPLE[::-1]}, positive=0)
    assert "This sample" in page
    assert "Warnings about" not in page


WORST_FIRST = 389 - RANKS


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize(
    ("data", "n_items", "is_warned"),
    [
        ({"A": WORST_FIRST}, 388, True),
        ({"A": WORST_FIRST, "B": SAMPLED_RANKS}, 388, True),
        ({"A": RANKS}, 388, False),
        ({"A": RANKS, "B": np.sort(RANKS) + 1}, 389, False),
    ],
    ids=["one", "two", "one sound", "two sound"],
)
def test_title_of_a_page_points_at_its_warnings(tmp_path, data, n_items, is_warned):
    page = page_of(tmp_path, data, n_items)
    title = page.split("<h1")[1].split("</h1>")[0]
    assert ("warnings above" in title) == is_warned
    assert ("A, relevant: held-out items are above" in page) == is_warned


# Sampled candidates


def good_scores_of(n_items):
    """Return scores of 60 users whose held-out items are in different columns, at ranks 1 to 6."""
    scores = np.random.default_rng(0).random((60, n_items))
    held_out = np.random.default_rng(1).integers(0, n_items, 60)
    users = np.arange(60)
    scores[users, held_out] = -1.0
    best = -np.sort(-scores, axis=1)
    scores[users, held_out] = best[users, users % 6] + 1e-9
    return scores, held_out


def scores_in_a_meter(scores, held_out, n_items):
    meter = sm.RankMeter("hr@5", n_items=n_items)
    meter.update(scores, held_out)
    return meter.compute()


CATALOGUES = {
    "matrix": lambda scores, held_out, _: sm.evaluate(
        scores, "hr@5", relevant=held_out, seen="none"
    ),
    "vectors": lambda scores, held_out, n: sm.evaluate(
        (scores, np.eye(n)), "hr@5", relevant=held_out, seen="none"
    ),
    "rank": lambda scores, held_out, _: sm.evaluate(sm.rank(scores, "none", held_out), "hr@5"),
    "rank by id": lambda scores, held_out, n: sm.evaluate(
        sm.rank(scores, "none", held_out, users=np.arange(60), items=np.arange(n)), "hr@5"
    ),
    "meter": scores_in_a_meter,
}


@pytest.mark.parametrize("n_items", [20, 100, 500, 1000])
@pytest.mark.parametrize("form", CATALOGUES)
def test_small_catalogue_is_not_called_a_sample(n_items, form):
    """The held-out items are at ranks 1 to 6 of as many users each."""
    scores, held_out = good_scores_of(n_items)
    results, warned = with_warnings(CATALOGUES[form], scores, held_out, n_items)
    assert values(results) == [5 / 6]
    assert not warned


@pytest.mark.parametrize("form", ["vectors", "columns with ids"])
def test_101_items_with_vectors_or_ids_are_not_called_a_sample(form):
    scores, held_out = good_scores_of(101)
    with_ids = pd.DataFrame(scores, columns=[f"item {number}" for number in range(101)])
    data = (scores, np.eye(101)) if form == "vectors" else with_ids
    assert not warnings_of(sm.evaluate, data, "hr@5", relevant=held_out, seen="none")


def test_101_columns_without_ids_are_called_a_sample():
    scores, held_out = good_scores_of(101)
    with warns_about("101 columns without ids"):
        sm.evaluate(scores, "hr@5", relevant=held_out, seen="none")


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


def test_single_warning_is_a_note_of_the_result():
    """101 candidates, as of a held-out item among 100 negatives, are probably a sample."""
    ranks = sm.Ranks([101] * 60, np.arange(60), [0] * 60)
    result, (warning,) = result_and_warnings(lambda: sm.evaluate(ranks, "auc"))
    assert "101 candidates" in str(warning.message)
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


@pytest.fixture
def command(tmp_path):
    """A command with scores that are the worst for the held-out items."""
    np.save(tmp_path / "scores.npy", -RANDOM_SCORES)
    pairs = pd.DataFrame({"user_id": range(60), "item_id": 0})
    pairs.to_csv(tmp_path / "test.csv", index=False)
    return "evaluate", tmp_path / "scores.npy", "--relevant", tmp_path / "test.csv"


IN_FULL = "look like sampled candidates"


def test_command_writes_each_warning_once_below_a_printed_table(run, command):
    done = run(*command, "--format", "table")
    printed = " ".join(done.stdout.split())
    assert (printed.count(IN_FULL), done.stderr.count(IN_FULL)) == (1, 0)
    assert "warnings about" not in printed  # the short warning of several


@pytest.mark.parametrize(
    ("form", "output"), [("table", "out.txt"), ("json", None), ("csv", "out.txt")]
)
def test_command_writes_each_warning_once_beside_other_outputs(
    run, command, form, output, tmp_path
):
    done = run(*command, "--format", form, *(["--output", tmp_path / output] if output else []))
    assert done.returncode == 0
    assert done.stderr.count(IN_FULL) == 1
    assert "warnings about" not in done.stdout + done.stderr


# Options, ids and names

GOOD_RANKS = sm.Ranks([40] * 30, np.arange(30) % 7, [0] * 30)  # 1 to 7
NEW_LISTS = {f"u{user}": [3, *range(20, 9, -1)] for user in range(12)}
OF_NEW = {user: [3] for user in NEW_LISTS}
NEW_ITEMS = {user: [*range(50, 70)] for user in NEW_LISTS}
THREE_RANKS = pd.DataFrame({"user_id": np.repeat(np.arange(12), 3), "rank": [1, 2, 3] * 12})


def reported(n_users):
    """Return the call for a printed number; of 17 users, 5 are .2941 and 6 are .3529."""
    sizes = {"n_items": 3416, "n_negatives": 100, "n_users": n_users}
    return lambda: sm.reported({"HR@10": "0.3200"}, "HR@10", **sizes)[0].reported


OPTION_CASES = [
    Case("low confidence", cases.evaluate(GOOD_RANKS, "hit@5", confidence=0.05), Warned("0.95")),
    Case("cut-off of all", cases.evaluate(GOOD_RANKS, "hit@40"), Warned("all 40 candidates")),
    Case("cut-off of more", cases.evaluate(GOOD_RANKS, "recall@5000"), Warned("all 40 candidates")),
    Case("cut-off of nearly all", cases.evaluate(GOOD_RANKS, "hit@39, ndcg@40"), 1),
    Case("the same ranks", call_of(sm.compare, {"A": GOOD_RANKS, "B": GOOD_RANKS}, "hit@5")
         ._replace(value=len), Warned("A and B have the same ranks")),
    Case("no share of 17 users", reported(17), Warned("cannot be a share of")),
    Case("share of 100 users", reported(100), 0.32),
    Case("share of 6040 users", reported(6040), 0.32),
    Case("new items of a cold split", cases.evaluate(NEW_LISTS, "recall@1", relevant=OF_NEW,
         seen=NEW_ITEMS), Warned("0 of .* items")),
    Case("the same ranks of every user", cases.evaluate(THREE_RANKS, "recall@3", n_items=60),
         Warned("1, 2, 3")),
]  # fmt: skip


@each_case(OPTION_CASES)
def test_unlikely_options_warn_and_likely_ones_do_not(case: Case) -> None:
    assert_ends_as_expected(case)


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
