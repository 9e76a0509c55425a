"""`seen` that says that users have seen nothing, and the note of results without `seen`."""

import json

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import with_warnings
from tests.helpers.results import values

USERS, ITEMS = 12, 30
# All users have the same order: items 0, 13, 26, 9 and so on. User u has the item at rank u + 1
# held out.
ORDER = 13 * np.arange(ITEMS) % ITEMS
SCORES = np.tile(-np.argsort(ORDER).astype(float), (USERS, 1))
HELD_OUT = ORDER[:USERS]
RANKS = np.arange(USERS) + 1
RR = np.mean(1 / RANKS)
NOTHING = ("none", [], ())
LISTS = {u: np.argsort(-row).tolist() for u, row in enumerate(SCORES)}
BY_USER = {u: [item] for u, item in enumerate(HELD_OUT)}
IDS = {"users": np.arange(USERS), "items": np.arange(ITEMS)}


SCORED_LISTS = {u: dict(enumerate(row)) for u, row in enumerate(SCORES)}

CALLS = {
    "matrix": lambda seen: sm.evaluate(SCORES, "rr", relevant=HELD_OUT, seen=seen),
    "function": lambda seen: sm.evaluate(
        lambda users: SCORES[users], "rr", relevant=HELD_OUT, seen=seen
    ),
    "vectors": lambda seen: sm.evaluate(
        (SCORES, np.eye(ITEMS)), "rr", relevant=HELD_OUT, seen=seen
    ),
    "lists with scores": lambda seen: sm.evaluate(
        SCORED_LISTS, "rr@30", relevant=BY_USER, seen=seen
    ),
    "lists": lambda seen: sm.evaluate(LISTS, "rr@30", relevant=BY_USER, seen=seen),
    "rank": lambda seen: sm.evaluate(sm.rank(SCORES, seen, HELD_OUT), "rr"),
    "from_scores": lambda seen: sm.evaluate(
        sm.Ranks.from_scores(SCORES, HELD_OUT, seen=seen, **IDS), "rr"
    ),
    "from_lists": lambda seen: sm.evaluate(sm.Ranks.from_lists(LISTS, BY_USER, seen=seen), "rr@30"),
    "from_top_k": lambda seen: sm.evaluate(
        sm.Ranks.from_top_k(np.argsort(-SCORES, axis=1), BY_USER, seen=seen), "rr@30"
    ),
}


@pytest.mark.parametrize("form", CALLS)
@pytest.mark.parametrize("nothing", NOTHING, ids=str)
def test_nothing_seen_drops_nothing_and_is_not_noted(form, nothing):
    results, warned = with_warnings(CALLS[form], nothing)
    assert values(results) == pytest.approx([RR])
    assert results.notes == warned == []


@pytest.mark.parametrize("form", ["matrix", "function", "vectors", "lists with scores"])
def test_missing_seen_is_noted_without_a_warning(form):
    results, warned = with_warnings(CALLS[form], None)
    assert values(results) == pytest.approx([RR])
    assert not warned
    (note,) = results.notes
    assert note.startswith("seen: read as none")
    assert f"\n{note}." in str(results).replace("\n  ", " ")
    assert "Please check" not in str(results)


TWO_RECOMMENDERS = {"A": SCORES, "B": SCORES[:, ::-1].copy()}


@pytest.mark.parametrize(("seen", "n_notes"), [(None, 1), ("none", 0)])
def test_comparison_has_one_note_about_seen(seen, n_notes):
    compared = sm.compare(TWO_RECOMMENDERS, "rr", relevant=HELD_OUT, seen=seen)
    assert compared[0].value_a == pytest.approx(RR)
    assert len(compared.notes) == n_notes


@pytest.mark.parametrize(("seen", "n_notes"), [(None, 1), ("none", 0)])
def test_page_has_one_note_about_seen_and_no_warning(seen, n_notes, tmp_path):
    page = tmp_path / "page.html"
    sm.report(TWO_RECOMMENDERS, page, "rr", relevant=HELD_OUT, seen=seen)
    text = page.read_text("utf-8")
    assert text.count("seen: read as none") == n_notes
    assert "Warnings about" not in text


def test_values_by_user_drop_nothing_if_nothing_is_seen():
    by_user = sm.values_by_user(SCORES, "rr", relevant=HELD_OUT, seen="none")
    assert by_user["rr"].tolist() == pytest.approx(1 / RANKS)


@pytest.mark.parametrize("nothing", NOTHING, ids=str)
def test_nothing_is_seen_on_a_budget(nothing):
    """A budget for all items but the held-out one."""
    options = {"relevant": HELD_OUT, "proxy": SCORES, "budget": ITEMS - 1}
    result = sm.evaluate_on_budget(SCORES, "mrr", seen=nothing, **options)
    assert result.rows()[0]["value"] == pytest.approx(RR)


HELD_OUT_OF_3 = {"anna": [1], "bert": [2]}
THREE_ITEMS = pd.DataFrame({"item_id": [1, 2, 3]})


@pytest.mark.parametrize("nothing", NOTHING, ids=str)
def test_negatives_are_drawn_from_all_items_if_nothing_is_seen(nothing):
    """Of three items, one is held out, so the two others are the negatives."""
    drawn = sm.negatives(HELD_OUT_OF_3, nothing, 2, items=THREE_ITEMS)
    by_user = drawn.groupby("user_id")["item_id"].agg(sorted).to_dict()
    assert by_user == {"anna": [2, 3], "bert": [1, 3]}


@pytest.mark.parametrize("nothing", NOTHING, ids=str)
def test_no_negative_is_seen_if_nothing_is(nothing):
    negatives = {"anna": [2, 3], "bert": [1, 3]}
    checks = sm.check_negatives(negatives, HELD_OUT_OF_3, nothing, items=THREE_ITEMS)
    assert {check.name: check.found for check in checks}["seen items"] == 0


@pytest.mark.parametrize(("options", "n_notes"), [([], 1), (["--seen", "none"], 0)])
def test_command_takes_none(run, tmp_path, options, n_notes):
    np.save(tmp_path / "scores.npy", SCORES)
    test = tmp_path / "test.csv"
    pd.DataFrame({"user_id": range(USERS), "item_id": HELD_OUT}).to_csv(test, index=False)
    line = ("evaluate", tmp_path / "scores.npy", "--relevant", test, "--metric", "rr")
    done = run(*line, *options, "--format", "json")
    (row,) = json.loads(done.stdout)
    assert row["value"] == pytest.approx(RR)
    assert (len(row["notes"]), done.stderr) == (n_notes, "")


@pytest.mark.parametrize(("n_items", "n_notes"), [(None, 1), (ITEMS, 0)])
def test_meter_notes_that_its_scores_may_be_of_seen_items(n_items, n_notes):
    meter = sm.RankMeter("rr", n_items=n_items)
    meter.update(SCORES, HELD_OUT)
    results, warned = with_warnings(meter.compute)
    assert values(results) == pytest.approx([RR])
    assert [note.partition(":")[0] for note in results.notes] == ["n_items"] * n_notes
    assert not warned
