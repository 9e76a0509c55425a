"""Data that is valid but looks like a mistake: asked about, or refused, and never in silence."""

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.ranks.data import as_sampled
from tests.helpers.caught_warnings import full_messages, warns_about

M, USERS, N = 100, 940, 3541
RNG = np.random.default_rng(0)
SCORES = RNG.normal([1] + M * [0], size=(USERS, M + 1))
OWN = np.where(np.arange(USERS) < 450, SCORES[:, 0], SCORES[:, 5])
AMONG = np.column_stack(
    [SCORES[:, :5], OWN, SCORES[:, 6:]]
)  # of 450, their own negatives
RANKS = 1 + (SCORES[:, 1:] > SCORES[:, :1]).sum(axis=1)
ALL = RNG.normal(size=(USERS, 60))
PLACES = (60 * RNG.random(USERS) ** 3).astype(int)
HELD = np.argsort(-ALL, axis=1)[np.arange(USERS), PLACES]
CORRECT = {"n_items": N, "positive": 0}
FULL = {"relevant": HELD, "seen": ALL < -9}


def frame(ranks, **columns):
    return pd.DataFrame({"sampled_rank": ranks, "n_negatives": M} | columns)


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (SCORES, {}, None),
        (np.round(SCORES, 1), {}, None),  # ties as of rounded scores
        (1.0 * (SCORES > 1), {"shape": "none"}, "a tenth of their negatives"),
        (AMONG, {}, "of one of their negatives"),
        (SCORES, {"positive": -1}, "above 49.5%"),
        (SCORES.T, {}, "above 52.1%"),
        (0 * SCORES, {"shape": "none"}, "a tenth of their negatives"),
        (SCORES, {"n_items": M + 1}, "n_items (--n-items) is 101"),
        (frame(RANKS, user_id=np.arange(USERS) % 900), {}, "40 of 900 users"),
        (frame(RANKS, user_id=np.arange(USERS) % 470, repetition=np.arange(USERS)), {}, None),
        (frame(RANKS, n_negatives=M - (RANKS < 9)), {}, "more than 99 negatives"),
    ],
)  # fmt: skip
def test_negatives_are_asked_about(data, options, words, recwarn):
    options = {
        "positive": None if isinstance(data, pd.DataFrame) else 0,
        "n_items": N,
    } | options
    sm.correct(data, "hr@10", "cls", **options)
    asked = full_messages(recwarn)
    assert any(words in each for each in asked) if words else not asked
    assert all(each.filename == __file__ for each in recwarn)


@pytest.mark.parametrize(
    ("scores", "options", "words"),
    [
        (ALL, {}, None),
        (ALL[::-1], {}, "random order"),
        (-ALL, {}, "random order"),
        (0 * ALL, {}, "ties"),
        (ALL, {"seen": None}, "all 60 items"),
    ],
)
def test_full_rankings_are_asked_about(scores, options, words, recwarn):
    sm.evaluate(scores, "hr@10", **(FULL | options))
    asked = full_messages(recwarn)
    assert any(words in each for each in asked) if words else not asked


def test_rows_are_thinned_to_the_fewest_negatives():
    """The ranks among a random part of the negatives, of each row as uniform as before."""
    numbers = np.repeat([90, 100], 4000)
    ranks = np.repeat([37, 41], 4000)  # 40 % of the negatives are above
    ranks[0] = 91  # ranks do not end too early
    table = pd.DataFrame({"sampled_rank": ranks, "n_negatives": numbers})
    with warns_about("90 negatives"):
        thinned = as_sampled(table, n_items=3541)
    assert thinned.n_negatives == 90
    assert set(thinned.sampled_ranks[1:4000]) == {37}
    kept = thinned.sampled_ranks[4000:] - 1
    spread = np.sqrt(90 * 0.4 * 0.6 * 10 / 99)
    assert (kept.mean(), kept.std()) == pytest.approx((36, spread), abs=0.1)
    few = pd.DataFrame({"sampled_rank": [1, 2], "n_negatives": [50, 100]})
    for wrong, sampling in ((table, "distinct"), (few, None)):
        with pytest.raises(sm.InputError, match="negatives"):
            sm.correct(wrong, "auc", "sampled", n_items=3541, sampling=sampling)


MASKED = np.ma.array(SCORES, mask=SCORES > 2)
HEADER = "user_id,item_id\n1,2\n3,4\n"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda _: sm.correct(MASKED, "auc", **CORRECT), "mask"),
        (lambda _: sm.evaluate(MASKED, "auc", relevant=HELD), "mask"),
        (lambda _: sm.rank(lambda rows: MASKED[rows], None, HELD), "mask"),
        (lambda _: sm.SampledRanks(np.ma.array([1, 2], mask=[0, 1]), 9, 2), "mask"),
        (lambda path: sm.correct(SCORES, relevant=path, **CORRECT), "relevant"),
        (lambda _: sm.correct(frame(RANKS), **CORRECT), "positive"),
        (lambda path: sm.correct(frame(RANKS), n_items=N, relevant=path), "relevant"),
        (
            lambda path: sm.compare(
                dict.fromkeys("ab", SCORES), seen=path, **CORRECT
            ),
            "seen",
        ),
        (
            lambda _: sm.compare(
                dict.fromkeys("ab", ALL), sampling="distinct", **FULL
            ),
            "sampling",
        ),
    ],
)
def test_refused(call, words, tmp_path):
    (tmp_path / "t.csv").write_text(HEADER)
    with pytest.raises(sm.InputError, match=words):
        call(tmp_path / "t.csv")


def test_an_error_inside_a_function_of_the_user_is_raised_as_it_is():
    """It says what is wrong in the function; no message about data may take its place."""
    error = IndexError("index 99 is out of bounds for axis 0 with size 60")

    def broken(*_):
        raise error

    seen = np.zeros(ALL.shape, bool)
    calls = (
        lambda: sm.rank(broken, None, HELD),
        lambda: sm.rank(broken, seen, HELD),
        lambda: sm.evaluate(broken, "hr@10", relevant=HELD),
        lambda: sm.compare({"a": broken, "b": ALL}, "hr@10", relevant=HELD),
        lambda: sm.report({"a": broken}, "/dev/null", "hr@10", relevant=HELD),
        lambda: sm.evaluate_on_budget(broken, "hr@10", relevant=HELD, seen=seen),
        lambda: sm.evaluate_on_budget(
            ALL, "hr@10", relevant=HELD, seen=seen, proxy=broken
        ),
    )
    for call in calls:
        with pytest.raises(IndexError) as caught:
            call()
        assert caught.value is error
        assert caught.traceback[-1].name == "broken"
