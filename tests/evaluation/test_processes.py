"""Merged meters and ranks of several processes equal those of one process."""

import pickle
import warnings

import numpy as np
import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import full_messages

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*users have scores of all",
    "ignore:.*data: ",
    "ignore:relevant",
    "ignore:.*warnings about this input",
)
METRICS = "hr@3, ndcg@5, rr, auc"
RNG = np.random.default_rng(5)
ROWS, ITEMS = 61, 30
SCORES = RNG.integers(0, 9, size=(ROWS, ITEMS)).astype(float)
SCORES[:, 0] += 3.0
USERS = RNG.permutation(ROWS)


def make_meter(rows, users=None, **options):
    meter = sm.RankMeter(METRICS, **options)
    for batch in np.array_split(rows, 3):
        meter.update(SCORES[batch], users=None if users is None else users[batch])
    return meter


def whole(**options):
    return make_meter(np.argsort(USERS), USERS, **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_items": 400},
        pytest.param({"n_items": 400, "ties": "optimistic"}, marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("n", [2, 5])
def test_merged_meters_match_one_meter(n, options):
    """As a DistributedSampler does, the last processes repeat rows of the first ones."""
    rows_of_process = [np.arange(ROWS + -ROWS % n)[i::n] % ROWS for i in range(n)]
    first, *others = (make_meter(rows, USERS, **options) for rows in rows_of_process)
    merged = pickle.loads(pickle.dumps(first)).merge(*others)  # noqa: S301
    added = sum(others, start=first)
    assert list(merged.compute()) == list(added.compute()) == list(whole(**options).compute())
    assert len(first) == rows_of_process[0].size  # not changed by +


@pytest.mark.parametrize("options", [{}, {"n_items": 400}], ids=str)
def test_meter_merged_with_no_other_stays_as_it_is(options):
    alone = make_meter(np.arange(ROWS), USERS, **options)
    (first, *_) = alone.merge().compute()
    assert first.n_users == ROWS


def test_merge_keeps_several_items():
    rng = np.random.default_rng(6)
    labels = rng.random(SCORES.shape) < 0.1
    labels[:, 4] = True
    meters = [sm.RankMeter(METRICS) for _ in range(3)]
    for number, rows in enumerate((slice(0, 40), slice(30, ROWS), slice(0, ROWS))):
        meters[number].update(SCORES[rows], labels[rows].astype(int), users=USERS[rows])
    merged = meters[0].merge(meters[1]).ranks()
    of_user = np.argsort(USERS)
    expected = sm.rank(SCORES[of_user], None, labels[of_user])
    assert merged.users.tolist() == sorted(USERS)
    for name in ("n_candidates", "n_better", "n_tied", "n_found"):
        assert np.array_equal(getattr(merged, name), getattr(expected, name))


def test_merge_without_ids_keeps_all_rows():
    merged = make_meter(np.arange(40)) + make_meter(np.arange(40, ROWS)) + sm.RankMeter(METRICS)
    assert len(merged) == ROWS
    assert list(merged.compute()) == list(make_meter(np.arange(ROWS)).compute())


@pytest.mark.parametrize(
    ("users", "options", "named"),
    [
        (None, {}, "users"),
        (USERS.astype(str), {}, "users"),
        (USERS, {"ties": "optimistic"}, "ties"),
        (USERS, {"n_items": 400}, "n_items"),
    ],
    ids=["no users", "text", "ties", "n_items"],
)
def test_merge_of_different_meters_is_refused(users, options, named):
    with pytest.raises(sm.InputError, match=named):
        make_meter(np.arange(9), USERS) + make_meter(np.arange(9), users, **options)


def test_user_with_other_scores_in_another_meter_is_refused():
    other = sm.RankMeter(METRICS)
    other.update(SCORES[:1, ::-1] + np.arange(ITEMS), users=USERS[:1])
    with pytest.raises(sm.InputError, match=f"user {USERS[0]} "):
        (make_meter(np.arange(9), USERS) + other).compute()


def work(rank, n, place):
    """Run one of several processes; the sampler repeats one of its rows."""
    import torch
    from torch import distributed
    from torch.utils.data import DistributedSampler

    distributed.init_process_group("gloo", init_method=f"file://{place}/s", rank=rank, world_size=n)
    rows = np.array(list(DistributedSampler(range(ROWS), n, rank, shuffle=False)))
    meter = sm.RankMeter(METRICS)
    for batch in np.array_split(rows, 4):
        meter.update(torch.from_numpy(SCORES[batch]), users=torch.from_numpy(USERS[batch]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        alone = meter.compute()
    messages = [text for text in full_messages(caught) if "torch.distributed" in text]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*torch.distributed")
        synced = meter.sync().compute()
        again = meter.compute(sync=True)
    results = {
        "messages": messages,
        "alone": list(alone),
        "synced": list(synced),
        "again": list(again),
    }
    (place / f"{rank}.pickle").write_bytes(pickle.dumps(results))
    distributed.destroy_process_group()


@pytest.mark.long
def test_sync_of_torch_processes(tmp_path):
    pytest.importorskip("torch")
    from torch import multiprocessing

    multiprocessing.spawn(work, (2, tmp_path), nprocs=2)
    expected = list(whole().compute())
    for rank in range(2):
        results = pickle.loads((tmp_path / f"{rank}.pickle").read_bytes())  # noqa: S301
        assert results["synced"] == results["again"] == expected
        assert results["alone"][0].n_users == 31
        (message,) = results["messages"]
        assert "31 rows" in message


def test_sync_without_processes_copies():
    meter = make_meter(np.arange(9))
    assert list(meter.sync().compute()) == list(meter.compute(sync=True)) == list(meter.compute())


VECTORS = RNG.integers(-2, 3, (ROWS, 4)), RNG.integers(-2, 3, (ITEMS, 4))
RELEVANT = RNG.random((ROWS, ITEMS)) < 0.1
RELEVANT[:, 3] = True
PARTS = (slice(0, 20), slice(20, 21), slice(21, ROWS))


def in_processes(names):
    """Return the ranks of all rows, and those of parts that were sent and joined."""
    of_users, of_items = VECTORS
    whole = sm.rank(VECTORS, None, RELEVANT, users=names)
    parts = [
        sm.rank((of_users[rows], of_items), None, RELEVANT[rows], users=names and names[rows])
        for rows in PARTS
    ]
    sent = [pickle.loads(pickle.dumps(part)) for part in parts]  # noqa: S301
    return whole, sm.Ranks.concatenate(sent)


@pytest.mark.parametrize("names", [None, [f"u{row}" for row in range(ROWS)]], ids=["rows", "ids"])
@pytest.mark.parametrize(
    "column", ["n_candidates", "n_better", "n_tied", "n_found", "n_relevant", "depth", "users"]
)
def test_concatenated_ranks_match_whole(names, column):
    whole, joined = in_processes(names)
    assert np.array_equal(getattr(joined, column), getattr(whole, column))
    assert joined.n_rows == whole.n_rows


@pytest.mark.parametrize("names", [None, [f"u{row}" for row in range(ROWS)]], ids=["rows", "ids"])
def test_concatenated_ranks_have_the_metrics_of_whole(names):
    whole, joined = in_processes(names)
    assert list(sm.evaluate(joined, METRICS)) == list(sm.evaluate(whole, METRICS))


GRADED = sm.Ranks([9], [0, 1], [0, 0], n_found=[2], relevance=[1, 3], source="a")
ALIKE = sm.Ranks([9, 8], [2, 3], [0, 1], source="b")


def test_concatenate_keeps_grades_and_gives_others_1():
    assert sm.Ranks.concatenate([GRADED, ALIKE]).relevance.tolist() == [1, 3, 1, 1]


def test_concatenate_joins_sources():
    assert sm.Ranks.concatenate([GRADED, ALIKE]).source == "a; b"


def test_concatenate_without_grades_has_none():
    assert sm.Ranks.concatenate([ALIKE, ALIKE]).relevance is None


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([], "one or more"),
        ([sm.Ranks([9], [0], [0]), 3], "part is of type int"),
        ([sm.Ranks([9], [0], [0]), sm.Ranks([9], [0], [0], users=[1])], "ids of users"),
        ([sm.Ranks([9], [0], [0], users=["1"]), sm.Ranks([9], [0], [0], users=[1])], "ids of"),
        ([sm.Ranks([9], [0], [0], users=[1])] * 2, "duplicate users 1"),
    ],
)
def test_concatenate_different_ranks_is_refused(parts, words):
    with pytest.raises(sm.InputError, match=words):
        sm.Ranks.concatenate(parts)
