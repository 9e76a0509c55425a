"""Square batches whose diagonal is held out: negatives of a row are the items of other rows."""

import numpy as np
import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import full_messages

RNG = np.random.default_rng(63)
SIZE, BATCHES, ITEMS = 40, 5, 3000
BIAS = -np.log(1 + np.arange(ITEMS))
FULL = RNG.normal(size=(SIZE * BATCHES, ITEMS)) + BIAS
ROWS = np.arange(SIZE * BATCHES)
HELD = (FULL + RNG.gumbel(size=FULL.shape)).argmax(axis=1)
EXACT = np.mean((FULL[ROWS, HELD][:, None] < FULL).sum(axis=1) < 10)
BATCH = [ROWS[k * SIZE : (k + 1) * SIZE] for k in range(BATCHES)]
IN_BATCH = np.concatenate([FULL[np.ix_(rows, HELD[rows])] for rows in BATCH])
DIAGONAL = np.tile(np.arange(SIZE), BATCHES)


def asked(recwarn):
    return [text for text in full_messages(recwarn) if "square batches" in text]


@pytest.mark.parametrize(
    "positive", [DIAGONAL, np.tile(np.eye(SIZE, dtype=int), (BATCHES, 1))]
)
def test_batches_below_each_other_are_asked_about(positive, recwarn):
    result = sm.correct(
        IN_BATCH, "HR@10", "sampled", positive=positive, n_items=ITEMS
    )[0]
    assert result.range_high < EXACT  # which is why
    (found,) = asked(recwarn)
    assert "popularity" in found


@pytest.mark.parametrize("n_items", [ITEMS, None])
def test_batches_of_a_meter_are_asked_about(n_items, recwarn):
    meter = sm.RankMeter("HR@10", n_items=n_items)
    for rows in BATCH:
        meter.update(IN_BATCH[rows], positive=np.arange(SIZE))
    assert asked(recwarn)


def test_the_remedy_holds_and_is_not_asked_about(recwarn):
    drawn = np.array(
        [RNG.choice(np.delete(np.arange(ITEMS), item), 99, False) for item in HELD]
    )
    scores = np.take_along_axis(FULL, np.column_stack([HELD, drawn]), axis=1)
    result = sm.correct(scores, "HR@10", "sampled", positive=0, n_items=ITEMS)[0]
    assert result.range_low <= EXACT <= result.range_high
    assert not asked(recwarn)


def test_other_columns_and_one_square_of_all_items_are_not_asked_about(recwarn):
    other = DIAGONAL.copy()
    other[7] = 3
    sm.correct(IN_BATCH, "HR@10", "sampled", positive=other, n_items=ITEMS)
    meter = sm.RankMeter("HR@10")
    meter.update(
        IN_BATCH[:SIZE], positive=np.arange(SIZE)
    )  # texts and their pictures
    assert not asked(recwarn)
