"""RankMeter returns what `evaluate` and `correct` return for all batches together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sampled_metrics as sm
from tests.helpers.caught_warnings import warns_about

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*users have scores of all",
    "ignore:ties",
    "ignore:.*data: ",
    "ignore:.*warnings about this input",
)
METRICS = "recall@2, ndcg@3, ap, auc"
RNG = np.random.default_rng(5)
ROWS, ITEMS = 60, 12
SCORES = RNG.integers(0, 5, size=(ROWS, ITEMS)).astype(float)  # with ties
HELD_OUT = RNG.integers(0, ITEMS, size=ROWS)
SCORES[np.arange(ROWS), HELD_OUT] += 1.0
MASKED = SCORES.copy()
MASKED[RNG.random(SCORES.shape) < 0.3] = -np.inf
MASKED[np.arange(ROWS), HELD_OUT] = SCORES[np.arange(ROWS), HELD_OUT]


class Tensor:
    """A tensor on a device, which numpy reads only after `.detach().cpu()`."""

    def __init__(self, values, on_cpu=False):
        self.values = values
        self.on_cpu = on_cpu

    def detach(self):
        return self

    def cpu(self):
        return Tensor(self.values, on_cpu=True)

    def __array__(self, dtype=None, copy=None):
        if not self.on_cpu:
            raise TypeError("use .cpu()")
        return np.asarray(self.values, dtype)


def places_by_hand(scores, held_out):
    """Count the candidates, better and tied items of each held-out item in a loop."""
    counts = []
    for row, item in zip(scores, held_out, strict=True):
        others = [score for column, score in enumerate(row) if column != item and score > -np.inf]
        above = sum(score > row[item] for score in others)
        equal = sum(score == row[item] for score in others)
        counts.append((len(others) + 1, above, equal))
    return counts


def cuts(rows):
    return st.lists(st.integers(1, rows - 1), max_size=6, unique=True).map(sorted)


@settings(deadline=None, max_examples=25)
@given(cuts(ROWS))
def test_full_result_does_not_depend_on_batches(bounds):
    meter = sm.RankMeter(METRICS)
    for rows in np.split(np.arange(ROWS), bounds):
        meter.update(MASKED[rows], positive=HELD_OUT[rows])
    expected = sm.evaluate(MASKED, METRICS, relevant=HELD_OUT)
    assert list(meter.compute()) == list(expected)
    ranks = meter.ranks()
    by_hand = places_by_hand(MASKED, HELD_OUT)
    assert list(zip(ranks.n_candidates, ranks.n_better, ranks.n_tied, strict=True)) == by_hand
    assert len(meter) == ROWS


@settings(deadline=None, max_examples=5)
@given(cuts(ROWS))
def test_sampled_result_does_not_depend_on_batches(bounds):
    meter = sm.RankMeter(METRICS, n_items=100)
    for rows in np.split(np.arange(ROWS), bounds):
        meter.update(SCORES[rows], positive=HELD_OUT[rows])
    expected = sm.correct(SCORES, METRICS, positive=HELD_OUT, n_items=100)
    assert list(meter.compute()) == list(expected)
    assert str(meter.compute()) == str(expected)


RANKS = np.array([3, 1, 10, 7])


def meter_of_ranks(**options):
    """Return a meter of the ranks, in batches of three and one."""
    meter = sm.RankMeter(METRICS, **options)
    meter.update(ranks=RANKS[:3])
    meter.update(ranks=RANKS[3:])
    return meter


def test_ranks_match_evaluate():
    meter = meter_of_ranks(n_items=30)
    assert list(meter.compute()) == list(sm.evaluate(RANKS, METRICS, n_items=30))


def test_ranks_among_negatives_match_correct():
    sizes = {"n_items": 30, "n_negatives": 9}
    assert list(meter_of_ranks(**sizes).compute()) == list(sm.correct(RANKS, METRICS, **sizes))


def test_positive_column_from_either_end():
    scores = SCORES + 2.0 * (np.arange(ITEMS) == 0)
    first = sm.RankMeter("rr")
    first.update(scores)
    last = sm.RankMeter("rr")
    last.update(scores[:, ::-1], positive=-1)
    assert first.compute()[0] == last.compute()[0]


@pytest.mark.parametrize("form", [Tensor, np.ndarray.tolist], ids=["tensor", "list"])
def test_batch_may_be_a_tensor_or_a_list(form):
    meter = sm.RankMeter("rr")
    meter.update(form(SCORES), positive=form(HELD_OUT))
    assert meter.compute()[0] == sm.evaluate(SCORES, "rr", relevant=HELD_OUT)[0]


def meter_of_scores(metric, **options):
    meter = sm.RankMeter(metric, **options)
    meter.update(SCORES, HELD_OUT)
    return meter


@pytest.mark.parametrize(
    "option", [{"ties": "optimistic"}, {"ties": "pessimistic"}, {"confidence": 0.5}], ids=str
)
def test_option_of_full_rankings_reaches_the_result(option):
    expected = sm.evaluate(SCORES, "rr", relevant=HELD_OUT, **option)
    assert list(meter_of_scores("rr", **option).compute()) == list(expected)
    assert list(expected) != list(sm.evaluate(SCORES, "rr", relevant=HELD_OUT))


@pytest.mark.parametrize(
    "option",
    [
        {"ties": "optimistic"},
        {"ties": "pessimistic"},
        {"sampling": "with-replacement"},
        {"confidence": 0.5},
    ],
    ids=str,
)
def test_option_of_samples_reaches_the_result(option):
    usual = {"positive": HELD_OUT, "n_items": 40}
    expected = sm.correct(SCORES, "auc", **usual, **option)
    assert list(meter_of_scores("auc", n_items=40, **option).compute()) == list(expected)
    assert list(expected) != list(sm.correct(SCORES, "auc", **usual))


def test_seed_of_a_meter_breaks_ties():
    one, other = (meter_of_scores("auc", n_items=40, seed=seed).ranks() for seed in (1, 2))
    assert (one.sampled_ranks != other.sampled_ranks).any()


def test_users_pair_shuffled_meters():
    rng = np.random.default_rng(6)
    shuffled = rng.permutation(ROWS)
    better = SCORES + 10.0 * np.eye(ITEMS)[HELD_OUT]
    meters = {"A": sm.RankMeter(), "B": sm.RankMeter()}
    meters["A"].update(SCORES, HELD_OUT, users=np.arange(ROWS))
    meters["B"].update(better[shuffled], HELD_OUT[shuffled], users=shuffled)
    results = sm.compare({name: meter.ranks() for name, meter in meters.items()}, "rr")
    expected = sm.compare({"A": SCORES, "B": better}, "rr", relevant=HELD_OUT)
    assert results[0].paired
    assert results[0].std_error == pytest.approx(expected[0].std_error, rel=1e-12)


def test_reset_removes_batches():
    meter = sm.RankMeter("rr", n_items=40)
    meter.update(SCORES, HELD_OUT)
    meter.reset()
    assert len(meter) == 0
    meter.update(np.eye(40)[:3], positive=[0, 1, 2])  # of another kind than the removed batches
    assert meter.compute()[0].value == 1.0


@pytest.mark.parametrize(
    ("meter_options", "batch", "culprit"),
    [
        ({}, {}, "scores"),
        ({}, {"scores": [[1.0, 0.0]], "ranks": [1]}, "scores"),
        ({}, {"ranks": [1]}, "n_items"),
        ({"n_items": 2}, {"scores": [[1.0, 0.0, 0.5]]}, "n_items"),
        ({}, {"scores": [[1.0, 0.0]], "positive": 2}, "positive"),
        ({}, {"scores": [[1.0, 0.0]], "positive": [0, 1]}, "positive"),
        ({}, {"scores": [[1.0, 0.0]], "positive": 0.5}, "positive"),
        ({}, {"scores": [[np.nan, 1.0]]}, "row 1"),
        ({}, {"scores": [[0.0, 1.0], [0.0, np.inf]]}, "row 2"),
        ({}, {"scores": [[-np.inf, 1.0]]}, "column 0"),
        ({"n_items": 40}, {"scores": [[1.0, -np.inf]]}, "column 1"),
        ({"n_items": 40}, {"ranks": [41]}, "ranks"),
        ({"n_items": 40, "n_negatives": 5}, {"scores": np.zeros((1, 10))}, "10 columns"),
    ],
)
def test_invalid_batch_is_refused_and_not_added(meter_options, batch, culprit):
    meter = sm.RankMeter("rr", **meter_options)
    with pytest.raises(sm.InputError, match=culprit):
        meter.update(**batch)
    assert len(meter) == 0


@pytest.mark.parametrize(
    ("batch", "culprit"), [({"scores": SCORES[:, :5]}, "11 negatives"), ({"ranks": [1]}, "earlier")]
)
def test_batch_unlike_the_first_is_refused(batch, culprit):
    meter = sm.RankMeter("rr", n_items=40)
    meter.update(SCORES)  # of the held-out item and 11 negatives
    with pytest.raises(sm.InputError, match=culprit):
        meter.update(**batch)
    assert len(meter) == ROWS


def test_batch_without_users_after_one_with_users_is_refused():
    meter = sm.RankMeter("rr")
    meter.update(SCORES, users=range(ROWS))
    with pytest.raises(sm.InputError, match="users"):
        meter.update(SCORES)


@pytest.mark.parametrize("ties", ["", "first"])
@pytest.mark.parametrize("n_items", [None, 40])
def test_unknown_ties_are_refused(n_items, ties):
    meter = sm.RankMeter("rr", n_items=n_items, ties=ties)
    meter.update(SCORES, HELD_OUT)
    with pytest.raises(sm.InputError, match=repr(ties)):
        meter.compute()


def test_meter_without_a_batch_is_refused():
    with pytest.raises(sm.InputError, match="update"):
        sm.RankMeter().compute()


@pytest.mark.parametrize(
    ("arguments", "named"), [({"n_negatives": 100}, "n_items"), ({"metrics": "hti@10"}, "hti")]
)
def test_invalid_argument_of_a_meter_is_refused(arguments, named):
    with pytest.raises(sm.InputError, match=named):
        sm.RankMeter(**arguments)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("scores", "n_items", "is_noted"),
    [(SCORES, None, True), (SCORES, ITEMS, False), (MASKED, None, False)],
    ids=["unmasked", "n_items is given", "masked"],
)
def test_unmasked_scores_are_noted_without_n_items(scores, n_items, is_noted):
    meter = sm.RankMeter("rr", n_items=n_items)
    meter.update(scores, HELD_OUT)
    notes = getattr(meter.compute(), "notes", [])
    assert [note.startswith("n_items: read as") for note in notes] == [True] * is_noted


def test_random_order_warns():
    meter = sm.RankMeter("rr")
    meter.update(-SCORES, HELD_OUT)
    with warns_about("higher"):
        meter.compute()


def test_101_columns_warn_without_n_items():
    rng = np.random.default_rng(6)
    meter = sm.RankMeter("rr")
    meter.update(rng.normal(size=(20, 101)))
    with warns_about("sampled"):
        meter.compute()


def test_meters_equal_only_themselves():
    first, second = sm.RankMeter("auc"), sm.RankMeter("auc")
    assert len({first, second, first}) == 2
