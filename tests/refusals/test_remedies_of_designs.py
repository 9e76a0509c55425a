"""Negatives by popularity are refused with a remedy, which gives the right numbers."""

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm

USERS, ITEMS, M = 1000, 2000, 100
RNG = np.random.default_rng(0)
POPULARITY = 1000.0 / np.arange(1, ITEMS + 1) ** 0.8
SCORES = np.log(POPULARITY) + RNG.normal(size=(USERS, ITEMS))
ROWS = np.arange(USERS)
HELD = RNG.choice(ITEMS, USERS, p=POPULARITY / POPULARITY.sum())
SCORES[ROWS, HELD] += 0.5
EXACT = np.mean((SCORES[ROWS, HELD][:, None] < SCORES).sum(axis=1) < 10)
COUNTS = dict(enumerate(POPULARITY))
TEST = {user: [int(item)] for user, item in enumerate(HELD)}


def labelled_pairs(negatives):
    items = np.column_stack([HELD, negatives])
    return pd.DataFrame(
        {
            "user_id": np.repeat(ROWS, 1 + M),
            "item_id": items.ravel(),
            "label": np.tile([1] + [0] * M, USERS),
            "score": np.take_along_axis(SCORES, items, axis=1).ravel(),
        }
    )


def drawn(design):
    table = sm.negatives(TEST, "none", M, counts=COUNTS, design=design)
    return labelled_pairs(table["item_id"].to_numpy().reshape(USERS, M))


@pytest.mark.parametrize("design", ["popularity", "half"])
@pytest.mark.parametrize("sampling", [None, "popularity"])
def test_counts_correct_refused_negatives(design, sampling):
    """Without counts, negatives by popularity are refused; with them, the number is right."""
    pairs = drawn(design)
    with pytest.raises(sm.InputError, match="counts="):
        sm.correct(pairs, "HR@10", n_items=ITEMS, sampling=sampling)
    (result, *_) = sm.correct(pairs, "HR@10", counts=COUNTS)
    assert result.range_low <= EXACT <= result.range_high
    assert result.value == pytest.approx(EXACT, rel=0.15)


def test_command_names_the_option(run, tmp_path):
    path = tmp_path / "pairs.csv"
    drawn("popularity").to_csv(path, index=False)
    refused = run("correct", path, "--metric", "HR@10", "--n-items", ITEMS)
    assert "--counts" in refused.stderr
    refused = run("correct", path, "--sampling", "popularity", "--n-items", ITEMS)
    assert "--counts" in refused.stderr
