"""The folder of an evaluation on a budget: larger budgets, other recommenders, other processes."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics._base.files import alone_in
from sampled_metrics.budget.problem import numbers

USERS, ITEMS = 150, 200
RNG = np.random.default_rng(4)
TASTE = RNG.normal(size=(USERS, ITEMS)) - np.log(np.arange(5, ITEMS + 5))
LIKED = np.argsort(-TASTE - RNG.gumbel(size=TASTE.shape), axis=1)[:, :9]
HELD = LIKED[:, 0]
SEEN = np.zeros(TASTE.shape, bool)
np.put_along_axis(SEEN, LIKED[:, 1:], True, axis=1)
EXACT = sm.evaluate(TASTE, "hit@10", relevant=HELD, seen=SEEN)[0].value


class Recorder:
    """A recommender that remembers the pairs that it scored."""

    def __init__(self, scores=TASTE):
        self.scores = scores
        self.pairs = []

    def __call__(self, users, items):
        self.pairs += zip(users.tolist(), items.tolist(), strict=True)
        return self.scores[users, items]


def evaluate(score, **options):
    given = {"relevant": HELD, "seen": SEEN, "budget": 30.0}
    return sm.evaluate_on_budget(score, "hit@10", **{**given, **options})


def test_a_larger_budget_goes_on(tmp_path):
    record = Recorder()
    small = evaluate(record, state=tmp_path / "state")
    n_small = len(record.pairs)
    large = evaluate(record, state=tmp_path / "state", budget=60)
    again = record.pairs[n_small:]
    assert len(set(record.pairs)) >= len(record.pairs) - 8  # but for those that show it is the same
    assert large.n_asked[0] > small.n_asked[0]
    assert small.n_unused == (0,)
    # Of all pairs ever scored, held-out items included, the result uses some and names the others.
    assert large.n_asked[0] + large.n_unused[0] == len(set(record.pairs)) - USERS
    assert len(again) < 0.6 * large.n_asked[0]
    assert large.rows() == evaluate(Recorder(), budget=60).rows()
    before = len(record.pairs)
    assert evaluate(record, state=tmp_path / "state", budget=60).rows() == large.rows()
    assert len(record.pairs) == before + 8
    with pytest.raises(sm.InputError, match="with a budget of 60; give that or more"):
        evaluate(record, state=tmp_path / "state")
    with pytest.raises(sm.InputError, match="holds another evaluation"):
        evaluate(record, state=tmp_path / "state", budget=90, seed=1)


def test_listed_candidates_are_another_evaluation(tmp_path):
    every = np.ones(SEEN.shape)
    evaluate(Recorder(), state=tmp_path / "listed", candidates=every)
    evaluate(Recorder(), state=tmp_path / "all")
    for name, options in (("listed", {}), ("all", {"candidates": every})):
        with pytest.raises(sm.InputError, match="holds another evaluation"):
            evaluate(Recorder(), state=tmp_path / name, **options)


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1])
def test_whole_numbers_that_floats_do_not_hold_are_refused(number):
    with pytest.raises(sm.InputError, match="at most 2\\^53"):
        numbers("scores", [0, number], (2,))
    assert numbers("scores", [0, 2**53, -(2**53)], (3,)).size == 3


def test_a_larger_budget_goes_on_where_it_was_interrupted(tmp_path):
    def broken(users, items):
        if len(record.pairs) > 2000:
            raise KeyboardInterrupt
        return record(users, items)

    record = Recorder()
    for budget in (30, 60):
        with pytest.raises(KeyboardInterrupt):
            evaluate(broken, state=tmp_path / "state", budget=budget, batch_size=100)
    found = evaluate(record, state=tmp_path / "state", budget=60)
    assert found.rows() == evaluate(Recorder(), budget=60).rows()
    assert len(set(record.pairs)) >= len(record.pairs) - 3 * 8


def test_commands_go_on_with_a_larger_budget(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    rows, columns = SEEN.nonzero()
    pd.DataFrame({"user_id": rows, "item_id": columns}).to_csv("seen.csv", index=False)
    held = pd.DataFrame({"user_id": np.arange(USERS), "item_id": HELD})
    held.to_csv("held.csv", index=False)
    pd.DataFrame({"item_id": np.arange(ITEMS)}).to_csv("items.csv", index=False)
    tables = ("--seen", "seen.csv", "--relevant", "held.csv", "--items", "items.csv")
    tables = (*tables, "--metric", "hit@10")
    start = ("budget", "start", "state", *tables, "--budget")
    asked = set()

    def loop():
        while (done := run("budget", "ask", "state", "--output", "pairs.csv")).returncode == 0:
            pairs = pd.read_csv("pairs.csv")
            new = set(zip(pairs["user_id"], pairs["item_id"], strict=True))
            assert not new & asked
            asked.update(new)
            pairs["score"] = TASTE[pairs["user_id"], pairs["item_id"]]
            pairs.to_csv("scores.csv", index=False)
            assert run("budget", "tell", "state", "scores.csv").returncode == 0
        assert done.returncode == 3
        return run("budget", "result", "state", "--format", "json").stdout

    assert run(*start, "30").returncode == 0
    first = loop()
    assert run(*start, "30").returncode == 2
    assert run(*start, "60").returncode == 0
    second = loop()
    assert first != second
    assert f'"value": {evaluate(Recorder(), budget=60).rows()[0]["value"]!r}' in second


def test_a_recommender_that_was_trained_again_is_asked_about(tmp_path):
    old = evaluate(Recorder(), state=tmp_path / "state")
    retrained = Recorder(TASTE + RNG.normal(size=TASTE.shape) / 10)
    with pytest.warns(sm.InputWarning, match="was the recommender trained again"):
        found = evaluate(retrained, state=tmp_path / "state")
    assert len(retrained.pairs) == 8
    assert found.rows() == old.rows()
    assert "state: " in found.notes[0]
    assert "trained again" in str(found)
    # Another batch may change the last digits.
    evaluate(Recorder(TASTE.astype(np.float32)), state=tmp_path / "state")


def test_one_process_is_in_a_folder(tmp_path):
    evaluate(Recorder(), state=tmp_path / "state")
    code = (
        "import sys\nfrom sampled_metrics._base.files import alone_in\n"
        "with alone_in(sys.argv[1]):\n    print('inside', flush=True)\n    input()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "state")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=dict(os.environ),
    )
    assert other.stdout.readline() == b"inside\n"
    with pytest.raises(sm.InputError, match="another process is using this folder"):
        evaluate(Recorder(), state=tmp_path / "state")
    other.communicate(b"\n")
    evaluate(Recorder(), state=tmp_path / "state")
    with alone_in(tmp_path):  # nothing is left behind
        pass


def test_large_whole_numbers_keep_their_order():
    order = np.argsort(np.argsort(TASTE, axis=None)).reshape(TASTE.shape)
    found = evaluate(2**60 + order, budget=ITEMS)
    assert found.rows()[0]["value"] == pytest.approx(EXACT)
    with pytest.raises(sm.InputError, match=r"of at most 2\^53"):
        evaluate(lambda users, items: 2**60 + order[users, items])


def test_infinite_scores_are_refused():
    scores = TASTE.copy()
    scores[:, ::9] = np.inf
    with pytest.raises(sm.InputError, match="is inf; expected a finite number"):
        evaluate(scores)


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (0 * TASTE, "are equal"),
        (-TASTE, "are higher scores better"),
        (RNG.normal(size=TASTE.shape), "50 % in a random order"),
    ],
)
def test_scores_without_order_are_asked_about(scores, words):
    with pytest.warns(sm.InputWarning, match=words):
        found = evaluate({"bad": scores, "good": TASTE})
    assert [note.startswith("bad, recommender: ") for note in found.notes] == [True]
    assert f"question: {found.notes[0]}" in str(found).replace("\n  ", " ")


def test_the_budget_named_pays_for_enough_full_lists_and_not_for_many_more():
    """Of the budget, the audit has a quarter, which should pay for 15 full lists."""
    n_enough = 0
    for seed in range(6):
        found = evaluate(Recorder(), seed=seed)
        assert np.isnan(found.depth[0])
        words = str(found).replace("\n  ", " ").partition("Take a budget of about ")[2]
        named = float(words.partition(";")[0].replace(",", ""))
        on_average = 4 * 15 * found.n_candidates / USERS**2
        assert named < 1.5 * on_average
        n_enough += not np.isnan(evaluate(Recorder(), seed=seed, budget=named).depth[0])
    assert n_enough >= 5
