"""`seen` that says that users have seen nothing, and the note of results without `seen`."""

import json
import math

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
def test_nothing_seen_drops_nothing_and_is_not_noted(form):
    for seen in NOTHING:
        results, warned = with_warnings(CALLS[form], seen)
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


def test_several_recommenders_have_one_note_about_seen(tmp_path):
    recommenders = {"A": SCORES, "B": SCORES[:, ::-1].copy()}
    options = {"relevant": HELD_OUT}
    for seen, n_notes in ((None, 1), ("none", 0)):
        compared = sm.compare(recommenders, "rr", **options, seen=seen)
        assert compared[0].value_a == pytest.approx(RR)
        assert len(compared.notes) == n_notes
        page = tmp_path / "page.html"
        sm.report(recommenders, page, "rr", **options, seen=seen)
        text = page.read_text("utf-8")
        assert text.count("seen: read as none") == n_notes
        assert "Warnings about the data" not in text
    by_user = sm.values_by_user(SCORES, "rr", **options, seen="none")
    assert by_user["rr"].tolist() == pytest.approx(1 / RANKS)


def test_nothing_is_seen_on_a_budget():
    options = {"relevant": HELD_OUT, "proxy": SCORES, "budget": ITEMS - 1}
    for seen in NOTHING:
        result = sm.evaluate_on_budget(SCORES, "mrr", seen=seen, **options)
        assert result.rows()[0]["value"] == pytest.approx(RR)


def test_negatives_are_drawn_from_all_items_if_nothing_is_seen():
    """Of three items, one is held out, so the two others are the negatives."""
    held_out = {"anna": [1], "bert": [2]}
    items = pd.DataFrame({"item_id": [1, 2, 3]})
    for seen in NOTHING:
        drawn = sm.negatives(held_out, seen, 2, items=items)
        by_user = drawn.groupby("user_id")["item_id"].agg(sorted).to_dict()
        assert by_user == {"anna": [2, 3], "bert": [1, 3]}
        checks = sm.check_negatives(drawn, held_out, seen, items=items)
        assert {check.name: check.found for check in checks}["seen items"] == 0


def test_command_takes_none(run, tmp_path):
    np.save(tmp_path / "scores.npy", SCORES)
    test = tmp_path / "test.csv"
    pd.DataFrame({"user_id": range(USERS), "item_id": HELD_OUT}).to_csv(test, index=False)
    line = ("evaluate", tmp_path / "scores.npy", "--relevant", test, "--metric", "rr")
    for options, n_notes in (([], 1), (["--seen", "none"], 0)):
        done = run(*line, *options, "--format", "json")
        (row,) = json.loads(done.stdout)
        assert math.isclose(row["value"], RR)
        assert len(row["notes"]) == n_notes
        assert not done.stderr


def test_meter_notes_that_its_scores_may_be_of_seen_items():
    for n_items, n_notes in ((None, 1), (ITEMS, 0)):
        meter = sm.RankMeter("rr", n_items=n_items)
        meter.update(SCORES, HELD_OUT)
        results, warned = with_warnings(meter.compute)
        assert values(results) == pytest.approx([RR])
        assert not warned
        assert [note.partition(":")[0] for note in results.notes] == ["n_items"] * n_notes
